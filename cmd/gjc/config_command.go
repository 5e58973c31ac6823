package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/gajae-code/gjc/agent/instructions"
	"github.com/gajae-code/gjc/agent/userfiles"
	"github.com/gajae-code/gjc/bridges"
	"github.com/gajae-code/gjc/cmd/gjc/internal/config"
	"github.com/gajae-code/gjc/cmd/gjc/internal/survey"
	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/lockedfile"
	"github.com/gajae-code/gjc/internal/trust"
	"github.com/gajae-code/gjc/providers/registry"
)

// effective is one setting in the output of "config --json".
type effective struct {
	Name  string `json:"name"`
	Value any    `json:"value"`
	// Origin is "default", "user file", "project file", "flag" or "environment"; Source is the file, flag or variable.
	Origin string `json:"origin"`
	Source string `json:"source,omitzero"`
	Line   int    `json:"line,omitzero"`
}

// readFile is a file of settings in the output of "config --json".
type readFile struct {
	Path   string `json:"path"`
	Origin string `json:"origin"`
	Exists bool   `json:"exists"`
}

// shownMistake is a mistake in the output of "config --json".
type shownMistake struct {
	Path    string `json:"path"`
	Line    int    `json:"line,omitzero"`
	Column  int    `json:"column,omitzero"`
	Setting string `json:"setting,omitzero"`
	Reason  string `json:"reason"`
	Until   string `json:"until,omitzero"`
}

func newConfigCommand(h *host, opts *options) *cobra.Command {
	asJSON, told := false, false
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print the effective settings or the instructions of this directory and their sources",
		Long: "config prints the settings of a session in this directory: those of config.yml, of .gjc/config.yml here, of the files of --config, of flags and of the environment. " +
			"Keys and passwords are not printed. The exit status is 1 if a file has an error.\n\n" +
			"With --instructions it prints the files from which a session here gets instructions, rules, commands, skills, helpers and prompts: for each its size, " +
			"whether it is used, and the reason if it is not.",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := h.agentDir(opts.agentDir)
			if err != nil {
				return err
			}
			cwd, err := os.Getwd()
			if err != nil {
				return err
			}
			cfg := config.Read(dir, opts.configs, cwd)
			if told {
				return printInstructions(cmd.Context(), h, cfg, dir, cwd, asJSON)
			}
			settings := append([]config.Value{h.agentDirSetting(dir, opts)}, h.effective(cfg, opts)...)
			if asJSON {
				err = printConfigJSON(h.stdout, cfg, settings)
			} else {
				err = printConfig(h.stdout, settings)
			}
			if err != nil || cfg.Err() == nil {
				return err
			}
			if !asJSON {
				fmt.Fprintln(h.stderr, "gjc: the configuration has errors:")
				fmt.Fprintln(h.stderr, cfg.Err())
			}
			return errReported
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&told, "instructions", false, "print the files of instructions, rules, commands, skills and helpers, the MCP servers and the hooks instead")
	cmd.AddCommand(newConfigSet(h, opts))
	return cmd
}

// printInstructions prints the files that instruct sessions in a directory.
func printInstructions(ctx context.Context, h *host, cfg *config.Config, dir, cwd string, asJSON bool) error {
	home, _ := h.home() // without one there are no files of other programs
	servers := mcpOptions(h, dir, []string{cwd})
	servers.Plugins = pluginsOf(h, dir)([]string{cwd})
	servers.Disabled = func() bool { return !cfg.DiscoverMCP }
	found := survey.Read(ctx, &survey.Options{Instructions: instructionsIn(h, cfg, dir, home, cwd), Skills: skillsIn(h, cfg), Trust: servers.Trust, Plugins: servers.Plugins, MCP: &servers})
	if asJSON {
		return found.JSON(h.stdout)
	}
	return found.Text(h.stdout, cwd, home)
}

// codexHome returns the directory that the user has chosen for Codex's files; empty for the usual one.
func codexHome(h *host) string {
	if dir := h.getenv("CODEX_HOME"); filepath.IsAbs(dir) {
		return filepath.Clean(dir)
	}
	return ""
}

