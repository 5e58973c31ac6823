package hub_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/acp/hub"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// requestOf waits for the nth request of a method, and returns it.
func requestOf(c *client, method string, n int) *wire {
	c.t.Helper()
	return await(c, func(got []wire) (*wire, bool) {
		n := n
		for i := range got {
			if got[i].Method == method && got[i].ID != nil {
				if n--; n == 0 {
					return &got[i], true
				}
			}
		}
		return nil, false
	})
}

// awaitCancel waits until the hub has taken a request back.
func awaitCancel(c *client, id jsonx.Raw) {
	c.t.Helper()
	await(c, func(got []wire) (struct{}, bool) {
		for _, m := range got {
			if m.Method == "$/cancel_request" && string(jsonx.Lookup(m.Params, "requestId")) == string(id) {
				return struct{}{}, true
			}
		}
		return struct{}{}, false
	})
}

func chosen(option string) obj {
	return obj{"outcome": obj{"outcome": "selected", "optionId": option}}
}

// A question goes to all; the first answer counts, the others are taken back, and late answers change nothing.
func TestQuestions_FirstAnswerCounts(t *testing.T) {
	w := start(t, hub.Options{})
	a := w.connect("ann", nil)
	id := a.newSession()
	b, c := w.connect("bob", attaches()), w.connect("cleo", attaches())
	wantResult(t, b.load(id))
	wantResult(t, c.load(id))
	watcher := w.connect("watcher", nil)
	wantResult(t, watcher.load(id, obj{"_meta": obj{"gjc/attach": obj{"role": "observer"}}}))
	prompt := a.begin("session/prompt", promptParams(id, "ask"))
	toA, toB, toC := requestOf(a, "session/request_permission", 1), requestOf(b, "session/request_permission", 1), requestOf(c, "session/request_permission", 1)
	if string(toB.ID) == string(toC.ID) || string(toA.ID) == string(toB.ID) {
		t.Errorf("the IDs are %s, %s, %s", toA.ID, toB.ID, toC.ID)
	}
	// One client that cannot answer leaves the question to the others; an answer to a question of another client counts for nothing.
	a.reply(toA.ID, errors.New("no such method"))
	c.reply(toB.ID, chosen("forged"))
	watcher.reply(jsonx.Raw("1"), chosen("forged"))
	b.reply(toB.ID, chosen("from bob"))
	wantResult(t, a.end(prompt))
	awaitCancel(c, toC.ID)
	c.reply(toC.ID, chosen("late"))
	if got := shown(a.received(), id); got != "\na: answer from bob" {
		t.Errorf("the answer that counted: %q", got)
	}
	watcher.awaitText(id, "answer from bob")
	for _, m := range watcher.received() {
		if m.Method == "session/request_permission" {
			t.Error("an observer was asked")
		}
	}
	// The late answer is that of no later question.
	prompt = b.begin("session/prompt", promptParams(id, "ask"))
	again := requestOf(c, "session/request_permission", 2)
	c.reply(again.ID, chosen("from cleo"))
	wantResult(t, b.end(prompt))
	a.awaitText(id, "from cleo")
}

// A question outlives the clients that were asked, and is put to the next one.
func TestQuestions_WaitForAClient(t *testing.T) {
	w := start(t, hub.Options{})
	a := w.connect("ann", nil)
	id := a.newSession()
	a.begin("session/prompt", promptParams(id, "ask"))
	requestOf(a, "session/request_permission", 1)
	a.close()
	b := w.connect("bob", nil) // a plain client, which loads the session as it is used to
	load := b.begin("session/load", obj{"sessionId": id, "cwd": "/w", "mcpServers": []obj{}})
	q := requestOf(b, "session/request_permission", 1)
	wantResult(t, b.end(load))
	b.reply(q.ID, chosen("later"))
	b.awaitText(id, "answer later")
	if got := shown(b.received(), id); got != "\nu: ask\na: answer later" {
		t.Errorf("the conversation: %q", got)
	}
}

