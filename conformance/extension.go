package conformance

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// meta is an example of a client's _meta.
func meta() object {
	return object{
		"conformance.example/key": []any{1, object{"x": nil}},
		"traceparent":             "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "tracestate": "a=b", "baggage": "c=d",
	}
}

// opensWith returns a check that session/new accepts an additional member.
func opensWith(name string, value any) func(*trial) {
	return onAgent(func(p *peer) { p.call("session/new", with(setup(p.work), name, value)) })
}

var extensionChecks = []Check{
	{"extension.request", TierMust, "An unknown request with an underscore is refused with -32601.", pageExtension, refuses("_conformance.example/no-such-method", `{}`, codeMethod)},
	{"extension.notification", TierMust, "An unknown notification with an underscore is ignored.", pageExtension, unanswered(`{"jsonrpc":"2.0","method":"_conformance.example/note","params":{"x":1}}`, `{"jsonrpc":"2.0","method":"_x"}`)},
	{"extension.meta.initialize", TierMust, "initialize may have _meta.", pageExtension, starts(with(initializeParams(1, with(bare, "_meta", meta())), "_meta", meta()))},
	{"extension.meta.session", TierMust, "session/new may have _meta.", pageExtension, opensWith("_meta", meta())},
	{"extension.meta.prompt", TierMust, "A prompt and its blocks may have _meta.", pageExtension, inSession(func(s *scene) {
		s.call("session/prompt", object{
			"sessionId": s.session, "_meta": meta(),
			"prompt": []any{with(textBlock(s.prompt(PurposeSay, "text", "meta")), "_meta", meta())},
		})
	})},
	{"extension.meta.cancel", TierMust, "A notification may have _meta.", pageExtension, inSession(func(s *scene) {
		u := s.long()
		s.notify("session/cancel", with(ref(s.session), "_meta", meta()))
		u.endsCancelled()
	})},
	{"extension.meta.answer", TierMust, "The client's answers may have _meta and members that the agent does not know.", pageExtension, asking(func(u *turn, m *message) {
		for _, o := range list(m.params, "options") {
			if str(o, "kind") == "allow_once" {
				u.reply(m, with(with(selected(str(o, "optionId")), "_meta", meta()), "mood", "good"))
				u.wantsRun(m)
				return
			}
		}
		u.notSeen("there is no option allow_once")
	})},
	{"extension.meta.null", TierMust, "_meta may be null.", pageExtension, opensWith("_meta", nil)},
	{"extension.meta.object", TierMust, "_meta in the agent's messages is an object or null.", pageExtension, watchOne("message", func(m *message) (bool, string) {
		return m.value != nil, when(!metaIsObject(m.value), "_meta is no object")
	})},
	{"extension.members.root", TierMust, "Unknown members of parameters are ignored.", pageExtension, opensWith("futureMember", object{"deep": []any{1, 2}})},
	{"extension.members.envelope", TierMust, "Unknown members of a message are ignored.", pageExtension, onAgent(func(p *peer) {
		p.send(`{"jsonrpc":"2.0","id":"env","method":"session/new","params":` + string(encode(setup(p.work))) + `,"trace":{"x":1}}`)
		if m := p.waitID(0, "the response", "env"); m.err != nil {
			p.failAt(m, "a message with an unknown member is refused")
		}
	})},
	{"extension.members.block", TierMust, "Unknown members of a content block are ignored.", pageExtension, inSession(func(s *scene) {
		s.begin(with(textBlock(s.prompt(PurposeSay, "text", "member")), "futureMember", 7)).stop()
	})},
	{"extension.members.own", TierMust, "The agent adds no members of its own to the protocol's objects, but in _meta.", pageExtension, watchSchema(fullSchema(), "", "", func(err error) bool {
		return strings.Contains(err.Error(), "knows no such member")
	})},
	{"extension.members.envelope-own", TierMust, "The agent adds no members of its own to messages.", pageExtension, watchOne("message", func(m *message) (bool, string) {
		for name := range m.value {
			if !slices.Contains([]string{"jsonrpc", "id", "method", "params", "result", "error"}, name) {
				return true, "a message has the member " + name
			}
		}
		return m.value != nil, ""
	})},
}

// metaIsObject checks every _meta in a value, except inside data of other programs.
func metaIsObject(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for name, e := range v {
			if name == "_meta" {
				if _, ok := e.(map[string]any); !ok && e != nil {
					return false
				}
				continue
			}
			if name != "rawInput" && name != "rawOutput" && !metaIsObject(e) {
				return false
			}
		}
	case []any:
		for _, e := range v {
			if !metaIsObject(e) {
				return false
			}
		}
	}
	return true
}

