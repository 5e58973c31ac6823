package config

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	typescriptServer = "typescript-language-server"
	// tsserver is where a TypeScript has what that server runs, from node_modules.
	tsserver = "typescript/lib/tsserver.js"
)

// loadsProject says, by the server's command, which things of a project the server would load and run: markers, the first
// ones those to be told first. A server from PATH that does so runs code of the project.
var loadsProject = map[string][]string{
	typescriptServer:                {"node_modules/typescript", ".yarn/sdks/typescript", ".vscode/pnpify/typescript"},
	"vscode-eslint-language-server": {"node_modules/eslint", "eslint.config.*", ".eslintrc", ".eslintrc.*"},
	"vue-language-server":           {"node_modules"},
	"astro-ls":                      {"node_modules"},
	"svelteserver":                  {"node_modules", "svelte.config.*"},
	"tailwindcss-language-server":   {"node_modules", "tailwind.config.*"},
	rustAnalyzer:                    {rustToolchain + ".toml", rustToolchain},
}

// rustToolchain is the file by which a project chooses its compiler; it may name a directory of its own.
const rustToolchain = "rust-toolchain"

// loads are the markers of loadsProject for a server, however its program is written.
func (d *definition) loads() []string {
	name := filepath.Base(filepath.ToSlash(d.command()))
	for _, ext := range []string{".exe", ".cmd", ".bat", ".ps1"} {
		name = strings.TrimSuffix(name, ext)
	}
	return loadsProject[name]
}

// loaded returns what of the project a server would load for work in dir, absolute, or "". Such things are looked for as
// the servers do it: from the directory upwards, here to the top of the repository.
func (s *snapshot) loaded(ws *workspace, d *definition, dir string) string {
	markers := d.loads()
	if len(markers) == 0 {
		return ""
	}
	dirs := s.upwards(ws.root, dir)
	if r := real(ws.root); r != ws.root || real(dir) != dir { // some servers follow links first
		dirs = append(dirs, s.upwards(r, real(dir))...)
	}
	for _, at := range dirs {
		for _, m := range markers {
			if !hasMarker(at, []string{m}, s.opts.GOOS, s.list) {
				continue
			}
			path := filepath.Join(at, filepath.FromSlash(m))
			if isPattern(m) {
				var names []string
				for name := range s.list(at) {
					if matchName(m, name, folds(s.opts.GOOS)) {
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

// upwards returns dir and the directories above it, up to root and on to the top of the repository that root lies in.
func (s *snapshot) upwards(root, dir string) []string {
	dirs := []string{dir}
	for at := dir; ; {
		rel, in := within(root, at, s.opts.GOOS)
		if !in || rel == "" {
			break
		}
		at = filepath.Dir(at)
		dirs = append(dirs, at)
	}
	return append(dirs, s.above(root)...)
}

// choosesPath reports whether a toolchain file may choose a directory. A name may be written with escapes.
func choosesPath(file string) bool {
	if !isFile(file) {
		return false // a pipe would never end
	}
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, 64<<10+1))
	return err != nil || len(data) > 64<<10 || strings.Contains(string(data), "path") || strings.Contains(string(data), `\`)
}

// without returns a definition that loads nothing of the project, or why there is none. loaded is what it would load.
func (s *snapshot) without(ws *workspace, d *definition, program, loaded string) (harmless *definition, why string) {
	why = fmt.Sprintf("it would run %s, which is the project's own, and is not used, because %s", loaded, ws.how())
	if len(d.loads()) == 0 || !slices.Equal(d.loads(), loadsProject[typescriptServer]) {
		return nil, why
	}
	lib := s.typescript(d, program)
	if lib == "" {
		return nil, why + "; it needs no trust where there is a TypeScript outside of the project: npm install -g typescript"
	}
	leaf := func(name string, value *node) *node {
		return &node{kind: object, members: []member{{name: name, value: value}}}
	}
	options := leaf("tsserver", leaf("path", &node{kind: text, text: lib}))
	if configured, ok := d.fields["initOptions"]; ok {
		options = options.over(configured.node)
	}
	made := *d
	made.fields = make(map[string]value, len(d.fields)+1)
	maps.Copy(made.fields, d.fields)
	made.fields["initOptions"] = value{options, ""}
	return &made, ""
}

// typescript returns the tsserver.js outside of all roots for a server: what its configuration says, what stands beside
// the server, or what belongs to the tsc on PATH. The path is without links, so that nobody turns it round.
func (s *snapshot) typescript(d *definition, program string) string {
	usable := func(path string) string {
		if !filepath.IsAbs(path) {
			return ""
		}
		if path = real(path); filepath.Base(path) != "tsserver.js" || !isFile(path) || s.opts.owner(path) != "" {
			return ""
		}
		return path
	}
	if configured, ok := d.fields["initOptions"]; ok {
		if ts := configured.member("tsserver"); ts != nil {
			if at := ts.member("path"); at != nil && at.kind == text {
				for _, path := range []string{at.text, filepath.Join(at.text, "tsserver.js"), filepath.Join(at.text, "lib", "tsserver.js")} {
					if path = usable(path); path != "" {
						return path
					}
				}
			}
		}
	}
	for dir := filepath.Dir(real(program)); ; dir = filepath.Dir(dir) {
		if path := usable(filepath.Join(dir, "node_modules", filepath.FromSlash(tsserver))); path != "" {
			return path
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	tsc := s.opts.onPath("tsc", s.env).outside
	if tsc == "" {
		return ""
	}
	if path := usable(filepath.Join(filepath.Dir(tsc), "node_modules", filepath.FromSlash(tsserver))); path != "" {
		return path // npm on Windows
	}
	return usable(filepath.Join(filepath.Dir(filepath.Dir(real(tsc))), "lib", "tsserver.js"))
}
