package debug

import (
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/dap"
)

// PlainExpression exports plainExpression.
func PlainExpression(text string, bareCalls bool) bool { return plainExpression(text, bareCalls) }

// PlainHits exports plainHits.
func PlainHits(text string) bool { return plainHits(text) }

// PlainLog exports plainLog.
func PlainLog(text string) bool { return plainLog(text, false) }

// PlainFunction exports plainFunction.
func PlainFunction(name string) bool { return plainFunction(name) }

// SnapshotText exports snapshotText, called for a snapshot in a call.
func SnapshotText(call *agent.Call, s *dap.Snapshot, verb string, full bool) string {
	return (&printer{workspace: &call.Workspace, debugger: new(dap.Debugger)}).snapshotText(s, verb, full)
}

// BreakpointText exports breakpointText, called for a breakpoint in a call.
func BreakpointText(call *agent.Call, b *dap.Breakpoint) string {
	return (&printer{workspace: &call.Workspace}).breakpointText(b, false)
}

// DebugActions returns the names of all actions.
func DebugActions() []string { return debugActions() }
