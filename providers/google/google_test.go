package google_test

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/google"
	"github.com/gajae-code/gjc/providers/internal/dialect"
	"github.com/gajae-code/gjc/providers/providertest"
)

var target = providertest.Target{Open: google.Open, Format: providertest.Gemini()}

func fake(t *testing.T, info providers.ModelInfo, steps ...providertest.Step) (*providertest.Server, providers.Model) {
	t.Helper()
	server := providertest.NewServer(steps...)
	t.Cleanup(server.Close)
	if info.ID == "" {
		info.ID = "gemini-3-pro"
	}
	info.Provider = "google"
	m, err := google.Open(providers.Config{Info: info, BaseURL: server.URL(target.Format), APIKey: "key"})
	if err != nil {
		t.Fatal(err)
	}
	return server, m
}

func stream(t *testing.T, m providers.Model, req *providers.Request) (msg providers.Message, events []providers.Event, err error) {
	t.Helper()
	for ev, e := range m.Stream(t.Context(), req) {
		if e != nil {
			return msg, events, e
		}
		if done, ok := ev.(providers.Done); ok {
			msg = done.Message
		} else {
			events = append(events, ev)
		}
	}
	return msg, events, nil
}

func run(t *testing.T, m providers.Model, req *providers.Request) providers.Message {
	t.Helper()
	msg, _, err := stream(t, m, req)
	if err != nil {
		t.Fatal(err)
	}
	return msg
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

// raw returns an answer of the given events.
func raw(events ...string) providertest.Step {
	return providertest.Step{providertest.Raw("data: " + strings.Join(events, "\n\ndata: ") + "\n\n"), providertest.Quit()}
}

// parts returns an event with the given parts, followed by the given members of the candidate.
func parts(parts, more string) string {
	return `{"candidates":[{"content":{"parts":[` + parts + `],"role":"model"}` + more + `}],"responseId":"r1"}`
}

const finished = `,"finishReason":"STOP"`

// conversation contains every kind of content that a model may receive.
func conversation() []providers.Message {
	call := providers.ToolCall{ID: "c1", Name: "read", Input: jsonx.Raw(`{"path": "<a>"}`), Signature: "cs"}
	second := providers.ToolCall{ID: "c2", Name: "list", Input: jsonx.Raw(`{"cut`)}
	foreign := providers.ToolCall{ID: "call|1", Name: "read", Input: jsonx.Raw(`{}`), Signature: "foreign"}
	seen := providertest.ResultOf(call, "seen")
	seen.Parts = append(seen.Parts, providers.Image{MIMEType: "image/png", Data: []byte("PNG")})
	failed := providertest.ResultOf(second, "")
	failed.IsError = true
	return []providers.Message{
		providertest.User("hi"),
		{Role: providers.RoleAssistant, Provider: "google", Model: "gemini-3-pro", Parts: []providers.Part{
			providers.Thinking{Text: "summary"},
			providers.Thinking{Text: "thought", Signature: "ts"},
			providers.Text{Text: "so", Signature: "s1"},
			providers.Text{Signature: "s2"},
			providers.Text{Text: " "},
			call, second,
		}},
		providertest.User("hurry"), seen, failed,
		{Role: providers.RoleAssistant, Provider: "other", Model: "m", Parts: []providers.Part{
			providers.Thinking{Text: "secret", Signature: "foreign"}, providers.Text{Text: "I", Signature: "foreign"}, foreign,
		}},
		providertest.ResultOf(foreign, "out"),
		{Role: providers.RoleAssistant, Provider: "google", Model: "gemini-3-pro", Parts: []providers.Part{providers.Thinking{Text: "nothing more", Signature: "x"}}},
		providertest.User("go on"),
	}
}

func TestModel_Request(t *testing.T) {
	server, m := fake(t, providers.ModelInfo{MaxOutput: 500, Images: true}, providertest.Step{})
	req := &providers.Request{System: "sys", Messages: conversation(), MaxTokens: 900, ForceTool: "b"}
	req.Tools = []providers.Tool{providertest.Tool("a"), {Name: "b", Description: "B.", Schema: jsonx.Raw(`{"type":"object","$schema":"x","properties":{"y":{"type":["string","null"]}}}`)}}
	run(t, m, req)
	got := body(t, server, 0)
	for member, want := range map[string]string{
		"systemInstruction": `{"parts":[{"text":"sys"}]}`,
		"tools": `[{"functionDeclarations":[{"name":"a","description":"The tool a."},` +
			`{"name":"b","description":"B.","parameters":{"type":"object","properties":{"y":{"type":"string","nullable":true}}}}]}]`,
		"toolConfig":       `{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["b"]}}`,
		"generationConfig": `{"maxOutputTokens":500}`,
		"contents": `[{"role":"user","parts":[{"text":"hi"}]},` +
			`{"role":"model","parts":[{"text":"thought","thought":true,"thoughtSignature":"ts"},{"text":"so","thoughtSignature":"s1"},{"text":"","thoughtSignature":"s2"},` +
			`{"functionCall":{"id":"c1","name":"read","args":{"path": "<a>"}},"thoughtSignature":"cs"},{"functionCall":{"id":"c2","name":"list","args":{}}}]},` +
			`{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"read","response":{"output":"seen"},"parts":[{"inlineData":{"mimeType":"image/png","data":"UE5H"}}]}},` +
			`{"functionResponse":{"id":"c2","name":"list","response":{"error":"The tool failed without saying why."}}},{"text":"hurry"}]},` +
			`{"role":"model","parts":[{"text":"I"},{"functionCall":{"id":"ID","name":"read","args":{}},"thoughtSignature":"skip_thought_signature_validator"}]},` +
			`{"role":"user","parts":[{"functionResponse":{"id":"ID","name":"read","response":{"output":"out"}}},{"text":"go on"}]}]`,
	} {
		want = strings.ReplaceAll(want, `"ID"`, `"`+dialect.ToolID("call|1", 64)+`"`)
		if diff := cmp.Diff(want, string(got[member])); diff != "" {
			t.Errorf("%s (-want +got):\n%s", member, diff)
		}
	}
	r := server.Requests()[0]
	if r.Path != "/v1beta/models/gemini-3-pro:streamGenerateContent" || r.Header.Get("X-Goog-Api-Key") != "key" || r.Header.Get("Authorization") != "" {
		t.Errorf("path %s, header %v", r.Path, r.Header)
	}
}

// Models before Gemini 3 sign nothing and expect images after the responses.
func TestModel_RequestOfOlderModels(t *testing.T) {
	server, m := fake(t, providers.ModelInfo{ID: "gemini-2.5-pro", Images: true}, providertest.Step{})
	run(t, m, &providers.Request{Messages: conversation()})
	got := string(server.Requests()[0].Body)
	if strings.Contains(got, "skip_thought") || strings.Contains(got, `"thoughtSignature"`) {
		t.Errorf("signatures that the model did not make: %s", got)
	}
	if want := `"error":"The tool failed without saying why."}}},{"inlineData":{"mimeType":"image/png","data":"UE5H"}},{"text":"hurry"}`; !strings.Contains(got, want) {
		t.Errorf("no %s in %s", want, got)
	}
}

// Gemini rejects a request with an unsupported image.
func TestModel_ImagesOfOtherKinds(t *testing.T) {
	server, m := fake(t, providers.ModelInfo{Images: true}, providertest.Step{})
	req := hello()
	req.Messages[0].Parts = append(req.Messages[0].Parts, providers.Image{MIMEType: "image/gif", Data: []byte("GIF")}, providers.Image{MIMEType: "image/png"})
	run(t, m, req)
	want := `[{"role":"user","parts":[{"text":"hi"},{"text":"` + dialect.ImageOmitted + `"},{"text":"` + dialect.ImageOmitted + `"}]}]`
	if got := string(body(t, server, 0)["contents"]); got != want {
		t.Errorf("contents %s", got)
	}
}

func TestModel_Thinking(t *testing.T) {
	levels := []providers.ThinkingLevel{"low", "high", "max"}
	for _, test := range []struct {
		id    string
		mode  providers.ThinkingMode
		level providers.ThinkingLevel
		want  string
	}{
		{"", "", "off", ``},
		{"", "", "low", `{"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"low"}}`},
		{"", "", "max", `{"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"high"}}`},
		{"", "effort-always", "off", `{"thinkingConfig":{"thinkingLevel":"low"}}`},
		{"gemini-2.5-flash", "budget", "", `{"thinkingConfig":{"thinkingBudget":0}}`},
		{"gemini-2.5-flash", "budget", "max", `{"thinkingConfig":{"includeThoughts":true,"thinkingBudget":24576}}`},
		{"gemini-2.5-pro", "budget", "off", `{"thinkingConfig":{"thinkingBudget":128}}`},
		{"gemini-2.5-pro", "budget", "max", `{"thinkingConfig":{"includeThoughts":true,"thinkingBudget":32768}}`},
	} {
		server, m := fake(t, providers.ModelInfo{ID: test.id, Thinking: levels, ThinkingMode: test.mode}, providertest.Step{})
		req := hello()
		req.Thinking = test.level
		run(t, m, req)
		if got := string(body(t, server, 0)["generationConfig"]); got != test.want {
			t.Errorf("%s %s %s: %s, want %s", test.id, test.mode, test.level, got, test.want)
		}
	}
}

func TestModel_Answer(t *testing.T) {
	_, m := fake(t, providers.ModelInfo{}, raw(
		parts(`{"text":"hm","thought":true},{"text":" yes","thought":true,"thoughtSignature":"t1"}`, ""),
		parts(`{"text":"a"}`, ""),
		parts(`{"text":"b","thoughtSignature":"s1"},{"text":"c"},{"inlineData":{"mimeType":"x","data":"eA=="}}`, ""),
		`{"candidates":[{"index":1,"content":{"parts":[{"text":"nobody's"}]}}]}`,
		parts(`{"functionCall":{"name":"read","args":{"p":[1]}},"thoughtSignature":"c1"},{"functionCall":{"name":"read"}},{"functionCall":{"id":"x","name":"list","args":{}}}`, ""),
		parts(`{"text":"","thoughtSignature":"s2"}`, finished),
		`{"usageMetadata":{"promptTokenCount":10,"cachedContentTokenCount":4,"toolUsePromptTokenCount":1,"candidatesTokenCount":3,"thoughtsTokenCount":2}}`,
	))
	req := hello()
	req.Messages = append(req.Messages, providers.Message{Role: providers.RoleAssistant, Parts: []providers.Part{providers.ToolCall{ID: "x", Name: "old"}}})
	msg := run(t, m, req)
	want := []providers.Part{
		providers.Thinking{Text: "hm yes", Signature: "t1"},
		providers.Text{Text: "a"},
		providers.Text{Text: "b", Signature: "s1"},
		providers.Text{Text: "c"},
		providers.ToolCall{ID: "call_r1_2_0", Name: "read", Input: jsonx.Raw(`{"p":[1]}`), Signature: "c1"},
		providers.ToolCall{ID: "call_r1_2_1", Name: "read", Input: jsonx.Raw(`{}`)},
		providers.ToolCall{ID: "x_2_2", Name: "list", Input: jsonx.Raw(`{}`)},
		providers.Text{Signature: "s2"},
	}
	if diff := cmp.Diff(want, msg.Parts); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	if msg.StopReason != providers.StopTools || msg.Usage != (providers.Usage{Input: 7, CacheRead: 4, Output: 5, Thinking: 2}) {
		t.Errorf("stop %s, usage %+v", msg.StopReason, msg.Usage)
	}
}

func TestModel_Endings(t *testing.T) {
	said := parts(`{"text":"x"}`, "")
	end := func(reason string) string { return parts("", `,"finishReason":"`+reason+`","finishMessage":"because"`) }
	for _, test := range []struct {
		step providertest.Step
		stop providers.StopReason
		kind providers.ErrorKind
		text string
	}{
		{raw(said, end("STOP")), providers.StopEnd, "", "x"},
		{raw(end("STOP")), providers.StopEnd, "", ""},
		{raw(said, end("MAX_TOKENS")), providers.StopLength, "", "x"},
		{raw(said, end("OTHER")), providers.StopEnd, "", "x"},
		{raw(end("OTHER")), "", providers.KindProtocol, "OTHER: because"},
		{raw(said, end("SAFETY")), providers.StopRefusal, "", "x"},
		{raw(end("RECITATION")), providers.StopRefusal, "", "Google blocked this request: RECITATION (because)."},
		{raw(`{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}`), providers.StopRefusal, "", "Google blocked this request: PROHIBITED_CONTENT."},
		{raw(end("MALFORMED_FUNCTION_CALL")), "", providers.KindProtocol, "invalid tool call: because"},
		{raw(said, end("UNEXPECTED_TOOL_CALL")), "", providers.KindProtocol, "unknown tool: because"},
		{raw(end("MISSING_THOUGHT_SIGNATURE")), "", providers.KindInvalid, "signature"},
		{raw(said), "", providers.KindNetwork, "middle"},
		{raw(`{"error":{"code":500,"message":"internal","status":"INTERNAL"}}`), "", providers.KindServer, "internal"},
		{providertest.Step{providertest.Status(200, parts(`{"text":"whole"}`, finished), nil)}, providers.StopEnd, "", "whole"},
	} {
		_, m := fake(t, providers.ModelInfo{}, test.step)
		msg, _, err := stream(t, m, hello())
		if test.kind == "" {
			if err != nil || msg.StopReason != test.stop || msg.Text() != test.text {
				t.Errorf("%v: stop %s, text %q, err %v", test.step, msg.StopReason, msg.Text(), err)
			}
			continue
		}
		if e, ok := errors.AsType[*providers.Error](err); !ok || e.Kind != test.kind || !strings.Contains(e.Message, test.text) {
			t.Errorf("%v: err = %v, want %s", test.step, err, test.kind)
		}
	}
}

type transport func(*http.Request) (*http.Response, error)

func (fn transport) RoundTrip(r *http.Request) (*http.Response, error) { return fn(r) }

// sent is a request that a model has sent.
func sent(t *testing.T, open providers.Factory, cfg providers.Config) (r *http.Request, body string, err error) {
	t.Helper()
	cfg.HTTPClient = &http.Client{Transport: transport(func(req *http.Request) (*http.Response, error) {
		data, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		r, body = req, string(data)
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(parts(`{"text":"x"}`, finished))), Request: req}, nil
	})}
	m, err := open(cfg)
	if err != nil {
		return nil, "", err
	}
	_, _, err = stream(t, m, hello())
	return r, body, err
}

