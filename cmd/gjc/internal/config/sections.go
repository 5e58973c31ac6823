package config

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/discovery"
	"github.com/gajae-code/gjc/agent/tools"
	"github.com/gajae-code/gjc/agent/tools/files"
	"github.com/gajae-code/gjc/internal/boundary"
	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/webclient"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/registry"
)

// lists returns the settings outside of sections, by name. path is the file's.
func (c *Config) lists(path string) map[string]setting {
	return map[string]setting{
		"enabledModels":      about("list only these models, everywhere or below a path; * is a wildcard", orStop(scoped(&c.Models.EnabledModels, "models", filepath.Dir(path)), StopsModels)),
		"disabledProviders":  about("do not use these providers, everywhere or below a path", orStop(scoped(&c.Models.DisabledProviders, "providers", filepath.Dir(path)), StopsModels)),
		"modelProviderOrder": about("the provider to prefer for a model that several have", words(&c.Models.ProviderOrder)),
		"instructions":       about("a text for every prompt, after the agent directory's AGENTS.md", c.instructions(path)),
	}
}

// roleSettings returns the settings of the roles that have been read; the user chooses their names.
func (c *Config) roleSettings() map[string]setting {
	all := make(map[string]setting)
	for name := range c.Models.Roles {
		all[name] = c.role(name)
	}
	return all
}

