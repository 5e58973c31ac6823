package main

import (
	"os/exec"
	"testing"

	"github.com/gajae-code/gjc/internal/testenv"
)

const cProgram = `#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

struct account {
  const char *name;
  int balance;
};

/* total adds up the balances. It forgets the last one. */
int total(const struct account *list, int n) {
  int sum = 0;
  for (int i = 0; i < n - 1; i++) {
    sum += list[i].balance;
  }
  return sum;
}

void *greet(void *name) {
  char text[32];
  snprintf(text, sizeof text, "hello %s", (const char *)name);
  return strdup(text);
}

int peek(const int *where) {
  return *where;
}

volatile int go_on = 1;

void spin(void) {
  unsigned long turns = 0;
  while (go_on) {
    turns++;
  }
}

int main(int argc, char **argv) {
  struct account list[] = {{"ann", 10}, {"bob", 20}, {"eve", 30}};
  const char *how = argc > 1 ? argv[1] : "";
  pthread_t threads[3];
  for (int i = 0; i < 3; i++) {
    pthread_create(&threads[i], NULL, greet, (void *)list[i].name);
  }
  for (int i = 0; i < 3; i++) {
    void *text;
    pthread_join(threads[i], &text);
    free(text);
  }
  printf("total %d\n", total(list, 3));
  fflush(stdout);
  if (!strcmp(how, "crash")) {
    return peek(NULL);
  }
  if (!strcmp(how, "tty")) {
    printf("a terminal: %d\n", isatty(1));
  }
  if (!strcmp(how, "wait")) {
#ifdef PR_SET_PTRACER
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
#endif
    puts("waits");
    fflush(stdout);
    spin();
  }
  return 0;
}
`

const rustProgram = `struct Account {
    name: String,
    balance: i64,
}

// total adds up the balances. It forgets the last one.
fn total(list: &[Account]) -> i64 {
    let mut sum = 0;
    for i in 0..list.len() - 1 {
        sum += list[i].balance;
    }
    let done = sum;
    done
}

fn main() {
    let list: Vec<Account> = [("ann", 10), ("bob", 20), ("eve", 30)]
        .iter()
        .map(|(name, balance)| Account { name: name.to_string(), balance: *balance })
        .collect();
    let sum = total(&list);
    println!("total {} of {}", sum, list[0].name);
    if std::env::args().count() > 1 {
        panic!("out of money");
    }
}
`

// compile runs a compiler in the project.
func compile(t *testing.T, work, compiler string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), testenv.NeedsTool(t, compiler), args...)
	cmd.Dir = work
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// perhaps is a step whose action only some versions of an adapter support.
func perhaps(step debugStep, what string) debugStep {
	return step.otherwise("the debug adapter does not support " + what)
}

// otherwise returns the step with an alternative: it may also fail, with these words.
func (s debugStep) otherwise(want ...string) debugStep {
	s.or = &debugStep{want: want, fails: true}
	return s
}

