package tools

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gajae-code/gjc/agent/toolkit/hashline"
)

// Lines shown around a range that was asked for.
const (
	linesBefore = 1
	linesBehind = 3
)

// lineSource gives the lines of a text one by one, without their line ends.
type lineSource interface {
	// Next returns the Next line, or [io.EOF]. Of a line that is longer than any result it may give the start; cut is how
	// many bytes are missing then.
	Next() (line string, cut int64, err error)
	// Skip passes over n lines, or up to the end.
	Skip(n int) error
	// Total is how many lines there are; zero where that is not known yet.
	Total() int
}

// textLines is the [lineSource] of a text in memory.
type textLines struct {
	lines []string
	at    int
}

func (t *textLines) Next() (string, int64, error) {
	if t.at >= len(t.lines) {
		return "", 0, io.EOF
	}
	t.at++
	return t.lines[t.at-1], 0, nil
}

func (t *textLines) Skip(n int) error {
	t.at = min(t.at+n, len(t.lines))
	return nil
}

func (t *textLines) Total() int { return len(t.lines) }

// window picks lines of a text within the read tool's limits.
type window struct {
	name  string
	lines lineSource
	raw   bool
	// made says that the lines were made from the file and are not its own: nothing to name in an edit.
	made bool
	// anchors has lines shown with the anchors that hashline edits name them by.
	anchors bool
	// long says how much there is, for a text whose lines have not been counted.
	long string

	out   strings.Builder
	shown int
	at    int // the line that was taken last
	full  bool
	notes []string
}

// prefix is what stands before line n in what the model sees.
func (w *window) prefix(n int, line string) string {
	if w.anchors && !w.made {
		return fmt.Sprintf("%7s|", hashline.Anchor(n, line))
	}
	return fmt.Sprintf("%5d|", n)
}

// show writes ranges, or the start of the text if there are none, to out. The ranges are sorted and do not touch.
func (w *window) show(ranges []lineRange) error {
	if len(ranges) == 0 {
		most := readLines
		if w.raw {
			most = maxLines
		}
		if err := w.run(lineRange{1, most}, 1, ""); err != nil {
			return err
		}
		if w.shown == most && !w.full {
			return w.tellMore()
		}
		return nil
	}
	// What is shown around a range may reach into the next one.
	around := slices.Clone(ranges)
	if !w.raw {
		for i, r := range around {
			around[i].first = max(1, r.first-linesBefore)
			if r.last > 0 {
				around[i].last += linesBehind
			}
		}
	}
	for _, r := range mergeRanges(around) {
		asked := ranges[slices.IndexFunc(ranges, func(a lineRange) bool { return a.first >= r.first })]
		between := ""
		if w.out.Len() > 0 && !w.raw {
			between = "  ...\n"
		}
		if err := w.run(r, asked.first, between); err != nil {
			return err
		}
		if w.full {
			return nil
		}
	}
	if total := w.lines.Total(); total > 0 {
		for _, r := range ranges {
			if r.first > total {
				w.notes = append(w.notes, fmt.Sprintf("Line %d is beyond the end: %s has %s.", r.first, w.name, count(total, "line")))
			}
		}
	}
	return nil
}

// run writes the lines of one range, and between before the first. Nothing is written unless line asked is there.
func (w *window) run(r lineRange, asked int, between string) error {
	if err := w.lines.Skip(r.first - 1 - w.at); err != nil {
		return err
	}
	w.at = r.first - 1
	var held strings.Builder
	for r.last == 0 || w.at < r.last {
		line, cut, err := w.lines.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		w.at++
		length := int64(len(line)) + cut
		if !w.raw {
			line = w.prefix(w.at, line) + cutLong(line, cut, maxColumns)
		}
		if w.at < asked {
			held.WriteString(line + "\n")
			w.shown++
			continue
		}
		if between != "" || held.Len() > 0 {
			w.out.WriteString(between + held.String())
			between = ""
			held.Reset()
		}
		if w.shown == maxLines || w.out.Len()+len(line) >= maxText || w.raw && cut > 0 {
			w.full = true
			next := w.at
			if w.out.Len() == 0 { // one line that is longer than everything: raw only
				w.out.WriteString(cutBytes(line, maxText))
				w.notes = append(w.notes, fmt.Sprintf("Line %d has %s; its first %s are shown.", w.at, size(length), size(maxText)))
				next++
			}
			w.more(next)
			return nil
		}
		w.out.WriteString(line)
		w.out.WriteByte('\n')
		w.shown++
	}
	return nil
}

// tellMore says how to go on behind the last line, if there is more.
func (w *window) tellMore() error {
	if total := w.lines.Total(); total > 0 {
		w.more(w.at + 1)
		return nil
	}
	_, _, err := w.lines.Next()
	if errors.Is(err, io.EOF) {
		return nil
	}
	w.more(w.at + 1)
	return err
}

// more says how to go on from line next.
func (w *window) more(next int) {
	total := w.lines.Total()
	if total > 0 && next > total {
		return
	}
	raw := ""
	if w.raw {
		raw = ":raw"
	}
	much := w.long
	if total > 0 {
		much = count(total, "line")
	}
	w.notes = append(w.notes, fmt.Sprintf("%s has %s; go on with %s:%d%s", w.name, much, w.name, next, raw))
}

// cutLong is [cutLine] for a line of which cut bytes are missing already.
func cutLong(line string, cut int64, most int) string {
	if cut == 0 {
		return cutLine(line, most)
	}
	for i, runes := 0, 0; i < len(line); runes++ {
		if runes == most {
			return line[:i] + "… [" + size(cut+int64(len(line)-i)) + " more]"
		}
		_, n := utf8.DecodeRuneInString(line[i:])
		i += n
	}
	return line
}
