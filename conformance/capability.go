package conformance

import (
	"fmt"
	"slices"
	"strings"
)

// neverCalls returns a check that a client without a capability does not receive a method, in turns that would use it.
func neverCalls(methods ...string) func(*trial) {
	return never("bare", "the client did not advertise this method and is called", func(m *message) bool { return slices.Contains(methods, m.method) })
}

// neverUpdates returns a check that a client does not receive a kind of update that it did not ask for.
func neverUpdates(tour string, kinds ...string) func(*trial) {
	return never(tour, "the client did not advertise that it takes this update", func(m *message) bool {
		kind, _ := m.update()
		return slices.Contains(kinds, kind)
	})
}

// spared returns a check that a client with the given capabilities does not receive a certain message in a turn with the given
// purpose.
func spared(capabilities object, bad func(m *message) bool, purpose Purpose, values ...string) func(*trial) {
	return inSessionFor(capabilities, func(s *scene) {
		s.exampleFiles()
		s.ask(purpose, values...).stop()
		if m := s.find(0, bad); m != nil {
			s.failAt(m, "the client did not advertise this and is called")
		}
	})
}

func calls(method string) func(*message) bool {
	return func(m *message) bool { return m.method == method }
}

var clientChecks = []Check{
	{"client.no-reads", TierMust, "fs/read_text_file is not called unless advertised.", pageFiles, neverCalls("fs/read_text_file")},
	{"client.no-writes", TierMust, "fs/write_text_file is not called unless advertised.", pageFiles, neverCalls("fs/write_text_file")},
	{"client.no-terminals", TierMust, "terminal methods are not called unless advertised.", pageTerminals, neverCalls("terminal/create", "terminal/output", "terminal/wait_for_exit", "terminal/kill", "terminal/release")},
	{"client.no-forms", TierMust, "elicitation/create is not called unless advertised.", pageElicitation, neverCalls("elicitation/create", "elicitation/complete")},
	{"client.no-mcp", TierMust, "mcp/message is not called by an agent that was given no such server.", pageSession, neverCalls("mcp/message")},
	{"client.reads-only", TierMust, "A client that only reads files is not asked to write them.", pageFiles, spared(object{"fs": object{"readTextFile": true}}, calls("fs/write_text_file"), PurposeEdit, "file", "edit.txt", "old", "alpha", "text", "omega")},
	{"client.writes-only", TierMust, "A client that only writes files is not asked to read them.", pageFiles, spared(object{"fs": object{"writeTextFile": true}}, calls("fs/read_text_file"), PurposeEdit, "file", "edit.txt", "old", "alpha", "text", "omega")},
	{"client.false-is-no", TierMust, "A capability that is false is not there.", pageInitialize, spared(object{"fs": object{"readTextFile": false, "writeTextFile": false}, "terminal": false}, calls("fs/read_text_file"), PurposeRead, "file", "notes.txt")},
	{"client.empty-elicitation", TierMust, "An empty elicitation capability is no mode.", pageElicitation, spared(object{"elicitation": object{}}, calls("elicitation/create"), PurposeAsk)},
	{"client.no-url-mode", TierMust, "A client without elicitation.url is not asked by URL.", pageElicitation, spared(withForms, func(m *message) bool { return str(m.params, "mode") == "url" }, PurposeAsk)},
	{"client.no-terminal-content", TierMust, "A client without terminals is not shown any.", pageTerminals, never("bare", "the client has no terminals", func(m *message) bool { return m.content("terminal") != nil })},
	{"client.no-notices", TierMust, "notice updates come only if session.notices is advertised.", pageSession, neverUpdates("bare", "notice")},
	{"client.no-compaction", TierMust, "compaction updates come only if session.compaction is advertised.", pageSession, neverUpdates("bare", "compaction_update", "compaction_summary_chunk")},
	{"client.no-plan-updates", TierMust, "plan_update and plan_removed come only if plan is advertised.", pagePlan, neverUpdates("full", "plan_update", "plan_removed")},
	{"client.no-subagents", TierMust, "subagent updates come only if subagents is advertised.", pageSession, neverUpdates("full", "subagent_update", "session_message", "session_message_chunk")},
	{"client.known-methods", TierMust, "The agent calls only methods that the protocol has, or such with an underscore.", pageExtension, watchOne("request or notification", func(m *message) (bool, string) {
		if m.method == "" || strings.HasPrefix(m.method, "_") {
			return false, ""
		}
		_, request := rootShapes["request "+m.method]
		_, notification := rootShapes["notification "+m.method]
		ok := request && m.id != "" || notification && m.id == ""
		return true, when(!ok, fmt.Sprintf("the protocol has no method %q of that kind", m.method))
	})},
	{"client.known-updates", TierMust, "The agent sends only updates that the protocol has.", pageSchema, watchOne("update", func(m *message) (bool, string) {
		if m.method != "session/update" {
			return false, ""
		}
		kind, _ := m.update()
		for _, a := range allShapes["SessionUpdate"].any {
			if d := a.members["sessionUpdate"]; d != nil && d.literal == kind {
				return true, ""
			}
		}
		return true, fmt.Sprintf("the protocol has no update %q", kind)
	})},
}

