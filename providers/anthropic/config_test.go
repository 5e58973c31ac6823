package anthropic_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/anthropic"
	"github.com/gajae-code/gjc/providers/providertest"
)

func TestModel_Config(t *testing.T) {
	r, body, _ := sent(t, anthropic.Open, providers.Config{
		WireModel: "wire", APIKey: "k", AuthHeader: true, Headers: map[string]string{"x-a": "b"},
		Info: providers.ModelInfo{ID: "claude"}, NoStrictTools: true,
		Compat: providers.Compat{ExtraBody: map[string]jsonx.Raw{"top_k": jsonx.Raw(`1`), "model": jsonx.Raw(`"evil"`)}},
		Transform: providers.RequestTransform{
			StripHeaders: []string{"x-stainless-*"}, SetHeaders: map[string]*string{"User-Agent": new("other"), "X-A": nil},
			ExtraBody: map[string]jsonx.Raw{"max_tokens": jsonx.Raw(`7`)},
		},
	}, hello())
	if !strings.HasPrefix(body, `{"stream":true,"max_tokens":7,`) || !strings.Contains(body, `"model":"wire"`) || !strings.HasSuffix(body, `"top_k":1}`) {
		t.Errorf("body %s", body)
	}
	if r.Header.Get("Authorization") != "Bearer k" || r.Header.Get("X-Api-Key") != "" || r.Header.Get("User-Agent") != "other" || r.Header.Get("X-A") != "" {
		t.Errorf("header %v", r.Header)
	}
	for name := range r.Header {
		if strings.HasPrefix(name, "X-Stainless") {
			t.Errorf("header %s", name)
		}
	}
}

func TestModel_CacheRetention(t *testing.T) {
	req := hello()
	req.Tools = []providers.Tool{providertest.Tool("a")}
	for _, test := range []struct {
		retention  providers.CacheRetention
		base, mark string
	}{
		{"", "", `"cache_control":{"type":"ephemeral"}`},
		{providers.CacheShort, "", `"cache_control":{"type":"ephemeral"}`},
		{providers.CacheLong, "", `"cache_control":{"ttl":"1h","type":"ephemeral"}`},
		{providers.CacheLong, "https://api.anthropic.com/v1", `"cache_control":{"ttl":"1h","type":"ephemeral"}`},
		{providers.CacheLong, "https://gateway.test", `"cache_control":{"type":"ephemeral"}`},
		{providers.CacheNone, "", ``},
	} {
		_, body, _ := sent(t, anthropic.Open, providers.Config{BaseURL: test.base, CacheRetention: test.retention}, req)
		marks := strings.Count(body, `"cache_control"`)
		if test.mark == "" && marks != 0 || test.mark != "" && (marks != 3 || strings.Count(body, test.mark) != 3) {
			t.Errorf("%s at %q: %s", test.retention, test.base, body)
		}
	}
}

func TestModel_ForceTool(t *testing.T) {
	levels := []providers.ThinkingLevel{"low", "high"}
	for _, test := range []struct {
		mode             providers.ThinkingMode
		thinking, choice string
	}{
		{"", ``, `{"name":"a","type":"tool"}`},
		{providers.ThinkingEffortNone, `{"type":"disabled"}`, `{"name":"a","type":"tool"}`},
		{providers.ThinkingBudget, ``, `{"name":"a","type":"tool"}`},
		{providers.ThinkingEffortBetween, `{"display":"summarized","type":"adaptive"}`, ``},
		{providers.ThinkingEffortAlways, `{"display":"summarized","type":"adaptive"}`, ``},
	} {
		req := hello()
		req.Tools, req.ForceTool, req.Thinking = []providers.Tool{providertest.Tool("a")}, "a", providers.ThinkingHigh
		_, body, _ := sent(t, anthropic.Open, providers.Config{Info: providers.ModelInfo{Thinking: levels, ThinkingMode: test.mode}}, req)
		if got := string(jsonx.Lookup(jsonx.Raw(body), "thinking")); got != test.thinking {
			t.Errorf("%s: thinking %s", test.mode, got)
		}
		if got := string(jsonx.Lookup(jsonx.Raw(body), "tool_choice")); got != test.choice {
			t.Errorf("%s: tool_choice %s", test.mode, got)
		}
	}
}

func TestModel_RefusalSaysWhy(t *testing.T) {
	_, m := fake(t, providers.ModelInfo{}, providertest.Step{providertest.Raw(start +
		`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"So"}}` + "\n\n" +
		`data: {"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"type":"refusal","category":"cyber","explanation":"This looks like malware."}}}` + "\n\n" +
		"data: {\"type\":\"message_stop\"}\n\n")})
	msg, _ := run(t, m, hello())
	want := []providers.Part{providers.Text{Text: "So"}, providers.Text{Text: "This looks like malware."}}
	if diff := cmp.Diff(want, msg.Parts); diff != "" || msg.StopReason != providers.StopRefusal {
		t.Errorf("stop %s, parts (-want +got):\n%s", msg.StopReason, diff)
	}
	for _, details := range []string{`null`, `{"type":"refusal","category":null,"explanation":null}`} {
		_, m := fake(t, providers.ModelInfo{}, providertest.Step{providertest.Raw(start +
			`data: {"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":` + details + "}}\n\ndata: {\"type\":\"message_stop\"}\n\n")})
		if msg, _ := run(t, m, hello()); len(msg.Parts) != 0 || msg.StopReason != providers.StopRefusal {
			t.Errorf("%s: %+v", details, msg)
		}
	}
}
