package agent

import (
	"context"
	_ "embed"
	"strings"
	"time"

	"github.com/gajae-code/gjc/agent/approval"
)

//go:embed prompt.md
var promptTemplate string

// SystemPrompt is a client's addition to the system prompt. The zero value adds nothing.
type SystemPrompt struct {
	Text string
	// Override replaces gjc's own prompt by Text; otherwise Text follows it.
	Override bool
}

// prompter assembles the system prompt of a session.
type prompter struct{ *Session }

// systemPrompt assembles the system prompt. It has the day but not the time, so that the prompt caches of a day's
// requests hold.
func (s prompter) systemPrompt(ctx context.Context, current approval.Mode, tools []Tool) string {
	ws := &s.opts.Workspace
	roots := ""
	if len(ws.Additional) > 0 {
		roots = "Further directories: " + strings.Join(ws.Additional, ", ") + "\n"
	}
	mode := ""
	if current == approval.ModePlan {
		mode = "\nYou are in plan mode: nothing may be changed and no command may run. Read, think, and write a plan with todo_write and in your answer; the user leaves plan mode when they agree.\n"
	}
	guidance := s.guidance(ctx)
	own := s.opts.SystemPrompt
	if own.Override && own.Text != "" {
		// A client cannot change the workspace and the permissions.
		return strings.TrimSpace(own.Text) + "\n\nWorking directory: " + ws.Cwd + "\n" + roots + mode
	}
	prompt := strings.TrimSpace(strings.NewReplacer(
		"{{cwd}}", ws.Cwd,
		"{{roots}}", roots,
		"{{os}}", s.opts.OS,
		"{{date}}", s.opts.Clock().Format(time.DateOnly),
		"{{tools}}", strings.Join(names(tools), ", "),
		"{{mode}}", mode,
		"{{instructions}}", s.instructions(ctx, guidance)+guidance.prompt(),
	).Replace(promptTemplate))
	if own.Text != "" {
		prompt += "\n\n" + strings.TrimSpace(own.Text)
	}
	return prompt
}
