package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/contextwindow"
	"github.com/gajae-code/gjc/bridges"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/registry"
)

// readAll reads the configuration without a project's, with its mistakes as an error.
func readAll(agentDir string, overlays []string) (*config, error) {
	c := readConfig(agentDir, overlays, "")
	return c, c.err()
}

// diffConfig compares the settings of two configurations.
func diffConfig(want, got *config) string {
	return cmp.Diff(want, got, cmp.AllowUnexported(config{}, lspSettings{}, debugSettings{}, retrySettings{}, networkSettings{}, approval.Rule{}),
		cmpopts.IgnoreFields(config{}, "configReading"), cmpopts.EquateEmpty())
}

// A mistake is reported with its place, and without quoting the file, which may contain secrets. Unknown names belong
// to other programs.
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
		{"with a mark", "\ufeffmcp: {discover: true}", "", true, ""},
		{"UTF-16", "\xff\xfem\x00c\x00p\x00", "", false, "config.yml:1: the file is not UTF-8 text"},
		{"others' settings with names like ours", "ask: {timeout: 1}\nshellx: {on: true}\nmemory: 1\nmodels: 1\nplugins: 1\nmcp: {discover: true}", "", true, ""},
		{"one letter less", "a: 1\nsecret: {enabled: true}", "", false, `config.yml:2: secret: unknown setting; did you mean "secrets"?`},
		{"a list", "disabledProvider: [x]", "", false, `disabledProvider: unknown setting; did you mean "disabledProviders"?`},
		{"two letters", "titel: {generate: false}", "", false, `did you mean "title"?`},
		{"a capital", "Secrets:", "", false, `did you mean "secrets"?`},
		{"a short one", "lspp: {enabled: false}", "", false, `did you mean "lsp"?`},
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
			c, err := readAll(dir, overlays)
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
	if _, err := readAll(t.TempDir(), []string{"/no/such/file.yml"}); err == nil {
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
		{"lsp: {format: true}", "", lspSettings{}, "lsp.format: unknown setting; the settings are diagnosticsOnEdit, diagnosticsOnWrite, enabled, formatOnWrite"},
		{"lsp: {enabled: 1}", "", lspSettings{}, "lsp.enabled: must be true or false"},
		{"lsp: true", "", lspSettings{}, "lsp: must be a mapping"},
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
		case c.lsp != tt.want:
			t.Errorf("%s: %+v", tt.own, c.lsp)
		}
	}
	on := (&lspSettings{formatOnWrite: true, diagnosticsOnEdit: true}).onWrite()
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
task: {maxConcurrency: 3, maxRecursionDepth: 1, maxTokens: 7, disabledAgents: [critic]}
secrets: {enabled: true}
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
	if d := cmp.Diff(agent.DefaultSettings(), c.context); d != "" || !c.generateTitles || len(c.models.Roles) > 0 {
		t.Errorf("defaults (-want +got):\n%s", d)
	}
	if p := c.retry.policy(); p.Attempts != 4 || p.Base != 2*time.Second {
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
		Tasks:            agent.TaskSettings{MaxConcurrency: 3, MaxDepth: 1, MaxTokens: 7, Disabled: []string{"critic"}},
	}
	if d := cmp.Diff(want, c.context); d != "" {
		t.Errorf("settings (-want +got):\n%s", d)
	}
	if c.generateTitles || c.models.Roles["default"] != "anthropic/a:high" || c.models.Roles["mine"] != "x/y/z" {
		t.Errorf("%+v", c)
	}
	if !c.secrets {
		t.Error("secrets.enabled is not taken")
	}
	if p := c.retry.policy(); p.Attempts != 8 || p.Base != 8*time.Millisecond {
		t.Errorf("the policy is %+v", p)
	}
	write("retry: {enabled: false}")
	if c, err = readAll(dir, nil); err != nil {
		t.Fatal(err)
	}
	if _, again := c.retry.policy().Next(1, &providers.Error{Kind: providers.KindServer}); again {
		t.Error("retry.enabled: false tries again")
	}
	overlay := filepath.Join(dir, "more.yml")
	write(all)
	writeFile(t, overlay, "compaction: {strategy: off, remoteEndpoint: ''}\nmodelRoles: {smol: ''}")
	if c, err = readAll(dir, []string{overlay}); err != nil {
		t.Fatal(err)
	}
	if c.context.Compaction.Strategy != contextwindow.StrategyOff || c.context.Compaction.RemoteEndpoint != "" || c.models.Roles["smol"] != "" ||
		c.context.Compaction.ReserveTokens != 1 {
		t.Errorf("after the overlay: %+v", c.context)
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

func TestModelSettings(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	writeFile(t, filepath.Join(dir, "config.yml"), `
modelRoles: {default: a/b, mine: gjc/smol}
modelProfile: {default: work}
modelProviderOrder: [openai, anthropic]
network: {proxy: "http://p.example:3128", noProxy: [a.example], caFiles: [ca.pem, /etc/ca.pem], clientCertFile: c.pem, connectTimeoutSeconds: 3, firstByteTimeoutSeconds: 4, idleTimeoutSeconds: 5}
enabledModels: ["openai/*", {path: ~/work, models: [c]}]
disabledProviders: [{paths: [sub, /abs], values: d}]
`)
	h := &host{env: []string{"HOME=" + home, "USERPROFILE=" + home, "GJC_SMOL_MODEL=x/small"}}
	set, err := h.modelSettings(dir, &options{model: "a/c:high"})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(registry.Settings{
		Overrides:         map[string]string{"default": "a/c:high", "smol": "x/small", "slow": "", "plan": ""},
		Profile:           "work",
		Roles:             map[string]string{"default": "a/b", "mine": "gjc/smol"},
		ProviderOrder:     []string{"openai", "anthropic"},
		EnabledModels:     []registry.Scoped{{Values: []string{"openai/*"}}, {Paths: []string{filepath.Join(home, "work")}, Values: []string{"c"}}},
		DisabledProviders: []registry.Scoped{{Paths: []string{filepath.Join(dir, "sub"), "/abs"}, Values: []string{"d"}}},
		HTTP: providers.HTTPOptions{
			Proxy: "http://p.example:3128", NoProxy: []string{"a.example"}, CAFiles: []string{filepath.Join(dir, "ca.pem"), "/etc/ca.pem"},
			CertFile: filepath.Join(dir, "c.pem"), ConnectTimeout: 3 * time.Second,
		},
		FirstByteTimeout: 4 * time.Second, StallTimeout: 5 * time.Second,
	}, set); d != "" && filepath.IsAbs("/abs") {
		t.Errorf("settings (-want +got):\n%s", d)
	}
	if set, err := h.modelSettings(dir, &options{profile: "flag"}); err != nil || set.Profile != "flag" {
		t.Errorf("profile %q, %v", set.Profile, err)
	}
}

// Secrets are hidden if the configuration enables that; a configuration that cannot be read and may enable it is an
// error.
func TestSecretsSetting(t *testing.T) {
	for _, tt := range []struct {
		config, file string
		hides        bool
		fails        string
	}{
		{"", "", false, ""},
		{"secrets: {enabled: false}", "- broken", false, ""},
		{"secrets: {enabled: true}", "- {type: plain, content: from-the-file}", true, ""},
		{"secrets: {enabled: true}", "- {type: plain}", false, "secrets.yml:1: content: is missing"},
		{"secrets: {enabled: true}\nlsp: 7", "- {type: plain, content: from-the-file}", true, ""},
		{"secrets: {enabled: 7}", "- {type: plain, content: from-the-file}", true, ""},
		{"secret: {enabled: true}", "- {type: plain, content: from-the-file}", true, ""},
		{"titel: {enabled: true}", "", false, ""},
		{"\ufeffsecrets: {enabled: true}", "- {type: plain, content: from-the-file}", true, ""},
		{"secrets: {enabled: true}", "\ufeff- {type: plain, content: from-the-file}", true, ""},
		{"\xff\xfes\x00e\x00c\x00r\x00e\x00t\x00s\x00:\x00", "- {type: plain, content: from-the-file}", true, ""},
		{"s\x00e\x00c\x00r\x00e\x00t\x00s\x00:\x00", "- {type: plain, content: from-the-file}", true, ""},
		{"\"s\\x65crets\": {enabled: true}\nlsp: [", "- {type: plain, content: from-the-file}", true, ""},
		{"lsp: 7", "", false, ""},
	} {
		dir := t.TempDir()
		writeFile(t, filepath.Join(dir, "config.yml"), tt.config)
		writeFile(t, filepath.Join(dir, "secrets.yml"), tt.file)
		h := &host{env: []string{"MY_TOKEN=from-the-environment"}}
		set, err := h.secrets(dir, new(options))(t.TempDir())
		switch {
		case tt.fails != "":
			if err == nil || !strings.Contains(err.Error(), tt.fails) {
				t.Errorf("%q: %v", tt.config, err)
			}
		case err != nil || (set != nil) != tt.hides:
			t.Errorf("%q: %v, %v", tt.config, set, err)
		case tt.hides:
			if got := set.Hide("from-the-environment from-the-file"); strings.Contains(got, "from") {
				t.Errorf("hidden as %q", got)
			}
		}
	}
}

// A dangling link was meant to be a configuration, which may have enabled secrets.
func TestReadConfig_LinkToNothing(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(dir, "gone.yml"), filepath.Join(dir, "config.yml")); err != nil {
		t.Skip("no links here")
	}
	h := new(host)
	if err := readConfig(dir, nil, "").err(); err == nil || !strings.Contains(err.Error(), "config.yml: cannot be read: not a regular file but a broken link") {
		t.Errorf("it is reported as %v", err)
	}
	if set, err := h.secrets(dir, new(options))(t.TempDir()); err != nil || set == nil {
		t.Errorf("secrets: %v, %v", set, err)
	}
	if set, _ := h.modelSettings(dir, new(options)); set.HTTP.Unknown == "" {
		t.Error("models are asked without what the configuration says of the network")
	}
}

