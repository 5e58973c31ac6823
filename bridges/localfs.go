package bridges

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/internal/permit"
)

// LocalFS reads and writes files on the disk. The zero value is ready to use, and does not remove leftovers of other
// processes.
type LocalFS struct{ leftovers *leftovers }

var _ agent.FS = LocalFS{}

// ReadFile implements [agent.FS].
func (LocalFS) ReadFile(ctx context.Context, path string) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	real, judged, err := approval.Reading(ctx, path)
	if err != nil {
		return nil, err
	}
	if judged {
		return readPinned(path, real)
	}
	return os.ReadFile(path)
}

// WriteFile implements [agent.FS]. It replaces the file in one step, so that a crash leaves the old text or the new, and keeps
// its permissions. It writes through a symbolic link.
func (l LocalFS) WriteFile(ctx context.Context, path string, data []byte) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	real, _, err := approval.Changing(ctx, path)
	if err != nil {
		return err
	}
	if real == "" { // not an approved path: it does not come from a tool call
		real = l.RealPath(path)
	}
	return l.writePinned(path, real, data)
}

func makeParents(path string) error {
	return os.MkdirAll(filepath.Dir(path), 0o777)
}

// MakeExecutable makes a file executable for everyone who can read it. It ignores a file that is not on the disk.
func (l LocalFS) MakeExecutable(ctx context.Context, path string) error {
	return l.chmod(ctx, path, func(perm fs.FileMode) fs.FileMode { return perm | perm&0o444>>2 })
}

// SetMode sets the permissions of a file. It ignores a file that is not on the disk.
func (l LocalFS) SetMode(ctx context.Context, path string, mode fs.FileMode) error {
	return l.chmod(ctx, path, func(fs.FileMode) fs.FileMode { return mode.Perm() })
}

func (l LocalFS) chmod(ctx context.Context, path string, to func(perm fs.FileMode) fs.FileMode) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	switch real, _, err := approval.Changing(ctx, path); {
	case err != nil:
		return err
	case real != "" && l.RealPath(path) != real:
		return moved("chmod", path)
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (!info.Mode().IsRegular() || runtime.GOOS == "windows") {
		return nil
	}
	if err != nil {
		return err
	}
	return os.Chmod(path, to(info.Mode().Perm()))
}

// Remove implements [agent.FS].
func (l LocalFS) Remove(ctx context.Context, path string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	_, parent, err := approval.Changing(ctx, path)
	if err != nil {
		return err
	}
	if parent == "" {
		parent = l.RealPath(filepath.Dir(path))
	}
	return removePinned(path, parent)
}

// Rename implements [agent.FS].
func (l LocalFS) Rename(ctx context.Context, from, to string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, path := range []string{from, to} {
		_, parent, err := approval.Changing(ctx, path)
		if err != nil {
			return err
		}
		if parent != "" && l.RealPath(filepath.Dir(path)) != parent {
			return moved("rename", path)
		}
	}
	old, err := os.Lstat(from)
	if err != nil {
		return err
	}
	// If the file system ignores case, a.go and A.go are one file, which can be renamed to either.
	if there, err := os.Lstat(to); err == nil && !os.SameFile(old, there) {
		return &fs.PathError{Op: "rename", Path: to, Err: fs.ErrExist}
	}
	if err := makeParents(to); err != nil {
		return err
	}
	return os.Rename(from, to)
}

// Stat implements [agent.FS].
func (LocalFS) Stat(ctx context.Context, path string) (fs.FileInfo, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := permit.Check(ctx, permit.Effect{Action: permit.Look, Path: path}); err != nil {
		return nil, err
	}
	return os.Stat(path)
}

// ReadDir implements [agent.FS].
func (LocalFS) ReadDir(ctx context.Context, path string) ([]fs.DirEntry, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := permit.Check(ctx, permit.Effect{Action: permit.Look, Path: path}); err != nil {
		return nil, err
	}
	return os.ReadDir(path)
}

// RealPath implements [agent.FS]. It follows a link to a file that does not exist: a write would create that file.
func (LocalFS) RealPath(path string) string {
	path = filepath.Clean(path)
	if len(path) > longestPath {
		return path
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return walkLinks(path)
}

// longestPath bounds the paths, in bytes, in which links are followed: no system opens longer ones.
const longestPath = 32 << 10

// walkLinks follows the links in path one by one, as the kernel does on a write. The path need not exist.
func walkLinks(path string) string {
	const most = 40 // links; the kernel does not follow more on a write
	at, rest := rootOf(path)
	links := 0
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		target, err := os.Readlink(next)
		if err != nil || links == most {
			at = next
			continue
		}
		links++
		names := splitPath(target)
		if filepath.IsAbs(target) {
			at, names = rootOf(target)
		}
		rest = append(names, rest...)
	}
	return at
}

// rootOf splits an absolute path into its root and the names after it.
func rootOf(path string) (root string, names []string) {
	volume := filepath.VolumeName(path)
	return volume + string(filepath.Separator), splitPath(path[len(volume):])
}

func splitPath(path string) []string {
	return strings.Split(filepath.ToSlash(path), "/")
}
