// Package json5 converts JSON5 (https://spec.json5.org) to JSON. Models write JSON5 when they omit the quotes around member names,
// use single quotes, or leave a trailing comma or a comment.
package json5

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// maxDepth bounds the nesting of arrays and objects.
const maxDepth = 1000

// ToJSON returns the single JSON5 value in text as JSON, with its members in order. Numbers keep their digits; hexadecimal ones
// become decimal. Infinity and NaN, which JSON cannot represent, are errors, as is a duplicate member name.
func ToJSON(text string) (jsonx.Raw, error) {
	p := parser{text: string([]rune(text))} // replaces each invalid UTF-8 byte with U+FFFD
	if err := p.document(); err != nil {
		line := 1 + strings.Count(p.text[:p.at], "\n")
		return nil, fmt.Errorf("line %d: %w", line, err)
	}
	return jsonx.Raw(p.out), nil
}

type parser struct {
	text  string
	at    int
	depth int
	out   []byte
}

func (p *parser) document() error {
	if err := p.value(); err != nil {
		return err
	}
	if err := p.space(); err != nil {
		return err
	}
	if p.at < len(p.text) {
		return fmt.Errorf("%q follows the value", p.peek())
	}
	return nil
}

// peek returns the next character, or [utf8.RuneError] at the end.
func (p *parser) peek() rune {
	r, _ := utf8.DecodeRuneInString(p.text[p.at:])
	return r
}

// take skips token and returns true if it is next.
func (p *parser) take(token string) bool {
	if !strings.HasPrefix(p.text[p.at:], token) {
		return false
	}
	p.at += len(token)
	return true
}

// space skips white space and comments.
func (p *parser) space() error {
	for p.at < len(p.text) {
		switch r := p.peek(); {
		case p.take("//"):
			if n := strings.IndexAny(p.text[p.at:], "\n\r\u2028\u2029"); n >= 0 {
				p.at += n
			} else {
				p.at = len(p.text)
			}
		case p.take("/*"):
			n := strings.Index(p.text[p.at:], "*/")
			if n < 0 {
				return errors.New("unterminated comment")
			}
			p.at += n + len("*/")
		case strings.ContainsRune("\t\v\f\n\r\u2028\u2029\uFEFF", r) || unicode.Is(unicode.Zs, r):
			p.at += utf8.RuneLen(r)
		default:
			return nil
		}
	}
	return nil
}

func (p *parser) value() error {
	if err := p.space(); err != nil {
		return err
	}
	if p.at == len(p.text) {
		return errors.New("unexpected end; want a value")
	}
	switch p.peek() {
	case '{':
		return p.list("}", map[string]bool{})
	case '[':
		return p.list("]", nil)
	case '"', '\'':
		s, err := p.quoted()
		p.out = jsonx.AppendString(p.out, s)
		return err
	}
	rest := p.text[p.at:]
	n := strings.IndexFunc(rest, func(r rune) bool {
		return !isNamePart(r) && !strings.ContainsRune("+-.", r)
	})
	if n < 0 {
		n = len(rest)
	}
	word := rest[:n]
	switch word {
	case "":
		return fmt.Errorf("unexpected %q; want a value", p.peek())
	case "null", "true", "false":
		p.out = append(p.out, word...)
	default:
		number, err := jsonNumber(word)
		if err != nil {
			return err
		}
		p.out = append(p.out, number...)
	}
	p.at += n
	return nil
}

// list reads an array or an object. names holds the member names of an object.
func (p *parser) list(end string, names map[string]bool) error {
	if p.depth++; p.depth > maxDepth {
		return fmt.Errorf("nested more than %d levels deep", maxDepth)
	}
	p.out = append(p.out, p.text[p.at])
	p.at++
	for first := true; ; first = false {
		if err := p.space(); err != nil {
			return err
		}
		if p.take(end) {
			break
		}
		if !first {
			p.out = append(p.out, ',')
		}
		if names != nil {
			if err := p.name(names); err != nil {
				return err
			}
		}
		if err := p.value(); err != nil {
			return err
		}
		if err := p.space(); err != nil {
			return err
		}
		if p.take(end) {
			break
		}
		if !p.take(",") {
			if p.at == len(p.text) {
				return fmt.Errorf("unexpected end; want %s", end)
			}
			return fmt.Errorf("unexpected %q; want , or %s", p.peek(), end)
		}
	}
	p.depth--
	p.out = append(p.out, end...)
	return nil
}

// name reads the name of a member and the colon after it.
func (p *parser) name(names map[string]bool) error {
	var name string
	var err error
	if r := p.peek(); r == '"' || r == '\'' {
		name, err = p.quoted()
	} else {
		name, err = p.identifier()
	}
	if err != nil {
		return err
	}
	if names[name] {
		return fmt.Errorf("repeated name %.60q", name)
	}
	names[name] = true
	if err := p.space(); err != nil {
		return err
	}
	if !p.take(":") {
		return fmt.Errorf("no colon after the name %.60q", name)
	}
	p.out = append(jsonx.AppendString(p.out, name), ':')
	return nil
}

func isNameStart(r rune) bool {
	return r == '$' || r == '_' || unicode.IsLetter(r) || unicode.Is(unicode.Nl, r)
}

