package configfile

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// SetYAML changes one value and nothing else: comments, order, quotes, blank lines and line ends stay.
func TestSetYAML(t *testing.T) {
	for _, tt := range []struct{ name, before, path, value, after string }{
		{"empty file", "", "lsp.enabled", "false", "lsp:\n  enabled: false\n"},
		{"only comments", "# mine\n", "lsp.enabled", "false", "# mine\nlsp:\n  enabled: false\n"},
		{"replaces", "retry:\n  maxRetries: 5 # enough\n  enabled: true\n", "retry.maxRetries", "7", "retry:\n  maxRetries: 7 # enough\n  enabled: true\n"},
		{"aligned", "retry:\n  maxRetries:   5\n", "retry.maxRetries", "7", "retry:\n  maxRetries:   7\n"},
		{"adds to a section", "# top\nretry:\n    # why\n    maxRetries: 5\n\n# next\nlsp:\n    enabled: true\n", "retry.enabled", "false", "# top\nretry:\n    # why\n    maxRetries: 5\n    enabled: false\n\n# next\nlsp:\n    enabled: true\n"},
		{"adds a section", "lsp:\n  enabled: true\n# end\n", "retry.enabled", "false", "lsp:\n  enabled: true\nretry:\n  enabled: false\n# end\n"},
		{"without an end of line", "a: 1", "b", "2", "a: 1\nb: 2\n"},
		{"a section without a value", "lsp: # later\nretry: {}\n", "lsp.enabled", "true", "lsp: # later\n  enabled: true\nretry: {}\n"},
		{"a section that is null", "lsp: null # later\n", "lsp.enabled", "true", "lsp: # later\n  enabled: true\n"},
		{"flow", "retry: {maxRetries: 5, enabled: true} # r\n", "retry.maxRetries", "7", "retry: {maxRetries: 7, enabled: true} # r\n"},
		{"adds to flow", "retry: { maxRetries: 5 }\n", "retry.enabled", "false", "retry: { maxRetries: 5, enabled: false }\n"},
		{"adds to empty flow", "retry: {}\n", "retry.enabled", "false", "retry: {enabled: false}\n"},
		{"flow of several lines", "retry: {\n  maxRetries: 5, # five\n  enabled: true,\n}\nx: 1\n", "retry.baseDelayMs", "9", "retry: {\n  maxRetries: 5, # five\n  enabled: true, baseDelayMs: 9\n}\nx: 1\n"},
		{"JSON", "{\"lsp\": {\"enabled\": true}, \"x\": [1, \"}\"]}\n", "lsp.enabled", "false", "{\"lsp\": {\"enabled\": false}, \"x\": [1, \"}\"]}\n"},
		{"JSON without the section", "{\"x\": 1}\n", "lsp.enabled", "false", "{\"x\": 1, lsp: {enabled: false}}\n"},
		{"a list in lines", "permissions:\n  allow:\n    - bash(ls)\n    # and\n    - edit\n  # rest\n  deny: [x]\n", "permissions.allow", "[read]", "permissions:\n  allow: [read]\n  # rest\n  deny: [x]\n"},
		{"a list at the key's column", "list:\n- a\n- b\nnext: 1\n", "list", "[c]", "list: [c]\nnext: 1\n"},
		{"a block of text", "instructions: |\n  Be short.\n\n  # not a comment\n  End.\nlsp: {}\n", "instructions", `"New"`, "instructions: New\nlsp: {}\n"},
		{"quoted keys", "\"lsp\":\n  'enabled': \"x # y\" # z\n", "lsp.enabled", "true", "\"lsp\":\n  'enabled': true # z\n"},
		{"the same key deeper", "a:\n  lsp:\n    enabled: 1\nlsp:\n  enabled: 2\n", "lsp.enabled", "3", "a:\n  lsp:\n    enabled: 1\nlsp:\n  enabled: 3\n"},
		{"Windows", "a: 1\r\nlsp:\r\n  enabled: true\r\n", "lsp.formatOnWrite", "true", "a: 1\r\nlsp:\r\n  enabled: true\r\n  formatOnWrite: true\r\n"},
		{"a mark", "\ufefflsp: {enabled: true}\n", "lsp.enabled", "false", "\ufefflsp: {enabled: false}\n"},
		{"a document's start", "---\n# c\nlsp:\n  enabled: true\n", "lsp.enabled", "false", "---\n# c\nlsp:\n  enabled: false\n"},
		{"names with marks", "modelRoles:\n  a.b: x\n", "modelRoles.my role", "x/y", "modelRoles:\n  a.b: x\n  my role: x/y\n"},
	} {
		got, err := SetYAML([]byte(tt.before), strings.Split(tt.path, "."), yamlOf(t, tt.value))
		if d := cmp.Diff(tt.after, string(got)); d != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", tt.name, err, d)
		}
	}
}