// No model is asked while such a setting is misspelled.
func TestModelSettings_Misspelled(t *testing.T) {
	for text, known := range map[string]bool{"netwrk: {}": false, "disabledProvider: []": false, "titel: {}": true} {
		dir := t.TempDir()
		writeFile(t, filepath.Join(dir, "config.yml"), text)
		set, err := new(host).modelSettings(dir, new(options))
		if err == nil || (set.HTTP.Unknown == "") != known {
			t.Errorf("%s: %q, %v", text, set.HTTP.Unknown, err)
		}
	}
}

// Only the settings report a mistake in config.yml.
func TestReadConfig_ReportedOnce(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "config.yml"), "retry: {maxRetries: many}\n")
	h, opts, local := new(host), new(options), new(bridges.Local)
	if found, err := h.languages(dir, opts, local)([]string{dir}); err != nil || found.Catalog == nil {
		t.Errorf("languages: %+v, %v", found, err)
	}
	if found, err := h.debugging(dir, opts, local)([]string{dir}); err != nil || found.Adapters == nil {
		t.Errorf("debugging: %+v, %v", found, err)
	}
	models := registry.New(registry.Options{})
	if _, err := h.settings(dir, opts, models)(dir); err == nil || !strings.Contains(err.Error(), "retry.maxRetries") {
		t.Errorf("settings: %v", err)
	}
}

