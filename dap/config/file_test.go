package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/jsonx"
)

func parsed(path, text string) *configfile.File {
	f := &configfile.File{Path: path, Data: []byte(text)}
	schema.Parse(f)
	return f
}

// fields returns a file's adapters as JSON, for comparison.
func fields(f *configfile.File) map[string]map[string]string {
	all := make(map[string]map[string]string)
	for _, e := range f.Entries {
		all[e.Name] = make(map[string]string)
		for name, v := range e.Fields {
			all[e.Name][name] = string(v.JSON())
		}
	}
	return all
}

// TestParse checks that a problem is reported with its line and a suggestion, and that the rest of the file is used.
func TestParse(t *testing.T) {
	type all = map[string]map[string]string
	for _, tt := range []struct {
		name, file, text string
		want             all
		problems         []string
	}{
		{"wrapped", "dap.json", `{"$schema": "x", "adapters": {"dlv": {"args": ["dap", "--log"]}}}`, all{"dlv": {"args": `["dap","--log"]`}}, nil},
		{"flat", "dap.yaml", "dlv:\n  disabled: true\nmine:\n  command: x\n", all{"dlv": {"disabled": "true"}, "mine": {"command": `"x"`}}, nil},
		{
			"every field", "dap.yml", `x: {command: c, args: [a], alternatives: [d], env: {A: b}, connectMode: stdio, adapterID: y, kind: dlv, native: true, languages: [go], fileTypes: [.go],
 rootMarkers: [go.mod], types: [go], launchDefaults: {a: 1}, attachDefaults: {}, terminalArguments: {}, launchForm: {}, coreForm: {}, processForm: {}, remoteForm: {}, listenForm: {},
 remoteDial: false, stopOnEntry: [s], startTimeoutMs: 5, install: i, disabled: false}`,
			all{"x": {
				"command": `"c"`, "args": `["a"]`, "alternatives": `["d"]`, "env": `{"A":"b"}`, "connectMode": `"stdio"`, "adapterID": `"y"`, "kind": `"dlv"`, "native": "true", "languages": `["go"]`,
				"fileTypes": `[".go"]`, "rootMarkers": `["go.mod"]`, "types": `["go"]`, "launchDefaults": `{"a":1}`, "attachDefaults": "{}", "terminalArguments": "{}", "launchForm": "{}",
				"coreForm": "{}", "processForm": "{}", "remoteForm": "{}", "listenForm": "{}", "remoteDial": "false", "stopOnEntry": `["s"]`, "startTimeoutMs": "5", "install": `"i"`, "disabled": "false",
			}},
			nil,
		},
		{"empty", "dap.json", "", all{}, nil},
		{
			"unknown fields", "dap.json", "{\"adapters\": {\n\"dlv\": {\n\"arg\": [],\n\"args\": [\"dap\"]}}}",
			all{"dlv": {"args": `["dap"]`}},
			[]string{`:3: unknown field "arg" of adapter "dlv"; did you mean "args"?`},
		},
		{
			"wrong types", "dap.yaml", "adapters:\n  dlv:\n    connectMode: sockets\n    kind: dvl\n    args: dap\n    env: {A: 1}\n    launchDefaults: [x]\n    startTimeoutMs: 0\n",
			all{"dlv": {}},
			[]string{
				`:3: connectMode of adapter "dlv" must be one of stdio, socket, dial, listen, not "sockets"; did you mean "socket"?; it is not used`,
				`:4: kind of adapter "dlv" must be one of gdb, `,
				`:5: args of adapter "dlv" must be a list of strings, not a string; it is not used`,
				`:6: env of adapter "dlv" must be a mapping of names to strings; it is not used`,
				`:7: launchDefaults of adapter "dlv" must be a mapping; it is not used`,
				`:8: startTimeoutMs of adapter "dlv" must be a number of milliseconds above 0, not a number; it is not used`,
			},
		},
		{"beside the wrapper", "dap.json", "{\"adapters\": {},\n\"dlv\": {}}", all{}, []string{`:2: unknown field "dlv"; adapters belong below "adapters"`}},
		{"wrong wrapper", "dap.json", `{"adapter": {"dlv": {}}}`, all{}, []string{`:1: unknown field "adapter"; did you mean "adapters"?`}},
		{"no mapping", "dap.json", `{"dlv": false}`, all{}, []string{`:1: adapter "dlv" must be a mapping, not a boolean; to turn an adapter off, set disabled: true in it`}},
		{"a list", "dap.yaml", "- dlv\n", all{}, []string{":1: the file must be a mapping of adapter names to settings, not a list; it is not used"}},
		{"adapters is a list", "dap.yaml", "adapters:\n- dlv\n", all{}, []string{`: adapters must be a mapping of names to settings, not a list`}},
		{"broken", "dap.json", "{\"dlv\": {\n]}", all{}, []string{":2: the file is not JSON"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := parsed(tt.file, tt.text)
			if diff := cmp.Diff(tt.want, fields(f)); diff != "" {
				t.Errorf("adapters (-want +got):\n%s", diff)
			}
			if len(f.Problems) != len(tt.problems) {
				t.Fatalf("problems %q, want %q", f.Problems, tt.problems)
			}
			for i, p := range f.Problems {
				if !strings.HasPrefix(p, tt.file+":") || !strings.Contains(p, tt.problems[i]) {
					t.Errorf("problem %q, want %q", p, tt.problems[i])
				}
			}
		})
	}
}

