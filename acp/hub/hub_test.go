package hub_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gajae-code/gjc/acp/hub"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/testenv"
)

// obj is a JSON object of a test.
type obj = map[string]any

// wire is a message as the tests read it.
type wire struct {
	ID     jsonx.Raw `json:"id,omitzero"`
	Method string    `json:"method,omitzero"`
	Params jsonx.Raw `json:"params,omitzero"`
	Result jsonx.Raw `json:"result,omitzero"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error,omitzero"`
}

// text returns a string in nested objects.
func text(raw jsonx.Raw, path ...string) string {
	for _, name := range path {
		raw = jsonx.Lookup(raw, name)
	}
	s, _ := jsonx.Text(raw)
	return s
}

// house has what the engines of a test share: the stored sessions, and who has them open.
type house struct {
	t testing.TB

	mu      sync.Mutex
	made    int
	stored  map[string][]jsonx.Raw // the updates of each session
	open    map[string]*engine
	gates   map[string]chan struct{} // by the text of prompts that wait
	ended   map[string]string        // the stop reasons of prompts, by their texts
	authors map[string]string        // of prompts, by their texts
}

func newHouse(t testing.TB) *house {
	return &house{
		t: t, stored: make(map[string][]jsonx.Raw), open: make(map[string]*engine), gates: make(map[string]chan struct{}),
		ended: make(map[string]string), authors: make(map[string]string),
	}
}

// gate returns the gate of the prompt with a text.
func (h *house) gate(prompt string) chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.gates[prompt] == nil {
		h.gates[prompt] = make(chan struct{})
	}
	return h.gates[prompt]
}

func (h *house) stopOf(prompt string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ended[prompt]
}

// holder returns the engine that has a session open.
func (h *house) holder(id string) *engine {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.open[id]
}

// engine is a scripted engine. It stores sessions in the house, which only one engine has open at a time.
type engine struct {
	house *house
	in    io.ReadCloser
	mu    sync.Mutex // guards the fields below, and the writes to out
	out   io.Writer
	asked map[string]chan *wire
	made  int
	turns map[string]chan func() // by session
	stops map[string]chan struct{}
	quiet map[string]bool // sessions with a stored prompt that the hub does not know of
	all   sync.WaitGroup
	ctx   context.Context
	end   context.CancelFunc
}

// stream is the hub's end of the connection to an engine.
type stream struct {
	net.Conn
	done chan struct{}
}

func (s stream) Close() error {
	err := s.Conn.Close()
	<-s.done
	return err
}

// dial starts an engine.
func (h *house) dial(context.Context) (io.ReadWriteCloser, error) {
	x, y := net.Pipe()
	a := &engine{house: h, in: y, out: y, asked: make(map[string]chan *wire), turns: make(map[string]chan func()), stops: make(map[string]chan struct{}), quiet: make(map[string]bool)}
	a.ctx, a.end = context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.run()
	}()
	return stream{x, done}, nil
}

func (a *engine) run() {
	lines := bufio.NewScanner(a.in)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var m wire
		if jsonx.Unmarshal(lines.Bytes(), &m) != nil {
			a.send(obj{"jsonrpc": "2.0", "id": nil, "error": obj{"code": -32700, "message": "parse error"}})
			continue
		}
		m.Params, m.Result, m.ID = m.Params.Clone(), m.Result.Clone(), m.ID.Clone()
		a.receive(&m)
	}
	a.end()
	_ = a.in.Close()
	a.all.Wait()
	a.house.mu.Lock()
	defer a.house.mu.Unlock()
	for id, by := range a.house.open {
		if by == a {
			delete(a.house.open, id)
		}
	}
}

