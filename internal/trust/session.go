package trust

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"
)

// Session is a store with additional answers that hold for one session only. It is safe for concurrent use.
type Session struct {
	store *Store

	mu      sync.Mutex // guards the fields below
	answers []Entry
	changes int
}

// NewSession returns a session without answers. store may be nil.
func NewSession(store *Store) *Session { return &Session{store: store} }

// Look returns the verdict for a subject. Answers for this session take precedence.
func (s *Session) Look(sub *Subject) (Verdict, error) {
	own := s.own(sub)
	if own.State != Unknown || s.store == nil {
		return own, nil
	}
	kept, err := s.store.Look(sub)
	if kept.State == Unknown && len(kept.Changed) == 0 {
		return own, err
	}
	return kept, err
}

func (s *Session) own(sub *Subject) Verdict {
	path := Canonical(sub.Path)
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := find(s.answers, path); i >= 0 {
		return s.answers[i].judge(sub)
	}
	return Verdict{}
}

// Answer records the user's answer for a subject, permanently if remember is set, otherwise for this session. If it cannot be
// stored, it applies to this session, and the error says why.
func (s *Session) Answer(ctx context.Context, sub *Subject, state State, remember bool) error {
	path := Canonical(sub.Path)
	var err error
	if remember {
		err = errors.New("nowhere to store the answer; it applies to this session")
		if s.store != nil {
			err = s.store.Set(ctx, sub, state)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes++
	i := find(s.answers, path)
	if remember && err == nil {
		if i >= 0 { // the newer answer counts
			s.answers = append(s.answers[:i], s.answers[i+1:]...)
		}
		return nil
	}
	if i < 0 {
		s.answers = append(s.answers, Entry{Path: path})
		i = len(s.answers) - 1
	}
	s.answers[i].record(sub, state, time.Now())
	return err
}

// Stamp returns a value that changes when any answer changes, here or in another process.
func (s *Session) Stamp() string {
	s.mu.Lock()
	n := s.changes
	s.mu.Unlock()
	stamp := strconv.Itoa(n)
	if s.store != nil {
		stamp += " " + s.store.Stamp()
	}
	return stamp
}
