package lines

import (
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// Region is a range of lines of one text, [Start, End), that replaces the range [OldStart, OldEnd) of another. All count from zero.
type Region struct {
	OldStart, OldEnd int
	Start, End       int
}

// Changed returns the regions in which a text differs from an older one, in order. It ignores line endings.
func Changed(old, now *Text) []Region {
	if a, b := old.Lines(), now.Lines(); len(a)+len(b) > 0 {
		return changed(a, b)
	}
	return nil
}

func changed(a, b []string) []Region {
	// The common lines at both ends need no comparison.
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	midA, midB := a[head:len(a)-tail], b[head:len(b)-tail]
	if len(midA) == 0 && len(midB) == 0 {
		return nil
	}
	if len(midA) == 0 || len(midB) == 0 {
		return []Region{{head, head + len(midA), head, head + len(midB)}}
	}
	textA, textB := strings.Join(midA, "\n")+"\n", strings.Join(midB, "\n")+"\n"
	var regions []Region
	at, lineA := 0, head
	shift := 0
	for _, e := range udiff.Lines(textA, textB) {
		lineA += strings.Count(textA[at:e.Start], "\n")
		at = e.Start
		gone, come := strings.Count(textA[e.Start:e.End], "\n"), strings.Count(e.New, "\n")
		r := Region{lineA, lineA + gone, lineA + shift, lineA + shift + come}
		shift += come - gone
		if n := len(regions); n > 0 && regions[n-1].OldEnd == r.OldStart {
			regions[n-1].OldEnd, regions[n-1].End = r.OldEnd, r.End
			continue
		}
		regions = append(regions, r)
	}
	return regions
}

// Now returns the line number in the new text of a line in the old one. ok is false if the line was removed or changed.
func Now(regions []Region, line int) (now int, ok bool) {
	shift := 0
	for _, r := range regions {
		if line < r.OldStart {
			break
		}
		if line < r.OldEnd {
			return 0, false
		}
		shift = r.End - r.OldEnd
	}
	return line + shift, true
}
