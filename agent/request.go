package agent

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/gajae-code/gjc/agent/contextwindow"
	"github.com/gajae-code/gjc/agent/faults"
	"github.com/gajae-code/gjc/agent/hooks"
	"github.com/gajae-code/gjc/agent/userfiles"
	"github.com/gajae-code/gjc/internal/bug"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/providers"
)

// ContextUse describes the use of a model's window, in tokens. All numbers except Used and Size are estimates.
type ContextUse struct {
	// Used is the size of the last request; zero if it is unknown. Size is that of the window.
	Used, Size int
	// Next is the size of the next request without its prompt.
	Next int
	// System, Tools and Conversation are the parts of the next request.
	System, Tools, Conversation int
	ToolCount, Messages         int
}

// ContextUse returns the use of the model's window.
func (s *Session) ContextUse(ctx context.Context) (ContextUse, error) {
	var view requestState
	if err := s.do(func(st *state) error {
		view = st.request()
		return nil
	})(); err != nil {
		return ContextUse{}, err
	}
	set, err := toolsFor(s, &view)
	if err != nil {
		return ContextUse{}, err
	}
	w := &view.window
	use := ContextUse{
		Used: w.Usage().Context(), Size: view.model.ContextWindow, Conversation: contextwindow.Estimate(&view.model, w.Messages),
		ToolCount: len(set.active), Messages: len(w.Messages), System: contextwindow.Tokens(len(prompter{s}.systemPrompt(ctx, view.mode, set.stable()))),
	}
	for _, tool := range set.active {
		spec := tool.Spec()
		use.Tools += contextwindow.Tokens(len(spec.Name) + len(spec.Description) + len(spec.Schema))
	}
	w.SetOverhead(use.System + use.Tools)
	use.Next = w.Next(&view.model)
	return use, nil
}

// requestState is the part of a session's state from which a request is built.
type requestState struct {
	choices
	window contextwindow.Window
}

// request returns the state for a request, with its own copy of the messages.
func (st *state) request() requestState { return requestState{st.choices, st.window.Clone()} }

// assemble builds a request.
func (s *Session) assemble(ctx context.Context, view *requestState, set *toolset) *providers.Request {
	req := &providers.Request{
		System:   prompter{s}.briefed(prompter{s}.systemPrompt(ctx, view.mode, set.stable())),
		Messages: contextwindow.Messages(view.window.Messages, view.model.Images),
		Thinking: view.thinking, ServiceTier: view.tier,
		SessionID: s.opts.ID,
		HasCall:   s.opts.Log.HasCall,
	}
	set.request(ctx, s, req)
	return req
}

// maxOutputSchema bounds the schema of an answer, in bytes.
const maxOutputSchema = 2 << 20

// NewOutput returns the format of an answer that fits a JSON Schema, which must be that of an object.
func NewOutput(schema jsonx.Raw) (*providers.OutputFormat, error) {
	if len(schema) > maxOutputSchema {
		return nil, fmt.Errorf("the JSON Schema has more than %d MiB", maxOutputSchema>>20)
	}
	parsed := new(jsonschema.Schema)
	if err := jsonx.Unmarshal(schema, parsed); err != nil {
		return nil, fmt.Errorf("it is no JSON Schema: %w", err)
	}
	if _, err := parsed.Resolve(nil); err != nil {
		return nil, fmt.Errorf("it is no JSON Schema that can be checked: %w", err)
	}
	if parsed.Type != "object" {
		return nil, errors.New("the root of the JSON Schema must have the type \"object\"")
	}
	return &providers.OutputFormat{Name: "answer", Schema: schema}, nil
}

// attempt makes one model request and emits the answer as it arrives. It retries after a temporary failure, and notifies the user.
// On an error it returns the part of the answer that arrived, or nil if there is none.
func (t *requester) attempt(ctx context.Context) (*providers.Message, error) {
	for failed := 1; ; failed++ {
		model, req, err := t.request(ctx)
		if err != nil {
			fell, ferr := t.fallBack(ctx, err)
			if fell {
				failed = 0
				continue
			}
			return nil, cmp.Or(ferr, err)
		}
		t.watchRules(ctx)
		msg, err := t.stream(ctx, model, req)
		if err == nil && failed > 1 {
			t.hooks.observe(hooks.RetryEnd, func(in *hooks.Input) { in.Attempt = failed - 1 })
		}
		if err == nil || ctx.Err() != nil || len(t.rules.broke) > 0 {
			return msg, err
		}
		warnOfQuotas(t.RunningTurn)
		if err := t.again(ctx, failed, err); err != nil {
			fell, ferr := t.fallBack(ctx, err)
			if ferr != nil {
				return msg, errors.Join(err, ferr)
			}
			if !fell {
				return msg, err
			}
			failed = 0
		}
		t.drop(t.model, msg)
	}
}

