package commands

import (
	"strings"
	"unicode"
)

// expand replaces the placeholders in a command's text in one pass, so placeholders in arguments are not expanded.
func expand(body, args string) string {
	words := Split(args)
	var b strings.Builder
	found := false
	for rest := body; ; {
		before, after, ok := strings.Cut(rest, "$")
		b.WriteString(before)
		if !ok {
			break
		}
		value, n := placeholder(after, args, words)
		if n == 0 {
			b.WriteByte('$')
		} else {
			found = true
			b.WriteString(value)
		}
		rest = after[n:]
	}
	if !found && args != "" {
		b.WriteString("\n\n" + args)
	}
	return strings.TrimSpace(b.String())
}

const wholeArguments = "ARGUMENTS"

// placeholder returns the value of the placeholder after a "$" at the start of s, and its length; zero for none. "$10"
// and "$ARGUMENTS_X" are not placeholders.
func placeholder(s, args string, words []string) (value string, n int) {
	switch {
	case s == "":
		return "", 0
	case s[0] == '@':
		return strings.Join(words, " "), 1
	case s[0] >= '1' && s[0] <= '9' && (len(s) == 1 || s[1] < '0' || s[1] > '9'):
		if i := int(s[0] - '1'); i < len(words) {
			value = words[i]
		}
		return value, 1
	case strings.HasPrefix(s, wholeArguments) && !nameGoesOn(s[len(wholeArguments):]):
		return args, len(wholeArguments)
	}
	return "", 0
}

func nameGoesOn(s string) bool {
	return s != "" && (s[0] == '_' || s[0] >= '0' && s[0] <= '9' || s[0] >= 'A' && s[0] <= 'Z' || s[0] >= 'a' && s[0] <= 'z')
}

// Split splits arguments into words like a shell: at white space outside quotes. A backslash escapes a quote, a space
// or a backslash, except between single quotes; before any other character, as in a Windows path, it is literal. An
// unclosed quote extends to the end.
func Split(s string) []string {
	var words []string
	var word strings.Builder
	var quote rune // the open quote; zero for none
	in := false    // inside a word
	runes := []rune(s)
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		switch {
		case r == '\\' && quote != '\'' && i+1 < len(runes) && escapable(runes[i+1], quote):
			i++
			word.WriteRune(runes[i])
			in = true
		case r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, in = r, true
		case quote == 0 && unicode.IsSpace(r):
			if in {
				words = append(words, word.String())
				word.Reset()
			}
			in = false
		default:
			word.WriteRune(r)
			in = true
		}
	}
	if in {
		words = append(words, word.String())
	}
	return words
}

func escapable(r, quote rune) bool {
	switch r {
	case '"', '\\':
		return true
	case '\'':
		return quote == 0
	}
	return quote == 0 && unicode.IsSpace(r)
}

// skillText returns the prompt of a skill.
func skillText(e *entry, args string) string {
	text := e.body + "\n\n---\n\nSkill: " + e.path
	if args != "" {
		text += "\nUser: " + args
	}
	return strings.TrimSpace(text)
}
