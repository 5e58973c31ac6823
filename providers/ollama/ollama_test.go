package ollama_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/ollama"
	"github.com/gajae-code/gjc/providers/providertest"
)

var target = providertest.Target{Open: ollama.Open, Format: providertest.OllamaChat()}

// answered holds the request that a model sent, and the message or error that it returned.
type answered struct {
	url     string
	header  http.Header
	body    string
	message providers.Message
	err     error
}

// respond makes a model ask req and answers with the lines of response.
func respond(t *testing.T, cfg providers.Config, req *providers.Request, response string) (got answered) {
	t.Helper()
	if cfg.Info.ID == "" {
		cfg.Info.Provider, cfg.Info.ID = "ollama", "m"
	}
	cfg.HTTPClient = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		got.url, got.header = r.URL.String(), r.Header
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		got.body = string(body)
		return &http.Response{
			StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/x-ndjson"}}, Request: r,
			Body: io.NopCloser(strings.NewReader(response)),
		}, nil
	})}
	m, err := ollama.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for ev, err := range m.Stream(t.Context(), req) {
		got.err = err
		if done, ok := ev.(providers.Done); ok {
			got.message = done.Message
		}
	}
	return got
}

type transport func(*http.Request) (*http.Response, error)

func (fn transport) RoundTrip(r *http.Request) (*http.Response, error) { return fn(r) }

func hello() *providers.Request {
	return &providers.Request{System: "sys", Messages: []providers.Message{providertest.User("hi")}}
}

const end = `{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}` + "\n"

// The whole body, with its members in order.
func TestModel_Body(t *testing.T) {
	cfg := providers.Config{WireModel: "w", Info: providers.ModelInfo{
		Provider: "ollama", ID: "m", Images: true, ContextWindow: 32768, MaxOutput: 100,
		Thinking: []providers.ThinkingLevel{providers.ThinkingLow, providers.ThinkingHigh},
	}}
	cfg.Compat.ExtraBody = map[string]jsonx.Raw{"keep_alive": jsonx.Raw(`"1h"`), "messages": jsonx.Raw("[]")}
	one := providers.ToolCall{ID: "c1", Name: "a", Input: jsonx.Raw(`{"q":1}`)}
	two := providers.ToolCall{ID: "c2", Name: "b", Input: jsonx.Raw(`{"broken`)}
	shot := providertest.ResultOf(one, "")
	shot.Parts = []providers.Part{providers.Image{MIMEType: "image/png", Data: []byte("PNG")}}
	question := providertest.User("look")
	question.Parts = append(question.Parts, providers.Image{MIMEType: "image/png", Data: []byte("PNG")})
	req := &providers.Request{
		System: "sys", MaxTokens: 500, Thinking: providers.ThinkingHigh, ForceTool: "a",
		Tools: []providers.Tool{{Name: "a", Description: "d", Schema: jsonx.Raw(`{"type":"object"}`)}, {Name: "b"}},
		Messages: []providers.Message{
			question,
			{Role: providers.RoleAssistant, Provider: "ollama", Model: "m", Parts: []providers.Part{providers.Thinking{Text: "hm"}, providers.Text{Text: "ok"}, one, two}},
			shot, providertest.ResultOf(two, ""),
			{Role: providers.RoleAssistant, Provider: "ollama", Model: "m", Parts: []providers.Part{providers.Thinking{Text: "nothing"}}},
			providertest.User("go on"),
		},
	}
	want := `{"model":"w","messages":[{"role":"system","content":"sys"},{"role":"user","content":"look","images":["UE5H"]},` +
		`{"role":"assistant","content":"ok","thinking":"hm","tool_calls":[{"id":"c1","function":{"name":"a","arguments":{"q":1}}},{"id":"c2","function":{"name":"b","arguments":{}}}]},` +
		`{"role":"tool","content":"The result is an image; it follows.","tool_name":"a","tool_call_id":"c1"},` +
		`{"role":"tool","content":"(no output)","tool_name":"b","tool_call_id":"c2"},` +
		`{"role":"user","content":"Images from the result of a.","images":["UE5H"]},{"role":"user","content":"go on"}],` +
		`"tools":[{"type":"function","function":{"name":"a","description":"d","parameters":{"type":"object"}}},` +
		`{"type":"function","function":{"name":"b","parameters":{"type":"object","properties":{}}}}],` +
		`"stream":true,"think":true,"truncate":false,"shift":false,"options":{"num_ctx":32768,"num_predict":100},"keep_alive":"1h"}`
	if got := respond(t, cfg, req, end); got.body != want {
		t.Errorf("body (-want +got):\n%s", cmp.Diff(want, got.body))
	}
	want = `{"model":"m","messages":[{"role":"system","content":"sys"},{"role":"user","content":"hi"}],"stream":true,"truncate":false,"shift":false}`
	if got := respond(t, providers.Config{}, hello(), end); got.body != want {
		t.Errorf("body (-want +got):\n%s", cmp.Diff(want, got.body))
	}
}

