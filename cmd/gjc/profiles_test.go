package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
)

// Each of the known editors has a whole session, and receives nothing that it does not support.
func TestProfiles(t *testing.T) {
	t.Parallel()
	for _, p := range editorProfiles() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			s := startProfile(t, &p)
			s.works()
			s.questions()
			s.stopsInTheMiddle()
			s.options()
			s.commands()
			s.comesBack()
			s.stop()
		})
	}
}

// profiled is a session with an editor of a profile.
type profiled struct {
	*scenario
	profile *editorProfile
}

func startProfile(t *testing.T, p *editorProfile) *profiled {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 2*hang, errors.New("the session hangs"))
	t.Cleanup(cancel)
	home := tempDir(t)
	s := &profiled{
		profile:  p,
		scenario: &scenario{t: t, ctx: ctx, check: newWireCheck(t), work: tempDir(t), answer: "allow_once"},
	}
	opts := p.Editor(acptest.EditorOptions{
		Trace: s.check.trace,
		Permission: func(ctx context.Context, q *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
			switch {
			case s.answer == "":
				<-ctx.Done()
				return nil, context.Cause(ctx)
			case slices.ContainsFunc(q.Options, func(o acp.PermissionOption) bool { return o.OptionID == s.answer }):
				return acptest.Choose(s.answer), nil
			default:
				return acptest.Choose(q.Options[0].OptionID), nil // a question with answers of its own
			}
		},
	}, func(err error, line []byte) { t.Errorf("%s: %v\nin %s", p.Name, err, shorten(line)) })
	var err error
	s.Agent, err = acptest.Start(ctx, acptest.ProcessOptions{Path: self(t), Args: []string{"acp"}, Dir: home, Env: environment(home)}, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Process.Kill()
		_ = s.Close()
		if t.Failed() {
			t.Logf("stderr: %s", s.Process.Stderr())
		}
	})
	init, err := s.Initialize(ctx)
	if err != nil {
		t.Fatal(err)
	}
	must(s.scenario, acp.MethodAuthenticate, &acp.AuthenticateRequest{MethodID: init.AuthMethods[0].(*acp.AuthMethodAgent).ID})
	created := inTime(s, acp.MethodSessionNew, &acp.NewSessionRequest{Cwd: s.work})
	s.id = created.SessionID
	_, hasSwitch := s.option(created.ConfigOptions, "show_thinking").Kind.(*acp.SessionConfigBoolean)
	if can := p.Capabilities.Session != nil; can != hasSwitch {
		t.Errorf("the switch is there: %v, and the editor knows switches: %v", hasSwitch, can)
	}
	return s
}

// inTime calls a method that must succeed in the editor's time limit.
func inTime[P, R any](s *profiled, m acp.RequestMethod[P, R], p *P) *R {
	s.t.Helper()
	ctx := s.ctx
	if s.profile.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, s.profile.Timeout, errors.New("the editor has stopped waiting"))
		defer cancel()
	}
	r, err := m.Call(ctx, s.Conn, p)
	if err != nil {
		s.t.Fatalf("%s: %v", m.Name, err)
	}
	return r
}

func (s *profiled) option(options []acp.SessionConfigOption, id acp.SessionConfigID) acp.SessionConfigOption {
	for _, o := range options {
		if o.ID == id {
			return o
		}
	}
	return acp.SessionConfigOption{}
}

// turn sends a prompt and returns the tool calls of its turn, as "title status", and the agent's text.
func (s *profiled) turn(stop acp.StopReason, prompt string) (tools []string, words string) {
	s.t.Helper()
	from := len(s.Updates(s.id))
	s.say(stop, textBlock(prompt))
	return toolsOf(s.Updates(s.id)[from:])
}

// toolsOf returns the tool calls of updates, as "title status", and the agent's text.
func toolsOf(updates []acp.SessionUpdate) (tools []string, words string) {
	at := make(map[acp.ToolCallID]int)
	var titles []string
	var said strings.Builder
	for _, u := range updates {
		switch u := u.(type) {
		case *acp.ToolCall:
			at[u.ToolCallID] = len(tools)
			titles = append(titles, u.Title)
			tools = append(tools, u.Title+" "+string(u.Status))
		case *acp.ToolCallUpdate:
			i, known := at[u.ToolCallID]
			if status := u.Status.Or(""); known && status != "" {
				titles[i] = u.Title.Or(titles[i])
				tools[i] = titles[i] + " " + string(status)
			}
		case *acp.AgentMessageChunk:
			if t, ok := u.Content.(*acp.TextContent); ok {
				said.WriteString(t.Text)
			}
		}
	}
	return tools, said.String()
}

