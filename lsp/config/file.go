package config

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gajae-code/gjc/internal/trust"
)

// FileNames are the names of a configuration file, those that count more first.
func FileNames() []string {
	return []string{"lsp.json", ".lsp.json", "lsp.yaml", ".lsp.yaml", "lsp.yml", ".lsp.yml"}
}

// place is a directory that may hold configuration files.
type place struct {
	dir string
	// within is the place's path below the workspace, with slashes; project says that it is one of the workspace's own.
	within  string
	project bool
}

// userPlaces are the user's own directories, those that count less first.
func userPlaces(home, agentDir string) []place {
	var all []place
	if home != "" {
		all = append(all, place{dir: home}, place{dir: filepath.Join(home, ".gemini")})
	}
	if agentDir != "" {
		all = append(all, place{dir: agentDir})
	}
	return all
}

// projectPlaces are the directories of a workspace, those that count less first.
func projectPlaces(root string) []place {
	return []place{
		{dir: filepath.Join(root, ".gemini"), within: ".gemini", project: true},
		{dir: filepath.Join(root, ".gjc"), within: ".gjc", project: true},
		{dir: root, project: true},
	}
}

// file is one configuration file.
type file struct {
	path string
	// name is the path below the workspace, for a project's own.
	name     string
	data     []byte
	servers  []server
	idle     *time.Duration
	problems []string
	// runs tells people what the file can make run, or change in what runs. If it is empty, the file needs no trust.
	runs []string
}

// server is what a file says of a server.
type server struct {
	name   string
	line   int
	fields map[string]value
}

// value is a field and where it stands: "file:line".
type value struct {
	*node
	at string
}

// mostBytes bounds a configuration file, mostProblems what is told of one.
const (
	mostBytes    = 1 << 20
	mostProblems = 50
)

// readPlace reads the files of a place, those that count less first. seen has the paths that were read already: a session
// in the home directory must not take the user's own files for a project's.
func readPlace(p place, seen map[string]bool) []*file {
	var all []*file
	names := FileNames()
	slices.Reverse(names)
	for _, name := range names {
		f := &file{path: filepath.Join(p.dir, name)}
		if p.project {
			f.name = path.Join(p.within, name)
		}
		if seen[f.path] {
			continue
		}
		// A pipe or a device of that name would never end.
		info, err := os.Stat(f.path)
		if err != nil {
			continue
		}
		seen[f.path] = true
		switch {
		case !info.Mode().IsRegular():
			f.problems = []string{f.path + ": this is no regular file; it is not used"}
		case info.Size() > mostBytes:
			f.problems = []string{fmt.Sprintf("%s: the file is larger than %d bytes; it is not used", f.path, mostBytes)}
		default:
			if f.data, err = os.ReadFile(f.path); err != nil {
				f.problems = []string{fmt.Sprintf("%s: %v", f.path, pathless(err))}
				break
			}
			f.parse()
		}
		all = append(all, f)
	}
	return all
}

// pathless is the reason of a file error without the path, which stands before it already.
func pathless(err error) error {
	if e, ok := err.(*fs.PathError); ok { //nolint:errorlint // the error of os itself; a wrapped one is told as it is
		return e.Err
	}
	return err
}

// parse reads the file's data.
func (f *file) parse() {
	read := parseYAML
	if path.Ext(f.path) == ".json" {
		read = parseJSON
	}
	top, err := read(f.data)
	if err != nil {
		line, reason := 1, err.Error()
		if e, ok := err.(*fault); ok { //nolint:errorlint // the readers return it as it is
			line, reason = e.line, e.text
		}
		f.problem(line, "%s; nothing of the file is used", reason)
		return
	}
	if top == nil {
		return
	}
	if top.kind != object {
		f.problem(top.line, "the file must be a mapping of server names to settings, not %s; it is not used", top.kind)
		return
	}
	f.top(top)
}

func (f *file) problem(line int, format string, args ...any) {
	if len(f.problems) >= mostProblems {
		if len(f.problems) == mostProblems {
			f.problems = append(f.problems, f.at(line)+": and from here on more is wrong")
		}
		return
	}
	f.problems = append(f.problems, fmt.Sprintf("%s:%d: ", f.path, line)+fmt.Sprintf(format, args...))
}

// The names at the top of a file.
const (
	keyServers = "servers"
	keyIdle    = "idleTimeoutMs"
	keySchema  = "$schema"
)

// leastIdle is the shortest time after which an unused server may be ended: one that is started for each step is slower
// than none.
const leastIdle = 10 * time.Second

