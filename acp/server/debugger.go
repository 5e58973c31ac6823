package server

import (
	"context"
	"errors"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/dap"
)

// Debugging is what a session's configuration says of debug adapters.
type Debugging struct {
	// Adapters knows them; nil for none.
	Adapters dap.Catalog
	// Env is the environment that they run in, still with provider keys.
	Env func(context.Context) []string
}

// openDebugger gives a session its debugger. It starts nothing. It is nil where there shall be none.
func (s *Server) openDebugger(e *entry, ws agent.Workspace, terminal agent.Terminal) *agent.Debugger {
	if s.opts.Debugging == nil {
		return nil
	}
	found, err := s.opts.Debugging(append([]string{ws.Cwd}, ws.Additional...))
	if err != nil {
		e.debuggerErr = err
	}
	if found.Adapters == nil {
		return nil
	}
	return &agent.Debugger{Adapters: found.Adapters, Sessions: dap.NewDebugger(dap.Options{
		Children: s.children, Env: found.Env, Version: s.opts.Version, Log: s.opts.Log,
		RunInTerminal: func(ctx context.Context, req *dap.TerminalRequest) (dap.Terminal, error) {
			return runInTerminal(ctx, terminal, req)
		},
		Notice: func(text string) {
			e.out.emit(agent.Noticed{Severity: agent.SeverityInfo, Title: text})
		},
	})}
}

// runInTerminal runs a program in the editor's terminal, or in a pseudo-terminal where the editor has none.
func runInTerminal(ctx context.Context, terminal agent.Terminal, req *dap.TerminalRequest) (dap.Terminal, error) {
	cmd := agent.Command{Args: req.Args, Dir: req.Dir, Env: req.Env, PTY: true, OnOutput: req.Output}
	for _, name := range req.Unset {
		cmd.Env = append(cmd.Env, name+"=") // there is no way to say that a variable shall not be there
	}
	exec, err := terminal.Start(ctx, cmd)
	if errors.Is(err, errors.ErrUnsupported) { // no pseudo-terminals on this system
		cmd.PTY = false
		exec, err = terminal.Start(ctx, cmd)
	}
	if err != nil {
		return nil, err
	}
	return debugTerminal{exec}, nil
}

// debugTerminal is an execution as a debug session sees it.
type debugTerminal struct{ agent.Execution }

func (d debugTerminal) ID() string { return d.TerminalID() }

func (d debugTerminal) Wait(ctx context.Context) (int, error) {
	status, err := d.Execution.Wait(ctx)
	return status.Code, err
}

// Output is empty for a local terminal: its output was passed on as it came.
func (d debugTerminal) Output(ctx context.Context) (string, error) {
	if d.TerminalID() == "" {
		return "", nil
	}
	out, err := d.Execution.Output(ctx)
	return out.Text, err
}
