package openai_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/openai"
	"github.com/gajae-code/gjc/providers/providertest"
)

// sent returns the request that a model makes for req, and its body.
func sent(t *testing.T, cfg providers.Config, req *providers.Request) (*http.Request, string) {
	t.Helper()
	var got *http.Request
	var body []byte
	cfg.Info.Provider, cfg.Info.ID = "openai", "m"
	cfg.HTTPClient = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		got = r
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		return &http.Response{
			StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
			Body: io.NopCloser(strings.NewReader(`{"choices":[{"index":0,"message":{"content":"x"},"finish_reason":"stop"}]}`)),
		}, nil
	})}
	m, err := openai.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	run(t, m, req)
	return got, string(body)
}

type transport func(*http.Request) (*http.Response, error)

func (fn transport) RoundTrip(r *http.Request) (*http.Response, error) { return fn(r) }

func TestModel_Address(t *testing.T) {
	for base, want := range map[string]string{
		"":                             "https://api.openai.com/v1/chat/completions",
		"http://h":                     "http://h/chat/completions",
		"http://h:1/v1":                "http://h:1/v1/chat/completions",
		"http://h/v1//":                "http://h/v1/chat/completions",
		"http://h/a%2Fb/":              "http://h/a%2Fb/chat/completions",
		"http://h/https://other/v1":    "http://h/https://other/v1/chat/completions",
		"http://h/v1?api-version=2026": "http://h/v1/chat/completions?api-version=2026",
	} {
		if r, _ := sent(t, providers.Config{BaseURL: base}, hello()); r.URL.String() != want || r.Method != http.MethodPost {
			t.Errorf("%q: %s %s, want %s", base, r.Method, r.URL, want)
		}
	}
}

func TestModel_Headers(t *testing.T) {
	for _, test := range []struct {
		name string
		cfg  providers.Config
		want http.Header
	}{
		{"bare", providers.Config{}, http.Header{"User-Agent": {"gjc"}}},
		{"key", providers.Config{APIKey: "k"}, http.Header{"User-Agent": {"gjc"}, "Authorization": {"Bearer k"}}},
		{
			"extra headers win",
			providers.Config{APIKey: "k", Headers: map[string]string{"authorization": "Basic x", "user-agent": "me", "x-a": "b"}},
			http.Header{"User-Agent": {"me"}, "Authorization": {"Basic x"}, "X-A": {"b"}},
		},
		{"but not all", providers.Config{Headers: map[string]string{"accept": "text/html"}}, http.Header{"User-Agent": {"gjc"}}},
	} {
		test.want.Set("Content-Type", "application/json")
		test.want.Set("Accept", "text/event-stream")
		r, body := sent(t, test.cfg, hello())
		if diff := cmp.Diff(test.want, r.Header); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
		// Without them the request could not be repeated on a new connection.
		if r.ContentLength != int64(len(body)) || r.GetBody == nil {
			t.Errorf("%s: Content-Length %d of %d bytes, GetBody %t", test.name, r.ContentLength, len(body), r.GetBody != nil)
		}
	}
}

// The whole body as OpenAI receives it, with its members in order.
func TestModel_BodyForOpenAI(t *testing.T) {
	req := hello()
	req.SessionID, req.MaxTokens, req.Thinking = "s", 50, providers.ThinkingHigh
	req.Tools = []providers.Tool{providertest.Tool("a")}
	cfg := providers.Config{Info: providers.ModelInfo{Thinking: []providers.ThinkingLevel{providers.ThinkingHigh}}}
	want := `{"stream":true,"messages":[{"content":"sys","role":"developer"},{"content":"hi","role":"user"}],"model":"m",` +
		`"max_completion_tokens":50,"prompt_cache_key":"s","reasoning_effort":"high","store":false,"stream_options":{"include_usage":true},` +
		`"tools":[{"function":{"name":"a","description":"The tool a.","parameters":{"type":"object"}},"type":"function"}]}`
	if _, body := sent(t, cfg, req); body != want {
		t.Errorf("body (-want +got):\n%s", cmp.Diff(want, body))
	}
}

func TestModel_RequestAtTheEdges(t *testing.T) {
	call := providers.ToolCall{Name: "a", Input: jsonx.Raw(`{}`)}
	for _, test := range []struct {
		name string
		req  providers.Request
		want string // the messages
	}{
		{"nothing", providers.Request{}, `[]`},
		{"an empty question", providers.Request{Messages: []providers.Message{providertest.User("")}}, `[]`},
		{
			"a call without a name of its own",
			providers.Request{Messages: []providers.Message{
				{Role: providers.RoleAssistant, Parts: []providers.Part{call}}, providertest.ResultOf(call, ""),
			}},
			`[{"tool_calls":[{"id":"","function":{"arguments":"{}","name":"a"},"type":"function"}],"role":"assistant"},` +
				`{"content":"(no output)","tool_call_id":"","role":"tool"}]`,
		},
		{
			"what needs escapes",
			providers.Request{System: "<a & b> \"\\\n\x00\u2028\xff"},
			`[{"content":"<a & b> \"\\\n\u0000` + "\u2028\uFFFD" + `","role":"system"}]`,
		},
	} {
		_, body := sent(t, providers.Config{}, &test.req)
		if got := string(jsonx.Lookup(jsonx.Raw(body), "messages")); got != test.want {
			t.Errorf("%s (-want +got):\n%s", test.name, cmp.Diff(test.want, got))
		}
	}
}

func contains(s, part string) bool { return strings.Contains(s, part) }