// watchSchema returns a check of the agent's messages against the schema: only those in called, or all except those in
// except. A complaint counts if count returns true.
func watchSchema(s schema, only, except string, count func(error) bool) func(*trial) {
	return watch(cmp.Or(only, "message"), func() look {
		asked := make(map[string]string)
		return func(m *message) (bool, string) {
			if m.sent {
				if m.isRequest() {
					asked[m.id] = m.method
				}
				return false, ""
			}
			what, definition, value := subject(m, asked)
			if definition == "" || only != "" && what != only || what == except {
				return false, ""
			}
			err := s.check(definition, value)
			return true, when(err != nil && count(err), fmt.Sprintf("%s does not fit the schema: %v", what, err))
		}
	})
}

// subject returns the name of a message, its definition in the schema, and the value. An unknown message has no
// definition.
func subject(m *message, asked map[string]string) (what, definition string, value any) {
	kind, _ := m.update()
	switch {
	case m.err != nil:
		return "error", "Error", m.value["error"]
	case m.isResponse():
		return "response to " + asked[m.id], rootShapes["response "+asked[m.id]], m.result
	case kind != "":
		return "update " + kind, rootShapes["notification session/update"], m.params
	case m.isRequest():
		return m.method, rootShapes["request "+m.method], m.params
	default:
		return m.method, rootShapes["notification "+m.method], m.params
	}
}

// fits returns a check of one kind of message.
func fits(what string) func(*trial) {
	return watchSchema(fullSchema(), what, "", func(error) bool { return true })
}

var schemaChecks = append(
	[]Check{
		{"schema.stable", TierShould, "But for its capabilities, the agent sends nothing of the unstable protocol that it was not asked for.", pageSchema, watchSchema(stableSchema(), "", "response to initialize", func(error) bool { return true })},
	},
	schemaCheck(TierMust, "initialize", "response to initialize"),
	schemaCheck(TierMust, "error", "error"),
	schemaCheck(TierMust, "session-new", "response to session/new"),
	schemaCheck(TierMust, "session-prompt", "response to session/prompt"),
	schemaCheck(TierCapability, "session-load", "response to session/load"),
	schemaCheck(TierCapability, "session-resume", "response to session/resume"),
	schemaCheck(TierCapability, "session-list", "response to session/list"),
	schemaCheck(TierCapability, "session-close", "response to session/close"),
	schemaCheck(TierCapability, "session-delete", "response to session/delete"),
	schemaCheck(TierCapability, "logout", "response to logout"),
	schemaCheck(TierCapability, "set-mode", "response to session/set_mode"),
	schemaCheck(TierCapability, "set-config-option", "response to session/set_config_option"),
	schemaCheck(TierMust, "agent-message", "update agent_message_chunk"),
	schemaCheck(TierCapability, "agent-thought", "update agent_thought_chunk"),
	schemaCheck(TierCapability, "user-message", "update user_message_chunk"),
	schemaCheck(TierCapability, "tool-call", "update tool_call"),
	schemaCheck(TierCapability, "tool-call-update", "update tool_call_update"),
	schemaCheck(TierCapability, "plan", "update plan"),
	schemaCheck(TierCapability, "commands", "update available_commands_update"),
	schemaCheck(TierCapability, "current-mode", "update current_mode_update"),
	schemaCheck(TierCapability, "config-option", "update config_option_update"),
	schemaCheck(TierCapability, "session-info", "update session_info_update"),
	schemaCheck(TierCapability, "usage", "update usage_update"),
	schemaCheck(TierCapability, "permission", permission),
	schemaCheck(TierCapability, "read-file", "fs/read_text_file"),
	schemaCheck(TierCapability, "write-file", "fs/write_text_file"),
	schemaCheck(TierCapability, "terminal-create", "terminal/create"),
	schemaCheck(TierCapability, "terminal-wait", "terminal/wait_for_exit"),
	schemaCheck(TierCapability, "terminal-output", "terminal/output"),
	schemaCheck(TierCapability, "terminal-release", "terminal/release"),
	schemaCheck(TierCapability, "elicitation", elicitation),
)

func schemaCheck(tier Tier, id, what string) Check {
	requirement := "The parameters of " + what + " fit the protocol's schema, without further members."
	if kind, ok := strings.CutPrefix(what, "update "); ok {
		requirement = "Updates of the kind " + kind + " fit the protocol's schema, without further members."
	} else if method, ok := strings.CutPrefix(what, "response to "); ok {
		requirement = "The result of " + method + " fits the protocol's schema, without further members."
	} else if what == "error" {
		requirement = "Errors fit the protocol's schema, without further members."
	}
	return Check{ID: "schema." + id, Tier: tier, Requirement: requirement, Spec: pageSchema, run: fits(what)}
}