// again waits for the next attempt after a model call has failed failed times, and notifies the user. If there is no further
// attempt, it returns the final error of the call.
func (t *requester) again(ctx context.Context, failed int, err error) error {
	policy := t.session.opts.Retry
	wait, again := policy.Next(failed, err)
	if !again {
		if failed > 1 {
			t.hooks.observe(hooks.RetryEnd, func(in *hooks.Input) { in.Attempt, in.Reason = failed, t.session.opts.Secrets.Hide(err.Error()) })
			err = fmt.Errorf("%w (tried %d times)", err, failed)
		}
		if asked := policy.Asked(err); asked > 0 {
			at := t.session.opts.Clock().Add(asked)
			err = fmt.Errorf("%w; it can be tried again at %s, in %s", err, at.Format("2006-01-02 15:04 MST"), asked.Round(time.Second))
		}
		return err
	}
	t.hooks.observe(hooks.Retry, func(in *hooks.Input) { in.Attempt, in.Reason = failed, t.session.opts.Secrets.Hide(err.Error()) })
	t.emit(Noticed{
		Severity: SeverityWarning,
		Title: fmt.Sprintf("The model call failed; trying again in %s (attempt %d of %d).",
			wait.Round(100*time.Millisecond), failed+1, policy.Tries()),
		Detail: err.Error(),
	})
	return policy.Wait(ctx, wait)
}

// request assembles the next request from the session's state.
func (t *requester) request(ctx context.Context) (providers.Model, *providers.Request, error) {
	s := t.session
	var view requestState
	if err := t.do(func(st *state) error {
		if err := st.takeSteers(); err != nil {
			return err
		}
		if err := (previews{st}).remindLeft(); err != nil {
			return err
		}
		st.turn.closed = st.turn.closed || t.last
		t.model, t.tier = st.model, st.tier
		view = st.request()
		return nil
	}); err != nil {
		return nil, nil, err
	}
	model, err := s.opts.Models.Open(ctx, view.model)
	if err != nil {
		return nil, nil, err
	}
	output := t.prompt.Output
	if info := model.Info(); output != nil && !info.StructuredOutput {
		return nil, nil, &providers.Error{
			Kind: providers.KindOutput, Provider: info.Provider, Model: info.ID,
			Message: "the model does not take a JSON Schema for its answer; if its API does, set structuredOutput: true in models.yml",
		}
	}
	if t.tools, err = toolsFor(s, &view); err != nil {
		return nil, nil, err
	}
	req := s.assemble(ctx, &view, t.tools)
	req.Output = output
	if err := t.hooks.contextHooks(ctx, req); err != nil {
		return nil, nil, err
	}
	overhead := contextwindow.RequestOverhead(req)
	err = t.do(func(st *state) error {
		st.window.SetOverhead(overhead)
		finds{st}.noticeCuts(t.tools)
		if output == nil {
			req.ForceTool = previews{st}.forcedTool(t.tools.active)
		}
		return nil
	})
	return model, req, err
}

// stream runs one request and returns the whole answer. On an error it returns the part of the answer that arrived and its known
// usage, or nil if no answer had begun.
func (t *requester) stream(ctx context.Context, model providers.Model, req *providers.Request) (*providers.Message, error) {
	id := t.session.opts.NewID()
	said := partial{id: id, info: new(model.Info())}
	var repetitions faults.Repetitions
	speech := speech{turn: t.Turn, ahead: make(chan struct{}, deltasAhead)}
	plans := planWriter{say: speech.say, offered: find(t.tools.active, PresentTool) != nil}
	defer func() { plans.end() }()
	for ev, err := range model.Stream(ctx, req) {
		if err != nil {
			return said.message(), contextwindow.StreamError(ctx, err)
		}
		said.add(ev)
		switch ev := ev.(type) {
		case providers.TextDelta:
			speech.say(MessageDelta{MessageID: id, Speaker: SpeakerAgent, Text: ev.Text})
		case providers.ThinkingDelta:
			speech.say(MessageDelta{MessageID: id, Speaker: SpeakerThought, Text: ev.Text})
		case providers.ToolCallStart, providers.ToolCallDelta:
			plans.add(ev) // other calls are emitted when they are complete
		case providers.Done:
			msg := ev.Message
			msg.ID = id
			if t.rules.look(ev) {
				return &msg, brokenOff(said.info)
			}
			plans.complete()
			return &msg, nil
		default:
		}
		if block := repetitions.Add(ev); block > 0 && t.model.API != offlineAPI {
			msg := said.message()
			return msg, repeats(msg, block)
		}
		if t.rules.look(ev) {
			return said.message(), brokenOff(said.info)
		}
		if ctx.Err() != nil {
			// Stop reading a model that continues after its context has ended.
			return said.message(), context.Cause(ctx)
		}
	}
	return said.message(), bug.Errorf("model %s ended its stream without an end event", said.info.Ref())
}

