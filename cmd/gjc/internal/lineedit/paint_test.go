package lineedit

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// screen is a terminal that understands what the editor writes. Its rows scroll.
type screen struct {
	columns     int
	cells       [][]string
	row, column int
}

func newScreen(columns, rows int) *screen {
	s := &screen{columns: columns}
	for range rows {
		s.cells = append(s.cells, make([]string, columns))
	}
	return s
}

func (s *screen) write(t *testing.T, text string) {
	t.Helper()
	for text != "" {
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case r == '\r':
			s.column = 0
		case r == '\n':
			s.down()
		case strings.HasPrefix(text, "\x1b["):
			n = s.escape(t, text)
		case joins(r):
			if s.column > 0 {
				s.cells[s.row][s.column-1] += string(r)
			}
		default:
			w := runeWidth(r)
			if s.column+w >= s.columns && w > 0 && s.column+w > s.columns {
				t.Fatalf("%q is written beyond the edge, at column %d of %d", r, s.column, s.columns)
			}
			s.cells[s.row][s.column] = string(r)
			for i := 1; i < w; i++ {
				s.cells[s.row][s.column+i] = "" // the right half
			}
			s.column += w
		}
		text = text[n:]
	}
}

func (s *screen) down() {
	if s.row++; s.row == len(s.cells) {
		s.row--
		s.cells = append(s.cells[1:], make([]string, s.columns))
	}
}

// escape acts on an escape sequence and returns its length.
func (s *screen) escape(t *testing.T, text string) int {
	t.Helper()
	n := sequenceLength([]byte(text))
	number := 0
	for _, b := range text[2 : n-1] {
		number = number*10 + int(b-'0')
	}
	switch text[n-1] {
	case 'A':
		s.row = max(0, s.row-number)
	case 'C':
		s.column = min(s.columns-1, s.column+number)
	case 'J':
		for row := s.row; row < len(s.cells); row++ {
			for column := range s.cells[row] {
				if row > s.row || column >= s.column {
					s.cells[row][column] = ""
				}
			}
		}
	case 'm':
	default:
		t.Fatalf("unknown sequence %q", text[:n])
	}
	return n
}

// rows returns the first rows, without spaces at their ends.
func (s *screen) rows(n int) []string {
	var rows []string
	for _, cells := range s.cells[:n] {
		var line strings.Builder
		width := 0
		for column, cell := range cells {
			if cell == "" && column >= width {
				cell = " "
			}
			line.WriteString(cell)
			width += Width(cell)
		}
		rows = append(rows, strings.TrimRight(line.String(), " "))
	}
	return rows
}

func TestPaint(t *testing.T) {
	for _, tt := range []struct {
		name          string
		columns, rows int
		keys          string
		want          []string
		row, column   int
	}{
		{"one row", 20, 5, "hello", []string{"> hello", ""}, 0, 7},
		{"the cursor within", 20, 5, "hello" + left + left, []string{"> hello", ""}, 0, 5},
		{"wide characters", 20, 5, "한글" + left, []string{"> 한글", ""}, 0, 4},
		{"two rows", 10, 5, "abcdefghij", []string{"> abcdefg", "hij", ""}, 1, 3},
		{"a wide character does not fit", 6, 5, "ab한글", []string{"> ab", "한글", ""}, 1, 4},
		{"the cursor after a full row", 6, 5, "abc", []string{"> abc", "", ""}, 1, 0},
		{"lines", 20, 5, "one\ntwo", []string{"> one", "  two", ""}, 1, 5},
		{"more than the screen", 10, 3, "a\nb\nc\nd\ne", []string{"  c", "  d", "  e"}, 2, 3},
		{"more than the screen, at its begin", 10, 3, "a\nb\nc\nd\ne" + keyUp + keyUp + keyUp + keyUp, []string{"> a", "  b", "  c"}, 0, 3},
		{"a search", 30, 5, "\x12tw", []string{"(search) tw: two words", ""}, 0, 22},
		{"a long search", 12, 5, "\x12two words", []string{"two words:", "two words"}, 1, 9},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := newEditor("one", "two words")
			s := newScreen(tt.columns, tt.rows)
			var d decoder
			for _, key := range d.feed([]byte(tt.keys)) { // each key paints over what the one before has painted
				e.Press(key)
				s.write(t, e.Paint(tt.columns, tt.rows, "\x1b[1m>\x1b[22m "))
			}
			if diff := cmp.Diff(tt.want, s.rows(len(tt.want))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if s.row != tt.row || s.column != tt.column {
				t.Errorf("the cursor is at %d, %d; want %d, %d", s.row, s.column, tt.row, tt.column)
			}
		})
	}
}

// What is written between two paintings stays, and nothing of the line does.
func TestErase(t *testing.T) {
	e := newEditor()
	s := newScreen(10, 6)
	press(e, "one\ntwo three four"+home)
	s.write(t, e.Paint(10, 6, "> "))
	s.write(t, e.Erase()+"output\r\n"+e.Paint(10, 6, "> "))
	if diff := cmp.Diff([]string{"output", "> one", "  two thr", "ee four", "", ""}, s.rows(6)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	s.write(t, e.Leave(10, 6, "> ")+"next")
	if diff := cmp.Diff([]string{"output", "> one", "  two thr", "ee four", "next", ""}, s.rows(6)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if e.Erase() != "" {
		t.Error("a line that was left is erased")
	}
}

func TestWidth(t *testing.T) {
	for s, want := range map[string]int{"abc": 3, "한글": 4, "日本": 4, "é": 1, "e\u0301": 1, "ﾊﾝ": 2, "ＡＢ": 4, "👍": 2, "👍🏽": 2, "\u1112\u1161\u11ab": 2, "\t": 4} {
		if got := Width(s); got != want {
			t.Errorf("Width(%q) = %d, want %d", s, got, want)
		}
	}
}
