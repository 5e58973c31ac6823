package mcp_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/mcp"
)

func TestNewResult_Text(t *testing.T) {
	tests := []struct {
		name string
		res  *sdk.CallToolResult
		want string
	}{
		{"nothing", &sdk.CallToolResult{}, ""},
		{"two texts", &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "a"}, &sdk.TextContent{Text: "b"}}}, "a\nb"},
		{"structured only", &sdk.CallToolResult{StructuredContent: map[string]any{"a": 1.0}}, `{"a":1}`},
		{"structured beside text", &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "one"}}, StructuredContent: 1.0}, "one"},
		{"not UTF-8", text("a\xffb"), "a\uFFFDb"},
		{"resource", &sdk.CallToolResult{Content: []sdk.Content{&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "u", Text: "t"}}}}, "[resource u]\nt"},
		{"empty resource", &sdk.CallToolResult{Content: []sdk.Content{&sdk.EmbeddedResource{}}}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := mcp.NewResult(tt.res).Text; got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestNewResult_Limits(t *testing.T) {
	long := strings.Repeat("é", 40<<10)
	r := mcp.NewResult(text(long))
	if len(r.Text) > mcp.MaxText || !utf8.ValidString(r.Text) || r.Full != long {
		t.Errorf("%d bytes, full %d", len(r.Text), len(r.Full))
	}
	if !strings.HasPrefix(r.Text, "é") || !strings.HasSuffix(r.Text, "é") {
		t.Error("the start or the end is missing")
	}
	var many []sdk.Content
	for range 30 {
		many = append(many, &sdk.ImageContent{MIMEType: "image/png", Data: make([]byte, 1<<20)})
	}
	r = mcp.NewResult(&sdk.CallToolResult{Content: many})
	if len(r.Parts) != 11 || !strings.Contains(r.Text, "20 parts of the result were omitted") {
		t.Errorf("%d parts: %s", len(r.Parts), r.Text)
	}
	r = mcp.NewResult(text(strings.Repeat("x", 30<<20)))
	if len(r.Full) > 11<<20 || !strings.Contains(r.Text, "omitted: it exceeds the limit") {
		t.Errorf("full has %d bytes", len(r.Full))
	}
}

// FuzzNewResult checks that no result of a server breaks the limits.
func FuzzNewResult(f *testing.F) {
	f.Add([]byte(`{"content":[{"type":"text","text":"a"}],"structuredContent":{"a":[1]}}`), 1)
	f.Add([]byte(`{"content":[{"type":"image","data":"AAAA","mimeType":""},{"type":"resource","resource":{"uri":"","blob":"AA=="}}]}`), 40000)
	f.Add([]byte(`{"content":[{"type":"resource_link","uri":"x","name":"\ud800"}],"isError":true}`), 3)
	f.Fuzz(func(t *testing.T, data []byte, repeat int) {
		var res sdk.CallToolResult
		if json.Unmarshal(data, &res) != nil {
			return
		}
		if n := len(res.Content); n > 0 {
			for range min(max(repeat, 0), 50_000) / n {
				res.Content = append(res.Content, res.Content[:n]...)
			}
		}
		r := mcp.NewResult(&res)
		if len(r.Text) > mcp.MaxText {
			t.Fatalf("%d bytes of text", len(r.Text))
		}
		if len(r.Parts) > 1001 {
			t.Fatalf("%d parts", len(r.Parts))
		}
		if !utf8.ValidString(r.Text) {
			t.Fatalf("not UTF-8: %q", r.Text)
		}
		if r.Structured != nil && !jsonx.Valid(r.Structured) {
			t.Fatalf("not JSON: %s", r.Structured)
		}
	})
}

// FuzzModelSchema checks that the model APIs receive an object schema, whatever the server sends.
func FuzzModelSchema(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"type":["string","null"]}},"required":["a"]}`))
	f.Add([]byte(`{"anyOf":[{"properties":{"a":1}},5],"properties":[],"$defs":{"x":{"type":"nope"}}}`))
	f.Add([]byte(`{"type":"object","items":{"items":{"items":[{}]}},"enum":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var v any
		if json.Unmarshal(data, &v) != nil {
			return
		}
		raw, _ := mcp.ModelSchema(v)
		var got map[string]any
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if got["type"] != "object" {
			t.Fatalf("%s", raw)
		}
		for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
			if _, ok := got[keyword]; ok {
				t.Fatalf("%s at the top of %s", keyword, raw)
			}
		}
	})
}
