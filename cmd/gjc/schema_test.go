package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/gajae-code/gjc/cmd/gjc/internal/config"
	"github.com/gajae-code/gjc/cmd/gjc/internal/mcpfiles"
	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/testenv"
)

// The published schemas are those of the program. -update rewrites them.
func TestSchemas_Published(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(testenv.ModuleRoot(t), "docs", "schemas")
	entries, err := os.ReadDir(dir)
	if err != nil && !testenv.Update() {
		t.Fatal(err)
	}
	var files []string
	for _, e := range entries {
		files = append(files, strings.TrimSuffix(e.Name(), ".json"))
	}
	for name := range schemas() {
		s, _ := schemaOf(name)
		path, text := filepath.Join(dir, name+".json"), schemaText(s)
		if testenv.Update() {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, text, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if published, err := os.ReadFile(path); err != nil || !bytes.Equal(published, text) {
			t.Errorf("%s is not what gjc schema %s prints (%v); run ./task docs", path, name, err)
		}
		if !slices.Contains(files, name) {
			t.Errorf("%s is not published", name)
		}
	}
	if !testenv.Update() && len(files) != len(schemas()) {
		t.Errorf("files %q of %d schemas", files, len(schemas()))
	}
}

// Each field of a schema has a description, so that editors can show it.
func TestSchemas_Described(t *testing.T) {
	t.Parallel()
	for name, of := range schemas() {
		s := of()
		if items, ok := s["items"].(configfile.JSONSchema); ok {
			s = items
		}
		for field, of := range s["properties"].(map[string]configfile.JSONSchema) {
			inner, _ := of["properties"].(map[string]configfile.JSONSchema)
			if of["description"] == nil && len(inner) == 0 && field != "$schema" && name != "hooks" {
				t.Errorf("%s: %s has no description", name, field)
			}
			for key, of := range inner {
				if of["description"] == nil && name == "config" {
					t.Errorf("%s: %s.%s has no description", name, field, key)
				}
			}
		}
	}
}

// The examples in documents fit the schemas, and mistakes in them do not.
func TestSchemas_Examples(t *testing.T) {
	t.Parallel()
	resolved := make(map[string]*jsonschema.Resolved)
	for name := range schemas() {
		s, _ := schemaOf(name)
		var parsed jsonschema.Schema
		if err := json.Unmarshal(schemaText(s), &parsed); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var err error
		if resolved[name], err = parsed.Resolve(nil); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	examples := make(map[string]int)
	guides(t, func(path, text string) {
		for _, m := range fence.FindAllStringSubmatch(text, -1) {
			parse := configfile.ParseYAML
			switch m[1] {
			case "yaml":
			case "json":
				parse = configfile.ParseJSON
			default:
				continue
			}
			n, err := parse([]byte(m[2]))
			if err != nil || n == nil {
				continue
			}
			name := fileOf(n)
			if name == "" {
				continue
			}
			examples[name]++
			var value any
			if err := json.Unmarshal(n.JSON(), &value); err != nil {
				t.Fatal(err)
			}
			if err := resolved[name].Validate(value); err != nil {
				t.Errorf("%s: the example of %s does not fit: %v\n%s", path, name, err, m[2])
			}
		}
	})
	for name := range schemas() {
		if examples[name] == 0 {
			t.Errorf("the documents have no example of %s", name)
		}
	}
	for name, bad := range map[string]string{
		"config":  `{"lsp": {"enabled": "yes"}}`,
		"models":  `{"providers": {"x": {"models": [{"name": "no id"}]}}}`,
		"mcp":     `{"mcpServers": {"x": {"comand": "y"}}}`,
		"hooks":   `{"hooks": [{"event": "never", "command": ["x"]}]}`,
		"secrets": `[{"type": "plain"}]`,
		"lsp":     `{"servers": {"x": {"fileTypes": []}}}`,
		"dap":     `{"adapters": {"x": {"connectMode": "telepathy"}}}`,

		"extension":          `{"command": ["x"], "events": ["never"]}`,
		"extension-protocol": `{"jsonrpc": "1.0"}`,
		"plugins":            `{"plugins": [{"marketplace": "x"}]}`,
		"plugin":             `{"name": "x", "commands": 1}`,
	} {
		var value any
		if err := json.Unmarshal([]byte(bad), &value); err != nil {
			t.Fatal(err)
		}
		if resolved[name].Validate(value) == nil {
			t.Errorf("%s: %s fits", name, bad)
		}
	}
}

// fileOf returns the name of the configuration file that an example is of, or "".
func fileOf(n *configfile.Node) string {
	if n.Kind == configfile.List && len(n.List) > 0 && n.List[0].Member("content") != nil {
		return "secrets"
	}
	for _, known := range []struct{ name, member string }{
		{"lsp", "servers"}, {"dap", "adapters"}, {"mcp", "mcpServers"}, {"hooks", "hooks"}, {"models", "providers"}, {"models", "profiles"}, {"models", "fallbacks"}, {"models", "equivalence"}, {"models", "modelBindings"}, {"extension", "blocking"}, {"extension-protocol", "jsonrpc"}, {"plugins", "plugins"},
	} {
		if n.Member(known.member) != nil {
			return known.name
		}
	}
	if n.Member("name") != nil && n.Member("skills") != nil {
		return "plugin"
	}
	for _, key := range config.Keys() {
		if section, _, _ := strings.Cut(key.Name, "."); n.Member(section) != nil {
			return "config"
		}
	}
	return ""
}

// The fields of mcp.json that gjc reads are those of the schema. The field auth is in none, since it has no effect.
func TestSchemas_MCPFields(t *testing.T) {
	t.Parallel()
	s := mcpfiles.Schema()
	servers := s["properties"].(map[string]configfile.JSONSchema)["mcpServers"]
	fields := sortedKeys(servers["additionalProperties"].(configfile.JSONSchema)["properties"].(map[string]configfile.JSONSchema))
	for _, name := range fields {
		path := filepath.Join(t.TempDir(), "mcp.json")
		writeFile(t, path, `{"mcpServers": {"x": {"`+name+`": {}}}}`)
		if _, err := mcpfiles.NewSource(mcpfiles.Options{AgentDir: filepath.Dir(path), Getenv: os.Getenv}).Servers(t.Context()); err == nil || strings.Contains(err.Error(), "unknown field") {
			t.Errorf("%s: %v", name, err)
		}
	}
	path := filepath.Join(t.TempDir(), "mcp.json")
	writeFile(t, path, `{"mcpServers": {"x": {"?": 1}}}`)
	_, err := mcpfiles.NewSource(mcpfiles.Options{AgentDir: filepath.Dir(path), Getenv: os.Getenv}).Servers(t.Context())
	_, list, _ := strings.Cut(err.Error(), "the fields are ")
	list, _, _ = strings.Cut(list, ";")
	known := slices.DeleteFunc(strings.Split(list, ", "), func(name string) bool { return name == "auth" })
	if d := cmp.Diff(known, fields); d != "" {
		t.Errorf("fields (-read +schema):\n%s", d)
	}
}