// instructionsIn returns where the instructions of sessions in a directory are.
func instructionsIn(h *host, cfg *config.Config, dir, home, cwd string) instructions.Options {
	opts := instructions.Options{
		Files: bridges.LocalFS{}, Cwd: cwd, UserDir: dir, Home: home, CodexHome: codexHome(h), Top: home, OS: runtime.GOOS, Limits: cfg.Context.InstructionLimits,
	}
	for _, one := range cfg.Context.Instructions {
		opts.Texts = append(opts.Texts, instructions.Item{File: userfiles.File{Origin: "gjc", Path: one.Path}, Text: one.Text})
	}
	return opts
}

func newConfigSet(h *host, opts *options) *cobra.Command {
	return &cobra.Command{
		Use:   "set KEY [VALUE]",
		Short: "Change a setting in config.yml, and keep the rest as it is",
		Long: "set changes a setting in config.yml of the agent directory. Comments, the order and the style of the file stay. VALUE is YAML; without it, the value is read from stdin, " +
			"so that a token is in no history of a shell.",
		Example: `  gjc config set lsp.enabled false
  gjc config set modelRoles.default anthropic/claude-sonnet-5-5:high
  gjc config set network.noProxy "[a.example, b.example]"`,
		Args: usageArgs(cobra.RangeArgs(1, 2)),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return completeSetting(args), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			value := ""
			if len(args) == 2 {
				value = args[1]
			} else {
				if isTerminal(h.stdin) {
					fmt.Fprintf(h.stderr, "The value of %s, then Ctrl-D:\n", trust.Printable(args[0]))
				}
				data, err := io.ReadAll(io.LimitReader(h.stdin, maxValue))
				if err != nil {
					return fmt.Errorf("reading the value from stdin: %w", err)
				}
				value = strings.TrimRight(string(data), "\r\n")
			}
			return setConfig(cmd.Context(), h, opts, args[0], value)
		},
	}
}

// maxValue bounds the value of a setting, in bytes.
const maxValue = 64 << 10

// setConfig changes a setting of the user's config.yml.
func setConfig(ctx context.Context, h *host, opts *options, key, value string) error {
	dir, err := h.agentDir(opts.agentDir)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, config.FileName)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // a link into a directory of dotfiles stays one
	}
	err = lockedfile.New(path).Change(ctx, func([]byte) ([]byte, error) {
		// Unlike the data of Change, this is no pipe, and is bounded.
		data, err := configfile.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		edited, err := config.Set(data, key, value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return edited, nil
	})
	if err != nil {
		if errors.Is(err, config.ErrKey) || errors.Is(err, config.ErrValue) {
			err = fmt.Errorf("%w: %w", errUsage, err)
		}
		return err
	}
	fmt.Fprintf(h.stdout, "Set %s in %s.\n", trust.Printable(key), trust.Printable(path))
	cwd, err := os.Getwd()
	if err != nil {
		return err
	}
	cfg := config.Read(dir, opts.configs, cwd)
	for _, v := range h.effective(cfg, opts) {
		if v.Name == key && v.Kind != config.FromUser && !strings.HasPrefix(key, "permissions.") {
			fmt.Fprintf(h.stdout, "Here, another value applies: that of the %s.\n", trust.Printable(v.String()))
		}
	}
	return nil
}

// completeSetting returns the completions of the next argument of "config set".
func completeSetting(args []string) []cobra.Completion {
	var all []cobra.Completion
	for _, key := range config.Keys() {
		switch {
		case len(args) == 0:
			all = append(all, cobra.CompletionWithDesc(strings.TrimSuffix(key.Name, "ROLE"), key.About))
		case key.Name == args[0]:
			all = key.Values()
		}
	}
	return all
}

func (h *host) agentDirSetting(dir string, opts *options) config.Value {
	v := config.Value{Name: "agentDir", Value: dir, Origin: config.Origin{Kind: config.FromDefault}}
	switch {
	case opts.agentDir != "":
		v.Origin = config.Origin{Kind: config.FromFlag, Name: "--agent-dir"}
	case h.getenv("GJC_CODING_AGENT_DIR") != "":
		v.Origin = config.Origin{Kind: config.FromEnvironment, Name: "GJC_CODING_AGENT_DIR"}
	case h.getenv("GJC_CONFIG_DIR") != "":
		v.Origin = config.Origin{Kind: config.FromEnvironment, Name: "GJC_CONFIG_DIR"}
	}
	return v
}

