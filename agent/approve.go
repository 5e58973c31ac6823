package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/internal/trust"
	"github.com/gajae-code/gjc/providers"
)

// Grants returns the remembered answers, which the session shares with its children.
func (s *Session) Grants() *approval.Grants { return s.grants }

// refused returns an error if the mode forbids a known effect of the call. It does not ask the user.
func (r *toolRun) refused() error {
	var mode approval.Mode
	if err := r.turn.do(func(st *state) error { mode = st.mode; return nil }); err != nil {
		return err
	}
	for i := range r.plan.Effects {
		if v, why := r.turn.session.opts.Policy.Judge(mode, &r.plan.Effects[i], new(approval.Facts)); v == approval.Deny {
			return errors.New(why)
		}
	}
	return nil
}

// start decides whether the call may run, and emits an event if it does. If the mode changes while the user answers, start judges
// everything again, except what the user has allowed.
func (r *toolRun) start(ctx context.Context) error {
	t := r.turn
	if len(r.plan.Effects) == 0 {
		r.plan.Effects = []approval.Effect{{Action: approval.ActionRead}} // a rule may apply to the tool itself
	}
	answered := r.answers()
	var mode approval.Mode
	if err := t.do(func(st *state) error { mode = st.mode; return nil }); err != nil {
		return err
	}
	for {
		effects := make([]undecided, len(r.plan.Effects))
		for i := range effects {
			effects[i] = undecided{effect: &r.plan.Effects[i], answered: &answered[i]}
		}
		if err := r.approve(ctx, effects); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		changed := false
		if err := t.do(func(st *state) error {
			changed, mode = st.mode != mode, st.mode
			if ev := (ToolProgress{CallID: r.call.ID, Running: true}); !changed && st.turn.note(ev) {
				st.emit(ev) // in this step, so that the event is ordered before or after any mode change that is acknowledged
			}
			return nil
		}); err != nil || !changed {
			return err
		}
	}
}

// answer holds the user's answer about one effect, and the real paths that the question was about.
type answer struct {
	yes bool
	// inside reports that what was answered is to happen inside the boundary.
	inside bool
	paths  []string
}

// knownEffect is an effect with the user's answer.
type knownEffect struct {
	effect approval.Effect
	answer answer
}

// approveReads decides on the files that the call is known to read, before its plan is completed: that may read them, and its errors
// describe them. With later, a question about a file without secrets is left for the completed plan.
func (r *toolRun) approveReads(ctx context.Context, later bool) error {
	for i := range r.plan.Effects {
		e := r.plan.Effects[i]
		if e.Action != approval.ActionRead || e.Path == "" && len(e.Paths) == 0 {
			continue
		}
		if later {
			inquiry, judgment := r.gate().Inquire(ctx, r.call.Name, &e, r.turn.session.opts.Workspace.real().Display), approval.Judgment{}
			if err := r.turn.do(func(st *state) error { judgment = inquiry.Judge(r.mode(st.mode), false); return nil }); err != nil {
				return err
			}
			if judgment.Verdict == approval.Ask && len(judgment.Special) == 0 {
				continue
			}
		}
		known := knownEffect{effect: e}
		if err := r.approve(ctx, []undecided{{effect: &known.effect, answered: &known.answer}}); err != nil {
			return err
		}
		r.known = append(r.known, known)
	}
	return nil
}

// answers returns the answers so far to the plan's effects.
func (r *toolRun) answers() []answer {
	answered := make([]answer, len(r.plan.Effects))
	for i := range r.plan.Effects {
		for _, known := range r.known {
			if reflect.DeepEqual(known.effect, r.plan.Effects[i]) {
				answered[i] = known.answer
			}
		}
	}
	return answered
}

// gate returns what decides on the call.
func (r *toolRun) gate() *approval.Gate {
	s := r.turn.session
	return &approval.Gate{Policy: &s.opts.Policy, Grants: s.grants, Files: s.opts.FS, OS: s.opts.OS, Paths: s.paths()}
}

