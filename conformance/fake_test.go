package conformance

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// A fake is a small, correct agent with at most one defect.
type fake struct {
	defect *defect
	store  string // where sessions are kept
	out    io.Writer
	stderr io.Writer
	// command runs a long operation until it is complete or ctx ends.
	command func(ctx context.Context) error
	ctx     context.Context // ends with the agent
	end     context.CancelCauseFunc
	turns   sync.WaitGroup

	mu       sync.Mutex // guards the fields below and writing to out
	client   any        // the client's capabilities
	started  bool
	next     int
	pending  map[string]chan *message
	sessions map[string]*fakeSession
	memory   sync.Map          // state that a defect keeps
	asked    map[string]string // methods by request ID
	lock     chan struct{}     // state that a defect keeps
}

// errDied ends a fake like a crash.
var errDied = errors.New("died")

func newFake(d *defect, out, stderr io.Writer, env []string) *fake {
	f := &fake{
		defect: d, out: out, stderr: stderr, store: storeOf(env),
		pending: make(map[string]chan *message), sessions: make(map[string]*fakeSession),
		asked: make(map[string]string), lock: make(chan struct{}, 1),
	}
	f.ctx, f.end = context.WithCancelCause(context.Background())
	return f
}

// serve runs until the end of the input and returns the exit code.
func (f *fake) serve(in io.Reader) int {
	if f.is("talks-first") {
		f.write([]byte(`{"jsonrpc":"2.0","method":"_hello","params":{}}`))
	}
	lines := make(chan []byte)
	go func() { // ends with the input, which the caller closes
		defer close(lines)
		r := bufio.NewReader(in)
		if f.is("reads-are-messages") || f.is("one-message-a-read") {
			f.readChunks(in, lines)
			return
		}
		for {
			line, err := r.ReadBytes('\n')
			if len(line) > 0 && err == nil {
				select {
				case lines <- line:
				case <-f.ctx.Done():
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				if f.defect != nil && f.defect.eof != nil {
					return f.defect.eof(f)
				}
				return f.stop()
			}
			f.line(line)
		case <-f.ctx.Done():
			f.turns.Wait()
			if errors.Is(context.Cause(f.ctx), errDied) {
				return 3
			}
			return 0
		}
	}
}

// readChunks takes the end of each read for the end of a message, even without a newline. With the defect one-message-a-read, it also
// drops all but the first message of a read.
func (f *fake) readChunks(in io.Reader, lines chan<- []byte) {
	buf := make([]byte, 1<<20)
	for {
		n, err := in.Read(buf)
		for i, line := range bytes.Split(bytes.TrimSuffix(buf[:n], []byte("\n")), []byte("\n")) {
			if i > 0 && f.is("one-message-a-read") || n == 0 {
				break
			}
			select {
			case lines <- bytes.Clone(line):
			case <-f.ctx.Done():
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// stop ends all turns.
func (f *fake) stop() int {
	f.end(nil)
	f.turns.Wait()
	return 0
}

// note stores a value for a defect, and noted returns it.
func (f *fake) note(key string, v any) { f.memory.Store(key, v) }

func (f *fake) noted(key string) any {
	v, _ := f.memory.Load(key)
	return v
}

// count counts the events with a key, for a defect.
func (f *fake) count(key string) int {
	n, _ := f.noted(key).(int)
	f.note(key, n+1)
	return n + 1
}

func (f *fake) is(name string) bool { return f.defect != nil && f.defect.name == name }

// pause waits for a second, or until the agent ends.
func (f *fake) pause() {
	slow := time.NewTimer(time.Second)
	defer slow.Stop()
	select {
	case <-slow.C:
	case <-f.ctx.Done():
	}
}

// hang blocks until the agent ends.
func (f *fake) hang() { <-f.ctx.Done() }

func (f *fake) die() { f.end(errDied) }

func (f *fake) line(line []byte) {
	if f.defect != nil && f.defect.line != nil && f.defect.line(f, line) {
		return
	}
	trimmed := bytes.TrimSpace(line)
	if len(trimmed) == 0 {
		return
	}
	var v any
	if err := jsonx.Unmarshal(trimmed, &v); err != nil {
		f.fail("null", codeParse, err.Error())
		return
	}
	m := readMessage(trimmed)
	if m.isRequest() {
		f.mu.Lock()
		f.asked[m.id] = m.method
		f.mu.Unlock()
	}
	switch {
	case m.value == nil:
		f.fail("null", codeInvalidRequest, "no object")
		return
	case m.method == "" && (m.hasResult || has(m.value, "error")):
		f.answered(m)
		return
	}
	_, named := m.value["method"].(string)
	if m.id != "" && !strings.ContainsAny(m.id[:1], `"-0123456789n`) || !named {
		f.fail("null", codeInvalidRequest, "no request")
		return
	}
	if f.defect != nil && f.defect.in != nil && f.defect.in(f, m) {
		return
	}
	f.handle(m)
}

func (f *fake) answered(m *message) {
	f.mu.Lock()
	waiting := f.pending[m.id]
	delete(f.pending, m.id)
	f.mu.Unlock()
	if waiting != nil {
		waiting <- m
	}
}

// send writes a message.
func (f *fake) send(m object) {
	m["jsonrpc"] = "2.0"
	if f.defect != nil && f.defect.out != nil {
		id, named := m["id"]
		var copied object
		if err := jsonx.Unmarshal(encode(m), &copied); err != nil {
			panic(err)
		}
		if m = copied; named {
			m["id"] = id // decoding may have lost digits
		}
		if !f.defect.out(f, m) {
			return
		}
	}
	f.write(encode(m))
}

func (f *fake) write(line []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.defect != nil && f.defect.raw != nil {
		line = f.defect.raw(line)
	}
	_, _ = f.out.Write(append(line, '\n'))
}

func (f *fake) reply(m *message, result any) { f.replyTo(m.id, result) }

func (f *fake) replyTo(id string, result any) {
	if id != "" {
		f.send(object{"id": jsonx.Raw(id), "result": result})
	}
}

func (f *fake) fail(id string, code int, text string) {
	if id != "" {
		f.send(object{"id": jsonx.Raw(id), "error": object{"code": code, "message": text}})
	}
}

func (f *fake) refuse(m *message, code int, text string) { f.fail(m.id, code, text) }

func (f *fake) notify(method string, params any) { f.send(object{"method": method, "params": params}) }

// ask calls the client. When ctx ends first, it cancels the request.
func (f *fake) ask(ctx context.Context, method string, params object) (any, error) {
	f.mu.Lock()
	f.next++
	id := `"a` + strconv.Itoa(f.next) + `"`
	if f.is("one-id") {
		id = `"a"`
	}
	waiting := make(chan *message, 1)
	f.pending[id] = waiting
	f.mu.Unlock()
	f.send(object{"id": jsonx.Raw(id), "method": method, "params": params})
	done := ctx.Done()
	if f.is("waits-for-" + strings.ReplaceAll(method, "/", "-")) {
		done = f.ctx.Done()
	}
	select {
	case m := <-waiting:
		if m.err != nil || !m.hasResult {
			return nil, fmt.Errorf("the client refused %s", method)
		}
		return m.result, nil
	case <-done:
		f.notify("$/cancel_request", object{"requestId": jsonx.Raw(id)})
		if method == "terminal/create" {
			f.turns.Go(func() { // release a terminal that is created after the cancellation
				select {
				case m := <-waiting:
					if id := str(m.result, "terminalId"); id != "" && !f.is("forgets-late-terminal") {
						_, _ = f.ask(f.ctx, "terminal/release", object{"sessionId": params["sessionId"], "terminalId": id})
					}
				case <-f.ctx.Done():
				}
			})
		}
		return nil, context.Cause(ctx)
	}
}

// can reports whether the client has a capability.
func (f *fake) can(path ...any) bool {
	if f.defect != nil && f.defect.assume != nil && slices.Equal(f.defect.assume, path) {
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	v := at(f.client, path...)
	_, isObject := v.(map[string]any)
	return v == true || isObject
}

func (f *fake) handle(m *message) {
	params, isObject := m.params.(map[string]any)
	if m.params != nil && !isObject {
		f.refuse(m, codeParams, "the parameters must be an object")
		return
	}
	if m.id == "" {
		f.notified(m)
		return
	}
	if m.method != "initialize" && !f.started && !f.is("no-order") && m.method[:min(1, len(m.method))] != "_" {
		f.refuse(m, codeInvalidRequest, "initialize must come first")
		return
	}
	handlers := map[string]func(*message, object){
		"initialize": f.initialize, "authenticate": f.authenticate, "logout": f.empty,
		"session/new": f.newSession, "session/load": f.load, "session/resume": f.resume, "session/list": f.list,
		"session/close": f.close, "session/delete": f.remove, "session/prompt": f.prompt,
		"session/set_mode": f.setMode, "session/set_config_option": f.setOption,
	}
	handler := handlers[m.method]
	if handler == nil {
		f.refuse(m, codeMethod, "no method "+m.method)
		return
	}
	handler(m, params)
}

func (f *fake) notified(m *message) {
	switch m.method {
	case "session/cancel":
		if s := f.session(m.session()); s != nil {
			s.cancel()
		}
	case "$/cancel_request":
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, s := range f.sessions {
			s.cancelRequest(string(encode(at(m.params, "requestId"))))
		}
	}
}

func (f *fake) initialize(m *message, params object) {
	if _, ok := params["protocolVersion"].(float64); !ok {
		f.refuse(m, codeParams, "protocolVersion is missing")
		return
	}
	f.mu.Lock()
	f.client, f.started = params["clientCapabilities"], true
	f.mu.Unlock()
	methods := []any{object{"id": "key", "name": "A key"}}
	if f.can("auth", "terminal") || f.is("terminal-for-all") {
		methods = append(methods, object{"id": "login", "name": "Log in", "type": "terminal", "args": []any{"login"}, "env": object{}})
	}
	f.reply(m, object{
		"protocolVersion": 1, "authMethods": methods,
		"agentInfo": object{"name": "fake", "title": "Fake", "version": "1.0"},
		"agentCapabilities": object{
			"loadSession":        true,
			"promptCapabilities": object{"image": true, "audio": true, "embeddedContext": true},
			"mcpCapabilities":    object{"http": false, "sse": false},
			"auth":               object{"logout": object{}},
			"sessionCapabilities": object{
				"list": object{}, "resume": object{}, "close": object{}, "delete": object{}, "additionalDirectories": object{},
			},
		},
	})
}

func (f *fake) authenticate(m *message, params object) {
	if params["methodId"] != "key" {
		f.refuse(m, codeParams, "no such method")
		return
	}
	f.reply(m, object{})
}

func (f *fake) empty(m *message, _ object) { f.reply(m, object{}) }

// home returns the directory that an environment names as home.
func homeOf(env []string) string {
	for _, e := range env {
		if home, ok := strings.CutPrefix(e, "HOME="); ok {
			return home
		}
	}
	return ""
}

func storeOf(env []string) string {
	dir := filepath.Join(homeOf(env), ".fake")
	_ = os.MkdirAll(dir, 0o777)
	return dir
}
