// Package gjc holds the tests of the repository's structure.
package gjc

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/testenv"
)

const module = "github.com/gajae-code/gjc/"

// layers lists the packages of this module that each package may import, besides its own subpackages. It follows
// docs/architecture.md; a package that is not listed fails the test.
var layers = map[string][]string{
	"internal/bug":                   {},
	"internal/frame":                 {},
	"internal/jsonx":                 {},
	"internal/proc":                  {"internal/text"},
	"internal/testenv":               {},
	"internal/jsonrpc":               {"internal/bug", "internal/frame", "internal/jsonx"},
	"acp":                            {"internal/frame", "internal/jsonrpc", "internal/jsonx"},
	"acp/generate":                   {"internal/jsonx"},
	"providers":                      {"internal/jsonx"},
	"providers/quota":                {"internal/jsonx", "providers"},
	"providers/registry":             {"internal/telemetry", "internal/bug", "internal/configfile", "internal/jsonx", "internal/lazyregexp", "internal/text", "providers", "providers/quota"},
	"providers/internal/wire":        {"internal/jsonx", "internal/lazyregexp", "providers"},
	"providers/internal/dialect":     {"internal/jsonx", "providers"},
	"providers/anthropic":            {"internal/jsonx", "providers", "providers/internal/cloud", "providers/internal/dialect", "providers/internal/wire"},
	"providers/openai":               {"internal/jsonx", "providers", "providers/internal/dialect", "providers/internal/wire"},
	"providers/google":               {"internal/jsonx", "internal/lazyregexp", "providers", "providers/internal/cloud", "providers/internal/dialect", "providers/internal/wire"},
	"providers/ollama":               {"internal/jsonx", "providers", "providers/internal/dialect", "providers/internal/wire"},
	"providers/discovery":            {"internal/jsonx", "providers", "providers/internal/wire"},
	"providers/internal/cloud":       {"internal/jsonx", "internal/lazyregexp", "providers"},
	"agent/secrets":                  {"internal/configfile", "internal/jsonx", "providers"},
	"providers/offline":              {"internal/jsonx", "internal/text", "providers"},
	"providers/providertest":         {"internal/jsonx", "internal/testenv", "providers"},
	"sessions":                       {"internal/jsonx", "internal/text", "providers"},
	"sessions/follow":                {"sessions"},
	"sessions/pipe":                  {"sessions", "sessions/follow"},
	"sessions/sessionstest":          {"internal/jsonx", "providers", "sessions", "sessions/follow", "sessions/pipe"},
	"sessions/postgres":              {"sessions"},
	"sessions/postgres/postgrestest": {"internal/testenv"},
	"internal/sandbox":               {"internal/jsonx", "internal/proc"},
	"internal/egress":                {"internal/netaddr"},
	"internal/netaddr":               {},
	"internal/lazyregexp":            {},
	"internal/trust":                 {"internal/jsonx", "internal/lockedfile"},
	"internal/lockedfile":            {},
	"internal/permit":                {},
	"lsp":                            {"internal/frame", "internal/jsonrpc", "internal/jsonx", "internal/proc", "internal/text", "internal/permit"},
	"internal/configfile":            {"internal/jsonx", "internal/lazyregexp", "internal/text", "internal/trust"},
	"internal/worktree":              {"internal/jsonx", "internal/proc", "internal/text"},
	"internal/workspace":             {"internal/configfile", "internal/proc", "internal/trust"},
	"extension":                      {},
	"lsp/config":                     {"internal/configfile", "internal/jsonx", "internal/proc", "internal/text", "internal/trust", "internal/workspace", "lsp"},
	"dap":                            {"internal/frame", "internal/jsonx", "internal/proc", "internal/text", "internal/permit"},
	"dap/config":                     {"dap", "internal/configfile", "internal/jsonx", "internal/proc", "internal/text", "internal/trust", "internal/workspace"},
	"dap/daptest":                    {"dap", "internal/frame", "internal/jsonx"},
	"mcp":                            {"internal/frame", "internal/jsonx", "internal/proc", "internal/text", "mcp/oauth"},
	"mcp/oauth":                      {"internal/netaddr"},
	"mcp/oauth/oauthtest":            {"mcp/oauth"},
	"internal/text":                  {},
	"internal/places":                {},
	"agent/approval/shell":           {"internal/places", "internal/text"},
	"internal/boundary":              {"internal/places"},
	"agent/approval":                 {"agent/approval/shell", "internal/boundary", "internal/places", "internal/permit", "internal/text"},
	"agent/permissions":              {"agent/approval", "internal/jsonx", "internal/lockedfile", "internal/trust"},
	"agent/contextwindow":            {"internal/jsonx", "internal/text", "providers", "sessions"},
	"agent/faults":                   {"internal/jsonx", "providers"},
	"agent/memorylog":                {"providers", "sessions"},
	"agent/discovery":                {"internal/text"},
	"agent/attempts":                 {"internal/jsonx", "internal/text"},
	"agent/roster":                   {"agent/memorylog", "internal/jsonx", "internal/text", "providers", "sessions"},
	"agent/isolation":                {"agent/approval", "internal/places", "internal/text", "internal/trust", "internal/worktree"},
	"agent/budget":                   {"internal/text", "providers", "sessions"},
	"agent/goal":                     {"internal/jsonx", "internal/text", "sessions"},
	"agent":                          {"internal/telemetry", "agent/budget", "agent/approval", "agent/approval/shell", "agent/attempts", "agent/contextwindow", "agent/faults", "agent/hooks", "agent/isolation", "agent/roster", "agent/rules", "internal/bug", "internal/jsonx", "internal/text", "internal/trust", "providers", "sessions", "internal/permit", "internal/boundary", "internal/places", "agent/discovery", "agent/instructions", "agent/userfiles", "agent/goal"},
	"agent/userfiles":                {"agent/approval", "internal/configfile", "internal/text", "internal/trust"},
	"agent/instructions":             {"agent/approval", "agent/userfiles", "internal/configfile", "internal/places", "internal/text"},
	"agent/commands":                 {"agent/approval", "agent/userfiles", "internal/configfile", "internal/text", "internal/trust"},
	"agent/hooks":                    {"agent/userfiles", "internal/configfile", "internal/jsonx", "internal/text", "internal/trust"},
	"agent/rules":                    {"agent/approval", "agent/userfiles", "internal/configfile", "internal/jsonx", "internal/lazyregexp", "internal/text"},
	"agent/agents":                   {"agent", "agent/approval", "agent/roster", "agent/userfiles", "internal/configfile", "internal/jsonx", "internal/text", "providers"},
	"agent/toolkit/hashline":         {"agent/toolkit/lines", "internal/lazyregexp"},
	"agent/toolkit/lines":            {},
	"agent/toolkit/patch":            {"agent/toolkit/lines", "internal/lazyregexp"},
	"internal/archive":               {},
	"internal/prose":                 {},
	"internal/ipynb":                 {"internal/jsonx"},
	"internal/json5":                 {"internal/jsonx"},
	"internal/picture":               {},
	"internal/sqlitefile":            {},
	"internal/webclient":             {"internal/jsonx", "internal/netaddr", "internal/permit"},
	"internal/gitignore":             {},
	"internal/checkpoint":            {"internal/gitignore", "internal/text"},
	"agent/toolkit/walk":             {"agent", "internal/gitignore", "internal/lazyregexp"},
	"agent/toolkit":                  {"agent", "agent/approval", "agent/toolkit/hashline", "agent/toolkit/walk", "internal/jsonx", "internal/picture", "internal/text", "internal/trust", "internal/webclient", "lsp", "providers"},
	"agent/toolkit/edits":            {"agent", "agent/approval", "agent/toolkit", "agent/toolkit/hashline", "agent/toolkit/lines", "internal/permit", "internal/text", "lsp"},
	"agent/tools/code":               {"agent", "agent/approval", "agent/toolkit", "agent/toolkit/edits", "agent/toolkit/walk", "internal/jsonx", "internal/lazyregexp", "internal/text", "lsp"},
	"agent/toolkit/effects":          {"agent", "agent/approval", "internal/configfile"},
	"agent/extensions":               {"agent", "agent/approval", "agent/discovery", "agent/hooks", "agent/toolkit", "agent/toolkit/effects", "agent/userfiles", "internal/configfile", "internal/frame", "internal/jsonrpc", "internal/jsonx", "internal/permit", "internal/text", "internal/trust", "sessions"},
	"agent/wake":                     {"agent"},
	"agent/rewind":                   {"agent", "agent/approval", "internal/checkpoint", "internal/jsonx", "internal/permit", "internal/text"},
	"agent/tools/custom":             {"agent", "agent/approval", "agent/discovery", "agent/toolkit", "agent/toolkit/effects", "agent/userfiles", "internal/configfile", "internal/jsonx", "internal/text", "internal/trust"},
	"agent/tools/debug":              {"agent", "agent/approval", "agent/secrets", "agent/toolkit", "dap", "dap/config", "internal/jsonx", "internal/lazyregexp", "internal/text", "internal/trust"},
	"agent/tools/files":              {"agent", "agent/approval", "agent/isolation", "agent/toolkit", "agent/transcript", "agent/toolkit/edits", "agent/toolkit/hashline", "agent/toolkit/lines", "agent/toolkit/patch", "internal/archive", "internal/ipynb", "internal/json5", "internal/jsonx", "internal/lazyregexp", "internal/picture", "internal/sqlitefile", "internal/text", "internal/webclient", "internal/worktree", "lsp", "providers"},
	"agent/tools/mcptools":           {"agent", "agent/approval", "agent/toolkit", "mcp", "providers", "agent/discovery"},
	"agent/tools/search":             {"agent", "agent/approval", "agent/toolkit", "agent/toolkit/edits", "agent/toolkit/walk", "internal/gitignore", "internal/jsonx", "internal/lazyregexp", "internal/text", "lsp"},
	"agent/tools/shell":              {"agent", "agent/approval", "agent/approval/shell", "agent/toolkit", "agent/toolkit/walk", "internal/jsonx", "internal/lazyregexp", "internal/text", "internal/boundary", "providers"},
	"agent/tools/talk":               {"agent", "agent/approval", "agent/attempts", "agent/isolation", "agent/roster", "agent/secrets", "agent/toolkit", "internal/bug", "internal/jsonx", "internal/worktree", "internal/text", "agent/goal"},
	"agent/tools/web":                {"agent", "agent/approval", "agent/toolkit", "internal/jsonx", "internal/webclient"},
	"agent/tools":                    {"agent", "agent/tools/code", "agent/tools/debug", "agent/tools/files", "agent/tools/search", "agent/tools/shell", "agent/tools/talk", "agent/tools/web", "internal/webclient"},
	"agent/tools/toolstest":          {"agent", "agent/approval", "internal/permit", "internal/places", "agent/toolkit", "agent/tools", "agent/tools/debug", "agent/tools/files", "agent/tools/shell", "internal/jsonx", "internal/proc", "internal/testenv", "internal/webclient", "lsp", "providers"},
	"agent/transcript":               {"agent", "internal/jsonx", "internal/text", "providers", "sessions"},
	"bridges":                        {"acp", "acp/content", "agent", "agent/approval", "agent/secrets", "internal/egress", "internal/jsonx", "internal/proc", "internal/sandbox", "internal/text", "internal/permit", "internal/boundary"},
	"acp/server":                     {"internal/telemetry", "acp", "acp/content", "acp/server/air", "acp/server/sides", "acp/server/slash", "acp/server/worktrees", "agent", "agent/agents", "agent/approval", "agent/commands", "agent/contextwindow", "agent/extensions", "agent/hooks", "agent/isolation", "agent/rewind", "agent/rules", "agent/toolkit", "agent/tools/custom", "agent/tools/debug", "agent/tools/mcptools", "agent/tools/shell", "agent/userfiles", "agent/wake", "dap", "internal/bug", "internal/checkpoint", "internal/jsonx", "internal/proc", "internal/trust", "internal/worktree", "lsp", "mcp", "mcp/oauth", "providers", "sessions", "internal/permit", "internal/boundary", "agent/goal", "acp/server/followed", "acp/server/relay"},
	"acp/server/followed":            {"acp", "acp/server/relay", "agent", "internal/jsonx", "sessions", "sessions/follow", "sessions/pipe"},
	"acp/server/relay":               {"acp", "internal/frame", "internal/jsonrpc", "internal/jsonx", "sessions", "sessions/pipe"},
	"acp/transport":                  {"internal/jsonx", "internal/text"},
	"acp/transport/reconnect":        {"acp/transport", "internal/jsonx"},
	"acp/acptest":                    {"acp", "internal/jsonx", "internal/proc"},
	"conformance":                    {"internal/jsonx", "internal/proc"},
	"acp/hub":                        {"acp", "internal/frame", "internal/jsonrpc", "internal/jsonx"},
	"cmd/gjc":                        {"*"},
	"cmd/gjc/bench":                  {},
	"cmd/gjc/fleet":                  {},
	"cmd/gjc/internal/chat":          {"acp", "acp/content", "cmd/gjc/internal/headless", "cmd/gjc/internal/lineedit", "internal/jsonx", "internal/text"},
	"cmd/gjc/internal/config":        {"agent", "agent/approval", "agent/contextwindow", "agent/tools", "agent/tools/files", "agent/tools/shell", "internal/boundary", "internal/configfile", "internal/egress", "internal/jsonx", "internal/text", "internal/trust", "internal/webclient", "lsp", "providers", "providers/registry", "agent/discovery", "agent/commands", "agent/wake"},
	"cmd/gjc/internal/mcpverbs":      {"cmd/gjc/internal/mcpfiles", "internal/jsonx", "internal/trust", "mcp", "mcp/oauth"},
	"cmd/gjc/internal/mcpfiles":      {"agent/userfiles", "cmd/gjc/internal/config", "internal/configfile", "internal/jsonx", "internal/lockedfile", "internal/trust", "mcp"},
	"cmd/gjc/internal/demo":          {"acp", "acp/acptest", "internal/proc"},
	"cmd/gjc/internal/gitconfig":     {},
	"cmd/gjc/internal/headless":      {"acp", "acp/content", "agent", "internal/jsonx", "internal/trust"},
	"cmd/gjc/internal/serve":         {"acp/hub", "acp/transport", "acp/transport/reconnect", "cmd/gjc/internal/serve/access", "cmd/gjc/internal/serve/engines", "cmd/gjc/internal/serve/gateway", "cmd/gjc/internal/serve/meter", "cmd/gjc/internal/system", "internal/jsonx", "internal/proc"},
	"cmd/gjc/internal/serve/access":  {"internal/jsonx", "internal/lockedfile"},
	"cmd/gjc/internal/serve/engines": {"internal/jsonx", "internal/lockedfile", "internal/proc"},
	"internal/telemetry":             {},
	"cmd/gjc/internal/serve/gateway": {"internal/jsonx", "providers/registry"},
	"cmd/gjc/internal/serve/meter":   {"cmd/gjc/internal/serve/access", "internal/jsonx", "internal/lockedfile"},
	"cmd/gjc/internal/isolated":      {"acp", "agent/isolation", "cmd/gjc/internal/headless", "internal/text", "internal/worktree"},
	"cmd/gjc/internal/lineedit":      {"internal/jsonx", "internal/lockedfile"},
	"cmd/gjc/internal/owntools":      {"agent", "agent/approval", "agent/tools/custom", "internal/jsonx", "internal/permit", "internal/text"},
	"cmd/gjc/internal/pluginctl":     {"cmd/gjc/internal/plugins", "internal/jsonx", "internal/trust"},
	"cmd/gjc/internal/plugins":       {"agent/agents", "agent/commands", "agent/hooks", "agent/tools/custom", "agent/userfiles", "cmd/gjc/internal/mcpfiles", "internal/configfile", "internal/jsonx", "internal/lockedfile", "internal/proc", "internal/text", "internal/trust"},
	"cmd/gjc/internal/manpage":       {},
	"cmd/gjc/internal/grants":        {"internal/jsonx", "mcp/oauth"},
	"cmd/gjc/internal/redact":        {"internal/jsonx"},
	"cmd/gjc/internal/storage":       {"sessions", "sessions/postgres"},
	"cmd/gjc/internal/search":        {"providers", "sessions"},
	"cmd/gjc/internal/setup":         {"internal/configfile", "internal/jsonx", "internal/text"},
	"cmd/gjc/internal/stats":         {"providers", "sessions"},
	"cmd/gjc/internal/survey":        {"agent/agents", "agent/commands", "agent/extensions", "agent/hooks", "agent/instructions", "cmd/gjc/internal/mcpfiles", "agent/rules", "agent/tools/custom", "agent/userfiles", "internal/configfile", "internal/jsonx", "internal/trust"},
	"cmd/gjc/internal/system":        {},
	"cmd/gjc-conformance":            {"*"},
	"cmd/checksize":                  {},
	"cmd/pack":                       {"internal/jsonx"},
	"cmd/sample":                     {"internal/prose"},
	"acp/content":                    {"acp", "agent", "providers"},
	"acp/server/air":                 {"acp", "acp/content", "agent", "agent/goal", "agent/tools/shell", "internal/jsonx", "providers", "sessions"},
	"acp/server/sides":               {"acp", "agent", "internal/places"},
	"acp/server/worktrees":           {"agent", "agent/approval", "internal/places", "internal/proc", "internal/worktree"},
	"acp/server/slash":               {"acp", "acp/content", "acp/server/worktrees", "agent", "agent/approval", "agent/attempts", "agent/commands", "agent/contextwindow", "agent/extensions", "agent/rewind", "agent/tools/debug", "agent/tools/mcptools", "agent/tools/shell", "agent/transcript", "dap", "internal/checkpoint", "internal/jsonx", "internal/text", "lsp", "mcp", "mcp/oauth", "providers", "sessions", "internal/trust", "internal/worktree", "agent/goal"},
}

