package gitconfig

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ListArgs are the arguments with which git prints its resolved configuration for [Followed]. It runs no program for that.
var ListArgs = []string{"config", "--list", "--null", "--show-origin", "--includes"}

// Followed returns the files and directories of a repository at root that git runs or follows because its configuration names them: the
// directory of hooks, included files, and programs that settings run. listing is what git prints with [ListArgs] at root.
func Followed(listing []byte, root, home string) []string {
	var found []string
	add := func(path string) {
		switch {
		case path == "~" || strings.HasPrefix(path, "~/"):
			path = filepath.Join(home, path[1:])
		case !filepath.IsAbs(path):
			path = filepath.Join(root, path)
		}
		if rel, err := filepath.Rel(root, path); err == nil && rel != "." && filepath.IsLocal(rel) && !slices.Contains(found, path) {
			found = append(found, path)
		}
	}
	parts := strings.Split(string(listing), "\x00")
	for ; len(parts) >= 2; parts = parts[2:] {
		origin, _ := strings.CutPrefix(parts[0], "file:")
		key, value, _ := strings.Cut(parts[1], "\n")
		key = strings.ToLower(key)
		section, _, _ := strings.Cut(key, ".")
		if origin != ".git/config" {
			add(origin) // an included file of the repository
		}
		switch {
		case key == "core.hookspath", section == "include", section == "includeif":
			add(value)
			continue
		case section == "remote", section == "branch", section == "url", section == "user", section == "submodule", section == "safe", key == "core.worktree":
			continue
		}
		for _, word := range strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" \t\n'\"!;|&()$`=", r) }) {
			if path := filepath.Join(root, word); filepath.IsLocal(word) && strings.ContainsAny(word, "/.") {
				if _, err := os.Lstat(path); err == nil {
					add(word)
				}
			}
		}
	}
	return found
}
