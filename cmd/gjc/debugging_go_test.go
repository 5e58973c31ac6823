package main

import (
	"os/exec"
	"testing"

	"github.com/gajae-code/gjc/internal/testenv"
)

const goProgram = `package main

import (
	"fmt"
	"os"
	"sync"
	"time"
)

type account struct {
	name    string
	balance int
}

// total adds up the balances. It forgets the last one.
func total(list []account) int {
	sum := 0
	for i := 0; i < len(list)-1; i++ {
		sum += list[i].balance
	}
	return sum
}

func greet(name string) string {
	key := []byte(name)
	text := "hello " + string(key)
	return text
}

func main() {
	list := []account{{"ann", 10}, {"bob", 20}, {"eve", 30}}
	var wg sync.WaitGroup
	for _, a := range list {
		wg.Go(func() { greet(a.name) })
	}
	wg.Wait()
	fmt.Println("total", total(list))
	if len(os.Args) > 1 && os.Args[1] == "crash" {
		panic("out of money")
	}
	if len(os.Args) > 1 && os.Args[1] == "wait" {
		time.Sleep(time.Hour)
	}
}
`

const goTest = `package main

import "testing"

func TestTotal(t *testing.T) {
	if got := total([]account{{"a", 1}, {"b", 2}}); got != 3 {
		t.Errorf("total = %d", got)
	}
}

func TestOther(t *testing.T) { t.Log("other") }
`

