package bridges

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/permit"
	"github.com/gajae-code/gjc/internal/proc"
)

// LocalPrograms runs the tools' helper programs.
type LocalPrograms struct {
	Children *proc.Group
	Local    Local
	// Mark is [Options.Mark].
	Mark     string
	boundary *boundary
}

var _ agent.Programs = (*LocalPrograms)(nil)

// LookPath implements [agent.Programs].
func (l *LocalPrograms) LookPath(name string) (string, error) {
	return proc.LookPath(name, l.Local.Environ(context.Background()))
}

// errEnough ends a program that has written enough output.
var errEnough = errors.New("output limit reached")

// Output implements [agent.Programs].
func (l *LocalPrograms) Output(ctx context.Context, prog agent.Program, limit int) ([]byte, error) {
	if err := permit.Check(ctx, permit.Effect{Action: permit.Run, Path: prog.Path}); err != nil {
		return nil, err
	}
	out := &limitedBuffer{limit: limit}
	p, err := l.Children.Start(ctx, &proc.Options{
		Path: prog.Path, Args: prog.Args, Dir: prog.Dir, Env: proc.Environ(l.Local.Environ(ctx)), Stdin: prog.Stdin != nil, Stdout: out,
	})
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", prog.Path, err)
	}
	if prog.Stdin != nil {
		go func() { // ends with the process, which closes the pipe
			_, _ = p.Stdin().Write(prog.Stdin) // a program need not read everything
			_ = p.Stdin().Close()
		}()
	}
	state, err := p.Wait(ctx)
	if err != nil {
		p.Kill()
		<-p.Done()
		return nil, err
	}
	if !state.Success() && !out.full {
		return out.buf.Bytes(), &agent.ExitError{Program: prog.Path, Code: state.Code, Stderr: p.Stderr().String()}
	}
	return out.buf.Bytes(), nil
}

var _ agent.ProgramStarter = (*LocalPrograms)(nil)

// StartProgram implements [agent.ProgramStarter].
func (l *LocalPrograms) StartProgram(ctx context.Context, prog agent.LongProgram) (agent.RunningProgram, error) {
	if err := permit.Check(ctx, permit.Effect{Action: permit.Run, Path: prog.Path}); err != nil {
		return nil, err
	}
	env := append(l.Local.tempVariable(ctx, prog.TempDir), prog.Env...)
	s := &start{path: prog.Path, args: prog.Args, dir: prog.Dir, env: proc.Environ(l.Local.Environ(ctx), env...)}
	if err := l.boundary.enclose(ctx, s); err != nil {
		return nil, fmt.Errorf("starting %s: %w", prog.Path, err)
	}
	o := &proc.Options{
		Path: s.path, Args: s.args, Dir: s.dir, Env: s.env, Stdin: true, MergeStderr: prog.OnStderr == nil,
		Stdout: outputFunc(prog.OnOutput), Mark: partOf(l.Mark),
	}
	if prog.OnStderr != nil {
		o.Stderr = outputFunc(prog.OnStderr)
	}
	p, err := l.Children.Start(ctx, o)
	if err != nil {
		s.inside.end()
		return nil, fmt.Errorf("starting %s: %w", prog.Path, err)
	}
	go func() { // ends with the program
		<-p.Done()
		s.inside.end()
	}()
	return &runningProgram{p}, nil
}

type outputFunc func([]byte)

func (f outputFunc) Write(b []byte) (int, error) {
	f(b)
	return len(b), nil
}

type runningProgram struct{ process *proc.Process }

func (r *runningProgram) Write(b []byte) (int, error) { return r.process.Stdin().Write(b) }

func (r *runningProgram) CloseInput() error { return r.process.Stdin().Close() }

func (r *runningProgram) Done() <-chan struct{} { return r.process.Done() }

func (r *runningProgram) Status() agent.ExitStatus {
	state, _ := r.process.Wait(context.Background()) // it has ended
	return agent.ExitStatus{Code: state.Code, Signal: state.Signal}
}

func (r *runningProgram) Terminate(ctx context.Context) error {
	return r.process.Terminate(ctx, killGrace)
}

func (r *runningProgram) Kill() { r.process.Kill() }

// limitedBuffer accepts limit bytes and then fails, which ends the program. Zero means no limit.
type limitedBuffer struct {
	buf   bytes.Buffer
	limit int
	full  bool
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if room := b.limit - b.buf.Len(); b.limit > 0 && len(p) > room {
		b.buf.Write(p[:room])
		b.full = true
		return room, errEnough
	}
	return b.buf.Write(p)
}
