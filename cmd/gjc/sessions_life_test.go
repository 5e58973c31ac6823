package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers/providertest"
)

// life is one gjc process, with an editor that records the received lines. Several lives share a home.
type life struct {
	*scenario
	home string

	mu    sync.Mutex // guards lines
	lines [][]byte   // that gjc has sent
}

// lifeOptions are the options of a life. The zero value is gjc with a home of its own and an editor that supports
// everything.
type lifeOptions struct {
	home, work   string
	capabilities *acp.ClientCapabilities
	env          []string
	args         []string // after acp
}

// startLife starts gjc and initializes it. The test ends it with stop, or kills it.
func startLife(t *testing.T, opts lifeOptions) *life {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 2*hang, errors.New("gjc hangs"))
	t.Cleanup(cancel)
	if opts.home == "" {
		opts.home = tempDir(t)
	}
	if opts.work == "" {
		opts.work = tempDir(t)
	}
	l := &life{home: opts.home, scenario: &scenario{t: t, ctx: ctx, check: newWireCheck(t), work: opts.work, answer: "allow_once"}}
	var err error
	l.Agent, err = acptest.Start(ctx, acptest.ProcessOptions{
		Path: self(t), Args: append([]string{"acp"}, opts.args...), Dir: opts.home, Env: environment(opts.home, opts.env...),
	}, acptest.EditorOptions{Capabilities: opts.capabilities, Trace: l.trace})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.Process.Kill()
		_ = l.Close()
		if t.Failed() {
			t.Logf("stderr: %s", l.Process.Stderr())
		}
	})
	if _, err := l.Initialize(ctx); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *life) trace(sent bool, line []byte) {
	l.check.trace(sent, line)
	if !sent {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.lines = append(l.lines, bytes.Clone(line))
	}
}

// mark returns the number of received lines, for since.
func (l *life) mark() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.lines)
}

// since returns the lines that have come since a mark.
func (l *life) since(mark int) [][]byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines[mark:len(l.lines):len(l.lines)]
}

// begin opens a session that asks no questions.
func (l *life) begin() acp.SessionID {
	l.t.Helper()
	l.id = must(l.scenario, acp.MethodSessionNew, &acp.NewSessionRequest{Cwd: l.work}).SessionID
	must(l.scenario, acp.MethodSessionSetMode, &acp.SetSessionModeRequest{SessionID: l.id, ModeID: "auto"})
	return l.id
}

// turn prompts and returns the agent's text.
func (l *life) turn(prompt string) string {
	l.t.Helper()
	mark := l.mark()
	l.say(acp.StopReasonEndTurn, textBlock(prompt))
	return wordsIn(l.since(mark), "agent_message_chunk")
}

// load opens a session and returns the lines up to the response.
func (l *life) load(id acp.SessionID) (*acp.LoadSessionResponse, [][]byte) {
	l.t.Helper()
	mark := l.mark()
	resp := must(l.scenario, acp.MethodSessionLoad, &acp.LoadSessionRequest{SessionID: id, Cwd: l.work})
	l.id = id
	lines := l.since(mark)
	for i, line := range lines {
		if updateIn(line) == nil && bytes.Contains(line, []byte(`"result"`)) {
			return resp, lines[:i]
		}
	}
	l.t.Fatal("no response among the lines")
	return nil, nil
}

// wantFails sends a request that must fail and returns the error.
func wantFails[P, R any](l *life, m acp.RequestMethod[P, R], p *P) *acp.Error {
	l.t.Helper()
	_, err := m.Call(l.ctx, l.Conn, p)
	e, ok := errors.AsType[*acp.Error](err)
	if !ok {
		l.t.Fatalf("%s got %v, want an error of the agent's", m.Name, err)
	}
	return e
}

// extension calls a method that is not part of the protocol.
func (l *life) extension(method string, params, result any) {
	l.t.Helper()
	var raw jsonx.Raw
	if err := l.Conn.Call(l.ctx, method, params, &raw); err != nil {
		l.t.Fatalf("%s: %v", method, err)
	}
	if err := json.Unmarshal(raw, result); err != nil {
		l.t.Fatalf("%s: %v in %s", method, err, raw)
	}
}

// kill kills gjc without a warning, which editors do not do.
func (l *life) kill() {
	l.t.Helper()
	l.Process.Kill()
	<-l.Process.Done()
}

