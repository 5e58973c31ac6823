package hashline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent/toolkit/lines"
)

// Result holds the splices of a section's operations.
type Result struct {
	Splices []lines.Splice
	// Moved reports that lines were found at other numbers than those of their anchors, because lines were added or removed before
	// them.
	Moved bool
}

// MismatchError reports anchors that do not match the text.
type MismatchError struct {
	// Anchors are the wrong ones, as written in the input.
	Anchors []string
	// Lines are the numbers of the surrounding lines that exist, from 1.
	Lines []int
	// Total is the number of lines in the text.
	Total int
}

// Error implements error.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("%s: the file now has different lines there", strings.Join(e.Anchors, ", "))
}

// Apply finds the positions of the operations in a text. old is the text for which the anchors were made, or nil if it is unknown.
// With old, Apply also finds lines that only moved.
func Apply(text, old *lines.Text, ops []Op) (*Result, error) {
	r := &resolver{text: text, old: old}
	res := new(Result)
	wrong := &MismatchError{Total: text.Len()}
	var direct []lines.Splice
	for i := range ops {
		s, bad := r.splice(&ops[i], false)
		for _, a := range bad {
			if name := a.String(); !slices.Contains(wrong.Anchors, name) {
				wrong.Anchors = append(wrong.Anchors, name)
				wrong.Lines = append(wrong.Lines, min(a.line, max(text.Len(), 1)))
			}
		}
		direct = append(direct, s)
	}
	if len(wrong.Anchors) == 0 {
		res.Splices = direct
		return res, check(ops, res.Splices)
	}
	if old == nil {
		return nil, wrong
	}
	// The text has changed since, so all anchors refer to the old text, and none to a line number of the new one.
	r.changed = lines.Changed(old, text)
	for i := range ops {
		s, bad := r.splice(&ops[i], true)
		if len(bad) > 0 {
			return nil, wrong
		}
		res.Splices = append(res.Splices, s)
	}
	res.Moved = true
	return res, check(ops, res.Splices)
}

type resolver struct {
	text, old *lines.Text
	changed   []lines.Region
}

// splice returns the splice of one operation. If moved is set, it looks the anchors up in the old text. bad are the anchors that do not
// match.
func (r *resolver) splice(o *Op, moved bool) (s lines.Splice, bad []anchor) {
	n := r.text.Len()
	place := func(a anchor) int { // from 0; -1 for the beginning, n for the end
		switch {
		case a.tag == begin && a.line == 0:
			return -1
		case a.line == 0:
			return n
		case !moved:
			if a.line > n || Tag(r.text.Line(a.line-1)) != a.tag {
				bad = append(bad, a)
				return 0
			}
			return a.line - 1
		}
		if a.line > r.old.Len() || Tag(r.old.Line(a.line-1)) != a.tag {
			bad = append(bad, a)
			return 0
		}
		now, ok := lines.Now(r.changed, a.line-1)
		if !ok {
			bad = append(bad, a)
		}
		return now
	}
	first := place(o.first)
	s.With = o.with
	switch o.kind {
	case after:
		s.Start = min(first+1, n)
		s.End = s.Start
	case before:
		s.Start = max(first, 0)
		s.End = s.Start
	default:
		last := place(o.last)
		s.Start, s.End = max(first, 0), min(last+1, n)
		if moved && len(bad) == 0 && r.differs(s.Start, s.End) {
			bad = append(bad, o.first, o.last)
		}
	}
	return s, bad
}

// differs reports whether the lines from start to end differ from the corresponding lines of the old text.
func (r *resolver) differs(start, end int) bool {
	return slices.ContainsFunc(r.changed, func(c lines.Region) bool {
		return c.Start < end && c.End > start || c.Start == c.End && c.Start > start && c.Start < end
	})
}

// check returns an error for operations that change the same lines.
func check(ops []Op, splices []lines.Splice) error {
	for i, a := range splices {
		for j, b := range splices[:i] {
			over := a.Start < b.End && b.Start < a.End
			inside := a.Start == a.End && b.Start < a.Start && a.Start < b.End || b.Start == b.End && a.Start < b.Start && b.Start < a.End
			if over || inside {
				return fmt.Errorf("operations %d and %d: %w", ops[j].number, ops[i].number, lines.ErrOverlap)
			}
		}
	}
	return nil
}
