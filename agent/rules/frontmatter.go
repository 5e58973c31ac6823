package rules

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/gajae-code/gjc/internal/configfile"
)

// lineError is what is wrong at a line of a file.
type lineError struct {
	line int
	text string
}

func (e *lineError) Error() string { return e.text }

func faultf(line int, format string, args ...any) error {
	return &lineError{line, fmt.Sprintf(format, args...)}
}

// field is one value of the front matter.
type field struct {
	line int
	// texts are the items of a list, or the one value.
	texts []string
	// text is set for one value that is text, truth for true and false.
	text  bool
	truth bool
}

// document is a file, taken apart.
type document struct {
	fields map[string]field
	body   string
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// parseDocument takes a file apart. Front matter is YAML; where it is not, as "globs: *.ts" of many files is not, it is taken as
// lines "key: value". What is neither is an error.
func parseDocument(text string) (document, error) {
	text = lineEnds.Replace(strings.TrimLeft(text, "\ufeff"))
	d := document{fields: make(map[string]field), body: strings.TrimSpace(text)}
	first, rest, _ := strings.Cut(text, "\n")
	if !isFence(first) {
		return d, nil
	}
	at, end := 0, -1
	for l := range strings.Lines(rest) {
		if isFence(strings.TrimSuffix(l, "\n")) {
			end = at + len(l)
			break
		}
		at += len(l)
	}
	if end < 0 {
		if key, _, _ := cutField(firstLine(rest)); key != "" {
			return d, faultf(1, `the front matter is not closed by a line "---"`)
		}
		return d, nil // a line across the page
	}
	d.body = strings.TrimSpace(rest[end:])
	return d, d.readFields(rest[:at])
}

func isFence(line string) bool { return strings.TrimRight(line, " \t") == "---" }

func firstLine(s string) string {
	l, _, _ := strings.Cut(s, "\n")
	return l
}

func (d *document) readFields(head string) error {
	node, err := configfile.ParseYAML([]byte(head))
	if err != nil {
		if d.readLines(head) {
			return nil
		}
		if e, ok := errors.AsType[*configfile.LineError](err); ok {
			return faultf(e.Line+1, "the front matter cannot be read: %s", e.Text)
		}
		return faultf(2, "the front matter cannot be read: %v", err)
	}
	if node == nil {
		return nil
	}
	if node.Kind != configfile.Object {
		return faultf(node.Line+1, `the front matter must be lines "key: value"`)
	}
	for _, m := range node.Members {
		f := field{line: m.Value.Line + 1}
		switch m.Value.Kind {
		case configfile.Null:
			continue
		case configfile.List:
			for _, item := range m.Value.List {
				if item.Kind != configfile.Text {
					f.texts = nil
					break
				}
				f.texts = append(f.texts, item.Text)
			}
			if len(f.texts) == 0 && len(m.Value.List) > 0 {
				f.texts = []string{""} // no list of texts; who wants one says so
			}
		case configfile.Text:
			f.text, f.texts = true, []string{m.Value.Text}
		case configfile.Boolean:
			f.truth, f.texts = true, []string{m.Value.Text}
		default:
			f.texts = []string{""}
		}
		d.fields[m.Name] = f
	}
	return nil
}

// readLines takes lines "key: value" and reports whether there are only such.
func (d *document) readLines(head string) bool {
	fields := make(map[string]field)
	at := 1
	for l := range strings.Lines(head) {
		at++
		l = strings.TrimSpace(l)
		if l == "" || l[0] == '#' {
			continue
		}
		key, value, ok := cutField(l)
		if !ok {
			return false
		}
		if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		}
		f := field{line: at, texts: []string{value}, text: true, truth: value == "true" || value == "false"}
		if inner, ok := strings.CutPrefix(value, "["); ok && strings.HasSuffix(inner, "]") {
			f.texts = nil
			for item := range strings.SplitSeq(strings.TrimSuffix(inner, "]"), ",") {
				f.texts = append(f.texts, strings.Trim(strings.TrimSpace(item), `"'`))
			}
		}
		if value != "" {
			fields[key] = f
		}
	}
	d.fields = fields
	return true
}

