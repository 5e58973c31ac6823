package dialect

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// Limits of OpenAI's strict schemas, with some room.
const (
	mostDepth      = 10 // of nested schemas
	mostNested     = 4  // of alternatives within alternatives
	mostProperties = 1000
	mostEnums      = 1000
	mostBytes      = 100_000
)

// Limits of Anthropic's schemas.
const (
	mostOptional = 24
	mostUnions   = 16
)

// StrictSchemas converts the JSON Schemas of tools to the subset that OpenAI enforces, and caches the results. The zero value is ready
// for use. It is safe for concurrent use.
type StrictSchemas struct{ made memo[madeStrict] }

type madeStrict struct {
	schema    jsonx.Raw
	nulls, ok bool
}

// Of returns the strict form of a schema. It reports false if there is none. nulls reports whether the strict form allows null for
// properties that the original schema only allows to be absent.
func (s *StrictSchemas) Of(schema jsonx.Raw) (strict jsonx.Raw, nulls, ok bool) {
	m := s.made.of(schema, func(schema jsonx.Raw) (m madeStrict) {
		m.schema, m.nulls, m.ok = makeStrict(schema)
		return m
	})
	return m.schema, m.nulls, m.ok
}

// ClaudeSchema converts the schema of an answer to the subset that Anthropic enforces: like a strict schema, but with optional
// properties, without recursion, and with hardly any restrictions of values. It reports false for a schema that has no such form.
func ClaudeSchema(schema jsonx.Raw) (jsonx.Raw, bool) {
	s := &strictMaker{claude: true}
	out, ok := s.convert(schema)
	if !ok || s.optional > mostOptional || s.unions > mostUnions || s.recursive() {
		return nil, false
	}
	return out, true
}

// makeStrict converts a schema: it closes every object and makes every property required; an optional property may be null instead.
// It drops restrictions that are not in the subset. It reports false for a schema that has no strict form: with open objects,
// exclusive alternatives or conditions, or too large. A strict schema is returned unchanged.
func makeStrict(schema jsonx.Raw) (strict jsonx.Raw, nulls, ok bool) {
	s := new(strictMaker)
	if strict, ok = s.convert(schema); !ok {
		return nil, false, false
	}
	return strict, s.nulls, true
}

func (s *strictMaker) convert(schema jsonx.Raw) (strict jsonx.Raw, ok bool) {
	if len(schema) > mostBytes || !utf8.Valid(schema) || !jsonx.Valid(schema) {
		return nil, false
	}
	root, ok := readSchema(schema)
	if !ok {
		return nil, false
	}
	s.defs, s.refs = map[string]jsonx.Raw{}, map[string][]string{}
	if root.defs != nil && root.definitions != nil {
		return nil, false
	}
	var names []string
	for _, defs := range []jsonx.Raw{root.defs, root.definitions} {
		for name, def := range jsonx.Members(defs) {
			names = append(names, name)
			s.defs[name] = def
		}
	}
	if root.ref != nil {
		// The root must itself be an object.
		name, ok := s.refName(root.ref)
		if !ok || name == "" {
			return nil, false
		}
		if root, ok = readSchema(s.defs[name]); !ok {
			return nil, false
		}
	}
	root.defs, root.definitions = nil, nil
	out, ok := s.root(nil, &root)
	if ok && len(names) > 0 {
		out = append(out[:len(out)-1], `,"$defs":{`...)
		for i, name := range names {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(jsonx.AppendString(out, name), ':')
			s.def = name
			if out, ok = s.schema(out, s.defs[name], 1, false); !ok {
				return nil, false
			}
		}
		out = append(out, "}}"...)
	}
	if !ok || s.properties > mostProperties || s.enums > mostEnums || len(out) > mostBytes || !jsonx.Valid(out) {
		return nil, false
	}
	return out, true
}

// strictMaker converts one schema. Its methods append to dst and report false for a schema that cannot be made strict.
type strictMaker struct {
	defs              map[string]jsonx.Raw
	properties, enums int
	nested            int // alternatives around the current schema, up to the next object or array
	nulls             bool
	// claude selects Anthropic's subset. def is the name of the current definition, empty for the root, and refs holds the definitions
	// that each one refers to. optional counts properties, and unions schemas with several types or alternatives.
	claude           bool
	def              string
	refs             map[string][]string
	optional, unions int
}

