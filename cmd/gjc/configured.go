package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/net/http/httpproxy"

	"github.com/gajae-code/gjc/acp/server"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/permissions"
	"github.com/gajae-code/gjc/agent/tools"
	"github.com/gajae-code/gjc/agent/userfiles"
	"github.com/gajae-code/gjc/cmd/gjc/internal/config"
	"github.com/gajae-code/gjc/cmd/gjc/internal/gitconfig"
	"github.com/gajae-code/gjc/cmd/gjc/internal/mcpfiles"
	"github.com/gajae-code/gjc/cmd/gjc/internal/mcpverbs"
	"github.com/gajae-code/gjc/internal/boundary"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/trust"
	"github.com/gajae-code/gjc/internal/webclient"
	"github.com/gajae-code/gjc/mcp"
	"github.com/gajae-code/gjc/mcp/oauth"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/registry"
)

// modelSettings returns the settings of models from the configuration, the environment and the command line. The error
// lists the mistakes of the configuration; the other settings are valid.
func (h *host) modelSettings(agentDir string, opts *options) (registry.Settings, error) {
	cfg := config.Read(agentDir, opts.configs, "")
	set := cfg.Models
	if opts.profile != "" {
		set.Profile = opts.profile
	}
	set.Overrides = h.roleOverrides(opts)
	cfg.Network.Put(&set, agentDir)
	// A mistake must not let a conversation bypass a proxy, or reach a disabled provider.
	if err := cfg.Stop(config.StopsModels); err != nil {
		set.HTTP.Unknown = fmt.Sprintf("their configuration is invalid: %v", err)
	}
	if extra := h.getenv("NODE_EXTRA_CA_CERTS"); filepath.IsAbs(extra) && providers.HasCertificate(extra) {
		// Companies announce their own certificate authority to editors with this variable of Node. Like Node, gjc
		// ignores it if the file does not exist.
		set.HTTP.CAFiles = append(set.HTTP.CAFiles, extra)
	}
	home, homeErr := h.home()
	for _, list := range [][]registry.Scoped{set.EnabledModels, set.DisabledProviders} {
		for i := range list {
			for j, p := range list[i].Paths {
				if rest, ok := strings.CutPrefix(p, "~"); ok && homeErr == nil {
					list[i].Paths[j] = filepath.Join(home, rest)
				}
			}
		}
	}
	return set, cfg.Err()
}

// roleVariables are the environment variables that name models, by role.
var roleVariables = map[string]string{
	registry.RoleSmol: "GJC_SMOL_MODEL", registry.RoleSlow: "GJC_SLOW_MODEL", registry.RolePlan: "GJC_PLAN_MODEL",
}

// roleOverrides returns the models that the command line and the environment name, by role.
func (h *host) roleOverrides(opts *options) map[string]string {
	all := map[string]string{registry.RoleDefault: opts.model}
	for role, variable := range roleVariables {
		all[role] = h.getenv(variable)
	}
	return all
}

// upstream returns a function that finds the machine's proxy for the connections of commands in the sandbox.
func upstream(agentDir string, opts *options) func(*url.URL) (*url.URL, error) {
	find := sync.OnceValue(func() func(*url.URL) (*url.URL, error) {
		set := config.Read(agentDir, opts.configs, "").Network
		if set.Proxy == "" {
			return httpproxy.FromEnvironment().ProxyFunc()
		}
		return (&httpproxy.Config{HTTPProxy: set.Proxy, HTTPSProxy: set.Proxy, NoProxy: strings.Join(set.NoProxy, ",")}).ProxyFunc()
	})
	return func(u *url.URL) (*url.URL, error) { return find()(u) }
}

