package agent

import (
	"context"
	"errors"
	"iter"
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
	// Tools say how calls looked of which only the input is known, as in files that another program wrote. They touch
	// nothing. Without them such a call has the name of its tool and its most telling argument.
	Tools []Tool
	// Workspace is what relative paths of such calls belong to.
	Workspace Workspace
	// Running says that a turn goes on: what is open at the end was not cut off.
	Running bool
}

// Replay returns the events of a stored conversation as they looked live, each with the entry that it belongs to: all of
// it, also what was compacted since. The branch is as of [Log.Branch]. A call and its end belong to the answer that made
// the call. The events are the same each time, with the same ids; nothing is read but the branch.
//
// What is not in the events, because a client learns it elsewhere, is the session's title, mode and usage.
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
		_ = r.all(walk(branch, nil)) // what is in memory does not fail
	}
}

func isClear(e sessions.Entry) bool {
	c, ok := e.(sessions.Custom)
	return ok && c.CustomType == customClear
}

// Replay returns the events of the conversation so far, as of the function [Replay]. It reads the conversation as it goes, and
// ends with an error where that fails. A call that runs is replayed as far as it is; its further events follow, because the
// session stands still while such a call is replayed. So the loop over the events must not ask the session for anything.
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

// Branch returns the entries of the conversation, as of [Log.Branch].
func (s *Session) Branch() ([]sessions.Entry, error) {
	var branch []sessions.Entry
	err := s.do(func(*state) error {
		var err error
		branch, err = s.opts.Log.Branch()
		return err
	})()
	return branch, err
}

// MessageID returns the name under which a client is told of an entry: that of its message, or where it has none, as in
// files that another program wrote, the entry's own.
func MessageID(e sessions.Entry) string {
	if m, ok := e.(sessions.MessageEntry); ok && m.Message.ID != "" {
		return m.Message.ID
	}
	return e.Ref().ID
}

// replay is a replay on its way.
type replay struct {
	ReplayOptions
	ctx   context.Context // of the plans of old calls
	yield func(Event) bool

	// at is the entry that is told, index its place; results are those of its calls.
	at      sessions.Entry
	index   int
	results map[string][]*providers.Message
	told    map[string]bool
	// shown is what the next user message is shown as; empty for its own text.
	shown string

	// session is nil for a conversation that is only stored. running are the calls of the last answer that had no result
	// when the replay began, live those of the answer that is told.
	session *Session
	running map[string]bool
	live    map[string]bool
}

// errStopped ends a replay whose consumer has stopped.
var errStopped = errors.New("the replay was stopped")

// all replays the entries of a conversation. It holds no more of them than an answer and what follows it up to the next one:
// the results of its calls are among those.
func (r *replay) all(entries iter.Seq2[sessions.Entry, error]) error {
	r.told = make(map[string]bool)
	var answer []sessions.Entry // the last one, and what follows it; before the first one, the last entry
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
	if !r.Running && interrupted(answer) {
		r.yield(Noticed{
			ID: r.id() + "-interrupted", Severity: SeverityWarning, Title: "The turn was interrupted.",
			Detail: "The last prompt was not answered to its end. A new prompt goes on from here.",
		})
	}
	return nil
}

func isAnswer(e sessions.Entry) bool {
	m, ok := e.(sessions.MessageEntry)
	return ok && m.Message.Role == providers.RoleAssistant
}

// saysTurn reports whether an entry counts for [interrupted].
func saysTurn(e sessions.Entry) bool {
	switch e := e.(type) {
	case sessions.MessageEntry, sessions.CustomMessage, sessions.BranchSummary:
		return true
	case sessions.Custom:
		return e.CustomType == customFailed
	}
	return false
}

// answer replays an answer with what follows it, if it is one.
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

