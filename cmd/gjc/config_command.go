package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/trust"
	"github.com/gajae-code/gjc/providers/registry"
)

// effective is one setting with its value and source.
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
	asJSON := false
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print the effective settings of this directory and their sources",
		Long: "config prints the settings of a session in this directory: those of config.yml, of .gjc/config.yml here, of the files of --config, of flags and of the environment. " +
			"Keys and passwords are not printed. The exit status is 1 if a file has an error.",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			dir, err := h.agentDir(opts.agentDir)
			if err != nil {
				return err
			}
			cwd, err := os.Getwd()
			if err != nil {
				return err
			}
			cfg := readConfig(dir, opts.configs, cwd)
			settings := append([]effective{h.agentDirSetting(dir, opts)}, h.effective(cfg, opts)...)
			if asJSON {
				err = printConfigJSON(h.stdout, cfg, settings)
			} else {
				err = printConfig(h.stdout, settings)
			}
			if err != nil || cfg.err() == nil {
				return err
			}
			if !asJSON {
				fmt.Fprintln(h.stderr, "gjc: the configuration has errors:")
				fmt.Fprintln(h.stderr, cfg.err())
			}
			return errReported
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (h *host) agentDirSetting(dir string, opts *options) effective {
	e := effective{Name: "agentDir", Value: dir, Origin: string(fromDefault)}
	switch {
	case opts.agentDir != "":
		e.Origin, e.Source = string(fromFlag), "--agent-dir"
	case h.getenv("GJC_CODING_AGENT_DIR") != "":
		e.Origin, e.Source = string(fromEnvironment), "GJC_CODING_AGENT_DIR"
	case h.getenv("GJC_CONFIG_DIR") != "":
		e.Origin, e.Source = string(fromEnvironment), "GJC_CONFIG_DIR"
	}
	return e
}

// effective returns the effective settings, sorted by name. A flag or variable that overrides a file's value replaces
// it.
func (h *host) effective(cfg *config, opts *options) []effective {
	values := make(map[string]effective)
	put := func(name string, value any, from origin) {
		values[name] = effective{Name: name, Value: value, Origin: string(cmp.Or(from.Kind, fromDefault)), Source: from.Name, Line: from.Line}
	}
	for section, known := range cfg.sections() {
		for name, s := range known.settings {
			if section != "permissions" {
				put(section+"."+name, s.get(), cfg.origins[section+"."+name])
			}
		}
	}
	for name, s := range cfg.lists("") {
		put(name, s.get(), cfg.origins[name])
	}
	for name, over := range h.overrides(cfg, opts) {
		put(name, over.value, over.from)
	}
	all := make([]effective, 0, len(values)+len(cfg.permissions))
	for _, name := range sortedKeys(values) {
		all = append(all, values[name])
	}
	verdicts := map[approval.Verdict]string{approval.Allow: "allow", approval.Ask: "ask", approval.Deny: "deny"}
	for i := range cfg.permissions {
		r, from := &cfg.permissions[i], cfg.ruleOrigins[i]
		all = append(all, effective{Name: "permissions." + verdicts[r.Verdict], Value: r.Text, Origin: string(from.Kind), Source: from.Name, Line: from.Line})
	}
	return all
}

type override struct {
	value any
	from  origin
}

// overrides returns the settings that a flag or the environment sets.
func (h *host) overrides(cfg *config, opts *options) map[string]override {
	all := make(map[string]override)
	flag := func(name, setting string, value any) {
		all[setting] = override{value, origin{Kind: fromFlag, Name: name}}
	}
	variable := func(name, setting string, value any) {
		all[setting] = override{value, origin{Kind: fromEnvironment, Name: name}}
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
		flag("--api-key", "apiKey", hidden(opts.apiKey))
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
		{"network.proxy", cfg.network.proxy, []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"}, redacted},
		{"network.noProxy", cfg.network.proxy, []string{"NO_PROXY", "no_proxy"}, strings.Clone},
		{"searxng.endpoint", cfg.tools.WebSearch.SearXNG, []string{"SEARXNG_ENDPOINT", "SEARXNG_BASE_URL"}, redacted},
		{"searxng.token", cfg.tools.WebSearch.Keys["searxng"], []string{"SEARXNG_TOKEN"}, hidden},
		{"searxng.basicUsername", cfg.tools.WebSearch.User, []string{"SEARXNG_BASIC_USERNAME"}, strings.Clone},
		{"searxng.basicPassword", cfg.tools.WebSearch.Password, []string{"SEARXNG_BASIC_PASSWORD"}, hidden},
	} {
		for i := len(one.names) - 1; i >= 0 && one.is == ""; i-- {
			if v := h.getenv(one.names[i]); v != "" {
				variable(one.names[i], one.setting, one.show(v))
			}
		}
	}
	return all
}

func printConfig(out io.Writer, settings []effective) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "SETTING\tVALUE\tFROM")
	for _, e := range settings {
		text, err := jsonx.Marshal(e.Value)
		if err != nil {
			return err
		}
		from := origin{sourceKind(e.Origin), e.Source, e.Line}
		fmt.Fprintf(w, "%s\t%s\t%s\n", trust.Printable(e.Name), trust.Printable(string(text)), trust.Printable(from.String()))
	}
	return w.Flush()
}

func printConfigJSON(out io.Writer, cfg *config, settings []effective) error {
	all := struct {
		Files    []readFile     `json:"files"`
		Settings []effective    `json:"settings"`
		Mistakes []shownMistake `json:"mistakes"`
	}{Settings: settings, Files: []readFile{}, Mistakes: []shownMistake{}}
	for _, f := range cfg.files {
		all.Files = append(all.Files, readFile{f.path, string(f.kind), f.there})
	}
	for _, e := range cfg.mistakes {
		all.Mistakes = append(all.Mistakes, shownMistake{e.Path, e.Line, e.Column, e.Field, e.Reason, e.Until})
	}
	text, err := jsonx.Marshal(all)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\n", text)
	return err
}
