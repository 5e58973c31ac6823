package providers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// credentialFile is auth.json: the keys that "gjc login" keeps, by provider.
type credentialFile struct {
	path string
	// entries are kept in encoded form, so that an entry of a type not known here survives a rewrite.
	entries map[string]jsonx.Raw
}

type credential struct {
	Type string `json:"type"`
	Key  string `json:"key"`
}

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
	if openToOthers(info.Mode()) {
		if err := os.Chmod(path, 0o600); err != nil {
			return file, "", &ConfigError{
				File:   path,
				Reason: fmt.Sprintf("other users may read it (mode %o), and that could not be changed; run chmod 600 on it", info.Mode().Perm()),
			}
		}
		note = fmt.Sprintf("%s could be read by other users (mode %o); it is now closed to them (0600)", path, info.Mode().Perm())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return file, note, fmt.Errorf("reading credentials: %w", err)
	}
	entries := map[string]jsonx.Raw{}
	if err := jsonx.Unmarshal(data, &entries); err != nil {
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
			File: f.path, Field: provider + pointerOf(err), Reason: `must be like {"type":"api_key","key":"…"}`,
		}
	}
	return c, nil
}

// key returns the API key of a provider, or "".
func (f *credentialFile) key(provider string) string {
	c, err := f.decode(provider)
	if err != nil || c.Type != "api_key" {
		return ""
	}
	return c.Key
}

// save replaces the file in one step, so that no reader and no crash ever sees half of it.
func (f *credentialFile) save() error {
	data, err := jsonx.Marshal(f.entries)
	if err != nil {
		return fmt.Errorf("saving credentials: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return fmt.Errorf("saving credentials: %w", err)
	}
	// CreateTemp makes the file with mode 0600.
	tmp, err := os.CreateTemp(filepath.Dir(f.path), ".auth-*.json")
	if err != nil {
		return fmt.Errorf("saving credentials: %w", err)
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // fails when the rename has worked
	_, err = tmp.Write(append(data, '\n'))
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), f.path)
	}
	if err != nil {
		return fmt.Errorf("saving credentials: %w", err)
	}
	return nil
}

func marshalCredential(key string) (jsonx.Raw, error) {
	return jsonx.Marshal(credential{Type: "api_key", Key: key})
}
