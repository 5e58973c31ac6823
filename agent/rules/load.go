package rules

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent/userfiles"
	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/text"
)

// maxFiles is the maximum number of files that are read from one directory.
const maxFiles = 500

// Options adjusts loading. Every field is optional.
type Options = userfiles.Where

// maxDepth limits the walk of a directory.
const maxDepth = 8

// Load reads all rules. It omits invalid files, reporting them as problems, and ignores missing places. If ctx ends, the book
// contains what was read until then.
func Load(ctx context.Context, opts Options) (*Book, []userfiles.Problem) {
	l := &loader{Reader: userfiles.Reader{Roots: opts.Roots}, book: new(Book)}
	places := opts.Places(userfiles.Rules)
	for i := range places {
		p := &places[i]
		l.In(p, func() { l.place(ctx, p) })
	}
	slices.SortFunc(l.book.rules, func(a, b *Rule) int { return strings.Compare(a.Name, b.Name) })
	l.book.stamps, l.book.found = slices.Clone(l.Stamps), l.Found
	return l.book, l.Problems
}

type loader struct {
	userfiles.Reader
	book *Book
	// n counts the rules of the current place.
	n int
}

func (l *loader) place(ctx context.Context, p *userfiles.Place) {
	if ctx.Err() != nil {
		return
	}
	info, ok := l.Stat(p.Dir)
	if !ok || p.Dir == ".clinerules" && info.IsDir() != p.Source.Dir() && (info.IsDir() || p.Source.Dir()) {
		return // it is a file or a directory, and has a source for each
	}
	if !p.Source.Dir() {
		l.rule(ctx, p, p.Dir, p.Name)
		return
	}
	l.n = 0
	l.dir(ctx, p, p.Dir, "", 0)
}

// dir reads the rules of a directory. The names of those in subdirectories begin with prefix.
func (l *loader) dir(ctx context.Context, p *userfiles.Place, dir, prefix string, depth int) {
	for _, e := range l.List(ctx, dir) {
		file := path.Join(dir, e.Name())
		if p.Deep && l.subdirectory(file, e) {
			if depth == maxDepth {
				l.Problem(file, 0, "is nested too deeply")
				continue
			}
			l.dir(ctx, p, file, prefix+e.Name()+"/", depth+1)
			continue
		}
		name, ok := cutEnding(e.Name(), p.Endings)
		if !ok {
			continue
		}
		if l.n++; l.n > maxFiles {
			if l.n == maxFiles+1 {
				l.Problem(p.Dir, 0, "more than %d rules; the rest are ignored", maxFiles)
			}
			return
		}
		l.rule(ctx, p, file, prefix+name)
	}
}

// subdirectory reports whether an entry is a directory, or a link to one within the root.
func (l *loader) subdirectory(file string, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink != 0 {
		info, err := os.Stat(l.Full(file))
		return err == nil && info.IsDir()
	}
	return e.IsDir()
}

func cutEnding(name string, endings []string) (string, bool) {
	for _, end := range endings {
		if base, ok := strings.CutSuffix(name, end); ok && base != "" {
			return base, true
		}
	}
	return "", false
}

// rule reads one rule. It skips a rule whose name is already in use, and one with the same text as another.
func (l *loader) rule(ctx context.Context, p *userfiles.Place, file, name string) {
	name = text.Truncate(text.OneLine(name), 100)
	if at := slices.IndexFunc(l.book.rules, func(r *Rule) bool { return r.Name == name }); at >= 0 {
		l.Stamp(file)
		l.Add(file, name, 0, userfiles.Shadowed, "by "+l.book.rules[at].Path)
		return
	}
	content, ok := l.Text(ctx, file)
	if !ok {
		l.Refuse(file, name)
		return
	}
	d, err := parseDocument(content)
	var r *Rule
	if err == nil {
		r, err = d.rule(p.Always)
	}
	if err == nil && p.Foreign() {
		d.activation(r)
	}
	switch e, faulty := errors.AsType[*lineError](err); {
	case faulty:
		l.Problem(file, e.line, "%s; the rule is ignored", e.text)
	case err != nil:
		l.Problem(file, 0, "%v; the rule is ignored", err)
	case r.Text == "":
		l.Problem(file, 0, "has no text")
	default:
		for _, name := range slices.Sorted(maps.Keys(d.fields)) {
			if !slices.Contains(fieldNames, name) {
				l.UnknownField(file, d.fields[name].line, name, fieldNames)
			}
		}
		r.Name, r.Path, r.Origin = name, l.Full(file), p.Origin
		if !p.Trusted {
			r.Root = p.Root
		}
		use := fmt.Sprint(r.Always, r.Trigger != nil)
		if len(r.Globs) > 0 {
			use += fmt.Sprint(r.Globs, r.Root)
		}
		if twin := l.Twin(file, use, r.Text); twin != "" {
			l.Add(file, name, len(content), userfiles.Duplicate, "of "+twin)
			return
		}
		l.Add(file, name, len(content), userfiles.Used, r.use())
		l.book.rules = append(l.book.rules, r)
		return
	}
	l.Refuse(file, name)
}

// use describes when a model receives the rule.
func (r *Rule) use() string {
	switch {
	case r.Trigger != nil:
		return "when an answer matches"
	case r.Always:
		return "in every prompt"
	case r.Manual:
		return "when it is named"
	case len(r.Globs) > 0:
		return "for " + strings.Join(r.Globs, ", ")
	default:
		return "when the model chooses it"
	}
}

// Stale reports whether [Load] would now return something else. It reads no file: it compares the times and sizes of the files and
// directories that were read. It reports false when ctx ends.
func (b *Book) Stale(ctx context.Context) bool { return configfile.Stale(ctx, b.stamps) }
