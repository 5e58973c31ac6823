package server_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/acp/server"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/providers/providertest"
)

// toolOf returns the only tool of a test. The tool needs no permission.
func toolOf(name string, run func(ctx context.Context, call *agent.Call) (*agent.Result, error)) func() []agent.Tool {
	return func() []agent.Tool {
		return []agent.Tool{agent.NewTool(agent.ToolFuncs[struct{}]{
			Name: name, Kind: agent.KindOther,
			Run: func(ctx context.Context, call *agent.Call, _ *struct{}) (*agent.Result, error) { return run(ctx, call) },
		})}
	}
}

// wire is a client that sends and receives raw lines.
type wire struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func (w *wire) send(format string, args ...any) {
	w.t.Helper()
	if _, err := fmt.Fprintf(w.conn, format+"\n", args...); err != nil {
		w.t.Fatal(err)
	}
}

// until reads lines up to the first that contains all parts, and returns them.
func (w *wire) until(parts ...string) []string {
	w.t.Helper()
	var lines []string
	for {
		line, err := w.in.ReadString('\n')
		if err != nil {
			w.t.Fatalf("%v; no line with %q in %q", err, parts, lines)
		}
		lines = append(lines, line)
		if containsAll(line, parts...) {
			return lines
		}
	}
}

// begin starts a server, opens a session over a raw wire and returns the session's ID. ctx ends the server; done receives its
// result.
func begin(t *testing.T, ctx context.Context, c *config, dir string) (w *wire, id string, done <-chan error) {
	t.Helper()
	a, b := net.Pipe()
	t.Cleanup(func() { _ = a.Close() })
	_ = a.SetDeadline(time.Now().Add(3 * time.Minute)) // only a hang reaches the deadline
	result := make(chan error, 1)
	go func() { result <- server.Serve(ctx, b, b, b, c.server) }()
	w = &wire{t: t, conn: a, in: bufio.NewReader(a)}
	w.send(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":1}}`)
	w.until(`"id":"i"`)
	w.send(`{"jsonrpc":"2.0","id":"n","method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`, dir)
	lines := w.until(`"id":"n"`)
	var resp struct {
		Result struct {
			SessionID string `json:"sessionId"`
		} `json:"result"`
	}
	if err := jsonx.Unmarshal([]byte(lines[len(lines)-1]), &resp); err != nil || resp.Result.SessionID == "" {
		t.Fatalf("%s (%v)", lines, err)
	}
	return w, resp.Result.SessionID, result
}

// An editor that stops reading during a turn blocks that turn, but does not keep the program from ending.
func TestServe_EndsWithoutAReader(t *testing.T) {
	testenv.NoLeaks(t)
	ended, after := make(chan struct{}), make(chan struct{})
	c := newConfig(t, scripted(providertest.Step{providertest.Call("c1", "flood", `{}`)}))
	c.server.Sessions.Tools = toolOf("flood", func(ctx context.Context, call *agent.Call) (*agent.Result, error) {
		defer close(ended)
		for i := 0; ctx.Err() == nil; i++ {
			if i == 1000 {
				close(after) // not reached: the editor blocks the tool
			}
			call.Update(agent.Progress{Content: []agent.Content{agent.TextContent{Text: strings.Repeat("x", 16<<10)}}})
		}
		return nil, context.Cause(ctx)
	})
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	w, id, done := begin(t, ctx, c, t.TempDir())
	w.send(`{"jsonrpc":"2.0","id":"p","method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"go"}]}}`, id)
	w.until(`"in_progress"`)
	select {
	case <-after:
		t.Error("a tool continued without a reader")
	case <-time.After(500 * time.Millisecond): // long enough to fill all buffers
	}
	stop()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the server does not end")
	}
	_ = w.conn.Close()
	<-ended
}

