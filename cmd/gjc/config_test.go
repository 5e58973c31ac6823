package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/providers"
)

// A mistake is told with its place, and without a word of the file: there may be secrets in it. What gjc does not know
// is other programs'.
func TestReadConfig(t *testing.T) {
	for _, tt := range []struct {
		name, own, overlay string
		want               bool
		fails              string
	}{
		{"none", "", "", false, ""},
		{"on", "mcp:\n  discover: true\n", "", true, ""},
		{"overlay wins", "mcp: {discover: true}", "mcp: {discover: false}", false, ""},
		{"overlay says nothing of it", "mcp: {discover: true}", "theme: dark", true, ""},
		{"others' settings", "theme: dark\nhindsight:\n  apiKey: sk-SECRET\nmcp: {discover: true}\n", "", true, ""},
		{"unknown", "mcp: {discovery: true}", "", false, "config.yml:1: mcp.discovery"},
		{"wrong type", "mcp: {discover: sk-SECRET}", "", false, "mcp.discover: must be true or false"},
		{"no mapping", "mcp: sk-SECRET", "", false, "mcp: must be a mapping"},
		{"broken", "a: 1\nb: [sk-SECRET\nc: 2", "", false, "config.yml:"},
		{"a list", "- sk-SECRET", "", false, "config.yml:"},
		{"number as a name", "1: x\nmcp: {discover: true}", "", true, ""},
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
			c, err := readConfig(dir, overlays)
			switch {
			case tt.fails == "" && err != nil:
				t.Fatal(err)
			case tt.fails != "":
				if err == nil || !strings.Contains(err.Error(), tt.fails) || strings.Contains(err.Error(), "SECRET") {
					t.Errorf("got %v, want %q", err, tt.fails)
				}
			case c.discoverMCP != tt.want:
				t.Errorf("discover is %v", c.discoverMCP)
			}
		})
	}
	if _, err := readConfig(t.TempDir(), []string{"/no/such/file.yml"}); err == nil {
		t.Error("an overlay that is not there is no error")
	}
}

func TestReadConfig_LSP(t *testing.T) {
	defaults := lspSettings{enabled: true, diagnosticsOnWrite: true, diagnosticsOnEdit: true}
	for _, tt := range []struct {
		own, overlay string
		want         lspSettings
		fails        string
	}{
		{"", "", defaults, ""},
		{"mcp: {discover: true}\nlsp:\n", "", defaults, ""},
		{"lsp: {enabled: false, formatOnWrite: true, diagnosticsOnWrite: false, diagnosticsOnEdit: false}", "", lspSettings{formatOnWrite: true}, ""},
		{"lsp: {enabled: false}", "lsp: {enabled: true, diagnosticsOnEdit: false}", lspSettings{enabled: true, diagnosticsOnWrite: true}, ""},
		{"lsp: {format: true}", "", lspSettings{}, "lsp.format: there is no such setting; there is diagnosticsOnEdit, diagnosticsOnWrite, enabled, formatOnWrite"},
		{"lsp: {enabled: 1}", "", lspSettings{}, "lsp.enabled: must be true or false"},
		{"lsp: true", "", lspSettings{}, "lsp: must be a mapping"},
	} {
		dir := t.TempDir()
		writeFile(t, filepath.Join(dir, "config.yml"), tt.own)
		writeFile(t, filepath.Join(dir, "more.yml"), tt.overlay)
		c, err := readConfig(dir, []string{filepath.Join(dir, "more.yml")})
		switch {
		case tt.fails == "" && err != nil:
			t.Errorf("%s: %v", tt.own, err)
		case tt.fails != "":
			if err == nil || !strings.Contains(err.Error(), tt.fails) {
				t.Errorf("%s: %v", tt.own, err)
			}
		case c.lsp != tt.want:
			t.Errorf("%s: %+v", tt.own, c.lsp)
		}
	}
	on := (&lspSettings{formatOnWrite: true, diagnosticsOnEdit: true}).onWrite()
	if !on.Format || on.DiagnoseWrites || !on.DiagnoseEdits {
		t.Errorf("%+v", on)
	}
}

