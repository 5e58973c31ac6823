package main

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
		e.p("func (x %s) Known() bool {\nswitch x {\ncase", en.name)
		for i, v := range en.values {
			sep := ","
			if i == len(en.values)-1 {
				sep = ":"
			}
			e.p("%s%s", v.name, sep)
		}
		e.p("return true\n}\nreturn false\n}\n")
	}
}