// policy returns a function that returns the user's and the project's permission rules for a directory. While a rule
// cannot be read, every step asks, and only the rules that ask and deny count.
func (h *host) policy(agentDir string, opts *options) func(cwd string) approval.Policy {
	home, err := h.home()
	if err != nil {
		home = ""
	}
	own := []string{agentDir}
	if home != "" {
		own = append(own, filepath.Join(home, ".gjc"))
	}
	loaded := sync.OnceValue(func() []string { return slices.Clip(loadedFiles()) })
	return func(cwd string) approval.Policy {
		cfg := config.Read(agentDir, opts.configs, cwd)
		p := approval.Policy{Home: home, Own: own, Rules: cfg.Permissions, Boundary: cfg.Boundary, Keeper: permissions.Open(agentDir).Keeper(cwd), Loaded: append(loaded(), importedFiles(instructionsIn(h, cfg, agentDir, home, cwd))...), Followed: h.followed()}
		for i, dir := range p.Boundary.Write {
			if rest, ok := strings.CutPrefix(dir, "~/"); ok {
				p.Boundary.Write[i] = filepath.Join(home, rest)
			}
		}
		store := permissions.Open(agentDir)
		p.Rules = append(p.Rules[:len(p.Rules):len(p.Rules)], store.Rules(cwd)...)
		if first, err := store.Show(context.Background(), cwd, permissions.Suggest(cwd, "", "")); err == nil && first {
			p.Suggested = "Other agents have permissions for this workspace, which gjc does not use. gjc permissions suggest shows them, and --adopt adopts them."
		}
		find := h.sandboxOnce()
		p.Boundary.Find = func() (string, error) {
			s, err := find()
			if err != nil {
				return "", err
			}
			return string(s.Kind), nil
		}
		p.Boundary.Caches = func() []string { return boundary.Caches(home, h.getenv, exec.LookPath) }
		edge := p.Boundary
		p.Introduce = func() (title, detail string) {
			state, title, detail := edge.Introduction()
			if first, err := store.Introduce(context.Background(), cwd, state); err != nil || !first {
				return "", "" // what cannot be noted would be said each time
			}
			return title, detail
		}
		if p.Broken = cfg.Stop(config.StopsSteps); p.Broken != nil {
			p.Rules = nil
			for _, r := range cfg.Permissions {
				if r.Verdict != approval.Allow {
					p.Rules = append(p.Rules, r)
				}
			}
		}
		return p
	}
}

// putKeys adds the keys of search services that the configuration does not set: from auth.json, or else from the
// environment.
func (h *host) putKeys(set *webclient.SearchOptions, models *registry.Registry) {
	variables := map[webclient.SearchProvider][]string{
		webclient.SearchTavily: {"TAVILY_API_KEY"}, webclient.SearchPerplexity: {"PERPLEXITY_API_KEY", "PPLX_API_KEY"}, webclient.SearchBrave: {"BRAVE_API_KEY"},
		webclient.SearchExa: {"EXA_API_KEY"}, webclient.SearchSearXNG: {"SEARXNG_TOKEN"},
	}
	for provider, names := range variables {
		found := cmp.Or(set.Keys[provider], models.StoredKey(string(provider)))
		for _, name := range names {
			found = cmp.Or(found, h.getenv(name))
		}
		set.Keys[provider] = found
	}
	set.SearXNG = cmp.Or(set.SearXNG, h.getenv("SEARXNG_ENDPOINT"), h.getenv("SEARXNG_BASE_URL"))
	set.User = cmp.Or(set.User, h.getenv("SEARXNG_BASIC_USERNAME"))
	set.Password = cmp.Or(set.Password, h.getenv("SEARXNG_BASIC_PASSWORD"))
}

// tools returns a function that makes the tools of a session, from the configuration at that time. [host.settings]
// reports mistakes in the configuration. warn receives each other mistake once. Sessions with the same settings share the tools, which have no
// state but take more memory than the rest of an idle session.
func (h *host) tools(agentDir string, opts *options, models *registry.Registry, warn func(string)) func() []agent.Tool {
	var reported sync.Map
	last := new(lastTools)
	return func() []agent.Tool {
		cfg := config.Read(agentDir, opts.configs, "")
		if err := cfg.Stop(config.StopsPages); err != nil {
			cfg.Tools.Web.Unknown = err.Error()
		}
		home, _ := h.home() // without one there are no files in it
		cfg.Network.PutWeb(&cfg.Tools.Web, agentDir)
		h.putKeys(&cfg.Tools.WebSearch, models)
		cfg.Tools.GlobalIgnore = gitconfig.GlobalIgnore(home, h.getenv)
		var problems []string
		cfg.Tools.SSH, problems = sshHosts(agentDir, home)
		for _, p := range problems {
			if _, known := reported.LoadOrStore(p, true); !known {
				warn("the tool ssh: " + p)
			}
		}
		return last.with(&cfg.Tools)
	}
}

// lastTools has the tools that were made last.
type lastTools struct {
	mu       sync.Mutex // guards the fields below
	settings *tools.Settings
	list     []agent.Tool
}