type listed struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Imports    []string
}

// list runs go list over the module's packages, for one operating system.
func list(t *testing.T) []listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Dir,GoFiles,Imports", "./...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var all []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func TestImportDirection(t *testing.T) {
	for _, p := range list(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		if len(p.GoFiles) == 0 || strings.Contains(name, "/testdata/") {
			continue
		}
		allowed, known := layers[name]
		if !known {
			t.Errorf("package %s is not in the layers table", name)
			continue
		}
		for _, imp := range p.Imports {
			dep, ours := strings.CutPrefix(imp, module)
			if ours && !slices.Contains(allowed, dep) && !slices.Contains(allowed, "*") {
				t.Errorf("%s imports %s, which its layer does not allow", name, dep)
			}
		}
	}
}

// TestToolsImportNoSibling keeps the packages of tools apart: what they share is in agent/toolkit.
func TestToolsImportNoSibling(t *testing.T) {
	const tools = "agent/tools/"
	for _, p := range list(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		if !strings.HasPrefix(name, tools) || name == tools+"toolstest" {
			continue
		}
		for _, imp := range p.Imports {
			if strings.HasPrefix(imp, module+tools) {
				t.Errorf("%s imports %s; move what both need to agent/toolkit", name, strings.TrimPrefix(imp, module))
			}
		}
	}
}

