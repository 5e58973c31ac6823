package server

import (
	"context"
	"errors"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/tools/debug"
	"github.com/gajae-code/gjc/dap"
)

// openDebugger returns the debugger of a session; nil for none. It starts no process. The error is about the configuration.
func (b *builder) openDebugger(s *session, params *sessionParams, set *Bridges) (*debug.Debugger, error) {
	if b.opts.Machine.Debugging == nil {
		return nil, nil
	}
	found, err := b.opts.Machine.Debugging(params.roots())
	if found.Adapters == nil {
		return nil, err
	}
	return &debug.Debugger{Adapters: found.Adapters, Sessions: dap.NewDebugger(dap.Options{
		Children: b.children, Env: found.Env, Log: b.opts.Log,
		RunInTerminal: func(ctx context.Context, req *dap.TerminalRequest) (dap.Terminal, error) {
			return runInTerminal(ctx, set.Terminal, req)
		},
		Sandbox: set.Sandbox,
		Notice:  func(text string) { s.out.notice(agent.SeverityInfo, text, "") },
	})}, err
}

// runInTerminal runs a program in a terminal of the editor, or in a pseudo-terminal if the editor has no terminals.
func runInTerminal(ctx context.Context, terminal agent.Terminal, req *dap.TerminalRequest) (dap.Terminal, error) {
	cmd := agent.Command{Args: req.Args, Dir: req.Dir, Env: req.Env, PTY: true, OnOutput: req.Output}
	for _, name := range req.Unset {
		cmd.Env = append(cmd.Env, name+"=") // a command cannot unset a variable, so it is set to the empty string
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

// debugTerminal implements [dap.Terminal] with an execution.
type debugTerminal struct{ agent.Execution }

func (d debugTerminal) ID() string { return d.TerminalID() }

func (d debugTerminal) Wait(ctx context.Context) (int, error) {
	status, err := d.Execution.Wait(ctx)
	return status.Code, err
}

// Output returns "" for a local terminal, whose output was passed on as it arrived.
func (d debugTerminal) Output(ctx context.Context) (string, error) {
	if d.TerminalID() == "" {
		return "", nil
	}
	out, err := d.Execution.Output(ctx)
	return out.Text, err
}
