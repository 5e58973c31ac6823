package bridges

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/permit"
	"github.com/gajae-code/gjc/internal/proc"
)

// clientTerminal runs commands in terminals of the editor.
type clientTerminal struct {
	client   bounded
	session  acp.SessionID
	machine  Local
	boundary *boundary
	// local runs commands if the editor advertises terminals but has none.
	local agent.Terminal
	// mark is [Options.Mark]. An editor may kill only the shell; the mark finds the processes that the shell started.
	mark     string
	children *proc.Group
}

var _ agent.EnclosingTerminal = (*clientTerminal)(nil)

// releaseTimeout bounds the requests that clean up. They are sent even after the turn has ended, and must not wait for an
// editor that does not answer.
const releaseTimeout = 3 * time.Second

// Start implements [agent.Terminal].
func (c *clientTerminal) Start(ctx context.Context, cmd agent.Command) (agent.Execution, error) {
	if err := permit.Check(ctx, permit.Effect{Action: permit.Run, Path: c.machine.Shell.Path}); err != nil {
		return nil, err
	}
	limit := int64(cmd.OutputLimit)
	if limit == 0 {
		limit = agent.DefaultOutputLimit
	}
	line, env, err := c.machine.shellLine(ctx, &cmd, true)
	if err != nil {
		return nil, fmt.Errorf("starting the command: %w", err)
	}
	shell := &c.machine.Shell
	req := &acp.CreateTerminalRequest{
		SessionID: c.session, Command: shell.Path, Args: append(shell.Args[:len(shell.Args):len(shell.Args)], line),
		Cwd: cmd.Dir, OutputByteLimit: &limit,
	}
	if len(cmd.Args) > 0 {
		req.Command, req.Args = cmd.Args[0], cmd.Args[1:]
	}
	s := &start{path: req.Command, args: req.Args, dir: req.Cwd, env: env}
	if err := c.boundary.enclose(ctx, s); err != nil {
		return nil, fmt.Errorf("starting the command: %w", err)
	}
	req.Command, req.Args, env = s.path, s.args, s.env
	var mark string
	if len(cmd.Args) == 0 { // a debugger's program has the mark of the debugger
		if mark = partOf(c.mark); mark != "" {
			env = append(env, proc.MarkEnv(mark))
		}
	}
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		req.Env = append(req.Env, acp.EnvVariable{Name: name, Value: value})
	}
	e := c.execution(mark)
	if err := e.start(ctx, req); err != nil {
		s.inside.end()
		if errors.Is(err, &acp.Error{Code: acp.ErrorCodeMethodNotFound}) {
			return c.local.Start(ctx, cmd)
		}
		return nil, err
	}
	e.inside = s.inside
	return e, nil
}

// start creates the terminal of an execution that has only the other fields.
func (e *clientExecution) start(ctx context.Context, req *acp.CreateTerminalRequest) error {
	// The request is never cancelled: a terminal whose ID arrives too late must be released.
	done := make(chan error, 1)
	go func() { // ends when the editor answers or the connection closes
		resp, err := acp.MethodTerminalCreate.Call(context.WithoutCancel(ctx), e.client.Caller, req)
		if err == nil {
			e.id = resp.TerminalID
		}
		done <- err
	}()
	wait, cancel := context.WithTimeoutCause(ctx, e.client.limit, &unansweredError{e.client.limit})
	defer cancel()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("the editor could not start a terminal: %w", err)
		}
		return nil
	case <-wait.Done():
		go func() { // ends when the editor answers or the connection closes
			if err := <-done; err == nil {
				_ = e.Release(context.Background()) // the turn is over and reports no further errors
			}
		}()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("the editor could not start a terminal: %s: %w", acp.MethodTerminalCreate.Name, context.Cause(wait))
	}
}

// TempDir implements [agent.TempTerminal].
func (c *clientTerminal) TempDir() (string, error) { return c.boundary.tempDir() }

// ExistingTempDir implements [agent.TempTerminal].
func (c *clientTerminal) ExistingTempDir() string { return c.boundary.existingTempDir() }

// Lingers implements [agent.EnclosingTerminal].
func (c *clientTerminal) Lingers(ctx context.Context) bool { return c.boundary.lingers(ctx) }

