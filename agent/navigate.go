package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/contextwindow"
	"github.com/gajae-code/gjc/agent/goal"
	"github.com/gajae-code/gjc/agent/hooks"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// NavigateOptions adjusts [Turn.Navigate]. Every field is optional.
type NavigateOptions struct {
	// Summarize adds a model's summary of the abandoned branch at the position where the conversation continues.
	Summarize bool
	// Instructions say what the summary must preserve.
	Instructions string
}

// Navigation is the result of [Turn.Navigate].
type Navigation struct {
	// Moved is false if the conversation was already there.
	Moved bool
	// Leaf is the entry after which the conversation continues; empty for the beginning.
	Leaf string
	// Words is the user's message that was selected, to be edited and sent again; nil for other entries.
	Words []providers.Part
	// Left is the number of abandoned entries, and Summary is their summary; empty for none.
	Left    int
	Summary string
}

// Navigate continues the conversation after the entry with the given ID, or before it if it is a user message. The abandoned
// entries remain in the log as a branch. Mode, model and thinking level stay unchanged. The error for an unknown ID wraps
// [sessions.ErrNotFound]. Navigate may be called only in the functions of a [Prompt].
func (t *RunningTurn) Navigate(ctx context.Context, id string, opts NavigateOptions) (Navigation, error) {
	log := t.session.opts.Log
	if id == log.Leaf() {
		return Navigation{Leaf: id}, nil
	}
	path, err := log.PathTo(id)
	if err != nil {
		return Navigation{}, err
	}
	if len(path) == 0 {
		return Navigation{}, errors.New("name the entry to go on from")
	}
	var done Navigation
	done.Moved = true
	done.Leaf, done.Words = sessions.ToNavigate(path[len(path)-1])
	if done.Leaf != id {
		path = path[:len(path)-1]
	}
	branch, err := log.Branch()
	if err != nil {
		return Navigation{}, err
	}
	left := sessions.Abandoned(branch, path)
	done.Left = len(left)
	var summary sessions.BranchSummary
	written, err := t.hooks.treeHooks(ctx, id)
	if err != nil {
		return Navigation{}, err
	}
	if written != "" && len(left) > 0 {
		summary.Summary, done.Summary = written, written
	} else if opts.Summarize && len(left) > 0 {
		summary, err = t.SummarizeBranch(ctx, left, opts.Instructions)
		if err != nil && !errors.Is(err, contextwindow.ErrNothingToSummarize) {
			return Navigation{}, err
		}
		done.Summary = summary.Summary
	}
	if err := t.do(func(st *state) error { return st.goTo(branch, path, &done, summary) }); err != nil {
		return done, err
	}
	t.hooks.observe(hooks.Tree, func(in *hooks.Input) { in.Target = done.Leaf })
	return done, nil
}

// goTo moves the leaf of the log from the end of branch to the end of path.
func (st *state) goTo(branch, path []sessions.Entry, to *Navigation, summary sessions.BranchSummary) error {
	s := st.session
	log := s.opts.Log
	var err error
	if summary.Summary != "" {
		_, err = log.BranchWithSummary(to.Leaf, summary)
	} else {
		err = log.Rewind(to.Leaf)
	}
	if err != nil {
		return st.unsaved(err)
	}
	if err := st.keepChoices(branch, path); err != nil {
		return err
	}
	st.branch++
	messages, err := log.Messages()
	if err != nil {
		return err
	}
	st.window.Load(messages)
	followPlan(st, path)
	st.news = ""
	showGoal(st, goal.Of(path))
	st.emit(st.used(st.window.Next(&st.model)))
	return nil
}

// keepChoices records the session's settings in a branch that has others.
func (st *state) keepChoices(branch, path []sessions.Entry) error {
	s := st.session
	mode, model, thinking := approval.ModeDefault, "", providers.ThinkingOff
	for _, e := range path {
		switch e := e.(type) {
		case sessions.ModeChange:
			mode = approval.Mode(e.Mode)
		case sessions.ModelChange:
			if e.Role == "" || e.Role == "default" {
				model = e.Model
			}
		case sessions.ThinkingChange:
			thinking = e.Level
		}
	}
	var changes []sessions.Entry
	if mode != st.mode {
		changes = append(changes, sessions.ModeChange{Mode: string(st.mode)})
	}
	if model != st.model.Ref() {
		changes = append(changes, sessions.ModelChange{Model: st.model.Ref()})
	}
	if thinking != st.thinking {
		changes = append(changes, sessions.ThinkingChange{Level: st.thinking})
	}
	if was, is := selection(branch), selection(path); was != nil && (is == nil || !slices.Equal(was.SelectedToolNames, is.SelectedToolNames)) {
		changes = append(changes, *was)
	}
	for _, e := range changes {
		if _, err := s.opts.Log.Append(e); err != nil {
			return st.unsaved(err)
		}
	}
	return nil
}

