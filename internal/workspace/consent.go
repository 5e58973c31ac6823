package workspace

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/trust"
)

// Consent lists the files and programs of one root that need trust, and holds the user's answer.
type Consent struct {
	Root string
	// Files need trust; Ignored are the ones that are not trusted.
	Files, Ignored []*configfile.File
	// Programs are the programs in the project that would be run with trust, and files that other programs would load, as paths
	// relative to the root.
	Programs                      []string
	FilesTrusted, ProgramsTrusted bool
	state                         trust.State
}

// newConsent returns the consent for a root with its own files. If the answer cannot be read, it returns an error and nothing is
// trusted.
func newConsent(root string, own []*configfile.File, answers *trust.Session) (*Consent, error) {
	c := &Consent{Root: root}
	for _, f := range own {
		if len(f.Runs) > 0 {
			c.Files = append(c.Files, f)
		}
	}
	var failed error
	ask := func(sub *trust.Subject) trust.Verdict {
		v, err := answers.Look(sub)
		if err != nil {
			failed = err
		}
		return v
	}
	files := c.subject()
	c.FilesTrusted = files.Empty()
	if !files.Empty() {
		verdict := ask(files)
		c.FilesTrusted, c.state = verdict.State == trust.Trusted, verdict.State
	}
	// Programs are added when they are found; the answer does not depend on them.
	files.Programs = []string{"any"}
	verdict := ask(files)
	c.ProgramsTrusted = verdict.State == trust.Trusted
	if len(c.Files) == 0 {
		c.state = verdict.State
	}
	if !c.FilesTrusted {
		c.Ignored = c.Files
	}
	return c, failed
}

// usable returns the files that are trusted.
func (c *Consent) usable(own []*configfile.File) []*configfile.File {
	return slices.DeleteFunc(slices.Clone(own), func(f *configfile.File) bool { return slices.Contains(c.Ignored, f) })
}

// subject returns the subject of the question to the user.
func (c *Consent) subject() *trust.Subject {
	sub := &trust.Subject{Path: c.Root, Programs: slices.Sorted(slices.Values(c.Programs))}
	for _, f := range c.Files {
		sub.Files = append(sub.Files, f.TrustFile())
	}
	return sub
}

// Question returns the subject to ask the user about; nil if there is nothing to ask or an answer exists.
func (c *Consent) Question(answers *trust.Session) (*trust.Subject, error) {
	sub := c.subject()
	if sub.Empty() {
		return nil, nil
	}
	verdict, err := answers.Look(sub)
	if err != nil || verdict.State != trust.Unknown {
		return nil, err
	}
	sub.Changed = verdict.Changed
	return sub, nil
}

// AddProgram adds a program in the root to the question.
func (c *Consent) AddProgram(path, goos string) {
	rel, in := Within(c.Root, path, goos)
	if !in {
		rel = path
	}
	if !slices.Contains(c.Programs, rel) {
		c.Programs = append(c.Programs, rel)
	}
}

// Reason says why the files and programs of the root are not used, and what the user can do.
func (c *Consent) Reason() string {
	if c.state == trust.Denied {
		return "you have denied this workspace permission to run its own commands; \"gjc trust add " + c.Root + "\" allows it"
	}
	return "the workspace is not trusted yet; trust it when the editor asks, or with \"gjc trust add " + c.Root + "\""
}

// untrusted describes, for the user, the files and programs that are not used because the root is not trusted.
func (c *Consent) untrusted() []string {
	var all []string
	for _, f := range c.Ignored {
		all = append(all, fmt.Sprintf("%s: not used, because %s", f.Path, c.Reason()))
	}
	if !c.ProgramsTrusted && len(c.Programs) > 0 {
		all = append(all, fmt.Sprintf("%s: the project's own programs (%s) are not run, because %s", c.Root, strings.Join(configfile.Shorten(c.Programs, 3), ", "), c.Reason()))
	}
	return all
}

func quote(s string) string { return configfile.Quote(s) }