// with returns the tools with these settings. The caller may change the list.
func (l *lastTools) with(set *tools.Settings) []agent.Tool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.settings == nil || len(set.Web.CAFiles) > 0 || !reflect.DeepEqual(l.settings, set) { // the content of the files may have changed
		l.settings, l.list = set, tools.All(set)
	}
	return slices.Clone(l.list)
}

// mcpOptions says where the MCP servers of a workspace are defined. Without a directory, only the user's own are.
func mcpOptions(h *host, agentDir string, roots []string) mcpfiles.Options {
	home, _ := h.home() // without one, ~ is not expanded
	return mcpfiles.Options{
		AgentDir: agentDir, Roots: roots, Trust: trust.NewSession(trust.Open(trustFile(agentDir))), Getenv: h.getenv, Home: home,
		Run: func(ctx context.Context, dir, line string) (string, error) {
			out, err := mcpOutput(ctx, h, dir, line)
			return strings.TrimSpace(string(out)), err
		},
	}
}

// mcpOutput runs a command line that computes a value. Those of a workspace get no keys of providers.
func mcpOutput(ctx context.Context, h *host, dir, line string) ([]byte, error) {
	if dir == "" {
		return h.commandOutput(ctx, line)
	}
	shell, args := "/bin/sh", []string{"-c", line}
	if runtime.GOOS == "windows" {
		shell, args = cmp.Or(h.getenv("ComSpec"), h.getenv("COMSPEC"), "cmd.exe"), []string{"/d", "/c", line}
	}
	return outputOf(ctx, h, &proc.Options{Path: shell, Args: args, Dir: dir, Env: proc.Environ(h.env)})
}

// mcpSource is the configuration of the MCP servers of one session.
type mcpSource struct {
	*mcpfiles.Source
	host *host
	opts *options
	cwd  string
}

// Run implements [server.MCPConfig].
func (s *mcpSource) Run(ctx context.Context, args []string) (string, error) {
	var out bytes.Buffer
	cmd := mcpverbs.New(mcpEnv(s.host, s.opts, &out, func() (string, error) { return s.cwd, nil }))
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	err := cmd.ExecuteContext(ctx)
	return out.String(), err
}

// mcpConfigs returns a function that makes the configuration of a session. more are further files of the user.
func mcpConfigs(h *host, agentDir string, opts *options, more []string) func(roots []string, plugins userfiles.Plugins) server.MCPConfig {
	return func(roots []string, plugins userfiles.Plugins) server.MCPConfig {
		o := mcpOptions(h, agentDir, roots)
		o.More, o.Plugins = more, plugins
		// Read when a session begins: errors are reported there, and initialize does no I/O.
		o.Disabled = func() bool { return !config.Read(agentDir, opts.configs, "").DiscoverMCP }
		return &mcpSource{mcpfiles.NewSource(o), h, opts, roots[0]}
	}
}

// mcpEnv returns what the verbs of "gjc mcp" need.
func mcpEnv(h *host, opts *options, out io.Writer, cwd func() (string, error)) *mcpverbs.Env {
	return &mcpverbs.Env{
		Out: out, In: h.stdin,
		Options: func() (mcpfiles.Options, error) {
			dir, err := h.agentDir(opts.agentDir)
			if err != nil {
				return mcpfiles.Options{}, err
			}
			at, err := cwd()
			if err != nil {
				return mcpfiles.Options{}, err
			}
			o := mcpOptions(h, dir, []string{at})
			o.Plugins = pluginsOf(h, dir)([]string{at})
			return o, nil
		},
		Connect: func(ctx context.Context, cwd string) mcp.Options {
			local := h.local(ctx)
			return mcp.Options{Cwd: cwd, Children: h.children, Env: local.Environ(ctx), Version: version()}
		},
		Accounts: func(keyring bool) (*oauth.Accounts, error) {
			dir, err := h.agentDir(opts.agentDir)
			if err != nil {
				return nil, err
			}
			return mcpAccounts(h.registry(dir, opts, func(string) {}), dir, keyring), nil
		},
		Usage: func(err error) error { return fmt.Errorf("%w: %w", errUsage, err) },
	}
}

func newMCP(h *host, opts *options) *cobra.Command {
	return mcpverbs.New(mcpEnv(h, opts, h.stdout, os.Getwd))
}
