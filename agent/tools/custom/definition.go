package custom

import (
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/gajae-code/gjc/agent/toolkit/effects"
	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
)

const (
	defaultTimeout = 60 * time.Second
	maxTimeout     = time.Hour
	// maxName and maxDescription bound what each request contains, in bytes.
	maxName, maxDescription = 64, 8 << 10
	// maxSchema bounds the schema of the input, in bytes.
	maxSchema = 32 << 10
)

// fieldNames are the fields of a file.
var fieldNames = [...]string{"name", "description", "parameters", "command", "cwd", "env", "timeout", "effects", "parallel"}

// definition is the content of a file.
type definition struct {
	path string
	// base is the directory of a relative program.
	base    string
	known   []string
	problem func(line int, format string, args ...any)

	name, description string
	schema            jsonx.Raw
	input             *jsonschema.Resolved
	command           []string
	cwd               string
	env               []string
	timeout           time.Duration
	effects           *effects.Effects
	parallel          bool
}

// line returns the command as a line for a shell.
func (d *definition) line() string {
	words := make([]string, len(d.command))
	for i, word := range d.command {
		words[i] = text.ShellWord(word)
	}
	return strings.Join(words, " ")
}

// parse reads the file. It reports false if the tool cannot be used, after reporting why.
func (d *definition) parse(data []byte) bool {
	top, err := configfile.ParseYAML(data)
	if err != nil {
		line, reason := 1, err.Error()
		if e, ok := errors.AsType[*configfile.LineError](err); ok {
			line, reason = e.Line, e.Text
		}
		d.problem(line, "%s; the tool is ignored", reason)
		return false
	}
	if top == nil || top.Kind != configfile.Object {
		d.problem(1, "must be a mapping with name, description and command; the tool is ignored")
		return false
	}
	d.timeout = defaultTimeout
	d.schema = jsonx.Raw(`{"type":"object","properties":{}}`)
	ok := true
	for _, m := range top.Members {
		if !slices.Contains(fieldNames[:], m.Name) {
			d.problem(m.Line, "unknown field %q%s; it is ignored", m.Name, configfile.Suggestion(m.Name, fieldNames[:]))
			continue
		}
		if reason := d.field(m.Name, m.Value); reason != "" {
			d.problem(m.Line, "%s: %s; the tool is ignored", m.Name, reason)
			ok = false
		}
	}
	for _, need := range []struct{ name, value string }{{"name", d.name}, {"description", d.description}, {"command", strings.Join(d.command, "")}} {
		if need.value == "" && top.Member(need.name) == nil {
			d.problem(1, "%s is missing; the tool is ignored", need.name)
			ok = false
		}
	}
	if ok && d.input == nil {
		_ = d.field("parameters", top.Member("parameters")) // the default is valid
	}
	return ok
}

// field sets one field, or returns a reason why its value is invalid.
func (d *definition) field(name string, n *configfile.Node) string {
	switch name {
	case "name":
		d.name = n.Text
		return d.checkName(n)
	case "description":
		d.description = strings.TrimSpace(n.Text)
		if n.Kind != configfile.Text || d.description == "" || len(d.description) > maxDescription {
			return "must be a text of at most " + strconv.Itoa(maxDescription) + " bytes, which the model chooses the tool by"
		}
	case "parameters":
		return d.parameters(n)
	case "command":
		return d.program(n)
	case "cwd":
		if d.cwd = n.Text; n.Kind != configfile.Text || d.cwd == "" {
			return "must be a directory, absolute or below the working directory"
		}
	case "env":
		if reason := configfile.Texts.Check(n); reason != "" {
			return "must be " + reason
		}
		for _, m := range n.Members {
			if m.Name == "" || strings.ContainsAny(m.Name, "=\x00") || strings.ContainsRune(m.Value.Text, 0) {
				return "has an invalid variable"
			}
			d.env = append(d.env, m.Name+"="+m.Value.Text)
		}
	case "timeout":
		seconds, err := strconv.ParseFloat(n.Text, 64)
		if n.Kind != configfile.Number || err != nil || !(seconds > 0) || seconds > maxTimeout.Seconds() {
			return "must be a number of seconds above 0 and up to " + strconv.Itoa(int(maxTimeout.Seconds()))
		}
		d.timeout = time.Duration(seconds * float64(time.Second))
	case "effects":
		var reason string
		d.effects, reason = effects.Parse(n)
		return reason
	case "parallel":
		if n.Kind != configfile.Boolean {
			return "must be true or false"
		}
		d.parallel = n.True()
	}
	return ""
}

func (d *definition) checkName(n *configfile.Node) string {
	switch name := n.Text; {
	case n.Kind != configfile.Text || !validName(name):
		return "must have 1 to " + strconv.Itoa(maxName) + " letters, digits, - and _, the first a letter"
	case strings.HasPrefix(name, "mcp__"):
		return "names that begin with mcp__ belong to MCP servers"
	case slices.Contains(d.known, name):
		return strconv.Quote(name) + " is a tool of gjc; choose another name"
	}
	return ""
}

func validName(name string) bool {
	for i, c := range []byte(name) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || c != '_' && c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return name != "" && len(name) <= maxName
}

// parameters reads the schema of the input.
func (d *definition) parameters(n *configfile.Node) string {
	if n != nil {
		if n.Kind != configfile.Object {
			return "must be a JSON Schema of an object"
		}
		d.schema = n.JSON()
		if t := n.TextOf("type"); t == "" && n.Member("type") == nil {
			return `needs "type: object"`
		} else if t != "object" {
			return `must be a JSON Schema with "type: object"`
		}
		if len(d.schema) > maxSchema {
			return "is larger than " + strconv.Itoa(maxSchema>>10) + " KiB"
		}
	}
	schema := new(jsonschema.Schema)
	if err := jsonx.Unmarshal(d.schema, schema); err != nil {
		return "is no valid JSON Schema: " + text.OneLine(err.Error())
	}
	resolved, err := schema.Resolve(nil) // a reference to another document is an error
	if err != nil {
		return "is no valid JSON Schema: " + text.OneLine(err.Error())
	}
	d.input = resolved
	return ""
}

// program reads the command: a list of words, or a line for a shell.
func (d *definition) program(n *configfile.Node) string {
	switch {
	case n.Kind == configfile.Text && strings.TrimSpace(n.Text) != "":
		d.command = []string{"sh", "-c", n.Text}
	case configfile.StringList.Check(n) == "" && len(n.List) > 0 && n.List[0].Text != "":
		d.command = n.Strings()
	default:
		return "must be a program with its arguments, as a list, or a line for the shell"
	}
	if strings.ContainsRune(strings.Join(d.command, ""), 0) {
		return "contains a NUL byte"
	}
	if name := d.command[0]; !filepath.IsAbs(name) && strings.ContainsAny(name, `/\`) {
		d.command[0] = filepath.Join(d.base, filepath.FromSlash(name))
	}
	return ""
}
