package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/typo"
)

// node is a value of a configuration file, JSON or YAML, with the place where it stands.
type node struct {
	line int
	kind kind
	// text is a string's value, a number as JSON writes it, or true or false.
	text    string
	list    []*node
	members []member
	// size counts this node and all below it, a long text as several, so that YAML's aliases can not make a small file large.
	size int
}

type member struct {
	name  string
	line  int
	value *node
}

type kind byte

const (
	null kind = iota
	boolean
	number
	text
	list
	object
)

func (k kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "a list", "a mapping"}[k]
}

// fault is what is wrong at a line of a file.
type fault struct {
	line int
	text string
}

func (f *fault) Error() string { return fmt.Sprintf("line %d: %s", f.line, f.text) }

func faultf(line int, format string, args ...any) *fault {
	return &fault{max(line, 1), fmt.Sprintf(format, args...)}
}

// mostNodes bounds one file with its aliases written out.
const mostNodes = 200_000

// measure sets the node's size.
func (n *node) measure() error {
	const unit = 32 // bytes of text that count as a node
	n.size = 1 + len(n.text)/unit
	for _, v := range n.list {
		n.size += v.size
	}
	for _, m := range n.members {
		n.size += m.value.size + len(m.name)/unit
	}
	if n.size > mostNodes {
		return faultf(n.line, "the file is too large")
	}
	return nil
}

func (n *node) member(name string) *node {
	for _, m := range n.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// strings are the texts of a list of strings.
func (n *node) strings() []string {
	if n == nil {
		return nil
	}
	all := make([]string, len(n.list))
	for i, v := range n.list {
		all[i] = v.text
	}
	return all
}

// json returns the value as JSON.
func (n *node) json() jsonx.Raw {
	if n == nil || n.kind == null {
		return nil
	}
	return n.append(nil)
}

func (n *node) append(to []byte) []byte {
	switch n.kind {
	case null:
		return append(to, "null"...)
	case boolean, number:
		return append(to, n.text...)
	case text:
		return jsonx.AppendString(to, n.text)
	case list:
		to = append(to, '[')
		for i, v := range n.list {
			if i > 0 {
				to = append(to, ',')
			}
			to = v.append(to)
		}
		return append(to, ']')
	default:
		to = append(to, '{')
		for i, m := range n.members {
			if i > 0 {
				to = append(to, ',')
			}
			to = append(jsonx.AppendString(to, m.name), ':')
			to = m.value.append(to)
		}
		return append(to, '}')
	}
}

// over returns the node put over a lower one: objects member by member, everything else as a whole. Neither is changed.
func (n *node) over(lower *node) *node {
	if lower == nil || n.kind != object || lower.kind != object {
		return n
	}
	merged := &node{line: n.line, kind: object, size: n.size + lower.size}
	merged.members = append(merged.members, lower.members...)
	places := make(map[string]int, len(lower.members)) // a file may have very many
	for i := range lower.members {
		places[lower.members[i].name] = i
	}
	for _, m := range n.members {
		at, ok := places[m.name]
		if !ok {
			merged.members = append(merged.members, m)
			continue
		}
		m.value = m.value.over(lower.members[at].value)
		merged.members[at] = m
	}
	return merged
}

// parseJSON reads a JSON file. An empty one is nil.
func parseJSON(data []byte) (*node, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil
	}
	p := &jsonParser{data: data, line: 1}
	p.dec.Reset(bytes.NewReader(data))
	n, err := p.value()
	if err == nil {
		if _, err = p.dec.ReadToken(); errors.Is(err, io.EOF) {
			return n, nil
		} else if err == nil {
			return nil, faultf(p.at(), "there is more behind the JSON value")
		}
	}
	if _, ours := errors.AsType[*fault](err); ours {
		return nil, err
	}
	return nil, p.broken()
}

type jsonParser struct {
	data []byte
	dec  jsonx.Decoder
	// line is that of the offset up to which newlines were counted.
	line, counted int
}

// at is the line where the token that was read last ended.
func (p *jsonParser) at() int {
	end := min(int(p.dec.InputOffset()), len(p.data))
	p.line += bytes.Count(p.data[p.counted:end], []byte("\n"))
	p.counted = end
	return p.line
}

// broken says what is wrong with the syntax, and where: at the first thing that was not read.
func (p *jsonParser) broken() error {
	line := p.at()
	rest := p.data[p.counted:]
	skipped := len(rest) - len(bytes.TrimLeft(rest, " \t\r\n,:"))
	line += bytes.Count(rest[:skipped], []byte("\n"))
	rest = rest[skipped:]
	if bytes.HasPrefix(rest, []byte("//")) || bytes.HasPrefix(rest, []byte("/*")) {
		return faultf(line, "JSON has no comments; YAML has (lsp.yaml)")
	}
	reason := "the file is not JSON"
	var raw jsonx.Raw
	if e, ok := errors.AsType[*jsonx.DecodeError](jsonx.Unmarshal(p.data, &raw)); ok {
		reason += ": " + e.Reason
	}
	return faultf(line, "%s", reason)
}

func (p *jsonParser) value() (*node, error) {
	tok, err := p.dec.ReadToken()
	if err != nil {
		return nil, err
	}
	n := &node{line: p.at()}
	switch tok.Kind() {
	case 'n':
	case 't', 'f', '0':
		n.kind, n.text = boolean, tok.String()
		if tok.Kind() == '0' {
			n.kind = number
		}
	case '"':
		n.kind, n.text = text, tok.String()
	case '[':
		n.kind = list
		for p.dec.PeekKind() != ']' {
			v, err := p.value()
			if err != nil {
				return nil, err
			}
			n.list = append(n.list, v)
		}
		_, err = p.dec.ReadToken()
	case '{':
		n.kind = object
		for p.dec.PeekKind() != '}' {
			name, err := p.dec.ReadToken()
			if err != nil {
				return nil, err
			}
			m := member{name: name.String(), line: p.at()}
			if m.value, err = p.value(); err != nil {
				return nil, err
			}
			n.members = append(n.members, m)
		}
		_, err = p.dec.ReadToken()
	}
	if err != nil {
		return nil, err
	}
	return n, n.measure()
}

// float returns a YAML number as JSON writes it.
func float(f float64) (string, bool) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return "", false
	}
	return strconv.FormatFloat(f, 'g', -1, 64), true
}

// near returns the name among known that s was probably meant to be, or "".
func near(s string, known []string) string {
	best, least := "", 3
	for _, k := range known {
		if d := typo.Distance(strings.ToLower(s), strings.ToLower(k)); d < least && d < len(k)/2+1 {
			best, least = k, d
		}
	}
	return best
}
