package lsp

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gajae-code/gjc/internal/text"
)

// ServerState is where a server is in its life.
type ServerState string

// The states.
const (
	StateIdle       ServerState = "idle" // not started yet, or ended for being idle
	StateStarting   ServerState = "starting"
	StateReady      ServerState = "ready"
	StateRestarting ServerState = "restarting" // died; started anew after a pause, as soon as it is needed
	StateFailed     ServerState = "failed"
	StateClosed     ServerState = "closed"
)

// ServerStatus is a snapshot of a server, for people.
type ServerStatus struct {
	Name, Root string
	Command    []string
	State      ServerState
	PID        int    // zero while there is no process
	Info       string // name and version as the server tells them
	Encoding   Encoding
	Started    time.Time // of the present process
	Restarts   int
	Documents  int
	Progress   []string // what it is busy with
	LastError  string
	Log        string // the end of its stderr and of its log messages
}

// Status returns a snapshot.
func (s *Server) Status() ServerStatus {
	s.mu.Lock()
	st := ServerStatus{
		Name: s.opts.Spec.Name, Root: s.opts.Root, Command: append([]string{s.opts.Spec.Path}, s.opts.Spec.Args...),
		State: s.state, Encoding: UTF16, Restarts: max(0, s.starts-1),
	}
	if s.lastErr != nil {
		st.LastError = s.lastErr.Error()
	}
	l := s.last
	s.mu.Unlock()
	st.Log = strings.TrimSpace(s.log.String())
	if l == nil || l.isOver() {
		return st
	}
	st.PID, st.Started = l.proc.PID(), l.started
	if st.State == StateReady {
		st.Info, st.Encoding = l.info, l.encoding
		st.Progress = l.progress.list()
		st.Documents = s.docs.open(l)
	}
	return st
}

// logf adds a line to the server's log.
func (s *Server) logf(format string, args ...any) {
	_, _ = fmt.Fprintf(s.log, format+"\n", args...)
}

// notice tells the user of something that the server can set off again and again, which is therefore bounded.
func (s *Server) notice(message, detail string) {
	s.mu.Lock()
	ok := s.notices.take(time.Now())
	s.mu.Unlock()
	if ok {
		s.opts.Notice(message, text.TruncateBytes(detail, maxText))
	}
}

// maxText bounds what is quoted of a server in one place, in bytes.
const maxText = 8 << 10

const (
	// noticeBurst is how many notices a server can give at once, and noticeEvery how often then.
	noticeBurst = 10
	noticeEvery = 30 * time.Second
)

// noticeRate bounds the notices that a server can set off.
type noticeRate struct {
	used  int
	since time.Time
}

func (r *noticeRate) take(now time.Time) bool {
	if back := int(now.Sub(r.since) / noticeEvery); back > 0 {
		r.used, r.since = max(0, r.used-back), now
	}
	if r.used >= noticeBurst {
		return false
	}
	r.used++
	return true
}

// sorted returns the values of m in the order of their keys.
func sorted[T any](m map[string]T) []T {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	list := make([]T, 0, len(m))
	for _, k := range keys {
		list = append(list, m[k])
	}
	return list
}
