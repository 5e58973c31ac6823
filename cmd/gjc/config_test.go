package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
		{"unknown", "mcp: {discovery: true}", "", false, "config.yml: mcp.discovery"},
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
