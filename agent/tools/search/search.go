// Package search implements the tools that search files: search, find, ast_grep, ast_edit, and resolve, which applies or discards
// an edit of ast_edit.
package search

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"regexp/syntax"
	"slices"
	"strings"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/agent/toolkit/walk"
	"github.com/gajae-code/gjc/internal/text"
)

//go:embed schemas/*.json
var schemas embed.FS

//go:embed search.md
var searchText string

// Limits of the search tool.
const (
	filesPerPage = 20
	// fileMatches bounds the number of matches shown for one file, oneFileMatches the number for the only file of a search.
	fileMatches    = 20
	oneFileMatches = 200
	// maxMatches is the number of matches at which a search stops.
	maxMatches = 2000
	// matchBefore and matchAfter are the numbers of lines shown before and after a match.
	matchBefore = 1
	matchAfter  = 3
	// maxContext bounds the number of lines around a match that a call can request.
	maxContext = 20
	// maxMatchLine bounds the length of a line that is shown, in characters.
	maxMatchLine = 1024
	// maxSearched bounds the size of a file that is searched in a directory, in bytes.
	maxSearched = 4 << 20
	// maxPattern bounds the length of a pattern, in bytes.
	maxPattern = 16 << 10
	// maxSearchTime bounds the duration of a search.
	maxSearchTime = 60 * time.Second
)

// errPattern is wrapped by errors about a pattern. errSearchTime ends a search that takes too long.
var (
	errPattern    = errors.New("invalid regular expression")
	errSearchTime = fmt.Errorf("the search was stopped after %g seconds; narrow the pattern or the paths", maxSearchTime.Seconds())
)

type searchInput struct {
	Pattern    string   `json:"pattern" jsonschema:"regular expression, matched line by line"`
	Paths      []string `json:"paths,omitzero" jsonschema:"files, directories or globs; the working directory if absent"`
	IgnoreCase bool     `json:"i,omitzero" jsonschema:"ignore case"`
	Gitignore  *bool    `json:"gitignore,omitzero" jsonschema:"leave out what ignore files name; true if absent"`
	Hidden     bool     `json:"hidden,omitzero" jsonschema:"include names that start with a dot; false if absent"`
	Types      []string `json:"types,omitzero" jsonschema:"file types: go, py, js, ts, rust, java, c, cpp, md, json, yaml and so on"`
	Context    *int     `json:"context,omitzero" jsonschema:"lines to show before and after each match, 0 to 20; 1 before and 3 after if absent"`
	Skip       int      `json:"skip,omitzero" jsonschema:"files with matches to skip, for the next page"`
}

// Search returns the tool "search", which searches the text of files. globalIgnore is the path of the user's own ignore file, or "".
func Search(globalIgnore string) agent.Tool {
	return agent.NewTool(agent.ToolFuncs[searchInput]{
		Schemas: schemas,
		Name:    "search", Description: toolkit.Description(searchText), Kind: agent.KindSearch, Uses: approval.Uses{Programs: []string{"rg"}},
		Plan: planSearch, Run: func(ctx context.Context, call *agent.Call, in *searchInput) (*agent.Result, error) {
			return runSearch(ctx, call, in, globalIgnore)
		},
	})
}

func planSearch(ctx context.Context, call *agent.Call, in *searchInput) (*agent.CallPlan, error) {
	scopes, err := searchScopes(ctx, call, in)
	if err != nil {
		return nil, err
	}
	title := "Search " + toolkit.CutLine(in.Pattern, toolkit.MaxCommandTitle)
	if len(in.Paths) > 0 {
		title += " in " + strings.Join(in.Paths, ", ")
	}
	return &agent.CallPlan{Title: title, Effects: globEffects(scopes)}, nil
}

// searchScopes checks a call's input and parses its paths.
func searchScopes(ctx context.Context, call *agent.Call, in *searchInput) ([]walk.Glob, error) {
	if in.Pattern == "" {
		return nil, fmt.Errorf("%w for search: pattern is empty", agent.ErrBadInput)
	}
	if in.Skip < 0 {
		return nil, fmt.Errorf("%w for search: skip is %d; it must be 0 or more", agent.ErrBadInput, in.Skip)
	}
	if in.Context != nil && (*in.Context < 0 || *in.Context > maxContext) {
		return nil, fmt.Errorf("%w for search: context is %d; it can be 0 to %d lines", agent.ErrBadInput, *in.Context, maxContext)
	}
	names, err := walk.TypeGlobs(in.Types)
	if err != nil {
		return nil, err
	}
	paths := in.Paths
	if len(paths) == 0 {
		paths = []string{call.Workspace.Cwd}
	}
	scopes, err := pathScopes(ctx, call, "search", paths)
	for i := range scopes {
		scopes[i].Names = names
	}
	return scopes, err
}

