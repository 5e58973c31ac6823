package main

import (
	"fmt"
	"strings"
)

func emitUnions(m *model, e *emitter) {
	for _, u := range m.unions {
		emitUnion(e, u)
	}
}

func emitUnion(e *emitter, u *unionType) {
	var names []string
	for _, v := range u.variants {
		names = append(names, "*["+v.name+"]")
	}
	if u.untagged != nil {
		names = append(names, "*["+u.untagged.name+"]")
	}
	if u.unknown {
		names = append(names, "*["+unknownName(u.name)+"]")
	}
	last := len(names) - 1
	e.doc("", u.name+" "+u.doc+" It is one of "+strings.Join(names[:last], ", ")+" and "+names[last]+".")
	as := "variant"
	if u.inline {
		as = "inlineVariant"
	}
	e.p("type %s interface {\n%s\nis%s()\n}\n", u.name, as, u.name)
	for _, v := range u.variants {
		e.p("func (*%s) is%s() {}", v.name, u.name)
	}
	if u.untagged != nil {
		e.p("func (*%s) is%s() {}", u.untagged.name, u.name)
	}
	if u.unknown {
		e.p("func (*%s) is%s() {}", unknownName(u.name), u.name)
	}
	e.p("")
	emitUnionDecode(e, u)
	if u.unknown {
		emitUnknown(e, u)
	}
}

func emitUnionDecode(e *emitter, u *unionType) {
	name := "decode" + u.name
	if !u.inline {
		name = "Decode" + u.name
		e.p("// %s reads one [%s]. It keeps copies of parts of raw only.", name, u.name)
	}
	e.p("func %s(raw jsonx.Raw) (%s, error) {", name, u.name)
	if u.tagName == "" {
		emitByKey(e, u)
		e.p("}\n")
	} else {
		emitByTag(e, u)
		e.p("}\n")
	}
	if !u.inline {
		e.p("func read%s(dec *jsonx.Decoder, p *%s) error {", u.name, u.name)
		e.p("return readVariant(dec, p, Decode%s)\n}\n", u.name)
	}
}

func emitByKey(e *emitter, u *unionType) {
	e.p(`if raw.Kind() != '{' {`)
	e.p(`return nil, jsonx.NewMismatch("", raw.Kind(), "object")`)
	e.p(`}`)
	var keys []string
	for _, v := range u.variants {
		e.p("if jsonx.Lookup(raw, %q) != nil {\nreturn decodeVariant[%s](raw)\n}", v.key, v.name)
		keys = append(keys, v.key)
	}
	if u.unknown {
		e.p("return &%s{Raw: raw.Clone()}, nil", unknownName(u.name))
		return
	}
	e.p("return nil, &jsonx.DecodeError{Reason: %q}", "one of the members "+strings.Join(keys, " and ")+" must be present")
}

func emitByTag(e *emitter, u *unionType) {
	e.p("tag, err := discriminator(raw, %q)", u.tagName)
	e.p("if err != nil {\nreturn nil, err\n}")
	if pair, ok := conflicts[u.name]; ok {
		e.p("if jsonx.Lookup(raw, %q) != nil && jsonx.Lookup(raw, %q) != nil {", pair[0], pair[1])
		e.p("return &%s{Type: tag, Raw: raw.Clone()}, nil\n}", unknownName(u.name))
	}
	e.p("switch tag {")
	for _, v := range u.variants {
		e.p("case %q:\nreturn decodeVariant[%s](raw)", v.tag, v.name)
	}
	if u.untagged != nil {
		e.p("case \"\", %q:\nreturn decodeVariant[%s](raw)", u.untagged.tag, u.untagged.name)
	} else {
		e.p("case \"\":\nreturn nil, missing(%q)", u.tagName)
	}
	e.p("}")
	keep := "raw.Clone()"
	if len(u.baseNames) > 0 {
		var quoted []string
		for _, n := range u.baseNames {
			quoted = append(quoted, fmt.Sprintf("%q", n))
		}
		keep = "without(raw, " + strings.Join(quoted, ", ") + ")"
	}
	e.p("return &%s{Type: tag, Raw: %s}, nil", unknownName(u.name), keep)
}

func emitUnknown(e *emitter, u *unionType) {
	name := unknownName(u.name)
	e.p("// %s is a [%s] of an unknown kind.", name, u.name)
	e.p("type %s struct {", name)
	if u.tagName != "" {
		e.p("// Type is the value of its %q member.", u.tagName)
		e.p("Type string")
	}
	if u.inline {
		e.p("// Raw is an object with its members, %q among them.", u.tagName)
	} else {
		e.p("// Raw is the whole value as it was read. It is written unchanged.")
	}
	e.p("Raw jsonx.Raw\n}\n")
	e.p("// UnmarshalJSON keeps data.")
	e.p("func (v *%s) UnmarshalJSON(data []byte) (err error) {", name)
	if u.tagName != "" {
		e.p("if v.Type, err = discriminator(data, %q); err != nil {\nreturn err\n}", u.tagName)
	}
	e.p("v.Raw = jsonx.Raw(data).Clone()\nreturn nil\n}\n")
	e.p("// MarshalJSON writes Raw.")
	e.p("func (v %s) MarshalJSON() ([]byte, error) { return v.Raw.MarshalJSON() }\n", name)
	if u.inline {
		e.p("func (v *%s) members(w *writer) { putRawMembers(w, v.Raw) }\n", name)
		return
	}
	e.p("func (v *%s) put(w *writer) { putAny(w, v.Raw) }\n", name)
}
