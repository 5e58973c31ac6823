package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/gajae-code/gjc/internal/proc"
)

// credentialTimeout bounds a program that returns credentials; it may ask the user to sign in.
const credentialTimeout = 2 * time.Minute

// maxCredentials bounds the output of such a program, in bytes.
const maxCredentials = 64 << 10

// credentialProcess runs the command line of the user's AWS profile's credential_process and returns its output.
func (h *host) credentialProcess(ctx context.Context, commandLine string) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, credentialTimeout, errors.New("it did not end in time"))
	defer cancel()
	out, err := h.commandOutput(ctx, commandLine)
	if err != nil {
		return nil, fmt.Errorf("the credential process: %w", err)
	}
	return out, nil
}

// commandOutput runs a command line from the user's own configuration and returns its output. Unlike the model's
// commands, it inherits the whole environment.
func (h *host) commandOutput(ctx context.Context, commandLine string) ([]byte, error) {
	shell, args := "/bin/sh", []string{"-c", commandLine}
	if runtime.GOOS == "windows" {
		shell, args = cmp.Or(h.getenv("ComSpec"), h.getenv("COMSPEC"), "cmd.exe"), []string{"/d", "/c", commandLine}
	}
	home, err := h.home()
	if err != nil {
		return nil, err
	}
	out := &capped{most: maxCredentials}
	p, err := h.children.Start(ctx, &proc.Options{Path: shell, Args: args, Dir: home, Env: h.env, Stdout: out})
	if err != nil {
		return nil, fmt.Errorf("starting it: %w", err)
	}
	state, err := p.Wait(ctx)
	if err != nil {
		p.Kill()
		<-p.Done()
		return nil, err
	}
	if !state.Success() {
		return nil, errors.New(state.String())
	}
	return out.data, nil
}
