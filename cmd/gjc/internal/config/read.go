package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/internal/trust"
)

// FileName is the file of settings in the agent directory, and in a project's .gjc.
const FileName = "config.yml"

// reading is the result of reading the files.
type reading struct {
	// Files are the files in the order of reading.
	Files []source
	// Mistakes lists the mistakes in them, Foreign the names of other programs' settings.
	Mistakes, Foreign []*Error
	// stopped are the mistakes that stop something, with the setting's field.
	stopped []stoppedBy
	// Origins has the source of each setting that differs from its default, by field.
	Origins map[string]Origin
	// RuleOrigins has the sources of the permission rules, in their order.
	RuleOrigins []Origin
}

type stoppedBy struct {
	field   string
	what    Effect
	mistake *Error
}

// SourceKind is the kind of a value's source.
type SourceKind string

// The kinds of sources.
const (
	FromDefault     SourceKind = "default"
	FromUser        SourceKind = "user file"
	FromProject     SourceKind = "project file"
	FromFlag        SourceKind = "flag"
	FromEnvironment SourceKind = "environment"
)

// Origin is the source of a value: a line of a file, a flag or a variable.
type Origin struct {
	Kind SourceKind
	// Name is the path of the file, or the name of the flag or variable.
	Name string
	Line int
}

func (o Origin) String() string {
	switch {
	case o.Name == "":
		return string(o.Kind)
	case o.Line > 0:
		return string(o.Kind) + " " + o.Name + ":" + strconv.Itoa(o.Line)
	}
	return string(o.Kind) + " " + o.Name
}

// source is one file of settings.
type source struct {
	Path string
	Kind SourceKind
	// There is false for an optional file that does not exist.
	There bool
}

// Error is one mistake in a file of settings. It quotes no value, which might be a secret.
type Error struct {
	Path         string
	Line, Column int
	// Field is the setting's name, with its section; "" means the whole file.
	Field  string
	Reason string
	// Until describes the effect of the mistake until it is corrected.
	Until string
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Path)
	if e.Line > 0 {
		b.WriteString(":" + strconv.Itoa(e.Line))
		if e.Column > 0 {
			b.WriteString(":" + strconv.Itoa(e.Column))
		}
	}
	if e.Field != "" {
		b.WriteString(": " + trust.Printable(e.Field))
	}
	b.WriteString(": " + e.Reason)
	if e.Until != "" {
		b.WriteString("; " + e.Until)
	}
	return b.String()
}

// Errors combines the mistakes of a configuration into one error.
type Errors []*Error

