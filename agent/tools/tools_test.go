package tools_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/tools"
	"github.com/gajae-code/gjc/agent/tools/files"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/testenv"
)

var toolOrder = []string{"read", "write", "edit", "apply_patch", "undo", "notebook", "bash", "job", "eval", "search", "find", "ast_grep", "ast_edit", "resolve", "lsp", "debug", "todo_write", "goal", "ask", "present_plan", "task", "merge_changes", "search_tools", "web_fetch", "web_search", "ssh"}

func TestAll(t *testing.T) {
	var names []string
	for _, tool := range tools.All(toolstest.Settings()) {
		names = append(names, tool.Spec().Name)
	}
	if d := cmp.Diff(slices.DeleteFunc(slices.Clone(toolOrder), func(n string) bool { return n == "eval" && runtime.GOOS == "windows" }), names); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	for _, name := range toolOrder {
		if name == "eval" && runtime.GOOS == "windows" {
			continue
		}
		exclusive := name == "write" || name == "edit" || name == "apply_patch" || name == "undo" || name == "notebook" || name == "eval" || name == "ssh" || name == "bash" || name == "ast_edit" || name == "resolve" || name == "ask" || name == "present_plan" || name == "lsp" || name == "debug" || name == "merge_changes"
		if toolstest.Tool(t, name).Spec().Exclusive != exclusive {
			t.Errorf("%s: exclusive is %v", name, !exclusive)
		}
	}
}

// The text that a model receives is part of the product: a review must show every change to it.
func TestSpecs(t *testing.T) {
	for _, tool := range tools.All(toolstest.Settings()) {
		checkSpec(t, tool.Spec(), tool.Spec().Name)
	}
	for _, mode := range []files.EditMode{files.EditPatch, files.EditHashline} {
		for _, tool := range tools.All(&tools.Settings{Edit: files.EditSettings{Mode: mode}}) {
			if tool.Spec().Name == "edit" {
				checkSpec(t, tool.Spec(), "edit-"+string(mode))
			}
		}
	}
}

func checkSpec(t *testing.T, spec *agent.ToolSpec, golden string) {
	t.Helper()
	got := "name: " + spec.Name + "\nkind: " + string(spec.Kind) + "\n\n" + spec.Description + "\n\n" + indent(t, spec.Schema) + "\n"
	path := filepath.Join("testdata", "golden", golden+".txt")
	if testenv.Update() {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run the test with -update", err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s has changed (-golden +now; -update accepts it):\n%s", golden, d)
	}
	most := 2000
	if spec.Name == "debug" { // dozens of actions
		most = 3000
	}
	if n := len(spec.Description); n < 200 || n > most {
		t.Errorf("the description of %s has %d bytes", golden, n)
	}
}

func indent(t testing.TB, schema jsonx.Raw) string {
	t.Helper()
	raw := jsonx.Raw(bytes.Clone(schema))
	if err := raw.Indent(); err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// schema is the part of JSON Schema that every provider accepts.
type schema struct {
	Type        string            `json:"type"`
	Description string            `json:"description"`
	Properties  map[string]schema `json:"properties"`
	Required    []string          `json:"required"`
	Items       *schema           `json:"items"`
	// AdditionalProperties is false, or a schema.
	AdditionalProperties jsonx.Raw `json:"additionalProperties"`
}

// A schema must use nothing that one of the providers refuses: no references, no lists of types, no null.
func TestSchemasSuitEveryProvider(t *testing.T) {
	name := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	var check func(path string, s *schema)
	check = func(path string, s *schema) {
		switch s.Type {
		case "object":
			for n, p := range s.Properties {
				if !name.MatchString(n) {
					t.Errorf("%s: a property is called %q", path, n)
				}
				if p.Description == "" {
					t.Errorf("%s.%s has no description", path, n)
				}
				check(path+"."+n, &p)
			}
			for _, r := range s.Required {
				if _, ok := s.Properties[r]; !ok {
					t.Errorf("%s requires %q, which it does not have", path, r)
				}
			}
			if string(s.AdditionalProperties) == "false" {
				return
			}
			var values schema
			if err := jsonx.Unmarshal(s.AdditionalProperties, &values, jsonx.Strict()); err != nil || len(s.Properties) > 0 {
				t.Errorf("%s takes any member", path)
			}
		case "array":
			if s.Items == nil {
				t.Errorf("%s has no items", path)
				return
			}
			check(path+"[]", s.Items)
		case "string", "number", "integer", "boolean":
		default:
			t.Errorf("%s has the type %q", path, s.Type)
		}
	}
	for _, tool := range tools.All(toolstest.Settings()) {
		spec := tool.Spec()
		var s schema
		if err := jsonx.Unmarshal(spec.Schema, &s, jsonx.Strict()); err != nil {
			t.Errorf("%s: %v: %s", spec.Name, err, spec.Schema)
			continue
		}
		if s.Type != "object" || !name.MatchString(spec.Name) {
			t.Errorf("%s: type %q", spec.Name, s.Type)
		}
		check(spec.Name, &s)
	}
}

// Descriptions must state the limits that the code enforces.
func TestDescriptionsNameTheLimits(t *testing.T) {
	for name, limits := range map[string][]string{
		"read":   {"300 lines", "3,000 lines", "50 KiB", "768 characters", "12 entries", "20 MB"},
		"bash":   {"300 by default", "1 to 3600", "20 KiB", "50 KiB"},
		"search": {"20 files", "20 matches", "200", "4 MiB", "on disk"},
		"find":   {"1000", "5, from 0.5 to 60"},
	} {
		text := strings.Join(strings.Fields(toolstest.Tool(t, name).Spec().Description), " ")
		for _, limit := range limits {
			if !strings.Contains(text, limit) {
				t.Errorf("the description of %s does not say %q", name, limit)
			}
		}
	}
}

func FuzzInputs(f *testing.F) {
	for _, s := range []string{`{}`, `null`, `[]`, `{"path":"x"}`, `{"path":1}`, `{"paths":[""]}`, `{"pattern":"("}`, `{"todos":[{}]}`, `{"path":"x","path":"y"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		w := fuzzWorld(t)
		for _, tool := range tools.All(toolstest.Settings()) {
			// Any input results in a plan or an error, never in a panic.
			p, err := tool.Plan(t.Context(), w.Call(t, tool.Spec().Name, in))
			if err == nil && p == nil {
				t.Errorf("%s: neither a plan nor an error", tool.Spec().Name)
			}
		}
	})
}
