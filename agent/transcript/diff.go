package transcript

import (
	"strconv"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"
)

// maxDiffLines is the maximum number of lines of a diff, and maxDiffText the maximum size of texts to compare, in
// bytes.
const (
	maxDiffLines = 4000
	maxDiffText  = 4 << 20
)

// diffLine is a line of a diff, without its newline: '+', '-', ' ', or '@' for a gap between hunks. Before and after are its
// numbers in the two texts; zero where it does not occur.
type diffLine struct {
	op            byte
	text          string
	before, after int
}

// diffSize counts the lines of a diff.
type diffSize struct {
	added, removed int
	// unknown says that the texts are too long to compare.
	unknown bool
}

func (s *diffSize) add(other diffSize) {
	s.added += other.added
	s.removed += other.removed
	s.unknown = s.unknown || other.unknown
}

// lines returns the number of changed lines.
func (s *diffSize) lines() int { return s.added + s.removed }

// texts returns the texts of a diff block.
func (b *block) texts() (before, after string) {
	if b.OldText != nil {
		before = *b.OldText
	}
	if b.NewText != nil {
		after = *b.NewText
	}
	return before, after
}

// sizeOf counts the changes of a diff block.
func sizeOf(b *block) diffSize {
	before, after := b.texts()
	if len(before)+len(after) > maxDiffText {
		return diffSize{unknown: true}
	}
	if b.OldText == nil {
		return diffSize{added: lineCount(after)}
	}
	var size diffSize
	for _, e := range udiff.Lines(before, after) {
		size.added += lineCount(e.New)
		size.removed += lineCount(before[e.Start:e.End])
	}
	return size
}

// lineCount counts lines; the last one need not end with a newline.
func lineCount(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}

// diffLines compares the texts of a diff block.
func diffLines(b *block) []diffLine {
	before, after := b.texts()
	if len(before)+len(after) > maxDiffText {
		return []diffLine{{op: '@', text: " too long to be shown here"}}
	}
	if b.OldText == nil {
		return wholeFile(after)
	}
	unified, err := udiff.ToUnified("a", "b", before, udiff.Lines(before, after), 3)
	if err != nil {
		return wholeFile(after)
	}
	var lines []diffLine
	var from, to int
	for l := range strings.SplitSeq(strings.TrimSuffix(unified, "\n"), "\n") {
		switch {
		case len(lines) == 0 && (strings.HasPrefix(l, "--- ") || strings.HasPrefix(l, "+++ ")), l == "":
			continue
		case len(lines) >= maxDiffLines:
			return append(lines, diffLine{op: '@', text: " the rest is not shown"})
		}
		switch line := (diffLine{op: l[0], text: l[1:]}); line.op {
		case '@':
			from, to = hunkStart(l)
			lines = append(lines, line)
		case '+':
			line.after = to
			to++
			lines = append(lines, line)
		case '-':
			line.before = from
			from++
			lines = append(lines, line)
		case '\\': // no newline at the end of the file
		default:
			line.before, line.after = from, to
			from++
			to++
			lines = append(lines, line)
		}
	}
	return lines
}

// hunkStart parses the first line numbers of a hunk: @@ -1,5 +1,6 @@.
func hunkStart(header string) (from, to int) {
	fields := strings.Fields(header)
	if len(fields) < 3 {
		return 0, 0
	}
	number := func(field string) int {
		first, _, _ := strings.Cut(field[1:], ",")
		n, _ := strconv.Atoi(first) // the differ wrote it
		return n
	}
	return number(fields[1]), number(fields[2])
}

func wholeFile(text string) []diffLine {
	var lines []diffLine
	if text == "" {
		return nil
	}
	for l := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if len(lines) == maxDiffLines {
			return append(lines, diffLine{op: '@', text: " the rest is not shown"})
		}
		lines = append(lines, diffLine{op: '+', text: l, after: len(lines) + 1})
	}
	return lines
}
