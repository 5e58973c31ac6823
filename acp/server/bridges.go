package server

import (
	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/proc"
)

// Bridges connect one session to files, terminals, programs and the user.
type Bridges struct {
	FS       agent.FS
	Terminal agent.Terminal
	Programs agent.Programs
	Approver agent.Approver
	Elicitor agent.Elicitor
}

// BridgeOptions describes the session that bridges are for. All fields are set.
type BridgeOptions struct {
	// Client calls the editor.
	Client acp.Caller
	// Capabilities is what the editor advertised. Methods outside of it must not be called.
	Capabilities acp.ClientCapabilities
	SessionID    acp.SessionID
	Workspace    agent.Workspace
	// Children owns the local processes.
	Children *proc.Group
	// Mark identifies the processes of the session and its subagents. See [proc.Sweep].
	Mark string
}

// bridges returns the bridges of a session.
func (s *Server) bridges(id acp.SessionID, ws agent.Workspace, mark string) Bridges {
	return s.opts.Bridges(BridgeOptions{
		Client: s.conn, Capabilities: s.capabilities(), SessionID: id, Workspace: ws, Children: s.children, Mark: mark,
	})
}