func TestModel_Think(t *testing.T) {
	levels := []providers.ThinkingLevel{providers.ThinkingLow, providers.ThinkingMedium, providers.ThinkingXHigh}
	for _, test := range []struct {
		model  string
		levels []providers.ThinkingLevel
		mode   providers.ThinkingMode
		words  map[providers.ThinkingLevel]string
		level  providers.ThinkingLevel
		want   string
	}{
		{"qwen3:8b", levels, "", nil, "low", "true"},
		{"qwen3:8b", levels, "", nil, "off", "false"},
		{"qwen3:8b", nil, "", nil, "low", ""},
		{"qwq", levels, providers.ThinkingEffortAlways, nil, "off", "true"},
		{"gpt-oss:20b", levels, "", nil, "off", `"low"`},
		{"gpt-oss:20b", levels, "", nil, "medium", `"medium"`},
		{"library/GPT-OSS", levels, "", nil, "max", `"high"`},
		{"other", levels, "", map[providers.ThinkingLevel]string{"xhigh": "max"}, "xhigh", `"max"`},
	} {
		cfg := providers.Config{Info: providers.ModelInfo{Provider: "ollama", ID: test.model, Thinking: test.levels, ThinkingMode: test.mode}}
		cfg.Compat.ReasoningEffortMap = test.words
		req := hello()
		req.Thinking = test.level
		got := respond(t, cfg, req, end)
		if got := string(jsonx.Lookup(jsonx.Raw(got.body), "think")); got != test.want {
			t.Errorf("%s %s: think = %s, want %s", test.model, test.level, got, test.want)
		}
	}
}

func TestModel_Address(t *testing.T) {
	for base, want := range map[string]string{
		"":                          "http://127.0.0.1:11434/api/chat",
		"http://h:1":                "http://h:1/api/chat",
		"http://h:1/":               "http://h:1/api/chat",
		"http://h:1/v1/":            "http://h:1/api/chat",
		"http://h:1/api":            "http://h:1/api/chat",
		"https://h/proxy/ollama/v1": "https://h/proxy/ollama/api/chat",
	} {
		if got := respond(t, providers.Config{BaseURL: base}, hello(), end); got.url != want {
			t.Errorf("%q: %s, want %s", base, got.url, want)
		}
	}
	if _, err := ollama.Open(providers.Config{BaseURL: "no url"}); err == nil {
		t.Error("a base URL without a host is taken")
	}
	got := respond(t, providers.Config{APIKey: "k", Headers: map[string]string{"X-A": "b"}}, hello(), end)
	if got.header.Get("Authorization") != "Bearer k" || got.header.Get("X-A") != "b" {
		t.Errorf("headers = %v", got.header)
	}
}

func TestModel_Answers(t *testing.T) {
	call := func(id, name, input string) providers.ToolCall {
		return providers.ToolCall{ID: id, Name: name, Input: jsonx.Raw(input)}
	}
	for _, test := range []struct {
		name, body string
		stop       providers.StopReason
		parts      []providers.Part
	}{
		{
			// The form in Ollama's documentation.
			"recorded", `{"model":"llama3.2","created_at":"2025-07-07T20:22:19.184789Z","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"get_weather","arguments":{"city":"Tokyo"}}}]},"done":false}
{"model":"llama3.2","created_at":"2025-07-07T20:22:19.19314Z","message":{"role":"assistant","content":""},"done_reason":"stop","done":true,"total_duration":182242375,"load_duration":41295167,"prompt_eval_count":169,"prompt_eval_duration":24573166,"eval_count":15,"eval_duration":115959084}
`, providers.StopTools, []providers.Part{call("call_ollama_1_0", "get_weather", `{"city":"Tokyo"}`)},
		},
		{
			"calls without ids", `{"message":{"tool_calls":[{"function":{"name":"a","arguments":{}}},{"function":{"name":"a","arguments":null}}]}}` + "\n" + end,
			providers.StopTools,
			[]providers.Part{call("call_ollama_1_0", "a", "{}"), call("call_ollama_1_1", "a", "{}")},
		},
		{
			"calls with the same id", `{"message":{"tool_calls":[{"id":"0","function":{"name":"a"}},{"id":"0","function":{"name":"a"}}]}}` + "\n" + end,
			providers.StopTools,
			[]providers.Part{call("0", "a", "{}"), call("0_1_1", "a", "{}")},
		},
		{"input in a string", `{"message":{"tool_calls":[{"id":"x","function":{"name":"a","arguments":"{\"b\":1}"}}]}}` + "\n" + end, providers.StopTools, []providers.Part{call("x", "a", `{"b":1}`)}},
		{"thinking and text in a line", `{"message":{"thinking":"hm","content":"x"}}` + "\n\r\n" + end, providers.StopEnd, []providers.Part{providers.Thinking{Text: "hm"}, providers.Text{Text: "x"}}},
		{"no end of the last line", `{"message":{"content":"x"},"done":true,"done_reason":"length"}`, providers.StopLength, []providers.Part{providers.Text{Text: "x"}}},
		{"loaded only", `{"message":{"content":""},"done":true,"done_reason":"load"}`, providers.StopEnd, nil},
	} {
		got := respond(t, providers.Config{}, hello(), test.body)
		if diff := cmp.Diff(test.parts, got.message.Parts); diff != "" || got.err != nil || got.message.StopReason != test.stop {
			t.Errorf("%s: err %v, stop %s, parts (-want +got):\n%s", test.name, got.err, got.message.StopReason, diff)
		}
	}
}

