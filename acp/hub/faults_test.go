package hub_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gajae-code/gjc/acp/hub"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// conversation returns the conversation that a client with numbers knows: what it has shown, and its own prompts, by number.
type conversation struct {
	seen map[int64]string
	last int64
}

// add records updates. It reports a number that came twice, or not in order.
func (v *conversation) add(t *testing.T, who, id string, got []wire) {
	t.Helper()
	for _, m := range updates(got, id) {
		seq := seqOf(t, m.Params)
		if _, twice := v.seen[seq]; twice || seq <= v.last {
			t.Errorf("%s: the update %d came twice or late, after %d", who, seq, v.last)
		}
		v.seen[seq], v.last = string(jsonx.Lookup(m.Params, "update")), seq
	}
}

// Clients that come, go and come back at random moments miss nothing and get nothing twice; all see the same.
func TestAttach_Random(t *testing.T) {
	const rounds, prompts = 8, 12
	for round := range rounds {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			w := start(t, hub.Options{})
			owner := w.connect("owner", attaches())
			id := owner.newSession()
			keeper := w.connect("keeper", attaches()) // so that the session goes on, and as the measure
			wantResult(t, keeper.load(id))
			stop := make(chan struct{})
			var clients sync.WaitGroup
			known := make([]*conversation, 3)
			for i := range known {
				known[i] = &conversation{seen: make(map[int64]string), last: -1}
				clients.Go(func() { come(t, w, id, fmt.Sprint("client ", i), known[i], stop) })
			}
			for i := range prompts {
				from := owner
				if i == prompts/2 {
					owner.close()
				}
				if i >= prompts/2 {
					from = keeper
				}
				wantResult(t, from.prompt(id, fmt.Sprintf("say %d", 20+i)))
			}
			close(stop)
			clients.Wait()
			measure := &conversation{seen: make(map[int64]string), last: -1}
			last := w.connect("last", attaches())
			wantResult(t, last.load(id))
			measure.add(t, "last", id, last.received())
			for i, v := range known {
				for seq, update := range measure.seen {
					if v.seen[seq] != update {
						t.Fatalf("client %d has %q as %d, want %q", i, v.seen[seq], seq, update)
					}
				}
				if len(v.seen) != len(measure.seen) {
					t.Errorf("client %d knows %d updates, want %d", i, len(v.seen), len(measure.seen))
				}
			}
		})
	}
}

// come attaches, leaves and comes back until stop, and at last gets what it has missed.
func come(t *testing.T, w *world, id, name string, v *conversation, stop <-chan struct{}) {
	for {
		over := false
		select {
		case <-stop:
			over = true
		default:
		}
		c := w.connect(name, attaches())
		var more obj
		if v.last >= 0 {
			more = obj{"_meta": obj{"gjc/attach": obj{"after": v.last}}}
		}
		wantResult(t, c.load(id, more))
		if over {
			v.add(t, name, id, c.received())
			c.close()
			return
		}
		time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond) // a random moment, not a synchronisation
		c.close()
		v.add(t, name, id, c.received())
	}
}

// Clients are cut off at random moments of turns, 200 times. The session goes on, and the one that comes back sees all of it.
func TestKilledClients(t *testing.T) {
	w := start(t, hub.Options{})
	for i := range 10 {
		killClients(t, w, fmt.Sprintf("round %d", i), 20)
	}
}

func killClients(t *testing.T, w *world, round string, kills int) {
	t.Helper()
	c := w.connect(round, nil)
	id := c.newSession()
	for i := range kills {
		c.begin("session/prompt", promptParams(id, fmt.Sprintf("say %d", 5+i)))
		if i%7 == 3 {
			c.begin("session/prompt", promptParams(id, "ask"))
		}
		for n := rand.IntN(40); n > 0; n-- {
			c.call("session/list", nil)
		}
		_ = c.conn.Close()
		if i%2 == 0 {
			c.close() // else, the next one comes before the hub knows
		}
		c = w.connect(fmt.Sprintf("%s, %d", round, i+1), attaches())
		c.mu.Lock()
		c.requested = func(m *wire) (any, bool) { return chosen("yes"), m.Method == "session/request_permission" }
		c.mu.Unlock()
		wantResult(t, c.load(id))
	}
	last := w.connect("last", attaches())
	wantResult(t, last.load(id))
	wantResult(t, last.prompt(id, "say 3"))
	c.awaitText(id, "u: say 3\na: 0,1,2,")
	want := shown(updatesOf(w.house, id), id)
	late := w.connect("late", attaches())
	wantResult(t, late.load(id))
	for _, c := range []*client{c, late} {
		if got := shown(c.received(), id); got != want {
			t.Errorf("%s shows %d bytes, want the %d of the store; they differ at %d", c.name, len(got), len(want), differ(got, want))
		}
		c.close()
	}
	last.close()
}

