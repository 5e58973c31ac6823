package agent

import (
	"path/filepath"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/approval/shell"
)

// sharedTemp is where commands inside the boundary find the session's own directory for temporary files instead of the machine's.
const sharedTemp = "/tmp"

// temporary is the session's directory for temporary files.
type temporary struct {
	terminal TempTerminal
	boundary *approval.Boundary
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
	given := Workspace{Cwd: o.Workspace.Cwd, Additional: o.Workspace.Additional}
	o.Workspace.temp = &temporary{terminal: terminal, boundary: &o.Policy.Boundary, files: o.FS, roots: [2]*Workspace{&given, o.Workspace.real()}}
}

// dir returns the directory if it exists, or "".
func (t *temporary) dir() string {
	if t == nil {
		return ""
	}
	return t.terminal.ExistingTempDir()
}

// place returns where the files of a clean path are: those in /tmp are in the session's directory.
func (t *temporary) place(path string) string {
	if t == nil || !shell.Within(sharedTemp, path) || t.roots[0].Contains(path) {
		return path
	}
	real := t.files.RealPath(path)
	if t.roots[0].Contains(real) || t.roots[1].Contains(real) || !t.boundary.PrivateTemp() {
		return path
	}
	for _, shared := range t.boundary.Write {
		if shell.Within(shared, path) || shell.Within(shared, real) {
			return path
		}
	}
	dir, err := t.terminal.TempDir()
	if err != nil || shell.Within(dir, path) {
		return path
	}
	rel, err := filepath.Rel(sharedTemp, path)
	if err != nil {
		return path
	}
	return filepath.Join(dir, rel)
}

// shown returns the path in /tmp by which the session's commands find a path; ok is false for a path elsewhere.
func (t *temporary) shown(path string) (in string, ok bool) {
	dir := t.dir()
	if dir == "" || !shell.Within(dir, path) || !t.boundary.PrivateTemp() {
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
