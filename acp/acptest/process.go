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
	// Path is the absolute path of the program. Args are its arguments.
	Path string
	Args []string
	Dir  string
	// Env is the complete environment.
	Env []string
}

// Start starts an agent as a child process and an editor on its pipes. The caller must call Stop.
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
	// When the agent exits, the connection ends, but not the other way around.
	e := NewEditor(context.WithoutCancel(ctx), child.Stdout(), child.Stdin(), nil, opts)
	return &Agent{Editor: e, Process: child}, nil
}

// Stop closes the agent's stdin, as an editor does when it quits, and returns the agent's result.
func (a *Agent) Stop(ctx context.Context) (proc.ExitState, error) {
	cerr := a.Process.Stdin().Close()
	state, err := a.Process.Wait(ctx)
	if err != nil {
		a.Process.Kill()
		<-a.Process.Done()
	}
	return state, errors.Join(cerr, err, a.Close())
}
