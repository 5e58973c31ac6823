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
