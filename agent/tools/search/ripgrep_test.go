package search_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"

	"github.com/gajae-code/gjc/agent"
)

// ripgrepOnly provides the rg at path and no other program.
type ripgrepOnly struct{ path string }

func (p ripgrepOnly) LookPath(name string) (string, error) {
	if name != "rg" {
		return "", fmt.Errorf("no %s: %w", name, exec.ErrNotFound)
	}
	return p.path, nil
}

func (p ripgrepOnly) Output(ctx context.Context, prog agent.Program, limit int) ([]byte, error) {
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
		_ = cmd.Process.Kill() // it may have ended already
	}
	werr := cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](werr); ok && !full {
		return out, &agent.ExitError{Program: "rg", Code: exit.ExitCode(), Stderr: stderr.String()}
	}
	return out, err
}
