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

// A credentialFile is the content of auth.json: the keys that gjc login stores, by provider.
type credentialFile struct {
	path string
	// entries are kept encoded, so that entries of unknown types survive a rewrite.
	entries map[string]jsonx.Raw
	// saved, if a change sets it, is called once the change has been written.
	saved func() error
}

// A credential is one entry.
type credential struct {
	// Type is "api_key", or "keyring" for keys in the system's keyring.
	Type string `json:"type"`
	// Key is the only key, Keys lists several.
	Key  string   `json:"key,omitzero"`
	Keys []string `json:"keys,omitzero"`
}

const (
	typeKey     = "api_key"
	typeKeyring = "keyring"
)

// readCredentials reads auth.json. A missing file is empty. If other users may read the file, it removes their permission and
// returns a notice that says so.
func readCredentials(path string) (file *credentialFile, notice string, err error) {
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
				Reason: fmt.Sprintf("other users may read it (mode %o), and its mode cannot be changed; run chmod 600 on it", info.Mode().Perm()),
			}
		}
		notice = fmt.Sprintf("%s was readable by other users (mode %o); its mode is now 0600", path, info.Mode().Perm())
	}
	data, err := configfile.ReadFile(path)
	if err != nil {
		return file, notice, fmt.Errorf("reading credentials: %w", err)
	}
	entries := map[string]jsonx.Raw{}
	if err := jsonx.Unmarshal(configfile.Bare(data), &entries); err != nil || entries == nil {
		// Do not include err, which may quote the file and so its secrets.
		return file, notice, &ConfigError{File: path, Field: pointerOf(err), Reason: "must be a JSON object of providers"}
	}
	file.entries = entries
	for name := range entries {
		if _, err := file.decode(name); err != nil {
			file.entries = map[string]jsonx.Raw{}
			return file, notice, err
		}
	}
	return file, notice, nil
}

func pointerOf(err error) string {
	if e, ok := errors.AsType[*jsonx.DecodeError](err); ok {
		return e.Pointer
	}
	return ""
}

// decode returns the entry of a provider, or the zero credential if there is none.
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

// keys returns the API keys of an entry in order, without duplicates.
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

// newCredential returns the entry for keys.
func newCredential(keys []string) credential {
	if len(keys) == 1 {
		return credential{Type: typeKey, Key: keys[0]}
	}
	return credential{Type: typeKey, Keys: keys}
}

// save replaces the file atomically.
func (f *credentialFile) save() error {
	data, err := jsonx.Marshal(f.entries)
	if err != nil {
		return fmt.Errorf("saving credentials: %w", err)
	}
	path := f.path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // keep a symlink: the file may be stored with the user's other settings
	}
	// CreateTemp creates the file with mode 0600.
	tmp, err := os.CreateTemp(filepath.Dir(path), ".auth-*.json")
	if err != nil {
		return fmt.Errorf("saving credentials: %w", err)
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // no-op after the rename
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

// lockCredentials prevents other processes from changing the file at path until unlock is called. It creates the directory.
func lockCredentials(path string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("saving credentials: %w", err)
	}
	lock := flock.New(path+".lock", flock.SetPermissions(0o600))
	ctx, cancel := context.WithTimeout(context.Background(), lockTimeout)
	defer cancel()
	if ok, err := lock.TryLockContext(ctx, 20*time.Millisecond); err != nil || !ok {
		return nil, fmt.Errorf("saving credentials: another process holds %s; try again later", lock.Path())
	}
	return func() { _ = lock.Close() }, nil
}
