package config_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/internal/trust"
	"github.com/gajae-code/gjc/lsp/config"
)

// pathMachine is a machine whose PATH is searched on the disk.
func pathMachine(t *testing.T, path ...string) (m *machine, c *config.Catalog) {
	t.Helper()
	m = newMachine(t)
	return m, m.openPath(path...)
}

func (m *machine) openPath(path ...string) *config.Catalog {
	for i, p := range path {
		if strings.Contains(p, "/") && !filepath.IsAbs(p) {
			path[i] = m.path(p)
		}
	}
	m.env = []string{"PATH=" + strings.Join(path, string(os.PathListSeparator))}
	return config.New(config.Options{
		Roots: []string{m.root}, Home: m.home, AgentDir: filepath.Join(m.home, ".gjc", "agent"), Trust: m.trust,
		Env: func(context.Context) []string { return m.env },
	})
}

func (m *machine) trusts(c *config.Catalog, file string) {
	m.t.Helper()
	sub, err := c.UntrustedFor(m.t.Context(), m.path(file))
	if err != nil || sub == nil {
		m.t.Fatalf("nobody asks: %v, %v", sub, err)
	}
	if err := c.Answer(m.t.Context(), sub, trust.Trusted, false); err != nil {
		m.t.Fatal(err)
	}
}

// TestCatalog_PathInTheWorkspace checks that a program in the project is the project's own, even if it is on PATH.
func TestCatalog_PathInTheWorkspace(t *testing.T) {
	exe := ""
	if runtime.GOOS == "windows" {
		exe = ".exe"
	}
	for _, tt := range []struct {
		name  string
		path  []string
		links map[string]string // symlink to target
		// before and after are the program without and with trust; empty for none.
		before, after string
	}{
		{"direnv", []string{"tools", "~/bin"}, nil, "~/bin/gopls", ""}, // relative directories on PATH are ignored
		{"absolute", []string{"tools/.", "~/bin"}, nil, "~/bin/gopls", "tools/gopls"},
		{"after the machine's", []string{"~/bin", "tools/."}, nil, "~/bin/gopls", "~/bin/gopls"},
		{"nowhere else", []string{"tools/."}, nil, "", "tools/gopls"},
		{"twice", []string{"tools/.", "tools/../tools", "~/bin"}, nil, "~/bin/gopls", "tools/gopls"},
		{"empty places", []string{"", ".", "~/bin"}, nil, "~/bin/gopls", ""},
		{"linked directory", []string{"~/link", "~/bin"}, map[string]string{"~/link": "tools"}, "~/bin/gopls", "~/link/gopls"},
		{"linked program", []string{"~/links", "~/bin"}, map[string]string{"~/links/gopls": "tools/gopls"}, "~/bin/gopls", "~/links/gopls"},
		{"link that leads out", []string{"out/.", "~/bin"}, map[string]string{"out": "~/bin"}, "~/bin/gopls", "out/gopls"},
		{"link in the project", []string{"~/link", "~/bin"}, map[string]string{"~/link": "way", "way/gopls": "~/bin/gopls"}, "~/bin/gopls", "~/link/gopls"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t)
			m.write("go.mod", "")
			m.write("tools/gopls"+exe, "")
			m.write("~/bin/gopls"+exe, "")
			for _, name := range []string{"~/link", "out", "way/gopls", "~/links/gopls"} {
				to, ok := tt.links[name]
				if !ok {
					continue
				}
				if runtime.GOOS == "windows" {
					t.Skip("links need a privilege")
				}
				if to == "way" {
					if err := os.Mkdir(m.path("way"), 0o755); err != nil {
						t.Fatal(err)
					}
				}
				if err := os.MkdirAll(filepath.Dir(m.path(name)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(m.path(to), m.path(name)); err != nil {
					t.Fatal(err)
				}
			}
			c := m.openPath(tt.path...)
			check := func(when, want string) {
				t.Helper()
				list, err := c.For(t.Context(), m.path("x.go"))
				if err != nil {
					t.Fatal(err)
				}
				switch {
				case want == "" && len(list) > 0:
					t.Errorf("%s: %s runs", when, list[0].Spec.Path)
				case want != "" && (len(list) != 1 || list[0].Spec.Path != m.path(want)+exe):
					t.Errorf("%s: %+v, want %s", when, list, want)
				}
			}
			check("without trust", tt.before)
			if tt.before == "" && !strings.Contains(why(m.list(c), "gopls"), "the project's own program and is not run") {
				t.Errorf("gopls: %q", why(m.list(c), "gopls"))
			}
			sub, err := c.UntrustedFor(t.Context(), m.path("x.go"))
			if err != nil {
				t.Fatal(err)
			}
			if asks := tt.after != "" && tt.after != tt.before; asks != (sub != nil) {
				t.Fatalf("question %+v", sub)
			} else if asks {
				m.trusts(c, "x.go")
				check("with trust", tt.after)
			}
		})
	}
}

