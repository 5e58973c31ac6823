package conformance

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// A message is one line of either direction.
type message struct {
	// index is its position in the transcript.
	index int
	since time.Duration // time since the agent's start
	sent  bool          // sent by the suite
	line  []byte        // without its newline
	// fault is the reason why the line is not a JSON-RPC message; the fields below are what could be decoded.
	fault string

	value  map[string]any
	id     string // encoded as JSON; "" for none
	method string
	params any
	result any
	err    *rpcError
	// hasResult distinguishes a null result from none.
	hasResult bool
}

// rpcError is the error of a response.
type rpcError struct {
	code    float64
	message string
	data    any
}

func (e *rpcError) String() string { return fmt.Sprintf("error %d (%s)", int(e.code), e.message) }

// readMessage decodes a line leniently.
func readMessage(line []byte) *message {
	m := &message{line: line}
	switch {
	case !utf8.Valid(line):
		m.fault = "it is not UTF-8"
	case len(bytes.TrimSpace(line)) == 0:
		m.fault = "the line is blank"
	}
	var v any
	if err := jsonx.Unmarshal(line, &v); err != nil {
		m.fault = cmp.Or(m.fault, "it is not JSON: "+err.Error())
		return m
	}
	object, ok := v.(map[string]any)
	if !ok {
		m.fault = cmp.Or(m.fault, "it is not an object")
		return m
	}
	m.value = object
	m.id = string(bytes.TrimSpace(jsonx.Lookup(bytes.TrimSpace(line), "id")))
	m.method, _ = object["method"].(string)
	m.params = object["params"]
	m.result, m.hasResult = object["result"]
	if e, ok := object["error"].(map[string]any); ok {
		m.err = &rpcError{data: e["data"]}
		m.err.code, _ = e["code"].(float64)
		m.err.message, _ = e["message"].(string)
	}
	return m
}

func (m *message) isRequest() bool { return m.method != "" && m.id != "" }

func (m *message) isResponse() bool {
	return m.value != nil && m.method == "" && (m.hasResult || m.value["error"] != nil)
}

// session returns the ID of the message's session.
func (m *message) session() string { return str(m.params, "sessionId") }

// update returns the kind and the body of a session/update, or "".
func (m *message) update() (string, any) {
	if m.method != "session/update" {
		return "", nil
	}
	u := at(m.params, "update")
	return str(u, "sessionUpdate"), u
}

// content returns the last tool call content of a type in the update, or nil.
func (m *message) content(kind string) any {
	_, body := m.update()
	for _, c := range slices.Backward(list(body, "content")) {
		if str(c, "type") == kind {
			return c
		}
	}
	return nil
}

// kind returns the kind of the message, for reports.
func (m *message) kind() string {
	if kind, _ := m.update(); kind != "" {
		return kind
	}
	switch {
	case m.method != "":
		return m.method
	case m.err != nil:
		return m.err.String()
	default:
		return "response"
	}
}

// String returns a truncated message.
func (m *message) String() string {
	arrow := "<-"
	if m.sent {
		arrow = "->"
	}
	line := strings.ToValidUTF8(string(m.line[:min(len(m.line), shownLine)]), "\ufffd")
	if len(m.line) > shownLine {
		line += fmt.Sprintf("… (%d bytes)", len(m.line))
	}
	return fmt.Sprintf("%6.3fs %s %s", m.since.Seconds(), arrow, line)
}

// shownLine is the maximum length of a line in a report, in bytes.
const shownLine = 600

// at returns a part of a decoded value: strings select members, ints elements. It returns nil for a missing part.
func at(v any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			object, _ := v.(map[string]any)
			v = object[step]
		case int:
			list, _ := v.([]any)
			if step >= len(list) {
				return nil
			}
			v = list[step]
		}
	}
	return v
}

// str, list and has are like at: str returns a string, list an array, and has reports whether the part exists.
func str(v any, path ...any) string { s, _ := at(v, path...).(string); return s }
func list(v any, path ...any) []any { l, _ := at(v, path...).([]any); return l }

func has(v any, name string) bool {
	object, _ := v.(map[string]any)
	_, ok := object[name]
	return ok
}

// excerpt returns a truncated value.
func excerpt(v any) string {
	raw, err := jsonx.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%v", v)
	}
	const most = 120
	if len(raw) > most {
		return strings.ToValidUTF8(string(raw[:most]), "") + "…"
	}
	return string(raw)
}

// object is a JSON object that the suite sends.
type object = map[string]any

// with returns an object with an additional member.
func with(o object, name string, value any) object {
	more := maps.Clone(o)
	more[name] = value
	return more
}

// encode encodes a value of the suite, which cannot fail.
func encode(v any) []byte {
	raw, err := jsonx.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encoding %v: %v", v, err))
	}
	return raw
}
