package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/isolation"
	"github.com/gajae-code/gjc/agent/roster"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// Subagent names a child session: one that a tool call of another session has started, and that ends with it. It has
// its own conversation.
type Subagent struct {
	// ID is the child's session ID.
	ID string
	// CallID is the ID of the parent's tool call.
	CallID string
	// Name distinguishes the children of a session.
	Name  string
	Title string
}

// Surroundings replace those of the parent in a child session.
type Surroundings struct {
	FS       FS
	Terminal Terminal
	Programs Programs
	Approver Approver
	Elicitor Elicitor
	// Provide adds the child's own values, such as language servers. Optional.
	Provide func(*Values)
	// Emit receives the child's events, in order with those of the parent.
	Emit func(Event)
	// Subagent and Isolate are those of [Subagents] for the child's own children.
	Subagent func(Subagent) Surroundings
	Isolate  IsolateFunc
	// Tree is the worktree in which the child works; nil for one that works in its parent's directories.
	Tree *isolation.Tree
	// Begun receives the child's session when it has begun. Optional.
	Begun func(*Session)
	// Close releases what belongs to the surroundings, after the child has ended. Optional.
	Close func(context.Context)
}

// TaskTool is the name of the tool that starts child sessions.
const TaskTool = "task"

// Task is the work of a child session.
type Task struct {
	// Name is the child's preferred name. If empty, it gets any name.
	Name string
	// To is the name of an earlier child that has ended. It does the task, with its conversation so far; Name and Helper are unused.
	To string
	// Helper names the kind of child; empty for the default one.
	Helper string
	Title  string
	Prompt string
	// Output is the JSON Schema of the child's last answer. If nil, that of its kind.
	Output jsonx.Raw
	// Background lets the child work on when the turn has ended. Only the outermost session can start such children.
	Background bool
	// Isolated lets the child work in a worktree. When it has ended, its changes are merged, or stored in a branch if Branch is set.
	Isolated, Branch bool
	Attempt          // for one of several attempts
	// Started is called with the child's name before it begins to work. Optional.
	Started func(name string)
}

// TaskResult is the result of a task.
type TaskResult struct {
	// Name is the child's name, unique in the session: "agent://" and Name is the address of its last report.
	Name string
	// Text is the child's last answer; with a schema, only its JSON value.
	Text string
	// Invalid explains why Text does not match the schema; empty if it does, and without a schema.
	Invalid string
	// Question is the question that ended the child and that it could not ask the user.
	Question string
	Stop     StopReason
	// OverBudget reports that the child had to finish early because it, or all of the session's children, had used a budget.
	OverBudget bool
	// Delivered reports that the task is now a message to a child that still works in the background. It has no other result.
	Delivered bool
	// Changes says what has become of the changes in a worktree; empty for a child without one. It may be set together with an error.
	Changes string
	Judged
	Usage providers.Usage
}

// ErrTaskCancelled reports that the user ended only the child session.
var ErrTaskCancelled = errors.New("the user cancelled this task")

// maxSubagentTitle bounds a child's title, in characters: it prefixes the titles of the child's calls.
const maxSubagentTitle = 60

func subagentTitle(title string) string {
	return text.Truncate(text.VisibleLine(title), maxSubagentTitle)
}

func (r *toolRun) runTask(ctx context.Context, task Task) (TaskResult, error) {
	s := r.turn.session
	if used := s.tree.overBudget(&s.settings.Tasks, s.opts.Clock()); used != "" {
		return TaskResult{}, fmt.Errorf("the helpers of this session have used their budget of %s; do the work yourself", used)
	}
	if task.Background && s.child {
		return TaskResult{}, fmt.Errorf("%w: a helper cannot start others in the background", ErrBadInput)
	}
	c := &childRun{toolRun: r, task: &task}
	if task.To == "" {
		if err := c.choose(s.knownHelpers(ctx), task.Helper); err != nil {
			return TaskResult{}, err
		}
	} else if name, err := c.message(); name != "" || err != nil {
		return TaskResult{Name: name, Delivered: true}, err
	}
	if err := c.enlist(ctx); err != nil {
		return TaskResult{}, err
	}
	if task.Started != nil {
		task.Started(c.member.Name)
	}
	s.slot.lend()
	defer s.slot.takeBack(ctx)
	slot, err := s.tree.take(ctx)
	if err != nil {
		return TaskResult{}, errors.Join(err, logOf(c.member).Close(), c.member.End(context.WithoutCancel(ctx), ""))
	}
	defer slot.release()
	c.slot = slot
	done, err := c.finish(ctx)
	if c.tree != nil {
		slot.release() // others can work while the user is asked
		done.Changes = isolated{c}.conclude(ctx, &done, err)
	}
	return done, err
}

