package openai_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// members returns the members of a request's body.
func members(t *testing.T, cfg providers.Config, req *providers.Request) map[string]string {
	t.Helper()
	_, body := sent(t, cfg, req)
	got := map[string]string{}
	for name, value := range jsonx.Members(jsonx.Raw(body)) {
		got[name] = string(value)
	}
	return got
}

// changes returns the members that differ between two bodies, before and after.
func changes(before, after map[string]string) map[string][2]string {
	diff := map[string][2]string{}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(before)), slices.Collect(maps.Keys(after))) {
		if before[name] != after[name] {
			diff[name] = [2]string{before[name], after[name]}
		}
	}
	return diff
}

// reasoner is a model that reasons, at an unknown server.
func reasoner() providers.Config {
	return providers.Config{BaseURL: "http://model.test/v1", Info: providers.ModelInfo{
		Thinking: []providers.ThinkingLevel{providers.ThinkingLow, providers.ThinkingHigh, providers.ThinkingXHigh}, Images: true,
	}}
}

func tool(name, schema string) providers.Tool {
	return providers.Tool{Name: name, Schema: jsonx.Raw(schema)}
}

// Each flag, with everything that it changes in a request.
func TestModel_Compat(t *testing.T) {
	yes, no := new(true), new(false)
	route := &providers.GatewayRouting{Only: []string{"a"}, Order: []string{"b", "c"}}
	call := providers.ToolCall{ID: "call-1", Name: "read", Input: jsonx.Raw(`{}`)}
	answer := func(parts ...providers.Part) providers.Message {
		return providers.Message{Role: providers.RoleAssistant, Provider: "openai", Model: "m", Parts: parts}
	}
	thought := providers.Thinking{Text: "hm", Field: "reasoning_content"}
	used := []providers.Message{providertest.User("hi"), answer(call), providertest.ResultOf(call, "r"), providertest.User("go on")}
	const (
		asked = `{"content":"sys","role":"system"},{"content":"hi","role":"user"}`
		calls = `"tool_calls":[{"id":"call-1","function":{"arguments":"{}","name":"read"},"type":"function"}],"role":"assistant"`
		rest  = `,{"content":"r","tool_call_id":"call-1","role":"tool"},{"content":"go on","role":"user"}]`
		exact = `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`
		loose = `{"type":"object","properties":{"a":{"type":"string"}}}`
		open  = `{"type":"object"}`
	)
	tools := func(schemas ...string) (list []providers.Tool) {
		for i, schema := range schemas {
			list = append(list, tool(string(rune('a'+i)), schema))
		}
		return list
	}
	wire := func(name, schema, strict string) string {
		return `{"function":{"name":"` + name + `","parameters":` + schema + strict + `},"type":"function"}`
	}
	const madeExact = `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`
	const madeLoose = `{"type":"object","properties":{"a":{"type":["string","null"]}},"required":["a"],"additionalProperties":false}`

	for _, test := range []struct {
		name   string
		base   string // of the URL; empty for an unknown server
		compat providers.Compat
		over   providers.Compat // set for both requests
		change func(*providers.Config)
		req    providers.Request
		want   map[string][2]string
	}{
		{name: "supportsStore", compat: providers.Compat{SupportsStore: yes}, want: map[string][2]string{"store": {"", "false"}}},
		{
			name: "supportsDeveloperRole", compat: providers.Compat{SupportsDeveloperRole: yes},
			want: map[string][2]string{"messages": {"[" + asked + "]", `[{"content":"sys","role":"developer"},{"content":"hi","role":"user"}]`}},
		},
		{
			name: "supportsReasoningEffort", compat: providers.Compat{SupportsReasoningEffort: no},
			req: providers.Request{Thinking: "high"}, want: map[string][2]string{"reasoning_effort": {`"high"`, ""}},
		},
		{
			name: "reasoningEffortMap", compat: providers.Compat{ReasoningEffortMap: map[providers.ThinkingLevel]string{"xhigh": "max"}},
			req: providers.Request{Thinking: "xhigh"}, want: map[string][2]string{"reasoning_effort": {`"xhigh"`, `"max"`}},
		},
		{
			name: "supportsUsageInStreaming", compat: providers.Compat{SupportsUsageInStreaming: no},
			want: map[string][2]string{"stream_options": {`{"include_usage":true}`, ""}},
		},
		{
			name: "supportsToolChoice", compat: providers.Compat{SupportsToolChoice: no},
			req:  providers.Request{Tools: tools(open), ForceTool: "a"},
			want: map[string][2]string{"tool_choice": {`{"function":{"name":"a"},"type":"function"}`, ""}},
		},
		{
			name: "disableReasoningOnForcedToolChoice", compat: providers.Compat{DisableReasoningOnForcedToolChoice: yes},
			req:  providers.Request{Tools: tools(open), ForceTool: "a", Thinking: "low"},
			want: map[string][2]string{"reasoning_effort": {`"low"`, ""}},
		},
		{
			name: "disableReasoningOnForcedToolChoice, not forced", compat: providers.Compat{DisableReasoningOnForcedToolChoice: yes},
			req: providers.Request{Tools: tools(open), ForceTool: "b", Thinking: "low"}, want: map[string][2]string{},
		},
		{
			name: "maxTokensField", compat: providers.Compat{MaxTokensField: "max_completion_tokens"},
			req:  providers.Request{MaxTokens: 7},
			want: map[string][2]string{"max_tokens": {"7", ""}, "max_completion_tokens": {"", "7"}},
		},
		{
			name: "thinkingFormat openrouter", compat: providers.Compat{ThinkingFormat: "openrouter"}, req: providers.Request{Thinking: "low"},
			want: map[string][2]string{"reasoning_effort": {`"low"`, ""}, "reasoning": {"", `{"effort":"low"}`}},
		},
		{
			name: "thinkingFormat zai", compat: providers.Compat{ThinkingFormat: "zai"}, req: providers.Request{Thinking: "low"},
			want: map[string][2]string{"thinking": {"", `{"type":"enabled"}`}},
		},
		{
			name:   "thinkingFormat zai without effort",
			compat: providers.Compat{ThinkingFormat: "zai", SupportsReasoningEffort: new(false)}, req: providers.Request{Thinking: "low"},
			want: map[string][2]string{"reasoning_effort": {`"low"`, ""}, "thinking": {"", `{"type":"enabled"}`}},
		},
		{
			name: "thinkingFormat zai, off", compat: providers.Compat{ThinkingFormat: "zai"},
			want: map[string][2]string{"thinking": {"", `{"type":"disabled"}`}},
		},
		{
			name: "thinkingFormat qwen", compat: providers.Compat{ThinkingFormat: "qwen"}, req: providers.Request{Thinking: "low"},
			want: map[string][2]string{"reasoning_effort": {`"low"`, ""}, "enable_thinking": {"", `true`}},
		},
		{
			name: "thinkingFormat qwen-chat-template, off", compat: providers.Compat{ThinkingFormat: "qwen-chat-template"},
			want: map[string][2]string{"chat_template_kwargs": {"", `{"enable_thinking":false}`}},
		},
		{
			name: "reasoningContentField", compat: providers.Compat{ReasoningContentField: "reasoning_text"},
			req: providers.Request{Messages: []providers.Message{providertest.User("hi"), answer(thought, providers.Text{Text: "t"})}},
			want: map[string][2]string{"messages": {
				"[" + asked + `,{"content":"t","role":"assistant","reasoning_content":"hm"}]`,
				"[" + asked + `,{"content":"t","role":"assistant","reasoning_text":"hm"}]`,
			}},
		},
		{
			name: "requiresReasoningContentForToolCalls", compat: providers.Compat{RequiresReasoningContentForToolCalls: yes},
			req: providers.Request{Messages: used}, want: map[string][2]string{"messages": {
				"[" + asked + ",{" + calls + "}" + rest, "[" + asked + ",{" + calls + `,"reasoning_content":"."}` + rest,
			}},
		},
		{
			name: "requiresAssistantContentForToolCalls", compat: providers.Compat{RequiresAssistantContentForToolCalls: yes},
			req: providers.Request{Messages: used}, want: map[string][2]string{"messages": {
				"[" + asked + ",{" + calls + "}" + rest, "[" + asked + `,{"content":".",` + calls + "}" + rest,
			}},
		},
		{
			name: "requiresToolResultName", compat: providers.Compat{RequiresToolResultName: yes},
			req: providers.Request{Messages: used}, want: map[string][2]string{"messages": {
				"[" + asked + ",{" + calls + "}" + rest,
				"[" + asked + ",{" + calls + `},{"content":"r","tool_call_id":"call-1","name":"read","role":"tool"},{"content":"go on","role":"user"}]`,
			}},
		},
		{
			name: "requiresAssistantAfterToolResult", compat: providers.Compat{RequiresAssistantAfterToolResult: yes},
			req: providers.Request{Messages: used}, want: map[string][2]string{"messages": {
				"[" + asked + ",{" + calls + "}" + rest,
				"[" + asked + ",{" + calls + `},{"content":"r","tool_call_id":"call-1","role":"tool"},` +
					`{"content":"I have read the results.","role":"assistant"},{"content":"go on","role":"user"}]`,
			}},
		},
		{
			name: "requiresThinkingAsText", compat: providers.Compat{RequiresThinkingAsText: yes},
			req: providers.Request{Messages: []providers.Message{providertest.User("hi"), answer(thought, providers.Text{Text: "t"})}},
			want: map[string][2]string{"messages": {
				"[" + asked + `,{"content":"t","role":"assistant","reasoning_content":"hm"}]`,
				"[" + asked + `,{"content":"<thinking>\nhm\n</thinking>\nt","role":"assistant"}]`,
			}},
		},
		{
			name: "requiresMistralToolIds", compat: providers.Compat{RequiresMistralToolIDs: yes},
			req: providers.Request{Messages: used}, want: map[string][2]string{"messages": {
				"[" + asked + ",{" + calls + "}" + rest,
				"[" + asked + `,{"tool_calls":[{"id":"` + mistralID + `","function":{"arguments":"{}","name":"read"},"type":"function"}],"role":"assistant"},` +
					`{"content":"r","tool_call_id":"` + mistralID + `","role":"tool"},{"content":"go on","role":"user"}]`,
			}},
		},
		{
			name: "supportsStrictMode", compat: providers.Compat{SupportsStrictMode: yes},
			req: providers.Request{Tools: tools(exact, loose, open)}, want: map[string][2]string{"tools": {
				"[" + wire("a", exact, "") + "," + wire("b", loose, "") + "," + wire("c", open, "") + "]",
				"[" + wire("a", madeExact, `,"strict":true`) + "," + wire("b", loose, "") + "," + wire("c", open, "") + "]",
			}},
		},
		{
			name: "toolStrictMode all_strict", compat: providers.Compat{ToolStrictMode: "all_strict"},
			req: providers.Request{Tools: tools(exact, loose)}, want: map[string][2]string{"tools": {
				"[" + wire("a", exact, "") + "," + wire("b", loose, "") + "]",
				"[" + wire("a", madeExact, `,"strict":true`) + "," + wire("b", madeLoose, `,"strict":true`) + "]",
			}},
		},
		{
			name: "toolStrictMode all_strict, with a tool that can not", compat: providers.Compat{ToolStrictMode: "all_strict"},
			req: providers.Request{Tools: tools(exact, open)}, want: map[string][2]string{},
		},
		{
			name: "toolStrictMode none", over: providers.Compat{SupportsStrictMode: yes}, compat: providers.Compat{ToolStrictMode: "none"},
			req:  providers.Request{Tools: tools(exact)},
			want: map[string][2]string{"tools": {"[" + wire("a", madeExact, `,"strict":true`) + "]", "[" + wire("a", exact, "") + "]"}},
		},
		{
			name: "disableStrictTools", over: providers.Compat{SupportsStrictMode: yes}, change: func(cfg *providers.Config) { cfg.NoStrictTools = true },
			req:  providers.Request{Tools: tools(exact)},
			want: map[string][2]string{"tools": {"[" + wire("a", madeExact, `,"strict":true`) + "]", "[" + wire("a", exact, "") + "]"}},
		},
		{
			name: "openRouterRouting", base: "https://openrouter.ai/api/v1", compat: providers.Compat{OpenRouterRouting: route},
			want: map[string][2]string{"provider": {"", `{"only":["a"],"order":["b","c"]}`}},
		},
		{
			name: "vercelGatewayRouting", base: "https://ai-gateway.vercel.sh/v1", compat: providers.Compat{VercelGatewayRouting: route},
			want: map[string][2]string{"providerOptions": {"", `{"gateway":{"only":["a"],"order":["b","c"]}}`}},
		},
		{name: "routes to nobody", compat: providers.Compat{OpenRouterRouting: route, VercelGatewayRouting: route}, want: map[string][2]string{}},
		{
			name: "extraBody", compat: providers.Compat{ExtraBody: map[string]jsonx.Raw{"z": jsonx.Raw(`{"a":1}`), "model": jsonx.Raw(`"x"`)}},
			want: map[string][2]string{"z": {"", `{"a":1}`}},
		},
		{
			name: "wireModelId", change: func(cfg *providers.Config) { cfg.WireModel = "w" },
			want: map[string][2]string{"model": {`"m"`, `"w"`}},
		},
		{
			name: "cacheRetention", base: "https://api.openai.com/v1", change: func(cfg *providers.Config) { cfg.CacheRetention = providers.CacheLong },
			want: map[string][2]string{"prompt_cache_retention": {"", `"24h"`}},
		},
		{
			name: "cacheRetention elsewhere", change: func(cfg *providers.Config) { cfg.CacheRetention = providers.CacheLong },
			want: map[string][2]string{},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg := reasoner()
			if test.base != "" {
				cfg.BaseURL = test.base
			}
			cfg.Compat = test.over
			req := test.req
			req.System = "sys"
			if req.Messages == nil {
				req.Messages = []providers.Message{providertest.User("hi")}
			}
			before := members(t, cfg, &req)
			cfg.Compat = test.compat.Over(test.over)
			if test.change != nil {
				test.change(&cfg)
			}
			if diff := cmp.Diff(test.want, changes(before, members(t, cfg, &req))); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
}

const mistralID = "vXBaWPD4X"

// What is known about servers by their address: the difference between a request to such a server and one to an unknown server.
func TestModel_KnownServers(t *testing.T) {
	call := providers.ToolCall{ID: "call_1", Name: "a", Input: jsonx.Raw(`{}`)}
	req := &providers.Request{
		System: "sys", MaxTokens: 9, Thinking: "xhigh", ForceTool: "a",
		Tools: []providers.Tool{tool("a", `{"type":"object","properties":{},"additionalProperties":false,"required":[]}`)},
		Messages: []providers.Message{
			providertest.User("hi"),
			{Role: providers.RoleAssistant, Provider: "openai", Model: "m", Parts: []providers.Part{providers.Thinking{Text: "hm", Field: "reasoning"}, call}},
			providertest.ResultOf(call, "r"),
		},
	}
	nobody := reasoner()
	before := members(t, nobody, req)
	type is = map[string]string
	const choice = `{"function":{"name":"a"},"type":"function"}`
	longer := is{"max_tokens": "", "max_completion_tokens": "9"}
	for base, want := range map[string]is{
		"http://localhost:8080/v1":         {},
		"https://api.openai.com.evil.test": {},
		"https://api.openai.com/v1": {
			"max_tokens": "", "max_completion_tokens": "9", "store": "false", "messages": "developer",
			"tools": `"strict":true`,
		},
		"https://eu.api.openai.com/v1": {
			"max_tokens": "", "max_completion_tokens": "9", "store": "false", "messages": "developer",
			"tools": `"strict":true`,
		},
		"https://res.openai.azure.com/openai/v1":            {"max_tokens": "", "max_completion_tokens": "9", "messages": "developer"},
		"https://openrouter.ai/api/v1":                      {"reasoning_effort": "", "reasoning": `{"effort":"xhigh"}`},
		"https://ai-gateway.vercel.sh/v1":                   {},
		"https://api.mistral.ai/v1":                         {"reasoning_effort": "", "stream_options": "", "messages": `"name":"a","role":"tool"`},
		"https://api.deepseek.com":                          {"reasoning_effort": `"max"`, "tool_choice": "", "thinking": `{"type":"enabled"}`},
		"https://api.x.ai/v1":                               {},
		"https://api.z.ai/api/paas/v4":                      {"reasoning_effort": "", "thinking": `{"type":"enabled"}`},
		"https://dashscope-intl.aliyuncs.com/compatible/v1": {"reasoning_effort": "", "enable_thinking": "true"},
		"https://api.moonshot.ai/v1":                        {"reasoning_effort": "", "messages": `"content":".","tool_calls"`},
		"https://api.groq.com/openai/v1":                    longer,
		"https://api.cerebras.ai/v1":                        longer,
		"https://integrate.api.nvidia.com/v1":               {"reasoning_effort": "", "messages": `"reasoning_content":"hm"`},
		"https://api.minimax.io/v1":                         {"messages": `"reasoning_content":"hm"`},
	} {
		cfg := nobody
		cfg.BaseURL = base
		after := members(t, cfg, req)
		got := changes(before, after)
		for name, value := range want {
			change, changed := got[name]
			delete(got, name)
			if !changed || value == "" && change[1] != "" || !contains(change[1], value) {
				t.Errorf("%s: %s is %q, want %q", base, name, after[name], value)
			}
		}
		if len(got) > 0 {
			t.Errorf("%s: changes too: %v", base, got)
		}
	}
	if before["tool_choice"] != choice {
		t.Errorf("tool_choice = %s", before["tool_choice"])
	}
}

func TestModel_ForcedModelsThatReason(t *testing.T) {
	req := hello()
	req.Tools, req.ForceTool, req.Thinking = []providers.Tool{providertest.Tool("a")}, "a", providers.ThinkingLow
	for model, want := range map[string]string{
		"anthropic/claude-x": "", "moonshotai/k": "", "Kimi-K2": "", "openai/gpt": `"low"`,
	} {
		cfg := reasoner()
		cfg.WireModel = model
		if got := members(t, cfg, req)["reasoning_effort"]; got != want {
			t.Errorf("%s: reasoning_effort = %s", model, got)
		}
	}
}

// Ids are the same in a call and its result, for all models, and in every later request.
func TestModel_CallIDs(t *testing.T) {
	own := providers.ToolCall{ID: "functions.read:0", Name: "read", Input: jsonx.Raw(`{}`)}
	foreign := providers.ToolCall{ID: "call_1|fc_2", Name: "read", Input: jsonx.Raw(`{}`)}
	req := &providers.Request{Messages: []providers.Message{
		{Role: providers.RoleAssistant, Provider: "openai", Model: "m", Parts: []providers.Part{own}},
		providertest.ResultOf(own, "r"),
		{Role: providers.RoleAssistant, Provider: "openai", Model: "other", Parts: []providers.Part{foreign}},
		providertest.ResultOf(foreign, "r"),
	}}
	for _, mistral := range []bool{false, true} {
		cfg := providers.Config{Compat: providers.Compat{RequiresMistralToolIDs: &mistral}}
		_, body := sent(t, cfg, req)
		var got struct {
			Messages []struct {
				ToolCallID string `json:"tool_call_id"`
				ToolCalls  []struct {
					ID string `json:"id"`
				} `json:"tool_calls"`
			} `json:"messages"`
		}
		if err := jsonx.Unmarshal([]byte(body), &got); err != nil {
			t.Fatal(err)
		}
		var ids []string
		for i := 0; i < 4; i += 2 {
			id := got.Messages[i].ToolCalls[0].ID
			if id != got.Messages[i+1].ToolCallID {
				t.Errorf("a call %q has the result %q", id, got.Messages[i+1].ToolCallID)
			}
			ids = append(ids, id)
		}
		if !mistral && (ids[0] != own.ID || contains(ids[1], "|")) || mistral && (len(ids[0]) != 9 || len(ids[1]) != 9) {
			t.Errorf("mistral %t: ids %q", mistral, ids)
		}
	}
}
