package server

import (
	"context"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/lsp"
)

// sessionPrograms finds a session's helper programs. It uses programs in the workspace only if the user trusts them.
type sessionPrograms struct {
	agent.Programs
	workspace agent.Workspace
	// languages is nil for none. Its catalog records which programs the user trusts.
	languages *lsp.Workspace
}

// programFinder is a catalog that finds trusted programs.
type programFinder interface {
	Program(ctx context.Context, name string) (string, error)
}

var _ agent.ProgramStarter = sessionPrograms{}

// StartProgram implements [agent.ProgramStarter].
func (p sessionPrograms) StartProgram(ctx context.Context, prog agent.LongProgram) (agent.RunningProgram, error) {
	if s, ok := p.Programs.(agent.ProgramStarter); ok {
		return s.StartProgram(ctx, prog)
	}
	return nil, agent.ErrNotStarted
}

// LookPath implements [agent.Programs].
func (p sessionPrograms) LookPath(name string) (string, error) {
	path, err := p.Programs.LookPath(name)
	if err == nil && !p.workspace.Contains(path) || p.languages == nil {
		return path, err
	}
	if finder, ok := p.languages.Catalog().(programFinder); ok {
		return finder.Program(context.Background(), name)
	}
	return path, err
}
