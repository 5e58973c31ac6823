// Package storage finds where sessions are, a directory or a database, and copies them from one to another.
package storage

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gajae-code/gjc/sessions"
	"github.com/gajae-code/gjc/sessions/postgres"
)

// Place is where the sessions of one owner are.
type Place struct {
	FS sessions.FileSystem
	// Sessions and Blobs are directories in FS.
	Sessions, Blobs string
	// Name is for messages. It has no password.
	Name string
}

// IsAddress reports whether a place is a database, and not a directory.
func IsAddress(place string) bool {
	return strings.HasPrefix(place, "postgres://") || strings.HasPrefix(place, "postgresql://")
}

// Open returns the place with an address, or with the path of an agent directory. It does no I/O. The caller calls end after use.
func Open(ctx context.Context, place string) (p Place, end func(), err error) {
	if !IsAddress(place) {
		dir, err := filepath.Abs(place)
		return directory(dir), func() {}, err
	}
	db, err := postgres.Open(ctx, place, postgres.Options{})
	if err != nil {
		return Place{}, nil, err
	}
	return database(db, place), db.Close, nil
}

func directory(agentDir string) Place {
	return Place{FS: sessions.Disk(), Sessions: filepath.Join(agentDir, "sessions"), Blobs: filepath.Join(agentDir, "blobs"), Name: agentDir}
}

func database(db *postgres.DB, address string) Place {
	root := string(filepath.Separator)
	return Place{FS: db.FileSystem(""), Sessions: root + "sessions", Blobs: root + "blobs", Name: postgres.Redact(address)}
}

// UserAddress returns the address at which a user has the sessions in a database that belong to the user, and no others; see
// [postgres.DB.UserAddress]. It is a secret.
func UserAddress(ctx context.Context, address, user string) (string, error) {
	db, err := postgres.Open(ctx, address, postgres.Options{})
	if err != nil {
		return "", err
	}
	defer db.Close()
	return db.UserAddress(user)
}

// Report is the result of [Copy].
type Report struct {
	// Copied and Same count the sessions that were copied, and those that the target had. Images counts the images that were copied.
	Copied, Same, Images int
	// Bytes is the size of what was copied.
	Bytes int64
	// InUse has the sessions that a process has open, and Different those that the target has with another content.
	InUse, Different []string
}

// Copy copies all sessions with what belongs to them. It overwrites nothing. After an interruption it can be called again.
func Copy(ctx context.Context, from, to Place) (Report, error) {
	c := &copying{from: from, to: to}
	if err := c.blobs(ctx); err != nil {
		return c.report, fmt.Errorf("copying the images: %w", err)
	}
	dirs, err := c.from.FS.ReadDir(from.Sessions)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c.report, err
	}
	for _, dir := range dirs {
		if !dir.IsDir() {
			continue // caches
		}
		if err := c.project(ctx, dir.Name()); err != nil {
			return c.report, err
		}
	}
	return c.report, nil
}

type copying struct {
	from, to Place
	report   Report
}

const (
	sessionSuffix  = ".jsonl"
	archivedSuffix = ".archived"
	lockSuffix     = ".lock"
	tempSuffix     = ".tmp"
	dirPerm        = 0o700
	filePerm       = 0o600
)

// blobs copies the images, whose names are the hashes of their contents.
func (c *copying) blobs(ctx context.Context) error {
	files, err := c.from.FS.ReadDir(c.from.Blobs)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, f := range files {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if len(f.Name()) != 64 || !f.Type().IsRegular() {
			continue
		}
		copied, err := c.file(filepath.Join(c.from.Blobs, f.Name()), filepath.Join(c.to.Blobs, f.Name()))
		if err != nil {
			return err
		}
		if copied {
			c.report.Images++
		}
	}
	return nil
}

// project copies the sessions of one directory.
func (c *copying) project(ctx context.Context, name string) error {
	files, err := c.from.FS.ReadDir(filepath.Join(c.from.Sessions, name))
	if err != nil {
		return err
	}
	for _, f := range files {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !strings.HasSuffix(f.Name(), sessionSuffix) || strings.HasPrefix(f.Name(), ".") || !f.Type().IsRegular() {
			continue
		}
		if err := c.session(ctx, filepath.Join(name, f.Name())); err != nil {
			return fmt.Errorf("copying %s: %w", f.Name(), err)
		}
	}
	return nil
}

