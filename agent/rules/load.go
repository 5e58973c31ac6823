package rules

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent/userfiles"
	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/text"
)

// maxFiles is the maximum number of files that are read from one directory.
const maxFiles = 500

// Options adjusts loading. Every field is optional.
type Options struct {
	// UserDir is the agent directory.
	UserDir string
	// Roots are the workspace's roots, starting with the working directory. The directories above a root are searched
	// too, up to the top of its repository.
	Roots []string
}

// place is a location of rules of one kind.
type place struct {
	// Dir is unset.
	userfiles.Place
	// at is a slash-separated path below the root, of a directory or, if file is set, of a file.
	at      string
	file    bool
	endings []string
	// name is the name of the rule in a file.
	name string
	// always is the default of Always for rules from this place.
	always bool
	// own is set for gjc's own places. Rules of other programs may have unknown fields.
	own bool
}

// Files returns the patterns of the files in a workspace that rules are read from: names with slashes, those of directories with one at the end.
func Files() []string {
	var all []string
	for _, p := range (&Options{Roots: []string{"."}}).places() {
		name := p.at
		if !p.file {
			name += "/"
		}
		all = append(all, name)
	}
	return all
}

// places returns all places, in order of precedence.
func (o *Options) places() []place {
	roots := configfile.Upwards(o.Roots...)
	var list []place
	each := func(p place) {
		for _, root := range roots {
			p.Root = root
			list = append(list, p)
		}
	}
	markdown := []string{".md", ".mdc"}
	each(place{at: ".gjc/rules", endings: markdown, own: true})
	if o.UserDir != "" {
		list = append(list, place{Place: userfiles.Place{Root: o.UserDir, Trusted: true}, at: "rules", endings: markdown, own: true})
	}
	each(place{at: ".cursor/rules", endings: []string{".mdc", ".md"}})
	each(place{at: ".clinerules", file: true, name: "clinerules", always: true})
	each(place{at: ".clinerules", endings: []string{".md"}, always: true})
	each(place{at: ".github/copilot-instructions.md", file: true, name: "copilot-instructions", always: true})
	each(place{at: ".github/instructions", endings: []string{".instructions.md"}})
	return list
}

// Load reads all rules. It omits invalid files, reporting them as problems, and ignores missing places. If ctx ends, the book
// contains what was read until then.
func Load(ctx context.Context, opts Options) (*Book, []userfiles.Problem) {
	l := &loader{Reader: userfiles.Reader{Roots: opts.Roots}, book: new(Book)}
	if opts.UserDir != "" {
		l.In(userfiles.Place{Root: opts.UserDir, Trusted: true}, func() {
			if text, ok := l.Text(ctx, "AGENTS.md"); ok {
				l.book.userPath, l.book.userText = l.Full("AGENTS.md"), strings.TrimSpace(strings.TrimLeft(text, "\ufeff"))
			}
		})
	}
	for _, p := range opts.places() {
		full := filepath.Join(p.Root, filepath.FromSlash(p.at))
		l.Stamps = append(l.Stamps, configfile.StampOf(full))
		if _, err := os.Lstat(full); errors.Is(err, fs.ErrNotExist) {
			continue // most do not exist; opening their roots would cost more than the rest
		}
		l.In(p.Place, func() { l.place(ctx, &p) })
	}
	slices.SortFunc(l.book.rules, func(a, b *Rule) int { return strings.Compare(a.Name, b.Name) })
	l.book.stamps = l.Stamps
	return l.book, l.Problems
}

type loader struct {
	userfiles.Reader
	book *Book
}

func (l *loader) place(ctx context.Context, p *place) {
	if ctx.Err() != nil {
		return
	}
	info, ok := l.Stat(p.at)
	if !ok || info.IsDir() == p.file { // ".clinerules" is a file or a directory
		return
	}
	if p.file {
		l.rule(ctx, p, p.at, p.name)
		return
	}
	n := 0
	for _, e := range l.List(ctx, p.at) {
		name, ok := cutEnding(e.Name(), p.endings)
		if !ok {
			continue
		}
		if n++; n > maxFiles {
			l.Problem(p.at, 0, "more than %d rules; the rest are ignored", maxFiles)
			return
		}
		l.rule(ctx, p, path.Join(p.at, e.Name()), name)
	}
}

func cutEnding(name string, endings []string) (string, bool) {
	for _, end := range endings {
		if base, ok := strings.CutSuffix(name, end); ok && base != "" {
			return base, true
		}
	}
	return "", false
}

// rule reads one rule. It skips a rule whose name is already in use.
func (l *loader) rule(ctx context.Context, p *place, file, name string) {
	name = text.Truncate(text.OneLine(name), 100)
	if slices.ContainsFunc(l.book.rules, func(r *Rule) bool { return r.Name == name }) {
		l.Stamp(file)
		return
	}
	text, ok := l.Text(ctx, file)
	if !ok {
		return
	}
	d, err := parseDocument(text)
	var r *Rule
	if err == nil {
		r, err = d.rule(p.always)
	}
	switch e, faulty := errors.AsType[*lineError](err); {
	case faulty:
		l.Problem(file, e.line, "%s; the rule is ignored", e.text)
	case err != nil:
		l.Problem(file, 0, "%v; the rule is ignored", err)
	case r.Text == "":
		l.Problem(file, 0, "has no text")
	default:
		if p.own {
			for _, name := range slices.Sorted(maps.Keys(d.fields)) {
				if !slices.Contains(fieldNames, name) {
					l.UnknownField(file, d.fields[name].line, name, fieldNames)
				}
			}
		}
		r.Name, r.Path = name, l.Full(file)
		if !p.Trusted {
			r.Root = p.Root
		}
		l.book.rules = append(l.book.rules, r)
	}
}

// Stale reports whether [Load] would now return something else. It reads no file: it compares the times and sizes of the files and
// directories that were read. It reports false when ctx ends.
func (b *Book) Stale(ctx context.Context) bool { return configfile.Stale(ctx, b.stamps) }
