package configfile

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/lazyregexp"
)

// errEdit is returned for a file whose text [SetYAML] cannot change without changing something else.
var errEdit = errors.New("gjc cannot change this file by itself; edit it by hand")

// SetYAML returns the text of a YAML file with a value at a path of names. It keeps comments, the order, the style of the rest, and
// line ends; mappings that are missing are added. The result has been parsed: nothing else in it has changed. The error is a
// [*LineError] if the file is not YAML.
func SetYAML(data []byte, path []string, value *Node) ([]byte, error) {
	before, err := ParseYAML(data)
	if err != nil {
		return nil, err
	}
	mark, text := "", string(data)
	if bare := Bare(data); len(bare) < len(data) {
		mark, text = text[:len(data)-len(bare)], string(bare)
	}
	e := &yamlEdit{eol: "\n"}
	if strings.Contains(text, "\r\n") {
		e.eol = "\r\n"
	}
	e.lines = strings.SplitAfter(text, "\n")
	if e.lines[len(e.lines)-1] == "" {
		e.lines = e.lines[:len(e.lines)-1]
	}
	if !e.set(span{0, len(e.lines)}, path, string(value.appendYAML(nil))) {
		return nil, errEdit
	}
	edited := []byte(mark + strings.Join(e.lines, ""))
	after, err := ParseYAML(edited)
	if err != nil || !bytes.Equal(after.JSON(), with(before, path, value).JSON()) {
		return nil, errEdit
	}
	return edited, nil
}

// SetJSONC is like [SetYAML] for JSON with comments and trailing commas, as editors have it.
func SetJSONC(data []byte, path []string, value *Node) ([]byte, error) {
	before, err := ParseJSONC(data)
	if err != nil {
		return nil, err
	}
	text := string(data)
	if before == nil {
		text += "{}\n"
	}
	at := flow{json: true}.skipBlank(text, len(data)-len(Bare(data)))
	if at >= len(text) || text[at] != '{' {
		return nil, errEdit
	}
	edited, ok := flow{json: true}.set(text, at, path, string(value.JSON()))
	if !ok {
		return nil, errEdit
	}
	after, err := ParseJSONC([]byte(edited))
	if err != nil || !bytes.Equal(after.JSON(), with(before, path, value).JSON()) {
		return nil, errEdit
	}
	return []byte(edited), nil
}

// RemoveJSONC returns the text of a file in JSON with comments without the member at a path of names, and whether there was one. It
// keeps everything else, with the comments before the member.
func RemoveJSONC(data []byte, path []string) (edited []byte, was bool, err error) {
	before, err := ParseJSONC(data)
	if err != nil {
		return nil, false, err
	}
	at := before
	for _, name := range path {
		if at = at.Member(name); at == nil {
			return data, false, nil
		}
	}
	text := string(data)
	start := flow{json: true}.skipBlank(text, len(data)-len(Bare(data)))
	if start >= len(text) || text[start] != '{' {
		return nil, false, errEdit
	}
	without, ok := flow{json: true}.remove(text, start, path)
	if !ok {
		return nil, false, errEdit
	}
	after, err := ParseJSONC([]byte(without))
	if err != nil || !bytes.Equal(after.JSON(), dropped(before, path).JSON()) {
		return nil, false, errEdit
	}
	return []byte(without), true, nil
}

// dropped returns a copy of a mapping without the member at a path.
func dropped(n *Node, path []string) *Node {
	changed := &Node{Kind: Object}
	for _, m := range n.Members {
		switch {
		case m.Name != path[0]:
		case len(path) == 1:
			continue
		default:
			m.Value = dropped(m.Value, path[1:])
		}
		changed.Members = append(changed.Members, m)
	}
	return changed
}

// with returns a copy of a mapping, or of nil, with a value.
func with(n *Node, path []string, value *Node) *Node {
	if len(path) == 0 {
		return value
	}
	changed := &Node{Kind: Object}
	if n != nil {
		changed.Members = slices.Clone(n.Members)
	}
	for i := range changed.Members {
		if m := &changed.Members[i]; m.Name == path[0] {
			m.Value = with(m.Value, path[1:], value)
			return changed
		}
	}
	changed.Members = append(changed.Members, Member{Name: path[0], Value: with(nil, path[1:], value)})
	return changed
}

// yamlEdit edits the lines of a file, each with its end. It knows only the usual forms of mappings; [SetYAML] checks the result.
type yamlEdit struct {
	lines []string
	eol   string
}

// span is a range of lines.
type span struct{ from, to int }

