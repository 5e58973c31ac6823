package main

import (
	"testing"

	"github.com/gajae-code/gjc/internal/testenv"
)

const pythonProgram = `import sys
import threading
import time


class Account:
    def __init__(self, name, balance):
        self.name = name
        self.balance = balance


def total(accounts):
    # It forgets the last one.
    sum = 0
    for i in range(len(accounts) - 1):
        sum += accounts[i].balance
    return sum


def greet(name, done):
    text = "hello " + name
    done.append(text)
    return text


def number(text):
    try:
        return int(text)
    except ValueError:
        return 0


def spin():
    turns = 0
    while True:
        turns += 1
        time.sleep(0.01)


def main(how):
    accounts = [Account("ann", 10), Account("bob", 20), Account("eve", 30)]
    done = []
    threads = [threading.Thread(target=greet, args=(a.name, done), name=a.name) for a in accounts]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    print("total", total(accounts))
    if how == "crash":
        raise RuntimeError("out of money")
    if how == "guess":
        print("guess", number("many"))
    if how == "tty":
        print("a terminal:", sys.stdout.isatty())
    if how == "wait":
        spin()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
`

const pythonTest = `import unittest

import bank


class TotalTest(unittest.TestCase):
    def test_total(self):
        got = bank.total([bank.Account("a", 1), bank.Account("b", 2)])
        self.assertEqual(got, 3)


def test_plain():
    got = bank.total([bank.Account("a", 1), bank.Account("b", 2)])
    assert got == 3
`

// pythonParent runs another Python, which must not wait for a debugger of its own.
const pythonParent = `import subprocess
import sys

child = subprocess.run([sys.executable, "-c", "print('of the child')"], capture_output=True, text=True)
print("the words", child.stdout)
`

