// Package patch parses patches that models write, that is, unified diffs and the envelope of apply_patch, and finds their places in
// a text. Line numbers are only hints: the context determines the place, and it must be unique.
package patch

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Hunk is one change to a text, with surrounding lines.
type Hunk struct {
	// OldLine is the line, from 1, at which the hunk claims to begin, or zero.
	OldLine int
	// Anchors are lines that precede the hunk, in order but not necessarily adjacent.
	Anchors []string
	// Lines are the lines of the hunk in order.
	Lines []Line
	// OldOpen and NewOpen report that the last old or new line has no line ending.
	OldOpen, NewOpen bool
	// AtEnd reports that the hunk is at the end of the text.
	AtEnd bool
	// Number is the hunk's position within its file, counting from 1.
	Number int
}

// Line is a line of a hunk: Op is ' ', '-' or '+'.
type Line struct {
	Op   byte
	Text string
}

// old returns the lines that the hunk expects in the text.
func (h *Hunk) old() []string {
	var all []string
	for _, l := range h.Lines {
		if l.Op != '+' {
			all = append(all, l.Text)
		}
	}
	return all
}

// changes reports whether the hunk changes anything.
func (h *Hunk) changes() bool {
	return slices.ContainsFunc(h.Lines, func(l Line) bool { return l.Op != ' ' })
}

// ErrSyntax is wrapped by every error for a patch that cannot be parsed.
var ErrSyntax = errors.New("the patch cannot be read")

func syntaxError(line int, format string, args ...any) error {
	return fmt.Errorf("%w: line %d: %s", ErrSyntax, line, fmt.Sprintf(format, args...))
}

// splitPatch splits a patch into lines without their line endings.
func splitPatch(text string) []string {
	text = strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// body parses one line of a hunk; ok is false if the line does not belong to one. Models omit the space of an empty line.
func (h *Hunk) body(line string) (ok bool) {
	switch {
	case line == "":
		h.Lines = append(h.Lines, Line{' ', ""})
	case line[0] == ' ' || line[0] == '-' || line[0] == '+':
		h.Lines = append(h.Lines, Line{line[0], line[1:]})
	case strings.HasPrefix(line, `\ `) && len(h.Lines) > 0:
		switch h.Lines[len(h.Lines)-1].Op {
		case '+':
			h.NewOpen = true
		case '-':
			h.OldOpen = true
		default:
			h.OldOpen, h.NewOpen = true, true
		}
	default:
		return false
	}
	return true
}

// trimTail removes empty lines that only separate the end of a hunk from what follows.
func (h *Hunk) trimTail(raw []string) {
	for n := len(h.Lines); n > 0 && len(raw) > 0 && raw[len(raw)-1] == "" && h.Lines[n-1] == (Line{' ', ""}); n = len(h.Lines) {
		h.Lines, raw = h.Lines[:n-1], raw[:len(raw)-1]
	}
}
