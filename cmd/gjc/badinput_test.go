package main

import (
	"fmt"
	"strings"
	"testing"
)

// answered describes a response: its ID as it appears on the wire, and its code, or 0 for a result. part is in the
// error's text.
type answered struct {
	id   string
	code int
	part string
}

const (
	parseError     = -32700
	invalidRequest = -32600
	methodNotFound = -32601
	invalidParams  = -32602
	notFound       = -32002
)

// Whatever gjc receives, the sender gets a clear answer, the session loses nothing, and the next request works.
func TestBadInput(t *testing.T) {
	t.Parallel()
	p := startPeer(t, peerOptions{})
	p.badInput("before initialize", nil, []badInput{
		{"request", `{"jsonrpc":"2.0","id":1,"method":"session/list","params":{}}`, []answered{{"1", invalidRequest, "initialize"}}},
		{"session/new", `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}`, []answered{{"1", invalidRequest, "initialize"}}},
		{"prompt", `{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"x","prompt":[]}}`, []answered{{"1", invalidRequest, "initialize"}}},
		{"cancel", `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"x"}}`, nil},
		{"unknown method", `{"jsonrpc":"2.0","id":1,"method":"nope","params":{}}`, []answered{{"1", methodNotFound, "nope"}}},
		{"initialize without a version", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, []answered{{"1", invalidParams, "protocolVersion"}}},
		// Early clients sent a date. The response has the supported version.
		{"initialize with a date", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05"}}`, []answered{{"1", 0, ""}}},
		{"initialize without params", `{"jsonrpc":"2.0","id":1,"method":"initialize"}`, []answered{{"1", invalidParams, ""}}},
		{"initialize with a list", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":[1]}`, []answered{{"1", invalidParams, ""}}},
		{"a version of the future", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":65535,"clientCapabilities":{}}}`, []answered{{"1", 0, ""}}},
	})
	p.initialize(nil)
	id := p.session("auto")
	s := func(line string) string {
		return strings.NewReplacer("$ID", id, "$CWD", p.work).Replace(line)
	}
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	p.badInput("framing", &id, []badInput{
		{"word", "junk", []answered{{"null", parseError, ""}}},
		{"half an object", `{"jsonrpc":"2.0","id":7,`, []answered{{"null", parseError, ""}}},
		{"blank", "", nil},
		{"blanks", "  \t \r", nil},
		{"carriage return", `{"jsonrpc":"2.0","id":7,"method":"session/list","params":{}}` + "\r", []answered{{"7", 0, ""}}},
		{"blanks around", `  {"jsonrpc":"2.0","id":7,"method":"session/list","params":{}}  `, []answered{{"7", 0, ""}}},
		{"two values", `{"jsonrpc":"2.0","id":7,"method":"session/list"} {"jsonrpc":"2.0","id":8,"method":"session/list"}`, []answered{{"null", parseError, ""}}},
		{"empty batch", `[]`, []answered{{"null", invalidRequest, ""}}},
		{"batch", `[{"jsonrpc":"2.0","id":7,"method":"session/list"},{"jsonrpc":"2.0","id":8,"method":"session/list"}]`, []answered{{"null", invalidRequest, ""}}},
		{"string", `"session/list"`, []answered{{"null", invalidRequest, ""}}},
		{"number", `17`, []answered{{"null", invalidRequest, ""}}},
		{"null", `null`, []answered{{"null", invalidRequest, ""}}},
		{"empty object", `{}`, []answered{{"null", invalidRequest, ""}}},
		{"NUL byte", "{\"jsonrpc\":\"2.0\",\x00\"id\":7}", []answered{{"null", parseError, ""}}},
		{"NUL bytes only", "\x00\x00", []answered{{"null", parseError, ""}}},
		// Not refused: the rest of the message is valid.
		{"invalid UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"session/list\",\"params\":{\"_meta\":{\"x\":\"\xff\xfe\"}}}", []answered{{"7", 0, ""}}},
		{"invalid UTF-8 in a prompt", "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"$ID\",\"prompt\":[{\"type\":\"text\",\"text\":\"!say \xff\xfe\"}]}}", []answered{{"7", 0, ""}}},
		{"invalid UTF-8 outside of strings", "\xff\xfe", []answered{{"null", parseError, ""}}},
		{"byte order mark", "\ufeff" + `{"jsonrpc":"2.0","id":7,"method":"session/list"}`, []answered{{"null", parseError, ""}}},
		{"nested too deep", deep(10_001), []answered{{"null", parseError, ""}}},
		{"nested params", `{"jsonrpc":"2.0","id":7,"method":"session/list","params":` + deep(5000) + `}`, []answered{{"7", invalidParams, ""}}},
		{"nested too deep in params", `{"jsonrpc":"2.0","id":7,"method":"session/list","params":{"_meta":` + deep(10_001) + `}}`, []answered{{"null", parseError, ""}}},
		{"nested meta", `{"jsonrpc":"2.0","id":7,"method":"session/list","params":{"_meta":{"x":` + deep(5000) + `}}}`, []answered{{"7", 0, ""}}},
		{"HTTP", "POST / HTTP/1.1\r\nContent-Type: application/json\r\n\r", []answered{{"null", parseError, ""}, {"null", parseError, ""}}},
		{"Content-Length", "Content-Length: 2\r\n\r\n{}", []answered{{"null", parseError, ""}, {"null", invalidRequest, ""}}},
		{"a member twice, and an id", `{"jsonrpc":"2.0","id":7,"method":"session/list","params":{"cwd":"/a","cwd":"/b"}}`, []answered{{"7", invalidRequest, ""}}},
		{"duplicate members", `{"jsonrpc":"2.0","id":7,"id":8,"method":"session/list"}`, []answered{{"null", invalidRequest, ""}}},
	}, s)
	p.badInput("messages", &id, []badInput{
		{"no version", `{"id":7,"method":"session/list"}`, []answered{{"7", invalidRequest, ""}}},
		{"old version", `{"jsonrpc":"1.0","id":7,"method":"session/list"}`, []answered{{"7", invalidRequest, ""}}},
		{"method is a number", `{"jsonrpc":"2.0","id":7,"method":1}`, []answered{{"7", invalidRequest, ""}}},
		{"params is a string", `{"jsonrpc":"2.0","id":7,"method":"session/list","params":"x"}`, []answered{{"7", invalidRequest, "params"}}},
		{"id is an object", `{"jsonrpc":"2.0","id":{},"method":"session/list"}`, []answered{{"null", invalidRequest, ""}}},
		{"id is a list", `{"jsonrpc":"2.0","id":[1],"method":"session/list"}`, []answered{{"null", invalidRequest, ""}}},
		{"id is true", `{"jsonrpc":"2.0","id":true,"method":"session/list"}`, []answered{{"null", invalidRequest, ""}}},
		{"string id", `{"jsonrpc":"2.0","id":"a \"b\" é","method":"session/list"}`, []answered{{`"a \"b\" é"`, 0, ""}}},
		{"empty id", `{"jsonrpc":"2.0","id":"","method":"session/list"}`, []answered{{`""`, 0, ""}}},
		{"float id", `{"jsonrpc":"2.0","id":1.0,"method":"session/list"}`, []answered{{`1.0`, 0, ""}}},
		{"negative id", `{"jsonrpc":"2.0","id":-3,"method":"session/list"}`, []answered{{`-3`, 0, ""}}},
		{"huge id", `{"jsonrpc":"2.0","id":9223372036854775807,"method":"session/list"}`, []answered{{`9223372036854775807`, 0, ""}}},
		{"null id", `{"jsonrpc":"2.0","id":null,"method":"session/list"}`, []answered{{"null", 0, ""}}},
		{"unknown method", `{"jsonrpc":"2.0","id":7,"method":"session/nope","params":{}}`, []answered{{"7", methodNotFound, "session/nope"}}},
		{"client's method", `{"jsonrpc":"2.0","id":7,"method":"fs/read_text_file","params":{"sessionId":"$ID","path":"/x"}}`, []answered{{"7", methodNotFound, ""}}},
		{"request as a notification", `{"jsonrpc":"2.0","method":"session/new","params":{"cwd":"/","mcpServers":[]}}`, nil},
		{"notification as a request", `{"jsonrpc":"2.0","id":7,"method":"session/cancel","params":{"sessionId":"$ID"}}`, []answered{{"7", methodNotFound, ""}}},
		{"unknown notification", `{"jsonrpc":"2.0","method":"session/nope","params":{}}`, nil},
		{"not even a notification", `{"jsonrpc":"2.0","method":"nope","params":17}`, []answered{{"null", invalidRequest, "params"}}},
		{"notification with wrong params", `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":7}}`, nil},
		{"extension", `{"jsonrpc":"2.0","id":7,"method":"_x/y","params":{}}`, []answered{{"7", methodNotFound, "_x/y"}}},
		{"extension notification", `{"jsonrpc":"2.0","method":"_x/y","params":{}}`, nil},
		{"cancel of nobody", `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"nobody"}}`, nil},
		{"cancel of an idle session", `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"$ID"}}`, nil},
		{"cancel of an unknown request", `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":4711}}`, nil},
		{"cancel of nothing", `{"jsonrpc":"2.0","method":"$/cancel_request","params":{}}`, nil},
		{"cancel of junk", `{"jsonrpc":"2.0","method":"$/cancel_request","params":[{}]}`, nil},
		{"response to nothing", `{"jsonrpc":"2.0","id":4711,"result":{}}`, nil},
		{"error to nothing", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`, nil},
		{"result and error", `{"jsonrpc":"2.0","id":4711,"result":{},"error":{"code":1,"message":"x"}}`, nil},
		{"initialize again", `{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}`, []answered{{"7", 0, ""}}},
	}, s)
	p.badInput("params", &id, []badInput{
		{"relative cwd", `{"jsonrpc":"2.0","id":7,"method":"session/new","params":{"cwd":"src","mcpServers":[]}}`, []answered{{"7", invalidParams, "absolute"}}},
		{"empty cwd", `{"jsonrpc":"2.0","id":7,"method":"session/new","params":{"cwd":"","mcpServers":[]}}`, []answered{{"7", invalidParams, "absolute"}}},
		{"NUL in cwd", `{"jsonrpc":"2.0","id":7,"method":"session/new","params":{"cwd":"$CWD\u0000x","mcpServers":[]}}`, []answered{{"7", invalidParams, "cwd"}}},
		{"no cwd", `{"jsonrpc":"2.0","id":7,"method":"session/new","params":{"mcpServers":[]}}`, []answered{{"7", invalidParams, "cwd"}}},
		{"cwd is a number", `{"jsonrpc":"2.0","id":7,"method":"session/new","params":{"cwd":7,"mcpServers":[]}}`, []answered{{"7", invalidParams, "/params/cwd"}}},
		{"servers are a string", `{"jsonrpc":"2.0","id":7,"method":"session/new","params":{"cwd":"$CWD","mcpServers":"x"}}`, []answered{{"7", invalidParams, "mcpServers"}}},
		{"unknown session", `{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{"sessionId":"nobody","prompt":[{"type":"text","text":"x"}]}}`, []answered{{"7", notFound, "nobody"}}},
		{"session id of a path", `{"jsonrpc":"2.0","id":7,"method":"session/load","params":{"sessionId":"../../etc/passwd","cwd":"$CWD","mcpServers":[]}}`, []answered{{"7", notFound, ""}}},
		{"session id with NUL", `{"jsonrpc":"2.0","id":7,"method":"session/load","params":{"sessionId":"a\u0000b","cwd":"$CWD","mcpServers":[]}}`, []answered{{"7", notFound, ""}}},
		{"session id is empty", `{"jsonrpc":"2.0","id":7,"method":"session/load","params":{"sessionId":"","cwd":"$CWD","mcpServers":[]}}`, []answered{{"7", notFound, ""}}},
		{"prompt without blocks", `{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{"sessionId":"$ID","prompt":[]}}`, []answered{{"7", invalidParams, "empty"}}},
		{"prompt is a string", `{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{"sessionId":"$ID","prompt":"hello"}}`, []answered{{"7", invalidParams, "prompt"}}},
		{"block without a type", `{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{"sessionId":"$ID","prompt":[{"text":"x"}]}}`, []answered{{"7", invalidParams, "prompt"}}},
		{"block without its text", `{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{"sessionId":"$ID","prompt":[{"type":"text"}]}}`, []answered{{"7", invalidParams, "text"}}},
		{"unknown block", `{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{"sessionId":"$ID","prompt":[{"type":"smell"}]}}`, []answered{{"7", invalidParams, ""}}},
		{"huge number", `{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":1e999,"clientCapabilities":{}}}`, []answered{{"7", invalidParams, "protocolVersion"}}},
		{"long number", `{"jsonrpc":"2.0","id":7,"method":"session/list","params":{"_meta":{"n":` + strings.Repeat("9", 100_000) + `}}}`, []answered{{"7", 0, ""}}},
		{"boolean for a choice", `{"jsonrpc":"2.0","id":7,"method":"session/set_config_option","params":{"sessionId":"$ID","configId":"mode","type":"boolean","value":true}}`, []answered{{"7", invalidParams, ""}}},
		{"unknown mode", `{"jsonrpc":"2.0","id":7,"method":"session/set_mode","params":{"sessionId":"$ID","modeId":"yolo"}}`, []answered{{"7", invalidParams, "yolo"}}},
		{"members of the future", `{"jsonrpc":"2.0","id":7,"method":"session/list","params":{"color":"red"},"color":"red"}`, []answered{{"7", 0, ""}}},
	}, s)
	p.stop()
}

type badInput struct {
	name, line string
	want       []answered
}

// badInput sends each line, followed by a request that must still work: a turn in a session, or an unknown method
// without one. want lists the responses in between, in any order.
func (p *peer) badInput(group string, session *string, table []badInput, rewrite ...func(string) string) {
	for _, tt := range table {
		p.t.Run(group+"/"+tt.name, func(t *testing.T) {
			outer := p.t
			p.t = t
			defer func() { p.t = outer }()
			line := tt.line
			for _, fn := range rewrite {
				line = fn(line)
			}
			p.send(line)
			var before []message
			if session != nil {
				before = p.say(*session, "fine")
			} else {
				_, before = p.answer(p.request("_test/ping", object{}))
			}
			var got []message
			for _, m := range before {
				if m.isResponse() {
					got = append(got, m)
				}
			}
			// A slow result may come after the ping; then it is the next message.
			for len(got) < len(tt.want) {
				m, _ := p.until(fmt.Sprintf("%d responses; got %v", len(tt.want), lines(got)), message.isResponse)
				got = append(got, m)
			}
			if len(got) > len(tt.want) {
				t.Errorf("%d responses, want %d: %v", len(got), len(tt.want), lines(got))
			}
			for i, want := range tt.want {
				code, text := 0, ""
				if got[i].Error != nil {
					code, text = got[i].Error.Code, got[i].Error.Message
				}
				if string(got[i].ID) != want.id || code != want.code || !strings.Contains(text, want.part) {
					t.Errorf("got %.300s\nwant id %s, code %d, %q", got[i].line, want.id, want.code, want.part)
				}
			}
		})
	}
}

// A line over the cap is refused under its own ID and skipped; the following line is served.
func TestBadInput_Oversize(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("sends 65 MiB")
	}
	p := startPeer(t, peerOptions{})
	p.initialize(nil)
	id := p.session("auto")
	long := make([]byte, 65<<20)
	for i := range long {
		long[i] = 'x'
	}
	head := `{"jsonrpc":"2.0","id":7,"method":"session/list","params":{"cursor":"`
	copy(long, head)
	copy(long[len(long)-4:], "\"}}\n")
	if _, err := p.stdin.Write(long); err != nil {
		t.Fatal(err)
	}
	m, _ := p.until("the refusal", message.isResponse)
	if m.Error == nil || m.Error.Code != invalidRequest || string(m.ID) != "7" {
		t.Errorf("got %s", m.line)
	}
	p.say(id, "fine")
	p.stop()
}

// A large line below the cap is served.
func TestLargeInput(t *testing.T) {
	t.Parallel()
	p := startPeer(t, peerOptions{})
	p.initialize(nil)
	id := p.session("auto")
	m, _ := p.answer(p.prompt(id, "!say fine\n"+strings.Repeat("word ", 1<<20)))
	if m.Error != nil {
		t.Errorf("got %.300s", m.line)
	}
	p.stop()
}

// The ID of a running request cannot be used again, and its answer still comes. After that the ID is free.
func TestBadInput_DuplicateID(t *testing.T) {
	t.Parallel()
	p := startPeer(t, peerOptions{})
	p.initialize(nil)
	id := p.session("auto")
	prompt := fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"!wait"}]}}`, id)
	p.send(prompt)
	for _, same := range []string{"7", "7.0"} {
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"_test/other","params":{}}`, same))
		m, _ := p.until("the refusal", message.isResponse)
		if m.Error == nil || m.Error.Code != invalidRequest || string(m.ID) != "null" || !strings.Contains(m.Error.Message, "in use") {
			t.Errorf("got %s", m.line)
		}
	}
	// The same number as a string is a different ID.
	p.send(`{"jsonrpc":"2.0","id":"7","method":"session/list","params":{}}`)
	p.answer(`"7"`)
	p.check.sent([]byte(prompt)) // the check has seen the ID twice too
	p.notify("session/cancel", object{"sessionId": id})
	if m, _ := p.answer("7"); !strings.Contains(string(m.Result), "cancelled") {
		t.Errorf("the prompt got %s", m.line)
	}
	p.send(`{"jsonrpc":"2.0","id":7,"method":"session/list","params":{}}`)
	if m, _ := p.answer("7"); m.Error != nil {
		t.Errorf("the free id got %s", m.line)
	}
	p.say(id, "fine")
	p.stop()
}

