package config_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/trust"
	"github.com/gajae-code/gjc/lsp"
	"github.com/gajae-code/gjc/lsp/config"
)

// machine is a fake machine: a home directory, a workspace, and the programs on PATH.
type machine struct {
	t          *testing.T
	home, root string
	onPath     []string
	env        []string
	trust      *trust.Session
	store      *trust.Store
}

func newMachine(t *testing.T, onPath ...string) *machine {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, home: filepath.Join(dir, "home"), root: filepath.Join(dir, "work"), onPath: onPath}
	m.store = trust.Open(filepath.Join(m.home, ".gjc", "agent", "trust.json"))
	m.trust = trust.NewSession(m.store)
	for _, d := range []string{m.home, m.root} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// write creates a file in the workspace, or in the home directory if the name begins with ~.
func (m *machine) write(name, text string) string {
	m.t.Helper()
	path := m.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		m.t.Fatal(err)
	}
	return path
}

func (m *machine) path(name string) string {
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		return filepath.Join(m.home, filepath.FromSlash(rest))
	}
	return filepath.Join(m.root, filepath.FromSlash(name))
}

// program creates a program in the project.
func (m *machine) program(name string) string {
	if runtime.GOOS == "windows" {
		name = strings.ReplaceAll(name, "venv/bin", "venv/Scripts") + ".exe"
	}
	return m.write(name, "")
}

