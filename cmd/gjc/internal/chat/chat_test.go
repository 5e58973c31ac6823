package chat

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/cmd/gjc/internal/headless"
	"github.com/gajae-code/gjc/cmd/gjc/internal/lineedit"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/testenv"
)

func TestMain(m *testing.M) { os.Exit(testenv.Run(m)) }

// agent is an agent whose turns are functions of the test.
type agent struct {
	acp.Agent // other methods are not called
	conn      *acp.AgentConn
	newErr    error
	turns     []func(ctx context.Context, a *agent) error
	prompts   []string
	cancelled func() // nil for none
}

func (a *agent) Initialize(context.Context, *acp.InitializeRequest) (acp.Reply[acp.InitializeResponse], error) {
	return acp.Done(&acp.InitializeResponse{ProtocolVersion: 1}), nil
}

func (a *agent) NewSession(context.Context, *acp.NewSessionRequest) (acp.Reply[acp.NewSessionResponse], error) {
	return acp.Done(&acp.NewSessionResponse{SessionID: "s"}), a.newErr
}

func (a *agent) Cancel(context.Context, *acp.CancelNotification) error {
	if a.cancelled != nil {
		a.cancelled()
	}
	return nil
}

func (a *agent) Prompt(ctx context.Context, p *acp.PromptRequest) (acp.Reply[acp.PromptResponse], error) {
	if text, ok := p.Prompt[0].(*acp.TextContent); ok {
		a.prompts = append(a.prompts, text.Text)
	}
	turn := a.turns[0]
	a.turns = a.turns[1:]
	return func() (*acp.PromptResponse, error) {
		return &acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, turn(ctx, a)
	}, nil
}

// say sends a text to the client.
func (a *agent) say(ctx context.Context, text string) error {
	return acp.MethodSessionUpdate.Notify(ctx, a.conn, &acp.SessionNotification{SessionID: "s", Update: &acp.AgentMessageChunk{MessageID: "m", Content: &acp.TextContent{Text: text}}})
}

func (a *agent) serve(ctx context.Context, r io.Reader, w io.Writer) error {
	conn := acp.NewAgentConn(ctx, r, w, nil, func(conn *acp.AgentConn) acp.Agent {
		a.conn = conn
		return a
	})
	<-conn.Done()
	return nil
}

// talk runs a chat with an agent, with lines as the input, and returns the output.
func talk(t *testing.T, in io.Reader, turns ...func(context.Context, *agent) error) string {
	t.Helper()
	var out strings.Builder
	if err := Run(t.Context(), options((&agent{turns: turns}).serve, &Terminal{In: in, Out: &out})); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	return out.String()
}

func options(serve headless.ServeFunc, terminal *Terminal) *Options {
	return &Options{Serve: serve, Version: "1.2.3", Session: headless.Session{Cwd: "/w"}, Terminal: terminal, History: new(lineedit.History)}
}

