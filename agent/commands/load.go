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
	// maxFile is how large a file may be, in bytes.
	maxFile = 64 << 10
	// maxDepth and maxEntries bound how far a directory of commands is walked.
	maxDepth   = 8
	maxEntries = 2000
	// defaultHint is for a file that says nothing of its arguments.
	defaultHint = "arguments"
	// maxSkillFile is how large a file of a skill beside its SKILL.md may be, in bytes.
	maxSkillFile = 1 << 20
)

// Options says where to look. Every field is optional.
type Options struct {
	// UserDir is the agent directory.
	UserDir string
	// ProjectDirs are the workspace's roots, the working directory first. The directories above a root count after it, up to the
	// top of the repository that it lies in.
	ProjectDirs []string
	// Foreign reads the files of other agents too, after gjc's own: below .claude, .agents and .codex in the same directories and
	// in Home. What cannot be used of them is no problem of the user's.
	Foreign bool
	// Home is the user's home directory, for Foreign alone.
	Home string
}

// place is a directory that may hold commands and skills.
type place struct {
	// root is what symbolic links must not lead out of; dir is below it, with slashes.
	root, dir string
	// trusted places are the user's own: links may lead anywhere.
	trusted bool
	// foreign places are another program's. Nothing is reported of them.
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

// Load reads all commands and skills. What can not be used is left out and told as a problem; places that are not
// there are none. Should ctx end, the set holds what was read until then.
func Load(ctx context.Context, opts Options) (*Set, []Problem) {
	l := &loader{ctx: ctx, roots: opts.ProjectDirs, set: &Set{byName: make(map[string]*entry)}}
	for _, p := range opts.places() {
		l.place(p)
	}
	return l.set, l.problems
}

type loader struct {
	ctx      context.Context // of the one Load call
	set      *Set
	problems []Problem
	roots    []string // the workspace's, without those above them

	// Of the place at hand.
	at      place
	files   fs.FS
	entries int
	found   map[string]bool // the names
}

func (l *loader) place(p place) {
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
	l.commands(path.Join(p.dir, "commands"), "", 0)
	l.skills(path.Join(p.dir, "skills"))
}

// full returns the absolute path of a name in the place at hand.
func (l *loader) full(name string) string { return filepath.Join(l.at.root, filepath.FromSlash(name)) }

func (l *loader) problem(path string, line int, reason string) {
	if l.at.foreign {
		return
	}
	l.problems = append(l.problems, Problem{Path: path, Line: line, Reason: reason})
}

// unreadable tells of a file that can not be read, unless it is not there.
func (l *loader) unreadable(path string, err error) {
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	l.problem(path, 0, "can not be read: "+err.Error())
}

// readDir lists a directory without its hidden entries.
func (l *loader) readDir(dir string) []fs.DirEntry {
	if l.ctx.Err() != nil {
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

// kind reports whether an entry, or what it links to, is a directory or a file.
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
		l.problem(l.full(name), 0, "this symbolic link leads nowhere")
	}
}

func (l *loader) commands(dir, prefix string, depth int) {
	for _, e := range l.readDir(dir) {
		name := path.Join(dir, e.Name())
		base, markdown := strings.CutSuffix(e.Name(), ".md")
		isDir, isFile := l.kind(name, e)
		switch {
		case isDir && depth < maxDepth:
			l.commands(name, prefix+e.Name()+":", depth+1)
		case isDir:
			l.problem(l.full(name), 0, "is too deep to be looked at")
		case isFile && markdown:
			l.command(name, prefix+base)
		}
	}
}

func (l *loader) command(file, name string) {
	switch {
	case !validName(name):
		l.badName(file, name)
		return
	case strings.HasPrefix(name, SkillPrefix):
		l.problem(l.full(file), 0, "names that begin with "+SkillPrefix+" belong to skills; call the directory otherwise")
		return
	}
	if d, ok := l.read(file); ok {
		l.unknown(file, &d, commandFields)
		l.add(&entry{path: l.full(file), body: d.body, Command: Command{
			Name: name, Description: cmp.Or(d.fields["description"], summaryOf(d.body)),
			Hint: cmp.Or(d.fields["argument-hint"], defaultHint),
		}})
	}
}

func (l *loader) badName(file, name string) {
	l.problem(l.full(file), 0, fmt.Sprintf("%q can not be the name of a command; use letters, digits, - and _", name))
}

// The fields of front matter. Those of a skill after the second one are for people.
var (
	commandFields = []string{"description", "argument-hint"}
	skillFields   = []string{"name", "description", "license", "compatibility", "metadata", "version", "author"}
)

// unknown reports the fields of front matter that gjc does not know.
func (l *loader) unknown(file string, d *document, known []string) {
	for _, name := range slices.Sorted(maps.Keys(d.lines)) {
		if !slices.Contains(known, name) {
			l.problem(l.full(file), d.lines[name], fmt.Sprintf("there is no field %q%s; it is passed over", name, configfile.Meant(name, known)))
		}
	}
}

func (l *loader) skills(dir string) {
	for _, e := range l.readDir(dir) {
		name := path.Join(dir, e.Name())
		if isDir, _ := l.kind(name, e); isDir {
			l.skill(name, e.Name())
		}
	}
}

func (l *loader) skill(dir, base string) {
	l.set.stamps = append(l.set.stamps, configfile.StampOf(l.full(dir)))
	file := path.Join(dir, "SKILL.md")
	d, ok := l.read(file)
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

// add takes an entry, unless an earlier place has one of that name.
func (l *loader) add(e *entry) {
	if l.found[e.Name] {
		l.problem(e.path, 0, "another file here is called /"+e.Name+" too; that one counts")
		return
	}
	l.found[e.Name] = true
	if l.set.byName[e.Name] == nil {
		l.set.byName[e.Name] = e
	}
}

// read reads a file and takes it apart. It reports false, and tells why, for one that can not be used; for one that is
// not there it tells nothing.
func (l *loader) read(name string) (document, bool) {
	full := l.full(name)
	if l.ctx.Err() != nil {
		return document{}, false
	}
	// Before the reading: what changes in between is seen as a change.
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
	if !info.Mode().IsRegular() { // opening a pipe would wait for ever
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

// validStart returns data up to the first byte that is not UTF-8.
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
