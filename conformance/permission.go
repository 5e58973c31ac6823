package conformance

import "strings"

const permission = "session/request_permission"

// asking returns a check that starts a turn whose model wants to run a command. It receives the turn and the open permission
// request. The command creates the file ran.txt.
func asking(then func(u *turn, m *message)) func(*trial) {
	return inSession(func(s *scene) {
		s.on(permission, func(*message) {})
		u := s.command()
		then(u, u.seesCall(permission))
	})
}

// denies returns a check that the agent treats an answer to a permission request as a denial and ends the turn.
func denies(answer func(p *peer, m *message)) func(*trial) {
	return asking(func(u *turn, m *message) {
		answer(u.peer, m)
		u.answer()
		if u.ran() {
			u.failAt(m, "the command was run without the user's consent")
		}
		u.lives()
	})
}

// result returns an answer with the result v.
func result(v any) func(*peer, *message) { return func(p *peer, m *message) { p.reply(m, v) } }

var permissionChecks = []Check{
	{"permission.announced", TierMust, "A permission request is about a tool call that the client knows and that is not over.", pageTools, watch("permission request", func() look {
		ended := make(map[string]bool)
		return func(m *message) (bool, string) {
			kind, body := m.update()
			key := m.session() + " " + str(body, "toolCallId")
			switch {
			case kind == "tool_call" || kind == "tool_call_update":
				ended[key] = ended[key] || over(str(body, "status"))
			case !m.sent && m.method == permission:
				isOver, known := ended[m.session()+" "+str(m.params, "toolCall", "toolCallId")]
				if !known {
					return true, "permission is asked for a tool call that was not announced"
				}
				return true, when(isOver, "permission is asked for a tool call that is over")
			}
			return false, ""
		}
	})},
	{"permission.options", TierMust, "A permission request has options.", pageTools, watchCall(permission, func(params any) string {
		return when(len(list(params, "options")) == 0, "there is nothing to choose from")
	})},
	{"permission.options.ids", TierMust, "The options have different ids.", pageTools, watchCall(permission, different("options", "optionId", "the options' ids are not different"))},
	{"permission.options.kinds", TierMust, "The options are of kinds that the protocol has.", pageTools, watchCall(permission, eachOf("options",
		oneOf("kind", "an option has an unknown kind", "allow_once", "allow_always", "reject_once", "reject_always")))},
	{"permission.options.names", TierMust, "The options have names.", pageTools, watchCall(permission, eachOf("options", notBlank("name", "an option has no name")))},
	{"permission.options.choice", TierShould, "The user can allow and can reject.", pageTools, asking(func(u *turn, m *message) {
		kinds := string(encode(list(m.params, "options")))
		if !strings.Contains(kinds, `"allow_`) || !strings.Contains(kinds, `"reject_`) {
			u.failAt(m, "the user cannot both allow and reject")
		}
	})},
	{"permission.waits", TierMust, "Nothing is done before the user has answered.", pageTools, asking(func(u *turn, m *message) {
		u.awaitQuiet()
		if u.ran() || u.answered(u.call) {
			u.failAt(m, "the agent did not wait for the answer")
		}
	})},
	{"permission.allow", TierMust, "What the user allows is done.", pageTools, asking(func(u *turn, m *message) {
		u.allow(m)
		u.wantsRun(m)
	})},
	{"permission.reject", TierMust, "What the user rejects is not done.", pageTools, denies((*peer).reject)},
	{"permission.reject.told", TierMust, "A rejected tool call ends as failed.", pageTools, asking(func(u *turn, m *message) {
		u.reject(m)
		u.answer()
		id := str(m.params, "toolCall", "toolCallId")
		for _, c := range toolCalls(u.all()) {
			if c.id == id {
				u.wants(c, "failed", "the user rejected it")
			}
		}
	})},
	{"permission.reject.goes-on", TierMust, "A rejection does not end the session.", pageTools, asking(func(u *turn, m *message) {
		u.reject(m)
		u.stop().alive()
	})},
	{"permission.unknown-option", TierMust, "An option that was not offered means no.", pageTools, denies(result(selected("never-offered")))},
	{"permission.malformed", TierMust, "An answer without an outcome means no.", pageTools, denies(result(object{"decision": "yes"}))},
	{"permission.wrong-type", TierMust, "An answer of the wrong type means no.", pageTools, denies(result(object{"outcome": "allow_once"}))},
	{"permission.null", TierMust, "A null answer means no.", pageTools, denies(result(nil))},
	{"permission.empty-option", TierMust, "A selection of nothing means no.", pageTools, denies(result(object{"outcome": object{"outcome": "selected"}}))},
	{"permission.error", TierMust, "An error as the answer means no.", pageTools, denies((*peer).breakdown)},
	{"permission.cancelled", TierMust, "The outcome cancelled does not allow anything.", pageTools, denies(result(cancelledOutcome))},
	{"permission.second-answer", TierMust, "A second answer to a permission request is ignored.", pageTools, asking(func(u *turn, m *message) {
		u.reject(m)
		u.allow(m)
		u.answer()
		u.awaitQuiet()
		if u.ran() {
			u.failAt(m, "the second answer was taken")
		}
	})},
	{"permission.one-at-a-time", TierShould, "There is one open permission request for a session at a time.", pageTools, asking(func(u *turn, first *message) {
		u.awaitQuiet()
		if m := u.find(first.index+1, calls(permission)); m != nil {
			u.failAt(m, "there are two open permission requests for the session")
		}
	})},
}

// wantsRun checks that the turn succeeds and runs the command that the user has allowed.
func (u *turn) wantsRun(m *message) {
	if u.stop(); !u.ran() {
		u.failAt(m, "the user allowed the command and it was not run")
	}
}
