package registry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// Keys holds the credentials of providers: it reads and writes auth.json and the system's keyring, and rotates between several
// keys of one provider. It reads auth.json when a method first needs it. It is safe for concurrent use.
type Keys struct {
	opts *Options

	mu     sync.Mutex // guards the fields below
	loaded bool
	err    error
	stamp  configfile.Stamp // stamp of the auth.json that was read
	stored storedKeys
	// rings holds the key rings of the providers that have several keys.
	rings map[string]*keyRing
	// asking holds the pending requests to the keyring, by provider. Each channel is closed when its request ends.
	asking map[string]chan struct{}
	// ambient caches the results of Options.Ambient, by API.
	ambient map[string]string
}

// storedKeys is a snapshot of the keys in auth.json and the keyring. It is immutable.
type storedKeys struct {
	// file is auth.json; nil if there is no agent directory.
	file *credentialFile
	// keyring holds the keys that the keyring has returned, by provider. The keyring has not been asked for a provider that is
	// missing here.
	keyring map[string][]string
	// version grows with every change of the keys.
	version int
}

// load reads auth.json unless it has been read, and returns the error of reading it.
func (k *Keys) load() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.loadLocked()
	return k.err
}

// stale reports whether auth.json has changed since it was read.
func (k *Keys) stale() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.loaded && k.stamp != stampOf(k.opts.AgentDir, "auth.json")
}

// expire makes the next call read auth.json again, and forgets the keys of the keyring.
func (k *Keys) expire() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.loaded = false
}

func (k *Keys) loadLocked() {
	if k.loaded {
		return
	}
	k.stamp = stampOf(k.opts.AgentDir, "auth.json") // before reading, so that a concurrent change is noticed later
	k.loaded, k.err, k.ambient = true, nil, map[string]string{}
	var file *credentialFile
	if k.opts.AgentDir != "" {
		var notice string
		file, notice, k.err = readCredentials(filepath.Join(k.opts.AgentDir, "auth.json"))
		if notice != "" {
			k.opts.Notice(notice)
		}
	}
	k.replaceLocked(file)
}

// replaceLocked sets the contents of auth.json and forgets the keys of the keyring.
func (k *Keys) replaceLocked(file *credentialFile) {
	k.stored = storedKeys{file: file, version: k.stored.version + 1}
	k.rings = map[string]*keyRing{}
}

// current returns the stored keys. It reads auth.json if necessary.
func (k *Keys) current() storedKeys {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.loadLocked()
	return k.stored
}

// StoredKey returns the first API key that auth.json holds under a name, which need not be that of a model provider; empty for
// none.
func (k *Keys) StoredKey(name string) string {
	file := k.current().file
	if file == nil {
		return ""
	}
	c, err := file.decode(name)
	if keys := c.keys(); err == nil && len(keys) > 0 {
		return keys[0]
	}
	return ""
}

// StoreOptions configures [Keys.StoreKey].
type StoreOptions struct {
	// Add keeps the stored keys of the provider. If the provider refuses or limits a key, requests use the next one.
	Add bool
	// Keyring stores the key in the system's keyring instead of auth.json. All keys of a provider are stored in the same place.
	Keyring bool
}

// StoreKey stores an API key, in auth.json or in the system's keyring. It does not overwrite a file that it cannot read.
func (k *Keys) StoreKey(provider, key string, opts StoreOptions) error {
	key = strings.TrimSpace(key)
	switch {
	case provider == "" || key == "":
		return errors.New("a provider and a key are needed")
	case strings.ContainsFunc(key, isControl):
		return errors.New("the key contains a line break or a control character; nothing was stored")
	}
	return k.change(func(f *credentialFile) error {
		before, err := f.decode(provider)
		if err != nil {
			return err
		}
		var keys []string
		if opts.Add {
			keys = before.keys()
			if before.Type == typeKeyring {
				if keys, err = readKeyring(context.Background(), k.opts.Keyring, provider); err != nil {
					return err
				}
			}
		}
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
		entry := newCredential(keys)
		if opts.Keyring {
			entry = credential{Type: typeKeyring}
			err = writeKeyring(k.opts.Keyring, provider, keys)
		} else if before.Type == typeKeyring {
			f.saved = func() error { // only now, so that a failed write of the file does not lose the keys
				if err := writeKeyring(k.opts.Keyring, provider, nil); err != nil {
					return fmt.Errorf("the key is in auth.json now, but the keyring still has the previous ones: %w", err)
				}
				return nil
			}
		}
		if err != nil {
			return err
		}
		f.entries[provider], err = jsonx.Marshal(entry)
		return err
	})
}

