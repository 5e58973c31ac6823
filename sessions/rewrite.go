package sessions

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const backupSuffix = ".bak"

// rewrite replaces a file in one step and keeps the old one under the name that it returns.
func rewrite(path string, data []byte) (backup string, err error) {
	dir := filepath.Dir(path)
	temp, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			_ = temp.Close()
			_ = os.Remove(temp.Name())
		}
	}()
	if _, err := temp.Write(data); err != nil {
		return "", err
	}
	if err := temp.Sync(); err != nil {
		return "", err
	}
	if err := temp.Close(); err != nil {
		return "", err
	}
	if backup, err = keepCopy(path); err != nil {
		return "", err
	}
	if err := os.Rename(temp.Name(), path); err != nil {
		return "", err
	}
	return backup, syncDir(dir)
}

// keepCopy gives a file a second name that nothing has yet.
func keepCopy(path string) (string, error) {
	for n := 1; ; n++ {
		backup := fmt.Sprintf("%s.%d%s", path, n, backupSuffix)
		err := os.Link(path, backup)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil {
			return backup, nil
		}
		data, err := os.ReadFile(path) // no hard links here
		if err != nil {
			return "", err
		}
		f, err := os.OpenFile(backup, os.O_CREATE|os.O_EXCL|os.O_WRONLY, filePerm)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = f.Write(data)
		return backup, errors.Join(err, f.Sync(), f.Close())
	}
}

// namesLike returns the paths of the files in dir whose names begin and end so. A directory that is not there has
// none. [filepath.Glob] is no help: dir may hold its special characters, and Windows has no way to quote them.
func namesLike(dir, prefix, suffix string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var paths []string
	for _, e := range entries {
		name := e.Name()
		if len(name) >= len(prefix)+len(suffix) && strings.HasPrefix(name, prefix) && strings.HasSuffix(name, suffix) {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	return paths, nil
}
