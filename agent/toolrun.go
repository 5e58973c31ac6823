package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/contextwindow"
	"github.com/gajae-code/gjc/agent/goal"
	"github.com/gajae-code/gjc/internal/boundary"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/permit"
	"github.com/gajae-code/gjc/internal/telemetry"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/providers"
)

// maxParallel is the maximum number of shared tools that run concurrently.
const maxParallel = 8

// runTools runs the calls of one answer and records each result before any client sees the end of its call. Shared tools run
// concurrently; an exclusive one waits for those before it and runs alone. The calls are announced in order, because an editor
// shows them in the order of their announcements. When ctx ends, every call still gets a result. An error comes from the log; after
// it, no further call begins.
func (t *RunningTurn) runTools(ctx context.Context, calls []providers.ToolCall) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var runs []*toolRun
	var running sync.WaitGroup
	defer running.Wait()
	var mu sync.Mutex // guards unsaved
	var unsaved error
	failed := func() error {
		mu.Lock()
		defer mu.Unlock()
		return unsaved
	}
	slots := make(chan struct{}, maxParallel)
	var announced <-chan struct{}
	for _, c := range calls {
		tool, err := t.callable(c.Name)
		if err != nil {
			stop(err)
			return err
		}
		run := &toolRun{turn: t, call: c, tool: tool, earlier: announced, announced: make(chan struct{})}
		announced = run.announced
		exclusive := tool != nil && tool.Spec().Exclusive
		if exclusive {
			running.Wait()
		}
		slots <- struct{}{}
		if failed() != nil {
			break
		}
		runs = append(runs, run)
		running.Go(func() {
			defer func() { <-slots }()
			if _, err := run.do(ctx); err != nil {
				mu.Lock()
				unsaved = cmp.Or(unsaved, err)
				mu.Unlock()
				stop(err)
			}
		})
		if exclusive {
			running.Wait()
		}
	}
	running.Wait()
	if err := failed(); err != nil {
		return err
	}
	return t.addRules(ctx, runs)
}

// refuseCalls records a failed result for every call without running it.
func (t *RunningTurn) refuseCalls(calls []providers.ToolCall, why string) error {
	for _, c := range calls {
		run := &toolRun{turn: t, call: c}
		run.announce(nil)
		if err := run.end(run.failure(errors.New(why)), nil); err != nil {
			return err
		}
	}
	return nil
}

// toolRun is one running call.
type toolRun struct {
	turn *RunningTurn
	call providers.ToolCall
	tool Tool
	// byUser reports that the user, not the model, requested the call.
	byUser bool
	// unlisted reports that the call is not part of the conversation. One by the user never is.
	unlisted bool
	// plan is non-nil once the call is announced.
	plan *CallPlan
	// earlier is closed when the previous call has been announced, announced when this one has. Both are nil for a call
	// that runs alone.
	earlier   <-chan struct{}
	announced chan struct{}

	// permit holds the decisions so far.
	permit approval.Permit
	span   *telemetry.Span // nil without a tracer
	// record holds what the call has done; nil before it runs.
	record *permit.Record
	// before holds the state of the roots before the call's programs could change them; nil if none runs inside the boundary.
	before *boundary.Access
	// lingered says that programs have run since before.
	lingered bool
	// known are the effects that were decided on before the plan was completed.
	known []knownEffect

	mu      sync.Mutex // guards shown, changed, and the calls in details
	shown   []Content  // the content that the editor shows
	output  strings.Builder
	details details
	// changed is the plan that the call has set; nil for none. It takes effect with the result.
	changed *PlanChanged
	// result is set when the call has ended.
	result *Result
}

// do runs the call, records its result and returns it. An error comes from the log; in that case the call has not ended.
func (r *toolRun) do(ctx context.Context) (*Result, error) {
	ctx, r.span = telemetry.Start(ctx, telemetry.Internal, telemetry.ExecuteTool, r.call.Name)
	res, words := r.run(ctx)
	r.result = res
	endCall(r.span, &r.call, res)
	err := r.end(res, words)
	if changed := r.changed; err == nil && changed != nil && !res.IsError {
		r.turn.hooks.planChanged(changed.Entries)
	}
	return res, err
}

