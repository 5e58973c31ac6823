package conformance

import (
	"slices"
	"strings"
)

// An option is a session configuration option that the agent sent.
type option struct {
	raw     any
	id      string
	boolean bool
	current any
	values  []string // values of a select option, grouped or not
}

// options decodes the configuration options of a response or an update.
func options(v any) []*option {
	var all []*option
	for _, raw := range list(v, "configOptions") {
		o := &option{raw: raw, id: str(raw, "id"), boolean: str(raw, "type") == "boolean", current: at(raw, "currentValue")}
		for _, value := range list(raw, "options") {
			if group := list(value, "options"); group != nil {
				for _, v := range group {
					o.values = append(o.values, str(v, "value"))
				}
				continue
			}
			o.values = append(o.values, str(value, "value"))
		}
		all = append(all, o)
	}
	return all
}

func optionIDs(v any) []string {
	var ids []string
	for _, o := range options(v) {
		ids = append(ids, o.id)
	}
	return ids
}

func findOption(v any, id string) *option {
	return firstOption(v, func(o *option) bool { return o.id == id })
}

// modeOption returns the configuration option for the mode, or nil.
func modeOption(v any) *option {
	return firstOption(v, func(o *option) bool { return str(o.raw, "category") == "mode" })
}

func firstOption(v any, ok func(*option) bool) *option {
	for _, o := range options(v) {
		if ok(o) {
			return o
		}
	}
	return nil
}

// other returns a value other than the current one, or nil.
func (o *option) other() any {
	if o.boolean {
		return o.current != true
	}
	for _, v := range o.values {
		if v != o.current {
			return v
		}
	}
	return nil
}

// set returns the parameters that set the option to a value.
func (o *option) set(session string, value any) object {
	params := object{"sessionId": session, "configId": o.id, "value": value}
	if _, ok := value.(bool); ok {
		params["type"] = "boolean"
	}
	return params
}

func modeIDs(v any) []string {
	var ids []string
	for _, m := range list(v, "modes", "availableModes") {
		ids = append(ids, str(m, "id"))
	}
	return ids
}

// otherMode returns a mode that is not the current one, or "".
func otherMode(result any) string {
	current := str(result, "modes", "currentModeId")
	for _, m := range list(result, "modes", "availableModes") {
		if id := str(m, "id"); id != current {
			return id
		}
	}
	return ""
}

const setOption = "session/set_config_option"

func setMode(id, mode string) object { return object{"sessionId": id, "modeId": mode} }

// A configured is a session with the answer to session/new.
type configured struct {
	*scene
	created any
}

func (t *trial) configured(capabilities object) *configured {
	p := t.agent(capabilities)
	created := p.call("session/new", setup(p.work))
	return &configured{&scene{p, str(created, "sessionId")}, created}
}

// mode returns a mode that is not the current one. It skips the check if there is none.
func (s *configured) mode() string {
	mode := otherMode(s.created)
	if mode == "" {
		s.lacks("two modes")
	}
	s.awaitQuiet()
	return mode
}

// modeOption returns the configuration option for the mode. It skips the check if there is none.
func (s *configured) modeOption() *option {
	return s.optionFor("a config option of the category mode", modeOption(s.created))
}

// option returns an option with two values. It skips the check if there is none.
func (s *configured) option() *option {
	return s.optionFor("a config option with two values", firstOption(s.created, func(o *option) bool { return o.other() != nil && !o.boolean }))
}

// boolean returns a boolean option. It skips the check if there is none.
func (s *configured) boolean() *option {
	return s.optionFor("a boolean option", firstOption(s.created, func(o *option) bool { return o.boolean }))
}

func (s *configured) optionFor(what string, o *option) *option {
	if o == nil {
		s.lacks(what)
	}
	s.awaitQuiet()
	return o
}

func (s *configured) setMode(mode string) { s.call("session/set_mode", setMode(s.session, mode)) }

func (s *configured) set(o *option, value any) any { return s.call(setOption, o.set(s.session, value)) }

// takes checks that an option can be set to a value, and that the answer contains the value.
func (s *configured) takes(o *option, value any) {
	if r := s.set(o, value); !hasValue(r, o, value) {
		s.failf("the option %q was set to %v, and the answer is %s", o.id, value, excerpt(r))
	}
}

func hasValue(v any, o *option, value any) bool {
	now := findOption(v, o.id)
	return now != nil && now.current == value
}

// reload stores the session and loads it with another agent. It returns the answer.
func (s *configured) reload() any {
	later := s.later()
	return later.call("session/load", again(s.session, s.work))
}

