package registry

import (
	"context"
	"errors"
	"fmt"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// typeGrant is the type of an entry of auth.json that holds a sign-in at a server that is no provider.
const typeGrant = "oauth_grant"

// grantEntry is such an entry.
type grantEntry struct {
	Type string `json:"type"`
	// Grant is absent if the keyring has it.
	Grant   jsonx.Raw `json:"grant,omitzero"`
	Keyring bool      `json:"keyring,omitzero"`
}

// grant returns the entry with a name, which must not be that of a provider. It reports false if there is none.
func (f *credentialFile) grant(name string) (e grantEntry, ok bool, err error) {
	raw, ok := f.entries[name]
	if !ok {
		return grantEntry{}, false, nil
	}
	if err := jsonx.Unmarshal(raw, &e); err != nil || e.Type != typeGrant {
		return grantEntry{}, false, &ConfigError{File: f.path, Field: name + pointerOf(err), Reason: "is no sign-in; remove it and sign in again"}
	}
	return e, true, nil
}

// Grant returns the sign-in that [Keys.StoreGrant] has stored under a name, as JSON; nil for none. It reads auth.json again if it has
// changed.
func (k *Keys) Grant(ctx context.Context, name string) (jsonx.Raw, error) {
	if k.stale() {
		k.expire()
	}
	file := k.current().file
	if file == nil {
		return nil, nil
	}
	e, ok, err := file.grant(name)
	if err != nil || !ok {
		return nil, err
	}
	if !e.Keyring {
		return e.Grant, nil
	}
	secrets, err := readKeyring(ctx, k.opts.Keyring, name)
	if errors.Is(err, ErrNoSecret) || err == nil && len(secrets) != 1 {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("reading the sign-in from the keyring: %w", err)
	}
	return jsonx.Raw(secrets[0]), nil
}

// StoreGrant stores a sign-in, JSON, under a name that is no provider's; nil deletes it. A new one is stored in the system's keyring if
// keyring is set, otherwise in auth.json; one that replaces another stays where that is.
func (k *Keys) StoreGrant(name string, grant jsonx.Raw, keyring bool) error {
	if grant == nil && !k.hasFile() {
		return nil
	}
	return k.change(func(f *credentialFile) error {
		before, had, err := f.grant(name)
		if err != nil && grant != nil { // what cannot be read can be deleted
			return err
		}
		if had {
			keyring = before.Keyring
		}
		switch {
		case grant == nil:
			delete(f.entries, name)
			if had && before.Keyring {
				return writeKeyring(k.opts.Keyring, name, nil)
			}
			return nil
		case keyring:
			if err := writeKeyring(k.opts.Keyring, name, []string{string(grant)}); err != nil {
				return err
			}
			grant = nil
		}
		f.entries[name], err = jsonx.Marshal(grantEntry{Type: typeGrant, Grant: grant, Keyring: keyring})
		return err
	})
}
