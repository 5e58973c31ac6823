package configfile

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/gajae-code/gjc/internal/trust"
)

// Names are the names of the configuration file of a subject ("lsp"), those that count more first.
func Names(subject string) []string {
	return []string{subject + ".json", "." + subject + ".json", subject + ".yaml", "." + subject + ".yaml", subject + ".yml", "." + subject + ".yml"}
}

// Place is a directory that may hold configuration files.
type Place struct {
	Dir string
	// Within is the place's path below the workspace, with slashes; Project says that it is one of the workspace's own.
	Within  string
	Project bool
}

// UserPlaces are the user's own directories, those that count less first.
func UserPlaces(home, agentDir string) []Place {
	var all []Place
	if home != "" {
		all = append(all, Place{Dir: home}, Place{Dir: filepath.Join(home, ".gemini")})
	}
	if agentDir != "" {
		all = append(all, Place{Dir: agentDir})
	}
	return all
}

// ProjectPlaces are the directories of a workspace, those that count less first.
func ProjectPlaces(root string) []Place {
	return []Place{
		{Dir: filepath.Join(root, ".gemini"), Within: ".gemini", Project: true},
		{Dir: filepath.Join(root, ".gjc"), Within: ".gjc", Project: true},
		{Dir: root, Project: true},
	}
}

// File is one configuration file. Its reader fills in what it says.
type File struct {
	Path string
	// Name is the path below the workspace, for a project's own.
	Name string
	Data []byte
	// Entries are the things that the file configures (servers, adapters).
	Entries  []Entry
	Problems []string
	// Runs tells people what the file can make run, or change in what runs. If it is empty, the file needs no trust.
	Runs []string
}

// Entry is what a file says of one thing.
type Entry struct {
	Name   string
	Line   int
	Fields map[string]Value
}

// Value is a field and where it stands: "file:line".
type Value struct {
	*Node
	At string
}

const (
	// MaxBytes bounds a configuration file.
	MaxBytes = 1 << 20
	// mostProblems bounds what is told of one.
	mostProblems = 50
)

// ReadPlace reads the files of those names in a place, those that count less first; names has those that count more first.
// Seen has the paths that were read already: a session in the home directory must not take the user's own files for a
// project's. What can not be read is among the files, with its problem and without data.
func ReadPlace(p Place, names []string, seen map[string]bool) []*File {
	var all []*File
	for _, name := range slices.Backward(names) {
		f := &File{Path: filepath.Join(p.Dir, name)}
		if p.Project {
			f.Name = path.Join(p.Within, name)
		}
		if seen[f.Path] || !f.Read() {
			continue
		}
		seen[f.Path] = true
		all = append(all, f)
	}
	return all
}

// Read reads the file's data and reports whether the file is there. What keeps it from being read is a problem.
func (f *File) Read() (there bool) {
	data, err := ReadFile(f.Path)
	if e, ok := err.(*fs.PathError); ok && e.Op == "stat" { //nolint:errorlint // the error of os itself
		return false // also where a part of the path is no directory
	}
	if err != nil {
		f.Problems = []string{fmt.Sprintf("%s: %v; it is not used", f.Path, pathless(err))}
	}
	f.Data = data
	return true
}

// pathless is the reason of a file error without the path, which stands before it already.
func pathless(err error) error {
	if e, ok := err.(*fs.PathError); ok { //nolint:errorlint // the error of os itself; a wrapped one is told as it is
		return e.Err
	}
	return err
}

// Parse reads the file's data by the ending of its name. Of a file that can not be used it returns nil, and a problem; what
// says what such a file has ("server names").
func (f *File) Parse(what string) *Node {
	read := ParseYAML
	if path.Ext(f.Path) == ".json" {
		read = ParseJSON
	}
	top, err := read(f.Data)
	if err != nil {
		f.Broken(err)
		return nil
	}
	if top == nil {
		return nil
	}
	if top.Kind != Object {
		f.Problem(top.Line, "the file must be a mapping of %s to settings, not %s; it is not used", what, top.Kind)
		return nil
	}
	return top
}

// Broken takes down an error of a reader, because of which nothing of the file is used.
func (f *File) Broken(err error) {
	line, reason := 1, err.Error()
	if e, ok := err.(*LineError); ok { //nolint:errorlint // the readers return it as it is
		line, reason = e.Line, e.Text
	}
	f.Problem(line, "%s; nothing of the file is used", reason)
}

// Problem takes down what is wrong at a line.
func (f *File) Problem(line int, format string, args ...any) {
	if len(f.Problems) >= mostProblems {
		if len(f.Problems) == mostProblems {
			f.Problems = append(f.Problems, f.At(line)+": and from here on more is wrong")
		}
		return
	}
	f.Problems = append(f.Problems, fmt.Sprintf("%s:%d: ", f.Path, line)+fmt.Sprintf(format, args...))
}

// At is a line of the file: "file:line".
func (f *File) At(line int) string { return f.Path + ":" + strconv.Itoa(line) }

// TrustFile is the file as something to be trusted.
func (f *File) TrustFile() trust.File { return trust.NewFile(f.Name, f.Data, f.Runs...) }