// deltasAhead is the maximum number of a model's deltas that may wait for the actor. Waiting for each would cost two goroutine
// switches for a few words. Without a limit, the backlog of a slow editor could grow without bound.
const deltasAhead = 32

// speech emits the deltas of one answer, in order. Later events follow them in the actor's queue.
type speech struct {
	turn *Turn
	// ahead holds a token for each delta that the actor has not emitted yet.
	ahead chan struct{}
}

func (s *speech) say(ev Event) {
	s.ahead <- struct{}{}
	posted := s.turn.session.box.post(func(st *state) {
		defer func() { <-s.ahead }()
		if st.runs(s.turn) && st.turn.note(ev) {
			st.emit(ev)
		}
	})
	if !posted {
		<-s.ahead
	}
}

// planWriter emits the plans of an answer as they arrive.
type planWriter struct {
	say     func(Event)
	offered bool                           // whether the model may present a plan
	open    map[string]*jsonx.StringMember // the plans, by the IDs of their calls
	said    map[string]bool                // those of which text was emitted
}

// add reads an event of a stream.
func (w *planWriter) add(ev providers.Event) {
	switch ev := ev.(type) {
	case providers.ToolCallStart:
		if !w.offered || ev.Name != PresentTool {
			return
		}
		if w.open == nil {
			w.open, w.said = make(map[string]*jsonx.StringMember), make(map[string]bool)
		}
		w.open[ev.ID] = jsonx.NewStringMember("plan")
	case providers.ToolCallDelta:
		m := w.open[ev.ID]
		if m == nil {
			return
		}
		if text := m.Add(ev.Input); text != "" {
			w.said[ev.ID] = true
			w.say(PlanText{CallID: ev.ID, Text: text})
		}
	}
}

// complete records that the calls of the answer follow.
func (w *planWriter) complete() { w.said = nil }

// end withdraws the plans whose calls do not follow.
func (w *planWriter) end() {
	for _, id := range slices.Sorted(maps.Keys(w.said)) {
		w.say(PlanText{CallID: id})
	}
}

// partial collects an answer as it arrives.
type partial struct {
	id    string
	info  *providers.ModelInfo
	build providers.Builder
	used  contextwindow.Meter
}

func (p *partial) add(ev providers.Event) {
	p.build.Add(ev)
	p.used.Add(ev)
}

// message returns the part that has arrived; nil for none.
func (p *partial) message() *providers.Message {
	if !p.used.Begun {
		return nil
	}
	msg := p.build.Message()
	msg.ID, msg.API, msg.Provider, msg.Model = p.id, p.info.API, p.info.Provider, p.info.ID
	msg.Usage = p.used.Usage
	return &msg
}

// validInput returns a call's input as an object, or an error that says what is wrong with it.
func validInput(c providers.ToolCall) (jsonx.Raw, error) {
	if len(c.Input) == 0 {
		return jsonx.Raw("{}"), nil
	}
	err := jsonx.ReadObject(c.Input, func([]byte, jsonx.Raw) error { return nil })
	if err != nil {
		return nil, fmt.Errorf("%w: the arguments of %s are not a JSON object: %w", ErrBadInput, c.Name, err)
	}
	return c.Input, nil
}

func stopReason(r providers.StopReason) StopReason {
	switch r {
	case providers.StopLength:
		return StopMaxTokens
	case providers.StopRefusal:
		return StopRefusal
	default:
		return StopEndTurn
	}
}

//go:embed prompts/title.md
var titlePrompt string

// TitleModel selects the model that names a session whose model is current; it returns false for none.
type TitleModel func(current providers.ModelInfo) (providers.ModelInfo, bool)

const (
	// maxTitled is the size limit of the excerpt of each of the first two messages from which a model makes a title, in
	// bytes.
	maxTitled = 4 << 10
	// maxModelTitle is the maximum length of a model's title, in characters.
	maxModelTitle = 80
)

