package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/internal/configfile"
)

const (
	// maxFile is the maximum size of a file, in bytes.
	maxFile = 64 << 10
	// maxDepth and maxEntries limit the walk of a directory of commands.
	maxDepth   = 8
	maxEntries = 2000
	// defaultHint is the hint of a file without one.
	defaultHint = "arguments"
	// maxSkillFile is the maximum size of a skill's other files, in bytes.
	maxSkillFile = 1 << 20
)

// Options adjusts loading. Every field is optional.
type Options struct {
	// UserDir is the agent directory.
	UserDir string
	// ProjectDirs are the workspace's roots, starting with the working directory. The directories above a root follow
	// it, up to the top of its repository.
	ProjectDirs []string
	// Foreign also loads the files of other agents, after gjc's own: below .claude, .agents and .codex in the same
	// directories and in Home. Their problems are not reported.
	Foreign bool
	// Home is the user's home directory. It is used with Foreign only.
	Home string
}

// place is a directory that may have commands and skills.
type place struct {
	// root bounds symbolic links; dir is a slash-separated path below it.
	root, dir string
	// trusted places are the user's own; links there may lead anywhere.
	trusted bool
	// foreign places belong to another program. Their problems are not reported.
	foreign bool
}

func (o *Options) places() []place {
	var list []place
	roots := configfile.Upwards(o.ProjectDirs...)
	for _, root := range roots {
		list = append(list, place{root: root, dir: ".gjc"})
	}
	if o.UserDir != "" {
		list = append(list, place{root: o.UserDir, dir: ".", trusted: true})
	}
	if !o.Foreign {
		return list
	}
	for _, dir := range []string{".claude", ".agents", ".codex"} {
		for _, root := range roots {
			list = append(list, place{root: root, dir: dir, foreign: true})
		}
		if o.Home != "" {
			list = append(list, place{root: o.Home, dir: dir, trusted: true, foreign: true})
		}
	}
	return list
}

// Load reads all commands and skills. It leaves out invalid files and reports them as problems, and ignores missing
// places. If ctx ends, the set has what was read until then.
func Load(ctx context.Context, opts Options) (*Set, []Problem) {
	l := &loader{roots: opts.ProjectDirs, set: &Set{byName: make(map[string]*entry)}}
	for _, p := range opts.places() {
		l.place(ctx, p)
	}
	return l.set, l.problems
}

type loader struct {
	set      *Set
	problems []Problem
	roots    []string // the workspace's roots, without the directories above them

	// State of the current place.
	at      place
	files   fs.FS
	entries int
	found   map[string]bool // the names
}

func (l *loader) place(ctx context.Context, p place) {
	abs, err := filepath.Abs(p.root)
	if err != nil {
		l.problem(p.root, 0, err.Error())
		return
	}
	p.root = abs
	l.at, l.entries, l.found = p, 0, make(map[string]bool)
	if p.trusted {
		l.files = os.DirFS(p.root)
	} else {
		root, err := os.OpenRoot(p.root)
		if err != nil {
			if slices.Contains(l.roots, p.root) {
				l.unreadable(p.root, err)
			}
			return
		}
		defer func() { _ = root.Close() }()
		l.files = approval.Guidance(p.root, root.FS())
	}
	l.commands(ctx, path.Join(p.dir, "commands"), "", 0)
	l.skills(ctx, path.Join(p.dir, "skills"))
}

// full returns the absolute path of a name in the current place.
func (l *loader) full(name string) string { return filepath.Join(l.at.root, filepath.FromSlash(name)) }

func (l *loader) problem(path string, line int, reason string) {
	if l.at.foreign {
		return
	}
	l.problems = append(l.problems, Problem{Path: path, Line: line, Reason: reason})
}

// unreadable reports a file that cannot be read, unless it does not exist.
func (l *loader) unreadable(path string, err error) {
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	l.problem(path, 0, "cannot be read: "+err.Error())
}

// readDir lists a directory without hidden entries.
func (l *loader) readDir(ctx context.Context, dir string) []fs.DirEntry {
	if ctx.Err() != nil {
		return nil
	}
	l.set.stamps = append(l.set.stamps, configfile.StampOf(l.full(dir)))
	entries, err := fs.ReadDir(l.files, dir)
	if err != nil {
		l.unreadable(l.full(dir), err)
		return nil
	}
	kept := entries[:0]
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if l.entries++; l.entries > maxEntries {
			l.problem(l.full(dir), 0, fmt.Sprintf("there are more than %d files; the rest is left out", maxEntries))
			break
		}
		kept = append(kept, e)
	}
	return kept
}

// kind reports whether an entry, or its link's target, is a directory or a file.
func (l *loader) kind(name string, e fs.DirEntry) (dir, file bool) {
	mode := e.Type()
	if mode&fs.ModeSymlink != 0 {
		info, err := fs.Stat(l.files, name)
		if err != nil {
			l.set.stamps = append(l.set.stamps, configfile.StampOf(l.full(name)))
			l.badLink(name)
			return false, false
		}
		mode = info.Mode()
	}
	return mode.IsDir(), mode.IsRegular()
}

func (l *loader) badLink(name string) {
	if _, err := os.Stat(l.full(name)); err == nil && !l.at.trusted {
		l.problem(l.full(name), 0, "a symbolic link leads out of "+l.at.root+"; it is not followed")
	} else {
		l.problem(l.full(name), 0, "dangling symbolic link")
	}
}

