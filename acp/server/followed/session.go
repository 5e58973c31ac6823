package followed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gajae-code/gjc/acp/server/relay"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/sessions"
	"github.com/gajae-code/gjc/sessions/follow"
)

// Options describes a session that is followed. All fields but Reach are required. No two of its functions run at a time.
type Options struct {
	Store *sessions.Store
	ID    string
	// Missing returns why a session with the directory cwd cannot be opened for the client; empty if it can.
	Missing func(cwd string) string
	// Tools describe calls of which only the input is known.
	Tools []agent.Tool
	// Sink returns a function that shows the events of a conversation from its start on.
	Sink func() func(agent.Event)
	// About shows what has changed besides the conversation.
	About func(About)
	// Changed shows why the client still only observes.
	Changed func(State)
	// Reach connects the client with the process that has the session open; nil for a client that only watches there.
	Reach func(holder *sessions.LockedError) (*relay.Caller, error)
	// Open opens the session for writing. It calls rest once no other process can write any more, before it shows anything. It returns an
	// error that wraps [sessions.ErrLocked] if another process is faster.
	Open func(ctx context.Context, rest func() error) error
	// Ended is called once, when the session is not followed any more: without an error if Open has opened it.
	Ended func(error)
}

// ErrStopped is the error of a session that is not followed any more because [Session.Stop] was called.
var ErrStopped = errors.New("the session was closed")

// Session is a session that is followed. It is safe for concurrent use.
type Session struct {
	opts Options
	turn chan struct{} // holds a token while the conversation is shown
	stop context.CancelCauseFunc
	ctx  context.Context //nolint:containedctx // ends with Stop
	done chan struct{}   // closed when Run has returned
	over chan struct{}   // closed when the session was opened, or cannot be followed any more

	mu      sync.Mutex // guards the fields below
	running bool
	stopped bool
	state   State
	there   elsewhere

	// Who has the turn uses the fields below.
	source  *follow.Session // nil before the first Show
	events  *agent.Following
	sink    func(agent.Event)
	about   about
	read    int              // the number of entries that the client has
	left    []sessions.Entry // that were read, and that the client does not have
	last    string           // the ID of the last entry that the client has; empty for none
	refused refusal
	writer
}

// New returns a session that is not shown yet. The caller stops it.
func New(opts Options) *Session {
	s := &Session{opts: opts, turn: make(chan struct{}, 1), done: make(chan struct{}), over: make(chan struct{})}
	s.there.changed = make(chan struct{})
	s.ctx, s.stop = context.WithCancelCause(context.Background())
	return s
}

// State returns the part that the client takes.
func (s *Session) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// Show shows the conversation so far, if replay is set, and prepares to show what follows. Until shown is called, nothing else is shown.
// After an earlier Show, it shows what the client has already had or, without replay, all that other processes have appended until now. ok is
// false if the session is not followed any more.
func (s *Session) Show(ctx context.Context, replay bool) (shown func(), ok bool, err error) {
	select {
	case s.turn <- struct{}{}:
	case <-s.over:
		return nil, false, nil
	case <-ctx.Done():
		return nil, false, context.Cause(ctx)
	}
	release := sync.OnceFunc(func() { <-s.turn })
	select {
	case <-s.over:
		release()
		return nil, false, nil
	default:
	}
	if replay || s.source == nil {
		err = s.begin(ctx, replay)
	} else if _, err = s.showNew(); err == nil {
		s.reportAbout()
	}
	if err != nil {
		release()
		return nil, true, err
	}
	return release, true, nil
}

// begin reads the session from its start.
func (s *Session) begin(ctx context.Context, replay bool) (err error) {
	source, err := follow.Start(ctx, s.opts.Store, s.opts.ID)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			source.Close()
		}
	}()
	owner, _, err := source.Holder()
	if err != nil {
		return err
	}
	var all []sessions.Entry
	for s.source == nil || len(all) < s.read {
		entries, err := source.Entries()
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			break
		}
		all = append(all, entries...)
	}
	read := len(all)
	if s.source != nil {
		read = min(s.read, read)
	}
	events := agent.NewFollowing(&agent.ReplayOptions{Tools: s.opts.Tools, Workspace: agent.Workspace{Cwd: source.Header().Cwd}})
	sink := s.opts.Sink()
	show := func(all []agent.Event) {
		for _, ev := range all {
			if replay {
				sink(ev)
			}
		}
	}
	header := source.Header()
	about, last := newAbout(&header), ""
	for _, e := range all[:read] {
		about.add(e)
		last = e.Ref().ID
	}
	for _, e := range branch(all[:read]) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		show(events.Add(e))
		if s.ended[e.Ref().ID] {
			show(events.End())
		}
	}
	if s.source == nil {
		s.writer = newWriter(owner, read)
	} else {
		s.source.Close()
	}
	s.source, s.left, s.read, s.last, s.events, s.about, s.sink = source, all[read:], read, last, events, about, sink
	s.setState(owner)
	return nil
}

