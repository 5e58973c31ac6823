// Package lines changes texts line by line. What a change does not touch keeps its bytes: line ends, blanks, and whether
// the last line has a line end.
package lines

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Text is a text, cut into lines.
type Text struct {
	// parts are the lines with their line ends.
	parts []string
	// end is the line end that most lines have.
	end string
}

// Parse cuts a text into lines. A line ends with LF or CRLF; the last may have no end.
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

// Len is the number of lines.
func (t *Text) Len() int { return len(t.parts) }

// Line is a line without its line end; i counts from zero.
func (t *Text) Line(i int) string { return withoutEnd(t.parts[i]) }

// Lines are all lines without their line ends.
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

// Open reports whether the last line has no line end.
func (t *Text) Open() bool {
	return len(t.parts) > 0 && !strings.HasSuffix(t.parts[len(t.parts)-1], "\n")
}

// Final says what a splice makes of the end of the text.
type Final int

// Keep leaves the last line with a line end, or without, as it was; a text that was empty gets one. Close puts one there,
// Leave takes it off.
const (
	Keep Final = iota
	Close
	Leave
)

// Splice puts lines in the place of those from Start up to, but without, End; both count from zero.
type Splice struct {
	Start, End int
	With       []string
	// Final counts only where the splice reaches the end of the text.
	Final Final
}

// ErrOverlap is wrapped by the error for splices that touch the same lines.
var ErrOverlap = errors.New("two changes touch the same lines")

// Apply makes the splices, all of them relative to the text as it is. What is put in at the same place stays in order.
func (t *Text) Apply(splices []Splice) (string, error) {
	splices = slices.Clone(splices)
	slices.SortStableFunc(splices, func(a, b Splice) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End)) })
	open := t.Open()
	var b strings.Builder
	last := t.end                   // the line end of what was put in last, if it has one
	put := func(line, end string) { // what a line follows has a line end
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
			return "", fmt.Errorf("lines %d to %d are not in a text of %d lines", s.Start+1, s.End, len(t.parts))
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
			open = s.Final == Leave
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

// lastBytes is what was written last.
func lastBytes(b *strings.Builder) string {
	s := b.String()
	return s[len(s)-1:]
}
