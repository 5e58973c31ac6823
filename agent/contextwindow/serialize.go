package contextwindow

import (
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

const (
	// maxCallText is the maximum size of a call's input or result in a request for a summary, in bytes.
	maxCallText = 4 << 10
	// maxMessageText is the maximum size of any other text in such a request.
	maxMessageText = 32 << 10
)

// serialize returns a conversation as text, one block for each message: a request without tools must not contain calls. hide
// replaces secrets before long texts are cut, because a secret cut in half would not be found.
func serialize(entries []sessions.Entry, pruned map[string]bool, hide func(string) string) []string {
	var blocks []string
	for _, e := range entries {
		if c, ok := e.(sessions.Compaction); ok {
			blocks = append(blocks, "[Summary of the earlier conversation]: "+text.Middle(hide(c.Summary), maxMessageText))
			continue
		}
		m, ok := sessions.MessageOf(e)
		if !ok {
			continue
		}
		if m.Role == providers.RoleTool && pruned[e.Ref().ID] {
			m.Parts = []providers.Part{providers.Text{Text: "(omitted: old and long)"}}
		}
		if block := messageText(&m, hide); block != "" {
			blocks = append(blocks, block)
		}
	}
	return blocks
}

func messageText(m *providers.Message, hide func(string) string) string {
	if m.Role == providers.RoleTool {
		heading := "[Result of " + m.ToolName + "]: "
		if m.IsError {
			heading = "[Error of " + m.ToolName + "]: "
		}
		return heading + text.Middle(hide(m.Text()), maxCallText)
	}
	var lines []string
	for _, p := range m.Parts {
		switch p := p.(type) {
		case providers.Text:
			if p.Text != "" {
				lines = append(lines, text.Middle(hide(p.Text), maxMessageText))
			}
		case providers.Image:
			lines = append(lines, "(an image)")
		case providers.ToolCall:
			lines = append(lines, "[Call of "+p.Name+"]: "+text.Middle(hide(string(p.Input)), maxCallText))
		default: // thinking is omitted
		}
	}
	if len(lines) == 0 {
		return ""
	}
	speaker := "[User]: "
	if m.Role == providers.RoleAssistant {
		speaker = "[Agent]: "
	}
	return speaker + strings.Join(lines, "\n")
}

// newestWithin returns the newest blocks of a conversation that fit into budget tokens. If the next block is a summary and much of
// the budget remains, it includes the part of the summary that fits: a summary covers many messages.
func newestWithin(entries []sessions.Entry, budget int, hide func(string) string) []string {
	pruned := sessions.PrunedOf(entries)
	var newest []string
	used := 0
	for _, e := range slices.Backward(entries) {
		block := serialize([]sessions.Entry{e}, pruned, hide)
		if len(block) == 0 {
			continue
		}
		n := Tokens(len(block[0]))
		if used+n > budget && len(newest) > 0 {
			if isSummary(e) && used < budget*9/10 {
				newest = append(newest, text.Middle(block[0], max((budget-used)*4, 0)))
			}
			break
		}
		newest = append(newest, block[0])
		used += n
	}
	slices.Reverse(newest)
	return newest
}

func isSummary(e sessions.Entry) bool {
	switch e.(type) {
	case sessions.Compaction, sessions.BranchSummary:
		return true
	default:
		return false
	}
}
