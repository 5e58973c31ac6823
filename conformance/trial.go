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
	shown  []*peer // peers whose transcripts the report also shows
	result Result
}

// try runs fn as a trial in its own goroutine, which fn may exit at any point.
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

// lacks ends the trial: the agent does not advertise what the requirement is about.
func (t *trial) lacks(what string) { t.skipAs(ReasonNotAdvertised, "not advertised: %s", what) }

// skipWithoutLogin ends the trial if it cannot test the requirement because the agent requires a login: the agent has refused a
// session for that reason and has opened none.
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
	c, err := t.suite.start(t.ctx, home, t.suite.environment(t.dir, home))
	if err != nil {
		t.failf("the agent cannot be started: %v", err)
	}
	p := newPeer(t, c, work)
	t.peers = append(t.peers, p)
	return p
}

// prompt returns the prompt for a purpose, with its placeholders replaced.
func (t *trial) prompt(purpose Purpose, values ...string) string {
	text := t.suite.opts.Prompts[purpose]
	if text == "" {
		t.notSeen("there is no prompt for the purpose %q", purpose)
	}
	return fill(text, values...)
}
