package search

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/agent/toolkit/walk"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/lazyregexp"
	"github.com/gajae-code/gjc/internal/text"
)

// astProgram is the program of ast_grep and ast_edit. Its other name, "sg", is another program on most systems.
const astProgram = "ast-grep"

// Limits of ast-grep in one call.
const (
	// maxASTFiles bounds the number of files that are searched, maxASTFile the size of each, in bytes.
	maxASTFiles = 50_000
	maxASTFile  = 2 << 20
	// maxASTOutput bounds the output of one run that is read, in bytes. maxASTArgs bounds the total length of its file names:
	// Windows limits a command line to 32 KiB.
	maxASTOutput = 16 << 20
	maxASTArgs   = 20 << 10
	// maxASTPattern bounds a pattern or its replacement, in bytes.
	maxASTPattern = 8 << 10
	maxASTTime    = 60 * time.Second
)

var errASTTime = fmt.Errorf("ast-grep was stopped after %g seconds; narrow the paths", maxASTTime.Seconds())

// astMatch is a match, as ast-grep prints it.
type astMatch struct {
	Text  string `json:"text"`
	Range struct {
		ByteOffset struct {
			Start int `json:"start"`
			End   int `json:"end"`
		} `json:"byteOffset"`
		Start struct {
			// Line is 0-based.
			Line int `json:"line"`
		} `json:"start"`
	} `json:"range"`
	File  string `json:"file"`
	Lines string `json:"lines"`
	// Replacement replaces the bytes of ReplacementOffsets.
	Replacement        string `json:"replacement"`
	ReplacementOffsets struct {
		Start int `json:"start"`
		End   int `json:"end"`
	} `json:"replacementOffsets"`
	MetaVariables struct {
		Single map[string]astText   `json:"single"`
		Multi  map[string][]astText `json:"multi"`
	} `json:"metaVariables"`
}

type astText struct {
	Text string `json:"text"`
}

// astSearch is a search, or a search with a rewrite.
type astSearch struct {
	pattern string
	// rewrite replaces the matches; nil for a search.
	rewrite *string
}

// astFile is a file to search.
type astFile struct{ path, language string }

// astFiles returns the files of the scopes that have a language, in order. language is the requested one, or "" for any. notes
// describe the omitted files.
func astFiles(ctx context.Context, call *agent.Call, scopes []walk.Glob, language, globalIgnore string) (files []astFile, notes []string, err error) {
	languageOf := astFileLanguages()
	large := 0
	w := &walk.Walker{FS: call.FS, Ignore: true, GlobalIgnore: globalIgnore}
	for i := range scopes {
		g := &scopes[i]
		if g.File {
			if l := languageOf(g.Base); l != "" && (language == "" || l == language) {
				files = append(files, astFile{g.Base, l})
			} else {
				notes = append(notes, fmt.Sprintf("%s was skipped: its name does not match %s.", toolkit.Display(&call.Workspace, g.Base), cmp.Or(language, "a known language")))
			}
			continue
		}
		match := g.Matcher()
		type candidate struct {
			astFile
			large bool
		}
		below, err := collect(ctx, w, g.Base, func(path string, d fs.DirEntry) (c candidate, take, enter bool) {
			if !d.Type().IsRegular() {
				return c, false, d.Name() != "node_modules" || strings.Contains(g.Pattern, "node_modules")
			}
			l := languageOf(path)
			if l == "" || language != "" && l != language || !match(path) {
				return c, false, false
			}
			info, err := os.Lstat(path)
			return candidate{astFile{path, l}, err == nil && info.Size() > maxASTFile}, err == nil, false
		})
		if err != nil {
			if ctx.Err() != nil {
				return nil, nil, context.Cause(ctx)
			}
			return nil, nil, fmt.Errorf("%s cannot be searched: %w", toolkit.Display(&call.Workspace, g.Base), toolkit.Reason(err))
		}
		for _, c := range below {
			if c.large {
				large++
			} else {
				files = append(files, c.astFile)
			}
		}
	}
	if len(scopes) > 1 {
		slices.SortFunc(files, func(a, b astFile) int { return walk.ComparePaths(a.path, b.path) })
		files = slices.Compact(files)
	}
	if large > 0 {
		notes = append(notes, fmt.Sprintf("%s over %s skipped.", text.Count(large, "file"), toolkit.Size(maxASTFile)))
	}
	if len(files) > maxASTFiles {
		notes = append(notes, fmt.Sprintf("Only the first %d of %d files were searched; narrow the paths.", maxASTFiles, len(files)))
		files = files[:maxASTFiles]
	}
	named := func(path string) bool { // the user has been asked about it
		return slices.ContainsFunc(scopes, func(g walk.Glob) bool { return g.Base == path })
	}
	all := len(files)
	files = slices.DeleteFunc(files, func(f astFile) bool { return call.Readable != nil && !named(f.path) && !call.Readable(f.path) })
	if n := all - len(files); n > 0 {
		notes = append(notes, fmt.Sprintf("%s skipped for holding secrets or matching a user's rule.", text.Count(n, "file")))
	}
	return files, notes, nil
}

