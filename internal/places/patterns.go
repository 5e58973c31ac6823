package places

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

//go:embed protected.txt
var protectedText string

//go:embed secrets.txt
var secretsText string

// pattern is one of protected.txt or secrets.txt.
type pattern struct {
	names []string
	// tree says that it stands for a directory and all that is in it.
	tree bool
	why  string
}

func newPattern(text, why string) pattern {
	text = strings.ToLower(text)
	tree := strings.HasSuffix(text, "/")
	return pattern{strings.Split(strings.TrimSuffix(text, "/"), "/"), tree, why}
}

// protected returns the patterns of protected.txt, and those of directories that are known and not protected.
var protected = sync.OnceValues(func() (all, harmless []pattern) {
	for line := range strings.Lines(protectedText) {
		text, why, ok := strings.Cut(strings.TrimSpace(line), ": ")
		switch {
		case !ok || strings.HasPrefix(line, "#"):
		case why == "-":
			harmless = append(harmless, newPattern(text, ""))
		default:
			all = append(all, newPattern(text, why))
		}
	}
	return all, harmless
})

// secretPatterns returns those of secrets.txt, and those that exempt a name.
var secretPatterns = sync.OnceValues(func() (secret, exempt []pattern) {
	for line := range strings.Lines(secretsText) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		for text := range strings.FieldsSeq(line) {
			if name, ok := strings.CutPrefix(text, "!"); ok {
				exempt = append(exempt, newPattern(name, ""))
			} else {
				secret = append(secret, newPattern(text, ""))
			}
		}
	}
	return secret, exempt
})

// matches reports whether a path with the given names ends with the pattern, or lies in its directory.
func (p pattern) matches(names []string) bool {
	last := len(names) - len(p.names)
	for at := last; at >= 0; at-- {
		if at < last && !p.tree {
			return false
		}
		if slices.EqualFunc(p.names, names[at:at+len(p.names)], matchName) {
			return true
		}
	}
	return false
}

// matchName compares a name with one of a pattern, in which * stands for any part.
func matchName(pattern, name string) bool {
	if pattern == ".git" && strings.HasPrefix(name, "git~") { // its short name on Windows
		return true
	}
	start, end, ok := strings.Cut(pattern, "*")
	if !ok {
		return pattern == name
	}
	return len(name) >= len(start)+len(end) && strings.HasPrefix(name, start) && strings.HasSuffix(name, end)
}

// backups lists the ends of the names of copies.
var backups = [...]string{"~", ".bak", ".old", ".orig", ".save", ".swp", ".backup"}

// SecretName reports whether the path with the elements names names a file or a directory of secrets, or a backup of one. names is not
// empty.
func SecretName(names []string) bool {
	last := len(names) - 1
	for _, end := range backups {
		if short, ok := strings.CutSuffix(names[last], end); ok && short != "" {
			return SecretName(append(names[:last:last], short))
		}
	}
	secret, exempt := secretPatterns()
	matches := func(p pattern) bool { return p.matches(names) }
	return slices.ContainsFunc(secret, matches) && !slices.ContainsFunc(exempt, matches)
}
