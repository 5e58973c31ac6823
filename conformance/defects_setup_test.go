package conformance

// version returns a defect that answers a protocol version incorrectly.
func version(check string, asked float64, answer any) defect {
	return defect{
		name: "version-" + check, trips: []string{"init.version." + check},
		in: on("initialize", func(m *message) bool { return at(m.params, "protocolVersion") == asked }, func(f *fake, _ *message) bool {
			f.note("version", true)
			return false
		}),
		out: func(f *fake, m object) bool {
			if has(m["result"], "protocolVersion") && f.noted("version") != nil {
				m["result"].(map[string]any)["protocolVersion"] = answer
			}
			return true
		},
	}
}

// advertising modifies the agent's capabilities.
func advertising(change func(c object) bool) func(*fake, object) bool {
	return onResult("initialize", inside("agentCapabilities", change))
}

// choosy returns a defect that refuses valid requests.
func choosy(check, method string, match func(*message) bool) defect {
	return defect{name: "refuses-" + check, trips: []string{check}, in: on(method, match, refusing(codeParams))}
}

// lax returns a defect that accepts invalid requests.
func lax(check, method string, match func(*message) bool, result any) defect {
	return defect{name: "takes-" + check, trips: []string{check}, in: on(method, match, replying(result))}
}

// mortal returns a defect that crashes on a request.
func mortal(check, method string, match func(*message) bool) defect {
	return defect{name: "dies-of-" + check, trips: []string{check}, in: on(method, match, dying)}
}

func both(a, b func(*message) bool) func(*message) bool {
	return func(m *message) bool { return a(m) && b(m) }
}

func equals(value any, path ...any) func(*message) bool {
	return func(m *message) bool { return at(m.params, path...) == value }
}