// TestCatalog_PathInAnotherRoot checks that a program of one root needs that root's trust, also for files of another root.
func TestCatalog_PathInAnotherRoot(t *testing.T) {
	m := newMachine(t)
	exe := ""
	if runtime.GOOS == "windows" {
		exe = ".exe"
	}
	other := m.path("~/other")
	m.write("go.mod", "")
	program := m.write("~/other/tools/gopls"+exe, "")
	m.env = []string{"PATH=" + filepath.Dir(program)}
	c := config.New(config.Options{Roots: []string{m.root, other}, Trust: m.trust, Env: func(context.Context) []string { return m.env }})
	if err := m.trust.Answer(t.Context(), &trust.Subject{Path: m.root, Programs: []string{"any"}}, trust.Trusted, false); err != nil {
		t.Fatal(err)
	}
	if got := m.forFile(c, "x.go"); got != "" {
		t.Errorf("the trust in one root is taken for the other's: %s", got)
	}
	sub, err := c.Untrusted(t.Context())
	if err != nil || sub == nil || sub.Path != other || !slices.Equal(sub.Programs, []string{"tools/gopls" + exe}) {
		t.Fatalf("question %+v, %v", sub, err)
	}
	if err := c.Answer(t.Context(), sub, trust.Trusted, false); err != nil {
		t.Fatal(err)
	}
	if got := spec(t, c, m.path("x.go"), "gopls").Path; got != program {
		t.Errorf("%s runs", got)
	}
}

