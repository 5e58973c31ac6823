package commands

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
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
	// Foreign also loads the files of other programs, after gjc's own, in the same directories and in Home.
	Foreign bool
	// Home is the user's home directory. It is used with Foreign only.
	Home string
	// CodexHome is like that of [userfiles.Where]. It is used with Foreign only.
	CodexHome string
	// Skills selects skills.
	Skills SkillOptions
	// Plugins are the session's plugins; nil for none.
	Plugins userfiles.Plugins
}

// SkillOptions selects skills. The zero value loads those of all sources.
type SkillOptions struct {
	// Dirs are additional directories of the user's. Each directory in them with a SKILL.md is a skill, at any depth.
	Dirs []string
	// Ignored are globs for the names of skills that are not loaded. If Included is not empty, only skills that match one of its globs are.
	Ignored, Included []string
}

// places returns the places of a kind.
func (o *Options) places(kind userfiles.Kind, plugins []userfiles.Plugin) []userfiles.Place {
	where := userfiles.Where{Roots: o.ProjectDirs, UserDir: o.UserDir, Plugins: plugins}
	if o.Foreign {
		where.Home, where.CodexHome = o.Home, o.CodexHome
	}
	return slices.DeleteFunc(where.Places(kind), func(p userfiles.Place) bool { return p.Foreign() && p.Plugin == "" && !o.Foreign })
}

// Load reads all commands and skills. It skips invalid files and reports them as problems, and ignores missing directories. If ctx
// ends, the set contains what was read until then.
func Load(ctx context.Context, opts Options) (*Set, []userfiles.Problem) {
	l := &loader{Reader: userfiles.Reader{Roots: opts.ProjectDirs}, opts: opts.Skills, set: &Set{byName: make(map[string]*entry)}}
	l.set.plugins, l.set.pluginStamp = opts.Plugins, userfiles.StampOf(ctx, opts.Plugins)
	plugins := userfiles.ActiveOf(ctx, opts.Plugins)
	all := opts.places(userfiles.Commands, plugins)
	for i := range all {
		l.in(&all[i], func() { l.commandPlace(ctx) })
	}
	all = opts.places(userfiles.Skills, plugins)
	for i := range all {
		l.in(&all[i], func() { l.skillPlace(ctx) })
	}
	for _, dir := range opts.Skills.Dirs {
		p := userfiles.Place{Root: dir, Dir: ".", Trusted: true, Source: userfiles.Source{Origin: "gjc", Kind: userfiles.Skills, Format: userfiles.SkillDir}}
		l.in(&p, func() { l.deepSkills(ctx, ".", 0) })
	}
	l.reportIgnored()
	l.set.stamps, l.set.found = slices.Clone(l.Stamps), l.Found
	return l.set, l.Problems
}

type loader struct {
	userfiles.Reader
	opts SkillOptions
	set  *Set

	// State of the current location.
	at      *userfiles.Place
	entries int
	found   map[string]bool // the names found

	// ignored are the commands of other programs with fields that have no effect, by program in the order of reading.
	ignored []ignoredFields
}

// ignoredFields are the fields without an effect in the commands of one program.
type ignoredFields struct {
	origin, path string // of the first file
	line         int
	fields       []string
	more         int // files after the first
}

// ignore returns the fields of a command of another program that gjc does not honour although they change what the command does there.
func (l *loader) ignore(file string, d *document) []string {
	var fields []string
	if l.at.Own() {
		return nil
	}
	for _, name := range []string{"model", "agent", "mode"} {
		line, ok := d.lines[name]
		if !ok {
			continue
		}
		fields = append(fields, name)
		i := slices.IndexFunc(l.ignored, func(one ignoredFields) bool { return one.origin == l.at.Origin })
		switch {
		case i < 0:
			l.ignored = append(l.ignored, ignoredFields{origin: l.at.Origin, path: l.Full(file), line: line, fields: []string{name}})
			continue
		case l.ignored[i].path != l.Full(file) && len(fields) == 1:
			l.ignored[i].more++
		}
		if !slices.Contains(l.ignored[i].fields, name) {
			l.ignored[i].fields = append(l.ignored[i].fields, name)
		}
	}
	return fields
}

// reportIgnored reports the ignored fields once for each program, since a user may have many such files.
func (l *loader) reportIgnored() {
	for _, one := range l.ignored {
		others := ""
		switch {
		case one.more == 1:
			others = ", nor in another command of " + one.origin
		case one.more > 1:
			others = fmt.Sprintf(", nor in %d other commands of %s", one.more, one.origin)
		}
		verb := "has"
		if len(one.fields) > 1 {
			verb = "have"
		}
		l.Problems = append(l.Problems, userfiles.Problem{Path: one.path, Line: one.line, Reason: fmt.Sprintf(
			"%s %s no effect here%s: gjc runs the command with the session's model and mode", strings.Join(one.fields, " and "), verb, others,
		)})
	}
}

