package config

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/internal/workspace"
)

// Files returns the names of the files in a workspace that configure debug adapters, with slashes.
func Files() []string { return append(configfile.ProjectFiles(subject), launchFile) }

// launchFile is the file with the editor's debug configurations, relative to a root.
const launchFile = ".vscode/launch.json"

// Summary is a list entry for a configuration of launch.json.
type Summary struct {
	Name, Type, Request string
	// Root is the directory of the workspace, File and Line are the position of the configuration.
	Root, File string
	Line       int
	// Compound has the names of the configurations in a compound; nil for a plain configuration.
	Compound []string
	// Why is the reason why the configuration cannot be used. It is empty if no reason is known before the start.
	Why string
}

// Configuration is a configuration of launch.json with its variables replaced.
type Configuration struct {
	// Name and Type are as in the file; Request is "launch" or "attach".
	Name, Type, Request string
	// Adapter is the value for the Adapter field of [dap.Wanted].
	Adapter string
	Root    string
	File    string
	Line    int
	// Arguments are the arguments of the request, without the members for the editor.
	Arguments map[string]any
	// Notes are sentences for the reader: what was omitted, and what to do instead.
	Notes []string
	// Runs are sentences for the user: what the configuration runs or changes in addition to the program and its arguments.
	Runs []string
	// Secrets are the answers to password inputs. The arguments contain them; they must not be shown.
	Secrets []string
}

// Resolve has the values for variables of launch.json.
type Resolve struct {
	// File is the file for ${file} and similar variables, absolute; empty for none.
	File string
	// Dir is ${cwd}, absolute; empty for the root.
	Dir string
	// PID is the process to attach to, without asking the user; zero for none.
	PID int
	// Ask asks the user for an input. If nil, a configuration with inputs cannot be used.
	Ask func(ctx context.Context, in Input) (string, error)
}

// Input is a question of launch.json to the user.
type Input struct {
	ID, Description, Default string
	// Password says that the answer must not be shown.
	Password bool
	// Options are the choices; nil for any text.
	Options []InputOption
}

// InputOption is a choice. Value is the answer; Label is shown to the user.
type InputOption struct{ Label, Value string }

// An UnknownConfigurationError is the error for a configuration that no launch.json contains.
type UnknownConfigurationError struct {
	Name string
	// Hint is a similar name; Names are all names.
	Hint  string
	Names []string
	// Problems are errors in the files, which may be why the name is missing.
	Problems []string
}

func (e *UnknownConfigurationError) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "No configuration %q in %s.", e.Name, launchFile)
	if e.Hint != "" {
		fmt.Fprintf(&text, " Did you mean %q?", e.Hint)
	}
	if len(e.Names) > 0 {
		text.WriteString(" The configurations are: " + strings.Join(e.Names, ", ") + ".")
	}
	for _, p := range configfile.Shorten(e.Problems, 3) {
		text.WriteString(" " + p + ".")
	}
	return text.String()
}

// launchEntry is a configuration before its variables are replaced.
type launchEntry struct {
	Summary
	node   *configfile.Node
	inputs *configfile.Node
}

// readLaunch reads the file of a root.
func readLaunch(root, goos string) (entries []launchEntry, problems []string) {
	f := &configfile.File{Path: filepath.Join(root, filepath.FromSlash(launchFile))}
	if root == "" || !f.Read() || f.Data == nil {
		return nil, f.Problems
	}
	entries = parseLaunch(f, root, goos)
	return entries, f.Problems
}

