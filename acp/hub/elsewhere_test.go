package hub_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/acp/hub"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/providers/providertest"
)

// twoServers are servers with one store: ann has a session open at one, and bob and carl take part at the other.
type twoServers struct {
	*testing.T
	here, there    *team
	ann, bob, carl *editor
	id             acp.SessionID
}

func startTwo(t *testing.T, model *providertest.Script, annAnswers, bobAnswers permission) *twoServers {
	t.Helper()
	testenv.NoLeaks(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	store := filepath.Join(t.TempDir(), "sessions")
	w := &twoServers{T: t, here: newServer(t, model, dir, store), there: newServer(t, model, dir, store)}
	w.ann = w.here.editor("ann", acptest.EditorOptions{Permission: annAnswers})
	resp, err := w.ann.NewSession(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	w.id = resp.SessionID
	w.prompt(w.ann, "first prompt", acp.StopReasonEndTurn)
	w.bob, w.carl = w.there.editor("bob", acptest.EditorOptions{Permission: bobAnswers}), w.there.editor("carl", acptest.EditorOptions{})
	for _, e := range []*editor{w.bob, w.carl} {
		if p := w.there.watch(e, w.id); !takesPart(p) {
			e.awaitPart(w.id, takesPart)
		}
	}
	return w
}

type permission = func(context.Context, *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error)

// prompt sends a prompt and checks how its turn ends.
func (w *twoServers) prompt(e *editor, text string, want acp.StopReason) {
	w.Helper()
	resp, err := e.Prompt(w.Context(), w.id, text)
	if err != nil || resp.StopReason != want {
		w.Fatalf("the prompt %q: %+v, %v", text, resp, err)
	}
}

// begin sends a prompt, and checks how its turn ends. The channel receives the error of the answer, or nil.
func (w *twoServers) begin(e *editor, text string, want acp.StopReason) <-chan error {
	answered := make(chan error, 1)
	go func() {
		resp, err := e.Prompt(w.Context(), w.id, text)
		if err == nil && resp.StopReason != want {
			w.Errorf("the turn of %q ends with %s", text, resp.StopReason)
		}
		answered <- err
	}()
	return answered
}

// show checks what the editors show.
func (w *twoServers) show(want map[*editor]string) {
	w.Helper()
	for e, text := range want {
		e.await(w.id, text[strings.LastIndexByte(text, '\n'):])
		if diff := cmp.Diff(text, told(e.Updates(w.id))); diff != "" {
			w.Errorf("an editor shows (-want +got):\n%s", diff)
		}
	}
}

// awaitTurns waits until a hub has a number of prompts.
func awaitTurns(t *testing.T, h *hub.Hub, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for h.Turns() != n {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("it has %d prompts, and not %d", h.Turns(), n)
		}
	}
}

// A client of another server prompts in a session, answers its questions and cancels its turns. Each client is shown all, and its own prompts
// not again.
func TestElsewhere_TakesPart(t *testing.T) {
	gate, never := providertest.NewGate(), providertest.NewGate()
	defer gate.Open()
	defer never.Open()
	asked := make(chan struct{})
	w := startTwo(t, providertest.NewScript(
		scriptInfo,
		providertest.Step{providertest.Text("one.")},
		providertest.Step{providertest.Text("Writing."), providertest.Call("c1", "write", `{"path":"new.txt","content":"hello"}`)},
		providertest.Step{providertest.Text("two.")},
		providertest.Step{providertest.Text("thr"), gate.Hold(), providertest.Text("ee.")},
		providertest.Step{providertest.Text("four.")},
		providertest.Step{providertest.Text("fi"), never.Hold(), providertest.Text("ve.")},
	), func(ctx context.Context, _ *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
		close(asked)
		<-ctx.Done() // another one answers
		return nil, context.Cause(ctx)
	}, func(context.Context, *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
		<-asked
		return acptest.Choose("allow_once"), nil
	})
	w.prompt(w.bob, "write it", acp.StopReasonEndTurn)
	if text, err := os.ReadFile(filepath.Join(w.here.dir, "new.txt")); err != nil || string(text) != "hello" {
		t.Errorf("the file: %q, %v", text, err)
	}
	const first, second = "\nuser: first prompt\nagent: one.", "\nagent: Writing.\ncall c1: completed\nagent: two."
	w.show(map[*editor]string{
		w.ann: "\nagent: one.\nuser: write it" + second, w.bob: first + "Writing.\ncall c1: completed\nagent: two.", w.carl: first + "\nuser: write it" + second,
	})
	// Prompts of all wait for their turns.
	turns := make(chan error, 2)
	go func() {
		_, err := w.ann.Prompt(t.Context(), w.id, "third")
		turns <- err
	}()
	w.ann.await(w.id, "thr")
	go func() {
		_, err := w.carl.Prompt(t.Context(), w.id, "fourth")
		turns <- err
	}()
	gate.Open()
	for range 2 {
		if err := <-turns; err != nil {
			t.Error(err)
		}
	}
	w.bob.await(w.id, "\nuser: third\nagent: three.\nuser: fourth\nagent: four.")
	w.ann.await(w.id, "two.three.\nuser: fourth\nagent: four.")
	w.carl.await(w.id, "\nuser: third\nagent: three.four.")
	cancelled := w.begin(w.ann, "fifth", acp.StopReasonCancelled)
	w.ann.await(w.id, "four.fi")
	if err := w.carl.Conn.Notify(t.Context(), "session/cancel", obj{"sessionId": w.id}); err != nil {
		t.Fatal(err)
	}
	if err := <-cancelled; err != nil {
		t.Error(err)
	}
}

// A prompt that waits for its turn at a server which shuts down, or whose client closes the session, is run by the server that opens the
// session next, once.
func TestElsewhere_Next(t *testing.T) {
	for name, leave := range map[string]func(w *twoServers, finish func()) error{
		"drained": func(w *twoServers, finish func()) error {
			w.here.hub.Drain()
			finish()
			return nil
		},
		"closed": func(w *twoServers, _ func()) error {
			return w.ann.Conn.Call(w.Context(), "session/close", obj{"sessionId": w.id}, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			gate := providertest.NewGate()
			defer gate.Open()
			w := startTwo(t, providertest.NewScript(
				scriptInfo,
				providertest.Step{providertest.Text("one.")},
				providertest.Step{providertest.Text("tw"), gate.Hold(), providertest.Text("o.")},
				providertest.Step{providertest.Text("three.")},
				providertest.Step{providertest.Text("four.")},
			), nil, nil)
			running := make(chan struct{})
			go func() {
				defer close(running)
				_, _ = w.ann.Prompt(context.Background(), w.id, "second") // it may be cut off
			}()
			w.ann.await(w.id, "tw")
			waits := w.begin(w.bob, "third", acp.StopReasonEndTurn)
			awaitTurns(t, w.here.hub, 2)
			if err := leave(w, gate.Open); err != nil {
				t.Fatal(err)
			}
			if err := <-waits; err != nil {
				t.Fatal(err)
			}
			<-running
			w.bob.awaitPart(w.id, controls)
			w.carl.await(w.id, "\nuser: third\nagent: three.")
			if got := told(w.bob.Updates(w.id)); !strings.HasSuffix(got, "three.") || strings.Contains(got, "third") {
				t.Errorf("its client shows %q", got)
			}
			w.prompt(w.carl, "fourth", acp.StopReasonEndTurn)
		})
	}
}

// A client that closes the session leaves the turn of another server's client alone. The session is closed when that has ended.
func TestElsewhere_Close(t *testing.T) {
	gate := providertest.NewGate()
	defer gate.Open()
	w := startTwo(t, providertest.NewScript(
		scriptInfo,
		providertest.Step{providertest.Text("one.")},
		providertest.Step{providertest.Text("tw"), gate.Hold(), providertest.Text("o.")},
		providertest.Step{providertest.Text("three.")},
	), nil, nil)
	turn := w.begin(w.bob, "second", acp.StopReasonEndTurn)
	w.ann.await(w.id, "tw")
	if err := w.ann.Conn.Call(t.Context(), "session/close", obj{"sessionId": w.id}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := w.ann.Prompt(t.Context(), w.id, "late"); err == nil {
		t.Error("a client prompts in a session that it has closed")
	}
	gate.Open()
	if err := <-turn; err != nil {
		t.Fatal(err)
	}
	w.bob.awaitPart(w.id, controls)
	w.carl.await(w.id, "\nuser: second\nagent: two.")
	w.prompt(w.carl, "third", acp.StopReasonEndTurn)
}

// An engine passes on what clients of other servers prompt and cancel: their prompts wait with those of this server's clients, which are shown who
// has sent them.
func TestElsewhere_Queue(t *testing.T) {
	w := start(t, hub.Options{})
	a := w.connect("ann", attaches())
	id := a.newSession()
	e := w.holder(id)
	prompt := func(session, text string) obj {
		p := promptParams(session, text)
		p["_meta"] = obj{"gjc/author": "zoe"}
		return p
	}
	if r := e.ask("_gjc/elsewhere/prompt", prompt(id, "say 2"), nil); r.Error != nil || text(r.Result, "stopReason") != "end_turn" {
		t.Errorf("a prompt is answered with %+v", r)
	}
	a.awaitText(id, "1,")
	if got := shown(a.received(), id); got != "\nu: say 2\na: 0,1," {
		t.Errorf("the other client shows %q", got)
	}
	if !slices.ContainsFunc(a.received(), func(m wire) bool {
		return text(m.Params, "update", "sessionUpdate") == "user_message_chunk" && text(m.Params, "_meta", "gjc/author") == "zoe"
	}) {
		t.Error("the prompt has no author")
	}
	if r := e.ask("_gjc/elsewhere/prompt", prompt("unknown", "say 1"), nil); r.Error == nil {
		t.Errorf("a prompt in another session is answered with %s", r.Result)
	}
	held := a.begin("session/prompt", promptParams(id, "hold 1"))
	a.awaitText(id, "begun")
	waits, dropped := make(chan *wire, 1), make(chan struct{})
	go e.ask("_gjc/elsewhere/prompt", prompt(id, "say never"), dropped)
	awaitTurns(t, w.hub, 2)
	close(dropped) // its client needs it no longer
	awaitTurns(t, w.hub, 1)
	go func() { waits <- e.ask("_gjc/elsewhere/prompt", prompt(id, "say 3"), nil) }()
	awaitTurns(t, w.hub, 2)
	close(w.gate("hold 1"))
	wantResult(t, a.end(held))
	if r := <-waits; r.Error != nil || w.stopOf("say 3") != "end_turn" || w.stopOf("say never") != "" {
		t.Errorf("after %q and %q, the answer is %+v", w.stopOf("say 3"), w.stopOf("say never"), r)
	}
	held = a.begin("session/prompt", promptParams(id, "hold 2"))
	a.awaitText(id, "2,begun")
	go func() { waits <- e.ask("_gjc/elsewhere/prompt", prompt(id, "say no"), nil) }()
	awaitTurns(t, w.hub, 2)
	e.send(obj{"jsonrpc": "2.0", "method": "_gjc/elsewhere/cancel", "params": obj{"sessionId": "unknown"}})
	e.send(obj{"jsonrpc": "2.0", "method": "_gjc/elsewhere/cancel", "params": obj{"sessionId": id}})
	for _, r := range []*wire{a.end(held), <-waits} {
		if r == nil || text(r.Result, "stopReason") != "cancelled" {
			t.Errorf("a cancelled prompt is answered with %+v", r)
		}
	}
	// The session is given up when the server drains, and not before the turn that another server's client has begun is over.
	go func() { waits <- e.ask("_gjc/elsewhere/prompt", prompt(id, "hold 3"), nil) }()
	awaitTurns(t, w.hub, 1)
	a.close()
	w.hub.Drain()
	if r := e.ask("_gjc/elsewhere/prompt", prompt(id, "say late"), nil); r.Error == nil || r.Error.Code != -32603 {
		t.Errorf("a prompt for a server that drains is answered with %+v", r)
	}
	close(w.gate("hold 3"))
	if r := <-waits; r.Error != nil || text(r.Result, "stopReason") != "end_turn" {
		t.Errorf("the turn ends with %+v", r)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := w.hub.Drained(ctx); err != nil {
		t.Error(err)
	}
}

// A prompt is shown to the other clients when it is stored, and not when the model begins to answer. A client that joins is shown what is stored,
// also if the engine has not reported it yet: it may have seen it at another server.
func TestPrompt_Stored(t *testing.T) {
	w := start(t, hub.Options{})
	a := w.connect("ann", attaches())
	id := a.newSession()
	b := w.connect("bob", attaches())
	wantResult(t, b.load(id))
	held := a.begin("session/prompt", promptParams(id, "stored 1"))
	b.awaitText(id, "stored 1")
	close(w.gate("stored 1"))
	r := a.end(held)
	wantResult(t, r)
	b.awaitText(id, "done")
	if got := shown(b.received(), id); got != "\nu: stored 1\na: done" {
		t.Errorf("the other client shows %q", got)
	}
	held = a.begin("session/prompt", promptParams(id, "quiet 1"))
	await(a, func(got []wire) (struct{}, bool) {
		return struct{}{}, slices.ContainsFunc(got, func(m wire) bool { return text(m.Params, "update", "sessionUpdate") == "usage_update" })
	})
	if got := shown(b.received(), id); strings.Contains(got, "quiet") {
		t.Errorf("the other client shows %q, of which the hub has had no sign", got)
	}
	c := w.connect("carl", attaches())
	wantResult(t, c.load(id))
	if got := shown(c.received(), id); got != "\nu: stored 1\na: done\nu: quiet 1" {
		t.Errorf("a client that joins shows %q", got)
	}
	close(w.gate("quiet 1"))
	wantResult(t, a.end(held))
	for _, other := range []*client{b, c} {
		other.awaitText(id, "done\nu: quiet 1\na: done")
	}
	for _, m := range a.received() {
		if text(m.Params, "update", "_meta", "gjc/message") != "" {
			t.Errorf("a client receives %s, which is for the hub", m.Params)
		}
	}
}

// A prompt of a client of this server that another server has stored is shown once, also if this server takes the session over before the answer.
func TestElsewhere_Overtaken(t *testing.T) {
	w := start(t, hub.Options{})
	a := w.connect("ann", attaches())
	id := a.newSession()
	b := w.connect("bob", attaches())
	wantResult(t, b.load(id))
	w.holder(id).part(id, obj{"role": "controller", "elsewhere": true, "reason": "another server has it"})
	await(b, func(got []wire) (struct{}, bool) {
		return struct{}{}, slices.ContainsFunc(got, func(m wire) bool { return text(m.Params, "update", "_meta", "gjc/attach", "reason") != "" })
	})
	r := a.prompt(id, "overtaken 1")
	wantResult(t, r)
	if seq := jsonx.Lookup(jsonx.Lookup(r.Result, "_meta"), "gjc/seq"); seq == nil {
		t.Error("the answer has no number")
	}
	b.awaitText(id, "done")
	if got := shown(b.received(), id); got != "\nu: overtaken 1\na: done" {
		t.Errorf("the other client shows %q", got)
	}
	if got := shown(a.received(), id); got != "\na: done" {
		t.Errorf("its client shows %q", got)
	}
}
