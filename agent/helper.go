package agent

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/budget"
	"github.com/gajae-code/gjc/agent/hooks"
	"github.com/gajae-code/gjc/agent/isolation"
	"github.com/gajae-code/gjc/agent/roster"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// Helper is a kind of child session: its prompt, tools and models.
type Helper struct {
	Name string
	// Description describes its purpose in one line.
	Description string
	// Prompt is appended to the system prompt.
	Prompt string
	// Tools lists the names of its tools, or patterns for [path.Match]. If nil, it has all tools of its parent.
	Tools []string
	// Spawns lists the names of the helpers that it may start, "*" for any. If empty, it may start none.
	Spawns []string
	// ReadOnly keeps it and all its descendants in plan mode, whatever the mode of its parent.
	ReadOnly bool
	// Isolated lets it work in a worktree.
	Isolated bool
	// Models lists its preferred models, best first: "provider/id:level", or "gjc/role". It uses the first available
	// one.
	Models []string
	// Thinking is the level if the model's name specifies none; empty for the parent's level.
	Thinking providers.ThinkingLevel
	// Output is the JSON Schema of its reports; nil for plain text.
	Output jsonx.Raw
}

// DefaultHelper is the helper for a task that names none.
const DefaultHelper = "executor"

// knownHelpers returns the helpers that the session may start.
func (s *Session) knownHelpers(ctx context.Context) []Helper {
	all := []Helper{{Name: DefaultHelper, Description: "any piece of work"}}
	if s.opts.Helpers != nil {
		all = slices.Clone(s.opts.Helpers(ctx))
	}
	return slices.DeleteFunc(all, func(h Helper) bool {
		return slices.Contains(s.settings.Tasks.Disabled, h.Name) ||
			s.helper != nil && !slices.Contains(s.helper.Spawns, "*") && !slices.Contains(s.helper.Spawns, h.Name)
	})
}

// errNoHelper returns an error that lists the helpers.
func errNoHelper(name string, all []Helper) error {
	if len(all) == 0 {
		return fmt.Errorf("%w: no helper agents are available here; do the work yourself", ErrBadInput)
	}
	var known []string
	for i := range all {
		known = append(known, all[i].Name)
	}
	return fmt.Errorf("%w: no helper agent %q; the helper agents are %s", ErrBadInput, name, strings.Join(known, ", "))
}

// PickHelper returns the helper with the given name. If name is empty, it returns the helper called [DefaultHelper], or else the
// first one.
func PickHelper(all []Helper, name string) (*Helper, error) {
	wanted := name
	if wanted == "" {
		wanted = DefaultHelper
	}
	i := slices.IndexFunc(all, func(h Helper) bool { return h.Name == wanted })
	if i < 0 && name == "" && len(all) > 0 {
		i = 0
	}
	if i < 0 {
		return nil, errNoHelper(name, all)
	}
	return &all[i], nil
}

// maxHelperLine is the maximum length of the description of one helper, in characters.
const maxHelperLine = 300

// helperList returns the list of helpers for the description of the task tool.
func (s prompter) helperList(ctx context.Context) string {
	var b strings.Builder
	for _, h := range s.knownHelpers(ctx) {
		line := text.Truncate(text.OneLine(h.Description), maxHelperLine)
		if h.ReadOnly {
			line += " (only reads)"
		}
		if h.Isolated {
			line += " (works in a worktree)"
		}
		fmt.Fprintf(&b, "\n- %s: %s", h.Name, line)
	}
	if b.Len() == 0 {
		return ""
	}
	return "\n\nHelpers (`agent`):" + b.String()
}

// briefed returns a system prompt followed by the prompt of the helper.
func (s prompter) briefed(prompt string) string {
	if s.helper == nil || strings.TrimSpace(s.helper.Prompt) == "" {
		return prompt
	}
	return prompt + "\n\n" + strings.TrimSpace(s.helper.Prompt)
}

// withheld reports whether a tool is not offered: one of the parent to a child session, or the one that ends plan mode outside of it.
func withheld(s *Session, spec *ToolSpec, mode approval.Mode) bool {
	switch {
	case spec.Name == PresentTool && (mode != approval.ModePlan || s.child):
		return true
	case !s.child:
		return false
	case spec.Name == TaskTool, spec.Name == MergeTool:
		return s.opts.Subagent == nil
	default:
		return mode == approval.ModePlan && !onlyReads(spec)
	}
}

// onlyReads reports whether a tool is of use in plan mode.
func onlyReads(spec *ToolSpec) bool {
	switch spec.Kind {
	case KindRead, KindSearch, KindThink:
		return spec.Name != "ast_edit" // its edits could not be applied
	default:
		return spec.Name == "ask"
	}
}

