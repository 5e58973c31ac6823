package patch

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent/toolkit/lines"
)

// maxFuzz is the maximum number of wrong lines of context at each end of a hunk.
const maxFuzz = 2

// maxPlaces bounds the number of places that an error names.
const maxPlaces = 8

// Errors of [Apply], wrapped in a [*HunkError].
var (
	// ErrNoPlace reports a hunk whose lines are not in the text.
	ErrNoPlace = errors.New("its lines are not in the file")
	// ErrPlaces reports a hunk that fits in several places.
	ErrPlaces = errors.New("it fits in several places")
	// ErrNoAnchor reports a hunk whose "@@" line is not in the text.
	ErrNoAnchor = errors.New("the line after its @@ is not in the file")
	// ErrSame reports a hunk that changes nothing.
	ErrSame = errors.New("it changes nothing")
	// ErrOrder reports a hunk whose place precedes that of the hunk before it.
	ErrOrder = errors.New("its lines occur only before those of the preceding hunk; give the hunks in the order of the file")
)

// HunkError reports a hunk that cannot be applied.
type HunkError struct {
	Hunk *Hunk
	Err  error
	// Lines are the numbers of the lines at which the hunk would fit, from 1.
	Lines []int
	// Old are the lines that were searched for.
	Old []string
}

// Error implements error.
func (e *HunkError) Error() string {
	text := fmt.Sprintf("hunk %d: %v", e.Hunk.Number, e.Err)
	if len(e.Lines) > 0 {
		var at []string
		for _, l := range e.Lines[:min(len(e.Lines), maxPlaces)] {
			at = append(at, fmt.Sprint(l))
		}
		text += ", at lines " + strings.Join(at, ", ")
		if len(e.Lines) > maxPlaces {
			text += " and more"
		}
		text += "; give more lines around the change, or name a line above it with @@"
	}
	return text
}

// Unwrap returns the cause.
func (e *HunkError) Unwrap() error { return e.Err }

// Result holds the places of hunks.
type Result struct {
	Splices []lines.Splice
	// Loose lists the numbers of the hunks that were found only by ignoring white space or some wrong lines of context.
	Loose []int
}

// Apply finds the places of hunks in a text. Each hunk must follow the one before it.
func Apply(text *lines.Text, hunks []Hunk) (*Result, error) {
	l := &locator{all: text.Lines(), open: text.Open()}
	res := new(Result)
	for i := range hunks {
		h := &hunks[i]
		if !h.changes() {
			return nil, &HunkError{Hunk: h, Err: ErrSame}
		}
		p, err := l.find(h)
		if err != nil {
			return nil, err
		}
		if p.loose {
			res.Loose = append(res.Loose, h.Number)
		}
		res.Splices = append(res.Splices, l.splices(h, p)...)
		l.from = p.at + p.n
		if h.OldLine > 0 {
			l.drift = p.at - p.skip - (h.OldLine - 1)
		}
	}
	return res, nil
}

// place is the place of a hunk.
type place struct {
	// at is the first line, and n the number of lines of the text that match the hunk's old lines.
	at, n int
	// skip and cut are the numbers of the hunk's first and last lines that are ignored.
	skip, cut int
	level     lines.Level
	loose     bool
}

type locator struct {
	all  []string
	open bool
	// from is the line after the last place, and drift the offset of the places from the line numbers of the hunks.
	from, drift int
}

func (l *locator) find(h *Hunk) (*place, error) {
	old := h.old()
	fail := func(err error, at ...int) error {
		for i := range at {
			at[i]++
		}
		return &HunkError{Hunk: h, Err: err, Lines: at, Old: old}
	}
	starts, err := l.anchors(h)
	if err != nil {
		return nil, fail(err)
	}
	if len(old) == 0 {
		return l.insertion(h, starts, fail)
	}
	lead, trail := h.context()
	for fuzz := 0; fuzz <= maxFuzz; fuzz++ {
		skip, cut := min(fuzz, lead), min(fuzz, trail)
		if fuzz > 0 && (skip < fuzz && cut < fuzz || len(old)-skip-cut < 1 || len(h.Anchors) == 0 && !distinct(old[skip:len(old)-cut])) {
			break
		}
		for level := lines.Exact; level <= lines.Typography; level++ {
			want := old[skip : len(old)-cut]
			at := l.places(h, want, starts, level, skip, cut)
			switch {
			case len(at) == 1:
				return &place{at[0], len(want), skip, cut, level, level > lines.Exact || fuzz > 0}, nil
			case len(at) > 1:
				return nil, fail(ErrPlaces, at...)
			}
		}
	}
	if len(starts) == 0 && len(lines.Places(l.all, old, 0, lines.Indent, 1)) > 0 {
		return nil, fail(ErrOrder)
	}
	return nil, fail(ErrNoPlace)
}

