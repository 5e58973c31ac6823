// Package userfiles reads the Markdown files in which users and projects instruct the agent: rules, commands, skills and helper agents.
//
// Files of a workspace are untrusted, so a symbolic link there that leads out of its root is not followed: its target would be sent to a
// model.
package userfiles

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/text"
)

// maxFile is the maximum size of a file, in bytes.
const maxFile = 64 << 10

// Problem reports a file that was skipped or not fully understood.
type Problem struct {
	Path string
	// Line is 1-based; zero for the whole file.
	Line   int
	Reason string
}

func (p Problem) String() string {
	if p.Line == 0 {
		return p.Path + ": " + p.Reason
	}
	return fmt.Sprintf("%s:%d: %s", p.Path, p.Line, p.Reason)
}

// Reader reads the files of one place after another. It records the problems, and the stamps of all files and directories that it
// visits, each before reading, so that a concurrent change is noticed. Names are slash-separated paths below the root of the place.
type Reader struct {
	// Roots are the workspace's roots. A root that cannot be opened is reported; any other place is not.
	Roots    []string
	Problems []Problem
	Stamps   []configfile.Stamp
	// Found lists the files in the order in which they were read.
	Found []File

	at    Place
	files fs.FS
	// broken is the reason why the last file could not be read.
	broken string
	sums   map[string]string
}

// In calls fn with the reader at a place, unless nothing is there or its root cannot be opened.
func (r *Reader) In(p *Place, fn func()) {
	r.at = *p
	r.Stamp(p.Dir)
	if _, err := os.Lstat(p.Full()); errors.Is(err, fs.ErrNotExist) {
		return // most do not exist; opening their roots would cost more than the rest
	}
	if p.Trusted {
		r.files = os.DirFS(p.Root)
	} else {
		root, err := os.OpenRoot(p.Root)
		if err != nil {
			if slices.Contains(r.Roots, p.Root) {
				r.unreadable(".", err)
			}
			return
		}
		defer func() { _ = root.Close() }()
		r.files = approval.Guidance(p.Root, root.FS())
	}
	fn()
}

// Add records that a file at the current place was found, and what became of it.
func (r *Reader) Add(file, name string, bytes int, state State, why string) {
	r.Found = append(r.Found, File{r.at.Origin, r.at.Kind, r.Full(file), name, bytes, state, why})
}

// Refuse records that a file at the current place was found and cannot be used, for the last reason that was reported.
func (r *Reader) Refuse(file, name string) {
	if r.broken != "" {
		r.Add(file, name, 0, Refused, r.broken)
	}
	r.broken = ""
}

// Twin returns the path of an earlier file with the same text and the same use, or "".
func (r *Reader) Twin(file, use, text string) string {
	if r.sums == nil {
		r.sums = make(map[string]string)
	}
	key := use + "\x00" + text
	if earlier, ok := r.sums[key]; ok {
		return earlier
	}
	r.sums[key] = r.Full(file)
	return ""
}

// Full returns the path of a name for the user.
func (r *Reader) Full(name string) string { return filepath.Join(r.at.Root, filepath.FromSlash(name)) }

// Stamp records the stamp of a file or directory.
func (r *Reader) Stamp(name string) { r.Stamps = append(r.Stamps, configfile.StampOf(r.Full(name))) }

// Problem reports a problem of a file; line is zero for the whole file.
func (r *Reader) Problem(name string, line int, format string, args ...any) {
	r.broken = fmt.Sprintf(format, args...)
	r.Problems = append(r.Problems, Problem{r.Full(name), line, r.broken})
}

// Mistake reports a problem in the content of a file. Of another program's files, only listings show it: what that program accepts is no
// mistake.
func (r *Reader) Mistake(name string, line int, format string, args ...any) {
	if !r.at.Foreign() {
		r.Problem(name, line, format, args...)
		return
	}
	r.broken = fmt.Sprintf(format, args...)
}

// UnknownField reports a front matter field that gjc does not support.
func (r *Reader) UnknownField(name string, line int, field string, known []string) {
	if !r.at.Foreign() {
		r.Problem(name, line, "unknown field %q%s; it is ignored", field, configfile.Suggestion(field, known))
	}
}

// unreadable reports a file that cannot be read, unless it does not exist.
func (r *Reader) unreadable(name string, err error) {
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	r.Problem(name, 0, "cannot be read: %v", err)
}

// List lists a directory, sorted by name, without hidden entries. It returns nothing for one that cannot be read, after reporting it
// unless it does not exist.
func (r *Reader) List(ctx context.Context, dir string) []fs.DirEntry {
	if ctx.Err() != nil {
		return nil
	}
	r.Stamp(dir)
	entries, err := fs.ReadDir(r.files, dir)
	if err != nil {
		r.unreadable(dir, err)
		return nil
	}
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), ".") })
}

// Stat returns the metadata of a file, or of its link's target. If it cannot, it returns false after reporting why, unless the file
// does not exist.
func (r *Reader) Stat(name string) (fs.FileInfo, bool) {
	info, err := fs.Stat(r.files, name)
	if err == nil {
		return info, true
	}
	_, target := os.Stat(r.Full(name))
	link, _ := os.Lstat(r.Full(name))
	switch {
	case errors.Is(err, approval.ErrWithheld):
		r.unreadable(name, err)
	case target == nil && !r.at.Trusted: // it exists, but outside of the root
		r.Problem(name, 0, "a symbolic link points outside %s; it is not followed", r.at.Root)
	case link != nil && link.Mode()&fs.ModeSymlink != 0:
		r.Problem(name, 0, "dangling symbolic link")
	default:
		r.unreadable(name, err)
	}
	return nil, false
}

// Text reads a file. It reports false for a file that cannot be used, after reporting why unless the file does not exist.
func (r *Reader) Text(ctx context.Context, name string) (string, bool) {
	if ctx.Err() != nil {
		return "", false
	}
	r.broken = ""
	r.Stamp(name)
	info, ok := r.Stat(name)
	if !ok {
		return "", false
	}
	if !info.Mode().IsRegular() { // opening a pipe would block
		r.Problem(name, 0, "is not a regular file")
		return "", false
	}
	data, err := configfile.ReadCapped(r.files, name, maxFile)
	switch {
	case err != nil:
		r.unreadable(name, err)
	case len(data) > maxFile:
		r.Problem(name, 0, "is larger than %d KiB; it is ignored", maxFile>>10)
	default:
		decoded, line, ok := text.Decode(data)
		if ok {
			return decoded, true
		}
		r.Problem(name, line, "is neither UTF-8 nor UTF-16 text; it is ignored")
	}
	return "", false
}
