package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/internal/testenv"
)

// "task kill" runs 200 rounds; among other tests it is shorter.
var kills = flag.Int("kills", 10, "how often TestKilled_AtRandomMoments kills gjc")

// The built gjc is killed at random moments of prompts, repeatedly, on one session. When the session is loaded again,
// each answered prompt is there, complete and in order, and at most a part of the running one. Everything that the
// client was shown as done is there: each ended call, the plan, the title, the mode.
func TestKilled_AtRandomMoments(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds the program")
	}
	program := filepath.Join(t.TempDir(), "gjc")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	build := exec.CommandContext(t.Context(), testenv.NeedsTool(t, "go"), "build", "-o", program, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	model := httptest.NewServer(http.HandlerFunc(manyCalls))
	t.Cleanup(model.Close)
	loop := &killLoop{t: t, program: program, home: tempDir(t), work: tempDir(t)}
	writeFile(t, filepath.Join(agentDir(loop.home), "models.yml"), fmt.Sprintf(
		"providers:\n  many: {api: openai-completions, baseUrl: %s/v1, auth: none, models: [{id: calls}]}\n", model.URL,
	))
	writeFile(t, filepath.Join(agentDir(loop.home), "config.yml"), quick+"modelRoles: {default: many/calls}\n")
	for round := range *kills {
		loop.round(round)
	}
	v := loop.start()
	loop.load(v)
	v.end()
	t.Logf("%d kills, %d answered prompts, %d ended calls", *kills, len(loop.answered), len(loop.shown.calls))
	if len(loop.answered) == 0 && *kills > 5 {
		t.Error("no prompt was ever answered: the test tests nothing")
	}
}

// killLoop is a session and what gjc has acknowledged of it.
type killLoop struct {
	t                   *testing.T
	program, home, work string
	session             string
	// answered are the answered prompts, in order.
	answered []string
	next     int
	// shown holds the updates that the client has received from all gjc processes of the session.
	shown acknowledged
	// busy counts how often the time until a kill was doubled.
	busy int
}

// victim is one gjc process.
type victim struct {
	loop  *killLoop
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Reader
	id    int
	seen  *acknowledged
}

// acknowledged holds what updates have shown as done.
type acknowledged struct {
	// calls has the statuses of the ended calls, by their IDs.
	calls map[string]string
	// plan and title are the last ones, as JSON.
	plan, title string
	// mode is the last mode; setting is one whose response never came.
	mode, setting string
}

// see records a message from gjc.
func (s *acknowledged) see(line string) {
	var m struct {
		Params struct {
			Update struct {
				SessionUpdate, ToolCallID, Status string
				Entries, Title                    json.RawMessage
			}
		}
	}
	if json.Unmarshal([]byte(line), &m) != nil {
		return
	}
	switch u := &m.Params.Update; u.SessionUpdate {
	case "tool_call", "tool_call_update":
		if u.Status == "completed" || u.Status == "failed" {
			if s.calls == nil {
				s.calls = make(map[string]string)
			}
			s.calls[u.ToolCallID] = u.Status
		}
	case "plan":
		s.plan = string(u.Entries)
	case "session_info_update":
		if len(u.Title) > 0 {
			s.title = string(u.Title)
		}
	}
}

func (l *killLoop) start() *victim {
	l.t.Helper()
	v := &victim{loop: l, seen: &l.shown, cmd: exec.CommandContext(l.t.Context(), l.program, "acp")}
	v.cmd.Env, v.cmd.Dir = environment(l.home), l.work
	var err error
	if v.stdin, err = v.cmd.StdinPipe(); err != nil {
		l.t.Fatal(err)
	}
	out, err := v.cmd.StdoutPipe()
	if err != nil {
		l.t.Fatal(err)
	}
	v.lines = bufio.NewReader(out)
	if err := v.cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	if _, _, err := v.call("initialize", object{"protocolVersion": 1, "clientCapabilities": object{}}); err != nil {
		l.t.Fatal(err)
	}
	return v
}

