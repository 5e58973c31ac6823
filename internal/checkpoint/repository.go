package checkpoint

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/gajae-code/gjc/internal/gitignore"
)

// repository says which ignored files of a repository are tracked.
type repository struct {
	dir string
	// version changes when the selection of files does.
	version int
	// seen has the attributes of the files that decide on it.
	seen    [3]attributes
	tracked map[string]bool // relative slash paths; false for the directories that contain them
}

// attributes of a file that is not part of a tree; the zero value if there is none.
type attributes struct {
	size  int64
	mtime int64
}

func attributesOf(path string) attributes {
	info, err := os.Stat(path)
	if path == "" || err != nil {
		return attributes{}
	}
	return attributes{info.Size(), info.ModTime().UnixNano()}
}

// refresh finds out whether the selection has changed.
func (r *repository) refresh(ctx context.Context, t *Tree) {
	git := gitDirectory(r.dir)
	seen := [...]attributes{
		attributesOf(filepath.Join(git, "index")), attributesOf(filepath.Join(r.dir, ".git", "info", "exclude")), attributesOf(t.opts.GlobalIgnore),
	}
	if seen == r.seen {
		return
	}
	rules := seen[1] != r.seen[1] || seen[2] != r.seen[2]
	r.seen = seen
	tracked := r.list(ctx, t)
	if rules || !maps.Equal(tracked, r.tracked) {
		r.version++
	}
	r.tracked = tracked
}

// list asks git which files it tracks although they are ignored. Without git, or if it fails, there are none.
func (r *repository) list(ctx context.Context, t *Tree) map[string]bool {
	if t.opts.Git == nil || r.seen[0] == (attributes{}) {
		return nil
	}
	out, err := t.opts.Git(ctx, r.dir, "ls-files", "-z", "--cached", "--ignored", "--exclude-standard")
	if err != nil || len(out) == 0 {
		return nil
	}
	tracked := make(map[string]bool)
	for name := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
		path := string(name)
		tracked[path] = true
		for i := strings.LastIndexByte(path, '/'); i > 0; i = strings.LastIndexByte(path, '/') {
			path = path[:i]
			if _, ok := tracked[path]; ok {
				break
			}
			tracked[path] = false
		}
	}
	return tracked
}

// tracks reports whether an ignored file is tracked, or a directory has tracked files. r may be nil.
func (r *repository) tracks(dir, name string, isDir bool) bool {
	if r == nil || r.tracked == nil {
		return false
	}
	rel, err := filepath.Rel(r.dir, filepath.Join(dir, name))
	if err != nil {
		return false
	}
	file, ok := r.tracked[filepath.ToSlash(rel)]
	return ok && file != isDir
}

// gitDirectory returns the directory of a repository's work tree with the index.
func gitDirectory(dir string) string {
	dotGit := filepath.Join(dir, ".git")
	data, err := os.ReadFile(dotGit)
	if err != nil {
		return dotGit // a directory
	}
	to, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir: ")
	if !ok {
		return dotGit
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(dir, to)
	}
	return to
}

// sameRules reports whether two chains of rules are equal.
func sameRules(a, b *gitignore.Rules) bool { return a == b || reflect.DeepEqual(a, b) }
