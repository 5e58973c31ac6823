package mcpfiles

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/mcp"
)

// readMCP reads a file of MCP servers. It runs no commands of values.
func readMCP(t *testing.T, text string, env ...string) ([]mcp.Server, string) {
	t.Helper()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, FileName), text)
	servers, err := NewSource(Options{AgentDir: dir, Getenv: getenvOf(env), Home: "/home/u"}).Servers(t.Context())
	if err == nil {
		return servers, ""
	}
	return servers, strings.ReplaceAll(err.Error(), filepath.Join(dir, FileName), "mcp.json")
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Every field of a server has an effect.
func TestMCPServers(t *testing.T) {
	servers, problems := readMCP(t, `{"$schema": "x", "mcpServers": {
  "b": {"type": "stdio", "command": "${BIN}/run", "args": ["--port=${PORT:-80}", "${EMPTY:-}", "$HOME"], "env": {"T": "${TOKEN}", "A": "x"}, "cwd": "~/w", "timeout": 1500, "enabled": true},
  "a": {"url": "https://${HOST:-example.com}/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}, "disabled": false},
  "c": {"type": "sse", "url": "https://example.com/sse", "tools": {"allow": ["read_*"], "deny": ["read_secret"]}}, // a comment
  "off": {"enabled": false, "command": "${UNSET}", "env": {"X": "!false"}},
  "off2": {"disabled": true, "command": "x"}
}}`, "BIN=/opt", "TOKEN=t-0123456789")
	want := []mcp.Server{
		{Name: "a", HTTP: &mcp.HTTP{URL: "https://example.com/mcp", Headers: []mcp.Header{{Name: "Authorization", Value: "Bearer t-0123456789"}}}, Secrets: []string{"t-0123456789"}},
		{
			Name: "b", Stdio: &mcp.Stdio{Command: "/opt/run", Args: []string{"--port=80", "", "$HOME"}, Env: []string{"A=x", "T=t-0123456789"}, Dir: filepath.FromSlash("/home/u/w")},
			Timeout: 1500 * time.Millisecond, Secrets: []string{"t-0123456789"},
		},
		{Name: "c", HTTP: &mcp.HTTP{URL: "https://example.com/sse", SSE: true}, Tools: mcp.ToolFilter{Allow: []string{"read_*"}, Deny: []string{"read_secret"}}},
	}
	if d := cmp.Diff(want, servers); d != "" || problems != "" {
		t.Errorf("%s\nservers (-want +got):\n%s", problems, d)
	}
}

