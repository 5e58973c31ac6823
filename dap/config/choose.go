package config

import (
	"cmp"
	"context"
	"debug/buildinfo"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/dap"
	"github.com/gajae-code/gjc/internal/text"
)

// choose returns the first usable candidate. Without one, the error is a [*NotFoundError].
func (s *snapshot) choose(ctx context.Context, w dap.Wanted) (*dap.Spec, error) {
	ws := s.projectFor(w)
	failed := &NotFoundError{Adapter: w.Adapter, Program: w.Program}
	candidates := s.candidates(w, ws, ws.Defs)
	for _, d := range candidates {
		spec, why := s.spec(ctx, ws, d)
		if spec != nil {
			return spec, nil
		}
		failed.Missing = append(failed.Missing, dap.Unused{Name: d.Name, Why: why, FileTypes: d.Strings("fileTypes")})
	}
	var names []string
	for _, d := range ws.Defs {
		names = append(names, d.Name)
		if spec, _ := s.spec(ctx, ws, d); spec != nil {
			failed.Installed = append(failed.Installed, d.Name)
		}
	}
	if failed.Unknown = w.Adapter != "" && len(candidates) == 0; failed.Unknown {
		failed.Hint = text.Near(w.Adapter, names)
	}
	return nil, failed
}

// candidates returns the definitions that match w, the best first.
func (s *snapshot) candidates(w dap.Wanted, ws *project, defs []*definition) []*definition {
	if w.Adapter != "" {
		return named(w.Adapter, defs)
	}
	r := &ranking{s: s, defs: defs, depth: make(map[*definition]int)}
	dir := cmp.Or(w.Dir, ws.Root)
	r.measure(ws, dir)
	switch {
	case w.Attach && w.Remote:
		r.attachPort()
	case w.Attach:
		r.attachProcess(w.PID, w.Executable)
	default:
		r.launch(w.Program)
	}
	return r.list
}

// named returns the adapter with a name, or those that have the name as a type of launch.json.
func named(name string, defs []*definition) []*definition {
	for _, same := range []func(a, b string) bool{func(a, b string) bool { return a == b }, strings.EqualFold} {
		if i := slices.IndexFunc(defs, func(d *definition) bool { return same(d.Name, name) }); i >= 0 {
			return defs[i : i+1]
		}
	}
	return ofType(name, defs)
}

// ofType returns the adapters for a type of launch.json. The earlier an adapter lists the type, the earlier it comes.
func ofType(name string, defs []*definition) []*definition {
	all := slices.DeleteFunc(slices.Clone(defs), func(d *definition) bool { return !slices.Contains(d.Strings("types"), name) })
	place := func(d *definition) int { return slices.Index(d.Strings("types"), name) }
	slices.SortStableFunc(all, func(a, b *definition) int { return place(a) - place(b) })
	return all
}

// ranking orders adapters by how well they match.
type ranking struct {
	s    *snapshot
	defs []*definition
	// depth is the number of levels up to the nearest root marker of an adapter. It has no entry for an adapter without one.
	depth map[*definition]int
	list  []*definition
}

// measure finds the root markers in dir and its parents, up to the root and on to the top of its repository.
func (r *ranking) measure(ws *project, dir string) {
	dirs := []string{filepath.Clean(dir)}
	if r.s.RootOf(dirs[0]) == ws.Root && ws.Root != "" {
		for at := dirs[0]; at != ws.Root && filepath.Dir(at) != at; {
			at = filepath.Dir(at)
			dirs = append(dirs, at)
		}
		dirs = append(dirs, r.s.Above(ws.Root)...)
	} else {
		dirs = append(dirs, r.s.Above(dirs[0])...)
	}
	for _, d := range r.defs {
		markers := d.markers()
		if i := slices.IndexFunc(dirs, func(dir string) bool { return len(markers) > 0 && r.s.Marked(dir, markers) }); i >= 0 {
			r.depth[d] = i
		}
	}
}

// add appends the adapters for which fits is true, those with the nearest root markers first.
func (r *ranking) add(fits func(*definition) bool) {
	var more []*definition
	for _, d := range r.defs {
		if fits(d) && !slices.Contains(r.list, d) {
			more = append(more, d)
		}
	}
	depth := func(d *definition) int {
		if n, ok := r.depth[d]; ok {
			return n
		}
		return 1 << 30
	}
	slices.SortStableFunc(more, func(a, b *definition) int { return depth(a) - depth(b) })
	r.list = append(r.list, more...)
}

