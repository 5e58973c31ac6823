package followed

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/server/relay"
	"github.com/gajae-code/gjc/sessions"
	"github.com/gajae-code/gjc/sessions/pipe"
)

// elsewhere holds the connection to the process that has a session open, and the prompts that were sent to it.
type elsewhere struct {
	caller  *relay.Caller // nil for none
	sent    []*sentPrompt // that are not answered
	changed chan struct{} // closed and replaced when the state of the session has changed
	// wanted is the process with which the session connects, or is connected; empty for none. last is the one that was called last, and
	// reached when.
	wanted, last string
	reached      time.Time
	// work are the goroutines that begin and end connections: the store may be slow, and a takeover does not wait for that.
	work sync.WaitGroup
}

// reachEvery is the least time between two calls to the same process.
const reachEvery = 5 * time.Second

// reach connects with the process that has the session open, if the client can take part there, and ends the connection to any other. The
// caller has the turn.
func (s *Session) reach(owner *sessions.LockedError) {
	want := ""
	if owner != nil && owner.PID != 0 && s.opts.Reach != nil && s.opts.Missing(s.source.Header().Cwd) == "" {
		want = pipe.Holder(owner)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &s.there
	t.wanted = want
	if old := t.caller; old != nil && (old.Holder() != want || old.Ended()) {
		t.caller = nil
		t.work.Go(old.Close)
	}
	if want == "" || t.caller != nil || want == t.last && time.Since(t.reached) < reachEvery {
		return
	}
	t.last, t.reached = want, time.Now()
	t.work.Go(func() { s.call(owner) }) // ends with the patience of the store
}

// call connects with a process that has the session open.
func (s *Session) call(owner *sessions.LockedError) {
	caller, err := s.opts.Reach(owner)
	if err != nil {
		return // the store does not answer: a later call may
	}
	s.mu.Lock()
	unwanted := s.there.wanted != caller.Holder() || s.there.caller != nil
	if !unwanted {
		s.there.caller = caller
	}
	s.mu.Unlock()
	if unwanted {
		caller.Close()
	}
}

// callInterval is the time between two looks whether a process that was called has accepted.
const callInterval = 200 * time.Millisecond

// calls reports whether a process was called that has not accepted yet.
func (s *Session) calls() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.there.wanted != "" && (s.there.caller == nil || !s.there.caller.Open()) && time.Since(s.there.reached) < reachEvery
}

// reaches returns the connection to the process that has the session open; nil if the client cannot take part there.
func (s *Session) reaches() *relay.Caller {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.there.caller == nil || !s.there.caller.Open() {
		return nil
	}
	return s.there.caller
}

// Prompt sends a prompt to the process that has the session open, in the order of the calls to Prompt and Cancel, and returns a function that
// waits for the answer and shows what comes before it. ok is false if the client cannot take part there.
//
// If that process gives the session up, or dies, before it has stored the prompt, the prompt goes to the next one. If the session is opened
// here, the function returns [ErrOpen], and the caller prompts here. So the turn is neither lost nor run twice.
func (s *Session) Prompt(p *acp.PromptRequest) (wait func(context.Context) (*acp.PromptResponse, error), ok bool) {
	caller := s.reaches()
	if caller == nil {
		return nil, false
	}
	sent := s.send(caller, p)
	return func(ctx context.Context) (*acp.PromptResponse, error) {
		defer s.answered(sent)
		for {
			resp, err := sent.wait(ctx)
			shown, ok, failed := s.Show(ctx, false)
			if ok && failed == nil { // otherwise the client sees it later
				shown()
			}
			if err == nil || sent.id == "" || !relay.IsOver(err) {
				return resp, err
			}
			if resp, next := s.next(ctx, sent, err); next != nil || resp != nil {
				return resp, next
			}
		}
	}, true
}

// ErrOpen is the error of a prompt that no other process has stored, in a session that is open here or cannot be followed any more.
var ErrOpen = errors.New("the session is not open elsewhere any more")

// sentPrompt is a prompt that another process has. The session's mutex guards all but id.
type sentPrompt struct {
	id     string // of its message
	params *acp.PromptRequest
	holder string
	wait   func(context.Context) (*acp.PromptResponse, error)
	stored bool // the message is in the session
	// cancelled is closed when a client cancels.
	cancelled chan struct{}
	closed    bool
}

// send sends a prompt for the first time.
func (s *Session) send(caller *relay.Caller, p *acp.PromptRequest) *sentPrompt {
	id, _ := relay.MessageID(p.Meta) // the process that takes the prompt reports the error
	sent := &sentPrompt{id: id, params: p, cancelled: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.there.sent = append(s.there.sent, sent)
	sent.holder, sent.wait = caller.Holder(), caller.Prompt(p)
	return sent
}

// answered forgets a prompt.
func (s *Session) answered(sent *sentPrompt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.there.sent = slices.DeleteFunc(s.there.sent, func(other *sentPrompt) bool { return other == sent })
}

// storedMessage records that the session has a message.
func (s *Session) storedMessage(e sessions.Entry) {
	m, ok := e.(sessions.MessageEntry)
	if !ok || m.Message.ID == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sent := range s.there.sent {
		if sent.id == m.Message.ID {
			sent.stored = true
		}
	}
}

// nextPatience bounds how long a prompt waits for the process that has the session open next. A lease usually ends long before.
const nextPatience = time.Minute

// next sends a prompt that has failed with err to the process that has the session open after the one that had it. It returns nothing if it has,
// and otherwise what the client shall receive.
func (s *Session) next(ctx context.Context, sent *sentPrompt, err error) (*acp.PromptResponse, error) {
	patience := time.NewTimer(nextPatience)
	defer patience.Stop()
	for {
		caller := s.reaches()
		s.mu.Lock()
		changed, stored := s.there.changed, sent.stored
		again := caller != nil && caller.Holder() != sent.holder && !stored && !sent.closed
		if again {
			sent.holder, sent.wait = caller.Holder(), caller.Prompt(sent.params)
		}
		s.mu.Unlock()
		switch {
		case stored:
			return nil, err
		case again:
			return nil, nil
		}
		select {
		case <-changed:
		case <-s.over:
			s.mu.Lock()
			defer s.mu.Unlock()
			if sent.stored || s.ctx.Err() != nil {
				return nil, err
			}
			return nil, ErrOpen
		case <-sent.cancelled:
			return &acp.PromptResponse{StopReason: acp.StopReasonCancelled}, nil
		case <-patience.C:
			return nil, err
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// notifyChanged wakes the prompts that wait for another process. The caller holds s.mu.
func (s *Session) notifyChanged() {
	close(s.there.changed)
	s.there.changed = make(chan struct{})
}

// Cancel cancels what the session does in the process that has it open, and the prompts that wait for another one. ok is false if the client
// cannot take part there.
func (s *Session) Cancel(ctx context.Context, p *acp.CancelNotification) (ok bool, err error) {
	caller := s.reaches()
	s.mu.Lock()
	for _, sent := range s.there.sent {
		if !sent.closed {
			sent.closed = true
			close(sent.cancelled)
		}
	}
	s.mu.Unlock()
	if caller == nil {
		return false, nil
	}
	return true, caller.Cancel(ctx, p)
}