// RemoveCredential deletes the stored keys of a provider. It is a no-op if there are none.
func (k *Keys) RemoveCredential(provider string) error {
	if !k.hasFile() {
		return nil
	}
	return k.change(func(f *credentialFile) error { return k.removeEntry(f, provider) })
}

// Logout deletes all API keys from auth.json and the keyring. It keeps entries of unknown types, which belong to other programs,
// and does not overwrite a file that it cannot read.
func (k *Keys) Logout() error {
	if !k.hasFile() {
		return nil
	}
	return k.change(func(f *credentialFile) error {
		for provider := range f.entries {
			if c, err := f.decode(provider); err == nil && (c.Type == typeKey || c.Type == typeKeyring) {
				if err := k.removeEntry(f, provider); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func (k *Keys) removeEntry(f *credentialFile, provider string) error {
	if c, err := f.decode(provider); err == nil && c.Type == typeKeyring {
		if err := writeKeyring(k.opts.Keyring, provider, nil); err != nil {
			return err
		}
	}
	delete(f.entries, provider)
	return nil
}

// hasFile reports whether there is an auth.json.
func (k *Keys) hasFile() bool {
	if k.opts.AgentDir == "" {
		return false
	}
	_, err := os.Lstat(filepath.Join(k.opts.AgentDir, "auth.json"))
	return !errors.Is(err, fs.ErrNotExist)
}

// change applies a change to auth.json while no other process changes it. It does not hold k.mu while it waits for another
// process or for the keyring, so that models can be opened meanwhile.
func (k *Keys) change(apply func(*credentialFile) error) error {
	if k.opts.AgentDir == "" {
		return errors.New("no agent directory to store keys in; set one with --agent-dir")
	}
	path := filepath.Join(k.opts.AgentDir, "auth.json")
	unlock, err := lockCredentials(path)
	if err != nil {
		return err
	}
	defer unlock()
	// Another process may have changed the file since it was read.
	file, _, err := readCredentials(path)
	if err != nil {
		return err
	}
	before := maps.Clone(file.entries)
	if err := apply(file); err != nil {
		return err
	}
	if !maps.EqualFunc(before, file.entries, func(a, b jsonx.Raw) bool { return string(a) == string(b) }) {
		if err := file.save(); err != nil {
			return err
		}
	}
	if file.saved != nil {
		err = file.saved()
		file.saved = nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.loadLocked()
	k.replaceLocked(file)
	return err
}

// unlock reads the keys of a provider from the keyring, unless it has read them before. The keyring may prompt the user, so k.mu is
// not held meanwhile, and of concurrent calls for one provider only one asks the keyring. After an error the next call asks again,
// because the user may have unlocked the keyring.
func (k *Keys) unlock(ctx context.Context, provider string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for {
		k.loadLocked()
		if _, returned := k.stored.keyring[provider]; returned || !k.stored.inKeyring(provider) {
			return nil
		}
		if pending := k.asking[provider]; pending != nil {
			k.mu.Unlock()
			select {
			case <-pending:
			case <-ctx.Done():
			}
			k.mu.Lock()
			if err := context.Cause(ctx); err != nil {
				return err
			}
			continue
		}
		pending, version := make(chan struct{}), k.stored.version
		if k.asking == nil {
			k.asking = map[string]chan struct{}{}
		}
		k.asking[provider] = pending
		k.mu.Unlock()
		keys, err := readKeyring(ctx, k.opts.Keyring, provider)
		k.mu.Lock()
		delete(k.asking, provider)
		close(pending)
		if err != nil && !errors.Is(err, ErrNoSecret) {
			return err
		}
		if version == k.stored.version { // otherwise these may be the previous keys
			all := maps.Clone(k.stored.keyring)
			if all == nil {
				all = map[string][]string{}
			}
			all[provider] = keys
			k.stored.keyring = all
		}
	}
}

// ring returns the ring that rotates the keys of a provider.
func (k *Keys) ring(provider string, keys []string) *keyRing {
	k.mu.Lock()
	defer k.mu.Unlock()
	ring := k.rings[provider]
	if ring == nil || !slices.Equal(ring.keys, keys) {
		ring = newKeyRing(keys, k.opts.Now)
		k.rings[provider] = ring
	}
	return ring
}

// ambientFor returns a description of the credentials that the environment provides for an API; empty for none. Finding them
// reads files, so each API is looked up once per load.
func (k *Keys) ambientFor(api string) string {
	lookUp := k.opts.Ambient[api]
	if lookUp == nil {
		return ""
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.loadLocked()
	description, known := k.ambient[api]
	if !known {
		description = lookUp()
		k.ambient[api] = description
	}
	return description
}
