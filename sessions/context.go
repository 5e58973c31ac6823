package sessions

import (
	"slices"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// State is where a session stands: what its entries, from the root to the last one, add up to.
type State struct {
	// Model is "provider/id"; empty as long as none was chosen and none has answered.
	Model string
	// Thinking is [providers.ThinkingOff] as long as none was chosen.
	Thinking providers.ThinkingLevel
	// Mode is empty as long as none was chosen.
	Mode string
	// ModeData is what the last [ModeChange] carried.
	ModeData jsonx.Raw
	// Title is the last title that was set in any branch, else the header's. Once the user has set one, those that
	// were made automatically count no more.
	Title       string
	TitleSource string
	// Directories are the further roots that were last set in any branch, else the header's.
	Directories []string
	// SystemPrompt is what the client gave last, in any branch; zero for none.
	SystemPrompt SystemPrompt
	// ServiceTier is a JSON string; nil for the default.
	ServiceTier jsonx.Raw
	// MCPTools is the last [ToolSelection]; nil for none.
	MCPTools []string
	// Custom is the latest data of each type of [Custom] entry.
	Custom map[string]jsonx.Raw
}

// Branch returns the active branch: the last entry and all that lead to it, the root first.
func (l *Log) Branch() ([]Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.branchLocked(), nil
}

func (l *Log) branchLocked() []Entry {
	var branch []Entry
	for i := len(l.entries) - 1; i >= 0; i = l.parents[i] {
		branch = append(branch, l.entries[i])
	}
	slices.Reverse(branch)
	return branch
}

// Messages returns the conversation as a model is to see it: the messages of the active branch, with the last
// compaction's summary in the place of what it replaces. A crash can leave tool calls at the end without a result.
func (l *Log) Messages() ([]providers.Message, error) {
	branch, err := l.Branch()
	if err != nil {
		return nil, err
	}
	boundary := -1
	for i, e := range slices.Backward(branch) {
		if e.Kind() == KindCompaction {
			if _, ok := e.(Compaction); ok {
				boundary = i
				break
			}
		}
	}
	var messages []providers.Message
	add := func(e Entry) {
		if m, ok := contextMessage(e); ok {
			messages = append(messages, m)
		}
	}
	if boundary >= 0 {
		c := branch[boundary].(Compaction)
		messages = append(messages, userMessage(c.Base, compactionText(c.Summary)))
		kept := false
		for _, e := range branch[:boundary] {
			if kept = kept || e.Ref().ID == c.FirstKeptEntryID; kept {
				add(e)
			}
		}
	}
	for _, e := range branch[boundary+1:] {
		add(e)
	}
	return messages, nil
}

// contextMessage returns what a model sees of e, if anything.
func contextMessage(e Entry) (providers.Message, bool) {
	switch e := e.(type) {
	case MessageEntry:
		return e.Message, !e.Hidden
	case CustomMessage:
		return providers.Message{Role: providers.RoleUser, Parts: e.Parts, Time: e.Time}, true
	case BranchSummary:
		return userMessage(e.Base, branchText(e.Summary)), true
	default:
		return providers.Message{}, false
	}
}

func userMessage(b Base, text string) providers.Message {
	return providers.Message{Role: providers.RoleUser, Parts: []providers.Part{providers.Text{Text: text}}, Time: b.Time}
}

// State returns where the session stands.
func (l *Log) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := State{Thinking: providers.ThinkingOff}
	answered := ""
	for _, e := range l.historyLocked() {
		switch e := e.(type) {
		case ModelChange:
			if e.Role == "" || e.Role == "default" {
				s.Model = e.Model
			}
		case MessageEntry:
			if m := &e.Message; m.Role == providers.RoleAssistant && m.Model != "" {
				answered = m.Provider + "/" + m.Model
			}
		case ThinkingChange:
			s.Thinking = e.Level
		case ModeChange:
			s.Mode, s.ModeData = e.Mode, e.Data
		case ServiceTierChange:
			s.ServiceTier = nil
			if !jsonx.IsNull(e.ServiceTier) {
				s.ServiceTier = e.ServiceTier
			}
		case ToolSelection:
			s.MCPTools = e.SelectedToolNames
		case Custom:
			if s.Custom == nil {
				s.Custom = make(map[string]jsonx.Raw)
			}
			s.Custom[e.CustomType] = e.Data
		}
	}
	if s.Model == "" {
		s.Model = answered
	}
	about := l.aboutLocked()
	s.Title, s.TitleSource = about.title.Title, about.title.Source
	s.Directories, s.SystemPrompt = about.directories, about.systemPrompt
	return s
}

// historyLocked is the active branch and, where it begins with a [Log.Clear], what was before that.
func (l *Log) historyLocked() []Entry {
	var history []Entry
	for i := len(l.entries) - 1; i >= 0; {
		history = append(history, l.entries[i])
		if l.parents[i] < 0 && isClear(l.entries[i]) {
			i-- // a clear stands right behind the leaf of its time
		} else {
			i = l.parents[i]
		}
	}
	slices.Reverse(history)
	return history
}
