package transcript

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxHighlight is the maximum size of highlighted code, in bytes.
const maxHighlight = 128 << 10

// highlight writes code with comments, strings, numbers and keywords marked. It works on tokens and does not know
// grammars.
func (p *htmlPage) highlight(name, code string) {
	if strings.EqualFold(name, "diff") || strings.EqualFold(name, "patch") {
		p.highlightDiff(code)
		return
	}
	l := languageOf(name)
	if l == nil || len(code) > maxHighlight {
		p.write(escaped(code))
		return
	}
	rest := code
	plain := 0 // the length of the plain start of rest
	emit := func(class string, size int) {
		if plain > 0 {
			p.write(escaped(rest[:plain]))
		}
		p.write(`<span class="`, class, `">`, escaped(rest[plain:plain+size]), "</span>")
		rest, plain = rest[plain+size:], 0
	}
	for plain < len(rest) {
		at := rest[plain:]
		var before byte
		if i := len(code) - len(at); i > 0 {
			before = code[i-1]
		}
		switch class, size := l.token(at, before); {
		case class != "":
			emit(class, size)
		default:
			plain += size
		}
	}
	p.write(escaped(rest))
}

// token returns the length of the token at the start of code, at least one byte, and its class, which is empty for
// plain text; before is the preceding byte.
func (l *language) token(code string, before byte) (class string, size int) {
	for _, c := range l.line {
		// "#" starts a comment only at the start of a word, unlike $# and a#b.
		if strings.HasPrefix(code, c) && (c != "#" || before == 0 || isBlank(before)) {
			if end := strings.IndexByte(code, '\n'); end >= 0 {
				return "c", end
			}
			return "c", len(code)
		}
	}
	for _, c := range l.block {
		if strings.HasPrefix(code, c[0]) {
			if end := strings.Index(code[len(c[0]):], c[1]); end >= 0 {
				return "c", len(c[0]) + end + len(c[1])
			}
			return "c", len(code)
		}
	}
	for _, q := range l.quotes {
		if strings.HasPrefix(code, q) {
			return stringToken(code, q, l)
		}
	}
	r, n := utf8.DecodeRuneInString(code)
	switch {
	case r >= '0' && r <= '9':
		return "n", numberSize(code)
	case r == '_' || unicode.IsLetter(r):
		size = wordSize(code)
		word := code[:size]
		if l.anyCase {
			word = strings.ToLower(word)
		}
		if !l.tags && strings.Contains(l.words, " "+word+" ") || l.tags && (before == '<' || before == '/') {
			return "k", size
		}
		return "", size
	default:
		return "", max(n, 1)
	}
}

// maxQuoted is the maximum length of a 'string', in bytes.
const maxQuoted = 512

// stringToken returns the length of the string at the start of code. An unclosed string ends with the line, unless it
// can have several lines.
func stringToken(code, quote string, l *language) (string, int) {
	several := len(quote) == 3 || quote == "`" || l.longStrings
	if quote == "'" && !several {
		code = code[:min(len(code), maxQuoted)]
	}
	for i := len(quote); i < len(code); i++ {
		switch {
		case code[i] == '\\' && quote != "`" && !l.noEscapes:
			i++
		case strings.HasPrefix(code[i:], quote):
			return "s", i + len(quote)
		case code[i] == '\n' && !several:
			if quote == "'" { // an apostrophe, a lifetime
				return "", 1
			}
			return "s", i
		}
	}
	if quote == "'" && !several {
		return "", 1
	}
	return "s", len(code)
}

func numberSize(code string) int {
	n := 0
	for n < len(code) && (code[n] >= '0' && code[n] <= '9' || code[n] >= 'a' && code[n] <= 'z' || code[n] >= 'A' && code[n] <= 'Z' || code[n] == '_' || code[n] == '.') {
		n++
	}
	return n
}

func wordSize(code string) int {
	for i, r := range code {
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return i
		}
	}
	return len(code)
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == ';' || c == '(' }

func (p *htmlPage) highlightDiff(code string) {
	for l := range strings.SplitAfterSeq(code, "\n") {
		class := ""
		switch {
		case strings.HasPrefix(l, "+"):
			class = "add"
		case strings.HasPrefix(l, "-"):
			class = "del"
		case strings.HasPrefix(l, "@@"):
			class = "hunk"
		}
		if class == "" {
			p.write(escaped(l))
			continue
		}
		p.write(`<span class="`, class, `">`, escaped(l), "</span>")
	}
}