func cAdapter() *debugAdapter {
	return &debugAdapter{
		name: "lldb-dap", process: "lldb-dap",
		env: func(t *testing.T) []string {
			testenv.NeedsLLDB(t)
			return nil
		},
		files: map[string]string{"bank.c": cProgram},
		prepare: func(t *testing.T, work string) {
			compile(t, work, "cc", "-g", "-O0", "-pthread", "-o", "bank", "bank.c")
		},
		hunt: []debugStep{
			does("set_breakpoint file=bank.c line=19 condition=i==1", "- line 19: kept for the next launch if i==1"),
			does("set_breakpoint file=bank.c line=21", "- line 21: kept"),
			does("launch program=bank timeout=120", "Session: debug-1", "Adapter: lldb-dap", "Status: stopped", "Stop reason: breakpoint", "Location: bank.c:19", "→ 19", "- i = 1 (int)", "- sum = 10 (int)"),
			does("evaluate expression=list[i].balance", "Result: 20", "Type: const int"),
			does("step_over", "Step over stopped at bank.c:18", "- sum: 10 → 30"),
			does("evaluate expression=n", "Result: 3"),
			does("threads", ": bank"),
			// The loop ends before the last account: that is the bug.
			does("run_to file=bank.c line=21", "stopped at bank.c:21"),
			does("evaluate expression=sum+1", "Result: 31"),
			saving("stack_trace", "caller", `- #(\d+) main @ bank.c:55`, "total @ bank.c:21"),
			does("evaluate expression=list[2].name frame_id=${caller}", `"eve"`),
			does("step_out", "stopped at bank.c:55"),
			does("continue timeout=120", "Program terminated with exit code 0.", "total 30"),
			does("output", "total 30"),
			fails("step_over", "no active debug session"),
			// A signal ends the program.
			does(`launch {"program": "bank", "args": ["crash"], "stop_on_entry": false, "timeout": 120}`, "Stop reason: exception", "SIGSEGV", "Location: bank.c:31", "→ 31", "- where = 0x0000000000000000", "total 30"),
			does("exception_info", "SIGSEGV"),
			does("stack_trace", "peek @ bank.c:31", "main @ bank.c:58"),
			does("continue timeout=120", "Program terminated with exit code "),
			does("terminate", "No debug session to terminate."),
		},
		steps: []debugStep{
			does("sessions", "Status: terminated"),
			fails("attach", "pid or port"),
			fails("attach pid=2147483646", "2147483646"),
			fails("launch program=bank.c", "bank.c is a source file"),
			fails("launch program=none", "none does not exist"),
			does("launch program=bank timeout=120", "Session: debug-", "Status: stopped"),
			does("set_breakpoint function=greet", "Function breakpoints:", "greet: verified at bank.c:26"),
			does("set_breakpoint file=bank.c line=27", "- line 27: verified"),
			does("set_breakpoint file=bank.c line=56 log_message={argc}_arguments", `- line 56: verified logs "{argc}_arguments"`),
			does(`set_breakpoint {"file": "bank.c", "line": 19, "hit_condition": "2"}`, "- line 19: verified hits 2"),
			does("breakpoints", "- greet: verified", "- line 19: verified hits 2"),
			does("set_exception_breakpoints", "- cpp_throw: C++ Throw", "- cpp_catch: C++ Catch"),
			does(`set_exception_breakpoints {"filters": ["cpp_throw"]}`, "- cpp_throw: "),
			fails(`set_exception_breakpoints {"filters": ["all"]}`, "no exception filter"),
			does("continue timeout=120", "stopped at bank.c:26", "Stop reason: breakpoint", "Frame: greet (thread "),
			does("threads", ": bank"),
			does("remove_breakpoint function=greet", "(none)"),
			{do: "continue timeout=120", until: "stopped at bank.c:27"},
			saving("evaluate expression=&text", "memory", `Result: (0x[0-9a-f]+)`),
			does("evaluate expression=text", `Result: "hello `),
			perhaps(does("read_memory memory_reference=${memory} count=5", "|hello|"), "memory reads"),
			perhaps(does("write_memory memory_reference=${memory} data=SEVM", "Bytes written: 3"), "memory writes"),
			does("remove_breakpoint file=bank.c line=27", "- line 56"),
			// The second time that it reaches the line.
			does("continue timeout=120", "stopped at bank.c:19", "- i = 1 (int)", "- sum = 10 (int)"),
			does("inspect depth=2", "#0 total @ bank.c:19", "sum = 10 (int)", "#1 main @ bank.c:55", "argc = 1 (int)"),
			does("run_to file=bank.c line=21 timeout=120", "stopped at bank.c:21", "- sum: 10 → 30"),
			saving("stack_trace", "caller", `- #(\d+) main @ bank.c:55`),
			saving("scopes", "locals", `- Locals: ref=(\d+)`, "- Registers: ref="),
			saving("scopes frame_id=${caller}", "callers", `- Locals: ref=(\d+)`),
			does("variables variable_ref=${locals}", "- sum = 30 (int)"),
			saving("variables variable_ref=${callers}", "list", `- list = .*\[ref=(\d+)\]`, "- argc = 1 (int)"),
			does("variables variable_ref=${list}", "- [0] = ", "- [2] = "),
			does(`set_variable {"variable_ref": ${locals}, "name": "sum", "value": "5"}`, "sum = 5 (int)"),
			does("evaluate expression=sum", "Result: 5"),
			does(`evaluate {"expression": "sum = 7"}`),
			does("evaluate expression=sum", "Result: 7"),
			does("completions expression=su", "- sum"),
			does("modules", "bank", "Symbols loaded."),
			does("source", "int total(const struct account *list, int n) {"),
			saving("disassemble instruction_count=5", "instruction", `→ (0x[0-9A-Fa-f]+)`, "bank.c:21:"),
			perhaps(does("set_instruction_breakpoint instruction_reference=${instruction}", "Instruction breakpoints:"), "instruction breakpoints"),
			does("remove_instruction_breakpoint instruction_reference=${instruction}", "(none)"),
			does("custom_request command=threads", "threads response:"),
			unsupported(`set_expression {"expression": "sum", "value": "6"}`, "setting expressions"),
			unsupported("step_back", "running backwards"),
			unsupported("reverse_continue", "running backwards"),
			unsupported("restart_frame", "restarting a frame"),
			unsupported("goto_targets file=bank.c line=17", "goto"),
			unsupported("goto file=bank.c line=17", "goto"),
			unsupported("loaded_sources", "loaded sources"),
			does("step_out", "stopped at bank.c:55"),
			fails("variables variable_ref=${locals}", "earlier stop"),
			fails("variables variable_ref=99999", "variables reference 99999: invalid handle"),
			does("step_in_targets", "step_in"),
			does("step_over", "stopped at bank.c:56", "total 7"),
			does("restart timeout=120", "Status: stopped"),
			does("set_breakpoint file=bank.c line=55", "- line 55: verified"),
			does("continue timeout=120", "stopped at bank.c:55"),
			saving("step_in_targets", "target", `- (\d+): total`),
			does("step_in target=${target}", "stopped at bank.c:17", "Frame: total"),
			// A watchpoint for changes of a variable.
			does("step_over", "stopped at bank.c:18"),
			saving("scopes", "locals", `- Locals: ref=(\d+)`),
			saving("data_breakpoint_info name=sum variable_ref=${locals}", "data", `Data ID: (\S+)`, "write"),
			does("set_data_breakpoint data_id=${data} access_type=write", "Data breakpoints:", "verified on write"),
			does("remove_breakpoint file=bank.c line=19", "- line 56"),
			{do: "continue timeout=120", watches: true, want: []string{"watchpoint", "- sum: 0 → 10"}},
			does("remove_data_breakpoint data_id=${data}", "(none)"),
			does("continue timeout=120", "Program terminated with exit code 0.", "total 30", "1_arguments"),
			does("sessions", "Status: terminated"),
			// A program that checks whether it has a terminal.
			does(`launch {"program": "bank", "args": ["tty"], "terminal": true, "stop_on_entry": false, "timeout": 120}`, "Program terminated with exit code 0."),
			{do: "output", until: "a terminal: 1"},
			// A running program is paused.
			does("set_breakpoint file=bank.c line=37"),
			does(`launch {"program": "bank", "args": ["wait"], "timeout": 120}`, "Location: bank.c:37"),
			does("remove_breakpoint file=bank.c line=37", "(none)"),
			does("continue timeout=5", "Program is still running after 5s. Use pause to interrupt and inspect state."),
			fails("stack_trace", "the program is running"),
			does("pause timeout=120", "Program paused at bank.c:3", "Frame: spin", "- turns"),
			does("evaluate expression=turns>0", "Result: true"),
			does("terminate", "Debug session terminated."),
			does("terminate", "No debug session to terminate."),
		},
		later: "set_breakpoint function=main",
		states: map[string][]debugStep{
			// It never reaches the program.
			launching: {does(`launch {"program": "bank", "timeout": 15, "arguments": {"initCommands": ["platform shell -t 3600 -- sleep 3600"]}}`, "The program is still starting", "Status: launching")},
			"stopped": {does("launch program=bank timeout=120", "Status: stopped")},
			"running": {
				does("set_breakpoint file=bank.c line=37"),
				does(`launch {"program": "bank", "args": ["wait"], "timeout": 120}`, "Location: bank.c:37"),
				does("remove_breakpoint file=bank.c line=37"),
				does("continue timeout=5", "Program is still running after 5s."),
			},
		},
	}
}

