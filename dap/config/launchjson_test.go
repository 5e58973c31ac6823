package config_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/dap"
	"github.com/gajae-code/gjc/dap/config"
)

// asText returns a value as JSON, with W for the workspace and H for the home directory.
func (m *machine) asText(v any) string {
	m.t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		m.t.Fatal(err)
	}
	return strings.NewReplacer(m.root, "W", m.home, "H").Replace(string(data))
}

func unixOnly(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the paths of the table are those of Unix")
	}
}

// launchJSON returns a launch.json with one configuration that has these members.
func launchJSON(members string) string {
	return `{"version": "0.2.0", "configurations": [{"name": "x", "type": "python", "request": "launch", ` + members + `}],
"inputs": [
 {"id": "port", "type": "promptString", "description": "Which port?", "default": "80"},
 {"id": "secret", "type": "promptString", "description": "Password", "password": true},
 {"id": "env", "type": "pickString", "description": "Which?", "options": ["dev", {"label": "Live", "value": "prod"}], "default": "dev"},
 {"id": "cmd", "type": "command", "command": "x"}, {"id": "none", "type": "pickString"}, {"id": "odd", "type": "pickMany"}]}`
}

func TestConfiguration_Variables(t *testing.T) {
	unixOnly(t)
	for _, tt := range []struct {
		name, members string
		with          config.Resolve
		want          string // the arguments, or "!" and a part of the error
		notes         string
	}{
		{"the workspace", `"a": ["${workspaceFolder}/x", "${workspaceFolderBasename}", "${workspaceRoot}", "${workspaceFolder:work}"]`, config.Resolve{}, `{"a":["W/x","work","W","W"]}`, ""},
		{"another directory of the workspace", `"a": "${workspaceFolder:other}"`, config.Resolve{}, `!no directory of the workspace has the name "other"`, ""},
		{
			"the file", `"a": ["${file}", "${fileBasename}", "${fileBasenameNoExtension}", "${fileDirname}", "${fileDirnameBasename}", "${fileExtname}", "${relativeFile}", "${relativeFileDirname}", "${fileWorkspaceFolder}"]`,
			config.Resolve{File: "W/a/b.test.py"},
			`{"a":["W/a/b.test.py","b.test.py","b.test","W/a","a",".py","a/b.test.py","a","W"]}`, "",
		},
		{"no file", `"program": "${file}"`, config.Resolve{}, "!${file} depends on the file that is open in the editor: pass it as file", ""},
		{"places", `"a": ["${cwd}", "${pathSeparator}", "${/}", "${userHome}"]`, config.Resolve{}, `{"a":["W","/","/","H"]}`, ""},
		{"cwd", `"a": "${cwd}"`, config.Resolve{Dir: "/x"}, `{"a":"/x"}`, ""},
		{"the environment", `"a": "${env:NAME}-${env:NONE}-${env:A}"`, config.Resolve{}, `{"a":"value--${env:NAME}"}`, ""},
		{"a key of ours", `"a": "x${env:OPENAI_API_KEY}"`, config.Resolve{}, `{"a":"x"}`, "${env:OPENAI_API_KEY} is empty: programs do not get gjc's own keys"},
		{"a key of ours in env", `"env": {"ANTHROPIC_API_KEY": "x", "B": "y"}`, config.Resolve{}, `{"env":{"B":"y"}}`, "ANTHROPIC_API_KEY: removed from the program's environment"},
		{"a setting", `"a": "${config:python.path}"`, config.Resolve{}, "!${config:python.path} is a setting of the editor and unknown to gjc", ""},
		{"a command", `"a": "${command:cmake.launchTargetPath}"`, config.Resolve{}, "!${command:cmake.launchTargetPath} is a command of the editor", ""},
		{"the interpreter", `"python": "${command:python.interpreterPath}", "a": 1`, config.Resolve{}, `{"a":1}`, "the debug adapter's is used"},
		{"a process to pick", `"processId": "${command:pickProcess}"`, config.Resolve{}, "!${command:pickProcess} asks which process to attach to: pass its pid", ""},
		{"a process", `"processId": "${command:pickProcess}", "a": "p${command:pickGoProcess}"`, config.Resolve{PID: 7}, `{"a":"p7","processId":7}`, ""},
		{"an unknown one", `"a": "${workspaceFoldr}"`, config.Resolve{}, `!in launch.json; did you mean "workspaceFolder"?`, ""},
		{"an unknown file", `"a": "${fileBasenam}"`, config.Resolve{File: "W/x"}, `!in launch.json; did you mean "fileBasename"?`, ""},
		{"the editor's window", `"a": "${selectedText}"`, config.Resolve{}, "!depends on the editor's window", ""},
		{"no variable", `"a": ["${", "$x", "a${b"]`, config.Resolve{}, `{"a":["${","$x","a${b"]}`, ""},
		{"inputs", `"a": ["${input:port}", "${input:env}", "${input:port}", "${input:secret}"]`, config.Resolve{}, `{"a":["<port Which port? 80>","<env Which? dev dev=dev,Live=prod>","<port Which port? 80>","<secret Password  password>"]}`, ""},
		{"an input that is a command", `"a": "${input:cmd}"`, config.Resolve{}, "!${input:cmd} is a command of the editor", ""},
		{"an input without options", `"a": "${input:none}"`, config.Resolve{}, "!${input:none} has no options to choose from (line 6)", ""},
		{"an input of another type", `"a": "${input:odd}"`, config.Resolve{}, `!${input:odd} has the unknown type "pickMany"`, ""},
		{"an input that is not there", `"a": "${input:prt}"`, config.Resolve{}, `!${input:prt} is not among the inputs of launch.json; did you mean "port"?`, ""},
		{"a user who does not answer", `"a": "${input:port}"`, config.Resolve{Ask: func(context.Context, config.Input) (string, error) { return "", errors.New("declined") }}, "!${input:port}: declined", ""},
		{"values", `"a": {"b": [1, 2.5, true, null]}`, config.Resolve{}, `{"a":{"b":[1,2.5,true,null]}}`, ""},

		{"what is the editor's", `"presentation": {}, "preLaunchTask": "build", "postDebugTask": "x", "internalConsoleOptions": "x", "serverReadyAction": {}, "a": 1`, config.Resolve{}, `{"a":1}`, `the task "build" first (preLaunchTask, in tasks.json); run its command with bash`},
		{"paths", `"program": "a.py", "cwd": "sub", "script": "/x"`, config.Resolve{}, `{"cwd":"W/sub","program":"W/a.py","script":"/x"}`, ""},
		{"of systems", `"a": 1, "b": {"x": 1}, "linux": {"a": 2, "b": {"y": 2}}, "osx": {"a": 3}, "windows": {"a": 4}`, config.Resolve{}, `{"a":2,"b":{"x":1,"y":2}}`, ""},
		{"an environment file", `"envFile": "${workspaceFolder}/.env", "env": {"A": "own"}`, config.Resolve{}, `{"env":{"A":"own","B":"two words","C":"x # y","D":"line\nline","E":"","F":"f"}}`, "W/.env:9: ignored a line that is not NAME=value"},
		{"environment files", `"envFile": ["other.env", ".env"]`, config.Resolve{}, `{"env":{"A":"file","B":"two words","C":"x # y","D":"line\nline","E":"","F":"f","Z":"z"}}`, "ignored a line"},
		{"an environment file that is not there", `"envFile": "none"`, config.Resolve{}, `{}`, "envFile W/none does not exist"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t)
			m.env = []string{"NAME=value", "A=${env:NAME}", "OPENAI_API_KEY=key"}
			m.write(".vscode/launch.json", launchJSON(tt.members))
			m.write(".env", "# comment\nA=file\nexport B = \"two words\"\nC='x # y'\nD=\"line\\nline\"\nE=\nF=f # comment\nGEMINI_API_KEY=k\nno value\n")
			m.write("other.env", "A=other\nZ=z\n")
			opts := m.options()
			opts.GOOS = "linux"
			with := tt.with
			with.File = strings.Replace(with.File, "W/", m.root+"/", 1)
			if with.Ask == nil {
				with.Ask = func(_ context.Context, in config.Input) (string, error) {
					var answer strings.Builder
					answer.WriteString(in.ID + " " + in.Description + " " + in.Default)
					if in.Password {
						answer.WriteString(" password")
					}
					for i, o := range in.Options {
						answer.WriteString([]string{" ", ","}[min(i, 1)] + o.Label + "=" + o.Value)
					}
					return "<" + answer.String() + ">", nil
				}
			}
			c, err := m.catalog(opts).Configuration(t.Context(), "x", with)
			if err != nil {
				got := strings.ReplaceAll(err.Error(), m.root, "W")
				if want, ok := strings.CutPrefix(tt.want, "!"); !ok || !strings.Contains(got, want) || !strings.HasPrefix(got, `W/.vscode/launch.json:1: configuration "x" cannot be used: `) {
					t.Errorf("error %s, want %s", got, tt.want)
				}
				return
			}
			var got strings.Builder
			enc := json.NewEncoder(&got)
			enc.SetEscapeHTML(false)
			if err := enc.Encode(c.Arguments); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, strings.TrimSpace(strings.NewReplacer(m.root, "W", m.home, "H").Replace(got.String()))); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
			if notes := strings.ReplaceAll(strings.Join(c.Notes, "\n"), m.root, "W"); !strings.Contains(notes, tt.notes) || (tt.notes == "") != (notes == "") {
				t.Errorf("notes %q, want %q", notes, tt.notes)
			}
			for _, run := range c.Runs {
				for _, secret := range c.Secrets {
					if strings.Contains(run, secret) {
						t.Errorf("%q shows a password", run)
					}
				}
			}
		})
	}
}