// TestAgentImportsNoProtocol keeps package agent apart from the protocols: it declares the interfaces that it needs.
func TestAgentImportsNoProtocol(t *testing.T) {
	for _, p := range list(t) {
		if p.ImportPath != module+"agent" {
			continue
		}
		for _, imp := range p.Imports {
			protocol, _, _ := strings.Cut(strings.TrimPrefix(imp, module), "/")
			if slices.Contains([]string{"acp", "dap", "lsp", "mcp"}, protocol) {
				t.Errorf("agent imports %s; declare the interface that it needs in agent, or use one of the session's values", protocol)
			}
		}
	}
}

// forbidden are imports that only some packages may have, with the reason.
var forbidden = []struct {
	path   string
	except []string
	why    string
}{
	{"os/exec", []string{"internal/proc", "internal/sandbox", "cmd/gjc", "cmd/gjc/internal/demo", "cmd/checksize", "acp/acptest", "internal/testenv", "acp/generate", "dap/daptest", "sessions/postgres/postgrestest"}, "children belong to internal/proc"},
	{"text/template", nil, "it switches off the linker's dead-code elimination"},
	{"html/template", nil, "it switches off the linker's dead-code elimination"},
	{"testing", []string{"internal/testenv", "providers/providertest", "agent/tools/toolstest", "dap/daptest", "sessions/sessionstest", "sessions/postgres/postgrestest"}, "the product does not link the test framework"},
	{"log", nil, "logs are zerolog"},
	{"log/slog", nil, "logs are zerolog"},
	{"encoding/json", []string{"acp", "acp/generate", "providers/anthropic", "extension"}, "JSON goes through internal/jsonx; the SDK's types want the other, and the package for users has only types that users know"},
}