// $/cancel_request for a prompt is answered, with a result or an error, and the session continues.
func TestCancelRequest(t *testing.T) {
	t.Parallel()
	p := startPeer(t, peerOptions{})
	p.initialize(nil)
	id := p.session("auto")
	prompt := p.prompt(id, "!wait")
	p.until("the session's title", func(m message) bool { return strings.Contains(m.line, "session_info_update") })
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":%s}}`, prompt))
	m, _ := p.answer(prompt)
	if !strings.Contains(string(m.Result), "cancelled") && (m.Error == nil || m.Error.Code != -32800) {
		t.Errorf("the prompt got %s", m.line)
	}
	p.say(id, "fine")
	p.stop()
}

// A question without an answer counts as unanswered by the user, not as a failure.
func TestUnansweredPermission(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, answer string }{
		{"unknown option", `"result":{"outcome":{"outcome":"selected","optionId":"yes please"}}`},
		{"no outcome", `"result":{}`},
		{"null", `"result":null`},
		{"junk", `"result":"allow_once"`},
		{"unknown outcome", `"result":{"outcome":{"outcome":"shrug"}}`},
		{"error", `"error":{"code":-32603,"message":"the editor broke"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := startPeer(t, peerOptions{})
			p.initialize(nil)
			id, other := p.session("default"), p.session("default")
			prompt := p.prompt(id, "!bash echo ra\"\"n >ran.txt")
			question := p.called("session/request_permission")
			p.say(other, "fine")
			p.call("session/list", object{})
			p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, question.ID, tt.answer))
			m, before := p.answer(prompt)
			if m.Error != nil || !strings.Contains(strings.Join(lines(before), "\n"), `"status":"failed"`) {
				t.Errorf("the prompt got %s after %v", m.line, lines(before))
			}
			wantEmpty(t, p.work)
			// A second answer to the same question is ignored.
			p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"outcome":{"outcome":"selected","optionId":"allow_once"}}}`, question.ID))
			p.say(id, "fine")
			p.stop()
		})
	}
}