// finish runs the child and stores its report. It records the end of the work even after a panic.
func (c *childRun) finish(ctx context.Context) (done TaskResult, err error) {
	s := c.turn.session
	s.tree.meter.Begin(s.opts.Clock())
	defer func() {
		s.tree.meter.End(s.opts.Clock())
		done.Name = c.member.Name
		if endErr := c.member.End(context.WithoutCancel(ctx), done.Text); err == nil && endErr != nil {
			err = fmt.Errorf("storing the report of the helper %s: %w", done.Name, endErr)
		}
	}()
	return c.run(ctx)
}

// childRun is the run of a child session.
type childRun struct {
	*toolRun
	task   *Task
	helper *Helper
	slot   *taskSlot
	member *roster.Member
	about  Subagent
	// history is the child's conversation so far.
	history []providers.Message
	schema  *roster.Schema // nil for plain text
	// tree is the child's worktree; nil for none.
	tree *isolation.Tree
}

// choose chooses the kind of the child and the schema of its last answer, which it adds to the prompt.
func (c *childRun) choose(known []Helper, kind string) (err error) {
	if c.helper, err = PickHelper(known, kind); err != nil {
		return err
	}
	raw := c.task.Output
	if len(raw) == 0 {
		raw = c.helper.Output
	}
	if len(raw) == 0 {
		return nil
	}
	schema, err := roster.ParseSchema(raw)
	if err != nil {
		return fmt.Errorf("%w: output %w", ErrBadInput, err)
	}
	c.schema = schema
	c.task.Prompt += "\n\n# Output\n\nYour last answer must be one JSON value that matches this JSON Schema, and nothing else:\n\n```json\n" + string(raw) + "\n```"
	return nil
}

// finishTime is the time that a child has to finish after its budget of time.
const finishTime = time.Minute

// maxReminders is the number of times that a child is reminded of its schema.
const maxReminders = 3

// converse gives the child its task, and reminds it of the schema of its answer.
func (c *childRun) converse(ctx context.Context, started *Session) (TurnResult, ending) {
	secrets, each := c.turn.session.opts.Secrets, &c.turn.session.settings.Tasks.Each
	var late atomic.Bool
	if each.Time > 0 {
		timer := time.AfterFunc(each.Time+finishTime, func() {
			late.Store(true)
			started.Cancel()
		})
		defer timer.Stop()
	}
	prompt := c.task.Prompt
	var usage providers.Usage
	for reminders := 0; ; reminders++ {
		result := started.Prompt(Prompt{Parts: []providers.Part{providers.Text{Text: prompt}}, Trace: traceOf(c.span, c.turn.Turn)}).Wait(ctx)
		usage = usage.Add(result.Usage)
		result.Usage = usage
		sum := started.summary()
		answer := sum.text
		// A child's answer comes from a model; as a result it comes from a tool.
		sum.text, sum.question = secrets.Restore(sum.text), secrets.Restore(sum.question)
		if result.Stop == StopCancelled && late.Load() {
			result.Stop, sum.overBudget = StopMaxTokens, true
		}
		if c.schema == nil || result.Err != nil || result.Stop == StopCancelled || sum.question != "" {
			return result, sum
		}
		value, err := c.schema.Check(answer)
		if err == nil {
			sum.text = string(secrets.RestoreInput(value))
			return result, sum
		}
		sum.invalid = err.Error()
		if reminders == maxReminders || result.Stop != StopEndTurn || sum.overBudget || late.Load() {
			return result, sum
		}
		prompt = "Your last answer does not match the JSON Schema of the output: " + sum.invalid + "\n\nAnswer again, with only the whole JSON value."
	}
}

