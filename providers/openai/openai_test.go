package openai_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/openai"
	"github.com/gajae-code/gjc/providers/providertest"
)

var target = providertest.Target{Open: openai.Open, Format: providertest.OpenAICompletions()}

// fake is a model that talks to server.
func fake(t *testing.T, info providers.ModelInfo, steps ...providertest.Step) (*providertest.Server, providers.Model) {
	t.Helper()
	server := providertest.NewServer(steps...)
	t.Cleanup(server.Close)
	info.Provider, info.ID = "local", "m"
	m, err := openai.Open(providers.Config{Info: info, BaseURL: server.OpenAIURL()})
	if err != nil {
		t.Fatal(err)
	}
	return server, m
}

func stream(t *testing.T, m providers.Model, req *providers.Request) (msg providers.Message, events []providers.Event, err error) {
	t.Helper()
	for ev, err := range m.Stream(t.Context(), req) {
		if err != nil {
			return msg, events, err
		}
		if done, ok := ev.(providers.Done); ok {
			msg = done.Message
		} else {
			events = append(events, ev)
		}
	}
	return msg, events, nil
}

func run(t *testing.T, m providers.Model, req *providers.Request) (providers.Message, []providers.Event) {
	t.Helper()
	msg, events, err := stream(t, m, req)
	if err != nil {
		t.Fatal(err)
	}
	return msg, events
}

func hello() *providers.Request {
	return &providers.Request{System: "sys", Messages: []providers.Message{providertest.User("hi")}}
}

func body(t *testing.T, server *providertest.Server, n int) map[string]jsonx.Raw {
	t.Helper()
	var got map[string]jsonx.Raw
	if err := jsonx.Unmarshal(server.Requests()[n].Body, &got); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestModel_ReadsNoEnvironmentAndNeedsNoKey(t *testing.T) {
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY", "OPENAI_CUSTOM_HEADERS"} {
		t.Setenv(name, "X-Env: from-env")
	}
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")
	server, m := fake(t, providers.ModelInfo{}, providertest.Step{})
	run(t, m, hello())
	header := server.Requests()[0].Header
	for name, values := range header {
		if strings.Contains(strings.Join(values, ""), "from-env") {
			t.Errorf("%s: %s comes from the environment", name, values)
		}
	}
	if header.Get("Authorization") != "" {
		t.Errorf("without a key: Authorization: %s", header.Get("Authorization"))
	}
}

func TestModel_Request(t *testing.T) {
	server, m := fake(t, providers.ModelInfo{Images: true, MaxOutput: 100}, providertest.Step{}, providertest.Step{})
	req := hello()
	req.SessionID, req.MaxTokens = "s", 1000
	req.Tools = []providers.Tool{providertest.Tool("a"), {Name: "b"}, {Name: "c", Schema: jsonx.Raw(`{"type":"object","z":1,"properties":{"y":{},"b":{}}}`)}}
	one := providers.ToolCall{ID: "1", Name: "a", Input: jsonx.Raw(`{"q": 1}`)}
	two := providers.ToolCall{ID: "2", Name: "b", Input: jsonx.Raw(`{"broken`)}
	shot := providertest.ResultOf(one, "")
	shot.Parts = []providers.Part{providers.Image{MIMEType: "image/png", Data: []byte("PNG")}}
	req.Messages = append(req.Messages,
		providers.Message{Role: providers.RoleAssistant, Provider: "local", Model: "m", Parts: []providers.Part{
			providers.Thinking{Text: "hm", Field: "reasoning"}, providers.Text{Text: "ok"}, one, two,
		}},
		shot, providertest.ResultOf(two, "bad input"),
		providers.Message{Role: providers.RoleAssistant, Provider: "local", Model: "m", Parts: []providers.Part{providers.Thinking{Text: "nothing"}}},
		providertest.User("go on"))
	run(t, m, req)
	got := body(t, server, 0)
	for member, want := range map[string]string{
		"stream":         `true`,
		"stream_options": `{"include_usage":true}`,
		"max_tokens":     `100`,
		"model":          `"m"`,
		"tools": `[{"function":{"name":"a","description":"The tool a.","parameters":{"type":"object"}},"type":"function"},` +
			`{"function":{"name":"b","parameters":{"type":"object","properties":{}}},"type":"function"},` +
			`{"function":{"name":"c","parameters":{"type":"object","z":1,"properties":{"y":{},"b":{}}}},"type":"function"}]`,
		"messages": `[{"content":"sys","role":"system"},{"content":"hi","role":"user"},` +
			`{"content":"ok","tool_calls":[{"id":"1","function":{"arguments":"{\"q\": 1}","name":"a"},"type":"function"},` +
			`{"id":"2","function":{"arguments":"{}","name":"b"},"type":"function"}],"role":"assistant","reasoning":"hm"},` +
			`{"content":"The result is an image; it follows.","tool_call_id":"1","role":"tool"},` +
			`{"content":"bad input","tool_call_id":"2","role":"tool"},` +
			`{"content":[{"text":"Images from the result of a:","type":"text"},` +
			`{"image_url":{"url":"data:image/png;base64,UE5H"},"type":"image_url"}],"role":"user"},` +
			`{"content":"go on","role":"user"}]`,
	} {
		if diff := cmp.Diff(want, string(got[member])); diff != "" {
			t.Errorf("%s (-want +got):\n%s", member, diff)
		}
	}
	for _, member := range []string{"max_completion_tokens", "prompt_cache_key", "reasoning_effort"} {
		if got[member] != nil {
			t.Errorf("a server that is not OpenAI gets %s: %s", member, got[member])
		}
	}
	run(t, m, hello())
	if got := body(t, server, 1)["max_tokens"]; got != nil {
		t.Errorf("max_tokens = %s without a limit", got)
	}
}

