package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// ripgrep searches with the program rg. Its flags make it see the files that [ownEngine] sees.
type ripgrep struct {
	programs agent.Programs
	// path is rg's.
	path string
	// dir is where it runs.
	dir string
}

var _ searchEngine = (*ripgrep)(nil)

// Bounds of what is read of a run, in bytes: of one in parallel, and of one in order.
const (
	maxParallelOutput = 2 << 20
	maxOrderedOutput  = 8 << 20
)

func (r *ripgrep) search(ctx context.Context, req *searchRequest) (*searchResult, error) {
	var files []fileHits
	stopped := false
	for i := range req.scopes {
		found, err := r.scope(ctx, req, &req.scopes[i])
		if err != nil {
			return nil, err
		}
		files = append(files, found.files...)
		stopped = stopped || found.stopped
	}
	if len(req.scopes) > 1 {
		slices.SortStableFunc(files, func(a, b fileHits) int { return comparePaths(a.path, b.path) })
		files = slices.CompactFunc(files, func(a, b fileHits) bool { return a.path == b.path })
	}
	all := new(searchResult)
	for _, f := range files {
		if !all.add(f) {
			break
		}
	}
	all.stopped = all.stopped || stopped
	return all, nil
}

// scope searches one file or directory. It runs in parallel first; where that gives more than is read, what was read
// is a matter of chance, and a second run goes in order.
func (r *ripgrep) scope(ctx context.Context, req *searchRequest, g *globPath) (*searchResult, error) {
	args := r.args(req, g)
	limit := maxParallelOutput
	out, err := r.output(ctx, args, limit)
	ordered := err == nil && len(out) >= limit
	if ordered {
		limit = maxOrderedOutput
		out, err = r.output(ctx, append([]string{"--sort=path"}, args...), limit)
	}
	if err != nil {
		return nil, err
	}
	reader := ripgrepReader{perFile: req.perFile, scope: g, ordered: ordered}
	if err := reader.read(out); err != nil {
		return nil, err
	}
	if !ordered {
		slices.SortFunc(reader.found.files, func(a, b fileHits) int { return comparePaths(a.path, b.path) })
	}
	reader.found.stopped = reader.found.stopped || len(out) >= limit
	return &reader.found, nil
}

func (r *ripgrep) args(req *searchRequest, g *globPath) []string {
	args := []string{
		"--no-config", "--json", "--no-messages", "--crlf", "--no-ignore-global",
		"--before-context=" + strconv.Itoa(matchBefore), "--after-context=" + strconv.Itoa(matchAfter),
		// Lines behind the last match that is wanted may match too.
		"--max-count=" + strconv.Itoa(req.perFile+matchAfter+1),
	}
	if req.ignoreCase {
		args = append(args, "--ignore-case")
	} else {
		args = append(args, "--case-sensitive")
	}
	if !req.ignore {
		args = append(args, "--no-ignore")
	} else if gitRoot(g.base) == "" {
		args = append(args, "--no-require-git", "--no-ignore-parent")
	}
	if !g.file {
		args = append(args, "--max-filesize="+strconv.Itoa(maxSearched))
		if name := g.pattern[strings.LastIndexByte(g.pattern, '/')+1:]; simpleGlob.MatchString(name) {
			// A type keeps the ignore files in force, which --glob does not.
			args = append(args, "--type-add=gjc:"+name, "--type=gjc")
		}
	}
	return append(args, "--regexp="+rustPattern(req.pattern), "--", g.base)
}

// simpleGlob matches globs for names that mean the same to rg.
var simpleGlob = regexp.MustCompile(`^\*?[A-Za-z0-9_.-]+$`)

// output runs rg. That nothing was found is no error.
func (r *ripgrep) output(ctx context.Context, args []string, limit int) ([]byte, error) {
	out, err := r.programs.Output(ctx, agent.Program{Path: r.path, Args: args, Dir: r.dir}, limit)
	exit, failed := errors.AsType[*agent.ExitError](err)
	switch {
	case !failed:
		return out, err
	case exit.Code == 1:
		return nil, nil
	case exit.Code == 2 && strings.TrimSpace(exit.Stderr) == "":
		return out, nil // some file could not be read
	default:
		return nil, fmt.Errorf("ripgrep: %w", err)
	}
}

// hiddenBelow reports whether path has a name that starts with a dot, below base.
func hiddenBelow(base, path string) bool {
	rel, err := filepath.Rel(base, path)
	return err == nil && strings.Contains("/"+filepath.ToSlash(rel), "/.")
}

