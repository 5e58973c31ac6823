package conformance

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// echoes returns a check that a request's ID is returned as it was sent.
func echoes(id string) func(*trial) {
	return func(t *trial) {
		p := t.agent(bare)
		c := p.requestAs(id, "_conformance/ping", object{})
		m := p.wait(c.index, "a response", (*message).isResponse)
		if m.id != c.id && !encodedAlike(m, id) {
			t.failAt(m, "the id %s comes back as %s", id, m.id)
		}
	}
}

// encodedAlike reports that a string ID was returned with another encoding of the same text.
func encodedAlike(m *message, id string) bool {
	s, ok := m.value["id"].(string)
	return ok && str(readMessage([]byte(`{"id":`+id+`}`)).value, "id") == s
}

// survives returns a check that a line is answered with an error with one of the codes and id null, and that the agent
// continues.
func survives(line string, codes ...int) func(*trial) {
	return func(t *trial) {
		p := t.agent(bare)
		from := p.now()
		p.send(line)
		m := p.wait(from, "the answer to "+line, func(m *message) bool { return m.isResponse() })
		p.failsWith(m, line, codes...)
		if m.id != "null" {
			t.failAt(m, "the answer to a line without a readable id has the id %s, not null", cmp.Or(m.id, "(none)"))
		}
		p.lives()
	}
}

// tolerates returns a check that the agent continues after a line, whatever it answers.
func tolerates(lines ...string) func(*trial) {
	return func(t *trial) {
		p := t.agent(bare)
		for _, line := range lines {
			p.send(line)
		}
		p.lives()
	}
}

// unanswered returns a check that lines are not answered.
func unanswered(lines ...string) func(*trial) {
	return func(t *trial) {
		p := t.agent(bare)
		from := p.now()
		for _, line := range lines {
			p.send(line)
		}
		ping := p.lives()
		p.settle()
		for _, m := range p.messages(from) {
			if !m.sent && m.isResponse() && m != ping && !p.asked(m) {
				t.failAt(m, "what needs no answer got one")
			}
		}
	}
}

// asked reports whether a response has the ID of one of the suite's numbered requests.
func (p *peer) asked(m *message) bool {
	n, err := strconv.Atoi(m.id)
	p.mu.Lock()
	defer p.mu.Unlock()
	return err == nil && n > 0 && n <= p.next
}

// refuses returns a check that a request is refused with one of the codes, and that the agent continues.
func refuses(method, params string, codes ...int) func(*trial) {
	return func(t *trial) {
		p := t.agent(bare)
		from := p.now()
		member := "" // params is shared by all runs
		if params != "" {
			member = `,"params":` + params
		}
		p.sendf(`{"jsonrpc":"2.0","id":"refused","method":%s%s}`, encode(method), member)
		m := p.wait(from, "the answer to "+method, func(m *message) bool { return m.isResponse() && (m.id == `"refused"` || m.id == "null") })
		p.failsWith(m, method, codes...)
		p.lives()
	}
}