func (m Errors) Error() string {
	lines := make([]string, len(m))
	for i, e := range m {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Err returns the mistakes as an error, or nil.
func (c *Config) Err() error {
	if len(c.Mistakes) == 0 {
		return nil
	}
	return Errors(c.Mistakes)
}

// Stop returns the first mistake that stops one of the effects, or nil.
func (c *Config) Stop(what Effect) error {
	for _, s := range c.stopped {
		if s.what&what != 0 {
			return s.mistake
		}
	}
	return nil
}

// Read reads the configuration of the user, and of the project in cwd unless cwd is "". Only the files of
// --config must exist. A mistake leaves its setting unchanged and is recorded in the result.
func Read(agentDir string, overlays []string, cwd string) *Config {
	c := New()
	own := filepath.Join(agentDir, FileName)
	sources := []source{{Path: own, Kind: FromUser}}
	if cwd != "" {
		if project := filepath.Join(cwd, ".gjc", FileName); !sameFile(project, own) {
			sources = append(sources, source{Path: project, Kind: FromProject})
		}
	}
	for _, path := range overlays {
		sources = append(sources, source{Path: path, Kind: FromFlag})
	}
	for _, s := range sources {
		data, err := s.data(cwd)
		s.There = err == nil || !errors.Is(err, fs.ErrNotExist)
		c.Files = append(c.Files, s)
		if !s.There && s.Kind != FromFlag {
			continue // the usual case: the table of settings is not needed
		}
		r := &reader{Config: c, source: s, data: data, sections: c.sections(), lists: c.lists(s.Path)}
		if err == nil {
			r.read()
			continue
		}
		reason := err
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			reason = e.Err
		}
		r.broken(&Error{Path: s.Path, Reason: "cannot be read: " + reason.Error()}, true)
	}
	return c
}

// data reads the file. That of the project must be in it.
func (s *source) data(cwd string) ([]byte, error) {
	if s.Kind == FromProject {
		return configfile.ReadInside(cwd, s.Path)
	}
	return configfile.ReadFile(s.Path)
}

func sameFile(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// reader applies one file to a configuration.
type reader struct {
	*Config
	source   source
	data     []byte
	sections map[string]section
	lists    map[string]setting
}

func (r *reader) read() {
	file, err := configfile.ParseYAML(r.data)
	switch {
	case err != nil:
		e := &Error{Path: r.source.Path, Line: 1, Reason: "the file is not YAML"}
		if l, ok := errors.AsType[*configfile.LineError](err); ok {
			e.Line, e.Column = l.Line, l.Column
			if l.Plain {
				e.Reason = l.Text
			}
		}
		r.broken(e, !configfile.IsText(r.data))
	case file == nil:
	case file.Kind != configfile.Object:
		r.broken(&Error{Path: r.source.Path, Line: file.Line, Reason: "the file must be a mapping of settings, not " + file.Kind.String()}, false)
	default:
		for i := range file.Members {
			r.member(&file.Members[i])
		}
	}
}

// broken records that nothing in the file is used. Protections that the file may have set get their strictest values:
// all of them if its text is unknown, otherwise those whose names it contains.
func (r *reader) broken(e *Error, unknown bool) {
	e.Until = "nothing in the file is used"
	r.Mistakes = append(r.Mistakes, e)
	stops := Effect(0)
	for _, name := range sortedKeys(r.sections) {
		if !unknown && !mentions(r.data, name) {
			continue
		}
		for field, s := range r.sections[name].settings {
			if r.allowed(name, field) {
				stops |= r.strictly(name+"."+field, s, e)
			}
		}
	}
	for name, s := range r.lists {
		if r.allowed(name, "") && (unknown || mentions(r.data, name)) {
			stops |= r.strictly(name, s, e)
		}
	}
	for _, one := range []Effect{StopsSteps, StopsModels} {
		if stops&one != 0 {
			e.Until += ", and " + one.String()
		}
	}
}

// mentions reports whether a text contains a word, or may contain it in an escaped form.
func mentions(data []byte, word string) bool {
	text := string(data)
	return slices.ContainsFunc([]string{`\x`, `\u`, `\U`, word}, func(w string) bool { return strings.Contains(text, w) })
}

// strictly sets a setting to its strictest value after a mistake, and returns what that stops.
func (r *reader) strictly(field string, s setting, e *Error) Effect {
	if s.strict != nil {
		s.strict()
		r.Origins[field] = Origin{r.source.Kind, r.source.Path, e.Line}
	}
	if s.stops != 0 {
		r.stopped = append(r.stopped, stoppedBy{field, s.stops, e})
	}
	return s.stops
}

// mistake records a mistake in a setting; s is nil for an unknown name.
func (r *reader) mistake(line int, field, reason string, s *setting) {
	e := &Error{Path: r.source.Path, Line: line, Field: field, Reason: reason}
	r.Mistakes = append(r.Mistakes, e)
	if s == nil {
		return
	}
	switch stops := r.strictly(field, *s, e); {
	case stops != 0:
		e.Until = stops.String()
	case s.strict != nil:
		e.Until = valueText(s.get()) + " applies until this is corrected"
	case s.get != nil:
		e.Until = valueText(s.get()) + " applies"
	}
}

// valueText formats a value for people.
func valueText(v any) string {
	switch v := v.(type) {
	case string:
		if v == "" {
			return "no value"
		}
		return strconv.Quote(v)
	case []string:
		if len(v) == 0 {
			return "an empty list"
		}
		return "the previous value"
	case bool, int, float64:
		return fmt.Sprint(v)
	}
	return "the previous value"
}

// member reads one setting or section.
func (r *reader) member(m *configfile.Member) {
	known, isSection := r.sections[m.Name]
	list, isList := r.lists[m.Name]
	switch {
	case !isSection && !isList:
		r.unknown(m)
	case !r.allowed(m.Name, "") && (isList || m.Value.Kind != configfile.Object):
		r.refused(m.Line, m.Name)
	case m.Value.Kind == configfile.Null:
	case isList:
		r.take(m, m.Name, list)
	default:
		r.section(m, known)
	}
}

func (r *reader) take(m *configfile.Member, field string, s setting) {
	if s.item != nil && m.Value.Kind == configfile.List {
		for i, item := range m.Value.List {
			if reason := s.item(item); reason != "" {
				r.mistake(item.Line, fmt.Sprintf("%s[%d]", field, i), reason, &s)
				continue
			}
			r.RuleOrigins = append(r.RuleOrigins, Origin{r.source.Kind, r.source.Path, item.Line})
		}
		return
	}
	if reason := s.take(m.Value); reason != "" {
		r.mistake(m.Line, field, reason, &s)
		return
	}
	r.Origins[field] = Origin{r.source.Kind, r.source.Path, m.Line}
	if !s.adds {
		// This value replaces an earlier file's mistake.
		r.stopped = slices.DeleteFunc(r.stopped, func(b stoppedBy) bool { return b.field == field })
	}
}

func (r *reader) section(m *configfile.Member, known section) {
	if m.Value.Kind != configfile.Object {
		e := &Error{Path: r.source.Path, Line: m.Line, Field: m.Name, Reason: "must be a mapping of names to values, not " + m.Value.Kind.String()}
		r.wholeSection(m.Name, known, e)
		return
	}
	for i := range m.Value.Members {
		one := &m.Value.Members[i]
		field := m.Name + "." + one.Name
		s, ok := known.settings[one.Name]
		if known.open && !ok {
			s, ok = r.role(one.Name), true
		}
		switch {
		case !ok:
			r.unknownIn(m.Name, one, known)
		case !r.allowed(m.Name, one.Name):
			r.refused(one.Line, field)
		case r.source.Kind == FromProject:
			r.takeProject(one, field, s)
		default:
			r.take(one, field, s)
		}
	}
}

// wholeSection records a mistake that hides all settings of a section.
func (r *reader) wholeSection(name string, known section, e *Error) {
	r.Mistakes = append(r.Mistakes, e)
	stops := Effect(0)
	strict := false
	for _, one := range sortedKeys(known.settings) {
		if s := known.settings[one]; r.allowed(name, one) {
			stops |= r.strictly(name+"."+one, s, e)
			strict = strict || s.strict != nil
		}
	}
	switch {
	case stops != 0:
		e.Until = stops.String()
	case strict:
		e.Until = "its settings have their strictest values until this is corrected"
	}
}

// unknownIn records a name that a section does not have.
func (r *reader) unknownIn(name string, m *configfile.Member, known section) {
	names := sortedKeys(known.settings)
	field := name + "." + m.Name
	reason := "unknown setting; the settings are " + strings.Join(names, ", ")
	meant := text.Near(m.Name, names)
	if meant == "" && !known.guards || r.source.Kind == FromProject && name != "permissions" {
		r.mistake(m.Line, field, reason, nil)
		return
	}
	e := &Error{Path: r.source.Path, Line: m.Line, Field: field, Reason: reason}
	if meant == "" {
		r.wholeSection(name, known, e)
		return
	}
	e.Reason = fmt.Sprintf("unknown setting; did you mean %q?", meant)
	s := known.settings[meant]
	r.Mistakes = append(r.Mistakes, e)
	switch stops := r.strictly(name+"."+meant, s, e); {
	case stops != 0:
		e.Until = stops.String()
	case s.strict != nil:
		e.Until = valueText(s.get()) + " applies to " + meant + " until this is corrected"
	}
}

// absent lists sections that other programs with similar files have and gjc lacks.
var absent = map[string]string{
	"memories": "gjc keeps no memories between sessions; remove the section",
}

// unknown records an unknown section. The user's file may have settings of other programs; a project's file has none.
func (r *reader) unknown(m *configfile.Member) {
	e := &Error{Path: r.source.Path, Line: m.Line, Field: m.Name, Reason: "unknown setting"}
	if why, ok := absent[m.Name]; ok && r.source.Kind != FromProject {
		e.Reason = why
		r.Mistakes = append(r.Mistakes, e)
		return
	}
	meant := r.nearest(m.Name)
	if meant == "" {
		if r.source.Kind == FromProject {
			r.Mistakes = append(r.Mistakes, e)
			return
		}
		e.Reason = "not a setting of gjc; ignored"
		r.Foreign = append(r.Foreign, e)
		return
	}
	e.Reason = fmt.Sprintf("unknown setting; did you mean %q?", meant)
	if list, ok := r.lists[meant]; ok {
		r.Mistakes = append(r.Mistakes, e)
		if r.allowed(meant, "") {
			if stops := r.strictly(meant, list, e); stops != 0 {
				e.Until = stops.String()
			}
		}
		return
	}
	r.wholeSection(meant, r.sections[meant], e)
}

// foreignSetting is another program's setting that resembles one of gjc's.
const foreignSetting = "ask"

// nearest returns the setting that the name probably misspells, or "" for another program's. Short names must be closer,
// because many are.
func (r *reader) nearest(name string) string {
	known := append(sortedKeys(r.sections), sortedKeys(r.lists)...)
	k := text.Near(name, known)
	if name == foreignSetting || len(k) < 5 && text.Distance(strings.ToLower(name), k) > 1 {
		return ""
	}
	return k
}
