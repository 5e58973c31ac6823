package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/gajae-code/gjc/acp/server/worktrees"
	"github.com/gajae-code/gjc/agent/agents"
	"github.com/gajae-code/gjc/agent/commands"
	"github.com/gajae-code/gjc/agent/hooks"
	rulefiles "github.com/gajae-code/gjc/agent/rules"
	"github.com/gajae-code/gjc/agent/secrets"
	"github.com/gajae-code/gjc/agent/userfiles"
	"github.com/gajae-code/gjc/cmd/gjc/internal/config"
	"github.com/gajae-code/gjc/cmd/gjc/internal/mcpfiles"
	"github.com/gajae-code/gjc/internal/boundary"
	"github.com/gajae-code/gjc/internal/checkpoint"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
	"github.com/gajae-code/gjc/internal/trust"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/registry"
	"github.com/gajae-code/gjc/sessions"
)

// finding is one result of doctor.
type finding struct {
	// State is "ok", "warning" or "problem".
	State string `json:"state"`
	What  string `json:"what"`
	// Detail describes the result and what to do about it.
	Detail string `json:"detail"`
}

func newDoctor(h *host, opts *options) *cobra.Command {
	asJSON, online := false, false
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check this machine's setup",
		Long: "doctor checks the files, programs and keys that sessions in this directory use, and changes nothing. With --online it also sends each configured provider " +
			"one short request, and reports the source of the key, the address and the result. The exit status is 1 if there is a problem.",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			found, err := waitFor(cmd.Context(), func() []finding { return examine(cmd.Context(), h, opts, online) })
			if err != nil {
				return err
			}
			if asJSON {
				text, err := jsonx.Marshal(found)
				if err != nil {
					return err
				}
				if _, err := fmt.Fprintf(h.stdout, "%s\n", text); err != nil {
					return err
				}
			} else {
				for _, f := range found {
					fmt.Fprintf(h.stdout, "%-8s %-14s %s\n", f.State, f.What, f.Detail)
				}
			}
			for _, f := range found {
				if f.State == "problem" {
					return errReported
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&online, "online", false, "send each configured provider one short request")
	return cmd
}

// endTime is the time that doctor's children have to end after a signal.
const endTime = 2 * time.Second

// waitFor returns look's result, or ctx's cause. If look ignores ctx, for example on a file system that hangs, its
// goroutine continues until the process ends.
func waitFor(ctx context.Context, look func() []finding) ([]finding, error) {
	done := make(chan []finding, 1)
	go func() { done <- look() }()
	select {
	case found := <-done:
		return found, nil
	case <-ctx.Done():
	}
	late := time.NewTimer(endTime)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
	}
	return nil, context.Cause(ctx)
}

// examine checks everything that a session needs. It changes nothing, and uses the network only if online is set.
func examine(ctx context.Context, h *host, opts *options, online bool) []finding {
	var all []finding
	add := func(state, what, format string, args ...any) {
		all = append(all, finding{state, what, fmt.Sprintf(format, args...)})
	}
	add("ok", "version", "%s", version())
	dir, err := h.agentDir(opts.agentDir)
	if err != nil {
		add("problem", "agent dir", "%v", err)
		return all
	}
	switch info, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		add("ok", "agent dir", "%s (created with the first session)", dir)
	case err != nil:
		add("problem", "agent dir", "%v", err)
	case !info.IsDir():
		add("problem", "agent dir", "%s is not a directory; move it away or pass --agent-dir", dir)
	default:
		if err := writable(dir); err != nil {
			add("problem", "agent dir", "%v; sessions cannot be saved there", err)
		} else {
			add("ok", "agent dir", "%s", dir)
		}
	}
	if cwd, err := os.Getwd(); err != nil {
		add("problem", "files", "%v", err)
	} else {
		examineFiles(ctx, h, opts, dir, cwd, add)
	}
	all = append(all, h.examineModels(ctx, dir, opts)...)
	if online {
		all = append(all, h.examineOnline(ctx, dir, opts)...)
	}
	shell := h.local(ctx).Shell
	if _, err := os.Stat(shell.Path); err != nil {
		add("problem", "shell", "%v", err)
	} else {
		add("ok", "shell", "%s", shell.Path)
	}
	if box, err := findSandbox(); err != nil {
		add("warning", "sandbox", "none: %s; in auto mode commands ask, unless they are known to only read", strings.ReplaceAll(err.Error(), "\n", "; "))
	} else {
		add("ok", "sandbox", "%s: commands that you have not seen %s", box.Kind, boundary.Holds(string(box.Kind)))
	}
	for _, tool := range []struct{ name, without string }{
		{"git", "the demo needs it"},
		{"rg", "the search tool uses its own engine, with the same output"},
	} {
		if path, err := exec.LookPath(tool.name); err != nil {
			add("warning", tool.name, "not on PATH: %s", tool.without)
		} else {
			add("ok", tool.name, "%s", path)
		}
	}
	examineSSH(h, dir, exec.LookPath, add)
	examineLanguages(ctx, h, opts, dir, add)
	examineAdapters(ctx, h, opts, dir, add)
	examineCopies(h, opts, dir, add)
	if h.shared != nil {
		add("ok", "store", "the sessions are in %s", h.shared.Name)
	}
	page, err := h.store(dir).List(ctx, sessions.ListOptions{Limit: 1})
	switch {
	case err != nil:
		add("problem", "sessions", "%v", err)
	case len(page.Sessions) == 0:
		add("ok", "sessions", "none yet")
	default:
		add("ok", "sessions", "the latest is %q, from %s", page.Sessions[0].Title, page.Sessions[0].UpdatedAt.Format("2006-01-02 15:04"))
	}
	return all
}

