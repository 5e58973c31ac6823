package agent

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/permit"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// Values holds what the calls of a session share, one value of each type: the state of a shell, jobs, the texts that
// the model has read, language servers. They end with the session. Values is safe for concurrent use.
type Values struct {
	root *Values

	mu     sync.Mutex // guards the fields below
	closed bool
	values []any // in the order in which they were added
}

// A ValueCloser is a value with resources to release.
type ValueCloser interface {
	// Close is called once, when the session ends. It returns no later than ctx ends.
	Close(ctx context.Context)
}

// A reporter is a value that learns of events between the session's calls, for example that a background job has ended.
type reporter interface {
	// Report returns the events since the last call of Report; the zero Report for none. It must not block.
	Report() Report
}

// A waker is a [reporter] with events that may begin a turn, or of which the user is notified while the session is idle.
type waker interface {
	reporter
	// Waits reports whether Report would return such an event. It must not block.
	Waits() bool
	// Notify returns a title for the events of which the user has not been notified; empty for none. Report still returns them, for the
	// model alone. It must not block.
	Notify() string
}

// A sleeper is a value that must learn when an event waits for a report and when the session becomes idle.
type sleeper interface {
	// Wake must not block, and must not wait for the session.
	Wake()
}

// Report describes events that happened between two calls.
type Report struct {
	// Title and Detail are for the user. Without a title the user is not notified.
	Title, Detail string
	// Text is for the model.
	Text string
}

// A fileWatcher is a value that must learn of file changes that it cannot see, such as those by a command.
type fileWatcher interface{ FilesChanged() }

// NewValues returns the values of a session whose parent session has the values parent; nil for no parent.
func NewValues(parent *Values) *Values {
	v := new(Values)
	v.root = v
	if parent != nil {
		v.root = parent.root
	}
	return v
}

// Root returns the values of the outermost session, which its child sessions share.
func (v *Values) Root() *Values { return v.root }

// Value returns the value of type T. It calls make if there is none. A value that is made after the end of the session is
// closed at once.
func Value[T any](v *Values, make func() T) T {
	v.mu.Lock()
	if i := indexOf[T](v); i >= 0 {
		defer v.mu.Unlock()
		return v.values[i].(T)
	}
	made := make()
	closed := v.closed
	if !closed {
		v.values = append(v.values, made)
	}
	v.mu.Unlock()
	if c, ok := any(made).(ValueCloser); ok && closed {
		over, cancel := context.WithCancel(context.Background())
		cancel()
		c.Close(over)
	}
	return made
}

// LookupValue returns the value of type T; the zero value and false if there is none.
func LookupValue[T any](v *Values) (value T, ok bool) {
	if v == nil {
		return value, false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	i := indexOf[T](v)
	if i < 0 {
		return value, false
	}
	return v.values[i].(T), true
}

// SetValue sets the value of type T. It does not close the value that it replaces.
func SetValue[T any](v *Values, value T) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if i := indexOf[T](v); i >= 0 {
		v.values[i] = value
		return
	}
	v.values = append(v.values, value)
}

// indexOf returns the index of the value of type T, or -1. The caller holds v.mu.
func indexOf[T any](v *Values) int {
	return slices.IndexFunc(v.values, func(value any) bool { return reflect.TypeOf(value) == reflect.TypeFor[T]() })
}

// all returns the values in the order in which they were added.
func (v *Values) all() []any {
	if v == nil {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.values)
}

// Close closes the values, the newest first. The session calls it.
func (v *Values) Close(ctx context.Context) {
	v.mu.Lock()
	values := v.values
	v.values, v.closed = nil, true
	v.mu.Unlock()
	ctx = permit.With(ctx, permit.Own()) // the end of what calls have begun needs no leave
	for _, value := range slices.Backward(values) {
		if c, ok := value.(ValueCloser); ok {
			c.Close(ctx)
		}
	}
}

