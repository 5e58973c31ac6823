package server

import (
	"context"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/agents"
)

// helpers returns what finds the helper agents of a session. Nothing is read before a model is told of them.
func (s *Server) helpers(e *entry, ws agent.Workspace) func(context.Context) []agent.Helper {
	return agents.New(agents.Options{
		UserDir: s.opts.UserDir, ProjectDirs: append([]string{ws.Cwd}, ws.Additional...), Home: s.opts.Home,
		Tell: func(p agents.Problem) {
			e.out.emit(agent.Noticed{Severity: agent.SeverityWarning, Title: "The file of a helper agent has a mistake.", Detail: p.String()})
		},
	}).Helpers
}
