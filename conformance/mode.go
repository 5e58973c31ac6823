package conformance

import (
	"slices"
	"strings"
)

// moded opens a session with two modes. It returns the answer to session/new and a mode that is not the current one.
func (t *trial) moded(capabilities object) (p *peer, created any, id, mode string) {
	p = t.agent(capabilities)
	created = p.call("session/new", setup(p.work))
	if mode = otherMode(created); mode == "" {
		t.skipAs(ReasonNotAdvertised, "not advertised: two modes")
	}
	p.settle()
	return p, created, str(created, "sessionId"), mode
}

func modeIDs(v any) []string {
	var ids []string
	for _, m := range list(v, "modes", "availableModes") {
		ids = append(ids, str(m, "id"))
	}
	return ids
}

// modeOption returns the configuration option for the mode, or nil.
func modeOption(v any) *option {
	for _, o := range options(v) {
		if str(o.raw, "category") == "mode" {
			return o
		}
	}
	return nil
}

func setMode(id, mode string) object { return object{"sessionId": id, "modeId": mode} }

var modeChecks = []Check{
	{"mode.names", TierCapability, "Modes have different ids, and names.", pageModes, func(t *trial) {
		_, created, _, _ := t.moded(bare)
		seen := make(map[string]bool)
		for _, m := range list(created, "modes", "availableModes") {
			if id := str(m, "id"); id == "" || seen[id] || str(m, "name") == "" {
				t.failf("the modes are %s", excerpt(at(created, "modes")))
			} else {
				seen[id] = true
			}
		}
	}},
	{"mode.current", TierCapability, "The current mode is one of the available ones.", pageModes, func(t *trial) {
		_, created, _, _ := t.moded(bare)
		if current := str(created, "modes", "currentModeId"); !slices.Contains(modeIDs(created), current) {
			t.failf("the current mode is %q, the available ones are %v", current, modeIDs(created))
		}
	}},
	{"mode.set", TierCapability, "Every available mode can be set.", pageModes, func(t *trial) {
		p, created, id, _ := t.moded(bare)
		for _, mode := range modeIDs(created) {
			p.call("session/set_mode", setMode(id, mode))
		}
	}},
	{"mode.set.same", TierCapability, "Setting the current mode succeeds.", pageModes, func(t *trial) {
		p, created, id, _ := t.moded(bare)
		p.call("session/set_mode", setMode(id, str(created, "modes", "currentModeId")))
	}},
	{"mode.set.unknown", TierCapability, "A mode that is not available is refused with -32602.", pageModes, func(t *trial) {
		p, _, id, _ := t.moded(bare)
		p.fails("session/set_mode", setMode(id, "no-such-mode"), codeParams)
	}},
	{"mode.set.unknown-session", TierCapability, "Setting the mode of an unknown session is refused.", pageModes, func(t *trial) {
		p, _, _, mode := t.moded(bare)
		p.fails("session/set_mode", setMode("no-such-session", mode))
	}},
	{"mode.set.missing", TierCapability, "session/set_mode without a mode is refused with -32602.", pageModes, func(t *trial) {
		p, _, id, _ := t.moded(bare)
		p.fails("session/set_mode", object{"sessionId": id}, codeParams)
	}},
	{"mode.set.in-turn", TierCapability, "The mode can be set while a turn runs.", pageModes, func(t *trial) {
		p, _, id, mode := t.moded(bare)
		u := p.purpose(id, PurposeLong)
		u.running()
		p.call("session/set_mode", setMode(id, mode))
		u.cancel()
		u.answer()
	}},
	{"mode.set.kept", TierCapability, "A loaded session has the mode that was set.", pageModes, func(t *trial) {
		p, _, id, mode := t.moded(bare)
		p.needs("loadSession")
		p.purpose(id, PurposeSay, "text", "kept").stop()
		p.call("session/set_mode", setMode(id, mode))
		p.closeStdin()
		p.exits()
		q := t.agent(bare)
		r := q.call("session/load", again(id, p.work))
		if got := str(r, "modes", "currentModeId"); got != mode {
			t.failf("the mode was set to %q, and the loaded session has %q", mode, got)
		}
	}},
	{"mode.update.available", TierCapability, "current_mode_update names an available mode.", pageModes, watch("current_mode_update", func(*tour) look {
		var available []string
		return func(m *message) (bool, string) {
			if !m.sent && m.isResponse() {
				available = append(available, modeIDs(m.result)...)
			}
			kind, body := m.update()
			if kind != "current_mode_update" {
				return false, ""
			}
			mode := str(body, "currentModeId")
			return true, map[bool]string{false: "there is no mode " + mode}[slices.Contains(available, mode)]
		}
	})},
	{"mode.option.same", TierCapability, "The config option of the category mode has the available modes as values, and the current one.", pageConfig, func(t *trial) {
		_, created, _, _ := t.moded(bare)
		o := modeOption(created)
		if o == nil {
			t.skipAs(ReasonNotAdvertised, "not advertised: a config option of the category mode")
		}
		if !slices.Equal(o.values, modeIDs(created)) || o.current != str(created, "modes", "currentModeId") {
			t.failf("the modes are %s, the option is %s", excerpt(at(created, "modes")), excerpt(o.raw))
		}
	}},
	{"mode.option.follows", TierCapability, "Setting the mode changes the config option of the category mode.", pageConfig, func(t *trial) {
		p, created, id, mode := t.moded(bare)
		o := modeOption(created)
		if o == nil {
			t.skipAs(ReasonNotAdvertised, "not advertised: a config option of the category mode")
		}
		p.call("session/set_mode", setMode(id, mode))
		p.settle()
		if told := modeOption(lastOptions(p, id)); told == nil || told.current != mode {
			t.failf("the mode was set to %q, and no config_option_update says so", mode)
		}
	}},
	{"mode.option.leads", TierCapability, "Setting the config option of the category mode changes the mode, and the client is told.", pageConfig, func(t *trial) {
		p, created, id, mode := t.moded(bare)
		o := modeOption(created)
		if o == nil {
			t.skipAs(ReasonNotAdvertised, "not advertised: a config option of the category mode")
		}
		from := p.now()
		p.call("session/set_config_option", o.set(id, mode))
		p.settle()
		told := updates(p.messages(from), "current_mode_update")
		if len(told) == 0 || str(told[len(told)-1], "currentModeId") != mode {
			t.failf("the mode was set to %q by its option, and no current_mode_update says so", mode)
		}
	}},
}