// nameByModel asks a model for the session's title after its first answer, in the background. It keeps a title that the user has
// set. If the model fails, the title from the first prompt stays.
func (st *state) nameByModel() {
	s := st.session
	if s.opts.TitleModel == nil || st.named || st.closing || s.child {
		return
	}
	said, answered := firstExchange(st.window.Messages)
	if answered == "" {
		return
	}
	st.named = true
	info, ok := s.opts.TitleModel(st.model)
	if !ok {
		return
	}
	s.background.Go(func() { // ends with the session's context
		defer func() {
			if v := recover(); v != nil && s.opts.Panicked != nil {
				s.opts.Panicked("naming a session", v, debug.Stack())
			}
		}()
		var used contextwindow.Meter
		title, err := askTitle(s.ctx, s, info, said, answered, &used)
		s.do(func(st *state) error {
			if used.Begun {
				st.chargeSideUsage(nil, sideUsage("a title", &info, &used, ""))
			}
			if err != nil || title == st.title || s.opts.Log.SetTitle(title, "auto") != nil {
				return nil // the current title stays
			}
			st.title = title
			st.emitInfo()
			return nil
		})
	})
}

// firstExchange returns the user's first text and the model's answer.
func firstExchange(history []providers.Message) (said, answered string) {
	for i := range history {
		switch m := &history[i]; {
		case m.Role == providers.RoleUser && said == "":
			said = m.Text()
		case m.Role == providers.RoleAssistant && m.Error == "" && strings.TrimSpace(m.Text()) != "":
			return said, m.Text()
		}
	}
	return "", ""
}

// askTitle asks a model for a title, once. It passes the usage to used.
func askTitle(ctx context.Context, s *Session, info providers.ModelInfo, said, answered string, used *contextwindow.Meter) (string, error) {
	model, err := s.opts.Models.Open(ctx, info)
	if err != nil {
		return "", err
	}
	hide := s.opts.Secrets.Hide // before the cut, because a secret cut in half would not be found
	said, answered = text.Middle(hide(said), maxTitled), text.Middle(hide(answered), maxTitled)
	req := &providers.Request{
		System: strings.TrimSpace(cmp.Or(ownTitlePrompt(ctx, s), titlePrompt)), Thinking: info.ClampThinking(providers.ThinkingOff), SessionID: s.opts.ID,
		Messages: []providers.Message{contextwindow.UserMessage("<user>\n" + said + "\n</user>\n\n<agent>\n" + answered + "\n</agent>")},
	}
	for ev, err := range model.Stream(ctx, req) {
		if err != nil {
			return "", err
		}
		used.Add(ev)
		if done, ok := ev.(providers.Done); ok {
			title, ok := titleIn(done.Message.Text())
			if !ok {
				return "", errors.New("the model gave no title")
			}
			return title, nil
		}
	}
	return "", errors.New("the model gave no title")
}

// ownTitlePrompt returns the user's or the project's prompt for titles, or "".
func ownTitlePrompt(ctx context.Context, s *Session) string {
	p := prompter{s}
	return p.systemFile(ctx, p.promptFiles(s.guidance(ctx)), userfiles.TitleFile)
}

// titleIn returns the title in a model's answer: its first line without the quotes and marks that models add.
func titleIn(text string) (string, bool) {
	for line := range strings.Lines(text) {
		line = strings.Join(strings.Fields(strings.ReplaceAll(line, "**", "")), " ")
		line = strings.TrimSpace(strings.TrimLeft(line, "#*-> "))
		if rest, ok := cutPrefixFold(line, "title:"); ok {
			line = strings.TrimSpace(rest)
		}
		line = strings.TrimSuffix(strings.Trim(line, "\"'`*“”«»"), ".")
		if line == "" {
			continue
		}
		if utf8.RuneCountInString(line) > maxModelTitle {
			return "", false // too long to be a title
		}
		return line, true
	}
	return "", false
}

func cutPrefixFold(s, prefix string) (string, bool) {
	if len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix) {
		return s[len(prefix):], true
	}
	return s, false
}

// title names a session by its first prompt.
func (t *RunningTurn) title(prompt string) {
	_ = t.do(func(st *state) error {
		title := quickTitle(prompt)
		if st.title != "" || title == "" {
			return nil
		}
		if err := t.session.opts.Log.SetTitle(title, "auto"); err != nil {
			return err // the next prompt tries again
		}
		st.title = title
		st.emitInfo()
		return nil
	})
}

// maxTitle is the maximum number of characters of a prompt in a title.
const maxTitle = 60

func quickTitle(text string) string {
	for line := range strings.Lines(text) {
		line = strings.Join(strings.Fields(line), " ")
		if line == "" {
			continue
		}
		if utf8.RuneCountInString(line) <= maxTitle {
			return line
		}
		cut := string([]rune(line)[:maxTitle])
		if i := strings.LastIndexByte(cut, ' '); i > maxTitle/2 {
			cut = cut[:i]
		}
		return cut + "…"
	}
	return ""
}
