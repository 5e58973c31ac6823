// Package places says which paths are protected, because programs run or follow what is there, and which hold secrets.
package places

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// Paths holds what paths are compared with.
type Paths struct {
	// Roots are the directories that a session works in, as they were given; the first one is the working directory.
	Roots []string
	// RealRoots are the roots with all symbolic links resolved; nil to resolve them for each question.
	RealRoots []string
	// Temp is the session's own directory for temporary files, without symbolic links. Its files are not outside. Empty for none.
	Temp string
	// Home is the user's, for "~". Empty for none.
	Home string
	// Own are directories with gjc's own state: whatever changes them can change what is allowed.
	Own []string
	// Loaded are the patterns, as in protected.txt, of the files that gjc itself reads from a workspace.
	Loaded []string
	// Followed returns absolute paths that programs of the machine follow, such as hooks that git's configuration names. Optional.
	Followed func() []string
	// Real resolves the symbolic links of an absolute path, as far as it exists. If nil, there are none.
	Real func(path string) string
}

// Resolve returns path with its symbolic links resolved, as far as it exists.
func (p *Paths) Resolve(path string) string {
	if p.Real == nil {
		return filepath.Clean(path)
	}
	return p.Real(path)
}

// Outside reports whether an absolute path lies outside the roots, by its name or with its links resolved.
func (p *Paths) Outside(path string) bool {
	if !withinAny(p.Roots, path) && !p.temporary(path) {
		return true
	}
	real := p.Resolve(path)
	return !withinAny(p.ResolvedRoots(), real) && !p.temporary(real)
}

// temporary reports whether a path lies in the session's own directory for temporary files, by its name.
func (p *Paths) temporary(path string) bool { return p.Temp != "" && Within(p.Temp, path) }

// ResolvedRoots returns the roots with their symbolic links resolved.
func (p *Paths) ResolvedRoots() []string {
	if p.RealRoots != nil {
		return p.RealRoots
	}
	roots := make([]string, len(p.Roots))
	for i, root := range p.Roots {
		roots[i] = p.Resolve(root)
	}
	return roots
}

func withinAny(roots []string, path string) bool {
	for _, root := range roots {
		if Within(root, path) {
			return true
		}
	}
	return false
}

// Within reports whether path is root or lies below it, by the names alone. Both are clean.
func Within(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// Moved returns the path in the directory to that corresponds to one in from. It reports false for a path that is not in from.
func Moved(path, from, to string) (string, bool) {
	if !Within(from, path) {
		return path, false
	}
	rel, err := filepath.Rel(from, path)
	return filepath.Join(to, rel), err == nil
}

// Names are the parts of a path as a file system that does not distinguish upper case from lower sees them, without the characters
// that some file systems leave out of names.
func Names(path string) []string {
	path = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, filepath.ToSlash(path))
	parts := strings.Split(path, "/")
	for i, part := range parts {
		parts[i] = strings.TrimRight(part, " .") // as Windows reads it
		if part == "." || part == ".." {
			parts[i] = part
		}
	}
	return parts
}

// Protected says why a change of an absolute path always asks: because something would run what is written there, or gjc
// itself would believe it. It is empty for other paths.
func (p *Paths) Protected(path string) string {
	real := p.Resolve(path)
	for _, own := range p.Own {
		if Within(own, path) || Within(p.Resolve(own), real) {
			return "gjc's own files are there"
		}
	}
	if p.Followed != nil {
		for _, followed := range p.Followed() {
			if Within(followed, path) || Within(p.Resolve(followed), real) {
				return "git runs or follows what is there"
			}
		}
	}
	// A root's own place says nothing: a project may lie below a directory called .git, and worktrees of gjc's do.
	for _, path := range []string{p.below(path), p.below(real)} {
		names := Names(path)
		all, _ := protected()
		for _, known := range all {
			if known.matches(names) {
				return known.why
			}
		}
		for _, loaded := range p.Loaded {
			if newPattern(loaded, "").matches(names) {
				return "gjc follows it"
			}
		}
	}
	return p.bare(path)
}

// Unknown reports whether a path lies in a directory whose name begins with a dot and which is not known: a program may run what is in it.
func (p *Paths) Unknown(path string) bool {
	names := Names(p.below(path))
	all, harmless := protected()
	for i, name := range names[:len(names)-1] {
		if len(name) < 2 || name[0] != '.' || name == ".." {
			continue
		}
		known := func(p pattern) bool {
			return len(p.names) <= i+1 && p.tree && p.matches(names[:i+1]) || matchName(p.names[0], name)
		}
		if !slices.ContainsFunc(all, known) && !slices.ContainsFunc(harmless, known) {
			return true
		}
	}
	return false
}

// Leads reports whether a directory with a name may have protected files that are protected by that name and theirs.
func (p *Paths) Leads(name string) bool {
	name = Names(name)[0]
	all, _ := protected()
	for _, known := range all {
		if len(known.names) > 1 && matchName(known.names[0], name) {
			return true
		}
	}
	return slices.ContainsFunc(p.Loaded, func(loaded string) bool {
		names := newPattern(loaded, "").names
		return len(names) > 1 && matchName(names[0], name)
	})
}

// bare says why a change of a path may make a directory a repository of git without a .git, or change what one runs.
func (p *Paths) bare(path string) string {
	const why = "git takes its directory for a repository, and runs what is configured there"
	if strings.EqualFold(filepath.Base(path), "HEAD") {
		return why
	}
	if p.Real == nil {
		return "" // there are no files to look at
	}
	for dir, name := filepath.Dir(path), filepath.Base(path); ; dir, name = filepath.Dir(dir), filepath.Base(dir) {
		if lower := strings.ToLower(name); lower == "config" || lower == "hooks" {
			if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err == nil {
				return why
			}
		}
		if dir == filepath.Dir(dir) || !withinAny(p.Roots, dir) {
			return ""
		}
	}
}

// below returns the part of a path after the root that it lies in, or all of it.
func (p *Paths) below(path string) string {
	for _, roots := range [][]string{p.Roots, p.ResolvedRoots()} {
		for _, root := range roots {
			if rel, err := filepath.Rel(root, path); err == nil && Within(root, path) {
				return rel
			}
		}
	}
	return path
}

// Secret reports whether a file holds secrets by its name, or by the name that its links lead to: .env, keys, credentials.
func (p *Paths) Secret(path string) bool {
	return SecretName(Names(p.below(path))) || SecretName(Names(p.below(p.Resolve(path))))
}

// Expand makes a path of a shell word or a rule absolute: "~" is the home directory, other paths are below dir.
func (p *Paths) Expand(path, dir string) string {
	switch {
	case path == "~" && p.Home != "":
		return p.Home
	case strings.HasPrefix(path, "~/") && p.Home != "":
		return filepath.Join(p.Home, path[2:])
	case filepath.IsAbs(path):
		return filepath.Clean(path)
	default:
		return filepath.Join(dir, path)
	}
}
