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
	// maxFile is how large a file may be, in bytes.
	maxFile = 64 << 10
	// maxFiles bounds how many files of one directory are read.
	maxFiles = 500
)

// Options says where to look. Every field is optional.
type Options struct {
	// UserDir is the agent directory.
	UserDir string
	// Roots are the workspace's, the working directory first. The directories above one are looked through too, up to the top
	// of the repository that it lies in.
	Roots []string
}

// place is where rules of one kind are.
type place struct {
	// root is what symbolic links must not lead out of; at is below it, with slashes: a directory, or a file if file is set.
	root, at string
	file     bool
	endings  []string
	// name is that of the rule in a file.
	name string
	// always says that rules there are for every prompt unless they say otherwise.
	always bool
	// trusted places are the user's own: links may lead anywhere, and globs are for every root.
	trusted bool
	// own places are gjc's. The front matter of other programs' rules may have fields that gjc does not know.
	own bool
}

// places are all that are looked at, those that count more first.
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

// Load reads all rules. What can not be used is left out and told as a problem; places that are not there are none. Should ctx
// end, the book holds what was read until then.
func Load(ctx context.Context, opts Options) (*Book, []Problem) {
	l := &loader{ctx: ctx, book: new(Book)}
	if opts.UserDir != "" {
		l.instructions(filepath.Join(opts.UserDir, "AGENTS.md"))
	}
	for _, p := range opts.places() {
		l.place(&p)
	}
	slices.SortFunc(l.book.rules, func(a, b *Rule) int { return strings.Compare(a.Name, b.Name) })
	return l.book, l.problems
}

type loader struct {
	ctx      context.Context // of the one Load call
	book     *Book
	problems []Problem
}

func (l *loader) problem(path string, line int, reason string) {
	l.problems = append(l.problems, Problem{path, line, reason})
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

func (l *loader) instructions(path string) {
	files := os.DirFS(filepath.Dir(path))
	if text, ok := l.read(files, filepath.Base(path), path); ok {
		l.book.userPath, l.book.userText = path, strings.TrimSpace(strings.TrimLeft(text, "\ufeff"))
	}
}

func (l *loader) place(p *place) {
	if l.ctx.Err() != nil {
		return
	}
	full := filepath.Join(p.root, filepath.FromSlash(p.at))
	// Before the reading: what changes in between is seen as a change.
	seen := configfile.StampOf(full)
	l.book.stamps = append(l.book.stamps, seen)
	link, err := os.Lstat(full)
	if err != nil {
		l.unreadable(full, err)
		return
	}
	if link.Mode()&fs.ModeSymlink == 0 && link.IsDir() == p.file {
		return // ".clinerules" is the one or the other
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
		l.rule(p, files, p.at, p.name)
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
		l.rule(p, files, path.Join(p.at, e.Name()), name)
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

// rule reads one rule. One whose name is taken is left out.
func (l *loader) rule(p *place, files fs.FS, file, name string) {
	full := filepath.Join(p.root, filepath.FromSlash(file))
	name = text.Truncate(text.OneLine(name), 100)
	if slices.ContainsFunc(l.book.rules, func(r *Rule) bool { return r.Name == name }) {
		l.book.stamps = append(l.book.stamps, configfile.StampOf(full))
		return
	}
	text, ok := l.read(files, file, full)
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
					l.problem(full, d.fields[name].line, fmt.Sprintf("there is no field %q%s; it is passed over", name, configfile.Meant(name, fieldNames)))
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

// read reads a file. It reports false, and tells why, for one that can not be used; for one that is not there it tells nothing.
func (l *loader) read(files fs.FS, name, full string) (string, bool) {
	if l.ctx.Err() != nil {
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
	if !info.Mode().IsRegular() { // opening a pipe would wait for ever
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

// Stale reports whether [Load] would find something else by now. It reads no file: it looks at the times and sizes of those that
// were read and of the directories that they stand in. When ctx ends it reports false.
func (b *Book) Stale(ctx context.Context) bool { return configfile.Stale(ctx, b.stamps) }
