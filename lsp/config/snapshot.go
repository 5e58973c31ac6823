package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/workspace"
	"github.com/gajae-code/gjc/lsp"
)

// snapshot is the configuration as read at one time.
type snapshot struct {
	*workspace.Config[*definition]
	idle time.Duration

	// markers are the names in all root markers, globs those with wildcards; in lower case if the file system ignores case.
	markers map[string]bool
	globs   []string

	specs   map[string]*lsp.Spec
	wrapped map[string]*lsp.Spec
}

// project is one root with its own configuration.
type project = workspace.Project[*definition]

// Files returns the names of the files in a workspace that configure language servers, with slashes.
func Files() []string { return configfile.ProjectFiles(source.Subject) }

// source says where the configuration is read from. It is never modified.
var source = &workspace.Source[*definition]{Subject: "lsp", Schema: schema, Merge: merge}

func newSnapshot(opts *Options, env []string) *snapshot {
	s := &snapshot{
		Config:  source.Read(opts, env),
		markers: make(map[string]bool), specs: make(map[string]*lsp.Spec), wrapped: make(map[string]*lsp.Spec),
	}
	for i, ws := range s.Projects {
		for _, d := range ws.All {
			s.watch(d.Strings("rootMarkers"))
			s.watch(d.loads())
		}
		for _, f := range ws.Used {
			if v, ok := f.Settings[keyIdle]; ok && i == 0 { // servers are shared among roots, so the first root decides
				s.idle, _ = configfile.Milliseconds(v.Node)
			}
		}
	}
	return s
}

// watch records the names in root markers.
func (s *snapshot) watch(markers []string) {
	for _, m := range markers {
		for part := range strings.SplitSeq(filepath.ToSlash(m), "/") {
			if workspace.Folds(s.GOOS) {
				part = strings.ToLower(part)
			}
			if !workspace.IsPattern(part) {
				s.markers[part] = true
			} else if !slices.Contains(s.globs, part) {
				s.globs = append(s.globs, part)
			}
		}
	}
}

// Concerns implements [workspace.Snapshot].
func (s *snapshot) Concerns(file string) bool {
	file = filepath.Clean(file)
	base := filepath.Base(file)
	if slices.Contains(configfile.Names(source.Subject), base) {
		return true
	}
	for _, ws := range s.Projects {
		rel, in := workspace.Within(ws.Root, file, s.GOOS)
		if !in {
			// The path may be a parent directory.
			if _, above := workspace.Within(file, ws.Root, s.GOOS); above {
				return true
			}
			continue
		}
		name := base
		if workspace.Folds(s.GOOS) {
			name, rel = strings.ToLower(name), strings.ToLower(rel)
		}
		if s.markers[name] || slices.ContainsFunc(s.globs, func(g string) bool { return workspace.MatchName(g, name, false) }) {
			return true
		}
		for _, dir := range workspace.LocalDirs(s.GOOS) {
			dir = strings.ToLower(dir)
			first, _, _ := strings.Cut(dir, "/")
			if name == first || strings.Contains("/"+rel+"/", "/"+dir+"/") {
				return true
			}
		}
	}
	// A created or deleted directory changes the files in it too.
	return s.Listed(file)
}

// usable is a server that can be used, and its root.
type usable struct {
	def  *definition
	ws   *project
	root string
	spec *lsp.Spec
}

func linterOrder(u usable) int {
	if u.spec.Linter {
		return 1
	}
	return 0
}

// projectOf returns the innermost root that contains a file, or nil.
func (s *snapshot) projectOf(file string) *project { return s.ProjectAt(s.RootOf(file)) }

// forFile returns the servers for a file, linters last.
func (s *snapshot) forFile(file string) []usable {
	ws := s.projectOf(file)
	if ws == nil {
		return nil
	}
	base := filepath.Base(file)
	return s.choose(ws, filepath.Dir(file), func(d *definition) string {
		if !lsp.Takes(d.Strings("fileTypes"), base) {
			return ""
		}
		return s.markedRoot(ws, d, filepath.Dir(file))
	})
}

