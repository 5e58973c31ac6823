package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/mcp"
)

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
	data, err := configfile.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading MCP servers: %w", err)
	}
	var file mcpFile
	if err := jsonx.Unmarshal(configfile.Bare(data), &file); err != nil {
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
