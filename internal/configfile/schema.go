package configfile

import (
	"maps"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/text"
)

// Schema describes a configuration file with named entries, such as language servers. It is never modified.
type Schema struct {
	// Section is the member that may wrap the entries ("servers"), Noun is an entry with its article ("a server").
	Section, Noun string
	// Fields are the fields of an entry. Rejected maps a field that is rejected for a special reason to the problem, in which %s is
	// the entry's name.
	Fields   map[string]Field
	Rejected map[string]string
	// Settings are the other members at the top of the file.
	Settings map[string]Setting
	// Runs describes a field other than command, args and disabled if it can run something or change which program is used. It
	// returns "" if the field is harmless.
	Runs func(field string, value *Node) string
}

// Field is a field of an entry.
type Field struct {
	Type FieldType
	// About says what the field does.
	About string
	// Values are the valid strings, if only some are.
	Values []string
}

// check returns "" if a value is valid, and otherwise what it must be.
func (d Field) check(n *Node) string {
	if reason := d.Type.Check(n); reason != "" || len(d.Values) == 0 || slices.Contains(d.Values, n.Text) {
		return reason
	}
	return "one of " + strings.Join(d.Values, ", ") + ", not " + Quote(n.Text) + Suggestion(n.Text, d.Values)
}

// Setting is a member at the top of the file.
type Setting struct {
	// Check returns what the setting changes, for [File.Runs], or its problem.
	Check  func(value *Node) (runs, problem string)
	Schema JSONSchema
}

// JSONSchema returns the schema of the file. It describes the form with the section.
func (s *Schema) JSONSchema() JSONSchema {
	fields := make(map[string]JSONSchema, len(s.Fields))
	for name, f := range s.Fields {
		fields[name] = f.Type.schema().About(f.About)
		if len(f.Values) > 0 {
			fields[name] = OneOf(f.Values).About(f.About)
		}
	}
	top := map[string]JSONSchema{keySchema: OfKind(Text), s.Section: MapOf(Fields(fields)).About("by name; fields that are absent keep their values")}
	for name, setting := range s.Settings {
		top[name] = setting.Schema
	}
	return Fields(top)
}

// keySchema is the member that names the JSON schema of a file, for editors.
const keySchema = "$schema"

// Parse parses the data of a file. Invalid parts are added to the problems and left out.
func (s *Schema) Parse(f *File) {
	_, noun, _ := strings.Cut(s.Noun, " ")
	top := f.Parse(noun + " names")
	if top == nil {
		return
	}
	settings := slices.Sorted(maps.Keys(s.Settings))
	wrapped := top.Member(s.Section) != nil
	for _, m := range top.Members {
		setting, isSetting := s.Settings[m.Name]
		switch {
		case m.Name == keySchema:
		case isSetting:
			s.setting(f, m, setting)
		case m.Name == s.Section:
			if m.Value.Kind != Object {
				f.Problem(m.Line, "%s must be a mapping of names to settings, not %s", s.Section, m.Value.Kind)
				continue
			}
			for _, e := range m.Value.Members {
				s.entry(f, noun, e)
			}
		case wrapped:
			f.Problem(m.Line, "unknown field %s%s; %s belong below %q", Quote(m.Name), Suggestion(m.Name, append(settings, keySchema)), s.Section, s.Section)
		case m.Value.Kind == Object && text.Near(m.Name, []string{s.Section}) != "" && onlyObjects(m.Value):
			f.Problem(m.Line, "unknown field %s; did you mean %q?", Quote(m.Name), s.Section)
		case m.Value.Kind != Object && text.Near(m.Name, settings) != "":
			f.Problem(m.Line, "unknown field %s%s", Quote(m.Name), Suggestion(m.Name, settings))
		default:
			s.entry(f, noun, m)
		}
	}
}

func onlyObjects(n *Node) bool {
	return len(n.Members) > 0 && !slices.ContainsFunc(n.Members, func(m Member) bool { return m.Value.Kind != Object })
}

func (s *Schema) setting(f *File, m Member, of Setting) {
	runs, problem := of.Check(m.Value)
	if problem != "" {
		f.Problem(m.Line, "%s %s; it is not used", m.Name, problem)
		return
	}
	if f.Settings == nil {
		f.Settings = make(map[string]Value)
	}
	f.Settings[m.Name] = Value{Node: m.Value, At: f.At(m.Line)}
	f.Runs = append(f.Runs, runs)
}

// entry parses one entry.
func (s *Schema) entry(f *File, noun string, m Member) {
	if m.Value.Kind != Object {
		f.Problem(m.Line, "%s %s must be a mapping, not %s; to turn %s off, set disabled: true in it", noun, Quote(m.Name), m.Value.Kind, s.Noun)
		return
	}
	e := Entry{Name: m.Name, Line: m.Line, Fields: make(map[string]Value)}
	for _, field := range m.Value.Members {
		want, known := s.Fields[field.Name]
		if problem := s.Rejected[field.Name]; problem != "" {
			f.Problem(field.Line, "%s", strings.ReplaceAll(problem, "%s", Quote(m.Name)))
			continue
		}
		if !known {
			f.Problem(field.Line, "unknown field %s of %s %s%s", Quote(field.Name), noun, Quote(m.Name), Suggestion(field.Name, slices.Sorted(maps.Keys(s.Fields))))
			continue
		}
		if reason := want.check(field.Value); reason != "" {
			f.Problem(field.Line, "%s of %s %s must be %s; it is not used", field.Name, noun, Quote(m.Name), reason)
			continue
		}
		e.Fields[field.Name] = Value{Node: field.Value, At: f.At(field.Line)}
		if runs := s.runs(field, m.Value); runs != "" {
			f.Runs = append(f.Runs, noun+" "+Quote(m.Name)+" "+runs)
		}
	}
	f.Entries = append(f.Entries, e)
}

// runs describes what a field can run, for the user; "" if it is harmless.
func (s *Schema) runs(field Member, entry *Node) string {
	valid := func(name string) *Node {
		if n := entry.Member(name); n != nil && s.Fields[name].check(n) == "" {
			return n
		}
		return nil
	}
	switch field.Name {
	case "command":
		words := []string{field.Value.Text}
		if args := valid("args"); args != nil {
			words = append(words, args.Strings()...)
		}
		return "runs: " + strings.Join(words, " ")
	case "args":
		if valid("command") != nil { // the command's description includes the arguments
			return ""
		}
		return "has the arguments: " + strings.Join(field.Value.Strings(), " ")
	case "disabled":
		if field.Value.Text == "false" {
			return "is turned on"
		}
		return ""
	}
	if value := s.Runs(field.Name, field.Value); value != "" {
		return "has " + field.Name + ": " + value
	}
	return ""
}

// ReadPlace reads and parses the configuration files of a subject ("lsp") in a place (see [ReadPlace]).
func (s *Schema) ReadPlace(subject string, p Place, seen map[string]bool) []*File {
	files := ReadPlace(p, Names(subject), seen)
	for _, f := range files {
		if f.Data != nil {
			s.Parse(f)
		}
	}
	return files
}