// addNative appends the native debuggers for which fits returns true, in their own order: each of them can debug any compiled
// program.
func (r *ranking) addNative(fits func(*definition) bool) {
	for _, d := range r.defs {
		if d.native() && fits(d) && !slices.Contains(r.list, d) {
			r.list = append(r.list, d)
		}
	}
}

func (r *ranking) marked(d *definition) bool { _, ok := r.depth[d]; return ok }

func always(*definition) bool { return true }

func matchesLanguage(language string) func(*definition) bool {
	return func(d *definition) bool { return d.forLanguage(language) }
}

func (r *ranking) launch(program string) {
	if program == "" {
		r.add(r.marked)
		return
	}
	info, err := os.Stat(program)
	if err == nil && info.IsDir() {
		if hasGo(r.s.List(program)) {
			r.add(matchesLanguage("go"))
		}
		r.add(func(d *definition) bool { return r.marked(d) && !d.native() })
		return
	}
	base := program
	if file, _, ok := strings.Cut(program, "::"); ok { // a pytest test
		base = file
	}
	base = filepath.Base(base)
	if r.add(func(d *definition) bool { return d.forFile(base) }); len(r.list) > 0 {
		return
	}
	if language := languageOf(program); language != "" {
		r.add(matchesLanguage(language))
	}
	if isCompiled(base) {
		r.addNative(always)
		return
	}
	r.add(r.marked)
	r.addNative(always)
}

func hasGo(names map[string]bool) bool {
	for name := range names {
		if strings.HasSuffix(name, ".go") {
			return true
		}
	}
	return false
}

// isCompiled reports whether a file with that name is usually the output of a compiler.
func isCompiled(base string) bool {
	switch strings.ToLower(filepath.Ext(base)) {
	case "", ".exe", ".out", ".bin", ".elf", ".so", ".dylib", ".test":
		return true
	default:
		return false
	}
}

// languageOf returns the language of a program whose extension does not reveal it: "go" for a Go binary, the language of a script
// from its first line, otherwise "".
func languageOf(program string) string {
	f, err := os.Open(program)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	line := make([]byte, 256)
	n, _ := f.Read(line) // an empty file has no language
	if text, script := strings.CutPrefix(string(line[:n]), "#!"); script {
		text, _, _ = strings.Cut(text, "\n")
		for word := range strings.FieldsSeq(text) {
			if language := interpreterLanguage(filepath.Base(word)); language != "" {
				return language
			}
		}
		return ""
	}
	if _, err := buildinfo.Read(f); err == nil {
		return "go"
	}
	return ""
}

// interpreterLanguage returns the language that the named interpreter runs, or "".
func interpreterLanguage(base string) string {
	base = strings.TrimSuffix(strings.ToLower(base), ".exe")
	for prefix, language := range map[string]string{
		"python": "python", "pypy": "python", "ruby": "ruby", "node": "javascript", "php": "php", "bash": "bash", "dotnet": "csharp", "dart": "dart",
	} {
		if rest, ok := strings.CutPrefix(base, prefix); ok && strings.Trim(rest, "0123456789.") == "" {
			return language
		}
	}
	return ""
}

// attachPort ranks adapters for an attach to a port. It prefers debugpy, unless only other adapters have root markers.
func (r *ranking) attachPort() {
	can := func(d *definition) bool { return len(d.Lacking("remoteForm")) == 0 }
	python := func(d *definition) bool { return can(d) && d.kind() == kindDebugpy }
	r.add(func(d *definition) bool { return python(d) && r.marked(d) })
	r.add(func(d *definition) bool { return can(d) && r.marked(d) && !d.native() })
	r.addNative(func(d *definition) bool { return can(d) && r.marked(d) })
	r.add(python)
	r.add(func(d *definition) bool { return can(d) && !d.native() })
	r.addNative(can)
}

// attachProcess ranks adapters by the program of the process, or by root markers if it is unknown.
func (r *ranking) attachProcess(pid int, path string) {
	can := func(d *definition) bool { return len(d.Lacking("processForm")) == 0 }
	if path == "" && pid > 0 {
		path, _ = r.s.catalog.executable(pid) // on an error, path is empty and root markers decide
	}
	if path == "" {
		r.add(func(d *definition) bool { return can(d) && r.marked(d) && !d.native() })
		r.addNative(can)
		return
	}
	language := interpreterLanguage(filepath.Base(path))
	if language == "" {
		language = languageOf(path)
	}
	if language != "" {
		r.add(func(d *definition) bool { return can(d) && d.forLanguage(language) })
	}
	r.addNative(can)
}
