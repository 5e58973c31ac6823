package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/testenv"
)

// longAnswer is the size of answers that are too long: more than twice the limit.
const longAnswer = 140 << 20

// lied is a request of gjc's that a client answers wrongly.
type lied struct {
	method string
	// mode is the session's mode, and prompt makes gjc send the request.
	mode, prompt string // FAULT stands for the fault
	// stop ends the turn: before the request, if that is part of a turn's end, or because gjc waits for a missing
	// answer.
	stop, stopFirst bool
	// harmless are the faults with which the call succeeds anyway.
	harmless []acptest.Fault
}

// Whatever a client answers to a request, the turn ends, the call explains its failure, the session continues, and
// every request of the client gets the right answer.
func TestMisbehaviour(t *testing.T) {
	t.Parallel()
	twice := []acptest.Fault{acptest.FaultTwice}
	null := []acptest.Fault{acptest.FaultTwice, acptest.FaultNeither}
	for _, l := range []lied{
		{method: "fs/read_text_file", mode: "auto", prompt: "!read f.txt", harmless: twice},
		{method: "fs/write_text_file", mode: "auto", prompt: "!write FAULT.txt text", harmless: null},
		{method: "terminal/create", mode: "auto", prompt: "!bash true", harmless: twice},
		{method: "terminal/output", mode: "auto", prompt: "!bash true", harmless: twice},
		// The result of a terminal's release does not matter; the command has succeeded.
		{method: "terminal/release", mode: "auto", prompt: "!bash true", harmless: acptest.Faults()},
		{method: "terminal/wait_for_exit", mode: "auto", prompt: "!bash true", harmless: twice, stop: true},
		{method: "terminal/kill", mode: "auto", prompt: "!bash sleep 600", stopFirst: true},
		{method: "session/request_permission", mode: "default", prompt: "!bash true", harmless: twice, stop: true},
		// A question without an answer counts as unanswered by the user, not as a failure.
		{method: "elicitation/create", mode: "auto", prompt: "!ask Which? | A | B", harmless: twice, stop: true},
		{method: "mcp/message", mode: "auto", prompt: "!mcp mcp__editor_selection {}", harmless: null, stop: true},
	} {
		t.Run(l.method, func(t *testing.T) {
			t.Parallel()
			quick := []acptest.Fault{acptest.FaultNeither, acptest.FaultBoth, acptest.FaultTwice, acptest.FaultWrongType}
			if !testing.Short() && (!testenv.Race || l.method == "fs/read_text_file") {
				quick = append(quick, acptest.FaultLong)
			}
			l.run(t, quick)
			// Long enough for real answers, on a busy machine too.
			l.run(t, []acptest.Fault{acptest.FaultLate, acptest.FaultNever}, shortPatience+"=10s")
		})
	}
}

// A session still has turns if the client's MCP server answers its first requests wrongly.
func TestMisbehaviour_NewSession(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 2*hang, errors.New("the turn hangs"))
	defer cancel()
	home, work := tempDir(t), tempDir(t)
	liar, check := &acptest.Liar{Long: longAnswer}, newWireCheck(t)
	e, err := acptest.Start(ctx, acptest.ProcessOptions{Path: self(t), Args: []string{"acp"}, Dir: home, Env: environment(home)}, acptest.EditorOptions{
		Liar: liar, MCP: selectionServer, Trace: check.trace,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		e.Process.Kill()
		_ = e.Close()
	}()
	if _, err := e.Initialize(ctx); err != nil {
		t.Fatal(err)
	}
	for _, fault := range acptest.Faults() {
		if fault == acptest.FaultLong && (testing.Short() || testenv.Race) {
			continue
		}
		liar.Lie("mcp/message", fault)
		s, err := acp.MethodSessionNew.Call(ctx, e.Conn, &acp.NewSessionRequest{
			Cwd: work, MCPServers: []acp.MCPServer{&acp.MCPServerACP{Name: "editor", ServerID: "srv"}},
		})
		if err != nil {
			t.Fatalf("%s: %v", fault, err)
		}
		new(lied).say(ctx, t, e, s.SessionID, fmt.Sprintf("alive with %q", fault))
		if liar.Spoilt() == 0 {
			t.Errorf("%s: no answer was spoilt", fault)
		}
		liar.Lie("", "")
		if err := liar.Deliver(); err != nil {
			t.Error(err)
		}
		if _, err := acp.MethodSessionClose.Call(ctx, e.Conn, &acp.CloseSessionRequest{SessionID: s.SessionID}); err != nil {
			t.Errorf("%s: %v", fault, err)
		}
	}
	if strays := liar.Strays(); len(strays) > 0 {
		t.Errorf("the client was sent %.300q", strays)
	}
	if state, err := e.Stop(ctx); err != nil || state.Code != 0 {
		t.Errorf("gjc ended with %+v, %v", state, err)
	}
}

