package commands

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gajae-code/gjc/internal/text"
)

// A document is a Markdown file with front matter.
type document struct {
	// fields holds the fields of the front matter, each as one line.
	fields map[string]string
	// lines holds the line numbers of the fields, lists the items of those that are lists below their name.
	lines map[string]int
	lists map[string][]string
	body  string
}

// parseDocument splits a file into front matter and body. It reports each line of the front matter that it cannot parse to problem,
// and skips it. It is more lenient than YAML: the text after a colon is the value, including brackets and further colons; lists and
// mappings are ignored.
func parseDocument(file string, problem func(line int, reason string)) document {
	split := text.SplitFrontMatter(file)
	d := document{fields: map[string]string{}, lines: map[string]int{}, lists: map[string][]string{}, body: strings.TrimSpace(split.Body)}
	if split.Unclosed {
		problem(1, `the front matter is not closed by a line "---", so it is treated as text`)
	}
	if !split.Found {
		return d
	}
	lines := strings.Split(strings.TrimSuffix(split.Head, "\n"), "\n")
	for i := 0; i < len(lines); {
		l := strings.TrimRight(lines[i], " \t")
		at := i + 2 // 1-based, after the fence
		i++
		if l == "" || l[0] == '#' || l[0] == ' ' || l[0] == '\t' || strings.HasPrefix(l, "- ") || l == "-" {
			continue // blank, a comment, or part of an ignored value
		}
		name, value, ok := text.CutField(l)
		if !ok {
			problem(at, `a front matter line must be "key: value"`)
			continue
		}
		start := i
		for i < len(lines) && (lines[i] == "" || lines[i][0] == ' ' || lines[i][0] == '\t' || value == "" && strings.HasPrefix(lines[i], "- ")) {
			if item, ok := strings.CutPrefix(strings.TrimSpace(lines[i]), "- "); ok && value == "" {
				d.lists[name] = append(d.lists[name], unquoted(printableLine(item)))
			}
			i++
		}
		if _, twice := d.fields[name]; twice {
			problem(at, name+" occurs twice; the first one is used")
			continue
		}
		d.lines[name] = at
		d.fields[name] = fieldValue(value, lines[start:i])
	}
	return d
}

// list returns the items of a field: a list, or one line with items between commas or spaces. A comma or a space within parentheses is
// part of an item.
func (d *document) list(name string) []string {
	if items := d.lists[name]; len(items) > 0 {
		return items
	}
	value := strings.TrimSuffix(strings.TrimPrefix(d.fields[name], "["), "]")
	depth := 0
	var items []string
	for _, item := range strings.FieldsFunc(value, func(r rune) bool {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		case ',', ' ':
			return depth <= 0
		}
		return false
	}) {
		items = append(items, unquoted(item))
	}
	return items
}

// fieldValue returns the value of a field as one line: the text after the colon and the indented lines below it. It is
// empty for a list or a mapping.
func fieldValue(value string, below []string) string {
	switch value {
	case "|", "|-", "|+", ">", ">-", ">+":
		value = ""
	case "":
		if len(below) > 0 {
			l := strings.TrimSpace(below[0])
			if _, _, mapping := text.CutField(l); mapping || strings.HasPrefix(l, "- ") {
				return ""
			}
		}
	}
	return printableLine(unquoted(printableLine(value + " " + strings.Join(below, " "))))
}

// printableLine returns s as one line without invisible characters.
func printableLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
}

func unquoted(s string) string {
	if len(s) < 2 || s[0] != s[len(s)-1] {
		return s
	}
	switch s[0] {
	case '\'':
		return strings.ReplaceAll(s[1:len(s)-1], "''", "'")
	case '"':
		if u, err := strconv.Unquote(s); err == nil && utf8.ValidString(u) {
			return u
		}
		return s[1 : len(s)-1]
	}
	return s
}

// maxDescription is the maximum length of a description taken from the text, in characters.
const maxDescription = 60

// summaryOf returns the first line of a text as its description.
func summaryOf(body string) string {
	for l := range strings.Lines(body) {
		l = printableLine(strings.TrimLeft(strings.TrimSpace(l), "#"))
		if l == "" {
			continue
		}
		return text.Truncate(l, maxDescription)
	}
	return ""
}
