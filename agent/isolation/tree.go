package isolation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/places"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/internal/worktree"
)

// Tree is the worktree of one helper. It is safe for concurrent use.
type Tree struct {
	// Roots are the directories of the session in the worktree, the working directory first.
	Roots []string
	// Left are the session's directories that are not in the repository. The worktree has none for them.
	Left []string

	// pairs are directories of the session, also with their links resolved, and those of the worktree, the innermost first.
	pairs []pair
	trees *Trees
	// name is the helper's name, and title describes its task. Both are set with trees.
	name, title string
	// works reports that the helper has not ended. The mutex of trees guards it.
	works bool
	// disposable reports that the changes need not be kept when the session ends.
	disposable bool

	busy chan struct{} // holds a token while tree is used
	tree *worktree.Worktree
	// gone is set once the worktree is removed or kept for the user.
	gone bool
}

type pair struct{ there, here string }

// New makes a worktree of the repository that has the working directory cwd. additional are the other directories of the session. The
// caller must add the tree to [Trees], or call [Tree.Remove].
func New(ctx context.Context, maker *worktree.Maker, cwd string, additional []string) (*Tree, error) {
	made, err := maker.New(ctx, cwd)
	if err != nil {
		return nil, fmt.Errorf("no worktree: %w", err)
	}
	t := &Tree{tree: made, busy: make(chan struct{}, 1)}
	for i, dir := range append([]string{cwd}, additional...) {
		here, err := made.Dir(dir)
		switch {
		case err == nil:
			t.Roots = append(t.Roots, here)
			t.pairs = append(t.pairs, pair{dir, here})
		case i > 0:
			t.Left = append(t.Left, dir)
		default:
			return nil, errors.Join(fmt.Errorf("no worktree: %w", err), made.Remove())
		}
	}
	t.pairs = append(t.pairs, pair{made.Source(), made.Top()})
	slices.SortStableFunc(t.pairs, func(a, b pair) int { return cmp.Compare(len(b.here), len(a.here)) })
	return t, nil
}

// here returns the path in the worktree that corresponds to one in the session's directories. Other paths stay as they are.
func (t *Tree) here(path string) string {
	for _, p := range t.pairs {
		if to, ok := places.Moved(path, p.there, p.here); ok {
			return to
		}
	}
	return path
}

// there returns the path in the session's directories that corresponds to one in the worktree. Other paths stay as they are.
func (t *Tree) there(path string) string {
	for _, p := range t.pairs {
		if to, ok := places.Moved(path, p.here, p.there); ok {
			return to
		}
	}
	return path
}

// Describe describes the worktree for the helper. again says that an earlier worktree of the helper is gone.
func (t *Tree) Describe(again bool) string {
	var b strings.Builder
	if again {
		b.WriteString("Your earlier directory is gone, and paths in it are not valid any more. ")
	}
	fmt.Fprintf(&b, "You work in a copy of the repository, a git worktree with the uncommitted changes: %s stands for %s. ", t.Roots[0], t.there(t.Roots[0]))
	b.WriteString("Change files only there, by relative paths. Do not commit: when you have ended, the changed files are merged into the repository.")
	if len(t.Left) > 0 {
		b.WriteString(" It does not have these directories of the session, which are not in the repository: " + strings.Join(t.Left, ", ") + ".")
	}
	return b.String()
}

// Name returns the name of the helper.
func (t *Tree) Name() string { return t.name }

// errGone is the error for a worktree that is no longer in use.
var errGone = errors.New("the worktree of this helper is gone: its changes have been merged, or are on a branch")

// use runs fn while nothing else uses the worktree.
func (t *Tree) use(ctx context.Context, fn func() error) error {
	select {
	case t.busy <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-t.busy }()
	if t.gone {
		return errGone
	}
	return fn()
}

// Changed returns the paths of the changed files, slash-separated and relative to the top of the repository.
func (t *Tree) Changed(ctx context.Context) (paths []string, err error) {
	err = t.use(ctx, func() error {
		changes, err := t.tree.Changes(ctx)
		for i := range changes {
			paths = append(paths, changes[i].Path)
		}
		return err
	})
	return paths, err
}

// Changed is a file that differs from the beginning of a worktree.
type Changed struct {
	// Path is slash-separated and relative to the top of the repository.
	Path          string
	Kind          worktree.Kind
	Before, After worktree.State
}

