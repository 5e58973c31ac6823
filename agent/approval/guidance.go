package approval

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/gajae-code/gjc/internal/places"
)

// ErrWithheld is wrapped by the error for a file of a workspace that is offered as instructions, a rule or a skill, and leads to
// one that holds secrets.
var ErrWithheld = errors.New("it is a link to a file with secrets, which models do not get")

// Guidance returns files, which lie below root, without those that hold secrets or are git's own, also with links resolved: what a
// workspace says to a model is sent without a question, and a link in a repository must not choose what that is.
func Guidance(root string, files fs.FS) fs.FS { return guidance{root, files} }

type guidance struct {
	root  string
	files fs.FS
}

func (g guidance) Open(name string) (fs.File, error) {
	if Withheld(filepath.Join(g.root, filepath.FromSlash(name))) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: ErrWithheld}
	}
	return g.files.Open(name)
}

func (g guidance) Stat(name string) (fs.FileInfo, error) {
	if Withheld(filepath.Join(g.root, filepath.FromSlash(name))) {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: ErrWithheld}
	}
	return fs.Stat(g.files, name)
}

func (g guidance) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(g.files, name) }

// Withheld reports whether a path leads to a file that holds secrets by its name, or lies in a directory of git or of keys, where
// it did not itself. One that leads nowhere is not.
func Withheld(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	at, behind := places.Names(path), places.Names(real)
	if places.SecretName(at) || places.SecretName(behind) {
		return true
	}
	return slices.ContainsFunc(behind, func(part string) bool {
		return (part == ".git" || part == ".ssh") && !slices.Contains(at, part)
	})
}
