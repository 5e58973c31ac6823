// Package workspace inspects the directories of a workspace: their root markers, their own programs, whether a command on PATH is in
// the workspace, and what the user trusts.
package workspace

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A View is a view of workspaces and the machine at one point in time. It caches what it reads. It is not safe for concurrent use.
type View struct {
	// Roots are the workspaces' directories, absolute and clean.
	Roots []string
	// Home is the user's home directory; empty for none. GOOS is the operating system.
	Home, GOOS string
	// Env is the environment whose PATH is searched for programs.
	Env []string
	// LookPath finds a program on the PATH of an environment.
	LookPath func(command string, env []string) (string, error)
	// Trusts reports whether programs in a root may be run.
	Trusts func(root string) bool

	dirs     map[string]Directory
	programs map[string]Found
}

// List returns the names in a directory.
func (v *View) List(dir string) Directory {
	names, ok := v.dirs[dir]
	if !ok {
		if v.dirs == nil {
			v.dirs = make(map[string]Directory)
		}
		names = readNames(dir)
		v.dirs[dir] = names
	}
	return names
}

// Listed reports whether a directory was listed.
func (v *View) Listed(dir string) bool {
	_, ok := v.dirs[dir]
	return ok
}

// Marked reports whether dir has one of the markers.
func (v *View) Marked(dir string, markers []string) bool {
	return hasMarker(dir, markers, v.GOOS, v.List)
}

// MarkedRoot reports whether a root, or a parent directory within its repository, has one of the markers: an editor may open a part
// of a project.
func (v *View) MarkedRoot(root string, markers []string) bool {
	return v.Marked(root, markers) || slices.ContainsFunc(v.Above(root), func(dir string) bool { return v.Marked(dir, markers) })
}

// Above returns the parents of dir up to the top of its repository; none if dir is the top, or in no repository.
func (v *View) Above(dir string) []string {
	var dirs []string
	for at := dir; ; {
		if v.List(at)[".git"] {
			return dirs
		}
		up := filepath.Dir(at)
		if up == at {
			return nil
		}
		at = up
		dirs = append(dirs, at)
	}
}

// RootOf returns the innermost root that contains the path of a file, or "".
func (v *View) RootOf(file string) string {
	best := ""
	for _, root := range v.Roots {
		if _, in := Within(root, file, v.GOOS); in && len(root) > len(best) {
			best = root
		}
	}
	return best
}

// Owner returns the innermost root that contains a file, or "". It also resolves symlinks of the file and of its directory.
func (v *View) Owner(file string) string {
	names := []string{file, Real(file), filepath.Join(Real(filepath.Dir(file)), filepath.Base(file))}
	best := ""
	for _, root := range v.Roots {
		for _, dir := range []string{root, Real(root)} {
			for _, name := range names {
				if _, in := Within(dir, name, v.GOOS); in && len(root) > len(best) {
					best = root
				}
			}
		}
	}
	return best
}

// Real resolves the links of a path. It returns a path that does not exist unchanged.
func Real(path string) string {
	if r, err := filepath.EvalSymlinks(path); err == nil {
		return r
	}
	return path
}

// Within returns the path of a file relative to a directory, with slashes, and whether the file is in it, by the rules of an
// operating system (GOOS).
func Within(dir, file, goos string) (rel string, ok bool) {
	if goos == "windows" {
		dir, file = slashed(dir), slashed(file)
	}
	dir, file = path.Clean(dir), path.Clean(file)
	same := func(a, b string) bool { return a == b || goos == "windows" && strings.EqualFold(a, b) }
	if same(dir, file) {
		return "", true
	}
	if !strings.HasSuffix(dir, "/") { // the root of a file system
		dir += "/"
	}
	if len(file) > len(dir) && same(file[:len(dir)], dir) {
		return file[len(dir):], true
	}
	return "", false
}

// slashed returns a Windows path with slashes and without the prefix of long paths.
func slashed(p string) string {
	p = strings.ReplaceAll(p, `\`, "/")
	if rest, ok := strings.CutPrefix(p, "//?/UNC/"); ok {
		return "//" + rest
	}
	return strings.TrimPrefix(p, "//?/")
}
