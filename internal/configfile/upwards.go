package configfile

import (
	"os"
	"path/filepath"
	"slices"
)

// Upwards returns the directories, each followed by its parents up to the top of its repository. It omits duplicates, and the
// parents of a directory outside a repository.
func Upwards(dirs ...string) []string {
	var all []string
	for _, dir := range dirs {
		for _, at := range upwards(filepath.Clean(dir)) {
			if !slices.Contains(all, at) {
				all = append(all, at)
			}
		}
	}
	return all
}

func upwards(dir string) []string {
	var all []string
	for at := dir; ; at = filepath.Dir(at) {
		all = append(all, at)
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return all
		}
		if at == filepath.Dir(at) {
			return []string{dir}
		}
	}
}