// parseLaunch parses the file's data. Errors are added to the problems of the file; the rest is used.
func parseLaunch(f *configfile.File, root, goos string) []launchEntry {
	top, err := configfile.ParseJSONC(f.Data)
	if err != nil {
		f.Broken(err)
		return nil
	}
	if top == nil {
		return nil
	}
	if top.Kind != configfile.Object {
		f.Problem(top.Line, "the file must be an object with configurations, not %s; it is not used", top.Kind)
		return nil
	}
	var all []launchEntry
	for _, section := range []string{"configurations", "compounds"} {
		list := top.Member(section)
		if list == nil {
			continue
		}
		if list.Kind != configfile.List {
			f.Problem(list.Line, "%s must be a list, not %s", section, list.Kind)
			continue
		}
		for _, n := range list.List {
			if e, ok := parseEntry(f, n, section == "compounds", goos); ok {
				e.Root, e.File, e.inputs = root, f.Path, top.Member("inputs")
				all = append(all, e)
			}
		}
	}
	if top.Member("configurations") == nil && len(top.Members) > 0 {
		names := make([]string, len(top.Members))
		for i, m := range top.Members {
			names[i] = m.Name
		}
		if near := text.Near("configurations", names); near != "" {
			f.Problem(top.Line, "the file has %s but no configurations; did you mean configurations?", configfile.Quote(near))
		}
	}
	return all
}

// systems maps GOOS to the member with settings for that operating system only.
var systems = map[string]string{"linux": "linux", "darwin": "osx", "windows": "windows"}

func parseEntry(f *configfile.File, n *configfile.Node, compound bool, goos string) (e launchEntry, ok bool) {
	if n.Kind != configfile.Object {
		f.Problem(n.Line, "a configuration must be an object, not %s", n.Kind)
		return e, false
	}
	if own := n.Member(systems[goos]); own != nil {
		if own.Kind == configfile.Object {
			n = own.Over(n)
		} else {
			f.Problem(own.Line, "%s must be an object, not %s; it is not used", systems[goos], own.Kind)
		}
	}
	e = launchEntry{Summary: Summary{Name: n.TextOf("name"), Type: n.TextOf("type"), Request: n.TextOf("request"), Line: n.Line}, node: n}
	if e.Name == "" {
		f.Problem(n.Line, "a configuration has no name; it is not used")
		return e, false
	}
	if compound {
		e.Compound = []string{}
		if parts := n.Member("configurations"); parts != nil {
			for _, part := range parts.List {
				if name := part; name.Kind == configfile.Object {
					part = name.Member("name")
				}
				if part != nil && part.Kind == configfile.Text {
					e.Compound = append(e.Compound, part.Text)
				}
			}
		}
		e.Why = "it is a compound; start its configurations one after another: " + strings.Join(e.Compound, ", ")
		return e, true
	}
	switch {
	case e.Type == "":
		e.Why = "it has no type"
		f.Problem(n.Line, "configuration %s has no type", configfile.Quote(e.Name))
	case e.Request != "launch" && e.Request != "attach":
		e.Why = `its request must be "launch" or "attach"`
		f.Problem(n.Line, "request of configuration %s must be launch or attach", configfile.Quote(e.Name))
	}
	return e, true
}

// launches returns all configurations of all roots.
func (s *snapshot) launches() (all []launchEntry, problems []string) {
	for _, ws := range s.Projects {
		entries, wrong := readLaunch(ws.Root, s.GOOS)
		problems = append(problems, wrong...)
		for _, e := range entries {
			if e.Why == "" && len(ofType(adapterType(e), ws.Defs)) == 0 && len(named(e.Type, ws.Defs)) == 0 {
				e.Why = "no debug adapter for the type " + configfile.Quote(e.Type) + configfile.Suggestion(e.Type, types(ws.Defs))
			}
			all = append(all, e)
		}
	}
	return all, problems
}

// types returns all types of launch.json that have an adapter.
func types(defs []*definition) []string {
	var all []string
	for _, d := range defs {
		all = append(all, d.Strings("types")...)
	}
	return all
}

// adapterType returns the type or name that selects the adapter of a configuration.
func adapterType(e launchEntry) string {
	if mode := e.node.Member("MIMode"); e.Type == "cppdbg" && mode != nil && mode.Text == "lldb" {
		return kindLLDB
	}
	return e.Type
}

// Configurations returns the configurations in the launch.json files of the workspace, and the errors in these files.
func (c *Catalog) Configurations(ctx context.Context) (list []Summary, problems []string, err error) {
	s, err := c.Acquire(ctx, workspace.MaxAge)
	if err != nil {
		return nil, nil, err
	}
	defer c.Release()
	entries, problems := s.launches()
	for _, e := range entries {
		list = append(list, e.Summary)
	}
	return list, problems, nil
}

