package config

import (
	_ "embed"
	"sync"

	"github.com/gajae-code/gjc/internal/configfile"
)

// defaultsJSON is a configuration file with the default servers.
//
//go:embed defaults.json
var defaultsJSON []byte

// defaults returns the parsed defaultsJSON. It must not be modified.
var defaults = sync.OnceValue(func() *file {
	f := &file{File: &configfile.File{Path: "defaults.json", Data: defaultsJSON}}
	f.parse()
	return f
})

// precedes maps servers to another server for the same files that they precede: in a project with the markers of the first one, the
// second one reports false errors.
var precedes = map[string]string{
	"denols":  "typescript-language-server", // which reports errors for Deno's imports
	"helm-ls": "yamlls",                     // which reports errors for templates
}

// notLSP are the defaults that do not support the protocol, by command and first argument.
var notLSP = map[string]string{
	"swiftlint lint": "it prints reports and does not speak the Language Server Protocol; sourcekit-lsp reports what the compiler finds",
}

// install says how to install the programs of the defaults.
var install = map[string]string{
	"astro-ls":                        "npm install -g @astrojs/language-server",
	"basedpyright-langserver":         "npm install -g basedpyright",
	"bash-language-server":            "npm install -g bash-language-server",
	"biome":                           "npm install -D @biomejs/biome",
	"clangd":                          "install clangd with your system's packages or LLVM",
	"csharp-ls":                       "dotnet tool install -g csharp-ls",
	"deno":                            "install Deno",
	"docker-langserver":               "npm install -g dockerfile-language-server-nodejs",
	"emmet-language-server":           "npm install -g @olrtg/emmet-language-server",
	"gopls":                           "go install golang.org/x/tools/gopls@latest",
	"graphql-lsp":                     "npm install -g graphql-language-service-cli",
	"haskell-language-server-wrapper": "ghcup install hls",
	"intelephense":                    "npm install -g intelephense",
	"ocamllsp":                        "opam install ocaml-lsp-server",
	"prisma-language-server":          "npm install -g @prisma/language-server",
	"pylsp":                           "pip install python-lsp-server",
	"pyright-langserver":              "npm install -g pyright",
	"rubocop":                         "gem install rubocop",
	"ruby-lsp":                        "gem install ruby-lsp",
	"ruff":                            "pip install ruff",
	"rust-analyzer":                   "rustup component add rust-analyzer",
	"solargraph":                      "gem install solargraph",
	"svelteserver":                    "npm install -g svelte-language-server",
	"tailwindcss-language-server":     "npm install -g @tailwindcss/language-server",
	"typescript-language-server":      "npm install -g typescript-language-server typescript",
	"vim-language-server":             "npm install -g vim-language-server",
	"vscode-css-language-server":      "npm install -g vscode-langservers-extracted",
	"vscode-eslint-language-server":   "npm install -g vscode-langservers-extracted",
	"vscode-html-language-server":     "npm install -g vscode-langservers-extracted",
	"vscode-json-language-server":     "npm install -g vscode-langservers-extracted",
	"vue-language-server":             "npm install -g @vue/language-server",
	"yaml-language-server":            "npm install -g yaml-language-server",
}
