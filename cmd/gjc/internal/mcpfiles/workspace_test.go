package mcpfiles

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/trust"
	"github.com/gajae-code/gjc/mcp"
	"github.com/gajae-code/gjc/mcp/oauth"
)

// place is a workspace with a repository, and an agent directory.
type place struct {
	t         *testing.T
	dir, home string
	opts      Options
}

func newPlace(t *testing.T, env ...string) *place {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, dir: filepath.Join(base, "w"), home: filepath.Join(base, "home")}
	p.write(".git/HEAD", "")
	p.opts = Options{
		AgentDir: filepath.Join(p.home, ".gjc", "agent"), Roots: []string{p.dir}, Getenv: getenvOf(env), Home: p.home,
		Trust: trust.NewSession(trust.Open(filepath.Join(base, "trust.json"))),
	}
	return p
}

func (p *place) write(name, text string) { writeFile(p.t, filepath.Join(p.dir, name), text) }

// trustAll trusts the files as they are.
func (p *place) trustAll() {
	p.t.Helper()
	for _, sub := range Subjects(p.opts.Roots) {
		if err := p.opts.Trust.Answer(p.t.Context(), sub, trust.Trusted, false); err != nil {
			p.t.Fatal(err)
		}
	}
}

// servers returns the servers that may start, and the mistakes with paths relative to the workspace.
func (p *place) servers() ([]mcp.Server, string) {
	list, err := NewSource(p.opts).Servers(p.t.Context())
	if err != nil {
		return list, strings.ReplaceAll(err.Error(), p.dir+string(filepath.Separator), "")
	}
	return list, ""
}

func names(list []mcp.Server) string {
	var all []string
	for _, s := range list {
		all = append(all, s.Name)
	}
	return strings.Join(all, " ")
}

