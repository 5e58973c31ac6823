// Package agent runs conversations: a [Session] owns one, its turns call a model and the tools that the model
// asks for, and every step is emitted as an [Event].
//
// The package knows no protocol. What it needs from the world (files, commands, approval) it declares as small
// interfaces here; package bridges implements them over an editor, with a local fallback.
package agent

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"sync"
	"time"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/contextwindow"
	"github.com/gajae-code/gjc/agent/goal"
	"github.com/gajae-code/gjc/agent/hooks"
	"github.com/gajae-code/gjc/internal/permit"
	"github.com/gajae-code/gjc/internal/telemetry"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/internal/trust"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

var (
	// ErrSessionClosed is the cause of everything that ends because its session was closed.
	ErrSessionClosed = errors.New("session closed")
	// ErrCancelled is the cause of a turn's end when the user cancelled it.
	ErrCancelled = errors.New("cancelled by the user")
)

// Models finds and opens models; [*registry.Registry] is one.
type Models interface {
	// Find returns the model that ref names, as "provider/id" with an optional ":level".
	Find(ref string) (providers.ModelInfo, providers.ThinkingLevel, error)
	// Lookup returns the model whose reference is exactly ref, "provider/id".
	Lookup(ref string) (providers.ModelInfo, bool)
	// Open returns the model of info, with the key that it needs. It returns an error if there is none.
	Open(ctx context.Context, info providers.ModelInfo) (providers.Model, error)
}

// Log keeps a session's history; [*sessions.Log] is one. Its methods return when the entry is durable.
type Log interface {
	// AppendMessage appends a message and returns the ID of its entry.
	AppendMessage(m *providers.Message) (id string, err error)
	// Append appends an entry and returns its ID.
	Append(e sessions.Entry) (id string, err error)
	// SetTitle stores the title of the session and its source.
	SetTitle(title, source string) error
	// Rewind makes the next entry follow the one with the ID; empty for the very beginning.
	Rewind(id string) error
	// Leaf returns the id of the entry that the next one follows; empty for none.
	Leaf() string
	// BranchWithSummary is like Rewind, with a summary of the abandoned branch.
	BranchWithSummary(id string, summary sessions.BranchSummary) (string, error)
	// SetLabel sets an entry's label for people. An empty label removes it.
	SetLabel(id, label string) error
	// PathTo returns the entries from the first one to the one with the ID, inclusive.
	PathTo(id string) ([]sessions.Entry, error)
	// Clear begins a new conversation: Messages returns nothing from before the call.
	Clear() error
	// Messages returns the conversation for a model, with summaries for what was compacted. It omits their details.
	Messages() ([]providers.Message, error)
	// Branch returns all entries of the conversation in order, including compacted ones. It reads them from the disk.
	Branch() ([]sessions.Entry, error)
	// Walk yields the entries of Branch that follow the last Clear, and reads them incrementally.
	Walk() iter.Seq2[sessions.Entry, error]
	// HasCall reports whether a tool call with that ID has occurred on any branch, even if it was compacted or cleared since. It
	// may be called at any time.
	HasCall(id string) bool
	// Close closes the log. The session calls it once, after its last entry.
	Close() error
}

// Options configures a [Session]. All fields are required unless documented otherwise.
type Options struct {
	ID string
	Environment
	Interaction
	Subagents
	Conversation
	ModelOptions
	ContextOptions

	// Tools are offered to the model. If nil, there are none.
	Tools Toolbox
	// Values holds the values that the session's calls share. If nil, New creates it. The session closes it in either
	// case.
	Values *Values
	Mode   approval.Mode

	// Emit receives every event, in order, from one goroutine. While it blocks, the turn waits.
	Emit func(Event)
	// NewID returns an ID for a message or a child, unique within the session. It must be safe for concurrent use.
	NewID func() string
	// OS is the name of the operating system for the system prompt: "linux".
	OS string
	// Clock returns the time. If nil, [time.Now].
	Clock Clock
	// MaxRequests bounds the model requests of one turn. If zero, [defaultMaxRequests].
	MaxRequests int
	// CancelGrace bounds the time that a cancelled turn has to end. If zero, [DefaultCancelGrace].
	CancelGrace time.Duration
	// Tracer records the turns. Optional.
	Tracer *telemetry.Tracer
	// Panicked, if set, is called after a panic in a tool. The model receives an error result in either case.
	Panicked func(where string, value any, stack []byte)
}

