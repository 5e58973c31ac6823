package conformance

import (
	"slices"
	"strings"
)

const elicitation = "elicitation/create"

// answersForm returns a check that a turn ends after an answer to a form.
func answersForm(answer func(p *peer, m *message)) func(*trial) {
	return func(t *trial) {
		p, id := t.session(withForms)
		p.on(elicitation, func(m *message) { answer(p, m) })
		u := p.purpose(id, PurposeAsk)
		u.seesCall(elicitation)
		u.stop()
		p.purpose(id, PurposeSay, "text", "alive").ends("end_turn")
	}
}

// watchForms returns a check of the forms that the agent requests.
func watchForms(see func(params any) string) func(*trial) {
	return watchOne("form", func(m *message) (bool, string) {
		if m.method != elicitation || str(m.params, "mode") != "form" {
			return false, ""
		}
		return true, see(m.params)
	})
}

var elicitationChecks = []Check{
	{"elicitation.message", TierCapability, "elicitation/create says what is asked.", pageElicitation, watchCall(elicitation, func(params any) string {
		return map[bool]string{true: "the message is empty"}[strings.TrimSpace(str(params, "message")) == ""]
	})},
	{"elicitation.mode", TierCapability, "elicitation/create has the mode form or url.", pageElicitation, watchCall(elicitation, func(params any) string {
		mode := str(params, "mode")
		return map[bool]string{false: "there is no mode " + excerpt(mode)}[mode == "form" || mode == "url"]
	})},
	{"elicitation.scope", TierCapability, "elicitation/create names the session or the request that it is for.", pageElicitation, watchCall(elicitation, func(params any) string {
		return map[bool]string{false: "neither a session nor a request is named"}[str(params, "sessionId") != "" || at(params, "requestId") != nil]
	})},
	{"elicitation.flat", TierCapability, "The schema of a form is a flat object.", pageElicitation, watchForms(func(params any) string {
		if kind := str(params, "requestedSchema", "type"); kind != "" && kind != "object" {
			return "the schema is of the type " + kind
		}
		properties, _ := at(params, "requestedSchema", "properties").(map[string]any)
		for name, p := range properties {
			if !slices.Contains([]string{"string", "number", "integer", "boolean", "array"}, str(p, "type")) {
				return "the member " + name + " of the form is of the type " + excerpt(at(p, "type"))
			}
		}
		return ""
	})},
	{"elicitation.required", TierCapability, "What a form requires is in it.", pageElicitation, watchForms(func(params any) string {
		for _, name := range list(params, "requestedSchema", "required") {
			if !has(at(params, "requestedSchema", "properties"), name.(string)) {
				return "the form requires " + excerpt(name) + ", which it does not have"
			}
		}
		return ""
	})},
	{"elicitation.accept", TierCapability, "The turn goes on when the user has filled in the form.", pageElicitation, answersForm(func(p *peer, m *message) {
		p.reply(m, object{"action": "accept", "content": fillForm(m.params)})
	})},
	{"elicitation.decline", TierCapability, "The turn goes on when the user declines.", pageElicitation, answersForm(func(p *peer, m *message) {
		p.reply(m, object{"action": "decline"})
	})},
	{"elicitation.cancel", TierCapability, "The turn comes to its end when the user cancels the form.", pageElicitation, answersForm(func(p *peer, m *message) {
		p.reply(m, object{"action": "cancel"})
	})},
	{"elicitation.malformed", TierCapability, "The turn comes to its end when the answer is malformed.", pageElicitation, answersForm(func(p *peer, m *message) {
		p.reply(m, object{"answer": 42})
	})},
	{"elicitation.wrong-values", TierCapability, "The turn comes to its end when the values do not fit the form.", pageElicitation, answersForm(func(p *peer, m *message) {
		content := object{}
		properties, _ := at(m.params, "requestedSchema", "properties").(map[string]any)
		for name := range properties {
			content[name] = object{"nested": []any{nil}}
		}
		p.reply(m, object{"action": "accept", "content": content})
	})},
	{"elicitation.error", TierCapability, "The turn comes to its end when the client answers with an error.", pageElicitation, answersForm(func(p *peer, m *message) {
		p.replyError(m, -32603, "the editor has a problem")
	})},
}
