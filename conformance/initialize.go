package conformance

import (
	"math"
)

// negotiates returns a check of the answer to a protocol version.
func negotiates(version any, ok func(t *trial, answer float64)) func(*trial) {
	return func(t *trial) {
		p := t.start()
		m := p.response(p.request("initialize", initializeParams(version, bare)))
		if m.err != nil {
			t.failAt(m, "the version %v is answered with an error, not with a version of the agent's", version)
		}
		v, isNumber := at(m.result, "protocolVersion").(float64)
		if !isNumber || v != math.Trunc(v) {
			t.failAt(m, "the protocol version in the answer is %s", excerpt(at(m.result, "protocolVersion")))
		}
		ok(t, v)
	}
}

func ownVersion(asked float64) func(*trial, float64) {
	return func(t *trial, v float64) {
		if v == asked || v < 1 || v > 100 {
			t.failf("an agent that does not speak version %v answers with the latest that it speaks, not with %v", asked, v)
		}
	}
}

// starts returns a check that initialize succeeds with some parameters and a session can be opened then.
func starts(params func() object) func(*trial) {
	return func(t *trial) {
		p := t.start()
		p.result = p.call("initialize", params())
		p.newSession()
	}
}

var initializeChecks = []Check{
	{"init.version.supported", TierMust, "Version 1 is answered with version 1.", pageInitialize, negotiates(1, func(t *trial, v float64) {
		if v != 1 {
			t.failf("the client asked for version 1 and got %v", v)
		}
	})},
	{"init.version.unsupported-answers-own", TierMust, "A version that the agent does not speak is answered with one that it speaks.", pageInitialize, negotiates(99, ownVersion(99))},
	{"init.version.zero", TierMust, "Version 0 is answered with one that the agent speaks.", pageInitialize, negotiates(0, ownVersion(0))},
	{"init.version.huge", TierMust, "The greatest version is answered with one that the agent speaks.", pageInitialize, negotiates(65535, ownVersion(65535))},
	{"init.version.two", TierMust, "Version 2 is answered with 1 or 2, not with an error.", pageInitialize, negotiates(2, func(t *trial, v float64) {
		if v != 1 && v != 2 {
			t.failf("the client asked for version 2 and got %v", v)
		}
	})},
	{"init.version.missing", TierMust, "initialize without a version is refused with -32602.", pageInitialize, func(t *trial) {
		p := t.start()
		p.fails("initialize", object{"clientCapabilities": object{}}, codeParams)
	}},
	{"init.version.wrong-type", TierMust, "A version that is no number does not end the agent.", pageInitialize, func(t *trial) {
		p := t.start()
		p.response(p.request("initialize", object{"protocolVersion": []any{}}))
		p.lives()
	}},
	{"init.version.retry", TierMust, "A client may initialize again with a version that the agent answered.", pageInitialize, func(t *trial) {
		p := t.start()
		v := at(p.call("initialize", initializeParams(99, bare)), "protocolVersion")
		if v != 1.0 {
			t.skipAs(ReasonNotPossible, "the agent speaks version %v, the suite only 1", v)
		}
		p.response(p.request("initialize", initializeParams(1, bare)))
		p.newSession()
	}},
	{"init.capabilities.missing", TierMust, "clientCapabilities may be left out.", pageInitialize, starts(func() object { return object{"protocolVersion": 1} })},
	{"init.capabilities.partial", TierMust, "Any part of clientCapabilities may be left out.", pageInitialize, starts(func() object {
		return initializeParams(1, object{"fs": object{"readTextFile": true}})
	})},
	{"init.capabilities.unknown", TierMust, "Capabilities that the agent does not know are ignored.", pageInitialize, starts(func() object {
		return initializeParams(1, object{"telepathy": object{"range": 7}, "fs": object{"smell": true}})
	})},
	{"init.capabilities.null", TierMust, "Optional capabilities may be null.", pageInitialize, starts(func() object {
		return initializeParams(1, object{"elicitation": nil, "session": nil})
	})},
	{"init.client-info.missing", TierMust, "clientInfo may be left out or null.", pageInitialize, starts(func() object {
		return object{"protocolVersion": 1, "clientInfo": nil}
	})},
	{"init.agent-info", TierShould, "The agent tells its name and version.", pageInitialize, func(t *trial) {
		p := t.agent(bare)
		if str(p.result, "agentInfo", "name") == "" || str(p.result, "agentInfo", "version") == "" {
			t.failf("agentInfo is %s", excerpt(at(p.result, "agentInfo")))
		}
	}},
	{"init.explicit-booleans", TierShould, "Every boolean capability is given, be it false.", pageInitialize, func(t *trial) {
		p := t.agent(bare)
		for _, path := range [][]any{
			{"loadSession"},
			{"promptCapabilities", "image"},
			{"promptCapabilities", "audio"},
			{"promptCapabilities", "embeddedContext"},
			{"mcpCapabilities", "http"},
			{"mcpCapabilities", "sse"},
		} {
			if _, ok := at(at(p.result, "agentCapabilities"), path...).(bool); !ok {
				t.failf("agentCapabilities %v is not given", path)
			}
		}
	}},
	{"init.again", TierMust, "A second initialize is answered and does not end the agent.", pageInitialize, func(t *trial) {
		p := t.agent(bare)
		p.response(p.request("initialize", initializeParams(1, bare)))
		p.lives()
	}},
	{"init.first", TierShould, "A session before initialize is refused.", pageInitialize, func(t *trial) {
		p := t.start()
		p.fails("session/new", setup(p.work))
	}},
	{"init.late", TierMust, "initialize succeeds after a request that came too early.", pageInitialize, func(t *trial) {
		p := t.start()
		p.response(p.request("session/new", setup(p.work)))
		p.initialize(bare)
		p.newSession()
	}},
	{"init.quick", TierShould, "initialize is answered soon after the start.", pageInitialize, func(t *trial) {
		p := t.start()
		m := p.response(p.request("initialize", initializeParams(1, bare)))
		if m.since > 5*t.suite.opts.Patience/2 {
			t.failAt(m, "the answer took %v", m.since)
		}
	}},
	{"init.no-session-yet", TierMust, "No session/update comes before there is a session.", pageSession, watch("initialize", func(tr *tour) look {
		return func(m *message) (bool, string) {
			if !m.sent && m.index < tr.created.index && m.method == "session/update" {
				return true, "an update of a session comes before any session was asked for"
			}
			return m.index < tr.created.index, ""
		}
	})},
	{"init.no-calls-yet", TierMust, "The agent asks nothing of the client before there is a session.", pageSession, watch("initialize", func(tr *tour) look {
		return func(m *message) (bool, string) {
			if !m.sent && m.index < tr.created.index && m.isRequest() {
				return true, "the agent calls the client before any session was asked for"
			}
			return m.index < tr.created.index, ""
		}
	})},
}
