package relay_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/server/relay"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/sessions"
	"github.com/gajae-code/gjc/sessions/pipe"
)

// client is the client of one of the processes.
type client struct {
	call func(ctx context.Context, method string, params jsonx.Raw) (any, error)

	mu      sync.Mutex // guards notices
	notices []string
}

func (c *client) Call(ctx context.Context, method string, params, result any) error {
	return c.Start(method, params)(ctx, result)
}

func (c *client) Start(method string, params any) func(context.Context, any) error {
	return func(ctx context.Context, result any) error {
		raw, err := jsonx.Marshal(params)
		if err != nil {
			return err
		}
		answer, err := c.call(ctx, method, raw)
		if err != nil {
			return err
		}
		if raw, err = jsonx.Marshal(answer); err != nil {
			return err
		}
		return jsonx.Unmarshal(raw, result)
	}
}

func (c *client) Notify(_ context.Context, method string, params any) error {
	raw, err := jsonx.Marshal(params)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notices = append(c.notices, method+" "+string(raw))
	return err
}

// world is a session that one process has open.
type world struct {
	*testing.T
	store  *sessions.Store
	log    *sessions.Log
	holder *sessions.LockedError
	own    *client
	host   *relay.Host
	open   *relay.Session
}

func start(t *testing.T, call func(context.Context, string, jsonx.Raw) (any, error)) *world {
	t.Helper()
	testenv.NoLeaks(t)
	w := &world{T: t, store: sessions.NewStore(t.TempDir(), nil), own: &client{call: call}}
	var err error
	if w.log, err = w.store.Create(t.Context(), sessions.Header{ID: "one", Cwd: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.log.Close(); err != nil {
			t.Error(err)
		}
	})
	fsys, path, err := sessions.Locate(t.Context(), w.store, "one")
	if err != nil {
		t.Fatal(err)
	}
	if w.holder, _, err = fsys.Holder(path); err != nil || w.holder == nil {
		t.Fatalf("the holder is %v: %v", w.holder, err)
	}
	w.host = relay.NewHost(w.store, zerolog.Nop())
	w.open = w.host.Session("one", w.own)
	w.open.Open()
	t.Cleanup(func() { w.open.Close(context.Background()) })
	return w
}

// caller connects another process.
func (w *world) caller(c *client) *relay.Caller {
	w.Helper()
	caller, err := relay.Call(w.store, "one", w.holder, c)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(caller.Close)
	w.accept()
	w.until("the connection is accepted", caller.Open)
	return caller
}

func (w *world) accept() {
	w.Helper()
	if err := w.host.Accept(w.Context()); err != nil {
		w.Fatal(err)
	}
}

// until waits for a condition.
func (w *world) until(what string, ok func() bool) {
	w.Helper()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for begin := time.Now(); !ok(); <-ticker.C {
		if time.Since(begin) > time.Minute {
			w.Fatal("not for a minute: " + what)
		}
	}
}

// blocks answers nothing until the question is taken back.
func blocks(asked chan<- string) func(context.Context, string, jsonx.Raw) (any, error) {
	return func(ctx context.Context, method string, params jsonx.Raw) (any, error) {
		asked <- method + " " + string(params)
		<-ctx.Done()
		asked <- "taken back"
		return nil, context.Cause(ctx)
	}
}

func chooses(option string) func(context.Context, string, jsonx.Raw) (any, error) {
	return func(context.Context, string, jsonx.Raw) (any, error) {
		return &acp.RequestPermissionResponse{Outcome: &acp.SelectedPermissionOutcome{OptionID: acp.PermissionOptionID(option)}}, nil
	}
}

// ask asks for a permission, and returns the option that was chosen.
func (w *world) ask(ctx context.Context, session acp.SessionID) (string, error) {
	w.Helper()
	resp, err := acp.MethodSessionRequestPermission.Call(ctx, w.open.Caller(w.own), &acp.RequestPermissionRequest{SessionID: session, ToolCall: acp.ToolCallUpdate{ToolCallID: "c"}})
	if err != nil {
		return "", err
	}
	chosen, ok := resp.Outcome.(*acp.SelectedPermissionOutcome)
	if !ok {
		w.Fatalf("the answer is %+v", resp)
	}
	return string(chosen.OptionID), nil
}