func (a *engine) send(v any) {
	raw, err := jsonx.Marshal(v)
	if err != nil {
		panic(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	_, _ = a.out.Write(append(raw, '\n')) // the hub may be gone
}

func (a *engine) answer(id jsonx.Raw, result any) {
	a.send(obj{"jsonrpc": "2.0", "id": id, "result": result})
}

func (a *engine) fail(id jsonx.Raw, format string, args ...any) {
	a.send(obj{"jsonrpc": "2.0", "id": id, "error": obj{"code": -32603, "message": fmt.Sprintf(format, args...)}})
}

// update sends an update and stores it if it belongs to the conversation.
func (a *engine) update(session string, update obj, store bool) {
	if store {
		raw, _ := jsonx.Marshal(update)
		a.house.mu.Lock()
		a.house.stored[session] = append(a.house.stored[session], raw)
		a.house.mu.Unlock()
	}
	a.send(obj{"jsonrpc": "2.0", "method": "session/update", "params": obj{"sessionId": session, "update": update}})
}

func chunk(kind, id, text string) obj {
	return obj{"sessionUpdate": kind, "messageId": id, "content": obj{"type": "text", "text": text}}
}

func (a *engine) receive(m *wire) {
	id := text(m.Params, "sessionId")
	h := a.house
	switch m.Method {
	case "":
		key := string(m.ID)
		a.mu.Lock()
		ch := a.asked[key]
		delete(a.asked, key)
		a.mu.Unlock()
		if ch != nil {
			ch <- m
		}
	case "initialize":
		a.answer(m.ID, obj{"protocolVersion": 1, "agentCapabilities": obj{"loadSession": true, "_meta": obj{"gjc": obj{}}}})
	case "session/new":
		h.mu.Lock()
		h.made++
		id = fmt.Sprintf("s%d", h.made)
		h.open[id], h.stored[id] = a, nil
		h.mu.Unlock()
		a.begin(id)
		a.answer(m.ID, obj{"sessionId": id, "modes": obj{"currentModeId": "default"}, "configOptions": []obj{{"id": "model", "type": "select"}, {"id": "thinking", "type": "boolean"}}})
		a.update(id, obj{"sessionUpdate": "available_commands_update", "availableCommands": []obj{}}, false)
	case "session/load", "session/resume":
		h.mu.Lock()
		by, stored := h.open[id], append([]jsonx.Raw(nil), h.stored[id]...)
		if by == nil {
			h.open[id] = a
		}
		h.mu.Unlock()
		if by != nil && by != a {
			a.fail(m.ID, "session %s is in use", id)
			return
		}
		if by == nil {
			a.begin(id)
		}
		if m.Method == "session/load" {
			for _, raw := range merged(stored) {
				a.send(obj{"jsonrpc": "2.0", "method": "session/update", "params": obj{"sessionId": id, "update": raw}})
			}
		}
		a.answer(m.ID, obj{"modes": obj{"currentModeId": "default"}})
		a.update(id, obj{"sessionUpdate": "available_commands_update", "availableCommands": []obj{}}, false)
	case "session/close":
		h.mu.Lock()
		delete(h.open, id)
		h.mu.Unlock()
		a.answer(m.ID, obj{})
	case "session/cancel":
		a.mu.Lock()
		if stop := a.stops[id]; stop != nil {
			close(stop)
			a.stops[id] = make(chan struct{})
		}
		a.mu.Unlock()
	case "session/prompt":
		a.mu.Lock()
		stop := a.stops[id]
		turns := a.turns[id]
		a.mu.Unlock()
		if turns == nil {
			a.fail(m.ID, "no session %s", id)
			return
		}
		turns <- func() { a.turn(id, m, stop) }
	case "session/set_mode":
		a.answer(m.ID, obj{})
	case "_gjc/elsewhere/stored":
		a.mu.Lock()
		quiet := a.quiet[id]
		delete(a.quiet, id)
		a.mu.Unlock()
		if quiet {
			a.promptStored(id)
		}
		a.answer(m.ID, obj{})
	default:
		if m.ID != nil {
			a.answer(m.ID, obj{"method": m.Method})
		}
	}
}

// merged returns updates with the pieces of a message in one, as engines replay them.
func merged(all []jsonx.Raw) (out []jsonx.Raw) {
	for i := 0; i < len(all); {
		id, said := text(all[i], "messageId"), ""
		kind := text(all[i], "sessionUpdate")
		for ; i < len(all) && text(all[i], "messageId") == id; i++ {
			said += text(all[i], "content", "text")
		}
		raw, _ := jsonx.Marshal(chunk(kind, id, said))
		out = append(out, raw)
	}
	return out
}

// begin makes a session usable: its turns run in order.
func (a *engine) begin(id string) {
	turns := make(chan func(), 1000)
	a.mu.Lock()
	a.turns[id], a.stops[id] = turns, make(chan struct{})
	a.mu.Unlock()
	a.all.Go(func() {
		for {
			select {
			case turn := <-turns:
				turn()
			case <-a.ctx.Done():
				return
			}
		}
	})
}

// promptStored sends the update about a stored prompt, which is for the hub only.
func (a *engine) promptStored(id string) {
	a.update(id, obj{"sessionUpdate": "session_info_update", "_meta": obj{"gjc/message": "m1"}}, false)
}

// part sends the part that the hub's clients take in a session.
func (a *engine) part(id string, part obj) {
	a.update(id, obj{"sessionUpdate": "session_info_update", "_meta": obj{"gjc/attach": part}}, false)
}

// ask sends a request to the client and waits for the answer; nil if there is none.
func (a *engine) ask(method string, params obj, stop <-chan struct{}) *wire {
	a.mu.Lock()
	a.made++
	n := a.made
	ch := make(chan *wire, 1)
	a.asked[fmt.Sprint(n)] = ch
	a.mu.Unlock()
	a.send(obj{"jsonrpc": "2.0", "id": n, "method": method, "params": params})
	select {
	case m := <-ch:
		return m
	case <-stop:
		a.send(obj{"jsonrpc": "2.0", "method": "$/cancel_request", "params": obj{"requestId": n}})
	case <-a.ctx.Done():
	}
	return nil
}

// turn plays a prompt: "say N", "ask", "read PATH", "form", "hold NAME", or another of the words below.
func (a *engine) turn(id string, m *wire, stop <-chan struct{}) {
	var blocks []jsonx.Raw
	_ = jsonx.Unmarshal(jsonx.Lookup(m.Params, "prompt"), &blocks)
	if len(blocks) == 0 {
		a.fail(m.ID, "no prompt")
		return
	}
	prompt := text(blocks[0], "text")
	a.house.mu.Lock()
	a.house.authors[prompt] = text(m.Params, "_meta", "gjc/author")
	user, _ := jsonx.Marshal(chunk("user_message_chunk", "u-"+prompt, prompt))
	reason := "end_turn"
	select {
	case <-stop:
		reason = "cancelled"
	default:
		a.house.stored[id] = append(a.house.stored[id], user)
	}
	a.house.mu.Unlock()
	say := func(s string) { a.update(id, chunk("agent_message_chunk", "a-"+prompt, s), true) }
	if reason == "end_turn" {
		word, rest, _ := strings.Cut(prompt, " ")
		switch word {
		case "say":
			var n int
			_, _ = fmt.Sscan(rest, &n)
			for i := range n {
				say(fmt.Sprintf("%d,", i))
			}
		case "big":
			for range 64 {
				say(strings.Repeat("x", 32<<10))
			}
		case "ask":
			if r := a.ask("session/request_permission", obj{"sessionId": id, "options": []obj{{"optionId": "yes"}}, "toolCall": obj{"toolCallId": "c"}}, stop); r == nil {
				reason = "cancelled"
			} else if r.Error != nil {
				say("error " + r.Error.Message)
			} else {
				say("answer " + text(r.Result, "outcome", "optionId"))
			}
		case "form":
			if r := a.ask("elicitation/create", obj{"sessionId": id, "mode": "form", "message": "?"}, stop); r == nil {
				reason = "cancelled"
			} else {
				say("form " + text(r.Result, "action"))
			}
		case "read":
			if r := a.ask("fs/read_text_file", obj{"sessionId": id, "path": rest}, stop); r == nil {
				reason = "cancelled"
			} else if r.Error != nil {
				say("error " + r.Error.Message)
			} else {
				say("content " + text(r.Result, "content"))
			}
		case "refuse":
			a.update(id, obj{"sessionUpdate": "notice", "severity": "info", "title": "Before", "description": "the prompt is stored"}, false)
			a.fail(m.ID, "refused")
			return
		case "overtaken": // the prompt is stored by another server, which ends before the turn does
			a.update(id, chunk("user_message_chunk", text(m.Params, "_meta", "gjc/message"), prompt), false)
			a.part(id, obj{"role": "controller"})
			say("done")
		case "hold", "stored", "quiet":
			switch word {
			case "hold":
				say("begun")
			case "stored":
				a.promptStored(id)
			case "quiet":
				a.mu.Lock()
				a.quiet[id] = true
				a.mu.Unlock()
				a.send(obj{"jsonrpc": "2.0", "method": "session/update", "params": obj{"sessionId": id, "update": obj{"sessionUpdate": "usage_update"}}})
			}
			select {
			case <-a.house.gate(prompt):
				say("done")
			case <-stop:
				reason = "cancelled"
			case <-a.ctx.Done():
				reason = "cut"
			}
		case "updates": // that not every client understands
			a.update(id, obj{"sessionUpdate": "notice", "severity": "info", "title": "T", "description": "D"}, false)
			a.update(id, obj{"sessionUpdate": "compaction_update", "compactionId": "c", "status": "in_progress"}, false)
			a.update(id, obj{"sessionUpdate": "plan_update", "plan": obj{"type": "items", "planId": "p", "entries": []obj{{"content": "step", "priority": "low", "status": "pending"}}}}, false)
			a.update(id, obj{"sessionUpdate": "plan_removed", "planId": "p"}, false)
			a.update(id, obj{"sessionUpdate": "subagent_update", "sessionId": "child"}, false)
			a.update("child", chunk("agent_message_chunk", "x", "of the child"), false)
			a.update(id, obj{"sessionUpdate": "tool_call_update", "toolCallId": "c", "content": []obj{{"type": "terminal", "terminalId": "t"}, {"type": "content", "content": obj{"type": "text", "text": "x"}}}}, false)
			a.update(id, obj{"sessionUpdate": "config_option_update", "configOptions": []obj{{"id": "model", "type": "select"}, {"id": "thinking", "type": "boolean"}}}, false)
		}
	}
	a.house.mu.Lock()
	a.house.ended[prompt] = reason
	a.house.mu.Unlock()
	a.answer(m.ID, obj{"stopReason": reason})
}

// world is a hub with scripted engines.
type world struct {
	*house
	hub *hub.Hub
}

// all are the scopes of a client that may do everything.
var all = []string{"read", "prompt", "control"}

func start(t *testing.T, opts hub.Options) *world {
	t.Helper()
	testenv.NoLeaks(t)
	return newHub(t, opts)
}

// newHub is start for a test that starts several.
func newHub(t *testing.T, opts hub.Options) *world {
	t.Helper()
	w := &world{house: newHouse(t)}
	if opts.Dial == nil {
		opts.Dial = w.dial
	}
	w.hub = hub.New(opts)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := w.hub.Close(ctx); err != nil {
			t.Errorf("closing the hub: %v", err)
		}
	})
	return w
}

