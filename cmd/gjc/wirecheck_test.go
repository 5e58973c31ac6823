package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/gajae-code/gjc/internal/testenv"
)

// wireCheck validates every message from gjc against the official schema and the protocol's rules of order. Its methods
// may be called from any goroutine.
type wireCheck struct {
	t      testing.TB
	schema *wireSchema // nil if "npm ci" has not been run

	mu sync.Mutex // guards the fields below
	// asked holds the methods of the editor's open requests, by their IDs.
	asked map[string]asked
	// checked counts validated messages, by method, kind of update, or "error".
	checked map[string]int
	rules   rules
}

// asked is a request from the editor.
type asked struct {
	method    string
	SessionID string `json:"sessionId"`
	// ClientCapabilities are those of initialize.
	ClientCapabilities capabilities `json:"clientCapabilities"`
}

// envelope is a message of either side.
type envelope struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

func newWireCheck(t testing.TB) *wireCheck {
	t.Helper()
	schema, err := loadWireSchema(testenv.ModuleRoot(t))
	if err != nil {
		t.Fatal(err)
	}
	return &wireCheck{t: t, schema: schema, asked: make(map[string]asked), checked: make(map[string]int), rules: newRules()}
}

// trace is an acptest editor's Trace.
func (c *wireCheck) trace(sent bool, line []byte) {
	if sent {
		c.sent(line)
	} else {
		c.received(line)
	}
}

// sent records a message from the editor, which may be invalid.
func (c *wireCheck) sent(line []byte) {
	var m envelope
	if json.Unmarshal(line, &m) != nil || m.Method == "" {
		return
	}
	a := asked{method: m.Method}
	_ = json.Unmarshal(m.Params, &a) // it may be anything
	c.mu.Lock()
	defer c.mu.Unlock()
	if m.ID != nil {
		c.asked[string(m.ID)] = a
	}
	c.rules.asks(a)
}

// received checks one line from gjc.
func (c *wireCheck) received(line []byte) {
	if err := c.examine(line); err != nil {
		c.t.Errorf("%v\nin %s", err, shorten(line))
	}
}

func shorten(line []byte) string {
	if len(line) > 2000 {
		return string(line[:2000]) + "…"
	}
	return string(line)
}

func (c *wireCheck) examine(line []byte) error {
	var m envelope
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&m); err != nil {
		return fmt.Errorf("not a message: %w", err)
	}
	if m.JSONRPC != "2.0" {
		return fmt.Errorf("jsonrpc is %q", m.JSONRPC)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case m.Method != "" && m.ID != nil:
		if err := c.validate(m.Method, c.schema.of("request", m.Method), m.Params); err != nil {
			return err
		}
		return c.rules.request(m.Method, m.Params)
	case m.Method != "":
		kind := m.Method
		if m.Method == "session/update" {
			kind = updateKind(m.Params)
		}
		if err := c.validate(kind, c.schema.of("notification", m.Method), m.Params); err != nil {
			return err
		}
		return c.rules.notification(m.Method, m.Params)
	case m.ID == nil:
		return fmt.Errorf("a response without an id")
	case (m.Result == nil) == (m.Error == nil):
		return fmt.Errorf("a response needs either a result or an error")
	}
	a, known := c.asked[string(m.ID)]
	delete(c.asked, string(m.ID))
	if m.Error != nil {
		if err := c.validate("error", c.schema.of("error", ""), m.Error); err != nil {
			return err
		}
		if bytes.Contains(m.Error, []byte("the agent's answer will not come")) {
			c.rules.session(a.SessionID).cut = true
		}
		return c.rules.answered(a, nil)
	}
	if !known {
		return fmt.Errorf("a result that nobody has asked for")
	}
	if err := c.validate(a.method, c.schema.of("response", a.method), m.Result); err != nil {
		return err
	}
	return c.rules.answered(a, m.Result)
}

func updateKind(params json.RawMessage) string {
	var n struct {
		Update struct {
			SessionUpdate string `json:"sessionUpdate"`
		} `json:"update"`
	}
	_ = json.Unmarshal(params, &n) // the schema reports what is wrong with it
	return n.Update.SessionUpdate
}