// Environment holds the surroundings in which the calls of a session run.
type Environment struct {
	Workspace Workspace
	FS        FS
	Terminal  Terminal
	Programs  Programs
	// Artifacts stores output that is too long for the model, and Local the local:// files of the session and its helpers. Optional.
	Artifacts Artifacts
	Local     Local
}

// Interaction holds the ways to ask the user, and the user's permissions.
type Interaction struct {
	Approver Approver
	// Elicitor asks for more than permission. Optional.
	Elicitor Elicitor
	// Policy holds the permissions of the configuration. Optional.
	Policy approval.Policy
}

// Subagents configures child sessions. All fields are optional.
type Subagents struct {
	// Subagent connects a child session. If nil, the session starts no children.
	Subagent func(Subagent) Surroundings
	Isolate  IsolateFunc        // connects a child with a worktree; nil if there are none
	Children *sessions.Children // stores their conversations; nil to keep them in memory
	// Helpers returns the current kinds of child sessions. If nil, there is one kind, which has everything that its parent has.
	Helpers func(context.Context) []Helper
	// HelperModel returns the model for a helper, and its level or "". Without a model the child uses its parent's. An error
	// explains to the user why the helper cannot have its model.
	HelperModel func(*Helper) (providers.ModelInfo, providers.ThinkingLevel, error)
}

// Conversation is the log of a session, and the state loaded from it.
type Conversation struct {
	Log     Log
	History []providers.Message // of a loaded session
	ForkOf  string              // the ID of the session that this one is a new copy of; empty for none
	// Uses is the earlier usage of the session. If nil, it is computed from History.
	Uses []sessions.Use
	// Title, Plan and Goal are those of a loaded session.
	Title string
	Plan  []PlanEntry
	Goal  *goal.Goal
}

// ModelOptions selects the models that a session uses.
type ModelOptions struct {
	Models   Models
	Model    providers.ModelInfo
	Thinking providers.ThinkingLevel
	// ServiceTier is one of Model.ServiceTiers; empty for the provider's default.
	ServiceTier string
	// Retry decides when a failed model call is retried. The zero value is a good policy.
	Retry providers.RetryPolicy
	// TitleModel chooses the model that generates the session's title while the model current is in use. It returns false for none.
	TitleModel TitleModel
}

// ContextOptions configures what models receive besides the conversation. All fields are optional.
type ContextOptions struct {
	// Secrets hides values from the models.
	Secrets Secrets
	// Guidance returns the current rules and skills. It is called for each request, so it must be quick.
	Guidance func(ctx context.Context) *Guidance
	// Hooks returns the current hooks.
	Hooks func() *hooks.Set
	// StartExtensions starts the extensions among the hooks that do not run yet. It is called before the hooks for a prompt, after
	// the questions about trust, and must be quick if there is nothing to start.
	StartExtensions func(ctx context.Context)
	// TrustQuestions returns the open questions about what files of the workspace would run, except for hooks. They are asked when a
	// prompt's turn begins, before tools are awaited, each with a call of its own.
	TrustQuestions func(ctx context.Context) []*trust.Question
	// SystemPrompt is the client's system prompt.
	SystemPrompt SystemPrompt
	// Settings configures compactions, rules and child sessions. If nil, [DefaultSettings].
	Settings *Settings
	// HTTP carries the requests to a remote endpoint for summaries. If nil, [http.DefaultTransport].
	HTTP http.RoundTripper
}

// Defaults of [Options].
const (
	defaultMaxRequests = 200
	DefaultCancelGrace = 5 * time.Second
)