func (l *loader) in(p *userfiles.Place, fn func()) {
	l.at, l.entries, l.found = p, 0, make(map[string]bool)
	l.In(p, fn)
}

// commandPlace adds the commands of the current place. That of a plugin may be a single file.
func (l *loader) commandPlace(ctx context.Context) {
	prefix := ""
	if l.at.Plugin != "" {
		prefix = l.at.Plugin + ":"
		if info, ok := l.Stat(l.at.Dir); ok && !info.IsDir() {
			base, _ := l.cutEnding(path.Base(l.at.Dir))
			l.command(ctx, l.at.Dir, prefix+base)
			return
		}
	}
	l.commands(ctx, l.at.Dir, prefix, 0)
}

// skillPlace adds the skills of the current place. That of a plugin may be the directory of a single skill.
func (l *loader) skillPlace(ctx context.Context) {
	if l.at.Plugin != "" {
		if _, err := fs.Stat(os.DirFS(l.at.Full()), "SKILL.md"); err == nil {
			l.skill(ctx, l.at.Dir, path.Base(l.at.Full()))
			return
		}
	}
	l.skills(ctx, l.at.Dir)
}

// mine reports whether what the current place's files run needs no question of its own.
func (l *loader) mine() bool { return l.at.Trusted || l.at.Plugin != "" }

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
		base, known := l.cutEnding(e.Name())
		isDir, isFile := l.kind(name, e)
		switch {
		case isDir && depth < maxDepth:
			l.commands(ctx, name, prefix+e.Name()+":", depth+1)
		case isDir:
			l.Problem(name, 0, "is nested too deeply")
		case isFile && known:
			l.command(ctx, name, prefix+base)
		case known && e.Type()&fs.ModeSymlink == 0:
			l.Problem(name, 0, "is not a regular file")
			l.Refuse(name, prefix+base)
		}
	}
}

// cutEnding removes the ending of the current place's files.
func (l *loader) cutEnding(name string) (string, bool) {
	for _, end := range l.at.Endings {
		if base, ok := strings.CutSuffix(name, end); ok && base != "" {
			return base, true
		}
	}
	return name, false
}

func (l *loader) command(ctx context.Context, file, name string) {
	d, size, ok := l.read(ctx, file)
	if !ok {
		l.Refuse(file, name)
		return
	}
	if named := d.fields["name"]; l.at.Format == userfiles.Prompt && named != "" && validName(named) {
		name = named
	}
	switch {
	case !validName(name):
		l.badName(file, name)
		l.Refuse(file, name)
		return
	case strings.HasPrefix(name, SkillPrefix):
		l.Problem(file, 0, "names that begin with %s belong to skills; rename the directory", SkillPrefix)
		l.Refuse(file, name)
		return
	}
	l.unknown(file, &d, commandFields)
	l.add(&entry{ignored: l.ignore(file, &d), file: file, path: l.Full(file), own: l.mine(), plugin: l.at.Plugin, size: size, template: l.pluginTemplate(&d), Command: Command{
		Name: name, Description: cmp.Or(d.fields["description"], summaryOf(d.body)),
		Hint: cmp.Or(d.fields["argument-hint"], strings.Join(d.list("arguments"), " "), defaultHint),
	}})
}

// pluginTemplate returns the text of a file with what has a meaning in it. In a plugin's file, the plugin's directory has.
func (l *loader) pluginTemplate(d *document) template {
	t := l.template(d)
	if l.at.Plugin != "" {
		t.variables = map[string]string{"CLAUDE_PLUGIN_ROOT": l.at.Root}
	}
	return t
}

// template returns the text of a file with what has a meaning in it.
func (l *loader) template(d *document) template {
	t := template{body: d.body, names: d.list("arguments")}
	switch {
	case l.at.Format == userfiles.TOML:
		t.syntax = syntax{braces: true, gemini: true}
	case l.at.Format == userfiles.Prompt:
		t.syntax = syntax{inputs: true, hash: true}
	case l.at.Format == userfiles.SkillDir:
		// The text is for a model first, and often shows commands.
		t.syntax = syntax{dollar: true, bang: true, positions: len(t.names) > 0 || d.fields["argument-hint"] != ""}
	case l.at.Own():
		t.syntax = syntax{dollar: true, positions: true, braces: true, inputs: true, bang: true, at: true}
	case l.at.Origin == userfiles.Codex:
		t.syntax = syntax{dollar: true, positions: true, named: true}
	default:
		t.syntax = syntax{dollar: true, positions: true, bang: true, at: true}
	}
	return t
}

