package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gajae-code/gjc/internal/trust"
	"github.com/gajae-code/gjc/lsp"
)

// snapshot is everything as it was read at one time. What it lists and finds it keeps.
type snapshot struct {
	opts       *Options
	env        []string
	stamp      string // of the answers about trust
	read       time.Time
	workspaces []*workspace
	problems   []string
	idle       time.Duration
	// trustError is why no answer could be read.
	trustError error

	// markers are the names in all root markers, globs those with wildcards; folded where the system folds names.
	markers map[string]bool
	globs   []string

	dirs     map[string]directory
	programs map[string]found
	specs    map[string]*lsp.Spec
	wrapped  map[string]*lsp.Spec
}

// workspace is one root with its own configuration.
type workspace struct {
	root string
	// defs are the servers as they hold now, all those that there would be with trust.
	defs, all []*definition
	// files need trust; ignored are those of them that do not have it.
	files, ignored []*file
	// programs are those of the project that would be run with trust, and what servers would load, as paths below root.
	programs                      []string
	filesTrusted, programsTrusted bool
	state                         trust.State
}

// subject is the workspace as the user is asked about it.
func (ws *workspace) subject() *trust.Subject {
	sub := &trust.Subject{Path: ws.root, Programs: slices.Sorted(slices.Values(ws.programs))}
	for _, f := range ws.files {
		sub.Files = append(sub.Files, f.trustFile())
	}
	return sub
}

// how says why the workspace's own things are not used, and what the user can do.
func (ws *workspace) how() string {
	if ws.state == trust.Denied {
		return "you have denied this workspace to run commands of its own; \"gjc trust add " + ws.root + "\" allows it"
	}
	return "the workspace is not trusted yet; trust it when the editor asks, or with \"gjc trust add " + ws.root + "\""
}

func newSnapshot(opts *Options, env []string) *snapshot {
	s := &snapshot{
		opts: opts, env: env, read: time.Now(),
		markers: make(map[string]bool), dirs: make(map[string]directory), programs: make(map[string]found),
		specs: make(map[string]*lsp.Spec), wrapped: make(map[string]*lsp.Spec),
	}
	seen := make(map[string]bool)
	var user []*file
	for _, p := range userPlaces(opts.Home, opts.AgentDir) {
		user = append(user, readPlace(p, seen)...)
	}
	s.tell(user)
	for _, root := range opts.Roots {
		var own []*file
		for _, p := range projectPlaces(root) {
			own = append(own, readPlace(p, seen)...)
		}
		s.tell(own)
		ws := s.newWorkspace(root, user, own)
		s.workspaces = append(s.workspaces, ws)
		for _, d := range ws.all {
			s.watch(d.texts("rootMarkers"))
			s.watch(d.loads())
		}
	}
	return s
}

// watch remembers the names in root markers.
func (s *snapshot) watch(markers []string) {
	for _, m := range markers {
		for part := range strings.SplitSeq(filepath.ToSlash(m), "/") {
			if folds(s.opts.GOOS) {
				part = strings.ToLower(part)
			}
			if !isPattern(part) {
				s.markers[part] = true
			} else if !slices.Contains(s.globs, part) {
				s.globs = append(s.globs, part)
			}
		}
	}
}

// concerns reports whether a change of a file can make the snapshot wrong.
func (s *snapshot) concerns(file string) bool {
	file = filepath.Clean(file)
	base := filepath.Base(file)
	if slices.Contains(FileNames(), base) {
		return true
	}
	for _, ws := range s.workspaces {
		rel, in := within(ws.root, file, s.opts.GOOS)
		if !in {
			// The file may be a directory above.
			if _, above := within(file, ws.root, s.opts.GOOS); above {
				return true
			}
			continue
		}
		name := base
		if folds(s.opts.GOOS) {
			name, rel = strings.ToLower(name), strings.ToLower(rel)
		}
		if s.markers[name] || slices.ContainsFunc(s.globs, func(g string) bool { return matchName(g, name, false) }) {
			return true
		}
		for _, dir := range localDirs(s.opts.GOOS) {
			dir = strings.ToLower(dir)
			first, _, _ := strings.Cut(dir, "/")
			if name == first || strings.Contains("/"+rel+"/", "/"+dir+"/") {
				return true
			}
		}
	}
	// A directory that came or went took along what was in it.
	_, listed := s.dirs[file]
	return listed
}

