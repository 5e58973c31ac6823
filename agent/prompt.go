package agent

import (
	"cmp"
	"context"
	_ "embed"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/instructions"
	"github.com/gajae-code/gjc/agent/userfiles"
)

// rolePrompt describes the work; a file of the user's can replace it. promptTemplate has what always applies.
var (
	//go:embed prompts/role.md
	rolePrompt string
	//go:embed prompt.md
	promptTemplate string
)

// SystemPrompt is a client's addition to the system prompt. The zero value adds nothing.
type SystemPrompt struct {
	Text string
	// Override replaces gjc's own prompt with Text; otherwise Text follows it.
	Override bool
}

// prompter assembles the system prompt of a session.
type prompter struct{ *Session }

// systemPrompt assembles the system prompt. It contains the date but not the time, so that the prompt cache stays valid for
// requests of the same day.
func (s prompter) systemPrompt(ctx context.Context, current approval.Mode, tools []Tool) string {
	ws := &s.opts.Workspace
	roots := ""
	if len(ws.Additional) > 0 {
		roots = "Additional directories: " + strings.Join(ws.Additional, ", ") + "\n"
	}
	mode := ""
	if current == approval.ModePlan {
		mode = "\nYou are in plan mode: nothing may be changed and no command may run. Read, think, and ask what you need to know. When the plan is complete, call " + PresentTool + " with it, and do not write it in your answer: the user approves it, or says what to change.\n"
	}
	guidance := s.guidance(ctx)
	own := s.opts.SystemPrompt
	if own.Override && own.Text != "" {
		// A client cannot replace the description of the workspace and the permissions.
		return strings.TrimSpace(own.Text) + "\n\nWorking directory: " + ws.Cwd + "\n" + roots + mode
	}
	files := s.promptFiles(guidance)
	told := s.instructions(ctx, files)
	rules, left := guidance.prompt(told)
	s.warnOnce("Some rules are not in the prompt.", left)
	prompt := strings.TrimSpace(strings.NewReplacer(
		"{{cwd}}", ws.Cwd,
		"{{roots}}", roots,
		"{{os}}", s.opts.OS,
		"{{date}}", s.opts.Clock().Format(time.DateOnly),
		"{{tools}}", strings.Join(names(tools), ", "),
		"{{mode}}", mode,
		"{{instructions}}", told.Prompt()+rules,
	).Replace(promptTemplate))
	prompt = strings.TrimSpace(cmp.Or(s.systemFile(ctx, files, userfiles.SystemFile), rolePrompt)) + "\n\n" + prompt
	if more := s.systemFile(ctx, files, userfiles.AppendFile); more != "" {
		prompt += "\n\n" + more
	}
	if own.Text != "" {
		prompt += "\n\n" + strings.TrimSpace(own.Text)
	}
	return prompt
}

// promptFiles returns where the instructions of a session are.
func (s prompter) promptFiles(g *Guidance) *instructions.Options {
	opts := &instructions.Options{
		Files: s.opts.FS, Cwd: s.opts.Workspace.Cwd, Additional: s.opts.Workspace.Additional, UserDir: g.UserDir, Home: g.Home, CodexHome: g.CodexHome,
		Top: s.opts.Policy.Home, OS: s.opts.OS, Limits: s.settings.InstructionLimits,
	}
	for _, one := range s.settings.Instructions {
		opts.Texts = append(opts.Texts, instructions.Item{File: userfiles.File{Origin: "gjc", Path: one.Path}, Text: one.Text})
	}
	return opts
}

// instructions returns the current instructions, and warns the user of problems, once each.
func (s prompter) instructions(ctx context.Context, opts *instructions.Options) *instructions.Set {
	set := instructions.Load(ctx, opts)
	s.warnOnce("Some instructions are not used.", set.Problems)
	return set
}

// systemFile returns the text of a file that changes gjc's own prompts, or "".
func (s prompter) systemFile(ctx context.Context, opts *instructions.Options, name string) string {
	content, set := instructions.System(ctx, opts, name)
	s.warnOnce("A file for the system prompt is not used.", set.Problems)
	return content
}

// warned holds the problems in files of instructions that the user was warned of.
type warned struct {
	mu  sync.Mutex // guards all
	all map[string]bool
}

func (s prompter) warnOnce(title string, problems []userfiles.Problem) {
	if len(problems) == 0 {
		return
	}
	w := Value(s.opts.Values.Root(), func() *warned { return &warned{all: make(map[string]bool)} })
	for _, p := range problems {
		w.mu.Lock()
		before := w.all[p.String()]
		w.all[p.String()] = true
		w.mu.Unlock()
		if !before {
			s.do(func(st *state) error {
				st.emit(Noticed{Severity: SeverityWarning, Title: title, Detail: p.String()})
				return nil
			})
		}
	}
}