func TestForbiddenImports(t *testing.T) {
	for _, p := range list(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		for _, f := range forbidden {
			if slices.Contains(p.Imports, f.path) && !slices.Contains(f.except, name) {
				t.Errorf("%s imports %s: %s", name, f.path, f.why)
			}
		}
	}
}

// sources calls fn for each hand-written Go file that is not a test.
func sources(t *testing.T, fn func(path string, text []byte)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_gen.go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fn(filepath.ToSlash(path), text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFileLength(t *testing.T) {
	const most = 600
	sources(t, func(path string, text []byte) {
		if n := bytes.Count(text, []byte("\n")); n > most {
			t.Errorf("%s has %d lines; split it by what it holds (at most %d)", path, n, most)
		}
	})
}

// outside matches accesses to the process's surroundings; only cmd may contain them.
var outside = regexp.MustCompile(`\bos\.(Stdout|Stdin|Stderr|Args|Getenv|LookupEnv|Environ|Getwd)\b`)

func TestSurroundingsOnlyInCmd(t *testing.T) {
	sources(t, func(path string, text []byte) {
		if strings.HasPrefix(path, "cmd/") || strings.HasPrefix(path, "internal/testenv/") || strings.HasPrefix(path, "acp/generate/") ||
			strings.HasPrefix(path, "dap/daptest/") || strings.HasPrefix(path, "agent/tools/toolstest/") { // processes of tests
			return
		}
		for i, line := range strings.Split(string(text), "\n") {
			if code, _, _ := strings.Cut(line, "//"); outside.MatchString(code) {
				t.Errorf("%s:%d reaches %s; only cmd may, and passes it on", path, i+1, outside.FindString(code))
			}
		}
	})
}

// acts lists the packages that change files or open connections, with what makes that safe. All others go through the file systems, terminals
// and programs of package bridges, which ask the permit of their context. Children are started by internal/proc alone: see forbidden.
var acts = map[string]string{
	"bridges":             "asks the permit",
	"internal/webclient":  "asks the permit",
	"acp/transport":       "the server that the user has named",
	"acp/server/sides":    "empty directories in the agent directory",
	"lsp":                 "asks the permit before a server starts; temporary directories of servers",
	"dap":                 "asks the permit before an adapter starts; its sockets and temporary directories",
	"dap/config":          "looks whether a local port is free",
	"mcp":                 "servers of the client and of the user's configuration",
	"mcp/oauth":           "authorization servers of MCP servers; the address that the browser returns to",
	"agent":               "gives files other names that the user has rejected",
	"agent/secrets":       "the key for placeholders, in the agent directory",
	"agent/tools/shell":   "temporary directories of shells and SSH connections",
	"agent/contextwindow": "a compaction service of the user's configuration",
	"internal/telemetry":  "the collector that the variables name",
	"internal/boundary":   "looks whether a file can be written",
	"internal/lockedfile": "files of the agent directory",
	"internal/proc":       "the guard's pipe",
	"internal/sandbox":    "state of boxes",
	"internal/checkpoint": "recorded files, in a directory of gjc's; restores them where the caller has asked the permit",
	"internal/worktree":   "copies of repositories in a directory of gjc's, and their entries in the repositories",
	"internal/egress":     "connects for programs to allowed hosts",
	"providers":           "models of the user's configuration",
	"providers/registry":  "the cache of model lists",
	"sessions":            "conversations in the agent directory",
	"conformance":         "runs agents to test them",
}

// acting matches calls that change files or open connections.
var acting = regexp.MustCompile(`\bos\.(WriteFile|Rename|Remove|RemoveAll|Mkdir|MkdirAll|MkdirTemp|Create|CreateTemp|OpenFile|Symlink|Link|Chmod|Chtimes|Truncate)\(|` +
	`\bunix\.(Renameat|Unlinkat|Mkdirat)|\bnet\.(Dial|Listen|Dialer|ListenConfig)|\bhttp\.(Client|Transport)\{|\bhttp\.DefaultClient`)

func TestActsOnlyWithPermit(t *testing.T) {
	seen := make(map[string]bool)
	sources(t, func(path string, text []byte) {
		dir := filepath.ToSlash(filepath.Dir(path))
		if strings.HasPrefix(dir, "cmd/") || strings.HasSuffix(dir, "test") || strings.HasSuffix(dir, "testenv") || strings.HasSuffix(dir, "/generate") {
			return
		}
		for i, line := range strings.Split(string(text), "\n") {
			if code, _, _ := strings.Cut(line, "//"); !acting.MatchString(code) {
				continue
			}
			if seen[dir] = true; acts[dir] == "" {
				t.Errorf("%s:%d acts by itself; go through package bridges, or give the reason in acts", path, i+1)
			}
		}
	})
	for dir := range acts {
		if !seen[dir] {
			t.Errorf("%s does not act any longer; remove it from acts", dir)
		}
	}
}

func TestOnePackageComment(t *testing.T) {
	comments := make(map[string][]string)
	packages := make(map[string]bool)
	sources(t, func(path string, text []byte) {
		f, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Error(err)
			return
		}
		dir := filepath.Dir(path)
		packages[dir] = true
		if f.Doc != nil {
			comments[dir] = append(comments[dir], path)
			first := strings.Fields(f.Doc.Text())
			if len(first) < 2 || first[0] != "Package" && first[0] != "Command" {
				t.Errorf("%s: the package comment begins with %q", path, strings.Join(first[:min(2, len(first))], " "))
			}
		}
	})
	for dir := range packages {
		if n := len(comments[dir]); n != 1 {
			t.Errorf("package %s has %d package comments (%s), want 1", dir, n, strings.Join(comments[dir], ", "))
		}
	}
}

func TestMainIsShort(t *testing.T) {
	text, err := os.ReadFile("cmd/gjc/main.go")
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(text, []byte("\n")); n > 60 {
		t.Errorf("cmd/gjc/main.go has %d lines, at most 60", n)
	}
}

// TestNoPackageState looks for variables that two sessions could share: package-level maps, slices and channels that
// some function assigns to.
func TestNoPackageState(t *testing.T) {
	sources(t, func(path string, text []byte) {
		if strings.HasPrefix(path, "internal/bug/") || strings.HasPrefix(path, "acp/generate/") ||
			strings.HasPrefix(path, "dap/daptest/") || strings.HasPrefix(path, "agent/tools/toolstest/") { // processes of tests
			return // the table of bugs belongs to the process, and the generator is a program
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, text, 0)
		if err != nil {
			t.Error(err)
			return
		}
		vars := make(map[string]bool)
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			for _, s := range g.Specs {
				for _, n := range s.(*ast.ValueSpec).Names {
					vars[n.Name] = n.Name != "_"
				}
			}
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			local := make(map[string]bool)
			ast.Inspect(fn, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.AssignStmt:
					for _, l := range n.Lhs {
						id, ok := l.(*ast.Ident)
						switch {
						case !ok:
						case n.Tok == token.DEFINE:
							local[id.Name] = true
						case vars[id.Name] && !local[id.Name]:
							t.Errorf("%s: %s assigns to the package variable %s", path, fn.Name.Name, id.Name)
						}
					}
				case *ast.ValueSpec:
					for _, id := range n.Names {
						local[id.Name] = true
					}
				case *ast.Field:
					for _, id := range n.Names {
						local[id.Name] = true
					}
				}
				return true
			})
		}
	})
}