// validate validates a value against a schema. The caller holds c.mu.
func (c *wireCheck) validate(what string, schema *jsonschema.Schema, value json.RawMessage) error {
	if c.schema == nil || strings.HasPrefix(what, "_") {
		return nil
	}
	if schema == nil {
		return fmt.Errorf("the protocol knows no %s", what)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if err := schema.Validate(v); err != nil {
		return fmt.Errorf("%s does not fit the schema: %w", what, err)
	}
	c.checked[what]++
	return nil
}

// seen returns the number of validated messages of a kind.
func (c *wireCheck) seen(kind string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.checked[kind]
}

// replay checks the lines of a file written by --rpc-log.
func (c *wireCheck) replay(path string) {
	c.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		c.t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		_, rest, ok := strings.Cut(line, " ")
		direction, text, ok2 := strings.Cut(rest, " ")
		if !ok || !ok2 || (direction != "<" && direction != ">") {
			c.t.Errorf("not a line of a message log: %.200q", line)
			continue
		}
		c.trace(direction == "<", []byte(text))
	}
}

// wireSchema is the official schema with its unstable parts, all objects closed: an unknown member is an error, since
// strict clients reject it. The rules check that unstable messages go only to clients that have asked for them.
type wireSchema struct {
	byMethod map[[2]string]*jsonschema.Schema
}

func (s *wireSchema) of(kind, method string) *jsonschema.Schema {
	if s == nil {
		return nil
	}
	return s.byMethod[[2]string{kind, method}]
}

// loadWireSchema reads and compiles the schema once; it is safe for concurrent use.
var loadWireSchema = func() func(root string) (*wireSchema, error) {
	var once sync.Once
	var schema *wireSchema
	var err error
	return func(root string) (*wireSchema, error) {
		once.Do(func() {
			path := filepath.Join(root, "testdata", "interop", "node_modules", "@agentclientprotocol", "sdk", "schema", "v1", "schema.unstable.json")
			var data []byte
			if data, err = os.ReadFile(path); os.IsNotExist(err) {
				err = nil // tests about the schema skip; the others continue without it
				return
			}
			if err == nil {
				schema, err = compileWireSchema(data)
			}
		})
		return schema, err
	}
}()

