package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gajae-code/gjc/agent/agents"
	"github.com/gajae-code/gjc/agent/commands"
	"github.com/gajae-code/gjc/agent/hooks"
	rulefiles "github.com/gajae-code/gjc/agent/rules"
	"github.com/gajae-code/gjc/agent/secrets"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/internal/trust"
)

// examineFiles checks the files that gjc reads in a session in cwd, except those of models, language servers and debug
// adapters, which have checks of their own. It runs no command of a file.
func examineFiles(ctx context.Context, h *host, opts *options, dir, cwd string, add func(state, what, format string, args ...any)) {
	cfg := readConfig(dir, opts.configs, cwd)
	examineConfig(cfg, add)
	examineMCP(ctx, h, cfg, dir, add)
	if cfg.secrets {
		// Not secrets.Load, which creates a key.
		for _, path := range []string{filepath.Join(cwd, ".gjc", "secrets.yml"), filepath.Join(dir, "secrets.yml")} {
			if _, err := secrets.ReadFiles(path); err != nil {
				add("problem", "secrets", "%v", err)
			} else if isThere(path) {
				add("ok", "secrets", "%s", path)
			}
		}
	}
	if _, err := trust.Open(trustFile(dir)).List(); err != nil {
		add("problem", "trust", "%v", err)
	} else if isThere(trustFile(dir)) {
		add("ok", "trust", "%s", trustFile(dir))
	}
	roots := []string{cwd}
	set := hooks.Load(hooks.Options{UserDir: dir, Roots: roots, Trust: trust.NewSession(trust.Open(trustFile(dir)))})
	for _, p := range set.Problems {
		add("warning", "hooks", "%s", p)
	}
	if n := len(set.Hooks); n > 0 {
		add("ok", "hooks", "%s", text.Count(n, "hook"))
	}
	if n := len(set.Untrusted); n > 0 {
		add("ok", "hooks", "%s of the project: not used, because the workspace is not trusted yet", text.Count(n, "hook"))
	}
	home, _ := h.home() // without one there are no files of other programs
	files, problems := commands.Load(ctx, commands.Options{UserDir: dir, ProjectDirs: roots, Foreign: true, Home: home})
	for _, p := range problems {
		add("warning", "commands", "%s", p)
	}
	if n := len(files.Commands()); n > 0 {
		add("ok", "commands", "%s, %s", text.Count(n-len(files.Skills()), "command"), text.Count(len(files.Skills()), "skill"))
	}
	book, wrong := rulefiles.Load(ctx, rulefiles.Options{UserDir: dir, Roots: roots})
	for _, p := range wrong {
		add("warning", "rules", "%s", p)
	}
	if path, text := book.Instructions(); text != "" {
		add("ok", "rules", "%s", path)
	}
	agents.New(agents.Options{UserDir: dir, ProjectDirs: roots, Home: home, Report: func(p agents.Problem) { add("warning", "agents", "%s", p) }}).Helpers(ctx)
}

func examineConfig(cfg *config, add func(state, what, format string, args ...any)) {
	wrong := make(map[string]bool)
	for _, e := range cfg.mistakes {
		wrong[e.Path] = true
		add("problem", configName, "%v", e)
	}
	for _, e := range cfg.foreign {
		add("warning", configName, "%v", e)
	}
	for _, f := range cfg.files {
		if f.there && !wrong[f.path] {
			add("ok", configName, "%s", f.path)
		}
	}
}

func examineMCP(ctx context.Context, h *host, cfg *config, dir string, add func(state, what, format string, args ...any)) {
	servers, err := h.mcpServers(ctx, dir, false)
	if all, ok := errors.AsType[configErrors](err); ok {
		for _, e := range all {
			add("problem", mcpName, "%v", e)
		}
	} else if err != nil {
		add("problem", mcpName, "%v", err)
	}
	path := filepath.Join(dir, mcpName)
	switch {
	case !isThere(path):
	case !cfg.discoverMCP:
		add("ok", mcpName, "%s: not used; mcp.discover in config.yml turns it on", path)
	default:
		names := make([]string, len(servers))
		for i := range servers {
			names[i] = strconv.Quote(servers[i].Name)
		}
		add("ok", mcpName, "%s: %s %s", path, text.Count(len(servers), "server"), strings.Join(names, ", "))
	}
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
