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
)

// Bounds of the look for files that could have been meant.
const (
	maxLookedAt = 20_000
	maxLookTime = 2 * time.Second
	maxNearest  = 5
)

// Reason takes the path out of a file error: the message around it names it, in the shorter form.
func Reason(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}

// Missing is the error for a path that is not there. It names files that could have been meant.
func Missing(ctx context.Context, call *agent.Call, path string) error {
	name := Display(&call.Workspace, path)
	if real, link := LinkTarget(call, path); link {
		return &MissingError{Text: name + " is a link to " + Display(&call.Workspace, real) + ", which does not exist"}
	}
	near := nearest(ctx, call, path)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	switch len(near) {
	case 0:
		return &MissingError{Text: name + " does not exist; find can look for it"}
	case 1:
		return &MissingError{Text: name + " does not exist; did you mean " + near[0] + "?"}
	default:
		return &MissingError{Text: name + " does not exist; did you mean one of " + strings.Join(near, ", ") + "?"}
	}
}

// LinkTarget reports whether a path is a symbolic link itself, and where it leads.
func LinkTarget(call *agent.Call, path string) (real string, is bool) {
	real = call.FS.RealPath(path)
	return real, real != filepath.Join(call.FS.RealPath(filepath.Dir(path)), filepath.Base(path))
}

// MissingError is a file that is not there. It wraps [fs.ErrNotExist], whose own words would say it a second time.
type MissingError struct{ Text string }

func (e *MissingError) Error() string { return e.Text }
func (e *MissingError) Unwrap() error { return fs.ErrNotExist }

// nearest looks in the working directory for files whose path ends as path does, else for files of the same name,
// else for names that differ little.
func nearest(ctx context.Context, call *agent.Call, path string) []string {
	ctx, cancel := context.WithTimeout(ctx, maxLookTime)
	defer cancel()
	ws := &call.Workspace
	want := Display(ws, path)
	base := strings.ToLower(filepath.Base(path))
	var suffix, same, similar []string
	seen := 0
	w := walk.New(call)
	// What was found until the bounds were reached is good enough.
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

// endsWith reports whether path ends in rel, in whole elements and more than just the name: "/repo/src/a.go" for
// "src/a.go".
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
	return distance(a, b) <= 2
}

// distance is the number of bytes to insert, delete or replace to turn a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}

// Size is a number of bytes for people.
func Size(n int64) string {
	switch {
	case n < 10<<10:
		return Count(int(n), "byte")
	case n < 10<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	default:
		return fmt.Sprintf("%d MiB", n>>20)
	}
}