func (l *loader) badName(file, name string) {
	l.Problem(file, 0, "invalid command name %q; use letters, digits, - and _", name)
}

// Fields of front matter. A skill's fields after allowed-tools are for human readers.
var (
	commandFields = []string{"description", "argument-hint", "arguments"}
	skillFields   = []string{
		"name", "description", "argument-hint", "arguments", "disable-model-invocation", "user-invocable", "allowed-tools",
		"license", "compatibility", "metadata", "version", "author",
	}
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

// deepSkills adds the directories with a SKILL.md in a directory, at any depth.
func (l *loader) deepSkills(ctx context.Context, dir string, depth int) {
	for _, e := range l.list(ctx, dir) {
		name := path.Join(dir, e.Name())
		if isDir, _ := l.kind(name, e); !isDir || e.Name() == "node_modules" {
			continue
		}
		if depth == maxDepth {
			l.Problem(name, 0, "is nested too deeply")
			continue
		}
		l.skill(ctx, name, e.Name())
		l.deepSkills(ctx, name, depth+1)
	}
}

// selected reports whether a skill is loaded.
func (o *SkillOptions) selected(name string) bool {
	matches := func(glob string) bool {
		ok, err := path.Match(glob, name)
		return ok && err == nil
	}
	return !slices.ContainsFunc(o.Ignored, matches) && (len(o.Included) == 0 || slices.ContainsFunc(o.Included, matches))
}

func (l *loader) skill(ctx context.Context, dir, base string) {
	l.Stamp(dir)
	file := path.Join(dir, "SKILL.md")
	d, size, ok := l.read(ctx, file)
	if !ok {
		l.Refuse(file, base)
		return
	}
	l.unknown(file, &d, skillFields)
	name := cmp.Or(d.fields["name"], base)
	if l.at.Plugin != "" {
		name = l.at.Plugin + ":" + name
	}
	if !validName(SkillPrefix + name) {
		l.badName(file, name)
		l.Refuse(file, name)
		return
	}
	if !l.opts.selected(name) {
		l.Add(file, SkillPrefix+name, size, userfiles.Left, "by skills in config.yml")
		return
	}
	root := l.at.Root
	if l.at.Trusted {
		root = ""
	}
	e := &entry{file: file, path: l.Full(file), root: root, own: l.mine(), plugin: l.at.Plugin, size: size, skill: true, template: l.pluginTemplate(&d), Command: Command{
		Name: SkillPrefix + name, Description: cmp.Or(d.fields["description"], summaryOf(d.body)),
		Hint: cmp.Or(d.fields["argument-hint"], strings.Join(d.list("arguments"), " "), defaultHint),
	}}
	e.tools = d.list("allowed-tools")
	e.secret, e.unlisted = d.fields["disable-model-invocation"] == "true", d.fields["user-invocable"] == "false"
	if e.variables == nil {
		e.variables = make(map[string]string)
	}
	e.variables["CLAUDE_SKILL_DIR"], e.variables["SKILL_DIR"] = l.Full(dir), l.Full(dir)
	l.add(e)
}

// add adds an entry, unless an earlier location has one with the same name.
func (l *loader) add(e *entry) {
	if l.found[e.Name] {
		l.Problem(e.file, 0, "another file defines /%s and takes precedence", e.Name)
	}
	l.found[e.Name] = true
	switch first := l.set.byName[e.Name]; {
	case first == nil:
		l.set.byName[e.Name] = e
		why := ""
		if len(e.ignored) > 0 {
			why = "ignored: " + strings.Join(e.ignored, ", ")
		}
		l.Add(e.file, e.Name, e.size, userfiles.Used, why)
	case first.body == e.body:
		l.Add(e.file, e.Name, e.size, userfiles.Duplicate, "of "+first.path)
	default:
		l.Add(e.file, e.Name, e.size, userfiles.Shadowed, "by "+first.path)
	}
}

// read reads and parses a file. It returns false for a file that cannot be used, and reports the problem unless the file does not
// exist.
func (l *loader) read(ctx context.Context, name string) (d document, size int, ok bool) {
	data, ok := l.Text(ctx, name)
	if !ok {
		return document{}, 0, false
	}
	if l.at.Format == userfiles.TOML {
		d, err := parseTOML(data)
		if err != nil {
			l.Problem(name, err.line, "%s; the command is ignored", err.text)
		}
		return d, len(data), err == nil
	}
	d = parseDocument(data, func(line int, reason string) { l.Mistake(name, line, "%s", reason) })
	if d.body == "" {
		l.Problem(name, 0, "has no text")
	}
	return d, len(data), d.body != ""
}