// ripgrepEvent is a line of rg's output, as far as it matters here.
type ripgrepEvent struct {
	Type string `json:"type"`
	Data struct {
		Path       ripgrepText `json:"path"`
		Lines      ripgrepText `json:"lines"`
		LineNumber int         `json:"line_number"`
		// BinaryOffset is set at the end of a file in which a zero byte was found.
		BinaryOffset *int64 `json:"binary_offset"`
	} `json:"data"`
}

// ripgrepText is a text, or the bytes of one that is not UTF-8.
type ripgrepText struct {
	Text  string `json:"text"`
	Bytes []byte `json:"bytes"`
}

func (t *ripgrepText) String() string {
	if t.Bytes != nil {
		return strings.ToValidUTF8(string(t.Bytes), "\uFFFD")
	}
	return t.Text
}

// ripgrepReader reads rg's output.
type ripgrepReader struct {
	perFile int
	scope   *globPath
	// ordered reports that the files come in order, so that reading can stop at maxMatches.
	ordered bool

	found searchResult
	lines []hitLine
}

// read reads out. A last line that was cut off is left out.
func (r *ripgrepReader) read(out []byte) error {
	for {
		line, rest, whole := bytes.Cut(out, []byte("\n"))
		if !whole {
			return nil
		}
		out = rest
		var e ripgrepEvent
		if err := jsonx.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("ripgrep's output makes no sense: %w", err)
		}
		switch e.Type {
		case "begin":
			r.lines = r.lines[:0]
		case "match", "context":
			text := strings.TrimSuffix(strings.TrimSuffix(e.Data.Lines.String(), "\n"), "\r")
			r.lines = append(r.lines, hitLine{number: e.Data.LineNumber, text: text, match: e.Type == "match"})
		case "end":
			if more := r.end(&e); !more {
				return nil
			}
		}
	}
}

// end takes in the file that has ended and reports whether to go on.
func (r *ripgrepReader) end(e *ripgrepEvent) bool {
	path := filepath.Clean(e.Data.Path.String())
	if e.Data.BinaryOffset != nil || !r.scope.file && (hiddenBelow(r.scope.base, path) || !r.scope.match(path)) {
		return true
	}
	hits := pickLines(r.lines, r.perFile)
	if hits == nil {
		return true
	}
	hits.path = path
	if r.ordered {
		return r.found.add(*hits)
	}
	r.found.files = append(r.found.files, *hits)
	return true
}

// pickLines keeps the first perFile matches and what is around them.
func pickLines(lines []hitLine, perFile int) *fileHits {
	var hits fileHits
	var matches []int
	for i := range lines {
		if !lines[i].match {
			continue
		}
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
		if l.number <= last+matchAfter {
			hits.lines = append(hits.lines, l)
		}
	}
	return &hits
}

// rustPattern turns a pattern into what means the same to rg. Braces that repeat nothing, as in "${name}", stand for
// themselves; rg's engine refuses them bare. The start and the end of the text are those of the line; rg's engine
// takes the file's.
func rustPattern(pattern string) string {
	var b strings.Builder
	inClass := false
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\' && i+1 < len(pattern):
			n := 2
			switch next := pattern[i+1]; {
			case next == 'z' && !inClass:
				b.WriteByte('$')
				i++
				continue
			case next == 'A' && !inClass:
				b.WriteByte('^')
				i++
				continue
			}
			if strings.IndexByte("pPxuU", pattern[i+1]) >= 0 && i+2 < len(pattern) && pattern[i+2] == '{' {
				if end := strings.IndexByte(pattern[i:], '}'); end > 0 {
					n = end + 1
				}
			}
			b.WriteString(pattern[i : i+n])
			i += n - 1
			continue
		case inClass:
			inClass = c != ']'
		case c == '[':
			inClass = true
			b.WriteByte(c)
			// A bracket right behind the opening one closes nothing.
			for _, first := range []byte("^]") {
				if i+1 < len(pattern) && pattern[i+1] == first {
					b.WriteByte(first)
					i++
				}
			}
			continue
		case c == '{':
			if n := len(repetition.FindString(pattern[i:])); n > 0 && i > 0 {
				b.WriteString(pattern[i : i+n])
				i += n - 1
				continue
			}
			b.WriteByte('\\')
		case c == '}':
			b.WriteByte('\\')
		}
		b.WriteByte(pattern[i])
	}
	return b.String()
}

var repetition = regexp.MustCompile(`^\{[0-9]+(,[0-9]*)?\}`)
