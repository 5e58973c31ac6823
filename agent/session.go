package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

var (
	// ErrSessionClosed is the cause of everything that ends because its session was closed.
	ErrSessionClosed = errors.New("session closed")
	// ErrCancelled is the cause of a turn's end when the user cancelled it.
	ErrCancelled = errors.New("cancelled by the user")
)

// Models finds and opens models; [*providers.Registry] is one.
type Models interface {
	// Find returns the model that ref names, as "provider/id" with an optional ":level".
	Find(ref string) (providers.ModelInfo, providers.ThinkingLevel, error)
	Open(info providers.ModelInfo) (providers.Model, error)
}

// Log keeps a session's history; [*sessions.Log] is one. Its methods return when the entry is durable.
type Log interface {
	AppendMessage(m *providers.Message) (id string, err error)
	Append(e sessions.Entry) (id string, err error)
	SetTitle(title, source string) error
	// Rewind makes the next entry follow the one named id; empty for the very beginning.
	Rewind(id string) error
	// Leaf returns the id of the entry that the next one follows; empty for none.
	Leaf() string
	Close() error
}

// Options configures a [Session]. All fields are required unless they say otherwise.
type Options struct {
	ID        string
	Workspace Workspace

	FS       FS
	Terminal Terminal
	Programs Programs
	Approver Approver
	// Artifacts is optional.
	Artifacts Artifacts

	Models Models
	Log    Log
	// Tools are offered to the model in this order.
	Tools []Tool

	// History is what was said before, of a loaded session.
	History []providers.Message
	// Title and Plan are those of a loaded session.
	Title string
	Plan  []PlanEntry

	Model    providers.ModelInfo
	Thinking providers.ThinkingLevel
	Mode     Mode

	// Emit is told every event, in order, by one goroutine. It may block for a slow editor; the turn waits then.
	Emit func(Event)
	// NewID makes ids for messages. They must be unique within the session.
	NewID func() string
	// OS names the operating system for the system prompt: "linux".
	OS string
	// Clock is for time stamps. If nil, [time.Now].
	Clock Clock
	// Retry says when a failed model call is tried again. The zero value is a good policy.
	Retry providers.RetryPolicy
	// MaxRequests is how many model requests one turn may make. If zero, [DefaultMaxRequests].
	MaxRequests int
	// CancelGrace is how long a cancelled turn may clean up before it is given up on. If zero,
	// [DefaultCancelGrace].
	CancelGrace time.Duration
	// Panicked, if set, is told of a panic in a tool. The model gets an error result either way.
	Panicked func(where string, value any, stack []byte)
}

// Defaults of [Options].
const (
	DefaultMaxRequests = 200
	DefaultCancelGrace = 5 * time.Second
)

// Session is one conversation.
//
// One goroutine, the actor, owns its state and tells its events; each running turn is a goroutine that works on
// copies and asks the actor to record and tell things. The actor ends with Close. A turn ends by itself, or on
// cancellation within Options.CancelGrace; a turn that overstays is disowned: whatever it still says is dropped.
type Session struct {
	opts Options
	ctx  context.Context // parent of all turns; ends with the session
	end  context.CancelCauseFunc
	box  *mailbox
	done chan struct{} // closed when the actor has ended

	asking chan struct{} // holds a token while a question to the user is open: one at a time

	st state // the actor's alone
}

// state is what the actor owns.
type state struct {
	mode     Mode
	model    providers.ModelInfo
	thinking providers.ThinkingLevel
	title    string
	updated  time.Time
	plan     []PlanEntry
	history  []providers.Message
	usage    providers.Usage // of the last model call
	cost     float64
	grants   grants

	turn    *Turn // the running one
	waiting []*Turn
	closing bool
}

// New starts a session. The caller must Close it.
func New(opts Options) *Session {
	if opts.Clock == nil {
		opts.Clock = time.Now
	}
	if opts.MaxRequests == 0 {
		opts.MaxRequests = DefaultMaxRequests
	}
	if opts.CancelGrace == 0 {
		opts.CancelGrace = DefaultCancelGrace
	}
	s := &Session{
		opts: opts, box: newMailbox(), done: make(chan struct{}), asking: make(chan struct{}, 1),
		st: state{
			mode: opts.Mode, model: opts.Model, thinking: opts.Model.ClampThinking(opts.Thinking),
			title: opts.Title, plan: opts.Plan, history: opts.History, updated: opts.Clock(),
		},
	}
	if n := len(opts.History); n > 0 && !opts.History[n-1].Time.IsZero() {
		s.st.updated = opts.History[n-1].Time
	}
	for _, m := range opts.History {
		if m.Role != providers.RoleAssistant || m.Usage == (providers.Usage{}) {
			continue
		}
		s.st.usage = m.Usage
		if m.Provider == opts.Model.Provider && m.Model == opts.Model.ID {
			s.st.cost += opts.Model.Cost.Of(m.Usage)
		}
	}
	s.ctx, s.end = context.WithCancelCause(context.Background())
	go func() {
		defer close(s.done)
		s.box.run()
	}()
	return s
}

// ID returns the session's id.
func (s *Session) ID() string { return s.opts.ID }

// Workspace returns where the session works.
func (s *Session) Workspace() Workspace { return s.opts.Workspace }

// Pending is a change that has been queued. Calling it waits for the change and returns its error.
type Pending func() error

