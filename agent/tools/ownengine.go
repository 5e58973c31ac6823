package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"regexp/syntax"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/gajae-code/gjc/agent"
)

// ownEngine searches with Go's regular expressions.
type ownEngine struct{ fs agent.FS }

var _ searchEngine = (*ownEngine)(nil)

// searchBatch is how many files are searched before the matches are counted.
const searchBatch = 256

func (e *ownEngine) search(ctx context.Context, req *searchRequest) (*searchResult, error) {
	matcher, err := newLineMatcher(req)
	if err != nil {
		return nil, err
	}
	paths, explicit, err := e.files(ctx, req)
	if err != nil {
		return nil, err
	}
	found := new(searchResult)
	for batch := range slices.Chunk(paths, searchBatch) {
		for _, hits := range searchFiles(ctx, batch, explicit, matcher) {
			if hits != nil && !found.add(*hits) {
				return found, nil
			}
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	return found, nil
}

// files returns the files to search, in order, and which of them the call named itself.
func (e *ownEngine) files(ctx context.Context, req *searchRequest) (paths []string, explicit map[string]bool, err error) {
	explicit = make(map[string]bool)
	w := &walker{fs: e.fs, ignore: req.ignore}
	for i := range req.scopes {
		g := &req.scopes[i]
		if g.file {
			paths = append(paths, g.base)
			explicit[g.base] = true
			continue
		}
		err := w.walk(ctx, g.base, func(path string, d fs.DirEntry) error {
			if d.Type().IsRegular() && g.match(path) {
				paths = append(paths, path)
			}
			return nil
		})
		if err != nil {
			if ctx.Err() != nil {
				return nil, nil, context.Cause(ctx)
			}
			return nil, nil, fmt.Errorf("%s cannot be searched: %w", g.base, reason(err))
		}
	}
	if len(req.scopes) > 1 {
		slices.SortFunc(paths, comparePaths)
		paths = slices.Compact(paths)
	}
	return paths, explicit, nil
}

// searchFiles searches paths side by side and returns the results in their order; nil for a file without matches.
// The goroutines end before it returns.
func searchFiles(ctx context.Context, paths []string, explicit map[string]bool, m *lineMatcher) []*fileHits {
	results := make([]*fileHits, len(paths))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(paths)) {
		workers.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(paths) {
					return
				}
				limit := int64(maxSearched)
				if explicit[paths[i]] {
					limit = maxReadFile
				}
				data, err := disk{}.readFile(paths[i], limit)
				if err == nil && data != nil { // one that cannot be read is passed over, as ripgrep does
					results[i] = m.searchFile(paths[i], data)
				}
			}
		})
	}
	workers.Wait()
	return results
}

// lineMatcher finds the lines that a pattern matches. It is safe for concurrent use.
type lineMatcher struct {
	// line is matched against one line.
	line *regexp.Regexp
	// anywhere is matched against what is left of a file, to get to the next line of interest fast; nil if that
	// could miss some.
	anywhere *regexp.Regexp
	// literal is a text that every match holds, which is faster still to look for; empty if there is none.
	literal string
	perFile int
}

// errPattern is wrapped by complaints about a pattern.
var errPattern = errors.New("the pattern is no valid regular expression")

func newLineMatcher(req *searchRequest) (*lineMatcher, error) {
	flags := "(?m)"
	if req.ignoreCase {
		flags = "(?mi)"
	}
	line, err := regexp.Compile(flags + req.pattern)
	if err != nil {
		if se, ok := errors.AsType[*syntax.Error](err); ok {
			return nil, patternError(fmt.Sprintf("%s: %s", se.Code, strings.TrimPrefix(se.Expr, flags)))
		}
		return nil, patternError(err.Error())
	}
	m := &lineMatcher{line: line, perFile: req.perFile}
	if tree, err := syntax.Parse(flags+req.pattern, syntax.Perl); err == nil {
		if has(tree, func(re *syntax.Regexp) bool { return re.Op == syntax.OpLiteral && slices.Contains(re.Rune, '\n') }) {
			return nil, fmt.Errorf("%w: search works line by line, so a pattern with a line feed finds nothing; search for one of the lines", agent.ErrBadInput)
		}
		if !has(tree, func(re *syntax.Regexp) bool { return re.Op == syntax.OpBeginText || re.Op == syntax.OpEndText }) {
			m.anywhere = line
		}
		m.literal = requiredLiteral(tree)
	}
	return m, nil
}

