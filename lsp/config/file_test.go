package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// fields returns a file's servers as JSON, for comparison.
func fields(f *configfile.File) map[string]map[string]string {
	all := make(map[string]map[string]string)
	for _, s := range f.Entries {
		all[s.Name] = make(map[string]string)
		for name, v := range s.Fields {
			all[s.Name][name] = jsonText(v)
		}
	}
	return all
}

// jsonText returns a value as JSON, also for null.
func jsonText(v configfile.Value) string {
	if v.Kind == configfile.Null {
		return "null"
	}
	return string(v.JSON())
}

// TestParse checks that a problem has its line and a suggestion, and that the rest of the file is used.
func TestParse(t *testing.T) {
	type all = map[string]map[string]string
	for _, tt := range []struct {
		name, file, text string
		want             all
		idle             string
		problems         []string
	}{
		{"wrapped", "lsp.json", `{"servers": {"gopls": {"args": ["-v"]}}, "idleTimeoutMs": 300000}`, all{"gopls": {"args": `["-v"]`}}, "5m0s", nil},
		{"flat", "lsp.json", `{"gopls": {"disabled": true}, "idleTimeoutMs": 0, "$schema": "x"}`, all{"gopls": {"disabled": "true"}}, "0s", nil},
		{
			"YAML", "lsp.yaml", "servers:\n  gopls:\n    settings:\n      gopls: {gofumpt: false, n: 1.5, s: '1', none: ~}\n    args:\n    - -v\n    - \"8\"\nidleTimeoutMs: 15000.5\n",
			all{"gopls": {"settings": `{"gopls":{"gofumpt":false,"n":1.5,"s":"1","none":null}}`, "args": `["-v","8"]`}},
			"15.0005s", nil,
		},
		{
			"anchors", ".lsp.yml", "a: &a\n  command: x\n  settings: &s {deep: [1]}\nb:\n  <<: *a\n  command: y\n  initOptions: *s\n",
			all{"a": {"command": `"x"`, "settings": `{"deep":[1]}`}, "b": {"command": `"y"`, "settings": `{"deep":[1]}`, "initOptions": `{"deep":[1]}`}},
			"", nil,
		},
		{"block text", "lsp.yaml", "a:\n  command: !!str 5\n  settings:\n    x: |\n      one\n      two\n", all{"a": {"command": `"5"`, "settings": `{"x":"one\ntwo\n"}`}}, "", nil},
		{"empty", "lsp.json", " \n", all{}, "", nil},
		{"empty YAML", "lsp.yml", "# nothing\n", all{}, "", nil},
		{"byte order mark", "lsp.json", "\ufeff{}", all{}, "", nil},
		{
			"every field", "lsp.json", `{"x": {"command": "c", "args": [], "fileTypes": [".x"], "rootMarkers": ["x"], "initOptions": {}, "settings": {}, "disabled": false,
			"warmupTimeoutMs": 2.5, "isLinter": true, "supersedes": ["y"], "extensionToLanguage": {".x": "ex"}}}`,
			all{"x": {
				"command": `"c"`, "args": "[]", "fileTypes": `[".x"]`, "rootMarkers": `["x"]`, "initOptions": "{}", "settings": "{}", "disabled": "false",
				"warmupTimeoutMs": "2.5", "isLinter": "true", "supersedes": `["y"]`, "extensionToLanguage": `{".x":"ex"}`,
			}},
			"", nil,
		},

		{
			"unknown field", "lsp.json", "{\"servers\": {\n\"gopls\": {\n\"rootMarker\": [\"x\"],\n\"args\": [\"-v\"]}}}",
			all{"gopls": {"args": `["-v"]`}},
			"",
			[]string{`:3: unknown field "rootMarker" of server "gopls"; did you mean "rootMarkers"?`},
		},
		{
			"unknown field, other case", "lsp.yaml", "gopls:\n  Settings: {}\n  zzz: 1\n",
			all{"gopls": {}},
			"",
			[]string{`:2: unknown field "Settings" of server "gopls"; did you mean "settings"?`, `:3: unknown field "zzz" of server "gopls"`},
		},
		{"unknown field at the top", "lsp.json", "{\"servers\": {},\n\"idleTimeout\": 5}", all{}, "", []string{`:2: unknown field "idleTimeout"; did you mean "idleTimeoutMs"?; servers belong below "servers"`}},
		{"unknown field at the flat top", "lsp.json", "{\n\"idleTimeoutMS\": 5}", all{}, "", []string{`:2: unknown field "idleTimeoutMS"; did you mean "idleTimeoutMs"?`}},
		{"wrong wrapper", "lsp.json", `{"server": {"gopls": {}}}`, all{}, "", []string{`:1: unknown field "server"; did you mean "servers"?`}},
		{
			"wrong types", "lsp.yaml", "servers:\n  gopls:\n    args: -v\n    disabled: yes\n    command: [x]\n    warmupTimeoutMs: 0\n    fileTypes: []\n    rootMarkers: ['']\n    settings: null\n    capabilities: {ssr: 1, srr: true}\n    extensionToLanguage: {.x: 1}\n    isLinter: true\nidleTimeoutMs: -1\n",
			all{"gopls": {"isLinter": "true"}},
			"",
			[]string{
				`:3: args of server "gopls" must be a list of strings, not a string; it is not used`,
				`:4: disabled of server "gopls" must be true or false, not a string; it is not used`,
				`:5: command of server "gopls" must be a string that is not empty; it is not used`,
				`:6: warmupTimeoutMs of server "gopls" must be a number of milliseconds above 0, not a number; it is not used`,
				`:7: fileTypes of server "gopls" must be a list of at least one string, none of them empty; it is not used`,
				`:8: rootMarkers of server "gopls" must be a list of at least one string, none of them empty; it is not used`,
				`:9: settings of server "gopls" must be a mapping, not null; it is not used`,
				`:10: capabilities of server "gopls": gjc uses no features beyond the protocol; remove it`,
				`:11: extensionToLanguage of server "gopls" must be a mapping of names to strings; it is not used`,
				`:13: idleTimeoutMs must be a number of milliseconds, at least 10000, or 0 for never; it is not used`,
			},
		},
		{
			"capabilities", "lsp.json", `{"rust-analyzer": {"capabilities": {"ssr": true}}}`,
			all{"rust-analyzer": {}},
			"",
			[]string{`:1: capabilities of server "rust-analyzer": gjc uses no features beyond the protocol; remove it`},
		},
		{
			"misplaced", "lsp.json", `{"a": {"idleTimeoutMs": 1, "resolvedCommand": "x"}}`,
			all{"a": {}},
			"",
			[]string{`:1: idleTimeoutMs applies to all servers; move it to the top of the file`, `:1: "a".resolvedCommand is determined at run time; remove it`},
		},
		{
			"server is no mapping", "lsp.json", "{\n\"eslint\": false, \"gopls\": {\"args\": []}}",
			all{"gopls": {"args": "[]"}},
			"",
			[]string{`:2: server "eslint" must be a mapping, not a boolean; to turn a server off, set disabled: true in it`},
		},
		{"servers is no mapping", "lsp.yaml", "servers:\n  - gopls\n", all{}, "", []string{`:1: servers must be a mapping of names to settings, not a list`}},
		{"a list", "lsp.json", "[]", all{}, "", []string{":1: the file must be a mapping of server names to settings, not a list; it is not used"}},
		{"comment", "lsp.json", "{\n  // mine\n  \"gopls\": {}}", all{}, "", []string{":2: JSON does not allow comments; YAML does; nothing in the file is used"}},
		{"comment after a value", "lsp.json", "{\n\"gopls\": {} /* mine */ }", all{}, "", []string{":2: JSON does not allow comments"}},
		{"trailing comma", "lsp.json", "{\"gopls\": {\n\"args\": [],\n}}", all{}, "", []string{":3: the file is not JSON"}},
		{"cut off", "lsp.json", "{\"gopls\":\n\n{\"args\": [", all{}, "", []string{":3: the file is not JSON"}},
		{"twice", "lsp.json", "{\"gopls\": {},\n\"gopls\": {}}", all{}, "", []string{"the file is not JSON: "}},
		{"short idle", "lsp.json", `{"idleTimeoutMs": 9999.9}`, all{}, "", []string{":1: idleTimeoutMs must be a number of milliseconds, at least 10000, or 0 for never; it is not used"}},
		{"two values", "lsp.json", "{}\n{}", all{}, "", []string{": unexpected text after the JSON value"}},
		{"not YAML", "lsp.yaml", "a: 1\nb: [x\nc: 2\n", all{}, "", []string{"the file is not YAML"}},
		{"tab", "lsp.yaml", "gopls:\n\targs: []\n", all{}, "", []string{":2: the file is not YAML"}},
		{"no anchor", "lsp.yaml", "a:\n  settings: *s\n", all{}, "", []string{":2: unknown anchor &s"}},
		{"anchor in itself", "lsp.yaml", "a:\n  settings: &s {x: *s}\n", all{}, "", []string{":2: unknown anchor &s"}},
		{"two documents", "lsp.yaml", "a: {}\n---\nb: {}\n", all{}, "", []string{":3: unexpected second document"}},
		{"infinity", "lsp.yaml", "a:\n  settings: {x: .inf}\n", all{}, "", []string{":2: "}},
		{"forged line", "lsp.json", `{"a\nlsp.json:9: fine": {"b\u001b[2J": 1}}`, all{"a\nlsp.json:9: fine": {}}, "", []string{`:1: unknown field "b\x1b[2J" of server "a\nlsp.json:9: fine"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &configfile.File{Path: tt.file, Data: []byte(tt.text)}
			schema.Parse(f)
			if diff := cmp.Diff(tt.want, fields(f)); diff != "" {
				t.Errorf("servers (-want +got):\n%s", diff)
			}
			idle := ""
			if v, ok := f.Settings[keyIdle]; ok {
				d, _ := configfile.Milliseconds(v.Node)
				idle = d.String()
			}
			if idle != tt.idle {
				t.Errorf("idle is %q, want %q", idle, tt.idle)
			}
			if len(f.Problems) != len(tt.problems) {
				t.Fatalf("problems %q, want %q", f.Problems, tt.problems)
			}
			for i, p := range f.Problems {
				if !strings.HasPrefix(p, tt.file+":") || !strings.Contains(p, tt.problems[i]) || strings.ContainsAny(p, "\n\x1b") {
					t.Errorf("problem %q, want %q", p, tt.problems[i])
				}
			}
		})
	}
}

// TestRuns checks that the question about trust lists everything that a file can run, and nothing harmless.
func TestRuns(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{`{"x": {"command": "sh", "args": ["-c", "curl evil"]}}`, `server "x" runs: sh -c curl evil`},
		{`{"gopls": {"args": ["-v"]}}`, `server "gopls" has the arguments: -v`},
		{`{"rust-analyzer": {"settings": {"check": {"overrideCommand": ["evil"]}}}}`, `server "rust-analyzer" has settings: {"check":{"overrideCommand":["evil"]}}`},
		{`{"a": {"initOptions": {"x": 1}}}`, `server "a" has initOptions: {"x":1}`},
		{`{"a": {"fileTypes": [".x"], "rootMarkers": ["."]}}`, `server "a" has fileTypes: .x|server "a" has rootMarkers: .`},
		{`{"a": {"disabled": false}}`, `server "a" is turned on`},
		{`{"a": {"disabled": true, "isLinter": true, "warmupTimeoutMs": 1, "supersedes": ["b"], "extensionToLanguage": {".x": "y"}}}`, ""},
		{`{"idleTimeoutMs": 10000}`, `unused servers are ended after 10s`},
		{`{"idleTimeoutMs": 0}`, `unused servers are never ended`},
	} {
		f := &configfile.File{Path: "lsp.json", Data: []byte(tt.text)}
		schema.Parse(f)
		if got := strings.Join(f.Runs, "|"); got != tt.want || len(f.Problems) > 0 {
			t.Errorf("%s: %q, want %q; problems %q", tt.text, got, tt.want, f.Problems)
		}
	}
}

// TestRuns_InvalidCommand checks that arguments that are used are shown even if the command is invalid.
func TestRuns_InvalidCommand(t *testing.T) {
	f := &configfile.File{Path: "lsp.json", Data: []byte(`{"gopls": {"command": 5, "args": ["-evil"]}}`)}
	schema.Parse(f)
	if got := strings.Join(f.Runs, "|"); got != `server "gopls" has the arguments: -evil` || len(f.Problems) != 1 {
		t.Errorf("%q; problems %q", got, f.Problems)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"servers": {"x": {"command": "c", "args": ["-v"], "settings": {"n": [1e3, null]}}}, "idleTimeoutMs": 5}`, true)
	f.Add("a: &a\n  command: x\nb:\n  <<: *a\n  args: [1, 'x', ~]\n", false)
	f.Add("servers: {gopls: {settings: {a: |\n   x\n}}}", false)
	f.Add("? [a]\n: b\n", false)
	f.Fuzz(func(t *testing.T, data string, isJSON bool) {
		name := "lsp.yaml"
		if isJSON {
			name = "lsp.json"
		}
		c := &configfile.File{Path: name, Data: []byte(data)}
		schema.Parse(c)
		for _, p := range c.Problems {
			rest, ok := strings.CutPrefix(p, name+":")
			if !ok || rest == "" || rest[0] < '1' || rest[0] > '9' {
				t.Errorf("problem without a line: %q", p)
			}
		}
		defs, _ := merge([]*configfile.File{c})
		for _, d := range defs {
			spec := d.spec("/x")
			for _, raw := range []jsonx.Raw{spec.Settings, spec.InitOptions} {
				if raw != nil && !jsonx.Valid(raw) {
					t.Errorf("not JSON: %s", raw)
				}
			}
			if spec.Warmup < 0 || spec.Warmup > 367*24*time.Hour || len(spec.FileTypes) == 0 || len(spec.RootMarkers) == 0 {
				t.Errorf("%+v", spec)
			}
		}
	})
}