// astRun runs ast-grep over files in batches.
type astRun struct {
	call   *agent.Call
	path   string
	search astSearch
	// complaints are the errors of ast-grep about the pattern, by language. tried are the languages that were searched.
	complaints map[string]string
	tried      map[string]bool
	// cut reports that some output was too long to be read completely.
	cut bool
}

func newASTRun(call *agent.Call, search astSearch) (*astRun, error) {
	if call.Programs == nil {
		return nil, errors.New("ast-grep is not installed")
	}
	path, err := call.Programs.LookPath(astProgram)
	if err != nil {
		return nil, fmt.Errorf("cannot find ast-grep: %w", err)
	}
	return &astRun{call: call, path: path, search: search, complaints: make(map[string]string), tried: make(map[string]bool)}, nil
}

// matches searches files, which are in order, and returns the matches in order. It stops when enough returns true.
func (r *astRun) matches(ctx context.Context, files []astFile, enough func(n int) bool) (all []astMatch, err error) {
	for len(files) > 0 {
		n, length := 0, 0
		for n < len(files) && (n == 0 || length+len(files[n].path) < maxASTArgs) {
			length += len(files[n].path) + 1
			n++
		}
		byLanguage := make(map[string][]string)
		for _, f := range files[:n] {
			byLanguage[f.language] = append(byLanguage[f.language], f.path)
		}
		files = files[n:]
		var part []astMatch
		for language, paths := range byLanguage {
			if r.complaints[language] != "" {
				continue
			}
			found, err := r.run(ctx, language, paths)
			if err != nil {
				return nil, err
			}
			part = append(part, found...)
		}
		slices.SortFunc(part, func(a, b astMatch) int {
			return cmp.Or(walk.ComparePaths(a.File, b.File), cmp.Compare(a.Range.ByteOffset.Start, b.Range.ByteOffset.Start),
				cmp.Compare(b.Range.ByteOffset.End, a.Range.ByteOffset.End))
		})
		if all = append(all, part...); enough(len(all)) {
			break
		}
	}
	return all, r.complaint(len(all))
}

// complaint returns an error if ast-grep could not use the pattern for any language.
func (r *astRun) complaint(matches int) error {
	if matches > 0 || len(r.complaints) < len(r.tried) || len(r.complaints) == 0 {
		return nil
	}
	return fmt.Errorf("%w: ast-grep cannot use the pattern %q: %s. A pattern is one whole piece of code of the language, with $NAME for one part and $$$NAME for any number",
		agent.ErrBadInput, toolkit.CutLine(r.search.pattern, toolkit.MaxCommandTitle), strings.Join(r.complained(), "; "))
}

