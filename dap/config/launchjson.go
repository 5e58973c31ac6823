package config

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/text"
)

// launchFile is where editors keep what to debug, below a root.
const launchFile = ".vscode/launch.json"

// Summary is a configuration of launch.json in a list.
type Summary struct {
	Name, Type, Request string
	// Root is the workspace's directory that it is of, File and Line the place.
	Root, File string
	Line       int
	// Compound has the names of the configurations that a compound stands for; nil for a plain configuration.
	Compound []string
	// Why says why it can not be used; empty where it can, as far as that is known without starting it.
	Why string
}

// Configuration is a configuration of launch.json with its variables filled in.
type Configuration struct {
	// Name and Type are as in the file; Request is "launch" or "attach".
	Name, Type, Request string
	// Adapter is what [dap.Wanted] needs to find the adapter.
	Adapter string
	Root    string
	File    string
	Line    int
	// Arguments are those of the request, without what is the editor's.
	Arguments map[string]any
	// Notes are what the reader should know: what was left out, and what to do in its place.
	Notes []string
	// Runs says for people what the configuration makes run, or changes in what runs, besides the program and its arguments.
	Runs []string
	// Secrets are answers to inputs that are passwords. They are among the arguments and must not be shown.
	Secrets []string
}

// Resolve is what variables of launch.json are filled in with.
type Resolve struct {
	// File is the file that ${file} and the like are about, absolute; empty for none.
	File string
	// Dir is ${cwd}, absolute; empty for the root.
	Dir string
	// PID is the process that the user would be asked to pick; zero for none.
	PID int
	// Ask asks the user for an input. If nil, a configuration with inputs can not be used.
	Ask func(ctx context.Context, in Input) (string, error)
}

// Input is a question of launch.json to the user.
type Input struct {
	ID, Description, Default string
	// Password says that the answer must not be shown.
	Password bool
	// Options are what the user has to choose from; nil for any text.
	Options []InputOption
}

// InputOption is one of the things to choose from. The value is the answer; the label is for people.
type InputOption struct{ Label, Value string }

// An UnknownConfigurationError says that no launch.json has a configuration of that name.
type UnknownConfigurationError struct {
	Name string
	// Hint is the name that may have been meant; Names are those that there are.
	Hint  string
	Names []string
	// Problems are faults of the files, because of which some may be missing.
	Problems []string
}

func (e *UnknownConfigurationError) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "There is no configuration %q in %s.", e.Name, launchFile)
	if e.Hint != "" {
		fmt.Fprintf(&text, " Did you mean %q?", e.Hint)
	}
	if len(e.Names) > 0 {
		text.WriteString(" There are: " + strings.Join(e.Names, ", ") + ".")
	}
	for _, p := range configfile.Shorten(e.Problems, 3) {
		text.WriteString(" " + p + ".")
	}
	return text.String()
}

// launchEntry is a configuration as it stands in a file.
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

// parseLaunch reads the file's data. What is wrong is told, and the rest is used.
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
			f.Problem(top.Line, "the file has %s and no configurations; did you mean that?", configfile.Quote(near))
		}
	}
	return all
}

// systems are the members that hold for one operating system only.
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
	text := func(name string) string {
		if v := n.Member(name); v != nil && v.Kind == configfile.Text {
			return v.Text
		}
		return ""
	}
	e = launchEntry{Summary: Summary{Name: text("name"), Type: text("type"), Request: text("request"), Line: n.Line}, node: n}
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
		e.Why = "it stands for several configurations; start them one after another: " + strings.Join(e.Compound, ", ")
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
	for _, ws := range s.projects {
		entries, wrong := readLaunch(ws.Root, s.GOOS)
		problems = append(problems, wrong...)
		for _, e := range entries {
			if e.Why == "" && len(ofType(adapterType(e), ws.defs)) == 0 && len(named(e.Type, ws.defs)) == 0 {
				e.Why = "no debug adapter is for the type " + configfile.Quote(e.Type) + configfile.Meant(e.Type, types(ws.defs))
			}
			all = append(all, e)
		}
	}
	return all, problems
}

// types are all names by which launch.json knows adapters.
func types(defs []*definition) []string {
	var all []string
	for _, d := range defs {
		all = append(all, d.Strings("types")...)
	}
	return all
}