// errDifferent is the error for a file that the target has with another content.
var errDifferent = errors.New("the target has another file of this name")

// session copies one session. Its own file is the last, so that a session that is there is complete.
func (c *copying) session(ctx context.Context, name string) error {
	source, target := filepath.Join(c.from.Sessions, name), filepath.Join(c.to.Sessions, name)
	if err := c.to.FS.MkdirAll(filepath.Dir(target), dirPerm); err != nil {
		return err
	}
	for _, side := range []struct {
		fs   sessions.FileSystem
		path string
	}{{c.from.FS, source}, {c.to.FS, target}} {
		unlock, err := side.fs.Lock(side.path)
		if errors.Is(err, sessions.ErrLocked) {
			c.report.InUse = append(c.report.InUse, name)
			return nil
		}
		if err != nil {
			return err
		}
		defer unlock()
	}
	copied, err := c.parts(ctx, source, target)
	switch {
	case errors.Is(err, errDifferent):
		c.report.Different = append(c.report.Different, name)
		return nil
	case err != nil:
		return err
	case copied:
		c.report.Copied++
	default:
		c.report.Same++
	}
	return nil
}

// parts copies the files of a session.
func (c *copying) parts(ctx context.Context, source, target string) (copied bool, err error) {
	if same, err := c.same(source, target); err != nil || same {
		return false, err
	}
	from, to := strings.TrimSuffix(source, sessionSuffix), strings.TrimSuffix(target, sessionSuffix)
	if err := c.tree(ctx, from, to); err != nil {
		return false, err
	}
	if _, err := c.from.FS.Lstat(from + archivedSuffix); err == nil {
		if _, err := c.file(from+archivedSuffix, to+archivedSuffix); err != nil {
			return false, err
		}
	}
	return c.file(source, target)
}

// tree copies a directory, which need not exist.
func (c *copying) tree(ctx context.Context, from, to string) error {
	entries, err := c.from.FS.ReadDir(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := c.to.FS.MkdirAll(to, dirPerm); err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case e.IsDir():
			err = c.tree(ctx, filepath.Join(from, name), filepath.Join(to, name))
		case !e.Type().IsRegular(), strings.HasSuffix(name, lockSuffix), strings.HasPrefix(name, ".") && strings.HasSuffix(name, tempSuffix):
			continue
		default:
			_, err = c.file(filepath.Join(from, name), filepath.Join(to, name))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// same reports whether the target has a file with the same content. It returns [errDifferent] for another content.
func (c *copying) same(source, target string) (bool, error) {
	is, err := c.to.FS.Lstat(target)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	was, err := c.from.FS.Lstat(source)
	if err != nil {
		return false, err
	}
	if is.Size() != was.Size() {
		return false, errDifferent
	}
	old, err := c.from.FS.ReadFile(source)
	if err != nil {
		return false, err
	}
	have, err := c.to.FS.ReadFile(target)
	if err == nil && !bytes.Equal(old, have) {
		err = errDifferent
	}
	return err == nil, err
}

// file copies a file that the target does not have.
func (c *copying) file(source, target string) (copied bool, err error) {
	if same, err := c.same(source, target); err != nil || same {
		return false, err
	}
	data, err := c.from.FS.ReadFile(source)
	if err != nil {
		return false, err
	}
	dir := filepath.Dir(target)
	if err := c.to.FS.MkdirAll(dir, dirPerm); err != nil {
		return false, err
	}
	temp := filepath.Join(dir, "."+filepath.Base(target)+"."+random()+tempSuffix)
	f, err := c.to.FS.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, filePerm)
	if err != nil {
		return false, err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = c.to.FS.Rename(temp, target)
	}
	if err != nil {
		return false, errors.Join(err, c.to.FS.RemoveAll(temp))
	}
	c.report.Bytes += int64(len(data))
	return true, c.to.FS.SyncDir(dir)
}

func random() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
