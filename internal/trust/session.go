package trust

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
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

// Question asks the user to trust a subject.
type Question struct {
	// Title is the question, and Text says what would run. The lines of the subject follow it.
	Title, Text string
	// Unasked is the notice for a user who cannot be asked; empty for one about the workspace.
	Unasked string
	// Subject has what changed since the last answer.
	Subject Subject

	session *Session
}

// Question returns the question about a subject, without texts. It returns nil if the user has answered it, and also if the
// answers cannot be read, because a new one could not be kept either.
func (s *Session) Question(sub *Subject) *Question {
	if sub == nil || sub.Empty() {
		return nil
	}
	v, err := s.Look(sub)
	if err != nil || v.State != Unknown {
		return nil
	}
	q := &Question{Subject: *sub, session: s}
	q.Subject.Changed = v.Changed
	return q
}

// Lines describe, in plain text, what trust would allow.
func (q *Question) Lines() []string { return q.Subject.Describe() }

// Answer stores the user's decision, permanently or for this session. If storing fails, the decision applies to this
// session, and Answer returns an error.
func (q *Question) Answer(ctx context.Context, trusted, remember bool) error {
	state := Denied
	if trusted {
		state = Trusted
	}
	return q.session.Answer(ctx, &q.Subject, state, remember)
}

// Key identifies the question by the contents that it is about.
func (q *Question) Key() string {
	sum := sha256.New()
	for _, f := range q.Subject.Files {
		fmt.Fprintf(sum, "%q %s\n", f.Name, f.Sum)
	}
	fmt.Fprintf(sum, "%q %t", q.Subject.Path, len(q.Subject.Programs) > 0)
	return hex.EncodeToString(sum.Sum(nil))
}