// A question goes to all clients, those that come later among them. The first answer counts, and an error is none.
func TestQuestions(t *testing.T) {
	here, there := make(chan string, 4), make(chan string, 4)
	w := start(t, chooses("alone"))
	if got, err := w.ask(t.Context(), "one"); err != nil || got != "alone" {
		t.Errorf("without another process: %q, %v", got, err)
	}
	failed := make(chan struct{})
	w.caller(&client{call: func(context.Context, string, jsonx.Raw) (any, error) {
		close(failed)
		return nil, errors.New("no")
	}})
	first := w.caller(&client{call: blocks(there)})
	w.own.call = func(context.Context, string, jsonx.Raw) (any, error) {
		<-failed
		if got := <-there; !strings.HasPrefix(got, "session/request_permission ") || !strings.Contains(got, `"sessionId":"one"`) {
			t.Errorf("there it is asked %s", got)
		}
		return chooses("here")(nil, "", nil)
	}
	if got, err := w.ask(t.Context(), "a child of one"); err != nil || got != "here" {
		t.Errorf("an answer here: %q, %v", got, err)
	}
	if got := <-there; got != "taken back" {
		t.Errorf("after an answer here: %s", got)
	}
	first.Close()
	w.own.call = blocks(here)
	answered := make(chan string, 1)
	go func() {
		got, err := w.ask(t.Context(), "one")
		if err != nil {
			t.Error(err)
		}
		answered <- got
	}()
	<-here
	w.caller(&client{call: chooses("late")})
	if got := <-answered; got != "late" {
		t.Errorf("a process that comes later: %q", got)
	}
	if got := <-here; got != "taken back" {
		t.Errorf("after an answer there: %s", got)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(io.ErrUnexpectedEOF)
	if _, err := w.ask(ctx, "one"); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a question that is not needed: %v", err)
	}
}

// What is no question goes to the process's own client only.
func TestQuestions_Others(t *testing.T) {
	w := start(t, func(context.Context, string, jsonx.Raw) (any, error) {
		return &acp.ReadTextFileResponse{Content: "here"}, nil
	})
	w.caller(&client{call: func(_ context.Context, method string, _ jsonx.Raw) (any, error) {
		t.Errorf("%s goes there", method)
		return nil, errors.ErrUnsupported
	}})
	resp, err := acp.MethodFSReadTextFile.Call(t.Context(), w.open.Caller(w.own), &acp.ReadTextFileRequest{SessionID: "one", Path: "/x"})
	if err != nil || resp.Content != "here" {
		t.Errorf("%+v, %v", resp, err)
	}
	var none *relay.Session
	if none.Caller(w.own) != acp.Caller(w.own) {
		t.Error("a session without other processes does not call its client")
	}
}

// A prompt is answered as the client of the other process answers it, with the code and the data of an error.
func TestPrompt(t *testing.T) {
	w := start(t, nil)
	caller := w.caller(&client{})
	prompt := &acp.PromptRequest{SessionID: "other", Prompt: []acp.ContentBlock{&acp.TextContent{Text: "hi"}}}
	w.own.call = func(_ context.Context, method string, params jsonx.Raw) (any, error) {
		if method != relay.MethodPrompt || !strings.Contains(string(params), `"hi"`) || !strings.Contains(string(params), `"sessionId":"one"`) {
			t.Errorf("%s %s", method, params)
		}
		return &acp.PromptResponse{StopReason: acp.StopReasonMaxTokens}, nil
	}
	if resp, err := caller.Prompt(prompt)(t.Context()); err != nil || resp.StopReason != acp.StopReasonMaxTokens {
		t.Errorf("%+v, %v", resp, err)
	}
	w.own.call = func(context.Context, string, jsonx.Raw) (any, error) {
		return nil, &acp.Error{Code: -32602, Message: "why", Data: jsonx.Raw(`{"kind":"shutdown"}`)}
	}
	_, err := caller.Prompt(prompt)(t.Context())
	if e, ok := errors.AsType[*acp.Error](err); !ok || e.Code != -32602 || e.Message != "why" || !relay.IsOver(err) {
		t.Errorf("the error is %v", err)
	}
	if err := caller.Cancel(t.Context(), &acp.CancelNotification{SessionID: "other"}); err != nil {
		t.Fatal(err)
	}
	w.until("the turn is cancelled", func() bool {
		w.own.mu.Lock()
		defer w.own.mu.Unlock()
		return len(w.own.notices) == 1 && w.own.notices[0] == relay.MethodCancel+` {"sessionId":"one"}`
	})
	asked := make(chan string, 2)
	w.own.call = blocks(asked)
	ctx, cancel := context.WithCancelCause(t.Context())
	wait := caller.Prompt(prompt)
	<-asked
	cancel(io.ErrUnexpectedEOF)
	if _, err := wait(ctx); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a prompt that its client cancels: %v", err)
	}
	if got := <-asked; got != "taken back" {
		t.Error(got)
	}
}

