package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/policy"
	"github.com/gajae-code/gjc/agent/tools"
	"github.com/gajae-code/gjc/agent/tools/web"
	"github.com/gajae-code/gjc/internal/configfile"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/trust"
	"github.com/gajae-code/gjc/internal/typo"
	"github.com/gajae-code/gjc/lsp"
	"github.com/gajae-code/gjc/mcp"
	"github.com/gajae-code/gjc/providers"
)

// config is what gjc takes from config.yml: the one of the agent directory, then those of --config, each over the ones
// before it. docs/configuration.md describes it. The file may hold more, which is for other programs.
type config struct {
	// discoverMCP gives every session the servers of mcp.json in the agent directory, beside those of the editor.
	discoverMCP bool
	lsp         lspSettings
	debug       debugSettings
	// context is how sessions keep their context. SummaryModels comes from roles.
	context agent.Settings
	retry   retrySettings
	// models are the settings of models. Their Roles are "provider/id" with an optional ":level", "gjc/role", or part of a name.
	models providers.RegistrySettings
	// generateTitles has a model name the sessions.
	generateTitles bool
	network        networkSettings
	tools          tools.Settings
	// permissions are the user's rules for what may be done, of all files.
	permissions policy.Rules
	// secrets keeps values of the environment and of secrets.yml from the models.
	secrets bool
}

// debugSettings is the section debug.
type debugSettings struct {
	// enabled gives sessions a debugger.
	enabled bool
}

// lspSettings is the section lsp.
type lspSettings struct {
	// enabled gives sessions language servers.
	enabled bool
	// formatOnWrite has them format what the write tool writes.
	formatOnWrite bool
	// diagnosticsOnWrite and diagnosticsOnEdit report what they say of a changed file.
	diagnosticsOnWrite, diagnosticsOnEdit bool
	// subagents gives them to helper agents too; it is enableLsp of the section task.
	subagents bool
}

// onWrite is what is done when a tool changes a file.
func (s *lspSettings) onWrite() lsp.OnWrite {
	return lsp.OnWrite{Format: s.formatOnWrite, DiagnoseWrites: s.diagnosticsOnWrite, DiagnoseEdits: s.diagnosticsOnEdit}
}

// retrySettings is the section retry.
type retrySettings struct {
	enabled                 bool
	maxRetries, baseDelayMs int
}

// policy is what the section says of failed model calls.
func (s *retrySettings) policy() providers.RetryPolicy {
	if !s.enabled {
		return providers.RetryPolicy{Attempts: 1}
	}
	return providers.RetryPolicy{Attempts: s.maxRetries + 1, Base: time.Duration(s.baseDelayMs) * time.Millisecond}
}

// newConfig returns what holds where no file says anything.
func newConfig() *config {
	return &config{
		lsp:   lspSettings{enabled: true, diagnosticsOnWrite: true, diagnosticsOnEdit: true},
		debug: debugSettings{enabled: true}, context: agent.DefaultSettings(),
		retry:  retrySettings{enabled: true, maxRetries: 3, baseDelayMs: 2000},
		models: providers.RegistrySettings{Roles: make(map[string]string)}, generateTitles: true,
		network: newNetworkSettings(),
		tools: tools.Settings{
			Edit: tools.EditSettings{Mode: tools.EditAuto}, Bash: tools.BashSettings{Sandbox: tools.SandboxOff}, Web: web.Options{Timeout: web.DefaultTimeout},
			WebSearch: web.SearchOptions{Provider: web.SearchAuto, Keys: make(map[web.SearchProvider]string)},
		},
	}
}

