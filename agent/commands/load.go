package commands

import (
	"cmp"
	"context"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent/userfiles"
)

const (
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

// foreignDirs are directories of other agents.
var foreignDirs = [...]string{".claude", ".agents", ".codex"}

// Files returns the patterns of the files in a workspace that commands and skills are read from, with a slash at the end of directories.
func Files() []string {
	var all []string
	for _, dir := range append([]string{".gjc"}, foreignDirs[:]...) {
		all = append(all, dir+"/commands/", dir+"/skills/")
	}
	return all
}

// Load reads all commands and skills. It skips invalid files and reports them as problems, and ignores missing directories. If ctx
// ends, the set contains what was read until then.
func Load(ctx context.Context, opts Options) (*Set, []userfiles.Problem) {
	l := &loader{Reader: userfiles.Reader{Roots: opts.ProjectDirs}, set: &Set{byName: make(map[string]*entry)}}
	var foreign []string
	if opts.Foreign {
		foreign = foreignDirs[:]
	}
	for _, p := range userfiles.Places(opts.ProjectDirs, opts.UserDir, opts.Home, foreign...) {
		l.at, l.entries, l.found = p, 0, make(map[string]bool)
		l.In(p, func() {
			l.commands(ctx, path.Join(p.Dir, "commands"), "", 0)
			l.skills(ctx, path.Join(p.Dir, "skills"))
		})
	}
	l.set.stamps = l.Stamps
	return l.set, l.Problems
}

type loader struct {
	userfiles.Reader
	set *Set

	// State of the current location.
	at      userfiles.Place
	entries int
	found   map[string]bool // the names found
}

// list lists a directory, as far as the limit of entries permits.
func (l *loader) list(ctx context.Context, dir string) []fs.DirEntry {
	entries := l.List(ctx, dir)
	room := maxEntries - l.entries
	l.entries += len(entries)
	if len(entries) <= room {
		return entries
	}
	l.Problem(dir, 0, "more than %d files; the rest are ignored", maxEntries)
	return entries[:max(room, 0)]
}

// kind reports whether an entry, or the target of a symlink, is a directory or a regular file.
func (l *loader) kind(name string, e fs.DirEntry) (dir, file bool) {
	mode := e.Type()
	if mode&fs.ModeSymlink != 0 {
		info, ok := l.Stat(name)
		if !ok {
			l.Stamp(name)
			return false, false
		}
		mode = info.Mode()
	}
	return mode.IsDir(), mode.IsRegular()
}

func (l *loader) commands(ctx context.Context, dir, prefix string, depth int) {
	for _, e := range l.list(ctx, dir) {
		name := path.Join(dir, e.Name())
		base, markdown := strings.CutSuffix(e.Name(), ".md")
		isDir, isFile := l.kind(name, e)
		switch {
		case isDir && depth < maxDepth:
			l.commands(ctx, name, prefix+e.Name()+":", depth+1)
		case isDir:
			l.Problem(name, 0, "is nested too deeply")
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
		l.Problem(file, 0, "names that begin with %s belong to skills; rename the directory", SkillPrefix)
		return
	}
	if d, ok := l.read(ctx, file); ok {
		l.unknown(file, &d, commandFields)
		l.add(&entry{file: file, path: l.Full(file), body: d.body, Command: Command{
			Name: name, Description: cmp.Or(d.fields["description"], summaryOf(d.body)),
			Hint: cmp.Or(d.fields["argument-hint"], defaultHint),
		}})
	}
}

func (l *loader) badName(file, name string) {
	l.Problem(file, 0, "invalid command name %q; use letters, digits, - and _", name)
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
			l.UnknownField(file, d.lines[name], name, known)
		}
	}
}

func (l *loader) skills(ctx context.Context, dir string) {
	for _, e := range l.list(ctx, dir) {
		name := path.Join(dir, e.Name())
		if isDir, _ := l.kind(name, e); isDir {
			l.skill(ctx, name, e.Name())
		}
	}
}

func (l *loader) skill(ctx context.Context, dir, base string) {
	l.Stamp(dir)
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
	root := l.at.Root
	if l.at.Trusted {
		root = ""
	}
	l.add(&entry{file: file, path: l.Full(file), root: root, skill: true, body: d.body, Command: Command{
		Name: SkillPrefix + name, Description: cmp.Or(d.fields["description"], summaryOf(d.body)), Hint: defaultHint,
	}})
}

// add adds an entry, unless an earlier location has one with the same name.
func (l *loader) add(e *entry) {
	if l.found[e.Name] {
		l.Problem(e.file, 0, "another file defines /%s and takes precedence", e.Name)
		return
	}
	l.found[e.Name] = true
	if l.set.byName[e.Name] == nil {
		l.set.byName[e.Name] = e
	}
}

// read reads and parses a file. It returns false for a file that cannot be used, and reports the problem unless the file does not
// exist.
func (l *loader) read(ctx context.Context, name string) (document, bool) {
	data, ok := l.Text(ctx, name)
	if !ok {
		return document{}, false
	}
	d := parseDocument(data, func(line int, reason string) { l.Problem(name, line, "%s", reason) })
	if d.body == "" {
		l.Problem(name, 0, "has no text")
	}
	return d, d.body != ""
}