func isNamePart(r rune) bool {
	return isNameStart(r) || unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc) || r == '\u200C' || r == '\u200D'
}

func (p *parser) identifier() (string, error) {
	var b strings.Builder
	for p.at < len(p.text) {
		r := p.peek()
		start := p.at
		if r == '\\' {
			p.at++
			if !p.take("u") {
				return "", errors.New(`a name without quotes may contain only \u escapes`)
			}
			var err error
			if r, err = p.hex(4); err != nil {
				return "", err
			}
		} else {
			p.at += utf8.RuneLen(r)
		}
		if !isNamePart(r) || b.Len() == 0 && !isNameStart(r) {
			p.at = start
			break
		}
		b.WriteRune(r)
	}
	switch {
	case b.Len() > 0:
		return b.String(), nil
	case p.at == len(p.text):
		return "", errors.New("unexpected end; want }")
	default:
		return "", fmt.Errorf("unexpected %q; want a name", p.peek())
	}
}

// quoted reads a string in single or double quotes.
func (p *parser) quoted() (string, error) {
	quote := p.peek()
	p.at++
	var b strings.Builder
	for p.at < len(p.text) {
		r := p.peek()
		switch r {
		case '\n', '\r':
			return "", errors.New(`a string contains a line break; write \n`)
		case '\\':
			p.at++
			if err := p.escape(&b); err != nil {
				return "", err
			}
			continue
		}
		p.at += utf8.RuneLen(r)
		if r == quote {
			return b.String(), nil
		}
		b.WriteRune(r)
	}
	return "", errors.New("unterminated string")
}

var escapes = map[rune]rune{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v'}

// escape reads the rest of an escape sequence, after the backslash.
func (p *parser) escape(b *strings.Builder) error {
	if p.at == len(p.text) {
		return errors.New("unterminated string")
	}
	if p.take("\r\n") { // a line continuation
		return nil
	}
	r := p.peek()
	p.at += utf8.RuneLen(r)
	switch {
	case strings.ContainsRune("\n\r\u2028\u2029", r): // a line continuation
	case r == 'x':
		c, err := p.hex(2)
		if err != nil {
			return err
		}
		b.WriteRune(c)
	case r == 'u':
		c, err := p.unit()
		if err != nil {
			return err
		}
		b.WriteRune(c)
	case r == '0' && !isDigit(p.peek()):
		b.WriteByte(0)
	case isDigit(r):
		return fmt.Errorf(`unknown escape \%c`, r)
	default:
		if c, ok := escapes[r]; ok {
			r = c
		}
		b.WriteRune(r)
	}
	return nil
}

func isDigit(r rune) bool { return '0' <= r && r <= '9' }

// unit reads the digits after \u, and the second half of a surrogate pair. An unpaired surrogate becomes U+FFFD.
func (p *parser) unit() (rune, error) {
	c, err := p.hex(4)
	if err != nil || c < 0xD800 || c > 0xDFFF {
		return c, err
	}
	at := p.at
	if p.take(`\u`) && c < 0xDC00 {
		low, err := p.hex(4)
		if err == nil && 0xDC00 <= low && low <= 0xDFFF {
			return (c-0xD800)<<10 + low - 0xDC00 + 0x10000, nil
		}
	}
	p.at = at
	return utf8.RuneError, nil
}

// hex reads n hexadecimal digits.
func (p *parser) hex(n int) (rune, error) {
	var c rune
	for range n {
		d := rune(strings.IndexRune("0123456789abcdef", unicode.ToLower(p.peek())))
		if p.at == len(p.text) || d < 0 {
			return 0, fmt.Errorf("an escape needs %d hexadecimal digits", n)
		}
		c = c<<4 | d
		p.at++
	}
	return c, nil
}

// jsonNumber converts a JSON5 number to JSON.
func jsonNumber(word string) (string, error) {
	digits, negative := strings.CutPrefix(word, "-")
	if !negative {
		digits = strings.TrimPrefix(digits, "+")
	}
	sign := ""
	if negative {
		sign = "-"
	}
	bad := fmt.Errorf("%.60q is not a value; quote strings", word)
	switch {
	case digits == "Infinity" || digits == "NaN":
		return "", fmt.Errorf("%s is out of range for a number", digits)
	case strings.HasPrefix(digits, "0x"), strings.HasPrefix(digits, "0X"):
		n, ok := new(big.Int).SetString(digits[2:], 16)
		if !ok || !isHex(digits[2:]) || len(digits) > 100 {
			return "", bad
		}
		return sign + n.String(), nil
	}
	// JSON requires a digit on both sides of the point.
	if strings.HasPrefix(digits, ".") && len(digits) > 1 && isDigit(rune(digits[1])) {
		digits = "0" + digits
	}
	if whole, rest, ok := strings.Cut(digits, "."); ok && whole != "" && (rest == "" || rest[0] == 'e' || rest[0] == 'E') {
		digits = whole + ".0" + rest
	}
	if digits == "" || !isDigit(rune(digits[0])) || !jsonx.Valid(jsonx.Raw(digits)) {
		return "", bad
	}
	return sign + digits, nil
}

func isHex(s string) bool {
	return s != "" && strings.Trim(strings.ToLower(s), "0123456789abcdef") == ""
}
