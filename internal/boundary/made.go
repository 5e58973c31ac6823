package boundary

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/places"
)

// With returns a copy of an access with other paths by which it exceeds that of the session's other commands.
func (a *Access) With(wider []string) *Access {
	b := *a
	b.Wider = wider
	return &b
}

// Made returns what is protected in a and was not in before: what a command has made and programs run. A repository as git makes it is
// not among that. A protected file whose directory was renamed, and that was made again, is; so is a link that leads elsewhere.
func (a *Access) Made(before *Access) []string {
	var made []string
	wider := func(path string) bool {
		return slices.ContainsFunc(before.Wider, func(wider string) bool { return places.Within(path, wider) || places.Within(wider, path) })
	}
	replaced := make(map[string]bool) // also the usual: what was there before must come back
	for path, was := range a.Moved(before) {
		if a.found[was] != nil {
			replaced[path], replaced[was] = true, true
		}
	}
	for _, path := range a.Keep {
		known := a.found[path] == nil || slices.Contains(a.Unknown, path) || slices.ContainsFunc(before.Keep, func(kept string) bool {
			// The home directory around a root is kept, too, and says nothing about what is in the root.
			return places.Within(kept, path) && before.has(kept) && innermost(kept, before.Write) > 0
		})
		if !known && !wider(path) && (replaced[path] || !usualGit(path)) {
			made = append(made, path)
		}
	}
	for path, real := range a.Links {
		if before.Links[path] != real && !wider(path) && !wider(real) {
			made = append(made, path)
		}
	}
	slices.Sort(made)
	return made
}

// Moved returns where protected files are that a command has moved with a directory around them, and where they were before.
func (a *Access) Moved(before *Access) map[string]string {
	moved := make(map[string]string)
	for was, info := range before.found {
		if before.has(was) {
			continue
		}
		for path, now := range a.found {
			if os.SameFile(info, now) {
				moved[path] = was
			}
		}
	}
	return moved
}

// has reports whether what is kept at a path is still there.
func (a *Access) has(path string) bool {
	was := a.found[path]
	if was == nil {
		return true // it is not protected by its own name
	}
	info, err := os.Lstat(path)
	return err == nil && os.SameFile(was, info)
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
	case "commondir", "gitdir":
		// Only those of a worktree are usual: git follows a commondir of the repository itself to other settings.
		data, err := os.ReadFile(path)
		return err == nil && filepath.Base(filepath.Dir(filepath.Clean(dir))) == "worktrees" && (name == "gitdir" || strings.TrimSpace(string(data)) == "../..")
	default:
		return false
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
