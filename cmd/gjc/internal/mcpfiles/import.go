package mcpfiles

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/trust"
)

// foreign is a file of the user that belongs to another program.
type foreign struct {
	program string
	dialect *dialect
	path    []string // relative to the home directory
}

// Programs returns the names of the programs whose servers can be imported.
func Programs() []string {
	return []string{"claude-desktop", "claude", "cursor", "vscode", "codex", "gemini", "windsurf"}
}

// foreignFiles returns the files of other programs, for an operating system (GOOS).
func foreignFiles(goos string, getenv func(string) string) []foreign {
	config := []string{".config"}
	switch goos {
	case "darwin":
		config = []string{"Library", "Application Support"}
	case "windows":
		config = []string{"AppData", "Roaming"}
	}
	under := func(names ...string) []string { return slices.Concat(config, names) }
	all := []foreign{
		{"claude-desktop", claudeDesktop(), under("Claude", "claude_desktop_config.json")},
		{"claude", claude(), []string{".claude.json"}},
		{"cursor", cursor(), []string{".cursor", "mcp.json"}},
		{"vscode", vscode(), under("Code", "User", "mcp.json")},
		{"codex", codex(), []string{".codex", "config.toml"}},
		{"gemini", gemini(), []string{".gemini", "settings.json"}},
		{"windsurf", windsurf(), []string{".codeium", "windsurf", "mcp_config.json"}},
	}
	if dir := getenv("CODEX_HOME"); filepath.IsAbs(dir) {
		all[4].path = []string{dir, "config.toml"}
	}
	return all
}

// Imported reports what happened to one server of another program.
type Imported struct{ Name, File, What string }

// Selection says what [Import] copies.
type Selection struct {
	// Program is the name of a program; empty for all. Names are those of servers; empty for all.
	Program string
	Names   []string
	// Project is a directory whose own servers in Claude's file are copied; empty for the roots of the options.
	Project string
	// Force replaces servers of the same name. Dry changes nothing.
	Force, Dry bool
}

// importer is one import.
type importer struct {
	Selection
	o    *Options
	dirs []string
	all  []Imported
	done map[string]string // the programs that the servers were copied from
}

// Import copies servers from the files of other programs into the user's file.
func Import(ctx context.Context, o *Options, what Selection) ([]Imported, error) {
	if o.Home == "" {
		return nil, errors.New("there is no home directory to import from")
	}
	i := &importer{Selection: what, o: o, dirs: o.Roots, done: make(map[string]string)}
	if what.Project != "" {
		i.dirs = []string{what.Project}
	}
	for _, f := range foreignFiles(runtime.GOOS, o.Getenv) {
		if what.Program != "" && f.program != what.Program {
			continue
		}
		path := filepath.Join(f.path...)
		if !filepath.IsAbs(path) {
			path = filepath.Join(o.Home, path)
		}
		file := openForeign(path, f.dialect)
		if file == nil {
			continue
		}
		if f.program == "claude" {
			if err := i.claude(ctx, file); err != nil {
				return i.all, err
			}
		}
		for _, m := range file.Mistakes {
			i.all = append(i.all, Imported{"-", path, m.Reason})
		}
		for _, s := range file.Servers {
			if err := i.server(ctx, file, s, ""); err != nil {
				return i.all, err
			}
		}
	}
	for _, name := range what.Names {
		if !slices.ContainsFunc(i.all, func(done Imported) bool { return done.Name == name }) {
			return i.all, fmt.Errorf("%w in the other programs: %s", errUnknown, trust.Printable(name))
		}
	}
	return i.all, nil
}

func (i *importer) selected(name string) bool {
	return len(i.Names) == 0 || slices.Contains(i.Names, name)
}

// server copies one server, if it is selected. The report ends with where it is from.
func (i *importer) server(ctx context.Context, f *configFile, s *entry, from string) error {
	if !i.selected(s.Name) {
		return nil
	}
	what, err := importServer(ctx, i.o.userFile(), s, f.Dialect, i.done, i.Force, i.Dry)
	if err != nil {
		return err
	}
	if s.Off && (what == "copied" || what == "would be copied") {
		what += ", disabled"
	}
	i.all = append(i.all, Imported{s.Name, f.Path, what + from})
	return nil
}

