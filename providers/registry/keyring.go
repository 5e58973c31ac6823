package registry

import (
	"context"
	"errors"
	"fmt"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// keyringName is the name of a provider's keys in the keyring.
func keyringName(provider string) string { return "gjc/" + provider }

// ErrNoKeyring says that the system has no keyring, or none that gjc can use.
var ErrNoKeyring = errors.New("there is no keyring on this system that can be used")

func (r *Registry) readKeyring(ctx context.Context, provider string) ([]string, error) {
	if r.opts.Keyring == nil {
		return nil, ErrNoKeyring
	}
	ctx, cancel := context.WithTimeoutCause(ctx, keyringTimeout, errors.New("it did not answer in time"))
	defer cancel()
	secret, err := r.opts.Keyring.Get(ctx, keyringName(provider))
	if err != nil {
		return nil, err
	}
	var keys []string
	if err := jsonx.Unmarshal([]byte(secret), &keys); err != nil {
		return nil, errors.New("what it has is not gjc's") // and the decoder's words may quote it
	}
	return keys, nil
}

func (r *Registry) writeKeyring(provider string, keys []string) error {
	if r.opts.Keyring == nil {
		return ErrNoKeyring
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), keyringTimeout, errors.New("the keyring did not answer"))
	defer cancel()
	if len(keys) == 0 {
		if err := r.opts.Keyring.Delete(ctx, keyringName(provider)); err != nil && !errors.Is(err, ErrNoSecret) {
			return fmt.Errorf("deleting from the keyring: %w", err)
		}
		return nil
	}
	secret, err := jsonx.Marshal(keys)
	if err != nil {
		return err
	}
	if err := r.opts.Keyring.Set(ctx, keyringName(provider), string(secret)); err != nil {
		return fmt.Errorf("storing in the keyring: %w", err)
	}
	return nil
}
