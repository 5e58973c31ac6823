package search

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/agent/toolkit/walk"
	"github.com/gajae-code/gjc/internal/gitignore"
	"github.com/gajae-code/gjc/internal/text"
)

//go:embed find.md
var findText string

// Limits of the find tool.
const (
	findLimit      = 1000
	findTimeout    = 5.0 // seconds
	minFindTimeout = 0.5
	maxFindTimeout = 60.0
)

type findInput struct {
	Paths     []string `json:"paths" jsonschema:"globs, relative to the working directory or absolute: src/**/*.go"`
	Hidden    *bool    `json:"hidden,omitzero" jsonschema:"include names that start with a dot; true if absent"`
	Gitignore *bool    `json:"gitignore,omitzero" jsonschema:"leave out what ignore files name; true if absent"`
	Limit     int      `json:"limit,omitzero" jsonschema:"maximum number of results; 1000 if absent"`
	Timeout   float64  `json:"timeout,omitzero" jsonschema:"seconds, 0.5 to 60; 5 if absent"`
}

// Find returns the tool "find", which lists files by their names. globalIgnore is the path of the user's own ignore file, or "".
func Find(globalIgnore string) agent.Tool {
	return agent.NewTool(agent.ToolFuncs[findInput]{
		Schemas: schemas,
		Name:    "find", Description: toolkit.Description(findText), Kind: agent.KindSearch,
		Plan: planFind, Run: func(ctx context.Context, call *agent.Call, in *findInput) (*agent.Result, error) {
			return runFind(ctx, call, in, globalIgnore)
		},
	})
}

func planFind(ctx context.Context, call *agent.Call, in *findInput) (*agent.CallPlan, error) {
	globs, err := findGlobs(ctx, call, in)
	if err != nil {
		return nil, err
	}
	return &agent.CallPlan{Title: "Find " + strings.Join(in.Paths, ", "), Effects: globEffects(globs)}, nil
}

func globEffects(globs []walk.Glob) []approval.Effect {
	var effects []approval.Effect
	for _, g := range globs {
		effects = append(effects, approval.Effect{Action: approval.ActionRead, Path: g.Base})
	}
	return effects
}

