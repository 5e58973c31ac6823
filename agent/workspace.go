package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/internal/boundary"
	"github.com/gajae-code/gjc/internal/places"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/providers"
)

// paths returns the path resolver for the session's steps.
func (s *Session) paths() *places.Paths {
	o := &s.opts
	followed := func() []string { return nil }
	if o.Policy.Followed != nil {
		followed = func() []string {
			var all []string
			for _, root := range append([]string{o.Workspace.Cwd}, o.Workspace.Additional...) {
				all = append(all, o.Policy.Followed(root)...)
			}
			return all
		}
	}
	return &places.Paths{
		Loaded: o.Policy.Loaded, Followed: followed,
		Roots: append([]string{o.Workspace.Cwd}, o.Workspace.Additional...), RealRoots: o.Workspace.Real, Home: o.Policy.Home, Own: o.Policy.Own, Real: o.FS.RealPath,
		Temp: o.Workspace.temp.dir(),
	}
}

// readable implements [Call.Readable].
func (s *Session) readable(path string) bool {
	paths := s.paths()
	f := approval.FactsOf(&s.opts.Policy, s.opts.OS, "read", &approval.Effect{Action: approval.ActionRead, Path: path}, &approval.Scope{Path: s.opts.FS.RealPath(path)}, paths)
	return len(f.Special) == 0 && f.Rule <= approval.Allow
}

// maxAttached bounds a file that a prompt attaches, in bytes.
const maxAttached = 256 << 10

// errAttached is wrapped by the error for a file that a prompt names and does not get.
var errAttached = errors.New("not attached")

// ReadAttached returns the text of a file that a prompt of t names, as the editor has it. A path that leads nowhere or to a directory is an
// error that wraps [fs.ErrNotExist]: it is text. The file must be in the workspace, and one that the model may read without a question.
func ReadAttached(ctx context.Context, t *RunningTurn, path string) (string, error) {
	s := t.session
	files, ws := s.opts.FS, &s.opts.Workspace
	path = ws.Resolve(path)
	info, err := files.Stat(ctx, path)
	if err != nil || info.IsDir() {
		return "", fs.ErrNotExist
	}
	fail := func(why string) (string, error) { return "", fmt.Errorf("%w: %s", errAttached, why) }
	real := files.RealPath(path)
	switch {
	case !ws.Contains(path) || !ws.real().Contains(real):
		return fail("it is outside the workspace; read it with the read tool if you need it")
	case !s.readable(path):
		return fail("reading it needs the user's permission; read it with the read tool if you need it")
	case !info.Mode().IsRegular():
		return fail("it is not a regular file")
	case info.Size() > maxAttached:
		return fail(fmt.Sprintf("it is larger than %d KiB; read parts of it with the read tool", maxAttached>>10))
	}
	data, err := files.ReadFile(ctx, path)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errAttached, err)
	}
	content, _, ok := text.Decode(data)
	switch {
	case !ok:
		return fail("it is no text")
	case len(content) > maxAttached:
		return fail(fmt.Sprintf("it is larger than %d KiB; read parts of it with the read tool", maxAttached>>10))
	}
	return s.Hide(content), nil
}

// real returns the roots with all symbolic links resolved.
func (w *Workspace) real() *Workspace {
	if w.Real == nil {
		return w
	}
	return &Workspace{Cwd: w.Real[0], Additional: w.Real[1:]}
}

// Contains reports whether path is in one of the roots. It is lexical and does not resolve symbolic links.
func (w *Workspace) Contains(path string) bool {
	if places.Within(w.Cwd, path) {
		return true
	}
	for _, root := range w.Additional {
		if places.Within(root, path) {
			return true
		}
	}
	return false
}

// Resolve returns where the file is that a tool's input names: path is relative to the working directory, and what is in /tmp is in the
// session's own directory if its commands have that as /tmp.
func (w *Workspace) Resolve(path string) string { return w.temp.place(w.Absolute(path)) }

// Absolute makes path absolute against the working directory, and clean. It is for paths that programs outside the boundary read.
func (w *Workspace) Absolute(path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(w.Cwd, path)
	}
	return filepath.Clean(path)
}

// Display returns path for people: relative to the working directory if it is inside, and in /tmp if [Workspace.Resolve] accepts it there.
func (w *Workspace) Display(path string) string {
	if in, ok := w.temp.shown(path); ok {
		return in
	}
	if rel, err := filepath.Rel(w.Cwd, path); err == nil && places.Within(w.Cwd, path) {
		return rel
	}
	return path
}

// RemoveLeftovers removes temporary files of an earlier process that was killed during a call of this loaded session.
// It searches the working directory and the directories in which calls without a result would have written. It returns
// at once; the work ends with the session.
func (s *Session) RemoveLeftovers() {
	remover, ok := s.opts.FS.(LeftoverRemover)
	if !ok {
		return
	}
	dirs := []string{s.opts.Workspace.Cwd}
	dirs = append(dirs, s.opts.Workspace.Additional...)
	for _, c := range callsWithoutResult(s.opts.History) {
		r := &replay{ReplayOptions: ReplayOptions{Tools: s.opts.Tools.Tools(), Workspace: s.opts.Workspace}, ctx: s.ctx}
		var started ToolStarted
		r.describe(&started, c)
		for _, l := range started.Locations {
			dirs = append(dirs, filepath.Dir(l.Path))
		}
	}
	slices.Sort(dirs)
	dirs = slices.Compact(dirs)
	s.do(func(st *state) error {
		if !st.closing {
			s.background.Go(func() { remover.RemoveLeftovers(s.ctx, dirs) })
		}
		return nil
	})
}

