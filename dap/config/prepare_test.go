package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/dap"
)

// tree creates files and returns their directory.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func builtin(t *testing.T, name string) *dap.Spec {
	t.Helper()
	defs, _ := merge(nil, "linux")
	for _, d := range defs {
		if d.Name == name {
			return d.spec("/usr/bin/"+name, "linux")
		}
	}
	t.Fatalf("there is no %s", name)
	return nil
}

// asJSON returns a value as JSON, with W for a directory.
func asJSON(t *testing.T, v any, dir string) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	quoted, err := json.Marshal(dir)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(data), strings.Trim(string(quoted), `"`), "W")
}

func TestPrepareLaunch(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the paths of the table are those of Unix")
	}
	files := map[string]string{
		"go.mod": "module x", "cmd/main.go": "package main\nfunc main() {}", "cmd/more.go": "package main", "cmd/main_test.go": "package main",
		"scripts/a.go": "package main\nfunc main() {}", "scripts/b.go": "package main\nfunc main() {}", "tool/gen.go": "//go:build ignore\n\npackage main",
		"only/x_test.go": "package only", "bin/prog": "\x7fELF", "core": "",
		"a.py": "", "tests/test_a.py": "", "app/__main__.py": "", "empty/x": "", "a.js": "", "a.ts": "", "a.rb": "", "a_spec.rb": "", "s.sh": "",
		"src/App.kt": "// x\npackage org.example.app\n\nfun main() {}", "proj/Proj.csproj": "", "proj/sub/Program.cs": "", "proj/bin/Debug/net8.0/Proj.dll": "", "unbuilt/U.csproj": "", "unbuilt/P.cs": "",
		"lib/x.dart": "", "test/x_test.dart": "", "test/x_test.exs": "", "run.exs": "", "main.c": "",
	}
	yes, no := true, false
	for _, tt := range []struct {
		name, adapter string
		l             Launch
		want          string // the arguments, or "!" and the beginning of the error
		check         func(t *testing.T, p *Prepared, dir string)
	}{
		{"a Go package", "dlv", Launch{Program: "cmd", Args: []string{"-x", "a b"}}, `{"args":["-x","a b"],"cwd":"W","dlvCwd":"W/cmd","mode":"debug","program":"W/cmd","request":"launch","stopOnEntry":true}`, nil},
		{"a file of a Go package", "dlv", Launch{Program: "cmd/main.go"}, `{"cwd":"W","dlvCwd":"W/cmd","mode":"debug","program":"W/cmd","request":"launch","stopOnEntry":true}`, nil},
		{"a Go program in a file", "dlv", Launch{Program: "scripts/a.go"}, `{"cwd":"W","dlvCwd":"W/scripts","mode":"debug","program":"W/scripts/a.go","request":"launch","stopOnEntry":true}`, nil},
		{"an ignored Go file", "dlv", Launch{Program: "tool/gen.go"}, `{"cwd":"W","dlvCwd":"W/tool","mode":"debug","program":"W/tool/gen.go","request":"launch","stopOnEntry":true}`, nil},
		{"a Go test by its file", "dlv", Launch{Program: "cmd/main_test.go", StopOnEntry: &no}, `{"cwd":"W/cmd","dlvCwd":"W/cmd","mode":"test","program":"W/cmd","request":"launch","stopOnEntry":false}`, nil},
		{"Go tests", "dlv", Launch{Program: "cmd", Mode: "test", Args: []string{"-run", "TestX", "-test.v"}}, `{"args":["-test.run","TestX","-test.v"],"cwd":"W/cmd","dlvCwd":"W/cmd","mode":"test","program":"W/cmd","request":"launch","stopOnEntry":true}`, nil},
		{"Go tests alone", "dlv", Launch{Program: "only"}, `{"cwd":"W/only","dlvCwd":"W/only","mode":"test","program":"W/only","request":"launch","stopOnEntry":true}`, nil},
		{"Go tests in another directory", "dlv", Launch{Program: "only", Extra: map[string]any{"cwd": "/x", "buildFlags": "-tags=a"}}, `{"buildFlags":"-tags=a","cwd":"/x","dlvCwd":"W/only","mode":"test","program":"W/only","request":"launch","stopOnEntry":true}`, nil},
		{"a Go binary", "dlv", Launch{Program: "bin/prog", Env: map[string]string{"A": "b", "OPENAI_API_KEY": "k"}}, `{"cwd":"W","env":{"A":"b"},"mode":"exec","program":"W/bin/prog","request":"launch","stopOnEntry":true}`, func(t *testing.T, p *Prepared, _ string) {
			if len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "OPENAI_API_KEY") {
				t.Errorf("notes %q", p.Notes)
			}
		}},
		{"a core file of Go", "dlv", Launch{Program: "bin/prog", Core: "core"}, `{"coreFilePath":"W/core","mode":"core","program":"W/bin/prog","request":"launch","stopOnEntry":true}`, nil},
		{"a recording", "dlv", Launch{Program: "bin", Mode: "replay"}, `{"cwd":"W","mode":"replay","request":"launch","stopOnEntry":true,"traceDirPath":"W/bin"}`, nil},
		{"a mode that Go has not", "dlv", Launch{Program: "cmd", Mode: "tset"}, `!unknown mode "tset"`, nil},
		{"mode exec for a directory", "dlv", Launch{Program: "cmd", Mode: "exec"}, "!W/cmd is not a binary; mode debug builds it first", nil},
		{"mode debug for a test", "dlv", Launch{Program: "cmd/main_test.go", Mode: "debug"}, "!W/cmd/main_test.go is a test; debug it with mode test", nil},
		{"mode debug for a binary", "dlv", Launch{Program: "bin/prog", Mode: "debug"}, "!W/bin/prog is not a Go source", nil},
		{"no program", "dlv", Launch{Program: "none"}, "!no program to debug", nil},
		{"a place to build in", "dlv", Launch{Program: "cmd", TempDir: "/tmp/t"}, "", func(t *testing.T, p *Prepared, _ string) {
			if out, _ := p.Arguments["output"].(string); !strings.HasPrefix(out, "/tmp/t/gjc-debug-") || len(out) < 30 {
				t.Errorf("output %q", out)
			} else if len(p.Temporary) != 1 || p.Temporary[0] != out {
				t.Errorf("temporary files %q", p.Temporary)
			}
		}},

		{"Python", "debugpy", Launch{Program: "a.py", Args: []string{"x"}, Terminal: true}, `{"args":["x"],"console":"integratedTerminal","cwd":"W","justMyCode":false,"program":"W/a.py","request":"launch","stopOnEntry":true,"subProcess":false}`, nil},
		{"a Python test", "debugpy", Launch{Program: "tests/test_a.py::TestX::test_y", Args: []string{"-q"}}, `{"args":["W/tests/test_a.py::TestX::test_y","-q"],"console":"internalConsole","cwd":"W","justMyCode":false,"module":"pytest","request":"launch","stopOnEntry":true,"subProcess":false}`, nil},
		{"Python tests", "debugpy", Launch{Program: "tests", Mode: "test"}, `{"args":["W/tests"],"console":"internalConsole","cwd":"W","justMyCode":false,"module":"pytest","request":"launch","stopOnEntry":true,"subProcess":false}`, nil},
		{"a Python test that is not there", "debugpy", Launch{Program: "tests/none.py::test_x"}, "!no test to debug", nil},
		{"a Python module", "debugpy", Launch{Args: []string{"x"}, Extra: map[string]any{"module": "http.server"}}, `{"args":["x"],"console":"internalConsole","cwd":"W","justMyCode":false,"module":"http.server","request":"launch","stopOnEntry":true,"subProcess":false}`, func(t *testing.T, p *Prepared, _ string) {
			if p.Program != "module http.server" {
				t.Errorf("program %q", p.Program)
			}
		}},
		{"a Python package", "debugpy", Launch{Program: "app"}, `{"console":"internalConsole","cwd":"W","justMyCode":false,"program":"W/app","request":"launch","stopOnEntry":true,"subProcess":false}`, nil},
		{"no Python package", "debugpy", Launch{Program: "empty"}, "!W/empty is a directory without __main__.py", nil},

		{"lldb-dap", "lldb-dap", Launch{Program: "bin/prog", Args: []string{"x"}, Env: map[string]string{"B": "2", "A": "1"}, Terminal: true}, `{"args":["x"],"cwd":"W","env":["A=1","B=2"],"program":"W/bin/prog","request":"launch","runInTerminal":true,"stopOnEntry":true}`, nil},
		{"a core file of C", "lldb-dap", Launch{Program: "bin/prog", Core: "core"}, `{"coreFile":"W/core","program":"W/bin/prog","request":"attach","stopOnEntry":true}`, func(t *testing.T, p *Prepared, _ string) {
			if p.Request != "attach" {
				t.Errorf("the request is %s", p.Request)
			}
		}},
		{"a source of C", "lldb-dap", Launch{Program: "main.c"}, "!W/main.c is a source file and lldb-dap needs a binary", nil},
		{"gdb", "gdb", Launch{Program: "bin/prog", Env: map[string]string{"A": "1"}, StopOnEntry: &no, Terminal: true}, `{"cwd":"W","env":{"A":"1"},"program":"W/bin/prog","request":"launch","stopAtBeginningOfMainSubprogram":false,"stopOnEntry":false}`, func(t *testing.T, p *Prepared, _ string) {
			if len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "gdb cannot run the program in a terminal") {
				t.Errorf("notes %q", p.Notes)
			}
		}},
		{"codelldb", "codelldb", Launch{Program: "bin/prog", Terminal: true}, `{"cwd":"W","program":"W/bin/prog","request":"launch","stopOnEntry":true,"terminal":"integrated"}`, nil},
		{"codelldb, a core file", "codelldb", Launch{Program: "bin/prog", Core: "core"}, `{"processCreateCommands":[],"request":"launch","stopOnEntry":true,"targetCreateCommands":["target create -c \"W/core\" \"W/bin/prog\""],"terminal":"console"}`, nil},
		{"a core file of JavaScript", "js-debug-adapter", Launch{Program: "a.js", Core: "core"}, "!js-debug-adapter does not support core files", nil},

		{"JavaScript", "js-debug-adapter", Launch{Program: "a.js"}, `{"console":"internalConsole","cwd":"W","program":"W/a.js","request":"launch","stopOnEntry":true,"type":"pwa-node"}`, nil},
		{"TypeScript", "js-debug-adapter", Launch{Program: "a.ts"}, "", func(t *testing.T, p *Prepared, _ string) {
			if len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "runtimeExecutable") {
				t.Errorf("notes %q", p.Notes)
			}
		}},
		{"JavaScript tests", "js-debug-adapter", Launch{Program: "a.js", Mode: "test"}, `{"console":"internalConsole","cwd":"W","program":"W/a.js","request":"launch","runtimeArgs":["--test"],"stopOnEntry":true,"type":"pwa-node"}`, nil},

		{"Ruby", "rdbg", Launch{Program: "a.rb", Args: []string{"x y"}, Env: map[string]string{"A": "1", "GEMINI_API_KEY": "k"}}, `{"localfs":true,"request":"launch","type":"rdbg"}`, func(t *testing.T, p *Prepared, dir string) {
			if got := asJSON(t, []any{p.Adapter.Args, p.Adapter.Env}, dir); got != `[["--open","--stop-at-load","--sock-path=${socket}","--command","--","ruby","W/a.rb","x y"],["A=1"]]` {
				t.Errorf("the adapter is %s", got)
			}
		}},
		{"a Ruby spec", "rdbg", Launch{Program: "a_spec.rb", StopOnEntry: &yes, Extra: map[string]any{"useBundler": true}}, `{"localfs":true,"nonstop":false,"request":"attach","type":"rdbg","useBundler":true}`, func(t *testing.T, p *Prepared, dir string) {
			if got := asJSON(t, p.Adapter.Args[5:], dir); got != `["bundle","exec","rspec","W/a_spec.rb"]` {
				t.Errorf("the adapter is %s", got)
			}
		}},

		{".NET", "netcoredbg", Launch{Program: "proj/bin/Debug/net8.0/Proj.dll", StopOnEntry: &no}, `{"cwd":"W","program":"W/proj/bin/Debug/net8.0/Proj.dll","request":"launch","stopAtEntry":false}`, nil},
		{"a source of .NET", "netcoredbg", Launch{Program: "proj/sub/Program.cs"}, `{"cwd":"W","program":"W/proj/bin/Debug/net8.0/Proj.dll","request":"launch","stopAtEntry":true}`, nil},
		{".NET that is not built", "netcoredbg", Launch{Program: "unbuilt/P.cs"}, `!W/unbuilt/U.csproj is not built yet: run "dotnet build"`, nil},
		{"no .NET at all", "netcoredbg", Launch{Program: "empty"}, `!W/empty is not a program: run "dotnet build"`, nil},
		{"Kotlin", "kotlin-debug-adapter", Launch{Program: "src/App.kt", Args: []string{"a b"}}, `{"args":"'a b'","cwd":"W","mainClass":"org.example.app.AppKt","projectRoot":"W","request":"launch"}`, nil},
		{"bash", "bash-debug-adapter", Launch{Program: "s.sh", Args: []string{"a b"}}, `{"args":["a b"],"argsString":"'a b'","cwd":"W","cwdEffective":"W","env":{},"pathBash":"bash","pathBashdb":"bashdb","pathCat":"cat","pathMkfifo":"mkfifo","pathPkill":"pkill","program":"W/s.sh","programEffective":"W/s.sh","request":"launch","terminalKind":"debugConsole","type":"bashdb"}`, nil},
		{"a Dart test", "dart-debug-adapter", Launch{Program: "test/x_test.dart"}, `{"cwd":"W","program":"W/test/x_test.dart","request":"launch","stopOnEntry":true}`, func(t *testing.T, p *Prepared, _ string) {
			if strings.Join(p.Adapter.Args, " ") != "debug_adapter --test" {
				t.Errorf("the adapter has %q", p.Adapter.Args)
			}
		}},
		{"an Elixir test", "elixir-ls-debugger", Launch{Program: "test/x_test.exs"}, `{"projectDir":"W","request":"launch","requireFiles":["test/**/test_helper.exs","test/**/*_test.exs"],"stopOnEntry":true,"task":"test","taskArgs":["W/test/x_test.exs"],"type":"mix_task"}`, nil},
		{"an Elixir script", "elixir-ls-debugger", Launch{Program: "run.exs", Args: []string{"x"}}, `{"projectDir":"W","request":"launch","stopOnEntry":true,"task":"run","taskArgs":["W/run.exs","x"],"type":"mix_task"}`, nil},

		{"extra over all", "lldb-dap", Launch{Program: "bin/prog", Extra: map[string]any{"program": "/x", "stopOnEntry": false, "env": []any{"A=1", "GJC_X_TOKEN=k"}}}, `{"cwd":"W","env":["A=1"],"program":"/x","request":"launch","stopOnEntry":false}`, nil},
		{"a relative program", "lldb-dap", Launch{Program: "./rel"}, "!the program", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := tree(t, files)
			l := tt.l
			l.Dir = dir
			if l.Program != "" && !strings.HasPrefix(l.Program, "./") {
				l.Program = dir + "/" + l.Program
			}
			if l.Core != "" {
				l.Core = dir + "/" + l.Core
			}
			spec := builtin(t, tt.adapter)
			before := asJSON(t, spec, "")
			p, err := PrepareLaunch(spec, l)
			if err != nil {
				if want, ok := strings.CutPrefix(tt.want, "!"); !ok || !strings.HasPrefix(strings.ReplaceAll(err.Error(), dir, "W"), want) {
					t.Errorf("error %v, want %s", err, tt.want)
				}
				return
			}
			if got := asJSON(t, p.Arguments, dir); tt.want != "" && got != tt.want {
				t.Errorf("arguments (-want +got):\n%s", cmp.Diff(tt.want, got))
			}
			if p.Dir != dir || p.Adapter.Name != tt.adapter || p.Request != p.Arguments["request"] {
				t.Errorf("%+v", p.Start)
			}
			if tt.check != nil {
				tt.check(t, p, dir)
			}
			if asJSON(t, spec, "") != before {
				t.Error("the adapter was changed")
			}
		})
	}
}