// Every setting of the documents is taken, with its type and range, and a mistake is told with its line.
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
contextPromotion: {enabled: true}
retry: {enabled: true, maxRetries: 7, baseDelayMs: 8}
title: {generate: false}
modelRoles: {default: "anthropic/a:high", smol: openai/b, mine: x/y/z}
`
	dir := t.TempDir()
	write := func(text string) {
		t.Helper()
		writeFile(t, filepath.Join(dir, "config.yml"), text)
	}
	c, err := readConfig(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(agent.DefaultSettings(), c.context); d != "" || !c.generateTitles || len(c.roles) > 0 {
		t.Errorf("defaults (-want +got):\n%s", d)
	}
	if p := c.retry.policy(); p.Attempts != 4 || p.Base != 2*time.Second {
		t.Errorf("the default policy is %+v", p)
	}
	write(all)
	if c, err = readConfig(dir, nil); err != nil {
		t.Fatal(err)
	}
	want := agent.Settings{
		Compaction: agent.CompactionSettings{
			Strategy: agent.StrategyHandoff, ReserveTokens: 1, KeepRecentTokens: 2, RemoteEndpoint: "https://sums.example.com/compact",
			ThresholdPercent: 62.5, ThresholdTokens: 3, IdleEnabled: true, IdleThresholdTokens: 4, IdleTimeoutSeconds: 5,
			HandoffSaveToDisk: true,
		},
		BranchSummary:    agent.BranchSummarySettings{Enabled: true, ReserveTokens: 6},
		ContextPromotion: true, SummaryModels: []string{"openai/b"},
	}
	if d := cmp.Diff(want, c.context); d != "" {
		t.Errorf("settings (-want +got):\n%s", d)
	}
	if c.generateTitles || c.roles[roleDefault] != "anthropic/a:high" || c.roles["mine"] != "x/y/z" {
		t.Errorf("%+v", c)
	}
	if p := c.retry.policy(); p.Attempts != 8 || p.Base != 8*time.Millisecond {
		t.Errorf("the policy is %+v", p)
	}
	write("retry: {enabled: false}")
	if c, err = readConfig(dir, nil); err != nil {
		t.Fatal(err)
	}
	if _, again := c.retry.policy().Next(1, &providers.Error{Kind: providers.KindServer}); again {
		t.Error("retry.enabled: false tries again")
	}
	overlay := filepath.Join(dir, "more.yml")
	write(all)
	writeFile(t, overlay, "compaction: {strategy: off, remoteEndpoint: ''}\nmodelRoles: {smol: ''}")
	if c, err = readConfig(dir, []string{overlay}); err != nil {
		t.Fatal(err)
	}
	if c.context.Compaction.Strategy != agent.StrategyOff || c.context.Compaction.RemoteEndpoint != "" || len(c.context.SummaryModels) > 0 ||
		c.context.Compaction.ReserveTokens != 1 {
		t.Errorf("behind the overlay: %+v", c.context)
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
		{"compaction: {treshold: 1}", "compaction.treshold: there is no such setting; there is autoContinue, enabled,"},
		{"compaction: [SECRET]", "config.yml:1: compaction: must be a mapping"},
		{"retry:\n  maxRetries: many", "config.yml:2: retry.maxRetries: must be a whole number from 0 to 100"},
		{"retry: {maxRetries: 1e300}", "retry.maxRetries: must be"},
		{"title: {generate: maybe}", "title.generate: must be true or false"},
		{"modelRoles: {smol: SECRET}", "modelRoles.smol: must be a model"},
		{"modelRoles: {smol: /x}", "modelRoles.smol: must be a model"},
		{"modelRoles: {smol: {a: b}}", "modelRoles.smol: must be a model"},
		{"contextPromotion: true", "contextPromotion: must be a mapping"},
	} {
		write(tt.text)
		if _, err := readConfig(dir, nil); err == nil || !strings.Contains(err.Error(), tt.fails) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v, want %q", tt.text, err, tt.fails)
		}
	}
}

// What the documentation shows is what the program takes, and its defaults.
func TestReadConfig_Documented(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(doc), "## config.yml")
	_, rest, _ = strings.Cut(rest, "```yaml\n")
	block, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("the section config.yml has no example")
	}
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "config.yml"), block)
	got, err := readConfig(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := newConfig()
	want.roles, want.context.SummaryModels = got.roles, got.context.SummaryModels
	if d := cmp.Diff(want, got, cmp.AllowUnexported(config{}, lspSettings{}, debugSettings{}, retrySettings{})); d != "" {
		t.Errorf("the example does not show the defaults (-want +got):\n%s", d)
	}
	for section, settings := range newConfig().sections() {
		names := sortedKeys(settings)
		if i := slices.IndexFunc(names, func(n string) bool { return !strings.Contains(block, "\n  "+n+":") }); i >= 0 || !strings.Contains("\n"+block, "\n"+section+":") {
			t.Errorf("the example lacks section %s or one of %v", section, names)
		}
	}
}
