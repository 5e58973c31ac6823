package conformance

import (
	"slices"
	"strings"
)

// onOptions modifies each configuration option in all messages.
func onOptions(change func(o object) bool) func(*fake, object) bool {
	return func(_ *fake, m object) bool {
		for _, holder := range []any{m["result"], at(m, "params", "update")} {
			if h, ok := holder.(map[string]any); ok {
				each("configOptions", change)(h)
			}
		}
		return true
	}
}

// onOption is like onOptions, for one option.
func onOption(id string, change func(o object) bool) func(*fake, object) bool {
	return onOptions(func(o object) bool { return o["id"] != id || change(o) })
}

// busy reports whether a session has a turn.
func (f *fake) busy(m *message) bool {
	s := f.session(m.session())
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue) > 0
}

// whileBusy refuses a method while a turn runs.
func whileBusy(check, method string) defect {
	return defect{name: "refuses-" + check, trips: ids(check), in: func(f *fake, m *message) bool {
		if m.method != method || !f.busy(m) {
			return false
		}
		f.refuse(m, codeInvalidRequest, "busy")
		return true
	}}
}

func optionDefects() []defect {
	lists := object{"configOptions": []any{}}
	value := func(v any) func(*message) bool { return equals(v, "value") }
	return []defect{
		{name: "nameless-modes", trips: ids("mode.names"), out: onResult("session/new", inside("modes", each("availableModes", set("name", ""))))},
		{name: "current-mode-is-none", trips: ids("mode.current"), out: onResult("session/new", inside("modes", set("currentModeId", "none")))},
		choosy("mode.set", "session/set_mode", equals("code", "modeId")),
		{name: "mode-must-change", trips: ids("mode.set.same"), in: on("session/set_mode", equals("ask", "modeId"), func(f *fake, m *message) bool {
			s := f.session(m.session())
			if s == nil || s.value("mode") != "ask" {
				return false
			}
			f.refuse(m, codeParams, "it is")
			return true
		})},
		lax("mode.set.unknown", "session/set_mode", equals("no-such-mode", "modeId"), object{}),
		lax("mode.set.unknown-session", "session/set_mode", equals("no-such-session", "sessionId"), object{}),
		lax("mode.set.missing", "session/set_mode", not(paramHas("modeId")), object{}),
		whileBusy("mode.set.in-turn", "session/set_mode"),
		{name: "forgets-mode", trips: ids("mode.set.kept"), out: onResult("session/load", inside("modes", set("currentModeId", "ask")))},
		{name: "odd-mode-update", trips: ids("mode.update.available"), out: onUpdate("current_mode_update", set("currentModeId", "none"))},
		{name: "modes-differ", trips: ids("mode.option.same"), out: onResult("session/new", inside("modes", func(s object) bool {
			modes := list(s, "availableModes")
			slices.Reverse(modes)
			return true
		}))},
		{name: "option-does-not-follow", trips: ids("mode.option.follows"), out: onUpdate("config_option_update", dropped)},
		{name: "option-does-not-lead", trips: ids("mode.option.leads"), out: onUpdate("current_mode_update", dropped)},

		{name: "same-option-ids", trips: ids("config.ids"), out: onOption("thinking", set("id", "model"))},
		{name: "nameless-config", trips: ids("config.names"), out: onOption("thinking", set("name", ""))},
		{name: "current-is-none", trips: ids("config.current"), out: onOption("thinking", set("currentValue", "none"))},
		{name: "same-values", trips: ids("config.values"), out: onOption("thinking", func(o object) bool {
			values := list(o, "options")
			o["options"] = append(values, values[0])
			return true
		})},
		{name: "odd-category", trips: ids("config.category"), out: onOption("thinking", set("category", "thinking"))},
		{name: "change-is-not-told", trips: ids("config.set.takes config.set.every-value"), out: onResult(setOption, each("configOptions", func(o object) bool {
			if o["id"] == "mode" {
				o["currentValue"] = "ask"
			}
			return true
		}))},
		{name: "answers-with-one", trips: ids("config.set.all"), out: onResult(setOption, func(r object) bool {
			r["configOptions"] = list(r, "configOptions")[:1]
			return true
		})},
		choosy("config.set.every-value", setOption, value("high")),
		lax("config.set.unknown-option", setOption, equals("no-such-option", "configId"), lists),
		lax("config.set.unknown-value", setOption, value("no-such-value"), lists),
		lax("config.set.wrong-type", setOption, value(7.0), lists),
		lax("config.set.missing-value", setOption, not(paramHas("value")), lists),
		lax("config.set.unknown-session", setOption, equals("no-such-session", "sessionId"), lists),
		{name: "refused-is-told", trips: ids("config.set.refused-changes-nothing"), in: on(setOption, value("no-such-value"), func(f *fake, m *message) bool {
			if s := f.session(m.session()); s != nil {
				s.update("current_mode_update", object{"currentModeId": "ask"})
			}
			return false
		})},
		{name: "echoes-changes", trips: ids("config.set.no-echo"), out: after(func(m object) bool {
			return len(list(m["result"], "configOptions")) > 0 && !has(m["result"], "sessionId")
		}, func(f *fake, m object) object {
			session := ""
			f.mu.Lock()
			for id := range f.sessions {
				session = id
			}
			f.mu.Unlock()
			return object{"method": "session/update", "params": object{"sessionId": session, "update": object{
				"sessionUpdate": "config_option_update", "configOptions": list(m["result"], "configOptions"),
			}}}
		})},
		whileBusy("config.set.in-turn", setOption),
		{name: "forgets-options", trips: ids("config.set.kept"), out: onResult("session/load", each("configOptions", func(o object) bool {
			if o["id"] == "mode" {
				o["currentValue"] = "ask"
			}
			return true
		}))},
		{name: "updates-one-option", trips: ids("config.update.all"), out: onUpdate("config_option_update", func(u object) bool {
			u["configOptions"] = list(u, "configOptions")[:1]
			return true
		})},
		{name: "booleans-for-all", trips: ids("config.boolean.only-if-advertised")},
		choosy("config.boolean.set", setOption, value(true)),
		lax("config.boolean.wrong-type", setOption, value("yes"), lists),
	}
}