// EndLingering implements [agent.EnclosingTerminal].
func (c *clientTerminal) EndLingering(ctx context.Context) error { return c.boundary.endLingering(ctx) }

// execution returns an execution that has not started.
func (c *clientTerminal) execution(mark string) *clientExecution {
	return &clientExecution{client: c.client, session: c.session, mark: mark, children: c.children}
}

// clientExecution is one terminal of the editor.
type clientExecution struct {
	client   bounded
	session  acp.SessionID
	id       acp.TerminalID
	mark     string // empty for none
	children *proc.Group
	inside   *enclosed // nil outside

	killed atomic.Bool
	// runsOn is set if what the command has left may run on: it is in a box, and the command has ended by itself.
	runsOn     atomic.Bool
	release    sync.Once
	releaseErr error
}

var _ agent.Execution = (*clientExecution)(nil)

func (e *clientExecution) TerminalID() string { return string(e.id) }

func (e *clientExecution) PID() int { return 0 } // ACP does not report it

func (e *clientExecution) Wait(ctx context.Context) (agent.ExitStatus, error) {
	resp, err := acp.MethodTerminalWaitForExit.Call(ctx, e.client.Caller, &acp.WaitForTerminalExitRequest{SessionID: e.session, TerminalID: e.id})
	if err != nil {
		if ctx.Err() != nil {
			return agent.ExitStatus{}, context.Cause(ctx)
		}
		return agent.ExitStatus{}, fmt.Errorf("waiting for the editor's terminal: %w", err)
	}
	e.runsOn.Store(e.inside != nil && e.inside.box != nil && !e.killed.Load() && resp.Signal == "")
	return exitStatus(resp.ExitCode, resp.Signal), nil
}

// killedCode is the exit code of a command that ended without one.
const killedCode = 137

func exitStatus[N ~int | ~int64 | ~uint32](code *N, signal string) agent.ExitStatus {
	if code == nil {
		return agent.ExitStatus{Code: killedCode, Signal: signal}
	}
	return agent.ExitStatus{Code: int(*code), Signal: signal}
}

func (e *clientExecution) Output(ctx context.Context) (agent.Output, error) {
	resp, err := acp.MethodTerminalOutput.Call(ctx, e.client, &acp.TerminalOutputRequest{SessionID: e.session, TerminalID: e.id})
	if err != nil {
		if ctx.Err() != nil {
			return agent.Output{}, context.Cause(ctx)
		}
		return agent.Output{}, fmt.Errorf("reading the editor's terminal: %w", err)
	}
	return agent.Output{Text: resp.Output, Truncated: resp.Truncated}, nil
}

var _ agent.EnclosedExecution = (*clientExecution)(nil)

// RefusedHosts implements [agent.EnclosedExecution].
func (e *clientExecution) RefusedHosts() []string { return e.inside.refusedHosts() }

// cleanup returns the client for requests that clean up.
func (e *clientExecution) cleanup() bounded {
	return bounded{Caller: e.client.Caller, limit: min(e.client.limit, releaseTimeout)}
}

// Kill implements [agent.Execution]. It also ends the processes that the command started on this machine.
func (e *clientExecution) Kill(ctx context.Context) error {
	e.killed.Store(true)
	if e.mark != "" {
		defer proc.End(e.mark, killGrace)
	}
	_, err := acp.MethodTerminalKill.Call(context.WithoutCancel(ctx), e.cleanup(), &acp.KillTerminalRequest{SessionID: e.session, TerminalID: e.id})
	if err != nil {
		return fmt.Errorf("killing the editor's terminal: %w", err)
	}
	return nil
}

// Release implements [agent.Execution]. Unless they may run on, it ends the command's remaining processes on this machine without waiting
// for them.
func (e *clientExecution) Release(ctx context.Context) error {
	e.release.Do(func() {
		defer e.inside.end()
		if e.mark != "" && !e.runsOn.Load() {
			defer e.children.Sweep(e.mark)
		}
		_, err := acp.MethodTerminalRelease.Call(context.WithoutCancel(ctx), e.cleanup(), &acp.ReleaseTerminalRequest{SessionID: e.session, TerminalID: e.id})
		if err != nil {
			e.releaseErr = fmt.Errorf("releasing the editor's terminal: %w", err)
		}
	})
	return e.releaseErr
}
