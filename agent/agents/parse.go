package agents

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/roster"
	"github.com/gajae-code/gjc/agent/userfiles"
	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/providers"
)

// definition is a parsed file.
type definition struct {
	helper   agent.Helper
	disabled bool
}

const (
	maxName        = 48
	maxDescription = 1000 // in characters
)

// fields lists the fields of the front matter: the names, other spellings, and those for human readers.
var fields = []string{
	"name", "description", "tools", "model", "thinking", "spawns", "readOnly", "isolation", "disabled", "output",
	"thinkingLevel", "thinking-level", "readonly",
	"color", "version",
}

// without lists the fields of other programs' agents that gjc does not support, with advice for each.
var without = map[string]string{
	"blocking": "the caller waits for every helper; remove the field",
}

// parse parses a file. It returns nil for an invalid file, and reports and ignores unknown fields. In another program's file it
// uses only fields that have the same meaning in both programs.
func parse(file, base string, foreign bool) (*definition, []userfiles.Problem) {
	p := &parser{foreign: foreign, base: base}
	d := p.document(file)
	if p.fatal {
		return nil, p.problems
	}
	return d, p.problems
}

type parser struct {
	foreign bool
	// base is the name of the file without its ending. Some programs take it for the agent's.
	base     string
	problems []userfiles.Problem
	fatal    bool
}

func (p *parser) fail(line int, format string, args ...any) {
	p.problems = append(p.problems, userfiles.Problem{Line: line, Reason: fmt.Sprintf(format, args...)})
	p.fatal = true
}

func (p *parser) document(file string) *definition {
	split := text.SplitFrontMatter(file)
	if !split.Found {
		p.fail(1, `must begin with front matter: a line "---", then name and description, then a line "---"`)
		return nil
	}
	front := p.front(split.Head)
	if front == nil {
		return nil
	}
	d := new(definition)
	h := &d.helper
	h.Prompt = strings.TrimSpace(split.Body)
	var spawns []string
	for _, m := range front.Members {
		line := m.Line + 1 // after the fence
		switch m.Name {
		case "name":
			h.Name = p.text(m.Name, m.Value, line)
		case "description":
			h.Description = strings.Join(strings.Fields(p.text(m.Name, m.Value, line)), " ")
		case "tools":
			h.Tools = p.tools(h, &m)
		case "model":
			h.Models = p.list(m.Name, m.Value, line)
		case "thinking", "thinkingLevel", "thinking-level":
			word := p.text(m.Name, m.Value, line)
			level, known := providers.ParseThinkingLevel(word)
			if known {
				h.Thinking = level
			} else if word != "" && !p.foreign {
				p.fail(line, "%s: unknown level %q; the levels are off, minimal, low, medium, high and more", m.Name, text.Truncate(word, maxName+1))
			}
		case "spawns":
			spawns = append([]string{}, p.list(m.Name, m.Value, line)...)
		case "readOnly", "readonly":
			h.ReadOnly = p.boolean(m.Name, m.Value, line)
		case "isolation":
			h.Isolated = p.isolation(m.Value, line)
		case "output":
			h.Output = p.output(m.Value, line)
		case "disabled":
			d.disabled = p.boolean(m.Name, m.Value, line)
		default:
			p.otherField(d, &m)
		}
	}
	if p.foreign && !p.fatal {
		translate(h, p.base)
	}
	h.Spawns = spawnsOf(h, spawns)
	h.Description = text.Truncate(h.Description, maxDescription)
	switch {
	case p.fatal:
	case !validName(h.Name):
		p.fail(1, "name: invalid name %q; use up to %d letters, digits, - and _", text.Truncate(h.Name, maxName+1), maxName)
	case d.disabled: // only the name is needed
	case h.Description == "":
		p.fail(1, "description: say in one sentence what the agent is for; the model chooses by it")
	case h.Prompt == "":
		p.fail(1, "no text after the front matter; it becomes the agent's prompt")
	}
	return d
}

// isolation reports whether a helper works in a worktree.
func (p *parser) isolation(n *configfile.Node, line int) bool {
	word := p.text("isolation", n, line)
	if word != "" && word != "worktree" && word != "none" && !p.foreign {
		p.fail(line, "isolation: unknown value %q; use worktree or none", text.Truncate(word, maxName+1))
	}
	return word == "worktree"
}

// output returns the schema of a helper's reports.
func (p *parser) output(n *configfile.Node, line int) jsonx.Raw {
	if n.Kind == configfile.Null || p.foreign {
		return nil
	}
	raw := n.JSON()
	if _, err := roster.ParseSchema(raw); err != nil {
		p.fail(line, "output: %v", err)
	}
	return raw
}