func patternError(why string) error {
	return fmt.Errorf("%w: %w (%s). Put a backslash before characters that stand for themselves, as in \\( or \\[", agent.ErrBadInput, errPattern, why)
}

func has(re *syntax.Regexp, is func(*syntax.Regexp) bool) bool {
	return is(re) || slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return has(sub, is) })
}

// requiredLiteral returns the longest text that re has in each of its matches.
func requiredLiteral(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase != 0 || slices.Contains(re.Rune, utf8.RuneError) {
			return ""
		}
		return string(re.Rune)
	case syntax.OpCapture, syntax.OpPlus:
		return requiredLiteral(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return requiredLiteral(re.Sub[0])
		}
		return ""
	case syntax.OpConcat:
		longest := ""
		for _, sub := range re.Sub {
			if s := requiredLiteral(sub); len(s) > len(longest) {
				longest = s
			}
		}
		return longest
	default:
		return ""
	}
}

// searchFile returns the matches in a file, or nil if there are none or the file is binary.
func (m *lineMatcher) searchFile(path string, data []byte) *fileHits {
	if m.literal != "" && !isUTF16(data) && !bytes.Contains(data, []byte(m.literal)) {
		return nil
	}
	text, ok := searchable(data)
	if !ok {
		return nil
	}
	matched := m.matchingLines(text)
	if len(matched) == 0 {
		return nil
	}
	hits := &fileHits{path: path}
	if len(matched) > m.perFile {
		matched, hits.more = matched[:m.perFile], true
	}
	hits.matches = len(matched)
	hits.lines = linesAround(text, matched)
	return hits
}

// searchable is a file's text with LF line ends, if it is text.
func searchable(data []byte) (string, bool) {
	text, _, err := decodeText(data)
	if err != nil && !errors.Is(err, errNotUTF8) {
		return "", false
	}
	return lineFeeds(text), true
}

// lineSpan is a line in a text: its 1-based number and where it is, without the line feed.
type lineSpan struct{ number, start, end int }

// matchingLines returns the lines that match, at most one more than are wanted.
func (m *lineMatcher) matchingLines(text string) []lineSpan {
	var found []lineSpan
	number, at := 1, 0
	for at < len(text) && len(found) <= m.perFile {
		start := at
		next := m.next(text[at:])
		if next < 0 {
			break
		}
		if i := strings.LastIndexByte(text[at:at+next], '\n'); i >= 0 {
			start = at + i + 1
			number += strings.Count(text[at:start], "\n")
		}
		if start >= len(text) {
			break // an empty match behind the last line feed
		}
		end := len(text)
		if i := strings.IndexByte(text[start:], '\n'); i >= 0 {
			end = start + i
		}
		if m.line.MatchString(text[start:end]) {
			found = append(found, lineSpan{number, start, end})
		}
		number++
		at = end + 1
	}
	return found
}

// next returns a place in text, which starts a line, before which no line matches; -1 if none does at all.
func (m *lineMatcher) next(text string) int {
	if m.literal != "" {
		return strings.Index(text, m.literal)
	}
	if m.anywhere == nil {
		return 0
	}
	if loc := m.anywhere.FindStringIndex(text); loc != nil {
		return loc[0]
	}
	return -1
}

// linesAround returns the matches with the lines around them.
func linesAround(text string, matched []lineSpan) []hitLine {
	var out []hitLine
	last := 0 // the number of the line written last
	for i, span := range matched {
		// One line back at most: matchBefore is 1.
		if span.number-1 > last && span.start > 0 {
			start := strings.LastIndexByte(text[:span.start-1], '\n') + 1
			out = append(out, hitLine{number: span.number - 1, text: text[start : span.start-1]})
		}
		out = append(out, hitLine{number: span.number, text: text[span.start:span.end], match: true})
		last = span.number
		at := span.end + 1
		for range matchAfter {
			if at >= len(text) || i+1 < len(matched) && last+1 == matched[i+1].number {
				break
			}
			end := len(text)
			if j := strings.IndexByte(text[at:], '\n'); j >= 0 {
				end = at + j
			}
			last++
			out = append(out, hitLine{number: last, text: text[at:end]})
			at = end + 1
		}
	}
	return out
}
