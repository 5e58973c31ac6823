// Package worktrees gives sessions worktrees of their own, in which they work instead of the user's directories.
//
// A client always names the user's directories, also for a session that has a worktree; the package translates them. A worktree lives as
// long as its session: it stays when the session is closed, and is found by the session's ID when it is opened again.
package worktrees

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/worktree"
)

// Store finds and makes the worktrees of sessions.
type Store struct {
	// Maker returns how worktrees are made. If nil, sessions have none.
	Maker func(children *proc.Group) (*worktree.Maker, error)
	// Children owns the processes of git.
	Children *proc.Group
}

// errNone reports that this server makes no worktrees.
var errNone = errors.New("worktrees are not available here")

// maker returns how worktrees are made, and the directory of those of sessions.
func (s *Store) maker() (*worktree.Maker, string, error) {
	if s.Maker == nil {
		return nil, "", errNone
	}
	m, err := s.Maker(s.Children)
	if err != nil {
		return nil, "", err
	}
	return m, m.Sessions, nil
}

// Always reports whether the user wants a worktree for each new session.
func (s *Store) Always() bool {
	m, _, err := s.maker()
	return err == nil && m.Always
}

// Session is the worktree of an open session. As a value of the session it is released with it. It is safe for concurrent use.
type Session struct {
	mu   sync.Mutex // held while tree is used
	tree *worktree.Worktree
}

// Make makes the worktree of a session and moves the directories of ws into it. prepare changes its files first; see [worktree.Options].
// The caller makes the result a value of the session, or calls Remove.
func (s *Store) Make(ctx context.Context, id string, ws *agent.Workspace, prepare func(context.Context, *worktree.Worktree) error) (*Session, error) {
	m, dir, err := s.maker()
	if err != nil {
		return nil, err
	}
	tree, err := m.Git.New(ctx, &worktree.Options{Dir: dir, Root: ws.Cwd, ID: id, Link: m.Link, Copy: m.Copy, Prepare: prepare})
	if err != nil {
		return nil, err
	}
	made := &Session{tree: tree}
	if err := made.Move(ws); err != nil {
		return nil, errors.Join(err, tree.Remove())
	}
	return made, nil
}

// open opens the worktree of a session. It returns nil if the session has none.
func (s *Store) open(ctx context.Context, id string) (*Session, error) {
	m, dir, err := s.maker()
	if err != nil || id == "" || filepath.Base(id) != id {
		return nil, nil //nolint:nilerr,nilnil // there can be none
	}
	if _, err := os.Lstat(filepath.Join(dir, id)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // the session has none
	}
	tree, err := m.Git.Open(ctx, dir, id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // it was never complete
	}
	if err != nil {
		return nil, fmt.Errorf("the worktree in %s: %w", filepath.Join(dir, id), err)
	}
	return &Session{tree: tree}, nil
}

// Enter opens the worktree of a session, and moves the directories of ws into it. It returns nil if the session has none.
func (s *Store) Enter(ctx context.Context, id string, ws *agent.Workspace) (*Session, error) {
	opened, err := s.open(ctx, id)
	if opened == nil || err != nil {
		return nil, err
	}
	if err := opened.Move(ws); err != nil {
		opened.Close(ctx)
		return nil, err
	}
	return opened, nil
}

// Move replaces directories by those in the worktree.
func (s *Session) Move(ws *agent.Workspace) error {
	to := agent.Workspace{Additional: make([]string, len(ws.Additional))}
	for i, dir := range append([]string{ws.Cwd}, ws.Additional...) {
		moved, err := s.dir(dir)
		if err != nil {
			return fmt.Errorf("%w; a worktree has the files of one repository", err)
		}
		if i == 0 {
			to.Cwd = moved
		} else {
			to.Additional[i-1] = moved
		}
	}
	ws.Cwd, ws.Additional = to.Cwd, to.Additional
	return nil
}

// dir returns the directory in the worktree for one of the user's, or for one in the worktree.
func (s *Session) dir(dir string) (string, error) {
	if rel, err := filepath.Rel(s.tree.Top(), dir); err == nil && filepath.IsLocal(rel) {
		return dir, nil
	}
	return s.tree.Dir(dir)
}

// Close lets the files stay for the next time that the session is opened. It implements [agent.ValueCloser].
func (s *Session) Close(context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tree.Keep()
}

// Top is the top of the worktree, Source that of the user's working tree.
func (s *Session) Top() string { return s.tree.Top() }

// Source is the top of the user's working tree.
func (s *Session) Source() string { return s.tree.Source() }

// Changes lists the files that differ from the beginning.
func (s *Session) Changes(ctx context.Context) ([]worktree.Change, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tree.Changes(ctx)
}

// Branch stores the changes in a branch "gjc/" and name, of each repository that has some; none if nothing was changed. If name is empty,
// it is one that no branch has. message is that of the commit.
func (s *Session) Branch(ctx context.Context, name, message string) ([]worktree.Branch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changes, err := s.tree.Changes(ctx)
	if err != nil || len(changes) == 0 {
		return nil, err
	}
	if name == "" {
		name = s.tree.ID()
	}
	name, err = s.tree.BranchName(ctx, name)
	if err != nil {
		return nil, err
	}
	if !strings.HasSuffix(message, "\n") {
		message += "\n"
	}
	return s.tree.Commit(ctx, name, message, changes)
}

// Ended is the end of a worktree whose session was deleted.
type Ended struct {
	Session string
	// Branches have the changes; none if there are none.
	Branches []worktree.Branch
}

// End removes the worktree of a session that was deleted, and stores its changes in a branch before. If that fails, it stays, and the error
// names it.
func (s *Store) End(ctx context.Context, id string) (Ended, error) {
	ended := Ended{Session: id}
	tree, err := s.open(ctx, id)
	if tree == nil || err != nil {
		return ended, err
	}
	if ended.Branches, err = tree.Branch(ctx, "", "Changes of a session that was deleted"); err != nil {
		tree.Close(ctx)
		return ended, fmt.Errorf("the worktree of the session stays in %s: %w", tree.Top(), err)
	}
	return ended, tree.tree.Remove()
}

// EndUnknown is End for all worktrees of sessions that known does not know, and that no process uses.
func (s *Store) EndUnknown(ctx context.Context, known func(id string) bool) ([]Ended, error) {
	ids, err := s.List()
	if err != nil {
		return nil, err
	}
	var all []Ended
	var errs []error
	for _, id := range ids {
		if known(id) {
			continue
		}
		ended, err := s.End(ctx, id)
		switch {
		case errors.Is(err, worktree.ErrInUse): // its session is being made
		case err != nil:
			errs = append(errs, err)
		default:
			all = append(all, ended)
		}
	}
	return all, errors.Join(errs...)
}

// List returns the IDs of the sessions that have worktrees.
func (s *Store) List() ([]string, error) {
	_, dir, err := s.maker()
	if errors.Is(err, errNone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var ids []string
	for _, e := range entries {
		if e.IsDir() {
			ids = append(ids, e.Name())
		}
	}
	return ids, err
}
