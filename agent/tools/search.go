package tools

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/gajae-code/gjc/agent"
)

//go:embed search.md
var searchText string

// Limits of the search tool.
const (
	filesPerPage = 20
	// fileMatches is how many matches of one file are shown; oneFileMatches when only one is searched.
	fileMatches    = 20
	oneFileMatches = 200
	// maxMatches is where a search stops.
	maxMatches = 2000
	// matchBefore and matchAfter are the lines shown around a match.
	matchBefore = 1
	matchAfter  = 3
	// maxMatchLine bounds a line that is shown, in characters.
	maxMatchLine = 1024
	// maxSearched bounds a file that is searched in a directory, in bytes.
	maxSearched = 4 << 20
)

type searchInput struct {
	Pattern    string   `json:"pattern" jsonschema:"regular expression, matched line by line"`
	Paths      []string `json:"paths,omitzero" jsonschema:"files, directories or globs; the working directory if absent"`
	IgnoreCase bool     `json:"i,omitzero" jsonschema:"ignore case"`
	Gitignore  *bool    `json:"gitignore,omitzero" jsonschema:"leave out what ignore files name; true if absent"`
	Skip       int      `json:"skip,omitzero" jsonschema:"files with matches to pass over, for the next page"`
}

func search() agent.Tool {
	return agent.NewTool(agent.ToolFuncs[searchInput]{
		Name: "search", Description: markdown(searchText), Kind: agent.KindSearch,
		Plan: planSearch, Run: runSearch,
	})
}

func planSearch(ctx context.Context, call *agent.Call, in *searchInput) (*agent.CallPlan, error) {
	scopes, err := searchScopes(ctx, call, in)
	if err != nil {
		return nil, err
	}
	title := "Search " + cutLine(in.Pattern, maxCommandTitle)
	if len(in.Paths) > 0 {
		title += " in " + strings.Join(in.Paths, ", ")
	}
	return &agent.CallPlan{Title: title, Effects: globEffects(scopes)}, nil
}

// searchScopes checks a call's input and takes its paths apart.
func searchScopes(ctx context.Context, call *agent.Call, in *searchInput) ([]globPath, error) {
	if in.Pattern == "" {
		return nil, fmt.Errorf("%w for search: pattern is empty", agent.ErrBadInput)
	}
	if in.Skip < 0 {
		return nil, fmt.Errorf("%w for search: skip is %d; it must be 0 or more", agent.ErrBadInput, in.Skip)
	}
	paths := in.Paths
	if len(paths) == 0 {
		paths = []string{call.Workspace.Cwd}
	}
	var scopes []globPath
	for _, p := range paths {
		if strings.TrimSpace(p) == "" {
			return nil, fmt.Errorf("%w for search: a path is empty", agent.ErrBadInput)
		}
		g, err := splitGlob(ctx, call, p)
		switch {
		case err == nil:
			scopes = append(scopes, g)
		case errors.Is(err, agent.ErrBadInput):
			return nil, err
		case strings.Contains(p, ",") && !hasMeta(p):
			return nil, fmt.Errorf("%w for search: %q does not exist; give several paths as several elements of paths, not joined by commas", agent.ErrBadInput, p)
		case g.pattern == "":
			return nil, missing(ctx, call, g.base)
		default:
			return nil, fmt.Errorf("%s: the directory %s cannot be searched: %w", p, display(&call.Workspace, g.base), err)
		}
	}
	return scopes, nil
}

// searchRequest is what a search engine is asked for.
type searchRequest struct {
	pattern    string
	ignoreCase bool
	ignore     bool
	scopes     []globPath
	// perFile is how many matches of a file are wanted.
	perFile int
}

// fileHits are the matches in one file.
type fileHits struct {
	path string
	// lines are the matches and what is around them, in order.
	lines   []hitLine
	matches int
	// more reports that the file has more matches than were wanted.
	more bool
}

type hitLine struct {
	number int
	text   string
	match  bool
}

// searchResult is what an engine found.
type searchResult struct {
	// files are in the order of [comparePaths], each once.
	files []fileHits
	// stopped reports that the search ended before it had seen everything, at maxMatches as a rule.
	stopped bool

	matches int
}

// A searchEngine finds lines.
type searchEngine interface {
	search(ctx context.Context, req *searchRequest) (*searchResult, error)
}

func runSearch(ctx context.Context, call *agent.Call, in *searchInput) (*agent.Result, error) {
	scopes, err := searchScopes(ctx, call, in)
	if err != nil {
		return nil, err
	}
	req := &searchRequest{
		pattern: in.Pattern, ignoreCase: in.IgnoreCase, ignore: in.Gitignore == nil || *in.Gitignore,
		scopes: scopes, perFile: fileMatches,
	}
	if len(scopes) == 1 && scopes[0].file {
		req.perFile = oneFileMatches
	}
	found, err := runEngines(ctx, call, req)
	if err != nil {
		return nil, err
	}
	text, shown := formatHits(&call.Workspace, found, in.Skip)
	res := &agent.Result{Text: text}
	for _, f := range shown {
		res.Locations = append(res.Locations, agent.Location{Path: f.path, Line: f.firstMatch()})
	}
	return res, nil
}

// runEngines searches with ripgrep where it is installed and able, and with our own engine otherwise.
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

// formatHits is one page of results for the model, and the files on it.
func formatHits(ws *agent.Workspace, found *searchResult, skip int) (string, []fileHits) {
	files := found.files
	if len(files) == 0 {
		return "No matches.", nil
	}
	if skip >= len(files) {
		return fmt.Sprintf("No more matches: skip is %d, and there are %s with matches.", skip, count(len(files), "file")), nil
	}
	page := files[skip:min(len(files), skip+filesPerPage)]
	var b strings.Builder
	shown := 0
	for i := range page {
		text := page[i].format(ws)
		if i > 0 && b.Len()+len(text) > maxText {
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(cutBytes(text, maxText))
		shown++
	}
	var notes []string
	if next := skip + shown; next < len(files) || skip > 0 {
		note := fmt.Sprintf("Files %d to %d of %d with matches.", skip+1, next, len(files))
		if next < len(files) {
			note += fmt.Sprintf(" Go on with skip: %d", next)
		}
		notes = append(notes, note)
	}
	if found.stopped {
		notes = append(notes, fmt.Sprintf("The search stopped at %s; there may be more. Narrow the pattern or the paths.", count(found.matches, "match")))
	}
	return joinNotes(b.String(), notes), page[:shown]
}

func (f *fileHits) format(ws *agent.Workspace) string {
	var b strings.Builder
	b.WriteString(display(ws, f.path) + "\n")
	for i, l := range f.lines {
		if i > 0 && l.number != f.lines[i-1].number+1 {
			b.WriteString("   --\n")
		}
		sign := '-'
		if l.match {
			sign = ':'
		}
		fmt.Fprintf(&b, "%5d%c%s\n", l.number, sign, cutLine(l.text, maxMatchLine))
	}
	if f.more {
		b.WriteString("   … more matches in this file; ")
		if f.matches < oneFileMatches {
			fmt.Fprintf(&b, "search %s alone to see up to %d\n", display(ws, f.path), oneFileMatches)
		} else {
			b.WriteString("narrow the pattern, or read the file\n")
		}
	}
	return b.String()
}

// add appends a file and reports whether the search goes on.
func (r *searchResult) add(f fileHits) bool {
	r.files = append(r.files, f)
	r.matches += f.matches
	r.stopped = r.stopped || r.matches >= maxMatches
	return !r.stopped
}
