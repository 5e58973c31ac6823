package main

import (
	"path/filepath"

	"github.com/gajae-code/gjc/acp/server"
	"github.com/gajae-code/gjc/bridges"
	dapconfig "github.com/gajae-code/gjc/dap/config"
	"github.com/gajae-code/gjc/internal/trust"
)

// debugging returns a function that returns a session's debug adapters, or nil if there are none.
func (h *host) debugging(agentDir string, opts *options, local *bridges.Local) func(roots []string) (server.Debugging, error) {
	store := trust.Open(filepath.Join(agentDir, "trust.json"))
	return func(roots []string) (server.Debugging, error) {
		cfg := readConfig(agentDir, opts.configs, "")
		if !cfg.debug.enabled {
			return server.Debugging{}, nil
		}
		catalog := dapconfig.New(h.adapterOptions(agentDir, roots, local, trust.NewSession(store)))
		return server.Debugging{Adapters: catalog, Env: local.Environ}, nil
	}
}

func (h *host) adapterOptions(agentDir string, roots []string, local *bridges.Local, answers *trust.Session) dapconfig.Options {
	home, _ := h.home() // without one there are no files in it
	return dapconfig.Options{Roots: roots, Home: home, AgentDir: agentDir, Env: local.Environ, Trust: answers}
}
