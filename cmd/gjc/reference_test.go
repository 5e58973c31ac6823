package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gajae-code/gjc/agent/tools"
	"github.com/gajae-code/gjc/agent/tools/shell"
	"github.com/gajae-code/gjc/cmd/gjc/internal/config"
	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/internal/webclient"
	"github.com/gajae-code/gjc/providers/registry"
)

// TestReference compares the tables of docs/reference with the code. -update rewrites them.
func TestReference(t *testing.T) {
	t.Parallel()
	for name, page := range map[string]func(*testing.T) string{
		"commands":         commandsPage,
		"config":           configPage,
		"models-yml":       modelsFilePage,
		"tools":            toolsPage,
		"providers":        providersPage,
		"language-servers": languageServersPage,
		"debug-adapters":   debugAdaptersPage,
		"instructions":     instructionsPage,
	} {
		t.Run(name, func(t *testing.T) { testenv.Document(t, "docs/reference/"+name+".md", page(t)) })
	}
}

// cells writes a row of a Markdown table.
func cells(b *strings.Builder, columns ...string) {
	for _, c := range columns {
		if !strings.HasPrefix(c, "`") {
			c = strings.ReplaceAll(c, "<", `\<`)
		}
		b.WriteString("| " + strings.ReplaceAll(strings.ReplaceAll(c, "|", `\|`), "\n", " ") + " ")
	}
	b.WriteString("|\n")
}

// header writes the first two lines of a Markdown table.
func header(b *strings.Builder, columns ...string) {
	cells(b, columns...)
	b.WriteString(strings.Repeat("|---", len(columns)) + "|\n")
}

// codeWords returns words as code, separated by commas.
func codeWords(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return "`" + strings.Join(words, "`, `") + "`"
}

func commandsPage(t *testing.T) string {
	var b strings.Builder
	b.WriteString("# Commands and flags\n\nEvery command exits with 0 on success, 1 after a failure and 2 after a usage error.\n\n")
	header(&b, "Command", "What it does")
	root := newRoot(&host{}, new(options))
	all := commandTree(root)
	for _, c := range all {
		if c.Runnable() {
			cells(&b, "`"+strings.TrimSuffix(c.UseLine(), " [flags]")+"`", c.Short)
		}
	}
	b.WriteString("\n## Flags of all commands\n\n")
	flagTable(&b, "", root.PersistentFlags())
	b.WriteString("\n## Flags of one command\n\n")
	header(&b, "Command", "Flag", "Default", "Meaning")
	for _, c := range all {
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { flagRow(&b, "`"+c.CommandPath()+"`", f) })
	}
	return b.String()
}

// commandTree returns a command and its subcommands, without hidden ones.
func commandTree(c *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			all = append(all, commandTree(sub)...)
		}
	}
	return all
}

func flagTable(b *strings.Builder, command string, set *pflag.FlagSet) {
	header(b, "Flag", "Default", "Meaning")
	set.VisitAll(func(f *pflag.Flag) { flagRow(b, command, f) })
}

func flagRow(b *strings.Builder, command string, f *pflag.Flag) {
	if f.Hidden || f.Name == "help" {
		return
	}
	kind, usage := pflag.UnquoteUsage(f)
	name, standard := "--"+f.Name, f.DefValue
	if kind != "" {
		name += " " + kind
	}
	if standard == "[]" || standard == "false" {
		standard = ""
	}
	columns := []string{"`" + name + "`", standard, usage}
	if command != "" {
		columns = append([]string{command}, columns...)
	}
	cells(b, columns...)
}

// configPage lists the keys of config.yml.
func configPage(t *testing.T) string {
	var b strings.Builder
	b.WriteString("# Keys of config.yml\n\n[Configuration](../configuration.md) has examples. \"Mistake\" is what holds while the value is wrong; without it, an earlier " +
		"file's value or the default does.\n\n")
	header(&b, "Key", "Value", "Default", "Meaning", "Mistake")
	for _, key := range config.Keys() {
		if key.About == "" {
			t.Errorf("%s has no description", key.Name)
		}
		value, err := json.Marshal(key.Default)
		if err != nil {
			t.Fatal(err)
		}
		cells(&b, "`"+key.Name+"`", key.Takes, "`"+string(value)+"`", key.About, key.Mistake)
	}
	return b.String()
}

// modelsFilePage lists the fields of models.yml.
func modelsFilePage(t *testing.T) string {
	var b strings.Builder
	b.WriteString("# Fields of models.yml\n\n[Models](../models.md) has examples.\n")
	fields := func(s configfile.JSONSchema) map[string]configfile.JSONSchema {
		return s["properties"].(map[string]configfile.JSONSchema)
	}
	top := fields(registry.FileSchema())
	provider := fields(top["providers"]["additionalProperties"].(configfile.JSONSchema))
	model := fields(provider["models"]["items"].(configfile.JSONSchema))
	for _, part := range []struct {
		title  string
		fields map[string]configfile.JSONSchema
	}{
		{"At the top", top},
		{"provider", provider},
		{"model", model},
		{"thinking", fields(model["thinking"])},
		{"compat", fields(provider["compat"])},
		{"requestTransform", fields(provider["requestTransform"])},
	} {
		b.WriteString("\n## " + part.title + "\n\n")
		if part.title == "compat" {
			b.WriteString("For `openai-completions`, and more where it says so. What is not set follows from the host; true-or-false flags are false unless it says otherwise.\n\n")
		}
		header(&b, "Field", "Meaning")
		for _, name := range sortedKeys(part.fields) {
			about, ok := part.fields[name]["description"].(string)
			if !ok {
				t.Errorf("%s of %s has no description", name, part.title)
			}
			cells(&b, "`"+name+"`", about)
		}
	}
	return b.String()
}