// callsWithoutResult returns the calls of the last answer that have no result.
func callsWithoutResult(history []providers.Message) []providers.ToolCall {
	results := make(map[string]bool)
	for _, m := range slices.Backward(history) {
		switch m.Role {
		case providers.RoleTool:
			results[m.ToolCallID] = true
		case providers.RoleAssistant:
			return slices.DeleteFunc(m.ToolCalls(), func(c providers.ToolCall) bool { return results[c.ID] })
		default:
		}
	}
	return nil
}

// sharedTemp is where commands inside the boundary find the session's own directory for temporary files instead of the machine's.
const sharedTemp = "/tmp"

// temporary is the session's directory for temporary files.
type temporary struct {
	terminal TempTerminal
	boundary *boundary.Settings
	files    FS
	// roots are the roots as given and with all symbolic links resolved: their files are the same inside the boundary, also in /tmp.
	roots [2]*Workspace
}

// setTemporary gives the workspace the session's directory for temporary files, if its commands have one.
func (o *Options) setTemporary() {
	terminal, ok := o.Terminal.(TempTerminal)
	if !ok || o.FS == nil {
		return
	}
	given, edge := Workspace{Cwd: o.Workspace.Cwd, Additional: o.Workspace.Additional}, o.Policy.Boundary // pointers into o would keep all of it
	o.Workspace.temp = &temporary{terminal: terminal, boundary: &edge, files: o.FS, roots: [2]*Workspace{&given, o.Workspace.real()}}
}

// dir returns the directory if it exists, or "".
func (t *temporary) dir() string {
	if t == nil {
		return ""
	}
	return t.terminal.ExistingTempDir()
}

// place returns where the files of a clean path are: those in /tmp are in the session's directory, except those that only the machine's /tmp
// has, such as one that the user names. They lie outside the workspace.
func (t *temporary) place(path string) string {
	if t == nil || !places.Within(sharedTemp, path) || t.roots[0].Contains(path) || t.roots[1].Contains(path) || !t.boundary.Boxes() {
		return path
	}
	for _, shared := range t.boundary.Write {
		if places.Within(shared, path) || places.Within(t.files.RealPath(shared), path) {
			return path
		}
	}
	dir, err := t.terminal.TempDir()
	if err != nil || places.Within(dir, path) {
		return path
	}
	rel, err := filepath.Rel(sharedTemp, path)
	if err != nil {
		return path
	}
	in := filepath.Join(dir, rel)
	if _, err := os.Lstat(in); err != nil && rel != "." {
		if _, err := os.Lstat(path); err == nil {
			return path
		}
	}
	return in
}

// TempDir returns the directory that commands inside the boundary have as /tmp, so that others can put their temporary files there, too. It
// is empty if they have the machine's.
func (w *Workspace) TempDir() string {
	if w.temp == nil || !w.temp.boundary.Boxes() {
		return ""
	}
	dir, err := w.temp.terminal.TempDir()
	if err != nil {
		return "" // temporary files are in the machine's directory
	}
	return dir
}

// shown returns the path in /tmp by which the session's commands find a path; ok is false for a path elsewhere.
func (t *temporary) shown(path string) (in string, ok bool) {
	dir := t.dir()
	if dir == "" || !places.Within(dir, path) || !t.boundary.Boxes() {
		return "", false
	}
	rel, err := filepath.Rel(dir, path)
	return filepath.Join(sharedTemp, rel), err == nil
}

// Temporary reports whether path is in the session's own /tmp, which hides the machine's.
func (w *Workspace) Temporary(path string) bool {
	_, ok := w.temp.shown(path)
	return ok
}

// Changes are the changes of files in a turn, those of its subagents included.
type Changes struct {
	// Paths are the absolute paths that successful calls have changed, as the calls named them, in the order of the changes.
	Paths []string
	// Incomplete reports that other files may have changed: a command, a hook or a tool of a server has run, or a call has failed after
	// it had begun to change files.
	Incomplete bool
}

// maxChanges bounds the number of paths that are remembered of a turn.
const maxChanges = 10_000

// changes collects the changes of a turn.
type changes struct {
	mu   sync.Mutex // guards the fields below
	seen map[string]bool
	sum  Changes
}

// all returns what was collected.
func (c *changes) all() Changes {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Changes{slices.Clone(c.sum.Paths), c.sum.Incomplete}
}

func (c *changes) add(paths []string, incomplete bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sum.Incomplete = c.sum.Incomplete || incomplete
	for _, path := range paths {
		switch {
		case c.seen[path]:
			continue
		case len(c.sum.Paths) == maxChanges:
			c.sum.Incomplete = true
			return
		case c.seen == nil:
			c.seen = make(map[string]bool)
		}
		c.seen[path] = true
		c.sum.Paths = append(c.sum.Paths, path)
	}
}

// changed records changes for the turn, and for those that its session works for. Changes in a worktree are not those of others.
func (t *Turn) changed(paths []string, incomplete bool) {
	for ; t != nil; t = t.session.parent {
		if t.changes.add(paths, incomplete); t.session.worktree != nil {
			return
		}
	}
}
