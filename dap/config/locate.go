package config

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/workspace"
)

// located is where an adapter's program is, with what the user should know of it, or why it is nowhere.
type located struct {
	path  string
	notes []string
	// launch are defaults for launches that come of where the program is.
	launch map[string]any
	why    string
}

// locate looks for an adapter's program. What lies in a project it uses only with trust, and notes for the question.
func (s *snapshot) locate(ctx context.Context, ws *project, d *definition) located {
	s.noteProgram(ws, d)
	if d.kind() == kindDebugpy && d.command() == "python" {
		return s.python(ctx, ws)
	}
	at := s.program(ws, d)
	switch {
	case at.path == "":
	case d.kind() == kindGDB:
		if why := s.probes.gdb(ctx, at.path, s.Environ()); why != "" {
			return located{why: why}
		}
	case d.kind() == kindDebugpy && slices.Equal(d.Strings("args"), []string{"-m", "debugpy.adapter"}):
		if _, why := s.probes.debugpy(ctx, at.path, ws.Root, s.Environ()); why != "" {
			return located{why: why}
		}
	}
	return at
}

// program looks for a command, and for what else the adapter's program may be called.
func (s *snapshot) program(ws *project, d *definition) located {
	f := s.Find(d.command(), ws.Root, ws.Root)
	switch {
	case f.Local != "" && s.Trusts(f.Of):
		return located{path: f.Local}
	case f.Path != "":
		return located{path: f.Path}
	}
	for _, name := range d.alternatives() {
		if path := s.alternative(name); path != "" {
			return located{path: path}
		}
	}
	if f.Local != "" {
		return located{why: fmt.Sprintf("%s is a program of the project's own and is not run, because %s", f.Local, s.how(f.Of, ws))}
	}
	if strings.ContainsAny(d.command(), `/\`) {
		return located{why: f.Why}
	}
	return located{why: "the program " + configfile.Quote(d.command()) + " is neither in the project nor on PATH"}
}

func (s *snapshot) how(root string, ws *project) string {
	if of := s.projectAt(root); of != nil {
		return of.How()
	}
	return ws.How()
}

// alternatives are further names of the program: those of the defaults are for the default's command.
func (d *definition) alternatives() []string {
	v, ok := d.Fields["alternatives"]
	if !ok {
		return nil
	}
	for _, e := range defaults().Entries {
		if e.Name == d.Name && e.Fields["alternatives"].Node == v.Node && e.Fields["command"].Text != d.command() {
			return nil
		}
	}
	return v.Strings()
}

// alternative returns the program that a pattern stands for, or "". A pattern is a name for PATH or a path that begins with
// /, ~/ or $NAME/; a * in it is a number, of which the highest counts, or part of a name with one.
func (s *snapshot) alternative(pattern string) string {
	if !strings.ContainsAny(pattern, `/\`) {
		if !strings.Contains(pattern, "*") {
			return s.OnPath(pattern).Outside
		}
		return s.highest(pattern, s.PathDirs())
	}
	var tops []string
	pattern = filepath.ToSlash(pattern)
	switch volume := filepath.VolumeName(pattern); {
	case strings.HasPrefix(pattern, "~/"):
		tops, pattern = []string{s.Home}, pattern[2:]
	case strings.HasPrefix(pattern, "$"):
		name, rest, _ := strings.Cut(pattern[1:], "/")
		tops, pattern = filepath.SplitList(workspace.Variable(s.Env, name, s.GOOS)), rest
	case volume != "":
		tops, pattern = []string{volume + "/"}, strings.TrimPrefix(pattern[len(volume):], "/")
	case pattern[0] == '/':
		tops, pattern = []string{s.opts.Top}, pattern[1:]
	}
	for _, top := range tops {
		if !filepath.IsAbs(top) && top != "/" {
			continue // the variable is not set, or depends on where one is
		}
		dirs := []string{top}
		parts := strings.Split(pattern, "/")
		for _, part := range parts[:len(parts)-1] {
			var next []string
			for _, dir := range dirs {
				next = append(next, s.matches(dir, part)...)
			}
			dirs = next
		}
		for _, dir := range dirs {
			if path := s.highest(parts[len(parts)-1], []string{dir}); path != "" {
				return path
			}
		}
	}
	return ""
}

// highest returns the program of the highest number that a pattern has in some directories, the first one of those that
// are equal. None of a root counts.
func (s *snapshot) highest(pattern string, dirs []string) string {
	best, most := "", []int(nil)
	for _, dir := range dirs {
		for _, name := range workspace.ProgramNames(pattern, s.GOOS, workspace.Variable(s.Env, "PATHEXT", s.GOOS)) {
			for _, path := range s.matches(dir, name) {
				n := numbers(filepath.Base(path))
				if (best == "" || slices.Compare(n, most) > 0) && workspace.IsProgram(path, s.GOOS) && s.Owner(path) == "" {
					best, most = path, n
				}
			}
		}
	}
	return best
}

// matches returns the paths in dir that a part of a pattern stands for, those of higher numbers first.
func (s *snapshot) matches(dir, part string) []string {
	before, after, pattern := strings.Cut(part, "*")
	if !pattern {
		return []string{filepath.Join(dir, part)}
	}
	var all []string
	for name := range s.List(dir) {
		rest, ok := strings.CutPrefix(name, before)
		if !ok {
			continue
		}
		if rest, ok = strings.CutSuffix(rest, after); ok && rest != "" && rest[0] >= '0' && rest[0] <= '9' {
			all = append(all, filepath.Join(dir, name))
		}
	}
	slices.SortFunc(all, func(a, b string) int {
		return cmp.Or(slices.Compare(numbers(filepath.Base(b)), numbers(filepath.Base(a))), strings.Compare(a, b))
	})
	return all
}

var digits = regexp.MustCompile(`\d+`)

// numbers are the numbers in a name.
func numbers(name string) []int {
	var all []int
	for _, d := range digits.FindAllString(name, -1) {
		n, _ := strconv.Atoi(d) // a very long one is the greatest number
		all = append(all, n)
	}
	return all
}

// interpreters are the names of a Python, those that are tried first first.
func interpreters(goos string) []string {
	if goos == "windows" {
		return []string{"python", "python3", "py"}
	}
	return []string{"python3", "python"}
}

// mostPythons bounds how many interpreters are asked for debugpy.
const mostPythons = 8

// python returns the first interpreter that has debugpy: the project's own, where it is trusted, then those of PATH.
func (s *snapshot) python(ctx context.Context, ws *project) located {
	var all []string
	add := func(path string) {
		if path != "" && !slices.Contains(all, path) && len(all) < mostPythons {
			all = append(all, path)
		}
	}
	var own, untrusted string
	for _, name := range interpreters(s.GOOS) {
		f := s.Find(name, ws.Root, ws.Root)
		if f.Local != "" && s.Trusts(f.Of) {
			add(f.Local)
			own = cmp.Or(own, f.Local)
		} else if untrusted == "" {
			untrusted = f.Local
		}
	}
	for _, name := range interpreters(s.GOOS) {
		for _, path := range s.Every(name) {
			add(path)
		}
	}
	if len(all) == 0 && untrusted == "" {
		return located{why: "no Python was found: there is neither a venv in the project (.venv, venv) nor a python3 or python on PATH"}
	}
	var at located
	var without []string
	for _, path := range all {
		program, why := s.probes.debugpy(ctx, path, ws.Root, s.Environ())
		if why != "" {
			without = append(without, path)
			at.why = why
			continue
		}
		at = located{path: program}
		switch {
		case len(without) > 0 && without[0] == own:
			at.launch = map[string]any{"python": []any{own}}
			at.notes = append(at.notes, fmt.Sprintf("debugpy is that of %s, as the project's %s can not import it; programs run in the project's", path, own))
		case len(without) > 0:
			at.notes = append(at.notes, fmt.Sprintf("debugpy is that of %s, as %s can not import it; programs run in %s too, unless the argument python names another one (or: %s -m pip install debugpy)", path, without[0], path, without[0]))
		}
		break
	}
	if at.path == "" && len(without) > 1 {
		at.why = "no Python has debugpy: " + strings.Join(configfile.Shorten(without, 4), ", ") + " can not import it"
	}
	if untrusted != "" {
		note := fmt.Sprintf("%s is a program of the project's own and is not run, because %s", untrusted, ws.How())
		if at.path != "" {
			at.notes = append(at.notes, note)
		} else {
			at.why = strings.TrimPrefix(at.why+"; "+note, "; ")
		}
	}
	return at
}

// noteProgram notes the programs of projects that an adapter would run with trust.
func (s *snapshot) noteProgram(ws *project, d *definition) {
	names := []string{d.command()}
	if d.kind() == kindDebugpy && d.command() == "python" {
		names = interpreters(s.GOOS)
	}
	for _, name := range names {
		f := s.Find(name, ws.Root, ws.Root)
		if of := s.projectAt(f.Of); f.Local != "" && of != nil {
			of.Note(f.Local, s.GOOS)
		}
	}
}

// local reports whether an adapter's program would be one of the project's own.
func (s *snapshot) local(ws *project, d *definition) bool {
	names := []string{d.command()}
	if d.kind() == kindDebugpy && d.command() == "python" {
		names = interpreters(s.GOOS)
	}
	return slices.ContainsFunc(names, func(name string) bool { return s.Find(name, ws.Root, ws.Root).Local != "" })
}
