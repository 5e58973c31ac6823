package instructions

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/userfiles"
	"github.com/gajae-code/gjc/internal/places"
)

const (
	// maxDepth is the maximum depth of imports, and maxImports the number of imported files of a session.
	maxDepth   = 5
	maxImports = 100
)

// imports adds the files that an item names as @path. A path that leads nowhere is text.
func (l *loader) imports(ctx context.Context, item *Item, depth int) {
	for _, name := range mentions(item.Text) {
		path, ok := l.target(item, name)
		if !ok {
			continue
		}
		in := Item{own: item.own, base: item.base, File: userfiles.File{Origin: item.Origin, Kind: item.Kind, Path: path}, ImportedBy: item.Path}
		info, err := l.stat(ctx, &in)
		if err != nil || info.IsDir() {
			continue
		}
		in.real = l.realOf(&in)
		if _, ok := l.reals[in.real]; ok {
			continue // a cycle, or a file that is there already
		}
		switch why := l.refusal(&in, name); {
		case depth >= maxDepth:
			l.refuse(&in, "imports are nested more than 5 deep; it is not imported by "+item.Path)
		case l.imported >= maxImports:
			l.refuse(&in, "more than 100 files are imported; it is not imported by "+item.Path)
		case why != "":
			l.refuse(&in, why+"; it is not imported by "+item.Path)
		case !info.Mode().IsRegular():
			l.refuse(&in, "is not a regular file; it is not imported by "+item.Path)
		default:
			l.imported++
			l.add(ctx, &in, info.Size(), depth+1)
			continue
		}
		l.reals[in.real] = path // reported once
	}
}

// target returns the path that an import names.
func (l *loader) target(item *Item, name string) (string, bool) {
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		if l.Home == "" {
			return "", false
		}
		return filepath.Join(l.Home, filepath.FromSlash(rest)), true
	}
	if name = filepath.FromSlash(name); filepath.IsAbs(name) {
		return filepath.Clean(name), true
	}
	return filepath.Join(filepath.Dir(item.Path), name), true
}

func (l *loader) stat(ctx context.Context, in *Item) (os.FileInfo, error) {
	if in.own {
		return os.Stat(in.Path)
	}
	return l.Files.Stat(ctx, in.Path)
}

func (l *loader) realOf(in *Item) string {
	if in.own {
		return realPath(in.Path)
	}
	return l.Files.RealPath(in.Path)
}

// refusal says why a file must not be imported; empty if it may. A workspace's files import from the workspace only, the user's from home.
func (l *loader) refusal(in *Item, name string) string {
	if places.SecretName(places.Names(in.Path)) || places.SecretName(places.Names(in.real)) || approval.Withheld(in.Path) {
		return "it may hold secrets, which models do not get"
	}
	within := func(root string) bool {
		return root != "" && (places.Within(root, in.real) || places.Within(l.Files.RealPath(root), in.real))
	}
	if in.own {
		if within(l.Home) || within(l.UserDir) || within(l.CodexHome) || places.Within(realPath(l.Home), in.real) || places.Within(realPath(l.UserDir), in.real) {
			return ""
		}
		return "it is outside your home directory"
	}
	if strings.HasPrefix(name, "~/") {
		return "a file of a workspace cannot import from your home directory"
	}
	if within(in.base) || within(l.Cwd) || slices.ContainsFunc(l.Additional, within) {
		return ""
	}
	return "it is outside the workspace"
}

// mentions returns the paths in a text that follow an @ at the beginning of a word, each once. It ignores code spans and code blocks.
func mentions(content string) []string {
	var all []string
	fence := ""
	for line := range strings.Lines(content) {
		trimmed := strings.TrimLeft(line, " \t>")
		if mark := fenceOf(trimmed); mark != "" {
			switch {
			case fence == "":
				fence = mark
			case strings.HasPrefix(mark, fence) && strings.TrimSpace(strings.TrimLeft(trimmed, fence[:1])) == "":
				fence = ""
			}
			continue
		}
		if fence != "" || strings.HasPrefix(line, "    ") && !strings.Contains(line, "- ") || strings.HasPrefix(line, "\t") {
			continue
		}
		for _, name := range mentionsIn(line) {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}

// fenceOf returns the backticks or tildes with which a line begins or ends a block of code.
func fenceOf(line string) string {
	for _, c := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, c)); n >= 3 {
			return line[:n]
		}
	}
	return ""
}

// mentionsIn returns the paths in a line.
func mentionsIn(line string) []string {
	var all []string
	for i := 0; i < len(line); {
		switch {
		case line[i] == '`':
			i = afterSpan(line, i)
		case line[i] == '@' && (i == 0 || strings.ContainsRune(" \t(\"'", rune(line[i-1]))):
			name, n := pathAt(line[i+1:])
			if name != "" {
				all = append(all, name)
			}
			i += 1 + n
		default:
			i++
		}
	}
	return all
}

// afterSpan returns the index after the code span that begins at i.
func afterSpan(line string, i int) int {
	n := len(line[i:]) - len(strings.TrimLeft(line[i:], "`"))
	for at := i + n; at < len(line); {
		if line[at] != '`' {
			at++
			continue
		}
		m := len(line[at:]) - len(strings.TrimLeft(line[at:], "`"))
		if at += m; m == n {
			return at
		}
	}
	return i + n // not closed
}

// pathAt returns the path at the start of s and its length. A backslash escapes a space.
func pathAt(s string) (string, int) {
	var b strings.Builder
	n := 0
	for n < len(s) {
		c := rune(s[n])
		if c == '\\' && n+1 < len(s) && s[n+1] == ' ' {
			b.WriteByte(' ')
			n += 2
			continue
		}
		if unicode.IsSpace(c) || strings.ContainsRune("`\"'()<>*|\x00", c) {
			break
		}
		b.WriteByte(s[n])
		n++
	}
	return strings.TrimRight(b.String(), ".,;:!?"), n
}
