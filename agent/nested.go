package agent

import (
	"fmt"
	"strings"

	"github.com/gajae-code/gjc/internal/text"
)

// nestedCall is the record of a child session's call, stored with the call that has started the child. The child's
// conversation is not stored.
type nestedCall struct {
	ID     string       `json:"-"`
	Title  string       `json:"title"`
	Kind   ToolKind     `json:"kind"`
	Status nestedStatus `json:"status"`
}

// nestedStatus is the status of such a call, in ACP's terms.
type nestedStatus string

const (
	nestedPending   nestedStatus = "pending" // it has not ended
	nestedCompleted nestedStatus = "completed"
	nestedFailed    nestedStatus = "failed"
)

// Limits of the records of the children's calls.
const (
	maxNested      = 50
	maxNestedTitle = 80 // in characters
)

// nested records a call of a child. Children of one call can run concurrently.
func (r *toolRun) nested(child *Subagent, ev Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch ev := ev.(type) {
	case ToolStarted:
		if r.details.CallCount++; len(r.details.Calls) < maxNested {
			title := ev.Title
			if child.Name != "" {
				title = child.Name + ": " + title
			}
			r.details.Calls = append(r.details.Calls, nestedCall{child.ID + "/" + ev.CallID, nestedTitle(title), ev.Kind, nestedPending})
		}
	case ToolEnded:
		for i := range r.details.Calls {
			if c := &r.details.Calls[i]; c.ID == child.ID+"/"+ev.CallID && c.Status == nestedPending {
				if c.Status = nestedCompleted; ev.Failed {
					c.Status = nestedFailed
				}
				return
			}
		}
	default:
	}
}

func nestedTitle(title string) string {
	return text.Truncate(text.OneLine(title), maxNestedTitle)
}

// nestedContent returns the display of the children's calls, which follows the content of the call that has started
// them; nil for none.
func (d *details) nestedContent() []Content {
	if len(d.Calls) == 0 {
		return nil
	}
	var s strings.Builder
	s.WriteString(text.Count(d.CallCount, "call") + ":\n")
	for _, c := range d.Calls {
		mark := "…"
		switch c.Status {
		case nestedCompleted:
			mark = "✓"
		case nestedFailed:
			mark = "✗"
		default:
		}
		fmt.Fprintf(&s, "- %s %s\n", c.Title, mark)
	}
	if more := d.CallCount - len(d.Calls); more > 0 {
		fmt.Fprintf(&s, "- and %d more\n", more)
	}
	return []Content{TextContent{strings.TrimSpace(s.String())}}
}
