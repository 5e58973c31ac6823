package hub_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/acp/hub"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// A client that is alone gets its engine's messages unchanged, and sends its own unchanged.
func TestPassThrough(t *testing.T) {
	w := start(t, hub.Options{})
	c := w.connect("", nil)
	id := c.newSession()
	wantResult(t, c.prompt(id, "say 3"))
	got := updates(c.received(), id)
	if want := `{"sessionId":"s1","update":{"content":{"text":"0,","type":"text"},"messageId":"a-say 3","sessionUpdate":"agent_message_chunk"}}`; len(got) != 4 || !sameJSON(string(got[1].Params), want) {
		t.Errorf("updates: %v", got)
	}
	if r := c.call("_other/method", obj{"x": 1}); text(r.Result, "method") != "_other/method" {
		t.Errorf("another method: %s", r.Result)
	}
	_, _ = c.conn.Write([]byte("{\"jsonrpc\":\n"))
	await(c, func(got []wire) (struct{}, bool) {
		last := got[len(got)-1]
		return struct{}{}, last.Error != nil && last.Error.Code == -32700
	})
	if r := w.connect("", attaches()).call("session/list", nil); text(r.Result, "method") != "session/list" {
		t.Errorf("session/list: %s", r.Result)
	}
}

func sameJSON(a, b string) bool {
	var x, y any
	return jsonx.Unmarshal([]byte(a), &x) == nil && jsonx.Unmarshal([]byte(b), &y) == nil && cmp.Equal(x, y)
}

func TestInitialize_Capability(t *testing.T) {
	w := start(t, hub.Options{})
	c := w.connect("", nil)
	r := c.received()[0]
	caps := jsonx.Lookup(r.Result, "agentCapabilities")
	if got := jsonx.Lookup(jsonx.Lookup(caps, "_meta"), "gjc/attach"); !sameJSON(string(got), `{"roles":["controller","observer"]}`) {
		t.Errorf("gjc/attach: %s", got)
	}
	if jsonx.Lookup(jsonx.Lookup(caps, "_meta"), "gjc") == nil || string(jsonx.Lookup(caps, "loadSession")) != "true" {
		t.Errorf("the engine's own capabilities: %s", caps)
	}
}

// A client without the capability cannot open a session that another one has open; one with it attaches, sees the conversation so far and
// what follows.
func TestAttach(t *testing.T) {
	w := start(t, hub.Options{})
	a := w.connect("ann", nil)
	id := a.newSession()
	wantResult(t, a.prompt(id, "say 3"))
	wantError(t, w.connect("", nil).load(id), "in use")
	b := w.connect("bob", attaches())
	r := b.load(id)
	wantResult(t, r)
	attached := jsonx.Lookup(jsonx.Lookup(r.Result, "_meta"), "gjc/attach")
	if text(attached, "role") != "controller" || string(jsonx.Lookup(attached, "clients")) != "2" || text(r.Result, "modes", "currentModeId") != "default" {
		t.Errorf("the answer: %s", r.Result)
	}
	const first = "\nu: say 3\na: 0,1,2,"
	if got := shown(b.received(), id); got != first {
		t.Errorf("the replay: %q", got)
	}
	last := b.received()[len(b.received())-1]
	if last.Method != "" {
		t.Errorf("the last message of the replay is not the answer: %s", last.Params)
	}
	wantResult(t, b.prompt(id, "say 2"))
	if got, want := shown(b.received(), id), first+"0,1,"; got != want {
		t.Errorf("its own prompt: %q, want %q", got, want)
	}
	a.awaitText(id, "\nu: say 2\na: 0,1,")
	w.mu.Lock()
	author := w.authors["say 2"]
	w.mu.Unlock()
	if author != "bob" {
		t.Errorf("the author: %q", author)
	}
	for _, u := range updates(a.received(), id) {
		if jsonx.Lookup(jsonx.Lookup(u.Params, "_meta"), "gjc/seq") != nil {
			t.Errorf("a number for a client that does not know the extension: %s", u.Params)
		}
	}
}