// schemaDefects add an unknown member to one kind of message each.
func schemaDefects() []defect {
	own := set("own", 7)
	var all []defect
	for _, c := range schemaChecks {
		name := strings.TrimPrefix(c.ID, "schema.")
		d := defect{name: "own-member-in-" + name, trips: []string{c.ID, "extension.members.own", "schema.stable"}}
		if name == "initialize" {
			d.trips = d.trips[:2]
		}
		what := subjectOf(c)
		update, isUpdate := strings.CutPrefix(what, "update ")
		method, isResult := strings.CutPrefix(what, "response to ")
		switch {
		case name == "stable":
			d.name, d.trips = "unstable-usage", []string{"schema.stable"}
			d.out = onResult("session/prompt", set("usage", object{"totalTokens": 2, "inputTokens": 1, "outputTokens": 1}))
		case name == "error":
			d.out = func(_ *fake, m object) bool {
				if e, ok := m["error"].(map[string]any); ok {
					own(e)
				}
				return true
			}
		case isUpdate:
			d.out = onUpdate(update, own)
		case isResult:
			d.out = onResult(method, own)
		default:
			d.out = onCall(what, own)
		}
		all = append(all, d)
	}
	return all
}

// subjectOf returns the subject of a schema check.
func subjectOf(c Check) string {
	for _, kind := range []string{"Updates of the kind ", "The result of ", "The parameters of "} {
		if rest, ok := strings.CutPrefix(c.Requirement, kind); ok {
			what, _, _ := strings.Cut(rest, " fit")
			return map[string]string{"Updates of the kind ": "update ", "The result of ": "response to ", "The parameters of ": ""}[kind] + what
		}
	}
	return ""
}
