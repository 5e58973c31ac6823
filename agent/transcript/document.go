package transcript

import (
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// document is a session with information about it as a whole.
type document struct {
	*Session
	updated time.Time
	// messages is the number of prompts and answers.
	messages int
	usage    providers.Usage
	// cost is in US dollars; priced reports that the prices of all models are known.
	cost   float64
	priced bool
	plan   []agent.PlanEntry
	labels map[string]string // by entry ID
	window int               // of the model that answered last; zero if unknown
}

func newDocument(s *Session) *document {
	d := &document{Session: s, priced: true, plan: agent.PlanOf(s.Branch), labels: make(map[string]string)}
	for _, e := range s.Branch {
		ref := e.Ref()
		if ref.Time.After(d.updated) {
			d.updated = ref.Time
		}
		switch e := e.(type) {
		case sessions.Label:
			d.labels[e.TargetID] = e.Label
		case sessions.MessageEntry:
			m := &e.Message
			if m.Role != providers.RoleTool {
				d.messages++
			}
			if m.Role != providers.RoleAssistant {
				continue
			}
			d.usage = d.usage.Add(m.Usage)
			if info, ok := d.model(m); ok {
				d.window = info.ContextWindow
			}
			cost, ok := d.costOf(m)
			d.cost = providers.RoundUSD(d.cost + cost)
			d.priced = d.priced && ok
		}
	}
	d.priced = d.priced && d.cost > 0
	if d.Created.IsZero() && len(s.Branch) > 0 {
		created := *s
		created.Created = s.Branch[0].Ref().Time
		d.Session = &created
	}
	if d.Hide != nil {
		d.hide()
	}
	return d
}

func (d *document) title() string {
	if d.Title != "" {
		return d.Title
	}
	return "Session"
}

func (d *document) model(m *providers.Message) (providers.ModelInfo, bool) {
	if d.Models == nil || m.Model == "" {
		return providers.ModelInfo{}, false
	}
	return d.Models(modelOf(m))
}

func modelOf(m *providers.Message) string {
	if m.Provider == "" {
		return m.Model
	}
	return m.Provider + "/" + m.Model
}

// costOf returns the cost of an answer, at current prices if none is stored; false if they are unknown.
func (d *document) costOf(m *providers.Message) (float64, bool) {
	if m.Usage == (providers.Usage{}) {
		return 0, len(sessions.AddAnswer(nil, m)) == 0
	}
	if m.Price != (providers.Price{}) {
		return providers.RoundUSD(m.Price.Total), true
	}
	info, ok := d.model(m)
	if !ok || info.Cost == (providers.Cost{}) {
		return 0, false
	}
	return info.Cost.Price(m.Usage).Total, true
}

// Kinds of items. They are part of the JSON format.
const (
	itemUser           = "user"
	itemAssistant      = "assistant"
	itemTool           = "tool" // a result without its call
	itemCustom         = "custom"
	itemCompaction     = "compaction"
	itemBranchSummary  = "branch_summary"
	itemModelChange    = "model_change"
	itemThinkingChange = "thinking_level_change"
	itemModeChange     = "mode_change"
	itemNotice         = "notice"
)

// item is a displayed entry, and an element of "messages" in the JSON format.
type item struct {
	// ID is the entry's ID, MessageID the editor's ID of the message.
	ID        string    `json:"id,omitzero"`
	MessageID string    `json:"messageId,omitzero"`
	Type      string    `json:"type"`
	Time      time.Time `json:"time,omitzero"`
	// Label is a name that the user gave the entry.
	Label string `json:"label,omitzero"`
	// Model is the model that answered, or that was selected.
	Model string `json:"model,omitzero"`
	// Value is the new level or mode, the type of a custom message, or the reason for a compaction.
	Value   string  `json:"value,omitzero"`
	Content []block `json:"content,omitzero"`
	// Usage and CostUSD belong to an answer.
	Usage      *usage  `json:"usage,omitzero"`
	CostUSD    float64 `json:"costUsd,omitzero"`
	StopReason string  `json:"stopReason,omitzero"`
	Error      string  `json:"error,omitzero"`
	// TokensBefore is the size of the context before a compaction, TokensAfter the approximate size after it.
	TokensBefore int `json:"tokensBefore,omitzero"`
	TokensAfter  int `json:"tokensAfter,omitzero"`
}

// usage is [providers.Usage] in the JSON format; context is the size of the context after the answer.
type usage struct {
	Input      int `json:"input"`
	Output     int `json:"output"`
	CacheRead  int `json:"cacheRead"`
	CacheWrite int `json:"cacheWrite"`
	Thinking   int `json:"thinking,omitzero"`
	Context    int `json:"context,omitzero"`
}

func usageOf(u providers.Usage) *usage {
	return &usage{u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Thinking, 0}
}

// Types of blocks. They are part of the JSON format.
const (
	blockText    = "text"
	blockThought = "thought"
	blockImage   = "image"
	blockDiff    = "diff"
	blockLink    = "link"
	blockCall    = "tool_call"
	blockPlan    = "plan"
)

// block is a part of an item, or of a call's content.
type block struct {
	Type string `json:"type"`
	// Text or thinking.
	Text string `json:"text,omitzero"`
	// Image. Data is base64 in JSON.
	MIMEType string `json:"mimeType,omitzero"`
	Data     []byte `json:"data,omitempty"`
	// Diff. A new file has no oldText.
	Path    string  `json:"path,omitzero"`
	OldText *string `json:"oldText,omitzero"`
	NewText *string `json:"newText,omitzero"`
	// Link.
	URI string `json:"uri,omitzero"`
	// Call; a link has a name, too.
	CallID    string     `json:"toolCallId,omitzero"`
	Name      string     `json:"name,omitzero"`
	Title     string     `json:"title,omitzero"`
	Kind      string     `json:"kind,omitzero"`
	Status    string     `json:"status,omitzero"`
	Input     jsonx.Raw  `json:"input,omitzero"`
	Content   []block    `json:"content,omitzero"`
	Locations []location `json:"locations,omitzero"`
	Output    jsonx.Raw  `json:"output,omitzero"`
	// Plan.
	Entries []planEntry `json:"entries,omitzero"`
}

type location struct {
	Path string `json:"path"`
	Line int    `json:"line,omitzero"`
}

type planEntry struct {
	Content  string `json:"content"`
	Phase    string `json:"phase,omitzero"`
	Status   string `json:"status"`
	Priority string `json:"priority"`
}

// text returns the step with its phase, if it has one.
func (e *planEntry) text() string {
	if e.Phase == "" {
		return e.Content
	}
	return e.Phase + ": " + e.Content
}

func planBlock(plan []agent.PlanEntry) block {
	b := block{Type: blockPlan, Entries: []planEntry{}}
	for _, e := range plan {
		b.Entries = append(b.Entries, planEntry{e.Content, e.Phase, string(e.Status), string(e.Priority)})
	}
	return b
}

func contentBlocks(content []agent.Content) []block {
	var all []block
	for _, c := range content {
		switch c := c.(type) {
		case agent.TextContent:
			all = append(all, block{Type: blockText, Text: c.Text})
		case agent.DiffContent:
			all = append(all, block{Type: blockDiff, Path: c.Path, OldText: c.Old, NewText: &c.New})
		case agent.LinkContent:
			all = append(all, block{Type: blockLink, URI: c.URI, Name: c.Name})
		case agent.ImageContent:
			all = append(all, block{Type: blockImage, MIMEType: c.Image.MIMEType, Data: c.Image.Data})
		default: // a terminal does not outlive its process
		}
	}
	return all
}

func locationsOf(places []agent.Location) []location {
	var all []location
	for _, l := range places {
		all = append(all, location(l))
	}
	return all
}