// blockKey matches the beginning of a line with a key: its indentation, the key, and the colon with the blanks after it.
var blockKey = lazyregexp.New(`^( *)("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s"'#:,\[\]{}&*!|>%@-][^:#]*?)\s*:(?:[ \t]+|\r?\n|$)`)

// set sets a value in the block mapping in some lines.
func (e *yamlEdit) set(in span, path []string, value string) bool {
	indent := -1
	last := in.from // the line after the mapping's last entry
	for i := in.from; i < in.to; i++ {
		content := strings.TrimSpace(e.lines[i])
		if content == "" || content[0] == '#' || indent < 0 && strings.HasPrefix(e.lines[i], "---") {
			continue
		}
		if indent < 0 {
			indent = len(e.lines[i]) - len(strings.TrimLeft(e.lines[i], " "))
			if content[0] == '{' {
				return e.setFlow(i, indent, path, value)
			}
		}
		last = i + 1
		m := blockKey().FindStringSubmatch(e.lines[i])
		if m == nil || len(m[1]) != indent || unquoted(m[2]) != path[0] {
			continue
		}
		return e.setEntry(span{i, e.end(i, in.to, indent)}, indent, len(strings.TrimRight(m[0], "\r\n")), path[1:], value)
	}
	if indent < 0 {
		last = in.to
	}
	e.insert(last, max(indent, 0), path, value)
	return true
}

// end returns the line after an entry that begins in a line. Comments and blank lines at its end belong to what follows.
func (e *yamlEdit) end(from, to, indent int) int {
	end := from + 1
	for i := from + 1; i < to; i++ {
		content := strings.TrimSpace(e.lines[i])
		if content == "" || content[0] == '#' {
			continue
		}
		depth := len(e.lines[i]) - len(strings.TrimLeft(e.lines[i], " "))
		item := content == "-" || strings.HasPrefix(content, "- ")
		if depth < indent || depth == indent && !item && !strings.ContainsRune("}]", rune(content[0])) {
			break
		}
		end = i + 1
	}
	return end
}

// setEntry sets the value of an entry, or one inside it. at is the position of the value in the entry's first line.
func (e *yamlEdit) setEntry(in span, indent, at int, path []string, value string) bool {
	line := strings.TrimRight(e.lines[in.from], "\r\n")
	eol := cmp.Or(e.lines[in.from][len(line):], e.eol)
	rest := line[at:]
	empty := strings.TrimSpace(rest) == "" || strings.HasPrefix(strings.TrimSpace(rest), "#")
	if len(path) > 0 {
		switch {
		case strings.HasPrefix(rest, "{"):
			return e.setFlow(in.from, at, path, value)
		case !empty && strings.TrimSpace(uncommented(rest)) != "null" && strings.TrimSpace(uncommented(rest)) != "~":
			return false
		case in.to > in.from+1:
			return e.set(span{in.from + 1, in.to}, path, value)
		}
		if !empty { // null
			e.lines[in.from] = strings.TrimRight(line[:at], " \t") + comment(rest) + eol
		}
		e.insert(in.from+1, indent+2, path, value)
		return true
	}
	tail := ""
	if in.to == in.from+1 || empty {
		tail = comment(rest)
	}
	begin := line[:at]
	if strings.HasSuffix(begin, ":") {
		begin += " "
	}
	e.lines[in.from] = begin + value + tail + eol
	e.lines = slices.Delete(e.lines, in.from+1, in.to)
	return true
}

// insert inserts a value before a line.
func (e *yamlEdit) insert(before, indent int, path []string, value string) {
	if before > 0 && !strings.HasSuffix(e.lines[before-1], "\n") {
		e.lines[before-1] += e.eol
	}
	var added []string
	for i, name := range path {
		line := strings.Repeat(" ", indent+2*i) + plainKey(name) + ":"
		if i == len(path)-1 {
			line += " " + value
		}
		added = append(added, line+e.eol)
	}
	e.lines = slices.Insert(e.lines, before, added...)
}

// setFlow sets a value in the flow mapping that begins at a position.
func (e *yamlEdit) setFlow(line, at int, path []string, value string) bool {
	text := strings.Join(e.lines[line:], "")
	edited, ok := flow{}.set(text, at, path, value)
	if ok {
		e.lines = append(e.lines[:line], strings.SplitAfter(edited, "\n")...)
	}
	return ok
}

// flow edits mappings in braces: those of YAML, or of JSON with comments.
type flow struct{ json bool }