const elicitation = "elicitation/create"

// answersForm returns a check that a turn ends after an answer to a form.
func answersForm(answer func(p *peer, m *message)) func(*trial) {
	return inSessionFor(withForms, func(s *scene) {
		s.on(elicitation, func(m *message) { answer(s.peer, m) })
		u := s.ask(PurposeAsk)
		u.seesCall(elicitation)
		u.stop().alive()
	})
}

// watchForms returns a check of the forms that the agent requests.
func watchForms(see rule) func(*trial) {
	return watchOne("form", func(m *message) (bool, string) {
		if m.method != elicitation || str(m.params, "mode") != "form" {
			return false, ""
		}
		return true, see(m.params)
	})
}

var elicitationChecks = []Check{
	{"elicitation.message", TierCapability, "elicitation/create says what is asked.", pageElicitation, watchCall(elicitation, notBlank("message", "the message is empty"))},
	{"elicitation.mode", TierCapability, "elicitation/create has the mode form or url.", pageElicitation, watchCall(elicitation, oneOf("mode", "unknown mode", "form", "url"))},
	{"elicitation.scope", TierCapability, "elicitation/create names the session or the request that it is for.", pageElicitation, watchCall(elicitation, func(params any) string {
		return when(str(params, "sessionId") == "" && at(params, "requestId") == nil, "neither a session nor a request is named")
	})},
	{"elicitation.flat", TierCapability, "The schema of a form is a flat object.", pageElicitation, watchForms(func(params any) string {
		if kind := str(params, "requestedSchema", "type"); kind != "" && kind != "object" {
			return "the schema is of the type " + kind
		}
		for name, p := range formFields(params) {
			if complaint := oneOf("type", "not a plain type", "string", "number", "integer", "boolean", "array")(p); complaint != "" {
				return "the member " + name + " of the form: " + complaint
			}
		}
		return ""
	})},
	{"elicitation.required", TierCapability, "What a form requires is in it.", pageElicitation, watchForms(func(params any) string {
		for _, name := range list(params, "requestedSchema", "required") {
			if name, _ := name.(string); !has(formFields(params), name) {
				return "the form requires " + excerpt(name) + ", which it does not have"
			}
		}
		return ""
	})},
	{"elicitation.accept", TierCapability, "The turn goes on when the user has filled in the form.", pageElicitation, answersForm(func(p *peer, m *message) {
		p.reply(m, accepted(fillForm(m.params)))
	})},
	{"elicitation.decline", TierCapability, "The turn goes on when the user declines.", pageElicitation, answersForm(result(object{"action": "decline"}))},
	{"elicitation.cancel", TierCapability, "The turn comes to its end when the user cancels the form.", pageElicitation, answersForm(result(object{"action": "cancel"}))},
	{"elicitation.malformed", TierCapability, "The turn comes to its end when the answer is malformed.", pageElicitation, answersForm(result(object{"answer": 42}))},
	{"elicitation.wrong-values", TierCapability, "The turn comes to its end when the values do not fit the form.", pageElicitation, answersForm(func(p *peer, m *message) {
		content := object{}
		for name := range formFields(m.params) {
			content[name] = object{"nested": []any{nil}}
		}
		p.reply(m, accepted(content))
	})},
	{"elicitation.error", TierCapability, "The turn comes to its end when the client answers with an error.", pageElicitation, answersForm((*peer).breakdown)},
}
