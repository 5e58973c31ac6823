package agent

import (
	"context"
	"iter"
	"strconv"
	"strings"

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
		r.branch(branch)
	}
}

// Replay returns the events of the conversation so far, as of the function [Replay]. A call that runs is told as far as
// it is; what it tells from then on comes behind, because the session stands still while such a call is told. So the
// loop over the events must not ask the session for anything.
func (s *Session) Replay() (iter.Seq[Event], error) {
	var branch []sessions.Entry
	live := make(map[string]bool)
	running := false
	if err := s.do(func(st *state) error {
		var err error
		if branch, err = s.opts.Log.Branch(); err != nil {
			return err
		}
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
	return func(yield func(Event) bool) {
		r := &replay{
			ReplayOptions: ReplayOptions{Tools: s.opts.Tools.Tools(), Workspace: s.opts.Workspace, Running: running},
			ctx:           s.ctx, yield: yield, session: s, running: live,
		}
		r.branch(branch)
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

// branch tells all of it.
func (r *replay) branch(branch []sessions.Entry) {
	r.told = make(map[string]bool)
	last := -1
	for i, e := range branch {
		switch e := e.(type) {
		case sessions.Custom:
			if e.CustomType == customClear {
				r.branch(branch[i+1:])
				return
			}
		case sessions.MessageEntry:
			if e.Message.Role == providers.RoleAssistant {
				last = i
			}
		}
	}
	for i, e := range branch {
		if i == last {
			r.live = r.running
		}
		r.at, r.index = e, i
		r.answers(branch[i:])
		if !r.entry(e) {
			return
		}
	}
	if !r.Running && interrupted(branch) {
		r.yield(Noticed{
			ID: r.id() + "-interrupted", Severity: SeverityWarning, Title: "The turn was interrupted.",
			Detail: "The last prompt was not answered to its end. A new prompt goes on from here.",
		})
	}
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

// answers takes note of the results of the calls in the answer that entries begin with, if it is one. Some models give
// calls the same ids over and over.
func (r *replay) answers(entries []sessions.Entry) {
	if m, ok := entries[0].(sessions.MessageEntry); !ok || m.Message.Role != providers.RoleAssistant {
		return
	}
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
		if e.CustomType == customFailed {
			return r.failed(&e)
		}
		if e.CustomType == customShown && jsonx.Unmarshal(e.Data, &r.shown) != nil {
			r.shown = ""
		}
		return true
	case sessions.Compaction:
		return r.yield(compactionEvent(r.id(), &e))
	default:
		return true
	}
	m.ID = r.id()
	return r.message(&m)
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

// flush tells what was said and not told yet.
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
		return true // it tells that itself in a moment
	case !r.yield(*now.started):
		return false
	case now.ended == nil:
		return now.progress == nil || r.yield(*now.progress)
	}
	if !r.plan(c, now.ended.Failed, nil) || !r.yield(*now.ended) {
		return false
	}
	return now.said == nil || r.yield(*now.said)
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
