package conformance

// negotiates returns a check of the answer to a protocol version.
func negotiates(version float64, ok func(answer float64) bool) func(*trial) {
	return onStart(func(p *peer) {
		m := p.respond("initialize", initializeParams(version, bare))
		if m.err != nil {
			p.failAt(m, "the version %v is answered with an error, not with a version of the agent's", version)
		}
		v := at(m.result, "protocolVersion")
		if kindOf(v) != 'i' {
			p.failAt(m, "the protocol version in the answer is %s", excerpt(v))
		}
		if v := v.(float64); !ok(v) {
			p.failf("an agent answers version %v with one that it speaks, not with %v", version, v)
		}
	})
}

func otherThan(asked float64) func(float64) bool {
	return func(v float64) bool { return v != asked && v >= 1 && v <= 100 }
}

// starts returns a check that initialize succeeds with some parameters and a session can be opened then.
func starts(params object) func(*trial) {
	return onStart(func(p *peer) {
		p.result = p.call("initialize", params)
		p.newSession()
	})
}

var initializeChecks = []Check{
	{"init.version.supported", TierMust, "Version 1 is answered with version 1.", pageInitialize, negotiates(1, func(v float64) bool { return v == 1 })},
	{"init.version.unsupported-answers-own", TierMust, "A version that the agent does not speak is answered with one that it speaks.", pageInitialize, negotiates(99, otherThan(99))},
	{"init.version.zero", TierMust, "Version 0 is answered with one that the agent speaks.", pageInitialize, negotiates(0, otherThan(0))},
	{"init.version.huge", TierMust, "The greatest version is answered with one that the agent speaks.", pageInitialize, negotiates(65535, otherThan(65535))},
	{"init.version.two", TierMust, "Version 2 is answered with 1 or 2, not with an error.", pageInitialize, negotiates(2, func(v float64) bool { return v == 1 || v == 2 })},
	{"init.version.missing", TierMust, "initialize without a version is refused with -32602.", pageInitialize, onStart(func(p *peer) {
		p.fails("initialize", object{"clientCapabilities": object{}}, codeParams)
	})},
	{"init.version.wrong-type", TierMust, "A version that is no number does not end the agent.", pageInitialize, onStart(func(p *peer) {
		p.respond("initialize", object{"protocolVersion": []any{}})
		p.lives()
	})},
	{"init.version.retry", TierMust, "A client may initialize again with a version that the agent answered.", pageInitialize, onStart(func(p *peer) {
		v := at(p.call("initialize", initializeParams(99, bare)), "protocolVersion")
		if v != 1.0 {
			p.skipAs(ReasonNotPossible, "the agent speaks version %v, the suite only 1", v)
		}
		p.respond("initialize", initializeParams(1, bare))
		p.newSession()
	})},
	{"init.capabilities.missing", TierMust, "clientCapabilities may be left out.", pageInitialize, starts(object{"protocolVersion": 1})},
	{"init.capabilities.partial", TierMust, "Any part of clientCapabilities may be left out.", pageInitialize, starts(initializeParams(1, object{"fs": object{"readTextFile": true}}))},
	{"init.capabilities.unknown", TierMust, "Capabilities that the agent does not know are ignored.", pageInitialize, starts(initializeParams(1, object{"telepathy": object{"range": 7}, "fs": object{"smell": true}}))},
	{"init.capabilities.null", TierMust, "Optional capabilities may be null.", pageInitialize, starts(initializeParams(1, object{"elicitation": nil, "session": nil}))},
	{"init.client-info.missing", TierMust, "clientInfo may be left out or null.", pageInitialize, starts(object{"protocolVersion": 1, "clientInfo": nil})},
	{"init.agent-info", TierShould, "The agent reports its name and version.", pageInitialize, onAgent(func(p *peer) {
		if str(p.result, "agentInfo", "name") == "" || str(p.result, "agentInfo", "version") == "" {
			p.failf("agentInfo is %s", excerpt(at(p.result, "agentInfo")))
		}
	})},
	{"init.explicit-booleans", TierShould, "Every boolean capability is given, be it false.", pageInitialize, onAgent(func(p *peer) {
		for _, path := range [][]any{
			{"loadSession"},
			{"promptCapabilities", "image"},
			{"promptCapabilities", "audio"},
			{"promptCapabilities", "embeddedContext"},
			{"mcpCapabilities", "http"},
			{"mcpCapabilities", "sse"},
		} {
			if _, ok := at(at(p.result, "agentCapabilities"), path...).(bool); !ok {
				p.failf("agentCapabilities %v is not given", path)
			}
		}
	})},
	{"init.again", TierMust, "A second initialize is answered and does not end the agent.", pageInitialize, onAgent(func(p *peer) {
		p.respond("initialize", initializeParams(1, bare))
		p.lives()
	})},
	{"init.first", TierShould, "A session before initialize is refused.", pageInitialize, onStart(func(p *peer) { p.fails("session/new", setup(p.work)) })},
	{"init.late", TierMust, "initialize succeeds after a request that came too early.", pageInitialize, onStart(func(p *peer) {
		p.respond("session/new", setup(p.work))
		p.initialize(bare)
		p.newSession()
	})},
	{"init.quick", TierShould, "initialize is answered soon after the start.", pageInitialize, onStart(func(p *peer) {
		if m := p.respond("initialize", initializeParams(1, bare)); m.since > 5*p.suite.opts.Patience/2 {
			p.failAt(m, "the answer took %v", m.since)
		}
	})},
	{"init.no-session-yet", TierMust, "No session/update comes before there is a session.", pageSession, watchStart(func(m *message) string {
		return when(m.method == "session/update", "an update of a session comes before any session was requested")
	})},
	{"init.no-calls-yet", TierMust, "The agent asks nothing of the client before there is a session.", pageSession, watchStart(func(m *message) string {
		return when(m.isRequest(), "the agent calls the client before any session was requested")
	})},
}

