package trust

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/lockedfile"
)

// FileError reports an invalid trust file. Nothing is trusted in that case, and the file is not modified.
type FileError struct {
	Path, Reason string
}

func (e *FileError) Error() string {
	return fmt.Sprintf("%s: %s; no workspace is trusted until you fix it or move it away", e.Path, e.Reason)
}

// Store stores answers in a file, which other processes may write too. It is safe for concurrent use and caches nothing.
type Store struct {
	file *lockedfile.File
}

// Open returns the store for a file, which need not exist. It does no I/O.
func Open(path string) *Store { return &Store{lockedfile.New(path)} }

// The versions of the format. In version 1, all files of a workspace have its answer. Files are written in the lowest version
// that can express them, so that an older program cannot take a file with a no of its own for a trusted one.
const (
	oneAnswer   = 1
	fileAnswers = 2
)

type storedFile struct {
	Version    int     `json:"version"`
	Workspaces []Entry `json:"workspaces"`
}

// decode decodes a trust file strictly, so that no mistake can count as an answer.
func decode(data []byte) ([]Entry, error) {
	var f storedFile
	if err := jsonx.Unmarshal(data, &f); err != nil {
		return nil, err
	}
	if f.Version != oneAnswer && f.Version != fileAnswers {
		return nil, fmt.Errorf("has version %d; this program supports versions %d and %d", f.Version, oneAnswer, fileAnswers)
	}
	for i := range f.Workspaces {
		e := &f.Workspaces[i]
		switch {
		case e.State != Trusted && e.State != Denied:
			return nil, fmt.Errorf("workspace %d has the state %q, want trusted or denied", i+1, e.State)
		case e.Path == "":
			return nil, fmt.Errorf("workspace %d has no path", i+1)
		case slices.ContainsFunc(f.Workspaces[:i], func(o Entry) bool { return o.Path == e.Path }):
			return nil, fmt.Errorf("duplicate workspace %q", e.Path)
		}
		for _, state := range append([]State{e.ProgramsState}, fileStates(e)...) {
			if state != Unknown && state != Trusted && state != Denied {
				return nil, fmt.Errorf("workspace %d has the state %q, want trusted or denied", i+1, state)
			}
		}
	}
	return f.Workspaces, nil
}

func fileStates(e *Entry) (all []State) {
	for _, f := range e.Files {
		all = append(all, f.State)
	}
	return all
}

func encode(list []Entry) ([]byte, error) {
	f := storedFile{Version: oneAnswer, Workspaces: list}
	if slices.ContainsFunc(list, func(e Entry) bool { return e.mixed() }) {
		f.Version = fileAnswers
	}
	return jsonx.Marshal(f)
}

func (s *Store) read() ([]Entry, error) {
	data, err := s.file.Read()
	if err != nil {
		return nil, fmt.Errorf("reading which workspaces are trusted: %w", err)
	}
	return s.entries(data)
}

// entries decodes the file's content; nil if there is none.
func (s *Store) entries(data []byte) ([]Entry, error) {
	if data == nil {
		return nil, nil
	}
	list, err := decode(data)
	if err != nil {
		return nil, &FileError{Path: s.file.Path(), Reason: err.Error()}
	}
	return list, nil
}

// find returns the index of a workspace, or -1.
func find(list []Entry, path string) int {
	return slices.IndexFunc(list, func(e Entry) bool { return samePath(e.Path, path, runtime.GOOS) })
}

// Look returns the verdict for a subject. With an error it is Unknown.
func (s *Store) Look(sub *Subject) (Verdict, error) {
	list, err := s.read()
	if err != nil {
		return Verdict{}, err
	}
	if i := find(list, Canonical(sub.Path)); i >= 0 {
		return list[i].judge(sub), nil
	}
	return Verdict{}, nil
}

// List returns all answers, by path.
func (s *Store) List() ([]Entry, error) {
	list, err := s.read()
	slices.SortFunc(list, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	return list, err
}

// Set stores an answer, which must not be Unknown; use Revoke for that.
func (s *Store) Set(ctx context.Context, sub *Subject, state State) error {
	if state != Trusted && state != Denied {
		return fmt.Errorf("invalid answer %q", state)
	}
	if !filepath.IsAbs(sub.Path) {
		return fmt.Errorf("the workspace %q is not an absolute path", sub.Path)
	}
	path := Canonical(sub.Path)
	return s.change(ctx, func(list []Entry) ([]Entry, bool) {
		i := find(list, path)
		if i < 0 {
			list = append(list, Entry{Path: path})
			i = len(list) - 1
		}
		list[i].record(sub, state, time.Now())
		return list, true
	})
}

// Revoke removes the answer for a workspace, and reports whether there was one.
func (s *Store) Revoke(ctx context.Context, path string) (was bool, err error) {
	names := []string{Canonical(path), filepath.Clean(path)} // the directory may have been deleted or replaced by a link
	err = s.change(ctx, func(list []Entry) ([]Entry, bool) {
		list = slices.DeleteFunc(list, func(e Entry) bool {
			hit := find([]Entry{e}, names[0]) >= 0 || find([]Entry{e}, names[1]) >= 0
			was = was || hit
			return hit
		})
		return list, was
	})
	return was && err == nil, err
}

// RevokeAll removes all answers and returns their number.
func (s *Store) RevokeAll(ctx context.Context) (n int, err error) {
	err = s.change(ctx, func(list []Entry) ([]Entry, bool) {
		n = len(list)
		return nil, n > 0
	})
	return n, err
}

// Stamp returns a value that changes with the file. It only reads the file's metadata.
func (s *Store) Stamp() string { return s.file.Stamp() }

// change replaces the file. fn reports whether it has changed anything.
func (s *Store) change(ctx context.Context, fn func([]Entry) ([]Entry, bool)) error {
	err := s.file.Change(ctx, func(data []byte) ([]byte, error) {
		list, err := s.entries(data)
		if err != nil {
			return nil, err
		}
		list, changed := fn(list)
		if !changed {
			return nil, nil
		}
		data, err = encode(list)
		return append(data, '\n'), err
	})
	if _, bad := errors.AsType[*FileError](err); bad || err == nil {
		return err
	}
	return fmt.Errorf("saving which workspaces are trusted: %w", err)
}