func seqOf(t *testing.T, params jsonx.Raw) (seq int64) {
	t.Helper()
	raw := jsonx.Lookup(jsonx.Lookup(params, "_meta"), "gjc/seq")
	if raw == nil {
		t.Fatalf("no number: %s", params)
	}
	if err := jsonx.Unmarshal(raw, &seq); err != nil {
		t.Fatal(err)
	}
	return seq
}

// A client that comes back with the number of the last update gets exactly the later ones.
func TestAttach_After(t *testing.T) {
	w := start(t, hub.Options{})
	a := w.connect("ann", attaches())
	id := a.newSession()
	b := w.connect("bob", attaches())
	wantResult(t, b.load(id))
	wantResult(t, a.prompt(id, "say 5"))
	b.awaitText(id, "4,")
	all := updates(b.received(), id)
	seq := seqOf(t, all[len(all)-1].Params)
	b.close()
	r := a.prompt(id, "say 7")
	back := w.connect("bob", attaches())
	wantResult(t, back.load(id, obj{"_meta": obj{"gjc/attach": obj{"after": seq}}}))
	if got, want := shown(back.received(), id), "\nu: say 7\na: 0,1,2,3,4,5,6,"; got != want {
		t.Errorf("after %d: %q, want %q", seq, got, want)
	}
	news := updates(back.received(), id)
	for i, u := range news {
		if got := seqOf(t, u.Params); got != seq+1+int64(i) {
			t.Errorf("update %d has the number %d, want %d", i, got, seq+1+int64(i))
		}
	}
	// The sender of a prompt does not get it back, but its number.
	var echo int64
	if err := jsonx.Unmarshal(jsonx.Lookup(jsonx.Lookup(r.Result, "_meta"), "gjc/seq"), &echo); err != nil || echo != seq+1 {
		t.Errorf("the number of the prompt: %d, want %d (%v)", echo, seq+1, err)
	}
	for _, wrong := range []any{obj{"after": 1}, obj{"after": seq + 1_000_000}, obj{"after": -1}, obj{"role": "king"}, obj{"after": "x"}, 7} {
		if r := w.connect("", nil).load(id, obj{"_meta": obj{"gjc/attach": wrong}}); r.Error == nil || r.Error.Code != -32602 {
			t.Errorf("%v: %s", wrong, r.Result)
		}
	}
}

// A client that comes back to a session that has been closed cannot have only what is new: the numbers are those of another life.
func TestAttach_AfterTheEnd(t *testing.T) {
	w := start(t, hub.Options{})
	a := w.connect("ann", attaches())
	id := a.newSession()
	wantResult(t, a.prompt(id, "say 3"))
	all := updates(a.received(), id)
	after := obj{"gjc/attach": obj{"after": seqOf(t, all[len(all)-1].Params)}}
	wantResult(t, a.call("session/close", obj{"sessionId": id}))
	for _, method := range []string{"session/load", "session/resume"} {
		back := w.connect("ann", attaches())
		if r := back.call(method, obj{"sessionId": id, "cwd": "/w", "mcpServers": []string{}, "_meta": after}); r.Error == nil || r.Error.Code != -32602 {
			t.Errorf("%s: %s", method, r.Result)
		}
		if got := updates(back.received(), id); len(got) != 0 {
			t.Errorf("%s: %v", method, got)
		}
	}
}

