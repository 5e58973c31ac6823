package headless

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// An answer is what fits; the fourth that does not ends the run.
func TestSchema_Take(t *testing.T) {
	s, err := newSchema([]byte(`{"type": "array", "items": {"$ref": "#/$defs/n"}, "$defs": {"n": {"type": "integer"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	failed := 0
	s.failed = func() { failed++ }
	for i, tt := range []struct{ input, left string }{
		{`{"answer": [1, "x"]}`, "3 corrections are left"}, {`{}`, "2 corrections are left"}, {`{"answer": 1}`, "1 corrections are left"},
	} {
		if err := s.take(jsonx.Raw(tt.input)); err == nil || !strings.Contains(err.Error(), tt.left) {
			t.Errorf("answer %d: %v", i, err)
		}
	}
	if answer, err := s.result(); answer != nil || err == nil || failed > 0 {
		t.Errorf("%s, %v, failed %d times", answer, err, failed)
	}
	if err := s.take(jsonx.Raw(`{"answer": [1, 2]}`)); err != nil {
		t.Error(err)
	}
	if answer, err := s.result(); string(answer) != "[1, 2]" || err != nil {
		t.Errorf("%s, %v", answer, err)
	}
	if err := s.take(jsonx.Raw(`{"answer": "late"}`)); err == nil || failed != 1 {
		t.Errorf("%v, failed %d times", err, failed)
	}
	// A call of the same answer that follows comes too late.
	if err := s.take(jsonx.Raw(`{"answer": [1, 2]}`)); err == nil || failed != 1 {
		t.Errorf("%v, failed %d times", err, failed)
	}
	if answer, err := s.result(); answer != nil || err == nil {
		t.Errorf("after a wrong answer: %s, %v", answer, err)
	}
	if s.again() {
		t.Error("asked again without corrections left")
	}
}

// The input of the tool is an object: the answer itself, or a member.
func TestSchema_Input(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"a":{"type":"string"}}}`: `{"type":"object","properties":{"a":{"type":"string"}}}`,
		`{"type":"integer"}`: `{"type":"object","properties":{"answer":{"type":"integer"}},"required":["answer"]}`,
		`true`:               `{"type":"object","properties":{"answer":true},"required":["answer"]}`,
	} {
		s, err := newSchema([]byte(schema))
		if err != nil {
			t.Errorf("%s: %v", schema, err)
		} else if string(s.input) != want {
			t.Errorf("%s: %s, want %s", schema, s.input, want)
		}
	}
	for _, bad := range []string{"", "x", "[]", `"object"`, `{"type": 7}`, `{"$ref": "#/$defs/none"}`, `{"$ref": "https://example.com/x"}`} {
		if _, err := newSchema([]byte(bad)); err == nil {
			t.Errorf("%s is a schema", bad)
		}
	}
	for _, loop := range []string{
		`{"$ref": "#"}`, `{"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}}}`,
		`{"type": "object", "properties": {"x": {"not": {"$ref": "#/properties/x"}}}}`, `{"$ref": "#name"}`,
	} {
		if _, err := newSchema([]byte(loop)); err == nil {
			t.Errorf("%s is accepted", loop)
		}
	}
	const tree = `{"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}}}`
	if s, err := newSchema([]byte(tree)); err != nil {
		t.Errorf("a tree: %v", err)
	} else if err := s.take(jsonx.Raw(`{"children": [{"children": []}, {}]}`)); err != nil {
		t.Errorf("a tree: %v", err)
	}
	large := filepath.Join(t.TempDir(), "large.json")
	if err := os.WriteFile(large, make([]byte, maxSchema+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadSchema(large); err == nil {
		t.Error("a large file is a schema")
	}
}

// Only a refusal of the schema, not any other error, is a reason to use the tool.
func TestSchemaRefused(t *testing.T) {
	for _, tt := range []struct {
		err     error
		why     string
		refused bool
	}{
		{nil, "", false},
		{errors.New("disconnected"), "", false},
		{&acp.Error{Code: -32603, Message: "m", Data: jsonx.Raw(`{"kind":"output_schema"}`)}, "", true},
		{fmt.Errorf("prompt: %w", &acp.Error{Code: -32603, Message: "m", Data: jsonx.Raw(`{"kind":"invalid_request"}`)}), "m", true},
		{&acp.Error{Code: -32603, Message: "m", Data: jsonx.Raw(`{"kind":"context_overflow"}`)}, "", false},
		{&acp.Error{Code: -32602, Message: "m"}, "", false},
	} {
		if why, refused := schemaRefused(tt.err); why != tt.why || refused != tt.refused {
			t.Errorf("%v: %q, %t", tt.err, why, refused)
		}
	}
}

func TestBare(t *testing.T) {
	for text, want := range map[string]string{
		" {\"a\":1}\n": `{"a":1}`, "```json\n{}\n```\n": "{}", "```\n[1]\n```": "[1]", "```": "", "": "",
		"{\"a\":\"```\"}": "{\"a\":\"```\"}",
	} {
		if got := bare(text); string(got) != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func FuzzSchema(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"string"}}}`, `{"a":"b"}`)
	f.Add(`{"$ref":"#/allOf/0","allOf":[{"$ref":"#"}]}`, `{}`)
	f.Add(`{"type":"array","items":{"enum":[1,2]}}`, `{"answer":[1]}`)
	f.Fuzz(func(t *testing.T, schema, input string) {
		s, err := newSchema([]byte(schema))
		if err != nil {
			return
		}
		s.failed = func() {}
		if err := s.take(jsonx.Raw(input)); err == nil {
			if answer, err := s.result(); err != nil || answer == nil && s.member == "" {
				t.Errorf("%q, %v", answer, err)
			}
		}
	})
}
