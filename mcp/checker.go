package mcp

import (
	"errors"
	"fmt"
	"net/url"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
)

// A checker checks values against a server's schema, with bounds. The validation library has none: a schema that refers to itself
// overflows the stack, which kills the process, and one that branches at each of thirty references takes years. So newChecker
// inspects the schema first, and the maximum cost of a check is computed before the check.
type checker struct {
	doc   map[string]any
	order []*schemaNode // each after those that are applied to the same value
	root  *schemaNode

	resolve func() *jsonschema.Resolved // returns nil if the library rejects the schema
}

var (
	// errSchemaLoops is the error for a schema that is applied to the same value endlessly.
	errSchemaLoops = errors.New("refers to itself")
	// errSchemaHeavy is the error for a schema whose check may take too long.
	errSchemaHeavy = errors.New("is too complex to check")
	// errSchemaOdd is the error for a schema that is not supported. Such schemas are common.
	errSchemaOdd = errors.New("is not supported")
)

const (
	// maxCheckDepth bounds the nesting of a schema and of a value that is checked.
	maxCheckDepth = 64
	// maxCheckStack bounds the nesting of schemas during a check.
	maxCheckStack = 500
	// maxCheckSteps bounds the applications of schemas to parts of a value.
	maxCheckSteps = 200_000
	// maxCheckBytes bounds the bytes that are read, compared and quoted: schemas times the bytes of the value.
	maxCheckBytes = 50_000_000
	// maxPattern bounds a regular expression, and maxPatternSize its compiled form.
	maxPattern     = 512
	maxPatternSize = 2000
)

// schemaNode is one schema of a document.
type schemaNode struct {
	index int // in order
	ref   string
	// same are the schemas applied to the same value, named those applied to one member each, and parts those applied to all parts
	// of the value.
	same, named, parts []*schemaNode
	own                float64 // the bytes that are compared and quoted
	pattern            float64 // size of the regular expressions
	state              int     // of the detection of loops
}

// newChecker inspects a schema. Its errors wrap one of those above.
func newChecker(schema any) (*checker, error) {
	object, ok := schema.(map[string]any)
	if !ok {
		return nil, errSchemaOdd
	}
	in := &inspector{at: make(map[string]*schemaNode)}
	doc, root, err := in.schema(object, "", 0)
	if err != nil {
		return nil, err
	}
	for _, n := range in.nodes {
		if n.ref == "" {
			continue
		}
		target := in.target(n.ref)
		if target == nil {
			return nil, fmt.Errorf("%w: the reference %s", errSchemaOdd, text.TruncateBytes(n.ref, 80))
		}
		n.same = append(n.same, target)
	}
	k := &checker{root: root}
	k.doc, _ = doc.(map[string]any)
	for _, n := range in.nodes {
		if err := k.sort(n, 0); err != nil {
			return nil, err
		}
	}
	// Reject a schema that is too expensive for any value.
	if !k.affordable(0, 1, 1) {
		return nil, errSchemaHeavy
	}
	k.resolve = sync.OnceValue(k.resolved)
	return k, nil
}

// resolved prepares the schema for the library.
func (k *checker) resolved() *jsonschema.Resolved {
	raw, err := jsonx.Marshal(k.doc)
	if err != nil {
		return nil
	}
	s := new(jsonschema.Schema)
	if s.UnmarshalJSON(raw) != nil {
		return nil
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return nil
	}
	return resolved
}

// validate checks a value of size bytes. It accepts a value whose check would cost too much.
func (k *checker) validate(value any, size int) error {
	depth, parts := measure(value, 0)
	if depth > maxCheckDepth || !k.affordable(depth, parts, max(size, parts)) {
		return nil
	}
	schema := k.resolve()
	if schema == nil {
		return nil
	}
	if err := schema.Validate(value); err != nil {
		return errors.New(text.TruncateBytes(err.Error(), maxQuoted))
	}
	return nil
}

// maxQuoted bounds the error for a value, in bytes.
const maxQuoted = 4 << 10

// measure returns the nesting of a value and the number of its parts.
func measure(value any, depth int) (deepest, parts int) {
	deepest, parts = depth, 1
	inner := func(v any) {
		d, n := measure(v, depth+1)
		deepest, parts = max(deepest, d), parts+n
	}
	switch v := value.(type) {
	case map[string]any:
		for _, m := range v {
			inner(m)
		}
	case []any:
		for _, m := range v {
			inner(m)
		}
	}
	return deepest, parts
}

// cost is the maximum cost of the check of one part of a value.
type cost struct{ steps, own, pattern, stack float64 }