// Configuration returns the configuration with a name, with its variables replaced. If no name is equal, it ignores case,
// provided that only one name matches. Otherwise the error is an [*UnknownConfigurationError].
func (c *Catalog) Configuration(ctx context.Context, name string, with Resolve) (*Configuration, error) {
	s, err := c.Acquire(ctx, workspace.MaxAge)
	if err != nil {
		return nil, err
	}
	entries, problems := s.launches()
	env, home := s.Env, s.Home
	c.Release() // the user may take long to answer
	e, err := findEntry(name, entries, problems)
	if err != nil {
		return nil, err
	}
	if e.Why != "" {
		return nil, fmt.Errorf("%s:%d: configuration %s cannot be used: %s", e.File, e.Line, configfile.Quote(e.Name), e.Why)
	}
	r := &resolver{
		Resolve: with, goos: c.Options.GOOS, root: e.Root, roots: c.Options.Roots, home: home, env: env, inputs: e.inputs, answers: make(map[string]string),
	}
	return r.configuration(ctx, e)
}

// findEntry returns the entry with a name.
func findEntry(name string, entries []launchEntry, problems []string) (*launchEntry, error) {
	var names []string
	var ignoringCase []*launchEntry
	for i := range entries {
		if entries[i].Name == name {
			return &entries[i], nil
		}
		if strings.EqualFold(strings.TrimSpace(entries[i].Name), strings.TrimSpace(name)) {
			ignoringCase = append(ignoringCase, &entries[i])
		}
		names = append(names, entries[i].Name)
	}
	if len(ignoringCase) == 1 {
		return ignoringCase[0], nil
	}
	return nil, &UnknownConfigurationError{Name: name, Hint: text.Near(name, names), Names: names, Problems: problems}
}

// editorMembers are the members of a configuration that are for the editor.
var editorMembers = []string{
	"name", "type", "request", "presentation", "preLaunchTask", "postDebugTask", "internalConsoleOptions", "serverReadyAction", "suppressMultipleSessionWarning",
	"linux", "osx", "windows", "$schema", "debugAdapter", "askParameters",
}

// configuration replaces the variables of an entry.
func (r *resolver) configuration(ctx context.Context, e *launchEntry) (*Configuration, error) {
	made := &Configuration{
		Name: e.Name, Type: e.Type, Request: e.Request, Adapter: adapterType(*e), Root: e.Root, File: e.File, Line: e.Line, Arguments: make(map[string]any),
	}
	for _, m := range e.node.Members {
		if slices.Contains(editorMembers, m.Name) {
			continue
		}
		if v, ok := r.value(ctx, m.Value); ok {
			made.Arguments[m.Name] = v
		}
	}
	if len(r.errs) > 0 {
		return nil, fmt.Errorf("%s:%d: configuration %s cannot be used: %w", e.File, e.Line, configfile.Quote(e.Name), r.errs[0])
	}
	if task := e.node.Member("preLaunchTask"); task != nil {
		made.Notes = append(made.Notes, "the editor would run the task "+taskName(task)+" first (preLaunchTask, in tasks.json); run its command with bash before launching")
	}
	r.makeAbsolute(made.Arguments)
	hidden := r.envFile(made.Arguments)
	made.Notes = append(made.Notes, r.notes...)
	if names := removeSecrets(made.Arguments); len(names) > 0 {
		made.Notes = append(made.Notes, strings.Join(names, ", ")+": removed from the program's environment, like all provider keys")
	}
	made.Secrets = r.secrets
	shown := cloneMap(made.Arguments)
	if env, ok := shown["env"].(map[string]any); ok {
		for _, name := range hidden {
			if _, ok := env[name]; ok {
				env[name] = "…"
			}
		}
	}
	made.Runs = Runs(shown)
	for i := range made.Runs {
		for _, secret := range made.Secrets {
			made.Runs[i] = strings.ReplaceAll(made.Runs[i], secret, "…")
		}
	}
	return made, nil
}

func taskName(task *configfile.Node) string {
	if task.Kind == configfile.Text {
		return configfile.Quote(task.Text)
	}
	return string(task.JSON())
}
