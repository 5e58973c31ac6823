package agent

import (
	"context"
	_ "embed"
	"path/filepath"
	"strings"
	"time"
)

//go:embed prompt.md
var promptTemplate string

// maxInstructions bounds what a workspace's AGENTS.md adds to every request.
const maxInstructions = 32 << 10

// systemPrompt assembles the system prompt. It has the day but not the time, so that the prompt caches of a day's
// requests hold.
func (s *Session) systemPrompt(ctx context.Context, st *state) string {
	ws := &s.opts.Workspace
	roots := ""
	if len(ws.Additional) > 0 {
		roots = "Further directories: " + strings.Join(ws.Additional, ", ") + "\n"
	}
	mode := ""
	if st.mode == ModePlan {
		mode = "\nYou are in plan mode: nothing may be changed and no command may run. Read, think, and write a plan with todo_write and in your answer; the user leaves plan mode when they agree.\n"
	}
	instructions := ""
	if path, text := s.instructions(ctx); text != "" {
		instructions = "\nThe workspace's own instructions, from " + path + ":\n\n" + text + "\n"
	}
	return strings.TrimSpace(strings.NewReplacer(
		"{{cwd}}", ws.Cwd,
		"{{roots}}", roots,
		"{{os}}", s.opts.OS,
		"{{date}}", s.opts.Clock().Format(time.DateOnly),
		"{{tools}}", s.toolNames(),
		"{{mode}}", mode,
		"{{instructions}}", instructions,
	).Replace(promptTemplate))
}

// instructions returns the nearest AGENTS.md from the working directory upward.
func (s *Session) instructions(ctx context.Context) (path, text string) {
	for dir := s.opts.Workspace.Cwd; ; dir = filepath.Dir(dir) {
		path = filepath.Join(dir, "AGENTS.md")
		// Stat is local and cheap; the editor is asked only for a file that is there.
		// A link to elsewhere would send a file to the model that nobody was asked about.
		info, err := s.opts.FS.Stat(ctx, path)
		if err == nil && info.Mode().IsRegular() && within(s.opts.FS.RealPath(dir), s.opts.FS.RealPath(path)) {
			data, err := s.opts.FS.ReadFile(ctx, path)
			if err == nil {
				return path, cutMiddle(strings.TrimSpace(strings.ToValidUTF8(string(data), "\ufffd")), maxInstructions)
			}
		}
		if dir == filepath.Dir(dir) {
			return "", ""
		}
	}
}
