package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/gajae-code/gjc/acp/server"
	"github.com/gajae-code/gjc/acp/server/slash"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/commands"
	"github.com/gajae-code/gjc/agent/extensions"
	"github.com/gajae-code/gjc/agent/hooks"
	"github.com/gajae-code/gjc/agent/secrets"
	"github.com/gajae-code/gjc/agent/tools/custom"
	"github.com/gajae-code/gjc/agent/userfiles"
	"github.com/gajae-code/gjc/bridges"
	"github.com/gajae-code/gjc/cmd/gjc/internal/config"
	"github.com/gajae-code/gjc/cmd/gjc/internal/gitconfig"
	"github.com/gajae-code/gjc/cmd/gjc/internal/isolated"
	"github.com/gajae-code/gjc/cmd/gjc/internal/owntools"
	"github.com/gajae-code/gjc/cmd/gjc/internal/pluginctl"
	"github.com/gajae-code/gjc/cmd/gjc/internal/plugins"
	dapconfig "github.com/gajae-code/gjc/dap/config"
	"github.com/gajae-code/gjc/internal/checkpoint"
	"github.com/gajae-code/gjc/internal/places"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/trust"
	"github.com/gajae-code/gjc/internal/worktree"
	lspconfig "github.com/gajae-code/gjc/lsp/config"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/offline"
	"github.com/gajae-code/gjc/providers/registry"
	"github.com/gajae-code/gjc/sessions"
)

// settings returns a function that reads the settings of sessions in a directory. It is called when a session begins:
// mistakes are reported there, once, and initialize does no I/O.
func (h *host) settings(agentDir string, opts *options, models *registry.Registry) func(cwd string) (*server.Settings, error) {
	noTitle := h.getenv(noTitleVariable) != ""
	return func(cwd string) (*server.Settings, error) {
		cfg := config.Read(agentDir, opts.configs, cwd)
		set := &server.Settings{Agent: cfg.Context, Retry: cfg.Retry.Policy(), Skills: skillsIn(h, cfg), Turns: cfg.Turns}
		roles := h.rolesOf(cfg, opts, models, cwd)
		smol := ""
		if info, level, err := roles.role(registry.RoleSmol); err == nil {
			smol = withLevel(info, level)
			set.Agent.SummaryModels = []string{smol}
		}
		if info, level, err := roles.role(registry.RoleDefault); err == nil {
			set.Model = withLevel(info, level)
		} else if e, ok := errors.AsType[*registry.RoleError](err); !ok || !e.Unset {
			set.ModelErr = err
		}
		// A mistake in the profile explains why its roles have no models.
		if err := models.CheckProfile(models.Profile()); err != nil {
			set.ModelErr = err
		}
		if warnings := models.Warnings(); set.ModelErr == nil && len(warnings) > 0 {
			set.ModelErr = warnings[0]
			if more := len(warnings) - 1; more > 0 {
				set.ModelErr = fmt.Errorf("%w (and %d more: gjc models lists them)", warnings[0], more)
			}
		}
		set.HelperModel = helperModel(roles)
		if cfg.GenerateTitles && !noTitle {
			set.TitleModel = titleModel(models, smol)
		}
		return set, cfg.Err()
	}
}

// skillsIn returns the options of skills, with the user's home directory in place of ~.
func skillsIn(h *host, cfg *config.Config) commands.SkillOptions {
	set := cfg.Skills
	set.Dirs = slices.Clone(set.Dirs)
	home, err := h.home()
	for i, dir := range set.Dirs {
		if rest, ok := strings.CutPrefix(dir, "~/"); ok && err == nil {
			set.Dirs[i] = filepath.Join(home, filepath.FromSlash(rest))
		}
	}
	return set
}

// noTitleVariable turns off title.generate.
const noTitleVariable = "GJC_NO_TITLE"

// secrets returns a function that returns the [agent.Secrets] of sessions in a working directory, or nil if the configuration does
// not enable hiding them.
func (h *host) secrets(agentDir string, opts *options) func(cwd string) (agent.Secrets, error) {
	return func(cwd string) (agent.Secrets, error) {
		if !config.Read(agentDir, opts.configs, "").Secrets {
			return nil, nil
		}
		return secrets.Load(secrets.Options{AgentDir: agentDir, Dir: cwd, Environ: h.env})
	}
}

// sharing returns a function that returns how sessions in a directory are shared. Secrets are replaced whether they are hidden from models
// or not.
func sharing(h *host, agentDir string, opts *options) func(cwd string) (*slash.Sharing, error) {
	return func(cwd string) (*slash.Sharing, error) {
		set, err := secrets.LoadRemoved(&secrets.Options{AgentDir: agentDir, Dir: cwd, Environ: h.env})
		if err != nil {
			return nil, err
		}
		return &slash.Sharing{Command: config.Read(agentDir, opts.configs, "").ShareCommand, Hide: set.Hide, Removed: secrets.Removed, Save: saveFiles}, nil
	}
}

