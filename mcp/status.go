package mcp

import (
	"strings"
)

// State is the state of a server.
type State string

// The states.
const (
	// StateWaiting is before [Set.Start].
	StateWaiting State = "waiting"
	// StateConnecting is while the server starts.
	StateConnecting State = "connecting"
	StateConnected  State = "connected"
	// StateRetrying is between two attempts.
	StateRetrying State = "retrying"
	// StateFailed lasts until [Set.Reconnect] or [Set.Retry]. The server offers nothing.
	StateFailed State = "failed"
	StateClosed State = "closed"
)

// ServerStatus is the status of a server.
type ServerStatus struct {
	Name  string
	State State
	// Transport is "stdio", "http", "sse" or "acp"; empty for an entry that names none.
	Transport string
	// Protocol is the negotiated protocol version; empty unless connected.
	Protocol string
	// Stateless reports that the server speaks a protocol without a handshake.
	Stateless bool
	// Info is the name and version that the server sent.
	Info string

	Tools, Prompts, Resources, Templates int

	// LastError is the last failure, also after a recovery; empty for none.
	LastError string
	// Stderr is the end of the stderr of a stdio server, even after the process has exited.
	Stderr string
}

func (s *server) status() ServerStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := ServerStatus{Name: s.spec.Name, State: s.state, Transport: transportKind(&s.spec)}
	if s.lastErr != nil {
		st.LastError = s.lastErr.Error()
	}
	if s.stderr != nil {
		st.Stderr = s.secrets.text(strings.TrimSpace(s.stderr.String()))
	}
	if s.offers() {
		st.Tools, st.Prompts = len(s.lists.tools), len(s.lists.prompts)
		st.Resources, st.Templates = len(s.lists.resources), len(s.lists.templates)
	}
	if s.state == StateConnected {
		st.Protocol, st.Stateless, st.Info = s.conn.protocol, s.conn.stateless, s.conn.info
	}
	return st
}

func transportKind(s *Server) string {
	switch {
	case s.Stdio != nil:
		return "stdio"
	case s.HTTP != nil && s.HTTP.SSE:
		return "sse"
	case s.HTTP != nil:
		return "http"
	case s.Channel != nil:
		return "acp"
	default:
		return ""
	}
}
