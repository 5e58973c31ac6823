package conformance

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// answers returns a check that bytes are answered as a request with the given string ID.
func answers(id string, pieces ...string) func(*trial) {
	return onAgent(func(p *peer) {
		p.sendPieces(pieces...)
		if m := p.waitID(0, "the response to "+strings.Join(pieces, ""), id); m.id == "null" {
			p.failAt(m, "the request is refused as unreadable")
		}
	})
}

// echoes returns a check that the response repeats a request's ID.
func echoes(id string) func(*trial) {
	return onAgent(func(p *peer) {
		c := p.requestAs(id, "_conformance/ping", object{})
		m := p.wait(c.index, "a response", (*message).isResponse)
		// A string may be returned with different escapes.
		s, ok := m.value["id"].(string)
		if m.id != c.id && (!ok || str(readMessage([]byte(`{"id":`+id+`}`)).value, "id") != s) {
			p.failAt(m, "the id %s comes back as %s", id, m.id)
		}
	})
}

// survives returns a check that a line is answered with an error with one of the codes and id null, and that the agent
// continues.
func survives(line string, codes ...int) func(*trial) {
	return onAgent(func(p *peer) {
		from := p.now()
		p.send(line)
		m := p.wait(from, "the answer to "+line, (*message).isResponse)
		p.failsWith(m, line, codes...)
		if m.id != "null" {
			p.failAt(m, "the answer to a line without a readable id has the id %s, not null", cmp.Or(m.id, "(none)"))
		}
		p.lives()
	})
}

// tolerates returns a check that the agent continues after lines, whatever it answers.
func tolerates(lines ...string) func(*trial) {
	return onAgent(func(p *peer) {
		p.send(lines...)
		p.lives()
	})
}

// unanswered returns a check that lines are not answered.
func unanswered(lines ...string) func(*trial) {
	return onAgent(func(p *peer) {
		from := p.now()
		p.send(lines...)
		p.awaitQuiet()
		for _, m := range p.fromAgent(from) {
			n, err := strconv.ParseInt(m.id, 10, 64)
			if asked := err == nil && n > 0 && n <= p.next.Load(); m.isResponse() && !asked {
				p.failAt(m, "what needs no answer got one")
			}
		}
	})
}

