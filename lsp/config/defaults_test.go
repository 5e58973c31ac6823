package config

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// names lists the default servers in the order of the documents.
const names = `rust-analyzer tlaplus clangd zls gopls typescript-language-server biome eslint denols
	vscode-html-language-server vscode-css-language-server vscode-json-language-server tailwindcss svelte
	vue-language-server astro pyright basedpyright pylsp ruff jdtls kotlin-lsp metals hls ocamllsp elixirls erlangls gleam
	solargraph ruby-lsp rubocop bashls lua-language-server intelephense phpactor csharp-ls omnisharp yamlls terraformls
	dockerls helm-ls nixd nil ols dartls marksman texlab graphql prismals vimls emmet-language-server sourcekit-lsp
	swiftlint`

func TestDefaults(t *testing.T) {
	f := defaults()
	if len(f.Problems) > 0 {
		t.Errorf("problems %q", f.Problems)
	}
	var got []string
	for _, s := range f.Entries {
		got = append(got, s.Name)
		for _, required := range []string{"command", "fileTypes", "rootMarkers"} {
			if _, ok := s.Fields[required]; !ok {
				t.Errorf("%s has no %s", s.Name, required)
			}
		}
	}
	want := strings.Fields(names)
	if diff := cmp.Diff(want, got); diff != "" || len(want) != 53 {
		t.Errorf("%d servers (-want +got):\n%s", len(want), diff)
	}
	defs, problems := merge(nil)
	if len(defs) != len(want) || len(problems) > 0 {
		t.Errorf("%d definitions, %q", len(defs), problems)
	}
	at := func(name string) int {
		return slices.IndexFunc(defs, func(d *definition) bool { return d.Name == name })
	}
	def := func(name string) *definition { return defs[at(name)] }

	rust := def("rust-analyzer").spec("/bin/ra")
	if rust.Warmup != 30*time.Second || string(rust.Settings) != `{"rust-analyzer":{"checkOnSave":false}}` || string(rust.InitOptions) != "{}" {
		t.Errorf("rust-analyzer: %+v, settings %s", rust, rust.Settings)
	}
	if got := def("csharp-ls").Strings("supersedes"); !slices.Equal(got, []string{"omnisharp"}) {
		t.Errorf("csharp-ls supersedes %q", got)
	}
	if got := def("omnisharp").spec("/o").Args; !slices.Equal(got, []string{"-z", "--hostPID", "$PID", "--encoding", "utf-8", "--languageserver"}) {
		t.Errorf("omnisharp has the arguments %q", got)
	}
	if got := def("dockerls").Strings("fileTypes"); !slices.Equal(got, []string{".dockerfile", "Dockerfile"}) {
		t.Errorf("dockerls has the file types %q", got)
	}
	if got := string(def("bashls").spec("/b").Settings); got != `{"bashIde":{"globPattern":"*@(.sh|.inc|.bash|.command)"}}` {
		t.Errorf("bashls has the settings %s", got)
	}
	if got := string(def("typescript-language-server").spec("/t").InitOptions); !strings.Contains(got, `"hostInfo":"gjc-coding-agent"`) {
		t.Errorf("typescript-language-server has the options %s", got)
	}
	// The server throws an error if one of these is missing.
	for name := range strings.FieldsSeq("validate run packageManager useESLintClass experimental codeAction codeActionOnSave format nodePath onIgnoredFiles options problems quiet rulesCustomizations") {
		if def("eslint").Fields["settings"].Member(name) == nil {
			t.Errorf("eslint has no setting %s", name)
		}
	}
	// The servers in loadsProject exist.
	for command := range loadsProject {
		if !slices.ContainsFunc(defs, func(d *definition) bool { return d.command() == command }) {
			t.Errorf("nobody runs %s", command)
		}
	}
	if s := def("gopls").spec("/g"); !slices.Equal(s.Args, []string{"serve"}) || !slices.Equal(s.FileTypes, []string{".go", ".mod", ".sum"}) || s.Warmup != 0 || s.Linter {
		t.Errorf("gopls: %+v", s)
	}
	linters := []string{"biome", "eslint", "ruff", "rubocop", "swiftlint"}
	for _, d := range defs {
		if d.linter() != slices.Contains(linters, d.Name) {
			t.Errorf("%s: linter is %v", d.Name, d.linter())
		}
	}
	for first, second := range precedes {
		if at(first) > at(second) {
			t.Errorf("%s is after %s", first, second)
		}
	}
	for command := range install() {
		if !slices.ContainsFunc(defs, func(d *definition) bool { return d.command() == command }) {
			t.Errorf("there is advice on %s, which no default runs", command)
		}
	}
	for words := range notLSP {
		if !slices.ContainsFunc(defs, func(d *definition) bool { return d.unsupported() == notLSP[words] }) {
			t.Errorf("%q is no default", words)
		}
	}
}
