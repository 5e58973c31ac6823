package toolkit

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gajae-code/gjc/agent"
)

// Selector is the part of a read path after the colon: which lines to show, and whether to show them without line numbers. The zero value
// is the whole file.
type Selector struct {
	// Ranges are sorted and neither overlap nor adjoin.
	Ranges []LineRange
	Raw    bool
	// Conflicts asks for the merge conflicts instead of lines.
	Conflicts bool
	// Anchors shows lines with the anchors that hashline edits use. The model decides that, not the path.
	Anchors bool
}

// Whole reports whether the selector is that of a path without a selector.
func (s *Selector) Whole() bool { return len(s.Ranges) == 0 && !s.Raw && !s.Conflicts }

// LineRange is a range of lines, 1-based and inclusive. A Last of zero means the end of the file.
type LineRange struct{ First, Last int }

// SplitSelector splits a path from its selector. Without one, sel is the zero value and base is path. It returns an error for an invalid
// selector, such as line 0 or an end before the start.
func SplitSelector(path string) (base string, sel Selector, err error) {
	base = path
	var parts []string
	for len(parts) < 2 {
		i := strings.LastIndexByte(base, ':')
		if i <= 0 || !selectorLike(base[i+1:]) {
			break
		}
		parts = append([]string{base[i+1:]}, parts...)
		base = base[:i]
	}
	if slices.Contains(parts, "conflicts") {
		if len(parts) > 1 {
			return path, Selector{}, fmt.Errorf("%w: %q: conflicts cannot be combined with lines or raw", agent.ErrBadInput, path)
		}
		return base, Selector{Conflicts: true}, nil
	}
	if len(parts) == 2 && parts[0] != "raw" && parts[1] != "raw" {
		if !plainNumber(parts[0]) || !plainNumber(parts[1]) {
			return path, Selector{}, fmt.Errorf("%w: %q has two line ranges; join them with a comma, as in %s:1-5,20-30",
				agent.ErrBadInput, path, base)
		}
		parts = parts[:1] // file:line:column, the format of compilers
	}
	for _, part := range parts {
		if part == "raw" {
			sel.Raw = true
			continue
		}
		if sel.Ranges, err = ParseRanges(part); err != nil {
			return path, Selector{}, fmt.Errorf("%w: the line selector %q: %w", agent.ErrBadInput, part, err)
		}
	}
	return base, sel, nil
}

// selectorLike reports whether s can only be a selector, valid or not: "raw", "conflicts", or digits and the characters that join
// them.
func selectorLike(s string) bool {
	if s == "raw" || s == "conflicts" {
		return true
	}
	digits := strings.Trim(s, "0123456789Ll+-,")
	return digits == "" && strings.ContainsAny(s, "0123456789")
}

func plainNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// ParseRanges parses a list such as "5-9,20+3". It returns the ranges in order, with overlapping ones merged.
func ParseRanges(list string) ([]LineRange, error) {
	var ranges []LineRange
	for item := range strings.SplitSeq(list, ",") {
		r, err := parseRange(item)
		if err != nil {
			return nil, err
		}
		ranges = append(ranges, r)
	}
	return mergeRanges(ranges), nil
}

func parseRange(item string) (LineRange, error) {
	end := strings.IndexAny(item, "+-")
	if end < 0 {
		first, err := parseLine(item)
		return LineRange{First: first}, err
	}
	first, err := parseLine(item[:end])
	if err != nil {
		return LineRange{}, err
	}
	rest := item[end+1:]
	if item[end] == '+' {
		n, err := strconv.Atoi(rest)
		if err != nil || n > maxLine {
			return LineRange{}, fmt.Errorf("%q is not a number of lines", rest)
		}
		if n < 1 {
			return LineRange{}, fmt.Errorf("it asks for %d lines; ask for at least 1", n)
		}
		return LineRange{first, first + n - 1}, nil
	}
	if rest == "" {
		return LineRange{First: first}, nil
	}
	last, err := parseLine(rest)
	if err != nil {
		return LineRange{}, err
	}
	if last < first {
		return LineRange{}, fmt.Errorf("it ends at line %d, before it starts at line %d", last, first)
	}
	return LineRange{first, last}, nil
}

// maxLine exceeds the number of lines of any file. The sum of two such values does not overflow on any platform.
const maxLine = 1 << 29

func parseLine(s string) (int, error) {
	n, err := strconv.Atoi(strings.TrimLeft(s, "Ll"))
	switch {
	case s == "":
		return 0, errors.New("a line number is missing")
	case err != nil || n > maxLine:
		return 0, fmt.Errorf("%q is not a line number", s)
	case n < 1:
		return 0, fmt.Errorf("there is no line %d; the first line is 1", n)
	default:
		return n, nil
	}
}

// mergeRanges sorts ranges and joins those that overlap or adjoin.
func mergeRanges(ranges []LineRange) []LineRange {
	slices.SortFunc(ranges, func(a, b LineRange) int { return cmp.Compare(a.First, b.First) })
	merged := ranges[:0]
	for _, r := range ranges {
		if n := len(merged); n > 0 && (merged[n-1].Last == 0 || r.First <= merged[n-1].Last+1) {
			if merged[n-1].Last != 0 && (r.Last == 0 || r.Last > merged[n-1].Last) {
				merged[n-1].Last = r.Last
			}
			continue
		}
		merged = append(merged, r)
	}
	return merged
}
