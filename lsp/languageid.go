package lsp

import (
	"path/filepath"
	"strings"
)

// languageID is the languageId of a file: as configured for the server, else that of [LanguageID].
func (s *Server) languageID(path string) string {
	ids := s.opts.Spec.LanguageIDs
	base := filepath.Base(path)
	for _, key := range []string{base, filepath.Ext(base), strings.ToLower(filepath.Ext(base))} {
		if id := ids[key]; id != "" && key != "" {
			return id
		}
	}
	return LanguageID(path)
}

// LanguageID returns the protocol's languageId of a file by its name: "go", "typescriptreact". For one that is not known it
// is the extension without its dot, and "plaintext" where there is none.
func LanguageID(path string) string {
	base := strings.ToLower(filepath.Base(path))
	if id := languageOfName(base); id != "" {
		return id
	}
	ext := strings.TrimPrefix(filepath.Ext(base), ".")
	if id := languageOfExtension(ext); id != "" {
		return id
	}
	if ext != "" {
		return ext
	}
	return "plaintext"
}

// languageOfName is for files whose whole name tells.
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

func languageOfExtension(ext string) string {
	switch ext {
	case "abap":
		return "abap"
	case "bat", "cmd":
		return "bat"
	case "bib":
		return "bibtex"
	case "clj", "cljs", "cljc", "edn":
		return "clojure"
	case "coffee":
		return "coffeescript"
	case "c", "h":
		return "c"
	case "cc", "cpp", "cxx", "c++", "hh", "hpp", "hxx", "h++", "ipp", "inl", "tpp":
		return "cpp"
	case "cu", "cuh":
		return "cuda-cpp"
	case "cs", "csx":
		return "csharp"
	case "diff", "patch":
		return "diff"
	case "eex", "heex", "leex":
		return "eelixir"
	case "ex", "exs":
		return "elixir"
	case "erl", "hrl":
		return "erlang"
	case "fs", "fsi", "fsx", "fsscript":
		return "fsharp"
	case "gleam":
		return "gleam"
	case "go":
		return "go"
	case "tmpl", "gotmpl":
		return "gotmpl"
	case "graphql", "gql":
		return "graphql"
	case "groovy", "gradle":
		return "groovy"
	case "handlebars", "hbs":
		return "handlebars"
	case "hs":
		return "haskell"
	case "lhs":
		return "literate haskell"
	case "html", "htm", "xhtml":
		return "html"
	case "ini", "cfg", "properties":
		return "ini"
	case "java":
		return "java"
	case "js", "mjs", "cjs":
		return "javascript"
	case "jsx":
		return "javascriptreact"
	case "json", "webmanifest", "code-workspace":
		return "json"
	case "jsonc":
		return "jsonc"
	case "jl":
		return "julia"
	case "kt", "kts":
		return "kotlin"
	case "tex", "sty", "cls":
		return "latex"
	case "m":
		return "objective-c"
	case "mm":
		return "objective-cpp"
	case "mk", "mak":
		return "makefile"
	case "md", "markdown", "mdown":
		return "markdown"
	case "ml", "mli":
		return "ocaml"
	case "nix":
		return "nix"
	case "pl", "pm":
		return "perl"
	case "php", "phtml":
		return "php"
	case "ps1", "psm1", "psd1":
		return "powershell"
	case "pug", "jade":
		return "jade"
	case "proto":
		return "proto"
	case "py", "pyi", "pyw":
		return "python"
	case "r", "rmd":
		return "r"
	case "cshtml", "razor":
		return "razor"
	case "rb", "rake", "gemspec", "ru":
		return "ruby"
	case "erb":
		return "erb"
	case "rs":
		return "rust"
	case "scala", "sbt", "sc":
		return "scala"
	case "sh", "bash", "zsh", "ksh", "bats":
		return "shellscript"
	case "sv", "svh":
		return "systemverilog"
	case "v", "vh":
		return "verilog"
	case "bzl", "star":
		return "starlark"
	case "styl":
		return "stylus"
	case "tf", "tfvars":
		return "terraform"
	case "ts", "mts", "cts":
		return "typescript"
	case "tsx":
		return "typescriptreact"
	case "typ":
		return "typst"
	case "vb":
		return "vb"
	case "vim":
		return "vim"
	case "xml", "xsd", "xsl", "xslt", "svg", "csproj":
		return "xml"
	case "yaml", "yml":
		return "yaml"
	case "zig", "zon":
		return "zig"
	}
	return "" // for the others the extension is the id: "css", "dart", "lua", "sql", "svelte", "swift", "toml", "vue"
}
