package main

import (
	"fmt"
)

// The kinds of Go types, by the form of an absent value.
const (
	kindString = iota // the empty string
	kindNumber        // needs a pointer
	kindBool          // needs a pointer
	kindNil           // nil: slices, maps, unions, kept JSON
	kindStruct        // needs a pointer
	kindOther
)

// A goType is a Go type and the functions of package acp that read and write it.
type goType struct {
	name      string
	zero      string // literal that means absent; empty if there is none
	read, put string // function expressions
	kind      int
	// item, forgiving and dict are for arrays, and for objects whose member names are data.
	item *goType
	// forgiving marks an array that drops items that do not fit.
	forgiving bool
	dict      bool
}

func handUnion(name string) goType {
	return goType{name: name, zero: "nil", read: "read" + name, put: "putVariant[" + name + "]", kind: kindNil}
}

// goTypeOf returns the type for n, which is not nullable.
func (m *model) goTypeOf(n *node) (goType, error) {
	if ref := n.ref(); ref != "" {
		return m.refType(ref)
	}
	if len(n.Type) == 0 {
		return goType{name: "jsonx.Raw", zero: "nil", read: "readAny", put: "putAny", kind: kindNil}, nil
	}
	switch n.Type[0] {
	case "string":
		return goType{name: "string", zero: `""`, read: "readString[string]", put: "putString[string]", kind: kindString}, nil
	case "boolean":
		return goType{name: "bool", zero: "false", read: "readBool", put: "putBool", kind: kindBool}, nil
	case "number":
		return goType{name: "float64", zero: "0", read: "readFloat", put: "putFloat", kind: kindNumber}, nil
	case "integer":
		name := "int"
		if n.Format == "int64" || n.Format == "uint64" {
			name = "int64"
		}
		read := "readInt"
		if n.Minimum != nil && *n.Minimum == 0 {
			read = "readCount"
		}
		return goType{
			name: name, zero: "0", read: read + "[" + name + "]", put: "putInt[" + name + "]", kind: kindNumber,
		}, nil
	case "array":
		item, err := m.goTypeOf(n.Items)
		if err != nil {
			return goType{}, err
		}
		list := "list"
		if n.SkipBadItems {
			list = "forgivingList"
		}
		return goType{
			name: "[]" + item.name, zero: "nil", read: list + "(" + item.read + ")", put: "items(" + item.put + ")",
			kind: kindNil, item: &item, forgiving: n.SkipBadItems,
		}, nil
	case "object":
		return m.dictType(n)
	}
	return goType{}, fmt.Errorf("no rule for type %v", n.Type)
}

func (m *model) dictType(n *node) (goType, error) {
	if string(n.Additional) == "true" {
		return goType{name: "jsonx.Raw", zero: "nil", read: "readRawObject", put: "putAny", kind: kindNil}, nil
	}
	value, err := parseNode(n.Additional)
	if err != nil {
		return goType{}, err
	}
	item, err := m.goTypeOf(value)
	if err != nil {
		return goType{}, err
	}
	return goType{
		name: "map[string]" + item.name, zero: "nil", read: "dict(" + item.read + ")",
		put: "putDict[" + item.name + ", map[string]" + item.name + "]", kind: kindNil, item: &item, dict: true,
	}, nil
}

func (m *model) refType(ref string) (goType, error) {
	if t, ok := byHand[ref]; ok {
		return t, nil
	}
	n, name := m.schema.byName[ref], goName(ref)
	if n == nil {
		return goType{}, fmt.Errorf("no definition %s", ref)
	}
	switch shape(ref, n) {
	case "version":
		return goType{name: name, zero: "0", read: "readVersion", put: "putInt[" + name + "]", kind: kindNumber}, nil
	case "enum":
		if vs := n.variants(); len(vs) > 0 && vs[0].Type[0] == "integer" {
			return goType{name: name, zero: "0", read: "readInt[" + name + "]", put: "putInt[" + name + "]", kind: kindNumber}, nil
		}
		return goType{
			name: name, zero: `""`, read: "readString[" + name + "]", put: "putString[" + name + "]", kind: kindString,
		}, nil
	case "struct":
		return goType{name: name, read: "readObject[" + name + "]", put: "putObject[" + name + "]", kind: kindStruct}, nil
	case "union":
		return handUnion(name), nil
	case "any":
		return goType{name: name, zero: "nil", read: "readAny", put: "putAny", kind: kindNil}, nil
	}
	return goType{}, fmt.Errorf("no rule for a member of type %s", ref)
}

func (m *model) newField(owner string, p named, required bool) (field, error) {
	key := owner + "." + p.Name
	n, nullable := p.notNull()
	nullable = nullable || flattened[owner] && !required
	if def := fieldTypes[key]; def != "" {
		n = &node{Ref: "#/$defs/" + def, OnError: p.OnError}
	}
	t, err := m.goTypeOf(n)
	if err != nil {
		return field{}, fmt.Errorf("%s: %w", p.Name, err)
	}
	f := field{
		json: p.Name, name: goName(p.Name), typ: t.name, required: required, onErr: n.OnError,
		unstable: m.unstableField(owner, p.Name), always: required || len(p.Default) > 0,
	}
	f.doc = m.comments.field(key)
	f.read, f.put = t.readInto("v."+f.name), t.putFrom("v."+f.name)
	access := "v." + f.name
	switch {
	case required && p.OnNull:
		f.read = "readNullAsZero(dec, &" + access + ", " + t.read + ")"
	case required:
	case nullable && patches[owner] && n.ref() == "" && len(n.Type) == 0: // raw JSON can be null
	case nullable && patches[owner]:
		f.typ = "Nullable[" + t.name + "]"
		f.read = "readNullable(dec, &" + access + ", " + t.read + ")"
		f.put = "putNullable(w, " + access + ", " + t.put + ")"
		f.when = "!" + access + ".IsZero()"
	case nullable && (t.kind == kindNumber || t.kind == kindBool || t.kind == kindStruct || pointers[key]):
		f.typ = "*" + t.name
		f.read = "readPointer(dec, &" + access + ", " + t.read + ")"
		f.put = "putPointer(w, " + access + ", " + t.put + ")"
		f.when = access + " != nil"
	case f.always && t.kind == kindBool && f.unstable:
		f.when = access
	case f.always && t.kind == kindString: // a member with one possible value
		f.put = "putString(w, cmp.Or(" + access + ", " + string(p.Default) + "))"
	case f.always:
	default:
		if nullable || p.OnNull {
			f.read = "readNullAsZero(dec, &" + access + ", " + t.read + ")"
		}
		if t.zero == "" {
			return field{}, fmt.Errorf("%s: no rule for this optional member", p.Name)
		}
		f.when = access + " != " + t.zero
	}
	if when := writeWhen[key]; when != "" {
		f.when = when
	}
	return f, nil
}

func (m *model) unstableField(owner, name string) bool {
	stable := m.schema.stable[owner]
	return stable != nil && stable.Properties.get(name) == nil
}

func (t goType) readInto(access string) string {
	if t.item != nil && !t.dict {
		return fmt.Sprintf("readItems(dec, &%s, %s, %t)", access, t.item.read, t.forgiving)
	}
	return t.read + "(dec, &" + access + ")"
}

func (t goType) putFrom(access string) string {
	switch {
	case t.dict:
		return "putDict(w, " + access + ", " + t.item.put + ")"
	case t.item != nil:
		return "putItems(w, " + access + ", " + t.item.put + ")"
	}
	return t.put + "(w, " + access + ")"
}
