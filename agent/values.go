package agent

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/internal/permit"
	"github.com/gajae-code/gjc/providers"
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

// FilesChanged notifies the values that are a [fileWatcher].
func (v *Values) FilesChanged() {
	for _, value := range v.all() {
		if w, ok := value.(fileWatcher); ok {
			w.FilesChanged()
		}
	}
}

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