// A form that cannot be changed in place is refused, and a file that is not YAML is an error with its line.
func TestSetYAML_Refuses(t *testing.T) {
	for _, tt := range []struct{ before, path, value string }{
		{"base: &b {enabled: true}\nlsp: *b\n", "lsp.enabled", "false"},
		{"lsp: on\n", "lsp.enabled", "false"},
		{"- a\n- b\n", "lsp.enabled", "false"},
	} {
		if got, err := SetYAML([]byte(tt.before), strings.Split(tt.path, "."), yamlOf(t, tt.value)); !errors.Is(err, errEdit) {
			t.Errorf("%q became %q, %v", tt.before, got, err)
		}
	}
	if got, err := SetYAML([]byte("b: 1\na: ["), []string{"a"}, yamlOf(t, "1")); err == nil || errors.Is(err, errEdit) {
		t.Errorf("a broken file became %q, %v", got, err)
	}
}

// FuzzSetYAML checks that a change keeps every comment line outside of the value, and changes nothing else.
func FuzzSetYAML(f *testing.F) {
	f.Add("retry:\n  maxRetries: 5 # enough\n# end\n", "retry", "maxRetries", "7")
	f.Add("{a: {b: [1, {c: '}'}]}}", "a", "b", "x")
	f.Add("a: |\n  text\n # c\nb: &x 1\nc: *x\n", "a", "b", "2")
	f.Fuzz(func(t *testing.T, text, section, name, value string) {
		want, err := ParseYAML([]byte(value))
		if err != nil || want == nil {
			return
		}
		got, err := SetYAML([]byte(text), []string{section, name}, want)
		if err != nil {
			return
		}
		before, _ := ParseYAML([]byte(text))
		after, err := ParseYAML(got)
		if err != nil {
			t.Fatalf("%q is no YAML: %v", got, err)
		}
		if !bytes.Equal(with(before, []string{section, name}, want).JSON(), after.JSON()) {
			t.Fatalf("%q became %q", text, got)
		}
		again, err := SetYAML(got, []string{section, name}, want)
		if err == nil && !bytes.Equal(again, got) {
			t.Fatalf("the same change again makes %q of %q", again, got)
		}
	})
}

