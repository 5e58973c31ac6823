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
	// aroundLine is the number of lines before and after the current one in a snapshot.
	aroundLine = 2
	// maxSourceLine bounds a line in a snapshot, maxSource a whole source, in bytes.
	maxSourceLine = 400
	maxSource     = 8 << 20
)

// sourceArguments always has a sourceReference; go-dap leaves out zero.
type sourceArguments struct {
	Source          *godap.Source `json:"source,omitzero"`
	SourceReference int           `json:"sourceReference"`
}

// Source returns the text and the name of a frame's source: from the adapter if it has the text, otherwise from the disk.
func (s *Session) Source(ctx context.Context, frame int) (text, name string, err error) {
	defer s.tree.use()()
	t, err := s.debuggee.stopped()
	if err != nil {
		return "", "", err
	}
	f, err := t.frame(ctx, frame)
	if err != nil {
		return "", "", err
	}
	switch {
	case f.source == nil:
		return "", "", fmt.Errorf("the frame %s has no source", f.name)
	case f.path != "":
		text, err := readSource(f.path)
		return text, f.path, err
	default:
		text, err := t.adapter.source(ctx, f.source)
		return text, f.source.Name, err
	}
}

// SourceText returns the text of a source that only the adapter has. Reference is its sourceReference.
func (s *Session) SourceText(ctx context.Context, reference int) (string, error) {
	defer s.tree.use()()
	t, err := s.debuggee.connected()
	if err != nil {
		return "", err
	}
	return t.adapter.source(ctx, &godap.Source{SourceReference: reference})
}

func (a *adapter) source(ctx context.Context, src *godap.Source) (string, error) {
	var body godap.SourceResponseBody
	if err := a.do(ctx, "source", &sourceArguments{Source: src, SourceReference: src.SourceReference}, &body); err != nil {
		return "", err
	}
	if len(body.Content) > maxSource {
		return "", fmt.Errorf("the source has %d bytes; the limit is %d", len(body.Content), maxSource)
	}
	return valid(body.Content), nil
}

func readSource(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // read only
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", errors.Join(err, fmt.Errorf("%s is not a regular file", path))
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSource))
	return valid(string(data)), err
}

// sourceLines returns the lines around the current line of a frame; nil if its source cannot be read.
func (t target) sourceLines(ctx context.Context, frame *Frame) []SourceLine {
	if frame.Path != "" {
		return linesAround(frame.Path, frame.Line)
	}
	if frame.Source != nil && frame.Source.SourceReference != 0 {
		if text, err := t.adapter.source(ctx, frame.Source); err == nil {
			return scanLines(strings.NewReader(text), frame.Line)
		}
	}
	return nil
}

// linesAround returns the lines of a file around a line. It reads the file from disk, because the program was built from that text;
// an editor may have newer text.
func linesAround(path string, line int) []SourceLine {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || line <= 0 {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close() //nolint:errcheck // read only
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

// readLine reads a whole line. It returns the start of the line if wanted is true.
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