// set sets a value in the mapping at a position of a text.
func (f flow) set(text string, at int, path []string, value string) (string, bool) {
	i := at + 1
	first, last := -1, -1 // the positions of the first entry, and after the last one
	for {
		i = f.skipBlank(text, i)
		if i >= len(text) {
			return "", false
		}
		if text[i] == '}' {
			break
		}
		key := f.keyEnd(text, i)
		if key >= len(text) || text[key] != ':' {
			return "", false
		}
		name := unquoted(strings.TrimSpace(text[i:key]))
		from := f.skipBlank(text, key+1)
		to := f.valueEnd(text, from)
		if to >= len(text) {
			return "", false
		}
		if name == path[0] {
			if len(path) == 1 {
				return text[:from] + value + text[f.trimmed(text, from, to):], true
			}
			if text[from] != '{' {
				return "", false
			}
			return f.set(text, from, path[1:], value)
		}
		if first < 0 {
			first = i
		}
		last = f.trimmed(text, from, to)
		if i = to; text[i] == ',' {
			i++
		}
	}
	return f.insert(text, at, first, last, f.entry(path, value)), true
}

// remove removes the entry at a path from the mapping at a position of a text, with its line if it has one of its own.
func (f flow) remove(text string, at int, path []string) (string, bool) {
	i := at + 1
	last := -1 // the position after the entry before, without its comma
	for {
		i = f.skipBlank(text, i)
		if i >= len(text) || text[i] == '}' {
			return "", false
		}
		key := f.keyEnd(text, i)
		if key >= len(text) || text[key] != ':' {
			return "", false
		}
		from := f.skipBlank(text, key+1)
		to := f.valueEnd(text, from)
		switch {
		case to >= len(text):
			return "", false
		case unquoted(strings.TrimSpace(text[i:key])) != path[0]:
			last = f.trimmed(text, from, to)
			if i = to; text[i] == ',' {
				i++
			}
			continue
		case len(path) > 1:
			if text[from] != '{' {
				return "", false
			}
			return f.remove(text, from, path[1:])
		}
		end := f.trimmed(text, from, to)
		if text[to] == ',' {
			end = to + 1
		} else if last >= 0 { // the last entry: the comma before it goes, too
			comma := f.skipBlank(text, last)
			text = text[:comma] + " " + text[comma+1:]
		}
		line := strings.LastIndexByte(text[:i], '\n')
		lineEnd := f.lineEnd(text, end)
		own := lineEnd == len(text) || text[lineEnd] == '\n' || text[lineEnd] == '\r'
		if line >= 0 && own && strings.TrimSpace(text[line:i]) == "" {
			return strings.TrimRight(text[:line], " \r") + text[lineEnd:], true
		}
		return text[:i] + strings.TrimLeft(text[end:], " "), true
	}
}

// entry returns the text of an entry with a value at a path.
func (f flow) entry(path []string, value string) string {
	var entry strings.Builder
	for i, name := range path {
		key := plainKey(name)
		if f.json {
			key = string((&Node{Kind: Text, Text: name}).JSON())
		}
		if entry.WriteString(key + ": "); i < len(path)-1 {
			entry.WriteString("{")
		}
	}
	return entry.String() + value + strings.Repeat("}", len(path)-1)
}

// insert inserts an entry after the last one of the mapping at a position: on a line of its own if the first entry is on one.
func (f flow) insert(text string, at, first, last int, entry string) string {
	if first < 0 {
		return text[:at+1] + entry + text[at+1:]
	}
	comma := strings.HasPrefix(text[f.skipBlank(text, last):], ",")
	before := text[at+1 : first]
	line := strings.LastIndexByte(before, '\n')
	if !f.json || line < 0 || strings.TrimSpace(before[line:]) != "" {
		if comma {
			last = f.skipBlank(text, last) + 1
			return text[:last] + " " + entry + text[last:]
		}
		return text[:last] + ", " + entry + text[last:]
	}
	eol := "\n"
	if strings.HasSuffix(before[:line], "\r") {
		eol = "\r\n"
	}
	entry = eol + before[line+1:] + entry
	if !comma {
		return text[:last] + "," + text[last:f.lineEnd(text, last)] + entry + text[f.lineEnd(text, last):]
	}
	end := f.lineEnd(text, f.skipBlank(text, last)+1)
	return text[:end] + entry + "," + text[end:]
}

// lineEnd returns the end of the line without its line end, if only blanks and a comment follow there; otherwise the position itself.
func (f flow) lineEnd(text string, i int) int {
	line, _, _ := strings.Cut(text[i:], "\n")
	line = strings.TrimSuffix(line, "\r")
	if rest := strings.TrimSpace(line); rest == "" || strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, "/*") && strings.Index(rest, "*/") == len(rest)-2 {
		return i + len(line)
	}
	return i
}

