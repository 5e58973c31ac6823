package server

import (
	"cmp"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/content"
	"github.com/gajae-code/gjc/acp/server/air"
	"github.com/gajae-code/gjc/acp/server/followed"
	"github.com/gajae-code/gjc/acp/server/relay"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/contextwindow"
)

// features are the optional capabilities of a client that updates depend on.
type features struct {
	notices, compaction, plans, subagents, booleans bool
	// hub reports whether the client shares the session with other clients and processes.
	hub bool
	// output is the member of _meta in which the client accepts a command's output; empty for none. It is only set for
	// clients without terminals.
	output string
	air    air.Client
}

func featuresOf(c *acp.ClientCapabilities) features {
	f := features{plans: c.Plan != nil, subagents: c.Subagents != nil, hub: relay.Declared(c.Meta)}
	f.air, _ = air.ParseClient(c.Meta) // initialize has reported the error
	if s := c.Session; s != nil {
		f.notices, f.compaction = s.Notices != nil, s.Compaction != nil
		f.booleans = s.ConfigOptions != nil && s.ConfigOptions.Boolean != nil
	}
	if !c.Terminal {
		for _, name := range []string{metaOutputDelta, metaOutput} {
			var on bool
			if ok, err := c.Meta.Get(name, &on); ok && err == nil && on {
				f.output = name
				break
			}
		}
	}
	return f
}

// mapper maps the events of a session to updates, live and in a replay. It is not safe for concurrent use.
type mapper struct {
	features
	// printing holds the commands whose output is sent in _meta, by call ID.
	printing map[string]*printing
	writing  air.Plans
}

func newMapper(f features) *mapper { return &mapper{features: f, printing: make(map[string]*printing)} }

func (m *mapper) updates(ev agent.Event) []acp.SessionUpdate {
	switch ev := ev.(type) {
	case agent.MessageDelta:
		var all []acp.SessionUpdate
		for _, text := range acp.SplitText(ev.Text) {
			ev.Text = text
			all = append(all, messageUpdate(ev))
		}
		return all
	case agent.ToolStarted:
		all := []acp.SessionUpdate{m.toolCall(ev)}
		if ev.Name == agent.PresentTool && m.writesPlans() {
			if u := m.writing.Complete(ev.CallID, ev.Input); u != nil {
				all = append(all, u)
			}
		}
		return all
	case agent.PlanText:
		if !m.writesPlans() {
			return nil
		}
		return []acp.SessionUpdate{m.writing.More(ev.CallID, ev.Text)}
	case agent.ToolProgress:
		return m.progress(ev)
	case agent.ToolEnded:
		return m.ended(ev)
	case agent.PlanChanged:
		return []acp.SessionUpdate{m.plan(ev.Entries)}
	case agent.GoalChanged:
		if !m.air.Declared {
			return nil
		}
		return []acp.SessionUpdate{air.GoalUpdate(ev.Goal)}
	case agent.CompactionChanged:
		return m.compacted(ev)
	case agent.CompactionDelta:
		if !m.compaction {
			return nil
		}
		return summaryChunks(acp.CompactionID(ev.ID), acp.SplitText(ev.Text))
	case agent.SubagentChanged:
		return m.subagent(ev)
	case agent.UsageChanged:
		if ev.Size == 0 {
			return nil // the size of the window is unknown
		}
		u := &acp.UsageUpdate{Used: int64(ev.Used), Size: int64(ev.Size)}
		if ev.CostUSD > 0 {
			u.Cost = &acp.Cost{Amount: ev.CostUSD, Currency: "USD"}
		}
		if len(ev.Quotas) > 0 {
			_ = u.Meta.Set(content.QuotasMeta, content.Quotas(ev.Quotas)) // cannot fail: it has only strings and finite numbers
		}
		return []acp.SessionUpdate{u}
	case agent.InfoChanged:
		return []acp.SessionUpdate{infoUpdate(ev.Title, ev.UpdatedAt)}
	case agent.Noticed:
		if f, ok := m.failure(&ev); ok {
			return []acp.SessionUpdate{f.Update()}
		}
		return []acp.SessionUpdate{noticeUpdate(ev, m.notices)}
	default:
		return m.stored(ev)
	}
}

// stored returns the update of a [agent.PromptStored].
func (m *mapper) stored(ev agent.Event) []acp.SessionUpdate {
	if ev, ok := ev.(agent.PromptStored); ok && m.hub {
		return []acp.SessionUpdate{relay.Stored(ev.MessageID)}
	}
	return nil
}