// sections are the settings by section and name.
func (c *config) sections() map[string]map[string]setting {
	compaction, branch := &c.context.Compaction, &c.context.BranchSummary
	all := map[string]map[string]setting{
		"mcp": {"discover": boolean(&c.discoverMCP)},
		"lsp": {
			"enabled":            boolean(&c.lsp.enabled),
			"formatOnWrite":      boolean(&c.lsp.formatOnWrite),
			"diagnosticsOnWrite": boolean(&c.lsp.diagnosticsOnWrite),
			"diagnosticsOnEdit":  boolean(&c.lsp.diagnosticsOnEdit),
		},
		"debug": {"enabled": boolean(&c.debug.enabled)},
		"task":  c.taskSettings(),
		"compaction": {
			"enabled":             boolean(&compaction.Enabled),
			"strategy":            oneOf(&compaction.Strategy, agent.CompactionStrategies()),
			"reserveTokens":       number(&compaction.ReserveTokens, 0, mostTokens),
			"keepRecentTokens":    number(&compaction.KeepRecentTokens, 0, mostTokens),
			"autoContinue":        boolean(&compaction.AutoContinue),
			"remoteEnabled":       boolean(&compaction.RemoteEnabled),
			"remoteEndpoint":      httpURL(&compaction.RemoteEndpoint),
			"thresholdPercent":    number(&compaction.ThresholdPercent, -1, 100),
			"thresholdTokens":     number(&compaction.ThresholdTokens, -1, mostTokens),
			"idleEnabled":         boolean(&compaction.IdleEnabled),
			"idleThresholdTokens": number(&compaction.IdleThresholdTokens, 1, mostTokens),
			"idleTimeoutSeconds":  number(&compaction.IdleTimeoutSeconds, 1, 7*24*3600),
			"handoffSaveToDisk":   boolean(&compaction.HandoffSaveToDisk),
		},
		"branchSummary": {
			"enabled":       boolean(&branch.Enabled),
			"reserveTokens": number(&branch.ReserveTokens, 0, mostTokens),
		},
		"ttsr": {
			"enabled":     boolean(&c.context.Rules.Stream),
			"contextMode": discarding(&c.context.Rules.Discard),
			"repeatMode":  oneOf(&c.context.Rules.Repeat, agent.RepeatModes()),
			"repeatGap":   number(&c.context.Rules.RepeatGap, 1, 10_000),
		},
		"secrets":          {"enabled": boolean(&c.secrets)},
		"contextPromotion": {"enabled": boolean(&c.context.ContextPromotion)},
		"retry": {
			"enabled":     boolean(&c.retry.enabled),
			"maxRetries":  number(&c.retry.maxRetries, 0, 100),
			"baseDelayMs": number(&c.retry.baseDelayMs, 1, 600_000),
		},
		"title":        {"generate": boolean(&c.generateTitles)},
		"modelRoles":   nil, // the names are the user's
		"modelProfile": {"default": name(&c.models.Profile)},
		"network":      c.network.settings(),
		"permissions":  c.permissionSettings(),
	}
	maps.Copy(all, toolSettings(&c.tools))
	return all
}

// mostTokens is more than any window has.
const mostTokens = 100_000_000

// A setting takes a value of a file. It returns what the value must be if it is not that.
type setting func(*configfile.Node) string

func boolean(to *bool) setting {
	return func(n *configfile.Node) string {
		if n.Kind != configfile.Boolean {
			return "must be true or false"
		}
		*to = n.True()
		return ""
	}
}

// number takes a number from least to most. One for an int is whole.
func number[T int | float64](to *T, least, most T) setting {
	return func(n *configfile.Node) string {
		f, err := strconv.ParseFloat(n.Text, 64)
		if v := T(f); n.Kind == configfile.Number && err == nil && f >= float64(least) && f <= float64(most) && float64(v) == f {
			*to = v
			return ""
		}
		kind := "whole number"
		if T(1)/2 != 0 {
			kind = "number"
		}
		return fmt.Sprintf("must be a %s from %v to %v", kind, least, most)
	}
}

func oneOf[T ~string](to *T, values []T) setting {
	return func(n *configfile.Node) string {
		if n.Kind != configfile.Text || !slices.Contains(values, T(n.Text)) {
			all := make([]string, len(values))
			for i, v := range values {
				all[i] = string(v)
			}
			return "must be one of: " + strings.Join(all, ", ")
		}
		*to = T(n.Text)
		return ""
	}
}

// httpURL takes an address; an empty one is none.
func httpURL(to *string) setting {
	return func(n *configfile.Node) string {
		if n.Kind == configfile.Text && n.Text != "" {
			u, err := url.Parse(n.Text)
			if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
				return "must be a URL with http or https"
			}
		} else if n.Kind != configfile.Text {
			return "must be a string"
		}
		*to = n.Text
		return ""
	}
}

// configName is the file of settings in the agent directory.
const configName = "config.yml"