func compileWireSchema(data []byte) (*wireSchema, error) {
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	doc := parsed.(map[string]any)
	defs := doc["$defs"].(map[string]any)
	for _, def := range defs {
		closeMembers(defs, def)
	}
	s := &wireSchema{byMethod: make(map[[2]string]*jsonschema.Schema)}
	compiler := jsonschema.NewCompiler()
	roots := map[[2]string]string{{"error", ""}: "Error"}
	for name, def := range defs {
		method, _ := def.(map[string]any)["x-method"].(string)
		for _, kind := range []string{"Request", "Response", "Notification"} {
			if method != "" && strings.HasSuffix(name, kind) {
				roots[[2]string{strings.ToLower(kind), method}] = name
			}
		}
	}
	for _, name := range roots {
		defs["closed"+name] = closed(map[string]any{"$ref": "#/$defs/" + name})
	}
	if err := compiler.AddResource("acp.json", doc); err != nil {
		return nil, err
	}
	for key, name := range roots {
		if s.byMethod[key], err = compiler.Compile("acp.json#/$defs/closed" + name); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func closed(schema any) map[string]any {
	return map[string]any{"allOf": []any{schema}, "unevaluatedProperties": false}
}

// closeMembers closes the objects at every place of schema where a value occurs. The objects are not closed where they
// are defined, because definitions are combined.
func closeMembers(defs map[string]any, schema any) {
	switch s := schema.(type) {
	case []any:
		for _, e := range s {
			closeMembers(defs, e)
		}
	case map[string]any:
		for key, value := range s {
			closeMembers(defs, value)
			switch key {
			case "properties":
				members := value.(map[string]any)
				for name, member := range members {
					if hasMembers(defs, member, nil) {
						members[name] = closed(member)
					}
				}
			case "items", "additionalProperties":
				if hasMembers(defs, value, nil) {
					s[key] = closed(value)
				}
			}
		}
	}
}

// hasMembers reports whether a schema, including its references, names members. A schema that names none accepts all.
func hasMembers(defs map[string]any, schema any, path []string) bool {
	s, ok := schema.(map[string]any)
	if !ok {
		return false
	}
	if _, ok := s["properties"]; ok {
		return true
	}
	if ref, ok := s["$ref"].(string); ok {
		name := strings.TrimPrefix(ref, "#/$defs/")
		if slices.Contains(path, name) {
			return false
		}
		if hasMembers(defs, defs[name], append(path, name)) {
			return true
		}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		branches, _ := s[key].([]any)
		for _, b := range branches {
			if hasMembers(defs, b, path) {
				return true
			}
		}
	}
	return false
}

// If the check accepted everything, every other test in this directory would pass.
func TestWireCheck(t *testing.T) {
	testenv.NeedsInterop(t)
	ask := func(c *wireCheck) {
		c.sent([]byte(`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{}}`))
		c.sent([]byte(`{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s"}}`))
	}
	const known = `{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}`
	update := func(u string) string {
		return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":` + u + `}}`
	}
	const call = `{"sessionUpdate":"tool_call","toolCallId":"t","title":"x","status":"pending"}`
	tests := []struct {
		name  string
		lines []string
		want  string // what the complaint about the last line contains; empty for none
	}{
		{"result", []string{known}, ""},
		{"update", []string{known, update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}`)}, ""},
		{"missing member", []string{`{"jsonrpc":"2.0","id":1,"result":{}}`}, "sessionId"},
		{"wrong version", []string{`{"jsonrpc":"1.0","id":1,"result":{"sessionId":"s"}}`}, "jsonrpc"},
		{"member of our own", []string{`{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s","gjc":1}}`}, "gjc"},
		{"member at the root", []string{`{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"},"gjc":1}`}, "gjc"},
		{"meta", []string{`{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s","_meta":{"gjc":1}}}`}, ""},
		{"deep member of our own", []string{known, update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x","gjc":1}}`)}, "gjc"},
		{"unknown update", []string{known, update(`{"sessionUpdate":"gjc"}`)}, "schema"},
		{"malformed unstable update", []string{known, update(`{"sessionUpdate":"plan_removed","id":"x"}`)}, "schema"},
		{"update that was not asked for", []string{known, update(`{"sessionUpdate":"plan_removed","planId":"x"}`)}, "was not advertised"},
		{"notice that was not asked for", []string{known, update(`{"sessionUpdate":"notice","severity":"info","title":"x"}`)}, "was not advertised"},
		{"bad enum", []string{known, update(`{"sessionUpdate":"plan","entries":[{"content":"x","priority":"urgent","status":"pending"}]}`)}, "schema"},
		{"raw input", []string{known, update(`{"sessionUpdate":"tool_call","toolCallId":"t","title":"x","rawInput":{"any":{"thing":1}}}`)}, ""},
		{"unknown method", []string{`{"jsonrpc":"2.0","method":"gjc/x","params":{}}`}, "gjc/x"},
		{"extension", []string{`{"jsonrpc":"2.0","method":"_gjc/x","params":{}}`}, ""},
		{"error", []string{`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"x"}}`}, ""},
		{"error without text", []string{`{"jsonrpc":"2.0","id":1,"error":{"code":-32602}}`}, "message"},
		{"both", []string{`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"x"},"result":{}}`}, "either"},
		{"nobody asked", []string{`{"jsonrpc":"2.0","id":7,"result":{}}`}, "nobody"},
		{"answered twice", []string{known, known}, "nobody"},
		{"update before its session", []string{`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"new","update":{"sessionUpdate":"current_mode_update","currentModeId":"x"}}}`}, "not know"},
		{"update of an unknown call", []string{known, update(`{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed"}`)}, "tool call"},
		{"call left open", []string{known, update(call), `{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}`}, "left open"},
		{"call ended", []string{
			known, update(call), update(`{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"failed"}`),
			`{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}`,
		}, ""},
		{"words after the turn", []string{
			known, `{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}`,
			update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}`),
		}, "no turn"},
		{"title after the turn", []string{
			known, `{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}`,
			update(`{"sessionUpdate":"session_info_update","title":"x"}`),
		}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newWireCheck(t)
			ask(c)
			var err error
			for _, line := range tt.lines {
				if err != nil {
					t.Fatalf("too early: %v", err)
				}
				err = c.examine([]byte(line))
			}
			if tt.want == "" && err != nil {
				t.Errorf("complains: %v", err)
			}
			if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want a complaint about %q", err, tt.want)
			}
		})
	}
}
