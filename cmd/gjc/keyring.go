package main

import (
	"context"
	"errors"

	"github.com/zalando/go-keyring"

	"github.com/gajae-code/gjc/providers/registry"
)

// systemKeyring is the operating system's store of secrets: the Secret Service on Linux, the Keychain on macOS, the
// Credential Manager on Windows.
type systemKeyring struct{}

var _ registry.Keyring = systemKeyring{}

// keyringUser is the account of gjc's secrets in it.
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