// An invalid field is a mistake with its line, and costs its own server.
func TestMCPServers_Mistakes(t *testing.T) {
	for server, want := range map[string]string{
		`{"command": "x", "enabled": "no"}`:                               `mcpServers.bad.enabled: must be true or false`,
		`{"command": "x", "enabld": false}`:                               `mcpServers.bad.enabld: unknown field; did you mean "enabled"?; the fields are args,`,
		`{"command": "x", "oauth": {"clientId": "y"}}`:                    `mcpServers.bad.oauth: is for a server with url`,
		`{"url": "http://x", "oauth": true}`:                              `mcpServers.bad.oauth: must be an object`,
		`{"url": "http://x", "oauth": {"clientID": 5}}`:                   `mcpServers.bad.oauth.clientID: must be a string`,
		`{"url": "http://x", "oauth": {"client": "y"}}`:                   `mcpServers.bad.oauth.client: unknown field`,
		`{"url": "http://x", "oauth": {"scopes": []}}`:                    `mcpServers.bad.oauth.scopes: must be a list`,
		`{"url": "http://x", "oauth": {"callbackPort": 0}}`:               `mcpServers.bad.oauth.callbackPort: must be a port`,
		`{"url": "http://x", "oauth": {"clientMetadataUrl": "http://y"}}`: `mcpServers.bad.oauth.clientMetadataUrl: must be an address`,
		`{"command": "${NONE}"}`:                                          `mcpServers.bad.command: the variable NONE is not set`,
		`{"command": "x", "args": ["${NONE}"]}`:                           `mcpServers.bad.args[0]: the variable NONE is not set`,
		`{"command": "x", "args": ["${a b}"]}`:                            `mcpServers.bad.args[0]: "${a b}" is not a variable`,
		`{"command": "x", "args": "y"}`:                                   `mcpServers.bad.args: must be a list of strings`,
		`{"command": "x", "env": {"A": "${NONE}"}}`:                       `mcpServers.bad.env.A: the variable NONE`,
		`{"command": "x", "env": {"A": 1}}`:                               `mcpServers.bad.env: must be a mapping of names to strings`,
		`{"command": "x", "cwd": "here"}`:                                 `mcpServers.bad.cwd: must be an absolute path`,
		`{"command": "x", "timeout": "1s"}`:                               `mcpServers.bad.timeout: must be a number of milliseconds`,
		`{"command": "x", "timeout": -1}`:                                 `mcpServers.bad.timeout: must be a number of milliseconds`,
		`{"command": "x", "headers": {}}`:                                 `mcpServers.bad.headers: is for a server with url`,
		`{"url": "http://x", "env": {}}`:                                  `mcpServers.bad.env: is for a server with command`,
		`{"url": "http://x/${NONE}"}`:                                     `mcpServers.bad.url: the variable NONE`,
		`{"url": "http://x", "headers": {"A": "${NONE}"}}`:                `mcpServers.bad.headers.A: the variable NONE`,
		`{"url": "http://x", "command": "y"}`:                             `mcpServers.bad: has both command and url`,
		`{"type": "http", "command": "y"}`:                                `mcpServers.bad.type: does not fit`,
		`{"type": "htp", "url": "http://x"}`:                              `mcpServers.bad.type: must be one of: stdio, http, streamable-http, sse; did you mean "http"?`,
		`{"command": "x", "tools": ["a"]}`:                                `mcpServers.bad.tools: must be an object like`,
		`{"command": "x", "tools": {"allow": "a"}}`:                       `mcpServers.bad.tools.allow: must be a list of strings`,
		`{"command": "x", "tools": {"deny": ["[a"]}}`:                     `mcpServers.bad.tools.deny: must be a list of tool names or globs`,
		`{"command": "x", "tools": {"alow": []}}`:                         `mcpServers.bad.tools.alow: unknown field; did you mean "allow"?`,
		`{"command": "x", "headersHelper": "y"}`:                          `mcpServers.bad.headersHelper: is for a server with url`,
		`{"url": "http://x", "headersHelper": ["y"]}`:                     `mcpServers.bad.headersHelper: must be a command line`,
		`{}`:                  `mcpServers.bad: has neither command nor url`,
		`"x"`:                 `mcpServers.bad: must be an object`,
		`{"command": 1}`:      `mcpServers.bad.command: must be a string, not a number`,
		`{"command": "a${b"}`: `mcpServers.bad.command: has "${" without "}"`,
		`{"command": "x", "autoApprove": ["*"], "env": null}`: `mcpServers.bad.autoApprove: unknown field; the fields are`,
	} {
		servers, problems := readMCP(t, "{\"mcpServers\": {\n\"bad\": "+server+",\n\"good\": {\"command\": \"x\"}}}")
		if !strings.HasPrefix(problems, "mcp.json:2: "+want) || !strings.HasSuffix(problems, "; the server is not used") || strings.Contains(problems, "\n") {
			t.Errorf("%s: %q, want %q", server, problems, want)
		}
		if len(servers) != 1 || servers[0].Name != "good" {
			t.Errorf("%s: servers %+v", server, servers)
		}
	}
	for text, want := range map[string]string{
		`{"mcpServers": `:              "mcp.json:1: the file is not JSON; no server in the file is used",
		"{\n\"mcpServer\": {}}":        `mcp.json:2: mcpServer: unknown field; did you mean "mcpServers"?`,
		`{"mcpServers": []}`:           "mcp.json:1: mcpServers: must be an object",
		`[]`:                           "mcp.json:1: the file must be an object",
		"{}":                           "",
		"":                             "",
		"\ufeff{\"mcpServers\": null}": "mcp.json:1: mcpServers: must be an object",
	} {
		if servers, problems := readMCP(t, text); !strings.HasPrefix(problems, want) || problems != "" && want == "" || len(servers) > 0 {
			t.Errorf("%s: %q, want %q; %+v", text, problems, want, servers)
		}
	}
}

// getenvOf returns a function that finds variables in env.
func getenvOf(env []string) func(string) string {
	return func(name string) string {
		for _, kv := range env {
			if n, v, _ := strings.Cut(kv, "="); n == name {
				return v
			}
		}
		return ""
	}
}