// Reports returns the reports of the values that are not empty.
func (v *Values) Reports() []Report {
	var all []Report
	for _, value := range v.all() {
		if r, ok := value.(reporter); ok {
			if report := r.Report(); report != (Report{}) {
				all = append(all, report)
			}
		}
	}
	return all
}

// Wake notifies the values that must learn when an event waits for a report and when the session becomes idle.
func (v *Values) Wake() {
	for _, value := range v.all() {
		if s, ok := value.(sleeper); ok {
			s.Wake()
		}
	}
}

// Waits reports whether an event waits that may begin a turn.
func (v *Values) Waits() bool {
	return slices.ContainsFunc(v.all(), func(value any) bool {
		w, ok := value.(waker)
		return ok && w.Waits()
	})
}

// Notify returns titles for the events that wait and of which the user has not been notified. The caller must notify the user.
func (v *Values) Notify() []string {
	var titles []string
	for _, value := range v.all() {
		if w, ok := value.(waker); ok {
			if title := w.Notify(); title != "" {
				titles = append(titles, title)
			}
		}
	}
	return titles
}

// FilesChanged notifies the values that are a [fileWatcher].
func (v *Values) FilesChanged() {
	for _, value := range v.all() {
		if w, ok := value.(fileWatcher); ok {
			w.FilesChanged()
		}
	}
}

// WhenIdle calls begin, in a step of the session, if no turn runs or waits and an event waits for its report. If begin returns true, a turn
// begins that answers the reports instead of a prompt. The turn is nil if none has begun. begin must not wait for the session.
func WhenIdle(s *Session, begin func() bool) (*Turn, error) {
	var t *Turn
	err := s.do(func(st *state) error {
		if st.closing {
			return ErrSessionClosed
		}
		if st.turn != nil && !st.turn.idle || len(st.waiting) > 0 || !s.opts.Values.Waits() || !begin() {
			return nil
		}
		t = s.newTurn(Prompt{})
		t.own = true
		st.queue(t)
		return nil
	})()
	return t, err
}

// customOwnTurn is the type of the message with which a turn begins that gjc has begun. Its details are an [ownTurn].
const customOwnTurn = "gjc.own_turn"

// ownTurn says why gjc has begun a turn.
type ownTurn struct {
	Title string `json:"title"`
}

// notice returns what a replay and the live session show instead of the message.
func (o *ownTurn) notice(id string) Noticed {
	return Noticed{ID: id, Severity: SeverityInfo, Title: o.Title, Detail: "gjc goes on without a prompt."}
}

// recordBeginning records the message that a turn answers and returns it, with what the user typed if the message differs from that. The
// message is nil for a turn of gjc's own that has nothing to report.
func recordBeginning(t *RunningTurn, shown string) (*providers.Message, string, error) {
	if t.own {
		return recordReports(t)
	}
	shown = t.withReports(shown)
	user := &providers.Message{ID: cmp.Or(t.prompt.MessageID, t.session.opts.NewID()), Role: providers.RoleUser, Parts: t.parts}
	if err := t.recordShown(shown); err != nil {
		return nil, "", err
	}
	return user, shown, t.do(func(st *state) error {
		if err := t.keep(st, user); err != nil {
			return err
		}
		st.turn.recorded(user)
		if !t.session.child {
			st.emit(PromptStored{user.ID})
		}
		return nil
	})
}

// recordReports begins a turn of gjc's own with the reports. The model receives them as gjc's words.
func recordReports(t *RunningTurn) (*providers.Message, string, error) {
	o := &t.session.opts
	var titles, texts []string
	for _, r := range o.Values.Reports() {
		if r.Title != "" {
			titles = append(titles, o.Secrets.Hide(r.Title))
		}
		if r.Text != "" {
			texts = append(texts, r.Text)
		}
	}
	if len(texts) == 0 {
		return nil, "", nil
	}
	why := ownTurn{cmp.Or(strings.Join(titles, "; "), "There is news")}
	details, err := jsonx.Marshal(why)
	if err != nil {
		return nil, "", err
	}
	t.parts = reminder(ownTurnPrompt + "\n\n" + strings.Join(texts, "\n\n"))
	err = t.do(func(st *state) error {
		if err := st.appendMessage(sessions.CustomMessage{
			CustomType: customOwnTurn, Attribution: "agent", Display: true, Details: details, Parts: t.parts,
		}); err != nil {
			return err
		}
		st.emit(why.notice(o.Log.Leaf()))
		return nil
	})
	return &providers.Message{Role: providers.RoleUser, Parts: t.parts}, why.Title, err
}

