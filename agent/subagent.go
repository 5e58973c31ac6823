package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gajae-code/gjc/lsp"
	"github.com/gajae-code/gjc/providers"
)

// Subagent names a child session: one that a tool call of another session has started, and that ends with it. It has
// its own conversation, which nobody keeps.
type Subagent struct {
	// ID is the child's session id.
	ID string
	// CallID is the tool call of the parent's.
	CallID string
	Title  string
}

// Surroundings is what a child session has instead of its parent's.
type Surroundings struct {
	FS       FS
	Terminal Terminal
	Programs Programs
	Approver Approver
	Elicitor Elicitor
	// Languages are the language servers; nil for none.
	Languages *lsp.Workspace
	// Emit is told the child's events. They come in the order of the parent's.
	Emit func(Event)
}

// TaskTool is the name of the tool that starts child sessions. Children do not get it.
const TaskTool = "task"

// Task is what a child session has to do.
type Task struct {
	Title  string
	Prompt string
}

// TaskResult is what it came to.
type TaskResult struct {
	// Text is the child's last answer.
	Text string
	// Question is what the child needs to know, if it ended with a question that it could not put to the user.
	Question string
	Stop     StopReason
	Usage    providers.Usage
}

// task is [Call.Task].
func (r *toolRun) task() func(context.Context, Task) (TaskResult, error) {
	if r.turn.session.opts.Subagent == nil {
		return nil
	}
	return r.runTask
}

// errTaskCancelled says that the user ended a child session, and nothing else.
var errTaskCancelled = errors.New("the user cancelled this task")

func (r *toolRun) runTask(ctx context.Context, task Task) (TaskResult, error) {
	t, s := r.turn, r.turn.session
	about := Subagent{ID: s.opts.NewID(), CallID: r.call.ID, Title: task.Title}
	around := s.opts.Subagent(about)
	opts := s.opts
	opts.ID, opts.Title, opts.History, opts.Plan, opts.Subagent = about.ID, task.Title, nil, nil, nil
	opts.Log, opts.Tools = newMemoryLog(), childTools{s.opts.Tools}
	opts.Debugger = nil // the program under it is the parent's: one of them at a time drives it
	opts.FS, opts.Terminal, opts.Programs, opts.Languages = around.FS, around.Terminal, around.Programs, around.Languages
	opts.Approver, opts.Elicitor = childApprover{around.Approver, t}, around.Elicitor
	if around.Elicitor != nil {
		opts.Elicitor = childElicitor{around.Elicitor, t}
	}
	kept := &child{about: about, emit: around.Emit}
	opts.Emit = func(ev Event) {
		_ = t.do(func(*state) error { // a turn that is over has nothing to tell
			kept.tell(ev)
			r.nested(about.ID, ev)
			return nil
		})
	}
	if err := t.do(func(st *state) error {
		opts.Model, opts.Thinking, opts.Mode, opts.ServiceTier = st.model, st.thinking, st.mode, st.tier
		kept.session = New(opts)
		kept.session.asking, kept.session.grants, kept.session.child = s.asking, s.grants, true
		st.children = append(st.children, kept)
		s.emit(SubagentChanged{Subagent: about, Running: true, Prompt: task.Prompt})
		return nil
	}); err != nil {
		return TaskResult{}, err
	}
	child := kept.session
	result := child.PromptTraced([]providers.Part{providers.Text{Text: task.Prompt}}, t.trace).Wait(ctx)
	text, question, cost := child.summary()
	closeCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.CancelGrace)
	defer cancel()
	err := child.Close(closeCtx)
	if s.opts.Languages != nil {
		s.opts.Languages.Changed() // whatever the child did
	}
	_ = t.do(func(st *state) error { // a turn that is over has told the child's end with its own
		st.dropChild(kept)
		st.cost += cost
		s.emit(SubagentChanged{Subagent: about, Stop: result.Stop, Err: result.Err})
		return nil
	})
	switch {
	case ctx.Err() != nil:
		return TaskResult{}, context.Cause(ctx)
	case result.Err != nil:
		return TaskResult{}, fmt.Errorf("the task failed: %w", result.Err)
	case result.Stop == StopCancelled:
		return TaskResult{}, errTaskCancelled
	case err != nil:
		return TaskResult{}, fmt.Errorf("ending the task: %w", err)
	}
	return TaskResult{Text: text, Question: question, Stop: result.Stop, Usage: result.Usage}, nil
}

// child is a child session as its parent knows it. Its fields are the parent's actor's. The goroutine of the call that
// has started it closes it, within the child's own grace, also when the parent's turn is over by then.
type child struct {
	session *Session
	about   Subagent
	emit    func(Event)
	open    []string // the calls of the child that have no end
}

// tell tells an event of the child's.
func (c *child) tell(ev Event) {
	switch ev := ev.(type) {
	case ToolStarted:
		c.open = append(c.open, ev.CallID)
	case ToolEnded:
		if i := slices.Index(c.open, ev.CallID); i >= 0 {
			c.open = slices.Delete(c.open, i, i+1)
		}
	default:
	}
	c.emit(ev)
}

// endChildren tells the end of the children that the turn leaves behind: they do not stop in time. It runs on the actor.
func (s *Session) endChildren(st *state, why string) {
	for _, c := range st.children {
		for len(c.open) > 0 {
			c.tell(ToolEnded{CallID: c.open[0], Failed: true, Content: []Content{TextContent{why}}})
		}
		s.emit(SubagentChanged{Subagent: c.about, Stop: StopCancelled})
	}
	st.children = nil
}

func (st *state) dropChild(c *child) {
	if i := slices.Index(st.children, c); i >= 0 {
		st.children = slices.Delete(st.children, i, i+1)
	}
}

// summary returns the session's last words, the question that it ended with, and what it has cost.
func (s *Session) summary() (text, question string, cost float64) {
	_ = s.do(func(st *state) error { // a closed session has nothing to say
		question, cost = st.question, st.cost
		for i := len(st.history) - 1; i >= 0 && text == ""; i-- {
			if m := &st.history[i]; m.Role == providers.RoleAssistant {
				text = m.Text()
			}
		}
		return nil
	})()
	return text, question, cost
}

// CancelChild ends the work of the child session of that id, if there is one. It does not wait for that.
func (s *Session) CancelChild(id string) {
	s.do(func(st *state) error {
		for _, child := range st.children {
			if child.about.ID == id {
				child.session.Cancel()
			}
		}
		return nil
	})
}

// childTools are a parent's tools without the one that starts children.
type childTools struct{ Toolbox }

func (c childTools) Tools() []Tool {
	var tools []Tool
	for _, tool := range c.Toolbox.Tools() {
		if tool.Spec().Name != TaskTool {
			tools = append(tools, tool)
		}
	}
	return tools
}

// childApprover lets a user who stops a child's turn stop the whole.
type childApprover struct {
	Approver
	parent *Turn
}

func (a childApprover) Approve(ctx context.Context, q Question) (Decision, error) {
	decision, err := a.Approver.Approve(ctx, q)
	if err == nil && decision == Cancelled {
		a.parent.Cancel()
	}
	return decision, err
}

// childElicitor does the same for a choice.
type childElicitor struct {
	Elicitor
	parent *Turn
}

func (e childElicitor) Choose(ctx context.Context, c Choice) (int, ElicitAction, error) {
	i, action, err := e.Elicitor.Choose(ctx, c)
	if err == nil && action == ElicitStop {
		e.parent.Cancel()
	}
	return i, action, err
}