func TestGoMod(t *testing.T) {
	for _, path := range []string{"go.mod", "tools/go.mod", "tools/release/go.mod"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		// "go install …@latest" refuses modules with these.
		if directive := regexp.MustCompile(`(?m)^(replace|exclude)\b`).Find(text); directive != nil {
			t.Errorf("%s has the directive %s", path, directive)
		}
	}
	deps, err := os.ReadFile("docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mod)) {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) == 2 && strings.Contains(fields[0], ".") && strings.HasPrefix(fields[1], "v") && !bytes.Contains(deps, []byte(fields[0])) {
			t.Errorf("docs/dependencies.md has no line for %s", fields[0])
		}
	}
}

// TestNoForeignTraces looks for text that must not be in the repository: paths of a machine, and hosts of registries.
func TestNoForeignTraces(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	bad := regexp.MustCompile(`(?:^|[\s"'=:(,])` + regexp.QuoteMeta(home+"/") + "|" + regexp.QuoteMeta(root+"/") +
		`|/home/[a-z]{2,}/|\b(?:proxy|registry|deb)\.[a-z]+\.(?:org|com|net)\b|"resolved":`)
	out, err := exec.CommandContext(t.Context(), "git", "ls-files", "-z").Output()
	if err != nil {
		testenv.Skip(t, "not a git checkout: %v", err)
	}
	for path := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		if path == "" || path == "arch_test.go" || path == "internal/boundary/registries.txt" { // what users' own toolchains reach
			continue
		}
		f, err := os.Open(path)
		if err != nil {
			continue // deleted and not yet committed
		}
		s := bufio.NewScanner(f)
		s.Buffer(nil, 4<<20)
		for n := 1; s.Scan(); n++ {
			if m := bad.FindString(s.Text()); m != "" {
				t.Errorf("%s:%s: %q", path, strconv.Itoa(n), m)
			}
		}
		_ = f.Close() // read only
	}
}

