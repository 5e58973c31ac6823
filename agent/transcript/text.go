package transcript

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/providers"
)

// fact is a line of information about the session.
type fact struct{ name, value string }

func (d *document) facts() []fact {
	var all []fact
	add := func(name, value string) {
		if value != "" {
			all = append(all, fact{name, text.OneLine(value)})
		}
	}
	add("Session", d.ID)
	add("Directory", d.Cwd)
	for _, dir := range d.Directories {
		add("Additional directory", dir)
	}
	add("Forked from", d.Parent)
	add("Model", d.Model)
	add("Created", stamp(d.Created))
	add("Updated", stamp(d.updated))
	add("Messages", strconv.Itoa(d.messages))
	if d.usage != (providers.Usage{}) {
		add("Tokens", tokensText(usageOf(d.usage)))
	}
	if d.priced {
		add("Cost", costText(d.cost))
	}
	return all
}

func tokensText(u *usage) string {
	text := grouped(u.Input) + " in, " + grouped(u.Output) + " out"
	if u.CacheRead > 0 || u.CacheWrite > 0 {
		text += ", " + grouped(u.CacheRead) + " from and " + grouped(u.CacheWrite) + " to the cache"
	}
	return text
}

// usageText describes an answer's usage; empty if unknown.
func usageText(it *item) string {
	if it.Usage == nil {
		return ""
	}
	text := tokensText(it.Usage)
	if it.CostUSD > 0 {
		text += ", " + costText(it.CostUSD)
	}
	return text
}

func costText(usd float64) string { return fmt.Sprintf("$%.4f", usd) }

// grouped formats a number with spaces between groups of thousands.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}

// changeText describes a change; empty for an item that is not a change.
func (it *item) changeText() string {
	switch it.Type {
	case itemModelChange:
		return "Model: " + it.Model
	case itemThinkingChange:
		return "Thinking: " + it.Value
	case itemModeChange:
		return "Mode: " + it.Value
	default:
		return ""
	}
}

// speaker returns the heading of an item.
func (it *item) speaker() string {
	switch it.Type {
	case itemAssistant:
		if it.Model != "" {
			return "Assistant (" + it.Model + ")"
		}
		return "Assistant"
	case itemTool:
		return "Tool"
	case itemCustom:
		if it.Value != "" {
			return "Message (" + it.Value + ")"
		}
		return "Message"
	default:
		return "User"
	}
}

// compactionText returns the heading of a compaction.
func (it *item) compactionText() string {
	text := "The conversation so far was compacted"
	if it.TokensBefore > 0 {
		text += ", at " + grouped(it.TokensBefore) + " tokens"
	}
	if it.TokensAfter > 0 {
		text += ", to about " + grouped(it.TokensAfter)
	}
	return text
}

// text returns the text of an item, without its other blocks.
func (it *item) text() string {
	var s strings.Builder
	for i := range it.Content {
		if b := &it.Content[i]; b.Type == blockText {
			s.WriteString(b.Text)
		}
	}
	return s.String()
}

// readable indents JSON and returns other text unchanged.
func readable(input jsonx.Raw) string {
	indented := append(jsonx.Raw(nil), input...)
	if !jsonx.Valid(indented) || indented.Indent() != nil {
		return string(input)
	}
	return string(indented)
}

// callInput returns a call's input in readable form; empty for none.
func (b *block) callInput() string {
	if text := strings.TrimSpace(readable(b.Input)); text != "{}" {
		return text
	}
	return ""
}

func stamp(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format("2006-01-02 15:04:05 UTC")
}

func imageText(b *block) string {
	return text.OneLine(fmt.Sprintf("[image: %s, %d bytes]", b.MIMEType, len(b.Data)))
}

func (l location) String() string {
	if l.Line > 0 {
		return l.Path + ":" + strconv.Itoa(l.Line)
	}
	return l.Path
}

// readableSize formats a number of bytes.
func readableSize(n int) string {
	switch {
	case n < 1000:
		return text.Count(n, "byte")
	case n < 1_000_000:
		return fmt.Sprintf("%.1f KB", float64(n)/1e3)
	default:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
}

// took formats the time that something took.
func took(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	default:
		return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
	}
}

// clean replaces characters that text files cannot contain.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
}