func (p *cost) add(q cost) {
	p.steps, p.own, p.pattern, p.stack = p.steps+q.steps, p.own+q.own, p.pattern+q.pattern, max(p.stack, q.stack)
}

func (p *cost) max(q cost) {
	p.steps, p.own, p.pattern, p.stack = max(p.steps, q.steps), max(p.own, q.own), max(p.pattern, q.pattern), max(p.stack, q.stack)
}

// affordable reports whether the maximum cost of a check is within the limits. It computes the cost level by level, from the
// leaves of the value up to its root.
func (k *checker) affordable(depth, parts, size int) bool {
	level, below := make([]cost, len(k.order)), make([]cost, len(k.order))
	for d := range depth + 1 {
		level, below = below, level
		for i, n := range k.order {
			var sum cost
			for _, s := range n.same {
				sum.add(level[s.index])
			}
			if d > 0 {
				var named cost
				for _, s := range n.named {
					named.max(below[s.index])
				}
				for _, s := range n.parts {
					sum.add(below[s.index])
				}
				sum.add(named)
			}
			sum.add(cost{1, n.own, n.pattern, 0})
			sum.stack++
			level[i] = sum
		}
	}
	p, all, bytes := level[k.root.index], float64(parts), float64(size)
	return p.stack <= maxCheckStack && p.steps*all <= maxCheckSteps && p.own*all <= maxCheckBytes &&
		(p.steps+p.pattern/8)*bytes <= maxCheckBytes
}

// sort appends a schema to the order, after those that are applied to the same value. It returns an error if the schemas form a
// loop.
func (k *checker) sort(n *schemaNode, depth int) error {
	const visiting, done = 1, 2
	switch {
	case n.state == done:
		return nil
	case n.state == visiting:
		return errSchemaLoops
	case depth > maxCheckStack:
		return errSchemaHeavy
	}
	n.state = visiting
	for _, s := range n.same {
		if err := k.sort(s, depth+1); err != nil {
			return err
		}
	}
	n.state, n.index = done, len(k.order)
	k.order = append(k.order, n)
	return nil
}

// inspector copies the keywords that are relevant to checks. It omits all others, because the library ignores the case of keywords
// and would apply an "ALLOF" that was not inspected.
type inspector struct {
	at    map[string]*schemaNode // by JSON pointer
	nodes []*schemaNode
	size  int
}

func (in *inspector) schema(value any, at string, depth int) (any, *schemaNode, error) {
	if in.size += 16; depth > maxCheckDepth || in.size > 2*maxSchema {
		return nil, nil, errSchemaHeavy
	}
	n := &schemaNode{}
	in.nodes = append(in.nodes, n)
	in.at[at] = n
	object, ok := value.(map[string]any)
	if !ok {
		_, ok = value.(bool)
		if !ok {
			return nil, nil, errSchemaOdd
		}
		return value, n, nil
	}
	out := make(map[string]any, len(object))
	for keyword, v := range object {
		copied, err := in.keyword(n, keyword, v, at, depth)
		if err != nil {
			return nil, nil, err
		}
		if copied != nil {
			out[keyword] = copied
		}
	}
	return out, n, nil
}

// keyword copies the value of a keyword; it returns nil for an irrelevant one.
func (in *inspector) keyword(n *schemaNode, keyword string, v any, at string, depth int) (any, error) {
	one := func(to *[]*schemaNode) (any, error) {
		out, sub, err := in.schema(v, at+"/"+keyword, depth+1)
		*to = append(*to, sub)
		return out, err
	}
	switch keyword {
	case "not", "if", "then", "else":
		return one(&n.same)
	case "additionalProperties", "additionalItems", "propertyNames", "contains", "unevaluatedProperties", "unevaluatedItems":
		return one(&n.parts)
	case "items":
		if list, ok := v.([]any); ok {
			return in.list(&n.parts, list, at+"/items", depth)
		}
		return one(&n.parts)
	case "allOf", "anyOf", "oneOf":
		list, _ := v.([]any)
		return in.list(&n.same, list, at+"/"+keyword, depth)
	case "prefixItems":
		list, _ := v.([]any)
		return in.list(&n.parts, list, at+"/"+keyword, depth)
	case "properties":
		return in.members(&n.named, v, at+"/"+keyword, depth)
	case "patternProperties":
		members, _ := v.(map[string]any)
		for pattern := range members {
			if err := in.pattern(n, pattern); err != nil {
				return nil, err
			}
		}
		return in.members(&n.parts, v, at+"/"+keyword, depth)
	case "dependentSchemas":
		return in.members(&n.same, v, at+"/"+keyword, depth)
	case "$defs", "definitions":
		var unused []*schemaNode
		return in.members(&unused, v, at+"/"+keyword, depth)
	case "pattern":
		s, ok := v.(string)
		if !ok {
			return nil, errSchemaOdd
		}
		return s, in.pattern(n, s)
	case "$ref":
		s, ok := v.(string)
		if !ok || s == "" {
			return nil, errSchemaOdd
		}
		n.ref = s
		return s, nil
	case "$schema":
		return in.version(v, at)
	case "$id":
		if at != "" {
			return nil, errSchemaOdd // it would change the meaning of references
		}
		return nil, nil
	case "$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveRef", "$recursiveAnchor", "dependencies", "$vocabulary":
		return nil, fmt.Errorf("%w: %s", errSchemaOdd, keyword)
	case "enum", "const", "type", "required", "dependentRequired", "minimum", "maximum", "exclusiveMinimum",
		"exclusiveMaximum", "multipleOf", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "minContains",
		"maxContains", "minProperties", "maxProperties":
		return in.plain(n, v)
	}
	return nil, nil
}