var jsonrpcChecks = []Check{
	{"jsonrpc.version.sent", TierMust, `Every message has "jsonrpc": "2.0".`, pageJSONRPC, watchOne("message", func(m *message) (bool, string) {
		if m.value != nil && m.value["jsonrpc"] != "2.0" {
			return true, `a message lacks "jsonrpc": "2.0"`
		}
		return m.value != nil, ""
	})},
	{"jsonrpc.version.missing", TierMust, `A request without "jsonrpc" does not end the agent.`, pageJSONRPC, tolerates(`{"id":"old","method":"_conformance/ping","params":{}}`)},
	{"jsonrpc.version.other", TierMust, `A request with another "jsonrpc" does not end the agent.`, pageJSONRPC, tolerates(`{"jsonrpc":"1.0","id":"old","method":"_conformance/ping","params":{}}`, `{"jsonrpc":2,"id":"old","method":"_conformance/ping"}`)},
	{"jsonrpc.id.number", TierMust, "A number as id comes back as that number.", pageJSONRPC, echoes("4711")},
	{"jsonrpc.id.zero", TierMust, "The id 0 comes back.", pageJSONRPC, echoes("0")},
	{"jsonrpc.id.negative", TierMust, "A negative id comes back.", pageJSONRPC, echoes("-7")},
	{"jsonrpc.id.big-number", TierShould, "An id of 64 bits comes back with all its digits.", pageJSONRPC, echoes("9007199254740993")},
	{"jsonrpc.id.string", TierMust, "A string as id comes back as a string.", pageJSONRPC, echoes(`"4712"`)},
	{"jsonrpc.id.uuid", TierMust, "A UUID as id comes back unchanged.", pageJSONRPC, echoes(`"6F9619FF-8B86-D011-B42D-00C04FC964FF"`)},
	{"jsonrpc.id.empty-string", TierShould, "The empty string is an id.", pageJSONRPC, echoes(`""`)},
	{"jsonrpc.id.unicode", TierMust, "An id of any characters comes back unchanged.", pageJSONRPC, echoes(`"ü \"quoted\" \\ 😀"`)},
	{"jsonrpc.id.null", TierMust, "A request with id null does not end the agent.", pageJSONRPC, tolerates(`{"jsonrpc":"2.0","id":null,"method":"_conformance/ping","params":{}}`)},
	{"jsonrpc.id.wrong-type", TierMust, "An id that is an object or an array does not end the agent.", pageJSONRPC, tolerates(`{"jsonrpc":"2.0","id":{},"method":"_conformance/ping"}`, `{"jsonrpc":"2.0","id":[1],"method":"_conformance/ping"}`, `{"jsonrpc":"2.0","id":true,"method":"_conformance/ping"}`)},
	{"jsonrpc.id.duplicate", TierMust, "Two open requests with one id do not end the agent.", pageJSONRPC, tolerates(`{"jsonrpc":"2.0","id":"twin","method":"_conformance/ping","params":{}}`, `{"jsonrpc":"2.0","id":"twin","method":"_conformance/ping","params":{}}`)},
	{"jsonrpc.id.reused", TierMust, "The id of an answered request may be used again.", pageJSONRPC, func(t *trial) {
		p := t.agent(bare)
		for range 3 {
			p.response(p.requestAs(`"again"`, "_conformance/ping", object{}))
		}
	}},
	{"jsonrpc.response.once", TierMust, "A request is answered once.", pageJSONRPC, watch("response", func(*tour) look {
		answered := make(map[string]bool)
		return func(m *message) (bool, string) {
			if m.sent || !m.isResponse() || m.id == "null" {
				return false, ""
			}
			if answered[m.id] {
				return true, "the request " + m.id + " is answered twice"
			}
			answered[m.id] = true
			return true, ""
		}
	})},
	{"jsonrpc.response.asked", TierMust, "A response answers a request.", pageJSONRPC, watch("response", func(*tour) look {
		asked := make(map[string]bool)
		return func(m *message) (bool, string) {
			switch {
			case m.sent && m.isRequest():
				asked[m.id] = true
			case !m.sent && m.isResponse():
				return true, map[bool]string{true: "a response has the id " + cmp.Or(m.id, "(none)") + ", which nobody has asked with"}[!asked[m.id]]
			}
			return false, ""
		}
	})},
	{"jsonrpc.response.result-xor-error", TierMust, "A response has either a result or an error.", pageJSONRPC, watchOne("response", func(m *message) (bool, string) {
		if m.value == nil || m.method != "" {
			return false, ""
		}
		return true, map[bool]string{true: "a response needs either a result or an error"}[m.hasResult == has(m.value, "error")]
	})},
	{"jsonrpc.error.shape", TierMust, "An error has an integer code and a message.", pageJSONRPC, watchOne("error", func(m *message) (bool, string) {
		if !has(m.value, "error") {
			return false, ""
		}
		if m.err == nil || kindOf(at(m.value, "error", "code")) != 'i' {
			return true, "the error has no integer code"
		}
		if strings.TrimSpace(m.err.message) == "" {
			return true, "the error has no message"
		}
		return true, ""
	})},
	{"jsonrpc.request.ids-unique", TierMust, "The agent's open requests have different ids.", pageJSONRPC, watch("request of the agent's", func(*tour) look {
		open := make(map[string]bool)
		return func(m *message) (bool, string) {
			switch {
			case m.sent && m.isResponse():
				delete(open, m.id)
			case !m.sent && m.isRequest():
				if open[m.id] {
					return true, "two open requests of the agent's have the id " + m.id
				}
				open[m.id] = true
				return true, ""
			}
			return false, ""
		}
	})},
	{"jsonrpc.method.unknown", TierMust, "An unknown method is refused with -32601.", pageJSONRPC, refuses("no/such/method", `{}`, codeMethod)},
	{"jsonrpc.method.empty", TierMust, "An empty method name is refused.", pageJSONRPC, refuses("", `{}`, codeMethod, codeInvalidRequest, codeParams)},
	{"jsonrpc.method.case", TierMust, "Method names are case-sensitive.", pageJSONRPC, refuses("Session/New", `{"cwd":"/","mcpServers":[]}`, codeMethod)},
	{"jsonrpc.method.of-the-client", TierMust, "A method that the client handles is refused with -32601.", pageJSONRPC, refuses("fs/read_text_file", `{"sessionId":"x","path":"/x"}`, codeMethod)},
	{"jsonrpc.method.wrong-type", TierMust, "A method that is no string does not end the agent.", pageJSONRPC, tolerates(`{"jsonrpc":"2.0","id":"t","method":7}`, `{"jsonrpc":"2.0","id":"t","method":null}`)},
	{"jsonrpc.params.missing", TierMust, "Missing parameters are refused with -32602.", pageJSONRPC, refuses("session/new", ``, codeParams)},
	{"jsonrpc.params.string", TierMust, "Parameters that are a string are refused.", pageJSONRPC, refuses("session/new", `"cwd"`, codeParams, codeInvalidRequest)},
	{"jsonrpc.params.number", TierMust, "Parameters that are a number are refused.", pageJSONRPC, refuses("session/prompt", `7`, codeParams, codeInvalidRequest)},
	{"jsonrpc.params.array", TierMust, "Parameters by position are refused.", pageJSONRPC, refuses("session/new", `["/",[]]`, codeParams, codeInvalidRequest)},
	{"jsonrpc.params.empty", TierMust, "Empty parameters are refused with -32602 where some are required.", pageJSONRPC, refuses("session/prompt", `{}`, codeParams)},
	{"jsonrpc.junk.words", TierMust, "A line that is not JSON is answered with -32700 and id null, and the agent lives on.", pageJSONRPC, survives("this is not JSON", codeParse)},
	{"jsonrpc.junk.cut-off", TierMust, "A message that breaks off is answered with -32700 and id null, and the agent lives on.", pageJSONRPC, survives(`{"jsonrpc":"2.0","id":"cut","method":"sess`, codeParse)},
	{"jsonrpc.junk.two-values", TierShould, "Two values on a line are answered with -32700 or -32600.", pageJSONRPC, func(t *trial) {
		p := t.agent(bare)
		from := p.now()
		p.send(`{"jsonrpc":"2.0","id":"one","method":"_conformance/ping"} {"jsonrpc":"2.0","id":"two","method":"_conformance/ping"}`)
		m := p.wait(from, "an answer to two values on a line", (*message).isResponse)
		p.failsWith(m, "a line with two values", codeParse, codeInvalidRequest)
	}},
	{"jsonrpc.junk.binary", TierMust, "Bytes that are no text do not end the agent.", pageJSONRPC, func(t *trial) {
		p := t.agent(bare)
		p.sendBytes([]byte("\x00\x01\x02\xfe\xff\x1b[31m\n"))
		p.lives()
	}},
	{"jsonrpc.junk.invalid-utf8", TierMust, "A string that is not UTF-8 does not end the agent.", pageJSONRPC, func(t *trial) {
		p := t.agent(bare)
		p.sendBytes([]byte("{\"jsonrpc\":\"2.0\",\"id\":\"utf\",\"method\":\"_conformance/ping\",\"params\":{\"_meta\":{\"x\":\"a\xff\xfeb\"}}}\n"))
		p.wait(0, "an answer to a string that is not UTF-8", func(m *message) bool { return m.isResponse() && (m.id == `"utf"` || m.id == "null") })
		p.lives()
	}},
	{"jsonrpc.junk.lone-surrogate", TierMust, "A lone surrogate in a string does not end the agent.", pageJSONRPC, tolerates(`{"jsonrpc":"2.0","id":"s","method":"_conformance/ping","params":{"_meta":{"x":"\ud800"}}}`)},
	{"jsonrpc.junk.repeated", TierMust, "A hundred lines of junk do not end the agent.", pageJSONRPC, tolerates(slices.Repeat([]string{"junk {"}, 100)...)},
	{"jsonrpc.invalid.empty-object", TierMust, "An empty object is answered with -32600 and id null.", pageJSONRPC, survives(`{}`, codeInvalidRequest)},
	{"jsonrpc.invalid.scalar", TierMust, "A line that is JSON but no object is answered with -32600 and id null.", pageJSONRPC, survives(`42`, codeInvalidRequest)},
	{"jsonrpc.invalid.null", TierMust, "A line that is null does not end the agent.", pageJSONRPC, tolerates(`null`, `true`, `"text"`)},
	{"jsonrpc.batch.lives", TierMust, "A batch does not end the agent.", pageJSONRPC, tolerates(`[{"jsonrpc":"2.0","id":"b1","method":"_conformance/ping"},{"jsonrpc":"2.0","id":"b2","method":"_conformance/ping"}]`)},
	{"jsonrpc.batch.answered", TierShould, "A batch is answered: by an error, or by its responses.", pageJSONRPC, func(t *trial) {
		p := t.agent(bare)
		from := p.now()
		p.send(`[{"jsonrpc":"2.0","id":"b1","method":"_conformance/ping"}]`)
		p.lives()
		p.settle()
		answered := func(m *message) bool {
			return !m.sent && (m.id == "null" || m.id == `"b1"` || strings.HasPrefix(string(m.line), "["))
		}
		if p.find(from, answered) == nil {
			t.failf("the batch got no answer")
		}
	}},
	{"jsonrpc.batch.empty", TierShould, "An empty batch is answered with -32600.", pageJSONRPC, survives(`[]`, codeInvalidRequest)},
	{"jsonrpc.response.to-nothing", TierMust, "A response that answers nothing is ignored.", pageJSONRPC, unanswered(`{"jsonrpc":"2.0","id":98765,"result":{}}`, `{"jsonrpc":"2.0","id":"nobody","result":null}`)},
	{"jsonrpc.response.error-to-nothing", TierMust, "An error that answers nothing is ignored.", pageJSONRPC, unanswered(`{"jsonrpc":"2.0","id":98765,"error":{"code":-32603,"message":"x"}}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`)},
	{"jsonrpc.notification.unknown", TierMust, "An unknown notification is ignored.", pageExtension, unanswered(`{"jsonrpc":"2.0","method":"no/such/notification","params":{"x":1}}`)},
	{"jsonrpc.notification.bad-params", TierMust, "A notification is never answered, not even a wrong one.", pageJSONRPC, unanswered(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":7}}`, `{"jsonrpc":"2.0","method":"session/cancel"}`, `{"jsonrpc":"2.0","method":"session/cancel","params":[]}`)},
	{"jsonrpc.notification.of-a-request", TierMust, "A request's method without an id is not answered.", pageJSONRPC, unanswered(`{"jsonrpc":"2.0","method":"session/prompt","params":{}}`, `{"jsonrpc":"2.0","method":"_conformance/ping"}`)},
	{"jsonrpc.members.order", TierMust, "The order of members does not matter.", pageJSONRPC, func(t *trial) {
		p := t.agent(bare)
		p.send(`{"params":{},"id":"order","method":"_conformance/ping","jsonrpc":"2.0"}`)
		p.wait(0, "the response", func(m *message) bool { return m.isResponse() && m.id == `"order"` })
	}},
	{"jsonrpc.members.escaped", TierMust, "Member names and strings may be escaped.", pageJSONRPC, func(t *trial) {
		p := t.agent(bare)
		p.send(`{"jsonrpc":"2.0","\u0069d":"esc","m\u0065thod":"_conformance\/ping","params":{}}`)
		p.wait(0, "the response", func(m *message) bool { return m.isResponse() && m.id == `"esc"` })
	}},
	{"jsonrpc.members.duplicate", TierMust, "A member that stands twice does not end the agent.", pageJSONRPC, tolerates(`{"jsonrpc":"2.0","id":"d","id":"e","method":"_conformance/ping","method":"_conformance/pong"}`)},
	{"jsonrpc.concurrent", TierMust, "A hundred requests at once are all answered.", pageJSONRPC, func(t *trial) {
		p := t.agent(bare)
		var calls []call
		for i := range 100 {
			calls = append(calls, p.requestAs(fmt.Sprintf(`"c%d"`, i), "_conformance/ping", object{}))
		}
		for _, c := range calls {
			p.response(c)
		}
	}},
}
