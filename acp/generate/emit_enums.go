package main

import "strings"

func emitEnums(m *model, e *emitter) {
	for _, en := range m.enums {
		e.doc("", en.name+" "+en.doc)
		e.p("type %s %s\n", en.name, en.base)
		if en.id {
			continue
		}
		e.p("// The values of [%s].\nconst (", en.name)
		for _, v := range en.values {
			e.p("%s %s = %s", v.name, en.name, v.literal)
		}
		e.p(")\n")
		e.p("// Known reports whether x is one of the constants above.")
		var names []string
		for _, v := range en.values {
			names = append(names, v.name)
		}
		sep := ", "
		if len(strings.Join(names, sep)) > 50 { // gofumpt requires short cases on one line
			sep = ",\n"
		}
		e.p("func (x %s) Known() bool {\nswitch x {\ncase %s:", en.name, strings.Join(names, sep))
		e.p("return true\n}\nreturn false\n}\n")
	}
}
