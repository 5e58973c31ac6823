package slash

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/transcript"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
)

// Sharing configures /share.
type Sharing struct {
	// Command is the user's own program that publishes a page, with its arguments; see [pageArgument]. Empty for none.
	Command []string
	// Hide replaces secrets in a text with Removed.
	Hide    func(text string) string
	Removed string
	// Save writes files for a program to read. The caller must call remove.
	Save func(files map[string][]byte) (paths map[string]string, remove func(), err error)
}

const (
	// pageArgument stands for the path of the page in the arguments of the user's program.
	pageArgument = "{file}"
	// maxShareOutput is the maximum size of what the program prints, in bytes, and shareTimeout the time that it has.
	maxShareOutput = 64 << 10
	shareTimeout   = 2 * time.Minute
)

// share runs /share: it gives the conversation, without secrets, to a file, the user's program, or a secret gist.
func share(c *call) error {
	if c.opts().Sharing == nil {
		return c.fail(errors.New("sharing is not available here; use /export"))
	}
	set, err := c.opts().Sharing(c.session.Workspace().Cwd)
	if err != nil {
		return c.fail(fmt.Errorf("%w; nothing was shared, because the secrets to replace are not known", err))
	}
	t := &sharing{Sharing: set, call: c}
	if err := t.write(); err != nil {
		return c.fail(err)
	}
	switch target := unquotedPath(c.args); {
	case target == "" && len(set.Command) > 0:
		t.run, t.to = t.command, "your program "+text.ShellWord(set.Command[0])
		t.program = set.Command[0]
	case target == "" || target == "gist":
		t.run, t.to, t.program = t.gist, "a secret gist on GitHub, with gh; who has its address can read it", "gh"
	default:
		if t.path, err = c.newFile(target); err != nil {
			return c.fail(err)
		}
		t.run, t.to = t.file, t.path
	}
	input, err := jsonx.Marshal(map[string]any{"to": t.to, "bytes": len(t.page), "secretsReplaced": t.secrets})
	if err != nil {
		return c.fail(err)
	}
	if _, err := c.turn.RunTool("share", input, t); err != nil {
		return c.fail(err)
	}
	return c.say("Shared: "+t.link, nil)
}

// sharing is one call of /share. It is a tool that only the user can call, so that the gate decides on it.
type sharing struct {
	*Sharing
	call           *call
	page, markdown string
	// secrets is the number of places at which a secret was replaced.
	secrets int
	// to describes the target; program is the one that is needed, path the file.
	to, program, path string
	run               func(context.Context, *agent.Call) error
	// link is where the page is.
	link string
}

// write writes the page, and counts the secrets in the format that has each text once.
func (s *sharing) write() (err error) {
	var counted string
	for format, to := range map[transcript.Format]*string{transcript.HTML: &s.page, transcript.Markdown: &s.markdown, transcript.JSON: &counted} {
		if *to, err = s.call.transcript(format, s.Hide); err != nil {
			return err
		}
	}
	s.secrets = strings.Count(counted, s.Removed)
	return nil
}

// Spec implements [agent.Tool].
func (s *sharing) Spec() *agent.ToolSpec {
	return &agent.ToolSpec{Name: "share", Kind: agent.KindOther, Schema: jsonx.Raw(`{"type":"object"}`), Exclusive: true}
}

// Plan implements [agent.Tool].
func (s *sharing) Plan(_ context.Context, call *agent.Call) (*agent.CallPlan, error) {
	if s.program != "" {
		if _, err := call.Programs.LookPath(s.program); errors.Is(err, fs.ErrNotExist) {
			return nil, s.missing()
		} else if err != nil {
			return nil, err
		}
	}
	replaced := "No secret was found in it; look for what only you know to be one."
	if s.secrets > 0 {
		replaced = fmt.Sprintf("Secrets are replaced in %s.", text.Count(s.secrets, "place"))
	}
	plan := &agent.CallPlan{
		Title: "Share this session",
		Content: []agent.Content{agent.TextContent{Text: fmt.Sprintf(
			"To: %s\nThe whole conversation, with what was read and printed: %.1f KB as a page.\n%s", s.to, float64(len(s.page))/1000, replaced,
		)}},
		Effects: []approval.Effect{{Action: approval.ActionShare}},
	}
	if s.path != "" {
		plan.Effects = append(plan.Effects, approval.Effect{Action: approval.ActionEdit, Path: s.path})
	}
	return plan, nil
}

