package agent

import "github.com/gajae-code/gjc/dap"

// Debugger is what a session debugs programs with.
type Debugger struct {
	// Sessions are the debug sessions. They end with the session; their owner closes them.
	Sessions *dap.Debugger
	// Adapters knows which debug adapters there are for the session's roots. What it has beyond [dap.Catalog] (trust,
	// configurations of launch.json), the tool finds by itself.
	Adapters dap.Catalog
}