func TestDebugger_Rust(t *testing.T) {
	t.Parallel()
	a := cAdapter()
	a.files = map[string]string{"main.rs": rustProgram}
	a.prepare = func(t *testing.T, work string) {
		compile(t, work, "rustc", "-g", "-C", "opt-level=0", "-o", "bank", "main.rs")
	}
	mark := markOf(t)
	h := a.start(t, mark)
	h.all(t, []debugStep{
		fails("launch program=main.rs", "main.rs is a source file"),
		does("set_breakpoint file=main.rs line=10 condition=i==1"),
		does("launch program=bank timeout=120", "Adapter: lldb-dap", "Location: main.rs:10", "- i = 1", "- sum = 10"),
		does("step_over", "stopped at main.rs:"),
		does("run_to file=main.rs line=12 timeout=120", "stopped at main.rs:12"),
		does("evaluate expression=sum", "Result: 30"),
		does("inspect depth=2", "#0 ", "total", "@ main.rs:12", "#1 ", "main", "list = "),
		does("step_out", "stopped at main.rs:21"),
		does("continue timeout=120", "Program terminated with exit code 0.", "total 30 of ann"),
		// Panics have no exception filter; a function breakpoint catches them.
		does("set_breakpoint function=rust_panic"),
		does(`launch {"program": "bank", "args": ["x"], "timeout": 120}`, "Stop reason: breakpoint", "out of money", "main.rs:24"),
		does("stack_trace", "@ main.rs:24"),
		does("terminate", "Debug session terminated."),
	})
	h.stop()
	wantNoneLeft(t, mark)
}
