package openai_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/openai"
	"github.com/gajae-code/gjc/providers/providertest"
)

// answered holds the request that a model sent, and the message and events that it returned.
type answered struct {
	request *http.Request
	body    string
	message providers.Message
	events  []providers.Event
	err     error
}

// respond opens a model with open, sends req, and answers with response, which is JSON or events.
func respond(t *testing.T, open providers.Factory, cfg providers.Config, req *providers.Request, response string) (got answered) {
	t.Helper()
	if cfg.Info.ID == "" {
		cfg.Info.Provider, cfg.Info.ID = "openai", "m"
	}
	cfg.HTTPClient = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		got.request = r
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		got.body = string(body)
		kind := "text/event-stream"
		if strings.HasPrefix(response, "{") {
			kind = "application/json"
		}
		return &http.Response{
			StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {kind}}, Request: r, Body: io.NopCloser(strings.NewReader(response)),
		}, nil
	})}
	m, err := open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	got.message, got.events, got.err = stream(t, m, req)
	return got
}

// sse returns a stream of events that are named by their types.
func sse(events ...string) string {
	var s strings.Builder
	for _, ev := range events {
		var kind string
		_ = jsonx.Unmarshal(jsonx.Lookup(jsonx.Raw(ev), "type"), &kind)
		s.WriteString("event: " + kind + "\ndata: " + ev + "\n\n")
	}
	return s.String()
}

const completed = `{"type":"response.completed","response":{"id":"resp_1","status":"completed","output":[],"usage":{"input_tokens":1,"output_tokens":2}}}`

// thinker is the configuration of a model that reasons.
func thinker() providers.Config {
	return providers.Config{Info: providers.ModelInfo{
		Provider: "openai", ID: "m", Images: true,
		Thinking: []providers.ThinkingLevel{providers.ThinkingLow, providers.ThinkingHigh},
	}}
}

