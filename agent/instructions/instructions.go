// Package instructions finds the texts that users and projects write for every session: AGENTS.md, CLAUDE.md, GEMINI.md, the files that
// these import, and the files that change gjc's own prompts.
//
// The user's files come first, then those of a workspace from the top of its repository down to the working directory: the last is the
// strongest. Of AGENTS.md, CLAUDE.md and GEMINI.md in one directory only the first is used, since they are mostly copies of each other. No
// file is used twice, neither by another path nor as a copy.
//
// Files of a workspace are untrusted: a file outside of it, or one with secrets, is not read for them.
package instructions

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/userfiles"
	"github.com/gajae-code/gjc/internal/places"
	"github.com/gajae-code/gjc/internal/text"
)

// Files reads a workspace, as the user's editor has it.
type Files interface {
	// ReadFile returns a whole file.
	ReadFile(ctx context.Context, path string) ([]byte, error)
	// Stat follows symbolic links.
	Stat(ctx context.Context, path string) (os.FileInfo, error)
	// RealPath resolves the symbolic links in path, as far as path exists.
	RealPath(path string) string
}

// Limits bounds the text in a prompt, in bytes.
type Limits struct {
	// Total bounds all files together, File each of them.
	Total, File int
}

// DefaultLimits returns the limits of a session without a configuration.
func DefaultLimits() Limits { return Limits{Total: 64 << 10, File: 32 << 10} }

const (
	// maxRead bounds the size of a file that is read.
	maxRead = 1 << 20
	// maxDirs bounds the number of directories that are searched for one root.
	maxDirs = 64
	// leastPart is the smallest part of a file that is worth its place.
	leastPart = 1 << 10
)

// Options selects the files. Files and Cwd are required.
type Options struct {
	Files Files
	// Cwd is the working directory; Additional are the workspace's other roots.
	Cwd        string
	Additional []string
	// UserDir is the agent directory. It and Home are read from disk; if one is empty, it has no files.
	UserDir, Home string
	// CodexHome is like that of [userfiles.Where].
	CodexHome string
	// Top bounds the search above a directory that is in no repository; empty for the root.
	Top string
	// OS is the name of the operating system.
	OS string
	// Texts are the configuration's own.
	Texts  []Item
	Limits Limits
}

// Item is one file of instructions.
type Item struct {
	userfiles.File
	// Text is the text in the prompt; empty for an item that is not used.
	Text string
	// ImportedBy is the path of the file that imports this one.
	ImportedBy string
	// own is set for the user's own files, which may import from anywhere in home.
	own bool
	// base is the directory whose links the file may follow.
	base string
	real string
}

// Set holds the instructions of a session.
type Set struct {
	// Items are in the order of the prompt, including those that are not used.
	Items []Item
	// Problems are for the user.
	Problems []userfiles.Problem
}

// Load finds the instructions and cuts them to the limits.
func Load(ctx context.Context, opts *Options) *Set {
	l := &loader{Options: opts, set: new(Set), reals: make(map[string]string), texts: make(map[string]string)}
	l.readNames(ctx)
	for _, p := range l.places(&userfiles.Where{UserDir: opts.UserDir, Home: opts.Home, CodexHome: opts.CodexHome}) {
		l.user(ctx, &p)
	}
	for _, one := range opts.Texts {
		one.State, one.Kind, one.Bytes = userfiles.Used, userfiles.Instructions, len(one.Text)
		l.set.Items = append(l.set.Items, one)
	}
	dirs, top := l.upwards(ctx, opts.Cwd, true)
	for _, dir := range slices.Backward(dirs) {
		l.directory(ctx, dir, top)
	}
	own := len(l.set.Items)
	for _, root := range opts.Additional {
		dirs, top := l.upwards(ctx, root, false)
		for _, dir := range slices.Backward(dirs) {
			l.directory(ctx, dir, top)
		}
	}
	l.bound(own)
	return l.set
}

type loader struct {
	*Options
	set *Set
	// reals and texts hold the path of each file by its real path and by its text.
	reals, texts map[string]string
	// group is the path of the file that the current directory uses, by group.
	group map[string]string
	// imported counts the imported files.
	imported int
	// names are those of Gemini CLI's files in place of GEMINI.md; nil for none.
	names []string
	// alone is set if imports are not followed.
	alone bool
}

