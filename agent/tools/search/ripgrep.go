package search

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/agent/toolkit/walk"
	"github.com/gajae-code/gjc/internal/gitignore"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// ripgrep searches with the program rg. Its flags make rg search the same files as [ownEngine].
type ripgrep struct {
	programs agent.Programs
	// path is the path of rg.
	path string
	// dir is the working directory of rg.
	dir string
}

var _ searchEngine = (*ripgrep)(nil)

// maxOutput bounds the output of a run that is read, in bytes. The order of a longer output is random, so its start is not usable.
const maxOutput = 4 << 20

// errMuch reports a run with too much output.
var errMuch = errors.New("ripgrep's output is too long")

// errAnchored reports ignore patterns whose base directory cannot be passed to ripgrep: --ignore-file does not support one.
var errAnchored = errors.New("the user's global ignore file has patterns relative to a directory, which ripgrep's --ignore-file does not support")

// errEmpty reports a pattern that ripgrep must not search for: at an empty match before a carriage return at the end of a line, a thread of
// ripgrep 13 panics and the program hangs.
var errEmpty = errors.New("the pattern matches outside of the text")

// anchored reports whether an ignore file contains patterns that are relative to a directory.
func anchored(ignoreFile string) bool {
	rules := gitignore.From("", []string{ignoreFile}, nil)
	return ignoreFile != "" && rules != nil && slices.ContainsFunc(rules.List, func(r gitignore.Rule) bool { return !r.NameOnly })
}

func (r *ripgrep) search(ctx context.Context, req *searchRequest) (*searchResult, error) {
	if req.pattern.canBeEmpty() {
		return nil, errEmpty
	}
	var files []fileHits
	for i := range req.scopes {
		found, err := r.scope(ctx, req, &req.scopes[i])
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	if len(req.scopes) > 1 {
		slices.SortStableFunc(files, func(a, b fileHits) int { return walk.ComparePaths(a.path, b.path) })
		files = slices.CompactFunc(files, func(a, b fileHits) bool { return a.path == b.path })
	}
	all := new(searchResult)
	for _, f := range files {
		if !all.add(f) {
			break
		}
	}
	return all, nil
}

// scope searches one file or directory.
func (r *ripgrep) scope(ctx context.Context, req *searchRequest, g *walk.Glob) ([]fileHits, error) {
	repository := gitignore.Root(g.Base)
	if req.ignore && repository != "" && anchored(req.globalIgnore) {
		return nil, errAnchored
	}
	out, err := r.output(ctx, r.args(req, g, repository), maxOutput)
	if err != nil {
		return nil, err
	}
	if len(out) >= maxOutput {
		return nil, errMuch
	}
	reader := ripgrepReader{perFile: req.perFile, after: req.after, hidden: req.hidden, scope: g, match: g.Matcher()}
	if err := reader.read(out); err != nil {
		return nil, err
	}
	slices.SortFunc(reader.files, func(a, b fileHits) int { return walk.ComparePaths(a.path, b.path) })
	return reader.files, nil
}

// maxCount is the number of matching lines to request from rg: lines after the last wanted match may match, too.
func maxCount(perFile, after int) int { return perFile + after + 1 }

func (r *ripgrep) args(req *searchRequest, g *walk.Glob, repository string) []string {
	args := []string{
		"--no-config", "--json", "--no-messages", "--crlf", "--no-ignore-global", "--no-mmap", "--case-sensitive",
		"--before-context=" + strconv.Itoa(req.before), "--after-context=" + strconv.Itoa(req.after),
		"--max-count=" + strconv.Itoa(maxCount(req.perFile, req.after)),
	}
	if req.hidden {
		args = append(args, "--hidden", "--glob=!.git")
	}
	if !req.ignore {
		args = append(args, "--no-ignore")
	} else if repository == "" {
		args = append(args, "--no-require-git", "--no-ignore-parent")
	} else if req.globalIgnore != "" {
		args = append(args, "--ignore-file="+req.globalIgnore)
	}
	if !g.File {
		args = append(args, "--max-filesize="+strconv.Itoa(maxSearched))
		name, depth := g.Last()
		names := g.Names
		if name != "" && len(names) == 0 {
			names = []string{name}
		}
		for _, n := range names {
			args = append(args, "--type-add=gjc:"+n)
		}
		if len(names) > 0 {
			// Unlike --glob, a type does not override the ignore files.
			args = append(args, "--type=gjc")
		}
		if name != "" {
			if depth > 0 {
				args = append(args, "--max-depth="+strconv.Itoa(depth))
			}
		}
	}
	return append(args, "--regexp="+req.pattern.Rust(), "--", g.Base)
}

// output runs rg and returns its output. Exit status 1 means that nothing was found.
func (r *ripgrep) output(ctx context.Context, args []string, limit int) ([]byte, error) {
	out, err := r.programs.Output(ctx, agent.Program{Path: r.path, Args: args, Dir: r.dir}, limit)
	exit, failed := errors.AsType[*agent.ExitError](err)
	switch {
	case !failed:
		return out, err
	case exit.Code == 1:
		return nil, nil
	case exit.Code == 2 && strings.TrimSpace(exit.Stderr) == "":
		return out, nil // some file was unreadable
	default:
		return nil, fmt.Errorf("ripgrep: %w", err)
	}
}

// hiddenBelow reports whether path contains a name that begins with a dot, below base.
func hiddenBelow(base, path string) bool {
	rel, err := filepath.Rel(base, path)
	return err == nil && strings.Contains("/"+filepath.ToSlash(rel), "/.")
}

// ripgrepEvent is the part of a line of rg's output that is used.
type ripgrepEvent struct {
	Type string `json:"type"`
	Data struct {
		Path       ripgrepText `json:"path"`
		Lines      ripgrepText `json:"lines"`
		LineNumber int         `json:"line_number"`
		// BinaryOffset is set at the end of a file that contains a NUL byte.
		BinaryOffset *int64 `json:"binary_offset"`
	} `json:"data"`
}

// ripgrepText is a text, or its bytes if it is not UTF-8.
type ripgrepText struct {
	Text  string `json:"text"`
	Bytes []byte `json:"bytes"`
}

func (t *ripgrepText) bytes() []byte {
	if t.Bytes != nil {
		return t.Bytes
	}
	return []byte(t.Text)
}

// ripgrepReader parses rg's output.
type ripgrepReader struct {
	perFile int
	after   int
	hidden  bool
	scope   *walk.Glob
	match   func(path string) bool

	files []fileHits
	lines []hitLine
}

// read parses out.
func (r *ripgrepReader) read(out []byte) error {
	for {
		line, rest, whole := bytes.Cut(out, []byte("\n"))
		if !whole {
			return nil
		}
		out = rest
		var e ripgrepEvent
		if err := jsonx.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("cannot parse ripgrep's output: %w", err)
		}
		switch e.Type {
		case "begin":
			r.lines = r.lines[:0]
		case "match", "context":
			text := bytes.TrimSuffix(bytes.TrimSuffix(e.Data.Lines.bytes(), []byte("\n")), []byte("\r"))
			r.lines = append(r.lines, hitLine{number: e.Data.LineNumber, text: shownLine(text), match: e.Type == "match"})
		case "end":
			r.end(&e)
		}
	}
}