// undecided is an effect that is to be decided on, with the user's answer so far.
type undecided struct {
	effect   *approval.Effect
	answered *answer
	inquiry  *approval.Inquiry
	judgment approval.Judgment
}

// approve decides on effects. It asks one question about all of those that are the user's decision, and sets the answers.
func (r *toolRun) approve(ctx context.Context, effects []undecided) error {
	s, gate := r.turn.session, r.gate()
	for i := range effects {
		u := &effects[i]
		u.inquiry = gate.Inquire(ctx, r.call.Name, u.effect, s.opts.Workspace.real().Display)
		u.inquiry.Permit(&r.permit)
		if u.answered.yes && !slices.Equal(u.inquiry.Real(), u.answered.paths) {
			return fmt.Errorf("%s: %w", cutTitle(r.plan.Title), approval.ErrMoved)
		}
	}
	open, err := r.judge(effects)
	if slices.ContainsFunc(effects, func(u undecided) bool { return u.effect.Action == approval.ActionCommand }) {
		r.introduce()
	}
	if err != nil {
		return err
	}
	if len(open) > 0 {
		if err := permissionHooks(ctx, r, r.plan.Title); err != nil {
			return err
		}
		// The answer to another question may settle this one too.
		done, err := s.ask(ctx)
		if err != nil {
			return err
		}
		defer done()
		if open, err = r.judge(effects); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx) // the answer to the previous question ended the turn
		}
	}
	if len(open) > 0 {
		always, err := r.question(ctx, open)
		for _, u := range open {
			*u.answered = answer{yes: err == nil, inside: err == nil && u.inquiry.Answered(always), paths: u.inquiry.Real()}
		}
		if err != nil {
			return err
		}
	}
	if slices.ContainsFunc(effects, func(u undecided) bool { return u.judgment.Inside || u.answered.inside }) {
		r.enclose(ctx)
	}
	return nil
}

// judge judges effects and returns those that are the user's decision.
func (r *toolRun) judge(effects []undecided) (open []*undecided, err error) {
	err = r.turn.do(func(st *state) error {
		for i := range effects {
			u := &effects[i]
			switch u.judgment = u.inquiry.Judge(r.mode(st.mode), u.answered.yes); u.judgment.Verdict {
			case approval.Deny:
				return errors.New(u.judgment.Reason)
			case approval.Ask:
				open = append(open, u)
			default:
			}
		}
		return nil
	})
	return open, err
}

// introduce shows where commands run, before the first one of a workspace. The boundary has been found for the judgment, so the notice
// delays nothing.
func (r *toolRun) introduce() {
	s := r.turn.session
	if s.opts.Policy.Introduce == nil || !s.hooked.once("boundary") {
		return
	}
	if title, detail := s.opts.Policy.Introduce(); title != "" {
		r.turn.emit(Noticed{Severity: SeverityInfo, Title: title, Detail: detail})
	}
}

// remembered returns how a decision is remembered.
func remembered(d Decision, when time.Time, asked int) approval.Answer {
	return approval.Answer{Allowed: d != RejectAlways, Workspace: d == AllowWorkspace, When: when, Asked: asked}
}

