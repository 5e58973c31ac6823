package agent

import (
	"context"
	_ "embed"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/internal/places"
	"github.com/gajae-code/gjc/internal/text"
)

//go:embed prompt.md
var promptTemplate string

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
		mode = "\nYou are in plan mode: nothing may be changed and no command may run. Read, think, and write a plan with todo_write and in your answer; the user leaves plan mode when they agree.\n"
	}
	guidance := s.guidance(ctx)
	own := s.opts.SystemPrompt
	if own.Override && own.Text != "" {
		// A client cannot replace the description of the workspace and the permissions.
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

const (
	// maxInstructions is the size limit of all instructions in a request, in bytes.
	maxInstructions = 32 << 10
	// maxInstructionFile is the maximum size of a file, in bytes, and mostInstructionDirs the maximum number of
	// directories that are searched.
	maxInstructionFile  = 1 << 20
	mostInstructionDirs = 64
)

// instructionNames lists the names of instruction files. Of each directory the first existing one is used.
var instructionNames = [...]string{"AGENTS.md", "CLAUDE.md"}

// InstructionFiles returns the names of the files from which the system prompt takes instructions, in any directory of a workspace.
func InstructionFiles() []string { return instructionNames[:] }

// instruction is one file of instructions.
type instruction struct{ path, text string }

// instructions returns the instructions for the prompt: the user's file in the agent directory, the texts of the configuration,
// then AGENTS.md of each directory from the top of the repository down to the working directory, then those of the additional
// directories. If they are too long together, those nearest to the working directory are kept.
func (s prompter) instructions(ctx context.Context, g *Guidance) string {
	var files []instruction
	if path, text := g.Rules.Instructions(); text != "" {
		files = append(files, instruction{path, text})
	}
	for _, one := range s.settings.Instructions {
		files = append(files, instruction{one.Path, one.Text})
	}
	dirs, top := s.instructionDirs(ctx)
	seen := make(map[string]bool)
	var chain []instruction
	for _, dir := range dirs { // the working directory first
		if file, ok := s.instructionIn(ctx, dir, top, seen); ok {
			chain = append(chain, file)
		}
	}
	slices.Reverse(chain)
	files = append(files, chain...)
	own := len(files) // the last file is the nearest to the working directory
	for _, dir := range s.opts.Workspace.Additional {
		if file, ok := s.instructionIn(ctx, dir, dir, seen); ok {
			files = append(files, file)
		}
	}
	if len(files) == 0 {
		return ""
	}
	bound(files, own)
	var b strings.Builder
	b.WriteString("\n# Instructions\n\nThese are from the user and from the workspace. If two conflict, the later one takes precedence.\n")
	for _, f := range files {
		if f.text != "" {
			b.WriteString("\n## " + f.path + "\n\n" + f.text + "\n")
		}
	}
	return b.String()
}

// bound cuts the files to maxInstructions in total. The nearest files, which end at index own, have priority.
func bound(files []instruction, own int) {
	room := maxInstructions
	take := func(f *instruction) {
		switch {
		case len(f.text) <= room:
		case room < 1<<10:
			f.text = "(omitted: the instructions exceed the limit for a prompt)"
		default:
			f.text = text.Middle(f.text, room)
		}
		room = max(room-len(f.text), 0)
	}
	for i := own - 1; i >= 0; i-- {
		take(&files[i])
	}
	for i := own; i < len(files); i++ {
		take(&files[i])
	}
}

// instructionDirs returns the working directory and its parents, up to the top of its repository. Without a repository it stops at
// the user's home directory or the root. Symbolic links must not leave top: the repository, or "" for no limit.
func (s prompter) instructionDirs(ctx context.Context) (dirs []string, top string) {
	files, cwd := s.opts.FS, s.opts.Workspace.Cwd
	for dir := cwd; len(dirs) < mostInstructionDirs; dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
		if _, err := files.Stat(ctx, filepath.Join(dir, ".git")); err == nil {
			return dirs, dir
		}
		if dir == filepath.Dir(dir) || s.opts.Policy.Home != "" && dir == s.opts.Policy.Home {
			break
		}
	}
	// Above the working directory, ignore directories that every user may write, such as /tmp.
	if s.opts.OS != "windows" {
		dirs = slices.DeleteFunc(dirs, func(dir string) bool {
			info, err := files.Stat(ctx, dir)
			return dir != cwd && err == nil && info.Mode().Perm()&0o002 != 0
		})
	}
	return dirs, ""
}

// instructionIn reads the instructions of a directory. seen holds the files that were read.
func (s prompter) instructionIn(ctx context.Context, dir, top string, seen map[string]bool) (instruction, bool) {
	files := s.opts.FS
	for _, name := range instructionNames {
		path := filepath.Join(dir, name)
		// Stat is local and cheap; the editor is asked only for an existing file.
		info, err := files.Stat(ctx, path)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		// A link to another directory, or to a file with secrets, would send a file to the model without the user's permission.
		real := files.RealPath(path)
		if !places.Within(files.RealPath(dir), real) && (top == "" || !places.Within(files.RealPath(top), real)) || approval.Withheld(path) {
			continue
		}
		if seen[real] {
			return instruction{}, false
		}
		seen[real] = true
		if info.Size() > maxInstructionFile {
			return instruction{path, "(omitted: the file is larger than 1 MiB)"}, true
		}
		data, err := files.ReadFile(ctx, path)
		text := strings.TrimSpace(strings.TrimPrefix(strings.ToValidUTF8(string(data), "\ufffd"), "\ufeff"))
		if err == nil && text != "" && !strings.Contains(text, "\x00") {
			return instruction{path, text}, true
		}
		return instruction{}, false
	}
	return instruction{}, false
}