// A form goes to clients with forms only, and a cancelled prompt takes the question back from all.
func TestQuestions_FormsAndCancel(t *testing.T) {
	w := start(t, hub.Options{})
	forms := obj{"elicitation": obj{"form": obj{}}}
	a := w.connect("ann", forms)
	id := a.newSession()
	b, c := w.connect("bob", attaches()), w.connect("cleo", attaches(forms))
	wantResult(t, b.load(id))
	wantResult(t, c.load(id))
	prompt := a.begin("session/prompt", promptParams(id, "form"))
	q := requestOf(c, "elicitation/create", 1)
	c.reply(q.ID, obj{"action": "accept"})
	wantResult(t, a.end(prompt))
	b.awaitText(id, "form accept")
	for _, m := range b.received() {
		if m.Method == "elicitation/create" {
			t.Error("a client without forms got one")
		}
	}
	prompt = a.begin("session/prompt", promptParams(id, "ask"))
	toB := requestOf(b, "session/request_permission", 1)
	toA := requestOf(a, "session/request_permission", 1)
	b.send(obj{"jsonrpc": "2.0", "method": "session/cancel", "params": obj{"sessionId": id}})
	if r := a.end(prompt); text(r.Result, "stopReason") != "cancelled" {
		t.Errorf("the prompt: %s", r.Result)
	}
	awaitCancel(a, toA.ID)
	awaitCancel(b, toB.ID)
}

// Files are those of the client that has opened the session, and those of no other unless it has the same.
func TestFiles(t *testing.T) {
	w := start(t, hub.Options{})
	files := obj{"fs": obj{"readTextFile": true}}
	serve := func(c *client, content string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.requested = func(m *wire) (any, bool) { return obj{"content": content}, m.Method == "fs/read_text_file" }
	}
	a := w.connect("ann", files)
	serve(a, "of ann")
	id := a.newSession()
	b, c, d := w.connect("bob", attaches()), w.connect("cleo", attaches(files)), w.connect("dora", attaches(files))
	serve(b, "of bob")
	serve(c, "of cleo")
	serve(d, "of dora")
	wantResult(t, b.load(id))
	wantResult(t, d.load(id, obj{"cwd": "/elsewhere"}))
	wantResult(t, b.prompt(id, "read x"))
	b.awaitText(id, "content of ann")
	a.close()
	wantResult(t, b.prompt(id, "read y"))
	b.awaitText(id, "error the client with the files of this session has gone; load the session in /w")
	wantResult(t, c.load(id))
	wantResult(t, b.prompt(id, "read z"))
	b.awaitText(id, "content of cleo")
	// A client that disconnects before it answers leaves no request open.
	c.mu.Lock()
	c.requested = nil
	c.mu.Unlock()
	prompt := b.begin("session/prompt", promptParams(id, "read q"))
	requestOf(c, "fs/read_text_file", 2)
	c.close()
	wantResult(t, b.end(prompt))
	b.awaitText(id, "error the client that was asked has gone")
}

