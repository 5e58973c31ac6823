package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"time"

	"github.com/zalando/go-keyring"

	"github.com/gajae-code/gjc/cmd/gjc/internal/grants"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/mcp/oauth"
	"github.com/gajae-code/gjc/providers/registry"
)

// systemKeyring is the operating system's store of secrets: the Secret Service on Linux, the Keychain on macOS, the
// Credential Manager on Windows.
type systemKeyring struct{}

var _ registry.Keyring = systemKeyring{}

// keyringUser is the account of gjc's secrets in the keyring.
const keyringUser = "gjc"

func (systemKeyring) Get(ctx context.Context, name string) (string, error) {
	var secret string
	err := bounded(ctx, func() (err error) {
		secret, err = keyring.Get(name, keyringUser)
		return err
	})
	if err != nil {
		return "", err
	}
	return secret, nil
}

func (systemKeyring) Set(ctx context.Context, name, secret string) error {
	return bounded(ctx, func() error { return keyring.Set(name, keyringUser, secret) })
}

func (systemKeyring) Delete(ctx context.Context, name string) error {
	return bounded(ctx, func() error { return keyring.Delete(name, keyringUser) })
}

// bounded calls call and waits for it until ctx ends. The library cannot interrupt a call that waits for the user: its
// goroutine then continues until the user has answered, and its result is dropped.
func bounded(ctx context.Context, call func() error) error {
	done := make(chan error, 1)
	go func() { done <- call() }()
	select {
	case err := <-done:
		switch {
		case errors.Is(err, keyring.ErrNotFound):
			return registry.ErrNoSecret
		case errors.Is(err, keyring.ErrUnsupportedPlatform):
			return registry.ErrNoKeyring
		}
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

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
	return outputOf(ctx, h, &proc.Options{Path: shell, Args: args, Dir: home, Env: h.env})
}

// outputOf runs a program of the configuration and returns its output.
func outputOf(ctx context.Context, h *host, o *proc.Options) ([]byte, error) {
	out := &capped{most: maxCredentials}
	o.Stdout = out
	p, err := h.children.Start(ctx, o)
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

// mcpAccounts returns the user's accounts at MCP servers. It does no I/O.
func mcpAccounts(models *registry.Registry, agentDir string, inKeyring bool) *oauth.Accounts {
	return oauth.New(oauth.Options{
		Store: &grants.Store{Keys: models, Dir: filepath.Join(agentDir, "mcp", "locks"), Keyring: inKeyring}, Version: version(),
	})
}