// helperTools returns the tools of a parent that a helper may use. It does not consider the task tool and its companion, which a helper
// that may start others has, and the tool that searches for the allowed tools.
type helperTools struct {
	Toolbox
	allowed []string
}

// companions lists, for each tool, the tools that are useless without it or do the same in another way.
var companions = map[string][]string{
	"edit":     {"apply_patch", "ast_edit", "undo"},
	"ast_edit": {"resolve"},
	"bash":     {"job"},
	"search":   {"ast_grep"},
}

// newHelperTools limits a toolbox to the allowed tools and their companions.
func newHelperTools(of Toolbox, allowed []string) Toolbox {
	all := slices.Clone(allowed)
	for i := 0; i < len(all); i++ {
		for _, name := range companions[all[i]] {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return helperTools{of, all}
}

// Tools implements [Toolbox].
func (h helperTools) Tools() []Tool {
	return slices.DeleteFunc(slices.Clone(h.Toolbox.Tools()), func(t Tool) bool {
		name := t.Spec().Name
		return name != TaskTool && name != MergeTool && name != SearchTool && !slices.ContainsFunc(h.allowed, func(pattern string) bool {
			ok, err := path.Match(pattern, name)
			return err == nil && ok
		})
	})
}

// delegation returns the functions for [Delegation].
func (r *toolRun) delegation() Delegation {
	s := r.turn.session
	if s.opts.Subagent == nil {
		return Delegation{}
	}
	return Delegation{
		Task: r.task(), Helpers: s.knownHelpers, Check: s.settings.Tasks.Check,
		Merge: func(ctx context.Context, name string) (string, bool) { return mergeChanges(ctx, r, name) },
	}
}

func (r *toolRun) task() func(context.Context, Task) (TaskResult, error) {
	return func(ctx context.Context, task Task) (TaskResult, error) {
		about := &hooks.SubagentInput{Name: cmp.Or(task.Helper, task.Name), Title: task.Title}
		r.turn.hooks.observe(hooks.SubagentStart, func(in *hooks.Input) { in.Subagent, in.Prompt = about, task.Prompt })
		result, err := r.runTask(ctx, task)
		done := *about
		if done.Result = result.Text; err != nil {
			done.Result = err.Error()
		}
		fill := func(in *hooks.Input) { in.Subagent = &done }
		s := r.turn.session
		switch {
		case !task.Background || result.Delivered:
			r.turn.hooks.observe(hooks.SubagentEnd, fill)
		case s.ctx.Err() == nil: // the turn may be over, and with it the turn's hooks
			_ = outside(s.ctx, s, hooks.SubagentEnd, fill) // nothing can be rejected any more
		}
		return result, err
	}
}

// lineage links a session with its ancestors. In the outermost session only tree is set. It does not change, except for
// the budget, which belongs to the actor.
type lineage struct {
	tree *taskTree
	// parent is the turn that started the session; depth counts its ancestors.
	parent *Turn
	// above is the session that started the session in the background; nil for others.
	above  *Session
	depth  int
	helper *Helper
	member *roster.Member
	// record is the parent's record of the session.
	record *child
	// readOnly keeps it in plan mode.
	readOnly bool
	// worktree is the session's own worktree; nil for none. apart reports that it or an ancestor has one.
	worktree *isolation.Tree
	apart    bool
	slot     *taskSlot
	// began is the time at which it was started.
	began time.Time
	// finishing reports whether the session was asked to finish because its budget is used up; left is the number of requests that
	// it has left.
	finishing bool
	left      int
}

// taskTree is shared by a session and all its descendants.
type taskTree struct {
	slots  chan struct{} // holds a token for each child that works
	roster *roster.Roster
	meter  budget.Meter

	mu       sync.Mutex // guards reported
	reported map[string]bool
}

func newTaskTree(set *TaskSettings, stored *sessions.Children) *taskTree {
	return &taskTree{
		slots:  make(chan struct{}, cmp.Or(set.MaxConcurrency, defaultTaskConcurrency)),
		roster: roster.New(stored), reported: make(map[string]bool),
	}
}

// memberName returns the name of a child session in the roster; empty for the outermost session.
func (l *lineage) memberName() string {
	if l.member == nil {
		return ""
	}
	return l.member.Name
}

// first reports whether text has not been reported before, and records it.
func (t *taskTree) first(text string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	first := !t.reported[text]
	t.reported[text] = true
	return first
}

// taskSlot is a child's slot among the running children. A child that waits for its own children lends its slot; otherwise waiting
// children could hold all slots.
type taskSlot struct {
	tree *taskTree
	lock chan struct{} // holds a token while the slot is released or taken
	// lent counts the calls that wait; held reports whether the child has its slot. Both are guarded by lock.
	lent int
	held bool
}

// take waits for a slot.
func (t *taskTree) take(ctx context.Context) (*taskSlot, error) {
	s := &taskSlot{tree: t, lock: make(chan struct{}, 1)}
	s.retake(ctx)
	if !s.held {
		return nil, context.Cause(ctx)
	}
	return s, nil
}

func (s *taskSlot) retake(ctx context.Context) {
	select {
	case s.tree.slots <- struct{}{}:
		s.held = true
	case <-ctx.Done():
	}
}

func (s *taskSlot) giveBack() {
	if s.held {
		<-s.tree.slots
		s.held = false
	}
}

// lend makes the slot available until it is taken back. It is a no-op for a session that is not a child.
func (s *taskSlot) lend() {
	if s == nil {
		return
	}
	s.lock <- struct{}{}
	defer func() { <-s.lock }()
	if s.lent++; s.lent == 1 {
		s.giveBack()
	}
}

// takeBack ends lend. If ctx ends first, the child continues without a slot, because it is ending.
func (s *taskSlot) takeBack(ctx context.Context) {
	if s == nil {
		return
	}
	s.lock <- struct{}{}
	defer func() { <-s.lock }()
	if s.lent--; s.lent == 0 {
		s.retake(ctx)
	}
}

// release releases the child's slot.
func (s *taskSlot) release() {
	s.lock <- struct{}{}
	defer func() { <-s.lock }()
	s.giveBack()
}

// maxDepth returns the maximum depth of children below the outermost session.
func maxDepth(s *Session) int { return cmp.Or(s.settings.Tasks.MaxDepth, defaultTaskDepth) }

// finishRequests is the number of requests that a child has to finish.
const finishRequests = 3

// overBudget returns a message for a child that has used its budget, or whose session has used that of all helpers; empty otherwise.
func (st *state) overBudget() string {
	s := st.session
	set, now := &s.settings.Tasks, s.opts.Clock()
	own := budget.Of(st.uses)
	own.Time = now.Sub(s.began)
	if used := set.Each.Exceeded(&own); used != "" {
		return "You have used your budget of " + used + "."
	}
	if used := s.tree.overBudget(set, now); used != "" {
		return "The helpers of this session have used their budget of " + used + "."
	}
	return ""
}

// overBudget returns the budget that all helpers of the session together have used; empty for none.
func (t *taskTree) overBudget(set *TaskSettings, now time.Time) string {
	all := t.meter.Usage(now)
	return set.Total.Exceeded(&all)
}

// withinBudget reports whether a child may ask its model again. A child that has used its budget is asked to finish,
// and has a few requests for that.
func (t *requester) withinBudget() bool {
	s := t.session
	if !s.child {
		return true
	}
	within := true
	_ = t.do(func(st *state) error { // a turn that is over ends by itself
		switch {
		case s.finishing && s.left == 0:
			within = false
		case s.finishing:
			s.left--
		default:
			if over := st.overBudget(); over != "" {
				s.finishing, s.left = true, finishRequests-1
				st.turn.steers = append(st.turn.steers, []providers.Part{providers.Text{
					Text: over + " Call no more tools: write your report now, with what you know and what is left to do.",
				}})
			}
		}
		return nil
	})
	return within
}

// up runs fn on the goroutine that emits the outermost session's events, and waits for it. It does nothing if an ancestor's turn is
// over. In the outermost session the actor must call up.
func (s *Session) up(fn func()) {
	if s.above != nil {
		_ = s.above.do(func(*state) error { // a closed session emits nothing
			s.above.up(fn)
			return nil
		})()
		return
	}
	if s.parent == nil {
		fn()
		return
	}
	_ = s.parent.do(func(*state) error { // a turn that is over emits nothing
		s.parent.session.up(fn)
		return nil
	})
}

// cancelAll ends the turn and its ancestors' turns.
func (t *Turn) cancelAll() {
	for ; t != nil; t = t.session.parent {
		t.Cancel()
	}
}

// ending is the result of a child.
type ending struct {
	text, question string
	invalid        string // why the text does not match its schema
	uses           []sessions.Use
	overBudget     bool
}

// summary returns the session's last answer, the question that it ended with, and its usage.
func (s *Session) summary() ending {
	var e ending
	_ = s.do(func(st *state) error { // a closed session has nothing to report
		e.question, e.uses, e.overBudget = st.question, st.uses, s.finishing
		for i := len(st.window.Messages) - 1; i >= 0 && e.text == ""; i-- {
			if m := &st.window.Messages[i]; m.Role == providers.RoleAssistant {
				e.text = m.Text()
			}
		}
		return nil
	})()
	return e
}

// childApprover cancels the parent's turn, too, when the user cancels at a child's question.
type childApprover struct {
	Approver
	parent *Turn
}

func (a childApprover) Approve(ctx context.Context, q Question) (Decision, error) {
	decision, err := a.Approver.Approve(ctx, q)
	if err == nil && decision == Cancelled {
		a.parent.cancelAll()
	}
	return decision, err
}

// childElicitor does the same for an elicitation.
type childElicitor struct {
	Elicitor
	parent *Turn
}

func (e childElicitor) Choose(ctx context.Context, c Choice) (int, ElicitAction, error) {
	i, action, err := e.Elicitor.Choose(ctx, c)
	if err == nil && action == ElicitStop {
		e.parent.cancelAll()
	}
	return i, action, err
}

// MergeTool is the name of the tool that merges the changes of a child with a worktree. Its input has the child's name.
const MergeTool = "merge_changes"

// IsolateFunc connects a child session that works in a worktree: the given one, or a new one if that is nil. It returns an error if there
// can be none.
type IsolateFunc func(ctx context.Context, about Subagent, tree *isolation.Tree) (Surroundings, error)

// isolated is the run of a child session, with respect to its worktree.
type isolated struct{ *childRun }

// treesOf returns the worktrees of the session's children.
func treesOf(s *Session) *isolation.Trees {
	return Value(s.opts.Values, func() *isolation.Trees { return isolation.NewTrees(nil) })
}

// surroundings returns the surroundings of the child. It makes the worktree of an isolated one, or goes on in the one that has been left.
func (c isolated) surroundings(ctx context.Context) (Surroundings, error) {
	s := c.turn.session
	if !c.task.Isolated && !c.helper.Isolated && !c.member.Isolated {
		return s.opts.Subagent(c.about), nil
	}
	if s.opts.Isolate == nil {
		return Surroundings{}, fmt.Errorf("%w: there are no worktrees here; start the helper without isolation", ErrBadInput)
	}
	left := treesOf(s).Resume(c.member.Name)
	around, err := s.opts.Isolate(ctx, c.about, left)
	if err != nil {
		return around, err
	}
	if c.tree = around.Tree; left == nil {
		treesOf(s).Add(c.tree, c.member.Name, c.about.Title, c.task.Rest)
		c.task.Prompt += "\n\n# Your directory\n\n" + c.tree.Describe(c.task.To != "")
	}
	return around, nil
}

// conclude decides what becomes of the changes of a child that has ended, and describes it for the model. It merges those of a child that has
// done its work and stores them in a branch if the user rejects that. Others wait for [MergeTool], for another task of the child, or for the
// end of the session.
func (c isolated) conclude(ctx context.Context, done *TaskResult, failed error) string {
	trees := treesOf(c.turn.session)
	trees.Rest(c.tree)
	name := c.member.Name
	if c.task.Rest {
		return ""
	}
	if ctx.Err() != nil {
		trees.Notify("The changes of the helper "+name+" are not merged.", "It was stopped. Ask for the merge, or for more work of it; otherwise they go to a branch when the session ends.")
		return ""
	}
	paths, err := c.tree.Changed(ctx)
	switch {
	case err != nil:
		return "Its changes cannot be listed: " + err.Error()
	case len(paths) == 0:
		if err := c.tree.Remove(ctx); err != nil {
			return "It has changed no files. " + err.Error()
		}
		return "It has changed no files."
	case c.task.Branch:
		return c.branch(ctx, "")
	case c.task.Background || failed != nil || done.Stop != StopEndTurn || done.Question != "" || done.Invalid != "" || done.OverBudget:
		return "It has changed these files in its worktree, which are not merged: " + isolation.List(paths) + ". " + MergeTool + " with its name merges them, and a task with `to` goes on there. Otherwise they go to a branch when the session ends."
	}
	return c.merge(ctx)
}

// branch stores the changes in a branch.
func (c isolated) branch(ctx context.Context, why string) string {
	about, err := c.tree.Branch(ctx)
	if err != nil {
		about = err.Error()
	}
	return strings.TrimSpace(why + "\n" + about)
}

// merge calls [MergeTool] in the turn of the task. The call is not part of the conversation: the model gets the result with the report.
func (c isolated) merge(ctx context.Context) string {
	about, merged := mergeChanges(ctx, c.toolRun, c.member.Name)
	if merged || ctx.Err() != nil {
		return about
	}
	return c.branch(ctx, "Its changes are not merged: "+about)
}