// What a client may do depends on its scopes and its role, also where it has opened the session itself.
func TestScopes(t *testing.T) {
	w := start(t, hub.Options{})
	a := w.connect("ann", nil)
	id := a.newSession()
	wantResult(t, a.prompt(id, "say 2"))
	observer := w.connect("", nil)
	wantResult(t, observer.load(id, obj{"_meta": obj{"gjc/attach": obj{"role": "observer"}}}))
	reader := w.connect("", attaches(), "read")
	wantResult(t, reader.load(id))
	prompter := w.connect("", attaches(), "read", "prompt")
	wantResult(t, prompter.load(id))
	none := w.connect("", attaches(), "other")
	type test struct {
		c            *client
		method, want string
	}
	for _, test := range []test{
		{observer, "session/prompt", "only observes"},
		{observer, "session/set_mode", "only observes"},
		{observer, "_session/steering", "only observes"},
		{observer, "session/list", ""},
		{observer, "session/status", ""},
		{reader, "session/prompt", "lacks the scope prompt"},
		{reader, "session/new", "lacks the scope prompt"},
		{reader, "session/set_mode", "lacks the scope control"},
		{reader, "session/delete", "lacks the scope control"},
		{reader, "_other", "lacks the scope control"},
		{reader, "session/list", ""},
		{prompter, "session/set_mode", "lacks the scope control"},
		{prompter, "session/prompt", ""},
		{none, "session/load", "lacks the scope read"},
		{none, "session/list", "lacks the scope read"},
	} {
		r := test.c.call(test.method, promptParams(id, "say 1"))
		if test.want == "" {
			wantResult(t, r)
		} else {
			wantError(t, r, test.want)
		}
	}
	// A turn that others run is not cancelled by those who may not.
	prompt := a.begin("session/prompt", promptParams(id, "ask"))
	q := requestOf(a, "session/request_permission", 1)
	for _, c := range []*client{observer, reader, prompter} {
		c.send(obj{"jsonrpc": "2.0", "method": "session/cancel", "params": obj{"sessionId": id}})
		c.call("session/list", nil) // the notification was handled
		for _, m := range c.received() {
			if m.Method == "session/request_permission" {
				t.Error("a client that may not answer was asked")
			}
		}
	}
	a.reply(q.ID, chosen("yes"))
	if r := a.end(prompt); text(r.Result, "stopReason") != "end_turn" {
		t.Errorf("the turn: %s", r.Result)
	}
	// The one that has opened a session has no more rights than others, and no way around them.
	wantResult(t, a.call("session/close", obj{"sessionId": id}))
	for _, c := range []*client{observer, reader, prompter} {
		wantResult(t, c.call("session/close", obj{"sessionId": id}))
	}
	wantError(t, reader.load(id, obj{"mcpServers": []obj{{"name": "x", "command": "/bin/x", "args": []string{}, "env": []obj{}}}}), "may not start MCP servers")
	wantResult(t, reader.load(id))
	wantError(t, reader.prompt(id, "say 1"), "lacks the scope prompt")
	_, _ = reader.conn.Write([]byte(`{"jsonrpc":"2.0","id":1,"method":null,"result":{}}` + "\n"))
	await(reader, func(got []wire) (struct{}, bool) {
		return struct{}{}, got[len(got)-1].Error != nil && strings.Contains(got[len(got)-1].Error.Message, "invalid message")
	})
}

// Prompts of several clients run in order; the others see each when its turn begins, with its author, and a cancelled one never.
func TestPrompts_Order(t *testing.T) {
	w := start(t, hub.Options{})
	a := w.connect("ann", attaches())
	id := a.newSession()
	b, c := w.connect("bob", attaches()), w.connect("cleo", attaches())
	wantResult(t, b.load(id))
	wantResult(t, c.load(id))
	first := a.begin("session/prompt", promptParams(id, "hold 1"))
	b.awaitText(id, "u: hold 1\na: begun")
	second := b.begin("session/prompt", promptParams(id, "say 1"))
	b.call("session/list", nil) // the prompt is queued
	third := c.begin("session/prompt", promptParams(id, "say 2"))
	c.call("session/list", nil)
	close(w.gate("hold 1"))
	for _, p := range []struct {
		c  *client
		id string
	}{{a, first}, {b, second}, {c, third}} {
		wantResult(t, p.c.end(p.id))
	}
	const want = "\nu: hold 1\na: begundone\nu: say 1\na: 0,\nu: say 2\na: 0,1,"
	late := w.connect("late", attaches())
	wantResult(t, late.load(id))
	if got := shown(late.received(), id); got != want {
		t.Errorf("a client that came late sees %q, want %q", got, want)
	}
	var authors []string
	for _, u := range updates(late.received(), id) {
		if text(u.Params, "update", "sessionUpdate") == "user_message_chunk" {
			authors = append(authors, text(u.Params, "_meta", "gjc/author"))
		}
	}
	if got := strings.Join(authors, " "); got != "ann bob cleo" {
		t.Errorf("authors: %s", got)
	}
	first = a.begin("session/prompt", promptParams(id, "hold 2"))
	b.awaitText(id, "u: hold 2\na: begun")
	second = b.begin("session/prompt", promptParams(id, "never"))
	b.call("session/list", nil)
	c.send(obj{"jsonrpc": "2.0", "method": "session/cancel", "params": obj{"sessionId": id}})
	for _, r := range []*wire{a.end(first), b.end(second)} {
		if text(r.Result, "stopReason") != "cancelled" {
			t.Errorf("a cancelled prompt: %s", r.Result)
		}
	}
	wantResult(t, c.prompt(id, "say 3"))
	a.awaitText(id, "u: say 3\na: 0,1,2,")
	if strings.Contains(shown(a.received(), id), "never") {
		t.Error("a prompt is shown that never had a turn")
	}
}