// TestRunsOfFiles checks that the question about trust lists everything that a file can run, and nothing harmless.
func TestRunsOfFiles(t *testing.T) {
	for text, want := range map[string]string{
		`{"x": {"command": "sh", "args": ["-c", "curl evil"]}}`:             `adapter "x" runs: sh -c curl evil`,
		`{"dlv": {"args": ["dap", "--log"]}}`:                               `adapter "dlv" has the arguments: dap --log`,
		`{"gdb": {"launchDefaults": {"initCommands": ["shell evil"]}}}`:     `adapter "gdb" has launchDefaults: {"initCommands":["shell evil"]}`,
		`{"dlv": {"env": {"LD_PRELOAD": "/w/evil.so"}}}`:                    `adapter "dlv" has env: {"LD_PRELOAD":"/w/evil.so"}`,
		`{"dlv": {"fileTypes": [".txt"]}}`:                                  `adapter "dlv" has fileTypes: [".txt"]`,
		`{"dlv": {"alternatives": ["./evil"]}}`:                             `adapter "dlv" has alternatives: ["./evil"]`,
		`{"dlv": {"disabled": false}}`:                                      `adapter "dlv" is turned on`,
		`{"dlv": {"disabled": true, "startTimeoutMs": 5, "install": "it"}}`: "",
	} {
		f := parsed("dap.json", text)
		if got := strings.Join(f.Runs, "|"); got != want || len(f.Problems) > 0 {
			t.Errorf("%s: %q, want %q; problems %q", text, got, want, f.Problems)
		}
	}
}

// TestRunsOfFiles_InvalidCommand checks that the question shows arguments that are used although the command next to them is
// invalid.
func TestRunsOfFiles_InvalidCommand(t *testing.T) {
	f := parsed("dap.json", `{"debugpy": {"command": 5, "args": ["-c", "evil()"]}}`)
	if diff := cmp.Diff([]string{`adapter "debugpy" has the arguments: -c evil()`}, f.Runs); diff != "" || len(f.Problems) != 1 {
		t.Errorf("(-want +got):\n%s\nproblems %q", diff, f.Problems)
	}
}

// TestRunsOfFiles_AllFields checks that each field either needs trust or is declared harmless.
func TestRunsOfFiles_AllFields(t *testing.T) {
	values := map[configfile.FieldType]string{
		configfile.AString: `"dlv"`, configfile.StringList: `["y"]`, configfile.Texts: `{"A": "b"}`, configfile.ABoolean: "true", configfile.ADuration: "5",
		configfile.AnObject: "{}",
	}
	for name, field := range schema.Fields {
		value := values[field.Type]
		if name == "connectMode" {
			value = `"stdio"`
		}
		f := parsed("dap.json", `{"x": {"`+name+`": `+value+`}}`)
		if len(f.Problems) > 0 {
			t.Errorf("problems %q", f.Problems)
		}
		run := strings.Join(f.Runs, "|")
		safe := name == "disabled" || name == "languages" || name == "startTimeoutMs" || name == "install"
		if (run == "") != safe {
			t.Errorf("%s: %q", name, run)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"adapters": {"x": {"command": "c", "args": ["${port}"], "connectMode": "dial", "launchForm": {"n": [1e3, null]}}}}`, true)
	f.Add("a: &a\n  command: x\nb:\n  <<: *a\n  env: {A: ~}\n", false)
	f.Fuzz(func(t *testing.T, data string, isJSON bool) {
		name := "dap.yaml"
		if isJSON {
			name = "dap.json"
		}
		c := parsed(name, data)
		for _, p := range c.Problems {
			rest, ok := strings.CutPrefix(p, name+":")
			if !ok || rest == "" || rest[0] < '1' || rest[0] > '9' {
				t.Errorf("problem without a line: %q", p)
			}
		}
		defs, _ := merge([]*configfile.File{c}, "linux")
		for _, d := range defs {
			spec := d.spec("/x", "linux")
			if spec.Slow < 0 {
				t.Errorf("%+v", spec)
			}
			if _, err := jsonx.Marshal(spec.LaunchDefaults); err != nil {
				t.Error(err)
			}
		}
	})
}
