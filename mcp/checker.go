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

// A checker checks values against a server's schema, with bounds. The library that does the work has none: a schema
// that refers to itself without an end is the end of the stack there, and with it of the process, and one that branches
// at each of thirty references takes years. So a schema is looked through first, and what a check can cost at most is
// worked out before it is made.
type checker struct {
	doc   map[string]any
	order []*schemaNode // each behind those that are applied to the same value
	root  *schemaNode

	resolve func() *jsonschema.Resolved // nil where the library can not
}

var (
	// errSchemaLoops is a schema that is applied to the same value again and again.
	errSchemaLoops = errors.New("refers to itself without an end")
	// errSchemaHeavy is a schema that takes too long to check.
	errSchemaHeavy = errors.New("is too much to check")
	// errSchemaOdd is a schema that can not be understood, or not with certainty. It is a common thing.
	errSchemaOdd = errors.New("can not be resolved")
)

const (
	// maxCheckDepth bounds the nesting of a schema and of a value that is checked.
	maxCheckDepth = 64
	// maxCheckStack bounds how many schemas are under way at once.
	maxCheckStack = 500
	// maxCheckSteps bounds how many schemas are applied to all parts of a value, together.
	maxCheckSteps = 200_000
	// maxCheckBytes bounds what is read, compared and quoted: schemas times the bytes of the value.
	maxCheckBytes = 50_000_000
	// maxPattern bounds a regular expression, and maxPatternSize its compiled form.
	maxPattern     = 512
	maxPatternSize = 2000
)

// schemaNode is one schema of a document.
type schemaNode struct {
	index int // in order
	ref   string
	// same are applied to the same value, named to one member each, and parts to any part of the value.
	same, named, parts []*schemaNode
	own                float64 // bytes of what is compared and quoted
	pattern            float64 // size of the regular expressions
	state              int     // of the search for loops
}

// newChecker looks a schema through. Its errors wrap one of those above.
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
	// What no value can pay for is told now.
	if !k.affordable(0, 1, 1) {
		return nil, errSchemaHeavy
	}
	k.resolve = sync.OnceValue(k.resolved)
	return k, nil
}

// resolved prepares the schema when it is first needed.
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

// validate checks a value of size bytes. What would cost too much is taken as good.
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

// maxQuoted bounds what is said of a value that does not fit.
const maxQuoted = 4 << 10

// measure returns how deep a value is nested and how many parts it has.
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

// price is what the check of one part of a value can cost.
type price struct{ steps, own, pattern, stack float64 }

func (p *price) add(q price) {
	p.steps, p.own, p.pattern, p.stack = p.steps+q.steps, p.own+q.own, p.pattern+q.pattern, max(p.stack, q.stack)
}

func (p *price) most(q price) {
	p.steps, p.own, p.pattern, p.stack = max(p.steps, q.steps), max(p.own, q.own), max(p.pattern, q.pattern), max(p.stack, q.stack)
}

// affordable works out the price of a check of a value that is nested depth deep: level by level, from its leaves up.
// It never says a price that is too low.
func (k *checker) affordable(depth, parts, size int) bool {
	level, below := make([]price, len(k.order)), make([]price, len(k.order))
	for d := range depth + 1 {
		level, below = below, level
		for i, n := range k.order {
			var sum price
			for _, s := range n.same {
				sum.add(level[s.index])
			}
			if d > 0 {
				var named price
				for _, s := range n.named {
					named.most(below[s.index])
				}
				for _, s := range n.parts {
					sum.add(below[s.index])
				}
				sum.add(named)
			}
			sum.add(price{1, n.own, n.pattern, 0})
			sum.stack++
			level[i] = sum
		}
	}
	p, all, bytes := level[k.root.index], float64(parts), float64(size)
	return p.stack <= maxCheckStack && p.steps*all <= maxCheckSteps && p.own*all <= maxCheckBytes &&
		(p.steps+p.pattern/8)*bytes <= maxCheckBytes
}

// sort puts a schema behind those that are applied to the same value as it. There is no such order where schemas go round
// in a circle.
func (k *checker) sort(n *schemaNode, depth int) error {
	const under, done = 1, 2
	switch {
	case n.state == done:
		return nil
	case n.state == under:
		return errSchemaLoops
	case depth > maxCheckStack:
		return errSchemaHeavy
	}
	n.state = under
	for _, s := range n.same {
		if err := k.sort(s, depth+1); err != nil {
			return err
		}
	}
	n.state, n.index = done, len(k.order)
	k.order = append(k.order, n)
	return nil
}

// inspector copies what matters for checks out of a schema. The copy has no other keywords: the library takes names
// in any case for them, so that "ALLOF" would be what nobody has looked at.
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

// keyword copies the value of one keyword; nil for one that does not matter.
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
		var aside []*schemaNode
		return in.members(&aside, v, at+"/"+keyword, depth)
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
			return nil, errSchemaOdd // it would change what references mean
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

// version takes the versions that the library knows. It would find fault with every value for any other.
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
		return nil, fmt.Errorf("%w: its version", errSchemaOdd)
	}
	return s, nil
}

// plain takes the value of a keyword that holds no schema.
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
		return nil, errSchemaOdd // const: null can not be told from none below
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

// pattern weighs a regular expression before anybody compiles it for good.
func (in *inspector) pattern(n *schemaNode, s string) error {
	if len(s) > maxPattern {
		return fmt.Errorf("%w: a pattern of %d bytes", errSchemaHeavy, len(s))
	}
	re, err := syntax.Parse(s, syntax.Perl)
	if err != nil {
		return errSchemaOdd // of another dialect, as a rule
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

// target is the schema that a reference within the document means.
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

// shallow reports that a value is nested at most depth deep.
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