// Session is one conversation.
//
// One goroutine, the actor, owns its state and emits its events. Each running turn is a goroutine that works on copies and asks
// the actor to record and emit. The actor ends with Close. A turn ends by itself, or on
// cancellation within Options.CancelGrace; a turn that overstays is disowned: whatever it still says is dropped.
type Session struct {
	opts Options
	// settings are those of opts, or the defaults.
	settings Settings
	ctx      context.Context //nolint:containedctx // parent of all turns; ends with the session
	end      context.CancelCauseFunc
	box      *mailbox
	done     chan struct{} // closed when the actor has ended

	// background counts the goroutines that run alongside the turns. They end with ctx.
	background sync.WaitGroup

	asking   chan struct{}    // holds a token while a question to the user is open: one at a time
	grants   *approval.Grants // shared with child sessions, like asking and standing
	standing *standing
	child    bool // whether this is a child session
	lineage

	programs seenPrograms
	hooked   *hookState // shared with child sessions
}

// state is the state of a session. Only the actor, that is, the functions posted to the mailbox, accesses it.
type state struct {
	session *Session
	choices
	title   string
	updated time.Time
	window  contextwindow.Window
	work
	emitted UsageChanged // the last one emitted
	ledger
	// idle fires when the conversation has been idle for a while; nil if no idle compaction is due.
	idle *time.Timer

	// branch counts how often the conversation was moved to another position of its log. rules are the rules that the model was
	// given on the current branch.
	branch int
	rules  *givenRules
	// discovered are the tools that the model has found on the current branch.
	discovered discovered

	preview previewState

	// named reports that the user has named the session or that a model has been asked for a title. readOnly reports that the last
	// write to the log failed and that the user has been notified.
	named, readOnly bool

	turn    *turnState // the running turn
	waiting []*turnState
	// children are the sessions that the running turn has started.
	children []*child
	closing  bool
	// question is the text of the calls that ended the turn of a child session.
	question string
}

// choices are the settings that a [Change] can change.
type choices struct {
	mode     approval.Mode
	model    providers.ModelInfo
	thinking providers.ThinkingLevel
	tier     string
}

// New starts a session. The caller must Close it.
func New(opts Options) *Session {
	if opts.Clock == nil {
		opts.Clock = time.Now
	}
	if opts.Tools == nil {
		opts.Tools = Tools(nil)
	}
	if opts.Values == nil {
		opts.Values = NewValues(nil)
	}
	opts.Workspace.resolve(opts.FS)
	opts.setTemporary()
	if opts.MaxRequests == 0 {
		opts.MaxRequests = defaultMaxRequests
	}
	if opts.CancelGrace == 0 {
		opts.CancelGrace = DefaultCancelGrace
	}
	opts.hideSecrets()
	if len(opts.History) > 0 {
		opts.learn()
	}
	s := &Session{
		opts: opts, box: newMailbox(), done: make(chan struct{}), asking: make(chan struct{}, 1), grants: &approval.Grants{Keeper: opts.Policy.Keeper}, standing: new(standing), hooked: new(hookState),
	}
	st := &state{
		session: s,
		choices: choices{opts.Mode, opts.Model, opts.Model.ClampThinking(opts.Thinking), opts.ServiceTier},
		title:   opts.Title, work: work{plan: opts.Plan, goal: opts.Goal}, window: contextwindow.NewWindow(opts.History), updated: opts.Clock(),
	}
	goalFlag(s).Store(st.goal.IsActive())
	if n := len(opts.History); n > 0 && !opts.History[n-1].Time.IsZero() {
		st.updated = opts.History[n-1].Time
	}
	if opts.Settings != nil {
		s.settings = *opts.Settings
	} else {
		s.settings = DefaultSettings()
	}
	s.tree = newTaskTree(&s.settings.Tasks, opts.Children)
	// A loaded session got its title after its first answer.
	_, answered := firstExchange(opts.History)
	st.named = opts.Title != "" && answered != ""
	st.loadUses(&opts.Conversation)
	st.used(st.window.Usage().Context())
	s.ctx, s.end = context.WithCancelCause(permit.With(context.Background(), permit.Own()))
	go func() {
		defer close(s.done)
		s.box.run(st)
	}()
	return s
}