// upwards returns a directory and its parents, up to the top of its repository. Without a repository, the working directory's parents are
// searched up to Top, those of another root are not. Symbolic links must not leave top: the repository, or "" for each directory alone.
func (l *loader) upwards(ctx context.Context, from string, parents bool) (dirs []string, top string) {
	for dir := from; len(dirs) < maxDirs; dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
		if _, err := l.Files.Stat(ctx, filepath.Join(dir, ".git")); err == nil {
			return dirs, dir
		}
		if dir == filepath.Dir(dir) || l.Top != "" && dir == l.Top {
			break
		}
	}
	if !parents {
		return []string{from}, from
	}
	// Above the working directory, ignore directories that every user may write, such as /tmp.
	if l.OS != "windows" {
		dirs = slices.DeleteFunc(dirs, func(dir string) bool {
			info, err := l.Files.Stat(ctx, dir)
			return dir != from && err == nil && info.Mode().Perm()&0o002 != 0
		})
	}
	return dirs, ""
}

// directory adds the files of a workspace's directory.
func (l *loader) directory(ctx context.Context, dir, top string) {
	l.group = make(map[string]string)
	for _, s := range l.named(userfiles.Sources(userfiles.Instructions)) {
		if s.Scope != userfiles.Workspace {
			continue
		}
		item := Item{base: dir, File: userfiles.File{Origin: s.Origin, Kind: s.Kind, Path: filepath.Join(dir, filepath.FromSlash(s.Path))}}
		// Stat is local and cheap; the editor is asked only for an existing file.
		info, err := l.Files.Stat(ctx, item.Path)
		if err != nil {
			l.dangling(&item)
			continue
		}
		if !info.Mode().IsRegular() {
			l.refuse(&item, "is not a regular file")
			continue
		}
		if earlier := l.group[s.Group]; s.Group != "" && earlier != "" {
			item.Bytes = int(info.Size())
			l.skip(&item, userfiles.Shadowed, "by "+earlier)
			continue
		}
		item.real = l.Files.RealPath(item.Path)
		if top != "" {
			item.base = top
		}
		// A link to another directory, or to a file with secrets, would send a file to the model without the user's permission.
		if why := l.outside(&item, dir, top); why != "" {
			l.refuse(&item, why)
			continue
		}
		if l.add(ctx, &item, info.Size(), 0) && s.Group != "" {
			l.group[s.Group] = item.Path
		}
	}
}

// outside says why a file of a workspace is not read; empty if it is.
func (l *loader) outside(item *Item, dir, top string) string {
	switch {
	case !places.Within(l.Files.RealPath(dir), item.real) && (top == "" || !places.Within(l.Files.RealPath(top), item.real)):
		return "a symbolic link points outside " + item.base + "; it is not followed"
	case approval.Withheld(item.Path):
		return approval.ErrWithheld.Error()
	}
	return ""
}

// user adds a file of the user's.
func (l *loader) user(ctx context.Context, p *userfiles.Place) {
	if l.group == nil {
		l.group = make(map[string]string)
	}
	item := Item{own: true, base: p.Root, File: userfiles.File{Origin: p.Origin, Kind: p.Kind, Path: p.Full()}}
	info, err := os.Stat(item.Path)
	if err != nil {
		l.dangling(&item)
		return
	}
	if !info.Mode().IsRegular() {
		l.refuse(&item, "is not a regular file")
		return
	}
	if earlier := l.group[p.Group]; p.Group != "" && earlier != "" {
		l.skip(&item, userfiles.Shadowed, "by "+earlier)
		return
	}
	item.real = realPath(item.Path)
	if l.add(ctx, &item, info.Size(), 0) && p.Group != "" {
		l.group[p.Group] = item.Path
	}
}

// dangling refuses a file that does not exist if it is a symbolic link.
func (l *loader) dangling(item *Item) {
	if link, err := os.Lstat(item.Path); err == nil && link.Mode()&os.ModeSymlink != 0 {
		l.refuse(item, "dangling symbolic link")
	}
}

