package agent

import (
	"context"
	"io/fs"
	"iter"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// Replay returns the events of the conversation so far, as they looked live: all of it, also what was compacted since. A
// call that runs is told as far as it is; what it tells from then on comes behind, because the session stands still
// while such a call is told. So the loop over the events must not ask the session for anything.
func (s *Session) Replay() (iter.Seq[Event], error) {
	var branch []sessions.Entry
	live := make(map[string]bool)
	if err := s.do(func(st *state) error {
		var err error
		if branch, err = s.opts.Log.Branch(); err != nil {
			return err
		}
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
			session: s, yield: yield, tools: s.opts.Tools.Tools(),
			told: make(map[string]bool),
		}
		last := -1
		for i, e := range branch {
			if m, ok := e.(sessions.MessageEntry); ok && m.Message.Role == providers.RoleAssistant {
				last = i
			}
		}
		for i, e := range branch {
			if i == last {
				r.live = live
			}
			r.answers(branch[i:])
			if !r.entry(e) {
				return
			}
		}
	}, nil
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
	var m providers.Message
	switch e := e.(type) {
	case sessions.MessageEntry:
		if e.Hidden {
			return true
		}
		m = e.Message
	case sessions.CustomMessage:
		m = providers.Message{Role: providers.RoleUser, Parts: e.Parts, Time: e.Time}
	case sessions.BranchSummary:
		m = providers.Message{Role: providers.RoleUser, Parts: []providers.Part{providers.Text{Text: e.Summary}}, Time: e.Time}
	case sessions.Custom:
		if e.CustomType == customShown && jsonx.Unmarshal(e.Data, &r.shown) != nil {
			r.shown = ""
		}
		return true
	case sessions.Compaction:
		return r.yield(CompactionChanged{ID: r.session.opts.NewID(), Status: CompactionCompleted, Summary: e.Summary})
	default:
		return true
	}
	if m.ID == "" {
		m.ID = r.session.opts.NewID()
	}
	return r.message(&m)
}

type replay struct {
	session *Session
	yield   func(Event) bool
	results map[string][]*providers.Message // of the answer that is told
	told    map[string]bool
	tools   []Tool
	// live are the calls of the last answer that had no result when the replay began.
	live map[string]bool
	// shown is what the next user message is shown as; empty for its own text.
	shown string
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
	shown := r.shown
	r.shown = ""
	if shown != "" && !r.yield(MessageDelta{MessageID: m.ID, Speaker: SpeakerUser, Text: shown}) {
		return false
	}
	for _, p := range m.Parts {
		ev := MessageDelta{MessageID: m.ID, Speaker: SpeakerUser}
		switch p := p.(type) {
		case providers.Text:
			if p.Text == "" || shown != "" {
				continue
			}
			ev.Text = p.Text
		case providers.Image:
			ev.Content = ImageContent{p}
		default:
			continue
		}
		if !r.yield(ev) {
			return false
		}
	}
	return true
}

func (r *replay) assistant(m *providers.Message) bool {
	for _, p := range m.Parts {
		ok := true
		switch p := p.(type) {
		case providers.Text:
			if p.Text != "" {
				ok = r.yield(MessageDelta{MessageID: m.ID, Speaker: SpeakerAgent, Text: p.Text})
			}
		case providers.Thinking:
			if p.Text != "" {
				ok = r.yield(MessageDelta{MessageID: m.ID, Speaker: SpeakerThought, Text: p.Text})
			}
		case providers.ToolCall:
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
	return true
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
	if !r.plan(c, now.ended.Failed) || !r.yield(*now.ended) {
		return false
	}
	return now.said == nil || r.yield(*now.said)
}

// plan tells the plan that a call has made.
func (r *replay) plan(c providers.ToolCall, failed bool) bool {
	if c.Name != planTool || failed {
		return true
	}
	entries, ok := PlanFromInput(c.Input)
	return !ok || r.yield(PlanChanged{Entries: entries})
}

// call tells a call and its end. A call without a result was cut off.
func (r *replay) call(c providers.ToolCall, result *providers.Message) bool {
	r.told[c.ID] = true
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
		text := "The call was interrupted."
		if result != nil {
			text = cutMiddle(result.Text(), maxShown)
		}
		ended.Content = append([]Content(nil), started.Content...)
		if text != "" {
			ended.Content = append(ended.Content, TextContent{text})
		}
		ended.Locations = started.Locations
	}
	if !r.yield(started) {
		return false
	}
	if !r.plan(c, result == nil || result.IsError) || !r.yield(ended) {
		return false
	}
	return d.Say == "" || r.yield(MessageDelta{MessageID: c.ID + saidSuffix, Speaker: SpeakerAgent, Text: d.Say})
}

// describe makes up how a call looked of which only the input is known, as in files that another program wrote.
func (r *replay) describe(started *ToolStarted, c providers.ToolCall) {
	tool := find(r.tools, c.Name)
	if tool == nil {
		return
	}
	started.Kind = tool.Spec().Kind
	input, err := validInput(c)
	if err != nil {
		return
	}
	run := &toolRun{turn: &Turn{session: r.session}, call: c, tool: tool}
	call := run.newCall(input)
	call.FS = pastFiles{call.FS}
	plan, err := tool.Plan(r.session.ctx, call)
	if err != nil || plan == nil {
		return
	}
	started.Content, started.Locations = shownContent(plan.Content), plan.Locations
	if plan.Title != "" {
		started.Title = plan.Title
	}
}

// pastFiles are the files of a call that ran long ago. Nobody knows what was in them; what is there today does not show
// it, and an editor need not answer before its session/load is answered.
type pastFiles struct{ FS }

func (pastFiles) ReadFile(context.Context, string) ([]byte, error) { return nil, fs.ErrPermission }

func (pastFiles) Stat(context.Context, string) (fs.FileInfo, error) { return nil, fs.ErrPermission }

func (pastFiles) ReadDir(context.Context, string) ([]fs.DirEntry, error) {
	return nil, fs.ErrPermission
}