// do queues fn for the actor and returns how to wait for it. Things are done in the order of the calls to do.
func (s *Session) do(fn func(st *state) error) Pending {
	result := make(chan error, 1)
	if !s.box.post(func() { result <- fn(&s.st) }) {
		return func() error { return ErrSessionClosed }
	}
	return func() error { return <-result }
}

// Snapshot is the session's state at one moment.
type Snapshot struct {
	Mode      Mode
	Model     providers.ModelInfo
	Thinking  providers.ThinkingLevel
	Title     string
	UpdatedAt time.Time
	Plan      []PlanEntry
	// Usage is that of the last model call, CostUSD the price of all of them; zero where unknown.
	Usage   providers.Usage
	CostUSD float64
	// Busy reports that a turn runs or waits.
	Busy bool
}

// Snapshot returns the state behind everything that was queued before.
func (s *Session) Snapshot() (Snapshot, error) {
	var snap Snapshot
	err := s.do(func(st *state) error {
		snap = Snapshot{
			Mode: st.mode, Model: st.model, Thinking: st.thinking, Title: st.title, UpdatedAt: st.updated,
			Plan: st.plan, Usage: st.usage, CostUSD: st.cost, Busy: st.turn != nil || len(st.waiting) > 0,
		}
		return nil
	})()
	return snap, err
}

// SetMode changes the mode. It does not tell an event: the caller knows.
func (s *Session) SetMode(mode Mode) Pending {
	return s.do(func(st *state) error {
		if st.mode == mode {
			return nil
		}
		if _, err := s.opts.Log.Append(sessions.ModeChange{Mode: string(mode)}); err != nil {
			return err
		}
		st.mode = mode
		return nil
	})
}

// SetModel changes the model, from the next model request on. The thinking level is kept as far as the new model
// knows it.
func (s *Session) SetModel(info providers.ModelInfo, level providers.ThinkingLevel) Pending {
	return s.do(func(st *state) error {
		if level == "" {
			level = st.thinking
		}
		level = info.ClampThinking(level)
		if info.Ref() != st.model.Ref() {
			if _, err := s.opts.Log.Append(sessions.ModelChange{Model: info.Ref()}); err != nil {
				return err
			}
			st.model = info
		}
		return s.setThinking(st, level)
	})
}

// ErrThinkingLevel is wrapped by the error for a level that the model does not have.
var ErrThinkingLevel = errors.New("unknown thinking level")

// SetThinking changes the thinking level, from the next model request on.
func (s *Session) SetThinking(level providers.ThinkingLevel) Pending {
	return s.do(func(st *state) error {
		if got := st.model.ClampThinking(level); got != level {
			return fmt.Errorf("%w %q for %s; it has %v", ErrThinkingLevel, level, st.model.Ref(), ThinkingLevels(st.model))
		}
		return s.setThinking(st, level)
	})
}

// ThinkingLevels lists the levels that a model can be set to, off first.
func ThinkingLevels(info providers.ModelInfo) []providers.ThinkingLevel {
	return append([]providers.ThinkingLevel{providers.ThinkingOff}, info.Thinking...)
}

func (s *Session) setThinking(st *state, level providers.ThinkingLevel) error {
	if level == st.thinking {
		return nil
	}
	if _, err := s.opts.Log.Append(sessions.ThinkingChange{Level: level}); err != nil {
		return err
	}
	st.thinking = level
	return nil
}

// Cancel ends the turn that runs and those that wait now. Turns that are queued later are not touched.
func (s *Session) Cancel() {
	s.do(func(st *state) error {
		if st.turn != nil {
			s.cancelTurn(st, st.turn, ErrCancelled)
		}
		for _, t := range st.waiting {
			t.finish(TurnResult{Stop: StopCancelled})
		}
		st.waiting = nil
		return nil
	})
}

// Close cancels what runs, ends the actor and closes the log. It takes no longer than ctx and, for a turn that does
// not stop, Options.CancelGrace. It may be called more than once.
func (s *Session) Close(ctx context.Context) error {
	s.do(func(st *state) error {
		st.closing = true
		for _, t := range st.waiting {
			t.finish(TurnResult{Stop: StopCancelled})
		}
		st.waiting = nil
		if st.turn == nil {
			s.box.close()
			return nil
		}
		s.cancelTurn(st, st.turn, ErrSessionClosed)
		return nil
	})
	select {
	case <-s.done:
	case <-ctx.Done():
		// The turn does not stop in time: disown it.
		s.do(func(st *state) error {
			if st.turn != nil {
				s.abandon(st, st.turn)
			}
			return nil
		})
		<-s.done
	}
	s.end(ErrSessionClosed)
	return s.opts.Log.Close()
}

// Context returns the conversation as the next model request would carry it.
func (s *Session) Context() ([]providers.Message, error) {
	var history []providers.Message
	err := s.do(func(st *state) error {
		history = append(history, st.history...)
		return nil
	})()
	return history, err
}

// emit tells one event. It runs on the actor.
func (s *Session) emit(ev Event) {
	switch ev := ev.(type) {
	case PlanChanged:
		s.st.plan = ev.Entries
	default:
	}
	s.opts.Emit(ev)
}

// tellInfo tells title and time. It runs on the actor.
func (s *Session) tellInfo(st *state) {
	st.updated = s.opts.Clock()
	s.emit(InfoChanged{Title: st.title, UpdatedAt: st.updated})
}
