package workspace

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/trust"
)

// Consent is what one root has that needs trust, and what the user has said of it.
type Consent struct {
	Root string
	// Files need trust; Ignored are those of them that do not have it.
	Files, Ignored []*configfile.File
	// Programs are those of the project that would be run with trust, and what other programs would load, as paths below
	// the root.
	Programs                      []string
	FilesTrusted, ProgramsTrusted bool
	state                         trust.State
}

// NewConsent looks at what is known of a root with these files of its own. An error says why no answer could be read; nothing
// is trusted then.
func NewConsent(root string, own []*configfile.File, answers *trust.Session) (*Consent, error) {
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
	files := c.Subject()
	c.FilesTrusted = files.Empty()
	if !files.Empty() {
		verdict := ask(files)
		c.FilesTrusted, c.state = verdict.State == trust.Trusted, verdict.State
	}
	// Which programs there are is found out as they are looked for; the answer does not depend on it.
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

// Usable are those of the root's own files that may be used.
func (c *Consent) Usable(own []*configfile.File) []*configfile.File {
	return slices.DeleteFunc(slices.Clone(own), func(f *configfile.File) bool { return slices.Contains(c.Ignored, f) })
}

// Subject is the root as the user is asked about it.
func (c *Consent) Subject() *trust.Subject {
	sub := &trust.Subject{Path: c.Root, Programs: slices.Sorted(slices.Values(c.Programs))}
	for _, f := range c.Files {
		sub.Files = append(sub.Files, f.TrustFile())
	}
	return sub
}

// Question is the root as the user is to be asked about it; nil where there is nothing to ask, or an answer already.
func (c *Consent) Question(answers *trust.Session) (*trust.Subject, error) {
	sub := c.Subject()
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

// Note remembers a program of the root for the question.
func (c *Consent) Note(path, goos string) {
	rel, in := Within(c.Root, path, goos)
	if !in {
		rel = path
	}
	if !slices.Contains(c.Programs, rel) {
		c.Programs = append(c.Programs, rel)
	}
}

// How says why the root's own things are not used, and what the user can do.
func (c *Consent) How() string {
	if c.state == trust.Denied {
		return "you have denied this workspace to run commands of its own; \"gjc trust add " + c.Root + "\" allows it"
	}
	return "the workspace is not trusted yet; trust it when the editor asks, or with \"gjc trust add " + c.Root + "\""
}

// Distrust tells what of the root is not used for lack of trust.
func (c *Consent) Distrust() []string {
	var all []string
	for _, f := range c.Ignored {
		all = append(all, fmt.Sprintf("%s: not used, because %s", f.Path, c.How()))
	}
	if !c.ProgramsTrusted && len(c.Programs) > 0 {
		all = append(all, fmt.Sprintf("%s: programs of the project's own (%s) are not run, because %s", c.Root, strings.Join(configfile.Shorten(c.Programs, 3), ", "), c.How()))
	}
	return all
}

func quote(s string) string { return configfile.Quote(s) }
