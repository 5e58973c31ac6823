package main

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/permissions"
	"github.com/gajae-code/gjc/agent/tools"
	"github.com/gajae-code/gjc/agent/tools/files"
	"github.com/gajae-code/gjc/cmd/gjc/internal/gitconfig"
	"github.com/gajae-code/gjc/internal/boundary"
	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/webclient"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/registry"
)

// lists returns the settings outside of sections, by name. path is the file's.
func (c *config) lists(path string) map[string]setting {
	return map[string]setting{
		"enabledModels":      orStop(scoped(&c.models.EnabledModels, "models", filepath.Dir(path)), stopsModels),        // list only these models, everywhere or below a path; * is a wildcard
		"disabledProviders":  orStop(scoped(&c.models.DisabledProviders, "providers", filepath.Dir(path)), stopsModels), // do not use these providers, everywhere or below a path
		"modelProviderOrder": words(&c.models.ProviderOrder),                                                            // the provider to prefer for a model that several have
		"instructions":       c.instructions(path),                                                                      // a text for every prompt, after the agent directory's AGENTS.md
	}
}

// roleSettings returns the settings of the roles that have been read; the user chooses their names.
func (c *config) roleSettings() map[string]setting {
	all := make(map[string]setting)
	for name := range c.models.Roles {
		all[name] = c.role(name)
	}
	return all
}

// role returns the setting of a role's model; "" is none.
func (c *config) role(name string) setting {
	return setting{get: func() any { return c.models.Roles[name] }, take: func(n *configfile.Node) string {
		if n.Kind != configfile.Text || strings.ContainsAny(n.Text, ",\n\t") {
			return "must be a model, as provider/id or provider/id:level"
		}
		c.models.Roles[name] = n.Text
		return ""
	}}
}

// scoped returns the setting of a list whose items are strings, which apply everywhere, and mappings, which apply below
// directories: "path", "paths", "pathPrefix" or "pathPrefixes" has the directories, and what or "values" the strings.
// Relative directories are relative to dir, and ~ is the home directory of the user who runs gjc.
func scoped(to *[]registry.Scoped, what, dir string) setting {
	get := func() any {
		list := make([]any, 0, len(*to))
		for _, one := range *to {
			if len(one.Paths) == 0 {
				list = append(list, strings.Join(one.Values, ", "))
				continue
			}
			list = append(list, map[string][]string{"paths": one.Paths, what: one.Values})
		}
		return list
	}
	return setting{get: get, take: func(n *configfile.Node) string {
		if n.Kind != configfile.List {
			return "must be a list"
		}
		var all []registry.Scoped
		for _, item := range n.List {
			if item.Kind == configfile.Text {
				all = append(all, registry.Scoped{Values: []string{item.Text}})
				continue
			}
			one, reason := scopedItem(item, what, dir)
			if reason != "" {
				return reason
			}
			all = append(all, one)
		}
		*to = all
		return ""
	}}
}

func scopedItem(item *configfile.Node, what, dir string) (one registry.Scoped, reason string) {
	if item.Kind != configfile.Object {
		return one, "an item must be a name, or a mapping with path and " + what
	}
	for _, m := range item.Members {
		var values []string
		switch {
		case m.Value.Kind == configfile.Text:
			values = []string{m.Value.Text}
		case configfile.StringList.Check(m.Value) == "":
			values = m.Value.Strings()
		default:
			return one, m.Name + " must be a string or a list of strings"
		}
		switch m.Name {
		case "path", "paths", "pathPrefix", "pathPrefixes":
			for _, p := range values {
				if !filepath.IsAbs(p) && !strings.HasPrefix(p, "~") {
					p = filepath.Join(dir, p)
				}
				one.Paths = append(one.Paths, p)
			}
		case what, "values":
			one.Values = append(one.Values, values...)
		default:
			return one, "unknown field; the fields are path and " + what + configfile.Suggestion(m.Name, []string{"path", what})
		}
	}
	if len(one.Paths) == 0 || len(one.Values) == 0 {
		return one, "a mapping needs path and " + what
	}
	return one, ""
}

