package debug

import (
	"strconv"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/dap"
)

// A printer formats the debugger's data as text for the model.
type printer struct {
	// workspace shortens paths. debugger lists the sessions: if several are open, a text names its session.
	workspace *agent.Workspace
	debugger  *dap.Debugger
}

// place formats a path, with the line and the column if they are known.
func (p *printer) place(path string, line, column int) string {
	text := toolkit.Display(p.workspace, path)
	if line > 0 {
		text += ":" + strconv.Itoa(line)
		if column > 0 {
			text += ":" + strconv.Itoa(column)
		}
	}
	return text
}

// openSessions returns the sessions that have not ended.
func (p *printer) openSessions() []*dap.Session {
	var open []*dap.Session
	for _, s := range p.debugger.Sessions() {
		if s.State() != dap.StateTerminated {
			open = append(open, s)
		}
	}
	return open
}
