package config

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/gajae-code/gjc/lsp"
)

// definition is a server after all files were put over one another.
type definition struct {
	name   string
	custom bool // not among the defaults
	rank   int
	fields map[string]value
	at     string   // where a file mentions it last
	files  []string // the paths of all files that mention it
}

// from reports whether a file says something of the server.
func (d *definition) from(f *file) bool { return slices.Contains(d.files, f.path) }

// merge puts files over the defaults, those that count less first. A server's field counts as a whole, but objects are
// merged member by member.
func merge(files []*file) (defs []*definition, problems []string) {
	byName := make(map[string]*definition)
	var builtin []string
	for i, s := range defaults().servers {
		d := &definition{name: s.name, rank: 2 * i, fields: maps.Clone(s.fields)}
		byName[s.name] = d
		builtin = append(builtin, s.name)
		defs = append(defs, d)
	}
	for first, second := range ahead {
		byName[first].rank = byName[second].rank - 1
	}
	for _, f := range files {
		for _, s := range f.servers {
			d := byName[s.name]
			if d == nil {
				d = &definition{name: s.name, custom: true, rank: len(defs), fields: make(map[string]value)}
				byName[s.name] = d
				defs = append(defs, d)
			}
			d.at, d.files = f.at(s.line), append(d.files, f.path)
			for name, v := range s.fields {
				if lower, ok := d.fields[name]; ok {
					v.node = v.over(lower.node)
				}
				d.fields[name] = v
			}
		}
	}
	defs = slices.DeleteFunc(defs, func(d *definition) bool {
		var missing []string
		for _, name := range []string{"command", "fileTypes", "rootMarkers"} {
			if _, ok := d.fields[name]; !ok {
				missing = append(missing, name)
			}
		}
		if len(missing) == 0 {
			return false
		}
		if !d.disabled() {
			problems = append(problems, fmt.Sprintf("%s: server %s is none of the known ones, so it needs command, fileTypes and rootMarkers; it lacks %s%s",
				d.at, quote(d.name), strings.Join(missing, " and "), meant(d.name, builtin)))
		}
		return true
	})
	// The user's own servers come first: who writes one wants it.
	slices.SortStableFunc(defs, func(a, b *definition) int {
		if a.custom != b.custom {
			if a.custom {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.rank, b.rank)
	})
	return defs, problems
}

func (d *definition) texts(name string) []string { return d.fields[name].strings() }

func (d *definition) isTrue(name string) bool {
	v, ok := d.fields[name]
	return ok && v.text == "true"
}

func (d *definition) disabled() bool { return d.isTrue("disabled") }

func (d *definition) linter() bool { return d.isTrue("isLinter") }

func (d *definition) command() string { return d.fields["command"].text }

// spec returns the server as package lsp wants it, with the program at path.
func (d *definition) spec(program string) *lsp.Spec {
	s := &lsp.Spec{
		Name: d.name, Path: program, Args: d.texts("args"), FileTypes: d.texts("fileTypes"), RootMarkers: d.texts("rootMarkers"),
		InitOptions: d.fields["initOptions"].json(), Settings: d.fields["settings"].json(), Linter: d.linter(),
	}
	if v, ok := d.fields["warmupTimeoutMs"]; ok {
		s.Warmup, _ = milliseconds(v.node)
		s.Warmup = max(s.Warmup, time.Millisecond)
	}
	if v, ok := d.fields["extensionToLanguage"]; ok {
		s.LanguageIDs = make(map[string]string)
		for _, m := range v.members {
			s.LanguageIDs[m.name] = m.value.text
		}
	}
	if v, ok := d.fields["capabilities"]; ok {
		s.Capabilities = make(map[string]bool)
		for _, m := range v.members {
			s.Capabilities[m.name] = m.value.text == "true"
		}
	}
	return s
}

// within returns the path of a file below a directory, with slashes, as the operating system called goos compares paths.
func within(dir, file, goos string) (rel string, ok bool) {
	if goos == "windows" {
		dir, file = slashed(dir), slashed(file)
	}
	dir, file = path.Clean(dir), path.Clean(file)
	same := func(a, b string) bool { return a == b || goos == "windows" && strings.EqualFold(a, b) }
	if same(dir, file) {
		return "", true
	}
	if !strings.HasSuffix(dir, "/") { // the root of a file system
		dir += "/"
	}
	if len(file) > len(dir) && same(file[:len(dir)], dir) {
		return file[len(dir):], true
	}
	return "", false
}

// slashed is a Windows path with slashes and without the prefix of long paths.
func slashed(p string) string {
	p = strings.ReplaceAll(p, `\`, "/")
	if rest, ok := strings.CutPrefix(p, "//?/UNC/"); ok {
		return "//" + rest
	}
	return strings.TrimPrefix(p, "//?/")
}