// The whole body, with its members in order.
func TestResponses_Body(t *testing.T) {
	cfg := thinker()
	cfg.Info.ServiceTiers = []string{"flex"}
	cfg.CacheRetention = providers.CacheLong
	one := providers.ToolCall{ID: "call_1", Name: "a", Input: jsonx.Raw(`{"q": 1}`), Signature: "fc_1"}
	two := providers.ToolCall{ID: "call_2", Name: "a", Input: jsonx.Raw(`{"broken`), Signature: "fc_2"}
	shot := providertest.ResultOf(one, "")
	shot.Parts = []providers.Part{providers.Image{MIMEType: "image/png", Data: []byte("PNG")}}
	question := providertest.User("look")
	question.Parts = append(question.Parts, providers.Image{MIMEType: "image/png", Data: []byte("PNG")})
	foreign := providers.ToolCall{ID: "call|x", Name: "a", Input: jsonx.Raw(`{}`), Signature: "foreign"}
	own := func(parts ...providers.Part) providers.Message {
		return providers.Message{Role: providers.RoleAssistant, Provider: "openai", Model: "m", Parts: parts}
	}
	rs := func(id string) providers.Thinking {
		return providers.Thinking{Signature: `{"id":"` + id + `","type":"reasoning","summary":[],"encrypted_content":"x"}`}
	}
	req := &providers.Request{
		System: `"input":[]`, SessionID: "s", MaxTokens: 5, Thinking: providers.ThinkingHigh, ServiceTier: "flex", ForceTool: "a",
		Tools: []providers.Tool{{Name: "a", Description: "d", Schema: jsonx.Raw(`{"type":"object","properties":{},"required":[],"additionalProperties":false}`)}, {Name: "b", Schema: jsonx.Raw(`{"type":"object"}`)}},
		Messages: []providers.Message{
			providertest.User("hi"), question,
			own(rs("rs_1"), providers.Text{Text: "ok", Signature: "msg_1 commentary"}, rs("rs_2"), one, two),
			shot, providertest.ResultOf(two, "bad input"),
			// Incomplete: its text has no id, and nothing follows its reasoning.
			own(providers.Text{Text: "cut"}, rs("rs_3")),
			// Unencrypted.
			own(providers.Thinking{Text: `"why"`, Field: "content"}, providers.Thinking{Field: "content", Text: "so"}, providers.Text{Text: "plain", Signature: "msg_4"}),
			// An answer whose reasoning is lost, which makes the other ids useless.
			own(providers.Thinking{Text: "hm"}, providers.Text{Text: "lost", Signature: "msg_2"}),
			{Role: providers.RoleAssistant, Provider: "other", Model: "m", Parts: []providers.Part{rs("rs_4"), providers.Text{Text: "I", Signature: "msg_3"}, foreign}},
			providertest.ResultOf(foreign, "r"),
		},
	}
	const picture = `{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,UE5H"}`
	const id = "call_x_0000000000"
	want := `{"stream":true,"model":"m","instructions":"\"input\":[]","input":[` + strings.Join([]string{
		`{"type":"message","role":"user","content":"hi"}`,
		`{"type":"message","role":"user","content":[{"type":"input_text","text":"look"},` + picture + `]}`,
		`{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"x"}`,
		`{"type":"message","id":"msg_1","role":"assistant","status":"completed","phase":"commentary","content":[{"type":"output_text","text":"ok","annotations":[]}]}`,
		`{"id":"rs_2","type":"reasoning","summary":[],"encrypted_content":"x"}`,
		`{"type":"function_call","id":"fc_1","call_id":"call_1","name":"a","arguments":"{\"q\": 1}"}`,
		`{"type":"function_call","id":"fc_2","call_id":"call_2","name":"a","arguments":"{}"}`,
		`{"type":"function_call_output","call_id":"call_1","output":[{"type":"input_text","text":"The result is an image; it follows."},` + picture + `]}`,
		`{"type":"function_call_output","call_id":"call_2","output":"bad input"}`,
		`{"type":"message","role":"assistant","content":"cut"}`,
		`{"id":"rs_10","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"\"why\""}]}`,
		`{"id":"rs_11","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"so"}]}`,
		`{"type":"message","id":"msg_4","role":"assistant","status":"completed","content":[{"type":"output_text","text":"plain","annotations":[]}]}`,
		`{"type":"message","role":"assistant","content":"lost"}`,
		`{"type":"message","role":"assistant","content":"I"}`,
		`{"type":"function_call","call_id":"` + id + `","name":"a","arguments":"{}"}`,
		`{"type":"function_call_output","call_id":"` + id + `","output":"r"}`,
	}, ",") + `],"tools":[{"type":"function","name":"a","description":"d","parameters":{"type":"object","properties":{},"required":[],"additionalProperties":false},"strict":true},` +
		`{"type":"function","name":"b","parameters":{"type":"object"},"strict":false}],` +
		`"tool_choice":{"type":"function","name":"a"},"store":false,"include":["reasoning.encrypted_content"],` +
		`"reasoning":{"effort":"high","summary":"auto"},"max_output_tokens":16,"prompt_cache_key":"s","prompt_cache_retention":"24h","service_tier":"flex"}`
	got := respond(t, openai.OpenResponses, cfg, req, sse(completed))
	sent := jsonx.Lookup(jsonx.Raw(got.body), "input")
	if i := strings.Index(string(sent), "call_x_"); i > 0 {
		want = strings.ReplaceAll(want, id, string(sent[i:i+len(id)])) // the end of it is a hash
	}
	if diff := cmp.Diff(want, got.body); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}

func TestResponses_BodyForOthers(t *testing.T) {
	cfg := providers.Config{BaseURL: "http://localhost:1/v1", CacheRetention: providers.CacheLong, WireModel: "w"}
	req := hello()
	req.SessionID = "s"
	req.Thinking = providers.ThinkingHigh
	want := `{"stream":true,"model":"w","instructions":"sys","input":[{"type":"message","role":"user","content":"hi"}],"store":false,"x":1}`
	cfg.Compat.ExtraBody = map[string]jsonx.Raw{"x": jsonx.Raw("1"), "input": jsonx.Raw("[]")}
	if got := respond(t, openai.OpenResponses, cfg, req, sse(completed)); got.body != want {
		t.Errorf("body (-want +got):\n%s", cmp.Diff(want, got.body))
	}
	cfg.Compat.SupportsStore = new(false)
	if got := respond(t, openai.OpenResponses, cfg, req, sse(completed)); strings.Contains(got.body, "store") {
		t.Errorf("body = %s", got.body)
	}
}

