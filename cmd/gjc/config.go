package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/lsp"
	"github.com/gajae-code/gjc/mcp"
)

// config is what gjc takes from config.yml: the one of the agent directory, then those of --config, each over the ones
// before it. docs/configuration.md describes it. The file may hold more, which is for other programs.
type config struct {
	// discoverMCP gives every session the servers of mcp.json in the agent directory, beside those of the editor.
	discoverMCP bool
	lsp         lspSettings
	debug       debugSettings
}

// debugSettings is the section debug.
type debugSettings struct {
	// enabled gives sessions a debugger.
	enabled bool
}

// lspSettings is the section lsp.
type lspSettings struct {
	// enabled gives sessions language servers.
	enabled bool
	// formatOnWrite has them format what the write tool writes.
	formatOnWrite bool
	// diagnosticsOnWrite and diagnosticsOnEdit report what they say of a changed file.
	diagnosticsOnWrite, diagnosticsOnEdit bool
	// subagents gives them to helper agents too; it is enableLsp of the section task.
	subagents bool
}

// onWrite is what is done when a tool changes a file.
func (s *lspSettings) onWrite() lsp.OnWrite {
	return lsp.OnWrite{Format: s.formatOnWrite, DiagnoseWrites: s.diagnosticsOnWrite, DiagnoseEdits: s.diagnosticsOnEdit}
}

// switches are the settings by section and name. All of them are true or false.
func (c *config) switches() map[string]map[string]*bool {
	return map[string]map[string]*bool{
		"mcp": {"discover": &c.discoverMCP},
		"lsp": {
			"enabled":            &c.lsp.enabled,
			"formatOnWrite":      &c.lsp.formatOnWrite,
			"diagnosticsOnWrite": &c.lsp.diagnosticsOnWrite,
			"diagnosticsOnEdit":  &c.lsp.diagnosticsOnEdit,
		},
		"debug": {"enabled": &c.debug.enabled},
		"task":  {"enableLsp": &c.lsp.subagents},
	}
}

// readConfig reads the configuration. Only a file of the agent directory may be absent. No error quotes a file: there
// may be secrets in it.
func readConfig(agentDir string, overlays []string) (*config, error) {
	c := &config{lsp: lspSettings{enabled: true, diagnosticsOnWrite: true, diagnosticsOnEdit: true}, debug: debugSettings{enabled: true}}
	own := filepath.Join(agentDir, "config.yml")
	for _, path := range append([]string{own}, overlays...) {
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) && path == own {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading the configuration: %w", err)
		}
		if err := c.merge(path, data); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// merge takes what a file says over what c has.
func (c *config) merge(path string, data []byte) error {
	var file map[string]any
	if err := yaml.Unmarshal(data, &file); err != nil {
		line := 1
		if e, ok := errors.AsType[yaml.Error](err); ok && e.GetToken() != nil {
			line = e.GetToken().Position.Line
		}
		return fmt.Errorf("%s:%d: the file is not YAML with a mapping of settings", path, line)
	}
	sections := c.switches()
	for _, name := range sortedKeys(sections) {
		if file[name] == nil {
			continue
		}
		known := sections[name]
		section, ok := file[name].(map[string]any)
		if !ok {
			return fmt.Errorf("%s: %s: must be a mapping, like {%s: true}", path, name, sortedKeys(known)[0])
		}
		for _, key := range sortedKeys(section) {
			on, isBool := section[key].(bool)
			switch setting := known[key]; {
			case setting == nil:
				return fmt.Errorf("%s: %s.%s: there is no such setting; there is %s", path, name, key, strings.Join(sortedKeys(known), ", "))
			case !isBool:
				return fmt.Errorf("%s: %s.%s: must be true or false", path, name, key)
			default:
				*setting = on
			}
		}
	}
	return nil
}

// mcpFile is mcp.json, in the shape that other programs use too.
type mcpFile struct {
	MCPServers map[string]struct {
		Type    string            `json:"type"`
		Command string            `json:"command"`
		Args    []string          `json:"args"`
		Env     map[string]string `json:"env"`
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers"`
	} `json:"mcpServers"`
}

// readMCPServers reads the user's own MCP servers, sorted by name. A file that is not there has none; what makes no
// sense in it is for the set of servers to tell.
func readMCPServers(path string) ([]mcp.Server, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading MCP servers: %w", err)
	}
	var file mcpFile
	if err := jsonx.Unmarshal(data, &file); err != nil {
		// The decoder's words may quote the file, and an environment may hold secrets.
		at := ""
		if e, ok := errors.AsType[*jsonx.DecodeError](err); ok {
			at = " at " + e.Pointer
		}
		return nil, fmt.Errorf("%s%s: must be a JSON object like {\"mcpServers\": {\"name\": {\"command\": \"…\"}}}", path, at)
	}
	var servers []mcp.Server
	for _, name := range sortedKeys(file.MCPServers) {
		entry := file.MCPServers[name]
		s := mcp.Server{Name: name}
		if entry.Command != "" || entry.URL == "" {
			s.Stdio = &mcp.Stdio{Command: entry.Command, Args: entry.Args}
			for _, k := range sortedKeys(entry.Env) {
				s.Stdio.Env = append(s.Stdio.Env, k+"="+entry.Env[k])
			}
		}
		if entry.URL != "" {
			s.HTTP = &mcp.HTTP{URL: entry.URL, SSE: entry.Type == "sse"}
			for _, k := range sortedKeys(entry.Headers) {
				s.HTTP.Headers = append(s.HTTP.Headers, mcp.Header{Name: k, Value: entry.Headers[k]})
			}
		}
		servers = append(servers, s)
	}
	return servers, nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