// branch returns the conversation that ends with the last entry: what is after the last entry without a parent, which begins one.
func branch(entries []sessions.Entry) []sessions.Entry {
	places := make(map[string]int, len(entries))
	parents := make([]int, len(entries))
	for i, e := range entries {
		parents[i] = -1
		if at, ok := places[e.Ref().ParentID]; ok {
			parents[i] = at
		}
		places[e.Ref().ID] = i
	}
	var path []sessions.Entry
	for i := len(entries) - 1; i >= 0; i = parents[i] {
		path = append(path, entries[i])
	}
	slices.Reverse(path)
	return path
}

// setState records the part that the client takes, and reports whether it has changed. owner is nil if no process has the session open.
func (s *Session) setState(owner *sessions.LockedError) bool {
	state := State{Role: RoleObserver}
	missing := s.opts.Missing(s.source.Header().Cwd)
	switch {
	case owner != nil && missing == "" && s.reaches() != nil:
		state.Role, state.Elsewhere = RoleController, true
		state.Reason = words(owner) + " has the session open; prompts and answers of this client go there"
	case owner != nil && missing == "":
		state.Elsewhere, state.Reason = true, words(owner)+" has the session open; this client watches, and controls the session when that process has ended"
	case owner != nil:
		state.Elsewhere, state.Reason = true, words(owner)+" has the session open; this client can only watch, because "+missing
	case missing != "":
		state.Reason = "this client can only watch, because " + missing
	case s.refused.why != "":
		state.Reason = "this client can only watch, because the session cannot be opened here: " + s.refused.why
	default:
		state.Reason = "the session is being opened"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := s.state != state
	s.state = state
	if changed {
		s.notifyChanged()
	}
	return changed
}

// Run shows what other processes append, until the session was opened, is not followed any more, or Stop is called.
func (s *Session) Run() {
	s.mu.Lock()
	if s.stopped || s.running {
		s.mu.Unlock()
		return
	}
	s.running = true
	s.mu.Unlock()
	defer close(s.done)
	defer s.there.work.Wait()
	err := s.follow()
	s.end()
	<-s.turn
	s.opts.Ended(err)
}

// end makes further calls of Show fail. The caller has the turn.
func (s *Session) end() {
	s.reach(nil)
	if s.source != nil {
		s.source.Close()
	}
	close(s.over)
}

// Stop ends the following, and waits for its end. It is idempotent.
func (s *Session) Stop() {
	s.stop(ErrStopped)
	s.mu.Lock()
	first, running := !s.stopped, s.running
	s.stopped = true
	s.mu.Unlock()
	if running {
		<-s.done
		return
	}
	if first {
		s.turn <- struct{}{}
		s.end()
		<-s.turn
		s.opts.Ended(ErrStopped)
	}
}

// follow is [Session.Run]. It returns nil if the session was opened. It has the turn when it returns: a Show that waits for it must not read on in
// a session that this process writes now.
func (s *Session) follow() error {
	var check time.Time // when the holder is looked for, if nothing comes before
	for {
		s.turn <- struct{}{}
		if s.ctx.Err() != nil {
			return context.Cause(s.ctx)
		}
		opened, err := s.step(&check)
		if err != nil || opened {
			return err
		}
		source := s.source
		<-s.turn
		if err := source.Wait(s.ctx, time.Until(check)); err != nil {
			s.turn <- struct{}{}
			return err
		}
	}
}

// refusal is why the session could not be opened here, and until when that is not tried again. It is empty if the session was not tried.
type refusal struct {
	why   string
	until time.Time
}

// refusedFor is the time after which a session that could not be opened is tried again: the reason may have passed, like a full disk.
const refusedFor = 10 * time.Second

// margin is added to the end of a lease, by the clock of the store, before the session is opened.
const margin = 5 * time.Millisecond

// step shows what is new, and opens the session if no process has it open. It returns an error if the session cannot be followed.
func (s *Session) step(check *time.Time) (opened bool, err error) {
	more, err := s.showNew()
	if err != nil {
		*check = time.Now().Add(follow.Interval) // the store may not answer
		return false, final(err)
	}
	s.reportAbout()
	if more && time.Now().Before(*check) {
		return false, nil
	}
	read := s.read
	owner, left, err := s.source.Holder()
	*check = time.Now().Add(follow.Interval)
	if err != nil {
		return false, nil //nolint:nilerr // the store does not answer: later
	}
	if owner != nil && s.replacedBy(owner) {
		// What the former process has written is complete now.
		if _, err := s.showNew(); err != nil {
			return false, final(err)
		}
		if s.isOfFormer() {
			s.cut()
		}
	}
	s.found(owner, read)
	s.reach(owner)
	if owner != nil {
		s.refused = refusal{}
		wait := follow.Interval
		if left > 0 {
			wait = min(wait, left+margin)
		}
		if s.calls() {
			wait = min(wait, callInterval)
		}
		*check = time.Now().Add(wait)
		s.report(owner)
		return false, nil
	}
	if time.Now().Before(s.refused.until) || s.opts.Missing(s.source.Header().Cwd) != "" {
		s.report(nil)
		return false, nil
	}
	switch err := s.opts.Open(s.ctx, s.rest); {
	case err == nil:
		return true, nil
	case s.ctx.Err() != nil:
		return false, context.Cause(s.ctx)
	case errors.Is(err, sessions.ErrLocked), errors.Is(err, sessions.ErrUnavailable):
	case final(err) != nil:
		return false, err
	default:
		s.refused = refusal{err.Error(), time.Now().Add(refusedFor)}
		s.report(nil)
	}
	return false, nil
}

// final returns an error after which a session cannot be followed; nil for others, which pass.
func final(err error) error {
	_, changed := errors.AsType[*follow.ChangedError](err)
	_, corrupt := errors.AsType[*sessions.CorruptError](err)
	if changed || corrupt || errors.Is(err, sessions.ErrNotFound) || errors.Is(err, errBranched) {
		return err
	}
	return nil
}

// report shows a change of the part that the client takes.
func (s *Session) report(owner *sessions.LockedError) {
	if s.setState(owner) {
		s.opts.Changed(s.State())
	}
}

// showNew shows the entries that the client does not have, and reports whether there were any.
func (s *Session) showNew() (more bool, err error) {
	for {
		entries := s.left
		if s.left = nil; len(entries) == 0 {
			if entries, err = s.source.Entries(); err != nil || len(entries) == 0 {
				return more, err
			}
		}
		more = true
		for i, e := range entries {
			if s.last != "" && e.Ref().ParentID != s.last {
				s.left = entries[i:] // the next call finds it too
				return more, errBranched
			}
			s.last = e.Ref().ID
			s.read++
			s.about.add(e)
			s.show(s.events.Add(e))
			s.added(e, s.read)
			s.storedMessage(e)
		}
	}
}

// errBranched ends the following of a session whose conversation continues from an earlier place.
var errBranched = errors.New("the conversation was taken back to an earlier place where the session is open; load the session again")

// reportAbout shows what has changed in addition to the conversation.
func (s *Session) reportAbout() {
	if s.about.changed {
		s.about.changed = false
		s.opts.About(s.about.About)
	}
}

func (s *Session) show(events []agent.Event) {
	for _, ev := range events {
		s.sink(ev)
	}
}

// rest shows the last entries of the process that had the session open, and what its end has interrupted.
func (s *Session) rest() error {
	if _, err := s.showNew(); err != nil {
		return fmt.Errorf("reading what another process has written: %w", err)
	}
	s.cut()
	return nil
}

// cut shows what the end of the process that had the session open has interrupted.
func (s *Session) cut() {
	if s.ended[s.last] {
		return // an earlier attempt to open the session has shown it
	}
	s.ended[s.last] = true
	s.show(s.events.End())
}
