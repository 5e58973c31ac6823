// Package walk walks directories as git sees them: it reads ignore files, matches globs, and maps file types to names. It reads
// ignore files, and the files that search reads without ripgrep, from the disk and not through the editor.
package walk

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/gitignore"
)

// ignoreFiles are the names of the files with ignore patterns. A later one overrides an earlier one.
var ignoreFiles = [...]string{gitignore.File, ".ignore", ".rgignore"}

// DirLister lists directories; [agent.FS] is one.
type DirLister interface {
	// ReadDir returns the entries of a directory, sorted by name.
	ReadDir(ctx context.Context, path string) ([]fs.DirEntry, error)
}

// Walker walks directories in the order of the entries' names, without following symbolic links. It never enters .git.
type Walker struct {
	FS DirLister
	// Hidden includes names that begin with a dot.
	Hidden bool
	// Ignore excludes files that ignore files match.
	Ignore bool
	// GlobalIgnore is the path of the user's global ignore file, or "".
	GlobalIgnore string
}

// New returns a walker that excludes only ignored files.
func New(call *agent.Call) *Walker {
	return &Walker{FS: call.FS, Hidden: true, Ignore: true}
}

// Walk calls visit for everything below root, which must be a directory. visit may return [fs.SkipDir] to skip a directory, or [fs.SkipAll]
// to end the walk. Walk skips directories that cannot be read, except root.
func (w *Walker) Walk(ctx context.Context, root string, visit func(path string, d fs.DirEntry) error) error {
	rules := w.RulesAt(root)
	entries, err := w.FS.ReadDir(ctx, root)
	if err != nil {
		return err
	}
	err = w.walkEntries(ctx, root, entries, rules, visit)
	if errors.Is(err, fs.SkipAll) {
		return nil
	}
	return err
}

func (w *Walker) walkEntries(ctx context.Context, dir string, entries []fs.DirEntry, rules *gitignore.Rules, visit func(string, fs.DirEntry) error) error {
	if w.Ignore {
		rules = w.DirRules(dir, entries, rules)
	}
	prefix := gitignore.SlashPrefix(dir)
	for _, e := range entries {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		name := e.Name()
		if w.LeavesOut(rules, prefix, name, e.IsDir()) {
			continue
		}
		path := filepath.Join(dir, name)
		if err := visit(path, e); err != nil {
			if errors.Is(err, fs.SkipDir) {
				continue
			}
			return err
		}
		if !e.IsDir() {
			continue
		}
		below, err := w.FS.ReadDir(ctx, path)
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			continue // an unreadable directory does not stop the walk
		}
		if err := w.walkEntries(ctx, path, below, rules, visit); err != nil {
			return err
		}
	}
	return nil
}

// LeavesOut reports whether a walk skips the entry called name. prefix is its directory, with a slash at its end.
func (w *Walker) LeavesOut(rules *gitignore.Rules, prefix, name string, dir bool) bool {
	return name == ".git" || !w.Hidden && strings.HasPrefix(name, ".") || rules.Match(prefix, name, dir)
}

// RulesAt returns the rules with which a walk of dir begins: those of the enclosing git repository. Without a repository there are
// none, so that an ignore file far above does not empty a search.
func (w *Walker) RulesAt(dir string) *gitignore.Rules {
	if !w.Ignore {
		return nil
	}
	root := gitignore.Root(dir)
	if root == "" {
		w.GlobalIgnore = "" // like ripgrep without a repository
		return nil
	}
	if root == dir {
		return nil // DirRules returns them
	}
	return gitignore.Above(root, dir, w.GlobalIgnore, ignoreFiles[:])
}

// DirRules returns the rules inside dir, which contains entries. rules are those of its parent. A repository nested in another has
// its own rules.
func (w *Walker) DirRules(dir string, entries []fs.DirEntry, rules *gitignore.Rules) *gitignore.Rules {
	var names []string
	for _, e := range entries {
		switch e.Name() {
		case ".git":
			rules = gitignore.Repository(dir, w.GlobalIgnore)
		case ".gitignore", ".ignore", ".rgignore":
			names = append(names, e.Name()) // in the order of ignoreFiles, because entries are sorted
		}
	}
	if names == nil {
		return rules
	}
	return gitignore.From(dir, names, rules)
}

// ComparePaths orders paths as a walk does: by their names, element by element.
func ComparePaths(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			switch {
			case a[i] == filepath.Separator:
				return -1
			case b[i] == filepath.Separator:
				return 1
			default:
				return int(a[i]) - int(b[i])
			}
		}
	}
	return len(a) - len(b)
}