// refuses returns a check that a request is refused with one of the codes, and that the agent continues.
func refuses(method, params string, codes ...int) func(*trial) {
	return onAgent(func(p *peer) {
		from := p.now()
		member := "" // a local: all runs share params
		if params != "" {
			member = `,"params":` + params
		}
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"refused","method":%s%s}`, encode(method), member))
		p.failsWith(p.waitID(from, "the answer to "+method, "refused"), method, codes...)
		p.lives()
	})
}

var transportChecks = []Check{
	{"transport.stdout.json", TierMust, "Every line on stdout is one JSON object and nothing else.", pageTransports, watchOne("message", func(m *message) (bool, string) {
		bad := m.fault != "" && !strings.Contains(m.fault, "blank") && !strings.Contains(m.fault, "UTF-8")
		return true, when(bad, "a line on stdout is no message: "+m.fault)
	})},
	{"transport.stdout.one-line", TierMust, "A message has no newline inside.", pageTransports, watch("message", func() look {
		var open []byte
		return func(m *message) (bool, string) {
			if m.sent {
				return false, ""
			}
			if m.value != nil {
				open = nil
				return true, ""
			}
			open = append(open, m.line...)
			return true, when(len(open) > len(m.line) && jsonx.Valid(open), "a message is spread over several lines")
		}
	})},
	{"transport.stdout.utf8", TierMust, "Messages are UTF-8.", pageTransports, watchOne("message", func(m *message) (bool, string) {
		return true, when(strings.Contains(m.fault, "UTF-8"), "a line is not UTF-8")
	})},
	{"transport.stdout.no-blank-lines", TierShould, "There are no blank lines on stdout.", pageTransports, watchOne("message", func(m *message) (bool, string) {
		return true, when(len(bytes.TrimSpace(m.line)) == 0, "a line on stdout is blank")
	})},
	{"transport.stdout.silent-start", TierMust, "Nothing is on stdout before the client has asked anything.", pageTransports, onStart(func(p *peer) {
		answer := p.respond("initialize", initializeParams(1, bare))
		if m := p.fromAgent(0)[0]; m != answer {
			p.failAt(m, "the first line on stdout is not the response to initialize")
		}
	})},
	{"transport.stderr.no-messages", TierShould, "Protocol messages are not on stderr.", pageTransports, inSession(func(s *scene) {
		s.ask(PurposeSay, "text", "stderr").answer()
		s.quit()
		for line := range strings.Lines(s.child.Stderr()) {
			if m := readMessage([]byte(strings.TrimSpace(line))); m.value != nil && m.value["jsonrpc"] != nil {
				s.failf("stderr has the message %s", line)
			}
		}
	})},
	{"transport.split-writes", TierMust, "A message may come in pieces.", pageTransports, answers("split", `{"jsonrpc":"2.0","id":"spl`, `it","method":"_conf`, `ormance/ping","params":{}}`, "\n")},
	{"transport.many-in-one-write", TierMust, "Many messages may come in one write.", pageTransports, onAgent(func(p *peer) {
		var b strings.Builder
		const n = 40
		for i := range n {
			fmt.Fprintf(&b, `{"jsonrpc":"2.0","id":"m%d","method":"_conformance/ping","params":{}}`+"\n", i)
		}
		from := p.now()
		p.sendPieces(b.String())
		for i := range n {
			id := fmt.Sprintf(`"m%d"`, i)
			p.wait(from, "the response to "+id, func(m *message) bool { return m.isResponse() && m.id == id })
		}
	})},
	{"transport.crlf", TierShould, "A line may end with CR LF.", pageTransports, answers("crlf", `{"jsonrpc":"2.0","id":"crlf","method":"_conformance/ping","params":{}}`+"\r\n")},
	{"transport.blank-lines", TierShould, "Blank lines are ignored.", pageTransports, onAgent(func(p *peer) {
		from := p.now()
		p.sendPieces("\n\n   \n\r\n")
		p.lives()
		if m := p.find(from, func(m *message) bool { return m.isResponse() && m.id == "null" }); m != nil {
			p.failAt(m, "a blank line is answered")
		}
	})},
	{"transport.whitespace", TierMust, "White space around and inside a message does not matter.", pageJSONRPC, answers("ws", " \t{ \"jsonrpc\" : \"2.0\" , \"id\"\t: \"ws\" , \"method\" : \"_conformance/ping\" , \"params\" : { } } \n")},
	{"transport.long-line", TierMust, "A message of 1 MiB is read.", pageTransports, longLine(1 << 20)},
	{"transport.very-long-line", TierShould, "A message of 16 MiB is read.", pageTransports, longLine(16 << 20)},
	{"transport.slow-reader", TierMust, "A client that reads late misses nothing.", pageTransports, inSession(func(s *scene) {
		s.pause()
		calls := make([]call, 30)
		for i := range calls {
			calls[i] = s.request("_conformance/ping", object{"_meta": object{"padding": strings.Repeat("x", 4<<10)}})
		}
		u := s.ask(PurposeSay, "text", "late")
		s.resume()
		for _, c := range calls {
			s.response(c)
		}
		u.stop()
	})},
	{"transport.deep-nesting", TierMust, "A message that is nested deeply does not end the agent.", pageTransports, tolerates(`{"jsonrpc":"2.0","id":"deep","method":"_conformance/ping","params":{"_meta":{"x":` +
		strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}}}`)},
}

func longLine(size int) func(*trial) {
	return onAgent(func(p *peer) {
		m := p.respond("session/new", with(setup(p.work), "_meta", object{"padding": strings.Repeat("long ", size/5)}))
		if m.err != nil && m.err.code != codeAuth {
			p.failAt(m, "a message of %d bytes is refused: %v", size, m.err)
		}
	})
}

var jsonrpcChecks = []Check{
	{"jsonrpc.version.sent", TierMust, `Every message has "jsonrpc": "2.0".`, pageJSONRPC, watchOne("message", func(m *message) (bool, string) {
		return m.value != nil, when(m.value != nil && m.value["jsonrpc"] != "2.0", `a message lacks "jsonrpc": "2.0"`)
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
	{"jsonrpc.id.reused", TierMust, "The id of an answered request may be used again.", pageJSONRPC, onAgent(func(p *peer) {
		for range 3 {
			p.response(p.requestAs(`"again"`, "_conformance/ping", object{}))
		}
	})},
	{"jsonrpc.response.once", TierMust, "A request is answered once.", pageJSONRPC, watch("response", func() look {
		answered := make(map[string]bool)
		return func(m *message) (bool, string) {
			if m.sent || !m.isResponse() || m.id == "null" {
				return false, ""
			}
			twice := answered[m.id]
			answered[m.id] = true
			return true, when(twice, "the request "+m.id+" is answered twice")
		}
	})},
	{"jsonrpc.response.asked", TierMust, "A response answers a request.", pageJSONRPC, watch("response", func() look {
		asked := make(map[string]bool)
		return func(m *message) (bool, string) {
			switch {
			case m.sent && m.isRequest():
				asked[m.id] = true
			case !m.sent && m.isResponse():
				return true, when(!asked[m.id], "a response has the id "+cmp.Or(m.id, "(none)")+", which no request has")
			}
			return false, ""
		}
	})},
	{"jsonrpc.response.result-xor-error", TierMust, "A response has either a result or an error.", pageJSONRPC, watchOne("response", func(m *message) (bool, string) {
		isResponse := m.value != nil && m.method == ""
		return isResponse, when(isResponse && m.hasResult == has(m.value, "error"), "a response needs either a result or an error")
	})},
	{"jsonrpc.error.shape", TierMust, "An error has an integer code and a message.", pageJSONRPC, watchOne("error", func(m *message) (bool, string) {
		if !has(m.value, "error") {
			return false, ""
		}
		if m.err == nil || kindOf(at(m.value, "error", "code")) != 'i' {
			return true, "the error has no integer code"
		}
		return true, when(strings.TrimSpace(m.err.message) == "", "the error has no message")
	})},
	{"jsonrpc.request.ids-unique", TierMust, "The agent's open requests have different ids.", pageJSONRPC, watch("request of the agent's", func() look {
		open := make(map[string]bool)
		return func(m *message) (bool, string) {
			switch {
			case m.sent && m.isResponse():
				delete(open, m.id)
			case !m.sent && m.isRequest():
				twice := open[m.id]
				open[m.id] = true
				return true, when(twice, "two open requests of the agent's have the id "+m.id)
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
	{"jsonrpc.junk.two-values", TierShould, "Two values on a line are answered with -32700 or -32600.", pageJSONRPC, onAgent(func(p *peer) {
		from := p.now()
		p.send(`{"jsonrpc":"2.0","id":"one","method":"_conformance/ping"} {"jsonrpc":"2.0","id":"two","method":"_conformance/ping"}`)
		p.failsWith(p.wait(from, "an answer to two values on a line", (*message).isResponse), "a line with two values", codeParse, codeInvalidRequest)
	})},
	{"jsonrpc.junk.binary", TierMust, "Bytes that are no text do not end the agent.", pageJSONRPC, tolerates("\x00\x01\x02\xfe\xff\x1b[31m")},
	{"jsonrpc.junk.invalid-utf8", TierMust, "A string that is not UTF-8 does not end the agent.", pageJSONRPC, onAgent(func(p *peer) {
		p.send(`{"jsonrpc":"2.0","id":"utf","method":"_conformance/ping","params":{"_meta":{"x":"a` + "\xff\xfe" + `b"}}}`)
		p.waitID(0, "an answer to a string that is not UTF-8", "utf")
		p.lives()
	})},
	{"jsonrpc.junk.lone-surrogate", TierMust, "A lone surrogate in a string does not end the agent.", pageJSONRPC, tolerates(`{"jsonrpc":"2.0","id":"s","method":"_conformance/ping","params":{"_meta":{"x":"\ud800"}}}`)},
	{"jsonrpc.junk.repeated", TierMust, "A hundred lines of junk do not end the agent.", pageJSONRPC, tolerates(slices.Repeat([]string{"junk {"}, 100)...)},
	{"jsonrpc.invalid.empty-object", TierMust, "An empty object is answered with -32600 and id null.", pageJSONRPC, survives(`{}`, codeInvalidRequest)},
	{"jsonrpc.invalid.scalar", TierMust, "A line that is JSON but no object is answered with -32600 and id null.", pageJSONRPC, survives(`42`, codeInvalidRequest)},
	{"jsonrpc.invalid.null", TierMust, "A line that is null does not end the agent.", pageJSONRPC, tolerates(`null`, `true`, `"text"`)},
	{"jsonrpc.batch.lives", TierMust, "A batch does not end the agent.", pageJSONRPC, tolerates(`[{"jsonrpc":"2.0","id":"b1","method":"_conformance/ping"},{"jsonrpc":"2.0","id":"b2","method":"_conformance/ping"}]`)},
	{"jsonrpc.batch.answered", TierShould, "A batch is answered: by an error, or by its responses.", pageJSONRPC, onAgent(func(p *peer) {
		from := p.now()
		p.send(`[{"jsonrpc":"2.0","id":"b1","method":"_conformance/ping"}]`)
		p.lives()
		p.awaitQuiet()
		if p.find(from, func(m *message) bool {
			return m.id == "null" || m.id == `"b1"` || strings.HasPrefix(string(m.line), "[")
		}) == nil {
			p.failf("the batch got no answer")
		}
	})},
	{"jsonrpc.batch.empty", TierShould, "An empty batch is answered with -32600.", pageJSONRPC, survives(`[]`, codeInvalidRequest)},
	{"jsonrpc.response.to-nothing", TierMust, "A response that answers nothing is ignored.", pageJSONRPC, unanswered(`{"jsonrpc":"2.0","id":98765,"result":{}}`, `{"jsonrpc":"2.0","id":"unknown","result":null}`)},
	{"jsonrpc.response.error-to-nothing", TierMust, "An error that answers nothing is ignored.", pageJSONRPC, unanswered(`{"jsonrpc":"2.0","id":98765,"error":{"code":-32603,"message":"x"}}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`)},
	{"jsonrpc.notification.unknown", TierMust, "An unknown notification is ignored.", pageExtension, unanswered(`{"jsonrpc":"2.0","method":"no/such/notification","params":{"x":1}}`)},
	{"jsonrpc.notification.bad-params", TierMust, "A notification is never answered, not even a wrong one.", pageJSONRPC, unanswered(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":7}}`, `{"jsonrpc":"2.0","method":"session/cancel"}`, `{"jsonrpc":"2.0","method":"session/cancel","params":[]}`)},
	{"jsonrpc.notification.of-a-request", TierMust, "A request's method without an id is not answered.", pageJSONRPC, unanswered(`{"jsonrpc":"2.0","method":"session/prompt","params":{}}`, `{"jsonrpc":"2.0","method":"_conformance/ping"}`)},
	{"jsonrpc.members.order", TierMust, "The order of members does not matter.", pageJSONRPC, answers("order", `{"params":{},"id":"order","method":"_conformance/ping","jsonrpc":"2.0"}`+"\n")},
	{"jsonrpc.members.escaped", TierMust, "Member names and strings may be escaped.", pageJSONRPC, answers("esc", `{"jsonrpc":"2.0","\u0069d":"esc","m\u0065thod":"_conformance\/ping","params":{}}`+"\n")},
	{"jsonrpc.members.duplicate", TierMust, "A member that stands twice does not end the agent.", pageJSONRPC, tolerates(`{"jsonrpc":"2.0","id":"d","id":"e","method":"_conformance/ping","method":"_conformance/pong"}`)},
	{"jsonrpc.concurrent", TierMust, "A hundred requests at once are all answered.", pageJSONRPC, onAgent(func(p *peer) {
		var calls []call
		for i := range 100 {
			calls = append(calls, p.requestAs(fmt.Sprintf(`"c%d"`, i), "_conformance/ping", object{}))
		}
		for _, c := range calls {
			p.response(c)
		}
	})},
}