// tell takes over the problems of files.
func (s *snapshot) tell(files []*file) {
	for _, f := range files {
		s.problems = append(s.problems, f.problems...)
	}
}

func (s *snapshot) newWorkspace(root string, user, own []*file) *workspace {
	ws := &workspace{root: root}
	for _, f := range own {
		if len(f.runs) > 0 {
			ws.files = append(ws.files, f)
		}
	}
	files := ws.subject()
	ws.filesTrusted = files.Empty()
	if !files.Empty() {
		verdict := s.ask(files)
		ws.filesTrusted, ws.state = verdict.State == trust.Trusted, verdict.State
	}
	// Which programs there are is found out as they are looked for; the answer does not depend on it.
	files.Programs = []string{"any"}
	verdict := s.ask(files)
	ws.programsTrusted = verdict.State == trust.Trusted
	if len(ws.files) == 0 {
		ws.state = verdict.State
	}
	used := own
	if !ws.filesTrusted {
		ws.ignored = ws.files
		used = slices.DeleteFunc(slices.Clone(own), func(f *file) bool { return slices.Contains(ws.files, f) })
	}
	var problems []string
	ws.all, problems = merge(append(slices.Clone(user), own...))
	ws.defs = ws.all
	if !ws.filesTrusted {
		ws.defs, problems = merge(append(slices.Clone(user), used...))
	}
	for _, p := range problems {
		if !slices.Contains(s.problems, p) { // the user's files are merged for each root
			s.problems = append(s.problems, p)
		}
	}
	if len(s.workspaces) == 0 { // servers are shared among roots, so the first root speaks for all
		for _, f := range append(slices.Clone(user), used...) {
			if f.idle != nil {
				s.idle = *f.idle
			}
		}
	}
	return ws
}

func (s *snapshot) ask(sub *trust.Subject) trust.Verdict {
	v, err := s.opts.Trust.Look(sub)
	if err != nil {
		s.trustError = err
	}
	return v
}

// list gives the names in a directory.
func (s *snapshot) list(dir string) directory {
	names, ok := s.dirs[dir]
	if !ok {
		names = readNames(dir)
		s.dirs[dir] = names
	}
	return names
}

// usable is a server that can be used, and where.
type usable struct {
	def  *definition
	ws   *workspace
	root string
	spec *lsp.Spec
}

func linterOrder(u usable) int {
	if u.spec.Linter {
		return 1
	}
	return 0
}

// workspaceOf returns the innermost root that contains a file, or nil.
func (s *snapshot) workspaceOf(file string) *workspace {
	var best *workspace
	for _, ws := range s.workspaces {
		if _, in := within(ws.root, file, s.opts.GOOS); in && (best == nil || len(ws.root) > len(best.root)) {
			best = ws
		}
	}
	return best
}

// forFile returns the servers for a file, those that know types first.
func (s *snapshot) forFile(file string) []usable {
	ws := s.workspaceOf(file)
	if ws == nil {
		return nil
	}
	base := filepath.Base(file)
	return s.choose(ws, filepath.Dir(file), func(d *definition) string {
		if !lsp.Takes(d.texts("fileTypes"), base) {
			return ""
		}
		return s.markedRoot(ws, d, filepath.Dir(file))
	})
}

// forRoot returns the servers that have a marker in the workspace's root itself.
func (s *snapshot) forRoot(ws *workspace) []usable {
	return s.choose(ws, ws.root, func(d *definition) string {
		if s.rootMarked(ws, d) {
			return ws.root
		}
		return ""
	})
}

func (s *snapshot) marked(dir string, d *definition) bool {
	return hasMarker(dir, d.texts("rootMarkers"), s.opts.GOOS, s.list)
}