func (r *astRun) complained() []string {
	var all []string
	for _, language := range slices.Sorted(func(yield func(string) bool) {
		for l := range r.complaints {
			if !yield(l) {
				return
			}
		}
	}) {
		all = append(all, language+": "+r.complaints[language])
	}
	return all
}

// run searches files of one language. It runs in the root directory, so that ast-grep does not read a sgconfig.yml of the
// workspace, which can name libraries to load.
func (r *astRun) run(ctx context.Context, language string, paths []string) ([]astMatch, error) {
	args := []string{"run", "--lang=" + language, "--json=stream", "--color=never"}
	if language == "go" && isCall(r.search.pattern) {
		// By itself, the call would be parsed as a type conversion.
		args = append(args, "--pattern=func t() { "+r.search.pattern+" }", "--selector=call_expression")
	} else {
		args = append(args, "--pattern="+r.search.pattern)
	}
	if r.search.rewrite != nil {
		args = append(args, "--rewrite="+*r.search.rewrite)
	}
	for _, kind := range []string{"hidden", "dot", "exclude", "global", "parent", "vcs"} {
		args = append(args, "--no-ignore="+kind) // walks have already applied them
	}
	args = append(append(args, "--"), paths...)
	r.tried[language] = true
	root := filepath.VolumeName(r.call.Workspace.Cwd) + string(filepath.Separator)
	out, err := r.call.Programs.Output(ctx, agent.Program{Path: r.path, Args: args, Dir: root}, maxASTOutput)
	exit, failed := errors.AsType[*agent.ExitError](err)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil && !failed:
		return nil, fmt.Errorf("ast-grep: %w", err)
	case failed && exit.Code == 1: // nothing was found, or some file could not be read
	case failed:
		if why := astComplaint(exit.Stderr); why != "" {
			r.complaints[language] = why
			return nil, nil
		}
		return nil, fmt.Errorf("ast-grep failed with status %d: %s", exit.Code, text.VisibleLine(toolkit.CutLine(strings.TrimSpace(exit.Stderr), toolkit.MaxColumns)))
	case len(out) == 0: // if it cannot parse the pattern, it prints an error but succeeds
		r.complaints[language] = "the pattern is not complete code"
		return nil, nil
	}
	return r.read(out)
}

// callStart matches the start of a call of a function by its name.
var callStart = lazyregexp.New(`^[A-Za-z_$][A-Za-z0-9_.$]*\(`)

// isCall reports whether code is exactly one call of a function by its name.
func isCall(code string) bool {
	open := len(callStart().FindString(code))
	if open == 0 || strings.HasPrefix(code, "func(") {
		return false
	}
	depth := 1
	for i := open; i < len(code); i++ {
		switch code[i] {
		case '"', '`', '\'':
			return strings.HasSuffix(code, ")") // a string is not parsed, because few patterns contain one
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i == len(code)-1
			}
		}
	}
	return false
}

// astComplaint returns ast-grep's error about a pattern on one line, or "" for another failure.
func astComplaint(stderr string) string {
	if !strings.Contains(stderr, "Cannot parse query") {
		return ""
	}
	why := "it is not a valid pattern"
	if _, cause, ok := strings.Cut(stderr, "╰▻"); ok {
		why, _, _ = strings.Cut(strings.TrimSpace(cause), ". Please check")
		why, _, _ = strings.Cut(why, "\n")
	}
	return text.VisibleLine(toolkit.CutLine(why, toolkit.MaxCommandTitle))
}

func (r *astRun) read(out []byte) ([]astMatch, error) {
	if len(out) >= maxASTOutput {
		r.cut = true
		out = out[:bytes.LastIndexByte(out, '\n')+1]
	}
	var all []astMatch
	for line := range bytes.Lines(out) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var m astMatch
		if err := jsonx.Unmarshal(line, &m); err != nil {
			return nil, fmt.Errorf("cannot parse ast-grep's output: %w", err)
		}
		m.File = filepath.Clean(m.File)
		all = append(all, m)
	}
	return all, nil
}
