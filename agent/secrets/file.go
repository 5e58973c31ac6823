package secrets

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/configfile"
)

// A fileError describes an error in a file of secrets. It quotes nothing from the file.
type fileError struct {
	Path string
	Line int
	// Field is the member of the entry; empty for the whole entry.
	Field  string
	Reason string
}

func (e *fileError) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("%s:%d: %s", e.Path, e.Line, e.Reason)
	}
	return fmt.Sprintf("%s:%d: %s: %s", e.Path, e.Line, e.Field, e.Reason)
}

// ReadFiles reads files of secrets. An earlier file has precedence: later entries with the same type and content are omitted. A
// missing file has no entries.
func ReadFiles(paths ...string) ([]Entry, error) {
	var entries []Entry
	for _, path := range paths {
		data, err := configfile.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading secrets: %w", err)
		}
		more, err := parse(path, data)
		if err != nil {
			return nil, err
		}
		for _, e := range more {
			if !slices.ContainsFunc(entries, func(have Entry) bool { return same(&have, &e) }) {
				entries = append(entries, e)
			}
		}
	}
	return entries, nil
}

func same(a, b *Entry) bool {
	if a.Regexp == nil || b.Regexp == nil {
		return a.Regexp == nil && b.Regexp == nil && a.Content == b.Content
	}
	return a.Regexp.String() == b.Regexp.String()
}

// parse parses a file of secrets, which is a list of mappings.
func parse(path string, data []byte) ([]Entry, error) {
	file, err := configfile.ParseYAML(data)
	if err != nil {
		fault := &fileError{Path: path, Line: 1, Reason: "the file is not YAML with a list of secrets"}
		if e, ok := errors.AsType[*configfile.LineError](err); ok {
			fault.Line = e.Line
			if e.Plain {
				fault.Reason = e.Text
			}
		}
		return nil, fault
	}
	if file == nil {
		return nil, nil
	}
	if file.Kind != configfile.List {
		return nil, &fileError{Path: path, Line: file.Line, Reason: "the file must be a list of secrets, each with type and content"}
	}
	entries := make([]Entry, 0, len(file.List))
	for _, n := range file.List {
		e, err := parseEntry(path, n)
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// fields are the fields of an entry.
var fields = []string{"type", "content", "mode", "replacement", "flags"}

func parseEntry(path string, n *configfile.Node) (Entry, error) {
	fail := func(line int, field, reason string) (Entry, error) {
		return Entry{}, &fileError{path, line, field, reason}
	}
	if n.Kind != configfile.Object {
		return fail(n.Line, "", "a secret must be a mapping with type and content")
	}
	lines, values := make(map[string]int), make(map[string]string)
	for _, m := range n.Members {
		switch {
		case !slices.Contains(fields, m.Name):
			return fail(m.Line, "", "unknown field; the fields are "+strings.Join(fields, ", "))
		case lines[m.Name] != 0:
			return fail(m.Line, m.Name, "is given twice")
		case m.Value.Kind != configfile.Text:
			return fail(m.Line, m.Name, "must be a string; put it in quotes")
		}
		lines[m.Name], values[m.Name] = m.Line, m.Value.Text
	}
	at := func(field string) int { return max(lines[field], n.Line) }
	e := Entry{Mode: Obfuscate, Replacement: values["replacement"], Source: fmt.Sprintf("the secret in %s, line %d", path, n.Line)}
	_, flagged := lines["flags"]
	content := values["content"]
	if content == "" {
		return fail(at("content"), "content", "is missing")
	}
	switch kind := values["type"]; {
	case kind == "plain" && flagged:
		return fail(at("flags"), "flags", "are only for the type regex")
	case kind == "plain" && len(content) < minLength:
		return fail(at("content"), "content", errShort.Error())
	case kind == "plain":
		e.Content = content
	case kind == "regex":
		expr, field, reason := compile(content, values["flags"], flagged)
		if reason != "" {
			return fail(at(field), field, reason)
		}
		e.Regexp = expr
	case lines["type"] == 0:
		return fail(n.Line, "type", "is missing; set it to plain or regex")
	default:
		return fail(at("type"), "type", "must be plain or regex")
	}
	if mode, ok := values["mode"]; ok {
		if e.Mode = Mode(mode); e.Mode != Obfuscate && e.Mode != Replace {
			return fail(at("mode"), "mode", "must be obfuscate or replace")
		}
	}
	if _, given := lines["replacement"]; given {
		switch {
		case e.Mode != Replace:
			return fail(at("replacement"), "replacement", "is only for the mode replace")
		case e.Replacement == "":
			return fail(at("replacement"), "replacement", "must not be empty; omit it to use letters and digits")
		case hasPlaceholder(e.Replacement) || e.Content != "" && strings.Contains(e.Replacement, e.Content):
			return fail(at("replacement"), "replacement", errReplacement.Error())
		}
	}
	return e, nil
}

// jsFlags are the flags that an expression may have. Some have no effect here: all matches count anyway, and text is Unicode.
const (
	jsFlags   = "dgimsuvy"
	ourFlags  = "ims"
	idleFlags = "gu"
)

// compile compiles the expression in content, or returns the invalid field and the reason. Content of the form
// /expression/flags includes its flags.
func compile(content, flags string, flagged bool) (expr *regexp.Regexp, field, reason string) {
	field = "flags"
	if body, ok := strings.CutPrefix(content, "/"); ok {
		if end := strings.LastIndexByte(body, '/'); end > 0 && !escapedAt(body, end) && strings.Trim(body[end+1:], jsFlags) == "" {
			if flagged {
				return nil, field, "are already in the content"
			}
			content, flags, field = strings.ReplaceAll(body[:end], `\/`, "/"), body[end+1:], "content"
		}
	}
	used := ""
	for _, c := range flags {
		switch {
		case strings.ContainsRune(ourFlags, c):
			if !strings.ContainsRune(used, c) {
				used += string(c)
			}
		case !strings.ContainsRune(idleFlags, c):
			return nil, field, "unknown flag; the flags are g, i, m, s and u"
		}
	}
	if used != "" {
		content = "(?" + used + ")" + content
	}
	expr, err := regexp.Compile(content)
	if err != nil {
		// The compiler's errors quote the expression.
		return nil, "content", "is not a valid RE2 regular expression; RE2 has no lookahead, lookbehind or backreferences"
	}
	if expr.MatchString("") {
		return nil, "content", errEmptyMatch.Error()
	}
	return expr, "", ""
}

func escapedAt(s string, i int) bool {
	n := 0
	for i--; i >= 0 && s[i] == '\\'; i-- {
		n++
	}
	return n%2 == 1
}
