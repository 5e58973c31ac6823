package acptest

import (
	"context"
	"errors"
	"time"

	"github.com/gajae-code/gjc/internal/proc"
)

// Agent is an agent that runs as a child process, and the editor that started it.
type Agent struct {
	*Editor
	Process *proc.Process
}

// ProcessOptions describes the agent to start.
type ProcessOptions struct {
	// Path is the program; absolute. Args are its arguments.
	Path string
	Args []string
	Dir  string
	// Env is the whole environment.
	Env []string
}

// Start starts an agent as a child and an editor on its pipes. The caller must Stop it.
func Start(ctx context.Context, p ProcessOptions, opts EditorOptions) (*Agent, error) {
	child, err := proc.Start(ctx, &proc.Options{
		Path: p.Path, Args: p.Args, Dir: p.Dir, Env: p.Env, Stdin: true, StderrTail: 64 << 10, Grace: 3 * time.Second,
	})
	if err != nil {
		return nil, err
	}
	if opts.Env == nil {
		opts.Env = p.Env
	}
	// The end of the agent ends the connection, not the reverse.
	e := NewEditor(context.WithoutCancel(ctx), child.Stdout(), child.Stdin(), nil, opts)
	return &Agent{Editor: e, Process: child}, nil
}

// Stop closes the agent's stdin, as an editor that quits does, and returns the agent's result.
func (a *Agent) Stop(ctx context.Context) (proc.ExitState, error) {
	cerr := a.Process.Stdin().Close()
	state, err := a.Process.Wait(ctx)
	if err != nil {
		a.Process.Kill()
		<-a.Process.Done()
	}
	return state, errors.Join(cerr, err, a.Close())
}
