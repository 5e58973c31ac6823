// Package lineedit edits a line on a terminal: with history, completion, pasted text of several lines, and characters of any width.
//
// It is a state machine without goroutines: [ReadKeys] finds keys in what the terminal sends, [Editor.Press] acts on one, and
// [Editor.Paint] shows the result.
package lineedit

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Outcome says what a key has led to.
type Outcome int

// The outcomes.
const (
	Editing     Outcome = iota // the line goes on
	Submitted                  // the line is complete
	Interrupted                // Ctrl-C in an empty line; in another one it only empties the line
	Ended                      // Ctrl-D in an empty line
	Suspended                  // Ctrl-Z
	Cleared                    // Ctrl-L: the screen is to be cleared
	Listed                     // Tab found several candidates, which [Editor.Candidates] returns
)

// Completion replaces the text from a position to the cursor.
type Completion struct {
	// From is a position in the line, in bytes, not after the cursor.
	From int
	// Candidates are the texts that fit; one that ends with a space or a slash is taken as it is.
	Candidates []string
}

// Editor edits one line after the other. It belongs to one goroutine.
type Editor struct {
	// History has the lines before. Required.
	History *History
	// Complete completes the line up to the cursor. Optional.
	Complete func(line string) Completion

	buf        buffer
	killed     string   // by the last key that removed more than a character
	candidates []string // of the last Tab
	// entry is the index in the history of the line that is shown; len(lines) for the line itself, which is kept in draft meanwhile.
	entry int
	draft string
	// searching says that characters belong to query, which finds lines of the history.
	searching bool
	query     string
	painted   painted
}

// Begin begins a line with a text.
func (e *Editor) Begin(text string) {
	e.buf.set(text)
	e.entry, e.draft, e.searching, e.candidates = len(e.History.lines), "", false, nil
}

// Text returns the line.
func (e *Editor) Text() string { return e.buf.String() }

// Candidates returns what the last Tab has found.
func (e *Editor) Candidates() []string { return e.candidates }

// Press acts on a key.
func (e *Editor) Press(k Key) Outcome {
	if e.searching {
		if done := e.searchKey(k); done {
			return Editing
		}
	}
	if e.edit(k.Code) {
		return Editing
	}
	switch k.Code {
	case Char, Paste:
		e.buf.insert(k.Text)
	case Line:
		e.buf.set(k.Text)
		return Submitted
	case Enter:
		if before := e.buf.text[:e.buf.pos]; len(before) > 0 && before[len(before)-1] == '\\' { // as in a shell
			e.buf.remove(e.buf.pos-1, e.buf.pos)
			e.buf.insert("\n")
			return Editing
		}
		return Submitted
	case Tab:
		return e.complete()
	case Search:
		e.searching, e.query, e.draft = true, "", e.buf.String()
		e.entry = len(e.History.lines)
	case Interrupt:
		if len(e.buf.text) == 0 {
			return Interrupted
		}
		e.Begin("")
	case EndOfFile:
		if len(e.buf.text) == 0 {
			return Ended
		}
		e.buf.remove(e.buf.pos, e.buf.right())
	case Suspend:
		return Suspended
	case Redraw:
		return Cleared
	default: // it does nothing here
	}
	return Editing
}

// edit acts on a key that only changes the text or the cursor, and reports whether it was one.
func (e *Editor) edit(code Code) bool {
	b := &e.buf
	switch code {
	case NewLine:
		b.insert("\n")
	case Backspace:
		b.remove(b.left(), b.pos)
	case Delete:
		b.remove(b.pos, b.right())
	case Left:
		b.pos = b.left()
	case Right:
		b.pos = b.right()
	case WordLeft:
		b.pos = b.wordLeft()
	case WordRight:
		b.pos = b.wordRight()
	case Home:
		b.pos = b.lineStart()
	case End:
		b.pos = b.lineEnd()
	case KillLine:
		e.killed = b.remove(b.lineStart(), b.pos)
	case KillRight:
		e.killed = b.remove(b.pos, b.lineEnd())
	case KillWord:
		e.killed = b.remove(b.wordLeft(), b.pos)
	case Yank:
		b.insert(e.killed)
	case Up:
		if !b.up() {
			e.recall(e.entry - 1)
		}
	case Down:
		if !b.down() {
			e.recall(e.entry + 1)
		}
	default:
		return false
	}
	return true
}

// recall shows a line of the history, or the line itself after the last one.
func (e *Editor) recall(entry int) {
	lines := e.History.lines
	if entry < 0 || entry > len(lines) {
		return
	}
	if e.entry == len(lines) {
		e.draft = e.buf.String()
	}
	if e.entry = entry; entry == len(lines) {
		e.buf.set(e.draft)
	} else {
		e.buf.set(lines[entry])
	}
}

// searchKey acts on a key of a search, and reports whether it was one. Another key ends the search with the line that was found.
func (e *Editor) searchKey(k Key) bool {
	switch k.Code {
	case Char:
		e.query += k.Text
		e.find(min(e.entry, len(e.History.lines)-1))
	case Backspace:
		_, n := utf8.DecodeLastRuneInString(e.query)
		e.query = e.query[:len(e.query)-n]
		e.find(len(e.History.lines) - 1)
	case Search:
		e.find(e.entry - 1)
	case Interrupt, Escape:
		e.Begin(e.draft)
	case Enter:
		e.searching = false // the line is shown before it is submitted
	default:
		e.searching = false
		return false
	}
	return true
}

// find shows the last line of the history, up to an index, that has the query.
func (e *Editor) find(last int) {
	for i := last; i >= 0 && e.query != ""; i-- {
		if line := e.History.lines[i]; strings.Contains(strings.ToLower(line), strings.ToLower(e.query)) {
			e.entry = i
			e.buf.set(line)
			return
		}
	}
}

// complete inserts what all candidates have in common.
func (e *Editor) complete() Outcome {
	if e.candidates = nil; e.Complete == nil {
		return Editing
	}
	line := string(e.buf.text[:e.buf.pos])
	c := e.Complete(line)
	if len(c.Candidates) == 0 {
		return Editing
	}
	common := c.Candidates[0]
	for _, other := range c.Candidates[1:] {
		common = commonPrefix(common, other)
	}
	typed := line[c.From:]
	if len(c.Candidates) > 1 && (common == typed || !strings.HasPrefix(common, typed)) {
		e.candidates = slices.Clone(c.Candidates)
		return Listed
	}
	e.buf.remove(utf8.RuneCountInString(line[:c.From]), e.buf.pos)
	e.buf.insert(common)
	return Editing
}

func commonPrefix(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(a) && !utf8.RuneStart(a[n]) {
		n--
	}
	return a[:n]
}
