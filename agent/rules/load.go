package rules

import (
	"bytes"
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
	"github.com/gajae-code/gjc/internal/text"
)

const (
	// maxFile is the maximum size of a file, in bytes.
	maxFile = 64 << 10
	// maxFiles is the maximum number of files that are read from one directory.
	maxFiles = 500
)

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
	// root bounds symbolic links; at is a slash-separated path below it, of a directory or, if file is set, of a file.
	root, at string
	file     bool
	endings  []string
	// name is the name of the rule in a file.
	name string
	// always is the default of Always for the place's rules.
	always bool
	// trusted places are the user's own: links may lead anywhere, and globs apply to every root.
	trusted bool
	// own places are gjc's. Rules of other programs may have unknown fields.
	own bool
}

// places returns all places, in order of precedence.
func (o *Options) places() []place {
	roots := configfile.Upwards(o.Roots...)
	var list []place
	each := func(p place) {
		for _, root := range roots {
			p.root = root
			list = append(list, p)
		}
	}
	markdown := []string{".md", ".mdc"}
	each(place{at: ".gjc/rules", endings: markdown, own: true})
	if o.UserDir != "" {
		list = append(list, place{root: o.UserDir, at: "rules", endings: markdown, trusted: true, own: true})
	}
	each(place{at: ".cursor/rules", endings: []string{".mdc", ".md"}})
	each(place{at: ".clinerules", file: true, name: "clinerules", always: true})
	each(place{at: ".clinerules", endings: []string{".md"}, always: true})
	each(place{at: ".github/copilot-instructions.md", file: true, name: "copilot-instructions", always: true})
	each(place{at: ".github/instructions", endings: []string{".instructions.md"}})
	return list
}

// Load reads all rules. It leaves out invalid files and reports them as problems, and ignores missing places. If ctx
// ends, the book has what was read until then.
func Load(ctx context.Context, opts Options) (*Book, []Problem) {
	l := &loader{book: new(Book)}
	if opts.UserDir != "" {
		l.instructions(ctx, filepath.Join(opts.UserDir, "AGENTS.md"))
	}
	for _, p := range opts.places() {
		l.place(ctx, &p)
	}
	slices.SortFunc(l.book.rules, func(a, b *Rule) int { return strings.Compare(a.Name, b.Name) })
	return l.book, l.problems
}

type loader struct {
	book     *Book
	problems []Problem
}

func (l *loader) problem(path string, line int, reason string) {
	l.problems = append(l.problems, Problem{path, line, reason})
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

func (l *loader) instructions(ctx context.Context, path string) {
	files := os.DirFS(filepath.Dir(path))
	if text, ok := l.read(ctx, files, filepath.Base(path), path); ok {
		l.book.userPath, l.book.userText = path, strings.TrimSpace(strings.TrimLeft(text, "\ufeff"))
	}
}

func (l *loader) place(ctx context.Context, p *place) {
	if ctx.Err() != nil {
		return
	}
	full := filepath.Join(p.root, filepath.FromSlash(p.at))
	// Before reading, so that a concurrent change is noticed.
	seen := configfile.StampOf(full)
	l.book.stamps = append(l.book.stamps, seen)
	link, err := os.Lstat(full)
	if err != nil {
		l.unreadable(full, err)
		return
	}
	if link.Mode()&fs.ModeSymlink == 0 && link.IsDir() == p.file {
		return // ".clinerules" is a file or a directory
	}
	var files fs.FS
	if p.trusted {
		files = os.DirFS(p.root)
	} else {
		root, err := os.OpenRoot(p.root)
		if err != nil {
			l.unreadable(p.root, err)
			return
		}
		defer func() { _ = root.Close() }()
		files = approval.Guidance(p.root, root.FS())
	}
	info, err := fs.Stat(files, p.at)
	if err != nil {
		l.problem(full, 0, "a symbolic link leads out of "+p.root+", or nowhere; it is not followed")
		return
	}
	if info.IsDir() == p.file {
		return
	}
	if p.file {
		l.rule(ctx, p, files, p.at, p.name)
		return
	}
	entries, err := fs.ReadDir(files, p.at)
	if err != nil {
		l.unreadable(full, err)
		return
	}
	n := 0
	for _, e := range entries {
		name, ok := cutEnding(e.Name(), p.endings)
		if !ok || strings.HasPrefix(name, ".") {
			continue
		}
		if n++; n > maxFiles {
			l.problem(full, 0, fmt.Sprintf("there are more than %d rules; the rest is left out", maxFiles))
			return
		}
		l.rule(ctx, p, files, path.Join(p.at, e.Name()), name)
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

// rule reads one rule. It leaves out a rule whose name is in use.
func (l *loader) rule(ctx context.Context, p *place, files fs.FS, file, name string) {
	full := filepath.Join(p.root, filepath.FromSlash(file))
	name = text.Truncate(text.OneLine(name), 100)
	if slices.ContainsFunc(l.book.rules, func(r *Rule) bool { return r.Name == name }) {
		l.book.stamps = append(l.book.stamps, configfile.StampOf(full))
		return
	}
	text, ok := l.read(ctx, files, file, full)
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
		l.problem(full, e.line, e.text+"; the rule is left out")
	case err != nil:
		l.problem(full, 0, err.Error()+"; the rule is left out")
	case r.Text == "":
		l.problem(full, 0, "has no text")
	default:
		if p.own {
			for _, name := range slices.Sorted(maps.Keys(d.fields)) {
				if !slices.Contains(fieldNames, name) {
					l.problem(full, d.fields[name].line, fmt.Sprintf("unknown field %q%s; it is ignored", name, configfile.Meant(name, fieldNames)))
				}
			}
		}
		r.Name, r.Path = name, full
		if !p.trusted {
			r.Root = p.root
		}
		l.book.rules = append(l.book.rules, r)
	}
}

// read reads a file. It reports false for a file that cannot be used, after reporting the problem unless the file does
// not exist.
func (l *loader) read(ctx context.Context, files fs.FS, name, full string) (string, bool) {
	if ctx.Err() != nil {
		return "", false
	}
	l.book.stamps = append(l.book.stamps, configfile.StampOf(full))
	info, err := fs.Stat(files, name)
	if err != nil {
		if link, _ := os.Lstat(full); link != nil && !errors.Is(err, approval.ErrWithheld) && link.Mode()&fs.ModeSymlink != 0 {
			l.problem(full, 0, "a symbolic link leads out of the workspace, or nowhere; it is not followed")
		} else {
			l.unreadable(full, err)
		}
		return "", false
	}
	if !info.Mode().IsRegular() { // opening a pipe would block
		l.problem(full, 0, "is not a regular file")
		return "", false
	}
	data, err := configfile.ReadCapped(files, name, maxFile)
	switch {
	case err != nil:
		l.unreadable(full, err)
	case len(data) > maxFile:
		l.problem(full, 0, fmt.Sprintf("is larger than %d KiB; it is left out", maxFile>>10))
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		l.problem(full, 0, "is not UTF-8 text; it is left out")
	default:
		return string(data), true
	}
	return "", false
}

// Stale reports whether [Load] would return something else now. It reads no file: it compares the times and sizes of
// the files and directories that were read. It reports false when ctx ends.
func (b *Book) Stale(ctx context.Context) bool { return configfile.Stale(ctx, b.stamps) }