// A generated id stays the call's in a longer conversation.
func TestModel_MadeUpIDs(t *testing.T) {
	const body = `{"message":{"tool_calls":[{"function":{"name":"a","arguments":{}}}]}}` + "\n" + end
	req := hello()
	seen := map[string]bool{}
	for range 4 {
		m := respond(t, providers.Config{}, req, body).message
		call := m.ToolCalls()[0]
		if seen[call.ID] {
			t.Errorf("two calls are called %s", call.ID)
		}
		seen[call.ID] = true
		req.Messages = append(req.Messages, m, providertest.ResultOf(call, "x"))
	}
}

// Some compatible servers send no line ends, or send events.
func TestModel_Framing(t *testing.T) {
	const first, last = `{"message":{"content":"a }{"}}`, `{"message":{"content":"b"},"done":true,"done_reason":"stop"}`
	for _, body := range []string{
		first + last, first + " " + last, "data: " + first + "\n\ndata: " + last + "\n\ndata: [DONE]\n\n", "{\n" + first[1:] + "\n" + last, "\uFEFF" + first + "\r" + last,
	} {
		if got := respond(t, providers.Config{}, hello(), body); got.err != nil || got.message.Text() != "a }{b" {
			t.Errorf("%q: %q, err %v", body, got.message.Text(), got.err)
		}
	}
}

func TestModel_Errors(t *testing.T) {
	for body, want := range map[string]providers.ErrorKind{
		`{"error":"an error was encountered while running the model: CUDA error"}`:      providers.KindServer,
		`{"error":"server busy, please try again.  maximum pending requests exceeded"}`: providers.KindOverloaded,
		`{"error":"prompt too long; exceeded max context length by 12 tokens"}`:         providers.KindContextOverflow,
		`{"message":{"content":"x"}}` + "\n":                                            providers.KindNetwork,
		`[1]`:                                                                           providers.KindProtocol,
	} {
		got := respond(t, providers.Config{}, hello(), body)
		if e, ok := errors.AsType[*providers.Error](got.err); !ok || e.Kind != want || e.Message == "" {
			t.Errorf("%s: err = %v, want %s", body, got.err, want)
		}
	}
}

// FuzzAnswer reads arbitrary responses. An answer has one end, and can be sent back.
func FuzzAnswer(f *testing.F) {
	f.Add(`{"message":{"thinking":"t","content":"x","tool_calls":[{"id":"c","function":{"name":"a","arguments":{"b":[1]}}}]}}` + "\n" + end)
	f.Add(`{"message":{"tool_calls":[{"function":{"arguments":"{\"b\":1}"}}]},"done":true}`)
	f.Fuzz(func(t *testing.T, lines string) {
		req := hello()
		got := respond(t, providers.Config{}, req, lines)
		if ok := got.message.Role != ""; ok == (got.err != nil) {
			t.Fatalf("message %+v with error %v", got.message, got.err)
		}
		req.Messages = append(req.Messages, got.message)
		if again := respond(t, providers.Config{}, req, end); again.err != nil || !jsonx.Valid([]byte(again.body)) {
			t.Errorf("err %v, body %s", again.err, again.body)
		}
	})
}

// The server constrains the answer to the schema, and would not find calls in it.
func TestModel_Output(t *testing.T) {
	req := hello()
	req.Tools = []providers.Tool{providertest.Tool("a")}
	req.Output = &providers.OutputFormat{Name: "answer", Schema: jsonx.Raw(`{"type":"object"}`)}
	want := `{"model":"m","messages":[{"role":"system","content":"sys"},{"role":"user","content":"hi"}],"format":{"type":"object"},"stream":true,"truncate":false,"shift":false}`
	if got := respond(t, providers.Config{}, req, end); got.body != want {
		t.Errorf("body (-want +got):\n%s", cmp.Diff(want, got.body))
	}
}
