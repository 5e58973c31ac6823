package agents

import (
	"cmp"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/userfiles"
	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/providers"
)

// parseFor parses a file in the format of its place.
func parseFor(p *userfiles.Place, name, content, base string) (*definition, []userfiles.Problem) {
	if path.Ext(name) == ".toml" {
		return parseTOML(content, base)
	}
	return parse(content, base, p.Foreign())
}

// parseTOML parses an agent of Codex. Fields without a meaning in gjc are ignored.
func parseTOML(content, base string) (*definition, []userfiles.Problem) {
	var fields struct {
		Name         string `toml:"name"`
		Description  string `toml:"description"`
		Instructions string `toml:"developer_instructions"`
		Model        string `toml:"model"`
		Effort       string `toml:"model_reasoning_effort"`
		Sandbox      string `toml:"sandbox_mode"`
	}
	wrong := func(line int, reason string) (*definition, []userfiles.Problem) {
		return nil, []userfiles.Problem{{Line: line, Reason: reason}}
	}
	if _, err := toml.Decode(content, &fields); err != nil {
		if e, ok := errors.AsType[toml.ParseError](err); ok {
			return wrong(max(e.Position.Line, 1), "is not TOML: "+e.Message)
		}
		return wrong(0, "cannot be read: "+err.Error())
	}
	d := &definition{helper: agent.Helper{
		Name: fields.Name, Description: fields.Description, Prompt: strings.TrimSpace(fields.Instructions), ReadOnly: fields.Sandbox == "read-only",
	}}
	if fields.Model != "" {
		d.helper.Models = []string{fields.Model}
	}
	if level, known := providers.ParseThinkingLevel(fields.Effort); known {
		d.helper.Thinking = level
	}
	translate(&d.helper, base)
	switch h := &d.helper; {
	case !validName(h.Name):
		return wrong(1, "name: invalid name; use letters, digits, - and _")
	case h.Prompt == "":
		return wrong(1, "developer_instructions: no text")
	}
	return d, nil
}

// foreignField applies a field that only other programs have. Those without a meaning in gjc are ignored.
func (p *parser) foreignField(d *definition, m *configfile.Member) {
	switch m.Name {
	case "disable":
		d.disabled = d.disabled || m.Value.True()
	case "mode":
		if m.Value.Text == "primary" {
			p.fail(m.Line+1, "mode: the agent is for users to talk to, and no helper")
		}
	case "permissionMode":
		d.helper.ReadOnly = d.helper.ReadOnly || m.Value.Text == "plan"
	case "permission":
		d.helper.ReadOnly = d.helper.ReadOnly || m.Value.TextOf("edit") == "deny"
	case "disallowedTools":
		names := p.list(m.Name, m.Value, m.Line+1)
		d.helper.ReadOnly = d.helper.ReadOnly || slices.Contains(names, "Edit") || slices.Contains(names, "Write")
	}
}

// forbidsChanges reports whether a mapping of tools to switches turns off those that change files. gjc's helpers have no tools that are
// turned off one by one, so such a helper changes nothing.
func forbidsChanges(n *configfile.Node) bool {
	return slices.ContainsFunc([]string{"write", "edit", "patch", "*"}, func(name string) bool {
		m := n.Member(name)
		return m != nil && m.Kind == configfile.Boolean && !m.True()
	})
}

// translate converts another program's agent. Its name may be that of its file, and its description the first line of its text.
func translate(h *agent.Helper, base string) {
	if h.Name == "" {
		h.Name = base
	}
	if !validName(h.Name) {
		h.Name = strings.Trim(strings.Map(func(r rune) rune {
			if validName(string(r)) {
				return r
			}
			return '-'
		}, text.Truncate(h.Name, maxName)), "-")
	}
	if h.Description == "" {
		h.Description = cmp.Or(text.OneLine(strings.TrimLeft(text.FirstLine(h.Prompt), "# ")), h.Name)
	}
	h.Models = foreignModels(h.Models)
	if slices.Contains(h.Tools, "*") {
		h.Tools = nil
	}
	var tools []string
	for _, name := range h.Tools {
		for _, ours := range foreignTool(name) {
			if !slices.Contains(tools, ours) {
				tools = append(tools, ours)
			}
		}
	}
	if h.Tools != nil {
		h.Tools = append([]string{}, tools...)
	}
}

// foreignModels returns the models for those of another program: a name with a provider is the same here, a family is the role that it
// stands for. Any other model is the caller's.
func foreignModels(names []string) []string {
	var all []string
	for _, name := range names {
		lower := strings.ToLower(name)
		has := func(family string) bool { return strings.Contains(lower, family) }
		switch {
		case strings.Contains(name, "/"):
			all = append(all, name)
		case has("haiku"), has("flash"), has("mini"), has("nano"), lower == "fast":
			all = append(all, "gjc/smol")
		case has("opus"):
			all = append(all, "gjc/slow")
		}
	}
	return all
}

// foreignTool returns gjc's tools for one of another program.
func foreignTool(name string) []string {
	if call, _, ok := strings.Cut(name, "("); ok {
		name = call // Bash(git *): gjc's permissions decide which commands run
	}
	if name == "Edit" {
		return []string{"edit"}
	}
	switch strings.ToLower(name) {
	case "read", "ls", "read_file", "read_many_files", "list_directory", "readfile", "list":
		return []string{"read"}
	case "grep", "grep_search", "search_file_content":
		return []string{"search"}
	case "glob":
		return []string{"find"}
	case "search", "codebase", "textsearch", "filesearch":
		return []string{"search", "find"}
	case "multiedit", "notebookedit", "replace", "patch":
		return []string{"edit"}
	case "edit", "apply_patch", "editfiles":
		return []string{"edit", "write"}
	case "write", "write_file":
		return []string{"write"}
	case "bash", "run_shell_command", "shell", "execute", "terminal", "runcommands", "runinterminal":
		return []string{"bash"}
	case "webfetch", "web_fetch", "fetch":
		return []string{"web_fetch"}
	case "websearch", "web_search", "google_web_search":
		return []string{"web_search"}
	case "web":
		return []string{"web_fetch", "web_search"}
	case "todowrite", "todo", "todos", "write_todos":
		return []string{"todo_write"}
	case "task", "agent":
		return []string{agent.TaskTool}
	case "usages", "problems", "lsp":
		return []string{"lsp"}
	}
	return []string{name}
}
