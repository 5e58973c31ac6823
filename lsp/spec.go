// Package lsp implements the client side of the Language Server Protocol: language servers and their processes, positions,
// documents, diagnostics and edits. It does not depend on agents and editors.
package lsp

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// Spec is the configuration of a language server. It must not be modified.
type Spec struct {
	// Name is the key in the configuration: "gopls".
	Name string
	// Path is the program, absolute. In Args, $PID is replaced by gjc's process ID.
	Path string
	Args []string
	// FileTypes are extensions with their dot (".go") and whole file names ("Dockerfile").
	FileTypes []string
	// RootMarkers are names or glob patterns of files and directories that mark a project's root.
	RootMarkers []string
	// LanguageIDs maps an extension or a file name to the protocol's languageId, to override the default.
	LanguageIDs map[string]string
	// InitOptions are the initializationOptions, Settings the answer to workspace/configuration. Nil for none.
	InitOptions, Settings jsonx.Raw
	// Warmup bounds the start, up to the answer to initialize. If zero, 30 s.
	Warmup time.Duration
	// Linter says that the server only reports diagnostics and formats; other requests are not sent to it.
	Linter bool
}

// defaultWarmup bounds the start of a server.
const defaultWarmup = 30 * time.Second

// Candidate is a server for a file or a workspace, and its root.
type Candidate struct {
	Spec *Spec
	Root string
}

// Takes reports whether a file has one of the file types (see [Spec]). It ignores the case of extensions.
func Takes(fileTypes []string, path string) bool {
	base := filepath.Base(path)
	return slices.ContainsFunc(fileTypes, func(t string) bool {
		if !strings.HasPrefix(t, ".") {
			return t == base
		}
		return len(base) >= len(t) && strings.EqualFold(base[len(base)-len(t):], t)
	})
}

// Unused is a configured server that cannot be used. Why is the reason, for the user.
type Unused struct {
	Name, Why string
	// FileTypes are those of its [Spec].
	FileTypes []string
	// Elsewhere says that the workspace's root has no marker of the server.
	Elsewhere bool
}

// Listing lists the servers of a workspace.
type Listing struct {
	// Servers can be used. Linters come last.
	Servers []Candidate
	Unused  []Unused
	// Problems are the errors in the configuration files, each with file and line, for the user.
	Problems []string
	// Idle is the time after which an idle process is ended; zero for never.
	Idle time.Duration
}

// Catalog has the servers of one workspace. It is safe for concurrent use. Package lsp/config implements it with configuration
// files.
type Catalog interface {
	// For returns the servers for a file, linters last. It returns no error if there is none.
	For(ctx context.Context, path string) ([]Candidate, error)
	// List returns all servers.
	List(ctx context.Context) (*Listing, error)
	// Changed reports files that were created, modified or deleted. They may be configuration files or root markers.
	Changed(paths []string)
}

// languageID returns the languageId of a file: the configured one, or the default.
func (s *Spec) languageID(path string) string {
	ids := s.LanguageIDs
	base := filepath.Base(path)
	for _, key := range []string{base, filepath.Ext(base), strings.ToLower(filepath.Ext(base))} {
		if id := ids[key]; id != "" && key != "" {
			return id
		}
	}
	return languageID(path)
}

// languageID returns the protocol's languageId of a file by its name: "go", "typescriptreact". The default is the extension
// without its dot, or "plaintext" without an extension.
func languageID(path string) string {
	base := strings.ToLower(filepath.Base(path))
	if id := languageOfName(base); id != "" {
		return id
	}
	ext := strings.TrimPrefix(filepath.Ext(base), ".")
	if id := languagesByExtension[ext]; id != "" {
		return id
	}
	if ext != "" {
		return ext
	}
	return "plaintext"
}

// languageOfName returns the languageId of a file with a well-known name, or "".
func languageOfName(base string) string {
	switch base {
	case "dockerfile", "containerfile":
		return "dockerfile"
	case "makefile", "gnumakefile":
		return "makefile"
	case "cmakelists.txt":
		return "cmake"
	case "go.mod":
		return "go.mod"
	case "go.sum":
		return "go.sum"
	case "go.work":
		return "go.work"
	case "gemfile", "rakefile", "podfile", "fastfile", "vagrantfile":
		return "ruby"
	case "jenkinsfile":
		return "groovy"
	case "build", "build.bazel", "workspace", "workspace.bazel":
		return "starlark"
	case ".bashrc", ".bash_profile", ".profile", ".zshrc", ".zshenv", ".zprofile":
		return "shellscript"
	case "tsconfig.json", "jsconfig.json", ".eslintrc.json", ".babelrc", ".swcrc", "devcontainer.json":
		return "jsonc"
	case ".gitignore", ".dockerignore", ".npmignore":
		return "ignore"
	case "git-rebase-todo":
		return "git-rebase"
	case "commit_editmsg", "merge_msg":
		return "git-commit"
	}
	if strings.HasPrefix(base, "dockerfile.") {
		return "dockerfile"
	}
	if strings.HasSuffix(base, ".blade.php") {
		return "blade"
	}
	return ""
}

