package transcript

import (
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"
)

// maxDiffLines is the maximum number of lines of a diff, and maxDiffText the maximum size of texts to compare, in
// bytes.
const (
	maxDiffLines = 4000
	maxDiffText  = 4 << 20
)

// diffLine is a line of a diff, without its newline: '+', '-', ' ', or '@' for a gap between hunks.
type diffLine struct {
	op   byte
	text string
}

// diffLines compares the texts of a diff block.
func diffLines(b *block) []diffLine {
	var before, after string
	if b.OldText != nil {
		before = *b.OldText
	}
	if b.NewText != nil {
		after = *b.NewText
	}
	if len(before)+len(after) > maxDiffText {
		return []diffLine{{'@', " too long to be shown here"}}
	}
	if b.OldText == nil {
		return wholeFile(after)
	}
	text, err := udiff.ToUnified("a", "b", before, udiff.Lines(before, after), 3)
	if err != nil {
		return wholeFile(after)
	}
	var lines []diffLine
	for l := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		switch {
		case len(lines) == 0 && (strings.HasPrefix(l, "--- ") || strings.HasPrefix(l, "+++ ")), l == "":
		case strings.HasPrefix(l, `\`): // no newline at the end of the file
		default:
			lines = append(lines, diffLine{l[0], l[1:]})
		}
		if len(lines) == maxDiffLines {
			return append(lines, diffLine{'@', " the rest is not shown"})
		}
	}
	return lines
}

func wholeFile(text string) []diffLine {
	var lines []diffLine
	if text == "" {
		return nil
	}
	for l := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if len(lines) == maxDiffLines {
			return append(lines, diffLine{'@', " the rest is not shown"})
		}
		lines = append(lines, diffLine{'+', l})
	}
	return lines
}
