package toolkit

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gajae-code/gjc/agent/toolkit/hashline"
	"github.com/gajae-code/gjc/internal/text"
)

// The numbers of lines shown around a requested range.
const (
	linesBefore = 1
	linesAfter  = 3
)

// lineSource returns the lines of a text one by one, without their line endings.
type lineSource interface {
	// Next returns the next line, or [io.EOF]. It may return only the start of a line that is longer than any result; cut is the number of
	// missing bytes.
	Next() (line string, cut int64, err error)
	// Skip skips n lines, or all remaining ones.
	Skip(n int) error
	// Total returns the number of lines, or zero if it is not known yet.
	Total() int
}

// TextLines is the [lineSource] of a text in memory.
type TextLines struct {
	Lines []string
	at    int
}

// Next implements lineSource. It never cuts a line.
func (t *TextLines) Next() (string, int64, error) {
	if t.at >= len(t.Lines) {
		return "", 0, io.EOF
	}
	t.at++
	return t.Lines[t.at-1], 0, nil
}

// Skip implements lineSource. It never fails.
func (t *TextLines) Skip(n int) error {
	t.at = min(t.at+n, len(t.Lines))
	return nil
}

// Total implements lineSource. The number is always known.
func (t *TextLines) Total() int { return len(t.Lines) }

// Window selects lines of a text within the limits of the read tool.
type Window struct {
	Name  string
	Lines lineSource
	Raw   bool
	// Made reports that the lines were derived from the file and are not its own: no edit can name them.
	Made bool
	// Anchors shows lines with the anchors that hashline edits use.
	Anchors bool
	// Long describes the size of a text whose lines have not been counted.
	Long string

	Out   strings.Builder
	Shown int
	at    int // the last line that was read
	full  bool
	Notes []string
}

// Prefix returns the prefix that the model sees before line n.
func (w *Window) Prefix(n int, line string) string {
	if w.Anchors && !w.Made {
		return fmt.Sprintf("%7s|", hashline.Anchor(n, line))
	}
	return fmt.Sprintf("%5d|", n)
}

// Show writes ranges to Out, or the start of the text if there are none. The ranges are sorted and neither overlap nor adjoin.
func (w *Window) Show(ranges []LineRange) error {
	if len(ranges) == 0 {
		most := readLines
		if w.Raw {
			most = MaxLines
		}
		if err := w.run(LineRange{1, most}, 1, ""); err != nil {
			return err
		}
		if w.Shown == most && !w.full {
			return w.noteMore()
		}
		return nil
	}
	// The context of a range may extend into the next one.
	around := slices.Clone(ranges)
	if !w.Raw {
		for i, r := range around {
			around[i].First = max(1, r.First-linesBefore)
			if r.Last > 0 {
				around[i].Last += linesAfter
			}
		}
	}
	for _, r := range mergeRanges(around) {
		asked := ranges[slices.IndexFunc(ranges, func(a LineRange) bool { return a.First >= r.First })]
		between := ""
		if w.Out.Len() > 0 && !w.Raw {
			between = "  ...\n"
		}
		if err := w.run(r, asked.First, between); err != nil {
			return err
		}
		if w.full {
			return nil
		}
	}
	if total := w.Lines.Total(); total > 0 {
		for _, r := range ranges {
			if r.First > total {
				w.Notes = append(w.Notes, fmt.Sprintf("Line %d is beyond the end: %s has %s.", r.First, w.Name, text.Count(total, "line")))
			}
		}
	}
	return nil
}

// run writes the lines of one range, with between before the first. It writes nothing if line asked does not exist.
func (w *Window) run(r LineRange, asked int, between string) error {
	if err := w.Lines.Skip(r.First - 1 - w.at); err != nil {
		return err
	}
	w.at = r.First - 1
	var held strings.Builder
	for r.Last == 0 || w.at < r.Last {
		line, cut, err := w.Lines.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		w.at++
		length := int64(len(line)) + cut
		if !w.Raw {
			line = w.Prefix(w.at, line) + cutLong(line, cut, MaxColumns)
		}
		if w.at < asked {
			held.WriteString(line + "\n")
			w.Shown++
			continue
		}
		if between != "" || held.Len() > 0 {
			w.Out.WriteString(between + held.String())
			between = ""
			held.Reset()
		}
		if w.Shown == MaxLines || w.Out.Len()+len(line) >= MaxText || w.Raw && cut > 0 {
			w.full = true
			next := w.at
			if w.Out.Len() == 0 { // a single line that exceeds the limit: raw only
				w.Out.WriteString(CutBytes(line, MaxText))
				w.Notes = append(w.Notes, fmt.Sprintf("Line %d has %s; its first %s are shown.", w.at, Size(length), Size(MaxText)))
				next++
			}
			w.more(next)
			return nil
		}
		w.Out.WriteString(line)
		w.Out.WriteByte('\n')
		w.Shown++
	}
	return nil
}

// noteMore adds a note on how to continue after the last line, if there is more.
func (w *Window) noteMore() error {
	if total := w.Lines.Total(); total > 0 {
		w.more(w.at + 1)
		return nil
	}
	_, _, err := w.Lines.Next()
	if errors.Is(err, io.EOF) {
		return nil
	}
	w.more(w.at + 1)
	return err
}

// more adds a note on how to continue from line next.
func (w *Window) more(next int) {
	total := w.Lines.Total()
	if total > 0 && next > total {
		return
	}
	raw := ""
	if w.Raw {
		raw = ":raw"
	}
	much := w.Long
	if total > 0 {
		much = text.Count(total, "line")
	}
	w.Notes = append(w.Notes, fmt.Sprintf("%s has %s; continue with %s:%d%s", w.Name, much, w.Name, next, raw))
}

// cutLong is like [CutLine], for a line of which cut bytes are already missing.
func cutLong(line string, cut int64, most int) string {
	if cut == 0 {
		return CutLine(line, most)
	}
	for i, runes := 0, 0; i < len(line); runes++ {
		if runes == most {
			return line[:i] + "… [" + Size(cut+int64(len(line)-i)) + " more]"
		}
		_, n := utf8.DecodeRuneInString(line[i:])
		i += n
	}
	return line
}
