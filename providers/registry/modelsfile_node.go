package registry

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"

	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// A ConfigError is a mistake in models.yml or auth.json.
type ConfigError struct {
	File string
	// Line is 1-based; zero if unknown.
	Line int
	// Field is the path of the field, such as "providers.local.api"; empty for the whole file.
	Field  string
	Reason string
}

func (e *ConfigError) Error() string {
	s := e.File
	if e.Line > 0 {
		s += fmt.Sprintf(":%d", e.Line)
	}
	if e.Field != "" {
		s += ": " + e.Field
	}
	return s + ": " + e.Reason
}

// mostFaults bounds the number of mistakes that are reported for one file.
const mostFaults = 20

// A fileReader reads one file and collects its mistakes. No mistake quotes the value of a field, which may be a key.
type fileReader struct {
	path   string
	faults []error
	// lines holds the line numbers of fields, by the field's path.
	lines map[string]int
	// schema, if not nil, receives the description of the value; nothing is read then.
	schema configfile.JSONSchema
}

// line returns the line of a field, or of the closest field that contains it.
func (r *fileReader) line(path string) int { return lineOf(r.lines, path) }

// lineOf returns the line of a field, or of the closest field that contains it.
func (f *modelsFile) lineOf(path string) int { return lineOf(f.lines, path) }