// readConfig reads the configuration. Only a file of the agent directory may be absent. No error quotes a file: there
// may be secrets in it.
func readConfig(agentDir string, overlays []string) (*config, error) {
	c := newConfig()
	own := filepath.Join(agentDir, configName)
	for _, path := range append([]string{own}, overlays...) {
		data, err := configfile.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) && path == own {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading the configuration: %w", err)
		}
		if err := c.merge(path, data); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// merge takes what a file says over what c has.
func (c *config) merge(path string, data []byte) error {
	file, err := configfile.ParseYAML(data)
	if err != nil || file != nil && file.Kind != configfile.Object {
		line, reason := 1, "the file is not YAML with a mapping of settings"
		if e, ok := errors.AsType[*configfile.LineError](err); ok {
			line = e.Line
			if e.Plain {
				reason = e.Text
			}
		}
		return fmt.Errorf("%s:%d: %s", path, line, reason)
	}
	if file == nil {
		return nil
	}
	sections := c.sections()
	for _, m := range file.Members {
		if take := c.lists(path)[m.Name]; take != nil && m.Value.Kind != configfile.Null {
			if reason := take(m.Value); reason != "" {
				return fmt.Errorf("%s:%d: %s: %s", path, m.Line, m.Name, reason)
			}
			continue
		}
		known, ours := sections[m.Name]
		if !ours {
			if meant := c.meant(m.Name); meant != "" {
				return &unknownSettingError{path, m.Line, m.Name, meant}
			}
			continue
		}
		if m.Value.Kind == configfile.Null {
			continue
		}
		if err := c.mergeSection(path, &m, known); err != nil {
			return err
		}
	}
	return nil
}

// unknownSettingError is a setting that there is not, and that was meant to be another one.
type unknownSettingError struct {
	path        string
	line        int
	name, meant string
}

func (e *unknownSettingError) Error() string {
	return fmt.Sprintf("%s:%d: %s: there is no such setting; did you mean %q?", e.path, e.line, trust.Printable(e.name), e.meant)
}

// foreignSetting is one of another program that may share the file, with a name that is near to ours.
const foreignSetting = "ask"

// meant returns the setting that a name was meant to be, or "" for one of another program. A short one must be nearer: many are.
func (c *config) meant(name string) string {
	known := append(sortedKeys(c.sections()), sortedKeys(c.lists(""))...)
	k := configfile.Near(name, known)
	if name == foreignSetting || slices.Contains(known, name) || len(k) < 5 && typo.Distance(strings.ToLower(name), k) > 1 {
		return ""
	}
	return k
}

func (c *config) mergeSection(path string, section *configfile.Member, known map[string]setting) error {
	fail := func(line int, field, reason string) error {
		return fmt.Errorf("%s:%d: %s: %s", path, line, field, reason)
	}
	if section.Value.Kind != configfile.Object {
		return fail(section.Line, section.Name, "must be a mapping of names to values")
	}
	for _, m := range section.Value.Members {
		take := known[m.Name]
		if known == nil {
			take = c.role(m.Name)
		}
		field := section.Name + "." + m.Name
		if take == nil {
			return fail(m.Line, field, "there is no such setting; there is "+strings.Join(sortedKeys(known), ", "))
		}
		if reason := take(m.Value); reason != "" {
			return fail(m.Line, field, reason)
		}
	}
	return nil
}

// mcpFile is mcp.json, in the shape that other programs use too.
type mcpFile struct {
	MCPServers map[string]struct {
		Type    string            `json:"type"`
		Command string            `json:"command"`
		Args    []string          `json:"args"`
		Env     map[string]string `json:"env"`
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers"`
	} `json:"mcpServers"`
}

// readMCPServers reads the user's own MCP servers, sorted by name. A file that is not there has none; what makes no
// sense in it is for the set of servers to tell.
func readMCPServers(path string) ([]mcp.Server, error) {
	data, err := configfile.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading MCP servers: %w", err)
	}
	var file mcpFile
	if err := jsonx.Unmarshal(configfile.Bare(data), &file); err != nil {
		// The decoder's words may quote the file, and an environment may hold secrets.
		at := ""
		if e, ok := errors.AsType[*jsonx.DecodeError](err); ok {
			at = " at " + e.Pointer
		}
		return nil, fmt.Errorf("%s%s: must be a JSON object like {\"mcpServers\": {\"name\": {\"command\": \"…\"}}}", path, at)
	}
	var servers []mcp.Server
	for _, name := range sortedKeys(file.MCPServers) {
		entry := file.MCPServers[name]
		s := mcp.Server{Name: name}
		if entry.Command != "" || entry.URL == "" {
			s.Stdio = &mcp.Stdio{Command: entry.Command, Args: entry.Args}
			for _, k := range sortedKeys(entry.Env) {
				s.Stdio.Env = append(s.Stdio.Env, k+"="+entry.Env[k])
			}
		}
		if entry.URL != "" {
			s.HTTP = &mcp.HTTP{URL: entry.URL, SSE: entry.Type == "sse"}
			for _, k := range sortedKeys(entry.Headers) {
				s.HTTP.Headers = append(s.HTTP.Headers, mcp.Header{Name: k, Value: entry.Headers[k]})
			}
		}
		servers = append(servers, s)
	}
	return servers, nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
