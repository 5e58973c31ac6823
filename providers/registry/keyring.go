package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// A Keyring is the operating system's store of secrets. Its methods may ask the user, and return when ctx ends.
type Keyring interface {
	// Get returns the secret that Set has stored under name, or [ErrNoSecret].
	Get(ctx context.Context, name string) (string, error)
	// Set stores secret under name, in place of an earlier one.
	Set(ctx context.Context, name, secret string) error
	// Delete deletes the secret, or returns [ErrNoSecret].
	Delete(ctx context.Context, name string) error
}

var (
	// ErrNoSecret reports that the keyring has no secret of the name.
	ErrNoSecret = errors.New("the keyring has no such secret")
	// ErrNoKeyring reports that the system has no keyring that gjc can use.
	ErrNoKeyring = errors.New("this system has no usable keyring")
)

// keyringTimeout bounds one call of a keyring.
const keyringTimeout = 20 * time.Second

// keyringName returns the name of a provider's keys in the keyring.
func keyringName(provider string) string { return "gjc/" + provider }

// readKeyring returns the keys of a provider. The keyring may be nil.
func readKeyring(ctx context.Context, keyring Keyring, provider string) ([]string, error) {
	if keyring == nil {
		return nil, ErrNoKeyring
	}
	ctx, cancel := context.WithTimeoutCause(ctx, keyringTimeout, errors.New("the keyring did not answer in time"))
	defer cancel()
	secret, err := keyring.Get(ctx, keyringName(provider))
	if err != nil {
		return nil, err
	}
	var keys []string
	if err := jsonx.Unmarshal([]byte(secret), &keys); err != nil {
		return nil, errors.New("the secret was not stored by gjc") // without err, which may quote the secret
	}
	return keys, nil
}

// writeKeyring stores the keys of a provider, or deletes them if keys is empty. The keyring may be nil.
func writeKeyring(keyring Keyring, provider string, keys []string) error {
	if keyring == nil {
		return ErrNoKeyring
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), keyringTimeout, errors.New("the keyring did not answer in time"))
	defer cancel()
	if len(keys) == 0 {
		if err := keyring.Delete(ctx, keyringName(provider)); err != nil && !errors.Is(err, ErrNoSecret) {
			return fmt.Errorf("deleting from the keyring: %w", err)
		}
		return nil
	}
	secret, err := jsonx.Marshal(keys)
	if err != nil {
		return err
	}
	if err := keyring.Set(ctx, keyringName(provider), string(secret)); err != nil {
		return fmt.Errorf("storing in the keyring: %w", err)
	}
	return nil
}
