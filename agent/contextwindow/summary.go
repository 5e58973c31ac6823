package contextwindow

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/providers"
)

var (
	//go:embed prompts/summary-system.md
	summarySystem string
	//go:embed prompts/summary.md
	summaryFirst string
	//go:embed prompts/summary-update.md
	summaryUpdate string
	//go:embed prompts/summary-turn.md
	summaryTurn string
)

// summaryTask is a request for a summary.
type summaryTask struct {
	// blocks holds the conversation, oldest first.
	blocks []string
	// previous is the summary of the preceding part; empty for none.
	previous string
	// instructions say what to write, and focus what matters most; focus may be empty.
	instructions, focus string
}

// prompt returns the task as text, with as much of the conversation as fits into room bytes.
func (s *summaryTask) prompt(room int) string {
	var head, tail strings.Builder
	head.WriteString("Summarise the conversation according to the instructions that follow it.\n\n<conversation>\n")
	tail.WriteString("\n</conversation>\n\n")
	if s.previous != "" {
		previous := text.Middle(s.previous, max(room/2, minSummaryRoom))
		tail.WriteString("<previous-summary>\n" + escapeTag(previous, "previous-summary") + "\n</previous-summary>\n\n")
	}
	tail.WriteString(strings.TrimSpace(s.instructions))
	if s.focus != "" {
		tail.WriteString("\n\nKeep above all: " + s.focus)
	}
	conversation := strings.Join(fit(s.blocks, room-head.Len()-tail.Len()), "\n\n")
	return head.String() + escapeTag(conversation, "conversation") + tail.String()
}

// escapeTag escapes the closing tag in text that is enclosed in the tag.
func escapeTag(s, tag string) string {
	return strings.ReplaceAll(s, "</"+tag, "< /"+tag)
}

const (
	// minSummaryRoom is the minimum size of the part of a conversation from which a summary is written, in bytes.
	minSummaryRoom = 1 << 10
	// unknownWindow is the assumed size of a window of unknown size, in tokens.
	unknownWindow = 32_000
)

// summaryRoom returns how much can be sent to a model for a summary, in bytes. It assumes three bytes for each token, because code
// and many languages have fewer than four, and reserves a quarter of the window for the summary.
func summaryRoom(info *providers.ModelInfo) int {
	window := info.ContextWindow
	if window <= 0 {
		window = unknownWindow
	}
	return window * 3 * 3 / 4
}

func size(blocks []string) int {
	n := 0
	for _, b := range blocks {
		n += len(b) + len("\n\n")
	}
	return n
}

// fit drops the oldest blocks of a conversation until it fits into room bytes, and replaces them with a note. It keeps the very
// first block, which contains the user's request.
func fit(blocks []string, room int) []string {
	room = max(room, minSummaryRoom)
	if size(blocks) <= room || len(blocks) == 0 {
		return blocks
	}
	first := text.Middle(blocks[0], room/4)
	room -= len(first)
	from := len(blocks)
	for from > 1 {
		n := len(blocks[from-1]) + len("\n\n")
		if n > room && from < len(blocks) {
			break
		}
		room -= n
		from--
	}
	newest := blocks[from:]
	out := []string{first}
	if from > 1 {
		out = append(out, fmt.Sprintf("[%d older messages are omitted because they do not fit.]", from-1))
	}
	if len(newest) > 0 && room < 0 { // the last one alone is too long
		last := newest[len(newest)-1]
		return append(out, text.Middle(last, max(len(last)+room, 0)))
	}
	return append(out, newest...)
}

// maxShortSummary is the maximum length of a short summary, in characters.
const maxShortSummary = 120

// ShortSummary returns the first line of a summary that is not a heading.
func ShortSummary(summary string) string {
	for line := range strings.Lines(summary) {
		line = text.OneLine(line)
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "<") || strings.Trim(line, "-*_ ") == "" {
			continue
		}
		line = strings.TrimLeft(line, "-*> ")
		return text.Truncate(line, maxShortSummary)
	}
	return ""
}
