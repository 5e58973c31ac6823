package rules

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/text"
)

// lineError is an error at a line of a file.
type lineError struct {
	line int
	text string
}

func (e *lineError) Error() string { return e.text }

func faultf(line int, format string, args ...any) error {
	return &lineError{line, fmt.Sprintf(format, args...)}
}

// field is a value in the front matter.
type field struct {
	line int
	// texts are the items of a list, or the single value.
	texts []string
	// text is set for a single string, truth for the values true and false.
	text  bool
	truth bool
}

// A document is a file with front matter.
type document struct {
	fields map[string]field
	body   string
}

// parseDocument splits a file into front matter and body. The front matter is YAML or, as in many files with "globs: *.ts", lines
// of the form "key: value". Anything else is an error.
func parseDocument(file string) (document, error) {
	split := text.SplitFrontMatter(file)
	d := document{fields: make(map[string]field), body: strings.TrimSpace(split.Body)}
	if split.Unclosed {
		return d, faultf(1, `the front matter is not closed by a line "---"`)
	}
	if !split.Found {
		return d, nil
	}
	return d, d.readFields(split.Head)
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
				f.texts = []string{""} // not a list of strings; callers that need one report it
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

// readLines parses lines of the form "key: value". It reports whether all lines have that form.
func (d *document) readLines(head string) bool {
	fields := make(map[string]field)
	at := 1
	for l := range strings.Lines(head) {
		at++
		l = strings.TrimSpace(l)
		if l == "" || l[0] == '#' {
			continue
		}
		key, value, ok := text.CutField(l)
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

// pick returns the first of the fields that exists.
func (d *document) pick(names ...string) (field, string, bool) {
	for _, n := range names {
		if f, ok := d.fields[n]; ok {
			return f, n, true
		}
	}
	return field{}, "", false
}

// fieldNames lists the fields of a rule, including alternative spellings. The last ones are for human readers.
var fieldNames = []string{
	"description", "globs", "applyTo", "paths", "alwaysApply", "condition", "ttsr_trigger", "ttsrTrigger", "scope", "interruptMode",
	"name", "title", "version", "author",
}

const (
	// maxDescription is the maximum length of a description, in characters.
	maxDescription = 300
	// maxQuoted is the maximum length of a value in an error text, in characters.
	maxQuoted = 80
)

// rule converts the document to a rule. always is the default of Always.
func (d *document) rule(always bool) (*Rule, error) {
	r := &Rule{Text: d.body}
	if f, name, ok := d.pick("description"); ok {
		if !f.text {
			return nil, faultf(f.line, "%s must be text", name)
		}
		r.Description = text.Truncate(text.OneLine(f.texts[0]), maxDescription)
	}
	f, name, hasGlobs := d.pick("globs", "applyTo", "paths")
	if hasGlobs {
		for _, list := range f.texts {
			for glob := range splitGlobs(list) {
				if !doublestar.ValidatePattern(glob) {
					return nil, faultf(f.line, "%s: invalid glob %q", name, text.Truncate(glob, maxQuoted))
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
		r.Description = text.Truncate(text.OneLine(strings.TrimLeft(text.FirstLine(d.body), "# ")), maxDescription)
	}
	return r, d.trigger(r)
}

// activation applies the field with which Windsurf selects when a rule applies.
func (d *document) activation(r *Rule) {
	f, _, ok := d.pick("trigger")
	if !ok || !f.text {
		return
	}
	switch f.texts[0] {
	case "always_on":
		r.Always = true
	case "glob", "model_decision":
		r.Always = false
	case "manual":
		r.Always, r.Manual, r.Globs = false, true, nil
	}
}

// trigger parses the fields of the rule's trigger, if any.
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
		for _, list := range s.texts {
			for word := range splitGlobs(list) {
				scopes = append(scopes, word)
			}
		}
	}
	var mode InterruptMode
	if m, name, ok := d.pick("interruptMode"); ok {
		mode = InterruptMode(strings.Join(m.texts, " "))
		if !slices.Contains(interruptModes(), mode) {
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

// splitGlobs splits a list at commas, but not within braces or parentheses.
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
