package lineedit

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// press presses the keys that a terminal sends as s, and returns the last outcome.
func press(e *Editor, s string) Outcome {
	var d decoder
	last := Editing
	for _, key := range d.feed([]byte(s)) {
		last = e.Press(key)
	}
	return last
}

const (
	left, right, keyUp, keyDown = "\x1b[D", "\x1b[C", "\x1b[A", "\x1b[B"
	home, end, del              = "\x01", "\x05", "\x1b[3~"
)

func newEditor(lines ...string) *Editor {
	e := &Editor{History: &History{lines: lines}}
	e.Begin("")
	return e
}

func TestEdit(t *testing.T) {
	for _, tt := range []struct {
		name, keys, want string
		pos              int
	}{
		{"insert", "ac" + left + "b", "abc", 2},
		{"backspace and delete", "abcd" + left + left + "\x7f" + del, "ad", 1},
		{"beyond the ends", "\x7f" + left + "a" + right + right + del, "a", 1},
		{"wide characters", "한글" + left + "x", "한x글", 2},
		{"a combining mark is a part", "e\u0301x" + left + "\x7f", "x", 0},
		{"a joined emoji is a part", "👨\u200d👩x" + left + "\x7f", "x", 0},
		{"a decomposed syllable is a part", "\u1112\u1161\u11ab" + "\x7f", "", 0},
		{"words", "one two  three" + "\x1bb\x1bb" + "X" + "\x1bf" + "Y", "one XtwoY  three", 9},
		{"kill a word and yank", "one two" + "\x17" + home + "\x19 ", "two one ", 4},
		{"kill the line", "one two" + left + left + "\x15", "wo", 0},
		{"kill the rest", "one two" + home + right + "\x0b", "o", 1},
		{"an escaped Enter", "one\\\rtwo", "one\ntwo", 7},
		{"lines", "abc\ndef" + keyUp + "X" + keyDown + "Y", "abcX\ndefY", 9},
		{"ends of a line", "abc\ndef" + home + "X" + keyUp + end + "Y", "abcY\nXdef", 4},
		{"kill in a line", "abc\ndef" + "\x15", "abc\n", 4},
		{"paste", "a" + pasteBegin + "x\r\ny\x1b\x07" + pasteEnd + "b", "ax\nyb", 5},
		{"Ctrl-C empties", "abc\x03", "", 0},
		{"Ctrl-D deletes", "abc" + home + "\x04", "bc", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := newEditor()
			if outcome := press(e, tt.keys); outcome != Editing {
				t.Errorf("outcome %v", outcome)
			}
			if e.Text() != tt.want || e.buf.pos != tt.pos {
				t.Errorf("%q with the cursor at %d, want %q at %d", e.Text(), e.buf.pos, tt.want, tt.pos)
			}
		})
	}
}

func TestOutcomes(t *testing.T) {
	for keys, want := range map[string]Outcome{"a\r": Submitted, "\r": Submitted, "\x03": Interrupted, "\x04": Ended, "a\x1a": Suspended, "a\x0c": Cleared, "\x1b": Editing} {
		if got := press(newEditor(), keys); got != want {
			t.Errorf("%q: outcome %v, want %v", keys, got, want)
		}
	}
	e := newEditor()
	if e.Press(Key{Line, "a whole line"}) != Submitted || e.Text() != "a whole line" {
		t.Errorf("text %q", e.Text())
	}
}

func TestRecall(t *testing.T) {
	e := newEditor("first", "second\nof two")
	steps := []struct{ keys, want string }{
		{"draft", "draft"},
		{keyUp, "second\nof two"},
		{keyUp, "second\nof two"}, // within the text
		{keyUp, "first"},
		{keyUp, "first"},
		{"!", "first!"},
		{keyDown, "second\nof two"},
		{keyDown, "draft"},
		{keyDown, "draft"},
	}
	for i, s := range steps {
		press(e, s.keys)
		if e.Text() != s.want {
			t.Errorf("step %d: %q, want %q", i, e.Text(), s.want)
		}
	}
}

