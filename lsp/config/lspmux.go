package config

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"time"

	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/workspace"
	"github.com/gajae-code/gjc/lsp"
)

const (
	rustAnalyzer = "rust-analyzer"
	// probeTimeout bounds the probe of lspmux, probeAge is the age at which it is repeated.
	probeTimeout = time.Second
	probeAge     = 5 * time.Minute
)

// Lspmux is the status of lspmux, a program that lets several editors share one rust-analyzer.
type Lspmux struct {
	// Path is the program; empty if it is not installed, not configured or turned off.
	Path string
	// Running reports whether lspmux's server has answered.
	Running bool
	// Why is the reason if the server is not running.
	Why string
}

// String describes the status in one line for the user.
func (m Lspmux) String() string {
	switch {
	case m.Running:
		return "lspmux is running; rust-analyzer is shared through it"
	case m.Path != "":
		return "lspmux is installed but not used: " + m.Why
	default:
		return "lspmux is not used: " + m.Why
	}
}

// wrap returns a spec that runs the server of s through lspmux. Its path must be absolute: lspmux does not search PATH.
func (m Lspmux) wrap(s *lsp.Spec) *lsp.Spec {
	wrapped := *s
	wrapped.Direct = s
	wrapped.Path = m.Path
	wrapped.Args = []string{"client", "--server-path", s.Path}
	if len(s.Args) > 0 {
		wrapped.Args = append(append(wrapped.Args, "--"), s.Args...)
	}
	return &wrapped
}

// lspmux probes lspmux and caches the answer. The catalog's lock guards it.
type lspmux struct {
	opts  *Options
	known Lspmux
	asked time.Time
}

func (m *lspmux) status(ctx context.Context, view *workspace.View) Lspmux {
	if !m.asked.IsZero() && time.Since(m.asked) < probeAge {
		return m.known
	}
	known := m.look(ctx, view)
	if ctx.Err() != nil {
		return known // do not cache an incomplete answer
	}
	m.known, m.asked = known, time.Now()
	return known
}

func (m *lspmux) look(ctx context.Context, view *workspace.View) Lspmux {
	get := func(name string) string { return workspace.Variable(view.Env, name, m.opts.GOOS) }
	for _, name := range []string{"GJC_DISABLE_LSPMUX", "PI_DISABLE_LSPMUX"} {
		if get(name) == "1" {
			return Lspmux{Why: name + "=1 turns it off"}
		}
	}
	path := view.OnPath("lspmux").Outside
	if path == "" {
		return Lspmux{Why: "it is not on PATH, or only in the project"}
	}
	file := lspmuxConfig(m.opts.GOOS, m.opts.Home, get)
	if file == "" || !workspace.IsFile(file) {
		return Lspmux{Why: "it has no configuration (" + file + ")"}
	}
	err := m.probe(ctx, path, view.Env)
	if err != nil {
		return Lspmux{Path: path, Why: err.Error()}
	}
	return Lspmux{Path: path, Running: true}
}

var errProbe = errors.New("lspmux status did not answer within a second")

// probe runs lspmux status, which fails if its server does not listen.
func (m *lspmux) probe(ctx context.Context, path string, env []string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, probeTimeout, errProbe)
	defer cancel()
	p, err := m.opts.Probe(ctx, &proc.Options{Path: path, Args: []string{"status"}, Env: proc.Environ(env), Dir: m.opts.Home, Stdout: io.Discard})
	if err != nil {
		return err
	}
	return p.Err()
}

// lspmuxConfig returns the path of the configuration of lspmux.
func lspmuxConfig(goos, home string, getenv func(string) string) string {
	switch goos {
	case "windows":
		if dir := getenv("APPDATA"); dir != "" {
			return filepath.Join(dir, "lspmux", "config", "config.toml")
		}
		return ""
	case "darwin":
		if home == "" {
			return ""
		}
		return filepath.Join(home, "Library", "Application Support", "lspmux", "config.toml")
	}
	dir := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		if home == "" {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "lspmux", "config.toml")
}