// usr returns the directory of the programs on PATH.
func usr(name string) string {
	if runtime.GOOS == "windows" {
		return `C:\usr\` + name + ".exe"
	}
	return "/usr/bin/" + name
}

func (m *machine) open(roots ...string) *config.Catalog {
	if len(roots) == 0 {
		roots = []string{m.root}
	}
	return config.New(config.Options{
		Roots: roots, Home: m.home, AgentDir: filepath.Join(m.home, ".gjc", "agent"), Trust: m.trust,
		Env: func(context.Context) []string { return m.env },
		LookPath: func(command string, _ []string) (string, error) {
			if slices.Contains(m.onPath, command) {
				return usr(command), nil
			}
			return "", fmt.Errorf("%q: %w", command, fs.ErrNotExist)
		},
	})
}

// forFile returns the names of the servers for a file, with their roots relative to the workspace.
func (m *machine) forFile(c *config.Catalog, name string) string {
	m.t.Helper()
	list, err := c.For(m.t.Context(), m.path(name))
	if err != nil {
		m.t.Fatal(err)
	}
	return m.names(list)
}

func (m *machine) names(list []lsp.Candidate) string {
	var all []string
	for _, s := range list {
		rel, err := filepath.Rel(m.root, s.Root)
		if err != nil {
			m.t.Fatal(err)
		}
		text := s.Spec.Name
		if rel != "." {
			text += "@" + filepath.ToSlash(rel)
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

func (m *machine) list(c *config.Catalog) *lsp.Listing {
	m.t.Helper()
	l, err := c.List(m.t.Context())
	if err != nil {
		m.t.Fatal(err)
	}
	return l
}

func why(l *lsp.Listing, name string) string {
	for _, u := range l.Unused {
		if u.Name == name {
			return u.Why
		}
	}
	return ""
}

func spec(t *testing.T, c *config.Catalog, path, name string) *lsp.Spec {
	t.Helper()
	list, err := c.For(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		if s.Spec.Name == name {
			return s.Spec
		}
	}
	t.Fatalf("%s is not there for %s", name, path)
	return nil
}

func TestCatalog_For(t *testing.T) {
	js := []string{"typescript-language-server", "biome", "vscode-eslint-language-server", "deno"}
	for _, tt := range []struct {
		name   string
		onPath []string
		files  []string
		file   string
		want   string
	}{
		{"marker in the root", []string{"gopls"}, []string{"go.mod"}, "a/b/x.go", "gopls"},
		{"marker in the root before a nearer one", []string{"gopls"}, []string{"go.mod", "a/go.mod"}, "a/b/x.go", "gopls"},
		{"nearest marker", []string{"gopls"}, []string{"a/go.mod", "a/b/go.work"}, "a/b/c/x.go", "gopls@a/b"},
		{"marker below the file", []string{"gopls"}, []string{"a/b/go.mod"}, "a/x.go", ""},
		{"no marker", []string{"gopls"}, nil, "x.go", ""},
		{"no program", nil, []string{"go.mod"}, "x.go", ""},
		{"other file", []string{"gopls"}, []string{"go.mod"}, "x.rs", ""},
		{"case of the extension", []string{"gopls"}, []string{"go.mod"}, "X.GO", "gopls"},
		{"whole name", []string{"docker-langserver"}, []string{"Dockerfile"}, "Dockerfile", "dockerls"},
		{"end of a whole name", []string{"docker-langserver"}, []string{"Dockerfile"}, "NoDockerfile", ""},
		{"dot file", []string{"vim-language-server"}, []string{".git/HEAD"}, ".vimrc", "vimls"},
		{"glob marker", []string{"haskell-language-server-wrapper"}, []string{"x.cabal"}, "Main.hs", "hls"},
		{"marker that is a path", []string{"prisma-language-server"}, []string{"prisma/schema.prisma"}, "x.prisma", "prismals"},
		{"linters last", js, []string{"package.json", "biome.json"}, "x.ts", "typescript-language-server biome"},
		{"Deno where its marks are", js, []string{"package.json", "deno.json"}, "x.ts", "denols typescript-language-server"},
		{"superseded", []string{"csharp-ls", "omnisharp"}, []string{"x.sln"}, "X.cs", "csharp-ls"},
		{"not superseded where the other is missing", []string{"omnisharp"}, []string{"x.sln"}, "X.cs", "omnisharp"},
		{"not superseded where the other has no marker", []string{"csharp-ls", "omnisharp"}, []string{"omnisharp.json"}, "X.cs", "omnisharp"},
		{"templates of charts", []string{"helm_ls", "yaml-language-server"}, []string{".git/HEAD", "Chart.yaml"}, "templates/x.yaml", "helm-ls yamlls"},
		{"no server at all", []string{"swiftlint"}, []string{"Package.swift"}, "x.swift", ""},
		{"outside of the workspace", []string{"gopls"}, []string{"go.mod"}, "../other/x.go", ""},
		{"sibling with the workspace's name in front", []string{"gopls"}, []string{"go.mod"}, "../work2/x.go", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t, tt.onPath...)
			for _, f := range tt.files {
				m.write(f, "")
			}
			if got := m.forFile(m.open(), tt.file); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	if _, err := newMachine(t).open().For(t.Context(), "x.go"); err == nil {
		t.Error("a relative path is taken")
	}
}

// TestCatalog_CustomServer covers compound extensions and whole file names, and checks that the user's own servers precede the
// defaults.
func TestCatalog_CustomServer(t *testing.T) {
	m := newMachine(t, "blade-ls", "intelephense", "just-ls")
	m.write("composer.json", "")
	m.write("~/.gjc/agent/lsp.yaml", `servers:
  blade: {command: blade-ls, args: [--stdio], fileTypes: [.blade.php, Justfile], rootMarkers: [composer.json], extensionToLanguage: {.blade.php: blade}}
  lacking: {command: x}
  gopl: {settings: {}}
`)
	c := m.open()
	for file, want := range map[string]string{"x.blade.php": "blade intelephense", "x.php": "intelephense", "Justfile": "blade", "a.Justfile": ""} {
		if got := m.forFile(c, file); got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
	s := spec(t, c, m.path("x.blade.php"), "blade")
	if s.Path != usr("blade-ls") || !slices.Equal(s.Args, []string{"--stdio"}) || s.LanguageIDs[".blade.php"] != "blade" {
		t.Errorf("got %+v", s)
	}
	problems := strings.Join(m.list(c).Problems, "\n")
	for _, want := range []string{`lsp.yaml:3: unknown server "lacking" needs command, fileTypes and rootMarkers; it lacks fileTypes and rootMarkers`, `lsp.yaml:4: unknown server "gopl"`, `did you mean "gopls"?`} {
		if !strings.Contains(problems, want) {
			t.Errorf("problems %q lack %q", problems, want)
		}
	}
}

// TestCatalog_Order checks the precedence of all configuration files: each sets a new setting and overrides one of the file before
// it.
func TestCatalog_Order(t *testing.T) {
	m := newMachine(t, "gopls")
	m.write("go.mod", "")
	places := []string{"~/", "~/.gemini/", "~/.gjc/agent/", ".gemini/", ".gjc/", ""}
	names := []string{".lsp.yml", "lsp.yml", ".lsp.yaml", "lsp.yaml", ".lsp.json", "lsp.json"} // in ascending order of precedence
	n := 0
	for _, p := range places {
		for _, name := range names {
			m.write(p+name, fmt.Sprintf(`{"gopls": {"settings": {"s%d": 0, "s%d": 1, "list": [%d]}, "args": ["%d"]}, "idleTimeoutMs": %d}`, n+1, n, n, n, 10_001+n))
			n++
		}
	}
	c := m.open()
	sub, err := c.Untrusted(t.Context())
	if err != nil || sub == nil {
		t.Fatalf("%v, %v", sub, err)
	}
	if err := c.Answer(t.Context(), sub, trust.Trusted, false); err != nil {
		t.Fatal(err)
	}
	s := spec(t, c, m.path("x.go"), "gopls")
	settings := string(s.Settings)
	for i := range n {
		if !strings.Contains(settings, fmt.Sprintf(`"s%d":1`, i)) {
			t.Errorf("setting %d is not that of the file that counts more: %s", i, settings)
		}
	}
	if !strings.Contains(settings, fmt.Sprintf(`"list":[%d]`, n-1)) || !strings.Contains(settings, `"gofumpt":true`) || !slices.Equal(s.Args, []string{fmt.Sprint(n - 1)}) {
		t.Errorf("settings %s, arguments %q", settings, s.Args)
	}
	if l := m.list(c); l.Idle.Milliseconds() != int64(10_000+n) || len(l.Problems) > 0 {
		t.Errorf("idle %v, problems %q", l.Idle, l.Problems)
	}
}

func TestCatalog_List(t *testing.T) {
	m := newMachine(t, "gopls", "csharp-ls", "omnisharp", "swiftlint", "rust-analyzer")
	for _, f := range []string{"go.mod", "x.sln", "Package.swift", "crate/Cargo.toml", "package.json"} {
		m.write(f, "")
	}
	user := m.write("~/lsp.json", "{\n\"clangd\": {\"disabled\": true}, \"idleTimeoutMs\": 50000}")
	c := m.open()
	l := m.list(c)
	if got := m.names(l.Servers); got != "gopls csharp-ls" {
		t.Errorf("servers %q", got)
	}
	for name, want := range map[string]string{
		"clangd":                     "turned off in " + user + ":2",
		"omnisharp":                  "csharp-ls is used instead",
		"swiftlint":                  "does not speak the Language Server Protocol",
		"typescript-language-server": "npm install -g typescript-language-server typescript",
		"zls":                        "none of build.zig, build.zig.zon, zls.json is in " + m.root,
		"rust-analyzer":              "none of Cargo.toml",
	} {
		if got := why(l, name); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if len(l.Servers)+len(l.Unused) != 53 || l.Idle.Milliseconds() != 50_000 || len(l.Problems) > 0 {
		t.Errorf("%d servers, %d unused, idle %v, problems %q", len(l.Servers), len(l.Unused), l.Idle, l.Problems)
	}
	if l.Unused[0].Name == "zls" {
		t.Error("what has no marker comes first")
	}
	// The list includes servers for the directories of requested files.
	if got := m.forFile(c, "crate/src/x.rs"); got != "rust-analyzer@crate" {
		t.Errorf("got %q", got)
	}
	if l := m.list(c); m.names(l.Servers) != "gopls csharp-ls rust-analyzer@crate" || why(l, "rust-analyzer") != "" {
		t.Errorf("servers %q", m.names(l.Servers))
	}
}

// TestCatalog_LocalPrograms checks that the project's own programs precede those on PATH in a trusted workspace only.
// A server that runs no code of a project needs no sandbox, unless its program, or what it loads, is the project's own, which the model can
// change. The user may except any server.
func TestCatalog_Outside(t *testing.T) {
	m := newMachine(t, "gopls", "typescript-language-server", "rust-analyzer", "pylsp", "mine")
	m.with(map[string]string{"package.json": "", "go.mod": "", "Cargo.toml": "", "pyproject.toml": "", "mark": ""})
	m.write("~/lsp.yaml", "mine: {command: mine, fileTypes: [.own], rootMarkers: [mark]}\npylsp: {sandbox: false}")
	c := m.open()
	check := func(file, name string, want bool) {
		t.Helper()
		if s := spec(t, c, m.path(file), name); s.Outside != want {
			t.Errorf("%s (%s) outside: %v", name, s.Path, s.Outside)
		}
	}
	check("x.go", "gopls", true)
	check("x.ts", "typescript-language-server", true)
	check("x.rs", "rust-analyzer", false)
	check("x.py", "pylsp", true)
	check("x.own", "mine", false)

	m.program("bin/gopls")
	m.write("node_modules/typescript/lib/tsserver.js", "")
	c.Changed([]string{m.path("bin"), m.path("node_modules/typescript")})
	m.trusts(c, "x.ts")
	m.program(".venv/bin/pylsp")
	c.Changed([]string{m.path(".venv/bin/pylsp")})
	check("x.go", "gopls", false)
	check("x.ts", "typescript-language-server", false)
	check("x.py", "pylsp", true)
}

func TestCatalog_LocalPrograms(t *testing.T) {
	m := newMachine(t, "typescript-language-server")
	m.write("package.json", "")
	m.write("pyproject.toml", "")
	ts := m.program("node_modules/.bin/typescript-language-server")
	py := m.program(".venv/bin/pyright-langserver")
	m.write("node_modules/.bin/pylsp/not-a-program", "")
	c := m.open()
	if got := spec(t, c, m.path("x.ts"), "typescript-language-server").Path; got != usr("typescript-language-server") {
		t.Errorf("untrusted, %s runs", got)
	}
	if got := m.forFile(c, "x.py"); got != "" {
		t.Errorf("untrusted, %s is there", got)
	}
	l := m.list(c)
	if got := why(l, "pyright"); !strings.Contains(got, py) || !strings.Contains(got, `gjc trust add `+m.root) {
		t.Errorf("pyright: %q", got)
	}
	if len(l.Problems) != 1 || !strings.Contains(l.Problems[0], "node_modules/.bin/") {
		t.Errorf("problems %q", l.Problems)
	}
	sub, err := c.Untrusted(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"programs in the workspace:"}
	for _, p := range []string{py, ts} {
		rel, _ := filepath.Rel(m.root, p)
		want = append(want, "  "+filepath.ToSlash(rel))
	}
	if diff := cmp.Diff(want, sub.Describe()); diff != "" || sub.Path != m.root {
		t.Errorf("question about %s (-want +got):\n%s", sub.Path, diff)
	}
	if err := c.Answer(t.Context(), sub, trust.Trusted, true); err != nil {
		t.Fatal(err)
	}
	if got := spec(t, c, m.path("x.ts"), "typescript-language-server").Path; got != ts {
		t.Errorf("trusted, %s runs", got)
	}
	if got := spec(t, c, m.path("x.py"), "pyright").Path; got != py {
		t.Errorf("trusted, %s runs", got)
	}
	if sub, err := c.Untrusted(t.Context()); sub != nil || err != nil {
		t.Errorf("asked again: %+v, %v", sub, err)
	}
	if l := m.list(c); len(l.Problems) > 0 {
		t.Errorf("problems %q", l.Problems)
	}
	// A revocation by another process takes effect.
	if was, err := m.store.Revoke(t.Context(), m.root); !was || err != nil {
		t.Fatalf("%v, %v", was, err)
	}
	if got := spec(t, c, m.path("x.ts"), "typescript-language-server").Path; got == ts {
		t.Error("the workspace is trusted for ever")
	}
}

// TestCatalog_UntrustedFor checks that there is no question for a file if trust would not change its servers.
func TestCatalog_UntrustedFor(t *testing.T) {
	m := newMachine(t, "gopls", "marksman")
	m.write("package.json", "")
	m.write("go.mod", "")
	m.write(".git/HEAD", "")
	m.program("node_modules/.bin/vscode-css-language-server")
	c := m.open()
	check := func(file string, want int) {
		t.Helper()
		sub, err := c.UntrustedFor(t.Context(), m.path(file))
		if err != nil {
			t.Fatal(err)
		}
		if sub == nil && want > 0 || sub != nil && len(sub.Describe()) != want {
			t.Errorf("%s: %+v", file, sub)
		}
	}
	check("x.go", 0)
	check("README.md", 0)
	check("../x.css", 0)
	check("x.css", 2)
	m.write("lsp.json", `{"gopls": {"args": ["theirs"]}, "marksman": {"disabled": true}}`)
	c.Changed([]string{m.path("lsp.json")})
	check("x.go", 4)
	check("README.md", 0)
	sub, err := c.UntrustedFor(t.Context(), m.path("x.go"))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Answer(t.Context(), sub, trust.Denied, false); err != nil {
		t.Fatal(err)
	}
	check("x.go", 0)
	check("x.css", 0)
}

// TestCatalog_ProjectFiles checks that the project's own files are ignored until the user trusts them, and again after a change.
func TestCatalog_ProjectFiles(t *testing.T) {
	m := newMachine(t, "gopls", "evil")
	m.write("go.mod", "")
	m.write("~/.gjc/agent/lsp.json", `{"gopls": {"args": ["mine"]}}`)
	file := m.write(".gjc/lsp.yaml", "gopls:\n  args: [theirs]\nbad:\n  command: evil\n  fileTypes: [.go]\n  rootMarkers: [go.mod]\n")
	harmless := m.write(".lsp.json", `{"bashls": {"disabled": true}}`)
	c := m.open()
	check := func(what, servers, args string) {
		t.Helper()
		if got := m.forFile(c, "x.go"); got != servers {
			t.Errorf("%s: %q, want %q", what, got, servers)
		}
		if got := spec(t, c, m.path("x.go"), "gopls").Args; !slices.Equal(got, []string{args}) {
			t.Errorf("%s: arguments %q", what, got)
		}
	}
	check("not asked", "gopls", "mine")
	l := m.list(c)
	if len(l.Problems) != 1 || !strings.HasPrefix(l.Problems[0], file+": not used, because the workspace is not trusted yet") {
		t.Errorf("problems %q", l.Problems)
	}
	if got := why(l, "bashls"); !strings.HasPrefix(got, "turned off in "+harmless) {
		t.Errorf("what needs no trust is not used: %q", got)
	}
	sub, err := c.Untrusted(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{".gjc/lsp.yaml", `  server "gopls" has the arguments: theirs`, `  server "bad" runs: evil`, `  server "bad" has fileTypes: .go`, `  server "bad" has rootMarkers: go.mod`}
	if diff := cmp.Diff(want, sub.Describe()); diff != "" {
		t.Errorf("question (-want +got):\n%s", diff)
	}

	if err := c.Answer(t.Context(), sub, trust.Denied, false); err != nil {
		t.Fatal(err)
	}
	check("denied", "gopls", "mine")
	if sub, _ := c.Untrusted(t.Context()); sub != nil {
		t.Error("asked again after a no")
	}
	if l := m.list(c); len(l.Problems) != 1 || !strings.Contains(l.Problems[0], "you have denied") {
		t.Errorf("problems %q", l.Problems)
	}
	if err := c.Answer(t.Context(), sub, trust.Trusted, true); err != nil {
		t.Fatal(err)
	}
	check("trusted", "bad gopls", "theirs")
	if got := spec(t, m.open(), m.path("x.go"), "gopls").Args; !slices.Equal(got, []string{"theirs"}) {
		t.Errorf("not remembered: %q", got)
	}

	m.write(".gjc/lsp.yaml", "gopls:\n  args: [worse]\n")
	check("nobody told of the change", "bad gopls", "theirs")
	c.Changed([]string{file})
	check("changed", "gopls", "mine")
	sub, err = c.Untrusted(t.Context())
	if err != nil || sub == nil {
		t.Fatalf("%v, %v", sub, err)
	}
	if got := sub.Describe()[0]; got != ".gjc/lsp.yaml (changed since you were asked)" {
		t.Errorf("question %q", got)
	}
}

// TestCatalog_PathsAsCommands checks that a command in the workspace belongs to the project, however it is written.
func TestCatalog_PathsAsCommands(t *testing.T) {
	for _, form := range []string{"tools/ls", "./tools/ls", "absolute", "~/ls", "elsewhere"} {
		t.Run(form, func(t *testing.T) {
			m := newMachine(t)
			m.write("mark", "")
			m.program("tools/ls")
			own := m.program("~/ls")
			command, trusted := form, false
			switch form {
			case "absolute":
				command = m.path("tools/ls")
			case "elsewhere":
				command, trusted = own, true
			case "~/ls":
				trusted = true
			}
			m.write("~/lsp.yaml", fmt.Sprintf("x: {command: '%s', fileTypes: [.x], rootMarkers: [mark]}", command))
			c := m.open()
			if got := m.forFile(c, "a.x"); (got == "x") != trusted {
				t.Errorf("got %q", got)
			}
			sub, err := c.Untrusted(t.Context())
			if err != nil || (sub == nil) != trusted {
				t.Errorf("question %+v, %v", sub, err)
			}
		})
	}
}

// TestCatalog_Home checks that the user's own files need no trust in a session in the home directory.
func TestCatalog_Home(t *testing.T) {
	m := newMachine(t, "gopls")
	m.write("~/go.mod", "")
	m.write("~/lsp.json", `{"gopls": {"args": ["mine"]}}`)
	c := m.open(m.home)
	if got := spec(t, c, filepath.Join(m.home, "x.go"), "gopls").Args; !slices.Equal(got, []string{"mine"}) {
		t.Errorf("arguments %q", got)
	}
	if sub, err := c.Untrusted(t.Context()); sub != nil || err != nil {
		t.Errorf("asked about the user's own files: %+v, %v", sub, err)
	}
}

// TestCatalog_Roots checks that each root has its own files and question, and that the innermost root counts for a file.
func TestCatalog_Roots(t *testing.T) {
	m := newMachine(t, "gopls")
	inner := m.path("inner")
	m.write("go.mod", "")
	m.write("inner/go.mod", "")
	m.write("lsp.json", `{"gopls": {"args": ["outer"]}}`)
	m.write("inner/lsp.json", `{"gopls": {"args": ["inner"]}}`)
	c := m.open(m.root, inner)
	for range 2 {
		sub, err := c.Untrusted(t.Context())
		if err != nil || sub == nil {
			t.Fatalf("%+v, %v", sub, err)
		}
		if err := c.Answer(t.Context(), sub, trust.Trusted, false); err != nil {
			t.Fatal(err)
		}
	}
	for file, want := range map[string]string{"x.go": "outer", "inner/x.go": "inner"} {
		if got := spec(t, c, m.path(file), "gopls").Args; got[0] != want {
			t.Errorf("%s: %q", file, got)
		}
	}
	if got := m.forFile(c, "inner/a/x.go"); got != "gopls@inner" {
		t.Errorf("got %q", got)
	}
	if got := m.names(m.list(c).Servers); got != "gopls gopls@inner" {
		t.Errorf("servers %q", got)
	}
}

// TestCatalog_Changed checks that files are read again after a relevant change only.
func TestCatalog_Changed(t *testing.T) {
	m := newMachine(t, "gopls")
	c := m.open()
	for _, tt := range []struct {
		does    func()
		changed string
		want    string
	}{
		{func() {}, "", ""},
		{func() { m.write("go.mod", "") }, "main.go", ""},
		{func() {}, "go.mod", "gopls"},
		{func() { m.write("~/lsp.json", `{"gopls": {"disabled": true}}`) }, "notes.md", "gopls"},
		{func() {}, "~/lsp.json", ""},
		{func() { os.Remove(m.path("~/lsp.json")) }, "~/lsp.json", "gopls"},
		{func() { os.Remove(m.path("go.mod")); m.write("a/go.mod", "") }, "a/go.mod", "gopls@a"},
		{func() { os.RemoveAll(m.path("a")) }, "a", ""},
	} {
		tt.does()
		if tt.changed != "" {
			c.Changed([]string{m.path(tt.changed)})
		}
		if got := m.forFile(c, "a/x.go"); got != tt.want {
			t.Errorf("after the change of %s: %q, want %q", tt.changed, got, tt.want)
		}
	}
	// Without paths, anything may have changed.
	m.write("a/go.mod", "")
	c.Changed(nil)
	if got := m.forFile(c, "a/x.go"); got != "gopls@a" {
		t.Errorf("got %q", got)
	}
	// The same server has the same pointer, so that it is not started twice.
	m.write("go.mod", "")
	c.Changed([]string{m.path("go.mod")})
	if a, b := spec(t, c, m.path("x.go"), "gopls"), spec(t, c, m.path("b/y.go"), "gopls"); a != b {
		t.Error("one server has two specs")
	}
}

// TestCatalog_BrokenTrust checks that an invalid trust file trusts nothing and is reported.
func TestCatalog_BrokenTrust(t *testing.T) {
	m := newMachine(t, "gopls")
	m.write("go.mod", "")
	m.write("lsp.json", `{"gopls": {"args": ["theirs"]}}`)
	m.write("~/.gjc/agent/trust.json", "{")
	c := m.open()
	if got := spec(t, c, m.path("x.go"), "gopls").Args; !slices.Equal(got, []string{"serve"}) {
		t.Errorf("arguments %q", got)
	}
	for range 2 {
		if l := m.list(c); len(l.Problems) != 2 || !strings.Contains(l.Problems[0], "trust.json") {
			t.Errorf("problems %q", l.Problems)
		}
	}
	if _, err := c.Untrusted(t.Context()); err == nil {
		t.Error("no error")
	}
}

// TestCatalog_Lazy checks that nothing is read before the first call, and that a cancelled call fails.
func TestCatalog_Lazy(t *testing.T) {
	m := newMachine(t)
	m.env = []string{"X=1"}
	asked := false
	c := config.New(config.Options{Roots: []string{m.root}, Env: func(context.Context) []string { asked = true; return nil }})
	c.Changed([]string{m.path("go.mod")})
	if asked {
		t.Error("the environment was asked for too early")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(fs.ErrClosed)
	if _, err := c.For(ctx, m.path("x.go")); err != fs.ErrClosed { //nolint:errorlint // the cause itself
		t.Errorf("got %v", err)
	}
	if _, err := c.List(t.Context()); err != nil || !asked {
		t.Errorf("%v, %v", err, asked)
	}
}

// TestCatalog_Concurrent calls all methods concurrently while files and answers change.
func TestCatalog_Concurrent(t *testing.T) {
	m := newMachine(t, "gopls")
	m.write("go.mod", "")
	m.write("lsp.json", `{"gopls": {"args": ["theirs"]}}`)
	c := m.open()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 20 {
				if list, err := c.For(t.Context(), m.path("x.go")); err != nil || len(list) != 1 {
					t.Errorf("%+v, %v", list, err)
				}
				if l, err := c.List(t.Context()); err != nil || len(l.Servers) != 1 {
					t.Errorf("%+v, %v", l, err)
				}
				if i == 0 {
					c.Changed([]string{m.path("lsp.json")})
				}
				sub, err := c.Untrusted(t.Context())
				if err != nil {
					t.Error(err)
				}
				if sub != nil && i == 1 {
					if err := c.Answer(t.Context(), sub, trust.Trusted, false); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
}

func BenchmarkFor(b *testing.B) {
	root := b.TempDir()
	if err := os.WriteFile(filepath.Join(root, "go.mod"), nil, 0o600); err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(root, "a", "b", "x.go")
	look := func(command string, _ []string) (string, error) { return usr(command), nil }
	b.Run("warm", func(b *testing.B) {
		c := config.New(config.Options{Roots: []string{root}, LookPath: look})
		for b.Loop() {
			if list, err := c.For(b.Context(), path); err != nil || len(list) != 1 {
				b.Fatal(list, err)
			}
		}
	})
	b.Run("cold", func(b *testing.B) {
		for b.Loop() {
			c := config.New(config.Options{Roots: []string{root}, Home: root, LookPath: look})
			if list, err := c.For(b.Context(), path); err != nil || len(list) != 1 {
				b.Fatal(list, err)
			}
		}
	})
	b.Run("list", func(b *testing.B) {
		c := config.New(config.Options{Roots: []string{root}, LookPath: look})
		for b.Loop() {
			if _, err := c.List(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// TestCatalog_MarkerAboveTheRoot checks that root markers above the root are found within the repository: an editor may open a part
// of it.
func TestCatalog_MarkerAboveTheRoot(t *testing.T) {
	m := newMachine(t, "gopls", "yaml-language-server")
	m.write("go.mod", "")
	m.write("part/inner/x.go", "")
	c := m.open(m.path("part/inner"))
	if got := m.forFile(c, "part/inner/x.go"); got != "" {
		t.Errorf("outside of a repository: %q", got)
	}
	m.write(".git/HEAD", "")
	c = m.open(m.path("part/inner"))
	if got := m.forFile(c, "part/inner/x.go"); got != "gopls@part/inner" {
		t.Errorf("in a repository: %q", got)
	}
	m.write("part/.git", "gitdir: elsewhere")
	c = m.open(m.path("part/inner"))
	if got := m.forFile(c, "part/inner/x.go"); got != "" {
		t.Errorf("above the repository: %q", got)
	}
	// A server whose only marker is that of the version control is not missing.
	missed := map[string]bool{}
	for _, u := range m.list(newMachine(t).with(map[string]string{".git/HEAD": "", "go.mod": ""}).open()).Unused {
		missed[u.Name] = !u.Elsewhere
	}
	if !missed["gopls"] || missed["vimls"] || missed["rust-analyzer"] {
		t.Errorf("missed: %v", missed)
	}
}

// with creates files in the workspace.
func (m *machine) with(files map[string]string) *machine {
	for name, text := range files {
		m.write(name, text)
	}
	return m
}
