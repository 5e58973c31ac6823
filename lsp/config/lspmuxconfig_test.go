package config

import (
	"strings"
	"testing"
)

func TestLspmuxConfig(t *testing.T) {
	for _, tt := range []struct{ goos, xdg, want string }{
		{"linux", "", "/h/.config/lspmux/config.toml"},
		{"linux", "/x", "/x/lspmux/config.toml"},
		{"linux", "relative", "/h/.config/lspmux/config.toml"},
		{"darwin", "/x", "/h/Library/Application Support/lspmux/config.toml"},
		{"windows", "", "/appdata/lspmux/config/config.toml"},
	} {
		get := func(name string) string {
			return map[string]string{"XDG_CONFIG_HOME": tt.xdg, "APPDATA": "/appdata"}[name]
		}
		if got := strings.ReplaceAll(lspmuxConfig(tt.goos, "/h", get), `\`, "/"); got != tt.want {
			t.Errorf("%s: %s", tt.goos, got)
		}
	}
}