// Every program's form is understood: names of fields, placeholders, transports, times and lists of tools.
func TestWorkspace_Dialects(t *testing.T) {
	env := []string{"TOKEN=t-0123456789", "BIN=/opt"}
	stdio := func(name, command string, args ...string) mcp.Server {
		return mcp.Server{Name: name, Stdio: &mcp.Stdio{Command: command, Args: args}}
	}
	for _, tt := range []struct {
		file, text string
		want       func(dir string) []mcp.Server
	}{
		{".gjc/mcp.json", `{"mcpServers": {"a": {"command": "bin/x", "args": ["${TOKEN}"], "cwd": "sub"}}}`, func(dir string) []mcp.Server {
			s := stdio("a", filepath.Join(dir, "bin", "x"), "t-0123456789")
			s.Stdio.Dir, s.Secrets = filepath.Join(dir, "sub"), []string{"t-0123456789"}
			return []mcp.Server{s}
		}},
		{".mcp.json", `{"mcpServers": {
  "a": {"command": "node", "args": ["${CLAUDE_PROJECT_DIR}/x.js", "${NONE:-d}"], "alwaysLoad": true, "tools": ["*"]},
  "b": {"type": "sse", "url": "https://example.com/sse", "oauth": {"clientId": "x"}}}}`, func(dir string) []mcp.Server {
			a := stdio("a", "node", dir+"/x.js", "d")
			a.Tools.Allow = []string{"*"}
			return []mcp.Server{a, {Name: "b", HTTP: &mcp.HTTP{URL: "https://example.com/sse", SSE: true, OAuth: oauth.Config{ClientID: "x"}}}}
		}},
		{".vscode/mcp.json", "{ // comment\n" + `"inputs": [], "servers": {
  "a": {"type": "stdio", "command": "${env:BIN}/x", "args": ["${workspaceFolder}", "${workspaceFolderBasename}", "$HOME"], "envFile": "${workspaceFolder}/.env", "dev": {}},
  "b": {"type": "http", "url": "https://example.com", "headers": {"A": "${env:TOKEN}"}},
}}`, func(dir string) []mcp.Server {
			a := stdio("a", "/opt/x", dir, "w", "$HOME")
			a.Stdio.Env = []string{"A=1", "B=two words"}
			return []mcp.Server{a, {Name: "b", HTTP: &mcp.HTTP{URL: "https://example.com", Headers: []mcp.Header{{Name: "A", Value: "t-0123456789"}}}, Secrets: []string{"t-0123456789"}}}
		}},
		{".cursor/mcp.json", `{"mcpServers": {"a": {"command": "x", "env": {"A": "${env:TOKEN}"}}, "b": {"url": "https://example.com"}}}`, func(string) []mcp.Server {
			a := stdio("a", "x")
			a.Stdio.Env, a.Secrets = []string{"A=t-0123456789"}, []string{"t-0123456789"}
			return []mcp.Server{a, {Name: "b", HTTP: &mcp.HTTP{URL: "https://example.com"}}}
		}},
		{".gemini/settings.json", `{"theme": "x", "mcp": {"excluded": ["off"]}, "mcpServers": {
  "a": {"command": "$BIN/x", "args": ["${TOKEN}", "5$", "$"], "timeout": 1500, "trust": true, "includeTools": ["r"], "excludeTools": ["w"]},
  "b": {"url": "https://example.com/sse"}, "c": {"httpUrl": "https://example.com/mcp"}, "d": {"url": "https://example.com", "type": "http"}, "off": {"command": "x"}}}`, func(string) []mcp.Server {
			a := stdio("a", "/opt/x", "t-0123456789", "5$", "$")
			a.Secrets, a.Timeout, a.Tools = []string{"t-0123456789"}, 1500e6, mcp.ToolFilter{Allow: []string{"r"}, Deny: []string{"w"}}
			return []mcp.Server{
				a,
				{Name: "b", HTTP: &mcp.HTTP{URL: "https://example.com/sse", SSE: true}},
				{Name: "c", HTTP: &mcp.HTTP{URL: "https://example.com/mcp"}},
				{Name: "d", HTTP: &mcp.HTTP{URL: "https://example.com"}},
			}
		}},
		{".codex/config.toml", `model = "x"
[mcp_servers.a]
command = "x"
args = ["${TOKEN}"]
env = { A = "1" }
startup_timeout_sec = 2.5
tool_timeout_sec = 60
enabled_tools = ["r"]
disabled_tools = ["w"]
[mcp_servers."b c"]
url = "https://example.com"
bearer_token_env_var = "TOKEN"
http_headers = { X = "y" }
[mcp_servers.off]
command = "x"
enabled = false
`, func(string) []mcp.Server {
			a := stdio("a", "x", "${TOKEN}")
			a.Stdio.Env, a.StartTimeout, a.Timeout, a.Tools = []string{"A=1"}, 2500e6, 60e9, mcp.ToolFilter{Allow: []string{"r"}, Deny: []string{"w"}}
			return []mcp.Server{a, {
				Name: "b c", HTTP: &mcp.HTTP{URL: "https://example.com", Headers: []mcp.Header{{Name: "X", Value: "y"}, {Name: "Authorization", Value: "Bearer t-0123456789"}}},
				Secrets: []string{"t-0123456789"},
			}}
		}},
	} {
		t.Run(tt.file, func(t *testing.T) {
			p := newPlace(t, env...)
			p.write(tt.file, tt.text)
			p.write(".env", "# c\nexport A=1 # one\n\nB=\"two words\"\n")
			if got, problems := p.servers(); len(got) > 0 || problems != "" {
				t.Fatalf("before trust: %v, %s", got, problems)
			}
			p.trustAll()
			got, problems := p.servers()
			if d := cmp.Diff(tt.want(p.dir), got); d != "" || problems != "" {
				t.Errorf("%s (-want +got):\n%s", problems, d)
			}
		})
	}
}

