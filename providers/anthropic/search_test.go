package anthropic_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// searched is a request in whose conversation the model has found x, which is offered, and gone, which is not. It has found old before a
// compaction.
func searched() *providers.Request {
	call := providers.ToolCall{ID: "c1", Name: "search", Input: jsonx.Raw(`{"query":"x"}`)}
	use := providers.ToolCall{ID: "c2", Name: "x", Input: jsonx.Raw(`{}`)}
	req := &providers.Request{
		Messages: []providers.Message{
			providertest.User("hi"),
			{Role: providers.RoleAssistant, Parts: []providers.Part{call}},
			providertest.ResultOf(call, "found x"),
			{Role: providers.RoleAssistant, Parts: []providers.Part{use}},
			providertest.ResultOf(use, "done"),
		},
		Search: &providers.ToolSearch{Tool: "search", Found: map[string][]string{"c0": {"old"}, "c1": {"x", "gone"}}},
	}
	for _, name := range []string{"a", "search", "old", "x"} {
		req.Tools = append(req.Tools, providers.Tool{Name: name, Schema: jsonx.Raw(`{"type":"object"}`)})
	}
	return req
}

const (
	resultByReference = `"content":[{"type":"tool_reference","tool_name":"x"}]`
	resultAsText      = `"content":[{"type":"text","text":"found x"}]`
	cached            = `,"cache_control":{"type":"ephemeral"}`
)

// searchBody returns the tools of a body and the result of its search.
func searchBody(t *testing.T, body jsonx.Raw) (tools, result string) {
	t.Helper()
	var req struct {
		Tools    jsonx.Raw `json:"tools"`
		Messages []struct {
			Content []jsonx.Raw `json:"content"`
		} `json:"messages"`
	}
	if err := jsonx.Unmarshal(body, &req); err != nil {
		t.Fatal(err)
	}
	return string(req.Tools), `"content":` + string(jsonx.Lookup(req.Messages[2].Content[0], "content"))
}

// The tools that the model has found are deferred and referred to by the result that found them, so that the cache of the others stays
// valid. A reference to a tool that is gone would fail.
func TestModel_FoundTools(t *testing.T) {
	const (
		native = `[{"input_schema":{"type":"object"},"name":"a"},{"input_schema":{"type":"object"},"name":"search"},` +
			`{"input_schema":{"type":"object"},"name":"old"` + cached + `},{"input_schema":{"type":"object"},"name":"x","defer_loading":true}]`
		plain = `[{"input_schema":{"type":"object"},"name":"a"},{"input_schema":{"type":"object"},"name":"search"},` +
			`{"input_schema":{"type":"object"},"name":"old"},{"input_schema":{"type":"object"},"name":"x"` + cached + `}]`
	)
	for _, test := range []struct {
		name          string
		info          providers.ModelInfo
		change        func(*providers.Request)
		tools, result string
	}{
		{"native", providers.ModelInfo{ToolSearch: true}, func(*providers.Request) {}, native, resultByReference},
		{"plain", providers.ModelInfo{}, func(*providers.Request) {}, plain, resultAsText},
		{"forced", providers.ModelInfo{ToolSearch: true}, func(r *providers.Request) { r.ForceTool = "x" }, plain, resultAsText},
		{"without a search", providers.ModelInfo{ToolSearch: true}, func(r *providers.Request) { r.Search = nil }, plain, resultAsText},
	} {
		t.Run(test.name, func(t *testing.T) {
			server, m := fake(t, test.info, providertest.Step{})
			req := searched()
			test.change(req)
			run(t, m, req)
			tools, result := searchBody(t, server.Requests()[0].Body)
			if diff := cmp.Diff(test.tools, tools); diff != "" {
				t.Errorf("tools (-want +got):\n%s", diff)
			}
			if result != test.result {
				t.Errorf("the result is %s, want %s", result, test.result)
			}
		})
	}
}

// A server that refuses deferred tools gets the request without them, and no such request again.
func TestModel_FoundToolsRefused(t *testing.T) {
	refused := providertest.Step{providertest.Status(400, `{"type":"error","error":{"type":"invalid_request_error","message":"tools.3.custom.defer_loading: Extra inputs are not permitted"}}`, nil)}
	server, m := fake(t, providers.ModelInfo{ToolSearch: true}, refused, providertest.Step{providertest.Text("one")}, providertest.Step{providertest.Text("two")})
	for _, want := range []string{"one", "two"} {
		if msg, _ := run(t, m, searched()); msg.Text() != want {
			t.Errorf("it says %q", msg.Text())
		}
	}
	for i, want := range []string{resultByReference, resultAsText, resultAsText} {
		if _, result := searchBody(t, server.Requests()[i].Body); result != want {
			t.Errorf("request %d has %s, want %s", i, result, want)
		}
	}
}

// If the server refuses the request without them too, the reason was another one.
func TestModel_RefusedOtherwise(t *testing.T) {
	refused := providertest.Step{providertest.Status(400, `{"type":"error","error":{"type":"invalid_request_error","message":"temperature is bad"}}`, nil)}
	server, m := fake(t, providers.ModelInfo{ToolSearch: true}, refused, refused, providertest.Step{providertest.Text("fine")})
	for _, err := range m.Stream(t.Context(), searched()) {
		if e, ok := errors.AsType[*providers.Error](err); !ok || e.Kind != providers.KindInvalid {
			t.Errorf("error = %v", err)
		}
	}
	run(t, m, searched())
	if _, result := searchBody(t, server.Requests()[2].Body); result != resultByReference {
		t.Errorf("the next request has %s", result)
	}
	overflow := providertest.Step{providertest.Status(400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 300000 tokens > 200000 maximum"}}`, nil)}
	server, m = fake(t, providers.ModelInfo{ToolSearch: true}, overflow)
	for _, err := range m.Stream(t.Context(), searched()) {
		if e, ok := errors.AsType[*providers.Error](err); !ok || e.Kind != providers.KindContextOverflow {
			t.Errorf("error = %v", err)
		}
	}
	if n := len(server.Requests()); n != 1 {
		t.Errorf("%d requests for a conversation that is too long", n)
	}
}