// run runs the call. It returns its result, which is never nil, and the text that hooks add to it for the model.
func (r *toolRun) run(ctx context.Context) (res *Result, words []string) {
	c, s := r.call, r.turn.session
	defer func() {
		// A model requested the call, so a panic fails the call, not the process.
		if v := recover(); v != nil {
			if s.opts.Panicked != nil {
				s.opts.Panicked(c.Name, v, debug.Stack())
			}
			if r.plan == nil {
				r.announce(nil)
			}
			res, words = r.failure(fmt.Errorf("internal error in the tool %s: %v", c.Name, v)), nil
		}
	}()
	call, err := r.prepare(ctx)
	if err != nil {
		return r.failure(err), nil
	}
	call, words, err = r.callHooks(ctx, call)
	if err != nil {
		return r.failure(err), nil
	}
	if err = r.permit.Moved(s.opts.FS); err == nil {
		r.record = new(permit.Record)
		recorded := permit.New(&r.permit).Recorded(r.record)
		res, err = runRecorded(permit.With(ctx, recorded), r, call)
	}
	if moved := r.permit.Moved(s.opts.FS); moved != nil && err == nil {
		err = moved // the tool read another file than the user was asked about
	}
	switch {
	case err != nil:
		res = r.failure(r.explain(ctx, err))
	case res == nil:
		res = r.failure(fmt.Errorf("internal error: the tool %s gave no result", c.Name))
	default:
	}
	if note, err := r.settle(ctx); err != nil {
		res = r.failure(r.explain(ctx, err))
	} else if note != "" {
		res.Text += "\n" + note
		res.Content = append(res.Content, TextContent{note})
	}
	return res, append(words, r.resultHooks(ctx, call, res)...)
}

// prepare announces the call and decides whether it may run. An error explains why it may not.
func (r *toolRun) prepare(ctx context.Context) (*Call, error) {
	t, c := r.turn, r.call
	if r.tool == nil {
		r.announce(nil)
		return nil, t.unknownTool(c.Name)
	}
	if t.odd.rejected[c.ID] {
		r.announce(nil)
		return nil, fmt.Errorf("%w: %s", ErrBadInput, whyLeak)
	}
	input, err := validInput(c)
	if err != nil {
		r.announce(nil)
		return nil, err
	}
	call := r.newCall(t.session.opts.Secrets.RestoreInput(input))
	return call, r.plans(ctx, call)
}

// plans plans the call, announces it unless that was done before, and decides whether it may run.
func (r *toolRun) plans(ctx context.Context, call *Call) error {
	r.permit.Uses = r.tool.Spec().Uses
	preparing := permit.With(ctx, permit.Preparation(r.permit.Uses.Starts))
	plan, err := r.tool.Plan(preparing, call)
	if r.plan == nil {
		r.announce(plan)
	} else if plan != nil {
		r.plan = plan
		r.completed()
	}
	if err != nil {
		return err
	}
	if plan != nil && plan.Complete != nil {
		if err := r.refused(); err != nil {
			return err
		}
		if err := r.approveReads(ctx, plan.AskLater); err != nil {
			return err
		}
		if err := plan.Complete(preparing); err != nil {
			if plan.AskLater && ctx.Err() == nil { // the error describes the files
				if err := r.approveReads(ctx, false); err != nil {
					return err
				}
			}
			return r.explain(ctx, err)
		}
		r.completed()
	}
	return r.start(ctx)
}

// explain rewords a tool's error: a cancelled call should not look like a broken one.
func (r *toolRun) explain(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && (errors.Is(err, cause) || errors.Is(err, context.Canceled)) {
		return cause
	}
	return err
}

func (r *toolRun) newCall(input jsonx.Raw) *Call {
	t, o := r.turn, &r.turn.session.opts
	return &Call{
		ID:          r.call.ID,
		Name:        r.call.Name,
		Input:       input,
		Environment: o.Environment,
		Offer:       Offer{Model: t.model, Tools: names(t.tools.active), Search: r.search()},
		Values:      o.Values,
		Elicitor:    t.elicitor(),
		Trace:       traceOf(r.span, t.Turn),
		Update:      r.update,
		Consent:     r.consent,
		Widen:       r.widen,
		Planning: Planning{SetPlan: func(entries []PlanEntry) {
			changed := PlanChanged{Entries: hiddenPlan(o.Secrets, entries)}
			r.mu.Lock()
			r.changed = &changed
			r.mu.Unlock()
		}, PlanMode: planModeOf(r), EndGoal: func(status goal.Status, reason string) error { return endGoal(t, status, reason) }},
		Child:      t.session.child,
		Delegation: r.delegation(),
		Document:   t.session.document, Conversation: t.session.tree.roster.Conversation,
		Readable: t.session.readable,
	}
}

// announce emits the start of the call before its work begins.
func (r *toolRun) announce(plan *CallPlan) {
	if r.announced != nil {
		defer close(r.announced)
	}
	if plan == nil {
		plan = new(CallPlan)
	}
	if plan.Title == "" {
		plan.Title = r.call.Name
	}
	r.plan = plan
	kind := KindOther
	if r.tool != nil {
		kind = cmp.Or(plan.Kind, r.tool.Spec().Kind)
	}
	r.shown = r.showing(plan.Content)
	title := r.title(plan.Title)
	r.details = details{Title: title, Kind: kind, Start: r.shown, StartLocations: plan.Locations}
	if r.earlier != nil {
		<-r.earlier // every call is announced, even if it only fails
	}
	r.turn.emit(ToolStarted{
		CallID: r.call.ID, Name: r.call.Name, Title: title, Kind: kind, Input: shownInput(r.call.Input),
		Content: r.shown, Locations: plan.Locations,
	})
}

