package commands

import (
	"path/filepath"

	"github.com/gajae-code/gjc/internal/trust"
)

// Subject returns what the user must trust in a workspace before the command lines of its command files run; nil for nothing. root is the
// workspace's directory.
func (s *Set) Subject(root string) *trust.Subject {
	sub := &trust.Subject{Path: root}
	for _, e := range s.sorted() {
		if one := e.subject(root); one != nil {
			sub.Files = append(sub.Files, one.Files...)
		}
	}
	if sub.Empty() {
		return nil
	}
	return sub
}

// subject returns the subject of one file; nil if it is the user's own, or runs nothing.
func (e *entry) subject(root string) *trust.Subject {
	if e.own {
		return nil
	}
	runs := e.runs()
	if len(runs) == 0 {
		return nil
	}
	name, err := filepath.Rel(root, e.path)
	if err != nil {
		name = e.path
	}
	return &trust.Subject{Path: root, Files: []trust.File{trust.NewFile(name, []byte(e.body), runs...)}}
}

// runs returns the command lines of the file.
func (e *entry) runs() (all []string) {
	for _, p := range e.expand("x x x x x x x x x x") { // all command lines are there, also those of arguments only
		if p.Command != "" {
			all = append(all, p.Text)
		}
	}
	return all
}

// PluginPrograms describes what the commands and skills of plugins run.
func (s *Set) PluginPrograms() (all []string) {
	for _, e := range s.sorted() {
		if e.plugin != "" {
			for _, line := range e.runs() {
				all = append(all, "/"+e.Name+": "+line)
			}
		}
	}
	return all
}

// Subject returns what the user must trust before the prompt's command lines run; nil if they may. root is the workspace's directory.
func (p *Prompt) Subject(root string) *trust.Subject { return p.entry.subject(root) }
