package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/dap/daptest"
)

const launchJSON = `{
	// As people write it: with comments and commas.
	"version": "0.2.0",
	"configurations": [
		{
			"name": "Bank", "type": "go", "request": "launch", "program": "${workspaceFolder}",
			"args": ["${input:who}", "${env:FROM_USER}", "${relativeFile}", "${workspaceFolderBasename}"],
			"envFile": "${workspaceFolder}/.env", "env": {"DIRECT": "it is ${input:how}"}, "preLaunchTask": "build it",
		},
		{"name": "No input", "type": "go", "request": "launch", "program": "${workspaceFolder}/main.go"},
		{"name": "Fake", "type": "fake", "request": "launch", "program": "${file}", "initCommands": ["shell rm -rf everything"]},
		{"name": "Secret", "type": "fake", "request": "launch", "program": "${workspaceFolder}/main.x", "args": ["${input:password}"]},
		{"name": "Odd", "type": "cobol", "request": "launch", "program": "x"},
		{"name": "Incomplete", "type": "fake", "request": "launch", "program": "${workspaceFolder}/${env:NOT_SET_ANYWHERE}/${config:x.y}"},
	],
	"compounds": [{"name": "Both", "configurations": ["Bank", "No input"]}],
	"inputs": [
		{"id": "who", "type": "promptString", "description": "Who is it", "default": "nobody"},
		{"id": "how", "type": "pickString", "description": "How is it", "options": ["well", "badly"], "default": "badly"},
		{"id": "password", "type": "promptString", "description": "The password", "password": true},
	],
}
`

const launchProgram = `package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Printf("args %q direct %q file %q\n", os.Args[1:], os.Getenv("DIRECT"), os.Getenv("FROM_FILE"))
	fmt.Println("that is all")
}
`

// Configurations of launch.json run by name; the user is asked for their inputs.
func TestDebugger_LaunchJSON(t *testing.T) {
	t.Parallel()
	var forms []string
	var fakes fakeAdapters
	a := fakes.fake(t, "fake", nil)
	e := startDebugEditor(t, &debugEditorOptions{
		env: append(goAdapter().env(t), "FROM_USER=from the user"), home: fakes.files(t),
		files: map[string]string{
			"go.mod": "module example.test/launch\n\ngo 1.26\n", "main.go": launchProgram, ".vscode/launch.json": launchJSON,
			".env": "# a comment\nFROM_FILE='from the file'\nANTHROPIC_API_KEY=not-for-programs\n", "main.x": fakeSource,
		},
		elicit: func(p *acp.CreateElicitationRequest) (*acp.CreateElicitationResponse, error) {
			data, err := json.Marshal(p)
			if err != nil {
				return nil, err
			}
			forms = append(forms, string(data))
			value := acp.ElicitationString("the one")
			if strings.Contains(string(data), "How is it") {
				value = "well"
			}
			return &acp.CreateElicitationResponse{Action: &acp.ElicitationAcceptAction{
				Content: map[string]acp.ElicitationContentValue{"value": value},
			}}, nil
		},
	})
	p := daptest.NewProgram(a, filepath.Join(e.work, "main.x"), daptest.All())
	e.do(t, does("set_breakpoint file=main.go line=10"))
	e.asks(t, does("launch configuration=Bank file=main.go timeout=120", "Location: main.go:10", `preLaunchTask`, `"build it"`, "ANTHROPIC_API_KEY"),
		"Configuration: Bank", "launch.json", "the one", "from the user", "DIRECT")
	if len(forms) != 2 || !strings.Contains(forms[0], "Who is it") || !strings.Contains(forms[0], "nobody") || !strings.Contains(forms[1], "How is it") || !strings.Contains(forms[1], "badly") {
		t.Errorf("the user is asked %q", forms)
	}
	for _, q := range e.asked() {
		data, err := json.Marshal(q)
		if err != nil || strings.Contains(string(data), "from the file") || strings.Contains(string(data), "not-for-programs") {
			t.Errorf("the question has what is in the file of variables: %s, %v", data, err)
		}
	}
	e.do(t, does("output", fmt.Sprintf(`args ["the one" "from the user" "main.go" %q] direct "it is well" file "from the file"`, filepath.Base(e.work))))
	e.do(t, does("terminate", "terminated"))
	asked := len(e.asked())
	e.do(t, fails("launch configuration=Bnak", `No configuration "Bnak" in .vscode/launch.json.`, "Bank, No input, Fake"))
	e.do(t, fails("launch configuration=Bankk", `Did you mean "Bank"?`))
	e.do(t, fails("launch configuration=Both", "it is a compound; start its configurations one after another: Bank, No input"))
	e.do(t, fails("launch configuration=Odd", "cobol"))
	e.do(t, fails("launch configuration=Incomplete", "launch.json", "config:x.y"))
	e.do(t, fails("launch configuration=Fake", "launch.json", "file"))
	e.do(t, fails("launch configuration=Secret", "which a form cannot ask for", "${env:NAME}"))
	if n := len(e.asked()); n != asked {
		t.Errorf("the user is asked %d times about what can not be", n-asked)
	}
	// Anything besides the program that a configuration runs is shown in advance.
	e.answers("reject_once")
	e.asks(t, fails("launch configuration=Fake file=main.x"), "shell rm -rf everything", "W/main.x")
	if seen := p.Seen(); len(seen) > 0 {
		t.Errorf("the adapter was started: %v", seen)
	}
	e.answers("allow_once")
	e.do(t, does("launch configuration=Fake file=main.x", "Location: main.x:1"))
	e.do(t, does("terminate", "terminated"))
	e.do(t, does(`launch {"configuration": "no INPUT", "args": ["of the call"], "timeout": 120}`, "Status: terminated"))
	e.do(t, does("output", `args ["of the call"]`))
	e.stop()
}