func setupDefects() []defect {
	fresh := object{"protocolVersion": 1}
	return []defect{
		version("supported", 1, 2), version("unsupported-answers-own", 99, 99), version("zero", 0, 0), version("huge", 65535, 65535), version("two", 2, 3),
		lax("init.version.missing", "initialize", not(paramHas("protocolVersion")), fresh),
		mortal("init.version.wrong-type", "initialize", func(m *message) bool { return list(m.params, "protocolVersion") != nil }),
		{name: "no-retry", trips: ids("init.version.retry"), in: on("initialize", always, func(f *fake, m *message) bool {
			if at(m.params, "protocolVersion") == 99.0 {
				f.note("99", true)
			} else if f.noted("99") != nil {
				f.die()
			}
			return false
		})},
		choosy("init.capabilities.missing", "initialize", both(not(paramHas("clientCapabilities")), not(paramHas("clientInfo")))),
		choosy("init.client-info.missing", "initialize", both(paramHas("clientInfo"), equals(nil, "clientInfo"))),
		choosy("init.capabilities.partial", "initialize", both(param("clientCapabilities", "fs"), equals(nil, "clientCapabilities", "fs", "writeTextFile"))),
		choosy("init.capabilities.unknown", "initialize", param("clientCapabilities", "telepathy")),
		choosy("init.capabilities.null", "initialize", func(m *message) bool {
			c := at(m.params, "clientCapabilities")
			return has(c, "elicitation") && at(c, "elicitation") == nil
		}),
		{name: "nameless", trips: ids("init.agent-info"), out: onResult("initialize", cut("agentInfo"))},
		{name: "implicit-booleans", trips: ids("init.explicit-booleans"), out: advertising(cut("mcpCapabilities"))},
		{name: "initialize-once", trips: ids("init.again"), in: on("initialize", equals(1.0, "protocolVersion"), func(f *fake, _ *message) bool {
			if f.count("initialize") > 1 {
				f.die()
			}
			return false
		})},
		{name: "no-order", trips: ids("init.first")},
		{name: "early-bird", trips: ids("init.late"), in: func(f *fake, m *message) bool {
			if m.method == "session/new" && f.noted("started") == nil {
				f.note("spoilt", true)
			}
			if m.method == "initialize" {
				f.note("started", true)
			}
			if m.method == "initialize" && f.noted("spoilt") != nil {
				f.refuse(m, codeInvalidRequest, "too late")
				return true
			}
			return false
		}},
		{name: "slow-start", trips: ids("init.quick"), in: on("initialize", always, func(f *fake, _ *message) bool {
			f.pause()
			return false
		})},
		{name: "early-updates", trips: ids("init.no-session-yet session.new.first-word"), in: on("_conformance/ping", always, func(f *fake, _ *message) bool {
			if f.noted("new") == nil && f.count("early") == 1 {
				f.notify("session/update", object{"sessionId": "early", "update": object{"sessionUpdate": "usage_update", "used": 1, "size": 2}})
			}
			return false
		})},
		{name: "early-calls", trips: ids("init.no-calls-yet"), in: on("_conformance/ping", always, func(f *fake, _ *message) bool {
			if f.count("early") == 1 {
				f.send(object{"id": "early", "method": "_fake/who", "params": object{}})
			}
			return false
		})},

		{name: "nameless-method-of-auth", trips: ids("auth.methods.shape"), out: onResult("initialize", each("authMethods", set("name", "")))},
		{name: "same-methods", trips: ids("auth.methods.unique"), out: onResult("initialize", each("authMethods", set("id", "key")))},
		{name: "odd-methods", trips: ids("auth.methods.agent"), out: onResult("initialize", each("authMethods", set("type", "env_var")))},
		{name: "terminal-for-all", trips: ids("auth.methods.terminal-only-when-advertised")},
		choosy("auth.authenticate.agent", "authenticate", equals("key", "methodId")),
		{name: "any-method-of-auth", trips: ids("auth.authenticate.unknown auth.authenticate.unknown-code"), in: on("authenticate", equals("no-such-method", "methodId"), replying(object{}))},
		{name: "odd-code-of-auth", trips: ids("auth.authenticate.unknown-code"), in: on("authenticate", equals("no-such-method", "methodId"), refusing(-32603))},
		lax("auth.authenticate.missing-id", "authenticate", not(paramHas("methodId")), object{}),
		lax("auth.authenticate.terminal", "authenticate", equals("login", "methodId"), object{}),
		{name: "no-sessions", trips: ids("auth.required-code"), broad: true, in: on("session/new", always, refusing(-32603))},
		{name: "hidden-logout", trips: ids("auth.logout.as-advertised"), out: advertising(cut("auth"))},
		{name: "logout-fails", trips: ids("auth.logout.works"), in: on("logout", always, refusing(-32603))},
		{name: "logout-breaks", trips: ids("auth.logout.lives"), in: func(f *fake, m *message) bool {
			if m.method == "logout" {
				f.note("out", true)
			}
			if m.method == "session/new" && f.noted("out") != nil {
				f.refuse(m, -32603, "out")
				return true
			}
			return false
		}},

		choosy("extension.meta.initialize", "initialize", paramHas("_meta")),
		choosy("extension.meta.session", "session/new", param("_meta", "traceparent")),
		choosy("extension.meta.prompt", "session/prompt", paramHas("_meta")),
		{name: "deaf-to-meta", trips: ids("extension.meta.cancel"), hangs: true, in: on("session/cancel", paramHas("_meta"), deaf)},
		choosy("extension.meta.null", "session/new", both(paramHas("_meta"), equals(nil, "_meta"))),
		choosy("extension.members.root", "session/new", paramHas("futureMember")),
		choosy("extension.members.envelope", "session/new", func(m *message) bool { return has(m.value, "trace") }),
		choosy("extension.members.block", "session/prompt", param("prompt", 0, "futureMember")),
		lax("extension.request", "_conformance.example/no-such-method", always, object{}),
		{name: "answers-extensions", trips: ids("extension.notification"), in: on("_conformance.example/note", always, noting)},
		{name: "meta-is-text", trips: ids("extension.meta.object"), out: onUpdate("usage_update", set("_meta", "x"))},
		{name: "own-members", trips: ids("extension.members.own"), out: onUpdate("usage_update", set("speed", 7))},
		{name: "own-envelope", trips: ids("extension.members.envelope-own"), out: func(_ *fake, m object) bool {
			if isUpdate("usage_update")(m) {
				m["trace"] = 7
			}
			return true
		}},
	}
}
