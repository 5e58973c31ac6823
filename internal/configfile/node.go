// Package configfile reads configuration files of people, JSON or YAML: each value with the line where it stands, faults in
// words with their place, and what of it the user has to be asked about before it counts.
package configfile

import (
	"fmt"
	"math"
	"strconv"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// Node is a value of a configuration file with the place where it stands. It must not be changed.
type Node struct {
	Line int
	Kind Kind
	// Text is a string's value, a number as JSON writes it, or true or false.
	Text    string
	List    []*Node
	Members []Member
	// size counts this node and all below it, a long text as several, so that YAML's aliases can not make a small file large.
	size int
}

// Member is a member of an object.
type Member struct {
	Name  string
	Line  int
	Value *Node
}

// Kind is what a value is.
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

// A LineError is what is wrong at a line of a file.
type LineError struct {
	Line int
	// Column counts from 1; 0 means that it is not known.
	Column int
	Text   string
	// Plain says that the text quotes nothing of the file, which may hold secrets.
	Plain bool
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Text) }

func faultf(line int, format string, args ...any) *LineError {
	return &LineError{Line: max(line, 1), Text: fmt.Sprintf(format, args...)}
}

// plainf is faultf for a text that quotes nothing of the file.
func plainf(line int, format string, args ...any) *LineError {
	e := faultf(line, format, args...)
	e.Plain = true
	return e
}

// mostNodes bounds one file with its aliases written out.
const mostNodes = 200_000

// measure sets the node's size.
func (n *Node) measure() error {
	const unit = 32 // bytes of text that count as a node
	n.size = 1 + len(n.Text)/unit
	for _, v := range n.List {
		n.size += v.size
	}
	for _, m := range n.Members {
		n.size += m.Value.size + len(m.Name)/unit
	}
	if n.size > mostNodes {
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

// Strings are the texts of a list of strings.
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

// Any returns the value as Go has it: nil, bool, int64 or float64, string, []any, map[string]any. It is a copy.
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
		f, _ := strconv.ParseFloat(n.Text, 64) // what is out of range is an infinity, which the readers do not let through
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

// Over returns the node put over a lower one: objects member by member, everything else as a whole. Neither is changed.
func (n *Node) Over(lower *Node) *Node {
	if lower == nil || n.Kind != Object || lower.Kind != Object {
		return n
	}
	merged := &Node{Line: n.Line, Kind: Object, size: n.size + lower.size}
	merged.Members = append(merged.Members, lower.Members...)
	places := make(map[string]int, len(lower.Members)) // a file may have very many
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

// float returns a YAML number as JSON writes it.
func float(f float64) (string, bool) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return "", false
	}
	return strconv.FormatFloat(f, 'g', -1, 64), true
}