func goAdapter() *debugAdapter {
	return &debugAdapter{
		name: "dlv", process: "dlv",
		env: func(t *testing.T) []string {
			return goBuildEnv(t, "dlv", testenv.NeedsDelve(t))
		},
		files: map[string]string{"go.mod": "module example.test/bank\n\ngo 1.26\n", "main.go": goProgram, "main_test.go": goTest},
		prepare: func(t *testing.T, work string) {
			cmd := exec.CommandContext(t.Context(), testenv.NeedsTool(t, "go"), "build", "-gcflags=all=-N -l", "-o", "bank", ".")
			cmd.Dir = work
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		},
		hunt: []debugStep{
			does("set_breakpoint file=main.go line=19 condition=i==1", "- line 19: kept for the next launch if i==1"),
			does("set_breakpoint file=main.go line=21", "- line 21: kept"),
			does("launch program=. timeout=120", "Session: debug-1", "Adapter: dlv", "Status: stopped", "Stop reason: breakpoint", "Location: main.go:19", "→ 19", "- i = 1 (int)", "- sum = 10 (int)"),
			does("evaluate expression=list[i].balance", "Result: 20", "Type: int"),
			does("step_over", "Step over stopped at main.go:18", "- sum: 10 → 30"),
			does("evaluate expression=len(list)", "Result: 3"),
			does("threads", "main.total"),
			// The loop ends before the last account: that is the bug.
			does("run_to file=main.go line=21", "stopped at main.go:21"),
			does("evaluate expression=sum", "Result: 30"),
			saving("stack_trace", "caller", `- #(\d+) main.main @ main.go:37`, "main.total @ main.go:21"),
			does("evaluate expression=list frame_id=${caller}", `name: "eve", balance: 30`),
			does("step_out", "main.go:37"),
			does("continue", "Program terminated with exit code 0.", "total 30"),
			does("output", "total 30"),
			fails("step_over", "no active debug session"),
			// The panic is reported at the program's own frame.
			does(`launch {"program": ".", "args": ["crash"], "stop_on_entry": false, "timeout": 120}`, "Stop reason: exception", "out of money", "Location: main.go:39", "→ 39"),
			does("exception_info", "out of money"),
			does("terminate", "Debug session terminated."),
			// Tests are debugged too.
			does("set_breakpoint file=main_test.go line=6"),
			does(`launch {"program": ".", "mode": "test", "args": ["-test.run", "TestTotal"], "timeout": 120}`, "Location: main_test.go:6"),
			does("step_over", "main_test.go:7"),
			fails("evaluate expression=gott", "could not find symbol"),
			does("terminate", "terminated"),
		},
		steps: []debugStep{
			does("sessions"),
			fails("launch program=none.go", "none.go"),
			fails("launch program=go.mod", "go.mod"),
			fails("set_breakpoint line=5", "is required for set_breakpoint"),
			// An existing binary, stopped at its entry.
			does("launch program=bank mode=exec", "Session: debug-", "Status: stopped", "Stop reason: entry"),
			does("set_breakpoint function=main.greet", "Function breakpoints:", "main.greet: verified"),
			does("set_breakpoint file=main.go line=15", "- line 15"),
			does("set_breakpoint file=main.go line=37 log_message={len(list)}_accounts", "- line 37: verified"),
			does("breakpoints", "main.greet", "main.go"),
			does("continue", "stopped at main.go:24", "Stop reason: function breakpoint"),
			does("remove_breakpoint function=main.greet", "(none)"),
			does("run_to file=main.go line=27", "stopped at main.go:27"),
			saving("scopes", "locals", `- Locals: ref=(\d+)`),
			saving("variables variable_ref=${locals}", "memory", `- key = .*\[mem=([^\]]+)\]`),
			saving("evaluate expression=name", "name", `Result: "(\w+)"`),
			does("read_memory memory_reference=${memory} count=3", "|${name}|"),
			does("write_memory memory_reference=${memory} data=RVZF", "Bytes written: 3"),
			saving("scopes", "locals", `- Locals: ref=(\d+)`),
			does("evaluate expression=string(key)", "EVE"),
			does("inspect depth=2", "#0 main.greet @ main.go:27", "name = \"", "#1 main.main.func1 @ main.go:34"),
			saving("scopes", "locals", `- Locals: ref=(\d+)`),
			does("variables variable_ref=${locals}", `- name = "`),
			does("step_in", "Step in stopped"),
			fails("variables variable_ref=${locals}", "earlier stop"),
			fails("variables variable_ref=99999", "variables reference 99999: invalid handle"),
			does("step_over", "Step over stopped"),
			saving("scopes", "locals", `- Locals: ref=(\d+)`),
			does("set_exception_breakpoints", "unrecovered-panic"),
			does(`set_exception_breakpoints {"filters": ["unrecovered-panic"]}`, "unrecovered-panic"),
			fails(`set_exception_breakpoints {"filters": ["all"]}`, "no exception filter"),
			does("remove_breakpoint file=main.go line=15", "- line 37"),
			does("run_to file=main.go line=19", "stopped at main.go:19"),
			saving("scopes", "locals", `- Locals: ref=(\d+)`),
			does(`set_variable {"variable_ref": ${locals}, "name": "sum", "value": "5"}`, "sum = 5"),
			does("evaluate expression=sum", "Result: 5"),
			unsupported(`set_expression {"expression": "sum", "value": "6"}`, "setting expressions"),
			unsupported("completions expression=su", "completions"),
			unsupported("step_back", "running backwards"),
			unsupported("reverse_continue", "running backwards"),
			unsupported("restart_frame", "restarting a frame"),
			unsupported("goto_targets file=main.go line=21", "goto"),
			unsupported("goto target=1", "goto"),
			unsupported("step_in_targets", "step-in targets"),
			unsupported("modules", "module introspection"),
			unsupported("loaded_sources", "loaded sources"),
			does("source", "func total(list []account) int {"),
			saving("disassemble instruction_count=5 instruction_offset=1", "instruction", `(0x[0-9a-f]+)`),
			does("set_instruction_breakpoint instruction_reference=${instruction}", "Instruction breakpoints:", "${instruction}", "verified"),
			does("remove_instruction_breakpoint instruction_reference=${instruction}", "(none)"),
			fails("attach", "pid or port (or configuration) is required for attach"),
			fails("attach pid=2147483646", "2147483646"),
			saving("data_breakpoint_info name=sum", "data", `Data ID: (\S+)`, "write"),
			does("set_data_breakpoint data_id=${data} access_type=write", "Data breakpoints:", "verified"),
			{do: "continue", watches: true, want: []string{"data breakpoint", "main.go:"}},
			does("remove_data_breakpoint data_id=${data}", "(none)"),
			saving("stack_trace", "pc", `#(\d+) main.total`),
			does("custom_request command=threads", "threads response:", "main.total"),
			does("restart", "Stop reason: entry"),
			does("sessions", "Session: debug-", "Status: stopped"),
			does("continue timeout=60", "Program terminated with exit code 0.", "3_accounts"),
			// A running program is paused.
			does(`launch {"program": "bank", "args": ["wait"], "stop_on_entry": false, "timeout": 5}`, "Session: debug-"),
			{do: "sessions", until: "Status: running"},
			fails("stack_trace", "the program is running"),
			does("pause", "Program paused at main.go:42"),
			does("continue timeout=5", "Program is still running after 5s. Use pause to interrupt and inspect state."),
			does("terminate", "Debug session terminated."),
			does("terminate", "No debug session to terminate."),
		},
		states: map[string][]debugStep{
			// The compiler never ends.
			"launching": {does(`launch {"program": ".", "timeout": 5, "arguments": {"buildFlags": ["-toolexec", "sh -c 'sleep 600' x"]}}`, "Status: launching")},
			"stopped":   {does("launch program=bank mode=exec", "Status: stopped")},
			"running": {
				does(`launch {"program": "bank", "args": ["wait"], "stop_on_entry": false, "timeout": 5}`, "Session: debug-1"),
				{do: "sessions", until: "Status: running"},
			},
		},
	}
}