func lineOf(lines map[string]int, path string) int {
	for path != "" {
		if line := lines[path]; line > 0 {
			return line
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return 1
}

func (r *fileReader) fault(line int, field, format string, args ...any) {
	if len(r.faults) < mostFaults {
		r.faults = append(r.faults, &ConfigError{r.path, line, field, fmt.Sprintf(format, args...)})
	}
}

func (r *fileReader) err() error {
	if len(r.faults) == 1 {
		return r.faults[0]
	}
	return errors.Join(r.faults...)
}

// A field reads the value of the field at path.
type field func(r *fileReader, n *configfile.Node, path string)

// about describes a field.
func about(text string, f field) field {
	return func(r *fileReader, n *configfile.Node, path string) {
		f(r, n, path)
		if r.schema != nil {
			r.schema.About(text)
		}
	}
}

// describe returns the schema of the values that a field reads.
func describe(read func(r *fileReader, n *configfile.Node)) configfile.JSONSchema {
	r := &fileReader{lines: make(map[string]int), schema: make(configfile.JSONSchema)}
	read(r, &configfile.Node{Kind: configfile.Object})
	return r.schema
}

// object reads a mapping with a fixed set of fields.
func (r *fileReader) object(n *configfile.Node, path string, fields map[string]field) {
	if r.schema != nil {
		schemas := make(map[string]configfile.JSONSchema)
		for name, f := range fields {
			schemas[name] = describe(func(r *fileReader, n *configfile.Node) { f(r, n, "") })
		}
		maps.Copy(r.schema, configfile.Fields(schemas))
		return
	}
	if !r.is(n, path, configfile.Object) {
		return
	}
	for _, m := range n.Members {
		r.lines[join(path, m.Name)] = m.Line
		read := fields[m.Name]
		if read == nil {
			names := make([]string, 0, len(fields))
			for name := range fields {
				names = append(names, name)
			}
			r.fault(m.Line, join(path, m.Name), "unknown field%s", configfile.Suggestion(m.Name, names))
			continue
		}
		if m.Value.Kind != configfile.Null {
			read(r, m.Value, join(path, m.Name))
		}
	}
}

// named reads a mapping whose names the user chooses.
func (r *fileReader) named(n *configfile.Node, path string, read func(m *configfile.Member, path string)) {
	if r.schema != nil {
		maps.Copy(r.schema, configfile.MapOf(r.inside(func(n *configfile.Node) { read(&configfile.Member{Value: n}, "") })))
		return
	}
	if !r.is(n, path, configfile.Object) {
		return
	}
	for i := range n.Members {
		m := &n.Members[i]
		r.lines[join(path, m.Name)] = m.Line
		read(m, join(path, m.Name))
	}
}

// each reads the items of a list.
func (r *fileReader) each(n *configfile.Node, path string, read func(item *configfile.Node, path string)) {
	if r.schema != nil {
		maps.Copy(r.schema, configfile.ListOf(r.inside(func(n *configfile.Node) { read(n, "") })))
		return
	}
	if !r.is(n, path, configfile.List) {
		return
	}
	for i, item := range n.List {
		read(item, at(path, i))
	}
}

// inside returns the schema that read describes with r.
func (r *fileReader) inside(read func(n *configfile.Node)) configfile.JSONSchema {
	outer := r.schema
	defer func() { r.schema = outer }()
	r.schema = make(configfile.JSONSchema)
	read(&configfile.Node{Kind: configfile.Object})
	return r.schema
}

// is reports whether n has the given kind, and records a mistake if it does not.
func (r *fileReader) is(n *configfile.Node, path string, kind configfile.Kind) bool {
	if r.schema != nil {
		maps.Copy(r.schema, configfile.OfKind(kind))
		return false
	}
	if n.Kind != kind {
		r.fault(n.Line, path, "must be %s, not %s", kind, n.Kind)
		return false
	}
	return true
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func at(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

func stringField(to *string) field {
	return func(r *fileReader, n *configfile.Node, path string) {
		if r.is(n, path, configfile.Text) {
			*to = n.Text
		}
	}
}

func flag(to **bool) field {
	return func(r *fileReader, n *configfile.Node, path string) {
		if r.is(n, path, configfile.Boolean) {
			*to = new(n.True())
		}
	}
}

func choice[T ~string](to *T, values ...T) field {
	return func(r *fileReader, n *configfile.Node, path string) {
		if r.schema != nil {
			maps.Copy(r.schema, configfile.OneOf(values))
			return
		}
		if !r.is(n, path, configfile.Text) {
			return
		}
		for _, v := range values {
			if string(v) == n.Text {
				*to = v
				return
			}
		}
		r.fault(n.Line, path, "must be one of: %s", joined(values))
	}
}

func joined[T ~string](values []T) string {
	var s strings.Builder
	for i, v := range values {
		if i > 0 {
			s.WriteString(", ")
		}
		s.WriteString(string(v))
	}
	return s.String()
}

// mostTokens exceeds the context window of every model.
const mostTokens = 1_000_000_000

// tokens reads a positive number of tokens.
func tokens(to **int) field {
	return func(r *fileReader, n *configfile.Node, path string) {
		if r.schema != nil {
			maps.Copy(r.schema, configfile.OfNumbers(true, 1, mostTokens))
			return
		}
		if !r.is(n, path, configfile.Number) {
			return
		}
		v, err := strconv.ParseFloat(n.Text, 64)
		switch {
		case err != nil || v <= 0 || v != math.Trunc(v):
			r.fault(n.Line, path, "must be a whole number above 0")
		case v > mostTokens:
			r.fault(n.Line, path, "is too large: at most %d", mostTokens)
		default:
			*to = new(int(v))
		}
	}
}

// price reads a price in US dollars per million tokens.
func price(to *float64) field {
	return func(r *fileReader, n *configfile.Node, path string) {
		if r.schema != nil {
			maps.Copy(r.schema, configfile.OfNumbers(false, 0, 1e6))
			return
		}
		if !r.is(n, path, configfile.Number) {
			return
		}
		v, err := strconv.ParseFloat(n.Text, 64)
		if err != nil || v < 0 || v > 1e6 {
			r.fault(n.Line, path, "must be a price in US dollars per million tokens, 0 or more")
			return
		}
		*to = v
	}
}

func texts(to *[]string) field {
	return func(r *fileReader, n *configfile.Node, path string) {
		all := []string{}
		r.each(n, path, func(v *configfile.Node, path string) {
			if r.is(v, path, configfile.Text) {
				all = append(all, v.Text)
			}
		})
		if n.Kind == configfile.List {
			*to = all
		}
	}
}

func textMap[K ~string](to *map[K]string) field {
	return func(r *fileReader, n *configfile.Node, path string) {
		*to = map[K]string{}
		r.named(n, path, func(m *configfile.Member, path string) {
			if r.is(m.Value, path, configfile.Text) {
				(*to)[K(m.Name)] = m.Value.Text
			}
		})
	}
}

func jsonMap(to *map[string]jsonx.Raw) field {
	return func(r *fileReader, n *configfile.Node, path string) {
		*to = map[string]jsonx.Raw{}
		r.named(n, path, func(m *configfile.Member, _ string) {
			raw := m.Value.JSON()
			if raw == nil {
				raw = jsonx.Raw("null")
			}
			(*to)[m.Name] = raw
		})
	}
}