// instructions returns the setting of a text for the prompts of all sessions. The texts of several files add up.
func (c *config) instructions(path string) setting {
	get := func() any {
		texts := make([]string, 0, len(c.context.Instructions))
		for _, one := range c.context.Instructions {
			texts = append(texts, one.Text)
		}
		return texts
	}
	return setting{get: get, adds: true, take: func(n *configfile.Node) string {
		if n.Kind != configfile.Text {
			return "must be a string"
		}
		if text := strings.TrimSpace(n.Text); text != "" {
			c.context.Instructions = append(c.context.Instructions, agent.Instruction{Path: path, Text: text})
		}
		return ""
	}}
}

// modelSettings returns the settings of models from the configuration, the environment and the command line. The error
// lists the mistakes of the configuration; the other settings are valid.
func (h *host) modelSettings(agentDir string, opts *options) (registry.Settings, error) {
	cfg := readConfig(agentDir, opts.configs, "")
	set := cfg.models
	if opts.profile != "" {
		set.Profile = opts.profile
	}
	set.Overrides = h.roleOverrides(opts)
	cfg.network.put(&set, agentDir)
	// A mistake must not let a conversation bypass a proxy, or reach a disabled provider.
	if err := cfg.stop(stopsModels); err != nil {
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
	return set, cfg.err()
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

// networkSettings holds the section network: how to reach models.
type networkSettings struct {
	proxy                    string
	noProxy, caFiles         []string
	certFile, keyFile        string
	connect, firstByte, idle int
	// preconnect opens a connection when a session begins.
	preconnect bool
}

func newNetworkSettings() networkSettings {
	return networkSettings{
		connect: 15, firstByte: int(providers.DefaultFirstByteTimeout / time.Second), idle: int(providers.DefaultStallTimeout / time.Second),
		preconnect: true,
	}
}

func (s *networkSettings) settings(b *boundary.Settings) map[string]setting {
	protects := func(one setting) setting { return orStop(one, stopsModels|stopsPages) }
	return map[string]setting{
		"proxy":                   protects(proxyURL(&s.proxy)),                           // http, https or socks5; if empty, HTTPS_PROXY, HTTP_PROXY and NO_PROXY count
		"allow":                   orStrict(hosts(&b.Hosts), &b.Hosts, nil),               // hosts that commands in the sandbox may reach: example.com, *.example.com
		"noProxy":                 protects(words(&s.noProxy)),                            // hosts, domains and networks to reach without the proxy
		"caFiles":                 protects(words(&s.caFiles)),                            // certificates to trust in addition to the system's, relative to the agent directory
		"clientCertFile":          protects(name(&s.certFile)),                            // a client certificate for servers that request one
		"clientKeyFile":           protects(name(&s.keyFile)),                             // the certificate's key, if it is in another file
		"connectTimeoutSeconds":   number(&s.connect, 1, 600),                             // until a connection is established
		"firstByteTimeoutSeconds": number(&s.firstByte, 1, 24*3600),                       // until the first byte of a response
		"idleTimeoutSeconds":      number(&s.idle, 1, 24*3600),                            // between two bytes of a response
		"preconnect":              orStrict(boolean(&s.preconnect), &s.preconnect, false), // connect when a session begins
	}
}

// proxyURL returns the setting of a proxy's address; "" is none. The address may contain a password, so the messages do
// not quote it.
func proxyURL(to *string) setting {
	return setting{get: func() any { return redacted(*to) }, take: func(n *configfile.Node) string {
		if n.Kind != configfile.Text {
			return "must be a string"
		}
		if u, err := url.Parse(n.Text); n.Text != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "socks5") {
			return "must be a URL with http, https or socks5"
		}
		*to = n.Text
		return ""
	}}
}

// put copies the section into the settings of models. Files are relative to dir.
func (s *networkSettings) put(set *registry.Settings, dir string) {
	within := func(file string) string { return withinDir(file, dir) }
	seconds := func(n int) time.Duration { return time.Duration(n) * time.Second }
	set.HTTP = providers.HTTPOptions{
		Proxy: s.proxy, NoProxy: s.noProxy, CertFile: within(s.certFile), KeyFile: within(s.keyFile), ConnectTimeout: seconds(s.connect),
	}
	for _, file := range s.caFiles {
		set.HTTP.CAFiles = append(set.HTTP.CAFiles, within(file))
	}
	set.FirstByteTimeout, set.StallTimeout = seconds(s.firstByte), seconds(s.idle)
}

// putWeb copies the section into the settings of fetching pages, except for the client certificate, which is for
// models' servers only.
func (s *networkSettings) putWeb(set *webclient.Options, dir string) {
	set.Proxy, set.NoProxy = s.proxy, s.noProxy
	for _, file := range s.caFiles {
		set.CAFiles = append(set.CAFiles, withinDir(file, dir))
	}
}

// upstream returns a function that finds the machine's proxy for the connections of commands in the sandbox.
func upstream(agentDir string, opts *options) func(*url.URL) (*url.URL, error) {
	find := sync.OnceValue(func() func(*url.URL) (*url.URL, error) {
		set := readConfig(agentDir, opts.configs, "").network
		if set.proxy == "" {
			return httpproxy.FromEnvironment().ProxyFunc()
		}
		return (&httpproxy.Config{HTTPProxy: set.proxy, HTTPSProxy: set.proxy, NoProxy: strings.Join(set.noProxy, ",")}).ProxyFunc()
	})
	return func(u *url.URL) (*url.URL, error) { return find()(u) }
}

// withinDir returns a path that may be relative to dir; "" stays "".
func withinDir(file, dir string) string {
	if file == "" || filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(dir, file)
}

// parseRule reads a rule about a tool or action that exists.
func parseRule(v approval.Verdict, text string) (approval.Rule, error) {
	r, err := approval.ParseRule(v, text)
	if err != nil {
		return r, err
	}
	if names := tools.Names(); !r.Known(names) {
		names = slices.Compact(slices.Sorted(slices.Values(append(names, approval.Actions()...))))
		return r, fmt.Errorf("%s: unknown tool or action %s%s; the names are %s, and mcp__SERVER_TOOL", configfile.Quote(text), configfile.Quote(r.Name()),
			strings.TrimSuffix(configfile.Suggestion(r.Name(), names), ";"), strings.Join(names, ", "))
	}
	return r, nil
}

// permissionSettings returns the section permissions. The rules of several files add up: none replaces another. A rule
// that cannot be read may have forbidden anything, so every step asks.
func (c *config) permissionSettings() map[string]setting {
	rules := func(v approval.Verdict) setting {
		get := func() any {
			texts := []string{}
			for i := range c.permissions {
				if c.permissions[i].Verdict == v {
					texts = append(texts, c.permissions[i].Text)
				}
			}
			return texts
		}
		item := func(n *configfile.Node) string {
			if n.Kind != configfile.Text {
				return "must be a string: a rule"
			}
			r, err := parseRule(v, n.Text)
			if err != nil {
				return err.Error()
			}
			c.permissions = append(c.permissions, r)
			return ""
		}
		return setting{get: get, item: item, stops: stopsSteps, adds: true, take: func(n *configfile.Node) string {
			if n.Kind == configfile.Null {
				return ""
			}
			return "must be a list of rules"
		}}
	}
	return map[string]setting{
		"allow": rules(approval.Allow), // rules for steps that run without a question
		"ask":   rules(approval.Ask),   // rules for steps that ask
		"deny":  rules(approval.Deny),  // rules for steps that are refused
	}
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
	return func(cwd string) approval.Policy {
		cfg := readConfig(agentDir, opts.configs, cwd)
		p := approval.Policy{Home: home, Own: own, Rules: cfg.permissions, Boundary: cfg.boundary, Keeper: permissions.Open(agentDir).Keeper(cwd), Loaded: loadedFiles(), Followed: h.followed()}
		for i, dir := range p.Boundary.Write {
			if rest, ok := strings.CutPrefix(dir, "~/"); ok {
				p.Boundary.Write[i] = filepath.Join(home, rest)
			}
		}
		store := permissions.Open(agentDir)
		p.Rules = append(p.Rules[:len(p.Rules):len(p.Rules)], store.Rules(cwd)...)
		if first, err := store.Show(context.Background(), cwd, permissions.Suggest(cwd, "")); err == nil && first {
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
		if p.Broken = cfg.stop(stopsSteps); p.Broken != nil {
			p.Rules = nil
			for _, r := range cfg.permissions {
				if r.Verdict != approval.Allow {
					p.Rules = append(p.Rules, r)
				}
			}
		}
		return p
	}
}

// toolSettings returns the settings of tools by section and name.
func toolSettings(s *tools.Settings, b *boundary.Settings) map[string]map[string]setting {
	return map[string]map[string]setting{
		"edit": {
			"mode":               oneOf(&s.Edit.Mode, files.EditModes()), // how models describe an edit; auto: the format that suits the model
			"blockAutoGenerated": unless(&s.Edit.AllowGenerated),         // refuse to change generated files and lock files
		},
		"bash": {
			"sandbox":               orStrict(oneOf(&b.Use, boundary.Uses()), &b.Use, boundary.Require), // auto: commands that the user has not seen run in the sandbox; require: all do; off: none do, and auto mode asks
			"sandboxNetwork":        orStrict(boolean(&b.Network), &b.Network, false),                   // let commands in the sandbox use the machine's network
			"sandboxWrite":          orStrict(directories(&b.Write), &b.Write, nil),                     // additional directories that commands in the sandbox may change
			"autoBackgroundSeconds": duration(&s.Bash.AutoBackground, 0, 3600),                          // seconds after which a command becomes a background job; 0: never
		},
		"bashInterceptor": {
			"enabled":  boolean(&s.Bash.Intercept),    // refuse commands like cat and sed -i, and name the tool to use instead
			"patterns": interceptRules(&s.Bash.Rules), // additional rules, each {pattern, tool, message}; they come first
		},
		"tools": {
			"maxTimeout": number(&s.Bash.MaxTimeout, 0, 3600), // maximum seconds for a command; 0: 3600
		},
		"web": {
			"allowPrivate":   orStrict(boolean(&s.Web.AllowPrivate), &s.Web.AllowPrivate, false), // allow web pages from this machine and from private networks
			"timeoutSeconds": duration(&s.Web.Timeout, 1, 45),                                    // seconds for one page
		},
		"webSearch": {
			"provider": orStrict(oneOf(&s.WebSearch.Provider, webclient.SearchProviders()), &s.WebSearch.Provider, webclient.SearchOff), // the service to search with; auto: the first with a key; off: none
		},
		"searxng": {
			"endpoint":      orStop(httpURL(&s.WebSearch.SearXNG), stopsPages),                  // the address of a SearXNG instance; if empty, SEARXNG_ENDPOINT
			"token":         orStop(key(s.WebSearch.Keys, webclient.SearchSearXNG), stopsPages), // its token; if empty, SEARXNG_TOKEN
			"basicUsername": orStop(name(&s.WebSearch.User), stopsPages),                        // a user, in place of a token; if empty, SEARXNG_BASIC_USERNAME
			"basicPassword": orStop(secret(&s.WebSearch.Password), stopsPages),                  // that user's password; if empty, SEARXNG_BASIC_PASSWORD
		},
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
// reports mistakes in the configuration. warn receives each other mistake once.
func (h *host) tools(agentDir string, opts *options, models *registry.Registry, warn func(string)) func() []agent.Tool {
	var reported sync.Map
	return func() []agent.Tool {
		cfg := readConfig(agentDir, opts.configs, "")
		if err := cfg.stop(stopsPages); err != nil {
			cfg.tools.Web.Unknown = err.Error()
		}
		home, _ := h.home() // without one there are no files in it
		cfg.network.putWeb(&cfg.tools.Web, agentDir)
		h.putKeys(&cfg.tools.WebSearch, models)
		cfg.tools.GlobalIgnore = gitconfig.GlobalIgnore(home, h.getenv)
		var problems []string
		cfg.tools.SSH, problems = sshHosts(agentDir, home)
		for _, p := range problems {
			if _, known := reported.LoadOrStore(p, true); !known {
				warn("the tool ssh: " + p)
			}
		}
		return tools.All(&cfg.tools)
	}
}
