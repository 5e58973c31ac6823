package agent

import (
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// Replay yields the events of a stored conversation, as they looked live. Tools serve to describe calls whose
// stored result does not say how they looked, such as those of files that another program wrote.
func Replay(history []providers.Message, ws Workspace, tools []Tool, newID func() string) func(yield func(Event) bool) {
	return func(yield func(Event) bool) {
		r := &replay{ws: ws, tools: tools, yield: yield, results: make(map[string]*providers.Message)}
		for i := range history {
			if m := &history[i]; m.Role == providers.RoleTool {
				r.results[m.ToolCallID] = m
			}
		}
		for i := range history {
			m := history[i]
			if m.ID == "" {
				m.ID = newID()
			}
			if !r.message(&m) {
				return
			}
		}
	}
}

type replay struct {
	ws      Workspace
	tools   []Tool
	yield   func(Event) bool
	results map[string]*providers.Message
	told    map[string]bool
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
	for _, p := range m.Parts {
		ev := MessageDelta{MessageID: m.ID, Speaker: SpeakerUser}
		switch p := p.(type) {
		case providers.Text:
			if p.Text == "" {
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
	if r.told == nil {
		r.told = make(map[string]bool)
	}
	r.told[c.ID] = true
	started := ToolStarted{CallID: c.ID, Name: c.Name, Title: c.Name, Kind: KindOther, Input: c.Input}
	if tool := findTool(r.tools, c.Name); tool != nil {
		started.Kind = tool.Spec().Kind
		if input, err := validInput(c); err == nil {
			if plan, err := tool.Plan(&Call{ID: c.ID, Name: c.Name, Input: input, Workspace: r.ws}); err == nil && plan != nil {
				started.Content, started.Locations = plan.Content, plan.Locations
				if plan.Title != "" {
					started.Title = plan.Title
				}
			}
		}
	}
	if len(started.Input) == 0 || !jsonx.Valid(started.Input) {
		started.Input, _ = jsonx.Marshal(string(started.Input)) // a string always encodes
	}
	ended := ToolEnded{CallID: c.ID, Failed: true, Locations: started.Locations}
	if result == nil {
		ended.Content = append(started.Content[:len(started.Content):len(started.Content)], TextContent{"The call was interrupted."})
		return r.yield(started) && r.yield(ended)
	}
	ended.Failed = result.IsError
	if d, ok := decodeDetails(result.Details); ok {
		started.Title, started.Kind = d.Title, d.Kind
		ended.Content, ended.Locations, ended.Raw = d.Content, d.Locations, d.Raw
	} else {
		ended.Content = started.Content[:len(started.Content):len(started.Content)]
		if text := result.Text(); text != "" {
			ended.Content = append(ended.Content, TextContent{cutMiddle(text, maxShown)})
		}
	}
	if !r.yield(started) || !r.yield(ended) {
		return false
	}
	if c.Name == planTool && !result.IsError {
		if entries, ok := PlanFromInput(c.Input); ok {
			return r.yield(PlanChanged{Entries: entries})
		}
	}
	return true
}

func findTool(tools []Tool, name string) Tool {
	for _, t := range tools {
		if t.Spec().Name == name {
			return t
		}
	}
	return nil
}