// TestCatalog_Environ checks that PATH has no directory in a project that is not trusted.
func TestCatalog_Environ(t *testing.T) {
	m, c := pathMachine(t, "tools/.", "", ".", "tools", "~/bin")
	m.write("tools/node", "")
	path := func() string {
		env, err := c.Environ(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimPrefix(env[len(env)-1], "PATH=")
	}
	if got := path(); got != m.path("~/bin") {
		t.Errorf("without trust PATH is %q", got)
	}
	if err := m.trust.Answer(t.Context(), &trust.Subject{Path: m.root, Programs: []string{"any"}}, trust.Trusted, false); err != nil {
		t.Fatal(err)
	}
	if got := path(); got != m.path("tools")+string(os.PathListSeparator)+m.path("~/bin") {
		t.Errorf("with trust PATH is %q", got)
	}
}

// TestLspmux_InTheWorkspace checks that the project's own lspmux is never used.
func TestLspmux_InTheWorkspace(t *testing.T) {
	m, c := pathMachine(t, "tools/.")
	m.write("tools/lspmux", "")
	m.write("~/.config/lspmux/config.toml", "")
	status, err := c.Lspmux(t.Context())
	if err != nil || status.Path != "" || !strings.Contains(status.String(), "only in the project") {
		t.Errorf("%+v, %v", status, err)
	}
}

// TestCatalog_LoadsProject checks that servers on PATH that would load code of the project are used only with trust.
func TestCatalog_LoadsProject(t *testing.T) {
	for _, tt := range []struct {
		name, program string
		marker        string
		loads         map[string]string
		file, asked   string
	}{
		{"eslint", "vscode-eslint-language-server", ".eslintrc.json", nil, "x.js", ".eslintrc.json"}, // the file can name plugins
		{"eslint", "vscode-eslint-language-server", "eslint.config.mjs", nil, "x.js", "eslint.config.mjs"},
		{"eslint", "vscode-eslint-language-server", "eslint.config.js", map[string]string{"node_modules/eslint/package.json": ""}, "x.js", "node_modules/eslint"},
		{"vue-language-server", "vue-language-server", "package.json", map[string]string{"node_modules/vue/x": ""}, "x.vue", "node_modules"},
		{"vue-language-server", "vue-language-server", "package.json", map[string]string{"part/node_modules/vue/x": ""}, "part/x.vue", "part/node_modules"},
		{"svelte", "svelteserver", "package.json", map[string]string{"svelte.config.js": ""}, "x.svelte", "svelte.config.js"},
		{"astro", "astro-ls", "astro.config.js", map[string]string{"node_modules/astro/x": ""}, "x.astro", "node_modules"},
		{"tailwindcss", "tailwindcss-language-server", "tailwind.config.js", nil, "x.css", "tailwind.config.js"},
		{"rust-analyzer", "rust-analyzer", "Cargo.toml", map[string]string{"rust-toolchain.toml": "[toolchain]\npath = 'evil'\n"}, "x.rs", "rust-toolchain.toml"},
		{"rust-analyzer", "rust-analyzer", "Cargo.toml", map[string]string{"rust-toolchain": `toolchain = {"p\u0061th" = "evil"}`}, "x.rs", "rust-toolchain"},
		{"typescript-language-server", "typescript-language-server", "package.json", map[string]string{"node_modules/typescript/lib/tsserver.js": ""}, "x.ts", "node_modules/typescript"},
		{"mine", "vscode-eslint-language-server", "mark", map[string]string{"node_modules/eslint/x": ""}, "x.own", "node_modules/eslint"},
	} {
		t.Run(tt.asked+" "+tt.name, func(t *testing.T) {
			m := newMachine(t, tt.program)
			m.write(tt.marker, "")
			m.with(tt.loads)
			m.write("~/lsp.yaml", "mine: {command: "+tt.program+", fileTypes: [.own], rootMarkers: [mark]}")
			c := m.open()
			if got := m.forFile(c, tt.file); got != "" {
				t.Errorf("without trust %s is used", got)
			}
			if got := why(m.list(c), tt.name); !strings.HasPrefix(tt.file, "part/") && (!strings.Contains(got, "it would run "+m.path(tt.asked)+", which is the project's own") || !strings.Contains(got, "gjc trust add "+m.root)) {
				t.Errorf("why: %q", got)
			}
			sub, err := c.UntrustedFor(t.Context(), m.path(tt.file))
			if err != nil || sub == nil || !slices.Contains(sub.Programs, tt.asked) {
				t.Fatalf("question %+v, %v", sub, err)
			}
			m.trusts(c, tt.file)
			if got := m.forFile(c, tt.file); got != tt.name {
				t.Errorf("with trust %q is used", got)
			}
		})
	}
	// Without such code there is no question.
	m := newMachine(t, "vue-language-server", "rust-analyzer", "typescript-language-server")
	m.with(map[string]string{"package.json": "", "Cargo.toml": "", "rust-toolchain.toml": "[toolchain]\nchannel = 'stable'\n"})
	c := m.open()
	for file, want := range map[string]string{"x.vue": "vue-language-server", "x.rs": "rust-analyzer", "x.ts": "typescript-language-server"} {
		if got := m.forFile(c, file); got != want {
			t.Errorf("%s: %q", file, got)
		}
	}
	if sub, err := c.Untrusted(t.Context()); sub != nil || err != nil {
		t.Errorf("question %+v, %v", sub, err)
	}
	// A file that is created later counts after Changed.
	m.write("node_modules/typescript/lib/tsserver.js", "")
	c.Changed([]string{m.path("node_modules/typescript")})
	if got := m.forFile(c, "x.ts"); got != "" {
		t.Errorf("after npm install %s is used", got)
	}
}

// TestCatalog_TypeScriptOutside checks that without trust, TypeScript's server runs a TypeScript from outside the project.
func TestCatalog_TypeScriptOutside(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("npm has other places on Windows")
	}
	const (
		remaining = "~/npm/node_modules/typescript/lib/tsserver.js"
		global    = "~/global/node_modules/typescript/lib/tsserver.js"
	)
	for _, tt := range []struct {
		name       string
		configured string
		files      []string
		links      map[string]string
		want       string
	}{
		{"beside the server", "", []string{remaining}, nil, remaining},
		{"below the server", "", []string{remaining, "~/npm/node_modules/typescript-language-server/node_modules/typescript/lib/tsserver.js"}, nil, "~/npm/node_modules/typescript-language-server/node_modules/typescript/lib/tsserver.js"},
		{"with tsc", "", []string{global, "~/global/node_modules/typescript/bin/tsc"}, map[string]string{"~/bin/tsc": "~/global/node_modules/typescript/bin/tsc"}, global},
		{"configured", "~/mine/lib/tsserver.js", []string{remaining, "~/mine/lib/tsserver.js"}, nil, "~/mine/lib/tsserver.js"},
		{"configured as a directory", "~/mine/lib", []string{remaining, "~/mine/lib/tsserver.js"}, nil, "~/mine/lib/tsserver.js"},
		{"configured in the project", "node_modules/typescript/lib/tsserver.js", []string{remaining}, nil, remaining},
		{"configured and not there", "~/mine/lib/tsserver.js", []string{remaining}, nil, remaining},
		{"a link into the project", "", nil, map[string]string{remaining: "node_modules/typescript/lib/tsserver.js"}, ""},
		{"none", "", nil, nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t)
			for _, f := range append(tt.files, "package.json", "node_modules/typescript/lib/tsserver.js", "~/npm/node_modules/typescript-language-server/lib/cli.mjs", "~/bin/other") {
				m.write(f, "")
			}
			links := map[string]string{"~/bin/typescript-language-server": "~/npm/node_modules/typescript-language-server/lib/cli.mjs"}
			for _, all := range []map[string]string{links, tt.links} {
				for name, to := range all {
					if err := os.MkdirAll(filepath.Dir(m.path(name)), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.Symlink(m.path(to), m.path(name)); err != nil {
						t.Fatal(err)
					}
				}
			}
			if tt.configured != "" {
				m.write("~/lsp.yaml", "typescript-language-server: {initOptions: {tsserver: {path: '"+m.path(tt.configured)+"', trace: x}}}")
			}
			c := m.openPath("~/bin")
			if tt.want == "" {
				if got := m.forFile(c, "x.ts"); got != "" {
					t.Errorf("%s is used", got)
				}
				if got := why(m.list(c), "typescript-language-server"); !strings.Contains(got, "outside the project") {
					t.Errorf("why: %q", got)
				}
				return
			}
			s := spec(t, c, m.path("a/x.ts"), "typescript-language-server")
			if got := string(s.InitOptions); !strings.Contains(got, `"path":"`+m.path(tt.want)+`"`) || !strings.Contains(got, `"hostInfo"`) || strings.Contains(got, `"trace":"x"`) != (tt.configured != "") {
				t.Errorf("options %s", got)
			}
			if again := spec(t, c, m.path("b/y.ts"), "typescript-language-server"); again != s {
				t.Error("one server has two specs")
			}
			m.trusts(c, "x.ts")
			trusted := spec(t, c, m.path("x.ts"), "typescript-language-server")
			if got := string(trusted.InitOptions); trusted == s || strings.Contains(got, m.path(tt.want)) != (tt.configured != "" && m.path(tt.want) == m.path(tt.configured)) && tt.configured != "~/mine/lib" {
				t.Errorf("with trust the options are %s", got)
			}
		})
	}
}