// call sends a request and returns its response with the text that came before it. The error reports that gjc has
// ended, or its error response.
func (v *victim) call(method string, params any) (result json.RawMessage, before string, err error) {
	v.id++
	request, err := json.Marshal(object{"jsonrpc": "2.0", "id": v.id, "method": method, "params": params})
	if err != nil {
		return nil, "", err
	}
	if _, err := v.stdin.Write(append(request, '\n')); err != nil {
		return nil, "", errGone
	}
	var all strings.Builder
	for {
		line, err := v.lines.ReadString('\n')
		if err != nil {
			return nil, all.String(), errGone
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Result json.RawMessage
			Error  json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			v.loop.t.Fatalf("%v in %s", err, line)
		}
		if m.Method == "" && string(m.ID) == fmt.Sprint(v.id) {
			if m.Error != nil {
				return nil, all.String(), fmt.Errorf("%s: %s", method, m.Error)
			}
			return m.Result, all.String(), nil
		}
		all.WriteString(line)
		v.seen.see(line)
	}
}

var errGone = errors.New("gjc is gone")

// load loads the session and expects everything that was answered.
func (l *killLoop) load(v *victim) {
	l.t.Helper()
	if l.session == "" {
		result, _, err := v.call("session/new", object{"cwd": l.work, "mcpServers": []any{}})
		var made struct{ SessionID string }
		if err == nil {
			err = json.Unmarshal(result, &made)
		}
		if err != nil {
			l.t.Fatal(err)
		}
		l.session = made.SessionID
		l.setMode(v, "auto")
		return
	}
	var replayed acknowledged
	v.seen = &replayed
	result, replay, err := v.call("session/load", object{"sessionId": l.session, "cwd": l.work, "mcpServers": []any{}})
	if err != nil {
		l.t.Fatal(err)
	}
	v.seen = &l.shown
	list, _, err := v.call("session/list", object{"cwd": l.work})
	if err != nil {
		l.t.Fatal(err)
	}
	l.compare(&replayed, result, list)
	rest := replay
	for _, word := range l.answered {
		// The user's prompt, followed by the whole answer.
		for _, want := range []string{`say ` + word + `"`, word + `\n\nDone."`} {
			_, after, found := strings.Cut(rest, want)
			if !found {
				l.t.Fatalf("%q is lost, or out of order, after %d answered prompts:\n%s", want, len(l.answered), replay)
			}
			rest = after
		}
	}
}

// compare expects everything that was shown as done in a load's updates and response, and in the list of sessions.
func (l *killLoop) compare(replayed *acknowledged, result, list json.RawMessage) {
	l.t.Helper()
	for id, status := range l.shown.calls {
		if got := replayed.calls[id]; got != status {
			l.t.Errorf("call %s was shown as %s; the loaded session says %q", id, status, got)
		}
	}
	// A plan that was recorded but not yet shown is not lost.
	if planned(replayed.plan) < planned(l.shown.plan) {
		l.t.Errorf("the plan was shown as %s; the loaded session has %s", l.shown.plan, replayed.plan)
	}
	if l.shown.title != "" && !strings.Contains(string(list), `"title":`+l.shown.title) {
		l.t.Errorf("the title was shown as %s; the list is %s", l.shown.title, list)
	}
	var loaded struct {
		Modes struct{ CurrentModeID string }
	}
	if err := json.Unmarshal(result, &loaded); err != nil {
		l.t.Fatal(err)
	}
	switch loaded.Modes.CurrentModeID {
	case l.shown.mode, l.shown.setting:
		l.shown.mode, l.shown.setting = loaded.Modes.CurrentModeID, ""
	default:
		l.t.Errorf("the mode was set to %q; the loaded session has %q", l.shown.mode, loaded.Modes.CurrentModeID)
	}
	l.shown.plan = replayed.plan
}

// planned returns the number of the prompt that a plan belongs to; 0 for no plan.
func planned(plan string) (n int) {
	_, _ = fmt.Sscanf(plan, `[{"content":"First %d`, &n)
	return n
}

