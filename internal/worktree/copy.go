package worktree

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"syscall"
)

// copier copies files from one directory to another. It follows no symbolic link.
type copier struct {
	from, to *os.Root
	// dirs are the directories of the source that are known to be none that a link leads to; false for others.
	dirs map[string]bool
}

// newCopier returns a copier. The caller must close it.
func newCopier(from, to string) (*copier, error) {
	source, err := os.OpenRoot(from)
	if err != nil {
		return nil, err
	}
	target, err := os.OpenRoot(to)
	if err != nil {
		_ = source.Close() // it was only read
		return nil, err
	}
	return &copier{from: source, to: target, dirs: map[string]bool{".": true}}, nil
}

func (c *copier) close() {
	_ = c.from.Close()
	_ = c.to.Close()
}

// copyFiles copies the files that exist, and returns their kinds. A path below a symbolic link does not exist.
func copyFiles(ctx context.Context, from, to string, names []string) (map[string]kind, error) {
	c, err := newCopier(from, to)
	if err != nil {
		return nil, err
	}
	defer c.close()
	copied := make(map[string]kind, len(names))
	for _, name := range names {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		k, err := c.file(name)
		if err != nil {
			return nil, err
		}
		if k != "" {
			copied[name] = k
		}
	}
	return copied, nil
}

// isDir reports whether a path is a directory that no link leads to, and makes it in the target.
func (c *copier) isDir(dir string) (bool, error) {
	if known, ok := c.dirs[dir]; ok {
		return known, nil
	}
	is, err := c.isDir(path.Dir(dir))
	if is && err == nil {
		var info fs.FileInfo
		if info, err = c.from.Lstat(dir); isMissing(err) {
			is, err = false, nil
		} else if is = err == nil && info.IsDir(); is {
			if err = c.to.Mkdir(dir, 0o755); errors.Is(err, fs.ErrExist) {
				err = nil
			}
		}
	}
	c.dirs[dir] = is && err == nil
	return c.dirs[dir], err
}

// isMissing reports whether an error says that there is no such file.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// file copies one file and returns its kind; empty if there is none.
func (c *copier) file(name string) (kind, error) {
	if ok, err := c.isDir(path.Dir(name)); !ok || err != nil {
		return "", err
	}
	info, err := c.from.Lstat(name)
	if isMissing(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	k := kindOf(info)
	switch k {
	case symlink:
		target, err := c.from.Readlink(name)
		if err != nil {
			return "", err
		}
		return k, c.to.Symlink(target, name)
	case regular, executable:
		return k, c.content(name, info)
	default:
		return "", nil
	}
}

// content copies a regular file with its mode and its time.
func (c *copier) content(name string, info fs.FileInfo) error {
	in, err := c.from.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was only read
	if now, err := in.Stat(); err != nil || !os.SameFile(now, info) {
		return errors.Join(err, errors.New(name+" was replaced while it was copied; try again"))
	}
	out, err := c.to.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm()|0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	return c.to.Chtimes(name, info.ModTime(), info.ModTime())
}

// copyTree copies a file, or a directory with all that is in it.
func copyTree(ctx context.Context, from, to string) error {
	if info, err := os.Lstat(from); err != nil {
		return err
	} else if !info.IsDir() {
		_, err := copyFiles(ctx, filepath.Dir(from), filepath.Dir(to), []string{filepath.Base(from)})
		return err
	}
	if err := os.Mkdir(to, 0o755); err != nil { //nolint:gosec // as git makes directories
		return err
	}
	c, err := newCopier(from, to)
	if err != nil {
		return err
	}
	defer c.close()
	return fs.WalkDir(c.from.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		if d.IsDir() {
			_, err = c.isDir(name)
			return err
		}
		_, err = c.file(name)
		return err
	})
}

// walk lists the files in a directory below top, without those of repositories themselves.
func walk(top, dir string) ([]string, error) {
	var all []string
	err := filepath.WalkDir(filepath.Join(top, filepath.FromSlash(dir)), func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Name() == ".git" && d.IsDir():
			return fs.SkipDir
		case d.IsDir() || d.Name() == ".git":
			return nil
		}
		rel, err := filepath.Rel(top, at)
		all = append(all, filepath.ToSlash(rel))
		return err
	})
	return all, err
}

// kindOf returns the kind of a file; empty for one that git does not store.
func kindOf(info fs.FileInfo) kind {
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		return symlink
	case !mode.IsRegular():
		return ""
	case mode&0o100 != 0 && runtime.GOOS != "windows":
		return executable
	default:
		return regular
	}
}
