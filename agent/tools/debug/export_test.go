package debug

import (
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/dap"
)

// PlainExpression is plainExpression for tests, and so on.
func PlainExpression(text string, bareCalls bool) bool { return plainExpression(text, bareCalls) }

// PlainHits is told of above.
func PlainHits(text string) bool { return plainHits(text) }

// PlainLog is told of above.
func PlainLog(text string) bool { return plainLog(text, false) }

// PlainFunction is told of above.
func PlainFunction(name string) bool { return plainFunction(name) }

// SnapshotText is a snapshot's text in a call.
func SnapshotText(call *agent.Call, s *dap.Snapshot, verb string, full bool) string {
	return (&debugCall{call: call, in: new(debugInput)}).snapshotText(s, verb, full)
}

// BreakpointText is a breakpoint's text in a call.
func BreakpointText(call *agent.Call, b *dap.Breakpoint) string {
	return (&debugCall{call: call, in: new(debugInput)}).breakpointText(b, false)
}

// DebugActions are the names of all actions.
func DebugActions() []string { return debugActions() }
