package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/budget"
	"github.com/gajae-code/gjc/agent/contextwindow"
	"github.com/gajae-code/gjc/agent/discovery"
	"github.com/gajae-code/gjc/providers"
)

// readAll reads the configuration without a project's, with its mistakes as an error.
func readAll(agentDir string, overlays []string) (*Config, error) {
	c := Read(agentDir, overlays, "")
	return c, c.Err()
}

// diffConfig compares the settings of two configurations.
func diffConfig(want, got *Config) string {
	return cmp.Diff(want, got, cmp.AllowUnexported(Config{}, LSP{}, Debug{}, Retry{}, Network{}, approval.Rule{}),
		cmpopts.IgnoreFields(Config{}, "reading"), cmpopts.EquateEmpty())
}

// A mistake is reported with its place, and without quoting the file, which may contain secrets. Unknown names belong
// to other programs.
func TestReadConfig(t *testing.T) {
	for _, tt := range []struct {
		name, own, overlay string
		want               bool
		fails              string
	}{
		{"none", "", "", true, ""},
		{"off", "mcp:\n  discover: false\n", "", false, ""},
		{"overlay wins", "mcp: {discover: false}", "mcp: {discover: true}", true, ""},
		{"overlay says nothing of it", "mcp: {discover: false}", "theme: dark", false, ""},
		{"others' settings", "theme: dark\nhindsight:\n  apiKey: sk-SECRET\nmcp: {discover: false}\n", "", false, ""},
		{"unknown", "mcp: {discovery: true}", "", false, "config.yml:1: mcp.discovery"},
		{"wrong type", "mcp: {discover: sk-SECRET}", "", false, "mcp.discover: must be true or false"},
		{"no mapping", "mcp: sk-SECRET", "", false, "mcp: must be a mapping"},
		{"broken", "a: 1\nb: [sk-SECRET\nc: 2", "", false, "config.yml:"},
		{"a list", "- sk-SECRET", "", false, "config.yml:"},
		{"with a mark", "\ufeffmcp: {discover: false}", "", false, ""},
		{"UTF-16", "\xff\xfem\x00c\x00p\x00", "", false, "config.yml:1: the file is not UTF-8 text"},
		{"others' settings with names like ours", "ask: {timeout: 1}\nshellx: {on: true}\nmemory: 1\nmodels: 1\nplugins: 1\nmcp: {discover: false}", "", false, ""},
		{"one letter less", "a: 1\nsecret: {enabled: true}", "", false, `config.yml:2: secret: unknown setting; did you mean "secrets"?`},
		{"a list", "disabledProvider: [x]", "", false, `disabledProvider: unknown setting; did you mean "disabledProviders"?`},
		{"two letters", "titel: {generate: false}", "", false, `did you mean "title"?`},
		{"a capital", "Secrets:", "", false, `did you mean "secrets"?`},
		{"a short one", "lspp: {enabled: false}", "", false, `did you mean "lsp"?`},
		{"number as a name", "1: x\nmcp: {discover: false}", "", false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			var overlays []string
			write := func(name, text string) string {
				path := filepath.Join(dir, name)
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				return path
			}
			if tt.own != "" {
				write("config.yml", tt.own)
			}
			if tt.overlay != "" {
				overlays = append(overlays, write("more.yml", tt.overlay))
			}
			c, err := readAll(dir, overlays)
			switch {
			case tt.fails == "" && err != nil:
				t.Fatal(err)
			case tt.fails != "":
				if err == nil || !strings.Contains(err.Error(), tt.fails) || strings.Contains(err.Error(), "SECRET") {
					t.Errorf("got %v, want %q", err, tt.fails)
				}
			case c.DiscoverMCP != tt.want:
				t.Errorf("discover is %v", c.DiscoverMCP)
			}
		})
	}
	if _, err := readAll(t.TempDir(), []string{"/no/such/file.yml"}); err == nil {
		t.Error("an overlay that is not there is no error")
	}
}

