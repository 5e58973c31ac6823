package conformance

var withTerminalAuth = object{"auth": object{"terminal": true}}

// methods returns the authentication methods that the agent offers to a client with some capabilities.
func (p *peer) methods() []any { return list(p.result, "authMethods") }

var authChecks = []Check{
	{"auth.methods.shape", TierMust, "Every authentication method has an id and a name.", pageAuth, func(t *trial) {
		p := t.agent(withTerminalAuth)
		for _, m := range p.methods() {
			if str(m, "id") == "" || str(m, "name") == "" {
				t.failf("the authentication method %s lacks an id or a name", excerpt(m))
			}
		}
	}},
	{"auth.methods.unique", TierMust, "Authentication methods have different ids.", pageAuth, func(t *trial) {
		p := t.agent(withTerminalAuth)
		seen := make(map[string]bool)
		for _, m := range p.methods() {
			if id := str(m, "id"); seen[id] {
				t.failf("two authentication methods have the id %q", id)
			} else {
				seen[id] = true
			}
		}
	}},
	{"auth.methods.agent", TierShould, "There is a method that the agent handles itself, as the registry of agents demands.", pageAuth, func(t *trial) {
		p := t.agent(bare)
		for _, m := range p.methods() {
			if str(m, "type") == "" || str(m, "type") == "agent" {
				return
			}
		}
		t.failf("none of the authentication methods is one of the agent's")
	}},
	{"auth.methods.terminal-only-when-advertised", TierMust, "A terminal method is offered only to clients with auth.terminal.", pageAuth, func(t *trial) {
		for _, capabilities := range []object{bare, {"auth": object{"terminal": false}}} {
			p := t.agent(capabilities)
			for _, m := range p.methods() {
				if str(m, "type") == "terminal" {
					t.failf("the client does not do terminals for authentication and is offered %s", excerpt(m))
				}
			}
		}
	}},
	{"auth.authenticate.agent", TierCapability, "authenticate works with a method of the agent's, where a session can be had without.", pageAuth, func(t *trial) {
		p, _ := t.session(bare)
		for _, m := range p.methods() {
			if str(m, "type") == "" {
				p.call("authenticate", object{"methodId": str(m, "id")})
				p.newSession()
				return
			}
		}
		t.skipAs(ReasonNotAdvertised, "not advertised: an authentication method of the agent's")
	}},
	{"auth.authenticate.unknown", TierMust, "An unknown authentication method is refused.", pageAuth, func(t *trial) {
		p := t.agent(bare)
		p.fails("authenticate", object{"methodId": "no-such-method"})
		p.lives()
	}},
	{"auth.authenticate.unknown-code", TierShould, "An unknown authentication method is refused with -32602.", pageAuth, func(t *trial) {
		p := t.agent(bare)
		if e := p.fails("authenticate", object{"methodId": "no-such-method"}); e.code != codeParams && e.code != codeMethod {
			t.failf("the refusal has the code %v", e.code)
		}
	}},
	{"auth.authenticate.missing-id", TierMust, "authenticate without a method is refused.", pageAuth, func(t *trial) {
		p := t.agent(bare)
		p.fails("authenticate", object{}, codeParams, codeMethod)
	}},
	{"auth.authenticate.terminal", TierCapability, "A terminal method is refused by authenticate.", pageAuth, func(t *trial) {
		p := t.agent(withTerminalAuth)
		for _, m := range p.methods() {
			if str(m, "type") == "terminal" {
				p.fails("authenticate", object{"methodId": str(m, "id")})
				return
			}
		}
		t.skipAs(ReasonNotAdvertised, "not advertised: a terminal method")
	}},
	{"auth.required-code", TierMust, "A session that needs authentication is refused with -32000.", pageAuth, func(t *trial) {
		p := t.agent(bare)
		m := p.response(p.request("session/new", setup(p.work)))
		if m.err != nil && m.err.code != codeAuth {
			t.failAt(m, "session/new is refused with %v, not with -32000", m.err.code)
		}
	}},
	{"auth.logout.as-advertised", TierMust, "logout is answered if auth.logout is advertised, and else refused with -32601.", pageAuth, asAdvertised("logout", func(*peer) object { return object{} }, "auth", "logout")},
	{"auth.logout.works", TierCapability, "logout is answered with an empty result.", pageAuth, func(t *trial) {
		p := t.agent(bare)
		p.needs("auth", "logout")
		p.call("logout", object{})
	}},
	{"auth.logout.lives", TierCapability, "After logout a session/new is answered: with a session or with -32000.", pageAuth, func(t *trial) {
		p := t.agent(bare)
		p.needs("auth", "logout")
		p.response(p.request("logout", object{}))
		m := p.response(p.request("session/new", setup(p.work)))
		if m.err != nil && m.err.code != codeAuth {
			t.failAt(m, "after logout session/new is refused with %v", m.err)
		}
	}},
}

// asAdvertised returns a check that a method exists if and only if a capability advertises it.
func asAdvertised(method string, params func(*peer) object, path ...string) func(*trial) {
	return func(t *trial) {
		p := t.agent(bare)
		m := p.response(p.request(method, params(p)))
		missing := m.err != nil && m.err.code == codeMethod
		switch advertised := p.advertises(path...); {
		case advertised && missing:
			t.failAt(m, "%s is advertised and not there", method)
		case !advertised && m.err == nil:
			t.failAt(m, "%s is there and not advertised", method)
		case !advertised && !missing:
			t.failAt(m, "%s is not advertised and refused with %v instead of -32601", method, m.err.code)
		}
	}
}