// withModes returns a check of a session with two modes. It receives a mode that is not the current one.
func withModes(run func(s *configured, mode string)) func(*trial) {
	return func(t *trial) {
		s := t.configured(bare)
		run(s, s.mode())
	}
}

// withOption returns a check of a session with an option that has two values.
func withOption(run func(s *configured, o *option)) func(*trial) {
	return func(t *trial) {
		s := t.configured(bare)
		run(s, s.option())
	}
}

// withBoolean returns a check of a session with a boolean option, for a client that supports these.
func withBoolean(run func(s *configured, o *option)) func(*trial) {
	return func(t *trial) {
		s := t.configured(object{"session": object{"configOptions": object{"boolean": object{}}}})
		run(s, s.boolean())
	}
}

var modeChecks = []Check{
	{"mode.names", TierCapability, "Modes have different ids, and names.", pageModes, withModes(func(s *configured, _ string) {
		modes := at(s.created, "modes")
		if different("availableModes", "id", "x")(modes) != "" || eachOf("availableModes", notBlank("name", "x"))(modes) != "" {
			s.failf("the modes are %s", excerpt(modes))
		}
	})},
	{"mode.current", TierCapability, "The current mode is one of the available ones.", pageModes, withModes(func(s *configured, _ string) {
		if current := str(s.created, "modes", "currentModeId"); !slices.Contains(modeIDs(s.created), current) {
			s.failf("the current mode is %q, the available ones are %v", current, modeIDs(s.created))
		}
	})},
	{"mode.set", TierCapability, "Every available mode can be set.", pageModes, withModes(func(s *configured, _ string) {
		for _, mode := range modeIDs(s.created) {
			s.setMode(mode)
		}
	})},
	{"mode.set.same", TierCapability, "Setting the current mode succeeds.", pageModes, withModes(func(s *configured, _ string) {
		s.setMode(str(s.created, "modes", "currentModeId"))
	})},
	{"mode.set.unknown", TierCapability, "A mode that is not available is refused with -32602.", pageModes, withModes(func(s *configured, _ string) {
		s.fails("session/set_mode", setMode(s.session, "no-such-mode"), codeParams)
	})},
	{"mode.set.unknown-session", TierCapability, "Setting the mode of an unknown session is refused.", pageModes, withModes(func(s *configured, mode string) {
		s.fails("session/set_mode", setMode(noSession, mode))
	})},
	{"mode.set.missing", TierCapability, "session/set_mode without a mode is refused with -32602.", pageModes, withModes(func(s *configured, _ string) {
		s.fails("session/set_mode", ref(s.session), codeParams)
	})},
	{"mode.set.in-turn", TierCapability, "The mode can be set while a turn runs.", pageModes, withModes(func(s *configured, mode string) {
		u := s.long()
		s.setMode(mode)
		u.abort()
	})},
	{"mode.set.kept", TierCapability, "A loaded session has the mode that was set.", pageModes, withModes(func(s *configured, mode string) {
		s.needs(canLoad...)
		s.alive()
		s.setMode(mode)
		if got := str(s.reload(), "modes", "currentModeId"); got != mode {
			s.failf("the mode was set to %q, and the loaded session has %q", mode, got)
		}
	})},
	{"mode.update.available", TierCapability, "current_mode_update names an available mode.", pageModes, watch("current_mode_update", func() look {
		var available []string
		return func(m *message) (bool, string) {
			if !m.sent && m.isResponse() {
				available = append(available, modeIDs(m.result)...)
			}
			kind, body := m.update()
			mode := str(body, "currentModeId")
			concerned := kind == "current_mode_update"
			return concerned, when(concerned && !slices.Contains(available, mode), "there is no mode "+mode)
		}
	})},
	{"mode.option.same", TierCapability, "The config option of the category mode has the available modes as values, and the current one.", pageConfig, withModes(func(s *configured, _ string) {
		if o := s.modeOption(); !slices.Equal(o.values, modeIDs(s.created)) || o.current != str(s.created, "modes", "currentModeId") {
			s.failf("the modes are %s, the option is %s", excerpt(at(s.created, "modes")), excerpt(o.raw))
		}
	})},
	{"mode.option.follows", TierCapability, "Setting the mode changes the config option of the category mode.", pageConfig, withModes(func(s *configured, mode string) {
		o := s.modeOption()
		from := s.now()
		s.setMode(mode)
		s.awaitQuiet()
		sent := updates(s.messages(from), "config_option_update")
		if len(sent) == 0 || !hasValue(sent[len(sent)-1], o, mode) {
			s.failf("the mode was set to %q, and no config_option_update says so", mode)
		}
	})},
	{"mode.option.leads", TierCapability, "Setting the config option of the category mode changes the mode, and the client is notified.", pageConfig, withModes(func(s *configured, mode string) {
		o := s.modeOption()
		from := s.now()
		s.set(o, mode)
		s.awaitQuiet()
		sent := updates(s.messages(from), "current_mode_update")
		if len(sent) == 0 || str(sent[len(sent)-1], "currentModeId") != mode {
			s.failf("the mode was set to %q by its option, and no current_mode_update says so", mode)
		}
	})},
}

