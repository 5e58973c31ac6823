package bridges

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2/maybe"

	"github.com/gajae-code/gjc/agent"
)

// LocalFS is the disk.
type LocalFS struct{}

var _ agent.FS = LocalFS{}

// ReadFile implements [agent.FS].
func (LocalFS) ReadFile(ctx context.Context, path string) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return os.ReadFile(path)
}

// WriteFile implements [agent.FS]. The file is replaced in one step, so that a crash leaves the old text or the new;
// its permissions stay, and a symbolic link stays one.
func (LocalFS) WriteFile(ctx context.Context, path string, data []byte) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if err := makeParents(path); err != nil {
		return err
	}
	perm := fs.FileMode(0o666)
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return os.WriteFile(path, data, perm) // a new file gets what the umask leaves
	case info.IsDir():
		return &fs.PathError{Op: "write", Path: path, Err: fs.ErrInvalid}
	case info.Mode().Perm()&0o222 == 0:
		return &fs.PathError{Op: "write", Path: path, Err: fs.ErrPermission}
	}
	return maybe.WriteFile(path, data, info.Mode().Perm())
}

func makeParents(path string) error {
	return os.MkdirAll(filepath.Dir(path), 0o777)
}

// Remove implements [agent.FS].
func (LocalFS) Remove(ctx context.Context, path string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if _, err := os.Lstat(path); err != nil {
		return err // RemoveAll would say nothing
	}
	return os.RemoveAll(path)
}

// Rename implements [agent.FS].
func (LocalFS) Rename(ctx context.Context, from, to string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	old, err := os.Lstat(from)
	if err != nil {
		return err
	}
	// Where case does not count, a.go and A.go are one file, and may change places.
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
	return os.Stat(path)
}

// ReadDir implements [agent.FS].
func (LocalFS) ReadDir(ctx context.Context, path string) ([]fs.DirEntry, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return os.ReadDir(path)
}

// RealPath implements [agent.FS]. A link to what is not there yet counts: a write would go through it.
func (LocalFS) RealPath(path string) string {
	path = filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return walkLinks(path)
}

// walkLinks follows the links in path one by one, as the kernel does on a write. Nothing in path need exist.
func walkLinks(path string) string {
	const most = 40 // links; more are a circle, through which nothing can be written
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

// rootOf splits an absolute path into its root and the names behind it.
func rootOf(path string) (root string, names []string) {
	volume := filepath.VolumeName(path)
	return volume + string(filepath.Separator), splitPath(path[len(volume):])
}

func splitPath(path string) []string {
	return strings.Split(filepath.ToSlash(path), "/")
}