// ID returns the session's ID.
func (s *Session) ID() string { return s.opts.ID }

// Values returns the values that the calls of the session share. The session closes them.
func (s *Session) Values() *Values { return s.opts.Values }

// Hide returns text with placeholders instead of secrets.
func (s *Session) Hide(text string) string { return s.opts.Secrets.Hide(text) }

// Workspace returns the workspace of the session.
func (s *Session) Workspace() Workspace { return s.opts.Workspace }

// A Pending waits for a queued change and returns its error.
type Pending func() error

// do queues fn for the actor and returns a function that waits for it. The actor runs functions in the order of the
// calls of do.
func (s *Session) do(fn func(st *state) error) Pending {
	result := make(chan error, 1)
	if !s.box.post(func(st *state) { result <- fn(st) }) {
		return func() error { return ErrSessionClosed }
	}
	return func() error { return <-result }
}

// hold runs fn on the actor, which then pauses until release is called. Meanwhile the session emits nothing.
func (s *Session) hold(fn func(st *state)) (release func(), err error) {
	ran, released := make(chan struct{}), make(chan struct{})
	if !s.box.post(func(st *state) {
		fn(st)
		close(ran)
		<-released
	}) {
		return nil, ErrSessionClosed
	}
	<-ran
	return func() { close(released) }, nil
}

// Snapshot is the session's state at one moment.
type Snapshot struct {
	Mode     approval.Mode
	Model    providers.ModelInfo
	Thinking providers.ThinkingLevel
	// ServiceTier is empty for the provider's default.
	ServiceTier string
	Title       string
	UpdatedAt   time.Time
	Plan        []PlanEntry
	Goal        *goal.Goal // nil for none; it must not be changed
	// Usage is that of the last model call. CostUSD is the total cost of the session, or zero if part of it is unknown.
	Usage   providers.Usage
	CostUSD float64
	// Messages is the number of messages in the conversation.
	Messages int
	// Busy reports that a turn runs or waits.
	Busy bool
}

// Snapshot returns the state after all queued changes.
func (s *Session) Snapshot() (Snapshot, error) {
	var snap Snapshot
	err := s.do(func(st *state) error {
		snap = st.snapshot()
		return nil
	})()
	return snap, err
}

// ErrEmptyTitle is returned for a title without a word.
var ErrEmptyTitle = errors.New("a title needs at least one word")

// SetTitle sets the user's title, on one line and cut to [maxTitleChars], and returns the stored title when the pending
// change is done. No automatic title replaces it. SetTitle emits no event, because the caller knows the title.
func (s *Session) SetTitle(title string) (string, Pending) {
	title = CleanTitle(title)
	return title, s.do(func(st *state) error {
		if title == "" {
			return ErrEmptyTitle
		}
		if err := s.opts.Log.SetTitle(title, "user"); err != nil {
			return err
		}
		st.title, st.updated, st.named = title, s.opts.Clock(), true
		return nil
	})
}

// maxTitleChars is the maximum length of a title, in characters.
const maxTitleChars = 200

// CleanTitle puts a title on one line and cuts it to [maxTitleChars].
func CleanTitle(title string) string {
	return text.Truncate(text.OneLine(title), maxTitleChars)
}

// Cancel ends the running turn and those waiting now. It does not affect turns that are queued later.
func (s *Session) Cancel() {
	s.do(func(st *state) error {
		if st.turn != nil {
			st.cancelTurn(st.turn, ErrCancelled)
		}
		for _, t := range st.waiting {
			t.finish(TurnResult{Stop: StopCancelled})
		}
		st.waiting = nil
		return nil
	})
}

