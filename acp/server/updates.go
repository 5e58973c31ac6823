package server

import (
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/bridges"
)

// updates maps one event to what the client is told. Live and replayed sessions go through here alike. A client that
// takes no notices gets them as text.
func updates(ev agent.Event, notices bool) []acp.SessionUpdate {
	switch ev := ev.(type) {
	case agent.MessageDelta:
		var all []acp.SessionUpdate
		for len(ev.Text) > maxChunk {
			first := ev
			first.Text = ev.Text[:runeStart(ev.Text, maxChunk)]
			ev.Text = ev.Text[len(first.Text):]
			all = append(all, messageUpdate(first))
		}
		return append(all, messageUpdate(ev))
	case agent.ToolStarted:
		return []acp.SessionUpdate{&acp.ToolCall{
			ToolCallID: acp.ToolCallID(ev.CallID), Title: ev.Title, Name: ev.Name, Kind: acp.ToolKind(ev.Kind),
			Status: acp.ToolCallStatusPending, Content: bridges.ToolContent(ev.Content), Locations: bridges.ToolLocations(ev.Locations),
			RawInput: ev.Input,
		}}
	case agent.ToolProgress:
		u := &acp.ToolCallUpdate{ToolCallID: acp.ToolCallID(ev.CallID)}
		if ev.Running {
			u.Status = acp.Value(acp.ToolCallStatusInProgress)
		}
		if ev.Content != nil {
			u.Content = acp.Value(bridges.ToolContent(ev.Content))
		}
		return []acp.SessionUpdate{u}
	case agent.ToolEnded:
		u := &acp.ToolCallUpdate{
			ToolCallID: acp.ToolCallID(ev.CallID), Status: acp.Value(acp.ToolCallStatusCompleted), RawOutput: ev.Raw,
		}
		if ev.Failed {
			u.Status = acp.Value(acp.ToolCallStatusFailed)
		}
		if ev.Content != nil {
			u.Content = acp.Value(bridges.ToolContent(ev.Content))
		}
		if ev.Locations != nil {
			u.Locations = acp.Value(bridges.ToolLocations(ev.Locations))
		}
		return []acp.SessionUpdate{u}
	case agent.PlanChanged:
		return []acp.SessionUpdate{planUpdate(ev.Entries)}
	case agent.UsageChanged:
		if ev.Size == 0 {
			return nil // an unknown window cannot be shown
		}
		u := &acp.UsageUpdate{Used: int64(ev.Used), Size: int64(ev.Size)}
		if ev.CostUSD > 0 {
			u.Cost = &acp.Cost{Amount: ev.CostUSD, Currency: "USD"}
		}
		return []acp.SessionUpdate{u}
	case agent.InfoChanged:
		return []acp.SessionUpdate{infoUpdate(ev.Title, ev.UpdatedAt)}
	case agent.Noticed:
		return []acp.SessionUpdate{noticeUpdate(ev, notices)}
	default:
		return nil
	}
}

// maxChunk bounds the text of one update in bytes: many clients cannot take a line of more than 64 KiB.
const maxChunk = 32 << 10

// runeStart is the last place in s, not behind at, where a character begins.
func runeStart(s string, at int) int {
	for back := range min(at, utf8.UTFMax) {
		if utf8.RuneStart(s[at-back]) {
			return at - back
		}
	}
	return at // no text at all
}

func messageUpdate(ev agent.MessageDelta) acp.SessionUpdate {
	c := acp.ContentChunk{MessageID: acp.MessageID(ev.MessageID), Content: &acp.TextContent{Text: ev.Text}}
	if ev.Content != nil {
		c.Content = bridges.ContentBlock(ev.Content)
	}
	switch ev.Speaker {
	case agent.SpeakerUser:
		return new(acp.UserMessageChunk(c))
	case agent.SpeakerThought:
		return new(acp.AgentThoughtChunk(c))
	default:
		return new(acp.AgentMessageChunk(c))
	}
}

func infoUpdate(title string, at time.Time) acp.SessionUpdate {
	u := &acp.SessionInfoUpdate{UpdatedAt: acp.Value(formatTime(at))}
	if title != "" {
		u.Title = acp.Value(title)
	}
	return u
}

func noticeUpdate(ev agent.Noticed, notices bool) acp.SessionUpdate {
	if notices {
		return &acp.Notice{Severity: acp.NoticeSeverity(ev.Severity), Title: ev.Title, Description: ev.Detail}
	}
	text := ev.Title
	if ev.Detail != "" {
		text = fmt.Sprintf("%s\n%s", ev.Title, ev.Detail)
	}
	return &acp.AgentMessageChunk{
		MessageID: acp.MessageID(uuid.NewString()), Content: &acp.TextContent{Text: "[" + text + "]\n\n"},
	}
}

func planUpdate(entries []agent.PlanEntry) acp.SessionUpdate {
	p := &acp.Plan{Entries: make([]acp.PlanEntry, 0, len(entries))}
	for _, e := range entries {
		p.Entries = append(p.Entries, acp.PlanEntry{
			Content: e.Content, Priority: acp.PlanEntryPriority(e.Priority), Status: acp.PlanEntryStatus(e.Status),
		})
	}
	return p
}

func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }
