package conformance

import (
	"cmp"
	"fmt"
	"strings"
)

// watchSchema returns a check of the agent's messages against the schema: only those in called, or all except those in
// except. A complaint counts if count returns true.
func watchSchema(s schema, only, except string, count func(error) bool) func(*trial) {
	return watch(cmp.Or(only, "message"), func(*tour) look {
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
			if err := s.check(definition, value); err != nil && count(err) {
				return true, fmt.Sprintf("%s does not fit the schema: %v", what, err)
			}
			return true, ""
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
