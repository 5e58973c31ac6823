package tools

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// applyEdits applies edits to text one after the other and returns the result. Texts are compared with line ends as
// LF; what an edit does not touch keeps its bytes, and what it puts in gets the line ends that most of the file has.
func applyEdits(name, text string, edits []textEdit) (string, error) {
	eol := lineEnd(text)
	now := text
	for i := range edits {
		next, err := applyEdit(now, &edits[i], eol)
		if err != nil {
			if len(edits) > 1 {
				return "", fmt.Errorf("%s: no edit was applied, because of edit %d of %d: %w", name, i+1, len(edits), err)
			}
			return "", fmt.Errorf("%s: %w", name, err)
		}
		now = next
	}
	if now == text {
		return "", fmt.Errorf("%s: the edits undo each other; the file would stay as it is", name)
	}
	return now, nil
}

func applyEdit(text string, e *textEdit, eol string) (string, error) {
	flat := newFlatText(text)
	old := lineFeeds(e.OldText)
	places := occurrences(flat.text, old, e.All)
	switch {
	case len(places) == 0:
		return "", notFound(flat.text, old, lineFeeds(e.NewText))
	case len(places) > 1 && !e.All:
		return "", fmt.Errorf("old_text is there %d times, at %s; add lines around the one that is meant, or set all to true",
			len(places), lineNumbers(flat.text, places))
	}
	with := lineFeeds(e.NewText)
	if eol != "\n" {
		with = strings.ReplaceAll(with, "\n", eol)
	}
	var b strings.Builder
	b.Grow(len(text) + len(places)*max(0, len(with)-len(old)))
	done := 0
	for _, at := range places {
		b.WriteString(text[done:flat.offset(at)])
		b.WriteString(with)
		done = flat.offset(at + len(old))
	}
	b.WriteString(text[done:])
	return b.String(), nil
}

// occurrences returns where old is in text. Without all the places may overlap: each would be a way to read the edit.
func occurrences(text, old string, all bool) []int {
	var places []int
	for from := 0; ; {
		i := strings.Index(text[from:], old)
		if i < 0 {
			return places
		}
		places = append(places, from+i)
		if all {
			from += i + len(old)
		} else {
			from += i + 1
		}
	}
}

// flatText is a text with LF line ends that knows where it came from.
type flatText struct {
	text string
	// returns are the places in text of the line feeds that had a carriage return before them.
	returns []int
}

func newFlatText(text string) flatText {
	if !strings.Contains(text, "\r\n") {
		return flatText{text: text}
	}
	f := flatText{text: lineFeeds(text)}
	for at, removed := 0, 0; ; removed++ {
		i := strings.Index(text[at:], "\r\n")
		if i < 0 {
			return f
		}
		f.returns = append(f.returns, at+i-removed)
		at += i + 2
	}
}

// offset returns where a place in the flat text is in the original. The place of a line feed is that of its
// carriage return.
func (f *flatText) offset(at int) int {
	lo, hi := 0, len(f.returns)
	for lo < hi {
		if mid := (lo + hi) / 2; f.returns[mid] < at {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return at + lo
}

// maxPlaces bounds how many places an error names.
const maxPlaces = 8

func lineNumbers(text string, places []int) string {
	var b strings.Builder
	line, from, named := 1, 0, 0
	for _, at := range places {
		lines := strings.Count(text[from:at], "\n")
		line += lines
		from = at
		if lines == 0 && named > 0 {
			continue // the same line again
		}
		if named == maxPlaces {
			b.WriteString(" and more")
			break
		}
		if named > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, line)
		named++
	}
	if named == 1 {
		return "line " + b.String()
	}
	return "lines " + b.String()
}

// errNoMatch is wrapped by the complaint that old_text is not in a file.
var errNoMatch = errors.New("old_text is not in the file")

// numbered matches a line as the read tool shows it.
var numbered = regexp.MustCompile(`^ *[0-9]+\|`)

// maxNearestLines is how many lines of a file are shown for an edit that does not match.
const maxNearestLines = 30

// notFound explains why old is not in text, with the lines that come nearest.
func notFound(text, old, replacement string) error {
	var hints []string
	if trimmed := strings.TrimSpace(replacement); len(trimmed) >= 8 && !strings.Contains(replacement, old) && strings.Contains(text, replacement) {
		hints = append(hints, "new_text is there already: was this edit made before?")
	}
	if !slices.ContainsFunc(splitLines(old), func(l string) bool { return !numbered.MatchString(l) }) {
		hints = append(hints, "Leave out the line numbers that read puts before the lines.")
	}
	at, n, why := nearestLines(text, old)
	if n == 0 {
		hints = append(hints, "No line is like it: read the file again.")
		return fmt.Errorf("%w. %s", errNoMatch, strings.Join(hints, " "))
	}
	hints = append(hints, why+":")
	lines := splitLines(text)
	var b strings.Builder
	for i := at; i < at+min(n, maxNearestLines); i++ {
		fmt.Fprintf(&b, "\n%5d|%s", i+1, cutLine(lines[i], maxColumns))
	}
	return fmt.Errorf("%w. %s%s", errNoMatch, strings.Join(hints, " "), b.String())
}