// cancelTurn prompts, cancels once an expectation holds, and expects the turn to end as cancelled.
func (l *life) cancelTurn(prompt string, when <-chan struct{}) {
	l.t.Helper()
	done := make(chan error, 1)
	go func() {
		r, err := l.Prompt(l.ctx, l.id, prompt)
		if err == nil && r.StopReason != acp.StopReasonCancelled {
			err = fmt.Errorf("stopped with %s", r.StopReason)
		}
		done <- err
	}()
	select {
	case <-when:
	case err := <-done:
		l.t.Fatalf("%s ended before it was cancelled: %v", prompt, err)
	case <-l.ctx.Done():
		l.t.Fatal(context.Cause(l.ctx))
	}
	if err := acp.MethodSessionCancel.Notify(l.ctx, l.Conn, &acp.CancelNotification{SessionID: l.id}); err != nil {
		l.t.Fatal(err)
	}
	if err := <-done; err != nil {
		l.t.Errorf("%s: %v", prompt, err)
	}
}

// holds returns a channel that is closed when the following lines meet an expectation.
func (l *life) holds(want acptest.Expectation) <-chan struct{} {
	met := make(chan struct{})
	id, seen := l.id, len(l.Updates(l.id))
	go func() { // ends with the test's context
		err := l.Await(l.ctx, id, func(updates []acp.SessionUpdate, calls []string) bool { return want(updates[seen:], calls) })
		if err == nil {
			close(met)
		}
	}()
	return met
}

// update is the content of a session/update.
type update struct {
	SessionUpdate string          `json:"sessionUpdate"`
	MessageID     string          `json:"messageId"`
	Content       json.RawMessage `json:"content"`
	ToolCallID    string          `json:"toolCallId"`
	raw           json.RawMessage
}

// updateIn returns the update in a line; nil for any other message.
func updateIn(line []byte) *update {
	var m struct {
		Method string
		Params struct{ Update json.RawMessage }
	}
	u := new(update)
	if json.Unmarshal(line, &m) != nil || m.Method != "session/update" || json.Unmarshal(m.Params.Update, u) != nil {
		return nil
	}
	u.raw = m.Params.Update
	return u
}

// textIn returns the text of a content block.
func textIn(content json.RawMessage) (string, bool) {
	var block struct{ Type, Text string }
	err := json.Unmarshal(content, &block)
	return block.Text, err == nil && block.Type == "text"
}

// wordsIn joins the text of the chunks of one kind.
func wordsIn(lines [][]byte, kind string) string {
	var s strings.Builder
	for _, line := range lines {
		if u := updateIn(line); u != nil && u.SessionUpdate == kind {
			t, _ := textIn(u.Content)
			s.WriteString(t)
		}
	}
	return s.String()
}

// kindsIn counts updates by their kind.
func kindsIn(lines [][]byte) map[string]int {
	kinds := make(map[string]int)
	for _, line := range lines {
		if u := updateIn(line); u != nil {
			kinds[u.SessionUpdate]++
		}
	}
	return kinds
}

// shown makes lines readable.
func shown(lines [][]byte) string { return string(bytes.Join(lines, []byte("\n"))) }

// agentDir returns the agent directory of a home.
func agentDir(home string) string { return filepath.Join(home, ".gjc", "agent") }

// sessionFiles returns the session files of a home.
func sessionFiles(t *testing.T, home string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(agentDir(home), "sessions", "*", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// scripted is a home whose model is a server of the test. Its window is in tokens; settings has more of config.yml.
func scripted(t *testing.T, model *providertest.Server, window int, settings string) (home string) {
	t.Helper()
	home = tempDir(t)
	writeFile(t, filepath.Join(agentDir(home), "models.yml"), fmt.Sprintf(`providers:
  fake:
    api: openai-completions
    baseUrl: %s
    auth: none
    models:
      - {id: large, contextWindow: %d, maxTokens: 2000}
      - {id: small, contextWindow: 100000, maxTokens: 2000}
`, model.OpenAIURL(), window))
	if !strings.Contains(settings, "modelRoles") {
		settings += "modelRoles: {default: fake/large}\n"
	}
	writeFile(t, filepath.Join(agentDir(home), "config.yml"), settings)
	return home
}

// untilRequests waits until a model has received n requests.
func untilRequests(ctx context.Context, t *testing.T, model *providertest.Server, n int) []providertest.Recorded {
	t.Helper()
	for tick := time.NewTicker(5 * time.Millisecond); ; {
		if all := model.Requests(); len(all) >= n {
			tick.Stop()
			return all
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("the model was asked %d times, not %d", len(model.Requests()), n)
		}
	}
}