func TestReadConfig_LSP(t *testing.T) {
	defaults := LSP{Enabled: true, DiagnosticsOnWrite: true, DiagnosticsOnEdit: true}
	for _, tt := range []struct {
		own, overlay string
		want         LSP
		fails        string
	}{
		{"", "", defaults, ""},
		{"mcp: {discover: true}\nlsp:\n", "", defaults, ""},
		{"lsp: {enabled: false, formatOnWrite: true, diagnosticsOnWrite: false, diagnosticsOnEdit: false}", "", LSP{FormatOnWrite: true}, ""},
		{"lsp: {enabled: false}", "lsp: {enabled: true, diagnosticsOnEdit: false}", LSP{Enabled: true, DiagnosticsOnWrite: true}, ""},
		{"lsp: {format: true}", "", LSP{}, "lsp.format: unknown setting; the settings are diagnosticsOnEdit, diagnosticsOnWrite, enabled, formatOnWrite"},
		{"lsp: {enabled: 1}", "", LSP{}, "lsp.enabled: must be true or false"},
		{"lsp: true", "", LSP{}, "lsp: must be a mapping"},
	} {
		dir := t.TempDir()
		writeFile(t, filepath.Join(dir, "config.yml"), tt.own)
		writeFile(t, filepath.Join(dir, "more.yml"), tt.overlay)
		c, err := readAll(dir, []string{filepath.Join(dir, "more.yml")})
		switch {
		case tt.fails == "" && err != nil:
			t.Errorf("%s: %v", tt.own, err)
		case tt.fails != "":
			if err == nil || !strings.Contains(err.Error(), tt.fails) {
				t.Errorf("%s: %v", tt.own, err)
			}
		case c.LSP != tt.want:
			t.Errorf("%s: %+v", tt.own, c.LSP)
		}
	}
	on := (&LSP{FormatOnWrite: true, DiagnosticsOnEdit: true}).OnWrite()
	if !on.Format || on.DiagnoseWrites || !on.DiagnoseEdits {
		t.Errorf("%+v", on)
	}
}

