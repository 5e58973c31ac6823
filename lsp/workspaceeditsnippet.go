package lsp

import "strings"

// plainSnippet is the text that a snippet leaves when nobody fills it in: placeholders with their default, the first of
// several choices, variables with their default or nothing.
func plainSnippet(s string) string {
	p := snippetParser{rest: s}
	p.text("")
	return p.out.String()
}

// snippetParser reads the protocol's snippet grammar. What does not fit it is text.
type snippetParser struct {
	rest string
	out  strings.Builder
	// depth bounds placeholders in placeholders.
	depth int
}

const maxSnippetDepth = 50

// text reads until one of the characters in stop, which stays.
func (p *snippetParser) text(stop string) {
	for p.rest != "" {
		c := p.rest[0]
		switch {
		case c == '\\' && len(p.rest) > 1 && strings.IndexByte(`\$}|,`, p.rest[1]) >= 0:
			p.out.WriteByte(p.rest[1])
			p.rest = p.rest[2:]
		case strings.IndexByte(stop, c) >= 0:
			return
		case c == '$' && p.placeholder():
		default:
			p.out.WriteByte(c)
			p.rest = p.rest[1:]
		}
	}
}

// placeholder reads what begins with a dollar sign. Where that is none, it reads nothing and reports false.
func (p *snippetParser) placeholder() bool {
	rest := p.rest[1:]
	if name := snippetName(rest); name != "" {
		p.rest = rest[len(name):]
		return true
	}
	if !strings.HasPrefix(rest, "{") || p.depth == maxSnippetDepth {
		return false
	}
	name := snippetName(rest[1:])
	after := rest[1+len(name):]
	if name == "" || after == "" {
		return false
	}
	inner := snippetParser{rest: after[1:], depth: p.depth + 1}
	switch after[0] {
	case '}':
		p.rest = after[1:]
		return true
	case ':':
		inner.text("}")
	case '|':
		inner.text(",|")
		choice := inner.out.String()
		skip := snippetParser{rest: inner.rest, depth: inner.depth}
		skip.text("|")
		inner.rest = strings.TrimPrefix(skip.rest, "|")
		inner.out.Reset()
		inner.out.WriteString(choice)
	case '/': // a transformation of a variable that has no value here
		inner.text("}")
		inner.out.Reset()
	default:
		return false
	}
	if !strings.HasPrefix(inner.rest, "}") {
		return false
	}
	p.out.WriteString(inner.out.String())
	p.rest = inner.rest[1:]
	return true
}

// snippetName is the number or the name that s begins with.
func snippetName(s string) string {
	i := 0
	for i < len(s) {
		c := s[i]
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		digit := '0' <= c && c <= '9'
		if !letter && !digit || letter && i > 0 && '0' <= s[0] && s[0] <= '9' {
			break
		}
		i++
	}
	return s[:i]
}
