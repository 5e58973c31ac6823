package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/bridges"
	"github.com/gajae-code/gjc/cmd/gjc/internal/config"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/registry"
)

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
		settings, file string
		hides          bool
		fails          string
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
		writeFile(t, filepath.Join(dir, "config.yml"), tt.settings)
		writeFile(t, filepath.Join(dir, "secrets.yml"), tt.file)
		h := &host{env: []string{"MY_TOKEN=from-the-environment"}}
		set, err := h.secrets(dir, new(options))(t.TempDir())
		switch {
		case tt.fails != "":
			if err == nil || !strings.Contains(err.Error(), tt.fails) {
				t.Errorf("%q: %v", tt.settings, err)
			}
		case err != nil || (set != nil) != tt.hides:
			t.Errorf("%q: %v, %v", tt.settings, set, err)
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
	if err := config.Read(dir, nil, "").Err(); err == nil || !strings.Contains(err.Error(), "config.yml: cannot be read: not a regular file but a broken link") {
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
	cmd.SetArgs([]string{})
	if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), `fallbacks[0][1]: unknown model "nope/b"`) {
		t.Errorf("gjc models: %v", err)
	}
}

// While a rule is wrong, the policy has no rules that allow.
func TestPolicy_BrokenRule(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "config.yml"), "permissions: {deny: ['bsh(git push)', bash(rm)], allow: [delete]}")
	p := new(host).policy(dir, new(options))(dir)
	if p.Broken == nil || len(p.Rules) != 1 || p.Rules[0].Verdict != approval.Deny {
		t.Errorf("the policy is %+v", p)
	}
}
