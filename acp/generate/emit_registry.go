package main

// emitRegistry writes the tables that let the tests of package acp walk all of its types.
func emitRegistry(m *model, e *emitter) {
	e.p("// schemaTypes returns a zero value of each type that the schema defines, by its name there.")
	e.p("var schemaTypes = map[string]func() any{")
	for _, d := range m.schema.defs {
		if kind := shape(d.Name, d.node); kind != "none" && kind != "union" {
			e.p("%q: func() any { return new(acp.%s) },", d.Name, goName(d.Name))
		}
	}
	e.p("}\n")
	e.p("// skippedTypes are the definitions without a Go type.")
	e.p("var skippedTypes = map[string]bool{")
	for _, d := range m.schema.defs {
		if skipped[d.Name] != "" {
			e.p("%q: true,", d.Name)
		}
	}
	e.p("}\n")
	e.p("// schemaUnions decodes each union that is a separate value.")
	e.p("var schemaUnions = map[string]func(jsonx.Raw) (any, error){")
	for _, d := range m.schema.defs {
		if shape(d.Name, d.node) == "union" {
			e.p("%q: decodeAny(acp.Decode%s),", d.Name, goName(d.Name))
		}
	}
	e.p("}\n")
	e.p("// unionVariants returns a zero value of each known variant.")
	e.p("var unionVariants = map[reflect.Type][]func() any{")
	for _, u := range m.unions {
		e.p("reflect.TypeFor[acp.%s](): {", u.name)
		for _, v := range u.variants {
			e.p("func() any { return new(acp.%s) },", v.name)
		}
		if u.untagged != nil {
			e.p("func() any { return new(acp.%s) },", u.untagged.name)
		}
		e.p("},")
	}
	e.p("}")
}
