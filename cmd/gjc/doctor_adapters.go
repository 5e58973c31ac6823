package main

import (
	"context"
	"os"
	"sync"

	"github.com/gajae-code/gjc/dap"
	dapconfig "github.com/gajae-code/gjc/dap/config"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/trust"
)

// examineAdapters checks the debug adapters of the working directory.
func examineAdapters(ctx context.Context, h *host, opts *options, dir string, add func(state, what, format string, args ...any)) {
	if cfg := readConfig(dir, opts.configs, ""); !cfg.debug.enabled {
		add("ok", "debug", "disabled by debug.enabled in config.yml")
		return
	}
	cwd, err := os.Getwd()
	if err != nil {
		add("problem", "debug", "%v", err)
		return
	}
	children := proc.NewGroup(nil)
	defer func() {
		ended, cancel := context.WithCancel(ctx)
		cancel() // kill remaining processes at once
		_ = children.Close(ended)
	}()
	local := h.local(ctx)
	settings := h.adapterOptions(dir, []string{cwd}, &local, trust.NewSession(trust.Open(trustFile(dir))))
	settings.Children = children
	catalog := dapconfig.New(settings)
	list, err := catalog.List(ctx)
	if err != nil {
		add("problem", "debug", "%v", err)
		return
	}
	for _, p := range list.Problems {
		add("warning", "debug", "%s", p)
	}
	env, err := catalog.Environ(ctx)
	if err != nil {
		add("problem", "debug", "%v", err)
		return
	}
	versions := adapterVersions(ctx, children, list.Adapters, env, h.neutralDir())
	for i, s := range list.Adapters {
		if versions[i] == "" {
			versions[i] = "(unknown version)"
		}
		add("ok", "debug", "%s %s: %s", s.Name, versions[i], s.Path)
		for _, note := range s.Notes {
			add("ok", "debug", "%s: %s", s.Name, note)
		}
	}
	others := 0
	for _, u := range list.Unused {
		if u.Elsewhere {
			others++
			continue
		}
		add("ok", "debug", "%s cannot be used: %s", u.Name, u.Why)
	}
	if others > 0 {
		add("ok", "debug", "%d more are not installed; they are for other kinds of projects than %s", others, cwd)
	}
	_, problems, err := catalog.Configurations(ctx)
	if err != nil {
		return // the read ends with its context
	}
	for _, p := range problems {
		add("warning", "debug", "%s", p)
	}
}

// versionArgs returns the arguments that make an adapter print its version; nil for one that has no such arguments.
func versionArgs(s *dap.Spec) []string {
	switch s.Kind {
	case "dlv":
		return []string{"version"}
	case "debugpy":
		return []string{"-c", "import debugpy; print(debugpy.__version__)"}
	case "gdb", "lldb-dap", "netcoredbg", "rdbg", "dart-debug-adapter":
		return []string{"--version"}
	default:
		return nil
	}
}

// adapterVersions returns the versions of adapters, which run concurrently; "" if one reports none.
func adapterVersions(ctx context.Context, children *proc.Group, adapters []*dap.Spec, env []string, dir string) []string {
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	versions := make([]string, len(adapters))
	var all sync.WaitGroup
	for i, s := range adapters {
		if args := versionArgs(s); args != nil {
			all.Go(func() { versions[i] = programVersion(ctx, children, s.Path, args, env, dir) })
		} else {
			versions[i] = packageVersion(s.Path)
		}
	}
	all.Wait()
	return versions
}