// openForeign reads a file of the user. Programs keep more than servers in such files, and that is ignored.
func openForeign(path string, d *dialect) *configFile {
	d.others = nil
	return open(path, d, "")
}

// importServer copies one server and returns what happened.
func importServer(ctx context.Context, path string, s *entry, d *dialect, done map[string]string, force, dry bool) (string, error) {
	if len(s.Mistakes) > 0 {
		return "not copied: " + s.Mistakes[0].Reason, nil
	}
	definition, why := s.own(d)
	if why != "" {
		return "not copied: " + why, nil
	}
	if _, err := checked(s.Name, definition); err != nil {
		return "not copied: " + err.Error(), nil
	}
	if from := done[s.Name]; from != "" {
		return "not copied: it was copied from " + from, nil
	}
	if dry {
		done[s.Name] = d.Name
		return "would be copied", nil
	}
	err := Add(ctx, path, s.Name, definition, force)
	switch {
	case errors.Is(err, errExists):
		return "not copied: mcp.json has a server of this name; --force replaces it", nil
	case err != nil:
		return "", err
	}
	done[s.Name] = d.Name
	return "copied", nil
}

// own returns the definition in gjc's own form, or why there is none.
func (s *entry) own(d *dialect) (definition []byte, why string) {
	out := make(map[string]any)
	text := func(in string) string {
		converted, reason := d.own(in)
		if reason != "" {
			why = reason
		}
		return converted
	}
	texts := func(in []string) []string {
		all := make([]string, len(in))
		for i := range in {
			all[i] = text(in[i])
		}
		return all
	}
	switch {
	case s.EnvFile != "":
		return nil, "it has an envFile; put the variables into env"
	case s.Stdio != nil:
		out["command"] = text(s.Stdio.Command)
		if len(s.Stdio.Args) > 0 {
			out["args"] = texts(s.Stdio.Args)
		}
		if s.Stdio.Dir != "" {
			out["cwd"] = text(s.Stdio.Dir)
		}
		if env := make(map[string]string); len(s.Stdio.Env) > 0 {
			for _, v := range s.Stdio.Env {
				name, value, _ := strings.Cut(v, "=")
				env[name] = text(value)
			}
			out["env"] = env
		}
	case s.HTTP != nil:
		out["url"] = text(s.HTTP.URL)
		if s.HTTP.SSE {
			out["type"] = "sse"
		}
		if headers := make(map[string]string); len(s.HTTP.Headers) > 0 {
			for _, h := range s.HTTP.Headers {
				if headers[h.Name] = h.Value; !slices.Contains(s.references, h.Name) {
					headers[h.Name] = text(h.Value)
				}
			}
			out["headers"] = headers
		}
		if s.Helper != "" {
			out["headersHelper"] = s.Helper
		}
	}
	if s.Off {
		out["enabled"] = false
	}
	if s.Timeout > 0 {
		out["timeout"] = s.Timeout.Milliseconds()
	}
	tools := make(map[string][]string)
	if s.Tools.Allow != nil {
		tools["allow"] = s.Tools.Allow
	}
	if s.Tools.Deny != nil {
		tools["deny"] = s.Tools.Deny
	}
	if len(tools) > 0 {
		out["tools"] = tools
	}
	if why != "" {
		return nil, why
	}
	definition, err := jsonx.Marshal(out)
	if err != nil {
		return nil, err.Error()
	}
	return definition, ""
}

// own returns a string with the placeholders of the dialect in gjc's own form.
func (d *dialect) own(in string) (out, why string) {
	if d.style == plain {
		if strings.Contains(in, "${") {
			return "", `it has "${", which stands for a variable in mcp.json`
		}
		return in, ""
	}
	r := &reader{configFile: &configFile{Dialect: d}}
	var b strings.Builder
	for rest := in; ; {
		before, p, after := r.nextPlaceholder(rest)
		b.WriteString(before)
		if p == "" {
			return b.String(), ""
		}
		rest = after
		switch inner := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(p, "$"), "{"), "}"); {
		case d.style == editor && inner == "userHome" && b.Len() == 0:
			b.WriteString("~")
		case d.style == editor:
			name, ok := strings.CutPrefix(inner, "env:")
			if !ok {
				return "", "it has " + configfile.Quote(p) + ", which only a workspace's file can have"
			}
			b.WriteString("${" + name + "}")
		default:
			b.WriteString("${" + inner + "}")
		}
	}
}
