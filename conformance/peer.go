package conformance

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// A peer is a client that is connected to one agent of a trial.
type peer struct {
	*trial
	*wire
	client
	work   string // the workspace
	result any    // the result of initialize
	next   atomic.Int64
}

func newPeer(t *trial, c child, work string) *peer {
	p := &peer{trial: t, wire: newWire(c), work: work}
	p.ready(p)
	p.run()
	return p
}

// agent starts an agent and initializes it with client capabilities.
func (t *trial) agent(capabilities object) *peer {
	p := t.start()
	p.initialize(capabilities)
	return p
}

func (p *peer) initialize(capabilities object) {
	p.advertise(capabilities)
	p.result = p.call("initialize", initializeParams(1, capabilities))
}

func initializeParams(version any, capabilities object) object {
	return object{
		"protocolVersion": version, "clientCapabilities": capabilities,
		"clientInfo": object{"name": "gjc-conformance", "title": "ACP conformance suite", "version": "1"},
	}
}

// A call is a request by the suite.
type call struct {
	id     string
	method string
	index  int // index of the request in the transcript
}

// request sends a request with a new ID.
func (p *peer) request(method string, params any) call {
	return p.requestAs(strconv.FormatInt(p.next.Add(1), 10), method, params)
}

// requestAs sends a request with an ID, which is JSON.
func (p *peer) requestAs(id, method string, params any) call {
	c := call{id: id, method: method, index: p.now()}
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%s,"params":%s}`, id, encode(method), encode(params)))
	return c
}

var (
	errClosed = errors.New("the agent closed its stdout")
	errTime   = errors.New("it did not come in time")
)

// await returns the first message of the agent from an index on for which ok is true.
func (p *peer) await(from int, ok func(*message) bool) (*message, error) {
	for {
		p.wire.mu.Lock()
		for ; from < len(p.log); from++ {
			if m := p.log[from]; !m.sent && ok(m) {
				p.wire.mu.Unlock()
				return m, nil
			}
		}
		ended, changed := p.ended, p.changed
		p.wire.mu.Unlock()
		if ended {
			return nil, errClosed
		}
		select {
		case <-changed:
		case <-p.ctx.Done():
			return nil, errTime
		}
	}
}

// wait is like await and fails the check on an error.
func (p *peer) wait(from int, what string, ok func(*message) bool) *message {
	m, err := p.await(from, ok)
	if err != nil {
		end := ""
		select {
		case <-p.child.Done():
			end = fmt.Sprintf(" (it %v)", p.child.State())
		default:
		}
		p.failf("waiting for %s: %v%s", what, err, end)
	}
	return m
}

// waitID waits for a response with an ID, or with the ID null.
func (p *peer) waitID(from int, what, id string) *message {
	return p.wait(from, what, func(m *message) bool { return m.isResponse() && (m.id == string(encode(id)) || m.id == "null") })
}

// response waits for the response to a call.
func (p *peer) response(c call) *message {
	return p.wait(c.index, fmt.Sprintf("the response to %s (id %s)", c.method, c.id), c.answeredBy)
}

func (c call) answeredBy(m *message) bool { return m.isResponse() && m.id == c.id }

// answered reports whether a call has its response.
func (p *peer) answered(c call) bool { return p.find(c.index, c.answeredBy) != nil }

// respond sends a request and waits for its response, whatever it is.
func (p *peer) respond(method string, params any) *message {
	return p.response(p.request(method, params))
}

// call sends a request that must succeed and returns its result.
func (p *peer) call(method string, params any) any {
	m := p.respond(method, params)
	if m.err != nil || !m.hasResult {
		p.failAt(m, "%s has to succeed and got %s", method, m.kind())
	}
	return m.result
}

// fails sends a request that must be answered with an error. If codes are given, the error must have one of them.
func (p *peer) fails(method string, params any, codes ...int) {
	p.failsWith(p.respond(method, params), method, codes...)
}

func (p *peer) failsWith(m *message, what string, codes ...int) {
	if m.err == nil {
		p.failAt(m, "%s has to be refused and got %s", what, excerpt(m.result))
	}
	if len(codes) > 0 && !slices.Contains(codes, int(m.err.code)) {
		p.failAt(m, "%s has to be refused with %v and got %d", what, codes, int(m.err.code))
	}
}

// lives checks that the agent still answers.
func (p *peer) lives() *message {
	// The underscore marks an extension method: the agent must answer it, with a result or an error.
	return p.respond("_conformance/ping", object{})
}

// awaitQuiet waits until the agent has sent what it had to send: a round trip, followed by silence.
func (p *peer) awaitQuiet() {
	p.lives()
	limit := time.NewTimer(10 * p.quiet) // an agent that is never quiet is checked anyway
	defer limit.Stop()
	for {
		p.wire.mu.Lock()
		changed := p.changed
		p.wire.mu.Unlock()
		quiet := time.NewTimer(p.quiet)
		select {
		case <-changed:
			quiet.Stop()
		case <-limit.C:
			return
		case <-quiet.C:
			return
		}
	}
}

// newSession opens a session in the workspace.
func (p *peer) newSession() string { return p.newSessionIn(p.work) }

func (p *peer) newSessionIn(cwd string) string {
	m := p.respond("session/new", setup(cwd))
	if m.err != nil && m.err.code == codeAuth {
		p.skipAs(ReasonNotPossible, wantsLogin, m.err.message)
	}
	if m.err != nil {
		p.failAt(m, "session/new has to succeed and got %v", m.err)
	}
	id := str(m.result, "sessionId")
	if id == "" {
		p.failAt(m, "session/new answered without a session id: %s", excerpt(m.result))
	}
	return id
}

// advertises reports whether the agent has a capability: a true boolean or an object.
func (p *peer) advertises(path ...string) bool {
	v := at(p.result, "agentCapabilities")
	for _, name := range path {
		v = at(v, name)
	}
	_, isObject := v.(map[string]any)
	return isObject || v == true
}

// needs skips the check unless the agent advertises a capability.
func (p *peer) needs(path ...string) {
	if !p.advertises(path...) {
		p.lacks(strings.Join(path, "."))
	}
}

// file creates a file in the workspace and returns its path.
func (p *peer) file(name, text string) string {
	path := filepath.Join(p.work, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
		p.failf("making a file for the agent: %v", err)
	}
	return path
}

// exampleFiles creates the files that the prompts of [PurposeRead] and [PurposeEdit] name.
func (p *peer) exampleFiles() {
	p.file("notes.txt", "The first line.\nThe second line.\n")
	p.file("edit.txt", "before\nalpha\nafter\n")
}

// exists reports whether a file of the workspace exists.
func (p *peer) exists(name string) bool {
	_, err := os.Stat(filepath.Join(p.work, name))
	return err == nil
}

// Parameters of requests.

// setup returns the parameters of a session in a directory.
func setup(cwd string) object { return object{"cwd": cwd, "mcpServers": []any{}} }

// ref returns the parameters that name a session.
func ref(id string) object { return object{"sessionId": id} }

// again returns the parameters for opening a stored session.
func again(id, cwd string) object { return with(setup(cwd), "sessionId", id) }

// onAgent returns a check that starts an agent for a client without capabilities.
func onAgent(run func(p *peer)) func(*trial) { return onAgentFor(bare, run) }

// onAgentFor returns a check that starts an agent for a client with capabilities.
func onAgentFor(capabilities object, run func(p *peer)) func(*trial) {
	return func(t *trial) { run(t.agent(capabilities)) }
}

// onStart returns a check that starts an agent and does not initialize it.
func onStart(run func(p *peer)) func(*trial) { return func(t *trial) { run(t.start()) } }
