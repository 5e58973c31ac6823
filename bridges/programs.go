package bridges

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/proc"
)

// LocalPrograms runs the tools' helper programs.
type LocalPrograms struct {
	Children *proc.Group
	Local    Local
}

var _ agent.Programs = (*LocalPrograms)(nil)

// LookPath implements [agent.Programs].
func (l *LocalPrograms) LookPath(name string) (string, error) {
	return proc.LookPath(name, l.Local.Environ(context.Background()))
}

// errEnough ends a program that has said enough.
var errEnough = errors.New("output limit reached")

// Output implements [agent.Programs].
func (l *LocalPrograms) Output(ctx context.Context, prog agent.Program, limit int) ([]byte, error) {
	out := &limitedBuffer{limit: limit}
	p, err := l.Children.Start(ctx, &proc.Options{
		Path: prog.Path, Args: prog.Args, Dir: prog.Dir, Env: proc.Environ(l.Local.Environ(ctx)), Stdin: prog.Stdin != nil, Stdout: out,
	})
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", prog.Path, err)
	}
	if prog.Stdin != nil {
		go func() { // ends with the process, which closes the pipe
			_, _ = p.Stdin().Write(prog.Stdin) // a program need not read all
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

// limitedBuffer takes limit bytes and then refuses, which ends the program.
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