// rootMarked reports whether a workspace's root has a marker, or lies in a repository that has one above it: an editor may
// be open on a part of a project. The server looks for the rest itself; it runs in the root in either case.
func (s *snapshot) rootMarked(ws *workspace, d *definition) bool {
	if s.marked(ws.root, d) {
		return true
	}
	for _, dir := range s.above(ws.root) {
		if s.marked(dir, d) {
			return true
		}
	}
	return false
}

// above returns the directories between dir and the top of the repository that it lies in, both but dir; none where dir
// is the top, or in no repository.
func (s *snapshot) above(dir string) []string {
	var dirs []string
	for at := dir; ; {
		if s.list(at)[".git"] {
			return dirs
		}
		parent := filepath.Dir(at)
		if parent == at {
			return nil
		}
		at = parent
		dirs = append(dirs, at)
	}
}

// markedRoot returns the directory to run a server in for files in dir: the workspace's root if it has a marker, else the
// nearest directory above the file that has one, else "".
func (s *snapshot) markedRoot(ws *workspace, d *definition, dir string) string {
	if s.rootMarked(ws, d) {
		return ws.root
	}
	for {
		rel, in := within(ws.root, dir, s.opts.GOOS)
		if !in || rel == "" {
			return ""
		}
		if s.marked(dir, d) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// choose returns the servers that are usable for work in dir among those that rootOf has a directory for.
func (s *snapshot) choose(ws *workspace, dir string, rootOf func(*definition) string) []usable {
	var all []usable
	if !ws.filesTrusted {
		// What the servers of the project's files would run is part of the question.
		for _, d := range ws.all {
			if root := rootOf(d); root != "" && !d.disabled() {
				s.note(s.find(d.command(), root, ws))
			}
		}
	}
	for _, d := range ws.defs {
		root := rootOf(d)
		if root == "" || d.disabled() || d.foreign() != "" {
			continue
		}
		if spec, _ := s.spec(ws, d, root, dir); spec != nil {
			all = append(all, usable{def: d, ws: ws, root: root, spec: spec})
		}
	}
	all = slices.DeleteFunc(slices.Clone(all), func(u usable) bool { return superseding(u, all) != "" })
	slices.SortStableFunc(all, func(a, b usable) int { return linterOrder(a) - linterOrder(b) })
	return all
}

// matters reports whether trust would change anything about the servers for a file.
func (s *snapshot) matters(ws *workspace, file string) bool {
	base := filepath.Base(file)
	return slices.ContainsFunc(ws.all, func(d *definition) bool {
		if d.disabled() || !lsp.Takes(d.texts("fileTypes"), base) {
			return false
		}
		root := s.markedRoot(ws, d, filepath.Dir(file))
		if root == "" {
			return false
		}
		f := s.find(d.command(), root, ws)
		return f.local != "" && !f.of.programsTrusted || slices.ContainsFunc(ws.ignored, d.from) ||
			f.path != "" && !ws.programsTrusted && s.loaded(ws, d, s.loadsFrom(d, root, filepath.Dir(file))) != ""
	})
}

// superseding returns the name of the server in all that makes u superfluous, or "".
func superseding(u usable, all []usable) string {
	for _, o := range all {
		if o.def != u.def && slices.Contains(o.def.texts("supersedes"), u.def.name) && !slices.Contains(u.def.texts("supersedes"), o.def.name) {
			return o.def.name
		}
	}
	return ""
}

// foreign says why a server can not be one, or "".
func (d *definition) foreign() string {
	if args := d.texts("args"); len(args) > 0 {
		return notLSP[d.command()+" "+args[0]]
	}
	return ""
}

// program returns the program of a server, or why there is none.
func (s *snapshot) program(ws *workspace, d *definition, root string) (program, why string) {
	f := s.find(d.command(), root, ws)
	s.note(f)
	switch {
	case f.local != "" && f.of.programsTrusted:
		return f.local, ""
	case f.path != "":
		return f.path, ""
	case f.local != "":
		return "", fmt.Sprintf("%s is a program of the project's own and is not run, because %s", f.local, f.of.how())
	default:
		return "", f.why
	}
}

// note remembers a program of a project for the question about trust.
func (s *snapshot) note(f found) {
	if f.local != "" {
		s.noteIn(f.of, f.local)
	}
}

func (s *snapshot) noteIn(ws *workspace, path string) {
	rel, in := within(ws.root, path, s.opts.GOOS)
	if !in {
		rel = path
	}
	if !slices.Contains(ws.programs, rel) {
		ws.programs = append(ws.programs, rel)
	}
}

// ownerOf returns the workspace that a file lies in, or nil.
func (s *snapshot) ownerOf(file string) *workspace {
	root := s.opts.owner(file)
	for _, ws := range s.workspaces {
		if ws.root == root {
			return ws
		}
	}
	return nil
}

// loadsFrom is the directory that a server begins to look in for what it loads, for work in dir. TypeScript's is the same
// for all files, as it looks once.
func (s *snapshot) loadsFrom(d *definition, root, dir string) string {
	if slices.Equal(d.loads(), loadsProject[typescriptServer]) {
		return root
	}
	return dir
}

// spec returns a server as it can be used for work in dir, or why it can not. It is the same pointer for the same server
// as long as the snapshot lives.
func (s *snapshot) spec(ws *workspace, d *definition, root, dir string) (spec *lsp.Spec, why string) {
	program, why := s.program(ws, d, root)
	if program == "" {
		return nil, why
	}
	key := strings.Join([]string{ws.root, d.name, root, program}, "\x00")
	if !ws.programsTrusted {
		if loaded := s.loaded(ws, d, s.loadsFrom(d, root, dir)); loaded != "" {
			s.noteIn(ws, loaded)
			if d, why = s.without(ws, d, program, loaded); d == nil {
				return nil, why
			}
			key += "\x00without"
		}
	}
	if have, ok := s.specs[key]; ok {
		return have, ""
	}
	made := d.spec(program)
	s.specs[key] = made
	return made, ""
}

// unused tells why servers are not used, those first that lack least.
func (s *snapshot) unused(used []usable) []lsp.Unused {
	var lists [5][]lsp.Unused
	told := make(map[string]bool)
	for _, ws := range s.workspaces {
		ready := s.forRoot(ws)
		for _, d := range ws.defs {
			if told[d.name] || slices.ContainsFunc(used, func(u usable) bool { return u.def.name == d.name }) {
				continue
			}
			told[d.name] = true
			rank, why := s.reason(ws, d, ready)
			lists[rank] = append(lists[rank], lsp.Unused{
				Name: d.name, Why: why, FileTypes: d.texts("fileTypes"), Elsewhere: rank == unmarked || rank == 0 && s.onlyVersioned(ws, d),
			})
		}
	}
	return slices.Concat(lists[:]...)
}

// onlyVersioned reports whether all that speaks for a server is that the workspace is under version control.
func (s *snapshot) onlyVersioned(ws *workspace, d *definition) bool {
	markers := slices.DeleteFunc(slices.Clone(d.texts("rootMarkers")), func(m string) bool { return m == ".git" })
	return !hasMarker(ws.root, markers, s.opts.GOOS, s.list)
}

// unmarked is the rank of servers of which a workspace has no root marker.
const unmarked = 4

// reason says why a server is not used in a workspace's root, and how near to use it is.
func (s *snapshot) reason(ws *workspace, d *definition, ready []usable) (rank int, why string) {
	if d.disabled() {
		return 3, "turned off in " + d.fields["disabled"].at
	}
	markers := d.texts("rootMarkers")
	if !s.rootMarked(ws, d) {
		return unmarked, fmt.Sprintf("none of %s is in %s; a file below a directory that has one starts it", strings.Join(shorten(markers, 6), ", "), ws.root)
	}
	if why := d.foreign(); why != "" {
		return 2, why
	}
	spec, why := s.spec(ws, d, ws.root, ws.root)
	if spec == nil {
		return 0, why
	}
	if by := superseding(usable{def: d}, ready); by != "" {
		return 1, by + " is used in its place"
	}
	return 0, "it is not used here" // another root's server of the same name has its file types
}