// client is a client of the hub, which records everything that it receives.
type client struct {
	t    testing.TB
	name string
	conn net.Conn
	done chan error // Serve's result

	mu      sync.Mutex
	changed chan struct{} // closed when a message arrives
	got     []wire
	made    int
	ended   bool
	paused  chan struct{} // closed when the client reads again; nil if it reads
	// requested answers the hub's requests; nil for no answer.
	requested func(m *wire) (result any, ok bool)
}

// connect connects a client. caps are its capabilities; nil for none.
func (w *world) connect(name string, caps obj, scopes ...string) *client {
	w.t.Helper()
	if scopes == nil {
		scopes = all
	}
	x, y := net.Pipe()
	c := &client{t: w.t, name: name, conn: x, done: make(chan error, 1), changed: make(chan struct{})}
	go func() {
		err := w.hub.Serve(context.Background(), y, y, hub.Client{Name: name, Scopes: scopes})
		_ = y.Close()
		c.done <- err
	}()
	read := make(chan struct{})
	go func() {
		defer close(read)
		c.read()
	}()
	w.t.(*testing.T).Cleanup(func() {
		_ = x.Close()
		<-read
	})
	if caps == nil {
		caps = obj{}
	}
	if r := c.call("initialize", obj{"protocolVersion": 1, "clientCapabilities": caps}); r.Error != nil {
		w.t.Fatalf("initialize: %s", r.Error.Message)
	}
	return c
}

