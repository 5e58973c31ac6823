package agent

import (
	"context"
	"errors"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/gajae-code/gjc/agent/contextwindow"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// ReplayOptions adjusts [Replay]. Every field is optional.
type ReplayOptions struct {
	// Tools describe calls of which only the input is known, as in files of other programs. They have no side effects. Without
	// them, such a call shows the name of its tool and its most descriptive argument.
	Tools []Tool
	// Workspace is the base of relative paths in such calls.
	Workspace Workspace
	// Running reports that a turn is running, so that open calls at the end are not shown as interrupted.
	Running bool
}

// Replay returns the events of a stored conversation as they looked live, each with its entry, including the compacted
// part. The branch is as from [Log.Branch]. A call and its end belong to the answer that made the call. The events and
// their IDs are the same each time; Replay reads only the branch.
//
// The events do not include the session's title, mode and usage.
func Replay(branch []sessions.Entry, opts *ReplayOptions) iter.Seq2[sessions.Entry, Event] {
	if opts == nil {
		opts = new(ReplayOptions)
	}
	return func(yield func(sessions.Entry, Event) bool) {
		r := &replay{ReplayOptions: *opts, ctx: context.Background()}
		r.yield = func(ev Event) bool { return yield(r.at, ev) }
		clear := slices.IndexFunc(branch, isClear)
		for clear >= 0 { // the last one counts
			branch = branch[clear+1:]
			clear = slices.IndexFunc(branch, isClear)
		}
		_ = r.all(func(yield func(sessions.Entry, error) bool) { // reading from memory does not fail
			for _, e := range branch {
				if !yield(e, nil) {
					return
				}
			}
		})
	}
}

func isClear(e sessions.Entry) bool {
	c, ok := e.(sessions.Custom)
	return ok && c.CustomType == customClear
}

// Replay returns the events of the conversation so far, like the function [Replay]. It reads the conversation incrementally, and
// ends with an error if that fails. It replays a running call up to its current state; later events follow, because the session
// pauses while it replays such a call. The loop over the events must therefore not call the session.
func (s *Session) Replay() (iter.Seq2[Event, error], error) {
	var entries iter.Seq2[sessions.Entry, error]
	live := make(map[string]bool)
	running := false
	if err := s.do(func(st *state) error {
		entries = s.opts.Log.Walk()
		running = st.turn != nil || len(st.waiting) > 0
		if st.turn != nil {
			for _, c := range st.turn.calls {
				live[c.id] = true
			}
		}
		return nil
	})(); err != nil {
		return nil, err
	}
	return func(yield func(Event, error) bool) {
		r := &replay{
			ReplayOptions: ReplayOptions{Tools: s.opts.Tools.Tools(), Workspace: s.opts.Workspace, Running: running},
			ctx:           s.ctx, session: s, running: live,
		}
		r.yield = func(ev Event) bool { return yield(ev, nil) }
		if err := r.all(entries); err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}, nil
}

// Branch returns the entries of the conversation, like [Log.Branch].
func (s *Session) Branch() ([]sessions.Entry, error) {
	var branch []sessions.Entry
	err := s.do(func(*state) error {
		var err error
		branch, err = s.opts.Log.Branch()
		return err
	})()
	return branch, err
}

// MessageID returns the ID under which a client knows an entry: its message's, or its own if the message has none, as
// in files of another program.
func MessageID(e sessions.Entry) string {
	if m, ok := e.(sessions.MessageEntry); ok && m.Message.ID != "" {
		return m.Message.ID
	}
	return e.Ref().ID
}

// replay is the state of a replay.
type replay struct {
	ReplayOptions
	ctx   context.Context //nolint:containedctx // bounds the plans of old calls
	yield func(Event) bool

	// at is the current entry, index is its position, and results holds the results of its calls.
	at         sessions.Entry
	index      int
	results    map[string][]*providers.Message
	shownCalls map[string]bool
	// shown replaces the text of the next user message; empty for none.
	shown string

	// opened receives the calls of answers, whose ends follow; nil if the results are known.
	opened func(providers.ToolCall, ToolStarted)

	// session is nil for a stored conversation. running holds the calls of the last answer that had no result when the replay
	// began, live those of the current answer.
	session *Session
	running map[string]bool
	live    map[string]bool
}

// errStopped ends a replay whose consumer has stopped.
var errStopped = errors.New("the replay was stopped")

// all replays the entries of a conversation. It holds only one answer at a time, with the entries up to the next one,
// which include the results of its calls.
func (r *replay) all(entries iter.Seq2[sessions.Entry, error]) error {
	r.shownCalls = make(map[string]bool)
	var answer []sessions.Entry // the last answer and the entries after it; before the first answer, the last entry
	for e, err := range entries {
		if err != nil {
			return err
		}
		if !isAnswer(e) {
			if len(answer) == 0 || !isAnswer(answer[0]) {
				if !r.step(e) {
					return errStopped
				}
				if saysTurn(e) {
					answer = []sessions.Entry{e}
				}
				continue
			}
			answer = append(answer, e)
			continue
		}
		if !r.answer(answer) {
			return errStopped
		}
		answer = append(answer[:0:0], e)
	}
	r.live = r.running
	if !r.answer(answer) {
		return errStopped
	}
	r.end(answer)
	return nil
}

// end replays the end of a conversation: whether it ends within a turn.
func (r *replay) end(last []sessions.Entry) {
	if r.Running || !interrupted(last) {
		return
	}
	r.yield(Noticed{
		ID: r.id() + "-interrupted", Severity: SeverityWarning, Title: "The turn was interrupted.",
		Detail: "The answer to the last prompt is incomplete. A new prompt continues from here.",
	})
}

// Following makes events of the entries of a conversation while another process appends them: those that [Replay] returns, each as soon as
// its entry is there. A call begins with its answer and ends with its result, and what is stored between them comes between them. One
// goroutine uses it at a time.
type Following struct {
	replay replay
	answer []sessions.Entry // the last answer and the entries after it; before the first answer, the last entry
	open   []openCall       // those of the last answer without a result, in order
	events []Event
}

// openCall is a call without a result, as it was shown. cut reports whether it was shown as interrupted, because a prompt has followed.
type openCall struct {
	call    providers.ToolCall
	started ToolStarted
	cut     bool
}

// NewFollowing returns a following of a conversation from its start. opts may be nil.
func NewFollowing(opts *ReplayOptions) *Following {
	f := &Following{replay: replay{ctx: context.Background(), shownCalls: make(map[string]bool)}}
	if opts != nil {
		f.replay.ReplayOptions = *opts
	}
	f.replay.yield = func(ev Event) bool { f.events = append(f.events, ev); return true }
	f.replay.opened = func(c providers.ToolCall, started ToolStarted) {
		f.open = append(f.open, openCall{call: c, started: started})
	}
	return f
}

// Add returns the events that follow from a new entry.
func (f *Following) Add(e sessions.Entry) []Event {
	answering := len(f.answer) > 0 && isAnswer(f.answer[0])
	switch {
	case isAnswer(e):
		f.cut()
		f.open, f.answer = nil, []sessions.Entry{e}
	case answering:
		f.answer = append(f.answer, e)
	case saysTurn(e):
		f.answer = []sessions.Entry{e}
	}
	if startsTurn(e) {
		f.cut()
	}
	if m, ok := e.(sessions.MessageEntry); ok && m.Message.Role == providers.RoleTool {
		f.result(&m.Message)
	}
	f.replay.step(e)
	return f.take()
}

func (f *Following) take() []Event {
	events := f.events
	f.events = nil
	return events
}

// result ends the call that a result belongs to, if that is open.
func (f *Following) result(m *providers.Message) {
	i := slices.IndexFunc(f.open, func(o openCall) bool { return o.call.ID == m.ToolCallID })
	if i < 0 {
		return
	}
	o := f.open[i]
	f.open = slices.Delete(f.open, i, i+1)
	shown := f.replay.past(o.call, m)
	if !reflect.DeepEqual(shown.started, o.started) { // the result has more about the call
		f.replay.yield(ToolProgress{
			CallID: o.call.ID, Title: shown.started.Title, Kind: shown.started.Kind,
			Content: append([]Content{}, shown.started.Content...), Locations: append([]Location{}, shown.started.Locations...),
		})
	}
	f.replay.ended(o.call, m, &shown)
}

// cut shows the open calls as interrupted.
func (f *Following) cut() {
	for i := range f.open {
		if o := &f.open[i]; !o.cut {
			o.cut = true
			shown := f.replay.past(o.call, nil)
			f.replay.ended(o.call, nil, &shown)
		}
	}
}

// End returns the events that follow from the end of the process that appends: open calls and an open turn are shown as interrupted.
// Another process may go on.
func (f *Following) End() []Event {
	f.cut()
	f.replay.end(f.answer)
	f.open, f.answer = nil, nil
	return f.take()
}

func isAnswer(e sessions.Entry) bool {
	m, ok := e.(sessions.MessageEntry)
	return ok && m.Message.Role == providers.RoleAssistant
}

// startsTurn reports whether an entry is a prompt, or the start of a turn without one. No call of an earlier turn is open then.
func startsTurn(e sessions.Entry) bool {
	switch e := e.(type) {
	case sessions.MessageEntry:
		return e.Message.Role == providers.RoleUser && (e.Role == "" || e.Role == string(providers.RoleUser))
	case sessions.CustomMessage:
		return e.CustomType == customOwnTurn
	}
	return false
}

// saysTurn reports whether an entry counts for [interrupted].
func saysTurn(e sessions.Entry) bool {
	switch e := e.(type) {
	case sessions.MessageEntry, sessions.CustomMessage, sessions.BranchSummary:
		return true
	case sessions.Custom:
		return e.CustomType == customFailed || e.CustomType == customEnded
	}
	return false
}

// answer replays an answer and the entries after it. It does nothing if the first entry is not an answer.
func (r *replay) answer(entries []sessions.Entry) bool {
	if len(entries) == 0 || !isAnswer(entries[0]) {
		return true
	}
	r.answers(entries)
	for _, e := range entries {
		if !r.step(e) {
			return false
		}
	}
	return true
}

func (r *replay) step(e sessions.Entry) bool {
	if r.at != nil {
		r.index++
	}
	r.at = e
	return r.entry(e)
}

// interrupted reports whether a branch ends within a turn: with an unanswered prompt, with a call without a result, or with results that no
// answer follows. The end of a turn that ended so is recorded.
func interrupted(branch []sessions.Entry) bool {
	results := 0
	for i := len(branch) - 1; i >= 0; i-- {
		switch e := branch[i].(type) {
		case sessions.MessageEntry:
			switch e.Message.Role {
			case providers.RoleTool:
				results++
			case providers.RoleAssistant:
				return len(e.Message.ToolCalls()) > 0
			default:
				// Roles of other programs record what the user did without a model.
				return results == 0 && startsTurn(e)
			}
		case sessions.CustomMessage, sessions.BranchSummary:
			return false
		case sessions.Custom:
			if e.CustomType == customFailed || e.CustomType == customEnded {
				return false
			}
		default:
		}
	}
	return false
}

// answers collects the results of the calls in the answer that entries begin with. Some models reuse call IDs.
func (r *replay) answers(entries []sessions.Entry) {
	r.results = make(map[string][]*providers.Message)
	for _, e := range entries[1:] {
		m, ok := e.(sessions.MessageEntry)
		switch {
		case !ok:
		case m.Message.Role == providers.RoleTool:
			r.results[m.Message.ToolCallID] = append(r.results[m.Message.ToolCallID], &m.Message)
		case m.Message.Role == providers.RoleAssistant:
			return
		}
	}
}

// result removes and returns the next result of a call with that ID, or nil if there is none.
func (r *replay) result(id string) *providers.Message {
	all := r.results[id]
	if len(all) == 0 {
		return nil
	}
	r.results[id] = all[1:]
	return all[0]
}

func (r *replay) entry(e sessions.Entry) bool {
	m := providers.Message{Role: providers.RoleUser}
	switch e := e.(type) {
	case sessions.MessageEntry:
		m = e.Message
	case sessions.CustomMessage:
		if plan, ok := planOfEdit(&e); ok {
			return r.yield(PlanChanged{Entries: plan})
		}
		if !e.Display {
			return true
		}
		var own ownTurn
		if e.CustomType == customOwnTurn && jsonx.Unmarshal(e.Details, &own) == nil && own.Title != "" {
			return r.yield(own.notice(r.id()))
		}
		m.Parts = e.Parts
	case sessions.BranchSummary:
		m.Parts = []providers.Part{providers.Text{Text: e.Summary}}
	case sessions.Custom:
		return r.custom(&e)
	case sessions.Compaction:
		return r.yield(compactionEvent(r.id(), &e))
	default:
		return true
	}
	m.ID = r.id()
	return r.message(&m)
}

// custom replays an entry of gjc that is not a message.
func (r *replay) custom(e *sessions.Custom) bool {
	switch e.CustomType {
	case customFailed:
		return r.failed(e)
	case customShown:
		if jsonx.Unmarshal(e.Data, &r.shown) != nil {
			r.shown = ""
		}
	case customUserCall:
		var c userCall
		if jsonx.Unmarshal(e.Data, &c) == nil && c.ID != "" {
			return r.call(c.message())
		}
	}
	return true
}

// id returns the [MessageID] of the current entry.
func (r *replay) id() string {
	if id := MessageID(r.at); id != "" {
		return id
	}
	return "entry-" + strconv.Itoa(r.index) // a log in memory
}

func (r *replay) message(m *providers.Message) bool {
	switch m.Role {
	case providers.RoleUser:
		return r.user(m)
	case providers.RoleAssistant:
		return r.assistant(m)
	case providers.RoleTool:
		if r.shownCalls[m.ToolCallID] {
			return true
		}
		// A result without its call: the call was compacted away, or another program wrote the file.
		return r.call(providers.ToolCall{ID: m.ToolCallID, Name: m.ToolName}, m)
	}
	return true
}

func (r *replay) user(m *providers.Message) bool {
	w := words{replay: r, id: m.ID}
	shown := r.shown
	r.shown = ""
	if shown != "" {
		w.say(SpeakerUser, shown)
	}
	for _, p := range m.Parts {
		switch p := p.(type) {
		case providers.Text:
			if shown == "" {
				w.say(SpeakerUser, p.Text)
			}
		case providers.Image:
			if !w.flush() || !r.yield(MessageDelta{MessageID: m.ID, Speaker: SpeakerUser, Content: ImageContent{p}}) {
				return false
			}
		default:
		}
	}
	return w.flush()
}

// silentAbort is the error of an answer that another program interrupted without showing the interruption.
const silentAbort = "__gjc.silent_abort__"

func (r *replay) assistant(m *providers.Message) bool {
	w := words{replay: r, id: m.ID}
	empty := true
	for _, p := range m.Parts {
		ok := true
		switch p := p.(type) {
		case providers.Text:
			ok = w.say(SpeakerAgent, p.Text)
			empty = empty && p.Text == ""
		case providers.Thinking:
			ok = w.say(SpeakerThought, p.Text)
			empty = empty && p.Text == ""
		case providers.ToolCall:
			empty = false
			if ok = w.flush(); !ok {
				return false
			}
			switch {
			case r.opened != nil:
				shown := r.past(p, nil)
				ok = r.yield(shown.started)
				r.opened(p, shown.started)
			case r.live[p.ID]:
				ok = r.liveCall(p)
			default:
				ok = r.call(p, r.result(p.ID))
			}
		default:
		}
		if !ok {
			return false
		}
	}
	if empty && m.Error != silentAbort {
		w.say(SpeakerAgent, m.Error)
	}
	return w.flush()
}

// words joins consecutive parts of a message from one speaker.
type words struct {
	*replay
	id      string
	speaker Speaker
	text    strings.Builder
}

func (w *words) say(speaker Speaker, text string) bool {
	if text == "" {
		return true
	}
	if speaker != w.speaker && !w.flush() {
		return false
	}
	w.speaker = speaker
	w.text.WriteString(text)
	return true
}

// flush yields the text collected so far.
func (w *words) flush() bool {
	if w.text.Len() == 0 {
		return true
	}
	text := w.text.String()
	w.text.Reset()
	return w.yield(MessageDelta{MessageID: w.id, Speaker: w.speaker, Text: text})
}

// compactionEvent returns the event of a stored compaction.
func compactionEvent(id string, e *sessions.Compaction) CompactionChanged {
	ev := CompactionChanged{
		ID: id, Status: CompactionCompleted, Summary: e.Summary, ShortSummary: e.ShortSummary, Before: e.TokensBefore,
	}
	ev.Reason, ev.After = contextwindow.Details(e)
	return ev
}