// effective returns the effective settings, sorted by name. A flag or variable that overrides a file's value replaces
// it.
func (h *host) effective(cfg *config.Config, opts *options) []config.Value {
	values := cfg.Values()
	maps.Copy(values, h.overrides(cfg, opts))
	all := make([]config.Value, 0, len(values)+len(cfg.Permissions))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		all = append(all, values[name])
	}
	return append(all, cfg.Rules()...)
}

// overrides returns the settings that a flag or the environment sets.
func (h *host) overrides(cfg *config.Config, opts *options) map[string]config.Value {
	all := make(map[string]config.Value)
	flag := func(name, setting string, value any) {
		all[setting] = config.Value{Name: setting, Value: value, Origin: config.Origin{Kind: config.FromFlag, Name: name}}
	}
	variable := func(name, setting string, value any) {
		all[setting] = config.Value{Name: setting, Value: value, Origin: config.Origin{Kind: config.FromEnvironment, Name: name}}
	}
	for role, name := range roleVariables {
		if v := h.getenv(name); v != "" {
			variable(name, "modelRoles."+role, v)
		}
	}
	if opts.model != "" {
		flag("--model", "modelRoles."+registry.RoleDefault, opts.model)
	}
	if opts.profile != "" {
		flag("--mpreset", "modelProfile.default", opts.profile)
	}
	if opts.apiKey != "" {
		flag("--api-key", "apiKey", config.Hidden(opts.apiKey))
	}
	if opts.noLSP {
		flag("--no-lsp", "lsp.enabled", false)
	}
	if h.getenv(noTitleVariable) != "" {
		variable(noTitleVariable, "title.generate", false)
	}
	// The environment applies only if the files set nothing.
	for _, one := range []struct {
		setting string
		is      string
		names   []string
		show    func(string) string
	}{
		{"network.proxy", cfg.Network.Proxy, []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"}, config.Redacted},
		{"network.noProxy", cfg.Network.Proxy, []string{"NO_PROXY", "no_proxy"}, strings.Clone},
		{"searxng.endpoint", cfg.Tools.WebSearch.SearXNG, []string{"SEARXNG_ENDPOINT", "SEARXNG_BASE_URL"}, config.Redacted},
		{"searxng.token", cfg.Tools.WebSearch.Keys["searxng"], []string{"SEARXNG_TOKEN"}, config.Hidden},
		{"searxng.basicUsername", cfg.Tools.WebSearch.User, []string{"SEARXNG_BASIC_USERNAME"}, strings.Clone},
		{"searxng.basicPassword", cfg.Tools.WebSearch.Password, []string{"SEARXNG_BASIC_PASSWORD"}, config.Hidden},
	} {
		for i := len(one.names) - 1; i >= 0 && one.is == ""; i-- {
			if v := h.getenv(one.names[i]); v != "" {
				variable(one.names[i], one.setting, one.show(v))
			}
		}
	}
	return all
}

func printConfig(out io.Writer, settings []config.Value) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "SETTING\tVALUE\tFROM")
	for _, e := range settings {
		text, err := jsonx.Marshal(e.Value)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", trust.Printable(e.Name), trust.Printable(string(text)), trust.Printable(e.String()))
	}
	return w.Flush()
}

func printConfigJSON(out io.Writer, cfg *config.Config, settings []config.Value) error {
	all := struct {
		Files    []readFile     `json:"files"`
		Settings []effective    `json:"settings"`
		Mistakes []shownMistake `json:"mistakes"`
	}{Settings: []effective{}, Files: []readFile{}, Mistakes: []shownMistake{}}
	for _, v := range settings {
		all.Settings = append(all.Settings, effective{v.Name, v.Value, string(v.Kind), v.Origin.Name, v.Line})
	}
	for _, f := range cfg.Files {
		all.Files = append(all.Files, readFile{f.Path, string(f.Kind), f.There})
	}
	for _, e := range cfg.Mistakes {
		all.Mistakes = append(all.Mistakes, shownMistake{e.Path, e.Line, e.Column, e.Field, e.Reason, e.Until})
	}
	text, err := jsonx.Marshal(all)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\n", text)
	return err
}