// A mistake in another program's file is reported with its line, and what the program does not have is a note.
func TestWorkspace_Mistakes(t *testing.T) {
	for _, tt := range []struct{ file, text, want string }{
		{".vscode/mcp.json", `{"servers": {"a": {"command": "x", "env": {"K": "${input:key}"}}}}`, `.vscode/mcp.json:1: servers.a.env.K: needs the input "key"`},
		{".vscode/mcp.json", `{"servers": {"a": {"command": "x", "sandboxEnabled": true}}}`, `servers.a.sandboxEnabled: gjc does not run MCP servers inside a sandbox`},
		{".vscode/mcp.json", `{"servers": {"a": {"command": "${config:x}"}}}`, `servers.a.command: gjc does not have the variable "${config:x}"`},
		{".vscode/mcp.json", `{"servers": {"a": {"command": "x", "envFile": "${env:HOME}/.env"}}}`, `servers.a.envFile: must be a path without variables`},
		{".vscode/mcp.json", `{"servers": {"a": {"command": "x", "envFile": "none"}}}`, `servers.a.envFile: cannot be read`},
		{".vscode/mcp.json", `{"mcpServers": {}}`, `mcpServers: unknown field`},
		{".mcp.json", `{"mcpServers": {"a": {"command": "${TOKEN"}}}`, `.mcp.json:1: mcpServers.a.command: has "${" without "}"`},
		{".codex/config.toml", "a = [\n", `.codex/config.toml:`},
		{".codex/config.toml", "[mcp_servers.a]\nurl = 'x'\n\n[mcp_servers.b]\ncommand = 3\n", `.codex/config.toml:4: mcp_servers.b.command: must be a string`},
		{".codex/config.toml", "\xff\xfea\x00", `.codex/config.toml:1: the file is not UTF-8 text`},
		{".mcp.json", "\xff\xfe{\x00", `.mcp.json:1: the file is not UTF-8 text`},
		{".mcp.json", strings.Repeat(" ", 1<<20+1), `the file is larger than`},
		{".gemini/settings.json", `{"mcpServers": {"a": {"command": "$NONE/x"}}}`, ""},
	} {
		p := newPlace(t)
		p.write(tt.file, tt.text)
		if got, problems := p.servers(); !strings.Contains(filepath.ToSlash(problems), tt.want) || tt.want == "" && problems != "" || len(got) > 0 {
			t.Errorf("%s %.60s: %q, %v", tt.file, tt.text, problems, got)
		}
	}
	p := newPlace(t)
	p.write(".mcp.json", "\ufeff{\"mcpServers\": {\"a\": {\"command\": \"x\",\n \"hearders\": {}}}}")
	_, notes := List(&p.opts)
	if len(notes) != 1 || !strings.HasSuffix(notes[0], `.mcp.json:2: mcpServers.a.hearders: unknown field, ignored; did you mean "headers"?`) {
		t.Errorf("%q", notes)
	}
}