// pathScopes parses the paths of a call: files, directories and globs, all of which must exist.
func pathScopes(ctx context.Context, call *agent.Call, tool string, paths []string) ([]walk.Glob, error) {
	var scopes []walk.Glob
	for _, p := range paths {
		if strings.TrimSpace(p) == "" {
			return nil, fmt.Errorf("%w for %s: a path is empty", agent.ErrBadInput, tool)
		}
		g, err := walk.SplitGlob(ctx, call, p)
		if err == nil && g.File {
			if err := searchableFile(ctx, call, g.Base); err != nil {
				return nil, err
			}
		}
		switch {
		case err == nil:
			scopes = append(scopes, g)
		case errors.Is(err, agent.ErrBadInput):
			return nil, err
		case strings.Contains(p, ",") && !walk.HasMeta(p):
			return nil, fmt.Errorf("%w for %s: %q does not exist; give several paths as several elements of paths, not joined by commas", agent.ErrBadInput, tool, p)
		case g.Pattern == "" && errors.Is(err, fs.ErrNotExist) && walk.Exists(g.Base):
			return nil, fmt.Errorf("%s is a broken link", toolkit.Display(&call.Workspace, g.Base))
		case g.Pattern == "" && errors.Is(err, fs.ErrNotExist):
			return nil, toolkit.Missing(ctx, call, g.Base)
		case g.Pattern == "":
			return nil, fmt.Errorf("%s cannot be searched: %w", toolkit.Display(&call.Workspace, g.Base), toolkit.Reason(err))
		default:
			return nil, fmt.Errorf("%s: the directory %s cannot be searched: %w", p, toolkit.Display(&call.Workspace, g.Base), toolkit.Reason(err))
		}
	}
	return scopes, nil
}

// searchableFile returns an error for a path that cannot be searched: a search must not block on a pipe, or read a device.
func searchableFile(ctx context.Context, call *agent.Call, path string) error {
	info, err := call.FS.Stat(ctx, path)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", toolkit.Display(&call.Workspace, path), toolkit.Reason(err))
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is a device, a pipe or a socket, not a regular file", toolkit.Display(&call.Workspace, path))
	case info.Size() > toolkit.MaxReadFile:
		return fmt.Errorf("%s has %s, too much to search with this tool; use a command", toolkit.Display(&call.Workspace, path), toolkit.Size(info.Size()))
	default:
		return nil
	}
}

// searchPattern compiles the pattern of a call.
func searchPattern(in *searchInput) (*pattern, error) {
	if len(in.Pattern) > maxPattern {
		return nil, fmt.Errorf("%w for search: the pattern has %s; at most %s are taken", agent.ErrBadInput, toolkit.Size(int64(len(in.Pattern))), toolkit.Size(maxPattern))
	}
	p, err := compilePattern(in.Pattern, in.IgnoreCase)
	if se, ok := errors.AsType[*syntax.Error](err); ok {
		return nil, fmt.Errorf("%w: %w (%s: %s). Escape literal characters with a backslash, as in \\( or \\[",
			agent.ErrBadInput, errPattern, se.Code, toolkit.CutLine(se.Expr, toolkit.MaxCommandTitle))
	}
	if errors.Is(err, errLineFeed) {
		return nil, fmt.Errorf("%w: search works line by line, so a pattern with a line feed finds nothing; search for one of the lines", agent.ErrBadInput)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w: %w", agent.ErrBadInput, errPattern, err)
	}
	return p, nil
}

// searchRequest is a request to a search engine.
type searchRequest struct {
	pattern *pattern
	// hidden includes names that begin with a dot. ignore excludes files that ignore files match. globalIgnore is the path of the
	// user's global ignore file.
	hidden, ignore bool
	globalIgnore   string

	scopes []walk.Glob
	// perFile bounds the number of matches in one file.
	perFile int
	// before and after are the numbers of lines shown around a match.
	before, after int
}

// fileHits holds the matches in one file.
type fileHits struct {
	path string
	// lines are the matches and the surrounding lines, in order.
	lines   []hitLine
	matches int
	// more reports that the file has more matches than perFile.
	more bool
}

type hitLine struct {
	number int
	// text is the text to show: see [shownLine].
	text  string
	match bool
}

// searchResult holds the matches that an engine found.
type searchResult struct {
	// files are in the order of [walk.ComparePaths], without duplicates.
	files []fileHits
	// stopped reports that the search ended early, usually at maxMatches.
	stopped bool

	matches int
}

// A searchEngine finds lines.
type searchEngine interface {
	search(ctx context.Context, req *searchRequest) (*searchResult, error)
}

