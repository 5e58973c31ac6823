package search

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/agent/toolkit/walk"
)

// ownEngine searches with Go's regexp. It is used without ripgrep.
type ownEngine struct{ fs walk.DirLister }

var _ searchEngine = (*ownEngine)(nil)

func (e *ownEngine) search(ctx context.Context, req *searchRequest) (*searchResult, error) {
	paths, explicit, err := e.files(ctx, req)
	if err != nil {
		return nil, err
	}
	found := new(searchResult)
	for _, hits := range searchFiles(ctx, paths, explicit, req) {
		if hits != nil && !found.add(*hits) {
			break
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return found, nil
}

// files returns the files to search, in order, and which of them the call names explicitly.
func (e *ownEngine) files(ctx context.Context, req *searchRequest) (paths []string, explicit map[string]bool, err error) {
	explicit = make(map[string]bool)
	w := &walk.Walker{FS: e.fs, Hidden: req.hidden, Ignore: req.ignore, GlobalIgnore: req.globalIgnore}
	for i := range req.scopes {
		g := &req.scopes[i]
		if g.File {
			paths = append(paths, g.Base)
			explicit[g.Base] = true
			continue
		}
		match := g.Matcher()
		below, err := collect(ctx, w, g.Base, func(path string, d fs.DirEntry) (string, bool, bool) {
			return path, d.Type().IsRegular() && match(path), true
		})
		if err != nil {
			if ctx.Err() != nil {
				return nil, nil, context.Cause(ctx)
			}
			return nil, nil, fmt.Errorf("%s cannot be searched: %w", g.Base, toolkit.Reason(err))
		}
		paths = append(paths, below...)
	}
	if len(req.scopes) > 1 {
		slices.SortFunc(paths, walk.ComparePaths)
		paths = slices.Compact(paths)
	}
	return paths, explicit, nil
}

// searchFiles searches paths concurrently and returns the results in their order, nil for a file without matches. It stops after the file
// that reaches maxMatches. The goroutines end before it returns.
func searchFiles(ctx context.Context, paths []string, explicit map[string]bool, req *searchRequest) []*fileHits {
	s := fileSearch{results: make([]*fileHits, len(paths)), done: make([]bool, len(paths))}
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(paths)) {
		workers.Go(func() {
			lines := req.pattern.newScanner()
			var buf []byte
			for ctx.Err() == nil {
				i := s.take()
				if i < 0 {
					return
				}
				limit := int64(maxSearched)
				if explicit[paths[i]] {
					limit = toolkit.MaxReadFile
				}
				data, err := walk.ReadInto(buf, paths[i], limit)
				var hits *fileHits
				if err == nil && data != nil { // ripgrep skips files that cannot be read, too
					hits = searchFile(ctx, lines, req, paths[i], data)
				}
				if cap(data) > cap(buf) && cap(data) <= maxSearched+1 {
					buf = data
				}
				s.finish(i, hits)
			}
		})
	}
	workers.Wait()
	return s.results
}

// fileSearch is the state that the workers of one search share.
type fileSearch struct {
	results []*fileHits

	mu   sync.Mutex // guards the fields below
	done []bool
	// next is the next file to search. All files before whole are done, and matches is the number of their matches.
	next, whole, matches int
}

// take returns the next file to search, or -1 if there is none or enough matches were found.
func (s *fileSearch) take() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == len(s.results) || s.matches >= maxMatches {
		return -1
	}
	s.next++
	return s.next - 1
}

func (s *fileSearch) finish(i int, hits *fileHits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.results[i], s.done[i] = hits, true
	for ; s.whole < len(s.done) && s.done[s.whole]; s.whole++ {
		if hits := s.results[s.whole]; hits != nil {
			s.matches += hits.matches
		}
	}
}

// searchFile returns the matches in a file, or nil if there are none or the file is binary. It may change data.
func searchFile(ctx context.Context, lines *scanner, req *searchRequest, path string, data []byte) *fileHits {
	if toolkit.UTF16Of(data) == toolkit.PlainUTF8 && !lines.reset(data) {
		return nil
	}
	text, ok := searchable(data)
	if !ok {
		return nil
	}
	lines.reset(text)
	matched := lines.matching(ctx, req.perFile+1)
	if len(matched) == 0 {
		return nil
	}
	hits := &fileHits{path: path}
	if len(matched) > req.perFile {
		matched, hits.more = matched[:req.perFile], true
	}
	hits.matches = len(matched)
	hits.lines = linesAround(text, matched, req.before, req.after)
	return hits
}

// searchable returns a file's text with LF line endings. ok is false if it contains a NUL byte. It may change data.
func searchable(data []byte) ([]byte, bool) {
	if enc := toolkit.UTF16Of(data); enc != toolkit.PlainUTF8 {
		data = enc.DecodeUTF16(data)
	} else {
		data = bytes.TrimPrefix(data, []byte(toolkit.Utf8BOM))
	}
	if bytes.IndexByte(data, 0) >= 0 {
		return nil, false
	}
	if bytes.IndexByte(data, '\r') >= 0 {
		data = unixLines(data)
	}
	return data, true
}

// unixLines replaces every CRLF with LF, in place. It also removes a carriage return at the very end.
func unixLines(data []byte) []byte {
	to := 0
	for i, b := range data {
		if b == '\r' && (i+1 == len(data) || data[i+1] == '\n') {
			continue
		}
		data[to] = b
		to++
	}
	return data[:to]
}

// lineSpan is a line in a text: its number, counting from 1, and its offsets without the line feed.
type lineSpan struct{ number, start, end int }

// matching returns at most most lines of the scanner's text that match.
func (s *scanner) matching(ctx context.Context, most int) []lineSpan {
	var found []lineSpan
	number, at := 1, 0
	for len(found) < most {
		start, end := s.next(ctx, at)
		if start < 0 {
			break
		}
		number += bytes.Count(s.text[at:start], []byte("\n"))
		found = append(found, lineSpan{number, start, end})
		number++
		at = end + 1
	}
	return found
}

// linesAround returns the matches with the surrounding lines.
func linesAround(text []byte, matched []lineSpan, before, after int) []hitLine {
	var out []hitLine
	last := 0 // the number of the last line written
	for i, span := range matched {
		first, at := span.number, span.start
		for span.number-first < before && first-1 > last && at > 0 {
			first, at = first-1, bytes.LastIndexByte(text[:at-1], '\n')+1
		}
		for ; first < span.number; first++ {
			end := at + bytes.IndexByte(text[at:], '\n')
			out = append(out, hitLine{number: first, text: shownLine(text[at:end])})
			at = end + 1
		}
		out = append(out, hitLine{number: span.number, text: shownLine(text[span.start:span.end]), match: true})
		last = span.number
		at = span.end + 1
		for range after {
			if at >= len(text) || i+1 < len(matched) && last+1 == matched[i+1].number {
				break
			}
			end := len(text)
			if j := bytes.IndexByte(text[at:], '\n'); j >= 0 {
				end = at + j
			}
			last++
			out = append(out, hitLine{number: last, text: shownLine(text[at:end])})
			at = end + 1
		}
	}
	return out
}

// shownLine returns a line as the model sees it. The result does not share memory with line.
func shownLine(line []byte) string {
	return toolkit.CutLine(strings.ToValidUTF8(string(line), "\uFFFD"), maxMatchLine)
}