// message delivers a task as a message to a child that works in the background, and returns its name. It returns "" if there is no such
// child, or if it has already made its last request.
func (c *childRun) message() (name string, err error) {
	s, task := c.turn.session, c.task
	var at *Session
	if err := s.do(func(st *state) error {
		for _, c := range st.children {
			if c.background && strings.EqualFold(c.session.memberName(), task.To) {
				at = c.session
			}
		}
		return nil
	})(); err != nil || at == nil {
		return "", err
	}
	injected, err := at.Steer([]providers.Part{providers.Text{Text: task.Prompt}})
	if err != nil || !injected {
		return "", nil //nolint:nilerr // it has ended meanwhile
	}
	return at.memberName(), nil
}

// do runs fn on the parent's actor; for a child of a turn, only while that runs.
func (c *childRun) do(fn func(st *state) error) error {
	if c.task.Background {
		return c.turn.session.do(fn)()
	}
	return c.turn.do(fn)
}

// enlist gives the child its name and its conversation.
func (c *childRun) enlist(ctx context.Context) (err error) {
	s := c.turn.session
	title := subagentTitle(s.opts.Secrets.Hide(c.task.Title))
	if c.task.To != "" {
		if err := c.rejoin(ctx); err != nil {
			return err
		}
		c.about = c.subagent(cmp.Or(title, c.member.Title))
		return nil
	}
	c.member, err = s.tree.roster.New(ctx, s.memberName(), c.task.Name, &roster.About{Kind: c.helper.Name, Title: title, Isolated: c.task.Isolated || c.helper.Isolated}, sessions.Header{
		ID: s.opts.NewID(), Time: s.opts.Clock(), Cwd: s.opts.Workspace.Cwd, AdditionalDirectories: s.opts.Workspace.Additional, ParentSession: s.opts.ID,
	})
	if err != nil {
		return err
	}
	c.about = c.subagent(title)
	return nil
}

func (c *childRun) subagent(title string) Subagent {
	own := c.member.Name[strings.LastIndexByte(c.member.Name, '.')+1:]
	return Subagent{ID: c.member.ID, CallID: c.call.ID, Name: own, Title: title}
}

// rejoin continues the conversation of an earlier child.
func (c *childRun) rejoin(ctx context.Context) error {
	s := c.turn.session
	m, err := s.tree.roster.Continue(ctx, c.task.To)
	if err != nil {
		return err
	}
	if err = c.choose(s.knownHelpers(ctx), m.Kind); err == nil {
		c.history, err = m.Messages()
	}
	if err != nil {
		return errors.Join(err, logOf(m).Close(), m.End(ctx, ""))
	}
	c.member = m
	return nil
}

// run runs the child to its end, and closes its conversation. With an error, the text of the result is what the child has answered.
func (c *childRun) run(ctx context.Context) (TaskResult, error) {
	s := c.turn.session
	around, err := isolated{c}.surroundings(ctx)
	if err != nil {
		return TaskResult{}, errors.Join(err, logOf(c.member).Close())
	}
	if around.Close != nil {
		defer func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.CancelGrace)
			defer cancel()
			around.Close(ctx)
		}()
	}
	kept, err := c.start(&around)
	if err != nil {
		return TaskResult{}, errors.Join(err, logOf(c.member).Close())
	}
	started := kept.session
	result, sum := c.converse(ctx, started)
	judged := c.judge(ctx, started, &result)
	closeCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.CancelGrace)
	defer cancel()
	err = started.Close(closeCtx)
	s.opts.Values.FilesChanged()     // whatever the child did
	_ = c.do(func(st *state) error { // a finished turn has reported the child's end with its own
		st.children = remove(st.children, kept)
		if st.chargeChild(sum.uses); c.task.Background {
			st.emitCost()
		}
		st.emitChild(kept, SubagentChanged{Subagent: c.about, Stop: result.Stop, Err: result.Err}, "The task is over.")
		return nil
	})
	done := TaskResult{
		Text: sum.text, Question: sum.question, Invalid: sum.invalid, Stop: result.Stop, OverBudget: sum.overBudget, Usage: result.Usage, Judged: judged,
	}
	switch {
	case ctx.Err() != nil:
		return done, context.Cause(ctx)
	case result.Err != nil:
		return done, fmt.Errorf("the task failed: %w", result.Err)
	case result.Stop == StopCancelled:
		return done, ErrTaskCancelled
	case err != nil:
		return done, fmt.Errorf("ending the task: %w", err)
	}
	return done, nil
}

