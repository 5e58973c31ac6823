package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/agent/contextwindow"
	"github.com/gajae-code/gjc/agent/hooks"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/trust"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// errHook is wrapped by the result of a call that a hook has rejected, or that did not run because a blocking hook failed.
var errHook = errors.New("a hook forbids this call")

// sessionEndHooks is the time limit for all hooks that run when a session ends.
const sessionEndHooks = 3 * time.Second

// hookState is the state of hooks that a session shares with its children.
type hookState struct {
	mu       sync.Mutex      // guards the fields below
	reported map[string]bool // the notices that the user has received
	begun    bool            // whether the hooks for the session's start have run
}

// once reports whether a notice is new, and records it.
func (h *hookState) once(what string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.reported[what] {
		return false
	}
	if h.reported == nil {
		h.reported = make(map[string]bool)
	}
	h.reported[what] = true
	return true
}

// has reports whether a notice was recorded.
func (h *hookState) has(what string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.reported[what]
}

// hookRunner runs hooks as helper programs of the session: with a scrubbed environment, in a separate process group, ended with the
// session.
type hookRunner struct{ programs Programs }

func (r hookRunner) LookPath(name string) (string, error) {
	if r.programs == nil {
		return "", fs.ErrNotExist
	}
	return r.programs.LookPath(name)
}

func (r hookRunner) Run(ctx context.Context, path string, args []string, dir string, stdin []byte, limit int) ([]byte, int, string, error) {
	if r.programs == nil {
		return nil, 0, "", fs.ErrNotExist
	}
	out, err := r.programs.Output(ctx, Program{Path: path, Args: args, Dir: dir, Stdin: stdin}, limit)
	if e, ok := errors.AsType[*ExitError](err); ok {
		return out, e.Code, e.Stderr, nil
	}
	return out, 0, "", err
}

// hookInput returns the part of the input that is common to all events.
func (s *Session) hookInput(ev hooks.Event) hooks.Input {
	ws := &s.opts.Workspace
	return hooks.Input{Event: ev, SessionID: s.opts.ID, Cwd: ws.Cwd, Roots: append([]string{ws.Cwd}, ws.Additional...)}
}

// hookSet reads the current hooks. It asks the user about the workspace's hooks for the event that the user has not
// been asked about; call is the call for which they run, empty for none. Untrusted hooks do not run, and the user is
// notified of that once.
func (t *turnHooks) hookSet(ctx context.Context, ev hooks.Event, tool, call string) (*hooks.Set, error) {
	s := t.session
	if s.opts.Hooks == nil {
		return new(hooks.Set), nil
	}
	set := s.opts.Hooks()
	matters := func() bool {
		return slices.ContainsFunc(set.Untrusted, func(h *hooks.Hook) bool { return h.For(ev, tool) })
	}
	for matters() && (call != "" || !s.child) {
		q := set.Question()
		if q == nil {
			break
		}
		asked, err := t.askTrust(ctx, q, call)
		if err != nil {
			return nil, err
		}
		if !asked {
			break
		}
		set = s.opts.Hooks()
	}
	for _, p := range set.Problems {
		t.tellOnce("A hooks file has an error.", p)
	}
	for _, h := range set.Untrusted {
		if h.For(ev, tool) {
			t.tellOnce("The workspace's hooks do not run because it is not trusted: trust it when the editor asks, or with \"gjc trust add "+s.opts.Workspace.Cwd+"\".", h.At)
		}
	}
	return set, nil
}

func (t *turnHooks) tellOnce(title, detail string) {
	if t.session.hooked.once(title + "\x00" + detail) {
		t.emit(Noticed{Severity: SeverityWarning, Title: title, Detail: detail})
	}
}

