package main

import (
	"os"
	"path/filepath"
	"testing"
)

// The tool exists if there is a key in any of the places that can hold one.
func TestWebSearchKeys(t *testing.T) {
	for _, c := range []struct {
		name, config, auth string
		env                []string
		want               bool
	}{
		{"none", "", "", nil, false},
		{"environment", "", "", []string{"BRAVE_API_KEY=k"}, true},
		{"old name", "", "", []string{"PPLX_API_KEY=k"}, true},
		{"instance", "", "", []string{"SEARXNG_ENDPOINT=http://127.0.0.1:8888"}, true},
		{"instance in the file", "searxng: {endpoint: 'http://127.0.0.1:8888', token: t}", "", nil, true},
		{"token alone", "", "", []string{"SEARXNG_TOKEN=k"}, false},
		{"auth.json", "", `{"exa": {"type": "api_key", "key": "k"}}`, nil, true},
		{"another's key", "", `{"openai": {"type": "api_key", "key": "k"}}`, []string{"JINA_API_KEY=k"}, false},
		{"chosen without a key", "webSearch: {provider: exa}", "", []string{"BRAVE_API_KEY=k"}, false},
		{"off", "webSearch: {provider: off}", "", []string{"BRAVE_API_KEY=k"}, false},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{"config.yml": c.config, "auth.json": c.auth} {
			if text == "" {
				continue
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		h := &host{env: append(c.env, "HOME="+dir)}
		models := h.registry(dir, new(options), func(string) {})
		got := false
		for _, tool := range h.tools(dir, new(options), models, func(note string) { t.Error(note) })() {
			got = got || tool.Spec().Name == "web_search"
		}
		models.Close()
		if got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