// recursive reports whether a definition refers to itself, directly or through others.
func (s *strictMaker) recursive() bool {
	entered, left := map[string]bool{}, map[string]bool{}
	var visit func(name string) bool
	visit = func(name string) bool {
		if entered[name] || left[name] {
			return entered[name]
		}
		entered[name] = true
		if slices.ContainsFunc(s.refs[name], visit) {
			return true
		}
		entered[name], left[name] = false, true
		return false
	}
	for name := range s.refs {
		if visit(name) {
			return true
		}
	}
	return false
}

// appendLimits appends the restrictions of a schema's values, each after a comma. Anthropic knows formats and arrays that are not empty.
func (s *strictMaker) appendLimits(dst []byte, n *schemaNode) []byte {
	for _, l := range n.limits {
		if s.claude && l.name != "format" && (l.name != "minItems" || len(l.value) != 1 || l.value[0] > '1') {
			continue
		}
		dst = append(append(append(dst, ',', '"'), l.name...), '"', ':')
		dst = append(dst, l.value...)
	}
	return dst
}

// schemaNode is a parsed schema.
type schemaNode struct {
	types                                                []string
	description, items, properties, additional           jsonx.Raw
	enum, required, anyOf, allOf, ref, defs, definitions jsonx.Raw
	limits                                               []limit
	null                                                 bool
}

// limit is a member that restricts values.
type limit struct {
	name  string
	value jsonx.Raw
}

// readSchema parses a schema. It reports false for one that has no strict form.
func readSchema(raw jsonx.Raw) (n schemaNode, ok bool) {
	n, ok = readMembers(raw)
	return n, ok && n.collapse()
}

// readMembers parses the members of a schema. It reports false for one that has no strict form.
func readMembers(raw jsonx.Raw) (n schemaNode, ok bool) {
	if len(raw) == 0 || raw.Kind() != '{' {
		return n, false // true and false are valid schemas too
	}
	for name, value := range jsonx.Members(raw) {
		if part := n.part(name); part != nil {
			*part = value
			continue
		}
		kind := value.Kind()
		switch name {
		case "type":
			if n.types, ok = typeNames(value); !ok {
				return n, false
			}
		case "description":
			if kind == '"' {
				n.description = value
			}
		case "const":
			n.enum = slices.Concat(jsonx.Raw("["), value, jsonx.Raw("]"))
		case "nullable":
			n.null = kind == 't'
		case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems":
			if kind == '0' {
				n.keep(name, value)
			}
		case "format":
			if slices.Contains(strictFormats[:], string(value)) {
				n.keep(name, value)
			}
		case "pattern":
			// Lookahead and lookbehind are not supported.
			if kind == '"' && !strings.Contains(string(value), "(?") {
				n.keep(name, value)
			}
		case "oneOf", "not", "if", "then", "else", "patternProperties", "dependentSchemas", "dependentRequired", "dependencies",
			"unevaluatedProperties", "unevaluatedItems", "prefixItems", "$dynamicRef", "$recursiveRef", "$anchor", "$dynamicAnchor":
			return n, false
		}
	}
	if n.types == nil {
		n.types = n.inferTypes()
	}
	return n, true
}

// part returns the field for a member that is read later, or nil.
func (n *schemaNode) part(name string) *jsonx.Raw {
	switch name {
	case "enum":
		return &n.enum
	case "items":
		return &n.items
	case "properties":
		return &n.properties
	case "required":
		return &n.required
	case "additionalProperties":
		return &n.additional
	case "anyOf":
		return &n.anyOf
	case "allOf":
		return &n.allOf
	case "$ref":
		return &n.ref
	case "$defs":
		return &n.defs
	case "definitions":
		return &n.definitions
	default:
		return nil
	}
}

// strictFormats are the string formats that strict schemas allow.
var strictFormats = [...]string{
	`"date-time"`, `"time"`, `"date"`, `"duration"`, `"email"`, `"hostname"`, `"ipv4"`, `"ipv6"`, `"uuid"`,
}

func (n *schemaNode) keep(name string, value jsonx.Raw) {
	n.limits = append(n.limits, limit{name, value})
}

func typeNames(value jsonx.Raw) (names []string, ok bool) {
	var err error
	if value.Kind() == '"' {
		names = make([]string, 1)
		err = jsonx.Unmarshal(value, &names[0])
	} else {
		err = jsonx.Unmarshal(value, &names)
	}
	if err != nil || len(names) == 0 {
		return nil, false
	}
	for i, name := range names {
		if !slices.Contains([]string{"string", "number", "integer", "boolean", "object", "array", "null"}, name) ||
			slices.Contains(names[:i], name) {
			return nil, false
		}
	}
	return names, true
}