// Unknown models in models.yml are reported in the session, once, and by gjc models and gjc doctor.
func TestSettings_MissingModels(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "models.yml"), "fallbacks:\n  - [nope/a, nope/b]\n")
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = null.Close() }()
	h := &host{stdout: null, stderr: null}
	opts := &options{agentDir: dir}
	models := h.registry(dir, opts, func(string) {})
	defer models.Close()
	set, err := h.settings(dir, opts, models)(dir)
	if err != nil || set.ModelErr == nil || !strings.Contains(set.ModelErr.Error(), `models.yml:2: fallbacks[0][0]: unknown model "nope/a"`) ||
		!strings.HasSuffix(set.ModelErr.Error(), "(and 1 more: gjc models lists them)") {
		t.Errorf("the session: %v, %v", set.ModelErr, err)
	}
	if !slices.ContainsFunc(h.examineModels(t.Context(), dir, opts), func(f finding) bool {
		return f.State == "warning" && strings.Contains(f.Detail, `fallbacks[0][1]: unknown model "nope/b"`)
	}) {
		t.Error("doctor does not report it")
	}
	cmd := newModels(h, opts)
	cmd.SetArgs(nil)
	if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), `fallbacks[0][1]: unknown model "nope/b"`) {
		t.Errorf("gjc models: %v", err)
	}
}
