package hub

// scopeOf returns the scope that a request or notification of a client needs; empty for none.
func scopeOf(method string) string {
	switch method {
	case "initialize", "$/cancel_request":
		return ""
	case "session/list", "session/load", "session/resume", "session/close", "session/status", "auth/status",
		"_gjc/sessions/listAll", "_gjc/projects/list", "_gjc/chats/byCwd", "_gjc/usage", "_gjc/extensions":
		return scopeRead
	case "session/new", "session/fork", "session/prompt", "_session/steering", "mcp/message":
		return scopePrompt
	default:
		return scopeControl
	}
}

// refusal returns why a client may not send a message, and the kind of that; empty if it may.
func (l *link) refusal(m *message, mem *member) (kind, why string) {
	scope := scopeOf(m.method)
	switch {
	case scope == "":
		return "", ""
	case l.hub.draining && begins(m.method):
		return kindShutdown, ErrDrained.Error()
	case !l.client.may(scope):
		return forbidden, "this client may not call " + m.method + ": its token lacks the scope " + scope
	case mem != nil && mem.session.watched != nil && scope != scopeRead && m.method != "session/fork" &&
		(!mem.session.takesPrompts() || !passesElsewhere(m.method)):
		return "session_elsewhere", textMember(mem.session.watched, "reason") + "; session/fork makes a copy of it in which this client can go on"
	case mem != nil && mem.observer && scope != scopeRead:
		return forbidden, "this client only observes the session; load it again as a controller to call " + m.method
	default:
		return "", ""
	}
}

// begins reports whether a request begins what a hub that drains has to wait for.
func begins(method string) bool {
	switch method {
	case "session/new", "session/load", "session/resume", "session/fork", "session/prompt", "_session/steering":
		return true
	default:
		return false
	}
}

// forbidden is the kind of the error for what a client may not do.
const forbidden = "forbidden"
