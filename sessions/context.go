package sessions

import (
	"fmt"
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
}

// CustomPruned is the type of the [Custom] entries that take old tool results out of a model's sight. Their data is a
// [Pruned]. The file keeps the results, and so does what people are shown.
const CustomPruned = "gjc.pruned"

// Pruned is the data of a [CustomPruned] entry.
type Pruned struct {
	// Entries are the ids of the results.
	Entries []string `json:"entries"`
}

// Messages returns the conversation as a model is to see it: the messages of the active branch, with the last
// compaction's summary in the place of what it replaces, and without details. A crash can leave tool calls at the end
// without a result.
func (l *Log) Messages() ([]providers.Message, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	places := l.context()
	if err := l.recall(places); err != nil {
		return nil, err
	}
	var branch []Entry // of what stays in memory: that is enough
	for i := int32(len(l.nodes) - 1); i >= 0; i = l.nodes[i].parent {
		branch = append(branch, l.nodes[i].entry)
	}
	seen := make([]Entry, len(places))
	for k, i := range places {
		seen[k] = l.nodes[i].entry
	}
	return messagesOf(seen, PrunedOf(branch)), nil
}

// MessagesOf is [Log.Messages] for a branch that is in memory, the first entry first.
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

// messagesOf makes messages of what a model sees; only a compaction that stands first counts.
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

// PrunedOf returns the ids of the results that a branch has taken out of a model's sight. Entries may be nil.
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

// Compacted reports whether the active branch has more than a model sees.
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

// recall brings entries back into memory that a model sees again.
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

// prunedMessage is a tool's result that is too old to be worth its place.
func prunedMessage(m providers.Message) providers.Message {
	m.Parts = []providers.Part{providers.Text{Text: fmt.Sprintf("[Output truncated - %d tokens]", (len(m.Text())+3)/4)}}
	return m
}

// context returns the places of the entries that a model sees: those of the active branch, but for what the last
// compaction replaces, which stands first itself.
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

// MessageOf returns what a model sees of e, if anything. A compaction has its place before all others, so it is none.
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

// State returns where the session stands.
func (l *Log) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.choices(l.history(int32(len(l.nodes) - 1)))
	s.Title, s.TitleSource = l.about.title.Title, l.about.title.Source
	s.Directories, s.SystemPrompt = l.about.directories, l.about.systemPrompt
	return s
}

// choices returns what entries say of a [State], which are the oldest first.
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
		}
	}
	if s.Model == "" {
		s.Model = l.lastAnswering(history)
	}
	return s
}

// lastAnswering returns the model that has answered last; empty for none.
func (l *logState) lastAnswering(history []int32) string {
	for _, i := range slices.Backward(history) {
		if l.nodes[i].kind != KindMessage {
			continue
		}
		e, err := l.entry(i)
		if err != nil {
			return "" // the next use of the log tells
		}
		if m, ok := e.(MessageEntry); ok && m.Message.Role == providers.RoleAssistant && m.Message.Model != "" {
			return m.Message.Provider + "/" + m.Message.Model
		}
	}
	return ""
}
