package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/contextwindow"
	"github.com/gajae-code/gjc/agent/hooks"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// errHook is wrapped by the result of a call that a hook has rejected, or that did not run because a blocking hook failed.
var errHook = errors.New("a hook forbids this call")

// errPromptBlocked is wrapped by the error of a turn whose prompt a hook has rejected.
var errPromptBlocked = errors.New("a hook rejects this prompt")

// sessionEndHooks is the time limit for all hooks that run when a session ends.
const sessionEndHooks = 3 * time.Second

// hookState is the state of hooks that a session shares with its children.
type hookState struct {
	mu       sync.Mutex      // guards the fields below
	reported map[string]bool // the notices that the user has received
	begun    bool            // whether the hooks for the session's start have run
	cleared  bool            // whether the conversation was cleared since then
	messages []extensionMessage
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

// clear records that the conversation begins again.
func (h *hookState) clear() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cleared = h.begun
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

// hooked holds what the hooks of an event have decided.
type hooked struct {
	// words are their texts for the model.
	words []string
	// blocked is why a step must not be taken, with the name of the hook; nil if none rejects it.
	blocked *blockedError
	// input replaces that of the call, result that result, and summary that of a model; each is the zero value if none does.
	input   jsonx.Raw
	result  *hooks.ResultInput
	summary string
	// messages replace those of the request; nil if none does.
	messages []hooks.MessageInput
}

// blockedError is a rejection by a hook.
type blockedError struct{ hook, reason string }

func (b *blockedError) Error() string { return b.hook + ": " + cmp.Or(b.reason, "it gave no reason") }

// runHooks runs the hooks of a set for an event, in order. Each sees what those before it have replaced, and the first that rejects the
// step is the last to run. An error says why a call must not run, or why the turn ends.
func (t *turnHooks) runHooks(ctx context.Context, set *hooks.Set, in hooks.Input, tool string) (out hooked, err error) {
	_ = t.do(func(st *state) error { in.Mode = string(st.mode); return nil }) // a turn that is over runs none
	for _, h := range set.Handlers() {
		if !h.For(in.Event, tool) {
			continue
		}
		about := h.About()
		t.changed(nil, true)
		a, err := h.Run(ctx, hookRunner{t.session.opts.Programs}, in)
		switch {
		case ctx.Err() != nil:
			return hooked{}, context.Cause(ctx)
		case err != nil && about.Blocking && in.Event == hooks.ToolCall:
			return hooked{}, fmt.Errorf("%w: the %s %s (%s) must approve the call, and it failed: %w. Do not work around it; tell the user", errHook, about.Kind, about.Name, about.At, err)
		case err != nil:
			t.tellOnce("The "+about.Kind+" "+about.Name+" failed.", about.At+": "+err.Error())
			continue
		}
		if a.Notice != "" {
			t.emit(Noticed{Severity: SeverityInfo, Title: "The " + about.Kind + " " + about.Name + " says: " + t.session.opts.Secrets.Hide(a.Notice)})
		}
		if a.Context != "" {
			out.words = append(out.words, hookWords(&about, in.Event, a.Context))
		}
		if a.Block {
			out.blocked = &blockedError{about.Name, a.Reason}
			return out, nil
		}
		out.replace(&in, &a)
	}
	return out, nil
}

// replace takes over what a hook replaces, also for the hooks after it.
func (out *hooked) replace(in *hooks.Input, a *hooks.Answer) {
	switch {
	case in.Event == hooks.ToolCall && a.Input != nil:
		tool := *in.Tool
		tool.Input = a.Input
		in.Tool, out.input = &tool, a.Input
	case in.Event == hooks.ToolResult && a.Result != nil:
		in.Result, out.result = a.Result, a.Result
	case in.Event == hooks.Context && a.Messages != nil:
		in.Messages, out.messages = a.Messages, a.Messages
	case a.Summary != "":
		out.summary = a.Summary
	}
}

// hookWords returns the output of a hook in the form that a model receives.
func hookWords(by *hooks.About, ev hooks.Event, text string) string {
	return "<" + by.Kind + " name=" + quoted(by.Name) + " event=" + quoted(string(ev)) + ">\n" + strings.ReplaceAll(text, "</"+by.Kind+">", "<\\/"+by.Kind+">") + "\n</" + by.Kind + ">"
}

// around runs the hooks for an event without a call. It fails only if the turn ends.
func (t *turnHooks) around(ctx context.Context, ev hooks.Event, fill func(*hooks.Input)) (out hooked, err error) {
	set, err := t.hookSet(ctx, ev, "", "")
	if err != nil || !set.For(ev, "") {
		return hooked{}, err
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
	if s.opts.StartExtensions != nil {
		s.opts.StartExtensions(t.ctx)
	}
	if _, err := t.deliver(DeliverSteer, DeliverFollowUp, DeliverNextTurn); err != nil {
		return err
	}
	var words []string
	s.hooked.mu.Lock()
	first, cleared := !s.hooked.begun, s.hooked.cleared
	s.hooked.begun, s.hooked.cleared = true, false
	s.hooked.mu.Unlock()
	if first || cleared {
		out, err := t.around(t.ctx, hooks.SessionStart, func(in *hooks.Input) { in.Reason, in.From = beginning(s, cleared) })
		if err != nil {
			return err
		}
		words = out.words
	}
	out, err := t.around(t.ctx, hooks.Prompt, func(in *hooks.Input) { in.Prompt = (&providers.Message{Parts: t.parts}).Text() })
	if err != nil {
		return err
	}
	if out.blocked != nil {
		return fmt.Errorf("%w: %w", errPromptBlocked, out.blocked)
	}
	began, err := t.around(t.ctx, hooks.TurnStart, nil)
	if err != nil {
		return err
	}
	if words = slices.Concat(words, out.words, began.words); len(words) == 0 {
		return nil
	}
	return t.do(func(st *state) error {
		return st.appendMessage(sessions.CustomMessage{
			CustomType: "hook", Attribution: "agent", Parts: []providers.Part{providers.Text{Text: strings.Join(words, "\n\n")}},
		})
	})
}

// maxStops bounds how often hooks can make one turn go on.
const maxStops = 5

// endHooks runs the hooks for the end of a turn that was not cancelled. It reports whether a hook makes the turn go on; the model receives
// the reason.
func (t *turnHooks) endHooks(r *TurnResult) (again bool) {
	t.ended = true
	if t.session.opts.Hooks == nil || t.session.child || t.idle || t.ctx.Err() != nil {
		return false
	}
	out, err := t.around(t.ctx, hooks.TurnEnd, func(in *hooks.Input) { // around reports failures; the turn reports a cancellation
		in.Reason, in.Attempt = string(r.Stop), t.stops
		if r.Err != nil {
			in.Reason = "error"
		}
	})
	if err == nil && out.blocked == nil && t.followUp(r) {
		t.ended = false
		return true
	}
	if err != nil || out.blocked == nil || r.Err != nil || r.Stop != StopEndTurn {
		return false
	}
	if t.stops++; t.stops > maxStops {
		t.tellOnce("The turn ends although a hook wants it to go on.", fmt.Sprintf("%v (%d times)", out.blocked, maxStops))
		return false
	}
	t.ended = t.do(func(st *state) error { return st.remind("hook", "A hook asks you to go on: "+out.blocked.Error()) }) != nil
	return !t.ended
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
	for _, h := range s.opts.Hooks().Handlers() {
		if h.For(hooks.SessionEnd, "") && ctx.Err() == nil {
			_, _ = h.Run(ctx, hookRunner{s.opts.Programs}, s.hookInput(hooks.SessionEnd)) // no client is left to receive the result
		}
	}
}

// errCompactionCancelled is wrapped by the error of a compaction that a hook has cancelled.
var errCompactionCancelled = errors.New("a hook cancels the compaction")

// compactHooks runs the hooks around a compaction. The summary must preserve the words that it returns; with a summary, no model writes
// one.
func (t *turnHooks) compactHooks(ctx context.Context, ev hooks.Event, reason contextwindow.Reason) (words, summary string, err error) {
	out, err := t.around(ctx, ev, func(in *hooks.Input) { in.Reason = string(reason) })
	if err == nil && out.blocked != nil && ev == hooks.BeforeCompact {
		err = fmt.Errorf("%w: %w", errCompactionCancelled, out.blocked)
	}
	return strings.Join(out.words, "\n"), out.summary, err
}

// observe runs the hooks for an event that they cannot influence. It is for what has happened already.
func (t *turnHooks) observe(ev hooks.Event, fill func(*hooks.Input)) {
	if t.session.opts.Hooks != nil {
		_, _ = t.around(t.ctx, ev, fill) // it fails only if the turn ends
	}
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

// callHooks runs the hooks before a call, which may forbid it or replace its input. The call is already allowed, so the hooks see the
// call that will run; with another input it is planned and judged again. Afterwards the mode is checked again, because hooks take time.
func (r *toolRun) callHooks(ctx context.Context, call *Call) (run *Call, words []string, err error) {
	t := r.turn
	set, err := t.hooks.hookSet(ctx, hooks.ToolCall, call.Name, call.ID)
	if err != nil || !set.For(hooks.ToolCall, call.Name) {
		return call, nil, err
	}
	in := t.session.hookInput(hooks.ToolCall)
	in.Tool = r.toolInput(call)
	out, err := t.hooks.runHooks(ctx, set, in, call.Name)
	switch {
	case err != nil:
		return nil, nil, err
	case out.blocked != nil:
		return nil, nil, fmt.Errorf("%w: %w", errHook, out.blocked)
	case out.input == nil:
		return call, out.words, r.refused()
	}
	if out.input.Kind() != '{' {
		return nil, nil, fmt.Errorf("%w: a hook replaced the input by something that is no object", errHook)
	}
	again := r.newCall(out.input)
	r.permit, r.known = approval.Permit{}, nil
	note := "<hook event=\"tool_call\">\nA hook has replaced the input of this call; it ran with:\n" + text.TruncateBytes(string(out.input), 4<<10) + "\n</hook>"
	return again, append(out.words, note), r.plans(ctx, again)
}

// permissionHooks asks the hooks about a question to the user. A hook can answer it with no; the error says why.
func permissionHooks(ctx context.Context, r *toolRun, title string) error {
	t := r.turn
	if t.session.opts.Hooks == nil || r.plan == nil {
		return nil
	}
	set, err := t.hooks.hookSet(ctx, hooks.Permission, r.call.Name, r.call.ID)
	if err != nil || !set.For(hooks.Permission, r.call.Name) {
		return err
	}
	in := t.session.hookInput(hooks.Permission)
	in.Tool, in.Question = r.toolInput(r.newCall(r.call.Input)), title
	out, err := t.hooks.runHooks(ctx, set, in, r.call.Name)
	if err == nil && out.blocked != nil {
		err = fmt.Errorf("%w: %w", errHook, out.blocked)
	}
	return err
}

// resultHooks runs the hooks that follow a call, and returns the text that they add to its result for the model.
func (r *toolRun) resultHooks(ctx context.Context, call *Call, res *Result) []string {
	t := r.turn
	set, err := t.hooks.hookSet(ctx, hooks.ToolResult, call.Name, call.ID)
	if err != nil || !set.For(hooks.ToolResult, call.Name) {
		return nil
	}
	in := t.session.hookInput(hooks.ToolResult)
	in.Tool, in.Result = r.toolInput(call), &hooks.ResultInput{Text: res.Text, IsError: res.IsError}
	out, _ := t.hooks.runHooks(ctx, set, in, call.Name) // an error is that the turn ends
	if out.result != nil {
		res.Text, res.IsError, res.Images = out.result.Text, out.result.IsError, nil
		res.Content = append(res.Content, TextContent{"A hook has replaced the result for the model:\n\n" + out.result.Text})
	}
	if out.blocked != nil {
		out.words = append(out.words, out.blocked.Error())
	}
	return out.words
}

// contextHooks lets hooks rewrite the messages of a request. If what they return cannot be sent, the request stays as it is, and the user
// is notified.
func (t *turnHooks) contextHooks(ctx context.Context, req *providers.Request) error {
	if t.session.opts.Hooks == nil {
		return nil
	}
	out, err := t.around(ctx, hooks.Context, func(in *hooks.Input) { in.Messages = hookMessages(req.Messages) })
	if err != nil || out.messages == nil {
		return err
	}
	messages, err := rewritten(req.Messages, out.messages)
	if err != nil {
		t.tellOnce("What a hook made of the messages cannot be sent, so the request stays as it is.", err.Error())
		return nil
	}
	req.Messages = messages
	return nil
}

// hookMessages returns messages in the form that hooks read.
func hookMessages(messages []providers.Message) []hooks.MessageInput {
	all := make([]hooks.MessageInput, len(messages))
	for i := range messages {
		m := &messages[i]
		all[i] = hooks.MessageInput{Index: i, Role: string(m.Role), Text: m.Text(), CallID: m.ToolCallID}
		for _, p := range m.Parts {
			switch p := p.(type) {
			case providers.ToolCall:
				all[i].Calls = append(all[i].Calls, hooks.CallInput{ID: p.ID, Name: p.Name, Input: p.Input})
			case providers.Image:
				all[i].Images++
			default:
			}
		}
	}
	return all
}

// rewritten returns the messages that a hook's answer describes. Each call must keep its result and the other way round, because model
// APIs refuse anything else.
func rewritten(messages []providers.Message, answer []hooks.MessageInput) ([]providers.Message, error) {
	var all []providers.Message
	last := -1
	for _, a := range answer {
		switch {
		case a.Index < 0:
			role := providers.Role(a.Role)
			if role != providers.RoleUser && role != providers.RoleAssistant || a.Text == "" {
				return nil, errors.New("an added message needs the role user or assistant, and a text")
			}
			all = append(all, providers.Message{Role: role, Parts: []providers.Part{providers.Text{Text: a.Text}}})
			continue
		case a.Index >= len(messages):
			return nil, fmt.Errorf("there is no message %d", a.Index)
		case a.Index <= last:
			return nil, fmt.Errorf("the message %d is not after %d", a.Index, last)
		}
		last = a.Index
		m := messages[a.Index]
		if a.Text != "" && a.Text != m.Text() {
			m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), func(p providers.Part) bool { _, is := p.(providers.Text); return is })
			m.Parts = append([]providers.Part{providers.Text{Text: a.Text}}, m.Parts...)
		}
		all = append(all, m)
	}
	if len(all) == 0 {
		return nil, errors.New("no message is left")
	}
	return all, paired(all)
}

// paired reports a call without its result, or a result without its call.
func paired(messages []providers.Message) error {
	open := make(map[string]bool)
	for i := range messages {
		m := &messages[i]
		if m.Role == providers.RoleTool {
			if !open[m.ToolCallID] {
				return fmt.Errorf("the result of the call %s has no call", m.ToolCallID)
			}
			delete(open, m.ToolCallID)
			continue
		}
		for id := range open {
			return fmt.Errorf("the call %s has no result", id)
		}
		for _, p := range m.Parts {
			if call, ok := p.(providers.ToolCall); ok {
				open[call.ID] = true
			}
		}
	}
	for id := range open {
		return fmt.Errorf("the call %s has no result", id)
	}
	return nil
}
