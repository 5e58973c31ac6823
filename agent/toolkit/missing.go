package toolkit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit/walk"
	"github.com/gajae-code/gjc/internal/text"
)

// Limits of the search for files that the caller may have meant.
const (
	maxLookedAt = 20_000
	maxLookTime = 2 * time.Second
	maxNearest  = 5
)

// Reason removes the path from a file error, for messages that name it in its shorter form.
func Reason(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}

// Missing returns the error for a path that does not exist. It suggests files that the caller may have meant.
func Missing(ctx context.Context, call *agent.Call, path string) error {
	name := Display(&call.Workspace, path)
	if real, link := LinkTarget(call, path); link {
		return &MissingError{Text: name + " is a link to " + Display(&call.Workspace, real) + ", which does not exist"}
	}
	if call.Workspace.Temporary(path) {
		return &MissingError{Text: name + " does not exist; /tmp is the session's own and has no files of the machine's /tmp; use find to look for it"}
	}
	near := nearest(ctx, call, path)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	switch len(near) {
	case 0:
		return &MissingError{Text: name + " does not exist; use find to look for it"}
	case 1:
		return &MissingError{Text: name + " does not exist; did you mean " + near[0] + "?"}
	default:
		return &MissingError{Text: name + " does not exist; did you mean one of " + strings.Join(near, ", ") + "?"}
	}
}

// LinkTarget reports whether the path itself is a symbolic link, and returns its target.
func LinkTarget(call *agent.Call, path string) (real string, is bool) {
	real = call.FS.RealPath(path)
	return real, real != filepath.Join(call.FS.RealPath(filepath.Dir(path)), filepath.Base(path))
}

// MissingError reports a file that does not exist. It wraps [fs.ErrNotExist] without repeating its text.
type MissingError struct{ Text string }

func (e *MissingError) Error() string { return e.Text }
func (e *MissingError) Unwrap() error { return fs.ErrNotExist }

// nearest searches the working directory for files whose path ends like path, then for files of the same name, then for similar names.
func nearest(ctx context.Context, call *agent.Call, path string) []string {
	ctx, cancel := context.WithTimeout(ctx, maxLookTime)
	defer cancel()
	ws := &call.Workspace
	want := Display(ws, path)
	base := strings.ToLower(filepath.Base(path))
	var suffix, same, similar []string
	seen := 0
	w := walk.New(call)
	// Partial results within the limits are good enough.
	_ = w.Walk(ctx, ws.Cwd, func(p string, d fs.DirEntry) error {
		if seen++; seen > maxLookedAt {
			return fs.SkipAll
		}
		name := strings.ToLower(d.Name())
		switch rel := Display(ws, p); {
		case strings.HasSuffix("/"+rel, "/"+want) || endsWith(want, rel):
			suffix = append(suffix, rel)
		case name == base:
			same = append(same, rel)
		case len(similar) < 100 && CloseNames(name, base):
			similar = append(similar, rel)
		}
		return nil
	})
	for _, found := range [][]string{suffix, same, similar} {
		if len(found) > 0 {
			slices.SortStableFunc(found, func(a, b string) int { return len(a) - len(b) })
			return found[:min(len(found), maxNearest)]
		}
	}
	return nil
}

// endsWith reports whether path ends in rel, matching whole elements and more than the name: "/repo/src/a.go" for "src/a.go".
func endsWith(path, rel string) bool {
	return strings.Contains(rel, "/") && strings.HasSuffix(path, "/"+rel)
}

// CloseNames reports whether two names differ by the extension or by at most two edits.
func CloseNames(a, b string) bool {
	if stem := strings.TrimSuffix(a, filepath.Ext(a)); len(stem) > 3 && stem == strings.TrimSuffix(b, filepath.Ext(b)) {
		return true
	}
	if len(a) < 4 || len(b) < 4 || max(len(a), len(b))-min(len(a), len(b)) > 2 {
		return false
	}
	return text.Distance(a, b) <= 2
}

// Size formats a number of bytes for people.
func Size(n int64) string {
	switch {
	case n < 10<<10:
		return text.Count(int(n), "byte")
	case n < 10<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	default:
		return fmt.Sprintf("%d MiB", n>>20)
	}
}