func TestModel_Address(t *testing.T) {
	const call = ":streamGenerateContent?alt=sse"
	for _, test := range []struct{ base, model, want string }{
		{"", "m", "https://generativelanguage.googleapis.com/v1beta/models/m" + call},
		{"http://h", "models/m", "http://h/v1beta/models/m" + call},
		{"http://h/v1beta/", "m", "http://h/v1beta/models/m" + call},
		{"http://h/gw/v1alpha", "m", "http://h/gw/v1alpha/models/m" + call},
		{"http://h/gw?k=1", "m", "http://h/gw/v1beta/models/m:streamGenerateContent?alt=sse&k=1"},
		{"http://h", "a/b:c", "http://h/v1beta/models/a%2Fb%3Ac" + call},
	} {
		r, _, err := sent(t, google.Open, providers.Config{BaseURL: test.base, WireModel: test.model, Info: providers.ModelInfo{ID: "other"}})
		if err != nil || r.URL.String() != test.want || r.Method != http.MethodPost {
			t.Errorf("%q %q: %v, %v; want %s", test.base, test.model, r, err, test.want)
		}
	}
	if _, err := google.Open(providers.Config{BaseURL: "no url"}); err == nil {
		t.Error("a base URL without a host is taken")
	}
}

func TestModel_Config(t *testing.T) {
	r, body, err := sent(t, google.Open, providers.Config{
		APIKey: "k", AuthHeader: true, Headers: map[string]string{"x-a": "b"},
		Transform: providers.RequestTransform{StripHeaders: []string{"user-agent"}, ExtraBody: map[string]jsonx.Raw{"safetySettings": jsonx.Raw(`[]`), "contents": jsonx.Raw(`1`)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"systemInstruction":{"parts":[{"text":"sys"}]},"contents":[{"role":"user","parts":[{"text":"hi"}]}],"safetySettings":[]}`
	if body != want {
		t.Errorf("body %s", body)
	}
	if r.Header.Get("Authorization") != "Bearer k" || r.Header.Get("X-Goog-Api-Key") != "" || r.Header.Get("X-A") != "b" || r.Header.Get("User-Agent") == "gjc" {
		t.Errorf("header %v", r.Header)
	}
}

// Each chunk reports the usage so far, including those that plainText reads.
func TestModel_UsageOfEachChunk(t *testing.T) {
	chunk := func(said string, output int) string {
		return `{"candidates":[{"content":{"parts":[{"text":"` + said + `"}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":9,` +
			`"cachedContentTokenCount":2,"candidatesTokenCount":` + strconv.Itoa(output) + `,"thoughtsTokenCount":4},"modelVersion":"m","responseId":"r"}`
	}
	_, m := fake(t, providers.ModelInfo{}, raw(chunk("a", 0), chunk("b", 3), chunk("c", 3), chunk("d", 5)))
	_, events, err := stream(t, m, hello())
	usage := func(output int) providers.Event {
		return providers.UsageSoFar{Usage: providers.Usage{Input: 7, CacheRead: 2, Output: output, Thinking: 4}}
	}
	want := []providers.Event{
		usage(4),
		providers.TextDelta{Text: "a"},
		usage(7),
		providers.TextDelta{Text: "b"},
		providers.TextDelta{Text: "c"},
		usage(9),
		providers.TextDelta{Text: "d"},
	}
	if d := cmp.Diff(want, events); d != "" || err == nil {
		t.Errorf("err %v, events (-want +got):\n%s", err, d)
	}
}
