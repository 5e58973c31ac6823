package transcript

import "strings"

// mdLine is the rest of a line. Tab stops are four columns apart.
type mdLine struct {
	text   string
	at     int // the next byte
	column int // the next column
	spare  int // the remaining columns of the tab before at
	end    int // the length without trailing blanks
}

func (l *mdLine) blank() bool { return l.at >= l.end }

// indent returns the number of columns before the next character that is not blank, up to the maximum that matters.
func (l *mdLine) indent() int {
	n := l.spare
	for i := l.at; i < len(l.text) && n < 32; i++ {
		switch l.text[i] {
		case ' ':
			n++
		case '\t':
			n += 4 - (l.column+n)%4
		default:
			return n
		}
	}
	return n
}

// skip skips up to the given number of blank columns.
func (l *mdLine) skip(columns int) {
	for columns > 0 {
		switch {
		case l.spare > 0:
			l.spare--
			l.column++
			columns--
		case l.at < len(l.text) && l.text[l.at] == ' ':
			l.spare = 1
			l.at++
		case l.at < len(l.text) && l.text[l.at] == '\t':
			l.spare = 4 - l.column%4
			l.at++
		default:
			return
		}
	}
}

// quote skips the marker of a quote.
func (l *mdLine) quote() bool {
	if l.blank() || l.indent() > 3 || l.peek()[0] != '>' {
		return false
	}
	l.skip(3)
	l.at++
	l.column++
	l.skip(1)
	return true
}

// peek returns the line after its indentation.
func (l *mdLine) peek() string { return strings.TrimLeft(l.text[l.at:], " \t") }

func (l *mdLine) rest() string { return strings.Repeat(" ", l.spare) + l.text[l.at:] }

// heading parses an ATX heading; its level is 0 if there is none.
func heading(s string) (level int, text string) {
	text = strings.TrimLeft(s, "#")
	level = len(s) - len(text)
	if level > 6 || text != "" && !isTabOrSpace(text[0]) {
		return 0, ""
	}
	text = strings.Trim(text, " \t")
	if open := strings.TrimRight(text, "#"); open == "" || isTabOrSpace(open[len(open)-1]) {
		text = strings.TrimRight(open, " \t")
	}
	return level, text
}

// fence parses the opening of a fenced code block; its size is 0 if there is none.
func fence(s string) (size int, info string) {
	if s[0] != '`' && s[0] != '~' {
		return 0, ""
	}
	info = strings.TrimLeft(s, s[:1])
	size = len(s) - len(info)
	if size < 3 || s[0] == '`' && strings.Contains(info, "`") {
		return 0, ""
	}
	return size, strings.TrimSpace(info)
}

func closesFence(s string, b *mdBlock) bool {
	s = strings.TrimRight(s, " \t")
	return len(s) >= b.width && strings.Trim(s, string(rune(b.mark))) == ""
}

// isRule reports whether the line is a thematic break.
func isRule(s string) bool {
	if s[0] != '*' && s[0] != '-' && s[0] != '_' {
		return false
	}
	n := 0
	for i := range len(s) {
		switch {
		case s[i] == s[0]:
			n++
		case !isTabOrSpace(s[i]):
			return false
		}
	}
	return n >= 3
}

// marker parses a list marker; its size is 0 if there is none.
func marker(s string) (mark byte, number, size int) {
	if s[0] != '-' && s[0] != '+' && s[0] != '*' {
		for size < len(s) && size < 9 && isDigit(s[size]) {
			number = 10*number + int(s[size]-'0')
			size++
		}
		if size == 0 || size == len(s) || s[size] != '.' && s[size] != ')' {
			return 0, 0, 0
		}
	}
	mark = s[size]
	size++
	if size < len(s) && !isTabOrSpace(s[size]) {
		return 0, 0, 0
	}
	return mark, number, size
}

// alignment parses a table's delimiter row: left, center, right or "" for each column, or nil if it is not one.
func alignment(s string) []string {
	if strings.Trim(s, "-:| \t") != "" || !strings.Contains(s, "|") {
		return nil
	}
	columns := cells(s, false)
	for i, c := range columns {
		left, right := strings.HasPrefix(c, ":"), strings.HasSuffix(c, ":")
		line := strings.TrimSuffix(strings.TrimPrefix(c, ":"), ":")
		switch {
		case line == "" || strings.Trim(line, "-") != "":
			return nil
		case left && right:
			columns[i] = "center"
		case left:
			columns[i] = "left"
		case right:
			columns[i] = "right"
		default:
			columns[i] = ""
		}
	}
	return columns
}

// cells splits a table row. With code, a pipe in a code span is text; otherwise, as on GitHub, only an escaped one is.
func cells(row string, code bool) []string {
	row = strings.TrimPrefix(strings.Trim(row, " \t"), "|")
	var all []string
	var cell strings.Builder
	spans := codeSpans{text: row}
	end := func() {
		all = append(all, strings.Trim(cell.String(), " \t"))
		cell.Reset()
	}
	for i := 0; i < len(row); i++ {
		switch c := row[i]; {
		case c == '\\' && i+1 < len(row) && row[i+1] == '|':
			i++
			cell.WriteByte('|')
		case c == '`' && code:
			run, size := spans.at(i)
			size = max(run, size)
			cell.WriteString(strings.ReplaceAll(row[i:i+size], `\|`, "|"))
			i += size - 1
		case c == '|':
			if end(); i == len(row)-1 {
				return all
			}
		default:
			cell.WriteByte(c)
		}
	}
	end()
	return all
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isTabOrSpace(c byte) bool { return c == ' ' || c == '\t' }