// findGlobs parses the patterns of a call.
func findGlobs(ctx context.Context, call *agent.Call, in *findInput) ([]walk.Glob, error) {
	if len(in.Paths) == 0 {
		return nil, fmt.Errorf("%w for find: paths is empty; give at least one glob", agent.ErrBadInput)
	}
	if in.Limit < 0 {
		return nil, fmt.Errorf("%w for find: limit is %d; it must be at least 1", agent.ErrBadInput, in.Limit)
	}
	var globs []walk.Glob
	for _, p := range in.Paths {
		if strings.TrimSpace(p) == "" {
			return nil, fmt.Errorf("%w for find: a path is empty", agent.ErrBadInput)
		}
		input := p
		if bare := strings.TrimSuffix(p, "/"); !strings.ContainsAny(bare, `/\`) && bare != "." && bare != ".." && bare != "**" {
			if _, err := call.FS.Stat(ctx, call.Workspace.Resolve(p)); err != nil {
				input = "**/" + bare
			}
		}
		g, err := walk.SplitGlob(ctx, call, input)
		switch {
		case errors.Is(err, agent.ErrBadInput):
			return nil, err
		case err != nil && call.Workspace.Temporary(g.Base):
			return nil, toolkit.Missing(ctx, call, g.Base)
		case err != nil && g.Pattern == "":
			return nil, fmt.Errorf("%s: %w; use a glob such as **/%s", p, toolkit.Reason(err), filepath.Base(p))
		case err != nil:
			return nil, fmt.Errorf("%s: the directory %s cannot be searched: %w", p, toolkit.Display(&call.Workspace, g.Base), toolkit.Reason(err))
		}
		globs = append(globs, g)
	}
	return globs, nil
}

// errFindTimeout ends a walk that takes too long.
var errFindTimeout = errors.New("find timed out")

func runFind(ctx context.Context, call *agent.Call, in *findInput, globalIgnore string) (*agent.Result, error) {
	globs, err := findGlobs(ctx, call, in)
	if err != nil {
		return nil, err
	}
	seconds := findTimeout
	if in.Timeout != 0 {
		seconds = min(max(in.Timeout, minFindTimeout), maxFindTimeout)
	}
	f := finder{
		call: call, limit: findLimit, seen: make(map[string]bool),
		walker: &walk.Walker{
			FS: call.FS, Hidden: in.Hidden == nil || *in.Hidden,
			Ignore: in.Gitignore == nil || *in.Gitignore, GlobalIgnore: globalIgnore,
		},
	}
	if in.Limit > 0 {
		f.limit = in.Limit
	}
	walkCtx, cancel := context.WithTimeoutCause(ctx, time.Duration(seconds*float64(time.Second)), errFindTimeout)
	defer cancel()
	for i := range globs {
		if err := f.find(walkCtx, &globs[i]); err != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if !errors.Is(err, errFindTimeout) && !errors.Is(err, context.DeadlineExceeded) {
				return nil, fmt.Errorf("%s cannot be searched: %w", toolkit.Display(&call.Workspace, globs[i].Base), toolkit.Reason(err))
			}
			f.notes = append(f.notes, fmt.Sprintf("The search is incomplete: find stopped after %g seconds. "+
				"Narrow the pattern, or give a longer timeout.", seconds))
			break
		}
	}
	return f.result(), nil
}

// finder collects the entries that match.
type finder struct {
	call   *agent.Call
	walker *walk.Walker
	limit  int
	seen   map[string]bool
	found  []foundEntry
	notes  []string
}

type foundEntry struct {
	path     string
	modified time.Time
	dir      bool
}

func (f *finder) find(ctx context.Context, g *walk.Glob) error {
	if g.File {
		info, err := f.call.FS.Stat(ctx, g.Base)
		if err == nil {
			f.add(foundEntry{g.Base, info.ModTime(), false})
		}
		return err
	}
	deep := strings.Contains(g.Pattern, "**") || g.Pattern == ""
	depth := strings.Count(g.Pattern, "/")
	base := len(gitignore.SlashPrefix(g.Base))
	match := g.Matcher()
	found, err := collect(ctx, f.walker, g.Base, func(path string, d fs.DirEntry) (e foundEntry, take, enter bool) {
		if match(path) {
			if info, err := os.Lstat(path); err == nil { // otherwise it has been deleted since
				e, take = foundEntry{path, info.ModTime(), d.IsDir()}, true
			}
		}
		return e, take, deep || d.IsDir() && strings.Count(filepath.ToSlash(path)[base:], "/") < depth
	})
	for _, e := range found {
		f.add(e)
	}
	return err
}

func (f *finder) add(e foundEntry) {
	if !f.seen[e.path] {
		f.seen[e.path] = true
		f.found = append(f.found, e)
	}
}

func (f *finder) result() *agent.Result {
	slices.SortFunc(f.found, func(a, b foundEntry) int {
		if c := b.modified.Compare(a.modified); c != 0 {
			return c
		}
		return walk.ComparePaths(a.path, b.path)
	})
	var b strings.Builder
	shown := 0
	for _, e := range f.found {
		line := toolkit.ShownName(toolkit.Display(&f.call.Workspace, e.path))
		if e.dir {
			line += "/"
		}
		if shown == f.limit || b.Len()+len(line) >= toolkit.MaxText {
			f.notes = append(f.notes, fmt.Sprintf("%d of %s; narrow the pattern, or raise limit", shown, text.Count(len(f.found), "result")))
			break
		}
		b.WriteString(line + "\n")
		shown++
	}
	if len(f.found) == 0 {
		b.WriteString("Nothing matches.")
	}
	return &agent.Result{Text: toolkit.JoinNotes(b.String(), f.notes)}
}