// lastOptions returns the configuration options of the last update.
func lastOptions(p *peer, session string) any {
	for _, m := range slices.Backward(p.messages(0)) {
		if kind, body := m.update(); kind == "config_option_update" && m.session() == session {
			return body
		}
	}
	return nil
}

var commandChecks = []Check{
	{"command.names", TierCapability, "Command names have no slash and no white space, and are different.", pageCommands, watchUpdate("available_commands_update", func(body any) string {
		seen := make(map[string]bool)
		for _, c := range list(body, "availableCommands") {
			name := str(c, "name")
			if name == "" || seen[name] || strings.ContainsAny(name, " \t\n") || strings.HasPrefix(name, "/") {
				return "a command has the name " + excerpt(name)
			}
			seen[name] = true
		}
		return ""
	})},
	{"command.descriptions", TierCapability, "Commands have descriptions.", pageCommands, watchUpdate("available_commands_update", func(body any) string {
		for _, c := range list(body, "availableCommands") {
			if strings.TrimSpace(str(c, "description")) == "" {
				return "a command has no description: " + excerpt(c)
			}
		}
		return ""
	})},
	{"command.after-load", TierShould, "A loaded session has its commands told too.", pageCommands, func(t *trial) {
		tr := t.tour("full")
		if tr.loaded.method == "" || len(updates(tr.p.messages(0), "available_commands_update")) == 0 {
			t.notSeen("%s", tr.missing("session/load of an agent with commands"))
		}
		for _, m := range tr.p.messages(tr.loaded.index + 1) {
			if kind, _ := m.update(); kind == "available_commands_update" {
				return
			}
			if m.sent && m.method == "session/resume" {
				break
			}
		}
		t.failf("session/load is not followed by the commands")
	}},
	{"command.unknown", TierMust, "A prompt that begins with an unknown command is answered.", pageCommands, func(t *trial) {
		p, id := t.session(bare)
		p.say(id, "/no-such-command at all").answer()
		p.purpose(id, PurposeSay, "text", "alive").stop()
	}},
}