// A turn goes on when the process that has prompted is gone, and the process that is gone first answers nothing.
func TestPrompt_Gone(t *testing.T) {
	w := start(t, nil)
	caller := w.caller(&client{})
	asked, finish := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	w.own.call = func(ctx context.Context, _ string, _ jsonx.Raw) (any, error) {
		close(asked)
		<-finish
		done <- ctx.Err()
		return &acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, nil
	}
	wait := caller.Prompt(&acp.PromptRequest{SessionID: "one"})
	<-asked
	caller.Close()
	if _, err := wait(t.Context()); !errors.Is(err, relay.ErrGone) || !relay.IsOver(err) {
		t.Errorf("a prompt without an answer: %v", err)
	}
	fsys, dir, _ := sessions.Pipes(w.store)
	if left, err := fsys.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v are left: %v", left, err)
	}
	close(finish)
	if err := <-done; err != nil {
		t.Errorf("the turn of a process that is gone was cancelled: %v", err)
	}
	other := w.caller(&client{})
	w.open.Close(t.Context())
	w.until("the end of the session ends the connection", other.Ended)
}

// What another process can send wrong is refused, and does no harm.
func TestHost_Hostile(t *testing.T) {
	w := start(t, func(_ context.Context, method string, _ jsonx.Raw) (any, error) {
		t.Errorf("%s reaches the client", method)
		return nil, errors.ErrUnsupported
	})
	fsys, dir, _ := sessions.Pipes(w.store)
	stale := *w.holder
	stale.Since = stale.Since.Add(-time.Second)
	old, err := pipe.Call(fsys, dir, "one", pipe.Holder(&stale))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = old.Close() }()
	if err := w.host.Accept(t.Context()); !errors.Is(err, pipe.ErrOther) {
		t.Errorf("an offer to an earlier process: %v", err)
	}
	p, err := pipe.Call(fsys, dir, "one", pipe.Holder(w.holder))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	w.accept()
	w.accept() // it is accepted once
	answers := bufio.NewReader(p)
	for _, c := range []struct{ sent, want string }{
		{`nonsense`, `-32700`},
		{`[]`, `-32600`},
		{`{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":[]}`, `-32602`},
		{`{"jsonrpc":"2.0","id":2,"method":"session/prompt"}`, `-32602`},
		{`{"jsonrpc":"2.0","id":3,"method":"fs/read_text_file","params":{}}`, `-32601`},
		{`{"jsonrpc":"2.0","id":4,"method":"session/set_mode","params":{"sessionId":"one","modeId":"auto"}}`, `-32601`},
	} {
		if _, err := io.WriteString(p, c.sent+"\n"); err != nil {
			t.Fatal(err)
		}
		if line, err := answers.ReadString('\n'); err != nil || !strings.Contains(line, c.want) {
			t.Errorf("%s is answered with %s: %v", c.sent, line, err)
		}
	}
}

// What a process that was killed has offered is removed after a day, if no process has the session open.
func TestHost_Abandoned(t *testing.T) {
	w := start(t, nil)
	fsys, dir, _ := sessions.Pipes(w.store)
	if err := fsys.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	closed, err := w.store.Create(t.Context(), sessions.Header{ID: "closed", Cwd: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	open, err := w.store.Create(t.Context(), sessions.Header{ID: "open", Cwd: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = open.Close() }()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"closed.new", "closed.old", "open.old", "unknown.old"} {
		for _, end := range []string{".up.jsonl", ".down.jsonl"} {
			path := filepath.Join(dir, name+end)
			if err := os.WriteFile(path, []byte("4711 1\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(name, ".old") {
				if err := os.Chtimes(path, time.Time{}, time.Now().Add(-25*time.Hour)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	w.accept()
	var left []string
	entries, err := fsys.ReadDir(dir)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	slices.Sort(left)
	if diff := cmp.Diff([]string{"closed.new.down.jsonl", "closed.new.up.jsonl", "open.old.down.jsonl", "open.old.up.jsonl"}, left); err != nil || diff != "" {
		t.Errorf("%v (-want +left):\n%s", err, diff)
	}
}

func TestMessageID(t *testing.T) {
	for raw, want := range map[string]string{`"a"`: "a", `""`: "error", `1`: "error", `"` + strings.Repeat("x", 65) + `"`: "error"} {
		var m acp.Meta
		if err := m.Set("gjc/message", jsonx.Raw(raw)); err != nil {
			t.Fatal(err)
		}
		got, err := relay.MessageID(m)
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%s: %q, %v", raw, got, err)
		}
	}
	if got, err := relay.MessageID(nil); got != "" || err != nil {
		t.Errorf("none: %q, %v", got, err)
	}
}