// Every documented setting is accepted, with its type and range, and a mistake is reported with its line.
func TestReadConfig_Context(t *testing.T) {
	const all = `compaction:
  enabled: false
  strategy: handoff
  reserveTokens: 1
  keepRecentTokens: 2
  autoContinue: false
  remoteEnabled: false
  remoteEndpoint: https://sums.example.com/compact
  thresholdPercent: 62.5
  thresholdTokens: 3
  idleEnabled: true
  idleThresholdTokens: 4
  idleTimeoutSeconds: 5
  handoffSaveToDisk: true
branchSummary: {enabled: true, reserveTokens: 6}
ttsr: {enabled: false, contextMode: discard, repeatMode: after-gap, repeatGap: 7}
contextPromotion: {enabled: true}
task: {maxConcurrency: 3, maxRecursionDepth: 1, maxRequests: 6, maxTokens: 7, maxCost: 0.5, maxSeconds: 8, totalRequests: 9, totalTokens: 10, totalCost: 1.5, totalSeconds: 11, disabledAgents: [critic]}
todo: {reminders: false, maxReminders: 5}
goals: {maxReminders: 2, tokenBudget: 9000}
secrets: {enabled: true}
tools: {discovery: mcp}
retry: {enabled: true, maxRetries: 7, baseDelayMs: 8}
title: {generate: false}
modelRoles: {default: "anthropic/a:high", smol: openai/b, mine: x/y/z}
`
	dir := t.TempDir()
	write := func(text string) {
		t.Helper()
		writeFile(t, filepath.Join(dir, "config.yml"), text)
	}
	c, err := readAll(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(agent.DefaultSettings(), c.Context); d != "" || !c.GenerateTitles || len(c.Models.Roles) > 0 {
		t.Errorf("defaults (-want +got):\n%s", d)
	}
	if p := c.Retry.Policy(); p.Attempts != 4 || p.Base != 2*time.Second {
		t.Errorf("the default policy is %+v", p)
	}
	write(all)
	if c, err = readAll(dir, nil); err != nil {
		t.Fatal(err)
	}
	want := agent.Settings{
		Compaction: contextwindow.CompactionSettings{
			Strategy: contextwindow.StrategyHandoff, ReserveTokens: 1, KeepRecentTokens: 2, RemoteEndpoint: "https://sums.example.com/compact",
			ThresholdPercent: 62.5, ThresholdTokens: 3, IdleEnabled: true, IdleThresholdTokens: 4, IdleTimeoutSeconds: 5,
			HandoffSaveToDisk: true,
		},
		BranchSummary:    contextwindow.BranchSummarySettings{Enabled: true, ReserveTokens: 6},
		Rules:            agent.RuleSettings{Discard: true, Repeat: agent.RepeatAfterGap, RepeatGap: 7},
		ContextPromotion: true,
		Discovery:        discovery.MCP,
		Tasks: agent.TaskSettings{
			MaxConcurrency: 3, MaxDepth: 1, Each: budget.Limits{Requests: 6, Tokens: 7, Cost: 0.5, Time: 8 * time.Second},
			Total: budget.Limits{Requests: 9, Tokens: 10, Cost: 1.5, Time: 11 * time.Second}, Disabled: []string{"critic"},
		},
		Todo:              agent.TodoSettings{Reminders: false, MaxReminders: 5},
		Goals:             agent.GoalSettings{MaxReminders: 2, TokenBudget: 9000},
		InstructionLimits: agent.DefaultSettings().InstructionLimits,
	}
	if d := cmp.Diff(want, c.Context); d != "" {
		t.Errorf("settings (-want +got):\n%s", d)
	}
	if c.GenerateTitles || c.Models.Roles["default"] != "anthropic/a:high" || c.Models.Roles["mine"] != "x/y/z" {
		t.Errorf("%+v", c)
	}
	if !c.Secrets {
		t.Error("secrets.enabled is not taken")
	}
	if p := c.Retry.Policy(); p.Attempts != 8 || p.Base != 8*time.Millisecond {
		t.Errorf("the policy is %+v", p)
	}
	write("retry: {enabled: false}")
	if c, err = readAll(dir, nil); err != nil {
		t.Fatal(err)
	}
	if _, again := c.Retry.Policy().Next(1, &providers.Error{Kind: providers.KindServer}); again {
		t.Error("retry.enabled: false tries again")
	}
	overlay := filepath.Join(dir, "more.yml")
	write(all)
	writeFile(t, overlay, "compaction: {strategy: off, remoteEndpoint: ''}\nmodelRoles: {smol: ''}")
	if c, err = readAll(dir, []string{overlay}); err != nil {
		t.Fatal(err)
	}
	if c.Context.Compaction.Strategy != contextwindow.StrategyOff || c.Context.Compaction.RemoteEndpoint != "" || c.Models.Roles["smol"] != "" ||
		c.Context.Compaction.ReserveTokens != 1 {
		t.Errorf("after the overlay: %+v", c.Context)
	}
	for _, tt := range []struct{ text, fails string }{
		{"a: 1\ncompaction:\n  enabled: true\n  strategy: SECRET\n", "config.yml:4: compaction.strategy: must be one of: context-full, handoff, off"},
		{"compaction: {keepRecentTokens: -1}", "config.yml:1: compaction.keepRecentTokens: must be a whole number from 0 to 100000000"},
		{"compaction: {keepRecentTokens: 1.5}", "compaction.keepRecentTokens: must be a whole number"},
		{"compaction: {keepRecentTokens: '15'}", "compaction.keepRecentTokens: must be a whole number"},
		{"compaction: {thresholdPercent: 101}", "compaction.thresholdPercent: must be a number from -1 to 100"},
		{"compaction: {remoteEndpoint: SECRET}", "compaction.remoteEndpoint: must be a URL"},
		{"compaction: {remoteEndpoint: 7}", "compaction.remoteEndpoint: must be a string"},
		{"compaction: {idleTimeoutSeconds: 0}", "compaction.idleTimeoutSeconds: must be"},
		{"compaction: {treshold: 1}", "compaction.treshold: unknown setting; the settings are autoContinue, enabled,"},
		{"compaction: [SECRET]", "config.yml:1: compaction: must be a mapping"},
		{"retry:\n  maxRetries: many", "config.yml:2: retry.maxRetries: must be a whole number from 0 to 100"},
		{"retry: {maxRetries: 1e300}", "retry.maxRetries: must be"},
		{"network: {proxy: SECRET}", "network.proxy: must be a URL with http, https or socks5"},
		{"network: {caFiles: SECRET}", "network.caFiles: must be a list of strings"},
		{"network: {idleTimeoutSeconds: 0}", "network.idleTimeoutSeconds: must be"},
		{"title: {generate: maybe}", "title.generate: must be true or false"},
		{"modelRoles: {smol: 'SECRET, b'}", "modelRoles.smol: must be a model"},
		{"modelProfile: {default: [SECRET]}", "modelProfile.default: must be a string"},
		{"modelProviderOrder: SECRET", "config.yml:1: modelProviderOrder: must be a list of strings"},
		{"enabledModels: SECRET", "config.yml:1: enabledModels: must be a list"},
		{"enabledModels: [[SECRET]]", "enabledModels: an item must be"},
		{"enabledModels: [{path: a}]", "enabledModels: a mapping needs path and models"},
		{"disabledProviders: [{path: a, models: [SECRET]}]", "disabledProviders: unknown field; the fields are path and providers"},
		{"modelRoles: {smol: {a: b}}", "modelRoles.smol: must be a model"},
		{"secrets: {enabled: SECRET}", "secrets.enabled: must be true or false"},
		{"contextPromotion: true", "contextPromotion: must be a mapping"},
	} {
		write(tt.text)
		if _, err := readAll(dir, nil); err == nil || !strings.Contains(err.Error(), tt.fails) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v, want %q", tt.text, err, tt.fails)
		}
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
