// Package patch reads patches that models write, unified diffs and the envelope of apply_patch, and finds the places in a
// text that they mean. Line numbers are a hint at most: what counts is the context, and a place counts only if there is no
// other.
package patch

import (
	"errors"
	"fmt"
	"strings"
)

// Hunk is one change of a text, with lines around it.
type Hunk struct {
	// OldLine is the line, from 1, at which the hunk says that it begins; zero where it does not say.
	OldLine int
	// Anchors are lines that come before the hunk, each somewhere behind the one before it.
	Anchors []string
	// Lines are the lines of the hunk in order.
	Lines []Line
	// OldOpen and NewOpen say that the last old or new line has no line end.
	OldOpen, NewOpen bool
	// AtEnd says that the hunk is at the end of the text.
	AtEnd bool
	// Number is the hunk's place among its file's, from 1.
	Number int
}

// Line is a line of a hunk: Op is ' ', '-' or '+'.
type Line struct {
	Op   byte
	Text string
}

// old are the lines that the hunk expects.
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
	for _, l := range h.Lines {
		if l.Op != ' ' {
			return true
		}
	}
	return false
}

// ErrSyntax is wrapped by every complaint about a patch that cannot be read.
var ErrSyntax = errors.New("the patch cannot be read")

func syntaxError(line int, format string, args ...any) error {
	return fmt.Errorf("%w: line %d: %s", ErrSyntax, line, fmt.Sprintf(format, args...))
}

// splitPatch cuts a patch into lines. Its own line ends do not count.
func splitPatch(text string) []string {
	text = strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// body takes one line of a hunk; ok is false for a line that is none. Models leave out the blank of an empty line.
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

// trimTail takes empty lines off the end of a hunk that only part it from what follows.
func (h *Hunk) trimTail(raw []string) {
	for n := len(h.Lines); n > 0 && len(raw) > 0 && raw[len(raw)-1] == "" && h.Lines[n-1] == (Line{' ', ""}); n = len(h.Lines) {
		h.Lines, raw = h.Lines[:n-1], raw[:len(raw)-1]
	}
}
