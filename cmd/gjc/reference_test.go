package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gajae-code/gjc/agent/tools"
	"github.com/gajae-code/gjc/agent/tools/shell"
	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/internal/webclient"
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

// configPage lists the keys of config.yml with the comments of their declarations.
func configPage(t *testing.T) string {
	var b strings.Builder
	b.WriteString("# Keys of config.yml\n\n[Configuration](../configuration.md) has examples. \"Mistake\" is what holds while the value is wrong; without it, an earlier " +
		"file's value or the default does.\n\n")
	header(&b, "Key", "Value", "Default", "Meaning", "Mistake")
	comments := declared(t, "cmd/gjc/config*.go", map[string]string{
		"taskSettings": "task", "settings": "network", "permissionSettings": "permissions",
	})
	row := func(path string, standard, broken setting) {
		meaning, ok := comments[path]
		if !ok {
			t.Errorf("the declaration of %s has no comment", path)
		}
		takes := strings.TrimPrefix(strings.TrimPrefix(standard.take(&configfile.Node{Kind: configfile.Object}), "must be "), "one of: ")
		value, err := json.Marshal(standard.get())
		if err != nil {
			t.Fatal(err)
		}
		mistake := strings.TrimSuffix(strings.TrimSuffix(broken.stops.String(), " until this is corrected"), " is right")
		if broken.strict != nil {
			broken.strict()
			strictest, err := json.Marshal(broken.get())
			if err != nil {
				t.Fatal(err)
			}
			mistake = "`" + string(strictest) + "`"
		}
		cells(&b, "`"+path+"`", takes, "`"+string(value)+"`", meaning, mistake)
	}
	for _, name := range sortedKeys(newConfig().sections()) {
		standard, broken := newConfig().sections()[name].settings, newConfig().sections()[name].settings
		for _, key := range sortedKeys(standard) {
			row(name+"."+key, standard[key], broken[key])
		}
		if newConfig().sections()[name].open {
			cells(&b, "`"+name+".ROLE`", "a string", "", comments[name], "")
		}
	}
	lists := newConfig().lists("")
	for _, key := range sortedKeys(lists) {
		row(key, lists[key], newConfig().lists("")[key])
	}
	return b.String()
}

// declared returns the comments on the lines of the keys of map literals, by the names of the keys, as "section.key" or
// "key". In a function that returns the settings of a section, its name determines the section.
func declared(t *testing.T, pattern string, within map[string]string) map[string]string {
	t.Helper()
	comments := make(map[string]string)
	files, err := filepath.Glob(filepath.Join(testenv.ModuleRoot(t), filepath.FromSlash(pattern)))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v", pattern, err)
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		lines := make(map[int]string)
		for _, group := range file.Comments {
			lines[fset.Position(group.Pos()).Line] = strings.TrimSpace(group.Text())
		}
		for _, decl := range file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			var visit func(n ast.Node, prefix string)
			visit = func(n ast.Node, prefix string) {
				ast.Inspect(n, func(n ast.Node) bool {
					pair, ok := n.(*ast.KeyValueExpr)
					if !ok {
						return true
					}
					key, ok := pair.Key.(*ast.BasicLit)
					if !ok {
						return true
					}
					name, err := strconv.Unquote(key.Value)
					if err != nil {
						t.Fatal(err)
					}
					if prefix != "" {
						name = prefix + "." + name
					}
					if text := lines[fset.Position(key.Pos()).Line]; text != "" {
						comments[name] = text
					}
					visit(pair.Value, name)
					return false
				})
			}
			visit(fn, within[fn.Name.Name])
		}
	}
	return comments
}

// receiverOf returns the type of a method's receiver, followed by a dot.
func receiverOf(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return ""
	}
	typ := fn.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if id, ok := typ.(*ast.Ident); ok {
		return id.Name + "."
	}
	return ""
}

// modelsFilePage lists the fields of models.yml with the comments of their declarations.
func modelsFilePage(t *testing.T) string {
	var b strings.Builder
	b.WriteString("# Fields of models.yml\n\n[Models](../models.md) has examples.\n")
	for _, part := range []struct{ title, file, function string }{
		{"At the top", "modelsfile.go", "parseModelsFile"},
		{"provider", "modelsfile_provider.go", "fileProvider.read"},
		{"model", "modelsfile_provider.go", "fileModel.fields"},
		{"thinking", "modelsfile_provider.go", "fileThinking.read"},
		{"compat", "modelsfile_provider.go", "compat"},
		{"requestTransform", "modelsfile_provider.go", "transform"},
	} {
		b.WriteString("\n## " + part.title + "\n\n")
		if part.title == "compat" {
			b.WriteString("For `openai-completions`, and more where it says so. What is not set follows from the host; true-or-false flags are false unless it says otherwise.\n\n")
		}
		header(&b, "Field", "Meaning")
		rows := fieldsOf(t, "providers/registry/"+part.file, part.function)
		if len(rows) < 3 {
			t.Errorf("%s of %s declares %d fields", part.function, part.file, len(rows))
		}
		for _, r := range rows {
			if r[1] == "" {
				t.Errorf("the declaration of %s in %s has no comment", r[0], part.function)
			}
			cells(&b, "`"+r[0]+"`", r[1])
		}
	}
	return b.String()
}

// fieldsOf returns the keys of the outermost map literals of a function, and the comments on their lines.
func fieldsOf(t *testing.T, path, function string) (rows [][2]string) {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, filepath.Join(testenv.ModuleRoot(t), filepath.FromSlash(path)), nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	lines := make(map[int]string)
	for _, group := range file.Comments {
		lines[fset.Position(group.Pos()).Line] = strings.TrimSpace(group.Text())
	}
	for _, decl := range file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || receiverOf(fn)+fn.Name.Name != function {
			continue
		}
		ast.Inspect(fn, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok || len(lit.Elts) < 3 {
				return true
			}
			for _, e := range lit.Elts {
				if pair, ok := e.(*ast.KeyValueExpr); ok {
					if key, ok := pair.Key.(*ast.BasicLit); ok {
						name, err := strconv.Unquote(key.Value)
						if err != nil {
							t.Fatal(err)
						}
						rows = append(rows, [2]string{name, lines[fset.Position(key.Pos()).Line]})
					}
				}
			}
			return false
		})
	}
	return rows
}

func toolsPage(t *testing.T) string {
	var b strings.Builder
	b.WriteString("# Tools and slash commands\n\n[Tools](../tools.md) has examples and limits.\n\n## Tools\n\nThe text is the beginning of what the model reads of each tool.\n\n")
	header(&b, "Tool", "Kind", "What it does")
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no eval")
	}
	set := newConfig().tools
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
