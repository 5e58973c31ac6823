package walk

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/gitignore"
	"github.com/gajae-code/gjc/internal/lazyregexp"
)

// Glob is a glob, split into a directory and a pattern for the paths below it.
type Glob struct {
	// Base is an existing file or directory, absolute.
	Base string
	// Pattern is relative to Base, in slash form; it is empty for Base itself.
	Pattern string
	File    bool
	// Names are globs. If there are any, the name of a file must match one of them.
	Names []string
}

// Matcher returns a function that reports whether a path below Base matches.
func (g *Glob) Matcher() func(path string) bool {
	if len(g.Names) > 0 {
		all := *g
		all.Names = nil
		match := all.Matcher()
		return func(path string) bool {
			name := filepath.Base(path)
			return slices.ContainsFunc(g.Names, func(glob string) bool { return doublestar.MatchUnvalidated(glob, name) }) && match(path)
		}
	}
	if g.Pattern == "" {
		return func(string) bool { return true }
	}
	skip := len(gitignore.SlashPrefix(g.Base))
	name, anywhere := strings.CutPrefix(g.Pattern, "**/")
	if anywhere && !strings.ContainsAny(name, `/{`) {
		if match := gitignore.NameMatcher(name); match != nil {
			return func(path string) bool {
				rel := path[min(skip, len(path)):]
				return match(rel[strings.LastIndexByte(rel, filepath.Separator)+1:])
			}
		}
	}
	return func(path string) bool {
		return doublestar.MatchUnvalidated(g.Pattern, filepath.ToSlash(path[min(skip, len(path)):]))
	}
}

// SplitGlob splits a glob, absolute or relative to the working directory. Its error may be a [*fs.PathError].
func SplitGlob(ctx context.Context, call *agent.Call, input string) (Glob, error) {
	path := call.Workspace.Resolve(input)
	info, err := call.FS.Stat(ctx, path)
	if err == nil {
		return Glob{Base: path, File: !info.IsDir()}, nil
	}
	if !HasMeta(input) {
		return Glob{Base: path}, err
	}
	// The parent directories may have names that look like globs.
	root := call.Workspace.Cwd
	rel, rerr := filepath.Rel(root, path)
	if rerr != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		root, rel = "", path
	}
	base, pattern := doublestar.SplitPattern(literalBraces(filepath.ToSlash(rel)))
	if !doublestar.ValidatePattern(pattern) {
		return Glob{}, fmt.Errorf("%w: %q is no valid glob: a bracket is not closed", agent.ErrBadInput, input)
	}
	g := Glob{Base: filepath.Join(root, filepath.FromSlash(base)), Pattern: pattern}
	if info, err = call.FS.Stat(ctx, g.Base); err != nil {
		return g, err
	}
	if !info.IsDir() {
		return g, errors.New("it is a file")
	}
	return g, nil
}

// HasMeta reports whether glob contains a special character, and so is not the name of one file.
func HasMeta(glob string) bool { return strings.ContainsAny(glob, `*?[{`) }

// Last returns the last element of a glob if rg interprets it the same way, and the depth of the files below Base, or 0 for any
// depth.
func (g *Glob) Last() (name string, depth int) {
	name = g.Pattern[strings.LastIndexByte(g.Pattern, '/')+1:]
	if !plainGlob().MatchString(name) || strings.Contains(name, "**") {
		return "", 0
	}
	if strings.ContainsAny(g.Pattern, `{[\\`) || strings.Contains(g.Pattern, "**") {
		return name, 0
	}
	return name, strings.Count(g.Pattern, "/") + 1
}

// literalBraces escapes the unclosed opening braces of a glob: they are literal, as in a shell.
func literalBraces(glob string) string {
	var open []int // offsets of the unclosed braces
	for i := 0; i < len(glob); i++ {
		switch glob[i] {
		case '\\':
			i++
		case '{':
			open = append(open, i)
		case '}':
			open = open[:max(len(open)-1, 0)]
		}
	}
	for _, at := range slices.Backward(open) {
		glob = glob[:at] + `\` + glob[at:]
	}
	return glob
}

// plainGlob matches globs for names that rg interprets the same way. To rg, a question mark matches a byte, not a character.
var plainGlob = lazyregexp.New(`^[*A-Za-z0-9_.-]+$`)
