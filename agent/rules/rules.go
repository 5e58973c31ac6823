// Package rules loads the rules that users and workspaces define in files for models to follow, and matches a model's
// output against the rules that have a condition.
//
// A rule is a Markdown file, optionally with front matter. Rules are read from gjc's own directories and from those of other programs:
// see [userfiles.Sources]. A rule is identified by the name of its file; the first rule with a name, in the order of the sources, wins.
//
// Files of a workspace are untrusted, so a symbolic link there that leads out of its root is not followed: its target
// would be sent to a model.
package rules

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/gajae-code/gjc/agent/userfiles"
	"github.com/gajae-code/gjc/internal/configfile"
)

// Rule is one rule.
type Rule struct {
	Name string
	// Path is the absolute path of the file, and Origin the program that it is for.
	Path, Origin string
	Description  string
	// Text is the content of the file without front matter.
	Text string
	// Always includes the text in every prompt. Manual hides the rule until the user names it.
	Always, Manual bool
	// Globs match the files that the rule applies to, relative to Root, or to any root if Root is empty.
	Globs []string
	Root  string
	// Trigger sends the rule to a model whose output matches. Most rules have none.
	Trigger *Trigger
}

// Book holds the rules of one workspace, as returned by [Load]. It is immutable. A nil Book has no rules.
type Book struct {
	rules  []*Rule // by name
	stamps []configfile.Stamp
	found  []userfiles.File
}

// All returns the rules by name.
func (b *Book) All() []*Rule {
	if b == nil {
		return nil
	}
	return b.rules
}

// Found lists the files that [Load] found, for a listing.
func (b *Book) Found() []userfiles.File { return b.found }

// Find returns the rule with a name. It returns nil if there is none, and for a rule with a trigger, which a model receives only
// after a match.
func (b *Book) Find(name string) *Rule {
	for _, r := range b.All() {
		if r.Name == name && r.Trigger == nil {
			return r
		}
	}
	return nil
}

// Names returns the names that [Book.Find] accepts.
func (b *Book) Names() []string {
	var names []string
	for _, r := range b.All() {
		if r.Trigger == nil {
			names = append(names, r.Name)
		}
	}
	return names
}

// About returns the rules whose globs match a file and that are not always in the prompt. file is absolute; roots are
// those of the workspace.
func (b *Book) About(file string, roots []string) []*Rule {
	var list []*Rule
	for _, r := range b.All() {
		if !r.Always && r.Trigger == nil && len(r.Globs) > 0 && r.about(file, roots) {
			list = append(list, r)
		}
	}
	return list
}

// about reports whether a file matches one of the rule's globs.
func (r *Rule) about(file string, roots []string) bool {
	if r.Root != "" {
		roots = []string{r.Root}
	}
	return slices.ContainsFunc(roots, func(root string) bool {
		rel, err := filepath.Rel(root, file)
		rel = filepath.ToSlash(rel)
		if err != nil || rel == ".." || strings.HasPrefix(rel, "../") || path.IsAbs(rel) {
			return false
		}
		return slices.ContainsFunc(r.Globs, func(glob string) bool { return matchGlob(glob, rel) })
	})
}

// matchGlob matches a slash-separated path. A glob without a slash matches files of that name anywhere; one that ends
// with a slash matches all files below.
func matchGlob(glob, rel string) bool {
	glob = strings.TrimPrefix(strings.TrimPrefix(glob, "./"), "/")
	if strings.HasSuffix(glob, "/") {
		glob += "**"
	}
	if !strings.Contains(glob, "/") {
		rel = path.Base(rel)
	}
	ok, err := doublestar.Match(glob, rel)
	return err == nil && ok
}