// TestCatalog_IdleOfTheProject checks that a project cannot set the idle timeout without trust.
func TestCatalog_IdleOfTheProject(t *testing.T) {
	m := newMachine(t, "gopls")
	m.write("lsp.json", `{"idleTimeoutMs": 10000}`)
	c := m.open()
	if l := m.list(c); l.Idle != 0 || len(l.Problems) != 1 || !strings.Contains(l.Problems[0], "lsp.json: not used, because") {
		t.Errorf("without trust: %v, %q", l.Idle, l.Problems)
	}
	sub, err := c.Untrusted(t.Context())
	if err != nil || sub == nil {
		t.Fatalf("%v, %v", sub, err)
	}
	if err := c.Answer(t.Context(), sub, trust.Trusted, false); err != nil {
		t.Fatal(err)
	}
	if l := m.list(c); l.Idle.Seconds() != 10 {
		t.Errorf("with trust: %v", l.Idle)
	}
}

// TestCatalog_TypeScriptOutside_Real checks that the real server runs the configured TypeScript.
func TestCatalog_TypeScriptOutside_Real(t *testing.T) {
	bin := testenv.NeedsLanguageServers(t)
	m := newMachine(t)
	m.with(map[string]string{
		"package.json": "{}", "node_modules/typescript/package.json": `{"version": "5.0.0"}`,
		"node_modules/typescript/lib/tsserver.js": `require("fs").writeFileSync("` + filepath.ToSlash(m.path("ran")) + `", "")`,
	})
	s := spec(t, m.openPath(bin), m.path("x.ts"), "typescript-language-server")
	if s.Path != filepath.Join(bin, "typescript-language-server") || !strings.Contains(string(s.InitOptions), filepath.ToSlash(filepath.Join(filepath.Dir(bin), "typescript", "lib", "tsserver.js"))) {
		t.Errorf("%s with %s", s.Path, s.InitOptions)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	server := exec.CommandContext(ctx, s.Path, s.Args...)
	server.Dir = m.root
	in, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	root := "file://" + filepath.ToSlash(m.root)
	for _, message := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"processId":null,"rootUri":"` + root + `","capabilities":{},"initializationOptions":` + string(s.InitOptions) + `}}`,
		`{"jsonrpc":"2.0","method":"initialized","params":{}}`,
	} {
		if _, err := fmt.Fprintf(in, "Content-Length: %d\r\n\r\n%s", len(message), message); err != nil {
			t.Fatal(err)
		}
	}
	var said strings.Builder
	for buf := make([]byte, 4096); !strings.Contains(said.String(), `"source":`); {
		n, err := out.Read(buf)
		said.Write(buf[:n])
		if err != nil {
			break
		}
	}
	cancel()
	_ = server.Wait()
	if !strings.Contains(said.String(), `"source":"user-setting"`) {
		t.Errorf("the server says %s", said.String())
	}
	if _, err := os.Stat(m.path("ran")); err == nil {
		t.Error("the project's TypeScript was run")
	}
}

// TestCatalog_SettingsThatRun checks that the settings of a workspace need trust, because servers can run commands in them (gopls, rust-
// analyzer), and that gjc does not read the editor's own settings.
func TestCatalog_SettingsThatRun(t *testing.T) {
	for name, text := range map[string]string{
		".gjc/lsp.json":         `{"gopls": {"settings": {"gopls": {"build.buildFlags": ["-toolexec=./planted"]}}}}`,
		"lsp.json":              `{"servers": {"gopls": {"settings": {"gopls": {"build.env": {"GOFLAGS": "-toolexec=./planted"}}}}}}`,
		".lsp.json":             `{"gopls": {"initOptions": {"buildFlags": ["-toolexec=./planted"]}}}`,
		"lsp.yaml":              "gopls: {settings: {check: {overrideCommand: [./planted]}}}\n",
		".gjc/lsp.yml":          "gopls: {initOptions: {x: planted}}\n",
		".vscode/settings.json": `{"gopls": {"build.buildFlags": ["-toolexec=./planted"]}, "go.alternateTools": {"gopls": "./planted"}}`,
		".zed/settings.json":    `{"lsp": {"gopls": {"binary": {"path": "./planted"}, "settings": {"x": "planted"}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, "gopls")
			m.write("go.mod", "")
			m.write(name, text)
			m.write("planted", "#!/bin/sh\n")
			c := m.open()
			shown := func() string {
				t.Helper()
				return fmt.Sprintf("%+v", *spec(t, c, m.path("x.go"), "gopls"))
			}
			if got := shown(); strings.Contains(got, "planted") {
				t.Errorf("without trust: %s", got)
			}
			sub, err := c.Untrusted(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(name, ".vscode") || strings.HasPrefix(name, ".zed") {
				if sub != nil {
					t.Errorf("an editor's settings are asked about: %q", sub.Describe())
				}
				return
			}
			if sub == nil || !strings.Contains(strings.Join(sub.Describe(), "\n"), "planted") {
				t.Fatalf("the question does not show what would run: %+v", sub)
			}
			for state, want := range map[trust.State]bool{trust.Denied: false, trust.Trusted: true} {
				if err := c.Answer(t.Context(), sub, state, false); err != nil {
					t.Fatal(err)
				}
				if got := shown(); strings.Contains(got, "planted") != want {
					t.Errorf("answered %v: %s", state, got)
				}
			}
		})
	}
}