// selection returns the last selection of tools in a branch; nil for none.
func selection(branch []sessions.Entry) *sessions.ToolSelection {
	for _, e := range slices.Backward(branch) {
		if chosen, ok := e.(sessions.ToolSelection); ok {
			return &chosen
		}
	}
	return nil
}

// SelectTools records which tools of MCP servers are offered. It may be called only in the functions of a [Prompt].
func (t *RunningTurn) SelectTools(names []string) error {
	return t.do(func(*state) error {
		_, err := t.session.opts.Log.Append(sessions.ToolSelection{SelectedToolNames: names})
		return err
	})
}

// Label sets the label of an entry, for display. An empty name removes the label. The error for an unknown ID wraps
// [sessions.ErrNotFound]. Label may be called only in the functions of a [Prompt].
func (t *RunningTurn) Label(id, name string) error {
	return t.do(func(*state) error { return t.session.opts.Log.SetLabel(id, name) })
}

// treeHooks runs the hooks before a move in the conversation. With a summary, no model writes one.
func (t *turnHooks) treeHooks(ctx context.Context, target string) (summary string, err error) {
	if t.session.opts.Hooks == nil {
		return "", nil
	}
	out, err := t.around(ctx, hooks.BeforeTree, func(in *hooks.Input) { in.Target = target })
	if err == nil && out.blocked != nil {
		err = fmt.Errorf("a hook cancels the move: %w", out.blocked)
	}
	return out.summary, err
}

// beginning returns the reason for the hooks of the session's start, and the session that this one is a new copy of.
func beginning(s *Session, cleared bool) (reason, from string) {
	switch {
	case cleared:
		return "clear", ""
	case s.opts.ForkOf != "":
		return "fork", s.opts.ForkOf
	case len(s.opts.History) > 0:
		return "open", ""
	default:
		return "new", ""
	}
}

// Fork runs the hooks around the creation of a copy of a session, which returns the copy's ID. A hook can cancel it; the error says why.
// Fork may be called at any time, so it asks no questions: a workspace's hooks run if they are trusted already.
func Fork(ctx context.Context, s *Session, create func() (id string, err error)) error {
	if err := outside(ctx, s, hooks.BeforeFork, func(*hooks.Input) {}); err != nil {
		return fmt.Errorf("%w: %w", ErrForkCancelled, err)
	}
	id, err := create()
	if err == nil {
		_ = outside(ctx, s, hooks.Fork, func(in *hooks.Input) { in.Target = id }) // it has happened
	}
	return err
}

// ErrForkCancelled is wrapped by the error of a fork that a hook has cancelled.
var ErrForkCancelled = errors.New("a hook cancels the fork")

// outside runs the hooks for an event outside a turn. An error says which hook has rejected the step, and why.
func outside(ctx context.Context, s *Session, ev hooks.Event, fill func(*hooks.Input)) error {
	if s.opts.Hooks == nil || s.child {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, maxOutside, fmt.Errorf("it and those before it took longer than %v", maxOutside))
	defer cancel()
	show := func(n Noticed) { s.do(func(st *state) error { st.emit(n); return nil }) }
	in := s.hookInput(ev)
	fill(&in)
	for _, h := range s.opts.Hooks().Handlers() {
		if !h.For(ev, "") {
			continue
		}
		about := h.About()
		a, err := h.Run(ctx, hookRunner{s.opts.Programs}, in)
		switch {
		case err != nil:
			if title, detail := "The "+about.Kind+" "+about.Name+" failed.", about.At+": "+err.Error(); s.hooked.once(title + "\x00" + detail) {
				show(Noticed{Severity: SeverityWarning, Title: title, Detail: detail})
			}
		case a.Block:
			return &blockedError{about.Name, a.Reason}
		case a.Notice != "":
			show(Noticed{Severity: SeverityInfo, Title: "The " + about.Kind + " " + about.Name + " says: " + s.opts.Secrets.Hide(a.Notice)})
		}
	}
	return nil
}

// maxOutside is the time limit for all hooks of an event outside a turn.
const maxOutside = 10 * time.Second

// Clear begins a new conversation. The session keeps its title and its settings. It is for the functions of a [Prompt].
func (t *RunningTurn) Clear() error {
	return t.do(func(st *state) error {
		if err := t.session.opts.Log.Clear(); err != nil {
			return err
		}
		t.session.hooked.clear()
		st.window.Clear()
		st.branch++
		if err := dropWork(st); err != nil {
			return err
		}
		st.emit(st.used(0))
		return nil
	})
}
