// Package survey lists the files from which sessions in a directory get instructions, rules, commands, skills, helpers, prompts, MCP
// servers and hooks, and what becomes of each.
package survey

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/gajae-code/gjc/agent/agents"
	"github.com/gajae-code/gjc/agent/commands"
	"github.com/gajae-code/gjc/agent/extensions"
	"github.com/gajae-code/gjc/agent/hooks"
	"github.com/gajae-code/gjc/agent/instructions"
	"github.com/gajae-code/gjc/agent/rules"
	"github.com/gajae-code/gjc/agent/tools/custom"
	"github.com/gajae-code/gjc/agent/userfiles"
	"github.com/gajae-code/gjc/cmd/gjc/internal/mcpfiles"
	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/trust"
)

// Options selects the directory. Instructions has the working directory, home and the agent directory for all kinds.
type Options struct {
	Instructions instructions.Options
	Skills       commands.SkillOptions
	// Trust has the user's answers about files of the workspace.
	Trust *trust.Session
	// Plugins are the plugins that sessions use; nil for none.
	Plugins userfiles.Plugins
	// MCP says where MCP servers are defined; nil for nowhere.
	MCP *mcpfiles.Options
}

// The kinds of what is listed by itself, since one file can have several.
const (
	servers userfiles.Kind = "MCP server"
	hook    userfiles.Kind = "hook"
	// asks is the state of what a session asks about.
	asks userfiles.State = "asks for trust"
)

// Survey lists the files that were found.
type Survey struct {
	Files []File `json:"files"`
	// Prompt is the size of the instructions and rules in every prompt, in bytes.
	Prompt int `json:"promptBytes"`
	// Limit is the limit of the instructions, in bytes.
	Limit    int      `json:"limitBytes"`
	Problems []string `json:"problems"`
}

// File is one file of a survey.
type File struct {
	Kind   userfiles.Kind  `json:"kind"`
	Name   string          `json:"name,omitzero"`
	Origin string          `json:"origin"`
	Path   string          `json:"path"`
	Bytes  int             `json:"bytes"`
	State  userfiles.State `json:"state"`
	Why    string          `json:"why,omitzero"`
}

// Read finds the files.
func Read(ctx context.Context, opts *Options) *Survey {
	in := &opts.Instructions
	s := &Survey{Files: []File{}, Problems: []string{}, Limit: cmp.Or(in.Limits.Total, instructions.DefaultLimits().Total)}
	told := instructions.Load(ctx, in)
	for i := range told.Items {
		it := &told.Items[i]
		if it.ImportedBy != "" && it.State == userfiles.Used {
			it.Why = strings.TrimPrefix(it.Why+", imported by "+it.ImportedBy, ", ")
		}
		s.add(it.File)
		s.Prompt += len(it.Text)
	}
	problems := told.Problems
	roots := append([]string{in.Cwd}, in.Additional...)
	book, more := rules.Load(ctx, rules.Options{UserDir: in.UserDir, Home: in.Home, CodexHome: in.CodexHome, Roots: roots})
	problems = append(problems, more...)
	texts := make(map[string]*rules.Rule)
	for _, r := range book.All() {
		texts[r.Path] = r
	}
	for _, f := range book.Found() {
		if r := texts[f.Path]; r != nil && r.Always && r.Trigger == nil {
			if told.Has(r.Path, r.Text) {
				f.State, f.Why = userfiles.Duplicate, "of instructions"
			} else {
				s.Prompt += len(r.Text)
			}
		}
		s.add(f)
	}
	set, more := commands.Load(ctx, commands.Options{UserDir: in.UserDir, Home: in.Home, CodexHome: in.CodexHome, ProjectDirs: roots, Foreign: true, Skills: opts.Skills, Plugins: opts.Plugins})
	problems = append(problems, more...)
	for _, f := range set.Found() {
		s.add(f)
	}
	helpers := agents.New(agents.Options{UserDir: in.UserDir, Home: in.Home, CodexHome: in.CodexHome, ProjectDirs: roots, Plugins: opts.Plugins, Report: func(p userfiles.Problem) { problems = append(problems, p) }})
	for _, f := range helpers.Found(ctx) {
		s.add(f)
	}
	tools := custom.Load(ctx, custom.Options{UserDir: in.UserDir, Roots: roots, Trust: opts.Trust, Plugins: opts.Plugins})
	problems = append(problems, tools.Problems...)
	for _, f := range tools.Found {
		s.add(f)
	}
	programs := extensions.Load(ctx, extensions.LoadOptions{UserDir: in.UserDir, Roots: roots, Trust: opts.Trust})
	problems = append(problems, programs.Problems...)
	for _, f := range programs.Found {
		s.add(f)
	}
	s.programs(ctx, opts, roots)
	for _, name := range userfiles.SystemFiles() {
		_, files := instructions.System(ctx, in, name)
		problems = append(problems, files.Problems...)
		for i := range files.Items {
			s.add(files.Items[i].File)
		}
	}
	for _, p := range problems {
		if text := p.String(); !slices.Contains(s.Problems, text) {
			s.Problems = append(s.Problems, text)
		}
	}
	return s
}