func summaryChunks(id acp.CompactionID, texts []string) []acp.SessionUpdate {
	all := make([]acp.SessionUpdate, 0, len(texts))
	for _, text := range texts {
		all = append(all, &acp.CompactionSummaryChunk{CompactionID: id, Content: &acp.TextContent{Text: text}})
	}
	return all
}

func messageUpdate(ev agent.MessageDelta) acp.SessionUpdate {
	c := acp.ContentChunk{MessageID: acp.MessageID(ev.MessageID), Content: &acp.TextContent{Text: ev.Text}}
	if ev.Content != nil {
		c.Content = content.Block(ev.Content)
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

// failure returns a notice as JetBrains Air shows it. It is false for other clients, and for notices that are sent as such.
func (f *features) failure(ev *agent.Noticed) (air.Failure, bool) {
	if f.notices || !f.air.Has(air.SessionFailure) {
		return air.Failure{}, false
	}
	return air.Warning(cmp.Or(ev.ID, uuid.NewString())+":notice", ev)
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
		MessageID: acp.MessageID(cmp.Or(ev.ID, uuid.NewString())), Content: &acp.TextContent{Text: "[" + text + "]\n\n"},
	}
}

// content returns the content of a tool call in the form that the client has asked for.
func (f *features) content(list []agent.Content) []acp.ToolCallContent {
	if f.air.Has(air.DiffPatch) {
		return air.PatchedContent(list)
	}
	return content.ToolCall(list)
}

func (f *features) toolCall(ev agent.ToolStarted) *acp.ToolCall {
	return &acp.ToolCall{
		ToolCallID: acp.ToolCallID(ev.CallID), Title: ev.Title, Name: ev.Name, Kind: acp.ToolKind(ev.Kind),
		Status: acp.ToolCallStatusPending, Content: f.content(ev.Content), Locations: content.Locations(ev.Locations),
		RawInput: ev.Input,
	}
}

func (f *features) toolProgress(ev agent.ToolProgress) *acp.ToolCallUpdate {
	u := &acp.ToolCallUpdate{ToolCallID: acp.ToolCallID(ev.CallID)}
	if ev.Running {
		u.Status = acp.Value(acp.ToolCallStatusInProgress)
	}
	if ev.Title != "" {
		u.Title = acp.Value(ev.Title)
	}
	if ev.Kind != "" {
		u.Kind = acp.Value(acp.ToolKind(ev.Kind))
	}
	if ev.Content != nil {
		u.Content = acp.Value(f.content(ev.Content))
	}
	if ev.Locations != nil {
		u.Locations = acp.Value(content.Locations(ev.Locations))
	}
	return u
}

func (f *features) toolEnded(ev agent.ToolEnded) *acp.ToolCallUpdate {
	u := &acp.ToolCallUpdate{
		ToolCallID: acp.ToolCallID(ev.CallID), Status: acp.Value(acp.ToolCallStatusCompleted), RawOutput: ev.Raw,
	}
	if ev.Failed {
		u.Status = acp.Value(acp.ToolCallStatusFailed)
	}
	if ev.Content != nil {
		u.Content = acp.Value(f.content(ev.Content))
	}
	if ev.Locations != nil {
		u.Locations = acp.Value(content.Locations(ev.Locations))
	}
	return u
}

// planID identifies the only plan of a session.
const planID acp.PlanID = "plan"

// planEntry returns a step in the form of the protocol, which has no phases and no abandoned steps: the phase precedes the content, and
// an abandoned step counts as completed, with a note.
func planEntry(e *agent.PlanEntry) acp.PlanEntry {
	entry := acp.PlanEntry{Content: e.Text(), Priority: acp.PlanEntryPriority(e.Priority), Status: acp.PlanEntryStatus(e.Status)}
	if e.Status == agent.PlanAbandoned {
		entry.Content, entry.Status = entry.Content+" (abandoned)", acp.PlanEntryStatusCompleted
	}
	return entry
}

// writesPlans reports whether the client shows the text of a plan as the model writes it.
func (f *features) writesPlans() bool { return f.plans && f.air.Has(air.PlanContentDelta) }

// plan returns the update with the whole plan. If the plan is empty and the client supports removal, the update removes it.
func (m *mapper) plan(entries []agent.PlanEntry) acp.SessionUpdate {
	all := make([]acp.PlanEntry, 0, len(entries))
	for i := range entries {
		all = append(all, planEntry(&entries[i]))
	}
	switch {
	case !m.plans:
		return &acp.Plan{Entries: all}
	case len(all) == 0:
		return &acp.PlanRemoved{PlanID: planID}
	default:
		return &acp.PlanUpdate{Plan: &acp.PlanItems{PlanID: planID, Entries: all}}
	}
}

// compacted returns the updates about the progress of a compaction. A client that does not support them receives one line when it
// completes, live and in a replay.
func (m *mapper) compacted(ev agent.CompactionChanged) []acp.SessionUpdate {
	if !m.compaction {
		if ev.Status != agent.CompactionCompleted {
			return nil // a notice or the command reports the failure
		}
		return []acp.SessionUpdate{noticeUpdate(agent.Noticed{ID: ev.ID, Severity: agent.SeverityInfo, Title: compactionLine(&ev)}, m.notices)}
	}
	u := &acp.CompactionUpdate{CompactionID: acp.CompactionID(ev.ID), Status: acp.CompactionStatus(ev.Status)}
	if ev.Error != "" {
		u.Error = acp.Value(ev.Error)
	}
	if ev.Summary == "" {
		return []acp.SessionUpdate{u}
	}
	parts := acp.SplitText(ev.Summary)
	summary := acp.Value([]acp.ContentBlock{&acp.TextContent{Text: parts[0]}})
	if len(parts) == 1 {
		u.Summary = summary
		return []acp.SessionUpdate{u}
	}
	// The first part replaces the summary that the client has from an earlier replay.
	first := &acp.CompactionUpdate{CompactionID: u.CompactionID, Status: acp.CompactionStatusInProgress, Summary: summary}
	return append(append([]acp.SessionUpdate{first}, summaryChunks(u.CompactionID, parts[1:])...), u)
}

// compactionLine returns the sentence that a conversation was compacted, and why.
func compactionLine(ev *agent.CompactionChanged) string {
	text := "The conversation so far was compacted"
	switch ev.Reason {
	case contextwindow.ReasonThreshold:
		text += ", because the model's window was nearly full"
	case contextwindow.ReasonOverflow:
		text += ", because it no longer fit the model's window"
	case contextwindow.ReasonIncomplete:
		text += ", because there was no room for the whole answer"
	case contextwindow.ReasonIdle:
		text += " while the session was idle"
	default:
	}
	if ev.Before > 0 && ev.After > 0 {
		text += fmt.Sprintf(" (%d tokens became about %d)", ev.Before, ev.After)
	}
	return text + "; the model continues from a summary."
}

func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// firstUpdates returns the first updates that the client receives for a session.
func (s *session) firstUpdates(o *opened, snap *agent.Snapshot) []acp.SessionUpdate {
	all := []acp.SessionUpdate{s.commandsUpdate(o)}
	if snap.Goal != nil {
		all = append(all, newMapper(s.out.features).updates(agent.GoalChanged{Goal: snap.Goal})...)
	}
	if snap.Messages == 0 && snap.Title == "" {
		return all
	}
	all = append(all, infoUpdate(snap.Title, snap.UpdatedAt))
	return append(all, s.usageUpdates(snap)...)
}

// usageUpdates returns the update about the context and the cost of a session; none if the session has no usage.
func (s *session) usageUpdates(snap *agent.Snapshot) []acp.SessionUpdate {
	used := snap.Usage.Context()
	if used == 0 && snap.CostUSD == 0 {
		return nil
	}
	ev := agent.UsageChanged{Used: used, Size: snap.Model.ContextWindow, CostUSD: snap.CostUSD}
	return newMapper(s.out.features).updates(ev)
}

// about shows what another process has changed besides the conversation.
func (o *outlet) about(a *followed.About, models *models) {
	o.write(infoUpdate(a.Title, a.UpdatedAt))
	info, _ := models.Lookup(a.Model)
	usage := agent.UsageChanged{Used: a.Used, Size: info.ContextWindow}
	if usd, unpriced, _ := agent.Cost(a.Uses); unpriced == 0 {
		usage.CostUSD = usd
	}
	if a.Used > 0 {
		for _, u := range newMapper(o.features).updates(usage) {
			o.write(u)
		}
	}
}
