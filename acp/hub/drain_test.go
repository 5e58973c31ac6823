package hub_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/acp/hub"
)

// served waits until a client's connection has ended and the client has read everything, and returns the result of Serve.
func (c *client) served() error {
	c.t.Helper()
	timeout := time.After(time.Minute)
	var err error
	select {
	case err = <-c.done:
	case <-timeout:
		c.t.Fatalf("%s: the connection goes on", c.name)
	}
	for {
		c.mu.Lock()
		changed, ended := c.changed, c.ended
		c.mu.Unlock()
		if ended {
			return err
		}
		select {
		case <-changed:
		case <-timeout:
			c.t.Fatalf("%s: the connection goes on", c.name)
		}
	}
}

// detached returns the reason with which the client was detached from a session; empty if it was not.
func (c *client) detached(id string) string {
	for _, m := range c.received() {
		own := "gjc/attach"
		if m.Method == "session/update" && text(m.Params, "sessionId") == id && text(m.Params, "update", "_meta", own, "state") == "detached" {
			return text(m.Params, "update", "_meta", own, "reason")
		}
	}
	return ""
}

// Drain gives up what is idle at once, and the rest turn by turn; each client goes when it needs the server no longer.
func TestDrain(t *testing.T) {
	w := start(t, hub.Options{})
	idle, busy, plain := w.connect("ann", attaches()), w.connect("bob", attaches()), w.connect("carl", nil)
	idleID, busyID, plainID := idle.newSession(), busy.newSession(), plain.newSession()
	first := busy.begin("session/prompt", promptParams(busyID, "hold 1"))
	busy.awaitText(busyID, "begun")
	second := busy.begin("session/prompt", promptParams(busyID, "never"))
	guest := w.connect("dora", attaches())
	if r := guest.load(busyID); r.Error != nil {
		t.Fatal(r.Error.Message)
	}
	alone := w.connect("eve", nil)
	left := alone.newSession() // a turn whose client goes
	alone.begin("session/prompt", promptParams(left, "hold 2"))
	alone.awaitText(left, "begun")
	alone.close()

	w.hub.Drain()
	for c, id := range map[*client]string{idle: idleID, plain: plainID} {
		if err := c.served(); !errors.Is(err, hub.ErrDrained) {
			t.Errorf("%s: Serve returns %v", c.name, err)
		}
		if w.holder(id) != nil {
			t.Errorf("%s: the session is still open", c.name)
		}
		if why := c.detached(id); !strings.Contains(why, "shutting down") {
			t.Errorf("%s: it was detached: %q", c.name, why)
		}
	}
	wantError(t, busy.end(second), "connect again")
	for _, c := range []*client{busy, guest} { // they stay, and begin nothing
		wantError(t, c.prompt(busyID, "no"), "connect again")
		wantError(t, c.call("session/new", obj{"cwd": "/x", "mcpServers": []obj{}}), "connect again")
		wantError(t, c.load(idleID), "connect again")
		wantResult(t, c.call("session/list", nil))
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("no time"))
	if err := w.hub.Drained(ctx); err == nil || err.Error() != "no time" || w.hub.Turns() != 2 {
		t.Errorf("during the turns: %v, %d turns", err, w.hub.Turns())
	}
	close(w.gate("hold 1"))
	if r := busy.end(first); text(r.Result, "stopReason") != "end_turn" {
		t.Errorf("the turn ends with %s", r.Result)
	}
	for _, c := range []*client{busy, guest} {
		if err := c.served(); !errors.Is(err, hub.ErrDrained) {
			t.Errorf("%s: Serve returns %v", c.name, err)
		}
		if c.detached(busyID) == "" {
			t.Errorf("%s was not detached", c.name)
		}
	}
	if w.holder(busyID) != nil || w.holder(left) == nil {
		t.Errorf("after its turn, the session is held by %v; that with a turn by %v", w.holder(busyID), w.holder(left))
	}
	w.hub.Cancel() // the bound
	if err := w.hub.Drained(t.Context()); err != nil {
		t.Error(err)
	}
	if w.holder(left) != nil || w.stopOf("hold 2") != "cancelled" {
		t.Errorf("the turn without a client ended with %q", w.stopOf("hold 2"))
	}
	for _, never := range []string{"never", "no"} {
		if w.stopOf(never) != "" {
			t.Errorf("the prompt %q had a turn", never)
		}
	}
	late := make(chan error, 1)
	go func() {
		late <- w.hub.Serve(t.Context(), strings.NewReader(""), new(strings.Builder), hub.Client{Scopes: all})
	}()
	if err := <-late; !errors.Is(err, hub.ErrDrained) {
		t.Errorf("a new client: %v", err)
	}
}

// A request that was begun is answered before its client's connection ends, whatever the moment is.
func TestDrain_Answers(t *testing.T) {
	for range 200 {
		w := newHub(t, hub.Options{})
		c := w.connect("ann", attaches())
		id := c.newSession()
		begun := make(chan struct{})
		var prompts []string
		go func() {
			defer close(begun)
			for range 3 {
				prompts = append(prompts, c.begin("session/prompt", promptParams(id, "say 3")))
			}
		}()
		w.hub.Drain()
		err := c.served()
		<-begun
		if !errors.Is(err, hub.ErrDrained) {
			t.Fatalf("Serve returns %v", err)
		}
		answers := make(map[string]bool)
		for _, m := range c.received() {
			if m.Method == "" {
				answers[string(m.ID)] = m.Error == nil
			}
		}
		ok := 0
		for _, p := range prompts {
			if answers[p] {
				ok++
			}
		}
		if got := strings.Count(shown(c.received(), id), "0,1,2,"); got != ok {
			t.Fatalf("%d turns have run, and %d prompts were answered: %v", got, ok, answers)
		}
		if err := w.hub.Drained(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// Cancel answers the prompts that wait, too.
func TestCancel(t *testing.T) {
	w := start(t, hub.Options{})
	b := w.connect("bob", nil)
	id := b.newSession()
	first := b.begin("session/prompt", promptParams(id, "hold 2"))
	b.awaitText(id, "begun")
	second := b.begin("session/prompt", promptParams(id, "never"))
	b.call("session/list", nil) // the prompt is there
	w.hub.Cancel()
	for _, prompt := range []string{first, second} {
		if r := b.end(prompt); text(r.Result, "stopReason") != "cancelled" {
			t.Errorf("a cancelled prompt: %s", r.Result)
		}
	}
}