// start starts the child session. The caller must close it.
func (c *childRun) start(around *Surroundings) (*child, error) {
	s := c.turn.session
	kept := &child{about: c.about, background: c.task.Background}
	opts := c.options(kept, around)
	info, level := c.helperModel(c.helper)
	if c.task.Model != "" {
		var err error
		if info, level, err = taskModel(c.toolRun, c.task.Model); err != nil {
			return kept, err
		}
	}
	readOnly := s.readOnly || c.helper.ReadOnly
	return kept, c.do(func(st *state) error {
		opts.Model, opts.Thinking, opts.Mode, opts.ServiceTier = st.model, st.thinking, st.mode, st.tier
		if info.ID != "" && info.Ref() != st.model.Ref() {
			opts.Model, opts.ServiceTier = info, ""
		}
		opts.Thinking = cmp.Or(level, c.helper.Thinking, opts.Thinking)
		if readOnly {
			opts.Mode = approval.ModePlan
		}
		kept.session = New(opts)
		kept.session.asking, kept.session.grants, kept.session.standing, kept.session.child = s.asking, s.grants, s.standing, true
		kept.session.lineage = lineage{
			tree: s.tree, parent: c.parent(), depth: s.depth + 1, helper: c.helper, member: c.member, record: kept, readOnly: readOnly, slot: c.slot,
			worktree: c.tree, apart: s.apart || c.tree != nil,
		}
		if c.tree != nil {
			kept.session.grants, kept.session.standing = c.tree.Answers(s.grants), new(standing)
		}
		if c.task.Background {
			kept.session.above = s
		}
		kept.session.hooked, kept.session.began = s.hooked, s.opts.Clock()
		if around.Begun != nil {
			around.Begun(kept.session)
		}
		st.children = append(st.children, kept)
		st.emitChild(kept, SubagentChanged{Subagent: c.about, Running: true, Prompt: s.opts.Secrets.Hide(c.task.Prompt)}, "")
		return nil
	})
}

// options returns the options of the child's session, except for those that the parent's actor knows.
func (c *childRun) options(kept *child, around *Surroundings) Options {
	s := c.turn.session
	opts := s.opts
	opts.ID, opts.Title, opts.History, opts.ForkOf, opts.Uses, opts.Plan, opts.Goal, opts.Subagent, opts.Isolate = c.about.ID, c.about.Title, c.history, "", []sessions.Use{}, nil, nil, nil, nil
	opts.Values = NewValues(s.opts.Values)
	if around.Provide != nil {
		around.Provide(opts.Values)
	}
	opts.Log = logOf(c.member)
	if c.helper.Tools != nil {
		opts.Tools = newHelperTools(s.opts.Tools, c.helper.Tools)
	}
	if s.depth+1 < maxDepth(s) && len(c.helper.Spawns) > 0 {
		opts.Subagent, opts.Isolate = around.Subagent, around.Isolate
	}
	if c.tree != nil {
		opts.Workspace = Workspace{Cwd: c.tree.Roots[0], Additional: c.tree.Roots[1:]}
	}
	opts.FS, opts.Terminal, opts.Programs = around.FS, around.Terminal, around.Programs
	opts.Approver, opts.Elicitor = childApprover{around.Approver, c.parent()}, around.Elicitor
	if around.Elicitor != nil {
		opts.Elicitor = childElicitor{around.Elicitor, c.parent()}
	}
	kept.emit = around.Emit
	opts.Emit = func(ev Event) {
		kept.session.up(func() {
			if kept.record(ev); !c.task.Background {
				c.nested(&c.about, ev)
			}
		})
	}
	return opts
}