func (s *profiled) equal(what string, got, want any) {
	s.t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		s.t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// used checks that a method of the editor's was called if it is advertised, and not otherwise.
func (s *profiled) used(method string, advertised bool) {
	s.t.Helper()
	if was := slices.Contains(s.Calls(), method); was != advertised {
		s.t.Errorf("%s was called: %v, and is advertised: %v", method, was, advertised)
	}
}

// works reads, changes, runs and plans.
func (s *profiled) works() {
	s.t.Helper()
	path := filepath.Join(s.work, "a.txt")
	writeFile(s.t, path, "on disk\n")
	can := s.profile.Capabilities
	if can.FS.ReadTextFile {
		s.Open(path, "in the editor\n")
	} else {
		writeFile(s.t, path, "in the editor\n")
	}
	tools, _ := s.turn(acp.StopReasonEndTurn, "!think hm\n!plan look; change\n!read a.txt\n!edit a.txt editor => buffer\n!bash cat a.txt")
	s.equal("tools", tools, []string{"Update the plan completed", "Read a.txt completed", "Edit a.txt completed", "cat a.txt completed"})
	data, err := os.ReadFile(path)
	if err != nil || string(data) != "in the buffer\n" {
		s.t.Errorf("the file holds %q, %v", data, err)
	}
	s.used(acp.MethodFSReadTextFile.Name, can.FS.ReadTextFile)
	s.used(acp.MethodFSWriteTextFile.Name, can.FS.WriteTextFile)
	for _, m := range []string{acp.MethodTerminalCreate.Name, acp.MethodTerminalWaitForExit.Name, acp.MethodTerminalRelease.Name} {
		s.used(m, can.Terminal)
	}
	// Files outside of the session's directory come from the disk, whatever the editor refuses.
	outside := filepath.Join(tempDir(s.t), "b.txt")
	writeFile(s.t, outside, "outside\n")
	tools, _ = s.turn(acp.StopReasonEndTurn, "!read "+outside+"\n!write "+outside+" changed")
	for _, tool := range tools {
		if !strings.HasSuffix(tool, " completed") {
			s.t.Errorf("outside: %s", tool)
		}
	}
	if data, err := os.ReadFile(outside); err != nil || strings.TrimSpace(string(data)) != "changed" {
		s.t.Errorf("the file outside holds %q, %v", data, err)
	}
}

// questions checks that questions are asked in the editor's way, one at a time.
func (s *profiled) questions() {
	s.t.Helper()
	asked := count(s.Calls(), acp.MethodSessionRequestPermission.Name)
	tools, _ := s.turn(acp.StopReasonEndTurn, "!bash touch one\n!bash touch two\n!bash touch three")
	s.equal("commands", tools, []string{"touch one completed", "touch two completed", "touch three completed"})
	if n := count(s.Calls(), acp.MethodSessionRequestPermission.Name) - asked; n != 3 {
		s.t.Errorf("%d questions for three commands", n)
	}
	s.answer = "reject_once"
	tools, _ = s.turn(acp.StopReasonEndTurn, "!bash touch four")
	s.equal("a refused command", tools, []string{"touch four failed"})
	s.answer = "allow_once"
	from := len(s.Updates(s.id))
	s.turn(acp.StopReasonEndTurn, "!ask Which way? | left | right")
	s.used(acp.MethodElicitationCreate.Name, s.profile.Capabilities.Elicitation != nil)
	shown, err := json.Marshal(s.Updates(s.id)[from:])
	if err != nil || !strings.Contains(string(shown), "The user answered: left") {
		s.t.Errorf("of the question comes %s, %v", shown, err)
	}
}

// stopsInTheMiddle cancels a model, a command and a question.
func (s *profiled) stopsInTheMiddle() {
	s.t.Helper()
	s.cancelled("!think first\n!wait", acptest.Update[*acp.AgentThoughtChunk](nil))
	begun := acptest.Update(func(u *acp.ToolCallUpdate) bool { return u.Status.Or("") == acp.ToolCallStatusInProgress })
	if s.profile.Capabilities.Terminal {
		begun = acptest.Called(acp.MethodTerminalWaitForExit.Name, count(s.Calls(), acp.MethodTerminalWaitForExit.Name)+1)
	}
	s.cancelled("!bash sleep 600", begun)
	s.answer = ""
	s.cancelled("!bash touch never", acptest.Called(acp.MethodSessionRequestPermission.Name, count(s.Calls(), acp.MethodSessionRequestPermission.Name)+1))
	s.answer = "allow_once"
	if _, words := s.turn(acp.StopReasonEndTurn, "!say alive"); !strings.Contains(words, "alive") {
		s.t.Errorf("after the cancelled turns it says %q", words)
	}
}

// options changes the mode in both ways, and the other options.
func (s *profiled) options() {
	s.t.Helper()
	inTime(s, acp.MethodSessionSetMode, &acp.SetSessionModeRequest{SessionID: s.id, ModeID: "plan"})
	tools, _ := s.turn(acp.StopReasonEndTurn, "!write planned.txt no")
	s.equal("a change while planning", tools, []string{"Write planned.txt failed"})
	set := func(id acp.SessionConfigID, value acp.SessionConfigOptionValue) acp.SessionConfigOption {
		s.t.Helper()
		return s.option(inTime(s, acp.MethodSessionSetConfigOption, &acp.SetSessionConfigOptionRequest{SessionID: s.id, ConfigID: id, Value: value}).ConfigOptions, id)
	}
	for id, value := range map[acp.SessionConfigID]acp.SessionConfigValueID{"mode": "auto", "thinking": "high", "model": "offline/demo"} {
		if sel, ok := set(id, value).Kind.(*acp.SessionConfigSelect); !ok || sel.CurrentValue != value {
			s.t.Errorf("%s is %+v after the change to %s", id, sel, value)
		}
	}
	if s.profile.Capabilities.Session != nil {
		if b, ok := set("show_thinking", acp.SessionConfigBoolValue(false)).Kind.(*acp.SessionConfigBoolean); !ok || b.CurrentValue {
			s.t.Errorf("the switch is %+v after its change", b)
		}
	}
	asked := count(s.Calls(), acp.MethodSessionRequestPermission.Name)
	s.turn(acp.StopReasonEndTurn, "!bash touch unasked")
	if count(s.Calls(), acp.MethodSessionRequestPermission.Name) != asked {
		s.t.Error("the mode auto asks")
	}
	inTime(s, acp.MethodSessionSetMode, &acp.SetSessionModeRequest{SessionID: s.id, ModeID: "default"})
}

// commands sends slash commands.
func (s *profiled) commands() {
	s.t.Helper()
	err := s.Await(s.ctx, s.id, acptest.Update(func(u *acp.AvailableCommandsUpdate) bool { return len(u.AvailableCommands) > 10 }))
	if err != nil {
		s.t.Error(err)
	}
	for _, typed := range [][2]string{
		{"/help", "/compact"},
		{"/mode strict", "strict"},
		{"/mode default", "default"},
		{"/session", s.work},
		{"/rename Two words", "Two words"},
		{"/mcp", "no MCP servers"},
		{"/context", "tokens"},
		{"/compact", "Compaction complete"},
		{"/path/like/this", "offline/demo"},
	} {
		command, want := typed[0], typed[1]
		if _, words := s.turn(acp.StopReasonEndTurn, command); !strings.Contains(words, want) {
			s.t.Errorf("%s says %q, without %q", command, words, want)
		}
	}
}

// comesBack closes the session, opens it in each way, finds it in the list, and deletes it.
func (s *profiled) comesBack() {
	s.t.Helper()
	end := func() { inTime(s, acp.MethodSessionClose, &acp.CloseSessionRequest{SessionID: s.id}) }
	load := func() {
		from := len(s.Updates(s.id))
		inTime(s, acp.MethodSessionLoad, &acp.LoadSessionRequest{SessionID: s.id, Cwd: s.work})
		tools, words := toolsOf(s.Updates(s.id)[from:])
		if !slices.Contains(tools, "Edit a.txt completed") || !slices.Contains(tools, "sleep 600 failed") || !strings.Contains(words, "alive") {
			s.t.Errorf("the load replays the tools %q and the words %q", tools, words)
		}
	}
	resume := func() {
		from := len(s.Updates(s.id))
		inTime(s, acp.MethodSessionResume, &acp.ResumeSessionRequest{SessionID: s.id, Cwd: s.work})
		if tools, words := toolsOf(s.Updates(s.id)[from:]); len(tools) > 0 || words != "" {
			s.t.Errorf("the resume replays %q and %q", tools, words)
		}
	}
	steps := []func(){end, load, end, resume}
	if s.profile.Resumes {
		steps = []func(){end, resume, end, load}
	}
	for _, step := range steps {
		step()
	}
	if _, words := s.turn(acp.StopReasonEndTurn, "!say back again"); !strings.Contains(words, "back again") {
		s.t.Errorf("after it all it says %q", words)
	}
	listed := func() []acp.SessionInfo {
		return inTime(s, acp.MethodSessionList, &acp.ListSessionsRequest{Cwd: s.work}).Sessions
	}
	if list := listed(); len(list) != 1 || list[0].SessionID != s.id || list[0].Title != "Two words" {
		s.t.Errorf("the list is %+v", list)
	}
	inTime(s, acp.MethodSessionDelete, &acp.DeleteSessionRequest{SessionID: s.id})
	if list := listed(); len(list) != 0 {
		s.t.Errorf("after the deletion the list is %+v", list)
	}
	wantError(s.scenario, acp.MethodSessionLoad, &acp.LoadSessionRequest{SessionID: s.id, Cwd: s.work}, acp.ErrorCodeResourceNotFound)
}
