package agent_test

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// memoryLog is an in-memory log.
type memoryLog struct {
	mu      sync.Mutex
	entries []string
	kept    []sessions.Entry // by entry; nil for a record that is not an entry
	parents []int            // the number of each entry's parent; zero for none
	leaf    int
	failAt  int // the number of the append that fails, starting at 1; zero for none
	closed  bool
}

var errDiskFull = errors.New("no space left on device")

func (l *memoryLog) add(what string, e sessions.Entry) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failAt > 0 && len(l.entries)+1 >= l.failAt {
		return "", errDiskFull
	}
	return l.addLocked(what, e), nil
}

func (l *memoryLog) addLocked(what string, e sessions.Entry) string {
	id := fmt.Sprint(len(l.entries) + 1)
	base := sessions.Base{ID: id}
	switch v := e.(type) {
	case sessions.MessageEntry:
		v.Base = base
		e = v
	case sessions.CustomMessage:
		v.Base = base
		e = v
	case sessions.Compaction:
		v.Base = base
		e = v
	case sessions.BranchSummary:
		v.Base = base
		e = v
	case sessions.Custom:
		v.Base = base
		e = v
	case sessions.ModelChange:
		v.Base = base
		e = v
	case sessions.ModeChange:
		v.Base = base
		e = v
	case sessions.ThinkingChange:
		v.Base = base
		e = v
	default:
	}
	l.entries = append(l.entries, what)
	l.kept = append(l.kept, e)
	l.parents = append(l.parents, l.leaf)
	l.leaf = len(l.entries)
	return id
}

func (l *memoryLog) AppendMessage(m *providers.Message) (string, error) {
	var what strings.Builder
	what.WriteString(string(m.Role) + ":" + m.Text())
	for _, c := range m.ToolCalls() {
		what.WriteString(" +" + c.Name)
	}
	if m.IsError {
		what.WriteString(" (error)")
	}
	return l.add(what.String(), sessions.MessageEntry{Message: *m})
}

func (l *memoryLog) Append(e sessions.Entry) (string, error) {
	if c, ok := e.(sessions.Custom); ok && c.CustomType == sessions.CustomUsage {
		return l.add(usageLine, e)
	}
	return l.add(string(e.Kind()), e)
}

// usageLine represents an entry about usage outside of the conversation, which most tests ignore.
const usageLine = "usage"

func (l *memoryLog) SetTitle(title, source string) error {
	what := "title:" + title
	if source != "auto" {
		what += " by " + source
	}
	_, err := l.add(what, nil)
	return err
}

// from appends what and makes the next entry follow the entry with the number leaf.
func (l *memoryLog) from(what string, leaf int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failAt > 0 && len(l.entries)+1 >= l.failAt {
		return errDiskFull
	}
	l.leaf = leaf
	l.addLocked(what, nil)
	return nil
}

func (l *memoryLog) Rewind(id string) error {
	leaf, _ := strconv.Atoi(id) // the empty id is the beginning
	return l.from("rewind:"+id, leaf)
}

func (l *memoryLog) BranchWithSummary(id string, summary sessions.BranchSummary) (string, error) {
	if err := l.Rewind(id); err != nil {
		return "", err
	}
	return l.Append(summary)
}

func (l *memoryLog) SetLabel(id, label string) error {
	_, err := l.add("label:"+id+" "+label, nil)
	return err
}

func (l *memoryLog) PathTo(string) ([]sessions.Entry, error) { return nil, sessions.ErrNotFound }

func (l *memoryLog) Clear() error { return l.from("clear", 0) }

func (l *memoryLog) HasCall(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.kept, func(e sessions.Entry) bool {
		m, ok := e.(sessions.MessageEntry)
		return ok && slices.ContainsFunc(m.Message.ToolCalls(), func(c providers.ToolCall) bool { return c.ID == id })
	})
}

func (l *memoryLog) Branch() ([]sessions.Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []sessions.Entry
	for i := l.leaf; i > 0; i = l.parents[i-1] {
		if e := l.kept[i-1]; e != nil {
			all = append(all, e)
		}
	}
	slices.Reverse(all)
	return all, nil
}

func branchOf(t *testing.T, l agent.Log) []sessions.Entry {
	t.Helper()
	branch, err := l.Branch()
	if err != nil {
		t.Fatal(err)
	}
	return branch
}

// Messages returns the same messages as the real log.
func (l *memoryLog) Messages() ([]providers.Message, error) {
	branch, err := l.Branch()
	if err != nil {
		return nil, err
	}
	var all []providers.Message
	pruned := make(map[string]bool)
	add := func(e sessions.Entry) {
		switch e := e.(type) {
		case sessions.MessageEntry:
			m := e.Message
			m.Details = nil
			if pruned[e.ID] && m.Role == providers.RoleTool {
				m.Parts = words(fmt.Sprintf("[Output truncated - %d tokens]", (len(m.Text())+3)/4))
			}
			all = append(all, m)
		case sessions.CustomMessage:
			all = append(all, providers.Message{Role: providers.RoleUser, Parts: e.Parts})
		case sessions.BranchSummary:
			all = append(all, providers.Message{Role: providers.RoleUser, Parts: words("Branch: " + e.Summary)})
		}
	}
	last := -1
	for i, e := range branch {
		switch e := e.(type) {
		case sessions.Compaction:
			last = i
		case sessions.Custom:
			var p struct {
				Entries []string `json:"entries"`
			}
			if e.CustomType == "gjc.pruned" && jsonx.Unmarshal(e.Data, &p) == nil {
				for _, id := range p.Entries {
					pruned[id] = true
				}
			}
		}
	}
	if last >= 0 {
		c := branch[last].(sessions.Compaction)
		all = append(all, providers.Message{Role: providers.RoleUser, Parts: words("Summary: " + c.Summary)})
		kept := false
		for _, e := range branch[:last] {
			if kept = kept || e.Ref().ID == c.FirstKeptEntryID; kept {
				add(e)
			}
		}
	}
	for _, e := range branch[last+1:] {
		add(e)
	}
	return all, nil
}

func (l *memoryLog) Leaf() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.leaf == 0 {
		return ""
	}
	return fmt.Sprint(l.leaf)
}

// Walk is the same as Branch, because no test clears the conversation midway.
func (l *memoryLog) Walk() iter.Seq2[sessions.Entry, error] {
	branch, err := l.Branch()
	return func(yield func(sessions.Entry, error) bool) {
		if err != nil {
			yield(nil, err)
			return
		}
		for _, e := range branch {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// unfailing drops the errors of a replay. A log in memory returns none.
func unfailing(events iter.Seq2[agent.Event, error]) iter.Seq[agent.Event] {
	return func(yield func(agent.Event) bool) {
		for ev, err := range events {
			if err != nil {
				panic(err)
			}
			if !yield(ev) {
				return
			}
		}
	}
}

func (l *memoryLog) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	return nil
}

func (l *memoryLog) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.entries), func(line string) bool { return line == usageLine })
}
