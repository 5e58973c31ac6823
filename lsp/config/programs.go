package config

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
)

// Program returns where a helper program is that is no language server: the one of the machine, or else, where the user trusts
// a workspace to run programs of its own, the one in that. The error for none wraps [fs.ErrNotExist].
func (c *Catalog) Program(ctx context.Context, name string) (string, error) {
	if err := c.enter(ctx); err != nil {
		return "", err
	}
	defer c.leave()
	if strings.ContainsAny(name, `/\`) {
		return "", fmt.Errorf("the program %q is a path, not a name: %w", name, fs.ErrInvalid)
	}
	s := c.snapshot(ctx, c.opts.MaxAge)
	own := ""
	for _, ws := range s.projects {
		f := s.Find(name, ws.Root, ws.Root)
		if f.Path != "" {
			return f.Path, nil
		}
		if own == "" && f.Local != "" && s.Trusts(f.Of) {
			own = f.Local
		}
	}
	if own == "" {
		return "", fmt.Errorf("the program %q is neither on PATH nor in a workspace that is trusted: %w", name, fs.ErrNotExist)
	}
	return own, nil
}
