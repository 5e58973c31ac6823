// Package configfile reads configuration files in JSON or YAML. Each value has its line, problems have their position, and files
// report what the user must trust before the file takes effect.
package configfile

import (
	"fmt"
	"math"
	"strconv"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// Node is a value of a configuration file with its line. It must not be modified.
type Node struct {
	Line int
	Kind Kind
	// Text is the value of a string, a number in JSON syntax, or true or false.
	Text    string
	List    []*Node
	Members []Member
	// size is the number of nodes in this value; a long string counts as several. It bounds the effect of YAML's aliases.
	size int
}

// Member is a member of an object.
type Member struct {
	Name  string
	Line  int
	Value *Node
}

// Kind is the kind of a value.
type Kind byte

// The kinds.
const (
	Null Kind = iota
	Boolean
	Number
	Text
	List
	Object
)

func (k Kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "a list", "a mapping"}[k]
}

// A LineError is an error at a line of a file.
type LineError struct {
	Line int
	// Column counts from 1; 0 if unknown.
	Column int
	Text   string
	// Plain reports whether the text quotes nothing from the file, which may contain secrets.
	Plain bool
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Text) }

func faultf(line int, format string, args ...any) *LineError {
	return &LineError{Line: max(line, 1), Text: fmt.Sprintf(format, args...)}
}

// plainf is like faultf, for a text that quotes nothing from the file.
func plainf(line int, format string, args ...any) *LineError {
	e := faultf(line, format, args...)
	e.Plain = true
	return e
}

// maxNodes bounds one file with its aliases expanded.
const maxNodes = 200_000

// measure sets the node's size. It fails if the size is over the limit.
func (n *Node) measure() error {
	const unit = 32 // bytes of text that count as a node
	n.size = 1 + len(n.Text)/unit
	for _, v := range n.List {
		n.size += v.size
	}
	for _, m := range n.Members {
		n.size += m.Value.size + len(m.Name)/unit
	}
	if n.size > maxNodes {
		return plainf(n.Line, "the file is too large")
	}
	return nil
}

// Member returns the member of that name, or nil.
func (n *Node) Member(name string) *Node {
	if n == nil {
		return nil
	}
	for _, m := range n.Members {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

// Strings returns the texts of a list of strings.
func (n *Node) Strings() []string {
	if n == nil {
		return nil
	}
	all := make([]string, len(n.List))
	for i, v := range n.List {
		all[i] = v.Text
	}
	return all
}

// TextOf returns the value of a member that is a string, otherwise "".
func (n *Node) TextOf(name string) string {
	if v := n.Member(name); v != nil && v.Kind == Text {
		return v.Text
	}
	return ""
}

// True reports whether the value is true.
func (n *Node) True() bool { return n != nil && n.Kind == Boolean && n.Text == "true" }

// JSON returns the value as JSON; nil for null and for no value.
func (n *Node) JSON() jsonx.Raw {
	if n == nil || n.Kind == Null {
		return nil
	}
	return n.append(nil)
}

func (n *Node) append(to []byte) []byte {
	switch n.Kind {
	case Null:
		return append(to, "null"...)
	case Boolean, Number:
		return append(to, n.Text...)
	case Text:
		return jsonx.AppendString(to, n.Text)
	case List:
		to = append(to, '[')
		for i, v := range n.List {
			if i > 0 {
				to = append(to, ',')
			}
			to = v.append(to)
		}
		return append(to, ']')
	default:
		to = append(to, '{')
		for i, m := range n.Members {
			if i > 0 {
				to = append(to, ',')
			}
			to = append(jsonx.AppendString(to, m.Name), ':')
			to = m.Value.append(to)
		}
		return append(to, '}')
	}
}

// Any returns a copy of the value as nil, bool, int64, float64, string, []any or map[string]any.
func (n *Node) Any() any {
	if n == nil {
		return nil
	}
	switch n.Kind {
	case Boolean:
		return n.Text == "true"
	case Number:
		if i, err := strconv.ParseInt(n.Text, 10, 64); err == nil {
			return i
		}
		f, _ := strconv.ParseFloat(n.Text, 64) // the parsers reject numbers out of range
		return f
	case Text:
		return n.Text
	case List:
		all := make([]any, len(n.List))
		for i, v := range n.List {
			all[i] = v.Any()
		}
		return all
	case Object:
		all := make(map[string]any, len(n.Members))
		for _, m := range n.Members {
			all[m.Name] = m.Value.Any()
		}
		return all
	default:
		return nil
	}
}

// Over merges the node into a lower one: objects member by member, everything else as a whole. It modifies neither.
func (n *Node) Over(lower *Node) *Node {
	if lower == nil || n.Kind != Object || lower.Kind != Object {
		return n
	}
	merged := &Node{Line: n.Line, Kind: Object, size: n.size + lower.size}
	merged.Members = append(merged.Members, lower.Members...)
	places := make(map[string]int, len(lower.Members)) // fast for many members
	for i := range lower.Members {
		places[lower.Members[i].Name] = i
	}
	for _, m := range n.Members {
		at, ok := places[m.Name]
		if !ok {
			merged.Members = append(merged.Members, m)
			continue
		}
		m.Value = m.Value.Over(lower.Members[at].Value)
		merged.Members[at] = m
	}
	return merged
}

// float returns a YAML number in JSON syntax.
func float(f float64) (string, bool) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return "", false
	}
	return strconv.FormatFloat(f, 'g', -1, 64), true
}