// adapterType is the type or the name by which a configuration's adapter is found.
func adapterType(e launchEntry) string {
	if mode := e.node.Member("MIMode"); e.Type == "cppdbg" && mode != nil && mode.Text == "lldb" {
		return kindLLDB
	}
	return e.Type
}

// Configurations lists what the launch.json files of the workspace have, with the faults of these files.
func (c *Catalog) Configurations(ctx context.Context) (list []Summary, problems []string, err error) {
	s, err := c.enter(ctx, c.opts.MaxAge)
	if err != nil {
		return nil, nil, err
	}
	defer c.leave()
	entries, problems := s.launches()
	for _, e := range entries {
		list = append(list, e.Summary)
	}
	return list, problems, nil
}

// Configuration returns the configuration of a name with its variables filled in. Capitals do not count where only one name
// is meant then. Where there is none the error is an [*UnknownConfigurationError].
func (c *Catalog) Configuration(ctx context.Context, name string, with Resolve) (*Configuration, error) {
	s, err := c.enter(ctx, c.opts.MaxAge)
	if err != nil {
		return nil, err
	}
	entries, problems := s.launches()
	env, home := s.Env, s.Home
	c.leave() // the user may take long to answer
	e, err := pick(name, entries, problems)
	if err != nil {
		return nil, err
	}
	if e.Why != "" {
		return nil, fmt.Errorf("%s:%d: configuration %s can not be used: %s", e.File, e.Line, configfile.Quote(e.Name), e.Why)
	}
	r := &resolver{
		Resolve: with, goos: c.opts.GOOS, root: e.Root, roots: c.opts.Roots, home: home, env: env, inputs: e.inputs, answers: make(map[string]string),
	}
	return r.configuration(ctx, e)
}

// pick returns the entry of a name.
func pick(name string, entries []launchEntry, problems []string) (*launchEntry, error) {
	var names []string
	var loosely []*launchEntry
	for i := range entries {
		if entries[i].Name == name {
			return &entries[i], nil
		}
		if strings.EqualFold(strings.TrimSpace(entries[i].Name), strings.TrimSpace(name)) {
			loosely = append(loosely, &entries[i])
		}
		names = append(names, entries[i].Name)
	}
	if len(loosely) == 1 {
		return loosely[0], nil
	}
	return nil, &UnknownConfigurationError{Name: name, Hint: text.Near(name, names), Names: names, Problems: problems}
}

// editors are members of a configuration that are about the editor.
var editors = []string{
	"name", "type", "request", "presentation", "preLaunchTask", "postDebugTask", "internalConsoleOptions", "serverReadyAction", "suppressMultipleSessionWarning",
	"linux", "osx", "windows", "$schema", "debugAdapter", "askParameters",
}

// configuration fills in the variables of an entry.
func (r *resolver) configuration(ctx context.Context, e *launchEntry) (*Configuration, error) {
	made := &Configuration{
		Name: e.Name, Type: e.Type, Request: e.Request, Adapter: adapterType(*e), Root: e.Root, File: e.File, Line: e.Line, Arguments: make(map[string]any),
	}
	for _, m := range e.node.Members {
		if slices.Contains(editors, m.Name) {
			continue
		}
		if v, ok := r.value(ctx, m.Value); ok {
			made.Arguments[m.Name] = v
		}
	}
	if len(r.faults) > 0 {
		return nil, fmt.Errorf("%s:%d: configuration %s can not be used: %w", e.File, e.Line, configfile.Quote(e.Name), r.faults[0])
	}
	if task := e.node.Member("preLaunchTask"); task != nil {
		made.Notes = append(made.Notes, "the editor would run the task "+taskName(task)+" first (preLaunchTask; tasks.json has it); run its command with bash before this")
	}
	r.absolute(made.Arguments)
	hidden := r.envFile(made.Arguments)
	made.Notes = append(made.Notes, r.notes...)
	if names := scrub(made.Arguments); len(names) > 0 {
		made.Notes = append(made.Notes, strings.Join(names, ", ")+": kept from the program, as gjc's own keys are")
	}
	made.Secrets = r.secrets
	shown := cloneMap(made.Arguments)
	if env, ok := shown["env"].(map[string]any); ok {
		for _, name := range hidden {
			if _, kept := env[name]; kept {
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
