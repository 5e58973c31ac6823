package sessions

import (
	"fmt"
	"slices"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// State is the state of a session: the result of its entries from the root to the leaf.
type State struct {
	// Model is "provider/id"; empty if no model was chosen and none has answered.
	Model string
	// Thinking is [providers.ThinkingOff] if no level was chosen.
	Thinking providers.ThinkingLevel
	// Mode is empty if none was chosen.
	Mode string
	// ModeData is the data of the last [ModeChange].
	ModeData jsonx.Raw
	// Title is the last title that was set in any branch, or else the header's. Automatic titles do not replace one
	// that the user has set.
	Title       string
	TitleSource string
	// Directories are the additional roots that were set last in any branch, or else the header's.
	Directories []string
	// SystemPrompt is the last one that the client set in any branch.
	SystemPrompt SystemPrompt
	// ServiceTier is a JSON string; nil for the default.
	ServiceTier jsonx.Raw
	// MCPTools is the last [ToolSelection]; nil for none.
	MCPTools []string
	// Goal and GoalUse are the data of the last [CustomGoal] entry, and of the last [CustomGoalUse] entry after it; nil for none.
	Goal, GoalUse jsonx.Raw
}

// Types of the [Custom] entries about the session's goal for the rest of the branch: the goal, or null, and what was used for it.
const (
	CustomGoal    = "gjc.goal"
	CustomGoalUse = "gjc.goal_use"
)

// CustomPruned is the type of the [Custom] entries that remove old tool results from what the model receives. Their
// data is a [Pruned]. The file and the transcript keep the results.
const CustomPruned = "gjc.pruned"

// Pruned is the data of a [CustomPruned] entry.
type Pruned struct {
	// Entries are the IDs of the entries with the results.
	Entries []string `json:"entries"`
}

// Messages returns the conversation as the model receives it: the messages of the active branch, without details. The summary of
// the last compaction replaces the messages before it. After a crash, tool calls at the end may lack their results.
func (l *Log) Messages() ([]providers.Message, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	places := l.context()
	if err := l.recall(places); err != nil {
		return nil, err
	}
	var branch []Entry // entries that are not in memory do not matter here
	for i := int32(len(l.nodes) - 1); i >= 0; i = l.nodes[i].parent {
		branch = append(branch, l.nodes[i].entry)
	}
	seen := make([]Entry, len(places))
	for k, i := range places {
		seen[k] = l.nodes[i].entry
	}
	return messagesOf(seen, PrunedOf(branch)), nil
}

// MessagesOf returns what [Log.Messages] would return for branch, a branch in memory, oldest entry first.
func MessagesOf(branch []Entry) []providers.Message {
	seen := branch
	for at, e := range slices.Backward(branch) {
		c, ok := e.(Compaction)
		if !ok {
			continue
		}
		seen = []Entry{c}
		from := slices.IndexFunc(branch[:at], func(e Entry) bool { return e.Ref().ID == c.FirstKeptEntryID })
		if from >= 0 && c.FirstKeptEntryID != "" {
			seen = append(seen, branch[from:at]...)
		}
		seen = append(seen, branch[at+1:]...)
		break
	}
	return messagesOf(seen, PrunedOf(branch))
}

// messagesOf converts the entries that a model receives to messages. It ignores a compaction that is not the first entry.
func messagesOf(seen []Entry, pruned map[string]bool) []providers.Message {
	messages := make([]providers.Message, 0, len(seen))
	for k, e := range seen {
		m, ok := MessageOf(e)
		if c, compacted := e.(Compaction); compacted && k == 0 {
			m, ok = userMessage(c.Base, compactionText(c.Summary)), true
		}
		if !ok {
			continue
		}
		if m.Role == providers.RoleTool && pruned[e.Ref().ID] {
			m = prunedMessage(m)
		}
		m.Details = nil
		messages = append(messages, m)
	}
	return messages
}

// PrunedOf returns the IDs of the results that were pruned in a branch. Entries may be nil.
func PrunedOf(branch []Entry) map[string]bool {
	pruned := make(map[string]bool)
	for _, e := range branch {
		var p Pruned
		if c, ok := e.(Custom); ok && c.CustomType == CustomPruned && jsonx.Unmarshal(c.Data, &p) == nil {
			for _, id := range p.Entries {
				pruned[id] = true
			}
		}
	}
	return pruned
}

// Compacted reports whether the active branch has a compaction.
func (l *Log) Compacted() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := int32(len(l.nodes) - 1); i >= 0; i = l.nodes[i].parent {
		if l.nodes[i].kind == KindCompaction {
			return true
		}
	}
	return false
}

