package conformance

import (
	"maps"
	"strings"
)

// meta is an example of a client's _meta.
func meta() object {
	return object{
		"conformance.example/key": []any{1, object{"x": nil}},
		"traceparent":             "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "tracestate": "a=b", "baggage": "c=d",
	}
}

// with returns an object with additional members.
func with(o object, name string, value any) object {
	more := maps.Clone(o)
	more[name] = value
	return more
}

var extensionChecks = []Check{
	{"extension.request", TierMust, "An unknown request with an underscore is refused with -32601.", pageExtension, refuses("_conformance.example/no-such-method", `{}`, codeMethod)},
	{"extension.notification", TierMust, "An unknown notification with an underscore is ignored.", pageExtension, unanswered(`{"jsonrpc":"2.0","method":"_conformance.example/note","params":{"x":1}}`, `{"jsonrpc":"2.0","method":"_x"}`)},
	{"extension.meta.initialize", TierMust, "initialize may have _meta.", pageExtension, func(t *trial) {
		p := t.start()
		params := with(initializeParams(1, with(bare, "_meta", meta())), "_meta", meta())
		p.result = p.call("initialize", params)
		p.newSession()
	}},
	{"extension.meta.session", TierMust, "session/new may have _meta.", pageExtension, func(t *trial) {
		p := t.agent(bare)
		p.call("session/new", with(setup(p.work), "_meta", meta()))
	}},
	{"extension.meta.prompt", TierMust, "A prompt and its blocks may have _meta.", pageExtension, func(t *trial) {
		p, id := t.session(bare)
		p.call("session/prompt", object{
			"sessionId": id, "_meta": meta(),
			"prompt": []any{object{"type": "text", "text": t.prompt(PurposeSay, "text", "meta"), "_meta": meta()}},
		})
	}},
	{"extension.meta.cancel", TierMust, "A notification may have _meta.", pageExtension, func(t *trial) {
		p, id := t.session(bare)
		u := p.purpose(id, PurposeLong)
		u.running()
		p.notify("session/cancel", with(ref(id), "_meta", meta()))
		u.ends("cancelled")
	}},
	{"extension.meta.answer", TierMust, "The client's answers may have _meta and members that the agent does not know.", pageExtension, func(t *trial) {
		u, m := t.asking(bare)
		for _, o := range list(m.params, "options") {
			if str(o, "kind") == "allow_once" {
				answer := selected(str(o, "optionId"))
				u.p.reply(m, with(with(answer, "_meta", meta()), "mood", "good"))
				u.stop()
				if !u.ran() {
					t.failAt(m, "the user allowed the command and it was not run")
				}
				return
			}
		}
		t.notSeen("there is no option allow_once")
	}},
	{"extension.meta.null", TierMust, "_meta may be null.", pageExtension, func(t *trial) {
		p := t.agent(bare)
		p.call("session/new", with(setup(p.work), "_meta", nil))
	}},
	{"extension.meta.object", TierMust, "_meta in the agent's messages is an object or null.", pageExtension, watchOne("message", func(m *message) (bool, string) {
		return m.value != nil, map[bool]string{false: "_meta is no object"}[metaIsObject(m.value)]
	})},
	{"extension.members.root", TierMust, "Unknown members of parameters are ignored.", pageExtension, func(t *trial) {
		p := t.agent(bare)
		p.call("session/new", with(setup(p.work), "futureMember", object{"deep": []any{1, 2}}))
	}},
	{"extension.members.envelope", TierMust, "Unknown members of a message are ignored.", pageExtension, func(t *trial) {
		p := t.agent(bare)
		p.send(`{"jsonrpc":"2.0","id":"env","method":"session/new","params":` + string(encode(setup(p.work))) + `,"trace":{"x":1}}`)
		if m := p.wait(0, "the response", func(m *message) bool { return m.isResponse() && m.id == `"env"` }); m.err != nil {
			t.failAt(m, "a message with an unknown member is refused")
		}
	}},
	{"extension.members.block", TierMust, "Unknown members of a content block are ignored.", pageExtension, func(t *trial) {
		p, id := t.session(bare)
		p.begin(id, object{"type": "text", "text": t.prompt(PurposeSay, "text", "member"), "futureMember": 7}).stop()
	}},
	{"extension.members.own", TierMust, "The agent adds no members of its own to the protocol's objects, but in _meta.", pageExtension, watchSchema(fullSchema(), "", "", func(err error) bool {
		return strings.Contains(err.Error(), "knows no such member")
	})},
	{"extension.members.envelope-own", TierMust, "The agent adds no members of its own to messages.", pageExtension, watchOne("message", func(m *message) (bool, string) {
		for name := range m.value {
			switch name {
			case "jsonrpc", "id", "method", "params", "result", "error":
			default:
				return true, "a message has the member " + name
			}
		}
		return m.value != nil, ""
	})},
}

// metaIsObject checks every _meta in a value, except those of other programs.
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
