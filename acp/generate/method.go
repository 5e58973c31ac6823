package main

import (
	"slices"
	"strings"
)

type method struct {
	wire, variable string
	side           string
	goMethod       string
	params, result string // result is empty for a notification
	unstable       bool
}

func (m *model) addMethods() {
	for _, d := range m.schema.defs {
		if d.Method == "" {
			continue
		}
		me := method{wire: d.Method, side: d.Side, params: goName(d.Name), unstable: m.schema.stable[d.Name] == nil}
		base, request := strings.CutSuffix(d.Name, "Request")
		base, notification := strings.CutSuffix(base, "Notification")
		if !request && !notification {
			continue // a response
		}
		me.variable = "Method" + goName(d.Method)
		if request {
			me.result = goName(base + "Response")
		} else if m.schema.byName[base+"Request"] != nil { // a request has the same name
			me.variable += "Notification"
		}
		me.goMethod = goName(base)
		if name := methodNames[d.Name]; name != "" {
			me.goMethod = name
		}
		m.methods = append(m.methods, me)
	}
	slices.SortFunc(m.methods, func(a, b method) int {
		if c := strings.Compare(a.wire, b.wire); c != 0 {
			return c
		}
		return strings.Compare(a.variable, b.variable)
	})
}
