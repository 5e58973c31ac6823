package main

import "strings"

func emitMethods(m *model, e *emitter) {
	e.p("// The methods of the protocol.\nvar (")
	for _, me := range m.methods {
		unstable := ""
		if me.unstable {
			unstable = ", Unstable: true"
		}
		side := "Side" + strings.ToUpper(me.side[:1]) + me.side[1:]
		typ := "NotificationMethod[" + me.params + "]"
		if me.result != "" {
			typ = "RequestMethod[" + me.params + ", " + me.result + "]"
		}
		e.p("%s = %s{Name: %q, Side: %s%s}", me.variable, typ, me.wire, side, unstable)
	}
	e.p(")\n")
	e.p("// Methods describes every method, by name. The caller owns the slice.")
	e.p("func Methods() []MethodInfo {\nreturn []MethodInfo{")
	for _, me := range m.methods {
		e.p("%s.info(),", me.variable)
	}
	e.p("}\n}\n")
	emitSide(m, e, "agent", "Agent", "handles the methods that a client calls. "+
		"A request's method is its ordered half; see [Reply].")
	emitSide(m, e, "client", "Client", "handles the methods that an agent calls.")
}

func emitSide(m *model, e *emitter, side, name, doc string) {
	e.doc("", name+" "+doc)
	e.p("type %s interface {", name)
	for _, me := range m.methods {
		if me.side != side {
			continue
		}
		result := "error"
		switch {
		case me.result != "" && side == "agent":
			result = "(Reply[" + me.result + "], error)"
		case me.result != "":
			result = "(*" + me.result + ", error)"
		}
		kind := "handles"
		if me.result != "" {
			kind = "answers"
		}
		unstable := ""
		if me.unstable {
			unstable = " Unstable."
		}
		e.p("// %s %s %s.%s", me.goMethod, kind, me.wire, unstable)
		e.p("%s(ctx context.Context, p *%s) %s", me.goMethod, me.params, result)
	}
	e.p("}\n")
	emitTable(m, e, side, name, "Request", true)
	emitTable(m, e, side, name, "Notification", false)
}

func emitTable(m *model, e *emitter, side, name, kind string, requests bool) {
	e.p("// %s%ss decodes and dispatches by method name.", side, kind)
	e.p("var %s%ss = map[string]%s%s{", side, kind, side, kind)
	for _, me := range m.methods {
		if me.side == side && (me.result != "") == requests {
			e.p("%s.Name: on%s%s(%s, %s.%s),", me.variable, name, kind, me.variable, name, me.goMethod)
		}
	}
	e.p("}\n")
}