// showing converts content to the form for an editor.
func (r *toolRun) showing(content []Content) []Content {
	return shownContent(hidden(r.turn.session.opts.Secrets, content))
}

// title returns the title of a call for people.
func (r *toolRun) title(title string) string {
	return cutTitle(text.VisibleLine(r.turn.session.opts.Secrets.Hide(title)))
}

// completed emits what was added to the plan since the call was announced.
func (r *toolRun) completed() {
	r.mu.Lock()
	r.shown = r.showing(r.plan.Content)
	r.details.Start, r.details.StartLocations = r.shown, r.plan.Locations
	r.mu.Unlock()
	r.turn.emit(ToolProgress{CallID: r.call.ID, Content: r.shown, Locations: r.plan.Locations})
}

// update emits progress of the running call.
func (r *toolRun) update(p Progress) {
	r.mu.Lock()
	if p.Content != nil {
		r.shown = r.showing(p.Content)
	}
	if p.TerminalID != "" {
		r.shown = append(r.shown[:len(r.shown):len(r.shown)], TerminalContent{p.TerminalID})
	}
	ev := ToolProgress{CallID: r.call.ID, Running: true, Locations: p.Locations}
	if p.Content != nil || p.TerminalID != "" {
		ev.Content = r.shown
	}
	if p.Text != "" {
		p.Text = r.turn.session.opts.Secrets.Hide(p.Text)
		if r.details.Kind == KindExecute {
			ev.Output = cmp.Or(r.turn.session.opts.Secrets.Hide(p.Raw), p.Text)
		}
		r.output.WriteString(p.Text)
		ev.Content = append(r.shown[:len(r.shown):len(r.shown)], TextContent{text.Middle(r.output.String(), maxShown)})
	}
	r.mu.Unlock()
	r.turn.emit(ev)
}

// changesOf returns what a call has changed, and whether it may have changed other files too.
func changesOf(r *toolRun, failed bool) (paths []string, incomplete bool) {
	if r.record == nil {
		return nil, false // it has not run
	}
	paths = r.record.Changed()
	incomplete = failed && len(paths) > 0 || r.record.Ran(r.permit.Uses.Starts) || slices.ContainsFunc(r.plan.Effects, func(e approval.Effect) bool {
		switch e.Action {
		case approval.ActionCommand, approval.ActionMCP, approval.ActionDebug, approval.ActionResume:
			return true
		default:
			return false
		}
	})
	if failed {
		paths = nil
	}
	return paths, incomplete
}

// end records the result of a call and the text that hooks add to it for the model, and then emits the call's end. An error comes
// from the log; the call then stays open, as a loaded session would show it.
func (r *toolRun) end(res *Result, words []string) error {
	t, secrets := r.turn, r.turn.session.opts.Secrets
	t.changed(changesOf(r, res.IsError))
	ev := ToolEnded{CallID: r.call.ID, Failed: res.IsError, Content: res.Content, Locations: res.Locations}
	if ev.Content == nil {
		ev.Content = r.closing(res.Text)
		for _, img := range res.Images {
			ev.Content = append(ev.Content, ImageContent{img})
		}
	}
	ev.Content = r.showing(ev.Content)
	res.Say = secrets.Hide(res.Say)
	if ev.Locations == nil {
		ev.Locations = r.plan.Locations
	}
	if res.Raw != nil {
		if raw, err := jsonx.Marshal(res.Raw); err == nil && len(raw) <= maxShown {
			ev.Raw = raw
		}
	}
	r.mu.Lock()
	r.details.Content, r.details.Locations, r.details.Raw, r.details.Say = ev.Content, ev.Locations, ev.Raw, res.Say
	d, changed := r.details, r.changed
	d.Calls = slices.Clone(d.Calls)
	r.mu.Unlock()
	ev.Content = append(ev.Content[:len(ev.Content):len(ev.Content)], d.nestedContent()...)
	msg := contextwindow.ToolMessage(r.call, res.Text, res.IsError)
	if res.Text == "" {
		msg.Parts = []providers.Part{providers.Text{Text: "(no output)"}}
	}
	for _, img := range res.Images {
		msg.Parts = append(msg.Parts, img)
	}
	for _, w := range words {
		msg.Parts = append(msg.Parts, providers.Text{Text: w})
	}
	msg.Details = d.encode()
	var events []Event
	if changed != nil && !res.IsError { // a replay does not show the plan of a failed call
		events = append(events, *changed)
	}
	if events = append(events, ev); res.Say != "" {
		events = append(events, MessageDelta{MessageID: r.call.ID + saidSuffix, Speaker: SpeakerAgent, Text: res.Say})
	}
	err := t.do(func(st *state) error {
		var err error
		if r.byUser || r.unlisted {
			err = st.keepUserCall(r.call.Input, &msg)
		} else {
			err = t.keep(st, &msg)
		}
		if err != nil {
			return err
		}
		for _, ev := range events {
			if st.turn.note(ev) {
				st.emit(ev)
			}
		}
		if res.EndTurn {
			st.turn.ending = true
			if t.session.child {
				st.question = strings.TrimSpace(st.question + "\n" + res.Say)
			}
		}
		return nil
	})
	if errors.Is(err, errTurnOver) {
		return nil // the call was ended with its turn
	}
	return err
}

