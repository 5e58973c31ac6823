// Package permissions keeps the answers that a user has given for a workspace, in a file of the agent directory. A workspace's own files
// have no part in it.
package permissions

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/lockedfile"
	"github.com/gajae-code/gjc/internal/trust"
)

// Name is the file's name in the agent directory.
const Name = "permissions.json"

// Workspace holds the answers for a workspace.
type Workspace struct {
	// Path is the workspace's directory in the form of [trust.Canonical].
	Path   string           `json:"path"`
	Grants []approval.Grant `json:"grants"`
}

// stored is the file's content.
type stored struct {
	Version    int         `json:"version"`
	Workspaces []Workspace `json:"workspaces"`
}

// version is that of the format.
const version = 1

// FileError reports a file that cannot be read. No answer in it counts, and it is not changed.
type FileError struct {
	Path string
	Err  error
}

func (e *FileError) Error() string {
	return fmt.Sprintf("%s: %v; no answer in it counts until you fix it or move it away", e.Path, e.Err)
}

func (e *FileError) Unwrap() error { return e.Err }

// Store is the file. It is safe for concurrent use, also by several processes.
type Store struct{ file *lockedfile.File }

// Open returns the store of an agent directory. It does no I/O.
func Open(agentDir string) *Store { return &Store{lockedfile.New(filepath.Join(agentDir, Name))} }

// List returns all workspaces that have answers, by path.
func (s *Store) List() ([]Workspace, error) {
	data, err := s.file.Read()
	if err != nil {
		return nil, &FileError{s.file.Path(), err}
	}
	return s.decode(data)
}

func (s *Store) decode(data []byte) ([]Workspace, error) {
	if data == nil {
		return nil, nil
	}
	var f stored
	err := jsonx.Unmarshal(data, &f)
	if err == nil && f.Version != version {
		err = fmt.Errorf("it has version %d; this program supports version %d", f.Version, version)
	}
	if err != nil {
		return nil, &FileError{s.file.Path(), err}
	}
	slices.SortFunc(f.Workspaces, func(a, b Workspace) int { return strings.Compare(a.Path, b.Path) })
	return f.Workspaces, nil
}

// change replaces the answers for a workspace by what fn makes of them. A workspace without answers is removed.
func (s *Store) change(ctx context.Context, path string, fn func([]approval.Grant) []approval.Grant) error {
	err := s.file.Change(ctx, func(data []byte) ([]byte, error) {
		all, err := s.decode(data)
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(all, func(w Workspace) bool { return w.Path == path })
		if at < 0 {
			all = append(all, Workspace{Path: path})
			at = len(all) - 1
		}
		all[at].Grants = fn(all[at].Grants)
		all = slices.DeleteFunc(all, func(w Workspace) bool { return len(w.Grants) == 0 })
		data, err = jsonx.Marshal(stored{version, all})
		return append(data, '\n'), err
	})
	if _, bad := errors.AsType[*FileError](err); bad || err == nil {
		return err
	}
	return fmt.Errorf("saving what is allowed: %w", err)
}

// Revoke removes the answers with the given numbers, the first one being 1, for a workspace; without numbers, all. It returns how many it
// has removed.
func (s *Store) Revoke(ctx context.Context, path string, numbers map[int]bool) (n int, err error) {
	for _, name := range slices.Compact([]string{trust.Canonical(path), filepath.Clean(path)}) { // the directory may be gone, or a link
		err = errors.Join(err, s.change(ctx, name, func(all []approval.Grant) []approval.Grant {
			at := 0
			return slices.DeleteFunc(all, func(approval.Grant) bool {
				at++
				hit := len(numbers) == 0 || numbers[at]
				if hit {
					n++
				}
				return hit
			})
		}))
	}
	return n, err
}

// RevokeAll removes the answers for all workspaces and returns their number.
func (s *Store) RevokeAll(ctx context.Context) (n int, err error) {
	all, err := s.List()
	if err != nil {
		return 0, err
	}
	for _, w := range all {
		removed, err := s.Revoke(ctx, w.Path, nil)
		if n += removed; err != nil {
			return n, err
		}
	}
	return n, nil
}

// Keeper returns the answers for one workspace, for its sessions.
func (s *Store) Keeper(root string) *Keeper { return &Keeper{store: s, root: trust.Canonical(root)} }

// Keeper implements [approval.Keeper].
type Keeper struct {
	store *Store
	root  string

	mu     sync.Mutex // guards the fields below
	stamp  string
	grants []approval.Grant
}

var _ approval.Keeper = (*Keeper)(nil)

// Grants implements [approval.Keeper]. It reads the file when that has changed. An unreadable one has no answers; gjc doctor and gjc
// permissions say why.
func (k *Keeper) Grants() []approval.Grant {
	k.mu.Lock()
	defer k.mu.Unlock()
	if stamp := k.store.file.Stamp(); stamp != k.stamp {
		k.stamp, k.grants = stamp, nil
		all, _ := k.store.List()
		for _, w := range all {
			if w.Path == k.root {
				k.grants = w.Grants
			}
		}
	}
	return slices.Clone(k.grants)
}

// Keep implements [approval.Keeper].
func (k *Keeper) Keep(ctx context.Context, g approval.Grant) error {
	return k.store.change(ctx, k.root, func(all []approval.Grant) []approval.Grant {
		return append(slices.DeleteFunc(all, func(have approval.Grant) bool { return g.Replaces(&have) }), g)
	})
}

// Revoke implements [approval.Keeper].
func (k *Keeper) Revoke(ctx context.Context, drop func(*approval.Grant) bool) error {
	if len(k.Grants()) == 0 {
		return nil
	}
	return k.store.change(ctx, k.root, func(all []approval.Grant) []approval.Grant {
		return slices.DeleteFunc(all, func(g approval.Grant) bool { return drop(&g) })
	})
}
