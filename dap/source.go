package dap

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	godap "github.com/google/go-dap"
)

const (
	// aroundLine is how many lines before and behind the current one a snapshot has.
	aroundLine = 2
	// maxSourceLine bounds one of them, in bytes; maxSource a whole source.
	maxSourceLine = 400
	maxSource     = 8 << 20
)

// sourceArguments are those of the request source.
type sourceArguments struct {
	Source          *godap.Source `json:"source,omitzero"`
	SourceReference int           `json:"sourceReference"`
}

// Source returns the text of a frame's source: from the adapter where it keeps it, else from the disk.
func (s *Session) Source(ctx context.Context, frame int) (text, name string, err error) {
	defer s.use()()
	t, l, err := s.still()
	if err != nil {
		return "", "", err
	}
	if frame == 0 {
		f, err := t.active(ctx)
		if err != nil {
			return "", "", err
		}
		frame = f.ID
	}
	s.tree.mu.Lock()
	h, err := t.raw(frame, true)
	s.tree.mu.Unlock()
	if err != nil {
		return "", "", err
	}
	switch {
	case h.source == nil:
		return "", "", fmt.Errorf("the frame %s has no source", h.name)
	case h.path != "":
		text, err := readSource(h.path)
		return text, h.path, err
	default:
		text, err := l.source(ctx, h.source)
		return text, h.source.Name, err
	}
}

// SourceText returns the text of a source that only the adapter has, by its reference.
func (s *Session) SourceText(ctx context.Context, reference int) (string, error) {
	defer s.use()()
	_, l, err := s.current()
	if err != nil {
		return "", err
	}
	return l.source(ctx, &godap.Source{SourceReference: reference})
}

func (l *life) source(ctx context.Context, src *godap.Source) (string, error) {
	var body godap.SourceResponseBody
	if err := l.do(ctx, "source", &sourceArguments{Source: src, SourceReference: src.SourceReference}, &body); err != nil {
		return "", err
	}
	if len(body.Content) > maxSource {
		return "", fmt.Errorf("the source has %d bytes; at most %d are shown", len(body.Content), maxSource)
	}
	return valid(body.Content), nil
}

func readSource(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // it was only read
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", errors.Join(err, fmt.Errorf("%s is no file", path))
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSource))
	return valid(string(data)), err
}

// linesAround returns the lines of a file on the disk around one. The disk has what the program was made of; an editor may
// have newer text.
func linesAround(path string, line int) []SourceLine {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || line <= 0 {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close() //nolint:errcheck // it was only read
	return scanLines(f, line)
}

func scanLines(r io.Reader, line int) []SourceLine {
	in := bufio.NewReaderSize(io.LimitReader(r, 4*maxSource), 64<<10)
	var list []SourceLine
	for n := 1; n <= line+aroundLine; n++ {
		text, err := readLine(in, n >= line-aroundLine)
		if n >= line-aroundLine && (err == nil || text != "") {
			list = append(list, SourceLine{Number: n, Text: text})
		}
		if err != nil {
			break
		}
	}
	return list
}

// readLine reads a line to its end, and returns its beginning where that is wanted.
func readLine(in *bufio.Reader, wanted bool) (string, error) {
	var text strings.Builder
	for {
		part, more, err := in.ReadLine()
		if wanted && text.Len() < maxSourceLine {
			text.Write(part[:min(len(part), maxSourceLine-text.Len())])
		}
		if err != nil || !more {
			return valid(text.String()), err
		}
	}
}
