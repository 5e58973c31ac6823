package transcript

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxLabel    = 999 // maximum bytes of a link label, as in CommonMark
	maxParens   = 32  // maximum depth of parentheses in a link target
	maxCodeMark = 80  // maximum number of backticks around a code span
)

// codeSpans finds the code spans of a text.
type codeSpans struct {
	text string
	last []int // the position of the last run of each length
}

// at returns the length of the run of backticks at i, and that of the code span that starts there, if any.
func (c *codeSpans) at(i int) (run, size int) {
	if c.last == nil {
		c.last = make([]int, maxCodeMark+1)
		for k := 0; k < len(c.text); k++ {
			if n := backticks(c.text[k:]); n > 0 {
				c.last[min(n, maxCodeMark)] = k
				k += n
			}
		}
	}
	run = backticks(c.text[i:])
	if run >= maxCodeMark || c.last[run] <= i {
		return run, 0
	}
	for k := i + run; ; k++ {
		if n := backticks(c.text[k:]); n == run {
			return run, k + n - i
		} else if n > 0 {
			k += n - 1
		}
	}
}

func backticks(s string) int {
	n := 0
	for n < len(s) && s[n] == '`' {
		n++
	}
	return n
}

// codeText returns the displayed content of a code span.
func codeText(s string) string {
	s = strings.ReplaceAll(s, "\n", " ")
	if len(s) > 2 && s[0] == ' ' && s[len(s)-1] == ' ' && strings.Trim(s, " ") != "" {
		s = s[1 : len(s)-1]
	}
	return s
}

// linkTarget parses a target with its title in parentheses; its size is 0 if there is none.
func linkTarget(s string) (target string, size int) {
	at := 1 + spaces(s[1:])
	if !strings.HasPrefix(s[at:], ")") {
		if target, size = destination(s[at:]); size == 0 {
			return "", 0
		}
		at += size
		if space := spaces(s[at:]); space > 0 {
			at += space
			at += title(s[at:])
			at += spaces(s[at:])
		}
	}
	if !strings.HasPrefix(s[at:], ")") {
		return "", 0
	}
	return target, at + 1
}

// definition parses a link reference definition; its size is 0 if there is none.
func definition(s string) (label, target string, size int) {
	if !strings.HasPrefix(s, "[") {
		return "", "", 0
	}
	label, at := linkLabel(s)
	if label == "" || !strings.HasPrefix(s[at:], ":") {
		return "", "", 0
	}
	at++
	at += spaces(s[at:])
	target, size = destination(s[at:])
	if size == 0 {
		return "", "", 0
	}
	at += size
	end := endOfLine(s[at:])
	if space := spaces(s[at:]); space > 0 {
		if size := title(s[at+space:]); size > 0 {
			if e := endOfLine(s[at+space+size:]); e >= 0 {
				end = space + size + e
			}
		}
	}
	if end < 0 {
		return "", "", 0
	}
	return label, target, at + end
}

// destination parses a link destination; its size is 0 if there is none.
func destination(s string) (target string, size int) {
	if strings.HasPrefix(s, "<") {
		for i := 1; i < len(s); i++ {
			switch s[i] {
			case '\\':
				i++
			case '\n', '<':
				return "", 0
			case '>':
				return unescaped(s[1:i]), i + 1
			}
		}
		return "", 0
	}
	depth := 0
	for size < len(s) && s[size] > ' ' && s[size] != 0x7f {
		switch s[size] {
		case '\\':
			if size+1 < len(s) && isPunctuation(s[size+1]) {
				size++
			}
		case '(':
			if depth++; depth > maxParens {
				return "", 0
			}
		case ')':
			if depth--; depth < 0 {
				return unescaped(s[:size]), size
			}
		}
		size++
	}
	if depth > 0 {
		return "", 0
	}
	return unescaped(s[:size]), size
}

// title returns the size of a link title, which is not shown; 0 if there is none.
func title(s string) int {
	if s == "" {
		return 0
	}
	end := s[0]
	switch end {
	case '"', '\'':
	case '(':
		end = ')'
	default:
		return 0
	}
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case end:
			return i + 1
		case '(':
			if end == ')' {
				return 0
			}
		case '\n':
			if strings.HasPrefix(strings.TrimLeft(s[i+1:], " \t"), "\n") {
				return 0
			}
		}
	}
	return 0
}