// The changes that one client makes are shown to the others, and to those that come later.
func TestModes(t *testing.T) {
	w := start(t, hub.Options{})
	a := w.connect("ann", nil)
	id := a.newSession()
	b := w.connect("bob", attaches())
	wantResult(t, b.load(id))
	wantResult(t, b.call("session/set_mode", obj{"sessionId": id, "modeId": "plan"}))
	await(a, func(got []wire) (struct{}, bool) {
		last := got[len(got)-1]
		return struct{}{}, text(last.Params, "update", "currentModeId") == "plan"
	})
	c := w.connect("cleo", attaches())
	if r := c.load(id); text(r.Result, "modes", "currentModeId") != "plan" {
		t.Errorf("the mode of one that comes later: %s", r.Result)
	}
	for _, m := range b.received() {
		if text(m.Params, "update", "currentModeId") != "" {
			t.Error("the client gets its own change")
		}
	}
}

// A client gets no updates, and no options, that it has not declared.
func TestFit(t *testing.T) {
	w := start(t, hub.Options{})
	full := obj{"plan": obj{}, "subagents": obj{}, "session": obj{"notices": obj{}, "compaction": obj{}, "configOptions": obj{"boolean": obj{}}}}
	a := w.connect("ann", full)
	id := a.newSession()
	b, c := w.connect("bob", attaches()), w.connect("cleo", attaches(full))
	if r := b.load(id); strings.Contains(string(r.Result), "boolean") {
		t.Errorf("the answer: %s", r.Result)
	}
	if r := c.load(id); !strings.Contains(string(r.Result), "boolean") {
		t.Errorf("the answer for a client that knows switches: %s", r.Result)
	}
	wantResult(t, a.prompt(id, "updates"))
	wantResult(t, a.prompt(id, "say 1"))
	b.awaitText(id, "0,")
	c.awaitText(id, "0,")
	late := w.connect("late", attaches())
	wantResult(t, late.load(id))
	for _, c := range []*client{b, late} {
		var kinds []string
		for _, m := range c.received() {
			if m.Method != "session/update" {
				continue
			}
			if text(m.Params, "sessionId") != id {
				t.Errorf("an update of a child: %s", m.Params)
			}
			if strings.Contains(string(m.Params), `"boolean"`) || strings.Contains(string(m.Params), `"terminal"`) {
				t.Errorf("not fit: %s", m.Params)
			}
			if kind := text(m.Params, "update", "sessionUpdate"); kind != "available_commands_update" {
				kinds = append(kinds, kind)
			}
		}
		got := strings.Join(kinds, " ")
		// A notice says nothing about the prompt, so it comes before it.
		const want = "agent_message_chunk user_message_chunk plan plan tool_call_update config_option_update user_message_chunk agent_message_chunk"
		if got != want {
			t.Errorf("kinds: %s", got)
		}
		if !strings.Contains(shown(c.received(), id), "[T\nD]") {
			t.Error("the notice is missing")
		}
	}
	if got := len(updates(c.received(), "child")); got != 1 {
		t.Errorf("a client with child sessions got %d of their updates", got)
	}
}

