package search_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"

	"github.com/gajae-code/gjc/agent"
)

// onlyProgram runs the program at path and no other one.
type onlyProgram struct{ path string }

func (p onlyProgram) LookPath(string) (string, error) { return p.path, nil }

func (p onlyProgram) Output(ctx context.Context, prog agent.Program, limit int) ([]byte, error) {
	cmd := exec.CommandContext(ctx, prog.Path, prog.Args...)
	cmd.Dir = prog.Dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	out, err := io.ReadAll(io.LimitReader(stdout, int64(limit)))
	full := len(out) == limit
	if full {
		_ = cmd.Process.Kill() // it may have ended
	}
	werr := cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](werr); ok && !full {
		return out, &agent.ExitError{Program: prog.Path, Code: exit.ExitCode(), Stderr: stderr.String()}
	}
	return out, err
}