func differ(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// A client that does not read is detached, and learns why; the engine and the others do not wait for it.
func TestSlowClient(t *testing.T) {
	w := start(t, hub.Options{MaxQueued: 1 << 20})
	a := w.connect("ann", nil)
	id := a.newSession()
	b := w.connect("bob", attaches())
	wantResult(t, b.load(id))
	paused := make(chan struct{})
	b.mu.Lock()
	b.paused = paused
	b.mu.Unlock()
	for range 3 {
		wantResult(t, a.prompt(id, "big"))
	}
	b.mu.Lock()
	b.paused = nil
	b.mu.Unlock()
	close(paused)
	await(b, func(got []wire) (struct{}, bool) {
		last := got[len(got)-1]
		return struct{}{}, strings.Contains(string(last.Params), "which does not read them")
	})
	wantResult(t, b.call("session/list", nil))
	wantResult(t, b.load(id))
	if got, want := len(shown(b.received(), id)), 3*64*(32<<10); got < want {
		t.Errorf("loaded again, it shows %d bytes, want %d", got, want)
	}
}

// A client that is alone and does not read delays its engine, and loses nothing.
func TestSlowClient_Alone(t *testing.T) {
	w := start(t, hub.Options{MaxQueued: 1 << 20})
	a := w.connect("ann", nil)
	id := a.newSession()
	paused := make(chan struct{})
	a.mu.Lock()
	a.paused = paused
	a.mu.Unlock()
	prompt := a.begin("session/prompt", promptParams(id, "big"))
	// Another client is not disturbed.
	b := w.connect("bob", nil)
	wantResult(t, b.prompt(b.newSession(), "say 3"))
	if w.stopOf("big") != "" {
		t.Error("the engine does not wait for the client")
	}
	a.mu.Lock()
	a.paused = nil
	a.mu.Unlock()
	close(paused)
	wantResult(t, a.end(prompt))
	if got, want := len(shown(a.received(), id)), len("\na: ")+64*(32<<10); got != want {
		t.Errorf("the client shows %d bytes, want %d", got, want)
	}
}

// IDs that are used twice, those of other clients, and messages that are none.
func TestBadInput(t *testing.T) {
	w := start(t, hub.Options{MaxMessage: 1 << 16})
	a := w.connect("ann", attaches())
	id := a.newSession()
	b := w.connect("bob", attaches())
	wantResult(t, b.load(id))
	a.send(obj{"jsonrpc": "2.0", "id": 77, "method": "session/prompt", "params": promptParams(id, "hold")})
	b.awaitText(id, "begun")
	a.send(obj{"jsonrpc": "2.0", "id": 77, "method": "session/list", "params": obj{}})
	if r := a.end("77"); r.Error == nil || !strings.Contains(r.Error.Message, "not answered yet") {
		t.Errorf("an ID that is in use: %s", r.Result)
	}
	for _, line := range []string{
		`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":77}}`, `{"jsonrpc":"2.0","id":1,"result":{}}`,
		`{"jsonrpc":"2.0","id":"gjc-1","error":{"code":1,"message":"x"}}`, `{}`, `[]`, `[{"jsonrpc":"2.0","id":5,"method":"session/new"}]`, `7`, `"`,
		`{"jsonrpc":"2.0","id":{},"method":"session/prompt","params":{"sessionId":"s1"}}`, `{"id":1,"id":2,"method":"x"}`, "\x00\xff",
		`{"jsonrpc":"2.0","method":"session/cancel","params":[1]}`, `{"jsonrpc":"2.0","method":"session/prompt","params":{"sessionId":"s1"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":{}}}`,
	} {
		_, _ = b.conn.Write([]byte(line + "\n"))
	}
	_, _ = b.conn.Write([]byte(`{"jsonrpc":"2.0","id":5,"method":"x","params":"` + strings.Repeat("x", 1<<17) + `"}` + "\n"))
	wantResult(t, b.call("session/list", nil))
	if w.stopOf("hold") != "" {
		t.Error("the prompt of another client was cancelled")
	}
	close(w.gate("hold"))
	await(a, func(got []wire) (struct{}, bool) {
		return struct{}{}, slices.ContainsFunc(got, func(m wire) bool { return m.Method == "" && string(m.ID) == "77" && m.Error == nil })
	})
}

// An engine that ends takes its sessions with it, which other clients learn; they go on.
func TestEngineEnds(t *testing.T) {
	w := start(t, hub.Options{})
	a := w.connect("ann", attaches())
	id := a.newSession()
	b := w.connect("bob", attaches())
	wantResult(t, b.load(id))
	prompt := b.begin("session/prompt", promptParams(id, "hold"))
	a.awaitText(id, "begun")
	_ = w.holder(id).in.Close()
	wantError(t, b.end(prompt), "engine has ended")
	await(b, func(got []wire) (struct{}, bool) {
		return struct{}{}, strings.Contains(string(got[len(got)-2].Params)+string(got[len(got)-1].Params), "load the session again")
	})
	wantResult(t, b.load(id))
	wantResult(t, b.prompt(id, "say 1"))
	if err := <-a.done; err == nil || !strings.Contains(err.Error(), "the engine has ended") {
		t.Errorf("Serve of the engine's client: %v", err)
	} else {
		a.done <- err
	}
}