func TestResponses_Effort(t *testing.T) {
	for _, test := range []struct {
		mode   providers.ThinkingMode
		compat providers.Compat
		level  providers.ThinkingLevel
		want   string
	}{
		{"", providers.Compat{}, "low", `{"effort":"low","summary":"auto"}`},
		{"", providers.Compat{}, "off", ``},
		{"effort-none", providers.Compat{}, "", `{"effort":"none"}`},
		{"effort-always", providers.Compat{}, "off", `{"effort":"low","summary":"auto"}`},
		{"", providers.Compat{ReasoningEffortMap: map[providers.ThinkingLevel]string{"high": "max"}}, "xhigh", `{"effort":"max","summary":"auto"}`},
		{"", providers.Compat{SupportsReasoningEffort: new(false)}, "low", ``},
	} {
		cfg := thinker()
		cfg.Info.ThinkingMode, cfg.Compat = test.mode, test.compat
		req := hello()
		req.Thinking = test.level
		got := respond(t, openai.OpenResponses, cfg, req, sse(completed))
		if got := string(jsonx.Lookup(jsonx.Raw(got.body), "reasoning")); got != test.want {
			t.Errorf("%v: reasoning = %s", test, got)
		}
	}
}

func TestResponses_Address(t *testing.T) {
	for _, test := range []struct {
		open       providers.Factory
		base, want string
	}{
		{openai.OpenResponses, "", "https://api.openai.com/v1/responses"},
		{openai.OpenResponses, "http://h:1/v1/", "http://h:1/v1/responses"},
		{openai.OpenAzure, "https://r.openai.azure.com", "https://r.openai.azure.com/openai/v1/responses"},
		{openai.OpenAzure, "https://r.openai.azure.com/openai/", "https://r.openai.azure.com/openai/v1/responses"},
		{openai.OpenAzure, "https://r.openai.azure.com/openai/v1", "https://r.openai.azure.com/openai/v1/responses"},
		{openai.OpenAzure, "https://r.openai.azure.com/openai/v1/responses", "https://r.openai.azure.com/openai/v1/responses"},
		{openai.OpenAzure, "https://r.openai.azure.com?api-version=v1", "https://r.openai.azure.com/openai/v1/responses"},
		{openai.OpenAzure, "https://r.openai.azure.com/?api-version=preview", "https://r.openai.azure.com/openai/v1/responses?api-version=preview"},
		{openai.OpenAzure, "https://r.openai.azure.com/?api-version=2025-04-01-preview", "https://r.openai.azure.com/openai/responses?api-version=2025-04-01-preview"},
		{openai.OpenAzure, "https://r.openai.azure.com/openai?api-version=2025-04-01-preview", "https://r.openai.azure.com/openai/responses?api-version=2025-04-01-preview"},
		{openai.OpenAzure, "https://gateway.test/team/azure", "https://gateway.test/team/azure/responses"},
	} {
		got := respond(t, test.open, providers.Config{BaseURL: test.base}, hello(), sse(completed))
		if got.err != nil || got.request.URL.String() != test.want {
			t.Errorf("%q: %s, want %s (%v)", test.base, got.request.URL, test.want, got.err)
		}
	}
	if _, err := openai.OpenAzure(providers.Config{}); err == nil || !strings.Contains(err.Error(), "base URL") {
		t.Errorf("Azure without a base URL: %v", err)
	}
}

func TestAzure_Headers(t *testing.T) {
	cfg := providers.Config{BaseURL: "https://r.openai.azure.com", APIKey: "k", WireModel: "prod"}
	got := respond(t, openai.OpenAzure, cfg, hello(), sse(completed))
	if h := got.request.Header; h.Get("Api-Key") != "k" || h.Get("Authorization") != "" || !strings.Contains(got.body, `"model":"prod"`) {
		t.Errorf("headers %v, body %s", h, got.body)
	}
	if got.message.API != openai.APIAzure || got.message.Model != "m" {
		t.Errorf("the message comes from %s %s", got.message.API, got.message.Model)
	}
	cfg.AuthHeader = true
	if h := respond(t, openai.OpenAzure, cfg, hello(), sse(completed)).request.Header; h.Get("Api-Key") != "" || h.Get("Authorization") != "Bearer k" {
		t.Errorf("headers %v", h)
	}
}

