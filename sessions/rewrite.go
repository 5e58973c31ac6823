package sessions

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

const backupSuffix = ".bak"

// tempID makes the names of temporary files differ.
func (*Store) tempID() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// rewrite replaces a session file in one step. Until the new one is sure to be on the disk, the old one stays there
// with the suffix ".bak" behind its name.
func (s *Store) rewrite(path string, data []byte) error {
	backup := path + backupSuffix
	if err := s.keepCopy(path, backup); err != nil {
		return fmt.Errorf("keeping the old file: %w", err)
	}
	if err := s.replace(path, data, true); err != nil {
		return err
	}
	// One that cannot be removed is removed when the session is opened the next time.
	_ = s.fs.Remove(backup)
	return nil
}

// keepCopy gives a file a second name. What had that name is what an earlier rewrite left.
func (s *Store) keepCopy(path, backup string) error {
	if err := s.fs.Remove(backup); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if s.fs.Link(path, backup) == nil {
		return nil
	}
	data, err := s.fs.ReadFile(path) // no hard links here
	if err != nil {
		return err
	}
	f, err := s.fs.OpenFile(backup, os.O_CREATE|os.O_EXCL|os.O_WRONLY, filePerm)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}