// languagesByExtension has the languageId by extension. For other extensions it is the extension itself: "css", "dart", "lua", "sql", "svelte", "swift", "toml", "vue". It is never modified.
var languagesByExtension = map[string]string{
	"abap": "abap",
	"bat":  "bat", "cmd": "bat",
	"bib": "bibtex",
	"clj": "clojure", "cljs": "clojure", "cljc": "clojure", "edn": "clojure",
	"coffee": "coffeescript",
	"c":      "c", "h": "c",
	"cc": "cpp", "cpp": "cpp", "cxx": "cpp", "c++": "cpp", "hh": "cpp", "hpp": "cpp", "hxx": "cpp", "h++": "cpp", "ipp": "cpp", "inl": "cpp", "tpp": "cpp",
	"cu": "cuda-cpp", "cuh": "cuda-cpp",
	"cs": "csharp", "csx": "csharp",
	"diff": "diff", "patch": "diff",
	"eex": "eelixir", "heex": "eelixir", "leex": "eelixir",
	"ex": "elixir", "exs": "elixir",
	"erl": "erlang", "hrl": "erlang",
	"fs": "fsharp", "fsi": "fsharp", "fsx": "fsharp", "fsscript": "fsharp",
	"gleam": "gleam",
	"go":    "go",
	"tmpl":  "gotmpl", "gotmpl": "gotmpl",
	"graphql": "graphql", "gql": "graphql",
	"groovy": "groovy", "gradle": "groovy",
	"handlebars": "handlebars", "hbs": "handlebars",
	"hs":   "haskell",
	"lhs":  "literate haskell",
	"html": "html", "htm": "html", "xhtml": "html",
	"ini": "ini", "cfg": "ini", "properties": "ini",
	"java": "java",
	"js":   "javascript", "mjs": "javascript", "cjs": "javascript",
	"jsx":  "javascriptreact",
	"json": "json", "webmanifest": "json", "code-workspace": "json",
	"jsonc": "jsonc",
	"jl":    "julia",
	"kt":    "kotlin", "kts": "kotlin",
	"tex": "latex", "sty": "latex", "cls": "latex",
	"m":  "objective-c",
	"mm": "objective-cpp",
	"mk": "makefile", "mak": "makefile",
	"md": "markdown", "markdown": "markdown", "mdown": "markdown",
	"ml": "ocaml", "mli": "ocaml",
	"nix": "nix",
	"pl":  "perl", "pm": "perl",
	"php": "php", "phtml": "php",
	"ps1": "powershell", "psm1": "powershell", "psd1": "powershell",
	"pug": "jade", "jade": "jade",
	"proto": "proto",
	"py":    "python", "pyi": "python", "pyw": "python",
	"r": "r", "rmd": "r",
	"cshtml": "razor", "razor": "razor",
	"rb": "ruby", "rake": "ruby", "gemspec": "ruby", "ru": "ruby",
	"erb":   "erb",
	"rs":    "rust",
	"scala": "scala", "sbt": "scala", "sc": "scala",
	"sh": "shellscript", "bash": "shellscript", "zsh": "shellscript", "ksh": "shellscript", "bats": "shellscript",
	"sv": "systemverilog", "svh": "systemverilog",
	"v": "verilog", "vh": "verilog",
	"bzl": "starlark", "star": "starlark",
	"styl": "stylus",
	"tf":   "terraform", "tfvars": "terraform",
	"ts": "typescript", "mts": "typescript", "cts": "typescript",
	"tsx": "typescriptreact",
	"typ": "typst",
	"vb":  "vb",
	"vim": "vim",
	"xml": "xml", "xsd": "xml", "xsl": "xml", "xslt": "xml", "svg": "xml", "csproj": "xml",
	"yaml": "yaml", "yml": "yaml",
	"zig": "zig", "zon": "zig",
}
