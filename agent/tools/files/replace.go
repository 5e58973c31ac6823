package files

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/agent/toolkit/lines"
	"github.com/gajae-code/gjc/internal/lazyregexp"
)

// applyEdits applies edits to text one after the other and returns the result. It compares text with LF line endings. Bytes outside
// an edit are unchanged, and new lines get the file's most frequent line ending. loose lists the numbers of the edits that match
// only when white space is ignored.
func applyEdits(name, text string, edits []textEdit) (now string, loose []int, err error) {
	eol := toolkit.LineEnd(text)
	now = text
	for i := range edits {
		next, isLoose, err := applyEdit(now, &edits[i], eol)
		if err != nil {
			if len(edits) > 1 {
				return "", nil, fmt.Errorf("%s: no edit was applied, because of edit %d of %d: %w", name, i+1, len(edits), err)
			}
			return "", nil, fmt.Errorf("%s: %w", name, err)
		}
		now = next
		if isLoose {
			loose = append(loose, i+1)
		}
	}
	if now == text {
		return "", nil, fmt.Errorf("%s: the edits undo each other; the file would stay as it is", name)
	}
	return now, loose, nil
}

func applyEdit(text string, e *textEdit, eol string) (now string, loose bool, err error) {
	flat := newFlatText(text)
	old := toolkit.LineFeeds(e.OldText)
	places := occurrences(flat.text, old, e.All)
	switch {
	case len(places) == 0:
		if !e.All {
			if now, found, err := looseEdit(text, old, toolkit.LineFeeds(e.NewText)); found || err != nil {
				return now, true, err
			}
		}
		return "", false, notFound(flat.text, old, toolkit.LineFeeds(e.NewText))
	case len(places) > 1 && !e.All:
		return "", false, fmt.Errorf("old_text occurs %d times, at %s; add surrounding lines, or set all to true",
			len(places), lineNumbers(flat.text, places))
	}
	with := toolkit.LineFeeds(e.NewText)
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
	return b.String(), false, nil
}

// minLoose is the minimum number of non-space characters for a search that ignores white space.
const minLoose = 4

// looseEdit replaces old, as whole lines, ignoring white space at the ends of lines or differences in indentation. In the latter
// case, the new lines get the found indentation. found is false unless there is exactly one match.
func looseEdit(text, old, with string) (now string, found bool, err error) {
	if len(strings.Join(strings.Fields(old), "")) < minLoose || strings.HasSuffix(old, "\n") && with != "" && !strings.HasSuffix(with, "\n") {
		return "", false, nil
	}
	t := lines.Parse(text)
	all, want := t.Lines(), toolkit.SplitLines(old)
	for _, level := range []lines.Level{lines.Trailing, lines.Indent} {
		at := lines.Places(all, want, 0, level, maxPlaces+1)
		switch {
		case len(at) == 0:
			continue
		case len(at) > 1:
			var b strings.Builder
			for i, n := range at[:min(len(at), maxPlaces)] {
				if i > 0 {
					b.WriteString(", ")
				}
				fmt.Fprint(&b, n+1)
			}
			return "", false, fmt.Errorf("%w exactly, and ignoring white space it occurs several times, at lines %s; copy the lines exactly, and add surrounding lines",
				errNoMatch, b.String())
		}
		s := lines.Splice{Start: at[0], End: at[0] + len(want)}
		switch {
		case !strings.HasSuffix(old, "\n"):
			s.With = strings.Split(with, "\n")
		case with != "":
			s.With = strings.Split(strings.TrimSuffix(with, "\n"), "\n")
		}
		if level == lines.Indent {
			s.With = lines.Reindent(want, all[s.Start:s.End], s.With)
		}
		now, err := t.Apply([]lines.Splice{s})
		return now, true, err
	}
	return "", false, nil
}

// occurrences returns the positions of old in text. Unless all is set, they may overlap, because each is a possible reading of the
// edit.
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

// flatText is text with LF line endings that maps offsets to those in the original.
type flatText struct {
	text string
	// returns are the offsets in text of the line feeds that followed a carriage return.
	returns []int
}

func newFlatText(text string) flatText {
	if !strings.Contains(text, "\r\n") {
		return flatText{text: text}
	}
	f := flatText{text: toolkit.LineFeeds(text)}
	for at, removed := 0, 0; ; removed++ {
		i := strings.Index(text[at:], "\r\n")
		if i < 0 {
			return f
		}
		f.returns = append(f.returns, at+i-removed)
		at += i + 2
	}
}

// offset returns the original offset of an offset in the flat text. That of a line feed is that of its carriage return.
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

// maxPlaces bounds the number of places that an error names.
const maxPlaces = 8

func lineNumbers(text string, places []int) string {
	var b strings.Builder
	line, from, named := 1, 0, 0
	for _, at := range places {
		lines := strings.Count(text[from:at], "\n")
		line += lines
		from = at
		if lines == 0 && named > 0 {
			continue // still on the same line
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

// errNoMatch is wrapped by the error for an old_text that does not occur in a file.
var errNoMatch = errors.New("old_text is not in the file")

// numbered matches a line as the read tool shows it.
var numbered = lazyregexp.New(`^ *[0-9]+\|`)

// maxNearestLines bounds the number of lines of a file that are shown for an edit that does not match.
const maxNearestLines = 30

// notFound explains why old is not in text, and shows the most similar lines.
func notFound(text, old, replacement string) error {
	var hints []string
	if trimmed := strings.TrimSpace(replacement); len(trimmed) >= 8 && !strings.Contains(replacement, old) && strings.Contains(text, replacement) {
		hints = append(hints, "new_text is already in the file: was this edit made before?")
	}
	if !slices.ContainsFunc(toolkit.SplitLines(old), func(l string) bool { return !numbered().MatchString(l) }) {
		hints = append(hints, "Leave out the line numbers that read puts before the lines.")
	}
	hint := cmp.Or(nearestText(text, old), "No similar lines were found; read the file again.")
	return fmt.Errorf("%w. %s", errNoMatch, strings.Join(append(hints, hint), " "))
}

// nearestText shows the lines of a text that are most similar to old, and says how; empty if none are similar.
func nearestText(text, old string) string {
	at, n, why := toolkit.NearestLines(text, old)
	if n == 0 {
		return ""
	}
	all := toolkit.SplitLines(text)
	var b strings.Builder
	b.WriteString(why + ":")
	for i := at; i < at+min(n, maxNearestLines); i++ {
		fmt.Fprintf(&b, "\n%5d|%s", i+1, toolkit.CutLine(all[i], toolkit.MaxColumns))
	}
	return b.String()
}
