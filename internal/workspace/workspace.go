// Package workspace looks at the directories that somebody works in: which root markers they have, which programs of their
// own, whose program a command of PATH is, and what of it the user has trusted.
package workspace

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A View is what workspaces and the machine around them look like at one time. What it has looked at it keeps. It is not safe
// for concurrent use.
type View struct {
	// Roots are the workspaces' directories, absolute and clean.
	Roots []string
	// Home is the user's home directory; empty for none. GOOS names the operating system.
	Home, GOOS string
	// Env has the PATH that programs are looked for on.
	Env []string
	// LookPath finds a program on the PATH of an environment.
	LookPath func(command string, env []string) (string, error)
	// Trusts says whether programs of a root may be run.
	Trusts func(root string) bool

	dirs     map[string]Directory
	programs map[string]Found
}

// List gives the names in a directory.
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
	return HasMarker(dir, markers, v.GOOS, v.List)
}

// MarkedRoot reports whether a root has one of the markers, or lies in a repository that has one above it: an editor may be
// open on a part of a project.
func (v *View) MarkedRoot(root string, markers []string) bool {
	return v.Marked(root, markers) || slices.ContainsFunc(v.Above(root), func(dir string) bool { return v.Marked(dir, markers) })
}

// Above returns the directories between dir and the top of the repository that it lies in, both but dir; none where dir
// is the top, or in no repository.
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

// RootOf returns the innermost root that contains a file by its name, or "".
func (v *View) RootOf(file string) string {
	best := ""
	for _, root := range v.Roots {
		if _, in := Within(root, file, v.GOOS); in && len(root) > len(best) {
			best = root
		}
	}
	return best
}

// Owner returns the innermost root that a file lies in, or "": by its name, or by where the links on its way or its
// directory's lead.
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

// Real is a path without links; one that is not there is as it is.
func Real(path string) string {
	if r, err := filepath.EvalSymlinks(path); err == nil {
		return r
	}
	return path
}

// Within returns the path of a file below a directory, with slashes, as the operating system called goos compares paths.
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

// slashed is a Windows path with slashes and without the prefix of long paths.
func slashed(p string) string {
	p = strings.ReplaceAll(p, `\`, "/")
	if rest, ok := strings.CutPrefix(p, "//?/UNC/"); ok {
		return "//" + rest
	}
	return strings.TrimPrefix(p, "//?/")
}
