package slash

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/acp/content"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/commands"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/internal/trust"
	"github.com/gajae-code/gjc/providers"
)

const (
	// commandSeconds bounds a command line of a prompt, and maxOutput its output in bytes.
	commandSeconds = 60
	maxOutput      = 16 << 10
	// maxCommands and maxFiles bound the command lines and files of one prompt.
	maxCommands = 20
	maxFiles    = 20
	// maxAttached bounds the files of one prompt together, in bytes.
	maxAttached = 512 << 10
)

// fill returns the prompt of a command file, with its files and the output of its command lines.
func (c *call) fill(p *commands.Prompt) (agent.Prepared, error) {
	trusted, err := c.trusted(p)
	if err != nil {
		return agent.Prepared{}, err
	}
	f := &filler{call: c, trusted: trusted}
	for i := range p.Pieces {
		if err := f.piece(&p.Pieces[i]); err != nil {
			return agent.Prepared{}, err
		}
	}
	parts := c.parts(strings.TrimSpace(f.text.String()))
	return agent.Prepared{Parts: slices.Concat(parts, f.attached), Shown: c.text}, nil
}

// trusted reports whether the command lines of a command file may run: those of the user's own files, and those of a workspace that the
// user trusts. It asks if there is no answer yet. It returns an error only if the call was canceled.
func (c *call) trusted(p *commands.Prompt) (bool, error) {
	sub := p.Subject(c.opts().Workspace.Cwd)
	answers := c.opts().Trust
	if sub == nil || answers == nil {
		return sub == nil, nil
	}
	if q := answers.Question(sub); q != nil {
		q.Title = "Trust this workspace to run the command lines of /" + c.name + "?"
		q.Text = "A file of this workspace has command lines, whose output would become a part of the prompt. They run with your permissions, as commands of yours:"
		if _, err := agent.AskTrust(c, c.turn, q); err != nil {
			return false, err
		}
	}
	v, err := answers.Look(sub)
	return err == nil && v.State == trust.Trusted, nil
}

type filler struct {
	*call
	trusted  bool
	text     strings.Builder
	attached []providers.Part
	// commands and files count, and bytes is the size of the files.
	commands, files, bytes int
	// names are the files that are attached.
	names []string
}

// piece adds a piece. It returns an error only if the call was canceled.
func (f *filler) piece(p *commands.Piece) error {
	switch {
	case p.Command != "":
		return f.command(p)
	case p.File != "":
		f.file(p)
	default:
		f.text.WriteString(p.Text)
	}
	return nil
}

// command runs a command line, through the same permissions and the same sandbox as one that the user runs.
func (f *filler) command(p *commands.Piece) error {
	refuse := func(why string) { f.text.WriteString("(not run: " + p.Command + "; " + why + ")") }
	if !f.trusted {
		refuse("the command file belongs to the workspace, which the user has not trusted to run commands")
		return nil
	}
	if f.commands++; f.commands > maxCommands {
		refuse("the prompt has too many commands")
		return nil
	}
	input, err := jsonx.Marshal(struct {
		Command string `json:"command"`
		Timeout int    `json:"timeout"`
	}{p.Command, commandSeconds})
	if err != nil {
		return err
	}
	output, err := agent.RunInPrompt(f.turn, "bash", input)
	if err != nil {
		if f.Err() != nil {
			return context.Cause(f)
		}
		refuse("it failed: " + text.Middle(err.Error(), maxOutput))
		return nil
	}
	f.text.WriteString(text.Middle(strings.TrimRight(output, "\n"), maxOutput))
	return nil
}

// file adds a file. If it cannot, the prompt says why, except for a path that leads nowhere.
func (f *filler) file(p *commands.Piece) {
	if slices.Contains(f.names, p.File) && !p.Inline {
		f.text.WriteString(p.Text)
		return
	}
	data, err := agent.ReadAttached(f, f.turn, p.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.text.WriteString(p.Text)
		if m, _ := mentionAt(p.File); m.uri != "" && !slices.Contains(f.mentions, m) {
			f.mentions = append(f.mentions, m) // a resource of a server is attached after the files
		}
		return
	case err != nil:
		f.text.WriteString(p.Text + " (" + err.Error() + ")")
		return
	}
	f.files++
	if f.bytes += len(data); f.files > maxFiles || f.bytes > maxAttached {
		f.text.WriteString(p.Text + " (not attached: the prompt has too many files; read it with the read tool)")
		return
	}
	f.names = append(f.names, p.File)
	block := content.EmbeddedText(p.File, data)
	if p.Inline {
		f.text.WriteString(block)
		return
	}
	f.text.WriteString(p.Text)
	f.attached = append(f.attached, providers.Text{Text: block})
}