// ownTurnPrompt precedes the reports of a turn that gjc has begun.
const ownTurnPrompt = "This is not from the user: you are continuing by yourself, because of what follows. Do what it calls for in the user's task, and " +
	"say briefly what you did. If nothing is left to do, say only what has happened. Begin nothing that the user did not ask for."

// reports returns the reports of the session's values to the model; empty for none. It notifies the user too.
func (t *RunningTurn) reports() string {
	o := &t.session.opts
	var texts []string
	for _, r := range o.Values.Reports() {
		if r.Title != "" {
			t.emit(Noticed{Severity: SeverityInfo, Title: o.Secrets.Hide(r.Title), Detail: r.Detail})
		}
		if r.Text != "" {
			texts = append(texts, r.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// addReports adds the reports to the conversation.
func (t *RunningTurn) addReports() error {
	text := t.reports()
	if text == "" {
		return nil
	}
	return t.do(func(st *state) error { return st.remind("late", text) })
}

// withReports appends the reports to a prompt that consists only of text. It returns shown; if reports were appended and shown is
// empty, it returns the text that the user typed. For other prompts the reports wait for the first tool call.
func (t *RunningTurn) withReports(shown string) string {
	var typed []string
	for _, p := range t.parts {
		text, ok := p.(providers.Text)
		if !ok {
			return shown
		}
		typed = append(typed, text.Text)
	}
	text := t.reports()
	if text == "" {
		return shown
	}
	t.parts = append(t.parts[:len(t.parts):len(t.parts)], providers.Text{Text: text})
	if shown == "" {
		shown = strings.Join(typed, "")
	}
	return shown
}

// A stateRecorder is a value of the outermost session that records the state of the roots, so that it can be restored.
type stateRecorder interface {
	// PromptStarts records the state before the answer to the prompt whose entry in the log has the ID. It does not wait for the end.
	PromptStarts(entry, title string)
	// CallStarts records the state before a call that may change files. The function that it returns records what the call has left.
	CallStarts(ctx context.Context, id, title string) (ended func(context.Context))
}

// recordPrompt records the state of the roots before a prompt is answered, which is the last entry of the log. shown is what the user typed,
// if it is not the prompt's text.
func recordPrompt(t *RunningTurn, prompt *providers.Message, shown string) {
	s := t.session
	if s.child {
		return
	}
	if shown == "" {
		shown = prompt.Text()
	}
	for _, value := range s.opts.Values.all() {
		if r, ok := value.(stateRecorder); ok {
			var entry string
			if t.do(func(*state) error { entry = s.opts.Log.Leaf(); return nil }) == nil {
				r.PromptStarts(entry, shown)
			}
		}
	}
}

// runRecorded runs a tool, and records the state of the roots before and after a call that does not only read. A call in a worktree does not
// change the roots.
func runRecorded(ctx context.Context, r *toolRun, call *Call) (*Result, error) {
	changes := func(e approval.Effect) bool {
		return e.Action != approval.ActionRead && e.Action != approval.ActionNetwork && e.Action != approval.ActionShare
	}
	if !r.turn.session.apart && slices.ContainsFunc(r.plan.Effects, changes) {
		for _, value := range r.turn.session.opts.Values.Root().all() {
			if recorder, ok := value.(stateRecorder); ok {
				defer recorder.CallStarts(ctx, r.call.ID, r.details.Title)(context.WithoutCancel(ctx))
			}
		}
	}
	return r.tool.Run(ctx, call)
}
