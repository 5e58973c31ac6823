package conformance

import (
	"slices"
	"strings"
)

// optioned opens a session that has a configuration option with two values.
func (t *trial) optioned(capabilities object) (p *peer, created any, id string, o *option) {
	p = t.agent(capabilities)
	created = p.call("session/new", setup(p.work))
	o = p.anyOption(created)
	p.settle()
	return p, created, str(created, "sessionId"), o
}

const setOption = "session/set_config_option"

// watchOptions returns a check of every list of options that the agent sends, in responses and in updates.
func watchOptions(see func(o *option) string) func(*trial) {
	return watchOne("config option", func(m *message) (bool, string) {
		_, body := m.update()
		all := slices.Concat(options(m.result), options(body))
		for _, o := range all {
			if complaint := see(o); complaint != "" {
				return true, complaint + ": " + excerpt(o.raw)
			}
		}
		return len(all) > 0, ""
	})
}

// withBooleans is a client that supports boolean options.
var withBooleans = object{"session": object{"configOptions": object{"boolean": object{}}}}

var configChecks = []Check{
	{"config.ids", TierCapability, "Config options have different ids.", pageConfig, watchOne("config option", func(m *message) (bool, string) {
		_, body := m.update()
		ids := slices.Concat(optionIDs(m.result), optionIDs(body))
		for i, id := range ids {
			if id == "" || slices.Contains(ids[:i], id) {
				return true, "two options have one id, or one has none: " + excerpt(ids)
			}
		}
		return len(ids) > 0, ""
	})},
	{"config.names", TierCapability, "Config options have names.", pageConfig, watchOptions(func(o *option) string {
		return map[bool]string{true: "an option has no name"}[strings.TrimSpace(str(o.raw, "name")) == ""]
	})},
	{"config.current", TierCapability, "The current value of an option is one of its values.", pageConfig, watchOptions(func(o *option) string {
		current, ok := o.current.(string)
		return map[bool]string{true: "the current value is none of the values"}[!o.boolean && (!ok || !slices.Contains(o.values, current))]
	})},
	{"config.values", TierCapability, "The values of an option are different.", pageConfig, watchOptions(func(o *option) string {
		for i, v := range o.values {
			if slices.Contains(o.values[:i], v) {
				return "two values are the same"
			}
		}
		return ""
	})},
	{"config.category", TierCapability, "A category is one that the protocol has, or begins with an underscore.", pageConfig, watchOptions(func(o *option) string {
		category := str(o.raw, "category")
		known := category == "" || category[0] == '_' || slices.Contains([]string{"mode", "model", "model_config", "thought_level"}, category)
		return map[bool]string{false: "the category is unknown"}[known]
	})},
	{"config.set.takes", TierCapability, "The answer to a change has the new value.", pageConfig, func(t *trial) {
		p, _, id, o := t.optioned(bare)
		value := o.other()
		r := p.call(setOption, o.set(id, value))
		if now := findOption(r, o.id); now == nil || now.current != value {
			t.failf("the option %q was set to %v, and the answer is %s", o.id, value, excerpt(r))
		}
	}},
	{"config.set.all", TierCapability, "The answer to a change has all options.", pageConfig, func(t *trial) {
		p, created, id, o := t.optioned(bare)
		if len(options(created)) < 2 {
			t.skipAs(ReasonNotAdvertised, "not advertised: a second config option")
		}
		r := p.call(setOption, o.set(id, o.other()))
		// Another value may add or remove options, but not all others.
		if len(options(r)) < 2 {
			t.failf("session/new has %v, the answer to a change has %v", optionIDs(created), optionIDs(r))
		}
	}},
	{"config.set.every-value", TierCapability, "Every value of a mode or thought level option can be set.", pageConfig, func(t *trial) {
		p, created, id, _ := t.optioned(bare)
		for _, o := range options(created) {
			if category := str(o.raw, "category"); category == "model" || o.boolean {
				continue // a model may need credentials
			}
			for _, value := range o.values {
				r := p.call(setOption, o.set(id, value))
				if now := findOption(r, o.id); now == nil || now.current != value {
					t.failf("the option %q was set to %q, and the answer is %s", o.id, value, excerpt(r))
				}
			}
		}
	}},
	{"config.set.unknown-option", TierCapability, "An unknown option is refused with -32602.", pageConfig, func(t *trial) {
		p, _, id, _ := t.optioned(bare)
		p.fails(setOption, object{"sessionId": id, "configId": "no-such-option", "value": "x"}, codeParams)
	}},
	{"config.set.unknown-value", TierCapability, "An unknown value is refused with -32602.", pageConfig, func(t *trial) {
		p, _, id, o := t.optioned(bare)
		p.fails(setOption, o.set(id, "no-such-value"), codeParams)
	}},
	{"config.set.wrong-type", TierCapability, "A value of another type is refused with -32602.", pageConfig, func(t *trial) {
		p, _, id, o := t.optioned(bare)
		for _, value := range []any{7, nil, true, []any{}} {
			p.fails(setOption, o.set(id, value), codeParams)
		}
	}},
	{"config.set.missing-value", TierCapability, "A change without a value is refused with -32602.", pageConfig, func(t *trial) {
		p, _, id, o := t.optioned(bare)
		p.fails(setOption, object{"sessionId": id, "configId": o.id}, codeParams)
	}},
	{"config.set.unknown-session", TierCapability, "A change of an unknown session's option is refused.", pageConfig, func(t *trial) {
		p, _, _, o := t.optioned(bare)
		p.fails(setOption, o.set("no-such-session", o.other()))
	}},
	{"config.set.refused-changes-nothing", TierCapability, "A refused change changes nothing.", pageConfig, func(t *trial) {
		p, _, id, o := t.optioned(bare)
		value := o.other()
		p.call(setOption, o.set(id, value))
		p.settle()
		from := p.now()
		p.fails(setOption, o.set(id, "no-such-value"))
		p.settle()
		if n := len(updates(p.messages(from), "config_option_update", "current_mode_update")); n > 0 {
			t.failf("a refused change is told as a change")
		}
	}},
	{"config.set.no-echo", TierShould, "The client's own change is not told it as an update as well.", pageConfig, func(t *trial) {
		p, _, id, o := t.optioned(bare)
		from := p.now()
		p.call(setOption, o.set(id, o.other()))
		p.settle()
		if n := len(updates(p.messages(from), "config_option_update")); n > 0 {
			t.failf("the change was answered with all options, and config_option_update tells them again")
		}
	}},
	{"config.set.in-turn", TierCapability, "An option can be set while a turn runs.", pageConfig, func(t *trial) {
		p, _, id, o := t.optioned(bare)
		u := p.purpose(id, PurposeLong)
		u.running()
		p.call(setOption, o.set(id, o.other()))
		u.cancel()
		u.answer()
	}},
	{"config.set.kept", TierCapability, "A loaded session has the values that were set.", pageConfig, func(t *trial) {
		p, _, id, o := t.optioned(bare)
		p.needs("loadSession")
		p.purpose(id, PurposeSay, "text", "kept").stop()
		value := o.other()
		p.call(setOption, o.set(id, value))
		p.closeStdin()
		p.exits()
		q := t.agent(bare)
		if now := findOption(q.call("session/load", again(id, p.work)), o.id); now == nil || now.current != value {
			t.failf("the option %q was set to %v, and the loaded session has another value", o.id, value)
		}
	}},
	{"config.update.all", TierCapability, "config_option_update has all options.", pageConfig, watch("config_option_update", func(*tour) look {
		known := make(map[string]int)
		return func(m *message) (bool, string) {
			if n := len(options(m.result)); !m.sent && n > 0 {
				known[m.id] = n
			}
			kind, body := m.update()
			if kind != "config_option_update" {
				return false, ""
			}
			for _, n := range known {
				if len(options(body)) == 1 && n > 1 {
					return true, "the update has one option, and there are more"
				}
			}
			return true, ""
		}
	})},
	{"config.boolean.only-if-advertised", TierMust, "Boolean options are told only to clients that take them.", pageConfig, func(t *trial) {
		tr := t.toured("bare")
		for _, m := range tr.p.messages(0) {
			_, body := m.update()
			for _, o := range slices.Concat(options(m.result), options(body)) {
				if o.boolean && !m.sent {
					t.failAt(m, "the client does not take boolean options and is told %s", excerpt(o.raw))
				}
			}
		}
	}},
	{"config.boolean.set", TierCapability, "A boolean option can be set to true and to false.", pageConfig, func(t *trial) {
		p, created, id, _ := t.optioned(withBooleans)
		for _, o := range options(created) {
			if !o.boolean {
				continue
			}
			for _, value := range []bool{true, false} {
				r := p.call(setOption, o.set(id, value))
				if now := findOption(r, o.id); now == nil || now.current != value {
					t.failf("the option %q was set to %v, and the answer is %s", o.id, value, excerpt(r))
				}
			}
			return
		}
		t.skipAs(ReasonNotAdvertised, "not advertised: a boolean option")
	}},
	{"config.boolean.wrong-type", TierCapability, "A boolean option does not take a text.", pageConfig, func(t *trial) {
		p, created, id, _ := t.optioned(withBooleans)
		for _, o := range options(created) {
			if o.boolean {
				p.fails(setOption, object{"sessionId": id, "configId": o.id, "value": "yes"}, codeParams)
				return
			}
		}
		t.skipAs(ReasonNotAdvertised, "not advertised: a boolean option")
	}},
}