// interrupted reports whether a branch ends within a turn: with a prompt that has no answer, or with a call that has no
// result. A turn that failed has ended.
func interrupted(branch []sessions.Entry) bool {
	results := make(map[string]int)
	for i := len(branch) - 1; i >= 0; i-- {
		switch e := branch[i].(type) {
		case sessions.MessageEntry:
			switch e.Message.Role {
			case providers.RoleTool:
				results[e.Message.ToolCallID]++
			case providers.RoleAssistant:
				for _, c := range e.Message.ToolCalls() {
					if results[c.ID]--; results[c.ID] < 0 {
						return true
					}
				}
				return false
			default:
				// Another program's roles tell what the user did without a model.
				return len(results) == 0 && (e.Role == "" || e.Role == string(providers.RoleUser))
			}
		case sessions.CustomMessage, sessions.BranchSummary:
			return false
		case sessions.Custom:
			if e.CustomType == customFailed {
				return false
			}
		default:
		}
	}
	return false
}

// answers collects the results of the calls in the answer that entries begin with. Some models give calls the same ids over
// and over.
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

// result takes the next result of a call of that id; nil for none.
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
		if !e.Display {
			return true
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

// custom replays what the program has recorded next to the conversation.
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

// id is the [MessageID] of the entry that is told.
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
		if r.told[m.ToolCallID] {
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

// silentAbort is the error of an answer that another program has cut off without wanting it shown.
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
			if r.live[p.ID] {
				ok = r.liveCall(p)
			} else {
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

// words puts together what one speaker says in several parts of a message.
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

// liveCall tells of a call that was live when the replay began, as far as it is now.
func (r *replay) liveCall(c providers.ToolCall) bool {
	s := r.session
	var now *liveCall
	var result *providers.Message
	release, err := s.hold(func(st *state) {
		if st.turn != nil {
			if live := st.turn.live(c.ID); live != nil {
				now = new(*live)
				return
			}
		}
		branch, err := s.opts.Log.Branch()
		if err != nil {
			return // the call is told as one that was cut off
		}
		for _, e := range branch {
			if m, ok := e.(sessions.MessageEntry); ok && m.Message.Role == providers.RoleTool && m.Message.ToolCallID == c.ID {
				result = &m.Message
			}
		}
	})
	if err == nil {
		defer release()
	}
	if now == nil {
		return r.call(c, result)
	}
	r.told[c.ID] = true
	switch {
	case now.started == nil:
		return true // it is announced in a moment
	case !r.yield(*now.started):
		return false
	default:
		return now.progress == nil || r.yield(*now.progress)
	}
}

// plan tells the plan that a call has made; result is nil for a call that a live session tells of.
func (r *replay) plan(c providers.ToolCall, failed bool, result *providers.Message) bool {
	if c.Name != planTool || failed {
		return true
	}
	entries, ok := PlanFromInput(c.Input)
	if !ok && result != nil {
		entries, ok = planOfPhases(result.Details)
	}
	return !ok || r.yield(PlanChanged{Entries: entries})
}

// call tells a call and its end. A call without a result was cut off.
func (r *replay) call(c providers.ToolCall, result *providers.Message) bool {
	r.told[c.ID] = true
	c.Input = unquoted(c.Input)
	started := ToolStarted{CallID: c.ID, Name: c.Name, Title: c.Name, Kind: KindOther, Input: shownInput(c.Input)}
	ended := ToolEnded{CallID: c.ID, Failed: true}
	var d details
	known := false
	if result != nil {
		ended.Failed = result.IsError
		d, known = decodeDetails(result.Details, result.Text())
	}
	if known {
		started.Title, started.Kind, started.Content, started.Locations = d.Title, d.Kind, d.Start, d.StartLocations
		ended.Content, ended.Locations, ended.Raw = append(d.Content, d.nestedContent()...), d.Locations, d.Raw
	} else {
		r.describe(&started, c)
		r.describeEnd(&ended, &started, result)
	}
	if !r.yield(started) {
		return false
	}
	if !r.plan(c, result == nil || result.IsError, result) || !r.yield(ended) {
		return false
	}
	return d.Say == "" || r.yield(MessageDelta{MessageID: c.ID + saidSuffix, Speaker: SpeakerAgent, Text: d.Say})
}

// compactionEvent returns the event of a stored compaction.
func compactionEvent(id string, e *sessions.Compaction) CompactionChanged {
	ev := CompactionChanged{
		ID: id, Status: CompactionCompleted, Summary: e.Summary, ShortSummary: e.ShortSummary, Before: e.TokensBefore,
	}
	ev.Reason, ev.After = contextwindow.Details(e)
	return ev
}
