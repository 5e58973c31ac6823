package commands

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// document is a Markdown file, taken apart.
type document struct {
	// fields are the front matter's, each as one line of text.
	fields map[string]string
	// lines are where the fields stand.
	lines map[string]int
	body  string
}

// parseDocument takes a file apart. What it does not understand of the front matter it leaves out and tells problem,
// with the line. It is more lenient than YAML: what people write behind a colon, brackets and further colons included,
// is text; lists and mappings are passed over.
func parseDocument(text string, problem func(line int, reason string)) document {
	text = lineEnds.Replace(strings.TrimPrefix(text, "\ufeff"))
	d := document{fields: map[string]string{}, lines: map[string]int{}}
	head, body, ok := cutFrontMatter(text)
	d.body = strings.TrimSpace(body)
	if !ok {
		if first, rest, _ := strings.Cut(text, "\n"); isFence(first) {
			if next, _, _ := strings.Cut(rest, "\n"); fieldName(next) != "" {
				problem(1, `the front matter is not closed by a line "---", so it is taken for text`)
			}
		}
		return d
	}
	lines := strings.Split(head, "\n")
	for i := 0; i < len(lines); {
		l := strings.TrimRight(lines[i], " \t")
		at := i + 2 // 1-based, behind the fence
		i++
		switch {
		case l == "" || l[0] == '#' || l[0] == ' ' || l[0] == '\t' || strings.HasPrefix(l, "- ") || l == "-":
			continue // nothing, a remark, or a part of something that is passed over
		case fieldName(l) == "":
			problem(at, `a line of the front matter must be "key: value"`)
			continue
		}
		name := fieldName(l)
		start := i
		for i < len(lines) && (lines[i] == "" || lines[i][0] == ' ' || lines[i][0] == '\t') {
			i++
		}
		if _, twice := d.fields[name]; twice {
			problem(at, name+" stands twice; the first one counts")
			continue
		}
		d.lines[name] = at
		d.fields[name] = fieldValue(strings.TrimSpace(l[len(name)+1:]), lines[start:i])
	}
	return d
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// cutFrontMatter cuts text at the two fences that front matter stands between.
func cutFrontMatter(text string) (head, body string, ok bool) {
	first, rest, _ := strings.Cut(text, "\n")
	if !isFence(first) {
		return "", text, false
	}
	at := 0
	for l := range strings.Lines(rest) {
		if isFence(strings.TrimSuffix(l, "\n")) {
			return strings.TrimSuffix(rest[:at], "\n"), rest[at+len(l):], true
		}
		at += len(l)
	}
	return "", text, false
}

func isFence(line string) bool { return strings.TrimRight(line, " \t") == "---" }

// fieldName returns the key of a line "key: value", or "".
func fieldName(line string) string {
	name, rest, ok := strings.Cut(line, ":")
	if !ok || name == "" || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return ""
	}
	for _, c := range []byte(name) {
		if c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return ""
		}
	}
	return name
}

// fieldValue returns the value of a field as one line: what stands behind the colon and the indented lines below it.
func fieldValue(value string, below []string) string {
	switch value {
	case "|", "|-", "|+", ">", ">-", ">+":
		value = ""
	case "":
		if len(below) > 0 {
			if l := strings.TrimSpace(below[0]); strings.HasPrefix(l, "- ") || fieldName(l) != "" {
				return "" // a list or a mapping
			}
		}
	}
	return oneLine(unquoted(oneLine(value + " " + strings.Join(below, " "))))
}

// oneLine makes one line of s, without characters that can not be seen.
func oneLine(s string) string {
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

// maxDescription is how many letters of a file's first line make a description.
const maxDescription = 60

// firstLine describes a text that does not do so itself.
func firstLine(body string) string {
	for l := range strings.Lines(body) {
		l = oneLine(strings.TrimLeft(strings.TrimSpace(l), "#"))
		if l == "" {
			continue
		}
		if r := []rune(l); len(r) > maxDescription {
			return strings.TrimSpace(string(r[:maxDescription-1])) + "…"
		}
		return l
	}
	return ""
}