// forRoot returns the servers that have a marker in the workspace's root.
func (s *snapshot) forRoot(ws *project) []usable {
	return s.choose(ws, ws.Root, func(d *definition) string {
		if s.rootMarked(ws, d) {
			return ws.Root
		}
		return ""
	})
}

// rootMarked reports whether a workspace's root or its repository has a marker of a server. In either case the server runs in the
// root.
func (s *snapshot) rootMarked(ws *project, d *definition) bool {
	return s.MarkedRoot(ws.Root, d.Strings("rootMarkers"))
}

// markedRoot returns the root of a server for files in dir: the workspace's root if it has a marker, otherwise the nearest parent
// with a marker, otherwise "".
func (s *snapshot) markedRoot(ws *project, d *definition, dir string) string {
	if s.rootMarked(ws, d) {
		return ws.Root
	}
	for {
		rel, in := workspace.Within(ws.Root, dir, s.GOOS)
		if !in || rel == "" {
			return ""
		}
		if s.Marked(dir, d.Strings("rootMarkers")) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// choose returns the usable servers for files in dir. It omits servers for which rootOf returns "", and those that another one
// supersedes.
func (s *snapshot) choose(ws *project, dir string, rootOf func(*definition) string) []usable {
	var all []usable
	if !ws.FilesTrusted {
		// Record what the servers in the project's files would run, for the question.
		for _, d := range ws.All {
			if root := rootOf(d); root != "" && !d.disabled() {
				s.NoteProgram(s.find(d, root, ws))
			}
		}
	}
	for _, d := range ws.Defs {
		root := rootOf(d)
		if root == "" || d.disabled() || d.unsupported() != "" {
			continue
		}
		if spec, _ := s.spec(ws, d, root, dir); spec != nil {
			all = append(all, usable{def: d, ws: ws, root: root, spec: spec})
		}
	}
	all = slices.DeleteFunc(slices.Clone(all), func(u usable) bool { return supersededBy(u, all) != "" })
	slices.SortStableFunc(all, func(a, b usable) int { return linterOrder(a) - linterOrder(b) })
	return all
}

// matters reports whether trust would change the servers for a file.
func (s *snapshot) matters(ws *project, file string) bool {
	base := filepath.Base(file)
	return slices.ContainsFunc(ws.All, func(d *definition) bool {
		if d.disabled() || !lsp.Takes(d.Strings("fileTypes"), base) {
			return false
		}
		root := s.markedRoot(ws, d, filepath.Dir(file))
		if root == "" {
			return false
		}
		f := s.find(d, root, ws)
		return f.Local != "" && !s.Trusts(f.Of) || slices.ContainsFunc(ws.Ignored, d.From) ||
			f.Path != "" && !ws.ProgramsTrusted && s.loaded(ws, d, s.loadsFrom(d, root, filepath.Dir(file))) != ""
	})
}

// supersededBy returns the name of the server in all that supersedes u, or "".
func supersededBy(u usable, all []usable) string {
	for _, o := range all {
		if o.def != u.def && slices.Contains(o.def.Strings("supersedes"), u.def.Name) && !slices.Contains(u.def.Strings("supersedes"), o.def.Name) {
			return o.def.Name
		}
	}
	return ""
}

// unsupported returns why a program cannot be used as a language server, or "".
func (d *definition) unsupported() string {
	if args := d.Strings("args"); len(args) > 0 {
		return notLSP[d.command()+" "+args[0]]
	}
	return ""
}

// program returns the path of a server's program, or why it cannot be used.
func (s *snapshot) program(ws *project, d *definition, root string) (program, why string) {
	f := s.find(d, root, ws)
	s.NoteProgram(f)
	switch {
	case f.Local != "" && s.Trusts(f.Of):
		return f.Local, ""
	case f.Path != "":
		return f.Path, ""
	case f.Local != "":
		return "", fmt.Sprintf("%s is the project's own program and is not run, because %s", f.Local, s.ProjectAt(f.Of).Reason())
	default:
		return "", f.Why
	}
}

// find finds a server's program.
func (s *snapshot) find(d *definition, root string, ws *project) workspace.Found {
	f := s.Find(d.command(), root, ws.Root)
	if how := install()[d.command()]; f.Why != "" && how != "" {
		f.Why += "; to get it: " + how
	}
	return f
}

// loadsFrom returns the directory in which a server begins its search for files to load, for files in dir. TypeScript's server
// searches only once, from root.
func (s *snapshot) loadsFrom(d *definition, root, dir string) string {
	if slices.Equal(d.loads(), loadsProject[typescriptServer]) {
		return root
	}
	return dir
}

// spec returns the spec of a server for files in dir, or why it cannot be used. A snapshot always returns the same pointer for a
// server.
func (s *snapshot) spec(ws *project, d *definition, root, dir string) (spec *lsp.Spec, why string) {
	program, why := s.program(ws, d, root)
	if program == "" {
		return nil, why
	}
	key := strings.Join([]string{ws.Root, d.Name, root, program}, "\x00")
	loaded := s.loaded(ws, d, s.loadsFrom(d, root, dir))
	if loaded != "" && !ws.ProgramsTrusted {
		ws.AddProgram(loaded, s.GOOS)
		if d, why = s.withoutLoads(ws, d, program, loaded); d == nil {
			return nil, why
		}
		key, loaded = key+"\x00without", ""
	}
	own := (loaded != "" || s.Owner(program) != "") && !d.excepted()
	if own {
		key += "\x00own"
	}
	if spec, ok := s.specs[key]; ok {
		return spec, ""
	}
	made := d.spec(program)
	made.Outside = made.Outside && !own
	s.specs[key] = made
	return made, ""
}

// unused returns the servers that are not used, the most nearly usable first.
func (s *snapshot) unused(used []usable) []lsp.Unused {
	var lists [5][]lsp.Unused
	seen := make(map[string]bool)
	for _, ws := range s.Projects {
		ready := s.forRoot(ws)
		for _, d := range ws.Defs {
			if seen[d.Name] || slices.ContainsFunc(used, func(u usable) bool { return u.def.Name == d.Name }) {
				continue
			}
			seen[d.Name] = true
			rank, why := s.reason(ws, d, ready)
			lists[rank] = append(lists[rank], lsp.Unused{
				Name: d.Name, Why: why, FileTypes: d.Strings("fileTypes"), Elsewhere: rank == unmarked || rank == 0 && s.onlyVersioned(ws, d),
			})
		}
	}
	return slices.Concat(lists[:]...)
}

// onlyVersioned reports whether the only marker of a server is that of the version control.
func (s *snapshot) onlyVersioned(ws *project, d *definition) bool {
	markers := slices.DeleteFunc(slices.Clone(d.Strings("rootMarkers")), func(m string) bool { return m == ".git" })
	return !s.Marked(ws.Root, markers)
}

// unmarked is the rank of servers without a root marker in the workspace.
const unmarked = 4

// reason returns why a server is not used in a workspace's root, and its rank: the lower, the closer the server is to being usable.
func (s *snapshot) reason(ws *project, d *definition, ready []usable) (rank int, why string) {
	if d.disabled() {
		return 3, "turned off in " + d.Fields["disabled"].At
	}
	markers := d.Strings("rootMarkers")
	if !s.rootMarked(ws, d) {
		return unmarked, fmt.Sprintf("none of %s is in %s; it starts for a file in a directory that has one", strings.Join(configfile.Shorten(markers, 6), ", "), ws.Root)
	}
	if why := d.unsupported(); why != "" {
		return 2, why
	}
	spec, why := s.spec(ws, d, ws.Root, ws.Root)
	if spec == nil {
		return 0, why
	}
	if by := supersededBy(usable{def: d}, ready); by != "" {
		return 1, by + " is used instead"
	}
	return 0, "it is not used here" // another root has a server of the same name
}