// saveFiles writes files into a directory that only the user can read.
func saveFiles(files map[string][]byte) (paths map[string]string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "gjc-share-")
	if err != nil {
		return nil, nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) } // best effort: it is in the temporary directory
	paths = make(map[string]string)
	for name, data := range files {
		paths[name] = filepath.Join(dir, name)
		if err := os.WriteFile(paths[name], data, 0o600); err != nil {
			remove()
			return nil, nil, err
		}
	}
	return paths, remove, nil
}

func withLevel(info providers.ModelInfo, level providers.ThinkingLevel) string {
	if level == "" {
		return info.Ref()
	}
	return info.Ref() + ":" + string(level)
}

// titleModel returns a function that chooses the model that names sessions: the one of the role smol, or else the
// session's own unless it is the offline one.
func titleModel(models agent.Models, smol string) agent.TitleModel {
	return func(current providers.ModelInfo) (providers.ModelInfo, bool) {
		if smol != "" {
			if info, _, err := models.Find(smol); err == nil {
				current = info
			}
		}
		return current, current.API != offline.API
	}
}

// languages returns a function that returns a session's language servers, or nil if there are none.
func (h *host) languages(agentDir string, opts *options, local *bridges.Local) func(roots []string) (server.Languages, error) {
	if opts.noLSP {
		return nil
	}
	store := trust.Open(filepath.Join(agentDir, "trust.json"))
	return func(roots []string) (server.Languages, error) {
		cfg := config.Read(agentDir, opts.configs, "")
		if !cfg.LSP.Enabled {
			return server.Languages{}, nil
		}
		return server.Languages{
			Catalog: lspconfig.New(h.catalogOptions(agentDir, roots, local, trust.NewSession(store))), OnWrite: cfg.LSP.OnWrite(),
			Subagents: cfg.LSP.Subagents,
		}, nil
	}
}

// catalogOptions returns the options for the language servers or the debug adapters of a workspace.
func (h *host) catalogOptions(agentDir string, roots []string, local *bridges.Local, answers *trust.Session) lspconfig.Options {
	home, _ := h.home() // without one there are no files in it
	return lspconfig.Options{Roots: roots, Home: home, AgentDir: agentDir, Env: local.Environ, Trust: answers}
}

// debugging returns a function that returns a session's debug adapters, or nil if there are none.
func (h *host) debugging(agentDir string, opts *options, local *bridges.Local) func(roots []string) (server.Debugging, error) {
	store := trust.Open(filepath.Join(agentDir, "trust.json"))
	return func(roots []string) (server.Debugging, error) {
		cfg := config.Read(agentDir, opts.configs, "")
		if !cfg.Debug.Enabled {
			return server.Debugging{}, nil
		}
		catalog := dapconfig.New(h.catalogOptions(agentDir, roots, local, trust.NewSession(store)))
		return server.Debugging{Adapters: catalog, Env: local.Environ}, nil
	}
}

// hooksOf returns a function that makes a session's reader of hooks.
func hooksOf(agentDir, home string) func(roots []string, plugins userfiles.Plugins) func() *hooks.Set {
	store := trust.Open(trustFile(agentDir))
	return func(roots []string, plugins userfiles.Plugins) func() *hooks.Set {
		answers := trust.NewSession(store)
		return func() *hooks.Set {
			return hooks.Load(hooks.Options{UserDir: agentDir, Roots: roots, Home: home, Trust: answers, Plugins: userfiles.ActiveOf(context.Background(), plugins)})
		}
	}
}

// customTools returns a function that makes a session's reader of the tools that files describe.
func customTools(agentDir string) func(roots, reserved []string, plugins userfiles.Plugins) func(ctx context.Context) *custom.Set {
	store := trust.Open(trustFile(agentDir))
	return func(roots, reserved []string, plugins userfiles.Plugins) func(ctx context.Context) *custom.Set {
		answers := trust.NewSession(store)
		return func(ctx context.Context) *custom.Set {
			return custom.Load(ctx, custom.Options{UserDir: agentDir, Roots: roots, Trust: answers, Reserved: reserved, Plugins: plugins})
		}
	}
}

// extensionsOf returns a function that makes a session's reader of the files of extensions.
func extensionsOf(agentDir string) func(roots []string) func(ctx context.Context) *extensions.Set {
	store := trust.Open(trustFile(agentDir))
	return func(roots []string) func(ctx context.Context) *extensions.Set {
		answers := trust.NewSession(store)
		return func(ctx context.Context) *extensions.Set {
			return extensions.Load(ctx, extensions.LoadOptions{UserDir: agentDir, Roots: roots, Trust: answers})
		}
	}
}