// tools returns the tools of a helper. In other programs' files, it may be a mapping of tools to switches.
func (p *parser) tools(h *agent.Helper, m *configfile.Member) []string {
	if p.foreign && m.Value.Kind == configfile.Object {
		h.ReadOnly = h.ReadOnly || forbidsChanges(m.Value)
		return nil
	}
	return p.list(m.Name, m.Value, m.Line+1)
}

// otherField handles a field that gjc's own files do not have.
func (p *parser) otherField(d *definition, m *configfile.Member) {
	if p.foreign {
		p.foreignField(d, m)
		return
	}
	p.other(m.Name, m.Line+1)
}

// spawnsOf returns the helpers that a helper may start. The tool for that, among its tools, allows all if it names none.
func spawnsOf(h *agent.Helper, spawns []string) []string {
	if i := slices.Index(h.Tools, agent.TaskTool); i >= 0 {
		h.Tools = slices.Delete(h.Tools, i, i+1)
		if spawns == nil {
			spawns = []string{"*"}
		}
	}
	return spawns
}

// other reports a field that is unknown or has no effect here.
func (p *parser) other(name string, line int) {
	if why, ok := without[name]; ok {
		p.problems = append(p.problems, userfiles.Problem{Line: line, Reason: name + ": " + why})
	} else if !slices.Contains(fields, name) {
		reason := fmt.Sprintf("unknown field %q; it is ignored", name)
		if near := text.Near(name, fields); near != "" {
			reason = fmt.Sprintf("unknown field %q; did you mean %q?", name, near)
		}
		p.problems = append(p.problems, userfiles.Problem{Line: line, Reason: reason})
	}
}

// front parses the front matter. In files of other programs it is often not valid YAML; there each field is one line, and its value
// is the rest of the line.
func (p *parser) front(head string) *configfile.Node {
	n, err := configfile.ParseYAML([]byte(head))
	switch {
	case err == nil && n != nil && n.Kind == configfile.Object:
		return n
	case p.foreign:
		return simpleFields(head)
	case err == nil:
		p.fail(1, "the front matter must be lines like name: value")
	default:
		line, reason := 1, "is not YAML"
		if e, ok := errors.AsType[*configfile.LineError](err); ok {
			line, reason = e.Line+1, e.Text
		}
		p.fail(line, "the front matter cannot be read: %s; quote values that contain a colon or a special character", reason)
	}
	return nil
}

func simpleFields(head string) *configfile.Node {
	n := &configfile.Node{Kind: configfile.Object}
	for i, line := range strings.Split(head, "\n") {
		name, value, ok := strings.Cut(line, ":")
		if !ok || name == "" || strings.ContainsAny(name, " \t#-\"'") {
			continue
		}
		value = strings.Trim(strings.TrimSpace(value), `"'`)
		n.Members = append(n.Members, configfile.Member{Name: name, Line: i + 1, Value: &configfile.Node{Line: i + 1, Kind: configfile.Text, Text: value}})
	}
	return n
}

func (p *parser) text(name string, n *configfile.Node, line int) string {
	switch n.Kind {
	case configfile.Text, configfile.Number:
		return strings.TrimSpace(n.Text)
	case configfile.Null:
		return ""
	default:
		p.wrong(line, name, "a string")
		return ""
	}
}

func (p *parser) boolean(name string, n *configfile.Node, line int) bool {
	if n.Kind != configfile.Boolean && n.Kind != configfile.Null {
		p.wrong(line, name, "true or false")
	}
	return n.True()
}

// list returns names from a list, or from a comma-separated string; nil for an absent field.
func (p *parser) list(name string, n *configfile.Node, line int) []string {
	var words []string
	switch n.Kind {
	case configfile.Null:
		return nil
	case configfile.Text:
		if words = strings.Split(n.Text, ","); strings.TrimSpace(n.Text) == "" {
			return nil
		}
	case configfile.List:
		words = []string{}
		for _, item := range n.List {
			if item.Kind != configfile.Text {
				p.wrong(line, name, "a list of names")
				return nil
			}
			words = append(words, item.Text)
		}
	default:
		p.wrong(line, name, "a list of names, or a comma-separated string")
		return nil
	}
	for i, w := range words {
		if words[i] = strings.TrimSpace(w); words[i] == "" {
			p.wrong(line, name, "a list without empty names")
		}
	}
	return words
}

// wrong reports a value of the wrong type. In another program's file the field may have another meaning, so the value is ignored.
func (p *parser) wrong(line int, name, must string) {
	if !p.foreign {
		p.fail(line, "%s: must be %s", name, must)
	}
}

func validName(name string) bool {
	return name != "" && len(name) <= maxName && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}