func pythonAdapter() *debugAdapter {
	return &debugAdapter{
		name: "debugpy", process: "debugpy.adapter",
		env: func(t *testing.T) []string {
			testenv.NeedsDebugpy(t)
			return []string{"DEBUGPY_PROCESS_SPAWN_TIMEOUT=600"} // the default of 15 seconds is too short on a busy machine, and for the state launching
		},
		files: map[string]string{"bank.py": pythonProgram, "test_bank.py": pythonTest, "parent.py": pythonParent},
		hunt: []debugStep{
			does("set_breakpoint file=bank.py line=16 condition=i==1", "- line 16: kept for the next launch if i==1"),
			does("set_breakpoint file=bank.py line=17", "- line 17: kept"),
			does("launch program=bank.py timeout=120", "Session: debug-1", "Adapter: debugpy", "Status: stopped", "Stop reason: breakpoint", "Location: bank.py:16", "→ 16", "- i = 1 (int)", "- sum = 10 (int)"),
			does("evaluate expression=accounts[i].balance", "Result: 20", "Type: int"),
			does("step_over", "Step over stopped at bank.py:15", "- sum: 10 → 30"),
			does("evaluate expression=len(accounts)", "Result: 3"),
			does("threads", "1: MainThread"),
			// The loop ends before the last account: that is the bug.
			does("run_to file=bank.py line=17", "stopped at bank.py:17"),
			does("evaluate expression=sum", "Result: 30"),
			saving("stack_trace", "caller", `- #(\d+) main @ bank.py:48`, "total @ bank.py:17"),
			does(`evaluate {"expression": "[a.name for a in accounts]", "frame_id": ${caller}}`, "['ann', 'bob', 'eve']"),
			does("step_out", "stopped at bank.py:48"),
			does("continue timeout=120", "Program terminated with exit code 0.", "total 30"),
			does("output", "total 30"),
			fails("step_over", "no active debug session"),
			// The exception is reported where it was raised.
			does(`launch {"program": "bank.py", "args": ["crash"], "stop_on_entry": false, "timeout": 120}`, "Stop reason: exception", "out of money", "Exception: RuntimeError", "→ 50", "total 30"),
			does("exception_info", "RuntimeError", "out of money", "Break mode: unhandled", `bank.py", line 50, in main`),
			does("continue timeout=120", "Program terminated with exit code 1.", "RuntimeError: out of money"),
			// Tests are debugged too.
			does("set_breakpoint file=test_bank.py line=9", "- line 9"),
			does(`launch {"adapter": "debugpy", "arguments": {"module": "unittest", "args": ["test_bank.TotalTest"]}, "timeout": 120}`, "Location: test_bank.py:9", "Program: module unittest", "- got = 1 (int)"),
			fails("evaluate expression=gott", "name 'gott' is not defined", "In scope: got, self"),
			does("terminate", "Debug session terminated."),
		},
		steps: []debugStep{
			does("sessions", "Status: terminated"),
			fails("attach", "pid or port"),
			fails("attach pid=2147483646", "2147483646"),
			fails("attach adapter=debugpy port=1", "cannot reach a debug adapter at 127.0.0.1:1"),
			fails("launch program=none.py", "none.py does not exist"),
			fails(`launch {"adapter": "debugpy", "program": "."}`, "is a directory without __main__.py"),
			fails("set_breakpoint line=5", "is required for set_breakpoint"),
			// A program stopped before its first line.
			does("launch program=bank.py timeout=120", "Session: debug-", "Status: stopped", "Stop reason: entry", "Location: bank.py:1"),
			does("set_breakpoint function=greet", "Function breakpoints:", "greet: verified"),
			does(`set_breakpoint {"file": "bank.py", "line": 22, "hit_condition": "2"}`, "- line 22: verified hits 2"),
			does("set_breakpoint file=bank.py line=42 log_message={len(accounts)}_accounts", `- line 42: verified logs "{len(accounts)}_accounts"`),
			does("breakpoints", "- greet: verified", "Breakpoints for bank.py:", "- uncaught: verified"),
			does("continue timeout=120", "Stop reason: function breakpoint", "Frame: greet (thread ", "- done = [] (list)"),
			does("threads", "MainThread", "ann"),
			does("remove_breakpoint function=greet", "(none)"),
			// The second thread that reaches it.
			does("continue timeout=120", "stopped at bank.py:22", "Frame: greet (thread ", "hello "),
			does("step_over", "Step over stopped at bank.py:23", "- done: ["),
			does("inspect depth=2", "#0 greet @ bank.py:23", "text = 'hello ", "#1 run @ "),
			does("remove_breakpoint file=bank.py line=22", "- line 42"),
			does("run_to file=bank.py line=49 timeout=120", "stopped at bank.py:49"),
			does("output", "total 30", "3_accounts"),
			// Back to the call of total, and into it.
			does("goto_targets file=bank.py line=48", "bank.py:48 @ line 48"),
			does("goto file=bank.py line=48", "Goto stopped at bank.py:48"),
			// Some versions cannot read the code of newer Pythons.
			{do: "step_in_targets", want: []string{"total("}, or: &debugStep{fails: true}},
			does("step_in", "Step in stopped at bank.py:14", "Frame: total"),
			does("run_to file=bank.py line=17", "stopped at bank.py:17"),
			saving("scopes", "locals", `- Locals: ref=(\d+)`, "- Globals: ref="),
			saving("variables variable_ref=${locals}", "list", `- accounts = .*\[ref=(\d+)\]`, "- sum = 30 (int)"),
			does("variables variable_ref=${list}", "0 = <", "2 = <", "len() = 3"),
			does(`set_variable {"variable_ref": ${locals}, "name": "sum", "value": "5"}`, "sum = 5 (int)"),
			does("evaluate expression=sum", "Result: 5"),
			does(`set_expression {"expression": "accounts[0].balance", "value": "11"}`, "accounts[0].balance = 11"),
			does("evaluate expression=accounts[0].balance", "Result: 11"),
			does(`evaluate {"expression": "sum = 9"}`),
			does("evaluate expression=sum", "Result: 9"),
			does("completions expression=acc", "- accounts"),
			does("source", "def total(accounts):"),
			does("modules", "__main__", "bank.py"),
			does("custom_request command=threads", "threads response:", "MainThread"),
			unsupported("loaded_sources", "loaded sources"),
			unsupported("restart_frame", "restarting a frame"),
			unsupported("step_back", "running backwards"),
			unsupported("reverse_continue", "running backwards"),
			unsupported("disassemble instruction_count=5", "disassembly"),
			unsupported("read_memory memory_reference=0x1 count=3", "memory reads"),
			unsupported("write_memory memory_reference=0x1 data=RVZF", "memory writes"),
			unsupported("set_instruction_breakpoint instruction_reference=0x1", "instruction breakpoints"),
			does("remove_instruction_breakpoint instruction_reference=0x1", "(none)", "There was no breakpoint there."),
			unsupported("data_breakpoint_info name=sum", "data breakpoints"),
			unsupported("set_data_breakpoint data_id=x", "data breakpoints"),
			does("remove_data_breakpoint data_id=x", "(none)", "There was no breakpoint there."),
			does("step_out", "stopped at bank.py:48"),
			fails("variables variable_ref=${locals}", "earlier stop"),
			fails("variables variable_ref=99999", "variables reference 99999: invalid handle"),
			// It has no restart request: another adapter takes over.
			does("restart timeout=120", "Stop reason: entry", "Location: bank.py:1"),
			does("sessions", "Status: stopped"),
			does("continue timeout=120", "Program terminated with exit code 0.", "3_accounts"),
			// Exceptions that the program handles itself.
			does(`launch {"program": "bank.py", "args": ["guess"], "timeout": 120}`, "Stop reason: entry"),
			does("set_exception_breakpoints", "- raised: ", "- uncaught: ", "[on]"),
			does(`set_exception_breakpoints {"filters": ["raised"]}`, "- raised: verified"),
			fails(`set_exception_breakpoints {"filters": ["all"]}`, "no exception filter"),
			does("continue timeout=120", "Stop reason: exception", "Exception: ValueError: invalid literal", "→ 28", "- text = 'many'"),
			does("exception_info", "Exception: ValueError", "Break mode: always", `bank.py", line 28, in number`),
			does(`set_exception_breakpoints {"filters": []}`, "(none)"),
			does("continue timeout=120", "Program terminated with exit code 0.", "guess 0"),
			// A program with child processes, and one in a terminal.
			does("launch program=parent.py stop_on_entry=false timeout=120", "Program terminated with exit code 0.", "the words of the child"),
			does(`launch {"program": "bank.py", "args": ["tty"], "terminal": true, "stop_on_entry": false, "timeout": 120}`, "Program terminated with exit code 0."),
			{do: "output", until: "a terminal: True"},
			// A running program is paused.
			does("set_breakpoint file=bank.py line=34"),
			does(`launch {"program": "bank.py", "args": ["wait"], "timeout": 120}`, "Location: bank.py:34"),
			does("remove_breakpoint file=bank.py line=34", "(none)"),
			does("continue timeout=5", "Program is still running after 5s. Use pause to interrupt and inspect state."),
			fails("stack_trace", "the program is running"),
			does("pause timeout=120", "Program paused at "),
			{do: "continue timeout=5", until: "still running"},
			does("set_breakpoint file=bank.py line=36 condition=turns>10", "- line 36: verified if turns>10"),
			does("continue timeout=120", "stopped at bank.py:36", "Frame: spin"),
			does("terminate", "Debug session terminated."),
			does("terminate", "No debug session to terminate."),
		},
		later: "set_breakpoint file=bank.py line=41",
		states: map[string][]debugStep{
			// The program never reaches debugpy.
			launching: {does(`launch {"program": "bank.py", "timeout": 15, "arguments": {"python": ["sh", "-c", "sleep 3600"]}}`, "The program is still starting", "Status: launching")},
			"stopped": {does("launch program=bank.py timeout=120", "Status: stopped")},
			"running": {
				does("set_breakpoint file=bank.py line=34"),
				does(`launch {"program": "bank.py", "args": ["wait"], "timeout": 120}`, "Location: bank.py:34"),
				does("remove_breakpoint file=bank.py line=34"),
				does("continue timeout=5", "Program is still running after 5s."),
			},
		},
	}
}
