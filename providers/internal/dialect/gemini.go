package dialect

import (
	"slices"
	"strings"
	"sync"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// Bounds of a schema for Gemini. Schemas beyond them become objects without properties.
const (
	geminiDepth = 24
	geminiNodes = 4000
)

// makeGemini converts the JSON Schema of a tool's input to the subset of OpenAPI that Gemini accepts: it inlines references,
// converts alternatives to anyOf and null to nullable, and drops everything that Gemini rejects. The result describes an object.
// The conversion is idempotent.
func makeGemini(schema jsonx.Raw) jsonx.Raw {
	if !jsonx.Valid(schema) || schema.Kind() != '{' {
		return jsonx.Raw(`{"type":"object"}`)
	}
	c := &geminiConverter{root: schema}
	return c.top(schema).append(nil)
}

// GeminiSchemas converts schemas with makeGemini and caches the results. The zero value is ready for use. It is safe for
// concurrent use.
type GeminiSchemas struct{ made memo[jsonx.Raw] }

// Of returns the converted schema. The caller must not change it.
func (s *GeminiSchemas) Of(schema jsonx.Raw) jsonx.Raw { return s.made.of(schema, makeGemini) }

// A memo caches the conversions of schemas. The zero memo is ready for use. It is safe for concurrent use.
type memo[T any] struct {
	mu   sync.Mutex // guards made
	made map[string]T
}

func (m *memo[T]) of(schema jsonx.Raw, convert func(jsonx.Raw) T) T {
	m.mu.Lock()
	defer m.mu.Unlock()
	made, known := m.made[string(schema)]
	if !known {
		made = convert(schema)
		const most = 1000 // tools of a session, and those that an MCP server has changed
		if m.made == nil || len(m.made) >= most {
			m.made = make(map[string]T)
		}
		m.made[string(schema)] = made
	}
	return made
}

// geminiSchema is a schema for Gemini, with members in the order of the output.
type geminiSchema struct {
	kind        string
	format      string
	description string
	nullable    bool
	enum        []string
	properties  []geminiProperty
	required    []string
	items       *geminiSchema
	anyOf       []*geminiSchema // if set, the only member that is written
	bounds      []geminiBound
}

type geminiProperty struct {
	name   string
	schema *geminiSchema
}

type geminiBound struct {
	name  string
	value jsonx.Raw
}

type geminiConverter struct {
	root  jsonx.Raw
	nodes int
}

// flat is a schema merged with the schemas that it references or combines.
type flat struct {
	members    map[string]jsonx.Raw
	properties []flatProperty
	required   []string
	refs       []string // references followed so far
}

type flatProperty struct {
	name string
	raw  jsonx.Raw
}

// add adds the members of raw that are missing.
func (c *geminiConverter) add(f *flat, raw jsonx.Raw, depth int) {
	if raw.Kind() != '{' || depth > geminiDepth {
		return
	}
	for name, value := range jsonx.Members(raw) {
		switch name {
		case "properties":
			for property, schema := range jsonx.Members(value) {
				if !slices.ContainsFunc(f.properties, func(p flatProperty) bool { return p.name == property }) {
					f.properties = append(f.properties, flatProperty{property, schema})
				}
			}
		case "required":
			for _, property := range texts(value) {
				if !slices.Contains(f.required, property) {
					f.required = append(f.required, property)
				}
			}
		default:
			if _, has := f.members[name]; !has {
				f.members[name] = value
			}
		}
	}
	if ref, ok := text(jsonx.Lookup(raw, "$ref")); ok && !slices.Contains(f.refs, ref) {
		f.refs = append(f.refs, ref)
		c.add(f, pointer(c.root, ref), depth+1)
	}
	for _, part := range list(jsonx.Lookup(raw, "allOf")) {
		c.add(f, part, depth+1)
	}
}

func (c *geminiConverter) flatten(raw jsonx.Raw, refs []string) *flat {
	f := &flat{members: map[string]jsonx.Raw{}, refs: slices.Clone(refs)}
	if ref, ok := text(jsonx.Lookup(raw, "$ref")); ok && slices.Contains(refs, ref) {
		f.members["type"] = jsonx.Raw(`"object"`) // the schema is recursive
	}
	c.add(f, raw, 0)
	return f
}

// top converts the schema of a tool's input, which becomes an object in any case. It merges alternatives.
func (c *geminiConverter) top(raw jsonx.Raw) *geminiSchema {
	f := c.flatten(raw, nil)
	if len(f.properties) == 0 {
		branches := append(list(f.members["anyOf"]), list(f.members["oneOf"])...)
		var required [][]string
		for _, branch := range branches {
			b := c.flatten(branch, f.refs)
			required = append(required, b.required)
			b.required = f.required
			f.properties = append(f.properties, slices.DeleteFunc(b.properties, func(p flatProperty) bool {
				return slices.ContainsFunc(f.properties, func(q flatProperty) bool { return p.name == q.name })
			})...)
			f.refs = append(f.refs, b.refs...)
		}
		for i, names := range required {
			for _, name := range names {
				if i == 0 && !slices.ContainsFunc(required, func(other []string) bool { return !slices.Contains(other, name) }) {
					f.required = append(f.required, name)
				}
			}
		}
	}
	f.members["type"] = jsonx.Raw(`"object"`)
	delete(f.members, "enum")
	delete(f.members, "const")
	s := c.typed(f, "object", 0)
	s.description, _ = text(f.members["description"])
	return s
}

// schema converts a schema inside another one.
func (c *geminiConverter) schema(raw jsonx.Raw, refs []string, depth int) *geminiSchema {
	if c.nodes++; c.nodes > geminiNodes || depth > geminiDepth {
		return &geminiSchema{kind: "object"}
	}
	f := c.flatten(raw, refs)
	kinds, nullable := c.kinds(f)
	description, _ := text(f.members["description"])
	var branches []*geminiSchema
	if len(f.properties) == 0 && jsonx.IsNull(f.members["items"]) {
		var isNull bool
		branches, isNull = c.branches(f, depth)
		nullable = nullable || isNull
	}
	var s *geminiSchema
	switch {
	case len(branches) == 1:
		s = branches[0]
	case len(branches) > 1:
		s = &geminiSchema{anyOf: branches}
	case len(kinds) == 1:
		s = c.typed(f, kinds[0], depth)
		s.note(f.others(kinds[0]))
	default:
		s = &geminiSchema{}
		for _, kind := range kinds {
			c.nodes++
			s.anyOf = append(s.anyOf, c.typed(f, kind, depth+1))
		}
	}
	return s.describe(description, nullable)
}

// describe adds the description and other annotations to a schema. Gemini rejects them next to anyOf.
func (s *geminiSchema) describe(description string, nullable bool) *geminiSchema {
	for _, branch := range s.anyOf {
		branch.describe(description, nullable)
	}
	if s.anyOf == nil {
		if description != "" {
			note := s.description
			s.description = description
			if isNote(note) && !strings.HasSuffix(description, note) {
				s.note(note)
			}
		}
		s.nullable = s.nullable || nullable
	}
	return s
}

const notePrefix = "One of: "

func isNote(s string) bool { return strings.HasPrefix(s, notePrefix) }

// note describes in words what the converted schema cannot express.
func (s *geminiSchema) note(note string) {
	switch {
	case note == "":
	case s.description == "":
		s.description = note
	default:
		s.description += " " + note
	}
}

// branches converts the alternatives. It returns none if they restrict nothing.
func (c *geminiConverter) branches(f *flat, depth int) (out []*geminiSchema, nullable bool) {
	for _, name := range []string{"anyOf", "oneOf"} {
		for _, raw := range list(f.members[name]) {
			if kind, _ := text(jsonx.Lookup(raw, "type")); kind == "null" {
				nullable = true
				continue
			}
			b := c.schema(raw, f.refs, depth+1)
			if b.anyOf != nil {
				out = append(out, b.anyOf...)
			} else {
				out = append(out, b)
			}
		}
		if len(out) > 0 {
			break
		}
	}
	return out, nullable
}

// kinds returns the types that a schema allows, and whether it allows null.
func (c *geminiConverter) kinds(f *flat) (kinds []string, nullable bool) {
	nullable = string(f.members["nullable"]) == "true"
	raw := f.members["type"]
	names := texts(raw)
	if name, ok := text(raw); ok {
		names = []string{name}
	}
	for _, name := range names {
		switch name = strings.ToLower(name); name {
		case "null":
			nullable = true
		case "string", "number", "integer", "boolean", "object", "array":
			if !slices.Contains(kinds, name) {
				kinds = append(kinds, name)
			}
		}
	}
	for _, value := range f.values() {
		nullable = nullable || value.Kind() == 'n'
	}
	if len(kinds) == 0 {
		kinds = c.inferred(f)
	}
	return kinds, nullable
}

// inferred returns the types of a schema that names none.
func (c *geminiConverter) inferred(f *flat) []string {
	var kinds []string
	for _, value := range f.values() {
		kind := map[jsonx.Kind]string{'"': "string", '0': "number", 't': "boolean", 'f': "boolean", '{': "object", '[': "array"}[value.Kind()]
		if kind == "number" && !strings.ContainsAny(string(value), ".eE") {
			kind = "integer"
		}
		if kind != "" && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	switch {
	case len(kinds) > 0:
		return kinds
	case len(f.properties) > 0:
		return []string{"object"}
	case !jsonx.IsNull(f.members["items"]) || !jsonx.IsNull(f.members["prefixItems"]):
		return []string{"array"}
	case !jsonx.IsNull(f.members["type"]):
		return []string{"string"} // only null, or an unknown type
	}
	return []string{"string", "number", "boolean", "object"}
}

// values returns the values of enum or const.
func (f *flat) values() []jsonx.Raw {
	if value, ok := f.members["const"]; ok {
		return []jsonx.Raw{value}
	}
	return list(f.members["enum"])
}

// others describes in words the allowed values of types for which Gemini does not accept enum.
func (f *flat) others(kind string) string {
	if kind == "string" || kind == "object" || kind == "array" {
		return ""
	}
	var words []string
	for _, value := range f.values() {
		if value.Kind() != 'n' {
			words = append(words, string(value))
		}
	}
	if len(words) == 0 {
		return ""
	}
	return notePrefix + strings.Join(words, ", ")
}

// typed converts the members of a schema for one type.
func (c *geminiConverter) typed(f *flat, kind string, depth int) *geminiSchema {
	s := &geminiSchema{kind: kind}
	switch kind {
	case "object":
		for _, p := range f.properties {
			s.properties = append(s.properties, geminiProperty{p.name, c.schema(p.raw, f.refs, depth+1)})
		}
		for _, name := range f.required {
			if slices.ContainsFunc(f.properties, func(p flatProperty) bool { return p.name == name }) {
				s.required = append(s.required, name)
			}
		}
		s.bound(f, "minProperties", "maxProperties")
	case "array":
		items := f.members["items"]
		if prefix := list(f.members["prefixItems"]); len(prefix) > 0 {
			items = prefix[0]
		} else if all := list(items); len(all) > 0 {
			items = all[0]
		}
		s.items = c.schema(items, f.refs, depth+1)
		s.bound(f, "minItems", "maxItems")
	case "string":
		for _, value := range f.values() {
			if word, ok := text(value); ok && word != "" && !slices.Contains(s.enum, word) {
				s.enum = append(s.enum, word)
			}
		}
		s.formatted(f, "date-time")
		s.bound(f, "minLength", "maxLength")
		if pattern, ok := text(f.members["pattern"]); ok {
			s.bounds = append(s.bounds, geminiBound{"pattern", jsonx.AppendString(nil, pattern)})
		}
	case "number":
		s.formatted(f, "float", "double")
		s.bound(f, "minimum", "maximum")
	case "integer":
		s.formatted(f, "int32", "int64")
		s.bound(f, "minimum", "maximum")
	}
	return s
}

func (s *geminiSchema) formatted(f *flat, known ...string) {
	if format, _ := text(f.members["format"]); slices.Contains(known, format) {
		s.format = format
	}
}

// bound copies numeric limits. Limits of counts must be whole numbers.
func (s *geminiSchema) bound(f *flat, names ...string) {
	for _, name := range names {
		value := f.members[name]
		if len(value) == 0 || value.Kind() != '0' {
			continue
		}
		if name != "minimum" && name != "maximum" && (len(value) > 9 || strings.ContainsAny(string(value), "-.eE")) {
			continue
		}
		s.bounds = append(s.bounds, geminiBound{name, value})
	}
}

// append appends the schema to b.
func (s *geminiSchema) append(b []byte) []byte {
	b = append(b, '{')
	first := true
	member := func(name string) {
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(jsonx.AppendString(b, name), ':')
	}
	word := func(name, value string) {
		if value != "" {
			member(name)
			b = jsonx.AppendString(b, value)
		}
	}
	words := func(name string, values []string) {
		if len(values) == 0 {
			return
		}
		member(name)
		for i, value := range values {
			b = jsonx.AppendString(append(b, "[,"[min(i, 1)]), value)
		}
		b = append(b, ']')
	}
	word("type", s.kind)
	word("format", s.format)
	word("description", s.description)
	if s.nullable {
		member("nullable")
		b = append(b, "true"...)
	}
	words("enum", s.enum)
	if len(s.properties) > 0 {
		member("properties")
		for i, p := range s.properties {
			b = p.schema.append(append(jsonx.AppendString(append(b, "{,"[min(i, 1)]), p.name), ':'))
		}
		b = append(b, '}')
	}
	words("required", s.required)
	if s.items != nil {
		member("items")
		b = s.items.append(b)
	}
	if len(s.anyOf) > 0 {
		member("anyOf")
		for i, branch := range s.anyOf {
			b = branch.append(append(b, "[,"[min(i, 1)]))
		}
		b = append(b, ']')
	}
	for _, bound := range s.bounds {
		member(bound.name)
		b = append(b, bound.value...)
	}
	return append(b, '}')
}

// text returns raw as a string.
func text(raw jsonx.Raw) (s string, ok bool) {
	if len(raw) == 0 || raw.Kind() != '"' || jsonx.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}

// list returns the elements of raw, an array.
func list(raw jsonx.Raw) []jsonx.Raw {
	var all []jsonx.Raw
	if len(raw) == 0 || raw.Kind() != '[' || jsonx.Unmarshal(raw, &all) != nil {
		return nil
	}
	return all
}

// texts returns the strings of raw, an array.
func texts(raw jsonx.Raw) []string {
	var all []string
	for _, value := range list(raw) {
		if s, ok := text(value); ok {
			all = append(all, s)
		}
	}
	return all
}

// pointer returns the target of a reference inside root; nil for any other reference.
func pointer(root jsonx.Raw, ref string) jsonx.Raw {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	at := root
	for token := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if token != "" || path != "" {
			at = jsonx.Lookup(at, strings.NewReplacer("~1", "/", "~0", "~").Replace(token))
		}
	}
	return at
}