// version accepts the versions that the library supports. It would reject every value for any other.
func (in *inspector) version(v any, at string) (any, error) {
	s, _ := v.(string)
	known := []string{
		"", "http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft-07/schema#",
		"https://json-schema.org/draft/2020-12/schema",
	}
	switch {
	case at != "":
		return nil, nil
	case !slices.Contains(known, s):
		return nil, fmt.Errorf("%w: $schema %.80q", errSchemaOdd, s)
	}
	return s, nil
}

// plain copies the value of a keyword that is not a schema.
func (in *inspector) plain(n *schemaNode, v any) (any, error) {
	if !shallow(v, maxSchemaDepth) {
		return nil, errSchemaHeavy
	}
	raw, err := jsonx.Marshal(v)
	if err != nil {
		return nil, errSchemaOdd
	}
	if in.size += len(raw); in.size > 2*maxSchema {
		return nil, errSchemaHeavy
	}
	n.own += float64(len(raw))
	if v == nil {
		return nil, errSchemaOdd // const: null cannot be distinguished from no const
	}
	return v, nil
}

func (in *inspector) list(to *[]*schemaNode, list []any, at string, depth int) (any, error) {
	if len(list) == 0 {
		return nil, errSchemaOdd
	}
	out := make([]any, len(list))
	for i, v := range list {
		copied, n, err := in.schema(v, at+"/"+strconv.Itoa(i), depth+1)
		if err != nil {
			return nil, err
		}
		out[i] = copied
		*to = append(*to, n)
	}
	return out, nil
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

func (in *inspector) members(to *[]*schemaNode, v any, at string, depth int) (any, error) {
	members, ok := v.(map[string]any)
	if !ok {
		return nil, errSchemaOdd
	}
	out := make(map[string]any, len(members))
	for name, v := range members {
		if in.size += len(name); in.size > 2*maxSchema {
			return nil, errSchemaHeavy
		}
		copied, n, err := in.schema(v, at+"/"+pointerEscapes.Replace(name), depth+1)
		if err != nil {
			return nil, err
		}
		out[name] = copied
		*to = append(*to, n)
	}
	return out, nil
}

// pattern checks the size of a regular expression before the library compiles it.
func (in *inspector) pattern(n *schemaNode, s string) error {
	if len(s) > maxPattern {
		return fmt.Errorf("%w: a pattern of %d bytes", errSchemaHeavy, len(s))
	}
	re, err := syntax.Parse(s, syntax.Perl)
	if err != nil {
		return errSchemaOdd // usually another dialect
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return errSchemaOdd
	}
	if len(prog.Inst) > maxPatternSize {
		return fmt.Errorf("%w: the pattern %s", errSchemaHeavy, text.TruncateBytes(s, 80))
	}
	if in.size += len(s); in.size > 2*maxSchema {
		return errSchemaHeavy
	}
	n.pattern += float64(len(prog.Inst))
	n.own += float64(len(s))
	return nil
}

// target returns the schema of a reference within the document, or nil.
func (in *inspector) target(ref string) *schemaNode {
	fragment, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	pointer, err := url.PathUnescape(fragment)
	if err != nil {
		return nil
	}
	return in.at[pointer]
}

// shallow reports whether the nesting of a value is at most depth.
func shallow(value any, depth int) bool {
	switch v := value.(type) {
	case map[string]any:
		for _, m := range v {
			if depth == 0 || !shallow(m, depth-1) {
				return false
			}
		}
	case []any:
		for _, m := range v {
			if depth == 0 || !shallow(m, depth-1) {
				return false
			}
		}
	}
	return true
}
