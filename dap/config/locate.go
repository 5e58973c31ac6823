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

// location is the place of an adapter's program, or why it was not found.
type location struct {
	path  string
	notes []string // for the user
	// launch has defaults for launches that depend on the place.
	launch map[string]any
	why    string
}

// locate finds an adapter's program. It uses a program of a project only if the project is trusted, and records it for the
// question to the user.
func (s *snapshot) locate(ctx context.Context, ws *project, d *definition) location {
	s.noteProgram(ws, d)
	if d.kind() == kindDebugpy && d.command() == "python" {
		return s.python(ctx, ws)
	}
	at := s.program(ws, d)
	switch {
	case at.path == "":
	case d.kind() == kindGDB:
		if why := s.catalog.probes.gdb(ctx, at.path, s.Environ()); why != "" {
			return location{why: why}
		}
	case d.kind() == kindDebugpy && slices.Equal(d.Strings("args"), []string{"-m", "debugpy.adapter"}):
		if _, why := s.catalog.probes.debugpy(ctx, at.path, ws.Root, s.Environ()); why != "" {
			return location{why: why}
		}
	}
	return at
}

// program finds the adapter's command, or one of its alternative names.
func (s *snapshot) program(ws *project, d *definition) location {
	f := s.Find(d.command(), ws.Root, ws.Root)
	switch {
	case f.Local != "" && s.Trusts(f.Of):
		return location{path: f.Local}
	case f.Path != "":
		return location{path: f.Path}
	}
	for _, name := range d.alternatives() {
		if path := s.alternative(name); path != "" {
			return location{path: path}
		}
	}
	if f.Local != "" {
		return location{why: fmt.Sprintf("%s is the project's own program and is not run, because %s", f.Local, s.trustReason(f.Of, ws))}
	}
	if strings.ContainsAny(d.command(), `/\`) {
		return location{why: f.Why}
	}
	return location{why: "the program " + configfile.Quote(d.command()) + " is neither in the project nor on PATH"}
}

func (s *snapshot) trustReason(root string, ws *project) string {
	return cmp.Or(s.ProjectAt(root), ws).Reason()
}

// alternatives returns further names of the program. Those of the defaults only apply to the default command.
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

// alternative returns the program that matches a pattern, or "". A pattern is a name on PATH, or a path that begins with /, ~/
// or $NAME/. A * matches a name part that begins with a digit; the match with the highest number is used.
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
		tops, pattern = []string{s.catalog.top}, pattern[1:]
	}
	for _, top := range tops {
		if !filepath.IsAbs(top) && top != "/" {
			continue // the variable is not set, or relative
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

// highest returns the program with the highest number among those that match a pattern in the given directories; if several are
// equal, the first. It ignores programs in a root.
func (s *snapshot) highest(pattern string, dirs []string) string {
	best, bestNumbers := "", []int(nil)
	for _, dir := range dirs {
		for _, name := range workspace.ProgramNames(pattern, s.GOOS, workspace.Variable(s.Env, "PATHEXT", s.GOOS)) {
			for _, path := range s.matches(dir, name) {
				n := numbers(filepath.Base(path))
				if (best == "" || slices.Compare(n, bestNumbers) > 0) && workspace.IsProgram(path, s.GOOS) && s.Owner(path) == "" {
					best, bestNumbers = path, n
				}
			}
		}
	}
	return best
}

// matches returns the paths in dir that match a part of a pattern, the highest numbers first.
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

// numbers returns the numbers in a name.
func numbers(name string) []int {
	var all []int
	for _, d := range digits.FindAllString(name, -1) {
		n, _ := strconv.Atoi(d) // math.MaxInt if out of range
		all = append(all, n)
	}
	return all
}

// interpreters returns the names of Python interpreters in the order to try them.
func interpreters(goos string) []string {
	if goos == "windows" {
		return []string{"python", "python3", "py"}
	}
	return []string{"python3", "python"}
}

// maxPythons bounds the interpreters that are probed for debugpy.
const maxPythons = 8

// python returns the first interpreter that has debugpy: the project's own if it is trusted, then those on PATH.
func (s *snapshot) python(ctx context.Context, ws *project) location {
	var all []string
	add := func(path string) {
		if path != "" && !slices.Contains(all, path) && len(all) < maxPythons {
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
		return location{why: "no Python found: the project has no venv (.venv, venv), and PATH has no python3 or python"}
	}
	var at location
	var without []string
	for _, path := range all {
		program, why := s.catalog.probes.debugpy(ctx, path, ws.Root, s.Environ())
		if why != "" {
			without = append(without, path)
			at.why = why
			continue
		}
		at = location{path: program}
		switch {
		case len(without) > 0 && without[0] == own:
			at.launch = map[string]any{"python": []any{own}}
			at.notes = append(at.notes, fmt.Sprintf("using debugpy from %s because the project's %s cannot import it; programs run in the project's", path, own))
		case len(without) > 0:
			at.notes = append(at.notes, fmt.Sprintf("using debugpy from %s because %s cannot import it; programs run in %s too, unless the argument python names another interpreter (or: %s -m pip install debugpy)", path, without[0], path, without[0]))
		}
		break
	}
	if at.path == "" && len(without) > 1 {
		at.why = "no Python has debugpy: " + strings.Join(configfile.Shorten(without, 4), ", ") + " cannot import it"
	}
	if untrusted != "" {
		note := fmt.Sprintf("%s is the project's own program and is not run, because %s", untrusted, ws.Reason())
		if at.path != "" {
			at.notes = append(at.notes, note)
		} else {
			at.why = strings.TrimPrefix(at.why+"; "+note, "; ")
		}
	}
	return at
}

// ownPrograms returns the projects' own programs that an adapter would run if the projects were trusted.
func (s *snapshot) ownPrograms(ws *project, d *definition) (all []workspace.Found) {
	names := []string{d.command()}
	if d.kind() == kindDebugpy && d.command() == "python" {
		names = interpreters(s.GOOS)
	}
	for _, name := range names {
		if f := s.Find(name, ws.Root, ws.Root); f.Local != "" {
			all = append(all, f)
		}
	}
	return all
}

// noteProgram records these programs for the question about trust.
func (s *snapshot) noteProgram(ws *project, d *definition) {
	for _, f := range s.ownPrograms(ws, d) {
		s.NoteProgram(f)
	}
}