// All kinds of fields are asked for, defaults are taken, and wrong answers are asked for again.
func TestForm(t *testing.T) {
	testenv.NoLeaks(t)
	schema := acp.ElicitationSchema{
		Properties: map[string]acp.ElicitationPropertySchema{
			"a": &acp.StringPropertySchema{Title: "Name", Description: "yours"},
			"b": &acp.StringPropertySchema{Enum: []string{"red", "blue"}},
			"c": &acp.MultiSelectPropertySchema{Items: &acp.StringMultiSelectItems{Enum: []string{"x", "y", "z"}}},
			"d": &acp.IntegerPropertySchema{Default: new(int64(7))},
			"e": &acp.NumberPropertySchema{},
			"f": &acp.BooleanPropertySchema{},
			"g": &acp.StringPropertySchema{},
			"h": &acp.UnknownElicitationPropertySchema{Raw: jsonx.Raw(`{"type":"colour"}`)},
		},
		Required: []string{"a"},
	}
	var got acp.ElicitationAction
	out := talk(t, strings.NewReader("go\n\n Kim \n5\nBLUE\n1, 3 3\n\nmany\n2.5\nmaybe\nYes\n\n"), func(ctx context.Context, a *agent) error {
		r, err := acp.MethodElicitationCreate.Call(ctx, a.conn, &acp.CreateElicitationRequest{
			Message: "Who?", Mode: &acp.ElicitationFormMode{RequestedSchema: schema, Scope: &acp.ElicitationSessionScope{SessionID: "s"}},
		})
		if err == nil {
			got = r.Action
		}
		return err
	})
	want := &acp.ElicitationAcceptAction{Content: map[string]acp.ElicitationContentValue{
		"a": acp.ElicitationString("Kim"), "b": acp.ElicitationString("blue"), "c": acp.ElicitationStrings{"x", "z"},
		"d": acp.ElicitationInteger(7), "e": acp.ElicitationNumber(2.5), "f": acp.ElicitationBoolean(true),
	}}
	if diff := cmp.Diff(acp.ElicitationAction(want), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, text := range []string{"? Who?", "this is required", "give a number from 1 to 2", "give a number\n", "give y or n"} {
		if !strings.Contains(out, text) {
			t.Errorf("the output lacks %q:\n%s", text, out)
		}
	}
}

func TestPage(t *testing.T) {
	testenv.NoLeaks(t)
	var got []acp.ElicitationAction
	ask := func(ctx context.Context, a *agent) error {
		r, err := acp.MethodElicitationCreate.Call(ctx, a.conn, &acp.CreateElicitationRequest{
			Message: "Log in", Mode: &acp.ElicitationURLMode{ElicitationID: "e", URL: "https://example.com/\x1b[31m", Scope: &acp.ElicitationSessionScope{SessionID: "s"}},
		})
		if err == nil {
			got = append(got, r.Action)
		}
		return err
	}
	out := talk(t, strings.NewReader("go\nwhat\ny\ngo\nn\n"), ask, ask)
	if diff := cmp.Diff([]acp.ElicitationAction{&acp.ElicitationAcceptAction{}, &acp.ElicitationDeclineAction{}}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !strings.Contains(out, `https://example.com/\u001b[31m`) || strings.Contains(out, "\x1b") {
		t.Errorf("the address can control the terminal: %q", out)
	}
}

func permission(id string) *acp.RequestPermissionRequest {
	return &acp.RequestPermissionRequest{
		SessionID: "s", ToolCall: acp.ToolCallUpdate{ToolCallID: acp.ToolCallID(id), Title: acp.Value("Do " + id)},
		Options: []acp.PermissionOption{
			{OptionID: "allow_once", Name: "Allow", Kind: acp.PermissionOptionKindAllowOnce},
			{OptionID: "reject_once", Name: "Reject", Kind: acp.PermissionOptionKindRejectOnce},
		},
	}
}

// Questions that are asked at the same time are shown one after the other.
func TestQuestions(t *testing.T) {
	testenv.NoLeaks(t)
	var mu sync.Mutex
	chosen := make(map[string]acp.PermissionOptionID)
	in, lines := io.Pipe()
	done := make(chan string)
	go func() {
		done <- talk(t, in, func(ctx context.Context, a *agent) error {
			var wg sync.WaitGroup
			for _, id := range []string{"one", "two", "three"} {
				wg.Go(func() {
					r, err := acp.MethodSessionRequestPermission.Call(ctx, a.conn, permission(id))
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					defer mu.Unlock()
					if o, ok := r.Outcome.(*acp.SelectedPermissionOutcome); ok {
						chosen[id] = o.OptionID
					}
				})
			}
			wg.Wait()
			return nil
		})
	}()
	if _, err := io.WriteString(lines, "go\ny\nn\ny\n"); err != nil {
		t.Fatal(err)
	}
	_ = lines.Close()
	out := <-done
	counts := make(map[acp.PermissionOptionID]int)
	for _, id := range chosen {
		counts[id]++
	}
	if counts["allow_once"] != 2 || counts["reject_once"] != 1 {
		t.Errorf("chosen: %v\n%s", chosen, out)
	}
}

// A question that the agent takes back disappears, and the next line is a prompt again.
func TestQuestion_withdrawn(t *testing.T) {
	testenv.NoLeaks(t)
	in, lines := io.Pipe()
	defer func() { _ = lines.Close() }()
	withdraw, withdrawn := make(chan struct{}), make(chan struct{})
	out := &watched{reached: map[string]chan struct{}{"Do one": withdraw, "the question is withdrawn": withdrawn}}
	chat := options((&agent{turns: []func(context.Context, *agent) error{
		func(ctx context.Context, a *agent) error {
			ctx, cancel := context.WithCancel(ctx)
			go func() {
				<-withdraw
				cancel()
			}()
			_, err := acp.MethodSessionRequestPermission.Call(ctx, a.conn, permission("one"))
			if err == nil {
				return errors.New("a question that was taken back is answered")
			}
			return a.say(context.WithoutCancel(ctx), "went on")
		},
		func(ctx context.Context, a *agent) error { return a.say(ctx, "the second turn") },
	}}).serve, &Terminal{In: in, Out: out})
	ended := make(chan error)
	go func() { ended <- Run(t.Context(), chat) }()
	if _, err := io.WriteString(lines, "go\n"); err != nil {
		t.Fatal(err)
	}
	<-withdrawn
	if _, err := io.WriteString(lines, "y\n"); err != nil {
		t.Fatal(err)
	}
	_ = lines.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for _, text := range []string{"the question is withdrawn", "went on", "the second turn"} {
		if !strings.Contains(out.all.String(), text) {
			t.Errorf("the output lacks %q:\n%s", text, out.all.String())
		}
	}
}

// watched closes channels when the output has their texts.
type watched struct {
	all     strings.Builder
	reached map[string]chan struct{}
}

func (w *watched) Write(p []byte) (int, error) {
	w.all.Write(p)
	for text, reached := range w.reached {
		if strings.Contains(w.all.String(), text) {
			close(reached)
			delete(w.reached, text)
		}
	}
	return len(p), nil
}

// An agent that fails at the beginning, or goes away in the middle, ends the chat with an error.
func TestAgentFails(t *testing.T) {
	testenv.NoLeaks(t)
	var out strings.Builder
	err := Run(t.Context(), options((&agent{newErr: errors.New("no disk")}).serve, &Terminal{In: strings.NewReader("hi\n"), Out: &out}))
	if err == nil || !strings.Contains(out.String(), "no disk") {
		t.Errorf("error %v, output %q", err, out.String())
	}
	in, lines := io.Pipe()
	defer func() { _ = lines.Close() }()
	a := &agent{turns: []func(context.Context, *agent) error{func(_ context.Context, a *agent) error {
		_ = a.conn.Close()
		return nil
	}}}
	go func() { _, _ = io.WriteString(lines, "hi\n") }() // ends with the chat
	if err := Run(t.Context(), options(a.serve, &Terminal{In: in, Out: io.Discard})); err == nil {
		t.Error("no error after the agent has gone")
	}
	_ = in.Close()
}

// The terminal is restored, also when it can no longer be written to.
func TestTerminal_restored(t *testing.T) {
	testenv.NoLeaks(t)
	for _, broken := range []bool{false, true} {
		raw := 0
		out := &limited{left: 1 << 20}
		if broken {
			out.left = 100
		}
		in, keys := io.Pipe()
		go func() { _, _ = io.WriteString(keys, "hello\rhello\r\x04") }() // ends with the chat
		err := Run(t.Context(), options((&agent{turns: []func(context.Context, *agent) error{
			func(ctx context.Context, a *agent) error { return a.say(ctx, strings.Repeat("text ", 100)) },
			func(ctx context.Context, a *agent) error { return a.say(ctx, "more") },
		}}).serve, &Terminal{
			In: in, Out: out, Interactive: true, Size: func() (int, int) { return 80, 24 },
			Raw: func() (func(), error) {
				raw++
				return func() { raw-- }, nil
			},
		}))
		_ = in.Close()
		if raw != 0 {
			t.Errorf("broken %v: the terminal is still raw", broken)
		}
		if broken != (err != nil) {
			t.Errorf("broken %v: error %v", broken, err)
		}
		if s := out.all.String(); !broken && (strings.Count(s, pasteOn) != 1 || !strings.HasSuffix(s, pasteOff)) {
			t.Errorf("bracketed paste is not switched off: %q", s)
		}
	}
}

// limited fails after some bytes, like a terminal that has gone.
type limited struct {
	all  strings.Builder
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		return 0, io.ErrClosedPipe
	}
	return l.all.Write(p)
}

func TestChoices(t *testing.T) {
	keys := func(options ...acp.PermissionOption) (all []string) {
		for _, c := range choicesOf(options) {
			all = append(all, c.key)
		}
		return all
	}
	option := func(id string, kind acp.PermissionOptionKind) acp.PermissionOption {
		return acp.PermissionOption{OptionID: acp.PermissionOptionID(id), Kind: kind}
	}
	for _, tt := range []struct{ got, want []string }{
		{keys(option("allow_once", "allow_once"), option("allow_always", "allow_always"), option("allow_workspace", "allow_always"), option("reject_once", "reject_once"), option("reject_always", "reject_always")), []string{"y", "a", "w", "n", "d"}},
		{keys(option("option_0", "allow_once"), option("option_1", "allow_once"), option("none", "reject_once")), []string{"1", "2", "3"}},
		{keys(option("x", "a new kind")), []string{"1"}},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

func TestWords(t *testing.T) {
	for text, want := range map[string][]string{
		"see @a.png, and":              {"see", "@a.png,", "and"},
		`'/a b/c.png' "/d e.png"`:      {"/a b/c.png", "/d e.png"},
		`/a\ b/c.png`:                  {"/a b/c.png"},
		`@"a b.txt" don't 'not closed`: {"@a b.txt", "don't", "'not", "closed"},
		"":                             nil,
	} {
		if diff := cmp.Diff(want, words(text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// state reports the state of the session without a prompt.
func (a *agent) state(ctx context.Context, state string) error {
	u := new(acp.SessionInfoUpdate)
	if err := u.Meta.Set("gjc.state", jsonx.Raw(state)); err != nil {
		return err
	}
	return acp.MethodSessionUpdate.Notify(ctx, a.conn, &acp.SessionNotification{SessionID: "s", Update: u})
}

// A turn that the agent begins is shown like any other. The line that the user was editing comes back, and Ctrl-C cancels the turn.
func TestOwnTurn(t *testing.T) {
	testenv.NoLeaks(t)
	in, keys := io.Pipe()
	defer func() { _ = in.Close() }()
	reached := func() chan struct{} { return make(chan struct{}) }
	first, typed, begun, cancelling, cancelled := reached(), reached(), reached(), reached(), reached()
	out := &watched{reached: map[string]chan struct{}{"hello": first, "half a li": typed, "on my own": begun, "cancelling; Ctrl-C again": cancelling}}
	a := &agent{cancelled: func() { close(cancelled) }, turns: []func(context.Context, *agent) error{
		func(ctx context.Context, a *agent) error { return a.say(ctx, "hello") },
		func(context.Context, *agent) error { return nil },
	}}
	go func() { // ends with the chat
		press := func(text string) { _, _ = io.WriteString(keys, text) }
		press("go\r")
		<-first
		press("\x1b[200~half a li\x1b[201~") // pasted, so that it is shown as a whole
		<-typed
		_ = a.state(t.Context(), `{"state":"running"}`)
		_ = a.say(t.Context(), "on my own\n\n")
		<-begun
		press("\x03")
		<-cancelled
		<-cancelling
		_ = a.state(t.Context(), `{"state":"idle","stopReason":"cancelled"}`)
		press("ne\r\x04")
	}()
	if err := Run(t.Context(), options(a.serve, &Terminal{
		In: in, Out: out, Interactive: true, Size: func() (int, int) { return 80, 24 }, Raw: func() (func(), error) { return func() {}, nil },
	})); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff([]string{"go", "half a line"}, a.prompts); d != "" {
		t.Errorf("prompts (-want +got):\n%s", d)
	}
}
