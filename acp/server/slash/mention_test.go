package slash

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/acp"
)

func TestMentions(t *testing.T) {
	for text, want := range map[string]string{
		"@docs:file:///a.md":                             "docs:file:///a.md",
		"see @github:issue://12, and @docs:file:///b.md": "github:issue://12 docs:file:///b.md",
		"(@docs:file:///a.md).":                          "docs:file:///a.md",
		"[@docs:wiki://Go_(game)]?":                      "docs:wiki://Go_(game)",
		"\"@docs:x:y\"\n'@docs:x:z'":                     "docs:x:y docs:x:z",
		"@docs:memo:1 twice @docs:memo:1":                "docs:memo:1",
		"é\u00a0@docs:file:///ü.md…":                     "docs:file:///ü.md…",
		// Neither addresses, paths, code nor half a mention.
		"write to me@docs:file:///a.md":                  "",
		"@src/main.go and @src/main.go:12:3 and @docs":   "",
		"@file:///a.md @docs: @docs:file @docs:file: @:": "",
		"@docs:9p://x @docs:-x:y @:x:y":                  "",
		"run `@docs:x:y` or ``a ` @docs:x:y`` now":       "",
		"```\n@docs:x:y\n```\nthen @docs:x:z":            "docs:x:z",
		"an open ` and @docs:x:y":                        "docs:x:y",
		"@docs:x:" + strings.Repeat("y", maxMention):     "",
	} {
		var got []string
		for _, m := range Mentions([]acp.ContentBlock{&acp.TextContent{Text: text}}) {
			got = append(got, m.String())
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%.60q (-want +got):\n%s", text, diff)
		}
	}
	embedded := &acp.EmbeddedResource{Resource: &acp.TextResourceContents{URI: "file:///x", Text: "@docs:file:///a.md"}}
	if got := Mentions([]acp.ContentBlock{embedded}); len(got) > 0 {
		t.Errorf("an embedded file mentions %v", got)
	}
}

// A mention is a part of the text, and each is short.
func FuzzMentions(f *testing.F) {
	f.Add("see @docs:file:///a.md, `@x:y:z` and ``` @a:b:c")
	f.Add("(@a:b:(c)))`")
	f.Fuzz(func(t *testing.T, text string) {
		for _, m := range mentions(text) {
			if !strings.Contains(text, "@"+m.String()) || len(m.String()) > maxMention || m.server == "" || m.uri == "" {
				t.Errorf("%q mentions %q", text, m.String())
			}
		}
	})
}
