package redact

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/jsonx"
)

func TestMessage(t *testing.T) {
	for _, test := range []struct{ name, line, want string }{
		{"a prompt", `{"method":"session/prompt","params":{"prompt":[{"type":"text","text":"the \"env\" of url"}]}}`, ``},
		{
			"headers of a provider", `{"id":1,"method":"providers/set","params":{"baseUrl":"https://u:SECRET@h.example/v1?key=SECRET#SECRET","headers":{"Authorization":"Bearer SECRET","name":"SECRET"}}}`,
			`{"id":1,"method":"providers/set","params":{"baseUrl":"https://h.example/v1","headers":{"Authorization":"…","name":"…"}}}`,
		},
		{
			"names in another spelling", `{"params":{"hea\u0064ers":{"A":"SECRET"},"\u0065nv":[{"name":"N","value":"SECRET"}]}}`,
			`{"params":{"headers":{"A":"…"},"env":[{"name":"N","value":"…"}]}}`,
		},
		{
			"MCP servers", `{"params":{"mcpServers":[{"name":"s","command":"c","args":["-v"],"env":[{"name":"TOKEN","value":"SECRET"}]},{"type":"http","url":"https://h/?t=SECRET","headers":[{"value":"SECRET","name":"X"}]}]}}`,
			`{"params":{"mcpServers":[{"name":"s","command":"c","args":["-v"],"env":[{"name":"TOKEN","value":"…"}]},{"type":"http","url":"https://h/","headers":[{"value":"…","name":"X"}]}]}}`,
		},
		{"what no protocol has", `{"env":"SECRET","headers":[["SECRET",{"name":["kept"],"a":{"b":"SECRET"}}],1,null],"url":5}`, `{"env":"…","headers":[["…",{"name":["kept"],"a":{"b":"…"}}],1,null],"url":5}`},
		{"a URL that is none", `{"url":"http://SECRET\u0000"}`, `{"url":"…"}`},
		{"a cut line", `{"params":{"headers":{"A":"SECRET`, `(33 bytes that are not a message)`},
	} {
		t.Run(test.name, func(t *testing.T) {
			want := test.want
			if want == "" {
				want = test.line
			}
			if got := string(Message([]byte(test.line))); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func FuzzMessage(f *testing.F) {
	f.Add(`{"params":{"headers":{"A":"SECRET"},"mcpServers":[{"env":[{"name":"N","value":"SECRET"}],"url":"http://u:p@h/?q"}]}}`)
	f.Add(`{"headers":[[{}]],"env":{"name":[]},"\u0065nv":{}}`)
	f.Fuzz(func(t *testing.T, line string) {
		got := Message([]byte(line))
		if jsonx.Valid([]byte(line)) && !jsonx.Valid(got) {
			t.Errorf("%s became %s", line, got)
		}
		// The contents of headers never appear.
		if inner, err := json.Marshal(line); err == nil && len(line) > 3 && !strings.Contains(`{"headers":{"A":"…"}}`, line) {
			if out := string(Message([]byte(`{"headers":{"A":` + string(inner) + `}}`))); strings.Contains(out, line) {
				t.Errorf("%s", out)
			}
		}
	})
}
