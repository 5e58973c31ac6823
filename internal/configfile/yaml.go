package configfile

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// The time and memory of the parser are quadratic in the size and the nesting of the file, and the files of a project
// are read before the user trusts it. So the input is bounded, and larger files are rejected.
const (
	maxYAML    = 64 << 10 // bytes
	maxDepth   = 100      // nesting of mappings and lists
	maxEntries = 4000     // of all mappings and lists
)

// bounded checks a file's tokens against the limits before the file is parsed. Scanning tokens is fast.
func bounded(data []byte) error {
	if len(data) > maxYAML {
		return plainf(1, "a YAML file may have at most %d KiB; use JSON for a larger one", maxYAML>>10)
	}
	flow, entries := 0, 0
	var columns []int // the columns of the blocks around a token
	for _, t := range lexer.Tokenize(string(data)) {
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow = max(flow-1, 0)
		case token.MappingValueType, token.CollectEntryType, token.SequenceEntryType:
			entries++
		case token.CommentType:
			continue
		default:
		}
		if flow == 0 && t.Type != token.MappingValueType {
			at := t.Position.Column
			for len(columns) > 0 && columns[len(columns)-1] >= at {
				columns = columns[:len(columns)-1]
			}
			columns = append(columns, at)
		}
		if flow+len(columns) > maxDepth {
			return plainf(t.Position.Line, "the file is nested more than %d deep", maxDepth)
		}
		if entries > maxEntries {
			return plainf(t.Position.Line, "the file has more than %d entries", maxEntries)
		}
	}
	return nil
}

// ParseYAML parses a YAML file. It returns nil for an empty file. Its errors are of type [*LineError].
func ParseYAML(data []byte) (*Node, error) {
	data, err := source(data)
	if err != nil {
		return nil, err
	}
	if err := bounded(data); err != nil {
		return nil, err
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		f := plainf(1, "the file is not YAML")
		if y, ok := errors.AsType[yaml.Error](err); ok {
			f.Text += ": " + quoteless(y.GetMessage())
			if t := y.GetToken(); t != nil && t.Position != nil {
				f.Line, f.Column = t.Position.Line, t.Position.Column
			}
		}
		return nil, f
	}
	var body ast.Node
	for _, doc := range file.Docs {
		switch {
		case doc.Body == nil:
		case body != nil:
			return nil, plainf(lineOf(doc.Body), "unexpected second document; a configuration is a single document")
		default:
			body = doc.Body
		}
	}
	if body == nil {
		return nil, nil
	}
	r := yamlReader{anchors: make(map[string]*Node)}
	n, err := r.value(body)
	if err == nil && n.Kind == Null {
		return nil, nil
	}
	return n, err
}

// quoteless removes quotations from the file, which may contain secrets, from a message of the parser. The parser's own quotations,
// such as of a missing bracket, are in single quotes and remain.
func quoteless(message string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(message, `"`)
		b.WriteString(before)
		if !found {
			break
		}
		quoted, err := strconv.QuotedPrefix(`"` + rest)
		if err != nil {
			break
		}
		message = strings.TrimPrefix(rest[len(quoted)-1:], " ")
	}
	return strings.TrimSpace(b.String())
}

func lineOf(n ast.Node) int {
	if t := n.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line
	}
	return 1
}

type yamlReader struct {
	anchors map[string]*Node
	depth   int
}

func (r *yamlReader) value(in ast.Node) (*Node, error) {
	if r.depth++; r.depth > 2*maxDepth {
		return nil, plainf(lineOf(in), "the file is nested too deeply")
	}
	defer func() { r.depth-- }()
	if in == nil {
		return &Node{Line: 1, size: 1}, nil
	}
	switch in := in.(type) {
	case *ast.AnchorNode:
		v, err := r.value(in.Value)
		if err == nil && in.Name != nil {
			r.anchors[in.Name.GetToken().Value] = v
		}
		return v, err
	case *ast.AliasNode:
		name := in.Value.GetToken().Value
		if v, ok := r.anchors[name]; ok {
			return v, nil
		}
		return nil, faultf(lineOf(in), "unknown anchor &%s", name)
	case *ast.TagNode:
		v, err := r.value(in.Value)
		if err == nil && in.Start.Value == "!!str" && v.Kind != List && v.Kind != Object {
			return &Node{Line: v.Line, Kind: Text, Text: in.Value.GetToken().Value, size: 1}, nil
		}
		return v, err
	}
	n := &Node{Line: lineOf(in)}
	if err := r.set(n, in); err != nil {
		return nil, err
	}
	return n, n.measure()
}

// set sets the kind and the contents of a node. in is a scalar, a sequence or a mapping.
func (r *yamlReader) set(n *Node, in ast.Node) error {
	switch in := in.(type) {
	case *ast.NullNode:
	case *ast.BoolNode:
		n.Kind, n.Text = Boolean, fmt.Sprint(in.Value)
	case *ast.IntegerNode:
		n.Kind, n.Text = Number, fmt.Sprint(in.Value)
	case *ast.FloatNode:
		s, ok := float(in.Value)
		if !ok {
			return plainf(n.Line, "the number is too large")
		}
		n.Kind, n.Text = Number, s
	case *ast.StringNode:
		n.Kind, n.Text = Text, in.Value
		if s, ok := missedNumber(in); ok {
			n.Kind, n.Text = Number, s
		}
	case *ast.LiteralNode:
		n.Kind, n.Text = Text, in.Value.Value
	case *ast.SequenceNode:
		n.Kind = List
		for _, v := range in.Values {
			item, err := r.value(v)
			if err != nil {
				return err
			}
			n.List = append(n.List, item)
		}
	case *ast.MappingNode:
		n.Kind = Object
		return r.members(n, in.Values)
	case *ast.MappingValueNode:
		n.Kind, n.Line = Object, lineOf(in.Key)
		return r.members(n, []*ast.MappingValueNode{in})
	default:
		return plainf(n.Line, "unsupported kind of value")
	}
	return nil
}

// missedNumber returns a number that the parser treats as a string: 1e5, or a large whole number.
func missedNumber(in *ast.StringNode) (string, bool) {
	if in.Token.Type != token.StringType || strings.Trim(in.Value, "+-.0123456789eE") != "" {
		return "", false
	}
	f, err := strconv.ParseFloat(in.Value, 64)
	if err != nil {
		return "", false
	}
	return float(f)
}

func (r *yamlReader) members(n *Node, values []*ast.MappingValueNode) error {
	var merged []*Node
	have := make(map[string]bool)
	for _, mv := range values {
		value, err := r.value(mv.Value)
		if err != nil {
			return err
		}
		if mv.Key.IsMergeKey() {
			if value.Kind == List {
				merged = append(merged, value.List...)
			} else {
				merged = append(merged, value)
			}
			continue
		}
		m := Member{Line: lineOf(mv.Key), Value: value}
		switch key := mv.Key.(type) {
		case *ast.StringNode:
			m.Name = key.Value
		case *ast.MappingKeyNode, *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
			return plainf(m.Line, "unsupported kind of name")
		default:
			m.Name = key.GetToken().Value
		}
		if have[m.Name] {
			return faultf(m.Line, "duplicate name %q", m.Name)
		}
		have[m.Name] = true
		n.Members = append(n.Members, m)
	}
	for _, from := range merged {
		if from.Kind != Object {
			return plainf(from.Line, "only a mapping can be merged with <<")
		}
		for _, m := range from.Members {
			if !have[m.Name] {
				have[m.Name] = true
				n.Members = append(n.Members, m)
			}
		}
	}
	return nil
}