// Streams from OpenAI's documentation.
func TestResponses_Recorded(t *testing.T) {
	call := func(input string) providers.ToolCall {
		return providers.ToolCall{ID: "call_w", Name: "get_weather", Input: jsonx.Raw(input), Signature: "fc_w"}
	}
	read := func(name string) string {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for _, test := range []struct {
		name  string
		stop  providers.StopReason
		usage providers.Usage
		parts []providers.Part
	}{
		{"responses_text.txt", providers.StopEnd, providers.Usage{Input: 37, Output: 11}, []providers.Part{
			providers.Text{Text: "Hi there!", Signature: "msg_67c9fdcf"},
		}},
		{"responses_call.txt", providers.StopTools, providers.Usage{Input: 291, Output: 23}, []providers.Part{call(`{"location":"Paris, France"}`)}},
		{"responses_reasoning.txt", providers.StopTools, providers.Usage{Input: 57, CacheRead: 24, Output: 87, Thinking: 64}, []providers.Part{
			providers.Thinking{
				Text:      "**Looking**\n\nThe user wants the weather.\n\n**Deciding**\n\nI call the tool.",
				Signature: `{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"**Looking**\n\nThe user wants the weather."},{"type":"summary_text","text":"**Deciding**\n\nI call the tool."}],"encrypted_content":"gAAA="}`,
			},
			providers.Text{Text: "I look it up.", Signature: "msg_1 commentary"},
			call(`{"location":"Paris, France"}`),
		}},
		{"responses_refusal.txt", providers.StopRefusal, providers.Usage{Input: 8, Output: 4}, []providers.Part{
			providers.Text{Text: "I can't help with that.", Signature: "msg_1"},
		}},
	} {
		got := respond(t, openai.OpenResponses, thinker(), hello(), read(test.name))
		if got.err != nil {
			t.Errorf("%s: %v", test.name, got.err)
			continue
		}
		if diff := cmp.Diff(test.parts, got.message.Parts); diff != "" || got.message.StopReason != test.stop || got.message.Usage != test.usage {
			t.Errorf("%s: stop %s, usage %+v, parts (-want +got):\n%s", test.name, got.message.StopReason, got.message.Usage, diff)
		}
	}
}

// Variants of other servers, and OpenAI's errors.
func TestResponses_OtherStreams(t *testing.T) {
	const (
		added = `{"type":"response.output_item.added","output_index":0,"item":{"id":"fc_1","type":"function_call","call_id":"c","name":"a","arguments":""}}`
		item  = `{"id":"fc_1","type":"function_call","call_id":"c","name":"a","arguments":"{\"k\":1}"}`
	)
	call := providers.ToolCall{ID: "c", Name: "a", Input: jsonx.Raw(`{"k":1}`), Signature: "fc_1"}
	end := func(status, details string) string {
		return `{"type":"response.` + status + `","response":{"id":"r","status":"` + status + `","incomplete_details":` + details + `,"output":[]}}`
	}
	text := `{"type":"response.output_text.delta","item_id":"m1","delta":"x"}`
	for _, test := range []struct {
		name, body string
		stop       providers.StopReason
		parts      []providers.Part
	}{
		{"input only in .done", sse(added, `{"type":"response.function_call_arguments.done","item_id":"fc_1","arguments":"{\"k\":1}"}`, completed), providers.StopTools, []providers.Part{call}},
		{"the rest of the input in .done", sse(added, `{"type":"response.function_call_arguments.delta","item_id":"fc_1","delta":"{\"k\""}`, `{"type":"response.function_call_arguments.done","item_id":"fc_1","arguments":"{\"k\":1}"}`, completed), providers.StopTools, []providers.Part{call}},
		{"input only in the item", sse(added, `{"type":"response.output_item.done","output_index":0,"item":`+item+`}`, completed), providers.StopTools, []providers.Part{call}},
		{"no begin of the item", sse(`{"type":"response.output_item.done","output_index":0,"item":`+item+`}`, completed), providers.StopTools, []providers.Part{call}},
		{"everything at the end", sse(`{"type":"response.completed","response":{"id":"r","status":"completed","output":[` + item + `]}}`), providers.StopTools, []providers.Part{call}},
		{
			"no stream", `{"id":"r","object":"response","status":"completed","error":null,"output":[{"id":"m1","type":"message","content":[{"type":"output_text","text":"x"}]},` + item + `]}`,
			providers.StopTools,
			[]providers.Part{providers.Text{Text: "x", Signature: "m1"}, call},
		},
		{
			"two calls at once, without ids of items", sse(
				`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"c","name":"a"}}`,
				`{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","call_id":"d","name":"b"}}`,
				`{"type":"response.function_call_arguments.delta","output_index":1,"delta":"{}"}`,
				`{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"k\":1}"}`, completed,
			),
			providers.StopTools,
			[]providers.Part{providers.ToolCall{ID: "c", Name: "a", Input: jsonx.Raw(`{"k":1}`)}, providers.ToolCall{ID: "d", Name: "b", Input: jsonx.Raw(`{}`)}},
		},
		{
			"a call without an id, and one that has the same", sse(
				`{"type":"response.created","response":{"id":"r7"}}`,
				`{"type":"response.output_item.done","output_index":0,"item":{"id":"1","type":"function_call","call_id":"","name":"a","arguments":"{}"}}`,
				`{"type":"response.output_item.done","output_index":1,"item":{"id":"2","type":"function_call","call_id":"c","name":"a","arguments":"{}"}}`,
				`{"type":"response.output_item.done","output_index":2,"item":{"id":"3","type":"function_call","call_id":"c","name":"a","arguments":"{}"}}`, completed,
			),
			providers.StopTools,
			[]providers.Part{
				providers.ToolCall{ID: "call_r7_1_0", Name: "a", Input: jsonx.Raw(`{}`), Signature: "1"},
				providers.ToolCall{ID: "c", Name: "a", Input: jsonx.Raw(`{}`), Signature: "2"},
				providers.ToolCall{ID: "c_1_2", Name: "a", Input: jsonx.Raw(`{}`), Signature: "3"},
			},
		},
		{
			"reasoning in the clear", sse(
				`{"type":"response.reasoning_text.delta","item_id":"rs","delta":"hm"}`,
				`{"type":"response.output_item.done","item":{"id":"rs","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]}}`, text, completed,
			),
			providers.StopEnd,
			[]providers.Part{
				providers.Thinking{Text: "hm", Field: "content"},
				providers.Text{Text: "x"},
			},
		},
		{
			"hidden reasoning, twice", sse(
				`{"type":"response.output_item.done","output_index":0,"item":{"id":"rs1","type":"reasoning","summary":[],"encrypted_content":"a"}}`,
				`{"type":"response.output_item.done","output_index":1,"item":{"id":"rs2","type":"reasoning","summary":[],"encrypted_content":"b"}}`, text, completed,
			),
			providers.StopEnd,
			[]providers.Part{
				providers.Thinking{Signature: `{"id":"rs1","type":"reasoning","summary":[],"encrypted_content":"a"}`},
				providers.Thinking{Signature: `{"id":"rs2","type":"reasoning","summary":[],"encrypted_content":"b"}`},
				providers.Text{Text: "x"},
			},
		},
		{"reasoning that is lost", sse(`{"type":"response.output_item.done","item":{"id":"rs","type":"reasoning","summary":[]}}`, text, completed), providers.StopEnd, []providers.Part{providers.Text{Text: "x"}}},
		{"other ids at the end", sse(text, `{"type":"response.completed","response":{"status":"completed","output":[{"id":"m9","type":"message","content":[{"text":"x"}]}]}}`), providers.StopEnd, []providers.Part{providers.Text{Text: "x"}}},
		{"new events and items", sse(`{"type":"response.novelty","delta":"y"}`, `{"type":"response.output_item.added","item":{"type":"web_search_call","arguments":{"a":1}}}`, text, completed), providers.StopEnd, []providers.Part{providers.Text{Text: "x"}}},
		{"no names of events", strings.ReplaceAll("data: "+text+"\n\ndata: "+completed+"\n\n", "event: ", ""), providers.StopEnd, []providers.Part{providers.Text{Text: "x"}}},
		{"cut at the limit", sse(text, end("incomplete", `{"reason":"max_output_tokens"}`)), providers.StopLength, []providers.Part{providers.Text{Text: "x"}}},
		{"filtered", sse(text, end("incomplete", `{"reason":"content_filter"}`)), providers.StopRefusal, []providers.Part{providers.Text{Text: "x"}}},
		{"incomplete without a reason", sse(text, end("incomplete", `null`)), providers.StopLength, []providers.Part{providers.Text{Text: "x"}}},
	} {
		got := respond(t, openai.OpenResponses, providers.Config{}, hello(), test.body)
		if got.err != nil {
			t.Errorf("%s: %v", test.name, got.err)
			continue
		}
		if diff := cmp.Diff(test.parts, got.message.Parts); diff != "" || got.message.StopReason != test.stop {
			t.Errorf("%s: stop %s, parts (-want +got):\n%s", test.name, got.message.StopReason, diff)
		}
	}
}

func TestResponses_Errors(t *testing.T) {
	failed := func(error string) string {
		return sse(`{"type":"response.failed","response":{"id":"r","status":"failed","error":` + error + `,"output":[]}}`)
	}
	for body, want := range map[string]providers.ErrorKind{
		failed(`{"code":"server_error","message":"x"}`):            providers.KindServer,
		failed(`{"code":"rate_limit_exceeded","message":"x"}`):     providers.KindRateLimit,
		failed(`{"code":"invalid_prompt","message":"x"}`):          providers.KindInvalid,
		failed(`{"code":"context_length_exceeded","message":"x"}`): providers.KindContextOverflow,
		failed(`{"code":"insufficient_quota","message":"x"}`):      providers.KindQuota,
		failed(`null`): providers.KindServer,
		sse(`{"type":"error","code":"slow_down","message":"x","param":null}`):               providers.KindOverloaded,
		sse(`{"type":"error","error":{"type":"x","code":"model_not_found","message":"x"}}`): providers.KindModel,
		sse(`{"type":"response.completed"}`):                                                providers.KindProtocol,
		sse(`{"type":"response.output_item.done","item":{"type":"message","content":7}}`):   providers.KindProtocol,
		"data: {}\n\n":     providers.KindProtocol,
		"data: [DONE]\n\n": providers.KindNetwork,
		`{"object":"response","status":"failed","error":{"code":"server_error","message":"x"}}`: providers.KindServer,
		`{"error":{"message":"x","code":"insufficient_quota"}}`:                                 providers.KindQuota,
	} {
		got := respond(t, openai.OpenResponses, providers.Config{}, hello(), body)
		if e, ok := errors.AsType[*providers.Error](got.err); !ok || e.Kind != want || e.Message == "" {
			t.Errorf("%s: err = %v, want %s", body, got.err, want)
		}
	}
}

// An event of an unknown type may have any form.
func TestResponses_NewEvents(t *testing.T) {
	got := respond(t, openai.OpenResponses, providers.Config{}, hello(), sse(
		`{"type":"response.reasoning_summary.delta","delta":{"text":"This"},"item":7}`,
		`{"type":"response.completed","response":{"id":"r","status":"completed","output":[{"type":"message","id":"m","content":[{"type":"output_text","text":"x"}]}]}}`,
	))
	if got.err != nil || got.message.Text() != "x" {
		t.Errorf("%+v, %v", got.message, got.err)
	}
}

// Processing of an event with several parts stops when the caller stops the iteration.
func TestModel_CancelledWithinAnEvent(t *testing.T) {
	const calls = `[{"index":0,"id":"a","function":{"name":"a","arguments":"{}"}},{"index":1,"id":"b","function":{"name":"b","arguments":"{}"}}]`
	const item = `{"type":"function_call","call_id":"c","name":"a","arguments":"{\"k\":1}"}`
	for name, test := range map[string]struct {
		open providers.Factory
		body string
	}{
		"completions": {openai.Open, `{"choices":[{"message":{"tool_calls":` + calls + `},"finish_reason":"stop"}]}`},
		"responses":   {openai.OpenResponses, `{"object":"response","output":[` + item + `,` + item + `]}`},
	} {
		t.Run(name, func(t *testing.T) {
			cause := errors.New("the user cancelled")
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			m, err := test.open(providers.Config{HTTPClient: &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
				return &http.Response{
					StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r, Body: io.NopCloser(strings.NewReader(test.body)),
				}, nil
			})}})
			if err != nil {
				t.Fatal(err)
			}
			events := 0
			for _, e := range m.Stream(ctx, hello()) {
				if err = e; err == nil {
					events++
					cancel(cause)
				}
			}
			if events != 1 || !errors.Is(err, cause) {
				t.Errorf("%d events, err %v", events, err)
			}
		})
	}
}

// A response in the format of another API is not a network error.
func TestModel_OtherAnswers(t *testing.T) {
	for _, body := range []string{"Hello, world\n", `{"hello":1}`, "# a\n\nb: c\n"} {
		got := respond(t, openai.Open, providers.Config{}, hello(), body)
		if e, ok := errors.AsType[*providers.Error](got.err); !ok || e.Kind != providers.KindInvalid || !strings.Contains(e.Message, "check the base URL") {
			t.Errorf("%q: err = %v", body, got.err)
		}
	}
	got := respond(t, openai.Open, providers.Config{}, hello(), ": processing\n\n")
	if e, ok := errors.AsType[*providers.Error](got.err); !ok || e.Kind != providers.KindNetwork {
		t.Errorf("a stream that was cut off: err = %v", got.err)
	}
	got = respond(t, openai.Open, providers.Config{}, hello(), `{"choices":[{"message":{"content":"all"}}]}`)
	if got.err != nil || got.message.Text() != "all" {
		t.Errorf("an answer that comes whole, without a reason to end: %q, err = %v", got.message.Text(), got.err)
	}
}
