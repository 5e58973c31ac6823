package conformance

import (
	"context"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/gajae-code/gjc/internal/proc"
)

// A child is a running agent. The suite's own tests use one that is not a process.
type child interface {
	io.Writer // writes to its stdin
	CloseStdin() error
	Stdout() io.ReadCloser
	Stderr() string        // the end of its stderr
	PID() int              // 0 for none
	Done() <-chan struct{} // closed when it has ended
	State() proc.ExitState // the time of its end
	Terminate() error      // ends it gracefully
	// End kills what is left of it and returns when no process is left.
	End()
}

// startFunc starts an agent in dir with an environment.
type startFunc func(ctx context.Context, dir string, env []string) (child, error)

// processStarter starts a command as the leader of a process group.
func processStarter(command []string) startFunc {
	return func(ctx context.Context, dir string, env []string) (child, error) {
		p, err := proc.Start(ctx, &proc.Options{
			Path: command[0], Args: command[1:], Dir: dir, Env: env, Stdin: true, StderrTail: 32 << 10,
			// Processes that the agent leaves behind must be detectable.
			KeepBackground: true,
			DrainQuiet:     50 * time.Millisecond,
		})
		if err != nil {
			return nil, err
		}
		return &process{p}, nil
	}
}

type process struct{ p *proc.Process }

func (c *process) Write(b []byte) (int, error) { return c.p.Stdin().Write(b) }
func (c *process) CloseStdin() error           { return c.p.Stdin().Close() }
func (c *process) Stdout() io.ReadCloser       { return c.p.Stdout() }
func (c *process) Stderr() string              { return c.p.Stderr().String() }
func (c *process) PID() int                    { return c.p.PID() }
func (c *process) Done() <-chan struct{}       { return c.p.Done() }

func (c *process) State() proc.ExitState {
	state, err := c.p.Wait(context.Background())
	if err != nil {
		panic(fmt.Sprintf("waiting without an end: %v", err))
	}
	return state
}

// Terminate signals the leader only, as an editor does. KeepBackground keeps its PID from being reused until End.
func (c *process) Terminate() error {
	leader, err := os.FindProcess(c.p.PID())
	if err != nil {
		return err
	}
	return leader.Signal(syscall.SIGTERM)
}

func (c *process) End() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // kill at once
	_ = c.p.Shutdown(ctx, nil)
}