// trimmed returns the end of a value between two positions, without blanks and comments after it.
func (f flow) trimmed(text string, from, to int) int {
	end := from
	for i := from; i < to; {
		next := f.skipBlank(text, i)
		if next > i {
			i = next
			continue
		}
		if text[i] == '"' || text[i] == '\'' && !f.json {
			i = quoteEnd(text, i)
		} else {
			i++
		}
		end = min(i, to)
	}
	return end
}

// skipBlank returns the position after blanks, line ends and comments.
func (f flow) skipBlank(text string, i int) int {
	for i < len(text) {
		rest := text[i:]
		switch {
		case strings.IndexByte(" \t\r\n", text[i]) >= 0:
			i++
		case f.json && strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				return len(text)
			}
			i += end + 4
		case !f.json && text[i] == '#', f.json && strings.HasPrefix(rest, "//"):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				return len(text)
			}
			i += end
		default:
			return i
		}
	}
	return i
}

// keyEnd returns the end of a key.
func (f flow) keyEnd(text string, i int) int {
	if text[i] == '"' || text[i] == '\'' {
		return f.skipBlank(text, quoteEnd(text, i))
	}
	for i < len(text) && strings.IndexByte(":,{}[]\n#", text[i]) < 0 {
		i++
	}
	return i
}

// valueEnd returns the position of the comma or bracket after a value.
func (f flow) valueEnd(text string, i int) int {
	depth := 0
	for i < len(text) {
		if next := f.skipBlank(text, i); next > i {
			i = next
			continue
		}
		switch text[i] {
		case '"', '\'':
			i = quoteEnd(text, i)
			continue
		case '{', '[':
			depth++
		case ',':
			if depth == 0 {
				return i
			}
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
		}
		i++
	}
	return i
}

// quoteEnd returns the position after a quoted string.
func quoteEnd(text string, i int) int {
	quote := text[i]
	for i++; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote == '"':
			i++
		case text[i] == quote && quote == '\'' && i+1 < len(text) && text[i+1] == quote:
			i++
		case text[i] == quote:
			return i + 1
		}
	}
	return i
}

// uncommented returns the part of a line before a comment.
func uncommented(s string) string { return strings.TrimSuffix(s, comment(s)) }

// comment returns the comment at the end of a line with a value, and the blanks before it.
func comment(s string) string {
	for i := 0; i < len(s); i++ {
		switch {
		case (s[i] == '"' || s[i] == '\'') && strings.TrimSpace(s[:i]) == "":
			i = quoteEnd(s, i) - 1
		case s[i] == '#' && (i == 0 || s[i-1] == ' ' || s[i-1] == '\t'):
			return s[len(strings.TrimRight(s[:i], " \t")):]
		}
	}
	return ""
}

// unquoted returns a key without its quotes.
func unquoted(key string) string {
	if n, err := ParseYAML([]byte(key)); err == nil && n != nil && n.Kind == Text {
		return n.Text
	}
	return key
}

// appendYAML appends the value as YAML in one line.
func (n *Node) appendYAML(to []byte) []byte {
	switch n.Kind {
	case Text:
		return append(to, plainText(n.Text)...)
	case List:
		to = append(to, '[')
		for i, v := range n.List {
			if i > 0 {
				to = append(to, ", "...)
			}
			to = v.appendYAML(to)
		}
		return append(to, ']')
	case Object:
		to = append(to, '{')
		for i, m := range n.Members {
			if i > 0 {
				to = append(to, ", "...)
			}
			to = append(append(to, plainKey(m.Name)...), ": "...)
			to = m.Value.appendYAML(to)
		}
		return append(to, '}')
	default:
		return n.append(to)
	}
}

// plainText returns a string as YAML, without quotes where it needs none.
func plainText(s string) string {
	n, err := ParseYAML([]byte("[" + s + "]"))
	if err != nil || n == nil || len(n.List) != 1 || n.List[0].Kind != Text || n.List[0].Text != s || strings.ContainsAny(s, special) {
		return string((&Node{Kind: Text, Text: s}).JSON())
	}
	return s
}

// plainKey is like plainText, for a key.
func plainKey(s string) string {
	if text := plainText(s); text != s || !strings.Contains(s, ":") {
		return text
	}
	return string((&Node{Kind: Text, Text: s}).JSON())
}

// special has characters that may have a meaning at some place.
const special = ",[]{}#\"'\\\r\n\t"