// The session goes on without its client as long as a turn runs, and is closed when that ends and no client has come.
func TestHandOver(t *testing.T) {
	w := start(t, hub.Options{})
	a := w.connect("ann", nil)
	id := a.newSession()
	a.begin("session/prompt", promptParams(id, "hold"))
	a.awaitText(id, "begun")
	a.close()
	b := w.connect("ann", nil)
	wantResult(t, b.load(id))
	if got := shown(b.received(), id); got != "\nu: hold\na: begun" {
		t.Errorf("after the hand-over: %q", got)
	}
	close(w.gate("hold"))
	b.awaitText(id, "begundone")
	wantResult(t, b.prompt(id, "say 2"))
	b.close()
	waitFor(t, func() bool { return w.holder(id) == nil })
	// Alone, an idle session ends with its client, and a running turn when it is over.
	c := w.connect("ann", nil)
	wantResult(t, c.load(id))
	c.begin("session/prompt", promptParams(id, "hold on"))
	c.awaitText(id, "\na: begun")
	c.close()
	close(w.gate("hold on"))
	waitFor(t, func() bool { return w.holder(id) == nil })
	if got := w.stopOf("hold on"); got != "end_turn" {
		t.Errorf("the turn ended with %q", got)
	}
	d := w.connect("ann", nil)
	wantResult(t, d.load(id))
	if got := shown(d.received(), id); !strings.HasSuffix(got, "\nu: hold on\na: begundone") {
		t.Errorf("the conversation: %q", got)
	}
}

// waitFor polls for what a scripted engine has done.
func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(errTimeout)
		}
	}
}

// At the end of the grace a turn without a client is cut.
func TestGrace(t *testing.T) {
	w := start(t, hub.Options{Grace: 20 * time.Millisecond})
	a := w.connect("ann", nil)
	id := a.newSession()
	a.begin("session/prompt", promptParams(id, "hold"))
	a.awaitText(id, "begun")
	a.close()
	waitFor(t, func() bool { return w.holder(id) == nil })
	if got := w.stopOf("hold"); got != "cut" {
		t.Errorf("the turn ended with %q", got)
	}
}

// Closing a session that others have only leaves it; it is closed for the last one.
func TestClose(t *testing.T) {
	w := start(t, hub.Options{})
	a := w.connect("ann", nil)
	id := a.newSession()
	b := w.connect("bob", attaches())
	wantResult(t, b.load(id))
	wantResult(t, a.call("session/close", obj{"sessionId": id}))
	wantError(t, a.prompt(id, "say 1"), "has left the session")
	wantResult(t, b.prompt(id, "say 2"))
	if got := shown(a.received(), id); got != "" {
		t.Errorf("the client that has left shows %q", got)
	}
	wantResult(t, a.load(id))
	wantResult(t, b.call("session/close", obj{"sessionId": id}))
	wantResult(t, a.call("session/close", obj{"sessionId": id}))
	if w.holder(id) != nil {
		t.Error("the session is not closed")
	}
	// Deleting it ends it for all.
	c := w.connect("cleo", attaches())
	wantResult(t, a.load(id))
	wantResult(t, c.load(id))
	wantResult(t, a.call("session/delete", obj{"sessionId": id}))
	await(c, func(got []wire) (struct{}, bool) {
		last := got[len(got)-1]
		return struct{}{}, strings.Contains(string(last.Params), `"detached"`) && strings.Contains(string(last.Params), "by ann")
	})
}