// TestNamedTests checks that every test which a document names exists in the package that it names.
func TestNamedTests(t *testing.T) {
	for document, least := range map[string]int{
		"docs/design/bug-classes.md": 80, "docs/reference/protocol.md": 55, "docs/reference/debug-adapter-protocol.md": 60, "docs/protocol.md": 10,
	} {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		named := regexp.MustCompile("`([a-z/-]+)`((?:,? (?:Test|Fuzz)\\w+)+)").FindAllStringSubmatch(string(text), -1)
		if len(named) < least {
			t.Fatalf("%s names tests in %d places; has its form changed?", document, len(named))
		}
		for _, m := range named {
			files, err := filepath.Glob(filepath.Join(m[1], "*_test.go"))
			if err != nil {
				t.Fatal(err)
			}
			var all []byte
			for _, f := range files {
				text, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, text...)
			}
			for name := range strings.FieldsFuncSeq(m[2], func(r rune) bool { return r == ' ' || r == ',' }) {
				if !bytes.Contains(all, []byte("func "+name+"(")) {
					t.Errorf("%s: %s has no %s", document, m[1], name)
				}
			}
		}
	}
	// The 49 classes of docs/design/bug-classes.md each have a line.
	text, err := os.ReadFile("docs/design/bug-classes.md")
	if err != nil {
		t.Fatal(err)
	}
	for n := range 49 {
		if line := regexp.MustCompile(fmt.Sprintf(`(?m)^\| %d \| .+ \| .+ \|$`, n+1)); !line.Match(text) {
			t.Errorf("docs/design/bug-classes.md has no line %d of what users report", n+1)
		}
	}
}
