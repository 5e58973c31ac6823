package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/trust"
	"github.com/gajae-code/gjc/lsp"
	lspconfig "github.com/gajae-code/gjc/lsp/config"
)

// versionTime bounds how long a language server may take to tell its version.
const versionTime = 3 * time.Second

// examineLanguages looks at the language servers of the working directory.
func examineLanguages(ctx context.Context, h *host, opts *options, dir string, add func(state, what, format string, args ...any)) {
	cfg, err := readConfig(dir, opts.configs)
	switch {
	case err != nil:
		add("problem", "config.yml", "%v", err)
		return
	case opts.noLSP:
		add("ok", "lsp", "switched off by --no-lsp")
		return
	case !cfg.lsp.enabled:
		add("ok", "lsp", "switched off by lsp.enabled in config.yml")
		return
	}
	cwd, err := os.Getwd()
	if err != nil {
		add("problem", "lsp", "%v", err)
		return
	}
	local := h.local(ctx)
	catalog := lspconfig.New(h.catalogOptions(dir, []string{cwd}, &local, trust.NewSession(trust.Open(filepath.Join(dir, "trust.json")))))
	list, err := catalog.List(ctx)
	if err != nil {
		add("problem", "lsp", "%v", err)
		return
	}
	for _, p := range list.Problems {
		add("warning", "lsp", "%s", p)
	}
	for _, c := range list.Servers {
		version := languageVersion(ctx, c.Spec, local.Environ(ctx))
		if version == "" {
			version = "of a version that it does not tell"
		}
		add("ok", "lsp", "%s %s: %s", c.Spec.Name, version, c.Spec.Path)
	}
	others := 0
	for _, u := range list.Unused {
		if u.Elsewhere {
			others++
			continue
		}
		add("ok", "lsp", "%s is not used: %s", u.Name, u.Why)
	}
	if others > 0 {
		add("ok", "lsp", "%d more are for projects of other kinds than %s", others, cwd)
	}
}

var versionPattern = regexp.MustCompile(`v?\d+\.\d+[\w.+-]*`)

// languageVersion asks a server for its version; empty where it has no way to tell.
func languageVersion(ctx context.Context, spec *lsp.Spec, env []string) string {
	if v := packageVersion(spec.Path); v != "" {
		return v
	}
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	arg := "--version"
	if spec.Name == "gopls" {
		arg = "version"
	}
	cmd := exec.CommandContext(ctx, spec.Path, arg)
	cmd.Env, cmd.WaitDelay = proc.Environ(env), time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return ""
	}
	return versionPattern.FindString(string(out))
}

// packageVersion is that of the npm package which a program is part of: most of those servers do not tell it themselves.
func packageVersion(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	for dir := filepath.Dir(real); strings.Contains(filepath.ToSlash(dir), "/node_modules/"); dir = filepath.Dir(dir) {
		data, err := os.ReadFile(filepath.Join(dir, "package.json"))
		if err != nil {
			continue
		}
		var about struct {
			Version string `json:"version"`
		}
		if jsonx.Unmarshal(data, &about) == nil && about.Version != "" {
			return about.Version
		}
	}
	return ""
}
