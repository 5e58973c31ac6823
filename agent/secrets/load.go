package secrets

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gajae-code/gjc/internal/configfile"
)

// Options selects the sources of a session's secrets.
type Options struct {
	// AgentDir is the directory of the user's secrets.yml and of the key for placeholders, which is created if it does
	// not exist.
	AgentDir string
	// Dir is the session's working directory; .gjc/secrets.yml in it has precedence over the user's.
	Dir string
	// Environ is the environment, as NAME=value.
	Environ []string
}

// fileName is the name of a secrets file.
const fileName = "secrets.yml"

// Load returns the secrets of a session: those of the environment, then those of the files.
func Load(opts Options) (*Set, error) {
	entries, err := ReadFiles(filesOf(&opts)...)
	if err != nil {
		return nil, err
	}
	key, err := readKey(filepath.Join(opts.AgentDir, "secrets.key"))
	if err != nil {
		return nil, fmt.Errorf("the key for the placeholders of secrets: %w", err)
	}
	return New(append(FromEnv(opts.Environ), entries...), key)
}

// filesOf returns the files with secrets; the first has precedence.
func filesOf(opts *Options) []string {
	return []string{filepath.Join(opts.Dir, ".gjc", fileName), filepath.Join(opts.AgentDir, fileName)}
}

// keySize is the length of the key in bytes.
const keySize = 32

// readKey returns the key in a file. It creates a missing file. Two processes that do so concurrently get the same key.
func readKey(path string) ([]byte, error) {
	key, err := configfile.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = makeKey(path); err == nil {
			key, err = configfile.ReadFile(path)
		}
	}
	if err == nil && len(key) != keySize {
		err = fmt.Errorf("%s must have %d bytes; delete it to create a new one", path, keySize)
	}
	return key, err
}

// makeKey writes a new key to a file atomically, unless another process has already created the file.
func makeKey(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".secrets.key-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // it was linked to its final name
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // never returns an error
	_, err = tmp.Write(key)
	if err == nil {
		err = tmp.Sync()
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	err = os.Link(tmp.Name(), path)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return os.Rename(tmp.Name(), path) // the file system does not support hard links
	}
	return nil
}