func TestConfigurations(t *testing.T) {
	m := newMachine(t)
	m.write(".vscode/launch.json", `{
  // what we debug
  "configurations": [
    {"name": "Server", "type": "go", "request": "launch"},
    {"name": "Attach", "type": "pwa-nod", "request": "attach"},
    {"type": "go"},
    {"name": "Odd", "type": "go", "request": "lunch"},
    "x",
  ],
  "compounds": [{"name": "Both", "configurations": ["Server", {"name": "Attach", "folder": "x"}]}],
}`)
	c := m.open()
	list, problems, err := c.Configurations(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	file := m.path(".vscode/launch.json")
	want := []config.Summary{
		{Name: "Server", Type: "go", Request: "launch", Root: m.root, File: file, Line: 4},
		{Name: "Attach", Type: "pwa-nod", Request: "attach", Root: m.root, File: file, Line: 5, Why: `no debug adapter for the type "pwa-nod"; did you mean "pwa-node"?`},
		{Name: "Odd", Type: "go", Request: "lunch", Root: m.root, File: file, Line: 7, Why: `its request must be "launch" or "attach"`},
		{Name: "Both", Root: m.root, File: file, Line: 10, Compound: []string{"Server", "Attach"}, Why: "it is a compound; start its configurations one after another: Server, Attach"},
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("configurations (-want +got):\n%s", diff)
	}
	got := strings.Join(problems, "\n")
	for _, part := range []string{":6: a configuration has no name", `:7: request of configuration "Odd" must be launch or attach`, ":8: a configuration must be an object, not a string"} {
		if !strings.Contains(got, part) {
			t.Errorf("problems:\n%s\nwant %s", got, part)
		}
	}
	for name, want := range map[string]string{
		"server":  "",
		"Sever":   `No configuration "Sever" in .vscode/launch.json. Did you mean "Server"? The configurations are: Server, Attach, Odd, Both.`,
		"Both":    `configuration "Both" cannot be used: it is a compound; start its configurations one after another: Server, Attach`,
		"Attach ": `no debug adapter for the type "pwa-nod"`,
	} {
		_, err := c.Configuration(t.Context(), name, config.Resolve{})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	if _, err := c.Configuration(t.Context(), "zzz", config.Resolve{}); err == nil {
		t.Error("zzz was found")
	} else if _, ok := errors.AsType[*config.UnknownConfigurationError](err); !ok {
		t.Errorf("the error is a %T", err)
	}
}

// TestConfigurations_Broken checks that the error for a broken file contains its line, even when searching for a configuration.
func TestConfigurations_Broken(t *testing.T) {
	for text, want := range map[string]string{
		"{\n\"configurations\": [\n}":     ":3: the file is not JSON",
		"[]":                              ":1: the file must be an object with configurations, not a list",
		"{\"configurations\": {}}":        ":1: configurations must be a list, not a mapping",
		"{\n/* x":                         ":2: unterminated comment",
		"{\"configuration\": []}":         `:1: the file has "configuration" but no configurations`,
		strings.Repeat(" ", 1<<20) + "{}": "the file is larger than",
		"{\"configurations\": [" + strings.Repeat("[", 20000) + "]}": ": the file is not JSON",
	} {
		m := newMachine(t)
		m.write(".vscode/launch.json", text)
		c := m.open()
		_, problems, err := c.Configurations(t.Context())
		if err != nil || len(problems) == 0 || !strings.Contains(problems[0], want) {
			t.Errorf("%.40q: %q, %v, want %s", text, problems, err, want)
		}
		if _, err := c.Configuration(t.Context(), "x", config.Resolve{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: error %v, want %s", text, err, want)
		}
	}
}

// TestPrepareConfiguration covers what the editors' extensions do before they start the adapter.
func TestPrepareConfiguration(t *testing.T) {
	unixOnly(t)
	for _, tt := range []struct {
		name, text string
		pid        int
		want       string // the arguments, or "!" and a part of the error
		check      func(t *testing.T, m *machine, p *config.Prepared)
	}{
		{"a Go package", `"type": "go", "request": "launch", "mode": "auto", "program": "${workspaceFolder}/cmd", "args": ["-x"], "showLog": true, "console": "integratedTerminal"`, 0, `{"args":["-x"],"cwd":"W/cmd","dlvCwd":"W/cmd","mode":"debug","program":"W/cmd","request":"launch"}`, func(t *testing.T, _ *machine, p *config.Prepared) {
			if len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "console is for the editor") {
				t.Errorf("notes %q", p.Notes)
			}
		}},
		{"a Go test", `"type": "go", "request": "launch", "program": "cmd/x_test.go", "stopOnEntry": true, "buildFlags": "-race"`, 0, `{"buildFlags":"-race","cwd":"W/cmd","dlvCwd":"W/cmd","mode":"test","program":"W/cmd","request":"launch","stopOnEntry":true}`, nil},
		{"a Go binary", `"type": "go", "request": "launch", "mode": "exec", "program": "prog", "cwd": "cmd"`, 0, `{"cwd":"W/cmd","mode":"exec","program":"W/prog","request":"launch"}`, func(t *testing.T, m *machine, p *config.Prepared) {
			if p.Dir != m.path("cmd") || p.Program != m.path("prog") {
				t.Errorf("%+v", p.Start)
			}
		}},
		{"a Go program that is not there", `"type": "go", "request": "launch", "program": "none"`, 0, "!launch.json:1: configuration \"x\": no program to debug", nil},
		{"dlv elsewhere", `"type": "go", "request": "attach", "mode": "remote", "host": "10.0.0.1", "port": "4000", "substitutePath": []`, 0, `{"mode":"remote","request":"attach","substitutePath":[]}`, func(t *testing.T, _ *machine, p *config.Prepared) {
			if p.Address != "10.0.0.1:4000" {
				t.Errorf("the address is %q", p.Address)
			}
		}},
		{"dlv elsewhere without a port", `"type": "go", "request": "attach", "mode": "remote"`, 0, "!mode remote needs a port", nil},
		{"a process of Go", `"type": "go", "request": "attach", "processId": "${command:pickGoProcess}"`, 12, `{"mode":"local","processId":12,"request":"attach"}`, nil},
		{"Python", `"type": "debugpy", "request": "launch", "program": "a.py", "args": "a 'b c'", "pythonPath": "/p", "console": "integratedTerminal", "justMyCode": true`, 0, `{"args":["a","b c"],"console":"integratedTerminal","cwd":"W","justMyCode":true,"program":"W/a.py","python":["/p"],"request":"launch"}`, nil},
		{"a Python module", `"type": "python", "request": "launch", "module": "pytest", "args": ["${file}"], "env": {"A": "1"}`, 0, `{"args":["W/t.py"],"console":"internalConsole","cwd":"W","env":{"A":"1"},"justMyCode":false,"module":"pytest","request":"launch"}`, func(t *testing.T, _ *machine, p *config.Prepared) {
			if p.Program != "module pytest" {
				t.Errorf("program %q", p.Program)
			}
		}},
		{"an old attach of Python", `"type": "python", "request": "attach", "host": "localhost", "port": 5678`, 0, `{"connect":{"host":"localhost","port":5678},"justMyCode":false,"request":"attach"}`, func(t *testing.T, _ *machine, p *config.Prepared) {
			if p.Address != "localhost:5678" { // the address of the program's adapter
				t.Errorf("the address is %q", p.Address)
			}
		}},
		{"cppdbg", `"type": "cppdbg", "request": "launch", "program": "${workspaceFolder}/prog", "MIMode": "gdb", "miDebuggerPath": "/usr/bin/gdb", "environment": [{"name": "A", "value": "1"}], "stopAtEntry": true, "externalConsole": false, "setupCommands": [{"text": "-enable-pretty-printing"}]`, 0, `{"cwd":"W","env":["A=1"],"program":"W/prog","request":"launch","stopOnEntry":true}`, func(t *testing.T, _ *machine, p *config.Prepared) {
			if got := strings.Join(p.Notes, "\n"); p.Adapter.Name != "lldb-dap" || !strings.Contains(got, "setupCommands are for gdb's MI interface") || !strings.Contains(got, "miDebuggerPath is ignored") {
				t.Errorf("%s, notes %q", p.Adapter.Name, p.Notes)
			}
		}},
		{"cppdbg with lldb", `"type": "cppdbg", "request": "attach", "MIMode": "lldb", "processId": "7", "program": "prog", "setupCommands": [{"text": "settings set x"}]`, 0, `{"initCommands":["settings set x"],"pid":7,"program":"W/prog","request":"attach"}`, nil},
		{"cppdbg elsewhere", `"type": "cppdbg", "request": "launch", "program": "prog", "miDebuggerServerAddress": "board:1234"`, 0, `{"attachCommands":["gdb-remote board:1234"],"cwd":"W","program":"W/prog","request":"attach"}`, func(t *testing.T, _ *machine, p *config.Prepared) {
			if p.Request != "attach" {
				t.Errorf("the request is %s", p.Request)
			}
		}},
		{"cppdbg elsewhere, nowhere", `"type": "cppdbg", "request": "launch", "program": "prog", "miDebuggerServerAddress": "board"`, 0, "!miDebuggerServerAddress must be host:port", nil},
		{"cppdbg and a core file", `"type": "cppdbg", "request": "launch", "program": "prog", "coreDumpPath": "/c"`, 0, `{"coreFile":"/c","cwd":"W","program":"W/prog","request":"attach"}`, nil},
		{"cargo", `"type": "lldb", "request": "launch", "cargo": {"args": []}`, 0, "!build it with bash", nil},
		{"node", `"type": "node", "request": "launch", "program": "${file}", "skipFiles": ["<node_internals>/**"]`, 0, `{"console":"internalConsole","cwd":"W","name":"x","program":"W/t.py","request":"launch","skipFiles":["\u003cnode_internals\u003e/**"],"type":"pwa-node"}`, nil},
		{"a port of node by an input", `"type": "node", "request": "attach", "port": "${input:port}"`, 0, `{"name":"x","port":80,"request":"attach","type":"pwa-node"}`, nil},
		{"an adapter that is there", `"type": "node", "request": "launch", "debugServer": 4711`, 0, `{"console":"internalConsole","cwd":"W","name":"x","request":"launch","type":"pwa-node"}`, func(t *testing.T, _ *machine, p *config.Prepared) {
			if p.Address != "127.0.0.1:4711" {
				t.Errorf("the address is %q", p.Address)
			}
		}},
		{"Ruby", `"type": "rdbg", "request": "launch", "script": "a.rb", "args": ["x"], "useBundler": true, "env": {"A": "1"}`, 0, "", func(t *testing.T, m *machine, p *config.Prepared) {
			if got := m.asText([]any{p.Adapter.Args[4:], p.Adapter.Env, p.Request}); got != `[["--","bundle","exec","ruby","W/a.rb","x"],["A=1"],"launch"]` {
				t.Errorf("the adapter is %s", got)
			}
		}},
		{"Ruby that listens", `"type": "rdbg", "request": "attach", "debugPort": "localhost:12345"`, 0, "", func(t *testing.T, _ *machine, p *config.Prepared) {
			if p.Address != "localhost:12345" {
				t.Errorf("the address is %q", p.Address)
			}
		}},
		{"Ruby's socket", `"type": "rdbg", "request": "attach", "debugPort": "/tmp/s"`, 0, "", func(t *testing.T, _ *machine, p *config.Prepared) {
			if p.Address != "unix:/tmp/s" {
				t.Errorf("the address is %q", p.Address)
			}
		}},
		{".NET", `"type": "coreclr", "request": "launch", "program": "bin/x.dll", "stopAtEntry": true`, 0, `{"cwd":"W","program":"W/bin/x.dll","request":"launch","stopAtEntry":true}`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t, lldb, codelldb, "dlv", "js-debug-adapter", "rdbg", "netcoredbg")
			m.write(".vscode/launch.json", `{"configurations": [{"name": "x", `+tt.text+`}], "inputs": [{"id": "port", "type": "promptString", "default": "80"}]}`)
			m.write("cmd/main.go", "package main")
			m.write("cmd/x_test.go", "package main")
			m.write("prog", "\x7fELF")
			m.write("~/dap.json", `{"debugpy": {"command": "`+usr("none")+`"}}`)
			c := m.open()
			made, err := c.Configuration(t.Context(), "x", config.Resolve{
				File: m.path("t.py"), PID: tt.pid, Ask: func(_ context.Context, in config.Input) (string, error) { return in.Default, nil },
			})
			var p *config.Prepared
			if err == nil {
				spec, missing := c.Find(t.Context(), dap.Wanted{Adapter: made.Adapter})
				if missing != nil {
					spec = debugpySpec(t) // not installed on this machine
				}
				p, err = config.PrepareConfiguration(spec, made)
			}
			if err != nil {
				if want, ok := strings.CutPrefix(tt.want, "!"); !ok || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want %s", err, tt.want)
				}
				return
			}
			if got := m.asText(p.Arguments); tt.want != "" && got != tt.want {
				t.Errorf("arguments (-want +got):\n%s", cmp.Diff(tt.want, got))
			}
			if !filepath.IsAbs(p.Dir) || p.Program == "" {
				t.Errorf("%+v", p.Start)
			}
			if tt.check != nil {
				tt.check(t, m, p)
			}
		})
	}
}

// debugpySpec returns the spec of debugpy without a search.
func debugpySpec(t *testing.T) *dap.Spec {
	t.Helper()
	return &dap.Spec{
		Name: "debugpy", Kind: "debugpy", Path: usr("python3"), Types: []string{"python"},
		LaunchDefaults: map[string]any{"request": "launch", "justMyCode": false, "stopOnEntry": true, "console": "internalConsole"},
		AttachDefaults: map[string]any{"request": "attach", "justMyCode": false},
		Forms:          dap.Forms{StopOnEntry: []string{"stopOnEntry"}},
	}
}

func TestRuns(t *testing.T) {
	got := config.Runs(map[string]any{"program": "/x", "args": []any{"a"}, "initCommands": []any{"shell rm"}, "env": map[string]any{"LD_PRELOAD": "x"}, "stopOnEntry": true})
	if diff := cmp.Diff([]string{`env: {"LD_PRELOAD":"x"}`, `initCommands: ["shell rm"]`}, got); diff != "" {
		t.Error(diff)
	}
}
