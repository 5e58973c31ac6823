package approval

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent/approval/shell"
)

// Made returns what is kept in a and was not there in before: what a command has made and programs run. A repository as git makes it is
// not among that.
func (a *Access) Made(before *Access) []string {
	var made []string
	for _, path := range a.Keep {
		known := slices.Contains(a.Unknown, path) || slices.ContainsFunc(before.Keep, func(kept string) bool { return shell.Within(kept, path) }) ||
			slices.ContainsFunc(before.Wider, func(wider string) bool { return shell.Within(path, wider) || shell.Within(wider, path) })
		if !known && !usualGit(path) {
			made = append(made, path)
		}
	}
	return made
}

// usualGit reports whether a path is a part of a repository that does nothing but what git itself puts there.
func usualGit(path string) bool {
	dir, name := filepath.Split(path)
	if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err != nil {
		return false
	}
	switch name {
	case "hooks":
		entries, err := os.ReadDir(path)
		return err == nil && !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return !strings.HasSuffix(e.Name(), ".sample") })
	case "info":
		entries, err := os.ReadDir(path)
		return err == nil && !slices.ContainsFunc(entries, func(e os.DirEntry) bool {
			return e.Name() != "exclude" && e.Name() != "refs" && e.Name() != "sparse-checkout"
		})
	case "config":
		data, err := os.ReadFile(path)
		return err == nil && usualConfig(string(data))
	default:
		return name == "commondir" || name == "gitdir"
	}
}

// usualConfig reports whether a configuration of git has only settings that name no program and no other file.
func usualConfig(text string) bool {
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
			continue
		case line[0] == '[':
			inner, after, ok := strings.Cut(line[1:], "]")
			if section, _, _ = strings.Cut(strings.ToLower(inner), " "); !ok || strings.TrimSpace(after) != "" {
				return false
			}
			continue
		case strings.HasSuffix(line, "\\"):
			return false
		}
		name, value, _ := strings.Cut(line, "=")
		name, value = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value)
		if !slices.Contains(usualSettings[section], name) || name == "url" && strings.Contains(value, "ext::") {
			return false
		}
	}
	return true
}

// usualSettings are the settings of git that clones, branches and identities have, by section.
var usualSettings = map[string][]string{
	"core":   {"repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "precomposeunicode", "symlinks", "autocrlf"},
	"remote": {"url", "fetch", "tagopt", "prune"}, "branch": {"remote", "merge", "rebase"}, "user": {"name", "email"},
	"init": {"defaultbranch"}, "submodule": {"active", "url"}, "extensions": {"objectformat", "partialclone"}, "pull": {"rebase", "ff"},
}