// trustQuestions asks the user, one by one, about what files of the workspace would run. A question that cannot be asked is not
// repeated, and the user is notified of how to answer it.
func (t *turnHooks) trustQuestions() error {
	s := t.session
	if s.opts.TrustQuestions == nil || s.child {
		return nil
	}
	for _, q := range s.opts.TrustQuestions(t.ctx) {
		key := "trust " + q.Key()
		if s.hooked.has(key) {
			continue
		}
		asked, err := t.askTrust(t.ctx, q, "")
		if err != nil {
			return err
		}
		if !asked && s.hooked.once(key) {
			t.tellOnce("Files of the workspace are not used because it is not trusted: trust it when the editor asks, or with \"gjc trust add "+q.Subject.Path+"\".", q.Lines()[0])
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
	text := q.Text + "\n\n" + strings.Join(q.Lines(), "\n") + "\n\nAllow only if you trust their source. Otherwise they do not run."
	content := []Content{TextContent{text}}
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

// runHooks runs the hooks of a set for an event, in order, and returns their texts for the model. An error says why a
// call must not run, or why the turn ends.
func (t *turnHooks) runHooks(ctx context.Context, set *hooks.Set, in hooks.Input, tool string) (words []string, err error) {
	_ = t.do(func(st *state) error { in.Mode = string(st.mode); return nil }) // a turn that is over runs none
	for _, h := range set.Hooks {
		if !h.For(in.Event, tool) {
			continue
		}
		a, err := h.Run(ctx, hookRunner{t.session.opts.Programs}, in)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil && h.Blocking && in.Event == hooks.ToolCall:
			return nil, fmt.Errorf("%w: the hook %s (%s) must approve the call, and it failed: %w. Do not work around it; tell the user", errHook, h.Name, h.At, err)
		case err != nil:
			t.tellOnce("The hook "+h.Name+" failed.", h.At+": "+err.Error())
		case a.Block && in.Event == hooks.ToolCall:
			why := a.Reason
			if why == "" {
				why = "it gave no reason"
			}
			return nil, fmt.Errorf("%w: %s: %s", errHook, h.Name, why)
		case a.Context != "":
			words = append(words, hookWords(h, in.Event, a.Context))
		}
	}
	return words, nil
}

// hookWords returns the output of a hook in the form that a model receives.
func hookWords(h *hooks.Hook, ev hooks.Event, text string) string {
	return "<hook name=" + quoted(h.Name) + " event=" + quoted(string(ev)) + ">\n" + strings.ReplaceAll(text, "</hook>", "<\\/hook>") + "\n</hook>"
}

// around runs the hooks for an event without a call. It returns their texts for the model. It fails only if the turn
// ends.
func (t *turnHooks) around(ctx context.Context, ev hooks.Event, fill func(*hooks.Input)) (words []string, err error) {
	set, err := t.hookSet(ctx, ev, "", "")
	if err != nil {
		return nil, err
	}
	in := t.session.hookInput(ev)
	if fill != nil {
		fill(&in)
	}
	return t.runHooks(ctx, set, in, "")
}

// promptHooks runs the hooks for a prompt, preceded by those for the session's start if it is the first prompt. Their texts follow
// the prompt.
func (t *turnHooks) promptHooks() error {
	s := t.session
	if s.opts.Hooks == nil || s.child {
		return nil
	}
	var words []string
	s.hooked.mu.Lock()
	first := !s.hooked.begun
	s.hooked.begun = true
	s.hooked.mu.Unlock()
	if first {
		said, err := t.around(t.ctx, hooks.SessionStart, nil)
		if err != nil {
			return err
		}
		words = said
	}
	said, err := t.around(t.ctx, hooks.Prompt, func(in *hooks.Input) { in.Prompt = (&providers.Message{Parts: t.parts}).Text() })
	if err != nil {
		return err
	}
	if words = append(words, said...); len(words) == 0 {
		return nil
	}
	return t.do(func(st *state) error {
		return st.appendMessage(sessions.CustomMessage{
			CustomType: "hook", Attribution: "agent", Parts: []providers.Part{providers.Text{Text: strings.Join(words, "\n\n")}},
		})
	})
}

// endHooks runs the hooks for the end of a turn that was not cancelled.
func (t *turnHooks) endHooks(r *TurnResult) {
	if t.session.opts.Hooks == nil || t.session.child || t.idle || t.ctx.Err() != nil {
		return
	}
	_, _ = t.around(t.ctx, hooks.TurnEnd, func(in *hooks.Input) { // around reports failures; the turn reports a cancellation
		in.Reason = string(r.Stop)
		if r.Err != nil {
			in.Reason = "error"
		}
	})
}

// sessionEnd runs the hooks for the end of the session. The session emits no more events then.
func (s *Session) sessionEnd(ctx context.Context) {
	s.hooked.mu.Lock()
	begun := s.hooked.begun
	s.hooked.begun = false
	s.hooked.mu.Unlock()
	if s.opts.Hooks == nil || s.child || !begun {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, sessionEndHooks)
	defer cancel()
	for _, h := range s.opts.Hooks().Hooks {
		if h.For(hooks.SessionEnd, "") && ctx.Err() == nil {
			_, _ = h.Run(ctx, hookRunner{s.opts.Programs}, s.hookInput(hooks.SessionEnd)) // no client is left to receive the result
		}
	}
}

// compactHooks runs the hooks around a compaction. The summary must preserve the output of the hooks before it.
func (t *turnHooks) compactHooks(ctx context.Context, ev hooks.Event, reason contextwindow.Reason) (string, error) {
	words, err := t.around(ctx, ev, func(in *hooks.Input) { in.Reason = string(reason) })
	return strings.Join(words, "\n"), err
}

// toolInput returns the call for the input of hooks.
func (r *toolRun) toolInput(call *Call) *hooks.ToolInput {
	in := &hooks.ToolInput{CallID: call.ID, Name: call.Name, Kind: string(r.details.Kind), Input: call.Input, Paths: []string{}}
	for i := range r.plan.Effects {
		for _, part := range r.plan.Effects[i].Each() {
			if part.Path != "" && !slices.Contains(in.Paths, part.Path) {
				in.Paths = append(in.Paths, part.Path)
			}
		}
	}
	for _, l := range r.plan.Locations {
		if !slices.Contains(in.Paths, l.Path) {
			in.Paths = append(in.Paths, l.Path)
		}
	}
	return in
}

// callHooks runs the hooks before a call, which may forbid it. The call is already allowed, so the hooks see the call
// that will run. Afterwards the mode is checked again, because hooks take time.
func (r *toolRun) callHooks(ctx context.Context, call *Call) (words []string, err error) {
	t := r.turn
	set, err := t.hooks.hookSet(ctx, hooks.ToolCall, call.Name, call.ID)
	if err != nil || !slices.ContainsFunc(set.Hooks, func(h *hooks.Hook) bool { return h.For(hooks.ToolCall, call.Name) }) {
		return nil, err
	}
	in := t.session.hookInput(hooks.ToolCall)
	in.Tool = r.toolInput(call)
	if words, err = t.hooks.runHooks(ctx, set, in, call.Name); err != nil {
		return nil, err
	}
	return words, r.refused()
}

// resultHooks runs the hooks that follow a call, and returns the text that they add to its result for the model.
func (r *toolRun) resultHooks(ctx context.Context, call *Call, res *Result) []string {
	t := r.turn
	set, err := t.hooks.hookSet(ctx, hooks.ToolResult, call.Name, call.ID)
	if err != nil || !slices.ContainsFunc(set.Hooks, func(h *hooks.Hook) bool { return h.For(hooks.ToolResult, call.Name) }) {
		return nil
	}
	in := t.session.hookInput(hooks.ToolResult)
	in.Tool, in.Result = r.toolInput(call), &hooks.ResultInput{Text: res.Text, IsError: res.IsError}
	words, _ := t.hooks.runHooks(ctx, set, in, call.Name) // an error is that the turn ends
	return words
}