// attaches are the capabilities of a client that knows the extension, and more.
func attaches(more ...obj) obj {
	caps := obj{"_meta": obj{"gjc/attach": true}}
	for _, m := range more {
		maps.Copy(caps, m)
	}
	return caps
}

func (c *client) read() {
	lines := bufio.NewReader(c.conn)
	for {
		line, err := lines.ReadBytes('\n') // one without its end is lost with the connection
		if err != nil {
			break
		}
		var m wire
		if err := jsonx.Unmarshal(line, &m); err != nil {
			c.t.Errorf("%s received %q: %v", c.name, line, err)
			continue
		}
		m.ID, m.Params, m.Result = m.ID.Clone(), m.Params.Clone(), m.Result.Clone()
		c.mu.Lock()
		c.got = append(c.got, m)
		close(c.changed)
		c.changed = make(chan struct{})
		requested, paused := c.requested, c.paused
		c.mu.Unlock()
		if m.Method != "" && m.ID != nil && requested != nil {
			if result, ok := requested(&m); ok {
				c.reply(m.ID, result)
			}
		}
		if paused != nil {
			<-paused
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *client) send(v any) {
	raw, err := jsonx.Marshal(v)
	if err != nil {
		panic(err)
	}
	_, _ = c.conn.Write(append(raw, '\n')) // the test sees what is missing
}

func (c *client) reply(id jsonx.Raw, result any) {
	if err, ok := result.(error); ok {
		c.send(obj{"jsonrpc": "2.0", "id": id, "error": obj{"code": -32603, "message": err.Error()}})
		return
	}
	c.send(obj{"jsonrpc": "2.0", "id": id, "result": result})
}

var errTimeout = errors.New("nothing came for a minute")

// await returns what find finds in the messages so far, as soon as there is something.
func await[T any](c *client, find func(got []wire) (T, bool)) T {
	c.t.Helper()
	timeout := time.After(time.Minute)
	for {
		c.mu.Lock()
		v, ok := find(c.got)
		changed, ended := c.changed, c.ended
		c.mu.Unlock()
		switch {
		case ok:
			return v
		case ended:
			c.t.Fatalf("%s: the connection has ended", c.name)
		}
		select {
		case <-changed:
		case <-timeout:
			c.t.Fatalf("%s: %v", c.name, errTimeout)
		}
	}
}

// begin sends a request and returns its ID.
func (c *client) begin(method string, params obj) string {
	c.mu.Lock()
	c.made++
	id := fmt.Sprint(c.made)
	c.mu.Unlock()
	c.send(obj{"jsonrpc": "2.0", "id": jsonx.Raw(id), "method": method, "params": params})
	return id
}

// end waits for the answer to a request.
func (c *client) end(id string) *wire {
	c.t.Helper()
	return await(c, func(got []wire) (*wire, bool) {
		for i := range got {
			if got[i].Method == "" && string(got[i].ID) == id {
				return &got[i], true
			}
		}
		return nil, false
	})
}

func (c *client) call(method string, params obj) *wire {
	c.t.Helper()
	return c.end(c.begin(method, params))
}

// newSession opens a session.
func (c *client) newSession() string {
	c.t.Helper()
	r := c.call("session/new", obj{"cwd": "/w", "mcpServers": []obj{}})
	if r.Error != nil {
		c.t.Fatal(r.Error.Message)
	}
	return text(r.Result, "sessionId")
}

// load loads a session; more are members of the request.
func (c *client) load(id string, more ...obj) *wire {
	c.t.Helper()
	params := obj{"sessionId": id, "cwd": "/w", "mcpServers": []obj{}}
	for _, m := range more {
		maps.Copy(params, m)
	}
	return c.call("session/load", params)
}

func promptParams(id, prompt string) obj {
	return obj{"sessionId": id, "prompt": []obj{{"type": "text", "text": prompt}}}
}

func (c *client) prompt(id, prompt string) *wire {
	c.t.Helper()
	return c.call("session/prompt", promptParams(id, prompt))
}

// updates returns the updates of a session in a list of messages.
func updates(got []wire, id string) (all []wire) {
	for _, m := range got {
		if m.Method == "session/update" && text(m.Params, "sessionId") == id {
			all = append(all, m)
		}
	}
	return all
}

// shown returns the conversation that a client shows after some messages: the messages of a speaker that follow each other as one.
func shown(got []wire, id string) string {
	var b strings.Builder
	last := ""
	for _, m := range updates(got, id) {
		kind := text(m.Params, "update", "sessionUpdate")
		if !strings.HasSuffix(kind, "_message_chunk") {
			continue
		}
		if speaker := kind[:1]; speaker != last || kind == "user_message_chunk" {
			b.WriteString("\n" + speaker + ": ")
			last = speaker
		}
		b.WriteString(text(m.Params, "update", "content", "text"))
	}
	return b.String()
}

// received returns the messages so far.
func (c *client) received() []wire {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.got[:len(c.got):len(c.got)]
}

// awaitText waits until a client shows a text.
func (c *client) awaitText(id, want string) {
	c.t.Helper()
	await(c, func(got []wire) (struct{}, bool) { return struct{}{}, strings.Contains(shown(got, id), want) })
}

// close disconnects a client and waits until the hub knows.
func (c *client) close() {
	c.t.Helper()
	_ = c.conn.Close()
	select {
	case err := <-c.done:
		c.done <- err
	case <-time.After(time.Minute):
		c.t.Fatal("Serve does not return")
	}
}

func wantError(t *testing.T, r *wire, parts ...string) {
	t.Helper()
	if r.Error == nil {
		t.Errorf("got %s, want an error with %q", r.Result, parts)
		return
	}
	for _, part := range parts {
		if !strings.Contains(r.Error.Message, part) {
			t.Errorf("got %q, want %q in it", r.Error.Message, part)
		}
	}
}

func wantResult(t *testing.T, r *wire) {
	t.Helper()
	if r.Error != nil {
		t.Errorf("got the error %q", r.Error.Message)
	}
}

// What a client has asked before the end of its input is answered.
func TestEnd_AnswersFirst(t *testing.T) {
	w := start(t, hub.Options{})
	for range 50 {
		r, in := io.Pipe()
		out, to := io.Pipe()
		done := make(chan error, 1)
		go func() {
			done <- w.hub.Serve(t.Context(), r, to, hub.Client{Scopes: []string{"read", "prompt", "control"}})
			_ = to.Close()
		}()
		go func() {
			_, _ = io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`+"\n"+`{"jsonrpc":"2.0","id":2,"method":"session/list","params":{}}`+"\n")
			_ = in.Close()
		}()
		got, err := io.ReadAll(out)
		if err != nil || !strings.Contains(string(got), `"id":2`) {
			t.Fatalf("the answers are %s, %v", got, err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
