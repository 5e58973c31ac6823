package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/contextwindow"
	"github.com/gajae-code/gjc/agent/hooks"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// planTool is the tool whose calls carry the plan.
const planTool = "todo_write"

// PlanInput is the input of the todo_write tool: the whole list each time.
type PlanInput struct {
	Todos []PlanTodo `json:"todos" jsonschema:"the whole plan, every step, in order"`
}

// PlanTodo is one step in a [PlanInput].
type PlanTodo struct {
	Content  string `json:"content" jsonschema:"what to do, in a few words"`
	Status   string `json:"status,omitzero" jsonschema:"pending, in_progress, completed or abandoned; pending if absent"`
	Priority string `json:"priority,omitzero" jsonschema:"high, medium or low; medium if absent"`
	Phase    string `json:"phase,omitzero" jsonschema:"the part of the work that the step belongs to, such as Tests; for long plans"`
}

// Entries checks the input and returns it as a plan.
func (p *PlanInput) Entries() ([]PlanEntry, error) {
	entries := make([]PlanEntry, 0, len(p.Todos))
	for i, t := range p.Todos {
		e := PlanEntry{Content: t.Content, Phase: text.OneLine(t.Phase), Status: PlanPending, Priority: PriorityMedium}
		if t.Content == "" {
			return nil, fmt.Errorf("%w: todo %d has no content", ErrBadInput, i+1)
		}
		switch s := PlanStatus(t.Status); s {
		case "":
		case PlanPending, PlanInProgress, PlanCompleted, PlanAbandoned:
			e.Status = s
		default:
			return nil, fmt.Errorf("%w: todo %d: the status is %q; it must be pending, in_progress, completed or abandoned", ErrBadInput, i+1, t.Status)
		}
		switch p := PlanPriority(t.Priority); p {
		case "":
		case PriorityHigh, PriorityMedium, PriorityLow:
			e.Priority = p
		default:
			return nil, fmt.Errorf("%w: todo %d: the priority is %q; it must be high, medium or low", ErrBadInput, i+1, t.Priority)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// openSteps counts the steps that are still to be done.
func openSteps(plan []PlanEntry) int {
	n := 0
	for i := range plan {
		if plan[i].open() {
			n++
		}
	}
	return n
}

// planFromInput returns the plan in a stored todo_write call, in gjc's form or in the phases of the original product.
func planFromInput(input jsonx.Raw) ([]PlanEntry, bool) {
	if plan, ok := planOfPhases(input); ok {
		return plan, true
	}
	var in PlanInput
	if err := jsonx.Unmarshal(input, &in); err != nil || in.Todos == nil {
		return nil, false
	}
	entries, err := in.Entries()
	return entries, err == nil
}

// PlanOf returns the plan at the end of a conversation, including the compacted part; nil for none. branch holds the conversation's
// entries, as returned by [Log.Branch].
func PlanOf(branch []sessions.Entry) []PlanEntry {
	var plan []PlanEntry
	asked := make(map[string][]PlanEntry) // calls of the last answer whose results follow
	for _, e := range branch {
		if c, ok := e.(sessions.Custom); ok && c.CustomType == customClear {
			plan = nil
		}
		if c, ok := e.(sessions.CustomMessage); ok {
			if entries, ok := planOfEdit(&c); ok {
				plan = entries
			}
		}
		m, ok := e.(sessions.MessageEntry)
		switch {
		case !ok:
		case m.Message.Role == providers.RoleAssistant:
			clear(asked)
			for _, c := range m.Message.ToolCalls() {
				if entries, ok := planFromInput(c.Input); ok && c.Name == planTool {
					asked[c.ID] = entries
				}
			}
		case m.Message.Role == providers.RoleTool && !m.Message.IsError:
			if entries, ok := asked[m.Message.ToolCallID]; ok {
				plan = entries
			} else if entries, ok := planOfPhases(m.Message.Details); ok && m.Message.ToolName == planTool {
				plan = entries
			}
		}
	}
	return plan
}

// PlanIn returns the same plan as [PlanOf], computed from the messages that a model sees. It returns false if the whole branch is
// needed.
func PlanIn(history []providers.Message, compacted bool) (plan []PlanEntry, ok bool) {
	branch := make([]sessions.Entry, len(history))
	foreign := false
	for i := range history {
		branch[i] = sessions.MessageEntry{Message: history[i]}
		// The plan of the user's edit is in the details of its entry.
		foreign = foreign || history[i].Role == providers.RoleUser && strings.HasPrefix(history[i].Text(), reminderStart+editedPlan)
		for _, c := range history[i].ToolCalls() {
			if c.Name == planTool {
				_, known := planFromInput(c.Input)
				foreign = foreign || !known // the details of its result contain the plan
			}
		}
	}
	plan = PlanOf(branch)
	return plan, !foreign && (plan != nil || !compacted)
}

// customClear is the type of the entry that [Log.Clear] leaves.
const customClear = "context_clear"

// planReminders counts the reminders of open steps and of the goal in a turn.
type planReminders struct {
	given int
	// goals counts those of the goal.
	goals int
	// worked reports that the model has called tools since the last reminder, or since the turn began.
	worked bool
}

// maxRemindedSteps bounds the steps that a reminder lists.
const maxRemindedSteps = 20

// remindOfPlan reminds the model of open steps in a plan whose work has begun, after msg, which would end the turn. It does not if
// the model asks the user, has called no tool since the last reminder, or has received as many reminders as the settings allow. It
// reports whether it added a reminder and the model must be asked again.
func remindOfPlan(t *RunningTurn, msg *providers.Message) (again bool, err error) {
	r, s := &t.reminders, t.session
	if !r.worked || r.given >= s.settings.Todo.reminders() || t.last || s.child || t.ctx.Err() != nil || endsWithQuestion(msg.Text()) ||
		find(t.tools.active, planTool) == nil {
		return false, nil
	}
	err = t.do(func(st *state) error {
		open := openSteps(st.plan)
		if open == 0 || st.mode == approval.ModePlan || len(st.turn.steers) > 0 || !begun(st.plan) {
			return nil
		}
		again = true
		return st.remind("todo-reminder", planReminder(st.plan))
	})
	again = again && err == nil
	if again {
		r.given++
		r.worked = false
	}
	return again, err
}

// begun reports whether a step of the plan is being done or has been decided on. Otherwise the plan is a proposal to the user.
func begun(plan []PlanEntry) bool {
	return slices.ContainsFunc(plan, func(e PlanEntry) bool { return e.Status != PlanPending })
}

// endsWithQuestion reports whether a text ends with a question mark, whatever closes it.
func endsWithQuestion(text string) bool {
	text = strings.TrimRight(text, " \t\r\n*_`\"')”’»")
	return strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？")
}

// planReminder returns the text of a reminder of the open steps.
func planReminder(plan []PlanEntry) string {
	var b strings.Builder
	b.WriteString("The turn would end now, but the plan has open steps:\n" + openLines(plan))
	b.WriteString("Do them now, or update the plan with " + planTool + ": mark steps that are done as completed, and those that are not needed as abandoned. " +
		"If you cannot go on without the user, or the user wants to stop here, say why in one sentence and end your turn.")
	return b.String()
}

// openLines lists the open steps of a plan, a line each.
func openLines(plan []PlanEntry) string {
	var b strings.Builder
	listed := 0
	for i := range plan {
		if !plan[i].open() {
			continue
		}
		if listed++; listed > maxRemindedSteps {
			fmt.Fprintf(&b, "and %d more\n", openSteps(plan)-maxRemindedSteps)
			break
		}
		fmt.Fprintf(&b, "- %s (%s)\n", text.Truncate(text.OneLine(plan[i].Text()), maxEditedStep), plan[i].Status)
	}
	return b.String()
}

// PlanAddress is the address of the plan that [PresentTool] stores.
const PlanAddress = LocalScheme + "plan.md"

// ApprovedPlan is the beginning of the result of [PresentTool] for a plan that the user has approved.
const ApprovedPlan = "The user has approved the plan."

// presentedPlan reports whether the last plan that was presented in a branch is stored, and whether the user has approved it.
func presentedPlan(branch []sessions.Entry) (stored, approved bool) {
	for _, e := range slices.Backward(branch) {
		switch e := e.(type) {
		case sessions.Custom:
			if e.CustomType == customClear {
				return false, false
			}
		case sessions.MessageEntry:
			if m := &e.Message; m.Role == providers.RoleTool && m.ToolName == PresentTool && !m.IsError {
				result := m.Text()
				return strings.Contains(result, PlanAddress), strings.HasPrefix(result, ApprovedPlan)
			}
		default:
		}
	}
	return false, false
}

// openWork describes the work of a branch that continues after a compaction or a handoff, one item each: the plan that the user has
// approved, the open steps, and the goal. The model would otherwise know only what the summary mentions of them.
func openWork(branch []sessions.Entry, now *work) (items []string) {
	switch stored, approved := presentedPlan(branch); {
	case stored && approved:
		items = append(items, ApprovedPlan+" It is stored as "+PlanAddress+": read it again before you go on with it.")
	case stored:
		items = append(items, "The plan that you presented last is stored as "+PlanAddress+". The user has not approved it.")
	}
	if openSteps(now.plan) > 0 {
		items = append(items, "The plan of "+planTool+" has open steps:\n"+strings.TrimSuffix(openLines(now.plan), "\n"))
	}
	if item := now.goal.Item(); item != "" {
		items = append(items, item)
	}
	return items
}

// HandoffEntries returns the entries that a session begins with after a handoff: the document, the plan, the goal, and the open work. The caller
// must restore the secrets of the document with [RunningTurn.Restored], and call [CopyLocal] for the new session. HandoffEntries may be called only in the functions of a [Prompt].
func HandoffEntries(t *RunningTurn, document string) ([]sessions.Entry, error) {
	entries := []sessions.Entry{contextwindow.HandoffMessage(document)}
	err := t.do(func(st *state) error {
		branch, err := t.session.opts.Log.Branch()
		if err != nil {
			return err
		}
		left := work{goal: st.goal}
		if left.goal.IsActive() {
			moved := *st.goal
			moved.Objective = t.Restored(moved.Objective)
			left.goal = &moved
			entry, err := moved.Entry()
			if err != nil {
				return err
			}
			entries = append(entries, entry)
		}
		if openSteps(st.plan) > 0 {
			plan := slices.Clone(st.plan)
			for i := range plan {
				plan[i].Content, plan[i].Phase = t.Restored(plan[i].Content), t.Restored(plan[i].Phase)
			}
			edit, err := planEdit(plan, "it is that of the session before.")
			if err != nil {
				return err
			}
			entries = append(entries, edit)
		}
		if items := openWork(branch, &left); len(items) > 0 {
			entries = append(entries, sessions.CustomMessage{
				CustomType: "open-work", Attribution: "agent", Parts: reminder(strings.Join(items, "\n")),
			})
		}
		return nil
	})
	return entries, err
}

// CopyLocal copies the local files of a session to those of another one.
func CopyLocal(ctx context.Context, s *Session, to Local) error {
	from := s.opts.Local
	if from == nil {
		return nil
	}
	names, err := from.List(ctx)
	if err != nil {
		return err
	}
	for name := range names {
		data, err := from.Read(ctx, LocalScheme+name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a helper has removed it meanwhile
		}
		if err == nil {
			err = to.Write(ctx, LocalScheme+name, data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

const (
	// customTodoEdit is the type of the entry for an edit of the plan by the user. Its details are an [editedPhases].
	customTodoEdit = "user_todo_edit"
	// editedPlan is the beginning of the text of such an entry.
	editedPlan = "The user has edited the plan: "
)

// editedPhases is a plan in the form of the original product.
type editedPhases struct {
	Phases []editedPhase `json:"phases"`
}

type editedPhase struct {
	Name  string       `json:"name"`
	Tasks []editedTask `json:"tasks"`
}

type editedTask struct {
	Content  string `json:"content"`
	Status   string `json:"status"`
	Priority string `json:"priority,omitzero"`
}

// phasesOf groups the steps of a plan. It keeps their order, so a phase with other steps between its own occurs twice.
func phasesOf(plan []PlanEntry) editedPhases {
	all := editedPhases{Phases: []editedPhase{}}
	for i := range plan {
		e := &plan[i]
		if n := len(all.Phases); n == 0 || all.Phases[n-1].Name != e.Phase {
			all.Phases = append(all.Phases, editedPhase{Name: e.Phase})
		}
		last := &all.Phases[len(all.Phases)-1]
		last.Tasks = append(last.Tasks, editedTask{e.Content, string(e.Status), string(e.Priority)})
	}
	return all
}

// planOfEdit returns the plan after an edit by the user; false if the entry is not an edit.
func planOfEdit(e *sessions.CustomMessage) ([]PlanEntry, bool) {
	if e.CustomType != customTodoEdit {
		return nil, false
	}
	return planOfPhases(e.Details)
}

// EditPlan changes the plan for the user. edit returns the new plan, and a description of the change for the model, which sees it with
// the next prompt. An error of edit leaves the plan unchanged, and EditPlan returns it. EditPlan may be called only in the functions of
// a [Prompt].
func EditPlan(t *RunningTurn, edit func(plan []PlanEntry) (changed []PlanEntry, what string, err error)) error {
	s := t.session
	var now []PlanEntry
	err := t.do(func(st *state) error {
		plan, what, err := edit(slices.Clone(st.plan))
		if err != nil {
			return err
		}
		now = hiddenPlan(s.opts.Secrets, plan)
		m, err := planEdit(now, s.opts.Secrets.Hide(what)+".")
		if err != nil {
			return err
		}
		if err := st.appendMessage(m); err != nil {
			return err
		}
		st.emit(PlanChanged{Entries: now})
		return nil
	})
	if err == nil {
		t.hooks.planChanged(now)
	}
	return err
}

// planEdit returns the entry for a plan that has changed; what describes the change.
func planEdit(plan []PlanEntry, what string) (sessions.CustomMessage, error) {
	details, err := jsonx.Marshal(phasesOf(plan))
	return sessions.CustomMessage{
		CustomType: customTodoEdit, Attribution: "user", Parts: reminder(editedPlan + what + "\n" + planLines(plan)), Details: details,
	}, err
}

// planChanged runs the hooks for a change of the plan.
func (t *turnHooks) planChanged(plan []PlanEntry) {
	t.observe(hooks.Todo, func(in *hooks.Input) {
		for _, e := range plan {
			in.Todo = append(in.Todo, hooks.TodoInput{Content: e.Content, Status: string(e.Status), Phase: e.Phase})
		}
	})
}

// planLines describes a plan to the model after a change.
func planLines(plan []PlanEntry) string {
	if len(plan) == 0 {
		return "It is now empty."
	}
	var b strings.Builder
	b.WriteString("It is now:\n")
	for i := range plan {
		if i == maxEditedSteps {
			fmt.Fprintf(&b, "and %d more\n", len(plan)-i)
			break
		}
		fmt.Fprintf(&b, "- %s (%s)\n", text.Truncate(text.OneLine(plan[i].Text()), maxEditedStep), plan[i].Status)
	}
	b.WriteString("Keep to it: the next call of " + planTool + " starts from this plan.")
	return b.String()
}

// Limits of the description of an edited plan: steps, and characters in each.
const (
	maxEditedSteps = 100
	maxEditedStep  = 300
)

// PresentTool is the name of the tool that presents a plan and ends plan mode.
const PresentTool = "present_plan"

// PlanMode lets a call of [PresentTool] end plan mode.
type PlanMode struct {
	// Before is the mode before plan mode.
	Before approval.Mode
	// End changes the mode. title names the session, unless the user has named it. It returns an error if the session has left plan
	// mode.
	End func(mode approval.Mode, title string) error
}

// planModeOf returns [Call.PlanMode] for a call.
func planModeOf(r *toolRun) *PlanMode {
	if r.call.Name != PresentTool || r.turn.session.child {
		return nil
	}
	log, before := r.turn.session.opts.Log, approval.ModeDefault
	if err := r.turn.do(func(st *state) error {
		if st.mode != approval.ModePlan {
			return errNoPlanMode
		}
		branch, err := log.Branch()
		for _, e := range slices.Backward(branch) {
			if m, ok := e.(sessions.ModeChange); ok && m.Mode != string(approval.ModePlan) {
				before = approval.Mode(m.Mode)
				break
			}
		}
		return err
	}); err != nil {
		return nil
	}
	if _, err := approval.ParseMode(string(before)); err != nil {
		before = approval.ModeDefault
	}
	return &PlanMode{Before: before, End: func(mode approval.Mode, title string) error { return endPlanMode(r.turn, mode, title) }}
}

var errNoPlanMode = errors.New("the session is not in plan mode")

// titled is a [Log] that knows who has named the session.
type titled interface{ State() sessions.State }

// endPlanMode implements the method of [PlanMode].
func endPlanMode(t *RunningTurn, mode approval.Mode, title string) error {
	s := t.session
	return t.do(func(st *state) error {
		if st.mode != approval.ModePlan {
			return errNoPlanMode
		}
		if err := ToMode(mode).apply(s, st); err != nil {
			return st.unsaved(err)
		}
		st.emit(ConfigChanged{Now: st.snapshot(), Mode: true})
		title := CleanTitle(s.opts.Secrets.Hide(title))
		if log, ok := s.opts.Log.(titled); title == "" || ok && log.State().TitleSource == "user" {
			return nil
		}
		if err := s.opts.Log.SetTitle(title, "auto"); err != nil {
			return st.unsaved(err)
		}
		st.title, st.named = title, true
		st.emitInfo()
		return nil
	})
}
