package tools

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/lazyregexp"
)

// globPath is a glob taken apart: what lies below base and matches pattern.
type globPath struct {
	// base is an existing file or directory, absolute.
	base string
	// pattern is relative to base, in slash form; empty for base itself.
	pattern string
	file    bool
	// names are globs of which the name of a file must match one; none for all files.
	names []string
}

// matcher returns what tells whether a path that lies below base matches.
func (g *globPath) matcher() func(path string) bool {
	if len(g.names) > 0 {
		all := *g
		all.names = nil
		match := all.matcher()
		return func(path string) bool {
			name := filepath.Base(path)
			return slices.ContainsFunc(g.names, func(glob string) bool { return doublestar.MatchUnvalidated(glob, name) }) && match(path)
		}
	}
	if g.pattern == "" {
		return func(string) bool { return true }
	}
	skip := len(slashPrefix(g.base))
	name, anywhere := strings.CutPrefix(g.pattern, "**/")
	if anywhere && !strings.ContainsAny(name, `/{`) {
		if shape, text := shapeOf(name, true); shape != generalShape {
			return func(path string) bool {
				rel := path[min(skip, len(path)):]
				return shape.match(text, name, rel[strings.LastIndexByte(rel, filepath.Separator)+1:])
			}
		}
	}
	return func(path string) bool {
		return doublestar.MatchUnvalidated(g.pattern, filepath.ToSlash(path[min(skip, len(path)):]))
	}
}

// match reports whether one path matches; [globPath.matcher] is for many.
func (g *globPath) match(path string) bool { return g.matcher()(path) }

// splitGlob takes an absolute glob apart.
func splitGlob(ctx context.Context, call *agent.Call, input string) (globPath, error) {
	path := call.Workspace.Resolve(input)
	info, err := call.FS.Stat(ctx, path)
	if err == nil {
		return globPath{base: path, file: !info.IsDir()}, nil
	}
	if !hasMeta(input) {
		return globPath{base: path}, reason(err)
	}
	// The directories above may have names that look like globs.
	root := call.Workspace.Cwd
	rel, rerr := filepath.Rel(root, path)
	if rerr != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		root, rel = "", path
	}
	base, pattern := doublestar.SplitPattern(literalBraces(filepath.ToSlash(rel)))
	if !doublestar.ValidatePattern(pattern) {
		return globPath{}, fmt.Errorf("%w: %q is no valid glob: a bracket is not closed", agent.ErrBadInput, input)
	}
	g := globPath{base: filepath.Join(root, filepath.FromSlash(base)), pattern: pattern}
	if info, err = call.FS.Stat(ctx, g.base); err != nil {
		return g, reason(err)
	}
	if !info.IsDir() {
		return g, errors.New("it is a file")
	}
	return g, nil
}

func hasMeta(glob string) bool { return strings.ContainsAny(glob, `*?[{`) }

// last is the last element of a glob, where that means the same to rg, and how deep below the base the files lie; 0 for any
// depth.
func (g *globPath) last() (name string, depth int) {
	name = g.pattern[strings.LastIndexByte(g.pattern, '/')+1:]
	if !plainGlob().MatchString(name) || strings.Contains(name, "**") {
		return "", 0
	}
	if strings.ContainsAny(g.pattern, `{[\\`) || strings.Contains(g.pattern, "**") {
		return name, 0
	}
	return name, strings.Count(g.pattern, "/") + 1
}

// literalBraces escapes the opening braces of a glob that no closing one follows: they stand for themselves, as in a shell.
func literalBraces(glob string) string {
	var open []int // of the braces that are not closed
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

// plainGlob matches globs for names that mean the same to rg. A question mark does not: for rg it is a byte, not a character.
var plainGlob = lazyregexp.New(`^[*A-Za-z0-9_.-]+$`)
