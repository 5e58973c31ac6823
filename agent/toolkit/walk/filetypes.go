package walk

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/agent"
)

// fileTypes returns the names of files by type, as globs.
func fileTypes() map[string][]string {
	return map[string][]string{
		"c": {"*.c", "*.h"}, "cmake": {"CMakeLists.txt", "*.cmake"}, "cpp": {"*.cpp", "*.cc", "*.cxx", "*.hpp", "*.hh", "*.hxx", "*.h", "*.inl"},
		"cs": {"*.cs"}, "css": {"*.css", "*.scss", "*.less"}, "dart": {"*.dart"}, "docker": {"Dockerfile", "Dockerfile.*", "*.dockerfile"},
		"elixir": {"*.ex", "*.exs"}, "go": {"*.go"}, "haskell": {"*.hs", "*.lhs"}, "html": {"*.html", "*.htm"}, "java": {"*.java"},
		"js": {"*.js", "*.jsx", "*.mjs", "*.cjs", "*.vue"}, "json": {"*.json", "*.jsonc", "*.jsonl"}, "kotlin": {"*.kt", "*.kts"}, "lua": {"*.lua"},
		"make": {"Makefile", "makefile", "GNUmakefile", "*.mk"}, "md": {"*.md", "*.markdown", "*.mdx"}, "php": {"*.php"}, "proto": {"*.proto"},
		"py": {"*.py", "*.pyi"}, "rb": {"*.rb", "Gemfile", "Rakefile", "*.gemspec"}, "rust": {"*.rs"}, "scala": {"*.scala", "*.sbt"},
		"sh": {"*.sh", "*.bash", "*.zsh", ".bashrc", ".zshrc", ".profile"}, "sql": {"*.sql"}, "svelte": {"*.svelte"}, "swift": {"*.swift"},
		"tf": {"*.tf", "*.tfvars"}, "toml": {"*.toml", "Cargo.lock"}, "ts": {"*.ts", "*.tsx", "*.mts", "*.cts"}, "txt": {"*.txt"}, "vue": {"*.vue"},
		"xml": {"*.xml", "*.xsd", "*.svg"}, "yaml": {"*.yaml", "*.yml"}, "zig": {"*.zig"},
	}
}

// typeAliases maps other names of types.
var typeAliases = map[string]string{
	"c++": "cpp", "csharp": "cs", "golang": "go", "javascript": "js", "markdown": "md", "python": "py", "ruby": "rb", "rs": "rust", "shell": "sh",
	"bash": "sh", "terraform": "tf", "typescript": "ts", "yml": "yaml", "kt": "kotlin", "hs": "haskell", "text": "txt",
}

// TypeGlobs returns the globs for types of files.
func TypeGlobs(types []string) ([]string, error) {
	var names []string
	known := fileTypes()
	for _, t := range types {
		name := strings.ToLower(strings.TrimPrefix(strings.TrimSpace(t), "."))
		if alias := typeAliases[name]; alias != "" {
			name = alias
		}
		globs, ok := known[name]
		if !ok {
			return nil, fmt.Errorf("%w for search: unknown type %q; the types are %s. For other files use a glob in paths: **/*.ext",
				agent.ErrBadInput, t, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
		names = append(names, globs...)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
