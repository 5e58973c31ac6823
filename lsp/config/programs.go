package config

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"github.com/gajae-code/gjc/internal/workspace"
)

// Program returns the path of a helper program: the one on PATH, otherwise one in a root that is trusted to run its own programs. If
// there is none, the error wraps [fs.ErrNotExist].
func (c *Catalog) Program(ctx context.Context, name string) (string, error) {
	if strings.ContainsAny(name, `/\`) {
		return "", fmt.Errorf("the program %q is a path, not a name: %w", name, fs.ErrInvalid)
	}
	s, err := c.Acquire(ctx, workspace.MaxAge)
	if err != nil {
		return "", err
	}
	defer c.Release()
	own := ""
	for _, ws := range s.Projects {
		f := s.Find(name, ws.Root, ws.Root)
		if f.Path != "" {
			return f.Path, nil
		}
		if own == "" && f.Local != "" && s.Trusts(f.Of) {
			own = f.Local
		}
	}
	if own == "" {
		return "", fmt.Errorf("the program %q is neither on PATH nor in a trusted workspace: %w", name, fs.ErrNotExist)
	}
	return own, nil
}