var commandChecks = []Check{
	{"command.names", TierCapability, "Command names have no slash and no white space, and are different.", pageCommands, watchUpdate("available_commands_update", func(body any) string {
		for _, c := range list(body, "availableCommands") {
			if name := str(c, "name"); strings.ContainsAny(name, " \t\n") || strings.HasPrefix(name, "/") {
				return "a command has the name " + excerpt(name)
			}
		}
		return different("availableCommands", "name", "two commands have one name, or one has none")(body)
	})},
	{"command.descriptions", TierCapability, "Commands have descriptions.", pageCommands, watchUpdate("available_commands_update", eachOf("availableCommands", notBlank("description", "a command has no description")))},
	{"command.after-load", TierShould, "A loaded session has its commands advertised too.", pageCommands, func(t *trial) {
		tr := t.tour("full")
		if tr.loaded.method == "" || len(updates(tr.p.messages(0), "available_commands_update")) == 0 {
			t.notSeen("%s", tr.missing("session/load of an agent with commands"))
		}
		after := tr.p.messages(tr.loaded.index + 1)
		if i := slices.IndexFunc(after, func(m *message) bool { return m.sent && m.method == "session/resume" }); i >= 0 {
			after = after[:i]
		}
		if len(updates(after, "available_commands_update")) == 0 {
			t.failf("session/load is not followed by the commands")
		}
	}},
	{"command.unknown", TierMust, "A prompt that begins with an unknown command is answered.", pageCommands, inSession(func(s *scene) {
		s.say("/no-such-command at all").answer()
		s.alive()
	})},
}

// watchOptions returns a check of every option that the agent sends, in responses and in updates.
func watchOptions(see func(o *option) string) func(*trial) {
	return watchOne("config option", func(m *message) (bool, string) {
		all := m.options()
		for _, o := range all {
			if complaint := see(o); complaint != "" {
				return true, complaint + ": " + excerpt(o.raw)
			}
		}
		return len(all) > 0, ""
	})
}

// options returns the configuration options in a response or an update.
func (m *message) options() []*option {
	_, body := m.update()
	return slices.Concat(options(m.result), options(body))
}