// Links out of the workspace, directories and unreadable files are reported, and the other files count.
func TestWorkspace_BadFiles(t *testing.T) {
	p := newPlace(t)
	outside := filepath.Join(p.home, "x.json")
	writeFile(t, outside, `{"mcpServers": {"evil": {"command": "x"}}}`)
	p.write(".vscode/mcp.json", `{"servers": {"good": {"command": "x"}}}`)
	if err := os.MkdirAll(filepath.Join(p.dir, ".cursor", "mcp.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(p.dir, ".mcp.json")); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	unreadable := runtime.GOOS != "windows" && os.Getuid() != 0
	if unreadable {
		p.write(".codex/config.toml", "")
		if err := os.Chmod(filepath.Join(p.dir, ".codex", "config.toml"), 0); err != nil {
			t.Fatal(err)
		}
	}
	p.trustAll()
	got, problems := p.servers()
	if names(got) != "good" {
		t.Errorf("%v", got)
	}
	for _, want := range []string{".mcp.json: a link out of the workspace; no server in the file is used", "mcp.json: not a regular file"} {
		if !strings.Contains(problems, want) {
			t.Errorf("%q is missing in %q", want, problems)
		}
	}
	if unreadable && !strings.Contains(problems, "permission denied") {
		t.Errorf("%q", problems)
	}
}

// The user's file comes first, then the nearest directory, then the order of the dialects. What does not count says why.
func TestWorkspace_Precedence(t *testing.T) {
	p := newPlace(t)
	p.opts.Roots = []string{filepath.Join(p.dir, "sub")}
	server := func(who string) string { return `{"mcpServers": {"s": {"command": "` + who + `"}}}` }
	files := []string{"sub/.gjc/mcp.json", "sub/.mcp.json", "sub/.cursor/mcp.json", ".gjc/mcp.json", ".mcp.json"}
	for _, name := range files {
		p.write(name, server(strings.ReplaceAll(name, "/", "-")))
	}
	own := filepath.Join(p.opts.AgentDir, FileName)
	writeFile(t, own, server("own"))
	p.trustAll()
	all := []string{own}
	for _, name := range files {
		all = append(all, filepath.Join(p.dir, filepath.FromSlash(name)))
	}
	for i, path := range all {
		list := NewSource(p.opts).Definitions(t.Context())
		if len(list) != len(all)-i || list[0].File != path || list[0].State != "used" {
			t.Fatalf("after removing %d: %+v", i, list)
		}
		for _, d := range list[1:] {
			if d.State != "shadowed" || d.Detail != "by "+path {
				t.Errorf("%+v", d)
			}
		}
		if got, problems := p.servers(); len(got) != 1 || problems != "" {
			t.Errorf("%v, %s", got, problems)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// Before trust nothing of a workspace's file is computed. There is one question for each file with its commands and addresses, also
// again when the file or the file of variables that it names changes.
func TestWorkspace_Trust(t *testing.T) {
	p := newPlace(t)
	var ran []string
	p.opts.Run = func(_ context.Context, dir, line string) (string, error) {
		ran = append(ran, line+" in "+dir)
		return `{"X": "1"}`, nil
	}
	p.opts.Getenv = func(name string) string {
		t.Errorf("read %s before trust", name)
		return ""
	}
	p.write(".gjc/mcp.json", `{"mcpServers": {"a": {"url": "https://x.example/$u", "headers": {"H": "!echo h"}, "headersHelper": "./h"}, "off": {"enabled": false, "command": "y"}}}`)
	p.write(".vscode/mcp.json", `{"servers": {"b": {"command": "node", "args": ["a b.js"], "envFile": ".env", "env": {"N": "${env:SECRET}"}}}}`)
	p.write(".env", "LD_PRELOAD=x\n")
	source := NewSource(p.opts)
	if got, err := source.Servers(t.Context()); len(got) > 0 || err != nil || source.Stale(t.Context()) {
		t.Errorf("%v, %v", got, err)
	}
	qs := source.Questions(t.Context())
	if len(qs) != 2 {
		t.Fatalf("%d questions", len(qs))
	}
	want := [][]string{
		{".gjc/mcp.json", "  a: https://x.example/$u", "  a runs echo h", "  a runs ./h"},
		{".vscode/mcp.json", `  b: node "a b.js"`, "  b gets the variables LD_PRELOAD, N", ".env"},
	}
	if d := cmp.Diff(want, [][]string{qs[0].Lines(), qs[1].Lines()}); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if len(ran) > 0 {
		t.Errorf("ran %q", ran)
	}
	if err := errors.Join(qs[0].Answer(t.Context(), true, true), qs[1].Answer(t.Context(), false, false)); err != nil || !source.Stale(t.Context()) || len(source.Questions(t.Context())) > 0 {
		t.Errorf("after the answers: %v", err)
	}
	source.opts.Getenv = getenvOf(nil)
	got, err := source.Servers(t.Context())
	if names(got) != "a" || err != nil || source.Stale(t.Context()) {
		t.Fatalf("%v, %v", got, err)
	}
	headers, err := got[0].HTTP.Helper.Run(t.Context())
	if d := cmp.Diff([]mcp.Header{{Name: "X", Value: "1"}}, headers); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
	if d := cmp.Diff([]string{"echo h in " + p.dir, "./h in " + p.dir}, ran); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	p.write(".env", "LD_PRELOAD=other\n")
	if qs := source.Questions(t.Context()); len(qs) != 1 || !strings.Contains(strings.Join(qs[0].Lines(), "\n"), ".env (changed since you were asked)") {
		t.Errorf("%+v", qs)
	}
}

// A server of a workspace is switched in the user's file, with the rest of it as it was.
func TestSwitch(t *testing.T) {
	p := newPlace(t)
	own := filepath.Join(p.opts.AgentDir, FileName)
	writeFile(t, own, "{\n  // mine\n  \"mcpServers\": {\"u\": {\"command\": \"x\", \"disabled\": true}}\n}\n")
	p.write(".mcp.json", `{"mcpServers": {"w": {"command": "x"}}}`)
	p.trustAll()
	flip := func(name string, on bool, want string) {
		t.Helper()
		if _, err := p.opts.Switch(t.Context(), name, on); err != nil {
			t.Fatal(err)
		}
		if got, problems := p.servers(); names(got) != want || problems != "" {
			t.Errorf("%s %v: %v, %s", name, on, got, problems)
		}
	}
	flip("u", true, "u w")
	flip("w", false, "u")
	flip("w", true, "u w")
	flip("u", false, "w")
	data, err := os.ReadFile(own)
	if err != nil || !strings.Contains(string(data), "// mine") || strings.Contains(string(data), "disabled") {
		t.Errorf("%v\n%s", err, data)
	}
	if _, err := p.opts.Switch(t.Context(), "none", true); !errors.Is(err, errUnknown) {
		t.Error(err)
	}
	if text, _ := os.ReadFile(filepath.Join(p.dir, ".mcp.json")); string(text) != `{"mcpServers": {"w": {"command": "x"}}}` {
		t.Errorf("the workspace's file is now %s", text)
	}
}

// A server that the user switches on is still not started without trust in its file.
func TestSwitch_Untrusted(t *testing.T) {
	p := newPlace(t)
	p.write(".mcp.json", `{"mcpServers": {"w": {"command": "x", "disabled": true}}}`)
	if _, err := p.opts.Switch(t.Context(), "w", true); err != nil {
		t.Fatal(err)
	}
	if got, _ := p.servers(); len(got) > 0 {
		t.Errorf("%v", got)
	}
	if list := NewSource(p.opts).Definitions(t.Context()); len(list) != 1 || list[0].State != "not trusted" {
		t.Errorf("%+v", list)
	}
}

// Add and Remove keep the rest of a file, and refuse what a session would not use.
func TestAdd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", FileName)
	add := func(name, text string, force bool) error { return Add(t.Context(), path, name, []byte(text), force) }
	if err := add("a", `{"command": "x"}`, false); err != nil {
		t.Fatal(err)
	}
	if err := add("a", `{"command": "y"}`, false); !errors.Is(err, errExists) {
		t.Error(err)
	}
	for text, want := range map[string]string{
		`{`: "not JSON", `[]`: "must be a JSON object", `{"comand": "x"}`: `unknown field; did you mean "command"?`, `{}`: "neither command nor url", `{"command": "x", "cwd": "y"}`: "absolute",
	} {
		if err := add("b", text, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := add("a\nb", `{"command": "x"}`, false); err == nil {
		t.Error("a name with a line break")
	}
	if err := errors.Join(add("a", `{"command": "y"}`, true), add("b.c", `{"url": "https://x"}`, false)); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if want := `{"command":"y"}`; err != nil || !strings.Contains(string(data), want) || !strings.Contains(string(data), `"b.c": {"url":"https://x"}`) {
		t.Errorf("%v\n%s", err, data)
	}
	if err := Remove(t.Context(), path, "a"); err != nil {
		t.Fatal(err)
	}
	if err := Remove(t.Context(), path, "a"); !errors.Is(err, errUnknown) {
		t.Error(err)
	}
	writeFile(t, path, "{ broken")
	if err := add("c", `{"command": "x"}`, false); err == nil || !strings.Contains(err.Error(), "correct it first") {
		t.Error(err)
	}
}

// Servers of other programs are copied in gjc's own form, and what cannot be is reported.
func TestImport(t *testing.T) {
	p := newPlace(t)
	o := &p.opts
	home := func(name, text string) { writeFile(t, filepath.Join(p.home, filepath.FromSlash(name)), text) }
	home(".claude.json", `{"theme": "x", "mcpServers": {"a": {"command": "node", "args": ["${X}"]}, "twice": {"command": "one"}}}`)
	home(".cursor/mcp.json", `{"mcpServers": {"b": {"url": "https://x", "headers": {"A": "${env:T}"}}, "in": {"command": "x", "args": ["${workspaceFolder}"]}, "twice": {"command": "two"}}}`)
	home(".codex/config.toml", "[mcp_servers.c]\nurl = 'https://c'\nbearer_token_env_var = 'T'\ndisabled_tools = ['w']\n[mcp_servers.d]\ncommand = '${x}'\n")
	home(".gemini/settings.json", `{"mcpServers": {"g": {"command": "$B/x", "env": {"A": "$T"}}}}`)
	home(".codeium/windsurf/mcp_config.json", `{"mcpServers": {"w": {"serverUrl": "https://w", "disabled": true, "disabledTools": ["z"]}}}`)
	got := func(dry bool) string {
		t.Helper()
		all, err := Import(t.Context(), o, Selection{Dry: dry})
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, i := range all {
			lines = append(lines, i.Name+": "+i.What)
		}
		return strings.Join(lines, "\n")
	}
	const not = `
twice: not copied: it was copied from claude`
	if out := got(true); !strings.Contains(out, "a: would be copied") || !strings.Contains(out, not) {
		t.Errorf("%s", out)
	}
	if _, err := os.Stat(o.userFile()); err == nil {
		t.Error("a dry run has written")
	}
	out := got(false)
	for _, want := range []string{"a: copied", "b: copied", "c: copied", "g: copied", "w: copied", `in: not copied: gjc does not have the variable "${workspaceFolder}"`, `d: not copied: it has "${"`} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	p.opts.Getenv = getenvOf([]string{"X=1", "T=t-012345", "B=/b"})
	list, problems := p.servers()
	want := []mcp.Server{
		{Name: "a", Stdio: &mcp.Stdio{Command: "node", Args: []string{"1"}}, Secrets: []string{"1"}},
		{Name: "b", HTTP: &mcp.HTTP{URL: "https://x", Headers: []mcp.Header{{Name: "A", Value: "t-012345"}}}, Secrets: []string{"t-012345"}},
		{Name: "c", HTTP: &mcp.HTTP{URL: "https://c", Headers: []mcp.Header{{Name: "Authorization", Value: "Bearer t-012345"}}}, Secrets: []string{"t-012345"}, Tools: mcp.ToolFilter{Deny: []string{"w"}}},
		{Name: "g", Stdio: &mcp.Stdio{Command: "/b/x", Env: []string{"A=t-012345"}}, Secrets: []string{"t-012345"}},
		{Name: "twice", Stdio: &mcp.Stdio{Command: "one"}},
	}
	if d := cmp.Diff(want, list); d != "" || problems != "" {
		t.Errorf("%s (-want +got):\n%s", problems, d)
	}
	if out := got(false); strings.Contains(out, ": copied") || !strings.Contains(out, "a: not copied: mcp.json has a server of this name") {
		t.Errorf("%s", out)
	}
	if _, err := Import(t.Context(), o, Selection{Program: "codex", Names: []string{"a"}}); !errors.Is(err, errUnknown) {
		t.Error(err)
	}
}

// Of the projects in Claude's file, those of the current directory and its repository count. What is turned off there stays off there.
func TestImport_ClaudeProjects(t *testing.T) {
	p := newPlace(t)
	sub, other := filepath.Join(p.dir, "sub"), filepath.Join(filepath.Dir(p.dir), "other")
	p.opts.Roots = []string{sub}
	p.write("sub/x", "")
	p.write(".mcp.json", `{"mcpServers": {"shared": {"command": "s"}, "fine": {"command": "f"}}}`)
	text := func(v any) string {
		raw, err := jsonx.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	writeFile(t, filepath.Join(p.home, ".claude.json"), `{"mcpServers": {"everywhere": {"command": "e"}, "twice": {"command": "user"}, "not-here": {"command": "n"}},
"projects": {
  `+text(p.dir)+`: {"allowedTools": [], "mcpServers": {"top": {"command": "t"}, "twice": {"command": "local"}, "off": {"command": "o"}, "bad": {"comand": "x"}},
     "disabledMcpServers": ["off", "not-here", "unknown"], "disabledMcpjsonServers": ["shared"]},
  `+text(sub)+`: {"mcpServers": {"near": {"url": "https://near"}}},
  `+text(other)+`: {"mcpServers": {"far": {"command": "far"}}},
  "relative": 7, `+text(filepath.Dir(p.dir))+`: {"mcpServers": []}
}}`)
	report := func(what Selection) string {
		t.Helper()
		all, err := Import(t.Context(), &p.opts, what)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, i := range all {
			lines = append(lines, i.Name+": "+strings.ReplaceAll(i.What, filepath.Dir(p.dir), "BASE"))
		}
		return filepath.ToSlash(strings.Join(lines, "\n"))
	}
	if out := report(Selection{Program: "claude", Dry: true}); !strings.Contains(out, "near: would be copied, of the project BASE/w/sub") || !strings.Contains(out, "shared: would be disabled in BASE/w") {
		t.Errorf("%s", out)
	}
	if _, err := os.Stat(p.opts.userFile()); err == nil {
		t.Error("a dry run has written")
	}
	const want = `near: copied, of the project BASE/w/sub
bad: not copied: has neither command nor url, of the project BASE/w
off: copied, disabled, of the project BASE/w
top: copied, of the project BASE/w
twice: copied, of the project BASE/w
not-here: disabled in BASE/w
shared: disabled in BASE/w
everywhere: copied
not-here: copied
twice: not copied: it was copied from claude`
	if diff := cmp.Diff(want, report(Selection{Program: "claude"})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	p.trustAll()
	states := func() string {
		var all []string
		list, notes := List(&p.opts)
		for _, d := range list {
			if d.State != "used" {
				all = append(all, d.Name+" "+d.State)
			}
		}
		return strings.Join(append(all, notes...), ", ")
	}
	list, problems := p.servers()
	if got := names(list); got != "everywhere near top twice fine" || problems != "" {
		t.Errorf("the servers are %s; %s", got, problems)
	}
	if got := states(); got != "not-here disabled, off disabled, shared disabled" {
		t.Errorf("the others are %s", got)
	}
	// Elsewhere the user's servers are on, and a switch ends what was imported.
	p.opts.Roots = []string{other}
	if list, _ := p.servers(); names(list) != "everywhere near not-here top twice" {
		t.Errorf("elsewhere the servers are %s", names(list))
	}
	if out := report(Selection{Program: "claude", Names: []string{"far"}}); out != "far: copied, of the project BASE/other" {
		t.Errorf("%s", out)
	}
	p.opts.Roots = []string{sub}
	if _, err := p.opts.Switch(t.Context(), "not-here", true); err != nil {
		t.Fatal(err)
	}
	if got := states(); got != "off disabled, shared disabled" {
		t.Errorf("after the switch, the others are %s", got)
	}
	if out := report(Selection{Project: filepath.Dir(p.dir), Dry: true}); !strings.Contains(out, "-: must be an object with a server for each name") || strings.Contains(out, "far: ") {
		t.Errorf("%s", out)
	}
}

// The helper's output is headers or an error that quotes nothing of it.
func TestParseHeaders(t *testing.T) {
	for out, ok := range map[string]bool{`{"A": "1"}`: true, ` {} `: true, ``: false, `x`: false, `[]`: false, `{"A": 1}`: false, `{"A": "1"`: false, `{"A":"1","A":"2"}`: false} {
		_, err := parseHeaders(out)
		if (err == nil) != ok || err != nil && strings.Contains(err.Error(), `"1"`) {
			t.Errorf("%s: %v", out, err)
		}
	}
}

// Whatever a file holds, reading it ends, computes nothing without values, and has a mistake or a server for each member.
func FuzzRead(f *testing.F) {
	f.Add(byte(0), []byte(`{"mcpServers": {"a": {"command": "${X:-y}", "tools": {"allow": ["*"]}}}}`))
	f.Add(byte(2), []byte(`{"servers": {"a": {"url": "${env:X}${/}", "envFile": "x"}}} // c`))
	f.Add(byte(4), []byte(`{"mcpServers": {"a": {"httpUrl": "$X${"}}}`))
	f.Add(byte(5), []byte("[mcp_servers.a]\ncommand='x'\nstartup_timeout_sec=1e9\n[mcp_servers.'b.c']\nurl=1\n"))
	f.Fuzz(func(t *testing.T, which byte, data []byte) {
		all := workspaceDialects()
		d := all[int(which)%len(all)]
		file := &configFile{Path: "/w/" + d.File, Name: d.File, Dir: "/w", Dialect: d, data: data}
		r := &reader{configFile: file}
		r.read()
		file.Servers = r.servers
		for _, s := range r.servers {
			if len(s.Mistakes) == 0 && s.Stdio == nil && s.HTTP == nil {
				t.Errorf("%+v", s)
			}
			_, _ = s.own(d)
		}
		_ = file.subject()
		again := &reader{configFile: file, values: &values{getenv: func(string) string { return "v" }}}
		again.read()
		if len(again.servers) != len(r.servers) {
			t.Errorf("%d and %d servers", len(r.servers), len(again.servers))
		}
	})
}