func (f *file) top(top *node) {
	wrapped := top.member(keyServers) != nil
	for _, m := range top.members {
		switch {
		case m.name == keySchema:
		case m.name == keyIdle:
			idle, ok := milliseconds(m.value)
			switch {
			case !ok || idle < 0 || idle > 0 && idle < leastIdle:
				f.problem(m.line, "%s must be a number of milliseconds, at least %d, or 0 for never; it is not used", keyIdle, leastIdle.Milliseconds())
			default:
				f.idle = &idle
				how := "never"
				if idle > 0 {
					how = "after " + idle.String()
				}
				f.runs = append(f.runs, "servers that nobody uses are ended "+how)
			}
		case m.name == keyServers:
			if m.value.kind != object {
				f.problem(m.line, "servers must be a mapping of names to settings, not %s", m.value.kind)
				continue
			}
			for _, s := range m.value.members {
				f.server(s)
			}
		case wrapped:
			f.problem(m.line, "unknown field %s%s; servers stand below \"servers\"", quote(m.name), meant(m.name, []string{keyIdle, keySchema}))
		case m.value.kind == object && near(m.name, []string{keyServers}) != "" && onlyObjects(m.value):
			f.problem(m.line, "unknown field %s; did you mean \"servers\"?", quote(m.name))
		case m.value.kind != object && near(m.name, []string{keyIdle}) != "":
			f.problem(m.line, "unknown field %s; did you mean %q?", quote(m.name), keyIdle)
		default:
			f.server(m)
		}
	}
}

func onlyObjects(n *node) bool {
	return len(n.members) > 0 && !slices.ContainsFunc(n.members, func(m member) bool { return m.value.kind != object })
}

func (f *file) at(line int) string { return f.path + ":" + strconv.Itoa(line) }

// server reads one server of the file. What is wrong in it is told and left out.
func (f *file) server(m member) {
	if m.value.kind != object {
		f.problem(m.line, "server %s must be a mapping, not %s; to turn a server off, say disabled: true in it", quote(m.name), m.value.kind)
		return
	}
	s := server{name: m.name, line: m.line, fields: make(map[string]value)}
	for _, field := range m.value.members {
		want, known := fieldTypes[field.name]
		switch {
		case field.name == "resolvedCommand":
			f.problem(field.line, "%s.resolvedCommand is found out at run time; leave it out", quote(m.name))
		case field.name == keyIdle:
			f.problem(field.line, "%s holds for all servers; it stands at the top of the file", keyIdle)
		case !known:
			f.problem(field.line, "unknown field %s of server %s%s", quote(field.name), quote(m.name), meant(field.name, fieldNames()))
		default:
			if reason := want.check(field.value); reason != "" {
				f.problem(field.line, "%s of server %s must be %s; it is not used", field.name, quote(m.name), reason)
				continue
			}
			s.fields[field.name] = value{field.value, f.at(field.line)}
			if run := f.run(m.name, field, m.value); run != "" {
				f.runs = append(f.runs, run)
			}
			if field.name == "capabilities" {
				for _, c := range field.value.members {
					if known := capabilities(); !slices.Contains(known, c.name) {
						f.problem(c.line, "unknown capability %s of server %s%s", quote(c.name), quote(m.name), meant(c.name, known))
					}
				}
			}
		}
	}
	f.servers = append(f.servers, s)
}

// run says what a field can make run, for people, or "" where it can do no harm. Settings are among it because many
// servers take commands in them, and so is everything that starts a server which would not be started otherwise.
func (f *file) run(name string, field member, all *node) string {
	who := "server " + quote(name)
	switch field.name {
	case "command":
		words := []string{field.value.text}
		if args := all.member("args"); args != nil && fieldTypes["args"].check(args) == "" {
			words = append(words, args.strings()...)
		}
		return who + " runs: " + strings.Join(words, " ")
	case "args":
		if all.member("command") != nil {
			return ""
		}
		return who + " has the arguments: " + strings.Join(field.value.strings(), " ")
	case "settings", "initOptions":
		return who + " has " + field.name + ": " + string(field.value.json())
	case "fileTypes", "rootMarkers":
		return who + " has " + field.name + ": " + strings.Join(field.value.strings(), " ")
	case "disabled":
		if field.value.text == "false" {
			return who + " is turned on"
		}
	}
	return ""
}

// trustFile is the file as something to be trusted.
func (f *file) trustFile() trust.File { return trust.NewFile(f.name, f.data, f.runs...) }

// milliseconds reads a whole or broken number of milliseconds, of at most a year.
func milliseconds(n *node) (time.Duration, bool) {
	if n.kind != number {
		return 0, false
	}
	ms, err := strconv.ParseFloat(n.text, 64)
	if err != nil || ms > 366*24*3600*1000 || ms < -1 {
		return 0, false
	}
	return time.Duration(ms * float64(time.Millisecond)), true
}

func quote(s string) string { return `"` + trust.Printable(s) + `"` }

func meant(name string, known []string) string {
	if k := near(name, known); k != "" {
		return fmt.Sprintf("; did you mean %q?", k)
	}
	return ""
}