// Close cancels running work, ends the actor and closes the log. It is bounded by ctx and, for a turn that does not stop, by
// Options.CancelGrace. It may be called more than once.
func (s *Session) Close(ctx context.Context) error {
	s.do(func(st *state) error {
		st.closing = true
		st.stopIdle()
		for _, t := range st.waiting {
			t.finish(TurnResult{Stop: StopCancelled})
		}
		st.waiting = nil
		if st.turn == nil {
			s.box.close()
			return nil
		}
		st.cancelTurn(st.turn, ErrSessionClosed)
		return nil
	})
	select {
	case <-s.done:
	case <-ctx.Done():
		// The turn does not stop in time: disown it.
		s.do(func(st *state) error {
			if st.turn != nil {
				st.abandon(st.turn)
			}
			return nil
		})
		<-s.done
	}
	s.sessionEnd(ctx)
	s.end(ErrSessionClosed)
	s.opts.Values.Close(ctx)
	s.background.Wait()
	return s.opts.Log.Close()
}

// Context returns the conversation as the next model request would send it.
func (s *Session) Context() ([]providers.Message, error) {
	var history []providers.Message
	err := s.do(func(st *state) error {
		history = append(history, st.window.Messages...)
		return nil
	})()
	return history, err
}

// Transcript returns all messages of the conversation that people see, including compacted ones.
func (s *Session) Transcript() ([]providers.Message, error) {
	var all []providers.Message
	err := s.do(func(*state) error {
		branch, err := s.opts.Log.Branch()
		if err != nil {
			return err
		}
		for _, e := range branch {
			if m, ok := e.(sessions.MessageEntry); ok && !m.Hidden {
				all = append(all, m.Message)
			}
		}
		return nil
	})()
	return all, err
}

// An UnsavedError reports that something could not be recorded in the session's log. The next prompt tries again.
type UnsavedError struct{ Err error }

func (e *UnsavedError) Error() string {
	return "the session cannot be saved: " + sessions.WriteAdvice(e.Err)
}

func (e *UnsavedError) Unwrap() error { return e.Err }

// unsaved wraps an error of the log. It notifies the user of the first one in a row.
func (st *state) unsaved(err error) error {
	unsaved := &UnsavedError{err}
	if errors.Is(err, sessions.ErrReadOnly) && !st.readOnly {
		st.readOnly = true
		st.emit(Noticed{
			Severity: SeverityError, Title: "The session cannot be saved.",
			Detail: "Everything shown as completed before this is saved. Reason: " + sessions.WriteAdvice(err) + ".",
		})
	}
	return unsaved
}

// saved notifies the user that the log is writable again.
func (st *state) saved() {
	if st.readOnly {
		st.readOnly = false
		st.emit(Noticed{Severity: SeverityInfo, Title: "The session is saved again."})
	}
}

// emit emits an event.
func (st *state) emit(ev Event) {
	if ev, ok := ev.(PlanChanged); ok {
		st.plan = ev.Entries
	}
	st.session.opts.Emit(ev)
}

// emitInfo emits the title and the update time.
func (st *state) emitInfo() {
	s := st.session
	st.updated = s.opts.Clock()
	st.emit(InfoChanged{Title: st.title, UpdatedAt: st.updated})
}

// mailbox is the queue of a session's actor. It has no limit, because the connection's dispatcher and running turns
// must not block when they post. Turns wait for their functions, which bounds the queue.
type mailbox struct {
	mu     sync.Mutex // guards todo and closed
	todo   []func(*state)
	closed bool
	wake   chan struct{}
}

func newMailbox() *mailbox { return &mailbox{wake: make(chan struct{}, 1)} }

// post adds fn and reports whether the actor will run it.
func (m *mailbox) post(fn func(st *state)) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.todo = append(m.todo, fn)
	m.signal()
	return true
}

// run runs the posted functions in order until the mailbox is closed and empty. Only these functions see the state.
func (m *mailbox) run(st *state) {
	var batch []func(*state)
	for {
		m.mu.Lock()
		clear(batch)
		batch, m.todo = m.todo, batch[:0]
		closed := m.closed
		m.mu.Unlock()
		for _, fn := range batch {
			fn(st)
		}
		if len(batch) == 0 {
			if closed {
				return
			}
			<-m.wake
		}
	}
}

// close makes run return after the functions that are already posted.
func (m *mailbox) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.signal()
}

func (m *mailbox) signal() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}