func TestSearch(t *testing.T) {
	lines := []string{"go test ./a", "ls", "go test ./b"}
	for _, tt := range []struct{ name, keys, want string }{
		{"finds the last", "\x12TEST\r", "go test ./b"},
		{"again", "\x12test\x12\r", "go test ./a"},
		{"once more than there are", "\x12test\x12\x12\x12\r", "go test ./a"},
		{"narrows", "\x12go\x12 test ./a\r", "go test ./a"},
		{"backspace", "\x12lsx\x7f\r", "ls"},
		{"nothing", "draft\x12zzz\r", "draft"},
		{"cancelled", "draft\x12ls\x03", "draft"},
		{"another key edits what was found", "\x12ls\x01x", "xls"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := newEditor(lines...)
			if outcome := press(e, tt.keys); outcome != Editing {
				t.Errorf("outcome %v", outcome)
			}
			if e.Text() != tt.want {
				t.Errorf("%q, want %q", e.Text(), tt.want)
			}
		})
	}
}

func TestComplete(t *testing.T) {
	words := []string{"/model ", "/mode ", "/new ", "/한국어 ", "/한글 "}
	e := newEditor()
	e.Complete = func(line string) Completion {
		from := strings.LastIndex(line, " ") + 1
		var c []string
		for _, w := range words {
			if strings.HasPrefix(w, line[from:]) {
				c = append(c, w)
			}
		}
		return Completion{From: from, Candidates: c}
	}
	for _, tt := range []struct {
		keys, want string
		outcome    Outcome
		listed     []string
	}{
		{"/n\t", "/new ", Editing, nil},
		{"/m\t", "/mode", Editing, nil},
		{"/m\t\t", "/mode", Listed, []string{"/model ", "/mode "}},
		{"한 /m x" + left + left + "\t", "한 /mode x", Editing, nil},
		{"/zz\t", "/zz", Editing, nil},
		{"/한\t", "/한", Listed, []string{"/한국어 ", "/한글 "}}, // the second characters share their first bytes
	} {
		e.Begin("")
		if outcome := press(e, tt.keys); outcome != tt.outcome || e.Text() != tt.want {
			t.Errorf("%q: %q and outcome %v, want %q and %v", tt.keys, e.Text(), outcome, tt.want, tt.outcome)
		}
		if diff := cmp.Diff(tt.listed, e.Candidates()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.keys, diff)
		}
	}
}

// Whatever the keys are, the cursor is within the text, and what is on the screen is the prompt and the text.
func FuzzEditor(f *testing.F) {
	f.Add("ab\x1b[D한\x7f\x12a\r", uint8(10), uint8(3))
	f.Add("one\ntwo three\x1b[A\x17\x19", uint8(4), uint8(24))
	f.Fuzz(func(t *testing.T, keys string, columns, rows uint8) {
		e := newEditor("one", "two words", "한글 and\nmore")
		s := newScreen(int(max(columns, 4)), int(max(rows, 2)))
		var d decoder
		for _, key := range d.feed([]byte(keys)) {
			if e.Press(key) == Submitted {
				e.Begin("")
			}
			if e.buf.pos < 0 || e.buf.pos > len(e.buf.text) {
				t.Fatalf("the cursor is at %d of %d", e.buf.pos, len(e.buf.text))
			}
			s.write(t, e.Paint(s.columns, len(s.cells), "> "))
			if e.searching || len(e.buf.text) > 100 {
				continue
			}
			if want := rowsOf(e, s.columns); len(want) <= len(s.cells) {
				if diff := cmp.Diff(want, s.rows(len(want))); diff != "" {
					t.Fatalf("after %q, %d columns (-want +got):\n%s", keys, s.columns, diff)
				}
			}
		}
	})
}

// rowsOf returns how the prompt and the line are to be divided into rows, without spaces at their ends.
func rowsOf(e *Editor, columns int) []string {
	rows := []string{"> "}
	width := 2
	indent := strings.Repeat(" ", min(2, columns/2))
	for _, r := range append(slices.Clone(e.buf.text), -1) {
		w := 1
		switch {
		case r == '\n':
			rows = append(rows, indent)
			width = len(indent)
			continue
		case r == '\t':
			w = tabWidth
		case r >= 0:
			w = runeWidth(r)
		}
		if r == -1 && e.buf.pos < len(e.buf.text) {
			break
		}
		if width+max(w, 1) >= columns && !(r >= 0 && joins(r)) && width > 0 {
			rows = append(rows, "")
			width = 0
		}
		if r == '\t' {
			rows[len(rows)-1] += strings.Repeat(" ", tabWidth)
		} else if r >= 0 {
			rows[len(rows)-1] += string(r)
		}
		width += w
	}
	for i := range rows {
		rows[i] = strings.TrimRight(rows[i], " ")
	}
	return rows
}