// linkLabel parses a label in brackets and normalizes it; its size is 0 if there is none.
func linkLabel(s string) (label string, size int) {
	for i := 1; i < len(s) && i <= maxLabel; i++ {
		switch s[i] {
		case '\\':
			i++
		case '[':
			return "", 0
		case ']':
			return normalized(s[1:i]), i + 1
		}
	}
	return "", 0
}

// normalized returns a label in the form in which labels are compared.
func normalized(label string) string {
	return strings.ToLower(strings.ToUpper(strings.Join(strings.Fields(label), " ")))
}

// spaces returns the length of the blanks with at most one newline.
func spaces(s string) int {
	newline := false
	for i := range len(s) {
		switch {
		case isTabOrSpace(s[i]):
		case s[i] == '\n' && !newline:
			newline = true
		default:
			return i
		}
	}
	return len(s)
}

// endOfLine returns the length of the rest of the line with its end, or -1 if it is not blank.
func endOfLine(s string) int {
	rest := strings.TrimLeft(s, " \t")
	switch {
	case rest == "":
		return len(s)
	case rest[0] == '\n':
		return len(s) - len(rest) + 1
	default:
		return -1
	}
}

// unescaped decodes backslash escapes and entities.
func unescaped(s string) string {
	if !strings.ContainsAny(s, `\&`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if text, size := entity(s[i:]); size > 0 {
			b.WriteString(text)
			i += size - 1
			continue
		}
		if s[i] == '\\' && i+1 < len(s) && isPunctuation(s[i+1]) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// entity decodes the common entities in texts about code; others stay unchanged.
func entity(s string) (text string, size int) {
	if s[0] != '&' {
		return "", 0
	}
	for _, e := range [...][2]string{
		{"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", `"`}, {"&#34;", `"`}, {"&apos;", "'"}, {"&#39;", "'"}, {"&nbsp;", "\u00a0"},
	} {
		if strings.HasPrefix(s, e[0]) {
			return e[1], len(e[0])
		}
	}
	return "", 0
}

// autolink parses an address in angle brackets. Other content of angle brackets, such as std::vector, is text.
func autolink(s string) (target, text string) {
	end := strings.IndexAny(s[1:], "<> \t\n")
	if end < 0 || s[1+end] != '>' {
		return "", ""
	}
	text = s[1 : 1+end]
	for _, scheme := range [...]string{"http:", "https:", "mailto:"} {
		if len(text) > len(scheme) && strings.EqualFold(text[:len(scheme)], scheme) {
			return text, text
		}
	}
	name, host, ok := strings.Cut(text, "@")
	if ok && name != "" && strings.Contains(host, ".") && !strings.ContainsAny(host, "@") && !strings.ContainsAny(text, `\"(),:;[]`) {
		return "mailto:" + text, text
	}
	return "", ""
}

// bareURL returns the length of the web address at the start of a text, without trailing punctuation of a sentence.
func bareURL(s string) int {
	size := 0
	switch {
	case strings.HasPrefix(s, "https://"):
		size = len("https://")
	case strings.HasPrefix(s, "http://"):
		size = len("http://")
	default:
		return 0
	}
	scheme, brackets, parens := size, 0, 0
	for size < len(s) {
		c, n := utf8.DecodeRuneInString(s[size:])
		switch c {
		case '[':
			brackets++
		case ']':
			brackets--
		case '(':
			parens++
		case ')':
			parens--
		}
		if c <= ' ' || c == '<' || c == '`' || c == '"' || brackets < 0 || c > 0x7f && (unicode.IsSpace(c) || isMark(c)) {
			break
		}
		size += n
	}
	for size > scheme {
		switch c := s[size-1]; {
		case c == ')' && parens < 0:
			parens++
		case strings.IndexByte("?!.,:;*_~'", c) < 0:
			return size
		}
		size--
	}
	return 0
}

// isPunctuation reports whether a backslash escapes the character.
func isPunctuation(c byte) bool {
	return '!' <= c && c <= '/' || ':' <= c && c <= '@' || '[' <= c && c <= '`' || '{' <= c && c <= '~'
}

func isWordByte(c byte) bool {
	return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'z'
}