func TestPrepareAttach(t *testing.T) {
	yes := true
	dir := t.TempDir()
	for _, tt := range []struct {
		name, adapter string
		a             Attach
		want, address string
	}{
		{"a process of Go", "dlv", Attach{PID: 7}, `{"mode":"local","processId":7,"request":"attach"}`, ""},
		{"a process of Go, stopped", "dlv", Attach{PID: 7, StopOnEntry: &yes}, `{"mode":"local","processId":7,"request":"attach","stopOnEntry":true}`, ""},
		{"dlv elsewhere", "dlv", Attach{Host: "::1", Port: 4000}, `{"mode":"remote","request":"attach"}`, "[::1]:4000"},
		{"a process of Python", "debugpy", Attach{PID: 7}, `{"justMyCode":false,"processId":7,"request":"attach"}`, ""},
		{"a port of Python", "debugpy", Attach{Port: 5678}, `{"connect":{"host":"127.0.0.1","port":5678},"justMyCode":false,"request":"attach"}`, "127.0.0.1:5678"},
		{"Python that connects", "debugpy", Attach{Port: 5678, Listen: true}, `{"justMyCode":false,"listen":{"host":"127.0.0.1","port":5678},"request":"attach"}`, ""},
		{"lldb-dap", "lldb-dap", Attach{PID: 7, Program: "/x"}, `{"pid":7,"program":"/x","request":"attach"}`, ""},
		{"gdbserver", "lldb-dap", Attach{Port: 1234}, `{"attachCommands":["gdb-remote 127.0.0.1:1234"],"request":"attach"}`, ""},
		{"gdbserver with gdb", "gdb", Attach{Port: 1234, Program: "/x"}, `{"program":"/x","request":"attach","target":"127.0.0.1:1234"}`, ""},
		{"node", "js-debug-adapter", Attach{Port: 9229}, `{"address":"127.0.0.1","port":9229,"request":"attach","type":"pwa-node"}`, ""},
		{"a process of node", "js-debug-adapter", Attach{PID: 7}, `!js-debug-adapter cannot attach to a process by its ID; start it with "node --inspect"`, ""},
		{"Ruby", "rdbg", Attach{Port: 9}, `{"localfs":true,"request":"attach","type":"rdbg"}`, "127.0.0.1:9"},
		{".NET", "netcoredbg", Attach{PID: 7}, `{"processId":7,"request":"attach"}`, ""},
		{"a port of .NET", "netcoredbg", Attach{Port: 7}, "!netcoredbg cannot attach to a port", ""},
		{"PHP that connects", "php-debug-adapter", Attach{Port: 9003, Listen: true}, `{"hostname":"127.0.0.1","port":9003,"request":"launch"}`, ""},
		{"Go that connects", "dlv", Attach{Port: 9003, Listen: true}, "!dlv cannot attach by listening", ""},
		{"nothing", "dlv", Attach{}, "!to attach, name either a pid or a port", ""},
		{"both", "dlv", Attach{PID: 1, Port: 2}, "!to attach, name either a pid or a port", ""},
		{"no port", "dlv", Attach{Port: 70000}, "!to attach, name either a pid or a port", ""},
		{"extra", "dlv", Attach{PID: 7, Extra: map[string]any{"backend": "native"}}, `{"backend":"native","mode":"local","processId":7,"request":"attach"}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.a.Dir = dir
			p, err := PrepareAttach(builtin(t, tt.adapter), tt.a)
			if err != nil {
				if want, ok := strings.CutPrefix(tt.want, "!"); !ok || !strings.HasPrefix(err.Error(), want) {
					t.Errorf("error %v, want %s", err, tt.want)
				}
				return
			}
			if got := asJSON(t, p.Arguments, dir); got != tt.want {
				t.Errorf("arguments %s, want %s", got, tt.want)
			}
			if p.Address != tt.address || p.Program == "" || p.Dir != dir {
				t.Errorf("%+v", p.Start)
			}
		})
	}
}

func TestWords(t *testing.T) {
	for text, want := range map[string][]string{
		"":                     nil,
		"a b":                  {"a", "b"},
		` a  "b c" 'd "e' \ f`: {"a", "b c", `d "e`, " f"},
		`'' x""y`:              {"", "xy"},
		`"a\"b"`:               {`a"b`},
	} {
		if diff := cmp.Diff(want, splitWords(text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func FuzzWords(f *testing.F) {
	f.Add("a", "b c'd\"\\")
	f.Fuzz(func(t *testing.T, a, b string) {
		a, b = strings.ToValidUTF8(a, "?"), strings.ToValidUTF8(b, "?")
		if got := splitWords(joinWords([]string{a, b})); len(got) != 2 || got[0] != a || got[1] != b {
			t.Errorf("%q and %q become %q", a, b, got)
		}
	})
}