func runSearch(ctx context.Context, call *agent.Call, in *searchInput, globalIgnore string) (*agent.Result, error) {
	scopes, err := searchScopes(ctx, call, in)
	if err != nil {
		return nil, err
	}
	pattern, err := searchPattern(in)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, maxSearchTime, errSearchTime)
	defer cancel()
	req := &searchRequest{
		pattern: pattern, hidden: in.Hidden, ignore: in.Gitignore == nil || *in.Gitignore, globalIgnore: globalIgnore,
		scopes: scopes, perFile: fileMatches, before: matchBefore, after: matchAfter,
	}
	if in.Context != nil {
		req.before, req.after = *in.Context, *in.Context
	}
	if len(scopes) == 1 && scopes[0].File {
		req.perFile = oneFileMatches
	}
	found, err := runEngines(ctx, call, req)
	if err != nil {
		return nil, err
	}
	notes := found.withoutSecrets(call, scopes)
	text, shown := formatHits(&call.Workspace, found, in.Skip)
	res := &agent.Result{Text: toolkit.JoinNotes(text, notes)}
	for _, f := range shown {
		res.Locations = append(res.Locations, agent.Location{Path: f.path, Line: f.firstMatch()})
	}
	return res, nil
}

// withoutSecrets removes matches in files that may not be read without a question. A file that a scope names is kept: the user has
// been asked about it.
func (r *searchResult) withoutSecrets(call *agent.Call, scopes []walk.Glob) (notes []string) {
	var dropped []string
	r.files = slices.DeleteFunc(r.files, func(f fileHits) bool {
		if call.Readable == nil || call.Readable(f.path) || slices.ContainsFunc(scopes, func(g walk.Glob) bool { return g.Base == f.path }) {
			return false
		}
		dropped = append(dropped, toolkit.ShownName(toolkit.Display(&call.Workspace, f.path)))
		return true
	})
	if len(dropped) == 0 {
		return nil
	}
	if more := len(dropped) - maxNamed; more > 0 {
		dropped = append(dropped[:maxNamed], fmt.Sprintf("and %d more", more))
	}
	return []string{"Matches in files that hold secrets or match a user's rule are not shown: " + strings.Join(dropped, ", ") + ". To search such a file, give its path; then the user decides."}
}

// maxNamed bounds the number of files that a note names.
const maxNamed = 5

// runEngines searches with ripgrep if it is installed and supports the search, and with Go's regexp otherwise.
func runEngines(ctx context.Context, call *agent.Call, req *searchRequest) (*searchResult, error) {
	if call.Programs != nil {
		if path, err := call.Programs.LookPath("rg"); err == nil {
			found, err := (&ripgrep{programs: call.Programs, path: path, dir: call.Workspace.Cwd}).search(ctx, req)
			if err == nil || ctx.Err() != nil {
				return found, err
			}
		}
	}
	return (&ownEngine{fs: call.FS}).search(ctx, req)
}

func (f *fileHits) firstMatch() int {
	for _, l := range f.lines {
		if l.match {
			return l.number
		}
	}
	return 0
}

// formatHits returns one page of results for the model, and the files on it.
func formatHits(ws *agent.Workspace, found *searchResult, skip int) (string, []fileHits) {
	files := found.files
	if len(files) == 0 {
		return "No matches.", nil
	}
	if skip >= len(files) {
		return fmt.Sprintf("No more matches: skip is %d, and there are %s with matches.", skip, text.Count(len(files), "file")), nil
	}
	page := files[skip:min(len(files), skip+filesPerPage)]
	var b strings.Builder
	shown := 0
	for i := range page {
		text := page[i].format(ws)
		if i > 0 && b.Len()+len(text) > toolkit.MaxText {
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(toolkit.CutBytes(text, toolkit.MaxText))
		shown++
	}
	var notes []string
	if next := skip + shown; next < len(files) || skip > 0 {
		note := fmt.Sprintf("Files %d to %d of %d with matches.", skip+1, next, len(files))
		if next < len(files) {
			note += fmt.Sprintf(" Continue with skip: %d", next)
		}
		notes = append(notes, note)
	}
	if found.stopped {
		notes = append(notes, fmt.Sprintf("The search stopped at %s; there may be more. Narrow the pattern or the paths.", text.Count(found.matches, "match")))
	}
	return toolkit.JoinNotes(b.String(), notes), page[:shown]
}

func (f *fileHits) format(ws *agent.Workspace) string {
	var b strings.Builder
	b.WriteString(toolkit.ShownName(toolkit.Display(ws, f.path)) + "\n")
	for i, l := range f.lines {
		if i > 0 && l.number != f.lines[i-1].number+1 {
			b.WriteString("   --\n")
		}
		sign := '-'
		if l.match {
			sign = ':'
		}
		fmt.Fprintf(&b, "%5d%c%s\n", l.number, sign, l.text)
	}
	if f.more {
		b.WriteString("   … more matches in this file; ")
		if f.matches < oneFileMatches {
			fmt.Fprintf(&b, "search %s alone to see up to %d\n", toolkit.ShownName(toolkit.Display(ws, f.path)), oneFileMatches)
		} else {
			b.WriteString("narrow the pattern, or read the file\n")
		}
	}
	return b.String()
}

// add appends a file and reports whether the search should continue.
func (r *searchResult) add(f fileHits) bool {
	r.files = append(r.files, f)
	r.matches += f.matches
	r.stopped = r.stopped || r.matches >= maxMatches
	return !r.stopped
}
