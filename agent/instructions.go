package agent

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/approval/shell"
	"github.com/gajae-code/gjc/internal/text"
)

const (
	// maxInstructions bounds what all files of instructions add to every request, in bytes.
	maxInstructions = 32 << 10
	// maxInstructionFile is how large a file may be to be read at all, mostInstructionDirs how far up is looked.
	maxInstructionFile  = 1 << 20
	mostInstructionDirs = 64
)

// instructionNames are the files that a directory's instructions are in, the first that there is.
var instructionNames = [...]string{"AGENTS.md", "CLAUDE.md"}

// instruction is one file of instructions.
type instruction struct{ path, text string }

// instructions are the user's and the workspace's own, for the prompt: the user's file of the agent directory, the texts of the
// configuration, then AGENTS.md of each directory from the top of the repository down to the working directory, then those of the additional directories. Where
// they are too long together, those next to the working directory are kept.
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
	own := len(files) // the last one is next to the working directory
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
	b.WriteString("\n# Instructions\n\nThese are from the user and from the workspace. Where two disagree, the one further below counts.\n")
	for _, f := range files {
		if f.text != "" {
			b.WriteString("\n## " + f.path + "\n\n" + f.text + "\n")
		}
	}
	return b.String()
}

// bound cuts the files to maxInstructions: the nearest ones, which end at own, have their room first.
func bound(files []instruction, own int) {
	room := maxInstructions
	take := func(f *instruction) {
		switch {
		case len(f.text) <= room:
		case room < 1<<10:
			f.text = "(left out: the instructions are longer than a prompt may have)"
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

// instructionDirs are the working directory and those above it: up to the top of the repository that it lies in, or, where it is
// in none, up to the user's home directory or the top of the file system. top is where links may lead to: the repository, or
// nothing.
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
	// Above the working directory anybody may have put a file where anybody may write, as in /tmp.
	if s.opts.OS != "windows" {
		dirs = slices.DeleteFunc(dirs, func(dir string) bool {
			info, err := files.Stat(ctx, dir)
			return dir != cwd && err == nil && info.Mode().Perm()&0o002 != 0
		})
	}
	return dirs, ""
}

// instructionIn reads the instructions of a directory. seen has the files that were read.
func (s prompter) instructionIn(ctx context.Context, dir, top string, seen map[string]bool) (instruction, bool) {
	files := s.opts.FS
	for _, name := range instructionNames {
		path := filepath.Join(dir, name)
		// Stat is local and cheap; the editor is asked only for a file that is there.
		info, err := files.Stat(ctx, path)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		// A link to elsewhere, or to what holds secrets, would send a file to the model that nobody was asked about.
		real := files.RealPath(path)
		if !shell.Within(files.RealPath(dir), real) && (top == "" || !shell.Within(files.RealPath(top), real)) || approval.Withheld(path) {
			continue
		}
		if seen[real] {
			return instruction{}, false
		}
		seen[real] = true
		if info.Size() > maxInstructionFile {
			return instruction{path, "(left out: the file is larger than 1 MiB)"}, true
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