// cutField cuts a line "key: value".
func cutField(line string) (key, value string, ok bool) {
	key, value, ok = strings.Cut(line, ":")
	if !ok || key == "" || value != "" && value[0] != ' ' && value[0] != '\t' {
		return "", "", false
	}
	for _, c := range []byte(key) {
		if c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return "", "", false
		}
	}
	return key, strings.TrimSpace(value), true
}

// pick returns the first of the fields that there is.
func (d *document) pick(names ...string) (field, string, bool) {
	for _, n := range names {
		if f, ok := d.fields[n]; ok {
			return f, n, true
		}
	}
	return field{}, "", false
}

// fieldNames are the fields of a rule, with their other spellings. The last ones are for people.
var fieldNames = []string{
	"description", "globs", "applyTo", "paths", "alwaysApply", "condition", "ttsr_trigger", "ttsrTrigger", "scope", "interruptMode",
	"name", "title", "version", "author",
}

// maxDescription is how many characters of a description are kept.
const maxDescription = 300

// rule makes a rule of the document. always says whether its text is for every prompt where the file does not say.
func (d *document) rule(always bool) (*Rule, error) {
	r := &Rule{Text: d.body}
	if f, name, ok := d.pick("description"); ok {
		if !f.text {
			return nil, faultf(f.line, "%s must be text", name)
		}
		r.Description = oneLine(f.texts[0], maxDescription)
	}
	f, name, hasGlobs := d.pick("globs", "applyTo", "paths")
	if hasGlobs {
		for _, text := range f.texts {
			for glob := range splitGlobs(text) {
				if !doublestar.ValidatePattern(glob) {
					return nil, faultf(f.line, "%s has %q, which is no glob", name, short(glob))
				}
				r.Globs = append(r.Globs, glob)
			}
		}
		if len(r.Globs) == 0 && f.text && strings.TrimSpace(f.texts[0]) != "" || len(f.texts) > 0 && !f.text && len(r.Globs) == 0 {
			return nil, faultf(f.line, "%s must be a glob or a list of globs", name)
		}
		r.Always = len(r.Globs) > 0 && !slices.ContainsFunc(r.Globs, func(g string) bool { return g != "**" && g != "**/*" && g != "*" })
	}
	if f, name, ok := d.pick("alwaysApply"); ok {
		if !f.truth {
			return nil, faultf(f.line, "%s must be true or false", name)
		}
		r.Always = f.texts[0] == "true"
	} else if len(r.Globs) == 0 {
		r.Always = always
	}
	if r.Description == "" {
		r.Description = oneLine(strings.TrimLeft(firstLine(d.body), "# "), maxDescription)
	}
	return r, d.trigger(r)
}

// trigger reads what has the rule given to a model that says something.
func (d *document) trigger(r *Rule) error {
	f, name, ok := d.pick("condition", "ttsr_trigger", "ttsrTrigger")
	if !ok {
		return nil
	}
	if len(f.texts) == 0 || slices.Contains(f.texts, "") {
		return faultf(f.line, "%s must be a pattern or a list of patterns", name)
	}
	var scopes []string
	if s, _, ok := d.pick("scope"); ok {
		for _, text := range s.texts {
			for word := range splitGlobs(text) {
				scopes = append(scopes, word)
			}
		}
	}
	var mode InterruptMode
	if m, name, ok := d.pick("interruptMode"); ok {
		mode = InterruptMode(strings.Join(m.texts, " "))
		if !slices.Contains(InterruptModes(), mode) {
			return faultf(m.line, "%s must be always, never, prose-only or tool-only", name)
		}
	}
	t, err := newTrigger(f.texts, scopes, mode)
	if err != nil {
		return faultf(f.line, "%v", err)
	}
	r.Trigger = t
	return nil
}

// splitGlobs splits a list with commas, but not within braces or parentheses.
func splitGlobs(s string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		depth, from := 0, 0
		for i := 0; i <= len(s); i++ {
			if i < len(s) {
				switch s[i] {
				case '{', '(':
					depth++
				case '}', ')':
					depth--
				}
				if s[i] != ',' || depth > 0 {
					continue
				}
			}
			if item := strings.TrimSpace(s[from:i]); item != "" && !yield(item) {
				return
			}
			from = i + 1
		}
	}
}

// oneLine puts a text on one line and cuts it.
func oneLine(s string, most int) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\ufffd")), " ")
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}