// Changes returns the changed files with their contents.
func (t *Tree) Changes(ctx context.Context) (all []Changed, err error) {
	err = t.use(ctx, func() error {
		changes, err := t.tree.Changes(ctx)
		if err != nil {
			return err
		}
		for i := range changes {
			c := Changed{Path: changes[i].Path, Kind: changes[i].Kind}
			if c.Before, c.After, err = t.tree.States(ctx, &changes[i]); err != nil {
				return err
			}
			all = append(all, c)
		}
		return nil
	})
	return all, err
}

// Merge returns what merging the helper's changes would make of the files of the session. It changes nothing. read returns the content of
// a file, by its absolute path; see [worktree.Worktree.Merge]. The paths of the result are absolute.
func (t *Tree) Merge(ctx context.Context, read func(path string) ([]byte, error)) (merged []worktree.Merged, err error) {
	err = t.use(ctx, func() error {
		changes, err := t.tree.Changes(ctx)
		if err != nil {
			return err
		}
		merged, err = t.tree.Merge(ctx, t.name, changes, func(path string) ([]byte, error) { return read(t.session(path)) })
		for i := range merged {
			merged[i].Path = t.session(filepath.Join(t.tree.Source(), filepath.FromSlash(merged[i].Path)))
		}
		return err
	})
	return merged, err
}

// session returns the path by which the session names a file of the repository.
func (t *Tree) session(path string) string {
	rel, err := filepath.Rel(t.tree.Source(), path)
	if err != nil {
		return path
	}
	return t.there(filepath.Join(t.tree.Top(), rel))
}

// Remove removes the worktree with all changes in it. If it cannot, the next gjc does.
func (t *Tree) Remove(ctx context.Context) error {
	return t.use(ctx, func() error {
		t.forget()
		err := t.tree.Remove()
		if err != nil {
			t.tree.Keep()
		}
		return err
	})
}

// forget marks the worktree as gone. The caller uses it.
func (t *Tree) forget() {
	t.gone = true
	if t.trees != nil {
		t.trees.drop(t)
	}
}

// maxBranchNames bounds the attempts to find a name that no other branch has.
const maxBranchNames = 100

// Branch stores the helper's changes in a branch and removes the worktree. It returns a text that names the branch and says how to use it;
// "" if there are no changes. If that fails, the worktree stays on the disk, and the error names it.
func (t *Tree) Branch(ctx context.Context) (about string, err error) {
	err = t.use(ctx, func() error {
		changes, err := t.tree.Changes(ctx)
		if err == nil && len(changes) > 0 {
			about, err = t.commit(ctx, changes)
		}
		t.forget()
		if err == nil {
			err = t.tree.Remove()
		}
		if err != nil {
			t.tree.Keep()
			return fmt.Errorf("the changes of the helper %s could not be stored in a branch; they are in %s: %w", t.name, t.tree.Top(), err)
		}
		return nil
	})
	return about, err
}

// commit stores changes in a branch that has the name of the helper, with a number if that is in use.
func (t *Tree) commit(ctx context.Context, changes []worktree.Change) (about string, err error) {
	wanted := cmp.Or(t.name, t.tree.ID())
	branch, err := t.tree.BranchName(ctx, wanted)
	for i := 2; err != nil && i < maxBranchNames && ctx.Err() == nil; i++ {
		branch, err = t.tree.BranchName(ctx, fmt.Sprintf("%s-%d", wanted, i))
	}
	if err != nil {
		return "", err
	}
	subject := cmp.Or(text.Truncate(text.VisibleLine(t.title), 72), "Changes of the helper "+t.name)
	branches, err := t.tree.Commit(ctx, branch, subject+"\n", changes)
	if err != nil {
		return "", err
	}
	var all []string
	for i := range branches {
		b := &branches[i]
		var names []string
		for _, f := range b.Files {
			names = append(names, f.Path)
		}
		all = append(all, fmt.Sprintf("The changes are on the branch %s: %s. To have them in the working tree: %s", b.Name, List(names), b.Command()))
	}
	return strings.Join(all, "\n"), nil
}

// maxListed bounds the files that a text lists.
const maxListed = 20

// List returns names in one line; the last ones as a number if there are many.
func List(names []string) string {
	if len(names) <= maxListed {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:maxListed], ", ") + " and " + text.Count(len(names)-maxListed, "more file")
}