func (l *loader) commands(ctx context.Context, dir, prefix string, depth int) {
	for _, e := range l.readDir(ctx, dir) {
		name := path.Join(dir, e.Name())
		base, markdown := strings.CutSuffix(e.Name(), ".md")
		isDir, isFile := l.kind(name, e)
		switch {
		case isDir && depth < maxDepth:
			l.commands(ctx, name, prefix+e.Name()+":", depth+1)
		case isDir:
			l.problem(l.full(name), 0, "is nested too deeply")
		case isFile && markdown:
			l.command(ctx, name, prefix+base)
		}
	}
}

func (l *loader) command(ctx context.Context, file, name string) {
	switch {
	case !validName(name):
		l.badName(file, name)
		return
	case strings.HasPrefix(name, SkillPrefix):
		l.problem(l.full(file), 0, "names that begin with "+SkillPrefix+" belong to skills; call the directory otherwise")
		return
	}
	if d, ok := l.read(ctx, file); ok {
		l.unknown(file, &d, commandFields)
		l.add(&entry{path: l.full(file), body: d.body, Command: Command{
			Name: name, Description: cmp.Or(d.fields["description"], summaryOf(d.body)),
			Hint: cmp.Or(d.fields["argument-hint"], defaultHint),
		}})
	}
}

func (l *loader) badName(file, name string) {
	l.problem(l.full(file), 0, fmt.Sprintf("%q cannot be the name of a command; use letters, digits, - and _", name))
}

// Fields of front matter. A skill's fields after the second one are for human readers.
var (
	commandFields = []string{"description", "argument-hint"}
	skillFields   = []string{"name", "description", "license", "compatibility", "metadata", "version", "author"}
)

// unknown reports fields of front matter that gjc does not know.
func (l *loader) unknown(file string, d *document, known []string) {
	for _, name := range slices.Sorted(maps.Keys(d.lines)) {
		if !slices.Contains(known, name) {
			l.problem(l.full(file), d.lines[name], fmt.Sprintf("unknown field %q%s; it is ignored", name, configfile.Meant(name, known)))
		}
	}
}

func (l *loader) skills(ctx context.Context, dir string) {
	for _, e := range l.readDir(ctx, dir) {
		name := path.Join(dir, e.Name())
		if isDir, _ := l.kind(name, e); isDir {
			l.skill(ctx, name, e.Name())
		}
	}
}

func (l *loader) skill(ctx context.Context, dir, base string) {
	l.set.stamps = append(l.set.stamps, configfile.StampOf(l.full(dir)))
	file := path.Join(dir, "SKILL.md")
	d, ok := l.read(ctx, file)
	if !ok {
		return
	}
	l.unknown(file, &d, skillFields)
	name := cmp.Or(d.fields["name"], base)
	if !validName(SkillPrefix + name) {
		l.badName(file, name)
		return
	}
	root := l.at.root
	if l.at.trusted {
		root = ""
	}
	l.add(&entry{path: l.full(file), root: root, skill: true, body: d.body, Command: Command{
		Name: SkillPrefix + name, Description: cmp.Or(d.fields["description"], summaryOf(d.body)), Hint: defaultHint,
	}})
}

// add adds an entry, unless an earlier place has one of that name.
func (l *loader) add(e *entry) {
	if l.found[e.Name] {
		l.problem(e.path, 0, "another file defines /"+e.Name+" and takes precedence")
		return
	}
	l.found[e.Name] = true
	if l.set.byName[e.Name] == nil {
		l.set.byName[e.Name] = e
	}
}

// read reads and parses a file. It reports false for a file that cannot be used, after reporting the problem unless the
// file does not exist.
func (l *loader) read(ctx context.Context, name string) (document, bool) {
	full := l.full(name)
	if ctx.Err() != nil {
		return document{}, false
	}
	// Before reading, so that a concurrent change is noticed.
	l.set.stamps = append(l.set.stamps, configfile.StampOf(full))
	info, err := fs.Stat(l.files, name)
	if err != nil {
		if link, _ := os.Lstat(full); link != nil && !errors.Is(err, approval.ErrWithheld) && link.Mode()&fs.ModeSymlink != 0 {
			l.badLink(name)
		} else {
			l.unreadable(full, err)
		}
		return document{}, false
	}
	if !info.Mode().IsRegular() { // opening a pipe would block
		l.problem(full, 0, "is not a regular file")
		return document{}, false
	}
	data, err := configfile.ReadCapped(l.files, name, maxFile)
	switch {
	case err != nil:
		l.unreadable(full, err)
	case len(data) > maxFile:
		l.problem(full, 0, fmt.Sprintf("is larger than %d KiB", maxFile>>10))
	case !utf8.Valid(data):
		l.problem(full, 1+strings.Count(validStart(data), "\n"), "is not UTF-8 text")
	default:
		d := parseDocument(string(data), func(line int, reason string) { l.problem(full, line, reason) })
		if d.body != "" {
			return d, true
		}
		l.problem(full, 0, "has no text")
	}
	return document{}, false
}

// validStart returns data up to the first invalid UTF-8 byte.
func validStart(data []byte) string {
	at := 0
	for at < len(data) {
		r, n := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	return string(data[:at])
}
