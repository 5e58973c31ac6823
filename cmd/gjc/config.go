package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/goccy/go-yaml"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/mcp"
)

// config is config.yml: the one of the agent directory, then those of --config, each over the ones before it.
// docs/configuration.md describes it.
type config struct {
	MCP struct {
		// Discover gives every session the servers of mcp.json in the agent directory, beside those of the editor.
		Discover bool `yaml:"discover"`
	} `yaml:"mcp"`
}

// readConfig reads the configuration. Only a file of the agent directory may be absent.
func readConfig(agentDir string, overlays []string) (*config, error) {
	c := new(config)
	own := filepath.Join(agentDir, "config.yml")
	for _, path := range append([]string{own}, overlays...) {
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) && path == own {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading the configuration: %w", err)
		}
		// Decoding into what is there keeps what the file does not name.
		if err := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict()).Decode(c); err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s: %s", path, yaml.FormatError(err, false, true))
		}
	}
	return c, nil
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
