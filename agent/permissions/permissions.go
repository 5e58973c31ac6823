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
	// Rules are those that the user has adopted from other agents' settings, and Shown identifies the suggestions that the user has
	// seen.
	Rules []StoredRule `json:"rules,omitzero"`
	Shown string       `json:"shown,omitzero"`
	// Boundary identifies the notice about the boundary that the user has seen.
	Boundary string `json:"boundary,omitzero"`
}

// StoredRule is an adopted rule.
type StoredRule struct {
	Verdict string `json:"verdict"` // allow, ask or deny
	Text    string `json:"text"`
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

// Rules returns the rules that the user has adopted for a workspace. Without a readable file there are none.
func (s *Store) Rules(root string) approval.Rules {
	all, _ := s.List() // gjc doctor and gjc permissions say why
	var rules approval.Rules
	for _, w := range all {
		if w.Path != trust.Canonical(root) {
			continue
		}
		for _, stored := range w.Rules {
			for verdict, name := range verdictNames {
				if r, err := approval.ParseRule(verdict, stored.Text); err == nil && name == stored.Verdict {
					rules = append(rules, r)
				}
			}
		}
	}
	return rules
}

// Adopt keeps the rules of suggestions for a workspace, in the place of those that were adopted before. It returns their number.
func (s *Store) Adopt(ctx context.Context, root string, all []Suggestion) (n int, err error) {
	err = s.update(ctx, trust.Canonical(root), func(w *Workspace) {
		w.Rules, w.Shown = nil, sum(all)
		for _, suggestion := range all {
			for _, r := range suggestion.Rules {
				w.Rules = append(w.Rules, StoredRule{verdictNames[r.Verdict], r.Text})
			}
		}
		n = len(w.Rules)
	})
	return n, err
}

// Show reports whether suggestions have not been shown for a workspace yet, and notes that they are.
func (s *Store) Show(ctx context.Context, root string, all []Suggestion) (first bool, err error) {
	path := trust.Canonical(root)
	known, err := s.List()
	if err != nil || len(all) == 0 || slices.ContainsFunc(known, func(w Workspace) bool { return w.Path == path && w.Shown == sum(all) }) {
		return false, err
	}
	err = s.update(ctx, path, func(w *Workspace) {
		first = w.Shown != sum(all)
		w.Shown = sum(all)
	})
	return first && err == nil, err
}

// Introduce reports whether a notice about the boundary has not been shown for a workspace yet, and notes that it is.
func (s *Store) Introduce(ctx context.Context, root, boundary string) (first bool, err error) {
	path := trust.Canonical(root)
	known, err := s.List()
	if err != nil || slices.ContainsFunc(known, func(w Workspace) bool { return w.Path == path && w.Boundary == boundary }) {
		return false, err
	}
	err = s.update(ctx, path, func(w *Workspace) {
		first = w.Boundary != boundary
		w.Boundary = boundary
	})
	return first && err == nil, err
}

// change replaces the answers for a workspace by what fn makes of them. A workspace without answers is removed.
func (s *Store) change(ctx context.Context, path string, fn func([]approval.Grant) []approval.Grant) error {
	return s.update(ctx, path, func(w *Workspace) { w.Grants = fn(w.Grants) })
}

// update changes what is kept for a workspace. One for which nothing is kept is removed.
func (s *Store) update(ctx context.Context, path string, fn func(*Workspace)) error {
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
		fn(&all[at])
		all = slices.DeleteFunc(all, func(w Workspace) bool {
			return len(w.Grants) == 0 && len(w.Rules) == 0 && w.Shown == "" && w.Boundary == ""
		})
		data, err = jsonx.Marshal(stored{version, all})
		return append(data, '\n'), err
	})
	if _, bad := errors.AsType[*FileError](err); bad || err == nil {
		return err
	}
	return fmt.Errorf("saving what is allowed: %w", err)
}

// Revoke removes the answers with the given numbers, the first one being 1, for a workspace; without numbers, all, and the adopted rules. It
// returns how many it has removed.
func (s *Store) Revoke(ctx context.Context, path string, numbers map[int]bool) (n int, err error) {
	for _, name := range slices.Compact([]string{trust.Canonical(path), filepath.Clean(path)}) { // the directory may be gone, or a link
		err = errors.Join(err, s.update(ctx, name, func(w *Workspace) {
			at := 0
			w.Grants = slices.DeleteFunc(w.Grants, func(approval.Grant) bool {
				at++
				hit := len(numbers) == 0 || numbers[at]
				if hit {
					n++
				}
				return hit
			})
			if len(numbers) == 0 {
				n += len(w.Rules)
				w.Rules = nil
			}
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
