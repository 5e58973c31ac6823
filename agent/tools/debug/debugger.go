package debug

import (
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/dap"
)

// Debugger is a session's access to debug adapters, as one of its values. Child sessions have none.
type Debugger struct {
	// Sessions are the debug sessions. Their owner closes them.
	Sessions *dap.Debugger
	// Adapters lists the debug adapters for the directories of the session. The debug tool asserts that it implements further
	// interfaces: trust, and the configurations of launch.json.
	Adapters dap.Catalog
}

// SetDebugger makes a debugger available to the tools of a session; nil for none.
func SetDebugger(values *agent.Values, d *Debugger) { agent.SetValue(values, d) }

// debuggerOf returns the debugger of a session; nil for none.
func debuggerOf(values *agent.Values) *Debugger {
	d, _ := agent.LookupValue[*Debugger](values)
	return d
}

// hasDebugger reports whether a session has a debugger.
func hasDebugger(values *agent.Values) bool { return debuggerOf(values) != nil }