func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// add reads a file and adds it after the files that it imports. It reports whether the file is usable, also if it is a copy of another.
func (l *loader) add(ctx context.Context, item *Item, size int64, depth int) bool {
	if earlier, ok := l.reals[item.real]; ok {
		if earlier != item.Path {
			l.skip(item, userfiles.Duplicate, "of "+earlier)
		}
		return true
	}
	l.reals[item.real] = item.Path
	if size > maxRead {
		l.refuse(item, fmt.Sprintf("the file is larger than %d MiB", maxRead>>20))
		return false
	}
	var data []byte
	var err error
	if item.own {
		data, err = os.ReadFile(item.Path)
	} else {
		data, err = l.Files.ReadFile(ctx, item.Path)
	}
	if err != nil {
		l.refuse(item, "cannot be read: "+reason(err))
		return false
	}
	if len(data) > maxRead {
		l.refuse(item, fmt.Sprintf("the file is larger than %d MiB", maxRead>>20))
		return false
	}
	content, _, ok := text.Decode(data)
	if !ok {
		l.refuse(item, "is neither UTF-8 nor UTF-16 text")
		return false
	}
	item.Text = strings.TrimSpace(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(content))
	item.Bytes = len(item.Text)
	if item.Text == "" {
		l.skip(item, userfiles.Refused, "is empty")
		return false
	}
	if earlier, ok := l.texts[item.Text]; ok {
		l.skip(item, userfiles.Duplicate, "of "+earlier)
		return true
	}
	l.texts[item.Text] = item.Path
	if !l.alone {
		l.imports(ctx, item, depth)
	}
	item.State = userfiles.Used
	l.set.Items = append(l.set.Items, *item)
	return true
}

func (l *loader) skip(item *Item, state userfiles.State, why string) {
	item.State, item.Why, item.Text = state, why, ""
	l.set.Items = append(l.set.Items, *item)
}

// refuse adds a file that cannot be used, and reports it to the user.
func (l *loader) refuse(item *Item, why string) {
	l.skip(item, userfiles.Refused, why)
	l.set.Problems = append(l.set.Problems, userfiles.Problem{Path: item.Path, Reason: why})
}

func reason(err error) string {
	for inner := err; inner != nil; {
		e, ok := inner.(*os.PathError) //nolint:errorlint // the path is in the message already
		if !ok {
			return inner.Error()
		}
		inner = e.Err
	}
	return err.Error()
}

// bound cuts the items to the limits. The items nearest to the working directory, which end at index own, have priority.
func (l *loader) bound(own int) {
	limits := l.Limits
	if limits == (Limits{}) {
		limits = DefaultLimits()
	}
	room := limits.Total
	var cut []string
	take := func(it *Item) {
		if it.State != userfiles.Used {
			return
		}
		most := min(room, limits.File)
		switch {
		case len(it.Text) <= most:
		case most < min(leastPart, limits.File):
			it.State, it.Text = userfiles.Left, ""
			it.Why = fmt.Sprintf("the limit of %d KiB is reached", limits.Total>>10)
			cut = append(cut, it.Path+" is left out")
		default:
			it.Why = fmt.Sprintf("cut to %d of %d bytes", most, len(it.Text))
			it.Text = text.Middle(it.Text, most)
			cut = append(cut, it.Path+" is cut")
		}
		room = max(room-len(it.Text), 0)
	}
	for i := own - 1; i >= 0; i-- {
		take(&l.set.Items[i])
	}
	for i := own; i < len(l.set.Items); i++ {
		take(&l.set.Items[i])
	}
	if len(cut) > 0 {
		slices.Sort(cut)
		l.set.Problems = append(l.set.Problems, userfiles.Problem{
			Path: "instructions", Reason: fmt.Sprintf("%s: instructions are limited to %d KiB together and %d KiB a file (instructionFiles in config.yml)", strings.Join(cut, ", "), limits.Total>>10, limits.File>>10),
		})
	}
}

// Prompt returns the section of the system prompt; empty if there are no instructions.
func (s *Set) Prompt() string {
	var b strings.Builder
	for i := range s.Items {
		switch it := &s.Items[i]; {
		case it.State == userfiles.Used && it.Why != "":
			b.WriteString("\n## " + it.Path + "\n\n" + it.Text + "\n\n(This file was " + it.Why + ". Read the file if you need the rest.)\n")
		case it.State == userfiles.Used:
			b.WriteString("\n## " + it.Path + "\n\n" + it.Text + "\n")
		case it.State == userfiles.Left:
			b.WriteString("\n## " + it.Path + "\n\n(omitted: " + it.Why + ". Read the file if it matters for your work.)\n")
		case it.State == userfiles.Refused && strings.HasPrefix(it.Why, "the file is larger"):
			b.WriteString("\n## " + it.Path + "\n\n(omitted: " + it.Why + ")\n")
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "\n# Instructions\n\nThese are from the user and from the workspace. If two conflict, the later one takes precedence.\n" + b.String()
}

// Has reports whether a used item is the file at path or has that text.
func (s *Set) Has(path, content string) bool {
	real := ""
	for i := range s.Items {
		it := &s.Items[i]
		if it.State != userfiles.Used {
			continue
		}
		if it.Text == content {
			return true
		}
		if real == "" {
			real = realPath(path)
		}
		if it.real == real {
			return true
		}
	}
	return false
}
