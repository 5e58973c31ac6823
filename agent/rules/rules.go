// Package rules finds the rules that users and workspaces write as files, for a model to keep to, and watches what a model
// says for those that have a condition.
//
// A rule is a Markdown file, and may begin with front matter. Rules are in ".gjc/rules" (*.md, *.mdc) of a root, in "rules" of
// the agent directory, in ".cursor/rules" (*.mdc, *.md), ".clinerules" (a file, or a directory of *.md),
// ".github/copilot-instructions.md" and ".github/instructions" (*.instructions.md). A rule is known by its name, that of its
// file; of two with one name the first counts, in that order.
//
// Files of a workspace come from whoever wrote the workspace. So a symbolic link there that leads out of its root is not
// followed: its target would go to a model.
package rules

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/gajae-code/gjc/internal/configfile"
)

// Rule is one rule.
type Rule struct {
	Name string
	// Path is that of its file, absolute.
	Path        string
	Description string
	// Text is the file without its front matter.
	Text string
	// Always has the text in every prompt.
	Always bool
	// Globs are the files that the rule is about, relative to Root, or to any root where Root is empty.
	Globs []string
	Root  string
	// Trigger has the rule given to a model that says something. Nil for most.
	Trigger *Trigger
}

// A Problem is a file that was left out, or a part of one that was not understood.
type Problem struct {
	Path string
	// Line is 1-based; zero for the file as a whole.
	Line   int
	Reason string
}

func (p Problem) String() string {
	if p.Line == 0 {
		return p.Path + ": " + p.Reason
	}
	return fmt.Sprintf("%s:%d: %s", p.Path, p.Line, p.Reason)
}

// Book is the rules of one workspace, as [Load] found them. It does not change. A nil Book has none.
type Book struct {
	rules  []*Rule // by name
	stamps []configfile.Stamp
	// user is the user's own AGENTS.md.
	userPath, userText string
}

// All returns the rules by name.
func (b *Book) All() []*Rule {
	if b == nil {
		return nil
	}
	return b.rules
}

// Instructions returns the user's own AGENTS.md of the agent directory; empty for none.
func (b *Book) Instructions() (path, text string) {
	if b == nil {
		return "", ""
	}
	return b.userPath, b.userText
}

// Find returns the rule called name; nil for none, and for one with a trigger: a model is not told of those beforehand.
func (b *Book) Find(name string) *Rule {
	for _, r := range b.All() {
		if r.Name == name && r.Trigger == nil {
			return r
		}
	}
	return nil
}

// Names are those that [Book.Find] knows.
func (b *Book) Names() []string {
	var names []string
	for _, r := range b.All() {
		if r.Trigger == nil {
			names = append(names, r.Name)
		}
	}
	return names
}

// About returns the rules with globs that a file matches and that are not in the prompt already. file is absolute; roots are
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

// matchGlob matches a path with slashes. A glob without a slash is for files of that name anywhere; one that ends with a slash
// is for all below.
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