func TestModel_Effort(t *testing.T) {
	levels := []providers.ThinkingLevel{"minimal", "low", "high"}
	for _, test := range []struct {
		levels []providers.ThinkingLevel
		mode   providers.ThinkingMode
		level  providers.ThinkingLevel
		want   string
	}{
		{levels, "", "high", `"high"`},
		{levels, "", "medium", `"low"`},
		{levels, "", "off", ""},
		{nil, "", "high", ""},
		{levels, "effort-none", "", `"none"`},
		{nil, "effort-none", "high", `"none"`},
		{levels, "effort-always", "off", `"minimal"`},
	} {
		server, m := fake(t, providers.ModelInfo{Thinking: test.levels, ThinkingMode: test.mode}, providertest.Step{})
		req := hello()
		req.Thinking = test.level
		run(t, m, req)
		if got := string(body(t, server, 0)["reasoning_effort"]); got != test.want {
			t.Errorf("%v: reasoning_effort = %s", test, got)
		}
	}
}

// chunks returns a stream of these deltas and a finish reason.
func chunks(finish string, deltas ...string) providertest.Step {
	var s strings.Builder
	for _, d := range deltas {
		s.WriteString(`data: {"id":"r1","choices":[{"index":0,"delta":` + d + `,"finish_reason":null}]}` + "\n\n")
	}
	s.WriteString(`data: {"choices":[{"index":0,"delta":{},"finish_reason":"` + finish + `"}]}` + "\n\ndata: [DONE]\n\n")
	return providertest.Step{providertest.Raw(s.String())}
}

