package conformance

import (
	"slices"
	"strings"
)

const permission = "session/request_permission"

// asking starts an agent whose model wants to run a command, and returns the turn and the open permission request. The
// command creates the file ran.txt.
func (t *trial) asking(capabilities object) (*turn, *message) {
	p, id := t.session(capabilities)
	p.on(permission, func(*message) {})
	u := p.purpose(id, PurposeCommand, "file", "ran.txt", "text", "ran")
	return u, u.seesCall(permission)
}

// ran reports whether the command was run, in the client's terminal or by the agent itself.
func (u *turn) ran() bool {
	return u.p.exists("ran.txt") || u.p.find(u.index, func(m *message) bool { return m.method == "terminal/create" }) != nil
}

// denies returns a check that an answer to a permission request denies it, and that the turn ends.
func denies(answer func(p *peer, m *message)) func(*trial) {
	return func(t *trial) {
		u, m := t.asking(bare)
		answer(u.p, m)
		u.answer()
		if u.ran() {
			t.failAt(m, "the command was run without the user's consent")
		}
		u.p.lives()
	}
}

// result encodes the answer with a value.
func result(v any) func(*peer, *message) { return func(p *peer, m *message) { p.reply(m, v) } }

// watchPermission returns a check of the options of all permission requests.
func watchPermission(see func(options []any) string) func(*trial) {
	return watchCall(permission, func(params any) string { return see(list(params, "options")) })
}

var permissionChecks = []Check{
	{"permission.announced", TierMust, "A permission request is about a tool call that the client knows and that is not over.", pageTools, watch("permission request", func(*tour) look {
		ended := make(map[string]bool)
		return func(m *message) (bool, string) {
			kind, body := m.update()
			key := m.session() + " " + str(body, "toolCallId")
			switch {
			case kind == "tool_call" || kind == "tool_call_update":
				status := str(body, "status")
				ended[key] = ended[key] || status == "completed" || status == "failed"
			case !m.sent && m.method == permission:
				over, known := ended[m.session()+" "+str(m.params, "toolCall", "toolCallId")]
				if !known {
					return true, "permission is asked for a tool call that was not announced"
				}
				return true, map[bool]string{true: "permission is asked for a tool call that is over"}[over]
			}
			return false, ""
		}
	})},
	{"permission.options", TierMust, "A permission request has options.", pageTools, watchPermission(func(options []any) string {
		return map[bool]string{true: "there is nothing to choose from"}[len(options) == 0]
	})},
	{"permission.options.ids", TierMust, "The options have different ids.", pageTools, watchPermission(func(options []any) string {
		var ids []string
		for _, o := range options {
			id := str(o, "optionId")
			if id == "" || slices.Contains(ids, id) {
				return "the options' ids are not different: " + excerpt(options)
			}
			ids = append(ids, id)
		}
		return ""
	})},
	{"permission.options.kinds", TierMust, "The options are of kinds that the protocol has.", pageTools, watchPermission(func(options []any) string {
		for _, o := range options {
			if !slices.Contains([]string{"allow_once", "allow_always", "reject_once", "reject_always"}, str(o, "kind")) {
				return "an option has an unknown kind: " + excerpt(o)
			}
		}
		return ""
	})},
	{"permission.options.names", TierMust, "The options have names.", pageTools, watchPermission(func(options []any) string {
		for _, o := range options {
			if strings.TrimSpace(str(o, "name")) == "" {
				return "an option has no name: " + excerpt(o)
			}
		}
		return ""
	})},
	{"permission.options.choice", TierShould, "The user can allow and can reject.", pageTools, func(t *trial) {
		_, m := t.asking(bare)
		kinds := string(encode(list(m.params, "options")))
		if !strings.Contains(kinds, `"allow_`) || !strings.Contains(kinds, `"reject_`) {
			t.failAt(m, "the user cannot both allow and reject")
		}
	}},
	{"permission.waits", TierMust, "Nothing is done before the user has answered.", pageTools, func(t *trial) {
		u, m := t.asking(bare)
		u.p.settle()
		if u.ran() || u.p.answered(u.call) {
			t.failAt(m, "the agent did not wait for the answer")
		}
	}},
	{"permission.allow", TierMust, "What the user allows is done.", pageTools, func(t *trial) {
		u, m := t.asking(bare)
		u.p.permit(m, "allow_once", "allow_always")
		u.stop()
		if !u.ran() {
			t.failAt(m, "the user allowed the command and it was not run")
		}
	}},
	{"permission.reject", TierMust, "What the user rejects is not done.", pageTools, denies(func(p *peer, m *message) { p.permit(m, "reject_once", "reject_always") })},
	{"permission.reject.told", TierMust, "A rejected tool call ends as failed.", pageTools, func(t *trial) {
		u, m := t.asking(bare)
		u.p.permit(m, "reject_once", "reject_always")
		u.answer()
		id := str(m.params, "toolCall", "toolCallId")
		for _, c := range toolCalls(u.all()) {
			if c.id == id && c.status() != "failed" {
				t.failAt(c.events[len(c.events)-1], "%v was rejected and is %s", c, c.status())
			}
		}
	}},
	{"permission.reject.goes-on", TierMust, "A rejection does not end the session.", pageTools, func(t *trial) {
		u, m := t.asking(bare)
		u.p.permit(m, "reject_once", "reject_always")
		u.stop()
		u.p.purpose(u.session, PurposeSay, "text", "on").ends("end_turn")
	}},
	{"permission.unknown-option", TierMust, "An option that was not offered means no.", pageTools, denies(result(selected("never-offered")))},
	{"permission.malformed", TierMust, "An answer without an outcome means no.", pageTools, denies(result(object{"decision": "yes"}))},
	{"permission.wrong-type", TierMust, "An answer of the wrong type means no.", pageTools, denies(result(object{"outcome": "allow_once"}))},
	{"permission.null", TierMust, "A null answer means no.", pageTools, denies(result(nil))},
	{"permission.empty-option", TierMust, "A selection of nothing means no.", pageTools, denies(result(object{"outcome": object{"outcome": "selected"}}))},
	{"permission.error", TierMust, "An error as the answer means no.", pageTools, denies(func(p *peer, m *message) { p.replyError(m, -32603, "the editor has a problem") })},
	{"permission.cancelled", TierMust, "The outcome cancelled does not allow anything.", pageTools, denies(result(cancelledOutcome))},
	{"permission.second-answer", TierMust, "A second answer to a permission request is ignored.", pageTools, func(t *trial) {
		u, m := t.asking(bare)
		u.p.permit(m, "reject_once", "reject_always")
		u.p.permit(m, "allow_once", "allow_always")
		u.answer()
		u.p.settle()
		if u.ran() {
			t.failAt(m, "the second answer was taken")
		}
	}},
	{"permission.one-at-a-time", TierShould, "There is one open permission request for a session at a time.", pageTools, func(t *trial) {
		u, _ := t.asking(bare)
		u.p.settle()
		n := 0
		for _, m := range u.p.messages(u.index) {
			if !m.sent && m.method == permission {
				if n++; n > 1 {
					t.failAt(m, "there are two open permission requests for the session")
				}
			}
		}
	}},
}
