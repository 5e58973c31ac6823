package hashline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent/toolkit/lines"
)

// Result is where the operations of a section go.
type Result struct {
	Splices []lines.Splice
	// Moved says that lines were found elsewhere than the anchors say, because others came or went before them.
	Moved bool
}

// MismatchError is for anchors that are not those of the text.
type MismatchError struct {
	// Anchors are the wrong ones, as the input has them.
	Anchors []string
	// Lines are the lines about them, from 1; those that are not in the text are left out.
	Lines []int
	// Total is how many lines the text has.
	Total int
}

// Error implements error.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("%s: the file has other lines there now", strings.Join(e.Anchors, ", "))
}

// Apply finds the places of the operations in a text. old is the text as it was when the anchors were made, or nil where
// that is not known: with it, lines that only moved are found again.
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
	// The text has changed since: all anchors are taken as the old text's, none by its number here.
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

// splice is one operation in the text; moved has the anchors looked up in the old text. bad are the anchors that do not fit.
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

// differs reports whether lines of the text, from start to end, are others than in the old text.
func (r *resolver) differs(start, end int) bool {
	return slices.ContainsFunc(r.changed, func(c lines.Region) bool {
		return c.Start < end && c.End > start || c.Start == c.End && c.Start > start && c.Start < end
	})
}

// check refuses operations that touch the same lines.
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