// distinct reports whether lines are specific enough to be searched for with less context: they contain more than brackets.
func distinct(want []string) bool {
	n := 0
	for _, w := range want {
		n += len(strings.Trim(w, " \t{}()[];,"))
	}
	return n >= 6
}

// context returns the number of lines of context at the start and at the end of a hunk.
func (h *Hunk) context() (lead, trail int) {
	for lead < len(h.Lines) && h.Lines[lead].Op == ' ' {
		lead++
	}
	for trail < len(h.Lines) && h.Lines[len(h.Lines)-1-trail].Op == ' ' {
		trail++
	}
	return lead, trail
}

// anchors returns the lines after which h may be placed, or nil if it has no anchors. It returns ErrNoAnchor if an anchor is not
// found.
func (l *locator) anchors(h *Hunk) ([]int, error) {
	if len(h.Anchors) == 0 {
		return nil, nil
	}
	starts := []int{l.from}
	for _, a := range h.Anchors {
		// Each start leads to all places after it, at the first level with any match. So one search from the first start finds all
		// but those after the last place. A search from each start would be quadratic in time and memory.
		var next []int
		for level := lines.Exact; level <= lines.Typography && len(starts) > 0; level++ {
			if at := lines.Places(l.all, []string{a}, starts[0], level, 0); len(at) > 0 {
				next = append(next, at...)
				i, _ := slices.BinarySearch(starts, at[len(at)-1]+1)
				starts = starts[i:]
			}
		}
		if len(next) == 0 {
			return nil, ErrNoAnchor
		}
		starts = next
	}
	return starts, nil
}

// places returns the possible places of want: all places, or the first one after each anchor. A place at exactly the hunk's line
// number wins.
func (l *locator) places(h *Hunk, want []string, starts []int, level lines.Level, skip, cut int) []int {
	all := lines.Places(l.all, want, l.from, level, 0)
	if h.AtEnd && cut == 0 || h.OldOpen {
		all = slices.DeleteFunc(all, func(at int) bool { return at+len(want) != len(l.all) })
	}
	if starts != nil {
		var after []int
		for _, s := range starts {
			// The anchor itself may be the first line of the context.
			if i, _ := slices.BinarySearch(all, s); i < len(all) {
				after = append(after, all[i])
			}
		}
		all = slices.Compact(after) // in order, because starts is sorted
	}
	if len(all) > 1 && h.OldLine > 0 {
		if at := h.OldLine - 1 + l.drift + skip; slices.Contains(all, at) {
			return []int{at}
		}
	}
	return all
}

// insertion returns the place of a hunk without old lines: after its anchor, at its line number, or at the end.
func (l *locator) insertion(h *Hunk, starts []int, fail func(error, ...int) error) (*place, error) {
	switch {
	case h.AtEnd || len(l.all) == 0:
		return &place{at: len(l.all)}, nil
	case len(starts) > 1:
		return nil, fail(ErrPlaces, starts...)
	case len(starts) == 1:
		return &place{at: starts[0] + 1}, nil
	case h.OldLine > 0 && h.OldLine-1+l.drift >= l.from && h.OldLine-1+l.drift <= len(l.all):
		return &place{at: h.OldLine - 1 + l.drift}, nil
	case h.OldLine == 0:
		return &place{at: len(l.all)}, nil
	default:
		return nil, fail(ErrNoPlace)
	}
}

// splices returns the changes of a hunk at its place. Context lines keep the text's own version.
func (l *locator) splices(h *Hunk, p *place) []lines.Splice {
	hunk := h.Lines
	hunk = hunk[p.skip : len(hunk)-p.cut]
	var given, found []string
	if p.level >= lines.Indent {
		given = h.old()[p.skip:]
		given = given[:p.n]
		found = l.all[p.at : p.at+p.n]
	}
	var out []lines.Splice
	at := p.at
	var now *lines.Splice
	for _, line := range hunk {
		if line.Op == ' ' {
			at++
			now = nil
			continue
		}
		if now == nil {
			out = append(out, lines.Splice{Start: at, End: at})
			now = &out[len(out)-1]
		}
		if line.Op == '-' {
			at++
			now.End = at
		} else {
			now.With = append(now.With, line.Text)
		}
	}
	for i := range out {
		if given != nil {
			out[i].With = lines.Reindent(given, found, out[i].With)
		}
	}
	if n := len(out); n > 0 && out[n-1].End == len(l.all) {
		switch {
		case h.NewOpen:
			out[n-1].Final = lines.Strip
		case h.OldOpen:
			out[n-1].Final = lines.Close
		}
	}
	return out
}