// programs lists the MCP servers and the hooks.
func (s *Survey) programs(ctx context.Context, opts *Options, roots []string) {
	if opts.MCP != nil {
		all, notes := mcpfiles.List(opts.MCP)
		for i := range all {
			d := &all[i]
			state, why := userfiles.State(d.State), cmp.Or(d.Detail, d.Runs)
			if d.Asks {
				state, why = asks, d.Runs
			}
			s.add(userfiles.File{Kind: servers, Name: d.Name, Origin: origin(d.Origin), Path: d.File, State: state, Why: why})
		}
		s.Problems = append(s.Problems, notes...)
	}
	in := &opts.Instructions
	set := hooks.Load(hooks.Options{UserDir: in.UserDir, Roots: roots, Home: in.Home, Trust: opts.Trust, Plugins: userfiles.ActiveOf(ctx, opts.Plugins)})
	for _, h := range set.List() {
		var events []string
		for _, e := range h.Events {
			events = append(events, string(e))
		}
		s.add(userfiles.File{Kind: hook, Name: strings.Join(events, ","), Origin: h.Origin, Path: h.At, State: userfiles.State(h.State), Why: h.Runs})
	}
	s.Problems = append(s.Problems, set.Problems...)
	for _, dir := range append(roots[:len(roots):len(roots)], in.Home) {
		if dir == "" {
			continue
		}
		s.unread(filepath.Join(dir, ".cursor", "hooks.json"), "Cursor", func([]byte) bool { return true })
		s.unread(filepath.Join(dir, ".gemini", "settings.json"), "Gemini CLI", func(data []byte) bool {
			n, err := configfile.ParseJSONC(data)
			return err == nil && n != nil && n.Kind == configfile.Object && n.Member("hooks") != nil
		})
	}
}

// unread adds a file of another program if it has hooks, which gjc does not run.
func (s *Survey) unread(path, origin string, hasHooks func(data []byte) bool) {
	if data, err := configfile.ReadFile(path); err == nil && hasHooks(data) {
		s.add(userfiles.File{Kind: hook, Origin: origin, Path: path, Bytes: len(data), State: userfiles.Refused, Why: "gjc does not run hooks of " + origin + "; write them to .gjc/hooks.yml"})
	}
}

// origin returns the name of a program as the other kinds have it.
func origin(dialect string) string {
	switch dialect {
	case "claude":
		return "Claude Code"
	case "vscode":
		return "VS Code"
	case "cursor":
		return "Cursor"
	case "gemini":
		return "Gemini CLI"
	case "codex":
		return "Codex"
	default:
		return dialect
	}
}

func (s *Survey) add(f userfiles.File) {
	s.Files = append(s.Files, File{f.Kind, f.Name, f.Origin, f.Path, f.Bytes, f.State, f.Why})
}

// JSON writes the survey as JSON.
func (s *Survey) JSON(w io.Writer) error {
	data, err := jsonx.Marshal(s)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", data)
	return err
}

// Text writes the survey as a table. Paths in cwd and in home are short.
func (s *Survey) Text(w io.Writer, cwd, home string) error {
	if len(s.Files) == 0 {
		_, err := fmt.Fprintln(w, "There are no instructions here. Write an AGENTS.md: docs/instructions.md names all places.")
		return err
	}
	short := func(text string) string {
		for _, one := range []struct{ dir, mark string }{{cwd, ""}, {home, "~" + string(filepath.Separator)}} {
			if one.dir != "" && one.dir != string(filepath.Separator) {
				text = strings.ReplaceAll(text, one.dir+string(filepath.Separator), one.mark)
			}
		}
		return trust.Printable(text)
	}
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "KIND\tNAME\tBYTES\tSTATE\tFILE\tORIGIN\tNOTE")
	for i := range s.Files {
		f := &s.Files[i]
		size := "-" // a server or a hook is a part of a file
		if f.Bytes > 0 || f.Kind != servers && f.Kind != hook {
			size = strconv.Itoa(f.Bytes)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", f.Kind, cmp.Or(short(f.Name), "-"), size, f.State, short(f.Path), f.Origin, cmp.Or(short(f.Why), "-"))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nEvery prompt has %d bytes of instructions and rules; instructions are limited to %d KiB.\n", s.Prompt, s.Limit>>10)
	for _, p := range s.Problems {
		if err == nil {
			_, err = fmt.Fprintln(w, "Problem: "+short(p))
		}
	}
	return err
}