// ask waits until the session may ask the user a question, because some editors hang on two questions at once. The caller must call
// done.
func (s *Session) ask(ctx context.Context) (done func(), err error) {
	select {
	case s.asking <- struct{}{}:
		return func() { <-s.asking }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// question asks the user about effects whose judgments leave the decision open. It reports whether the answer is to be kept.
func (r *toolRun) question(ctx context.Context, open []*undecided) (kept bool, err error) {
	s := r.turn.session
	// The model receives the title unchanged; the user sees placeholders.
	title, shown := cutTitle(r.plan.Title), r.title(r.plan.Title)
	if e := open[0].effect; len(open) == 1 && e.Title != "" {
		title, shown = e.Title, s.opts.Secrets.Hide(e.Title)
	}
	kind, once := cmp.Or(r.plan.Kind, r.tool.Spec().Kind), false
	var scopes []*approval.Scope
	var special, labels []string
	for _, u := range open {
		scopes, special = append(scopes, u.judgment.Open...), append(special, u.judgment.Special...)
		labels = append(labels, approval.LabelAll(u.judgment.Open, s.opts.Workspace.real().Display))
		once = once || s.opts.Policy.Once(u.effect)
		switch u.effect.Action {
		case approval.ActionDelete:
			kind = KindDelete
		case approval.ActionMove:
			kind = KindMove
		default:
		}
	}
	for _, sc := range scopes {
		if sc.Outside && s.opts.Workspace.Contains(sc.Given) {
			title += " → " + sc.Path // a link leads out of the workspace
			shown += " → " + s.opts.Secrets.Hide(sc.Path)
		}
	}
	content := hidden(s.opts.Secrets, visibleTexts(excerpts(r.plan.Content)))
	if len(special) > 0 {
		content = append(content[:len(content):len(content)], TextContent{s.opts.Secrets.Hide("Review this carefully: " + strings.Join(slices.Compact(special), "; ") + ".")})
	}
	always := s.opts.Secrets.Hide(strings.Join(slices.Compact(labels), ", "))
	if why := s.opts.Secrets.Explain(shown + " " + always + " " + string(r.call.Input) + " " + texts(content)); why != "" {
		// The user decides on the action that is really performed, and does not need to see the secret values for that.
		content = append(content[:len(content):len(content)], TextContent{why})
	}
	asked := s.grants.Generation()
	decision, err := s.opts.Approver.Approve(ctx, Question{
		// The user must see the whole action: only the unchanged text around a change is cut.
		ToolCallID: r.call.ID, Title: text.VisibleLine(shown), Kind: kind, Input: r.call.Input,
		Content: content, Locations: r.plan.Locations, Always: always, Once: once, Workspace: s.opts.Policy.Keeper != nil,
	})
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if refusal, ok := errors.AsType[*RefusalError](err); ok {
		return false, fmt.Errorf("%w: %s: %s", errRefused, title, refusal.Reason)
	}
	if err != nil {
		return false, fmt.Errorf("asking for permission: %w; the call did not run", err)
	}
	if decision == AllowAlways || decision == AllowWorkspace || decision == RejectAlways {
		for _, sc := range scopes {
			if err := s.grants.Remember(ctx, sc, remembered(decision, s.opts.Clock(), asked)); err != nil {
				return false, fmt.Errorf("keeping the answer: %w; the call did not run", err)
			}
		}
	}
	switch decision {
	case AllowOnce, AllowAlways, AllowWorkspace:
		return decision != AllowOnce, nil
	case Cancelled:
		r.turn.Cancel()
		return false, ErrCancelled
	default:
		return false, fmt.Errorf("%w: %s", errRejected, title)
	}
}

// Consent is a question that arises while a call runs, such as whether programs of the workspace may be started.
type Consent struct {
	// Title names the permission that is requested, in a few words.
	Title string
	// Text explains the question.
	Text string
	// Always says what an "always" answer covers.
	Always string
	// Workspace offers to keep such an answer for the workspace.
	Workspace bool
	// Needed is called after the previous questions are answered, because their answers may have settled this one. Optional.
	Needed func() bool
}

// consent implements [Call.Consent].
func (r *toolRun) consent(ctx context.Context, c Consent) (Decision, error) {
	s := r.turn.session
	done, err := s.ask(ctx)
	if err != nil {
		return RejectOnce, err
	}
	defer done()
	if c.Needed != nil && !c.Needed() {
		return Unasked, nil
	}
	hide := s.opts.Secrets.Hide
	decision, err := s.opts.Approver.Approve(ctx, Question{
		ToolCallID: r.call.ID, Title: hide(c.Title), Kind: r.tool.Spec().Kind, Input: r.call.Input,
		Content: []Content{TextContent{hide(c.Text)}}, Always: hide(c.Always), Workspace: c.Workspace && s.opts.Policy.Keeper != nil,
	})
	_, refused := errors.AsType[*RefusalError](err)
	switch {
	case ctx.Err() != nil:
		return RejectOnce, context.Cause(ctx)
	case refused:
		decision = RejectOnce
	case err != nil:
		return RejectOnce, fmt.Errorf("asking the user: %w", err)
	case decision == Cancelled:
		r.turn.Cancel()
		return Cancelled, ErrCancelled
	}
	r.turn.emit(ToolProgress{CallID: r.call.ID, Running: true}) // the question showed the call as waiting
	return decision, nil
}

// trustQuestions asks the user, one by one, about what files of the workspace would run. A question that cannot be asked is not
// repeated, and the user is notified of how to answer it.
func (t *turnHooks) trustQuestions() error {
	s := t.session
	if s.opts.TrustQuestions == nil || s.child {
		return nil
	}
	// An answer can lead to further questions: plugins to which the user agrees are installed, and have programs.
	for asked := make(map[string]bool); ; {
		q := t.unasked(asked)
		if q == nil {
			return context.Cause(t.ctx)
		}
		answered, err := t.askTrust(t.ctx, q, "")
		if err != nil {
			return err
		}
		if !answered && s.hooked.once("trust "+q.Key()) {
			notice := cmp.Or(q.Unasked, "Files of the workspace are not used because it is not trusted: trust it when the editor asks, or with \"gjc trust add "+q.Subject.Path+"\".")
			t.tellOnce(notice, q.Lines()[0])
		}
	}
}

// unasked returns the first open question that is not among those asked in this turn, and adds it to them. It returns nil if there is none.
func (t *turnHooks) unasked(asked map[string]bool) *trust.Question {
	for _, q := range t.session.opts.TrustQuestions(t.ctx) {
		if key := q.Key(); !asked[key] && !t.session.hooked.has("trust "+key) {
			asked[key] = true
			return q
		}
	}
	return nil
}

// AskTrust asks the user to trust files of the workspace for the prompt of t. It reports whether the user answered; it returns an error
// only if the turn ends. It may be called only in the functions of a [Prompt].
func AskTrust(ctx context.Context, t *RunningTurn, q *trust.Question) (bool, error) {
	return t.hooks.askTrust(ctx, q, "")
}

// askTrust asks the user to trust files of the workspace. It reports whether the user answered; it returns an error
// only if the turn ends. A question must belong to a call, so without one, a call is shown for it.
func (t *turnHooks) askTrust(ctx context.Context, q *trust.Question, call string) (bool, error) {
	s := t.session
	title := q.Title
	about := q.Text + "\n\n" + strings.Join(q.Lines(), "\n") + "\n\nAllow only if you trust their source. Otherwise they do not run."
	content := []Content{TextContent{about}}
	if call == "" {
		call = s.opts.NewID()
		run := &toolRun{turn: t.RunningTurn, call: providers.ToolCall{ID: call, Name: "trust", Input: jsonx.Raw("{}")}, byUser: true}
		run.announce(&CallPlan{Title: title, Content: content})
		defer func() {
			_ = run.end(&Result{Content: content}, nil) // if the log cannot be written, the following steps fail too
		}()
	}
	done, err := s.ask(ctx)
	if err != nil {
		return false, err
	}
	defer done()
	decision, err := s.opts.Approver.Approve(ctx, Question{
		ToolCallID: call, Title: title, Kind: KindOther, Input: jsonx.Raw("{}"), Content: content, Always: "until these files change", Trust: true,
	})
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case err != nil:
		return false, nil // the user cannot be asked
	case decision == Cancelled:
		t.Cancel()
		return false, ErrCancelled
	}
	// An answer that cannot be saved still holds for the session.
	_ = q.Answer(ctx, decision == AllowOnce || decision == AllowAlways, decision == AllowAlways || decision == RejectAlways)
	return true, nil
}
