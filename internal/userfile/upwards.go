package userfile

import (
	"os"
	"path/filepath"
	"slices"
)

// Upwards returns the directories, each followed by those above it up to the top of the repository that it lies in. A directory
// that lies in no repository stands alone. None is returned twice.
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
