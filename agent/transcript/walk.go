package transcript

import (
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// each calls fn with the items in order until it returns false.
func (d *document) each(fn func(*item) bool) {
	if show := fn; d.Hide != nil {
		fn = func(it *item) bool {
			d.hideItem(it)
			return show(it)
		}
	}
	opts := &agent.ReplayOptions{Tools: d.Tools, Workspace: agent.Workspace{Cwd: d.Cwd, Additional: d.Directories}}
	w := &walk{document: d, fn: fn}
	for e, ev := range agent.Replay(d.Branch, opts) {
		if n, ok := ev.(agent.Noticed); ok {
			var until sessions.Entry // all items, for a notice about the whole branch
			switch e.(type) {
			case sessions.Custom, sessions.CustomMessage:
				until = e
			}
			if !w.pass(until) {
				return
			}
			text := n.Title
			if n.Detail != "" {
				text += " " + n.Detail
			}
			w.open(&item{Type: itemNotice, Content: []block{{Type: blockText, Text: text}}}, nil)
			continue
		}
		if w.of == nil || w.of.Ref() != e.Ref() {
			if !w.pass(e) {
				return
			}
			w.open(d.newItem(e), e)
		}
		w.add(ev)
	}
	w.pass(nil)
}

// walk iterates over a branch in parallel with its replay, and inserts entries without events in their places.
type walk struct {
	*document
	fn   func(*item) bool
	next int            // index in the branch
	now  *item          // the current item; nil for none
	of   sessions.Entry // the entry of now
	// calls are the indexes of the calls in now.
	calls map[string]int
}

func (w *walk) open(it *item, e sessions.Entry) {
	w.now, w.of, w.calls = it, e, make(map[string]int)
}

// pass yields the current item and all entries up to e; nil for all. It reports whether to continue.
func (w *walk) pass(e sessions.Entry) bool {
	if w.now != nil && !w.fn(w.now) {
		return false
	}
	w.now, w.of = nil, nil
	for w.next < len(w.Branch) {
		between := w.Branch[w.next]
		w.next++
		if e != nil && between.Ref() == e.Ref() {
			return true
		}
		if it := w.change(between); it != nil && !w.fn(it) {
			return false
		}
	}
	return true
}

// change returns the item of an entry without events; nil for an entry that is not shown.
func (d *document) change(e sessions.Entry) *item {
	ref := e.Ref()
	it := &item{ID: ref.ID, Time: ref.Time, Label: d.labels[ref.ID]}
	switch e := e.(type) {
	case sessions.ModelChange:
		if e.Role != "" && e.Role != "default" {
			return nil
		}
		it.Type, it.Model = itemModelChange, e.Model
	case sessions.ThinkingChange:
		it.Type, it.Value = itemThinkingChange, string(e.Level)
	case sessions.ModeChange:
		it.Type, it.Value = itemModeChange, e.Mode
	default:
		return nil
	}
	return it
}

// newItem returns the item of an entry with events, without its content.
func (d *document) newItem(e sessions.Entry) *item {
	ref := e.Ref()
	it := &item{ID: ref.ID, MessageID: agent.MessageID(e), Type: itemUser, Time: ref.Time, Label: d.labels[ref.ID]}
	switch e := e.(type) {
	case sessions.MessageEntry:
		m := &e.Message
		if !m.Time.IsZero() {
			it.Time = m.Time
		}
		switch m.Role {
		case providers.RoleAssistant:
			d.answer(it, m)
		case providers.RoleTool:
			it.Type = itemTool
		case providers.RoleUser:
		}
	case sessions.CustomMessage:
		it.Type, it.Value = itemCustom, e.CustomType
	case sessions.Compaction:
		it.Type = itemCompaction
	case sessions.BranchSummary:
		it.Type = itemBranchSummary
	}
	return it
}

func (d *document) answer(it *item, m *providers.Message) {
	it.Type, it.Model = itemAssistant, modelOf(m)
	it.StopReason, it.Error = string(m.StopReason), m.Error
	if m.Usage != (providers.Usage{}) {
		it.Usage = usageOf(m.Usage)
		it.Usage.Context = m.Usage.Context()
		it.CostUSD, _ = d.costOf(m)
	}
}

// add adds an event to the item.
func (w *walk) add(ev agent.Event) {
	it := w.now
	switch ev := ev.(type) {
	case agent.MessageDelta:
		switch {
		case ev.Content != nil:
			it.Content = append(it.Content, contentBlocks([]agent.Content{ev.Content})...)
		case it.Error != "" && ev.Text == it.Error: // reported as the error
		case ev.Speaker == agent.SpeakerThought:
			it.Content = append(it.Content, block{Type: blockThought, Text: ev.Text})
		default:
			it.Content = append(it.Content, block{Type: blockText, Text: ev.Text})
		}
	case agent.ToolStarted:
		w.calls[ev.CallID] = len(it.Content)
		it.Content = append(it.Content, block{
			Type: blockCall, CallID: ev.CallID, Name: ev.Name, Title: ev.Title, Kind: string(ev.Kind), Status: "in_progress",
			Input: ev.Input, Content: contentBlocks(ev.Content), Locations: locationsOf(ev.Locations),
		})
	case agent.ToolEnded:
		i, ok := w.calls[ev.CallID]
		if !ok {
			return
		}
		b := &it.Content[i]
		b.Status = "completed"
		if ev.Failed {
			b.Status = "failed"
		}
		b.Content, b.Output = contentBlocks(ev.Content), ev.Raw
		if places := locationsOf(ev.Locations); places != nil {
			b.Locations = places
		}
	case agent.PlanChanged:
		it.Content = append(it.Content, planBlock(ev.Entries))
	case agent.CompactionChanged:
		it.Value, it.TokensBefore, it.TokensAfter = string(ev.Reason), ev.Before, ev.After
		it.Content = append(it.Content, block{Type: blockText, Text: ev.Summary})
	default:
	}
}