func toolsPage(t *testing.T) string {
	var b strings.Builder
	b.WriteString("# Tools and slash commands\n\n[Tools](../tools.md) has examples and limits.\n\n## Tools\n\nThe text is the beginning of what the model reads of each tool.\n\n")
	header(&b, "Tool", "Kind", "What it does")
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no eval")
	}
	set := config.New().Tools
	set.WebSearch.Keys[webclient.SearchBrave] = "a key"
	set.SSH = []shell.SSHHost{{Name: "web", Address: "web"}}
	for _, tool := range tools.All(&set) {
		spec := tool.Spec()
		cells(&b, "`"+spec.Name+"`", string(spec.Kind), firstSentence(spec.Description))
	}
	b.WriteString("\n## Slash commands\n\nBesides these, command files, skills and prompts of MCP servers are slash commands.\n\n")
	header(&b, "Command", "What it does")
	list, err := os.ReadFile(filepath.Join(testenv.ModuleRoot(t), "acp", "server", "slash", "list.go"))
	if err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile(`(?m)^\t\t\{name: "(.*?)", description: "(.*?)",(?: hint: "(.*?)",)?`).FindAllSubmatch(list, -1)
	if len(commands) < 20 {
		t.Errorf("only %d slash commands were found", len(commands))
	}
	for _, c := range commands {
		cells(&b, "`"+strings.TrimSpace("/"+string(c[1])+" "+string(c[3]))+"`", string(c[2]))
	}
	return b.String()
}

// firstSentence returns a text up to the first full stop that ends a sentence.
func firstSentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	first, _, _ := strings.Cut(text, ". ")
	return strings.TrimSuffix(first, ".") + "."
}

func providersPage(t *testing.T) string {
	var b strings.Builder
	b.WriteString("# Providers\n\n[Models](../models.md) says how keys and addresses are found. Any provider also has `NAME_BASE_URL`, its name in capitals.\n\n")
	header(&b, "Provider", "Key", "Address", "Built-in models")
	models := make(map[string][]string)
	for _, m := range documentedHost(t).registry(t.TempDir(), new(options), func(string) {}).All() {
		models[m.Provider] = append(models[m.Provider], m.ID)
	}
	for _, p := range readCatalogue(t) {
		key := codeWords(p.KeyEnv)
		switch {
		case p.Keyless:
			key = "none, or " + key
		case key == "":
			key = "[Google's credentials](../models.md#clouds)"
		case p.Name == "google-vertex", p.Name == "amazon-bedrock":
			key += ", or [others](../models.md#clouds)"
		}
		address := codeWords(p.BaseURLEnv)
		if p.NeedsURL {
			if address == "" {
				address = codeWords([]string{derived(p.Name)})
			}
			address += ", needed"
		}
		cells(&b, "`"+p.Name+"`", key, address, strings.Join(models[p.Name], ", "))
	}
	return b.String()
}

// knownProgram is an entry of the embedded language servers or debug adapters.
type knownProgram struct {
	name        string
	Command     string   `json:"command"`
	Args        []string `json:"args"`
	Languages   []string `json:"languages"`
	FileTypes   []string `json:"fileTypes"`
	RootMarkers []string `json:"rootMarkers"`
	Install     string   `json:"install"`
}

// defaultPrograms reads defaults.json of a package, sorted by name.
func defaultPrograms(t *testing.T, path string) []knownProgram {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testenv.ModuleRoot(t), filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	var byName map[string]knownProgram
	if err := json.Unmarshal(data, &byName); err != nil {
		t.Fatal(err)
	}
	all := make([]knownProgram, 0, len(byName))
	for name, p := range byName {
		p.name = name
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b knownProgram) int { return strings.Compare(a.name, b.name) })
	return all
}

func languageServersPage(t *testing.T) string {
	var b strings.Builder
	all := defaultPrograms(t, "lsp/config/defaults.json")
	fmt.Fprintf(&b, "# Language servers\n\nThe %d servers that gjc knows. A server is used where its program is installed and the project has a root marker ([Language servers](../lsp.md)).\n\n", len(all))
	header(&b, "Server", "Program", "Files", "Root markers")
	for _, p := range all {
		cells(&b, "`"+p.name+"`", "`"+p.Command+"`", strings.Join(p.FileTypes, " "), codeWords(p.RootMarkers))
	}
	return b.String()
}

func debugAdaptersPage(t *testing.T) string {
	var b strings.Builder
	all := defaultPrograms(t, "dap/config/defaults.json")
	fmt.Fprintf(&b, "# Debug adapters\n\nThe %d adapters that gjc knows ([Debugging](../debugging.md)).\n\n", len(all))
	header(&b, "Adapter", "Program", "Languages", "To install")
	for _, p := range all {
		cells(&b, "`"+p.name+"`", "`"+p.Command+"`", strings.Join(p.Languages, " "), p.Install)
	}
	return b.String()
}
