package lsp

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
)

// ServerState is the state of a server.
type ServerState string

// The states.
const (
	StateIdle       ServerState = "idle" // not started, or ended while idle
	StateStarting   ServerState = "starting"
	StateReady      ServerState = "ready"
	StateRestarting ServerState = "restarting" // died; restarts after a pause at the next call
	StateFailed     ServerState = "failed"
	StateClosed     ServerState = "closed"
)

// ServerStatus is a snapshot of a server, for display.
type ServerStatus struct {
	Name, Root string
	Command    []string
	State      ServerState
	PID        int    // zero without a process
	Info       string // name and version as the server sent them
	Encoding   Encoding
	Inside     bool      // whether it runs in the session's sandbox
	Started    time.Time // of the present process
	Restarts   int
	Documents  int
	Progress   []string // the active tasks
	LastError  string
	Log        string // the end of its stderr and log messages
}

// Status returns a snapshot.
func (s *Server) Status() ServerStatus {
	s.mu.Lock()
	st := ServerStatus{
		Name: s.opts.Spec.Name, Root: s.opts.Root, Command: append([]string{s.opts.Spec.Path}, s.opts.Spec.Args...),
		State: s.state, Encoding: UTF16, Inside: s.opts.Inside != nil, Restarts: max(0, s.starts-1),
	}
	if s.lastErr != nil {
		st.LastError = s.lastErr.Error()
	}
	ps := s.last
	s.mu.Unlock()
	st.Log = strings.TrimSpace(s.log.String())
	if ps == nil || ps.isEnding() {
		return st
	}
	st.PID, st.Started = ps.proc.PID(), ps.started
	if st.State == StateReady {
		st.Info, st.Encoding = ps.info, ps.encoding
		st.Progress = ps.progress.list()
		st.Documents = s.docs.countOpen(ps)
	}
	return st
}

// logf adds a line to the server's log.
func (s *Server) logf(format string, args ...any) {
	_, _ = fmt.Fprintf(s.log, format+"\n", args...)
}

// notice passes a notice to the user, at a limited rate: the server can cause any number of them.
func (s *Server) notice(message, detail string) {
	s.mu.Lock()
	ok := s.notices.allow(time.Now())
	s.mu.Unlock()
	if ok {
		s.opts.Notice(message, text.TruncateBytes(detail, maxText))
	}
}

// maxText bounds a text of a server that is shown or logged, in bytes.
const maxText = 8 << 10

const (
	// noticeBurst is the number of notices that a server can cause at once, and noticeInterval the time between later ones.
	noticeBurst    = 10
	noticeInterval = 30 * time.Second
)

// noticeRate limits the notices that a server can cause.
type noticeRate struct {
	used  int
	since time.Time
}

// allow reports whether another notice is within the limit, and counts it.
func (r *noticeRate) allow(now time.Time) bool {
	if back := int(now.Sub(r.since) / noticeInterval); back > 0 {
		r.used, r.since = max(0, r.used-back), now
	}
	if r.used >= noticeBurst {
		return false
	}
	r.used++
	return true
}

// sorted returns the values of m in the order of their keys.
func sorted[T any](m map[string]T) (list []T) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		list = append(list, m[k])
	}
	return list
}

const (
	// maxProgress bounds the tasks of a server that are tracked, and maxToken their tokens, in bytes.
	maxProgress = 256
	maxToken    = 1 << 10
	// startGrace is the time that a server may take to report its first task after its start, and progressGrace how long it may take to
	// report the next one after a task.
	startGrace    = 300 * time.Millisecond
	progressGrace = 100 * time.Millisecond
)

// progress holds the tasks that a server has begun and not ended.
type progress struct {
	mu     sync.Mutex // guards the fields below
	active map[string]*task
	// changed is closed and replaced whenever active becomes empty or ceases to be empty.
	changed chan struct{}
	// idleSince is the time at which active became empty. reported reports whether there has been a task.
	idleSince time.Time
	reported  bool
}

type task struct{ title, message string }

func newProgress() *progress {
	return &progress{active: make(map[string]*task), changed: make(chan struct{}), idleSince: time.Now()}
}

// create adds a task; its title follows.
func (p *progress) create(token string) { p.set(token, "") }

// set adds a task, or changes its title.
func (p *progress) set(token, title string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.active[token]
	if t == nil {
		if len(p.active) >= maxProgress || token == "" || len(token) > maxToken {
			return
		}
		t = &task{}
		p.active[token] = t
		p.reported = true
		if len(p.active) == 1 {
			p.notifyLocked()
		}
	}
	t.title = text.TruncateBytes(title, 200)
}

func (p *progress) end(token string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.active[token] == nil {
		return
	}
	delete(p.active, token)
	if len(p.active) == 0 {
		p.idleSince = time.Now()
		p.notifyLocked()
	}
}

func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.active)
	p.notifyLocked()
}

func (p *progress) notifyLocked() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// update handles the value of $/progress. Partial results have no kind and are ignored.
func (p *progress) update(token string, value jsonx.Raw) {
	message := text.TruncateBytes(stringOf(jsonx.Lookup(value, "message")), 200)
	switch stringOf(jsonx.Lookup(value, "kind")) {
	case "begin":
		p.set(token, stringOf(jsonx.Lookup(value, "title")))
		p.report(token, message)
	case "report":
		p.report(token, message)
	case "end":
		p.end(token)
	}
}

func (p *progress) report(token, message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.active[token]; t != nil && message != "" {
		t.message = message
	}
}

// list returns the active tasks, for display.
func (p *progress) list() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []string
	for _, t := range sorted(p.active) {
		if line := strings.Trim(t.title+": "+t.message, ": "); line != "" {
			list = append(list, line)
		}
	}
	return list
}

// idle reports whether the server is idle. If not, the caller must wait for changed, or for wait if it is not zero.
func (p *progress) idle() (ok bool, changed <-chan struct{}, wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.active) > 0 {
		return false, p.changed, 0
	}
	pause := startGrace
	if p.reported {
		pause = progressGrace
	}
	left := time.Until(p.idleSince.Add(pause))
	return left <= 0, p.changed, left
}

// WaitIdle waits until the server has ended the tasks that it has reported with progress tokens, such as loading the project,
// and returns true. It returns false after timeout, when ctx ends, or if the server is not ready.
func (s *Server) WaitIdle(ctx context.Context, timeout time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		ps := s.running()
		if ps == nil {
			return false
		}
		ok, changed, wait := ps.progress.idle()
		if ok {
			return true
		}
		if wait == 0 {
			wait = timeout
		}
		timer := time.NewTimer(wait)
		select {
		case <-changed:
		case <-timer.C:
		case <-ps.conn.Closing():
		case <-ctx.Done():
			timer.Stop()
			return false
		}
		timer.Stop()
	}
}
