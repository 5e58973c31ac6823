// Package userfiles reads the Markdown files in which users and projects instruct the agent: rules, commands, skills and helper agents.
//
// Files of a workspace are untrusted, so a symbolic link there that leads out of its root is not followed: its target would be sent to a
// model.
package userfiles

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/internal/configfile"
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

// Place is a directory that may contain such files.
type Place struct {
	// Symbolic links must not lead out of Root. Dir is a slash-separated path below it.
	Root, Dir string
	// Trusted places are the user's own; links there may lead anywhere.
	Trusted bool
	// Foreign places belong to another program. Their problems are not reported.
	Foreign bool
}

// Places returns the places of a workspace in order of precedence: .gjc in the roots and in the directories above them, up to the top of
// their repositories; userDir; then each of the foreign directories, such as .claude, in the roots and in home. Empty directories are
// left out.
func Places(roots []string, userDir, home string, foreign ...string) []Place {
	var list []Place
	roots = configfile.Upwards(roots...)
	for _, root := range roots {
		list = append(list, Place{Root: root, Dir: ".gjc"})
	}
	if userDir != "" {
		list = append(list, Place{Root: userDir, Dir: ".", Trusted: true})
	}
	for _, dir := range foreign {
		for _, root := range roots {
			list = append(list, Place{Root: root, Dir: dir, Foreign: true})
		}
		if home != "" {
			list = append(list, Place{Root: home, Dir: dir, Trusted: true, Foreign: true})
		}
	}
	return list
}

// Reader reads the files of one place after another. It records the problems, and the stamps of all files and directories that it
// visits, each before reading, so that a concurrent change is noticed. Names are slash-separated paths below the root of the place.
type Reader struct {
	// Roots are the workspace's roots. A root that cannot be opened is reported; any other place is not.
	Roots    []string
	Problems []Problem
	Stamps   []configfile.Stamp

	at    Place
	files fs.FS
}

// In calls fn with the reader at a place, unless its root cannot be opened.
func (r *Reader) In(p Place, fn func()) {
	r.at = p
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

// Full returns the path of a name for the user.
func (r *Reader) Full(name string) string { return filepath.Join(r.at.Root, filepath.FromSlash(name)) }

// Stamp records the stamp of a file or directory.
func (r *Reader) Stamp(name string) { r.Stamps = append(r.Stamps, configfile.StampOf(r.Full(name))) }

// Problem reports a problem of a file; line is zero for the whole file.
func (r *Reader) Problem(name string, line int, format string, args ...any) {
	if !r.at.Foreign {
		r.Problems = append(r.Problems, Problem{r.Full(name), line, fmt.Sprintf(format, args...)})
	}
}

// UnknownField reports a front matter field that gjc does not support.
func (r *Reader) UnknownField(name string, line int, field string, known []string) {
	r.Problem(name, line, "unknown field %q%s; it is ignored", field, configfile.Suggestion(field, known))
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
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		r.Problem(name, 1+bytes.Count(validStart(data), []byte("\n")), "is not UTF-8 text; it is ignored")
	default:
		return string(data), true
	}
	return "", false
}

// validStart returns data up to the first NUL or invalid UTF-8 byte.
func validStart(data []byte) []byte {
	for at := 0; at < len(data); {
		c, n := utf8.DecodeRune(data[at:])
		if c == 0 || c == utf8.RuneError && n == 1 {
			return data[:at]
		}
		at += n
	}
	return data
}