// Without an answer to an input, nothing is launched.
func TestDebugger_LaunchJSONDeclined(t *testing.T) {
	t.Parallel()
	e := startDebugEditor(t, &debugEditorOptions{
		env: goAdapter().env(t), files: map[string]string{"go.mod": "module example.test/launch\n", "main.go": launchProgram, ".vscode/launch.json": launchJSON},
		elicit: func(*acp.CreateElicitationRequest) (*acp.CreateElicitationResponse, error) {
			return &acp.CreateElicitationResponse{Action: &acp.ElicitationDeclineAction{}}, nil
		},
	})
	e.silent(t, fails("launch configuration=Bank file=main.go", "the user gave no answer for Who is it"))
	e.do(t, does("sessions", "No debug sessions."))
	e.stop()
}

// A project's own adapter runs if the user trusts it, which is asked once; without trust the other adapters are used.
func TestDebugger_Trust(t *testing.T) {
	t.Parallel()
	home := tempDir(t)
	var titles []string
	answer := acp.PermissionOptionID("reject_once")
	var fakes fakeAdapters
	var plays []*daptest.Adapter
	for i := range 2 {
		plays = append(plays, fakes.fake(t, fmt.Sprintf("own%d", i), nil))
	}
	const question = "Trust this workspace to start its own debug adapters?"
	work := ""
	begin := func() *debugEditor {
		e := startDebugEditor(t, &debugEditorOptions{at: home, env: goAdapter().env(t), decide: func(p *acp.RequestPermissionRequest) acp.PermissionOptionID {
			if p.ToolCall.Title.Or("") != question {
				return "allow_once"
			}
			titles = append(titles, p.ToolCall.Title.Or(""))
			if text, err := json.Marshal(p); err != nil || !strings.Contains(string(text), "own0") {
				t.Errorf("the question does not say what would run: %s, %v", text, err)
			}
			return answer
		}})
		if work == "" {
			work = e.work
			for name, text := range map[string]string{
				"go.mod": "module example.test/trust\n\ngo 1.26\n", "main.go": launchProgram, "main.x": fakeSource,
				".gjc/dap.json": fakes.files(t)[".gjc/agent/dap.json"],
			} {
				writeFile(t, filepath.Join(work, filepath.FromSlash(name)), text)
			}
		}
		e.work = work
		e.id = e.open()
		return e
	}
	count := func(want int) {
		t.Helper()
		if len(titles) != want {
			t.Fatalf("asked %d times, want %d", len(titles), want)
		}
	}
	e := begin()
	for _, a := range plays {
		daptest.NewProgram(a, filepath.Join(work, "main.x"), daptest.All())
	}
	e.do(t, does("launch program=main.go stop_on_entry=true timeout=120", "Adapter: dlv"))
	e.do(t, does("terminate"))
	count(0) // it would change nothing
	e.do(t, fails("launch program=main.x", "Adapter: dlv"))
	count(1)
	e.do(t, fails("launch program=main.x adapter=own0", "own0"))
	count(1)
	e.do(t, does("launch program=main.go stop_on_entry=true timeout=120", "Adapter: dlv"))
	e.do(t, does("terminate"))
	if o := e.prompt(e.id, "/debug"); !strings.Contains(o.words, "gjc trust") {
		t.Errorf("/debug does not say how to trust:\n%s", o.words)
	}
	e.stop()
	if len(plays[0].Seen()) > 0 {
		t.Error("an adapter that was refused runs")
	}
	answer = "allow_always"
	e = begin()
	e.do(t, does("launch program=main.x", "Adapter: own0", "Location: main.x:1"))
	count(2)
	e.do(t, does("terminate"))
	e.stop()
	e = begin()
	e.do(t, does("launch program=main.x adapter=own1", "Adapter: own1"))
	count(2)
	e.stop()
	list := exec.CommandContext(t.Context(), self(t), "trust")
	list.Env = environment(home)
	if out, err := list.Output(); err != nil || !strings.Contains(string(out), work) {
		t.Errorf("gjc trust: %s, %v", out, err)
	}
}