// examineCopies examines the worktrees of sessions and the recorded states of files.
func examineCopies(h *host, opts *options, dir string, add func(status, name, format string, args ...any)) {
	if ids, err := (&worktrees.Store{Maker: worktreesOf(h, dir, opts)}).List(); err != nil {
		add("problem", "worktrees", "%v", err)
	} else if len(ids) > 0 {
		add("ok", "worktrees", "%s in worktrees", text.Count(len(ids), "session"))
	}
	if stored, err := checkpoint.List(checkpointsIn(dir)); err != nil {
		add("problem", "checkpoints", "%v", err)
	} else {
		var size int64
		for _, s := range stored {
			size += s.Size
		}
		add("ok", "checkpoints", "the recorded files of %s take %s in %s", text.Count(len(stored), "directory"), byteCount(size), checkpointsIn(dir))
	}
}

// writable creates and removes a file in a directory.
func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// examineFiles checks the files that gjc reads in a session in cwd, except those of models, language servers and debug
// adapters, which have checks of their own. It runs no command of a file.
func examineFiles(ctx context.Context, h *host, opts *options, dir, cwd string, add func(state, what, format string, args ...any)) {
	cfg := config.Read(dir, opts.configs, cwd)
	examineConfig(cfg, add)
	examineMCP(ctx, h, cfg, dir, []string{cwd}, add)
	if cfg.Secrets {
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
	files, problems := commands.Load(ctx, commands.Options{UserDir: dir, ProjectDirs: roots, Foreign: true, Home: home, CodexHome: codexHome(h)})
	for _, p := range problems {
		add("warning", "commands", "%s", p)
	}
	if n := len(files.Commands()); n > 0 {
		add("ok", "commands", "%s, %s", text.Count(n-len(files.Skills()), "command"), text.Count(len(files.Skills()), "skill"))
	}
	_, wrong := rulefiles.Load(ctx, rulefiles.Options{UserDir: dir, Home: home, Roots: roots})
	for _, p := range wrong {
		add("warning", "rules", "%s", p)
	}
	if path := filepath.Join(dir, "AGENTS.md"); isThere(path) {
		add("ok", "rules", "%s", path)
	}
	agents.New(agents.Options{UserDir: dir, ProjectDirs: roots, Home: home, CodexHome: codexHome(h), Report: func(p userfiles.Problem) { add("warning", "agents", "%s", p) }}).Helpers(ctx)
}

func examineConfig(cfg *config.Config, add func(state, what, format string, args ...any)) {
	wrong := make(map[string]bool)
	for _, e := range cfg.Mistakes {
		wrong[e.Path] = true
		add("problem", config.FileName, "%v", e)
	}
	for _, e := range cfg.Foreign {
		add("warning", config.FileName, "%v", e)
	}
	for _, f := range cfg.Files {
		if f.There && !wrong[f.Path] {
			add("ok", config.FileName, "%s", f.Path)
		}
	}
}

func examineMCP(ctx context.Context, h *host, cfg *config.Config, dir string, roots []string, add func(state, what, format string, args ...any)) {
	o := mcpOptions(h, dir, roots)
	o.Run = nil // doctor runs no commands of the configuration
	source := mcpfiles.NewSource(o)
	servers, err := source.Servers(ctx)
	if err != nil {
		for _, e := range mistakesOf(err) {
			add("problem", mcpfiles.FileName, "%v", e)
		}
	}
	for _, n := range source.Notes() {
		if cfg.DiscoverMCP {
			add("warning", mcpfiles.FileName, "%s", trust.Printable(n))
		}
	}
	path := filepath.Join(dir, mcpfiles.FileName)
	for _, d := range source.Definitions(ctx) {
		if d.State == "not trusted" {
			add("ok", mcpfiles.FileName, "%s: the server %s is not used, because the file is not trusted (%s)", d.File, strconv.Quote(d.Name), d.Detail)
		}
	}
	switch {
	case len(servers) == 0 && !isThere(path):
	case !cfg.DiscoverMCP:
		add("ok", mcpfiles.FileName, "%s: not used; mcp.discover in config.yml turns it on", path)
	default:
		names := make([]string, len(servers))
		for i := range servers {
			names[i] = strconv.Quote(servers[i].Name)
		}
		add("ok", mcpfiles.FileName, "%s: %s %s", path, text.Count(len(servers), "server"), strings.Join(names, ", "))
	}
}

// mistakesOf returns the mistakes of a configuration one by one.
func mistakesOf(err error) []error {
	var all []error
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range joined.Unwrap() {
			all = append(all, mistakesOf(one)...)
		}
		return all
	}
	if list, ok := errors.AsType[config.Errors](err); ok {
		for _, one := range list {
			all = append(all, one)
		}
		return all
	}
	return append(all, err)
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// examineModels checks models, keys and their settings. It sends no request.
func (h *host) examineModels(ctx context.Context, dir string, opts *options) []finding {
	var all []finding
	add := func(state, what, format string, args ...any) {
		all = append(all, finding{state, what, fmt.Sprintf(format, args...)})
	}
	models := h.registry(dir, opts, func(note string) { add("warning", "keys", "%s", note) })
	defer models.Close()
	if err := models.Load(ctx); err != nil {
		add("problem", "models", "%v", err)
	}
	set, _ := h.modelSettings(dir, opts) // examineFiles reports its mistakes
	if _, err := set.HTTP.Client(); err != nil {
		add("problem", "network", "%v", err)
	}
	usable := models.Models()
	if preferred, ok := models.Default(); ok {
		add("ok", "models", "%d usable; new sessions start with %s", len(usable), preferred.Ref())
	}
	for _, a := range models.Accounts() {
		if a.Active {
			add("ok", "keys", "%s, from %s", a.Label, a.Source)
		}
	}
	if len(usable) <= 1 {
		add("warning", "keys", "no key was found, so only the offline model answers; run gjc login, and gjc models for the alternatives")
	}
	roles := models.Roles()
	for _, role := range slices.Sorted(maps.Keys(roles)) {
		if role == registry.RoleDefault && opts.model != "" {
			continue // reported for the flag
		}
		if _, _, err := models.Role(role); err != nil {
			add("warning", "roles", "%v", err)
		}
	}
	if err := models.CheckProfile(models.Profile()); err != nil {
		add("problem", "profile", "%v", err)
	}
	for _, err := range models.Warnings() {
		add("warning", "models.yml", "%v", err)
	}
	if opts.model != "" {
		if _, _, err := models.Find(opts.model); err != nil {
			add("problem", "--model", "%v", err)
		}
	}
	return all
}

// examineOnline asks each configured provider for one word, all concurrently, and reports the source of the key, the
// address and the result.
func (h *host) examineOnline(ctx context.Context, dir string, opts *options) []finding {
	models := h.registry(dir, opts, func(string) {})
	defer models.Close()
	ids := models.Configured()
	if slices.ContainsFunc(ids, func(id string) bool {
		return !slices.ContainsFunc(models.All(), func(m providers.ModelInfo) bool { return m.Provider == id })
	}) {
		_, _ = models.Discover(ctx) // reported below as a problem
	}
	if len(ids) == 0 {
		return []finding{{"problem", "online", "no provider is configured; run gjc login"}}
	}
	probes := make([]registry.Probe, len(ids))
	var all sync.WaitGroup
	for i, id := range ids {
		all.Go(func() { probes[i] = models.Probe(ctx, id) })
	}
	all.Wait()
	found := make([]finding, len(ids))
	for i := range probes {
		found[i] = onlineFinding(&probes[i])
	}
	return found
}

func onlineFinding(p *registry.Probe) finding {
	state, outcome := "ok", "it answers"
	if p.Err != nil {
		state, outcome = "problem", p.Err.Error()
		if e, ok := errors.AsType[*providers.Error](p.Err); ok {
			outcome = onlineOutcome(e)
		}
	}
	where := cmp.Or(p.Address, "no address")
	if p.Model != "" {
		where = fmt.Sprintf("%s at %s", p.Model, where)
	}
	return finding{state, "online", fmt.Sprintf("%s: key: %s; %s: %s", p.Provider, cmp.Or(p.Source, "none"), where, outcome)}
}

// onlineOutcome explains a failed request and how to correct it.
func onlineOutcome(e *providers.Error) string {
	text := e.Message
	if e.Status != 0 {
		text += fmt.Sprintf(" (HTTP %d)", e.Status)
	}
	switch {
	case e.Kind == providers.KindAuth && e.Status != 0:
		return "the key was refused: " + text + "; store another one with gjc login " + e.Provider
	case e.Kind == providers.KindNetwork:
		return "the server cannot be reached: " + text + "; check the address, the network and the proxy"
	case e.Kind == providers.KindTimeout:
		return "the server does not answer in time: " + text
	}
	return text
}
