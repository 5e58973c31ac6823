package main

import (
	"fmt"
	"slices"
	"strings"
)

type model struct {
	schema   *schema
	comments *comments
	structs  []*structType
	enums    []*enumType
	unions   []*unionType
	aliases  []aliasType
	methods  []method
	byName   map[string]*structType // by schema name
}

// A structType is a Go struct that represents an object.
type structType struct {
	schemaName, name string
	doc              string
	fields           []field
	inline           *inline
	// payload is the type whose fields this one shares; empty for none.
	payload string
	// tagName and tag are the name and value of the discriminator that the type writes as a variant of a union.
	tagName, tag string
	markers      []string // the unions that the type belongs to
}

type field struct {
	json, name, doc  string
	typ              string // the Go type
	read, put        string // complete Go expressions
	when             string // condition for writing it; empty for always
	required, onErr  bool
	unstable, always bool
}

type enumType struct {
	name, doc string
	base      string
	values    []enumValue
	id        bool // an identifier, without fixed values
}

type enumValue struct{ name, literal string }

type aliasType struct{ name, doc, target string }

type unionType struct {
	name, doc string
	tagName   string
	inline    bool
	baseNames []string
	variants  []variantOf
	untagged  *variantOf // the variant without a discriminator; nil if its absence is an error
	unknown   bool
}

type variantOf struct {
	name string // the Go type
	tag  string
	key  string // member that identifies it, if there is no discriminator
}

func newModel(s *schema) (*model, error) {
	c, err := loadComments()
	if err != nil {
		return nil, err
	}
	m := &model{schema: s, comments: c, byName: map[string]*structType{}}
	for _, d := range s.defs {
		if err := m.add(d); err != nil {
			return nil, fmt.Errorf("%s: %w", d.Name, err)
		}
	}
	for _, d := range s.defs {
		if err := m.addUnion(d); err != nil {
			return nil, fmt.Errorf("%s: %w", d.Name, err)
		}
	}
	m.addMethods()
	byGoName := func(a, b *structType) int { return strings.Compare(a.name, b.name) }
	slices.SortFunc(m.structs, byGoName)
	slices.SortFunc(m.enums, func(a, b *enumType) int { return strings.Compare(a.name, b.name) })
	slices.SortFunc(m.unions, func(a, b *unionType) int { return strings.Compare(a.name, b.name) })
	slices.SortFunc(m.aliases, func(a, b aliasType) int { return strings.Compare(a.name, b.name) })
	return m, c.err()
}

func (m *model) doc(name string) string {
	stable := m.schema.stable[name] != nil || m.schema.byName[name] == nil
	return m.comments.get(name, stable)
}

// shape returns the kind of Go type that a definition needs.
func shape(name string, n *node) string {
	_, hand := byHand[name]
	switch {
	case skipped[name] != "" || hand:
		return "none"
	case name == "ProtocolVersion":
		return "version"
	case isEnum(n):
		return "enum"
	case len(n.Type) == 1 && n.Type[0] == "string":
		return "enum"
	case n.ref() != "":
		return "alias"
	case len(n.Properties) > 0 || len(n.Type) == 1 && n.Type[0] == "object" || flattened[name]:
		return "struct"
	case len(n.variants()) > 0:
		return "union"
	case len(n.Type) == 0:
		return "any"
	}
	return ""
}

func isEnum(n *node) bool {
	vs := n.variants()
	for i, v := range vs {
		if len(v.Const) == 0 && i < len(vs)-1 || len(v.Type) != 1 || v.Type[0] != "string" && v.Type[0] != "integer" {
			return false
		}
	}
	return len(vs) > 0 && len(vs[0].Const) > 0
}

func (m *model) add(d named) error {
	switch shape(d.Name, d.node) {
	case "none", "union":
	case "version":
		m.enums = append(m.enums, &enumType{name: goName(d.Name), doc: m.doc(d.Name), base: "int", id: true})
	case "enum":
		m.enums = append(m.enums, m.newEnum(d))
	case "alias":
		m.aliases = append(m.aliases, aliasType{goName(d.Name), m.doc(d.Name), goName(d.ref())})
	case "any":
		m.aliases = append(m.aliases, aliasType{goName(d.Name), m.doc(d.Name), "jsonx.Raw"})
	case "struct":
		return m.addStruct(d)
	default:
		return fmt.Errorf("no rule for this definition")
	}
	return nil
}

func (m *model) newEnum(d named) *enumType {
	e := &enumType{name: goName(d.Name), doc: m.doc(d.Name), base: "string"}
	for _, v := range d.variants() {
		if len(v.Const) == 0 {
			continue
		}
		label := v.constant()
		if v.Type[0] == "integer" {
			e.base, label = "int", v.Title
		}
		e.values = append(e.values, enumValue{e.name + goName(titled(label)), string(v.Const)})
	}
	e.id = len(e.values) == 0
	return e
}

// titled joins the words of a title such as "Parse error" into one camel-case word.
func titled(label string) string {
	if !strings.Contains(label, " ") {
		return label
	}
	parts := strings.Fields(label)
	for i := range parts {
		parts[i] = strings.ToUpper(parts[i][:1]) + parts[i][1:]
	}
	return strings.Join(parts, "")
}

func (m *model) addStruct(d named) error {
	st := &structType{schemaName: d.Name, name: goName(d.Name), doc: m.doc(d.Name)}
	props, required := d.Properties, d.Required
	if flattened[d.Name] {
		props = slices.Clone(props)
		for _, v := range d.variants() {
			if ref := v.ref(); ref == "" && len(v.AllOf) == 1 {
				v = m.schema.byName[v.AllOf[0].ref()]
			}
			for _, p := range v.Properties {
				if props.get(p.Name) == nil {
					props = append(props, p)
				}
			}
		}
	}
	var meta []named
	for _, p := range props {
		if p.Name == "_meta" {
			meta = []named{p}
			continue
		}
		f, err := m.newField(d.Name, p, slices.Contains(required, p.Name))
		if err != nil {
			return err
		}
		if tolerated[d.Name+"."+p.Name] {
			f.required = false
		}
		st.fields = append(st.fields, f)
	}
	if in, ok := inlines[d.Name]; ok {
		st.inline = &in
	}
	for range meta {
		st.fields = append(st.fields, field{
			json: "_meta", name: "Meta", typ: "Meta", read: "readNullAsZero(dec, &v.Meta, readMeta)",
			put: "putMeta(w, v.Meta)", when: "v.Meta != nil", onErr: true,
		})
	}
	m.structs = append(m.structs, st)
	m.byName[d.Name] = st
	return nil
}
