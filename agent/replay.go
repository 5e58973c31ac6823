package agent

import (
	"context"
	"io/fs"
	"iter"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// Replay returns the events of the conversation so far, as they looked live: all of it, also what was compacted since.
func (s *Session) Replay() (iter.Seq[Event], error) {
	var branch []sessions.Entry
	if err := s.do(func(*state) error {
		branch = s.opts.Log.Branch()
		return nil
	})(); err != nil {
		return nil, err
	}
	return func(yield func(Event) bool) {
		r := &replay{
			session: s, yield: yield, tools: s.opts.Tools.Tools(),
			results: make(map[string]*providers.Message), told: make(map[string]bool),
		}
		for _, e := range branch {
			if m, ok := e.(sessions.MessageEntry); ok && m.Message.Role == providers.RoleTool {
				r.results[m.Message.ToolCallID] = &m.Message
			}
		}
		for _, e := range branch {
			if !r.entry(e) {
				return
			}
		}
	}, nil
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
	results map[string]*providers.Message
	told    map[string]bool
	tools   []Tool
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
			ok = r.call(p, r.results[p.ID])
		default:
		}
		if !ok {
			return false
		}
	}
	return true
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
		ended.Content, ended.Locations, ended.Raw = d.Content, d.Locations, d.Raw
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
	if c.Name == planTool && result != nil && !result.IsError {
		if entries, ok := PlanFromInput(c.Input); ok && !r.yield(PlanChanged{Entries: entries}) {
			return false
		}
	}
	if !r.yield(ended) {
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
