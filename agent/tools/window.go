package tools

import (
	"fmt"
	"strings"
)

// Lines shown around a range that was asked for.
const (
	linesBefore = 1
	linesBehind = 3
)

// window picks lines of a file within the read tool's limits.
type window struct {
	name  string
	lines []string
	raw   bool

	out   strings.Builder
	shown int
	notes []string
}

// show writes ranges, or the start of the file if there are none, to out.
func (w *window) show(ranges []lineRange) {
	total := len(w.lines)
	if len(ranges) == 0 {
		most := readLines
		if w.raw {
			most = maxLines
		}
		w.run(lineRange{1, min(total, most)})
		return
	}
	var fit []lineRange
	for _, r := range ranges {
		if r.first > total {
			w.notes = append(w.notes, fmt.Sprintf("Line %d is beyond the end: %s has %s.", r.first, w.name, count(total, "line")))
			continue
		}
		if r.last == 0 || r.last > total {
			r.last = total
		}
		if !w.raw {
			r.first, r.last = max(1, r.first-linesBefore), min(total, r.last+linesBehind)
		}
		fit = append(fit, r)
	}
	for i, r := range mergeRanges(fit) {
		if i > 0 && !w.raw {
			w.out.WriteString("  ...\n")
		}
		if !w.run(r) {
			return
		}
	}
}

// run writes the lines of one range and reports whether all of them fitted.
func (w *window) run(r lineRange) bool {
	for n := r.first; n <= r.last; n++ {
		line := w.lines[n-1]
		if !w.raw {
			line = fmt.Sprintf("%5d|%s", n, cutLine(line, maxColumns))
		}
		if w.shown == maxLines || w.out.Len()+len(line) >= maxText {
			if w.out.Len() == 0 { // one line that is longer than everything: raw only
				w.out.WriteString(cutBytes(line, maxText))
				w.notes = append(w.notes, fmt.Sprintf("Line %d has %s; its first %s are shown.", n, size(int64(len(line))), size(maxText)))
				n++
			}
			w.more(n)
			return false
		}
		w.out.WriteString(line)
		w.out.WriteByte('\n')
		w.shown++
	}
	if r.last < len(w.lines) && w.shown == r.last && r.last >= readLines {
		w.more(r.last + 1)
	}
	return true
}

// more says how to go on from line next.
func (w *window) more(next int) {
	if next > len(w.lines) {
		return
	}
	raw := ""
	if w.raw {
		raw = ":raw"
	}
	w.notes = append(w.notes, fmt.Sprintf("%s has %s; go on with %s:%d%s", w.name, count(len(w.lines), "line"), w.name, next, raw))
}