// role returns the setting of a role's model; "" is none.
func (c *Config) role(name string) setting {
	return setting{about: "the model of a role", schema: aString, get: func() any { return c.Models.Roles[name] }, take: func(n *configfile.Node) string {
		if n.Kind != configfile.Text || strings.ContainsAny(n.Text, ",\n\t") {
			return "must be a model, as provider/id or provider/id:level"
		}
		c.Models.Roles[name] = n.Text
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
	return setting{schema: scopedSchema(what), get: get, take: func(n *configfile.Node) string {
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
func (c *Config) instructions(path string) setting {
	get := func() any {
		texts := make([]string, 0, len(c.Context.Instructions))
		for _, one := range c.Context.Instructions {
			texts = append(texts, one.Text)
		}
		return texts
	}
	return setting{schema: aString, get: get, adds: true, take: func(n *configfile.Node) string {
		if n.Kind != configfile.Text {
			return "must be a string"
		}
		if text := strings.TrimSpace(n.Text); text != "" {
			c.Context.Instructions = append(c.Context.Instructions, agent.Instruction{Path: path, Text: text})
		}
		return ""
	}}
}

// Network holds the section network: how to reach models.
type Network struct {
	Proxy                    string
	NoProxy, CAFiles         []string
	CertFile, KeyFile        string
	Connect, FirstByte, Idle int
	// Preconnect opens a connection when a session begins.
	Preconnect bool
}

func newNetwork() Network {
	return Network{
		Connect: 15, FirstByte: int(providers.DefaultFirstByteTimeout / time.Second), Idle: int(providers.DefaultStallTimeout / time.Second),
		Preconnect: true,
	}
}

func (s *Network) settings(b *boundary.Settings) map[string]setting {
	protects := func(one setting) setting { return orStop(one, StopsModels|StopsPages) }
	return map[string]setting{
		"proxy":                   about("http, https or socks5; if empty, HTTPS_PROXY, HTTP_PROXY and NO_PROXY count", protects(proxyURL(&s.Proxy))),
		"allow":                   about("hosts that commands in the sandbox may reach: example.com, *.example.com", orStrict(hosts(&b.Hosts), &b.Hosts, nil)),
		"noProxy":                 about("hosts, domains and networks to reach without the proxy", protects(words(&s.NoProxy))),
		"caFiles":                 about("certificates to trust in addition to the system's, relative to the agent directory", protects(words(&s.CAFiles))),
		"clientCertFile":          about("a client certificate for servers that request one", protects(name(&s.CertFile))),
		"clientKeyFile":           about("the certificate's key, if it is in another file", protects(name(&s.KeyFile))),
		"connectTimeoutSeconds":   about("until a connection is established", number(&s.Connect, 1, 600)),
		"firstByteTimeoutSeconds": about("until the first byte of a response", number(&s.FirstByte, 1, 24*3600)),
		"idleTimeoutSeconds":      about("between two bytes of a response", number(&s.Idle, 1, 24*3600)),
		"preconnect":              about("connect when a session begins", orStrict(boolean(&s.Preconnect), &s.Preconnect, false)),
	}
}

// proxyURL returns the setting of a proxy's address; "" is none. The address may contain a password, so the messages do
// not quote it.
func proxyURL(to *string) setting {
	return setting{schema: aString, get: func() any { return Redacted(*to) }, take: func(n *configfile.Node) string {
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

// Put copies the section into the settings of models. Files are relative to dir.
func (s *Network) Put(set *registry.Settings, dir string) {
	within := func(file string) string { return withinDir(file, dir) }
	seconds := func(n int) time.Duration { return time.Duration(n) * time.Second }
	set.HTTP = providers.HTTPOptions{
		Proxy: s.Proxy, NoProxy: s.NoProxy, CertFile: within(s.CertFile), KeyFile: within(s.KeyFile), ConnectTimeout: seconds(s.Connect),
	}
	for _, file := range s.CAFiles {
		set.HTTP.CAFiles = append(set.HTTP.CAFiles, within(file))
	}
	set.FirstByteTimeout, set.StallTimeout = seconds(s.FirstByte), seconds(s.Idle)
}

// PutWeb copies the section into the settings of fetching pages, except for the client certificate, which is for
// models' servers only.
func (s *Network) PutWeb(set *webclient.Options, dir string) {
	set.Proxy, set.NoProxy = s.Proxy, s.NoProxy
	for _, file := range s.CAFiles {
		set.CAFiles = append(set.CAFiles, withinDir(file, dir))
	}
}

// withinDir returns a path that may be relative to dir; "" stays "".
func withinDir(file, dir string) string {
	if file == "" || filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(dir, file)
}

// ParseRule reads a rule about a tool or action that exists.
func ParseRule(v approval.Verdict, text string) (approval.Rule, error) {
	r, err := approval.ParseRule(v, text)
	if err != nil {
		return r, err
	}
	if v == approval.Allow && r.Name() == "share" {
		return r, fmt.Errorf("%s: sharing always asks, so no rule allows it; remove the rule", configfile.Quote(text))
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
func (c *Config) permissionSettings() map[string]setting {
	rules := func(v approval.Verdict) setting {
		get := func() any {
			texts := []string{}
			for i := range c.Permissions {
				if c.Permissions[i].Verdict == v {
					texts = append(texts, c.Permissions[i].Text)
				}
			}
			return texts
		}
		item := func(n *configfile.Node) string {
			if n.Kind != configfile.Text {
				return "must be a string: a rule"
			}
			r, err := ParseRule(v, n.Text)
			if err != nil {
				return err.Error()
			}
			c.Permissions = append(c.Permissions, r)
			return ""
		}
		return setting{schema: listOf(aString), get: get, item: item, stops: StopsSteps, adds: true, take: func(n *configfile.Node) string {
			if n.Kind == configfile.Null {
				return ""
			}
			return "must be a list of rules"
		}}
	}
	return map[string]setting{
		"allow": about("rules for steps that run without a question", rules(approval.Allow)),
		"ask":   about("rules for steps that ask", rules(approval.Ask)),
		"deny":  about("rules for steps that are refused", rules(approval.Deny)),
	}
}

// toolSettings returns the settings of tools by section and name.
func toolSettings(s *tools.Settings, held *discovery.Mode, b *boundary.Settings) map[string]map[string]setting {
	return map[string]map[string]setting{
		"edit": {
			"mode":               about("how models describe an edit; auto: the format that suits the model", oneOf(&s.Edit.Mode, files.EditModes())),
			"blockAutoGenerated": about("refuse to change generated files and lock files", unless(&s.Edit.AllowGenerated)),
		},
		"bash": {
			"sandbox":               about("auto: commands that the user has not seen run in the sandbox; require: all do; off: none do, and auto mode asks", orStrict(oneOf(&b.Use, boundary.Uses()), &b.Use, boundary.Require)),
			"sandboxNetwork":        about("let commands in the sandbox use the machine's network", orStrict(boolean(&b.Network), &b.Network, false)),
			"sandboxWrite":          about("additional directories that commands in the sandbox may change", orStrict(directories(&b.Write), &b.Write, nil)),
			"autoBackgroundSeconds": about("seconds after which a command becomes a background job; 0: never", duration(&s.Bash.AutoBackground, 0, 3600)),
		},
		"bashInterceptor": {
			"enabled":  about("refuse commands like cat and sed -i, and name the tool to use instead", boolean(&s.Bash.Intercept)),
			"patterns": about("additional rules, each {pattern, tool, message}; they come first", interceptRules(&s.Bash.Rules)),
		},
		"tools": {
			"discovery":  about("which tools the model must search for; auto: those of MCP servers and of files if there are more than 40 tools; mcp: those; all: all but the essential ones; off: none", oneOf(held, discovery.Modes())),
			"maxTimeout": about("maximum seconds for a command; 0: 3600", number(&s.Bash.MaxTimeout, 0, 3600)),
		},
		"web": {
			"allowPrivate":   about("allow web pages from this machine and from private networks", orStrict(boolean(&s.Web.AllowPrivate), &s.Web.AllowPrivate, false)),
			"timeoutSeconds": about("seconds for one page", duration(&s.Web.Timeout, 1, 45)),
		},
		"webSearch": {
			"provider": about("the service to search with; auto: the first with a key; off: none", orStrict(oneOf(&s.WebSearch.Provider, webclient.SearchProviders()), &s.WebSearch.Provider, webclient.SearchOff)),
		},
		"searxng": {
			"endpoint":      about("the address of a SearXNG instance; if empty, SEARXNG_ENDPOINT", orStop(httpURL(&s.WebSearch.SearXNG), StopsPages)),
			"token":         about("its token; if empty, SEARXNG_TOKEN", orStop(key(s.WebSearch.Keys, webclient.SearchSearXNG), StopsPages)),
			"basicUsername": about("a user, in place of a token; if empty, SEARXNG_BASIC_USERNAME", orStop(name(&s.WebSearch.User), StopsPages)),
			"basicPassword": about("that user's password; if empty, SEARXNG_BASIC_PASSWORD", orStop(secret(&s.WebSearch.Password), StopsPages)),
		},
	}
}
