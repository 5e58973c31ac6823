package main

import (
	"fmt"
	"strings"
)

func emitTypes(m *model, e *emitter) {
	for _, a := range m.aliases {
		e.doc("", a.name+" "+a.doc)
		e.p("type %s = %s\n", a.name, a.target)
	}
	for _, st := range m.structs {
		emitStruct(e, st)
	}
}

func emitStruct(e *emitter, st *structType) {
	e.doc("", st.name+" "+st.doc)
	if st.payload != "" {
		e.p("type %s %s\n", st.name, st.payload)
	} else if len(st.fields) == 0 && st.inline == nil {
		e.p("type %s struct{}\n", st.name)
	} else {
		e.p("type %s struct {", st.name)
		emitFields(e, st)
		e.p("}\n")
	}
	emitDecode(e, st)
	emitEncode(e, st)
}

func emitFields(e *emitter, st *structType) {
	for _, f := range st.fields {
		doc := f.doc
		if f.unstable {
			doc = strings.TrimSpace(doc + " Unstable.")
		}
		if st.inline != nil && f.name == "Meta" {
			emitInlineField(e, st)
		}
		if doc != "" {
			e.doc("\t", doc)
		}
		tag := f.json
		if f.when != "" {
			tag += ",omitzero"
		}
		e.p("\t%s %s `json:%q`", f.name, f.typ, tag)
	}
	if st.inline != nil && (len(st.fields) == 0 || st.fields[len(st.fields)-1].name != "Meta") {
		emitInlineField(e, st)
	}
}

func emitInlineField(e *emitter, st *structType) {
	e.p("\t// %s has its members among the others, not in a separate object.", st.inline.field)
	e.p("\t%s %s `json:\"-\"`", st.inline.field, st.inline.union)
}

func emitDecode(e *emitter, st *structType) {
	e.p("// UnmarshalJSON decodes v with [encoding/json].")
	e.p("func (v *%s) UnmarshalJSON(data []byte) error { return jsonx.Unmarshal(data, v) }\n", st.name)
	e.p("// UnmarshalJSONFrom decodes v.")
	if st.payload != "" {
		e.p("func (v *%s) UnmarshalJSONFrom(dec *jsonx.Decoder) error {", st.name)
		e.p("return (*%s)(v).UnmarshalJSONFrom(dec)\n}\n", st.payload)
		return
	}
	if st.inline == nil {
		e.p("func (v *%s) UnmarshalJSONFrom(dec *jsonx.Decoder) error {", st.name)
		emitMembers(e, st)
		e.p("}\n")
		return
	}
	base := strings.ToLower(st.name[:1]) + st.name[1:] + "Base"
	e.p("func (v *%s) UnmarshalJSONFrom(dec *jsonx.Decoder) error {", st.name)
	e.p("return readVariant(dec, v, decode%s)\n}\n", st.name)
	e.p("func decode%s(raw jsonx.Raw) (v %s, err error) {", st.name, st.name)
	e.p("if err := jsonx.Unmarshal(raw, (*%s)(&v)); err != nil {\nreturn v, err\n}", base)
	e.p("v.%s, err = decode%s(raw)\nreturn v, err\n}\n", st.inline.field, st.inline.union)
	e.p("// %s is %s without the members of %s.", base, st.name, st.inline.field)
	e.p("type %s %s\n", base, st.name)
	e.p("func (v *%s) UnmarshalJSONFrom(dec *jsonx.Decoder) error {", base)
	emitMembers(e, st)
	e.p("}\n")
}

// emitMembers writes the loop over the members of an object.
func emitMembers(e *emitter, st *structType) {
	var required []string
	for _, f := range st.fields {
		if f.required {
			required = append(required, fmt.Sprintf("%q", f.json))
		}
	}
	e.p("*v = %s{}", recv(st))
	e.p("var o object")
	e.p("for ok := o.open(dec, %t); ok && o.next(); {", len(required) == 0)
	e.p("switch string(o.name) {")
	bit := 0
	for _, f := range st.fields {
		e.p("case %q:", f.json)
		take, arg := "may", ""
		if f.onErr {
			take = "forgive"
		}
		if f.required {
			take, arg = map[string]string{"may": "must", "forgive": "mustForgive"}[take], fmt.Sprintf("%d, ", bit)
			bit++
		}
		e.p("o.%s(%s%s)", take, arg, f.read)
	}
	e.p("default:\no.skip()\n}\n}")
	e.p("return o.close(%s)", strings.Join(required, ", "))
}

// recv returns the name of the type whose decoder is being written.
func recv(st *structType) string {
	if st.inline != nil {
		return strings.ToLower(st.name[:1]) + st.name[1:] + "Base"
	}
	return st.name
}

func emitEncode(e *emitter, st *structType) {
	e.p("// MarshalJSON encodes v with [encoding/json].")
	e.p("func (v %s) MarshalJSON() ([]byte, error) { return jsonx.Marshal(&v) }\n", st.name)
	e.p("// MarshalJSONTo encodes v.")
	e.p("func (v *%s) MarshalJSONTo(enc *jsonx.Encoder) error { return encodeTo(enc, v) }\n", st.name)
	members := "fields"
	if st.tag != "" {
		members = "members"
		e.p("func (v *%s) members(w *writer) {\nw.tag(%q, %q)\nv.fields(w)\n}\n", st.name, st.tagName, st.tag)
	} else if len(st.markers) > 0 {
		e.p("func (v *%s) members(w *writer) { v.fields(w) }\n", st.name)
	}
	e.p("func (v *%s) put(w *writer) {\nw.begin()\nv.%s(w)\nw.end()\n}\n", st.name, members)
	if st.payload != "" {
		e.p("func (v *%s) fields(w *writer) { (*%s)(v).fields(w) }\n", st.name, st.payload)
		return
	}
	if len(st.fields) == 0 && st.inline == nil {
		e.p("func (v *%s) fields(*writer) {}\n", st.name)
		return
	}
	e.p("func (v *%s) fields(w *writer) {", st.name)
	for _, f := range st.fields {
		if st.inline != nil && f.name == "Meta" {
			e.p("putMembers(w, v.%s)", st.inline.field)
		}
		if f.when != "" {
			e.p("if %s {", f.when)
		}
		e.p("w.name(%q)\n%s", f.json, f.put)
		if f.when != "" {
			e.p("}")
		}
	}
	if st.inline != nil && (len(st.fields) == 0 || st.fields[len(st.fields)-1].name != "Meta") {
		e.p("putMembers(w, v.%s)", st.inline.field)
	}
	e.p("}\n")
}