// watchStart returns a check of the agent's messages before the first session/new.
func watchStart(see func(m *message) string) func(*trial) {
	return watch("initialize", func() look {
		begun := false
		return func(m *message) (bool, string) {
			begun = begun || m.sent && m.method == "session/new"
			if begun || m.sent {
				return !begun, ""
			}
			return true, see(m)
		}
	})
}

var withTerminalAuth = object{"auth": object{"terminal": true}}

var authChecks = []Check{
	{"auth.methods.shape", TierMust, "Every authentication method has an id and a name.", pageAuth, onAgentFor(withTerminalAuth, func(p *peer) {
		for _, m := range list(p.result, "authMethods") {
			if str(m, "id") == "" || str(m, "name") == "" {
				p.failf("the authentication method %s lacks an id or a name", excerpt(m))
			}
		}
	})},
	{"auth.methods.unique", TierMust, "Authentication methods have different ids.", pageAuth, onAgentFor(withTerminalAuth, func(p *peer) {
		if complaint := different("authMethods", "id", "two authentication methods have one id, or one has none")(p.result); complaint != "" {
			p.failf("%s", complaint)
		}
	})},
	{"auth.methods.agent", TierShould, "There is a method that the agent handles itself, as the registry of agents demands.", pageAuth, onAgent(func(p *peer) {
		if p.authMethod("") == "" && p.authMethod("agent") == "" {
			p.failf("none of the authentication methods is one of the agent's")
		}
	})},
	{"auth.methods.terminal-only-when-advertised", TierMust, "A terminal method is offered only to clients with auth.terminal.", pageAuth, func(t *trial) {
		for _, capabilities := range []object{bare, {"auth": object{"terminal": false}}} {
			if id := t.agent(capabilities).authMethod("terminal"); id != "" {
				t.failf("the client did not advertise auth.terminal and is offered the terminal method %q", id)
			}
		}
	}},
	{"auth.authenticate.agent", TierCapability, "authenticate works with a method of the agent's, where a session can be had without.", pageAuth, inSession(func(s *scene) {
		id := s.authMethod("")
		if id == "" {
			s.lacks("an authentication method of the agent's")
		}
		s.call("authenticate", object{"methodId": id})
		s.newSession()
	})},
	{"auth.authenticate.unknown", TierMust, "An unknown authentication method is refused.", pageAuth, refuses("authenticate", `{"methodId":"no-such-method"}`)},
	{"auth.authenticate.unknown-code", TierShould, "An unknown authentication method is refused with -32602.", pageAuth, refuses("authenticate", `{"methodId":"no-such-method"}`, codeParams, codeMethod)},
	{"auth.authenticate.missing-id", TierMust, "authenticate without a method is refused.", pageAuth, refuses("authenticate", `{}`, codeParams, codeMethod)},
	{"auth.authenticate.terminal", TierCapability, "A terminal method is refused by authenticate.", pageAuth, onAgentFor(withTerminalAuth, func(p *peer) {
		id := p.authMethod("terminal")
		if id == "" {
			p.lacks("a terminal method")
		}
		p.fails("authenticate", object{"methodId": id})
	})},
	{"auth.required-code", TierMust, "A session that needs authentication is refused with -32000.", pageAuth, onAgent((*peer).opensOrWantsLogin)},
	{"auth.logout.as-advertised", TierMust, "logout is answered if auth.logout is advertised, and else refused with -32601.", pageAuth, asAdvertised("logout", object{}, "auth", "logout")},
	{"auth.logout.works", TierCapability, "logout is answered with an empty result.", pageAuth, onAgent(func(p *peer) {
		p.needs("auth", "logout")
		p.call("logout", object{})
	})},
	{"auth.logout.lives", TierCapability, "After logout a session/new is answered: with a session or with -32000.", pageAuth, onAgent(func(p *peer) {
		p.needs("auth", "logout")
		p.respond("logout", object{})
		p.opensOrWantsLogin()
	})},
}

// authMethod returns the ID of the first authentication method of a type, or "".
func (p *peer) authMethod(kind string) string {
	for _, m := range list(p.result, "authMethods") {
		if str(m, "type") == kind {
			return str(m, "id")
		}
	}
	return ""
}

// opensOrWantsLogin checks that session/new succeeds, or is refused because of a missing login.
func (p *peer) opensOrWantsLogin() {
	if m := p.respond("session/new", setup(p.work)); m.err != nil && m.err.code != codeAuth {
		p.failAt(m, "session/new is refused with %v, not with -32000", m.err)
	}
}

// asAdvertised returns a check that a method exists if and only if a capability advertises it.
func asAdvertised(method string, params object, path ...string) func(*trial) {
	return onAgent(func(p *peer) {
		m := p.respond(method, params)
		missing := m.err != nil && m.err.code == codeMethod
		switch advertised := p.advertises(path...); {
		case advertised && missing:
			p.failAt(m, "%s is advertised and not there", method)
		case !advertised && m.err == nil:
			p.failAt(m, "%s is there and not advertised", method)
		case !advertised && !missing:
			p.failAt(m, "%s is not advertised and refused with %v instead of -32601", method, m.err.code)
		}
	})
}
