package conformance

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
)

var transportChecks = []Check{
	{"transport.stdout.json", TierMust, "Every line on stdout is one JSON object and nothing else.", pageTransports, watchOne(
		"message", func(m *message) (bool, string) {
			if m.fault != "" && !strings.Contains(m.fault, "blank") && !strings.Contains(m.fault, "UTF-8") {
				return true, "a line on stdout is no message: " + m.fault
			}
			return true, ""
		},
	)},
	{"transport.stdout.one-line", TierMust, "A message has no newline inside.", pageTransports, watch("message", func(*tour) look {
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
			return true, map[bool]string{true: "a message is spread over several lines"}[len(open) > len(m.line) && jsonx.Valid(open)]
		}
	})},
	{"transport.stdout.utf8", TierMust, "Messages are UTF-8.", pageTransports, watchOne(
		"message", func(m *message) (bool, string) {
			return true, map[bool]string{true: "a line is not UTF-8"}[strings.Contains(m.fault, "UTF-8")]
		},
	)},
	{"transport.stdout.no-blank-lines", TierShould, "There are no blank lines on stdout.", pageTransports, watchOne(
		"message", func(m *message) (bool, string) {
			return true, map[bool]string{true: "a line on stdout is blank"}[len(bytes.TrimSpace(m.line)) == 0]
		},
	)},
	{"transport.stdout.silent-start", TierMust, "Nothing is on stdout before the client has asked anything.", pageTransports, func(t *trial) {
		p := t.start()
		c := p.request("initialize", initializeParams(1, bare))
		p.response(c)
		if m := p.find(0, func(m *message) bool { return !m.sent }); !c.answeredBy(m) {
			t.failAt(m, "the first line on stdout is not the response to initialize")
		}
	}},
	{"transport.stderr.no-messages", TierShould, "Protocol messages are not on stderr.", pageTransports, func(t *trial) {
		p, id := t.session(bare)
		p.purpose(id, PurposeSay, "text", "stderr").answer()
		p.closeStdin()
		p.exits()
		for line := range strings.Lines(p.child.Stderr()) {
			if m := readMessage([]byte(strings.TrimSpace(line))); m.value != nil && m.value["jsonrpc"] != nil {
				t.failf("stderr has the message %s", line)
			}
		}
	}},
	{"transport.split-writes", TierMust, "A message may come in pieces.", pageTransports, func(t *trial) {
		p := t.agent(bare)
		p.sendPieces([]byte(`{"jsonrpc":"2.0","id":"spl`), []byte(`it","method":"_conf`), []byte(`ormance/ping","params":{}}`), []byte("\n"))
		p.wait(0, "the response to a message in pieces", func(m *message) bool { return m.isResponse() && m.id == `"split"` })
	}},
	{"transport.many-in-one-write", TierMust, "Many messages may come in one write.", pageTransports, func(t *trial) {
		p := t.agent(bare)
		var b bytes.Buffer
		const n = 40
		id := func(i int) string { return fmt.Sprintf(`"m%d"`, i) }
		for i := range n {
			fmt.Fprintf(&b, `{"jsonrpc":"2.0","id":%s,"method":"_conformance/ping","params":{}}`+"\n", id(i))
		}
		from := p.now()
		p.sendBytes(b.Bytes())
		for i := range n {
			p.wait(from, "the response to "+id(i), func(m *message) bool { return m.isResponse() && m.id == id(i) })
		}
	}},
	{"transport.crlf", TierShould, "A line may end with CR LF.", pageTransports, func(t *trial) {
		p := t.agent(bare)
		p.sendBytes([]byte(`{"jsonrpc":"2.0","id":"crlf","method":"_conformance/ping","params":{}}` + "\r\n"))
		m := p.wait(0, "the response to a line with CR LF", func(m *message) bool { return m.isResponse() && (m.id == `"crlf"` || m.id == "null") })
		if m.id == "null" {
			t.failAt(m, "a line with CR LF is refused")
		}
	}},
	{"transport.blank-lines", TierShould, "Blank lines are ignored.", pageTransports, func(t *trial) {
		p := t.agent(bare)
		from := p.now()
		p.sendBytes([]byte("\n\n   \n\r\n"))
		p.lives()
		if m := p.find(from, func(m *message) bool { return m.isResponse() && !m.sent && m.id == "null" }); m != nil {
			t.failAt(m, "a blank line is answered")
		}
	}},
	{"transport.whitespace", TierMust, "White space around and inside a message does not matter.", pageJSONRPC, func(t *trial) {
		p := t.agent(bare)
		p.send(" \t{ \"jsonrpc\" : \"2.0\" , \"id\"\t: \"ws\" , \"method\" : \"_conformance/ping\" , \"params\" : { } } ")
		p.wait(0, "the response to a message with white space", func(m *message) bool { return m.isResponse() && m.id == `"ws"` })
	}},
	{"transport.long-line", TierMust, "A message of 1 MiB is read.", pageTransports, longLine(1 << 20)},
	{"transport.very-long-line", TierShould, "A message of 16 MiB is read.", pageTransports, longLine(16 << 20)},
	{"transport.slow-reader", TierMust, "A client that reads late misses nothing.", pageTransports, func(t *trial) {
		p, id := t.session(bare)
		p.pause()
		const n = 30
		calls := make([]call, n)
		for i := range calls {
			calls[i] = p.request("_conformance/ping", object{"_meta": object{"padding": strings.Repeat("x", 4<<10)}})
		}
		u := p.purpose(id, PurposeSay, "text", "late")
		p.resume()
		for _, c := range calls {
			p.response(c)
		}
		u.stop()
	}},
	{"transport.deep-nesting", TierMust, "A message that is nested deeply does not end the agent.", pageTransports, func(t *trial) {
		p := t.agent(bare)
		p.send(`{"jsonrpc":"2.0","id":"deep","method":"_conformance/ping","params":{"_meta":{"x":` +
			strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}}}`)
		p.lives()
	}},
}

func longLine(size int) func(*trial) {
	return func(t *trial) {
		p := t.agent(bare)
		m := p.response(p.request("session/new", object{
			"cwd": p.work, "mcpServers": []any{}, "_meta": object{"padding": strings.Repeat("long ", size/5)},
		}))
		if m.err != nil && m.err.code != codeAuth {
			t.failAt(m, "a message of %d bytes is refused: %v", size, m.err)
		}
	}
}