// Variants of other servers.
func TestModel_ToolCallsOfOtherServers(t *testing.T) {
	call := func(id, name, input string) providers.ToolCall {
		return providers.ToolCall{ID: id, Name: name, Input: jsonx.Raw(input)}
	}
	for _, test := range []struct {
		name   string
		deltas []string
		want   []providers.ToolCall
	}{
		{"interleaved", []string{
			`{"tool_calls":[{"index":0,"id":"x","function":{"name":"a","arguments":""}},{"index":1,"id":"y","function":{"name":"b","arguments":""}}]}`,
			`{"tool_calls":[{"index":1,"function":{"arguments":"{\"b\""}}]}`, `{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\""}}]}`,
			`{"tool_calls":[{"index":1,"function":{"arguments":":1}"}}]}`, `{"tool_calls":[{"index":0,"function":{"arguments":":2}"}}]}`,
		}, []providers.ToolCall{call("x", "a", `{"a":2}`), call("y", "b", `{"b":1}`)}},
		{"whole, without ids", []string{
			`{"tool_calls":[{"index":0,"function":{"name":"a","arguments":"{\"n\":1}"}},{"index":1,"function":{"name":"a","arguments":"{\"n\":2}"}}]}`,
		}, []providers.ToolCall{call("call_r1_1_0", "a", `{"n":1}`), call("call_r1_1_1", "a", `{"n":2}`)}},
		{"whole, same index, own ids", []string{
			`{"tool_calls":[{"index":0,"id":"x","function":{"name":"a","arguments":"{}"}}]}`,
			`{"tool_calls":[{"index":0,"id":"y","function":{"name":"b","arguments":"{}"}}]}`,
		}, []providers.ToolCall{call("x", "a", `{}`), call("y", "b", `{}`)}},
		{"whole, same index, no ids", []string{
			`{"tool_calls":[{"index":0,"function":{"name":"a","arguments":"{}"}}]}`, `{"tool_calls":[{"index":0,"function":{"name":"b","arguments":"{}"}}]}`,
		}, []providers.ToolCall{call("call_r1_1_0", "a", `{}`), call("call_r1_1_1", "b", `{}`)}},
		{"without index", []string{
			`{"tool_calls":[{"id":"x","function":{"name":"a","arguments":"{\"k\":"}}]}`, `{"tool_calls":[{"function":{"arguments":"1}"}}]}`,
			`{"tool_calls":[{"function":{"name":"b"}}]}`,
		}, []providers.ToolCall{call("x", "a", `{"k":1}`), call("call_r1_1_1", "b", `{}`)}},
		{"arguments as an object", []string{
			`{"tool_calls":[{"index":0,"id":"x","function":{"name":"a","arguments":{"k":[1,2]}}}]}`,
		}, []providers.ToolCall{call("x", "a", `{"k":[1,2]}`)}},
		{"id and name in every chunk", []string{
			`{"tool_calls":[{"index":0,"id":"x","function":{"name":"a","arguments":"{\"k\""}}]}`,
			`{"tool_calls":[{"index":0,"id":"x","function":{"name":"a","arguments":":1}"}}]}`,
		}, []providers.ToolCall{call("x", "a", `{"k":1}`)}},
		{"name after the arguments", []string{
			`{"tool_calls":[{"index":0,"id":"x","function":{"arguments":"{\"k\":1"}}]}`, `{"tool_calls":[{"index":0,"function":{"name":"a","arguments":"}"}}]}`,
		}, []providers.ToolCall{call("x", "a", `{"k":1}`)}},
		{"an id of its own for each piece", []string{
			`{"tool_calls":[{"index":0,"id":"x","function":{"name":"a","arguments":""}}]}`, `{"tool_calls":[{"index":0,"id":"x2","function":{"arguments":"{\"k\":"}}]}`,
			`{"tool_calls":[{"index":1,"id":"y","function":{"name":"b"}}]}`, `{"tool_calls":[{"index":0,"id":"x3","function":{"arguments":"1}"}},{"index":1,"id":"y2","function":{"arguments":"{}"}}]}`,
		}, []providers.ToolCall{call("x", "a", `{"k":1}`), call("y", "b", `{}`)}},
		{"pieces by id at one index", []string{
			`{"tool_calls":[{"index":0,"id":"x","function":{"name":"a"}}]}`, `{"tool_calls":[{"index":0,"id":"y","function":{"name":"b"}}]}`,
			`{"tool_calls":[{"index":0,"id":"x","function":{"arguments":"{\"k\":1}"}}]}`, `{"tool_calls":[{"index":0,"id":"y","function":{"arguments":"{\"k\":2}"}}]}`,
		}, []providers.ToolCall{call("x", "a", `{"k":1}`), call("y", "b", `{"k":2}`)}},
		{"null members", []string{
			`{"role":"assistant","content":null,"reasoning":null,"tool_calls":null,"refusal":null}`,
			`{"tool_calls":[{"index":0,"id":"x","type":"function","function":{"name":"a","arguments":null}}]}`,
		}, []providers.ToolCall{call("x", "a", `{}`)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, m := fake(t, providers.ModelInfo{}, chunks("stop", test.deltas...))
			msg, events := run(t, m, hello())
			if diff := cmp.Diff(test.want, msg.ToolCalls()); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if msg.StopReason != providers.StopTools {
				t.Errorf("stop = %q", msg.StopReason)
			}
			open := map[string]bool{}
			for _, ev := range events {
				switch ev := ev.(type) {
				case providers.ToolCallStart:
					open[ev.ID] = true
				case providers.ToolCallDelta:
					if !open[ev.ID] {
						t.Errorf("a piece of %s before its start", ev.ID)
					}
				}
			}
		})
	}
}