// end adds the file that has ended.
func (r *ripgrepReader) end(e *ripgrepEvent) {
	path := filepath.Clean(string(e.Data.Path.bytes()))
	if e.Data.BinaryOffset != nil || !r.scope.File && (!r.hidden && hiddenBelow(r.scope.Base, path) || !r.match(path)) {
		return
	}
	hits := pickLines(r.lines, r.perFile, r.after)
	if hits == nil {
		return
	}
	if hits.seen >= maxCount(r.perFile, r.after) { // rg has stopped reading here, and the rest may be binary
		data, err := walk.ReadFile(path, toolkit.MaxReadFile)
		if _, isText := searchable(data); err != nil || !isText {
			return
		}
	}
	hits.path = path
	r.files = append(r.files, *hits.fileHits)
}

// pickedHits holds the selected hits; seen is the number of all matches.
type pickedHits struct {
	*fileHits
	seen int
}

// pickLines selects the first perFile matches and the surrounding lines.
func pickLines(lines []hitLine, perFile, after int) *pickedHits {
	hits := pickedHits{fileHits: new(fileHits)}
	var matches []int
	for i := range lines {
		if !lines[i].match {
			continue
		}
		hits.seen++
		if len(matches) == perFile {
			hits.more = true
			lines[i].match = false
			continue
		}
		matches = append(matches, lines[i].number)
	}
	if len(matches) == 0 {
		return nil
	}
	hits.matches = len(matches)
	last := matches[len(matches)-1]
	for _, l := range lines {
		if l.number <= last+after {
			hits.lines = append(hits.lines, l)
		}
	}
	return &hits
}