func (l *killLoop) setMode(v *victim, mode string) {
	l.t.Helper()
	l.shown.setting = mode
	_, _, err := v.call("session/set_mode", object{"sessionId": l.session, "modeId": mode})
	switch {
	case err == nil:
		l.shown.mode, l.shown.setting = mode, ""
	case !errors.Is(err, errGone):
		l.t.Fatal(err)
	}
}

// manyCalls is a model that makes several calls in one response, the last of which is slow, and then sends the prompt's
// last word.
func manyCalls(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil || len(req.Messages) == 0 {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	var prompts, words []string
	for _, m := range req.Messages {
		if m.Role == "user" {
			prompts = append(prompts, string(m.Content))
			words = wordInPrompt.FindStringSubmatch(string(m.Content))
		}
	}
	n := len(prompts)
	delta := object{"content": words[0] + "\n\nDone."}
	if last := req.Messages[len(req.Messages)-1]; last.Role == "user" && strings.Contains(string(last.Content), "tools") {
		var calls []object
		for i, call := range []object{
			{"name": "todo_write", "arguments": fmt.Sprintf(`{"todos":[{"content":"First %s","status":"pending"},{"content":"Second","status":"pending"}]}`, words[1])},
			{"name": "write", "arguments": fmt.Sprintf(`{"path":"f.txt","content":%q}`, words[0])},
			{"name": "read", "arguments": `{"path":"f.txt"}`},
			{"name": "bash", "arguments": `{"command":"sleep 0.05; echo done"}`},
		} {
			calls = append(calls, object{"index": i, "id": fmt.Sprintf("call-%d-%s-%d", n, words[1], i), "type": "function", "function": call})
		}
		delta = object{"tool_calls": calls}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	reason := "stop"
	if delta["tool_calls"] != nil {
		reason = "tool_calls"
	}
	for _, choice := range []object{{"index": 0, "delta": delta}, {"index": 0, "delta": object{}, "finish_reason": reason}} {
		chunk, err := json.Marshal(object{"id": "x", "object": "chat.completion.chunk", "model": "calls", "choices": []object{choice}})
		if err != nil {
			panic(err)
		}
		_, _ = fmt.Fprintf(w, "data: %s\n\n", chunk)
	}
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

var wordInPrompt = regexp.MustCompile(`word-(\d+)-x*`)

// prompt returns a prompt with word. Most prompts make the model call tools.
func (l *killLoop) prompt(word string) string {
	if rand.IntN(4) > 0 {
		return "Use tools and say " + word
	}
	return "Just say " + word
}

// round is one process: load, prompt, kill.
func (l *killLoop) round(round int) {
	l.t.Helper()
	v := l.start()
	l.load(v)
	// The moment is random and independent of gjc's progress. A machine that is too busy to answer by then gets more time.
	killer := time.AfterFunc(time.Duration(rand.IntN(100_000<<l.busy))*time.Microsecond, func() { _ = v.cmd.Process.Kill() })
	defer killer.Stop()
	for {
		l.next++
		word := fmt.Sprintf("word-%d-%s", l.next, strings.Repeat("x", rand.IntN(50)))
		if l.next%3 == 0 {
			l.setMode(v, []string{"auto", "default"}[rand.IntN(2)])
		}
		if l.shown.mode != "auto" {
			l.setMode(v, "auto") // the commands run without a question
		}
		prompt := object{"sessionId": l.session, "prompt": []any{object{"type": "text", "text": l.prompt(word)}}}
		_, _, err := v.call("session/prompt", prompt)
		if errors.Is(err, errGone) {
			break
		}
		if err != nil {
			l.t.Fatalf("round %d: %v", round, err)
		}
		l.answered = append(l.answered, word)
	}
	if _ = v.cmd.Process.Kill(); len(l.answered) == 0 {
		l.busy = min(l.busy+1, 8)
	}
	_ = v.cmd.Wait()
}

// end ends gjc.
func (v *victim) end() {
	_ = v.stdin.Close()
	_, _ = io.Copy(io.Discard, v.lines)
	if err := v.cmd.Wait(); err != nil {
		v.loop.t.Error(err)
	}
}
