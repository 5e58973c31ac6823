// Package lines changes text line by line. It preserves every byte outside a change: line endings, white space, and whether the
// last line has a line ending.
package lines

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Text is a text, split into lines.
type Text struct {
	// parts are the lines with their line endings.
	parts []string
	// end is the most frequent line ending.
	end string
}

// Parse splits a text into lines. A line ends with LF or CRLF; the last may have no line ending.
func Parse(text string) *Text {
	t := &Text{end: "\n"}
	if text == "" {
		return t
	}
	t.parts = strings.SplitAfter(text, "\n")
	if t.parts[len(t.parts)-1] == "" {
		t.parts = t.parts[:len(t.parts)-1]
	}
	crlf := strings.Count(text, "\r\n")
	if crlf > strings.Count(text, "\n")-crlf {
		t.end = "\r\n"
	}
	return t
}

// Len returns the number of lines.
func (t *Text) Len() int { return len(t.parts) }

// Line returns a line without its line ending; i counts from zero.
func (t *Text) Line(i int) string { return withoutEnd(t.parts[i]) }

// Lines returns all lines without their line endings.
func (t *Text) Lines() []string {
	all := make([]string, len(t.parts))
	for i, p := range t.parts {
		all[i] = withoutEnd(p)
	}
	return all
}

func withoutEnd(line string) string {
	if s, ok := strings.CutSuffix(line, "\r\n"); ok {
		return s
	}
	return strings.TrimSuffix(line, "\n")
}

// Open reports whether the last line has no line ending.
func (t *Text) Open() bool {
	return len(t.parts) > 0 && !strings.HasSuffix(t.parts[len(t.parts)-1], "\n")
}

// Final determines whether the text ends with a line ending after a splice.
type Final int

// Keep keeps the last line with or without a line ending, and adds one to a text that was empty. Close adds one, and Strip removes
// it.
const (
	Keep Final = iota
	Close
	Strip
)

// Splice replaces the lines [Start, End); both count from zero.
type Splice struct {
	Start, End int
	With       []string
	// Final applies only if the splice reaches the end of the text.
	Final Final
}

// ErrOverlap is wrapped by the error for splices that change the same lines.
var ErrOverlap = errors.New("two changes touch the same lines")

// Apply applies the splices, all of them relative to the original text. Insertions at the same position keep their order.
func (t *Text) Apply(splices []Splice) (string, error) {
	splices = slices.Clone(splices)
	slices.SortStableFunc(splices, func(a, b Splice) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End)) })
	open := t.Open()
	var b strings.Builder
	last := t.end                   // the line ending of the last inserted line, if it has one
	put := func(line, end string) { // a line that others follow needs a line ending
		if s := b.Len(); s > 0 && !strings.HasSuffix(lastBytes(&b), "\n") {
			b.WriteString(t.end)
		}
		b.WriteString(line + end)
		if last = end; end == "" && strings.HasSuffix(line, "\n") {
			last = line[len(withoutEnd(line)):]
		}
	}
	done := 0
	for _, s := range splices {
		switch {
		case s.Start < 0 || s.End < s.Start || s.End > len(t.parts):
			return "", fmt.Errorf("lines %d to %d are outside of a text of %d lines", s.Start+1, s.End, len(t.parts))
		case s.Start < done:
			return "", fmt.Errorf("%w: line %d", ErrOverlap, s.Start+1)
		}
		for _, p := range t.parts[done:s.Start] {
			put(p, "")
		}
		for _, l := range s.With {
			put(l, t.end)
		}
		done = s.End
		if s.End == len(t.parts) && s.Final != Keep {
			open = s.Final == Strip
		}
	}
	for _, p := range t.parts[done:] {
		put(p, "")
	}
	text := b.String()
	switch ended := strings.HasSuffix(text, "\n"); {
	case open && ended:
		text = strings.TrimSuffix(text, last)
	case !open && !ended && text != "":
		text += t.end
	}
	return text, nil
}

// lastBytes returns the last bytes written.
func lastBytes(b *strings.Builder) string {
	s := b.String()
	return s[len(s)-1:]
}
