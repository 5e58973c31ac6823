package dap_test

import (
	"fmt"
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"github.com/gajae-code/gjc/internal/testenv"
)

// TestReference checks docs/reference/debug-adapter-protocol.md against [messages], and these against the commands and events of
// go-dap. -update rewrites the document.
func TestReference(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Debug Adapter Protocol\n\nEvery request, event and reverse request of version 1.70, and what gjc does with it ([Debugging](../debugging.md)). " +
		"Other events are kept as they are; other reverse requests are refused.\n\n| Name | Kind | gjc | Shown by |\n|---|---|---|---|\n")
	listed := make(map[string]bool)
	for _, m := range messages {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.name, m.kind, m.does, m.tests)
		listed[m.name] = true
	}
	testenv.Document(t, "docs/reference/debug-adapter-protocol.md", b.String())
	for _, name := range names {
		if !listed[name] {
			t.Errorf("there is no row for %s", name)
		}
		_, request := godap.DecodeProtocolMessage([]byte(`{"seq":1,"type":"request","command":"` + name + `"}`))
		_, event := godap.DecodeProtocolMessage([]byte(`{"seq":1,"type":"event","event":"` + name + `"}`))
		if request != nil && event != nil {
			t.Errorf("the protocol has no %s", name)
		}
	}
	if n := len(messages); n != len(names)+1 || n != len(listed) { // locations is newer than go-dap
		t.Errorf("there are %d rows, want %d", n, len(names)+1)
	}
}