func yamlOf(t *testing.T, text string) *Node {
	t.Helper()
	n, err := ParseYAML([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// SetJSONC keeps the comments and the style of an editor's settings.
func TestSetJSONC(t *testing.T) {
	value := yamlOf(t, `{command: /bin/gjc, args: [acp]}`)
	const added = `{"command":"/bin/gjc","args":["acp"]}`
	for _, tt := range []struct{ name, before, after string }{
		{"empty", "", "{\"agents\": {\"gjc\": " + added + "}}\n"},
		{"only a comment", "// mine\n", "// mine\n{\"agents\": {\"gjc\": " + added + "}}\n"},
		{"an empty object", "{}", "{\"agents\": {\"gjc\": " + added + "}}"},
		{"lines", "{\n  // theme\n  \"theme\": \"a // b\" // dark\n}\n", "{\n  // theme\n  \"theme\": \"a // b\", // dark\n  \"agents\": {\"gjc\": " + added + "}\n}\n"},
		{"a trailing comma", "{\n\t\"a\": 1, /* x */\n}\n", "{\n\t\"a\": 1, /* x */\n\t\"agents\": {\"gjc\": " + added + "},\n}\n"},
		{"Windows", "{\r\n  \"a\": 1\r\n}\r\n", "{\r\n  \"a\": 1,\r\n  \"agents\": {\"gjc\": " + added + "}\r\n}\r\n"},
		{"another agent", "{\n  \"agents\": {\n    \"x\": {}, // other\n  },\n}\n", "{\n  \"agents\": {\n    \"x\": {}, // other\n    \"gjc\": " + added + ",\n  },\n}\n"},
		{"replaces", "{\"agents\": {\"gjc\": {\"command\": \"old\"} /* mine */, \"x\": 1}}", "{\"agents\": {\"gjc\": " + added + " /* mine */, \"x\": 1}}"},
	} {
		got, err := SetJSONC([]byte(tt.before), []string{"agents", "gjc"}, value)
		if d := cmp.Diff(tt.after, string(got)); d != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", tt.name, err, d)
		}
	}
	for _, text := range []string{"[1]", `{"agents": 1}`} {
		if got, err := SetJSONC([]byte(text), []string{"agents", "gjc"}, value); !errors.Is(err, errEdit) {
			t.Errorf("%s became %s, %v", text, got, err)
		}
	}
	if _, err := SetJSONC([]byte("{\n  \"a\": \n}"), []string{"agents"}, value); err == nil || errors.Is(err, errEdit) {
		t.Errorf("a broken file: %v", err)
	}
}

// FuzzSetJSONC checks that a change changes nothing else.
func FuzzSetJSONC(f *testing.F) {
	f.Add("{\n  // c\n  \"a\": {\"b\": [1, \"}\"]}, /* d */\n}", "a", "c")
	f.Add("{\"a\": 1} // end", "b", "c")
	f.Fuzz(func(t *testing.T, text, section, name string) {
		value := &Node{Kind: Text, Text: "new"}
		got, err := SetJSONC([]byte(text), []string{section, name}, value)
		if err != nil {
			return
		}
		before, _ := ParseJSONC([]byte(text))
		after, err := ParseJSONC(got)
		if err != nil || !bytes.Equal(with(before, []string{section, name}, value).JSON(), after.JSON()) {
			t.Fatalf("%q became %q, %v", text, got, err)
		}
	})
}

// RemoveJSONC removes one member and nothing else: with its line if it has one of its own, and with the comma that is left over.
func TestRemoveJSONC(t *testing.T) {
	for _, tt := range []struct{ name, before, path, after string }{
		{"alone", `{"s": {"a": 1}}`, "s.a", `{"s": {}}`},
		{"first", `{"s": {"a": 1, "b": 2}}`, "s.a", `{"s": {"b": 2}}`},
		{"last", `{"s": {"a": 1, "b": 2}}`, "s.b", `{"s": {"a": 1  }}`},
		{"lines", "{\n  // s\n  \"s\": {\n    \"a\": {\"x\": [1, \"}\"]}, // a\n    // b\n    \"b\": 2\n  }\n}\n", "s.a", "{\n  // s\n  \"s\": {\n    // b\n    \"b\": 2\n  }\n}\n"},
		{"the last line", "{\n  \"s\": {\n    \"a\": 1,\n    \"b\": 2\n  }\n}\n", "s.b", "{\n  \"s\": {\n    \"a\": 1\n  }\n}\n"},
		{"a trailing comma", "{\n  \"s\": {\n    \"a\": 1,\n    \"b\": 2,\n  }\n}\n", "s.b", "{\n  \"s\": {\n    \"a\": 1,\n  }\n}\n"},
		{"Windows", "{\r\n \"a\": 1,\r\n \"b\": 2\r\n}\r\n", "a", "{\r\n \"b\": 2\r\n}\r\n"},
	} {
		got, was, err := RemoveJSONC([]byte(tt.before), strings.Split(tt.path, "."))
		if d := cmp.Diff(tt.after, string(got)); d != "" || err != nil || !was {
			t.Errorf("%s: %v, %v (-want +got):\n%s", tt.name, was, err, d)
		}
	}
	for _, path := range []string{"x", "s.x", "s.a.x"} {
		if got, was, err := RemoveJSONC([]byte(`{"s": {"a": 1}}`), strings.Split(path, ".")); was || err != nil || string(got) != `{"s": {"a": 1}}` {
			t.Errorf("%s: %s, %v, %v", path, got, was, err)
		}
	}
	if _, _, err := RemoveJSONC([]byte(`{"s"`), []string{"s"}); err == nil {
		t.Error("a broken file is no error")
	}
}