// saidSuffix is appended to a call's ID to form the ID of a message from the call.
const saidSuffix = "-said"

// closing returns the final content of a call whose result is only text: the content before, followed by the text.
func (r *toolRun) closing(text string) []Content {
	r.mu.Lock()
	defer r.mu.Unlock()
	content := append([]Content(nil), r.shown...)
	if text != "" {
		content = append(content, TextContent{text})
	}
	return content
}

// failure returns the result of a call that failed, with an error that the model and the user see.
func (r *toolRun) failure(err error) *Result {
	return &Result{Text: err.Error(), IsError: true, Content: r.closing(err.Error())}
}

// mode returns the mode that judges the call: in a user's own call, everything that a mode would ask about is already allowed.
func (r *toolRun) mode(m approval.Mode) approval.Mode {
	if r.byUser && m != approval.ModePlan {
		return approval.ModeAuto
	}
	return m
}

// errRejected is wrapped by the result of a call that the user did not allow.
var errRejected = errors.New("rejected by the user")

// errRefused is like errRejected for a client that has refused without asking.
var errRefused = errors.New("not allowed")

// liveCall is a call of the running turn that has not ended: its result is not in the log yet. The actor owns it.
type liveCall struct {
	id string
	// started is nil until the call is announced. progress accumulates the reports since then.
	started  *ToolStarted
	progress *ToolProgress
}

// recorded makes the calls of an answer live, in the same step that adds m to the log.
func (t *turnState) recorded(m *providers.Message) {
	for _, c := range m.ToolCalls() {
		t.calls = append(t.calls, &liveCall{id: c.ID})
	}
}

// forget removes a live call.
func (t *turnState) forget(id string) {
	if i := slices.IndexFunc(t.calls, func(c *liveCall) bool { return c.id == id }); i >= 0 {
		t.calls = slices.Delete(t.calls, i, i+1)
	}
}

// note records an event of a live call and reports whether to emit it: each call starts and ends once, and has no events before its
// start or after its end.
func (t *turnState) note(ev Event) bool {
	switch ev := ev.(type) {
	case ToolStarted:
		for _, c := range t.calls {
			if c.id == ev.CallID && c.started == nil { // models reuse call IDs
				c.started = &ev
				return true
			}
		}
		t.calls = append(t.calls, &liveCall{id: ev.CallID, started: &ev})
	case ToolProgress:
		c := t.open(ev.CallID)
		if c == nil {
			return false
		}
		last := ToolProgress{CallID: c.id, Running: ev.Running, Content: ev.Content, Locations: ev.Locations}
		if c.progress != nil {
			last.Running = last.Running || c.progress.Running
			if last.Content == nil {
				last.Content = c.progress.Content
			}
			if last.Locations == nil {
				last.Locations = c.progress.Locations
			}
		}
		c.progress = &last
	case ToolEnded:
		if t.open(ev.CallID) == nil {
			return false
		}
		t.forget(ev.CallID)
	default:
	}
	return true
}

// live returns the live call with that ID, or nil.
func (t *turnState) live(id string) *liveCall {
	for _, c := range t.calls {
		if c.id == id {
			return c
		}
	}
	return nil
}

// open returns the live call with that ID if it has been announced.
func (t *turnState) open(id string) *liveCall {
	for _, c := range t.calls {
		if c.id == id && c.started != nil {
			return c
		}
	}
	return nil
}

// openCalls counts the announced calls that have not ended.
func (t *turnState) openCalls() int {
	n := 0
	for _, c := range t.calls {
		if c.started != nil {
			n++
		}
	}
	return n
}

// endOpenCalls emits the end of every open call of a turn.
func (st *state) endOpenCalls(t *turnState, why string) {
	for _, c := range t.calls {
		if c.started != nil {
			st.emit(ToolEnded{CallID: c.id, Failed: true, Content: []Content{TextContent{why}}})
		}
	}
	t.calls = nil
}