// The first client may have resumed the session, or the log may have lost its beginning: the engine then replays the conversation.
func TestAttach_WithoutTheBeginning(t *testing.T) {
	w := start(t, hub.Options{MaxLog: 1})
	a := w.connect("ann", attaches())
	id := a.newSession()
	for range 3 {
		wantResult(t, a.prompt(id, "say 1000"))
	}
	wantResult(t, a.call("session/close", obj{"sessionId": id}))
	wantResult(t, a.call("session/resume", obj{"sessionId": id, "cwd": "/w", "mcpServers": []obj{}}))
	before := len(a.received())
	b := w.connect("bob", attaches())
	wantResult(t, b.load(id))
	want := shown(updatesOf(w.house, id), id)
	if got := shown(b.received(), id); got != want {
		t.Errorf("the replay has %d bytes, want %d", len(got), len(want))
	}
	for _, m := range a.received()[before:] {
		if text(m.Params, "update", "sessionUpdate") == "agent_message_chunk" {
			t.Fatal("the other client gets the replay too")
		}
	}
	// While a turn runs, the conversation cannot be replayed.
	wantResult(t, a.prompt(id, "say 2000"))
	prompt := a.begin("session/prompt", promptParams(id, "hold"))
	a.awaitText(id, "begun")
	wantError(t, w.connect("", attaches()).load(id), "while a turn runs")
	wantResult(t, w.connect("", attaches()).call("session/resume", obj{"sessionId": id, "cwd": "/w", "mcpServers": []obj{}}))
	close(w.gate("hold"))
	wantResult(t, a.end(prompt))
	late := w.connect("late", attaches())
	wantResult(t, late.load(id))
	if got, want := shown(late.received(), id), shown(updatesOf(w.house, id), id); got != want {
		t.Errorf("the second replay has %d bytes, want %d", len(got), len(want))
	}
}

// updatesOf returns the stored updates of a session as messages.
func updatesOf(h *house, id string) (all []wire) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, raw := range h.stored[id] {
		params, _ := jsonx.Marshal(obj{"sessionId": id, "update": raw})
		all = append(all, wire{Method: "session/update", Params: params})
	}
	return all
}

// A client that loads a session which it has open gets the conversation, and the others get nothing twice.
func TestLoad_Again(t *testing.T) {
	w := start(t, hub.Options{})
	a := w.connect("ann", attaches())
	id := a.newSession()
	wantResult(t, a.prompt(id, "say 3"))
	wantResult(t, a.load(id)) // the engine replays
	b := w.connect("bob", attaches())
	wantResult(t, b.load(id))
	const want = "\nu: say 3\na: 0,1,2,"
	if got := shown(b.received(), id); got != want {
		t.Errorf("the second client shows %q", got)
	}
	n := len(updates(b.received(), id))
	before := len(a.received())
	wantResult(t, a.load(id)) // the hub replays
	if got := shown(a.received()[before:], id); got != want {
		t.Errorf("loaded again: %q", got)
	}
	if got := len(updates(b.received(), id)); got != n {
		t.Errorf("the second client got %d updates more", got-n)
	}
}

// Two clients that load a stored session at the same time both get it.
func TestLoad_AtTheSameTime(t *testing.T) {
	w := start(t, hub.Options{})
	a := w.connect("ann", attaches())
	id := a.newSession()
	wantResult(t, a.prompt(id, "say 50"))
	wantResult(t, a.call("session/close", obj{"sessionId": id}))
	var ids []string
	var clients []*client
	for i := range 8 {
		c := w.connect(fmt.Sprint(i), attaches())
		clients = append(clients, c)
		ids = append(ids, c.begin("session/load", obj{"sessionId": id, "cwd": "/w", "mcpServers": []obj{}}))
	}
	want := shown(updatesOf(w.house, id), id)
	for i, c := range clients {
		wantResult(t, c.end(ids[i]))
		if got := shown(c.received(), id); got != want {
			t.Errorf("client %d shows %q", i, got)
		}
	}
	if !strings.Contains(want, "49,") {
		t.Errorf("the conversation is %q", want)
	}
}

// A prompt that the engine refuses is shown to no other client.
func TestAttach_RefusedPrompt(t *testing.T) {
	w := start(t, hub.Options{})
	a := w.connect("ann", attaches())
	id := a.newSession()
	b := w.connect("bob", attaches())
	wantResult(t, b.load(id))
	wantError(t, a.prompt(id, "refuse"), "refused")
	wantResult(t, a.prompt(id, "say 2"))
	b.awaitText(id, "\nu: say 2\na: 0,1,")
	if got := shown(b.received(), id); strings.Contains(got, "refuse") {
		t.Errorf("the other client shows %q", got)
	}
}
