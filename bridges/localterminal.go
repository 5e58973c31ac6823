package bridges

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/permit"
	"github.com/gajae-code/gjc/internal/proc"
)

// LocalTerminal runs commands as children of this process.
type LocalTerminal struct {
	Children *proc.Group
	Local    Local
	// Mark is [Options.Mark].
	Mark     string
	boundary *boundary
}

// killGrace is the time between asking a command to end and killing it.
const killGrace = 2 * time.Second

var _ agent.EnclosingTerminal = (*LocalTerminal)(nil)

// Start implements [agent.Terminal].
func (l *LocalTerminal) Start(ctx context.Context, cmd agent.Command) (agent.Execution, error) {
	if err := permit.Check(ctx, permit.Effect{Action: permit.Run, Path: l.Local.Shell.Path}); err != nil {
		return nil, err
	}
	limit := cmd.OutputLimit
	if limit == 0 {
		limit = agent.DefaultOutputLimit
	}
	before := changesEnviron(l.Local.Shell.Path, l.Local.Environ(ctx))
	line, extra, err := l.Local.shellLine(ctx, &cmd, before)
	if err != nil {
		return nil, fmt.Errorf("starting the command: %w", err)
	}
	env := proc.Environ(l.Local.Environ(ctx), extra...)
	path, args := l.Local.Shell.Path, append(l.Local.Shell.Args[:len(l.Local.Shell.Args):len(l.Local.Shell.Args)], line)
	if len(cmd.Args) > 0 {
		if path, err = program(cmd.Args[0], cmd.Dir, env); err != nil {
			return nil, fmt.Errorf("starting the command: %w", err)
		}
		args = cmd.Args[1:]
	}
	s := &start{path: path, args: args, dir: cmd.Dir, env: env}
	if err := l.boundary.enclose(ctx, s); err != nil {
		return nil, fmt.Errorf("starting the command: %w", err)
	}
	sink := &outputSink{tail: proc.NewTail(limit), live: cmd.OnOutput}
	opts := &proc.Options{Path: s.path, Args: s.args, Dir: cmd.Dir, Env: s.env, Stdout: sink, MergeStderr: true, PTY: cmd.PTY}
	if len(cmd.Args) == 0 { // a debugger's program has the mark of the debugger
		opts.Mark, opts.KeepMarked = partOf(l.Mark), !s.confined
	}
	p, err := l.Children.Start(ctx, opts)
	if err != nil {
		s.inside.end()
		return nil, fmt.Errorf("starting the command: %w", err)
	}
	e := &localExecution{process: p, tail: sink.tail, inside: s.inside}
	if !before {
		e.env = env
	}
	return e, nil
}

// TempDir implements [agent.TempTerminal].
func (l *LocalTerminal) TempDir() (string, error) { return l.boundary.tempDir() }

// ExistingTempDir implements [agent.TempTerminal].
func (l *LocalTerminal) ExistingTempDir() string { return l.boundary.existingTempDir() }

// Lingers implements [agent.EnclosingTerminal].
func (l *LocalTerminal) Lingers(ctx context.Context) bool { return l.boundary.lingers(ctx) }

// EndLingering implements [agent.EnclosingTerminal].
func (l *LocalTerminal) EndLingering(ctx context.Context) error { return l.boundary.endLingering(ctx) }

// partOf returns the mark of one process of a session.
func partOf(mark string) string {
	if mark == "" {
		return ""
	}
	return proc.PartOf(mark)
}

// program finds a program as a shell in dir would.
func program(name, dir string, env []string) (string, error) {
	if filepath.IsAbs(name) {
		return name, nil
	}
	if strings.ContainsRune(name, filepath.Separator) || strings.ContainsRune(name, '/') {
		return filepath.Join(dir, name), nil
	}
	return proc.LookPath(name, env)
}

// outputSink keeps the end of the output and forwards all of it as it arrives.
type outputSink struct {
	tail *proc.Tail
	live func([]byte)
}

func (o *outputSink) Write(b []byte) (int, error) {
	if o.live != nil {
		o.live(b)
	}
	return o.tail.Write(b)
}

type localExecution struct {
	process *proc.Process
	tail    *proc.Tail
	env     []string
	inside  *enclosed // nil outside
}

var _ agent.EnvironExecution = (*localExecution)(nil)

// Environ implements [agent.EnvironExecution].
func (e *localExecution) Environ() []string { return e.env }

func (e *localExecution) TerminalID() string { return "" }

func (e *localExecution) PID() int { return e.process.PID() }

func (e *localExecution) Wait(ctx context.Context) (agent.ExitStatus, error) {
	state, err := e.process.Wait(ctx)
	if err != nil {
		return agent.ExitStatus{}, err
	}
	return agent.ExitStatus{Code: state.Code, Signal: state.Signal}, nil
}

func (e *localExecution) Output(context.Context) (agent.Output, error) {
	return agent.Output{Text: e.tail.String(), Truncated: e.tail.Truncated(), Total: e.tail.Total()}, nil
}

// Kill implements [agent.Execution]. It first asks the command to end, and waits for it even if ctx ends, as it does at the end of
// the turn.
func (e *localExecution) Kill(ctx context.Context) error {
	if err := e.process.Terminate(context.WithoutCancel(ctx), killGrace); err != nil {
		return fmt.Errorf("ending the command: %w", err)
	}
	return nil
}

func (e *localExecution) Release(ctx context.Context) error {
	defer e.inside.end()
	return e.Kill(ctx)
}

var _ agent.EnclosedExecution = (*localExecution)(nil)

// RefusedHosts implements [agent.EnclosedExecution].
func (e *localExecution) RefusedHosts() []string { return e.inside.refusedHosts() }
