package anthropic_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/anthropic"
	"github.com/gajae-code/gjc/providers/internal/dialect"
	"github.com/gajae-code/gjc/providers/providertest"
)

var target = providertest.Target{Open: anthropic.Open, Format: providertest.AnthropicMessages()}

// env is an environment of names and values.
func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

// fake returns a test server and a model that sends its requests there.
func fake(t *testing.T, info providers.ModelInfo, steps ...providertest.Step) (*providertest.Server, providers.Model) {
	t.Helper()
	server := providertest.NewServer(steps...)
	t.Cleanup(server.Close)
	if info.ID == "" {
		info.ID = "claude"
	}
	info.Provider = "anthropic"
	m, err := anthropic.Open(providers.Config{Info: info, BaseURL: server.AnthropicURL() + "/v1", APIKey: "key"})
	if err != nil {
		t.Fatal(err)
	}
	return server, m
}

func run(t *testing.T, m providers.Model, req *providers.Request) (msg providers.Message, events []providers.Event) {
	t.Helper()
	for ev, err := range m.Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		if done, ok := ev.(providers.Done); ok {
			msg = done.Message
		} else {
			events = append(events, ev)
		}
	}
	return msg, events
}

func hello() *providers.Request {
	return &providers.Request{System: "sys", Messages: []providers.Message{providertest.User("hi")}}
}

// body returns the members of the n-th request.
func body(t *testing.T, server *providertest.Server, n int) map[string]jsonx.Raw {
	t.Helper()
	var got map[string]jsonx.Raw
	if err := jsonx.Unmarshal(server.Requests()[n].Body, &got); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestModel_ReadsNoEnvironment(t *testing.T) {
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_CUSTOM_HEADERS"} {
		t.Setenv(name, "X-Env: from-env")
	}
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	server := providertest.NewServer(providertest.Step{})
	defer server.Close()
	m, err := anthropic.Open(providers.Config{BaseURL: server.AnthropicURL()})
	if err != nil {
		t.Fatal(err)
	}
	run(t, m, hello())
	for name, values := range server.Requests()[0].Header {
		if strings.Contains(strings.Join(values, ""), "from-env") {
			t.Errorf("%s: %s comes from the environment", name, values)
		}
	}
}

func TestModel_Request(t *testing.T) {
	server, m := fake(t, providers.ModelInfo{MaxOutput: 500}, providertest.Step{}, providertest.Step{})
	req := hello()
	req.Tools = []providers.Tool{providertest.Tool("a"), {Name: "b", Schema: jsonx.Raw(`{"type":"object","z":1,"properties":{"y":{},"b":{}}}`)}}
	call := providers.ToolCall{ID: "call|1", Name: "a", Input: jsonx.Raw(`{"q": 1}`)}
	result := providertest.ResultOf(call, "out")
	result.IsError = true
	req.Messages = append(req.Messages,
		providers.Message{Role: providers.RoleAssistant, Provider: "anthropic", Model: "claude", Parts: []providers.Part{
			providers.Thinking{Text: "hm", Signature: "s"},
			providers.Thinking{Signature: "blob", Redacted: true},
			providers.Thinking{Text: "cut short"},
			providers.Text{Text: " "},
			providers.Text{Text: "ok"},
			call,
		}},
		// A steering message arrived while the tool ran: the result still goes first.
		providertest.User("hurry"), result,
		providers.Message{Role: providers.RoleAssistant, Provider: "anthropic", Model: "claude", Parts: []providers.Part{
			providers.Thinking{Text: "nothing more", Signature: "s"},
		}},
		providertest.User("go on"))
	run(t, m, req)
	got := body(t, server, 0)
	const mark = `"cache_control":{"type":"ephemeral"}`
	for member, want := range map[string]string{
		"stream":     `true`,
		"max_tokens": `500`,
		"model":      `"claude"`,
		"system":     `[{"text":"sys",` + mark + `,"type":"text"}]`,
		"tools": `[{"input_schema":{"type":"object"},"name":"a","description":"The tool a."},` +
			`{"input_schema":{"type":"object","z":1,"properties":{"y":{},"b":{}}},"name":"b",` + mark + `}]`,
		"messages": `[{"role":"user","content":[{"type":"text",` + mark + `,"text":"hi"}]},` +
			`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"redacted_thinking","data":"blob"},` +
			`{"type":"text","text":"ok"},{"type":"tool_use","id":"` + dialect.ToolID("call|1", 64) + `","input":{"q": 1},"name":"a"}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"` + dialect.ToolID("call|1", 64) + `","is_error":true,"content":[{"type":"text","text":"out"}]},` +
			`{"type":"text","text":"hurry"},{"type":"text",` + mark + `,"text":"go on"}]}]`,
	} {
		if diff := cmp.Diff(want, string(got[member])); diff != "" {
			t.Errorf("%s (-want +got):\n%s", member, diff)
		}
	}
	if got["thinking"] != nil || got["output_config"] != nil {
		t.Errorf("thinking = %s, %s", got["thinking"], got["output_config"])
	}
	req.MaxTokens = 100
	run(t, m, req)
	if got := string(body(t, server, 1)["max_tokens"]); got != "100" {
		t.Errorf("max_tokens = %s", got)
	}
}

