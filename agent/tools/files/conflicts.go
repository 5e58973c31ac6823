package files

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/internal/text"
)

// conflict is one region that a merge has left unresolved. Lines count from 1.
type conflict struct {
	first, last        int
	ours, base, theirs conflictSide
}

// conflictSide is the range of lines of one side, from the line after its marker to the one before the next marker.
type conflictSide struct {
	label  string
	marker int // zero for a missing side
	end    int
}

// findConflicts returns the complete conflicts in lines. open is the line of a conflict that does not end, or zero.
func findConflicts(lines []string) (found []conflict, open int) {
	var c conflict
	side := &c.ours
	for i, line := range lines {
		n := i + 1
		marker, label := conflictMarker(line)
		switch {
		case marker == '<': // discards a conflict that did not end
			c = conflict{first: n, ours: conflictSide{label: label, marker: n}}
			side = &c.ours
		case c.first == 0:
		case marker == '|' && side == &c.ours:
			side.end = n - 1
			side = &c.base
			*side = conflictSide{label: label, marker: n}
		case marker == '=' && side != &c.theirs:
			side.end = n - 1
			side = &c.theirs
			*side = conflictSide{marker: n}
		case marker == '>' && side == &c.theirs:
			side.end, side.label, c.last = n-1, label, n
			found = append(found, c)
			c = conflict{}
			side = &c.ours
		}
	}
	return found, c.first
}

// conflictMarker returns the character of a marker line and the name after it, or zero for any other line.
func conflictMarker(line string) (marker byte, label string) {
	line = strings.TrimSuffix(line, "\r")
	if len(line) < 7 || strings.IndexByte("<|=>", line[0]) < 0 || line[:7] != strings.Repeat(line[:1], 7) {
		return 0, ""
	}
	if len(line) > 7 && line[7] != ' ' || line[0] == '=' && len(line) > 7 {
		return 0, ""
	}
	return line[0], strings.TrimSpace(line[7:])
}

// showConflicts returns the result of read for the selector conflicts. numbers are those of their addresses; nil for none.
func showConflicts(name string, lines []string, numbers []int) *agent.Result {
	found, open := findConflicts(lines)
	if len(found) == 0 {
		text := name + " has no merge conflicts."
		if open > 0 {
			text += fmt.Sprintf(" Line %d looks like the start of one that does not end.", open)
		}
		return &agent.Result{Text: text}
	}
	w := toolkit.Window{Name: name}
	w.Out.WriteString(text.Count(len(found), "merge conflict") + " in " + name + "\n")
	for i, c := range found {
		if w.Out.Len() >= toolkit.MaxText || w.Shown >= toolkit.MaxLines {
			w.Notes = append(w.Notes, fmt.Sprintf("%d more are not shown; the next starts at %s:%d", len(found)-i, name, c.first))
			break
		}
		address := fmt.Sprintf("#%d", i+1)
		if numbers != nil {
			address = conflictScheme + strconv.Itoa(numbers[i])
		}
		fmt.Fprintf(&w.Out, "\n%s lines %d-%d\n", address, c.first, c.last)
		writeSide(&w, "ours", c.ours, lines)
		writeSide(&w, "base", c.base, lines)
		writeSide(&w, "theirs", c.theirs, lines)
	}
	if open > found[len(found)-1].last {
		w.Notes = append(w.Notes, fmt.Sprintf("Line %d looks like the start of another one that does not end.", open))
	}
	return &agent.Result{Text: toolkit.JoinNotes(w.Out.String(), w.Notes)}
}

// writeSide writes one side of a conflict to w.
func writeSide(w *toolkit.Window, what string, s conflictSide, lines []string) {
	if s.marker == 0 {
		return
	}
	if s.label != "" {
		what += " (" + toolkit.CutLine(s.label, 100) + ")"
	}
	if s.end == s.marker {
		w.Out.WriteString(what + ": nothing\n")
		return
	}
	w.Out.WriteString(what + ":\n")
	for n := s.marker + 1; n <= s.end; n++ {
		line := w.Prefix(n, lines[n-1]) + toolkit.CutLine(lines[n-1], toolkit.MaxColumns)
		if w.Shown >= toolkit.MaxLines || w.Out.Len()+len(line) >= toolkit.MaxText {
			fmt.Fprintf(&w.Out, "  … %s up to line %d\n", text.Count(s.end-n+1, "more line"), s.end)
			return
		}
		w.Out.WriteString(line + "\n")
		w.Shown++
	}
}
