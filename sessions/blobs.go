package sessions

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// blobPrefix is the start of a reference to a file in the blob directory. The SHA-256 of the file's bytes follows in
// hex.
const blobPrefix = "blob:sha256:"

const (
	// blobThreshold is the length, in base64, from which an image is stored as a blob and not in the session file.
	blobThreshold = 1024
	// blobFresh is the maximum age of a blob that a new reference may use. An older blob is written again, because [Store.GC] may
	// be about to remove it.
	blobFresh = time.Hour
)

// blobName checks a reference and returns the name of the blob's file.
func blobName(ref string) (string, error) {
	sum, ok := strings.CutPrefix(ref, blobPrefix)
	if b, err := hex.DecodeString(sum); !ok || err != nil || len(b) != sha256.Size || strings.ToLower(sum) != sum {
		return "", fmt.Errorf("%.80q is not a blob reference", ref)
	}
	return sum, nil
}

// readBlob returns the content of the blob that a reference names. It returns an error if the content does not match the hash.
func (s *Store) readBlob(ref string) ([]byte, error) {
	name, err := blobName(ref)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(s.opts.BlobDir, name)
	data, err := s.fs.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != name {
		return nil, fmt.Errorf("%s is damaged: its content does not match its hash", path)
	}
	return data, nil
}

// putBlob stores data, unless it is already stored, and returns its reference. If sync is set, the data survives a power cut.
func (s *Store) putBlob(data []byte, sync bool) (ref string, err error) {
	sum := sha256.Sum256(data)
	name := hex.EncodeToString(sum[:])
	path := filepath.Join(s.opts.BlobDir, name)
	info, err := s.fs.Stat(path)
	if err == nil && s.opts.Clock().Sub(info.ModTime()).Abs() < blobFresh {
		if have, err := s.fs.ReadFile(path); err == nil && bytes.Equal(have, data) {
			return blobPrefix + name, nil
		}
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("storing an image: %w", err)
	}
	if err := s.fs.MkdirAll(s.opts.BlobDir, dirPerm); err != nil {
		return "", fmt.Errorf("storing an image: %w", err)
	}
	if err := s.replace(path, data, sync); err != nil {
		return "", fmt.Errorf("storing an image: %w", err)
	}
	return blobPrefix + name, nil
}

const tempSuffix = ".tmp"

// replace creates or replaces a file atomically. If sync is set, the file survives a power cut.
func (s *Store) replace(path string, data []byte, sync bool) (err error) {
	dir := filepath.Dir(path)
	temp := filepath.Join(dir, "."+filepath.Base(path)+"."+tempID()+tempSuffix)
	f, err := s.fs.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, filePerm)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = s.fs.Remove(temp)
		}
	}()
	if err := writeAll(f, data, sync); err != nil {
		return err
	}
	if err := s.fs.Rename(temp, path); err != nil {
		return err
	}
	if !sync {
		return nil
	}
	return s.fs.SyncDir(dir)
}

// writeAll writes data to a new file and closes it. If sync is set, the data survives a power cut.
func writeAll(f File, data []byte, sync bool) error {
	n, err := f.Write(data)
	if err == nil && n < len(data) {
		err = io.ErrShortWrite
	}
	if err == nil && sync {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
