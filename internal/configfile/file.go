package configfile

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gajae-code/gjc/internal/trust"
)

// Names returns the names of the configuration file of a subject ("lsp"). Earlier ones take precedence.
func Names(subject string) []string {
	return []string{subject + ".json", "." + subject + ".json", subject + ".yaml", "." + subject + ".yaml", subject + ".yml", "." + subject + ".yml"}
}

// Place is a directory that may hold configuration files.
type Place struct {
	Dir string
	// Within is the path relative to the workspace, with slashes; Project says that the place is in the workspace.
	Within  string
	Project bool
}

// UserPlaces returns the user's own directories. Later ones take precedence.
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

// ProjectPlaces returns the directories of a workspace. Later ones take precedence.
func ProjectPlaces(root string) []Place {
	return []Place{
		{Dir: filepath.Join(root, ".gemini"), Within: ".gemini", Project: true},
		{Dir: filepath.Join(root, ".gjc"), Within: ".gjc", Project: true},
		{Dir: root, Project: true},
	}
}

// ProjectFiles returns the names of a workspace's configuration files for a subject, with slashes.
func ProjectFiles(subject string) []string {
	var all []string
	for _, p := range ProjectPlaces("") {
		for _, name := range Names(subject) {
			all = append(all, path.Join(p.Within, name))
		}
	}
	return all
}

// File is a configuration file. Its parser sets the entries.
type File struct {
	Path string
	// Name is the path relative to the workspace, for a project's file.
	Name string
	Data []byte
	// Entries are the things that the file configures (servers, adapters).
	Entries []Entry
	// Settings are the members of the file that apply to all entries.
	Settings map[string]Value
	Problems []string
	// Runs describes what the file can run or change in what runs, for the user. If it is empty, the file needs no trust.
	Runs []string
}

// Entry is one thing that a file configures.
type Entry struct {
	Name   string
	Line   int
	Fields map[string]Value
}

// Value is a field and its position: "file:line".
type Value struct {
	*Node
	At string
}

const (
	// maxBytes bounds a configuration file.
	maxBytes = 1 << 20
	// maxProblems bounds the problems of one file.
	maxProblems = 50
)

// ReadPlace reads the files with the given names in a place, in reverse order: later files take precedence. seen has the paths that were
// read before, so that in a session in the home directory the user's own files do not count as a project's. A file that cannot be
// read is returned with its problem and without data.
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

// Read reads the file's data and reports whether the file exists. An error is added to the problems.
func (f *File) Read() (there bool) {
	data, err := f.read()
	if e, ok := err.(*fs.PathError); ok && e.Op == "stat" { //nolint:errorlint // the error of os itself
		return false // also if a part of the path is not a directory
	}
	if err != nil {
		f.Problems = []string{fmt.Sprintf("%s: %v; it is not used", f.Path, pathless(err))}
	}
	f.Data = data
	return true
}

func (f *File) read() ([]byte, error) {
	if f.Name == "" {
		return ReadFile(f.Path)
	}
	return ReadInside(strings.TrimSuffix(f.Path, filepath.FromSlash(f.Name)), f.Path)
}

// pathless returns the reason of a file error without the path.
func pathless(err error) error {
	if e, ok := err.(*fs.PathError); ok { //nolint:errorlint // the error of os itself; a wrapped one stays as it is
		return e.Err
	}
	return err
}

// Parse parses the file's data by the extension of its name. For an invalid file it returns nil and adds a problem; what is the contents
// of such a file ("server names").
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

// Broken adds the error of a parser to the problems; nothing in the file is used.
func (f *File) Broken(err error) {
	line, reason := 1, err.Error()
	if e, ok := err.(*LineError); ok { //nolint:errorlint // the parsers return it unwrapped
		line, reason = e.Line, e.Text
	}
	f.Problem(line, "%s; nothing in the file is used", reason)
}

// Problem adds a problem at a line.
func (f *File) Problem(line int, format string, args ...any) {
	if len(f.Problems) >= maxProblems {
		if len(f.Problems) == maxProblems {
			f.Problems = append(f.Problems, f.At(line)+": more problems follow")
		}
		return
	}
	f.Problems = append(f.Problems, fmt.Sprintf("%s:%d: ", f.Path, line)+fmt.Sprintf(format, args...))
}

// At returns the position of a line: "file:line".
func (f *File) At(line int) string { return f.Path + ":" + strconv.Itoa(line) }

// TrustFile returns the file for a question about trust.
func (f *File) TrustFile() trust.File { return trust.NewFile(f.Name, f.Data, f.Runs...) }
