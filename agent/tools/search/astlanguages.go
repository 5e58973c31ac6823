package search

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// astExtensions maps the languages that ast-grep parses, by ast-grep's names, to their file name extensions.
var astExtensions = map[string]string{
	"bash": ".sh .bash .bats .zsh .ksh", "c": ".c .h", "cpp": ".cc .cpp .cxx .c++ .hh .hpp .hxx .cu .ino", "csharp": ".cs", "css": ".css .scss",
	"elixir": ".ex .exs", "go": ".go", "haskell": ".hs", "hcl": ".hcl .tf .tfvars", "html": ".html .htm .xhtml", "java": ".java",
	"javascript": ".js .mjs .cjs .jsx", "json": ".json", "kotlin": ".kt .kts .ktm", "lua": ".lua", "nix": ".nix", "php": ".php",
	"python": ".py .py3 .pyi .bzl", "ruby": ".rb .rbw .gemspec", "rust": ".rs", "scala": ".scala .sc .sbt", "solidity": ".sol", "swift": ".swift",
	"tsx": ".tsx", "typescript": ".ts .mts .cts", "yaml": ".yaml .yml",
}

// astAliases maps other names of languages.
var astAliases = map[string]string{
	"sh": "bash", "c++": "cpp", "cc": "cpp", "cs": "csharp", "c#": "csharp", "ex": "elixir", "golang": "go", "hs": "haskell", "terraform": "hcl",
	"js": "javascript", "jsx": "javascript", "kt": "kotlin", "py": "python", "rb": "ruby", "rs": "rust", "sol": "solidity", "ts": "typescript", "yml": "yaml",
}

// astLanguage returns the language called name, or "".
func astLanguage(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	if full, ok := astAliases[name]; ok {
		return full
	}
	if _, ok := astExtensions[name]; ok {
		return name
	}
	return ""
}

// astLanguages returns the names of all languages.
func astLanguages() []string { return slices.Sorted(maps.Keys(astExtensions)) }

// astFileLanguages returns a function that determines a file's language by its name, or "".
func astFileLanguages() func(path string) string {
	byExtension := make(map[string]string)
	for language, ends := range astExtensions {
		for end := range strings.FieldsSeq(ends) {
			byExtension[end] = language
		}
	}
	return func(path string) string { return byExtension[strings.ToLower(filepath.Ext(path))] }
}
