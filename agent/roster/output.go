package roster

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
)

// maxSchema bounds the schema of a report, in bytes.
const maxSchema = 64 << 10

// Schema checks reports.
type Schema struct{ resolved *jsonschema.Resolved }

// ParseSchema parses a JSON Schema. A reference to another document is an error.
func ParseSchema(raw jsonx.Raw) (*Schema, error) {
	if len(raw) > maxSchema {
		return nil, fmt.Errorf("is larger than %d KiB", maxSchema>>10)
	}
	schema := new(jsonschema.Schema)
	if !jsonx.Valid(raw) || raw.Kind() != '{' {
		return nil, errors.New("must be a JSON Schema, which is an object")
	}
	err := jsonx.Unmarshal(raw, schema)
	if err == nil {
		var resolved *jsonschema.Resolved
		if resolved, err = schema.Resolve(nil); err == nil {
			return &Schema{resolved}, nil
		}
	}
	return nil, errors.New("is no valid JSON Schema: " + text.OneLine(err.Error()))
}

// Check returns the JSON value of a report that matches the schema. The error explains to a model what is wrong.
func (s *Schema) Check(report string) (jsonx.Raw, error) {
	raw := value(report)
	var v any
	if err := jsonx.Unmarshal(raw, &v); err != nil {
		return nil, errors.New("it is not one JSON value: " + text.OneLine(err.Error()))
	}
	if err := s.resolved.Validate(v); err != nil {
		return nil, errors.New(text.Truncate(text.OneLine(err.Error()), 1000))
	}
	return raw, nil
}

// value returns the text of the JSON value in a report: the report itself, or its only fenced block.
func value(report string) jsonx.Raw {
	report = strings.TrimSpace(report)
	if jsonx.Valid([]byte(report)) {
		return jsonx.Raw(report)
	}
	_, rest, ok := strings.Cut("\n"+report, "\n```")
	if !ok {
		return jsonx.Raw(report)
	}
	_, rest, _ = strings.Cut(rest, "\n") // the language
	block, rest, ok := strings.Cut(rest, "\n```")
	if !ok || strings.Contains(rest, "\n```") {
		return jsonx.Raw(report)
	}
	return jsonx.Raw(strings.TrimSpace(block))
}

// split returns the name and the path of an address: "NAME/a/0" or "NAME?q=.a[0]".
func split(address string) (name string, path []string, err error) {
	name, query, queried := strings.Cut(address, "?")
	name, rest, _ := strings.Cut(name, "/")
	if name, err = url.PathUnescape(name); err != nil {
		return "", nil, fmt.Errorf("agent://%s: %w", text.Truncate(address, 200), err)
	}
	if rest = strings.Trim(rest, "/"); rest != "" {
		for part := range strings.SplitSeq(rest, "/") {
			if u, err := url.PathUnescape(part); err == nil {
				part = u
			}
			path = append(path, part)
		}
	}
	if !queried {
		return name, path, nil
	}
	q, ok := strings.CutPrefix(query, "q=")
	switch {
	case !ok:
		return "", nil, fmt.Errorf("agent://%s: unknown query; use ?q=.a[0] or /a/0 for a part of the report", text.Truncate(address, 200))
	case path != nil:
		return "", nil, fmt.Errorf("agent://%s: give either a path or ?q=, not both", text.Truncate(address, 200))
	}
	if u, err := url.QueryUnescape(q); err == nil {
		q = u
	}
	for part := range strings.FieldsFuncSeq(q, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		path = append(path, strings.Trim(part, `"'`))
	}
	return name, path, nil
}

// pick returns the part of a report at a path: a string as its text, any other value as indented JSON.
func pick(name string, report []byte, path []string) ([]byte, error) {
	raw := value(string(report))
	if !jsonx.Valid(raw) {
		return nil, fmt.Errorf("the report of the helper %s is not JSON; read agent://%s without a path", name, name)
	}
	at := ""
	for _, part := range path {
		next, err := member(raw, part)
		if err != nil {
			return nil, fmt.Errorf("agent://%s: %q in %s", name, part, cmp.Or(at, "the report")+" "+err.Error())
		}
		raw, at = next, at+"/"+part
	}
	if s, ok := jsonx.Text(raw); ok {
		return []byte(s), nil
	}
	shown := raw.Clone()
	if err := shown.Indent(); err != nil {
		return nil, err
	}
	return shown, nil
}

// member returns a member of an object, or an element of an array.
func member(raw jsonx.Raw, part string) (jsonx.Raw, error) {
	switch raw.Kind() {
	case '{':
		var names []string
		for name, v := range jsonx.Members(raw) {
			if name == part {
				return v, nil
			}
			names = append(names, name)
		}
		return nil, fmt.Errorf("is not a member; the members are %s", text.Truncate(strings.Join(names, ", "), 500))
	case '[':
		var list []jsonx.Raw
		if err := jsonx.Unmarshal(raw, &list); err != nil {
			return nil, err
		}
		i, err := strconv.Atoi(part)
		if err != nil || i < 0 || i >= len(list) {
			return nil, fmt.Errorf("is not an element; it has %s, from 0", text.Count(len(list), "element"))
		}
		return list[i], nil
	default:
		return nil, errors.New("cannot be selected; it is neither an object nor an array")
	}
}
