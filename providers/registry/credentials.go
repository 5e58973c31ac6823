package registry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// credentialFile is auth.json: the keys that "gjc login" keeps, by provider.
type credentialFile struct {
	path string
	// entries are kept in encoded form, so that an entry of a type not known here survives a rewrite.
	entries map[string]jsonx.Raw
	// saved, if a change sets it, is called once when the change is on disk.
	saved func() error
}

// credential is one entry.
type credential struct {
	// Type is "api_key", or "keyring" for keys that the system's keyring has.
	Type string `json:"type"`
	// Key is the first key, Keys are all of them where there are several.
	Key  string   `json:"key,omitzero"`
	Keys []string `json:"keys,omitzero"`
}

const (
	typeKey     = "api_key"
	typeKeyring = "keyring"
)

// A Keyring is the operating system's store of secrets. Its calls may ask the user and take a while; they return when ctx
// ends.
type Keyring interface {
	// Get returns what Set has stored under name. ErrNoSecret says that there is nothing.
	Get(ctx context.Context, name string) (string, error)
	Set(ctx context.Context, name, secret string) error
	Delete(ctx context.Context, name string) error
}

// ErrNoSecret says that a keyring has nothing under a name.
var ErrNoSecret = errors.New("the keyring has no such secret")

// keyringTimeout bounds one call of a keyring.
const keyringTimeout = 20 * time.Second

// readCredentials reads auth.json. A file that does not exist is empty. One that others may read is closed to them;
// note says so.
func readCredentials(path string) (file *credentialFile, note string, err error) {
	file = &credentialFile{path: path, entries: map[string]jsonx.Raw{}}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return file, "", nil
	}
	if err != nil {
		return file, "", fmt.Errorf("reading credentials: %w", err)
	}
	if info.Mode().IsRegular() && openToOthers(info.Mode()) {
		if err := os.Chmod(path, 0o600); err != nil {
			return file, "", &ConfigError{
				File:   path,
				Reason: fmt.Sprintf("other users may read it (mode %o), and that could not be changed; run chmod 600 on it", info.Mode().Perm()),
			}
		}
		note = fmt.Sprintf("%s could be read by other users (mode %o); it is now closed to them (0600)", path, info.Mode().Perm())
	}
	data, err := configfile.ReadFile(path)
	if err != nil {
		return file, note, fmt.Errorf("reading credentials: %w", err)
	}
	entries := map[string]jsonx.Raw{}
	if err := jsonx.Unmarshal(configfile.Bare(data), &entries); err != nil || entries == nil {
		// The decoder's words may quote the file, and the file is all secrets.
		return file, note, &ConfigError{File: path, Field: pointerOf(err), Reason: "must be a JSON object of providers"}
	}
	file.entries = entries
	for name := range entries {
		if _, err := file.decode(name); err != nil {
			file.entries = map[string]jsonx.Raw{}
			return file, note, err
		}
	}
	return file, note, nil
}

func pointerOf(err error) string {
	if e, ok := errors.AsType[*jsonx.DecodeError](err); ok {
		return e.Pointer
	}
	return ""
}

// decode returns the entry of a provider. The zero credential stands for none.
func (f *credentialFile) decode(provider string) (credential, error) {
	raw, ok := f.entries[provider]
	if !ok {
		return credential{}, nil
	}
	var c credential
	if err := jsonx.Unmarshal(raw, &c); err != nil {
		return credential{}, &ConfigError{
			File: f.path, Field: provider + pointerOf(err), Reason: `must be like {"type":"api_key","key":"…"} or {"type":"api_key","keys":["…","…"]}`,
		}
	}
	return c, nil
}

// keys returns the API keys of an entry, in order, each once.
func (c *credential) keys() []string {
	if c.Type != typeKey {
		return nil
	}
	var keys []string
	for _, key := range append([]string{c.Key}, c.Keys...) {
		if key = strings.TrimSpace(key); key != "" && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// newCredential is the entry for some keys.
func newCredential(keys []string) credential {
	if len(keys) == 1 {
		return credential{Type: typeKey, Key: keys[0]}
	}
	return credential{Type: typeKey, Keys: keys}
}

// save replaces the file in one step, so that no reader and no crash ever sees half of it.
func (f *credentialFile) save() error {
	data, err := jsonx.Marshal(f.entries)
	if err != nil {
		return fmt.Errorf("saving credentials: %w", err)
	}
	path := f.path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // a link stays one: the file may be kept with a user's other settings
	}
	// CreateTemp makes the file with mode 0600.
	tmp, err := os.CreateTemp(filepath.Dir(path), ".auth-*.json")
	if err != nil {
		return fmt.Errorf("saving credentials: %w", err)
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // fails when the rename has worked
	_, err = tmp.Write(append(data, '\n'))
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("saving credentials: %w", err)
	}
	return nil
}

// lockTimeout bounds the wait for another process that is changing auth.json.
const lockTimeout = 10 * time.Second

// lockCredentials keeps other processes from changing the file at path until unlock is called. It makes the directory.
func lockCredentials(path string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("saving credentials: %w", err)
	}
	lock := flock.New(path+".lock", flock.SetPermissions(0o600))
	ctx, cancel := context.WithTimeout(context.Background(), lockTimeout)
	defer cancel()
	if ok, err := lock.TryLockContext(ctx, 20*time.Millisecond); err != nil || !ok {
		return nil, fmt.Errorf("saving credentials: another process holds %s; try again when it is done", lock.Path())
	}
	return func() { _ = lock.Close() }, nil
}