// messages are the rows of the document. tests names the tests of a message, as "`package` TestName, TestName".
var messages = []struct{ name, kind, does, tests string }{
	{"attach", "request", "action attach", "`dap` TestTerminate_Attached; `cmd/gjc` TestDebugger_AttachToGo"},
	{"breakpointLocations", "request", "custom_request", "`dap` TestCustom"},
	{"cancel", "request", "sent for a call that nobody waits for, where the adapter knows it", "`dap` TestCancel_SendsRequest"},
	{"completions", "request", "action completions", "`dap` TestRequests"},
	{"configurationDone", "request", "after the breakpoints, where the adapter knows it", "`dap` TestStart_MessageOrder, TestCapabilities_Missing"},
	{"continue", "request", "actions continue, run_to", "`dap` TestResume_Arguments; `cmd/gjc` TestDebugAdapters"},
	{"dataBreakpointInfo", "request", "action data_breakpoint_info", "`dap` TestRequests"},
	{"disassemble", "request", "action disassemble", "`dap` TestRequests; `cmd/gjc` TestDebugAdapters"},
	{"disconnect", "request", "the end of a session", "`dap` TestTerminate_Idempotent, TestTerminate_Attached"},
	{"evaluate", "request", "action evaluate", "`dap` TestRequests, TestDuplicateAnswers; `cmd/gjc` TestDebugAdapters"},
	{"exceptionInfo", "request", "action exception_info, and stops at exceptions", "`dap` TestRequests; `cmd/gjc` TestDebugAdapters"},
	{"goto", "request", "action goto", "`dap` TestResume_Arguments"},
	{"gotoTargets", "request", "actions goto, goto_targets", "`dap` TestRequests"},
	{"initialize", "request", "the start", "`dap` TestStart_MessageOrder, TestAdapterDies, TestAdapterSilent"},
	{"launch", "request", "action launch", "`dap` TestStart_MessageOrder, TestStart_LaunchFails; `cmd/gjc` TestDebugAdapters"},
	{"loadedSources", "request", "action loaded_sources", "`dap` TestRequests"},
	{"locations", "request", "custom_request", "`dap` TestCustom"},
	{"modules", "request", "action modules", "`dap` TestCapabilities_Missing"},
	{"next", "request", "action step_over", "`dap` TestResume_Arguments, TestResume_Refused; `cmd/gjc` TestDebugAdapters"},
	{"pause", "request", "action pause", "`dap` TestWait_Timeout; `cmd/gjc` TestDebugAdapters"},
	{"readMemory", "request", "action read_memory", "`dap` TestRequests; `cmd/gjc` TestDebugAdapters"},
	{"restart", "request", "action restart", "`dap` TestRestart; `cmd/gjc` TestDebugAdapters"},
	{"restartFrame", "request", "action restart_frame", "`dap` TestResume_Arguments"},
	{"reverseContinue", "request", "action reverse_continue", "`dap` TestResume_Arguments"},
	{"scopes", "request", "actions scopes, inspect; snapshots", "`dap` TestSnapshot, TestHandles_ValidForOneStop; `cmd/gjc` TestDebugAdapters"},
	{"setBreakpoints", "request", "actions set_breakpoint, remove_breakpoint, run_to", "`dap` TestBreakpoints_EachKind, TestBreakpoints_Refused; `cmd/gjc` TestDebugAdapters"},
	{"setDataBreakpoints", "request", "actions set_data_breakpoint, remove_data_breakpoint", "`dap` TestBreakpoints_EachKind; `cmd/gjc` TestDebugAdapters"},
	{"setExceptionBreakpoints", "request", "action set_exception_breakpoints; the adapter's own choice before", "`dap` TestBreakpoints_EachKind, TestStart_MessageOrder; `cmd/gjc` TestDebugAdapters"},
	{"setExpression", "request", "action set_expression", "`dap` TestRequests"},
	{"setFunctionBreakpoints", "request", "actions set_breakpoint, remove_breakpoint with function", "`dap` TestBreakpoints_EachKind; `cmd/gjc` TestDebugAdapters"},
	{"setInstructionBreakpoints", "request", "actions set_instruction_breakpoint, remove_instruction_breakpoint", "`dap` TestBreakpoints_EachKind; `cmd/gjc` TestDebugAdapters"},
	{"setVariable", "request", "action set_variable", "`dap` TestRequests; `cmd/gjc` TestDebugAdapters"},
	{"source", "request", "action source; snapshots of sources without a file", "`dap` TestSource_FromAdapter, TestRequests"},
	{"stackTrace", "request", "actions stack_trace, inspect; snapshots", "`dap` TestSnapshot, TestSnapshot_StoppedInLibrary; `cmd/gjc` TestDebugAdapters"},
	{"stepBack", "request", "action step_back", "`dap` TestResume_Arguments"},
	{"stepIn", "request", "action step_in", "`dap` TestResume_Arguments; `cmd/gjc` TestDebugAdapters"},
	{"stepInTargets", "request", "action step_in_targets", "`dap` TestRequests"},
	{"stepOut", "request", "action step_out", "`cmd/gjc` TestDebugAdapters"},
	{"terminate", "request", "action terminate, where the adapter knows it", "`dap` TestProcessTree_Ended; `cmd/gjc` TestDebugAdapters"},
	{"terminateThreads", "request", "custom_request", "`dap` TestCustom"},
	{"threads", "request", "action threads", "`dap` TestStopped_OtherThreads; `cmd/gjc` TestDebugAdapters"},
	{"variables", "request", "actions variables, inspect; snapshots", "`dap` TestVariables_Large, TestVariables_Cycle; `cmd/gjc` TestDebugAdapters"},
	{"writeMemory", "request", "action write_memory", "`dap` TestRequests; `cmd/gjc` TestDebugAdapters"},
	{"breakpoint", "event", "what the adapter makes of a breakpoint", "`dap` TestBreakpoints_Events"},
	{"capabilities", "event", "changes what can be asked", "`dap` TestCapabilities_Missing"},
	{"continued", "event", "the program runs on by itself", "`dap` TestContinuedEvent"},
	{"exited", "event", "the exit code; the end, where no terminated follows", "`dap` TestWait_ProgramEnds, TestWait_ExitedEventOnly"},
	{"initialized", "event", "begins the configuration, again after a restart", "`dap` TestStart_OtherMessageOrders, TestRestart"},
	{"invalidated", "event", "what is known of the stop's variables is asked for again", "`dap` TestInvalidatedEvent"},
	{"loadedSource", "event", "taken; loaded_sources asks when it matters", "`dap` FuzzEvent"},
	{"memory", "event", "taken; memory is not kept", "`dap` FuzzEvent"},
	{"module", "event", "taken; modules asks when it matters", "`dap` FuzzEvent"},
	{"output", "event", "kept, 128 KiB of it, and shown as it comes", "`dap` TestOutput_Bounded, TestSnapshot"},
	{"process", "event", "the program's process id", "`dap` TestSnapshot"},
	{"progressEnd", "event", "taken", "`dap` FuzzEvent"},
	{"progressStart", "event", "taken", "`dap` FuzzEvent"},
	{"progressUpdate", "event", "taken", "`dap` FuzzEvent"},
	{"stopped", "event", "a stop; another thread may stop while the program is stopped", "`dap` TestSnapshot, TestStopped_OtherThreads"},
	{"terminated", "event", "the end, or a restart that the adapter wants", "`dap` TestWait_ProgramEnds, TestRestart"},
	{"thread", "event", "which threads there are", "`dap` TestMalformedMessages, FuzzEvent"},
	{"runInTerminal", "reverse request", "the editor's terminal, or a pseudo-terminal", "`dap` TestRunInTerminal, TestReverse_Refused"},
	{"startDebugging", "reverse request", "a child session", "`dap` TestStartDebugging, TestStartDebugging_OwnProcess, TestStartDebugging_Fails"},
}

// names are the requests, reverse requests and events of the protocol.
var names = strings.Fields(`attach breakpointLocations cancel completions configurationDone continue dataBreakpointInfo disassemble
disconnect evaluate exceptionInfo goto gotoTargets initialize launch loadedSources modules next pause readMemory restart restartFrame
reverseContinue runInTerminal scopes setBreakpoints setDataBreakpoints setExceptionBreakpoints setExpression setFunctionBreakpoints
setInstructionBreakpoints setVariable source stackTrace startDebugging stepBack stepIn stepInTargets stepOut terminate terminateThreads
threads variables writeMemory breakpoint capabilities continued exited initialized invalidated loadedSource memory module output process
progressEnd progressStart progressUpdate stopped terminated thread`)
