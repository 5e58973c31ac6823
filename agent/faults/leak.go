package faults

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// OpenAI's models address a call with control words that the servers remove. Sometimes a model writes these words as
// text, in the middle of a call's arguments or of an answer, followed by unrelated text: "analysis to=functions.edit
// code …". The text that follows is never trusted.

// leakMarker precedes the name of a tool in a leak.
const leakMarker = "to=functions."

const (
	// channelWords appear directly before a marker, without quotes.
	channelWords = "analysis assistant commentary user"
	// glitchTokens are meaningless words that appear before a marker.
	glitchTokens = "Japgolly Jsii changedFiles RTLU"
	// Quotes before the words show that a text is about them.
	quotes = "`\"'>|(“‘«"
)

// CanLeak reports whether a model may write such words as text.
func CanLeak(info *providers.ModelInfo) bool {
	id := strings.ToLower(info.ID)
	return strings.HasPrefix(info.Provider, "openai") || strings.HasPrefix(info.Provider, "azure") ||
		strings.Contains(id, "gpt") || strings.Contains(id, "codex")
}

// Shown reports whether a text has a marker. A model that has read one may write about it.
func Shown(text string) bool { return strings.Contains(text, leakMarker) }

// Suspect reports whether a text or call of an answer contains a marker. It is a cheap test; most answers contain none.
func Suspect(msg *providers.Message) bool {
	return slices.ContainsFunc(msg.Parts, func(p providers.Part) bool {
		switch p := p.(type) {
		case providers.Text:
			return Shown(p.Text)
		case providers.Thinking:
			return Shown(p.Text)
		case providers.ToolCall:
			return Shown(string(p.Input))
		default:
			return false
		}
	})
}

// CutLeaks removes leaks from an answer. It cuts texts before a leak, and removes the arguments of calls that contain one, so that
// the model does not read them again. It returns the IDs of these calls, and whether there were any leaks in texts or calls. isTool
// reports whether a tool with the given name exists.
func CutLeaks(msg *providers.Message, isTool func(name string) bool) (calls []string, found bool) {
	parts := slices.Clone(msg.Parts)
	for i, p := range parts {
		switch p := p.(type) {
		case providers.Text:
			if at, leaked := leakIn(p.Text, isTool); leaked {
				p.Text, found = strings.TrimRight(p.Text[:at], " \t\r\n"), true
				parts[i] = p
			}
		case providers.Thinking:
			if at, leaked := leakIn(p.Text, isTool); leaked && p.Signature == "" {
				p.Text = p.Text[:at]
				parts[i] = p
			}
		case providers.ToolCall:
			if inputLeaks(p.Input, isTool) {
				calls = append(calls, p.ID)
				p.Input, found = jsonx.Raw("{}"), true
				parts[i] = p
			}
		default:
		}
	}
	msg.Parts = slices.DeleteFunc(parts, func(p providers.Part) bool {
		text, ok := p.(providers.Text)
		return ok && text.Text == ""
	})
	return calls, found
}

// leakIn returns the start of the first leak in a text. A single sign proves nothing: a leak requires the name of an existing tool
// and two more signs.
func leakIn(text string, isTool func(name string) bool) (at int, found bool) {
	for from := 0; ; {
		i := strings.Index(text[from:], leakMarker)
		if i < 0 {
			return 0, false
		}
		i += from
		from = i + len(leakMarker)
		end := from
		for end < len(text) && isNameByte(text[end]) {
			end++
		}
		if !isTool(text[from:end]) {
			continue
		}
		before := strings.TrimRight(text[max(0, i-64):i], " \t\r\n")
		signs := 0
		for word := range strings.FieldsSeq(channelWords) {
			if rest, ok := strings.CutSuffix(before, word); ok {
				signs++
				before = rest
				break
			}
		}
		if last, _ := utf8.DecodeLastRuneInString(before); strings.ContainsRune(quotes, last) && !strings.HasSuffix(before, "】【\"") {
			continue
		}
		for word := range strings.FieldsSeq(glitchTokens) {
			if strings.Contains(before, word) {
				signs += 2
				break
			}
		}
		if strings.Contains(before, "】【") {
			signs++
		}
		after := text[end:min(len(text), end+96)]
		if foreign(before) || foreign(after) {
			signs++
		}
		if rest := strings.TrimLeft(after, " \t\r\n"); rest != after && strings.HasPrefix(rest, "code") && (len(rest) == 4 || !isNameByte(rest[4])) {
			signs++
		}
		if strings.Contains(after, leakMarker) {
			signs++
		}
		if signs >= 2 {
			return junkStart(text, i), true
		}
	}
}

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// foreign reports whether a text contains a run of letters that are neither Latin nor Greek.
func foreign(text string) bool {
	run := 0
	for _, r := range text {
		if r >= utf8.RuneSelf && r != utf8.RuneError && unicode.IsLetter(r) && !unicode.In(r, unicode.Latin, unicode.Greek, unicode.Common) {
			if run++; run >= 2 {
				return true
			}
			continue
		}
		if !unicode.IsMark(r) {
			run = 0
		}
	}
	return false
}

// junkStart returns the start of the leaked words and text before a marker, within the marker's line.
func junkStart(text string, marker int) int {
	at := marker
	line := strings.LastIndexByte(text[:marker], '\n') + 1
	for at > line {
		rest := strings.TrimRight(text[line:at], " \t")
		n := len(rest)
		for word := range strings.FieldsSeq(channelWords + " " + glitchTokens) {
			rest = strings.TrimSuffix(rest, word)
		}
		if r, size := utf8.DecodeLastRuneInString(rest); len(rest) == n && r >= utf8.RuneSelf && !unicode.In(r, unicode.Latin) {
			rest = rest[:len(rest)-size]
		} else if len(rest) == n && strings.HasSuffix(rest, "】【\"") {
			rest = rest[:len(rest)-1]
		}
		if len(rest) == n {
			return line + n
		}
		at = line + len(rest)
	}
	return at
}

// inputLeaks reports whether a string in a call's input contains a leak.
func inputLeaks(input jsonx.Raw, isTool func(string) bool) bool {
	var v any
	if jsonx.Unmarshal(input, &v) != nil {
		_, leaked := leakIn(string(input), isTool)
		return leaked
	}
	var within func(any) bool
	within = func(v any) bool {
		switch v := v.(type) {
		case string:
			_, leaked := leakIn(v, isTool)
			return leaked
		case []any:
			return slices.ContainsFunc(v, within)
		case map[string]any:
			for name := range v {
				if within(name) || within(v[name]) {
					return true
				}
			}
		}
		return false
	}
	return within(v)
}