// missing explains what to do without the program.
func (s *sharing) missing() error {
	if s.program == "gh" {
		return errors.New("gh is not installed; install it (https://cli.github.com) and run gh auth login, or name a file: /share page.html, or set share.command in config.yml")
	}
	return fmt.Errorf("the program %q of share.command is not on PATH; correct it in config.yml, or name a file: /share page.html", s.program)
}

// Run implements [agent.Tool]. Its result has no text, because the model has no use for it.
func (s *sharing) Run(ctx context.Context, call *agent.Call) (*agent.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, shareTimeout)
	defer cancel()
	if err := s.run(ctx, call); err != nil {
		return nil, err
	}
	return &agent.Result{Content: []agent.Content{agent.TextContent{Text: "Shared: " + s.link}}}, nil
}

// file writes the page, or Markdown or JSON by the file's name.
func (s *sharing) file(ctx context.Context, _ *agent.Call) error {
	data := s.page
	if format := transcript.FormatOf(s.path, transcript.HTML); format != transcript.HTML {
		var err error
		if data, err = s.call.transcript(format, s.Hide); err != nil {
			return err
		}
	}
	s.link = s.path
	return s.call.opts().Files.WriteFile(ctx, s.path, []byte(data))
}

// command runs the user's program.
func (s *sharing) command(ctx context.Context, call *agent.Call) error {
	return s.publish(ctx, call, func(paths map[string]string) agent.Program {
		prog := agent.Program{Stdin: []byte(s.page)}
		for _, arg := range s.Command[1:] {
			prog.Args = append(prog.Args, strings.ReplaceAll(arg, pageArgument, paths[s.name(transcript.HTML)]))
		}
		return prog
	})
}

// gist makes a gist of the page and of Markdown, which GitHub shows. Without --public it is secret.
func (s *sharing) gist(ctx context.Context, call *agent.Call) error {
	err := s.publish(ctx, call, func(paths map[string]string) agent.Program {
		return agent.Program{Args: []string{"gist", "create", "--desc", "A gjc session", paths[s.name(transcript.Markdown)], paths[s.name(transcript.HTML)]}}
	})
	if exit, ok := errors.AsType[*agent.ExitError](err); ok {
		hint := "try it again, or name a file: /share page.html"
		if exit.Code == 4 || strings.Contains(exit.Stderr, "auth") {
			hint = "run gh auth login in a terminal, then /share again"
		}
		return fmt.Errorf("gh made no gist: %s; %s", text.Truncate(text.OneLine(exit.Stderr), 500), hint)
	}
	return err
}

func (s *sharing) name(format transcript.Format) string {
	return "gjc-session-" + s.call.session.ID() + "." + string(format)
}

// publish runs the program on the saved page. The last line that it prints is the link.
func (s *sharing) publish(ctx context.Context, call *agent.Call, program func(paths map[string]string) agent.Program) error {
	path, err := call.Programs.LookPath(s.program)
	if errors.Is(err, fs.ErrNotExist) {
		return s.missing()
	} else if err != nil {
		return err
	}
	paths, remove, err := s.Save(map[string][]byte{s.name(transcript.HTML): []byte(s.page), s.name(transcript.Markdown): []byte(s.markdown)})
	if err != nil {
		return fmt.Errorf("saving the page for %s: %w", s.program, err)
	}
	defer remove()
	prog := program(paths)
	prog.Path, prog.Dir = path, call.Workspace.Cwd
	out, err := call.Programs.Output(ctx, prog, maxShareOutput)
	if err != nil {
		if ctx.Err() != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			return fmt.Errorf("%s did not end within %v; it may wait for an answer, so run it in a terminal once", filepath.Base(path), shareTimeout)
		}
		return err
	}
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); line != "" {
			s.link = text.Truncate(text.VisibleLine(line), 500)
		}
	}
	if s.link == "" {
		s.link = s.program + " has printed no link"
	}
	return nil
}