func TestModel_RepeatedIDs(t *testing.T) {
	delta := `{"tool_calls":[{"index":0,"id":"0","function":{"name":"a","arguments":"{}"}}]}`
	_, m := fake(t, providers.ModelInfo{}, chunks("tool_calls", delta), chunks("tool_calls", delta))
	req := hello()
	first, _ := run(t, m, req)
	req.Messages = append(req.Messages, first, providertest.ResultOf(first.ToolCalls()[0], "x"))
	second, _ := run(t, m, req)
	if a, b := first.ToolCalls()[0].ID, second.ToolCalls()[0].ID; a != "0" || a == b {
		t.Errorf("ids %q and %q", a, b)
	}
}

func TestModel_TextOfOtherServers(t *testing.T) {
	for _, test := range []struct {
		step   providertest.Step
		finish providers.StopReason
		parts  []providers.Part
	}{
		{chunks("eos", `{"content":[{"type":"text","text":"a"},{"type":"x","text":"-"},{"type":"text","text":"b"}]}`), providers.StopEnd, []providers.Part{providers.Text{Text: "ab"}}},
		{chunks("stop", `{"reasoning":"r"}`, `{"content":"t"}`, `{"reasoning":"s"}`), providers.StopEnd, []providers.Part{
			providers.Thinking{Text: "r", Field: "reasoning"}, providers.Text{Text: "t"}, providers.Thinking{Text: "s", Field: "reasoning"},
		}},
		{chunks("stop", `{"reasoning":"r","reasoning_content":"r","content":""}`), providers.StopEnd, []providers.Part{providers.Thinking{Text: "r", Field: "reasoning_content"}}},
		{chunks("stop", `{"reasoning_text":"r"}`), providers.StopEnd, []providers.Part{providers.Thinking{Text: "r", Field: "reasoning_text"}}},
		{chunks("stop", `{"reasoning":null,"reasoning_details":[{"type":"reasoning.text","text":"r"},{"type":"reasoning.summary","summary":"s"}]}`), providers.StopEnd, []providers.Part{providers.Thinking{Text: "rs", Field: "reasoning"}}},
		{chunks("stop", `{"reasoning":"r","reasoning_details":[{"text":"r"}]}`, `{"reasoning_details":{}}`), providers.StopEnd, []providers.Part{providers.Thinking{Text: "r", Field: "reasoning"}}},
		{chunks("stop", `{"content":[{"type":"thinking","thinking":[{"type":"text","text":"r"}]}]}`, `{"content":"t"}`), providers.StopEnd, []providers.Part{providers.Thinking{Text: "r", Field: "reasoning_content"}, providers.Text{Text: "t"}}},
		{chunks("stop", `{"refusal":"no"}`), providers.StopRefusal, []providers.Part{providers.Text{Text: "no"}}},
		{chunks("content_filter", `{"content":"x"}`), providers.StopRefusal, []providers.Part{providers.Text{Text: "x"}}},
		{chunks("length", `{"content":"x"}`), providers.StopLength, []providers.Part{providers.Text{Text: "x"}}},
		// No [DONE].
		{providertest.Step{providertest.Raw(`data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}` + "\n\n"), providertest.Quit()}, providers.StopEnd, []providers.Part{providers.Text{Text: "x"}}},
		// No finish reason.
		{providertest.Step{providertest.Raw(`data: {"choices":[{"index":0,"delta":{"content":"x"}}]}` + "\n\ndata: [DONE]\n\n")}, providers.StopEnd, []providers.Part{providers.Text{Text: "x"}}},
		// Not a stream.
		{providertest.Step{providertest.Status(200, `{"id":"r","choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}]}`, nil)}, providers.StopEnd, []providers.Part{providers.Text{Text: "x"}}},
		// The whole message after its deltas.
		{providertest.Step{providertest.Raw(`data: {"choices":[{"index":0,"delta":{"content":"x"}}]}` + "\n\n" +
			`data: {"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"x","reasoning_content":"r"}}]}` + "\n\ndata: [DONE]\n\n")}, providers.StopEnd, []providers.Part{providers.Text{Text: "x"}}},
		// Messages instead of deltas.
		{providertest.Step{providertest.Raw(`data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""},"message":{"content":"x"}}]}` + "\n\n" +
			`data: {"choices":[{"index":0,"finish_reason":"stop","message":{"content":"y"}}]}` + "\n\ndata: [DONE]\n\n")}, providers.StopEnd, []providers.Part{providers.Text{Text: "xy"}}},
		{chunks("model_length", `{"content":"x"}`), providers.StopLength, []providers.Part{providers.Text{Text: "x"}}},
		{chunks("model_context_window_exceeded", `{"content":"x"}`), providers.StopLength, []providers.Part{providers.Text{Text: "x"}}},
		{chunks("sensitive", `{"content":"x"}`), providers.StopRefusal, []providers.Part{providers.Text{Text: "x"}}},
		// A second choice, which was not requested.
		{providertest.Step{providertest.Raw(`data: {"choices":[{"index":1,"delta":{"content":"y"}},{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n")}, providers.StopEnd, []providers.Part{providers.Text{Text: "x"}}},
	} {
		_, m := fake(t, providers.ModelInfo{}, test.step)
		msg, _ := run(t, m, hello())
		if diff := cmp.Diff(test.parts, msg.Parts); diff != "" || msg.StopReason != test.finish {
			t.Errorf("%v\nstop %q, parts (-want +got):\n%s", test.step, msg.StopReason, diff)
		}
	}
}

func TestModel_Usage(t *testing.T) {
	for usage, want := range map[string]providers.Usage{
		`{"prompt_tokens":10,"completion_tokens":5}`:                                                                             {Input: 10, Output: 5},
		`{"prompt_tokens":10,"completion_tokens":5,"prompt_cache_hit_tokens":4,"prompt_tokens_details":null}`:                    {Input: 6, CacheRead: 4, Output: 5},
		`{"prompt_tokens":3,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":7},"completion_tokens_details":null}`: {CacheRead: 7, Output: 5},
		// xAI counts reasoning separately, unlike other servers; cached tokens have Moonshot's name.
		`{"prompt_tokens":32,"completion_tokens":9,"total_tokens":135,"completion_tokens_details":{"reasoning_tokens":94}}`: {Input: 32, Output: 103, Thinking: 94},
		`{"prompt_tokens":32,"completion_tokens":9,"total_tokens":41,"completion_tokens_details":{"reasoning_tokens":4}}`:   {Input: 32, Output: 9, Thinking: 4},
		`{"prompt_tokens":1900,"completion_tokens":5,"cached_tokens":1800}`:                                                 {Input: 100, CacheRead: 1800, Output: 5},
	} {
		step := providertest.Step{providertest.Raw(`data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}],"usage":null}` +
			"\n\ndata: {\"choices\":[],\"usage\":" + usage + "}\n\ndata: [DONE]\n\n")}
		_, m := fake(t, providers.ModelInfo{}, step)
		if msg, _ := run(t, m, hello()); msg.Usage != want {
			t.Errorf("%s: %+v, want %+v", usage, msg.Usage, want)
		}
	}
}

// Moonshot reports the usage in the choice.
func TestModel_UsageOfAChoice(t *testing.T) {
	_, m := fake(t, providers.ModelInfo{}, providertest.Step{providertest.Raw(
		`data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop","usage":{"prompt_tokens":7,"completion_tokens":2}}]}` + "\n\ndata: [DONE]\n\n",
	)})
	if msg, _ := run(t, m, hello()); msg.Usage != (providers.Usage{Input: 7, Output: 2}) {
		t.Errorf("%+v", msg.Usage)
	}
}

// An answer with a finish reason is complete, even if the server never ends the stream.
func TestModel_NoEndAfterAnswer(t *testing.T) {
	gate := providertest.NewGate()
	defer gate.Open()
	server := providertest.NewServer(providertest.Step{providertest.Raw(`data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}` + "\n\n"), gate.Hold()})
	t.Cleanup(server.Close)
	m, err := openai.Open(providers.Config{Info: providers.ModelInfo{Provider: "local", ID: "m"}, BaseURL: server.OpenAIURL(), StallTimeout: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if msg, _ := run(t, m, hello()); msg.Text() != "x" || msg.StopReason != providers.StopEnd {
		t.Errorf("%+v", msg)
	}
}

func TestModel_ErrorsInTheStream(t *testing.T) {
	for event, want := range map[string]providers.ErrorKind{
		`data: {"error":{"message":"Provider returned error","code":429}}`:                                                            providers.KindRateLimit,
		`data: {"error":{"message":"x","code":"context_length_exceeded"}}`:                                                            providers.KindContextOverflow,
		`data: {"error":"CUDA out of memory"}`:                                                                                        providers.KindServer,
		"event: error\ndata: {\"code\":502,\"message\":\"bad gateway\"}":                                                              providers.KindServer,
		`data: {"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}` + "\n\ndata: [DONE]":                                     providers.KindServer,
		`data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"network_error"}]}` + "\n\ndata: [DONE]":                providers.KindServer,
		`data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"insufficient_system_resource"}]}` + "\n\ndata: [DONE]": providers.KindServer,
		`data: [DONE]`: providers.KindNetwork,
	} {
		_, m := fake(t, providers.ModelInfo{}, providertest.Step{providertest.Raw(event + "\n\n"), providertest.Quit()})
		_, _, err := stream(t, m, hello())
		if e, ok := errors.AsType[*providers.Error](err); !ok || e.Kind != want || e.Message == "" {
			t.Errorf("%s: err = %v, want %s", event, err, want)
		}
	}
}

func TestNew_BaseURL(t *testing.T) {
	if _, err := openai.Open(providers.Config{BaseURL: "no url"}); err == nil {
		t.Error("a base URL without a host is taken")
	}
}

func TestModel_ServiceTier(t *testing.T) {
	for _, test := range []struct {
		tiers []string
		ask   string
		want  string
	}{
		{[]string{"flex", "default"}, "flex", `"flex"`},
		{[]string{"flex", "default"}, "", ``},
		{[]string{"default"}, "flex", ``},
		{nil, "flex", ``},
		{nil, "", ``},
	} {
		server, m := fake(t, providers.ModelInfo{ServiceTiers: test.tiers}, providertest.Step{})
		req := hello()
		req.ServiceTier = test.ask
		run(t, m, req)
		if got := string(body(t, server, 0)["service_tier"]); got != test.want {
			t.Errorf("%q of %q: sent %s", test.ask, test.tiers, got)
		}
	}
}

// The proof of reasoning returns unchanged to the provider that OpenRouter used.
func TestModel_ReasoningDetails(t *testing.T) {
	deltas := []string{
		`{"reasoning":"I ","reasoning_details":[{"type":"reasoning.text","text":"I ","format":"anthropic-claude-v1","index":0}]}`,
		`{"reasoning":"see","reasoning_details":[{"type":"reasoning.text","text":"see","index":0}]}`,
		`{"reasoning_details":[{"type":"reasoning.text","signature":"sig","index":0},{"type":"reasoning.encrypted","data":"xyz","id":null,"index":1}]}`,
		`{"content":"t"}`, `{"reasoning":"!","tool_calls":[{"index":0,"id":"x","function":{"name":"a","arguments":"{}"}}]}`,
	}
	details := `[{"type":"reasoning.text","text":"I see","signature":"sig","format":"anthropic-claude-v1","index":0},{"type":"reasoning.encrypted","data":"xyz","id":null,"index":1}]`
	server, m := fake(t, providers.ModelInfo{}, chunks("stop", deltas...), chunks("stop", deltas[2]), providertest.Step{})
	req := hello()
	msg, _ := run(t, m, req)
	call := providers.ToolCall{ID: "x", Name: "a", Input: jsonx.Raw(`{}`)}
	want := []providers.Part{
		providers.Thinking{Text: "I see", Signature: details}, providers.Text{Text: "t"}, providers.Thinking{Text: "!"}, call,
	}
	if diff := cmp.Diff(want, msg.Parts); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	req.Messages = append(req.Messages, msg, providertest.ResultOf(call, "r"))
	// Even without any unencrypted text.
	hidden, _ := run(t, m, req)
	if len(hidden.Parts) != 1 || hidden.Parts[0].(providers.Thinking).Signature == "" {
		t.Errorf("parts = %+v", hidden.Parts)
	}
	run(t, m, req)
	sent := string(body(t, server, 2)["messages"])
	if !strings.Contains(sent, `"reasoning_details":`+details) || strings.Contains(sent, `"reasoning":`) {
		t.Errorf("messages = %s", sent)
	}
}