var configChecks = []Check{
	{"config.ids", TierCapability, "Config options have different ids.", pageConfig, watchOne("config option", func(m *message) (bool, string) {
		_, body := m.update()
		const complaint = "two options have one id, or one has none"
		unique := different("configOptions", "id", complaint)
		return len(m.options()) > 0, unique(m.result) + unique(body)
	})},
	{"config.names", TierCapability, "Config options have names.", pageConfig, watchOptions(func(o *option) string {
		return when(blank(o.raw, "name"), "an option has no name")
	})},
	{"config.current", TierCapability, "The current value of an option is one of its values.", pageConfig, watchOptions(func(o *option) string {
		current, ok := o.current.(string)
		return when(!o.boolean && (!ok || !slices.Contains(o.values, current)), "the current value is none of the values")
	})},
	{"config.values", TierCapability, "The values of an option are different.", pageConfig, watchOptions(func(o *option) string {
		return when(len(slices.Compact(slices.Sorted(slices.Values(o.values)))) < len(o.values), "two values are the same")
	})},
	{"config.category", TierCapability, "A category is one that the protocol has, or begins with an underscore.", pageConfig, watchOptions(func(o *option) string {
		category := str(o.raw, "category")
		known := strings.HasPrefix(category, "_") || slices.Contains([]string{"", "mode", "model", "model_config", "thought_level"}, category)
		return when(!known, "the category is unknown")
	})},
	{"config.set.takes", TierCapability, "The answer to a change has the new value.", pageConfig, withOption(func(s *configured, o *option) {
		s.takes(o, o.other())
	})},
	{"config.set.all", TierCapability, "The answer to a change has all options.", pageConfig, withOption(func(s *configured, o *option) {
		if len(options(s.created)) < 2 {
			s.lacks("a second config option")
		}
		// Another value may add or remove options, but not all others.
		if r := s.set(o, o.other()); len(options(r)) < 2 {
			s.failf("session/new has %v, the answer to a change has %v", optionIDs(s.created), optionIDs(r))
		}
	})},
	{"config.set.every-value", TierCapability, "Every value of a mode or thought level option can be set.", pageConfig, withOption(func(s *configured, _ *option) {
		for _, o := range options(s.created) {
			if str(o.raw, "category") == "model" || o.boolean {
				continue // a model may need credentials
			}
			for _, value := range o.values {
				s.takes(o, value)
			}
		}
	})},
	{"config.set.unknown-option", TierCapability, "An unknown option is refused with -32602.", pageConfig, withOption(func(s *configured, _ *option) {
		s.fails(setOption, object{"sessionId": s.session, "configId": "no-such-option", "value": "x"}, codeParams)
	})},
	{"config.set.unknown-value", TierCapability, "An unknown value is refused with -32602.", pageConfig, withOption(func(s *configured, o *option) {
		s.fails(setOption, o.set(s.session, "no-such-value"), codeParams)
	})},
	{"config.set.wrong-type", TierCapability, "A value of another type is refused with -32602.", pageConfig, withOption(func(s *configured, o *option) {
		for _, value := range []any{7, nil, true, []any{}} {
			s.fails(setOption, o.set(s.session, value), codeParams)
		}
	})},
	{"config.set.missing-value", TierCapability, "A change without a value is refused with -32602.", pageConfig, withOption(func(s *configured, o *option) {
		s.fails(setOption, object{"sessionId": s.session, "configId": o.id}, codeParams)
	})},
	{"config.set.unknown-session", TierCapability, "A change of an unknown session's option is refused.", pageConfig, withOption(func(s *configured, o *option) {
		s.fails(setOption, o.set(noSession, o.other()))
	})},
	{"config.set.refused-changes-nothing", TierCapability, "A refused change changes nothing.", pageConfig, withOption(func(s *configured, o *option) {
		s.set(o, o.other())
		s.awaitQuiet()
		from := s.now()
		s.fails(setOption, o.set(s.session, "no-such-value"))
		s.awaitQuiet()
		if len(updates(s.messages(from), "config_option_update", "current_mode_update")) > 0 {
			s.failf("an update reports the refused change")
		}
	})},
	{"config.set.no-echo", TierShould, "The client's own change is not sent back as an update as well.", pageConfig, withOption(func(s *configured, o *option) {
		from := s.now()
		s.set(o, o.other())
		s.awaitQuiet()
		if len(updates(s.messages(from), "config_option_update")) > 0 {
			s.failf("the change was answered with all options, and config_option_update repeats them")
		}
	})},
	{"config.set.in-turn", TierCapability, "An option can be set while a turn runs.", pageConfig, withOption(func(s *configured, o *option) {
		u := s.long()
		s.set(o, o.other())
		u.abort()
	})},
	{"config.set.kept", TierCapability, "A loaded session has the values that were set.", pageConfig, withOption(func(s *configured, o *option) {
		s.needs(canLoad...)
		s.alive()
		s.set(o, o.other())
		if !hasValue(s.reload(), o, o.other()) {
			s.failf("the option %q was set to %v, and the loaded session has another value", o.id, o.other())
		}
	})},
	{"config.update.all", TierCapability, "config_option_update has all options.", pageConfig, watch("config_option_update", func() look {
		most := 0
		return func(m *message) (bool, string) {
			if !m.sent {
				most = max(most, len(options(m.result)))
			}
			kind, body := m.update()
			concerned := kind == "config_option_update"
			isPart := concerned && len(options(body)) == 1 && most > 1
			return concerned, when(isPart, "the update has one option, and there are more")
		}
	})},
	{"config.boolean.only-if-advertised", TierMust, "Boolean options are sent only to clients that take them.", pageConfig, never("bare", "the client does not take boolean options and receives one", func(m *message) bool {
		return slices.ContainsFunc(m.options(), func(o *option) bool { return o.boolean })
	})},
	{"config.boolean.set", TierCapability, "A boolean option can be set to true and to false.", pageConfig, withBoolean(func(s *configured, o *option) {
		s.takes(o, true)
		s.takes(o, false)
	})},
	{"config.boolean.wrong-type", TierCapability, "A boolean option does not take a text.", pageConfig, withBoolean(func(s *configured, o *option) {
		s.fails(setOption, o.set(s.session, "yes"), codeParams)
	})},
}
