package bridges

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"

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

// RealPath implements [agent.FS].
func (LocalFS) RealPath(path string) string {
	rest := ""
	for dir := filepath.Clean(path); ; {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return filepath.Clean(path)
		}
		rest = filepath.Join(filepath.Base(dir), rest)
		dir = parent
	}
}