func TestModel_Thinking(t *testing.T) {
	levels := []providers.ThinkingLevel{"low", "medium", "high", "max"}
	adaptive := `{"display":"summarized","type":"adaptive"}`
	for _, test := range []struct {
		mode             providers.ThinkingMode
		level            providers.ThinkingLevel
		thinking, effort string
	}{
		{"", "high", `{"type":"adaptive"}`, `{"effort":"high"}`},
		{"", "off", "", ""},
		{"effort-none", "xhigh", adaptive, `{"effort":"high"}`},
		{"effort-none", "", `{"type":"disabled"}`, ""},
		{"effort-between-tools", "minimal", adaptive, `{"effort":"low"}`},
		{"effort-between-tools", "off", `{"type":"between_tools"}`, ""},
		{"effort-always", "max", adaptive, `{"effort":"max"}`},
		{"effort-always", "off", adaptive, `{"effort":"low"}`},
		{"budget", "off", "", ""},
		{"budget", "low", `{"budget_tokens":4096,"type":"enabled"}`, ""},
		{"budget", "max", `{"budget_tokens":8976,"type":"enabled"}`, ""},
	} {
		server, m := fake(t, providers.ModelInfo{MaxOutput: 10_000, Thinking: levels, ThinkingMode: test.mode}, providertest.Step{})
		req := hello()
		req.Thinking = test.level
		run(t, m, req)
		got := body(t, server, 0)
		if string(got["thinking"]) != test.thinking || string(got["output_config"]) != test.effort {
			t.Errorf("%s %s: thinking %s, output_config %s", test.mode, test.level, got["thinking"], got["output_config"])
		}
	}
}

// The API rejects thinking between tool calls if the answer with the calls has none.
func TestModel_NoBudgetInTheMiddleOfTools(t *testing.T) {
	info := providers.ModelInfo{MaxOutput: 10_000, Thinking: []providers.ThinkingLevel{"low"}, ThinkingMode: "budget"}
	call := providers.ToolCall{ID: "c", Name: "a", Input: jsonx.Raw(`{}`)}
	for _, signed := range []bool{false, true} {
		server, m := fake(t, info, providertest.Step{})
		parts := []providers.Part{call}
		if signed {
			parts = []providers.Part{providers.Thinking{Text: "t", Signature: "s"}, call}
		}
		req := hello()
		req.Thinking = "low"
		req.Messages = append(req.Messages,
			providers.Message{Role: providers.RoleAssistant, Provider: "anthropic", Model: "claude", Parts: parts},
			providertest.ResultOf(call, "x"))
		run(t, m, req)
		if got := body(t, server, 0)["thinking"]; (got != nil) != signed {
			t.Errorf("signed %v: thinking = %s", signed, got)
		}
	}
}

const start = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\n"

