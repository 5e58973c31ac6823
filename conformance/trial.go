package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// A trial is one run of one check. The functions that report a result, such as failf and skipf, end it and do not
// return.
type trial struct {
	ctx   context.Context //nolint:containedctx // bounds the trial, with its time limit
	suite *suite
	quiet time.Duration // how long to wait for messages that must not come
	dir   string        // of this trial only

	peers  []*peer
	shown  []*peer // whose transcripts the trial uses, besides its own
	result Result
}

// try runs fn as a trial in its own goroutine, which may end at any point.
func (s *suite) try(ctx context.Context, limit time.Duration, name string, fn func(*trial)) (*trial, error) {
	dir, err := os.MkdirTemp(s.dir, strings.ReplaceAll(name, ".", "-")+"-")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTime)
	defer cancel()
	t := &trial{ctx: ctx, suite: s, quiet: s.opts.Quiet, dir: dir}
	begin := time.Now()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() {
			if v := recover(); v != nil {
				t.fail(nil, fmt.Sprintf("the check itself panicked: %v\n%s", v, debug.Stack()))
			}
		}()
		fn(t)
	}()
	<-ended
	t.result.Millis = time.Since(begin).Milliseconds()
	for _, p := range t.peers {
		p.finish()
	}
	if t.result.Status == "" {
		t.result.Status = StatusPassed
	}
	if t.result.Status == StatusFailed {
		t.result.Stderr = t.stderr()
	}
	return t, errors.Join(os.RemoveAll(dir))
}

func (t *trial) stderr() string {
	for _, p := range t.peers {
		if text := strings.TrimSpace(p.child.Stderr()); text != "" {
			return text[max(0, len(text)-shownStderr):]
		}
	}
	return ""
}

// Limits of a failed check's report.
const (
	shownStderr   = 2000
	shownMessages = 14
)

// fail records a failure with the messages around m, or the last ones.
func (t *trial) fail(m *message, detail string) {
	t.result.Status, t.result.Detail = StatusFailed, detail
	all := slices.Concat(t.shown, t.peers)
	if len(all) == 0 {
		return
	}
	if m == nil {
		t.result.Transcript = tail(all[len(all)-1].messages(0))
		return
	}
	for _, p := range all {
		if all := p.messages(0); m.index < len(all) && all[m.index] == m {
			t.result.Transcript = tail(all[:m.index+1])
		}
	}
}

func tail(messages []*message) []string {
	var lines []string
	for _, m := range messages[max(0, len(messages)-shownMessages):] {
		lines = append(lines, m.String())
	}
	return lines
}

// failf ends the trial: the agent does not meet the requirement.
func (t *trial) failf(format string, args ...any) { t.failAt(nil, format, args...) }

// failAt is like failf, for a message.
func (t *trial) failAt(m *message, format string, args ...any) {
	t.skipWithoutLogin()
	t.fail(m, fmt.Sprintf(format, args...))
	runtime.Goexit()
}

// skipAs ends the trial: the requirement could not be tested.
func (t *trial) skipAs(why Reason, format string, args ...any) {
	t.result.Status, t.result.Reason, t.result.Detail = StatusSkipped, why, fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// skipWithoutLogin ends the trial if the agent has refused a session because it requires a login, and has opened none:
// the trial cannot test the requirement then.
func (t *trial) skipWithoutLogin() {
	for _, p := range slices.Concat(t.shown, t.peers) {
		asked := make(map[string]string) // methods by request ID
		var refused *rpcError
		given := false
		for _, m := range p.messages(0) {
			switch {
			case m.sent && m.id != "" && strings.HasPrefix(m.method, "session/"):
				asked[m.id] = m.method
			case m.sent || !m.isResponse() || asked[m.id] == "":
			case m.err != nil && m.err.code == codeAuth:
				refused = m.err
			case m.err == nil && asked[m.id] == "session/new":
				given = true
			}
		}
		if refused != nil && !given {
			t.skipAs(ReasonNotPossible, wantsLogin, refused.message)
		}
	}
}

// wantsLogin is the detail of a check that an agent's login requirement prevents.
const wantsLogin = "the agent wants authentication: %s; give it credentials (--home, environment)"

// notSeen ends the trial: the subject of the requirement did not happen.
func (t *trial) notSeen(format string, args ...any) {
	t.skipWithoutLogin()
	t.skipAs(ReasonNotSeen, format, args...)
}

// start starts an agent. It has the trial's home directory, and its working directory is not the workspace.
func (t *trial) start() *peer {
	home, work := filepath.Join(t.dir, "home"), filepath.Join(t.dir, "work")
	for _, dir := range []string{home, work, filepath.Join(t.dir, "tmp")} {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.failf("making a directory for the agent: %v", err)
		}
	}
	env := t.suite.environment(t.dir, home)
	c, err := t.suite.start(t.ctx, home, env)
	if err != nil {
		t.failf("the agent cannot be started: %v", err)
	}
	p := newPeer(t, c, env, work)
	t.peers = append(t.peers, p)
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

// session starts an agent and opens a session.
func (t *trial) session(capabilities object) (*peer, string) {
	p := t.agent(capabilities)
	return p, p.newSession()
}

// setup returns the parameters of a session in a directory.
func setup(cwd string) object { return object{"cwd": cwd, "mcpServers": []any{}} }

// again returns the parameters for opening a stored session.
func again(id, cwd string) object {
	return object{"sessionId": id, "cwd": cwd, "mcpServers": []any{}}
}

// newSession opens a session in the workspace.
func (p *peer) newSession() string { return p.newSessionIn(p.work) }

func (p *peer) newSessionIn(cwd string) string {
	m := p.response(p.request("session/new", setup(cwd)))
	if m.err != nil && m.err.code == codeAuth {
		p.t.skipAs(ReasonNotPossible, wantsLogin, m.err.message)
	}
	if m.err != nil {
		p.t.failAt(m, "session/new has to succeed and got %v", m.err)
	}
	id := str(m.result, "sessionId")
	if id == "" {
		p.t.failAt(m, "session/new answered without a session id: %s", excerpt(m.result))
	}
	return id
}

// advertises reports whether the agent has a capability: a true boolean or an object.
func (p *peer) advertises(path ...string) bool {
	v := at(p.result, "agentCapabilities")
	for _, name := range path {
		v = at(v, name)
	}
	switch v := v.(type) {
	case bool:
		return v
	case map[string]any:
		return true
	default:
		return false
	}
}

// needs skips the check unless the agent advertises a capability.
func (p *peer) needs(path ...string) {
	if !p.advertises(path...) {
		p.t.skipAs(ReasonNotAdvertised, "not advertised: %s", strings.Join(path, "."))
	}
}

// prompt returns the prompt for a purpose, with its placeholders replaced.
func (t *trial) prompt(purpose Purpose, values ...string) string {
	text := t.suite.opts.Prompts[purpose]
	if text == "" {
		t.notSeen("there is no prompt for the purpose %q", purpose)
	}
	return fill(text, values...)
}

// file creates a file in the workspace and returns its path.
func (p *peer) file(name, text string) string {
	path := filepath.Join(p.work, name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		p.t.failf("making a file for the agent: %v", err)
	}
	return path
}

// exists reports whether a file of the workspace exists.
func (p *peer) exists(name string) bool {
	_, err := os.Stat(filepath.Join(p.work, name))
	return err == nil
}
