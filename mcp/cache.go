package mcp

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// Cache keeps the definitions of tools between sessions, so that a model can be offered the tools of a server that is still starting.
// Its methods are called from several goroutines.
type Cache interface {
	// Load returns the data of a key; nil for none.
	Load(key string) []byte
	// Store keeps data. It may fail without a word: the cache only saves time.
	Store(key string, data []byte)
}

const (
	// cacheVersion is the version of the data.
	cacheVersion = 1
	// maxCached bounds the data of one server, in bytes.
	maxCached = 1 << 20
)

// cached is the data of one server.
type cached struct {
	Version int `json:"version"`
	// Info is the name and version of the server. Another version has its own tools, which the connection lists.
	Info  string       `json:"info"`
	Tools []cachedTool `json:"tools"`
}

type cachedTool struct {
	Name        string    `json:"name"`
	Title       string    `json:"title,omitzero"`
	Description string    `json:"description,omitzero"`
	Input       jsonx.Raw `json:"inputSchema,omitzero"`
	Output      jsonx.Raw `json:"outputSchema,omitzero"`
	Annotations jsonx.Raw `json:"annotations,omitzero"`
}

// cacheKey identifies the server's entry, without its secrets and values of its environment and headers.
func (s *server) cacheKey() string {
	var parts []string
	switch e := &s.entry; {
	case e.Stdio != nil:
		parts = append(parts, "stdio", e.Stdio.Command, e.Stdio.Dir)
		parts = append(parts, e.Stdio.Args...)
		for _, v := range e.Stdio.Env {
			name, _, _ := strings.Cut(v, "=")
			parts = append(parts, "env "+name)
		}
	case e.HTTP != nil:
		parts = append(parts, fmt.Sprint("http ", e.HTTP.SSE), e.HTTP.URL)
		for _, h := range e.HTTP.Headers {
			parts = append(parts, "header "+h.Name)
		}
	default:
		return "" // another server may have the ID in the next session
	}
	sum := sha256.New()
	for _, p := range append(parts, "name "+s.entry.Name) {
		fmt.Fprintf(sum, "%q\n", s.secrets.text(p))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// loadTools offers the tools that the server had when it was last connected. Only the owner calls it, before the first connection.
func (s *server) loadTools() {
	cache, key := s.set.opts.Cache, s.cacheKey()
	if cache == nil || key == "" {
		return
	}
	data := cache.Load(key)
	var c cached
	if len(data) == 0 || len(data) > maxCached || jsonx.Unmarshal(data, &c) != nil || c.Version != cacheVersion || len(c.Tools) == 0 || len(c.Tools) > maxListed {
		return
	}
	var found []*sdk.Tool
	for _, t := range c.Tools {
		tool := &sdk.Tool{Name: t.Name, Title: t.Title, Description: t.Description}
		for raw, to := range map[*jsonx.Raw]any{&t.Input: &tool.InputSchema, &t.Output: &tool.OutputSchema, &t.Annotations: &tool.Annotations} {
			if len(*raw) > 0 && jsonx.Unmarshal(*raw, to) != nil {
				return
			}
		}
		found = append(found, tool)
	}
	tools := s.newTools(found)
	s.mu.Lock()
	s.lists.tools = tools
	s.mu.Unlock()
	s.cached = data
	s.markOffered()
	s.set.changed()
}

// storeTools keeps the tools of the server for the next session.
func (s *server) storeTools(info string, found []*sdk.Tool) {
	cache, key := s.set.opts.Cache, s.cacheKey()
	if cache == nil || key == "" {
		return
	}
	now := cached{Version: cacheVersion, Info: info}
	for _, f := range found {
		if f == nil {
			continue
		}
		t := cachedTool{Name: f.Name, Title: f.Title, Description: f.Description}
		for _, part := range []struct {
			from any
			to   *jsonx.Raw
			set  bool
		}{{f.InputSchema, &t.Input, f.InputSchema != nil}, {f.OutputSchema, &t.Output, f.OutputSchema != nil}, {f.Annotations, &t.Annotations, f.Annotations != nil}} {
			if !part.set {
				continue
			}
			raw, err := jsonx.Marshal(part.from)
			if err != nil {
				return
			}
			*part.to = raw
		}
		now.Tools = append(now.Tools, t)
	}
	data, err := jsonx.Marshal(now)
	if err != nil || len(data) > maxCached || bytes.Equal(data, s.cached) || s.stores >= maxStores {
		return
	}
	s.cached = data
	s.stores++
	cache.Store(key, data)
}

// maxStores bounds how often one server's tools are stored: it may change them all the time.
const maxStores = 20
