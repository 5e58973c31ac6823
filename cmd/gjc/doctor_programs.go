package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/cmd/gjc/internal/config"
	"github.com/gajae-code/gjc/dap"
	dapconfig "github.com/gajae-code/gjc/dap/config"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/trust"
	"github.com/gajae-code/gjc/lsp"
	lspconfig "github.com/gajae-code/gjc/lsp/config"
)

// examineAdapters checks the debug adapters of the working directory.
func examineAdapters(ctx context.Context, h *host, opts *options, dir string, add func(state, what, format string, args ...any)) {
	if cfg := config.Read(dir, opts.configs, ""); !cfg.Debug.Enabled {
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
	settings := h.catalogOptions(dir, []string{cwd}, &local, trust.NewSession(trust.Open(trustFile(dir))))
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

const (
	// versionTime is the time that all language servers together have to print their versions.
	versionTime = 3 * time.Second
	// versionBytes bounds the output of a server that is read, in bytes.
	versionBytes = 64 << 10
)

// examineLanguages checks the language servers of the working directory.
func examineLanguages(ctx context.Context, h *host, opts *options, dir string, add func(state, what, format string, args ...any)) {
	cfg := config.Read(dir, opts.configs, "")
	switch {
	case opts.noLSP:
		add("ok", "lsp", "disabled by --no-lsp")
		return
	case !cfg.LSP.Enabled:
		add("ok", "lsp", "disabled by lsp.enabled in config.yml")
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
	env, err := catalog.Environ(ctx)
	if err != nil {
		add("problem", "lsp", "%v", err)
		return
	}
	versions := languageVersions(ctx, list.Servers, env, h.neutralDir())
	for i, c := range list.Servers {
		if versions[i] == "" {
			versions[i] = "(unknown version)"
		}
		add("ok", "lsp", "%s %s: %s", c.Spec.Name, versions[i], c.Spec.Path)
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
		add("ok", "lsp", "%d more are for other kinds of projects than %s", others, cwd)
	}
}

var versionPattern = regexp.MustCompile(`v?\d+\.\d+[\w.+-]*`)

// languageVersions returns the versions of servers, which run concurrently in dir; "" if one reports none. It leaves no
// process running.
func languageVersions(ctx context.Context, servers []lsp.Candidate, env []string, dir string) []string {
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	children := proc.NewGroup(nil)
	versions := make([]string, len(servers))
	var all sync.WaitGroup
	for i, c := range servers {
		all.Go(func() {
			if versions[i] = packageVersion(c.Spec.Path); versions[i] == "" {
				versions[i] = languageVersion(ctx, children, c.Spec, env, dir)
			}
		})
	}
	all.Wait()
	cancel() // kill remaining processes at once
	_ = children.Close(ctx)
	return versions
}

func languageVersion(ctx context.Context, children *proc.Group, spec *lsp.Spec, env []string, dir string) string {
	arg := "--version"
	if spec.Name == "gopls" {
		arg = "version"
	}
	return programVersion(ctx, children, spec.Path, []string{arg}, env, dir)
}

// programVersion runs a program that prints its version, in dir, and returns the version, or "" if it prints none in time. It ends
// all processes that the program has started: some programs start one in a session of its own that keeps writing into the home
// directory.
func programVersion(ctx context.Context, children *proc.Group, path string, args, env []string, dir string) string {
	out := &head{most: versionBytes}
	p, err := children.Start(ctx, &proc.Options{Path: path, Args: args, Dir: dir, Env: proc.Environ(env), Stdout: out, MergeStderr: true, Mark: proc.NewMark()})
	if err != nil {
		return ""
	}
	// Until Wait returns, the output can still grow.
	if state, err := p.Wait(ctx); err != nil || !state.Success() {
		return ""
	}
	return versionPattern.FindString(string(out.text))
}

// head keeps the beginning of what is written to it.
type head struct {
	text []byte
	most int
}

func (h *head) Write(b []byte) (int, error) {
	h.text = append(h.text, b[:min(len(b), h.most-len(h.text))]...)
	return len(b), nil
}

// neutralDir returns a directory outside the project, for programs that inspect their working directory: the home
// directory, or the root of the file system.
func (h *host) neutralDir() string {
	home, err := h.home()
	if err == nil {
		if info, err := os.Stat(home); err == nil && info.IsDir() {
			return home
		}
	}
	return filepath.VolumeName(os.TempDir()) + string(filepath.Separator)
}

// packageVersion returns the version of the npm package that a program belongs to; most of those servers do not print
// it.
func packageVersion(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	for dir := filepath.Dir(real); strings.Contains(filepath.ToSlash(dir), "/node_modules/"); dir = filepath.Dir(dir) {
		file := filepath.Join(dir, "package.json")
		// Reading a pipe of that name would never end.
		if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
			continue
		}
		data, err := os.ReadFile(file)
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
