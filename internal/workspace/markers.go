package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Directory is the names in a directory.
type Directory map[string]bool

// readNames lists a directory. One that does not exist is empty.
func readNames(dir string) Directory {
	// Opening a pipe could block.
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	names, _ := f.Readdirnames(-1) // best effort
	all := make(Directory, len(names))
	for _, name := range names {
		all[name] = true
	}
	return all
}

// hasMarker reports whether dir contains one of the markers. A marker may be a path with wildcards; ** matches exactly one path
// element. list returns the names in a directory.
func hasMarker(dir string, markers []string, goos string, list func(string) Directory) bool {
	return slices.ContainsFunc(markers, func(m string) bool {
		return hasPath(dir, strings.Split(filepath.ToSlash(m), "/"), goos, list)
	})
}

func hasPath(dir string, parts []string, goos string, list func(string) Directory) bool {
	for len(parts) > 1 && (parts[0] == "." || parts[0] == "") {
		parts = parts[1:]
	}
	last := len(parts) == 1
	names := list(dir)
	if names[parts[0]] && (last || hasPath(filepath.Join(dir, parts[0]), parts[1:], goos, list)) {
		return true
	}
	// These systems ignore case, so search for the name in any case.
	fold := Folds(goos)
	if !fold && !IsPattern(parts[0]) {
		return false
	}
	for name := range names {
		if MatchName(parts[0], name, fold) && (last || hasPath(filepath.Join(dir, name), parts[1:], goos, list)) {
			return true
		}
	}
	return false
}

// Folds reports whether file systems usually ignore case.
func Folds(goos string) bool { return goos == "windows" || goos == "darwin" }

// IsPattern reports whether a path element of a marker contains wildcards.
func IsPattern(name string) bool { return strings.ContainsAny(name, "*?[{") }

// MatchName matches one path element of a marker. An invalid pattern matches literally.
func MatchName(pattern, name string, fold bool) bool {
	if fold {
		pattern, name = strings.ToLower(pattern), strings.ToLower(name)
	}
	if pattern == name {
		return true
	}
	ok, err := doublestar.Match(pattern, name)
	return err == nil && ok
}