// run starts gjc and runs a turn with each fault in one session.
func (l *lied) run(t *testing.T, faults []acptest.Fault, env ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 2*hang, errors.New("the turn hangs"))
	defer cancel()
	home, work := tempDir(t), tempDir(t)
	writeFile(t, filepath.Join(work, "f.txt"), "text\n")
	liar, check := &acptest.Liar{Long: longAnswer}, newWireCheck(t)
	e, err := acptest.Start(ctx, acptest.ProcessOptions{Path: self(t), Args: []string{"acp"}, Dir: home, Env: environment(home, env...)}, acptest.EditorOptions{
		Liar: liar, MCP: selectionServer, Trace: check.trace,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		e.Process.Kill()
		_ = e.Close()
		if t.Failed() {
			t.Logf("stderr: %s", e.Process.Stderr())
		}
	}()
	if _, err := e.Initialize(ctx); err != nil {
		t.Fatal(err)
	}
	s, err := acp.MethodSessionNew.Call(ctx, e.Conn, &acp.NewSessionRequest{
		Cwd: work, MCPServers: []acp.MCPServer{&acp.MCPServerACP{Name: "editor", ServerID: "srv"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := acp.MethodSessionSetMode.Call(ctx, e.Conn, &acp.SetSessionModeRequest{SessionID: s.SessionID, ModeID: acp.SessionModeID(l.mode)}); err != nil {
		t.Fatal(err)
	}
	l.say(ctx, t, e, s.SessionID, "ready") // with the tools of the editor's server
	for _, fault := range faults {
		t.Run(string(fault), func(t *testing.T) {
			l.turn(ctx, t, e, s.SessionID, liar, fault)
			l.say(ctx, t, e, s.SessionID, fmt.Sprintf("alive after %q", fault))
			if n := e.OpenTerminals(); n > 0 && l.method != "terminal/create" && l.method != "terminal/release" {
				t.Errorf("%d terminals were not released", n)
			}
		})
	}
	if strays := liar.Strays(); len(strays) > 0 {
		t.Errorf("the client was sent %.300q", strays)
	}
	if state, err := e.Stop(ctx); err != nil || state.Code != 0 {
		t.Errorf("gjc ended with %+v, %v", state, err)
	}
}

// turn runs one turn with a fault.
func (l *lied) turn(ctx context.Context, t *testing.T, e *acptest.Agent, id acp.SessionID, liar *acptest.Liar, fault acptest.Fault) {
	t.Helper()
	liar.Lie(l.method, fault)
	before := len(e.Updates(id))
	silent := fault == acptest.FaultLate || fault == acptest.FaultNever
	stopped := l.stopFirst || l.stop && silent
	awaited := l.method
	if l.stopFirst {
		awaited = "terminal/wait_for_exit"
	}
	called := 1
	for _, method := range e.Calls() {
		if method == awaited {
			called++
		}
	}
	done := make(chan error, 1)
	var stop acp.StopReason
	go func() { // ends with the turn
		resp, err := e.Prompt(ctx, id, strings.ReplaceAll(l.prompt, "FAULT", strings.ReplaceAll(string(fault), " ", "-")))
		if err == nil {
			stop = resp.StopReason
		}
		done <- err
	}()
	if stopped {
		if err := e.Await(ctx, id, acptest.Called(awaited, called)); err != nil {
			t.Fatal(err)
		}
		if err := acp.MethodSessionCancel.Notify(ctx, e.Conn, &acp.CancelNotification{SessionID: id}); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-done; err != nil {
		t.Fatalf("the prompt: %v", err)
	}
	want := acp.StopReasonEndTurn
	if stopped {
		want = acp.StopReasonCancelled
	}
	if stop != want {
		t.Errorf("the turn ended with %s, want %s", stop, want)
	}
	// The editor may still be about to answer when the cancelled turn has ended.
	for end := time.Now().Add(hang); liar.Spoilt() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Error("no answer was spoilt")
			break
		}
	}
	liar.Lie("", "")
	if err := liar.Deliver(); err != nil {
		t.Error(err)
	}
	if !stopped {
		l.outcome(t, e.Updates(id)[before:], fault)
	}
}

// outcome checks how the call of a turn ended.
func (l *lied) outcome(t *testing.T, updates []acp.SessionUpdate, fault acptest.Fault) {
	t.Helper()
	status, text := acp.ToolCallStatus(""), ""
	for _, u := range updates {
		u, ok := u.(*acp.ToolCallUpdate)
		if !ok {
			continue
		}
		if s, ok := u.Status.Get(); ok {
			status = s
		}
		raw, err := jsonx.Marshal(u)
		if err != nil {
			t.Fatal(err)
		}
		text = string(raw)
	}
	harmless := false
	for _, f := range l.harmless {
		harmless = harmless || f == fault
	}
	if want := map[bool]acp.ToolCallStatus{true: acp.ToolCallStatusCompleted, false: acp.ToolCallStatusFailed}[harmless]; status != want {
		t.Errorf("the call ended %q, want %q: %s", status, want, text)
	}
	reason := map[acptest.Fault]string{
		acptest.FaultBoth: "both a result and an error", acptest.FaultWrongType: "a number does not fit", acptest.FaultLong: "is larger than 64 MiB",
		acptest.FaultLate: "the editor did not answer within 10s", acptest.FaultNever: "the editor did not answer within 10s",
	}[fault]
	if !harmless && !strings.Contains(text, reason) {
		t.Errorf("the call does not say %q: %s", reason, text)
	}
}

// say runs a turn that needs nothing of the editor.
func (l *lied) say(ctx context.Context, t *testing.T, e *acptest.Agent, id acp.SessionID, word string) {
	t.Helper()
	resp, err := e.Prompt(ctx, id, "!say "+word)
	if err != nil || resp.StopReason != acp.StopReasonEndTurn {
		t.Fatalf("the turn %q got %+v, %v", word, resp, err)
	}
	if !strings.Contains(e.Text(id), word) {
		t.Errorf("the turn did not say %q", word)
	}
}

// selectionServer is an MCP server of the editor with one tool.
func selectionServer(_ context.Context, p *acp.MessageMCPRequest) (*acp.MessageMCPResponse, error) {
	answers := map[string]string{
		"server/discover": `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"editor","version":"1"}}`,
		"tools/list":      `{"tools":[{"name":"selection","description":"What is selected","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`,
		"tools/call":      `{"content":[{"type":"text","text":"func main() {}"}]}`,
	}
	if answer, ok := answers[p.Method]; ok {
		return &acp.MessageMCPResponse{Result: jsonx.Raw(answer)}, nil
	}
	return &acp.MessageMCPResponse{Error: &acp.MCPError{Code: -32601, Message: "no " + p.Method}}, nil
}
