package files

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/internal/text"
)

// Limits of a directory listing.
const (
	listDepth   = 2
	listEntries = 12
)

// listDirectory returns the result of read for a directory: a tree of two levels.
func listDirectory(ctx context.Context, call *agent.Call, dir string) (*agent.Result, error) {
	l := lister{fs: call.FS}
	if err := l.list(ctx, dir, 1); err != nil {
		return nil, fmt.Errorf("%s cannot be listed: %w", toolkit.Display(&call.Workspace, dir), toolkit.Reason(err))
	}
	name := strings.TrimSuffix(toolkit.Display(&call.Workspace, dir), "/") + "/"
	if l.entries == 0 {
		return &agent.Result{Text: name + " is empty"}, nil
	}
	list := name + "\n" + l.out.String()
	var notes []string
	if l.left > 0 {
		notes = append(notes, text.Count(l.left, "more entry")+"; use find with a pattern")
	}
	return &agent.Result{Text: toolkit.JoinNotes(list, notes)}, nil
}

type lister struct {
	fs      agent.FS
	out     strings.Builder
	entries int
	// left counts the entries of the top directory that are not shown.
	left int
}

func (l *lister) list(ctx context.Context, dir string, depth int) error {
	entries, err := l.fs.ReadDir(ctx, dir)
	if err != nil {
		return err
	}
	for i, e := range entries {
		if depth > 1 && i == listEntries {
			fmt.Fprintf(&l.out, "%s… %d more\n", strings.Repeat("  ", depth), len(entries)-i)
			return nil
		}
		if l.entries >= toolkit.MaxLines || l.out.Len() >= toolkit.MaxText {
			if depth == 1 {
				l.left += len(entries) - i
			}
			return nil
		}
		l.entries++
		l.out.WriteString(strings.Repeat("  ", depth) + entryName(e) + "\n")
		if !e.IsDir() || depth == listDepth || e.Name() == ".git" {
			continue
		}
		if err := l.list(ctx, filepath.Join(dir, e.Name()), depth+1); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			fmt.Fprintf(&l.out, "%s(%v)\n", strings.Repeat("  ", depth+1), toolkit.Reason(err))
		}
	}
	return nil
}

func entryName(e fs.DirEntry) string {
	name := toolkit.ShownName(e.Name())
	switch {
	case e.IsDir():
		return name + "/"
	case e.Type()&fs.ModeSymlink != 0:
		return name + "@"
	default:
		return name
	}
}