// inferTypes infers the types of a schema that names none.
func (n *schemaNode) inferTypes() []string {
	switch {
	case n.properties != nil:
		return []string{"object"}
	case n.items != nil:
		return []string{"array"}
	}
	var types []string
	for _, value := range list(n.enum) {
		name := map[jsonx.Kind]string{'"': "string", '0': "number", 't': "boolean", 'f': "boolean", 'n': "null"}[value.Kind()]
		if name == "" {
			return nil
		}
		if !slices.Contains(types, name) {
			types = append(types, name)
		}
	}
	return types
}

// collapse merges a single allOf into its schema, which may add only a description.
func (n *schemaNode) collapse() bool {
	if n.allOf == nil {
		return true
	}
	all := list(n.allOf)
	bare := n.types == nil && n.enum == nil && n.anyOf == nil && n.ref == nil && n.additional == nil && n.required == nil && n.limits == nil
	if len(all) != 1 || !bare {
		return false
	}
	inner, ok := readMembers(all[0])
	if !ok || inner.allOf != nil || inner.defs != nil || inner.definitions != nil {
		return false
	}
	if n.description != nil {
		inner.description = n.description
	}
	inner.null = inner.null || n.null
	inner.defs, inner.definitions = n.defs, n.definitions
	*n = inner
	return true
}

// refName returns the name of the definition that a reference names; "" for the whole schema.
func (s *strictMaker) refName(ref jsonx.Raw) (name string, ok bool) {
	var path string
	if jsonx.Unmarshal(ref, &path) != nil {
		return "", false
	}
	if path == "#" {
		return "", true
	}
	for _, prefix := range []string{"#/$defs/", "#/definitions/"} {
		if name, ok := strings.CutPrefix(path, prefix); ok {
			_, known := s.defs[name]
			return name, known && name != "" && !strings.ContainsAny(name, "/~%")
		}
	}
	return "", false
}

func (s *strictMaker) root(dst []byte, n *schemaNode) ([]byte, bool) {
	if len(n.types) != 1 || n.types[0] != "object" || n.null || n.anyOf != nil {
		return nil, false
	}
	return s.typed(dst, n, 0, false)
}

// schema makes raw strict. If null is set, the value may also be null.
func (s *strictMaker) schema(dst []byte, raw jsonx.Raw, depth int, null bool) ([]byte, bool) {
	n, ok := readSchema(raw)
	if !ok || depth > mostDepth || n.defs != nil || n.definitions != nil {
		return nil, false
	}
	takesNull := n.null || slices.Contains(n.types, "null")
	if n.anyOf != nil && !takesNull {
		takesNull = slices.ContainsFunc(list(n.anyOf), func(branch jsonx.Raw) bool {
			inner, ok := readSchema(branch)
			return ok && (inner.null || slices.Contains(inner.types, "null"))
		})
	}
	s.nulls = s.nulls || null && !takesNull
	add := (null || n.null) && !slices.Contains(n.types, "null")
	switch {
	case n.ref != nil:
		return s.ref(dst, &n, add)
	case n.anyOf != nil:
		return s.anyOf(dst, &n, depth, add && (n.null || !takesNull))
	case len(n.types) == 0:
		return nil, false // any value
	case add && slices.Contains(n.types, "object"):
		if s.nested >= mostNested {
			return nil, false
		}
		dst, ok = s.typed(append(dst, `{"anyOf":[`...), &n, depth, false)
		return append(dst, orNull...), ok
	}
	return s.typed(dst, &n, depth, add)
}

// orNull ends a list of alternatives with null.
const orNull = `,{"type":"null"}]}`

// within makes a schema strict that is inside an object or an array.
func (s *strictMaker) within(dst []byte, raw jsonx.Raw, depth int, null bool) ([]byte, bool) {
	around := s.nested
	s.nested = 0
	dst, ok := s.schema(dst, raw, depth+1, null)
	s.nested = around
	return dst, ok
}

func (s *strictMaker) ref(dst []byte, n *schemaNode, null bool) ([]byte, bool) {
	name, ok := s.refName(n.ref)
	// A reference must not have siblings, not even a description.
	if !ok || n.types != nil || n.anyOf != nil || n.enum != nil || n.required != nil || n.additional != nil {
		return nil, false
	}
	path := "#"
	if name != "" {
		path = "#/$defs/" + name
	}
	s.refs[s.def] = append(s.refs[s.def], name)
	if null {
		dst = append(dst, `{"anyOf":[`...)
	}
	dst = append(jsonx.AppendString(append(dst, `{"$ref":`...), path), '}')
	if null {
		dst = append(dst, orNull...)
	}
	return dst, true
}