// A prompt that a client sends immediately after session/load runs after its response, and the updates of the turn precede the
// response to the prompt.
func TestLoad_ThenPrompt(t *testing.T) {
	c := newConfig(t)
	w, id, done := begin(t, t.Context(), c, t.TempDir())
	w.send(`{"jsonrpc":"2.0","id":"p","method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"!say 3"}]}}`, id)
	w.until(`"id":"p"`)
	for i := range 20 {
		for _, line := range []string{
			`{"jsonrpc":"2.0","id":"cN","method":"session/close","params":{"sessionId":"ID"}}`,
			`{"jsonrpc":"2.0","id":"lN","method":"session/load","params":{"sessionId":"ID","cwd":"/","mcpServers":[]}}`,
			`{"jsonrpc":"2.0","id":"hN","method":"session/prompt","params":{"sessionId":"ID","prompt":[{"type":"text","text":"/help"}]}}`,
		} {
			w.send("%s", strings.NewReplacer("ID", id, "N", fmt.Sprint(i)).Replace(line))
		}
		lines := w.until(fmt.Sprintf(`"id":"h%d"`, i))
		at := func(parts ...string) int {
			return slices.IndexFunc(lines, func(line string) bool { return containsAll(line, parts...) })
		}
		loaded, help, answered := at(fmt.Sprintf(`"id":"l%d"`, i), "result"), at("Commands:"), at("end_turn")
		if loaded < 0 || help < loaded || answered < help {
			t.Fatalf("load is answered in line %d, help said in %d and answered in %d of:\n%s", loaded, help, answered, strings.Join(lines, ""))
		}
	}
	_ = w.conn.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A session that is loaded while it is being closed is opened afterwards.
func TestLoad_WhileClosing(t *testing.T) {
	gate := make(chan struct{})
	e := start(t, scripted(providertest.Step{providertest.Call("c1", "slow", `{}`)}), func(c *config) {
		c.server.Sessions.Tools = toolOf("slow", func(ctx context.Context, _ *agent.Call) (*agent.Result, error) {
			<-ctx.Done()
			<-gate
			return nil, context.Cause(ctx)
		})
	})
	id := e.session()
	go func() { _, _ = e.Prompt(t.Context(), id, "go") }() // ends with the session
	e.await(id, acptest.Update[*acp.ToolCallUpdate](nil))
	closed := make(chan error, 1)
	go func() {
		_, err := acp.MethodSessionClose.Call(t.Context(), e.Conn, &acp.CloseSessionRequest{SessionID: id})
		closed <- err
	}()
	// The error of the prompt, an unknown session, shows that the server has handled the close.
	for {
		_, err := e.Prompt(t.Context(), id, "/help")
		if ae, ok := errors.AsType[*acp.Error](err); ok && ae.Code == acp.ErrorCodeResourceNotFound && strings.Contains(ae.Message, "no session") {
			break
		}
	}
	loaded := make(chan error, 1)
	go func() {
		_, err := acp.MethodSessionLoad.Call(t.Context(), e.Conn, &acp.LoadSessionRequest{SessionID: id, Cwd: e.dir})
		loaded <- err
	}()
	// The load has been handled and waits: the session is known again, and its file is not open.
	if _, err := acp.MethodSessionList.Call(t.Context(), e.Conn, &acp.ListSessionsRequest{}); err != nil {
		t.Fatal(err)
	}
	close(gate)
	for _, c := range []chan error{closed, loaded} {
		if err := <-c; err != nil {
			t.Error(err)
		}
	}
	e.say(id, "/help", acp.StopReasonEndTurn)
}

// slowModels read their files when the test allows it.
type slowModels struct {
	*models
	load func()
}

func (m *slowModels) Refresh(context.Context) (bool, error) {
	m.load()
	return false, nil
}

// A canceled load does not leave a session open that the client does not know.
func TestLoad_Cancelled(t *testing.T) {
	testenv.NoLeaks(t)
	c := newConfig(t)
	loading, gate := make(chan struct{}, 10), make(chan struct{}, 10)
	c.server.Models.Models = &slowModels{c.server.Models.Models.(*models), func() {
		loading <- struct{}{}
		<-gate
	}}
	for range 2 {
		gate <- struct{}{}
	}
	w, id, done := begin(t, t.Context(), c, t.TempDir())
	w.send(`{"jsonrpc":"2.0","id":"p","method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"!say 3"}]}}`, id)
	w.until(`"id":"p"`)
	w.send(`{"jsonrpc":"2.0","id":"c","method":"session/close","params":{"sessionId":%q}}`, id)
	w.until(`"id":"c"`)
	for range 2 {
		<-loading
	}
	w.send(`{"jsonrpc":"2.0","id":"l","method":"session/load","params":{"sessionId":%q,"cwd":"/","mcpServers":[]}}`, id)
	<-loading // its file is open
	w.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"l"}}`)
	w.send(`{"jsonrpc":"2.0","id":"s","method":"session/list","params":{}}`)
	w.until(`"id":"s"`)
	close(gate)
	lines := w.until(`"id":"l"`)
	if !strings.Contains(lines[len(lines)-1], "-32800") {
		t.Errorf("the load was answered %s", lines[len(lines)-1])
	}
	w.send(`{"jsonrpc":"2.0","id":"m","method":"session/load","params":{"sessionId":%q,"cwd":"/tmp","mcpServers":[]}}`, id)
	if lines = w.until(`"id":"m"`); !strings.Contains(lines[len(lines)-1], `"result"`) {
		t.Errorf("loading again, elsewhere: %s", lines[len(lines)-1])
	}
	_ = w.conn.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A session has the roots of its last load. The roots of an open session do not change.
func TestLoad_OtherDirectories(t *testing.T) {
	e := start(t)
	id := e.session()
	_, err := acp.MethodSessionLoad.Call(t.Context(), e.Conn, &acp.LoadSessionRequest{SessionID: id, Cwd: e.dir, AdditionalDirectories: []string{"/lib"}})
	wantCode(t, err, acp.ErrorCodeInvalidParams, "close it first")
}

// numbered repeats a text n times with numbers in between, because a model that repeats itself exactly would be cut off.
func numbered(text string, n int) string {
	var all strings.Builder
	for i := range n {
		all.WriteString(text + strconv.Itoa(i))
	}
	return all.String()
}

// A long text reaches the client completely, live and in a replay, in lines that every client accepts.
func TestLongTextIsSplit(t *testing.T) {
	long := numbered("ä€", 30_000)
	longest := 0
	e := start(t, scripted(providertest.Step{providertest.Text(long)}), func(c *config) {
		c.editor.Trace = func(sent bool, line []byte) {
			if !sent {
				longest = max(longest, len(line)) // called by a single reader
			}
		}
	})
	id := e.session()
	e.say(id, "go", acp.StopReasonEndTurn)
	if got := e.Text(id); got != long {
		t.Errorf("%d bytes came, want %d", len(got), len(long))
	}
	if _, err := acp.MethodSessionLoad.Call(t.Context(), e.Conn, &acp.LoadSessionRequest{SessionID: id, Cwd: e.dir}); err != nil {
		t.Fatal(err)
	}
	if got := e.Text(id); got != long+long {
		t.Errorf("%d bytes came in all, want %d", len(got), 2*len(long))
	}
	if longest > 64<<10 {
		t.Errorf("the longest line has %d bytes", longest)
	}
}

// The same holds for the summary of a compaction, even if it is much longer in JSON.
func TestLongSummaryIsSplit(t *testing.T) {
	long := "The beginning. " + numbered("\x1b\"ä\"\n", 30_000) + "The end."
	longest := 0
	e := start(t, as(acptest.AllCapabilities()),
		scripted(providertest.Step{providertest.Text(long)}, providertest.Step{providertest.Text(long)}), func(c *config) {
			c.editor.Trace = func(sent bool, line []byte) {
				if !sent && bytes.Contains(line, []byte(`"compactionId"`)) {
					longest = max(longest, len(line)) // called by a single reader
				}
			}
		})
	id := e.session()
	e.say(id, "go", acp.StopReasonEndTurn)
	e.say(id, "/compact", acp.StopReasonEndTurn)
	summary := func(updates []acp.SessionUpdate) (text string, done bool) {
		for _, u := range updates {
			switch u := u.(type) {
			case *acp.CompactionUpdate:
				done = u.Status == acp.CompactionStatusCompleted
				if blocks, ok := u.Summary.Get(); ok {
					text = blocks[0].(*acp.TextContent).Text
				}
			case *acp.CompactionSummaryChunk:
				text += u.Content.(*acp.TextContent).Text
			}
		}
		return text, done
	}
	live, done := summary(e.Updates(id))
	if !strings.Contains(live, long) || !done {
		t.Errorf("%d bytes of the summary came, want %d; done: %t", len(live), len(long), done)
	}
	call[struct{}](e, "session/close", obj{"sessionId": id})
	for range 2 {
		call[struct{}](e, "session/load", obj{"sessionId": id, "cwd": e.dir, "mcpServers": []any{}})
		if got, done := summary(e.Updates(id)); got != live || !done {
			t.Errorf("after a replay the summary has %d bytes, want %d; done: %t", len(got), len(live), done)
		}
	}
	if longest > 64<<10 {
		t.Errorf("the longest line of a compaction has %d bytes", longest)
	}
}
