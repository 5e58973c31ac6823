package demo

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/aymanbagabas/go-udiff"

	"github.com/gajae-code/gjc/acp"
)

// screen prints what an editor would show. Its counters may be read once a prompt has been answered.
type screen struct {
	// mu serializes output: updates and questions arrive concurrently.
	mu   sync.Mutex
	out  io.Writer
	root string
	// quiet stops printing updates, but not counting them.
	quiet bool
	// printed returns the output of a terminal.
	printed func(acp.TerminalID) string

	line  strings.Builder // the agent's text without a final newline
	kinds map[acp.ToolCallID]acp.ToolKind
	title map[acp.ToolCallID]string
	shown strings.Builder // the output of all tool calls
	plan  int
	diffs int
	ended map[acp.ToolCallStatus]int
	done  map[acp.ToolKind]int // completed calls
}

func (s *screen) say(format string, args ...any) {
	_, _ = fmt.Fprintf(s.out, format+"\n", args...) // the reader may close the output
}

// step prints one call and its duration.
func (s *screen) step(begin time.Time, method, format string, args ...any) {
	ms := float64(time.Since(begin).Microseconds()) / 1000
	s.say("%s", strings.TrimRight(fmt.Sprintf("%9.1f ms  %-16s %s", ms, method, fmt.Sprintf(format, args...)), " "))
}

func (s *screen) completed(kind acp.ToolKind) int { return s.done[kind] }

// hush sets quiet.
func (s *screen) hush(quiet bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quiet = quiet
}

// show prints one update. The caller holds mu.
func (s *screen) show(u acp.SessionUpdate) {
	if s.kinds == nil {
		s.kinds, s.title = make(map[acp.ToolCallID]acp.ToolKind), make(map[acp.ToolCallID]string)
		s.ended, s.done = make(map[acp.ToolCallStatus]int), make(map[acp.ToolKind]int)
	}
	if s.quiet {
		return
	}
	switch u := u.(type) {
	case *acp.AgentMessageChunk:
		if t, ok := u.Content.(*acp.TextContent); ok {
			s.line.WriteString(t.Text)
		}
		return
	case *acp.ToolCall:
		s.flush()
		s.kinds[u.ToolCallID], s.title[u.ToolCallID] = u.Kind, u.Title
		s.say("  •  %-8s %s", u.Kind, u.Title)
	case *acp.ToolCallUpdate:
		s.toolUpdate(u)
	case *acp.Plan:
		s.flush()
		s.plan = len(u.Entries)
		for _, e := range u.Entries {
			mark := map[acp.PlanEntryStatus]string{
				acp.PlanEntryStatusPending: " ", acp.PlanEntryStatusInProgress: "›", acp.PlanEntryStatusCompleted: "x",
			}[e.Status]
			s.say("       [%s] %s", mark, e.Content)
		}
	case *acp.SessionInfoUpdate:
		if title, ok := u.Title.Get(); ok && title != s.title[""] {
			s.title[""] = title
			s.say("     session: %q", title)
		}
	case *acp.Notice:
		s.say("%s", strings.TrimRight("  !  "+u.Title+" "+u.Description, " "))
	}
}

func (s *screen) toolUpdate(u *acp.ToolCallUpdate) {
	status, _ := u.Status.Get()
	content, _ := u.Content.Get()
	if status != acp.ToolCallStatusCompleted && status != acp.ToolCallStatusFailed {
		for _, c := range content {
			if t, ok := c.(*acp.Terminal); ok {
				s.say("     %s opens in the editor", t.TerminalID)
			}
		}
		return
	}
	s.ended[status]++
	if status == acp.ToolCallStatusCompleted {
		s.done[s.kinds[u.ToolCallID]]++
	}
	for _, c := range content {
		switch c := c.(type) {
		case *acp.Diff:
			s.diffs++
			old := ""
			if c.OldText != nil {
				old = *c.OldText
			}
			name := c.Path
			if rel, err := filepath.Rel(s.root, c.Path); err == nil {
				name = rel
			}
			s.indent(udiff.Unified(name, name, old, c.NewText))
		case *acp.Terminal:
			s.indent(s.printed(c.TerminalID))
		case *acp.Content:
			if t, ok := c.Content.(*acp.TextContent); ok {
				s.shown.WriteString(t.Text)
				s.indent(t.Text)
			}
		}
	}
	s.say("     → %s", status)
}

// maxLines is the number of lines printed of one output.
const maxLines = 20

func (s *screen) indent(text string) {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, l := range lines {
		if i == maxLines {
			s.say("     │ … %d more lines", len(lines)-maxLines)
			return
		}
		s.say("%s", strings.TrimRight("     │ "+l, " "))
	}
}

// flush prints the agent's text.
func (s *screen) flush() {
	text := strings.TrimSpace(s.line.String())
	s.line.Reset()
	if text != "" {
		s.say("  “  %s", strings.ReplaceAll(text, "\n", "\n     "))
	}
}

// tally summarizes a conversation, to compare a live one with a loaded one.
type tally struct {
	tools, diffs int
	text         string
}

func (s *screen) tally(updates []acp.SessionUpdate) tally {
	var t tally
	var text strings.Builder
	for _, u := range updates {
		switch u := u.(type) {
		case *acp.ToolCall:
			t.tools++
		case *acp.ToolCallUpdate:
			status, _ := u.Status.Get()
			if status != acp.ToolCallStatusCompleted && status != acp.ToolCallStatusFailed {
				continue // a replay has only the call's result
			}
			content, _ := u.Content.Get()
			for _, c := range content {
				if _, ok := c.(*acp.Diff); ok {
					t.diffs++
				}
			}
		case *acp.AgentMessageChunk:
			if c, ok := u.Content.(*acp.TextContent); ok {
				text.WriteString(c.Text)
			}
		}
	}
	t.text = text.String()
	return t
}

func count(all []string, one string) int {
	n := 0
	for _, s := range all {
		if s == one {
			n++
		}
	}
	return n
}