func TestModel_Stream(t *testing.T) {
	_, m := fake(t, providers.ModelInfo{}, providertest.Step{providertest.Raw(start + `
data: {"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"blob"}}

data: {"type":"content_block_stop","index":0}

data: {"type":"content_block_start","index":1,"content_block":{"type":"thinking","thinking":"","signature":""}}

data: {"type":"content_block_delta","index":1,"delta":{"type":"signature_delta","signature":"s1"}}

data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":"one"}}

data: {"type":"content_block_start","index":3,"content_block":{"type":"text","text":""}}

data: {"type":"content_block_delta","index":3,"delta":{"type":"citations_delta","citation":{}}}

data: {"type":"content_block_delta","index":3,"delta":{"type":"text_delta","text":"two"}}

data: {"type":"content_block_start","index":4,"content_block":{"type":"server_tool_use","id":"x","name":"web","input":{}}}

data: {"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":"{}"}}

data: {"type":"content_block_start","index":5,"content_block":{"type":"tool_use","id":"c1","name":"a","input":{"whole":true}}}

data: {"type":"content_block_start","index":6,"content_block":{"type":"tool_use","id":"c2","name":"b","input":{}}}

data: {"type":"content_block_stop","index":5}

data: {"type":"content_block_delta","index":6,"delta":{"type":"input_json_delta","partial_json":"{\"k\":1}"}}

data: {"type":"a_new_kind_of_event","what":{}}

data: {"type":"message_delta","delta":{"stop_reason":"pause_turn"},"usage":{"output_tokens":7}}

data: {"type":"message_stop"}

`)})
	msg, _ := run(t, m, hello())
	want := []providers.Part{
		providers.Thinking{Signature: "blob", Redacted: true},
		providers.Thinking{Signature: "s1"},
		providers.Text{Text: "one"},
		providers.Text{Text: "two"},
		providers.ToolCall{ID: "c1", Name: "a", Input: jsonx.Raw(`{"whole":true}`)},
		providers.ToolCall{ID: "c2", Name: "b", Input: jsonx.Raw(`{"k":1}`)},
	}
	if diff := cmp.Diff(want, msg.Parts); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	if msg.StopReason != providers.StopTools || msg.Usage != (providers.Usage{Input: 3, Output: 7}) {
		t.Errorf("stop %q, usage %+v", msg.StopReason, msg.Usage)
	}
}

func TestModel_StopReasons(t *testing.T) {
	for reason, want := range map[string]providers.StopReason{
		"end_turn": providers.StopEnd, "stop_sequence": providers.StopEnd, "pause_turn": providers.StopEnd, "max_tokens": providers.StopLength,
		"model_context_window_exceeded": providers.StopLength, "refusal": providers.StopRefusal, "tool_use": providers.StopTools,
		"something_new": providers.StopEnd,
	} {
		_, m := fake(t, providers.ModelInfo{}, providertest.Step{providertest.Raw(start +
			"data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"" + reason + "\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n")})
		if msg, _ := run(t, m, hello()); msg.StopReason != want {
			t.Errorf("%s: %s, want %s", reason, msg.StopReason, want)
		}
	}
}

func TestNew_BaseURL(t *testing.T) {
	if _, err := anthropic.Open(providers.Config{BaseURL: "no url"}); err == nil {
		t.Error("a base URL without a host is taken")
	}
}

// A server that does not stream sends a whole message, with any content type.
func TestModel_WholeMessage(t *testing.T) {
	const message = `{
  "id": "msg_1", "type": "message", "role": "assistant", "model": "claude",
  "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "I look."},
    {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a"}}, {"type": "tool_use", "id": "t2", "name": "list", "input": {}}],
  "stop_reason": "tool_use", "usage": {"input_tokens": 3, "output_tokens": 4}
}`
	for _, kind := range []string{"application/json", "text/event-stream", ""} {
		_, m := fake(t, providers.ModelInfo{}, providertest.Step{providertest.Status(200, message, map[string]string{"Content-Type": kind})})
		msg, _ := run(t, m, hello())
		want := []providers.Part{
			providers.Thinking{Text: "hm", Signature: "s"},
			providers.Text{Text: "I look."},
			providers.ToolCall{ID: "t1", Name: "read", Input: jsonx.Raw(`{"path": "a"}`)},
			providers.ToolCall{ID: "t2", Name: "list", Input: jsonx.Raw(`{}`)},
		}
		if diff := cmp.Diff(want, msg.Parts); diff != "" || msg.StopReason != providers.StopTools || msg.Usage != (providers.Usage{Input: 3, Output: 4}) {
			t.Errorf("%q: %s %+v (-want +got):\n%s", kind, msg.StopReason, msg.Usage, diff)
		}
	}
	_, m := fake(t, providers.ModelInfo{}, providertest.Step{providertest.Status(200, `{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`, nil)})
	for _, err := range m.Stream(t.Context(), hello()) {
		if e, ok := errors.AsType[*providers.Error](err); !ok || e.Kind != providers.KindOverloaded {
			t.Errorf("err = %v", err)
		}
	}
}