// recall loads the entries at places into memory, except those that are there already.
func (l *logState) recall(places []int32) error {
	var missing []int32
	for _, i := range places {
		if l.nodes[i].entry == nil {
			missing = append(missing, i)
		}
	}
	slices.Sort(missing)
	all, err := l.read(missing)
	if err != nil {
		return err
	}
	for k, i := range missing {
		l.nodes[i].entry = stripped(all[k])
	}
	return nil
}

// prunedMessage replaces a tool's result by a note of its size.
func prunedMessage(m providers.Message) providers.Message {
	m.Parts = []providers.Part{providers.Text{Text: fmt.Sprintf("[Output truncated - %d tokens]", (len(m.Text())+3)/4)}}
	return m
}

// context returns the places of the entries that a model receives: those of the active branch, with the last compaction
// first and without the entries that it replaces.
func (l *logState) context() []int32 {
	path := l.pathTo(int32(len(l.nodes) - 1))
	boundary := -1
	for k, i := range slices.Backward(path) {
		if l.nodes[i].kind == KindCompaction {
			if e, err := l.entry(i); err == nil {
				if _, ok := e.(Compaction); ok {
					l.nodes[i].entry = e
					boundary = k
					break
				}
			}
		}
	}
	var places []int32
	if boundary >= 0 {
		places = append(places, path[boundary])
		first := l.nodes[path[boundary]].entry.(Compaction).FirstKeptEntryID
		if from := slices.IndexFunc(path[:boundary], func(i int32) bool { return l.nodes[i].id == first }); from >= 0 {
			places = append(places, path[from:boundary]...)
		}
	}
	places = append(places, path[boundary+1:]...)
	return slices.DeleteFunc(places, func(i int32) bool {
		switch l.nodes[i].kind {
		case KindMessage, KindCustomMessage, KindBranchSummary:
			return false
		case KindCompaction:
			return boundary < 0 || i != path[boundary]
		default:
			return true
		}
	})
}

// MessageOf returns the message that a model receives for e, if any. A compaction has none here, because its message
// precedes all others.
func MessageOf(e Entry) (providers.Message, bool) {
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

// State returns the state of the session.
func (l *Log) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.choices(l.history(int32(len(l.nodes) - 1)))
	s.Title, s.TitleSource = l.about.title.Title, l.about.title.Source
	s.Directories, s.SystemPrompt = l.about.directories, l.about.systemPrompt
	return s
}

// choices returns the part of the [State] that results from entries, given oldest first.
func (l *logState) choices(history []int32) State {
	s := State{Thinking: providers.ThinkingOff}
	for _, i := range history {
		switch e := l.nodes[i].entry.(type) {
		case ModelChange:
			if e.Role == "" || e.Role == "default" {
				s.Model = e.Model
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
			switch e.CustomType {
			case CustomGoal:
				s.Goal, s.GoalUse = e.Data, nil
			case CustomGoalUse:
				s.GoalUse = e.Data
			}
		}
	}
	if s.Model == "" {
		s.Model = l.lastAnswering(history)
	}
	return s
}

// lastAnswering returns the model that has answered last, or "".
func (l *logState) lastAnswering(history []int32) string {
	for _, i := range slices.Backward(history) {
		if l.nodes[i].kind != KindMessage {
			continue
		}
		e, err := l.entry(i)
		if err != nil {
			return "" // the next read of the log returns the error
		}
		if m, ok := e.(MessageEntry); ok && m.Message.Role == providers.RoleAssistant && m.Message.Model != "" {
			return m.Message.Provider + "/" + m.Message.Model
		}
	}
	return ""
}
