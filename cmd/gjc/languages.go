package main

import (
	"path/filepath"

	"github.com/gajae-code/gjc/acp/server"
	"github.com/gajae-code/gjc/bridges"
	"github.com/gajae-code/gjc/internal/trust"
	lspconfig "github.com/gajae-code/gjc/lsp/config"
)

// languages returns a function that returns a session's language servers, or nil if there are none.
func (h *host) languages(agentDir string, opts *options, local *bridges.Local) func(roots []string) (server.Languages, error) {
	if opts.noLSP {
		return nil
	}
	store := trust.Open(filepath.Join(agentDir, "trust.json"))
	return func(roots []string) (server.Languages, error) {
		cfg := readConfig(agentDir, opts.configs, "")
		if !cfg.lsp.enabled {
			return server.Languages{}, nil
		}
		return server.Languages{
			Catalog: lspconfig.New(h.catalogOptions(agentDir, roots, local, trust.NewSession(store))), OnWrite: cfg.lsp.onWrite(),
			Subagents: cfg.lsp.subagents,
		}, nil
	}
}

func (h *host) catalogOptions(agentDir string, roots []string, local *bridges.Local, answers *trust.Session) lspconfig.Options {
	home, _ := h.home() // without one there are no files in it
	return lspconfig.Options{Roots: roots, Home: home, AgentDir: agentDir, Env: local.Environ, Trust: answers}
}