// newTools returns the command that lists and tests these tools.
func newTools(h *host, opts *options) *cobra.Command {
	return owntools.New(owntools.Machine{
		Stdin: h.stdin, Stdout: h.stdout, Stderr: h.stderr, Args: usageArgs, Failed: errReported,
		Load: func(ctx context.Context) (*custom.Set, string, error) {
			dir, err := h.agentDir(opts.agentDir)
			if err != nil {
				return nil, "", err
			}
			cwd, err := os.Getwd()
			if err != nil {
				return nil, "", err
			}
			models := h.registry(dir, opts, func(string) {})
			defer models.Close()
			var reserved []string
			for _, t := range h.tools(dir, opts, models, func(string) {})() {
				reserved = append(reserved, t.Spec().Name)
			}
			return customTools(dir)([]string{cwd}, reserved, pluginsOf(h, dir)([]string{cwd}))(ctx), cwd, nil
		},
		Programs: func(ctx context.Context, _ string) (agent.Programs, func()) {
			children := proc.NewGroup(nil)
			return &bridges.LocalPrograms{Children: children, Local: h.local(ctx)}, func() { _ = children.Close(context.WithoutCancel(ctx)) }
		},
	})
}

// pluginStore returns the plugins of an agent directory. Relative sources are below the working directory.
func pluginStore(h *host, agentDir string) *plugins.Store {
	home, _ := h.home()  // without one, ~ is not expanded
	cwd, _ := os.Getwd() // without one, relative sources do not exist
	return plugins.Open(agentDir, cwd, home, &plugins.Git{Children: h.children, Env: h.env})
}

// pluginsOf returns a function that makes the plugins of a session. It does no I/O.
func pluginsOf(h *host, agentDir string) func(roots []string) userfiles.Plugins {
	answers := trust.Open(trustFile(agentDir))
	return func(roots []string) userfiles.Plugins {
		return plugins.NewSession(pluginStore(h, agentDir), roots, trust.NewSession(answers))
	}
}

func newPlugin(h *host, opts *options) *cobra.Command {
	return pluginctl.New(&pluginctl.Env{
		Out: h.stdout, Args: usageArgs, Failed: errReported, Cwd: os.Getwd,
		Open: func() (*plugins.Store, *trust.Store, error) {
			answers, dir, err := h.trustStore(opts)
			if err != nil {
				return nil, nil, err
			}
			return pluginStore(h, dir), answers, nil
		},
		Ask: func(question string) (yes, terminal bool, err error) {
			if !isTerminal(h.stdin) {
				return false, false, nil
			}
			yes, err = ask(h, bufio.NewReader(h.stdin), question+" [y/N] ", false)
			return yes, true, err
		},
	})
}

// checkpointsIn returns the directory of the recorded states of files.
func checkpointsIn(agentDir string) string { return filepath.Join(agentDir, "checkpoints") }

// checkpoints returns a function that says how the state of the files of sessions is recorded, by the configuration at that time.
func (h *host) checkpoints(agentDir string, opts *options) func(cwd string) *checkpoint.Options {
	return func(string) *checkpoint.Options {
		set := &config.Read(agentDir, opts.configs, "").Checkpoints
		if !set.Enabled {
			return nil
		}
		home, _ := h.home() // without one there is no global file of ignore patterns in it
		found := &checkpoint.Options{
			Known: func(ctx context.Context, session string) bool {
				_, err := h.store(agentDir).Info(ctx, session)
				return !errors.Is(err, sessions.ErrNotFound)
			},
			Dir: checkpointsIn(agentDir), Exclude: []string{agentDir}, GlobalIgnore: gitconfig.GlobalIgnore(home, h.getenv), Git: func(ctx context.Context, dir string, args ...string) ([]byte, error) {
				return askGit(ctx, h.env, dir, args...)
			},
			Keep: time.Duration(set.KeepDays) * 24 * time.Hour, KeepBytes: int64(set.KeepMB) << 20,
		}
		if !set.Secrets {
			names := new(places.Paths)
			found.LeaveOut = names.Secret
		}
		return found
	}
}

// worktreesOf returns a function that returns how to make worktrees.
func worktreesOf(h *host, agentDir string, opts *options) func(*proc.Group) (*worktree.Maker, error) {
	swept := new(sync.Once)
	return func(children *proc.Group) (*worktree.Maker, error) {
		home, err := h.home()
		if err != nil {
			return nil, err
		}
		set := &config.Read(agentDir, opts.configs, "").Worktree
		dir := isolated.Dir(home, h.getenv)
		owner := sha256.Sum256([]byte(agentDir)) // sessions of another agent directory are not known here, and must not count as deleted
		return &worktree.Maker{
			Git: &worktree.Git{Children: children, Env: h.env}, Dir: dir, Sessions: filepath.Join(filepath.Dir(dir), "session-worktrees", hex.EncodeToString(owner[:4])),
			Link: set.Link, Copy: set.Copy, Always: set.Sessions, Swept: swept,
		}, nil
	}
}

// askGit runs git in a directory for what only reads. Nothing that the repository configures runs, and no index is refreshed.
func askGit(ctx context.Context, env []string, dir string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, gitPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull, "--no-optional-locks"}, args...)...)
	cmd.Dir, cmd.Env = dir, env
	return cmd.Output()
}