// parent returns the turn that the child works for; nil for one in the background.
func (c *childRun) parent() *Turn {
	if c.task.Background {
		return nil
	}
	return c.turn.Turn
}

// logOf returns the conversation of a helper at work.
func logOf(m *roster.Member) Log {
	if m.Stored != nil {
		return m.Stored
	}
	return m.Memory
}

// helperModel finds the model of a helper; none for its parent's. The user is notified once if the helper cannot use its model.
func (r *toolRun) helperModel(h *Helper) (providers.ModelInfo, providers.ThinkingLevel) {
	s := r.turn.session
	if s.opts.HelperModel == nil {
		return providers.ModelInfo{}, ""
	}
	info, level, err := s.opts.HelperModel(h)
	if err != nil && s.tree.first(h.Name+"\x00"+err.Error()) {
		instead := "its parent's model"
		if info.ID != "" {
			instead = info.Ref()
		}
		r.turn.emit(Noticed{
			Severity: SeverityWarning, Title: "The helper " + h.Name + " uses " + instead + ": its configured model cannot be used.",
			Detail: err.Error(),
		})
	}
	return info, level
}

// child is a child session as its parent sees it. The outermost session's actor owns its fields. The goroutine of the call that
// started the child closes it, within the child's own grace period, even if the parent's turn is already over.
type child struct {
	session *Session
	about   Subagent
	emit    func(Event)
	open    []string // the IDs of the child's unfinished calls
	below   []*child // its own children
	// background reports that it works on when its parent's turn ends.
	background bool
}

// record updates the open calls and emits an event of the child.
func (c *child) record(ev Event) {
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

// end emits the end of all of the child's open calls.
func (c *child) end(why string) {
	for _, b := range c.below {
		b.end(why)
		c.emit(SubagentChanged{Subagent: b.about, Stop: StopCancelled})
	}
	c.below = nil
	for len(c.open) > 0 {
		c.record(ToolEnded{CallID: c.open[0], Failed: true, Content: []Content{TextContent{why}}})
	}
}

// emitChild reports the start or the end of a child, and with the end that of all of its open calls. The ancestors record it in the
// same step, so that an ancestor's turn that is disowned reports its end exactly once.
func (st *state) emitChild(c *child, ev SubagentChanged, why string) {
	s := st.session
	s.up(func() {
		if !ev.Running {
			c.end(why)
		}
		switch {
		case s.record == nil:
			st.emit(ev)
			return
		case ev.Running:
			s.record.below = append(s.record.below, c)
		default:
			s.record.below = remove(s.record.below, c)
		}
		s.record.record(ev)
	})
}

// endChildren reports the end of the children that have not stopped when the turn ends.
func (st *state) endChildren(why string) {
	for _, c := range st.children {
		if !c.background {
			st.emitChild(c, SubagentChanged{Subagent: c.about, Stop: StopCancelled}, why)
		}
	}
	st.children = slices.DeleteFunc(st.children, func(c *child) bool { return !c.background })
}

func remove(all []*child, c *child) []*child {
	return slices.DeleteFunc(all, func(other *child) bool { return other == c })
}

// CancelChild ends the work of the child session with that ID, if there is one. It does not wait for the end.
func (s *Session) CancelChild(id string) {
	s.do(func(st *state) error {
		for _, child := range st.children {
			if child.about.ID == id {
				child.session.Cancel()
				continue
			}
			child.session.CancelChild(id) // it may be a descendant of the child
		}
		return nil
	})
}
