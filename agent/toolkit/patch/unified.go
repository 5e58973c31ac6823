package patch

import (
	"slices"
	"strconv"
	"strings"

	"github.com/gajae-code/gjc/internal/lazyregexp"
)

// hunkHeader matches the first line of a unified hunk. Its numbers are optional.
var hunkHeader = lazyregexp.New(`^@@(?: -(\d+)(?:,(\d+))?(?: \+(\d+)(?:,(\d+))?)?)?(?: @@)?(.*)$`)

// ParseUnified parses the hunks of a unified diff of one file. It skips file headers before the first hunk. Hunks may omit their line
// numbers; the text after a bare "@@" is then a line that precedes the hunk.
func ParseUnified(diff string) ([]Hunk, error) {
	var hunks []Hunk
	var raw []string
	var h *Hunk
	oldLeft, newLeft, counted := 0, 0, false
	end := func(line int) error {
		if h == nil {
			return nil
		}
		h.trimTail(raw)
		if len(h.Lines) == 0 {
			return syntaxError(line, "hunk %d is empty", h.Number)
		}
		return nil
	}
	for i, line := range splitPatch(diff) {
		if h == nil && fileHeader(line) {
			continue
		}
		// A removed line "-- a" looks like "--- a": the numbers of the header decide.
		inside := counted && (oldLeft > 0 || newLeft > 0)
		switch {
		case strings.HasPrefix(line, "@@"):
			if err := end(i + 1); err != nil {
				return nil, err
			}
			next := Hunk{Number: len(hunks) + 1}
			oldLeft, newLeft, counted = next.header(line)
			hunks = append(hunks, next)
			h, raw = &hunks[len(hunks)-1], nil
		case h == nil:
			if strings.TrimSpace(line) == "" {
				continue
			}
			if line[0] != ' ' && line[0] != '-' && line[0] != '+' {
				return nil, syntaxError(i+1, "%q is not a hunk; a hunk begins with @@, and its lines with a space, - or +", short(line))
			}
			hunks = append(hunks, Hunk{Number: 1})
			h = &hunks[0]
			h.body(line)
			raw = append(raw, line)
		case !inside && fileHeader(line):
			return nil, syntaxError(i+1, "%q begins another file; give each file its own diff", short(line))
		default:
			if !h.body(line) {
				return nil, syntaxError(i+1, "%q must begin with a space, - or +", short(line))
			}
			raw = append(raw, line)
			if line == "" || line[0] != '+' && line[0] != '\\' {
				oldLeft--
			}
			if line == "" || line[0] != '-' && line[0] != '\\' {
				newLeft--
			}
		}
	}
	if h == nil {
		return nil, syntaxError(1, "no hunks; a hunk begins with @@")
	}
	return hunks, end(strings.Count(diff, "\n"))
}

// fileHeader reports whether a line is part of the file header that precedes hunks.
func fileHeader(line string) bool {
	return slices.ContainsFunc([]string{"--- ", "+++ ", "diff --git ", "index ", "new file mode", "deleted file mode", "old mode", "new mode", "similarity index", "rename from", "rename to"},
		func(prefix string) bool { return strings.HasPrefix(line, prefix) })
}

// header parses the first line of a hunk. If it has numbers, they say how many old and new lines follow.
func (h *Hunk) header(line string) (oldLines, newLines int, counted bool) {
	m := hunkHeader().FindStringSubmatch(line)
	if m == nil {
		return 0, 0, false
	}
	if m[1] == "" {
		if anchor := strings.TrimSuffix(strings.TrimPrefix(m[5], " "), " @@"); strings.TrimSpace(anchor) != "" {
			h.Anchors = []string{anchor}
		}
		return 0, 0, false
	}
	h.OldLine = number(m[1], 0)
	oldLines, newLines = number(m[2], 1), number(m[4], 1)
	if oldLines == 0 { // such a hunk inserts lines after the line that it names
		h.OldLine++
	}
	return oldLines, newLines, m[3] != ""
}

func number(digits string, without int) int {
	n, err := strconv.Atoi(digits)
	if err != nil || n > 1<<30 {
		return without
	}
	return n
}

// short returns a line for an error message.
func short(line string) string {
	const most = 80
	if r := []rune(line); len(r) > most {
		return string(r[:most]) + "…"
	}
	return line
}
