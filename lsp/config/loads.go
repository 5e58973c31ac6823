package config

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/workspace"
)

const (
	typescriptServer = "typescript-language-server"
	// tsserver is the path of the file in node_modules that typescript-language-server runs.
	tsserver = "typescript/lib/tsserver.js"
)

// loadsProject lists markers of project files that a server would load and run, by the server's command, most important first. Such
// a server runs code of the project even if its program is on PATH.
var loadsProject = map[string][]string{
	typescriptServer:                {"node_modules/typescript", ".yarn/sdks/typescript", ".vscode/pnpify/typescript"},
	"vscode-eslint-language-server": {"node_modules/eslint", "eslint.config.*", ".eslintrc", ".eslintrc.*"},
	"vue-language-server":           {"node_modules"},
	"astro-ls":                      {"node_modules"},
	"svelteserver":                  {"node_modules", "svelte.config.*"},
	"tailwindcss-language-server":   {"node_modules", "tailwind.config.*"},
	rustAnalyzer:                    {rustToolchain + ".toml", rustToolchain},
}

// rustToolchain is the file that selects the compiler of a project; it may name a directory of the project.
const rustToolchain = "rust-toolchain"

// loads returns the markers of loadsProject for a server.
func (d *definition) loads() []string {
	name := filepath.Base(filepath.ToSlash(d.command()))
	for _, ext := range []string{".exe", ".cmd", ".bat", ".ps1"} {
		name = strings.TrimSuffix(name, ext)
	}
	return loadsProject[name]
}

// loaded returns the path of a project file that a server would load for files in dir, or "". Like the servers, it searches dir and
// its parents, up to the top of the repository.
func (s *snapshot) loaded(ws *project, d *definition, dir string) string {
	markers := d.loads()
	if len(markers) == 0 {
		return ""
	}
	dirs := s.upwards(ws.Root, dir)
	if r := workspace.Real(ws.Root); r != ws.Root || workspace.Real(dir) != dir { // some servers resolve links first
		dirs = append(dirs, s.upwards(r, workspace.Real(dir))...)
	}
	for _, at := range dirs {
		for _, m := range markers {
			if !s.Marked(at, []string{m}) {
				continue
			}
			path := filepath.Join(at, filepath.FromSlash(m))
			if workspace.IsPattern(m) {
				var names []string
				for name := range s.List(at) {
					if workspace.MatchName(m, name, workspace.Folds(s.GOOS)) {
						names = append(names, name)
					}
				}
				path = filepath.Join(at, slices.Min(names))
			}
			if strings.HasPrefix(m, rustToolchain) && !choosesPath(path) {
				continue
			}
			return path
		}
	}
	return ""
}

// upwards returns dir and its parents, up to root and on to the top of its repository.
func (s *snapshot) upwards(root, dir string) []string {
	dirs := []string{dir}
	for at := dir; ; {
		rel, in := workspace.Within(root, at, s.GOOS)
		if !in || rel == "" {
			break
		}
		at = filepath.Dir(at)
		dirs = append(dirs, at)
	}
	return append(dirs, s.Above(root)...)
}

// choosesPath reports whether a toolchain file may select a directory. It also accepts escaped names.
func choosesPath(file string) bool {
	if !workspace.IsFile(file) {
		return false // reading a pipe could block
	}
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, 64<<10+1))
	return err != nil || len(data) > 64<<10 || strings.Contains(string(data), "path") || strings.Contains(string(data), `\`)
}

// withoutLoads returns a definition that loads no project files, or why there is none. loaded is the path of the file that it would
// load.
func (s *snapshot) withoutLoads(ws *project, d *definition, program, loaded string) (harmless *definition, why string) {
	why = fmt.Sprintf("it would run %s, which is the project's own, and is not used, because %s", loaded, ws.Reason())
	if len(d.loads()) == 0 || !slices.Equal(d.loads(), loadsProject[typescriptServer]) {
		return nil, why
	}
	lib := s.typescript(d, program)
	if lib == "" {
		return nil, why + "; it needs no trust with a TypeScript outside the project: npm install -g typescript"
	}
	leaf := func(name string, value *configfile.Node) *configfile.Node {
		return &configfile.Node{Kind: configfile.Object, Members: []configfile.Member{{Name: name, Value: value}}}
	}
	options := leaf("tsserver", leaf("path", &configfile.Node{Kind: configfile.Text, Text: lib}))
	if configured, ok := d.Fields["initOptions"]; ok {
		options = options.Over(configured.Node)
	}
	made := *d.Definition
	made.Fields = maps.Clone(d.Fields)
	made.Fields["initOptions"] = configfile.Value{Node: options}
	return &definition{&made, d.rank}, ""
}

// typescript returns a tsserver.js outside all roots for a server: the configured one, the one next to the server, or the one of the
// tsc on PATH. It resolves links, so that the path cannot be redirected later.
func (s *snapshot) typescript(d *definition, program string) string {
	usable := func(path string) string {
		if !filepath.IsAbs(path) {
			return ""
		}
		if path = workspace.Real(path); filepath.Base(path) != "tsserver.js" || !workspace.IsFile(path) || s.Owner(path) != "" {
			return ""
		}
		return path
	}
	if configured, ok := d.Fields["initOptions"]; ok {
		if ts := configured.Member("tsserver"); ts != nil {
			if at := ts.Member("path"); at != nil && at.Kind == configfile.Text {
				for _, path := range []string{at.Text, filepath.Join(at.Text, "tsserver.js"), filepath.Join(at.Text, "lib", "tsserver.js")} {
					if path = usable(path); path != "" {
						return path
					}
				}
			}
		}
	}
	for dir := filepath.Dir(workspace.Real(program)); ; dir = filepath.Dir(dir) {
		if path := usable(filepath.Join(dir, "node_modules", filepath.FromSlash(tsserver))); path != "" {
			return path
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	tsc := s.OnPath("tsc").Outside
	if tsc == "" {
		return ""
	}
	if path := usable(filepath.Join(filepath.Dir(tsc), "node_modules", filepath.FromSlash(tsserver))); path != "" {
		return path // npm on Windows
	}
	return usable(filepath.Join(filepath.Dir(filepath.Dir(workspace.Real(tsc))), "lib", "tsserver.js"))
}