func (s *strictMaker) anyOf(dst []byte, n *schemaNode, depth int, null bool) ([]byte, bool) {
	branches := list(n.anyOf)
	if len(branches) == 0 || n.types != nil || n.enum != nil || n.required != nil || n.additional != nil || n.limits != nil {
		return nil, false
	}
	if s.nested++; s.nested > mostNested {
		return nil, false
	}
	defer func() { s.nested-- }()
	s.unions++
	dst = append(dst, '{')
	if n.description != nil {
		dst = append(append(append(dst, `"description":`...), n.description...), ',')
	}
	dst = append(dst, `"anyOf":[`...)
	var ok bool
	for i, branch := range branches {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, ok = s.schema(dst, branch, depth, false); !ok {
			return nil, false
		}
	}
	if null {
		return append(dst, orNull...), true
	}
	return append(dst, "]}"...), true
}

// typed makes a schema with types strict. If null is set, null becomes one of them.
func (s *strictMaker) typed(dst []byte, n *schemaNode, depth int, null bool) ([]byte, bool) {
	object, array := slices.Contains(n.types, "object"), slices.Contains(n.types, "array")
	others := len(n.types)
	if slices.Contains(n.types, "null") {
		others--
	}
	if (object || array) && others > 1 || object && n.enum != nil || array && n.enum != nil {
		return nil, false
	}
	types := n.types
	if null {
		types = append(slices.Clone(types), "null")
	}
	dst = append(dst, `{"type":`...)
	if len(types) > 1 {
		s.unions++
	}
	if len(types) == 1 {
		dst = jsonx.AppendString(dst, types[0])
	} else {
		for i, name := range types {
			dst = jsonx.AppendString(append(dst, "[,"[min(i, 1)]), name)
		}
		dst = append(dst, ']')
	}
	if n.description != nil {
		dst = append(append(dst, `,"description":`...), n.description...)
	}
	var ok bool
	if n.enum != nil {
		if dst, ok = s.enum(dst, n, null); !ok {
			return nil, false
		}
	}
	dst = s.appendLimits(dst, n)
	if array {
		if dst, ok = s.within(append(dst, `,"items":`...), n.items, depth, false); !ok {
			return nil, false
		}
	}
	if object {
		if dst, ok = s.object(dst, n, depth); !ok {
			return nil, false
		}
	}
	return append(dst, '}'), true
}

func (s *strictMaker) enum(dst []byte, n *schemaNode, null bool) ([]byte, bool) {
	values := list(n.enum)
	if len(values) == 0 {
		return nil, false
	}
	s.enums += len(values)
	dst = append(dst, `,"enum":[`...)
	for i, value := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		if k := value.Kind(); k == '{' || k == '[' {
			return nil, false
		} else if k == 'n' {
			null = false
		}
		dst = append(dst, value...)
	}
	if null {
		dst = append(dst, ",null"...)
	}
	return append(dst, ']'), true
}

func (s *strictMaker) object(dst []byte, n *schemaNode, depth int) ([]byte, bool) {
	// An object without properties and additionalProperties is a map from anything to anything.
	if n.properties == nil || n.properties.Kind() != '{' || len(n.additional) > 0 && n.additional.Kind() != 'f' {
		return nil, false
	}
	var required []string
	if n.required != nil && jsonx.Unmarshal(n.required, &required) != nil {
		return nil, false
	}
	dst = append(dst, `,"properties":{`...)
	var names []string
	var ok bool
	for name, property := range jsonx.Members(n.properties) {
		if len(names) > 0 {
			dst = append(dst, ',')
		}
		names = append(names, name)
		dst = append(jsonx.AppendString(dst, name), ':')
		optional := !slices.Contains(required, name)
		if optional {
			s.optional++
		}
		if dst, ok = s.within(dst, property, depth, optional && !s.claude); !ok {
			return nil, false
		}
	}
	for _, name := range required {
		if !slices.Contains(names, name) {
			return nil, false
		}
	}
	s.properties += len(names)
	// A nested object without properties more likely allows any properties.
	if len(names) == 0 && depth > 0 && n.additional == nil {
		return nil, false
	}
	if s.claude {
		names = required
	}
	dst = append(dst, `},"required":[`...)
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonx.AppendString(dst, name)
	}
	return append(dst, `],"additionalProperties":false`...), true
}
