package conformance

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// A message is one line of either direction.
type message struct {
	// index is its place in the transcript.
	index int
	since time.Duration // since the agent's start
	sent  bool          // by the suite
	line  []byte        // without its newline
	// fault says why the line is no JSON-RPC message; the members below are what could be read of it.
	fault string

	value  map[string]any
	id     string // as it was written; "" for none
	method string
	params any
	result any
	err    *rpcError
	// hasResult tells a null result from none.
	hasResult bool
}

// rpcError is the error of a response.
type rpcError struct {
	code    float64
	message string
	data    any
}

func (e *rpcError) String() string { return fmt.Sprintf("error %d (%s)", int(e.code), e.message) }

// readMessage reads a line leniently.
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

// session returns the session that a message is about.
func (m *message) session() string { return str(m.params, "sessionId") }

// update returns the kind and the body of a session/update, or "".
func (m *message) update() (string, any) {
	if m.method != "session/update" {
		return "", nil
	}
	u := at(m.params, "update")
	return str(u, "sessionUpdate"), u
}

// kind returns what a message is, for people.
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

// String shows a message, bounded.
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

// shownLine is how much of a line a report shows, in bytes.
const shownLine = 600

// at walks into a decoded value: strings are members, ints are elements. What is not there is nil.
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

// str, list and has are at for a string, an array and presence.
func str(v any, path ...any) string { s, _ := at(v, path...).(string); return s }
func list(v any, path ...any) []any { l, _ := at(v, path...).([]any); return l }

func has(v any, name string) bool {
	object, _ := v.(map[string]any)
	_, ok := object[name]
	return ok
}

// excerpt shows a value, bounded.
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

// encode is for values that the suite makes itself, which can always be encoded.
func encode(v any) []byte {
	raw, err := jsonx.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encoding %v: %v", v, err))
	}
	return raw
}
