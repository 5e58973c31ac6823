package openai_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/openai"
	"github.com/gajae-code/gjc/providers/providertest"
)

// searched is a request in whose conversation the model has found x, which is offered, and gone, which is not. It has found old before a
// compaction, and nothing with its second search.
func searched() *providers.Request {
	call := providers.ToolCall{ID: "c1", Name: "search", Input: jsonx.Raw(`{"query":"x"}`), Signature: "tsc_1"}
	use := providers.ToolCall{ID: "c2", Name: "x", Input: jsonx.Raw(`{}`)}
	again := providers.ToolCall{ID: "c3", Name: "search", Input: jsonx.Raw(`{"query`)}
	req := &providers.Request{
		Messages: []providers.Message{
			{Role: providers.RoleAssistant, Provider: "openai", Model: "m", Parts: []providers.Part{call}},
			providertest.ResultOf(call, "found x"),
			{Role: providers.RoleAssistant, Parts: []providers.Part{use, again}},
			providertest.ResultOf(use, "done"), providertest.ResultOf(again, "nothing"),
		},
		Search: &providers.ToolSearch{Tool: "search", Found: map[string][]string{"c0": {"old"}, "c1": {"x", "gone"}}},
	}
	for _, name := range []string{"a", "search", "old", "x"} {
		req.Tools = append(req.Tools, providers.Tool{Name: name, Description: name, Schema: jsonx.Raw(`{"type":"object"}`)})
	}
	return req
}

func searching() providers.Config {
	return providers.Config{Info: providers.ModelInfo{Provider: "openai", ID: "m", ToolSearch: true}, BaseURL: "http://model.test/v1"}
}

func function(name string) string {
	return `{"type":"function","name":"` + name + `","description":"` + name + `","parameters":{"type":"object"},"strict":false}`
}

// The search is the API's own one, executed by the caller, and its result has the definitions of the tools that it found.
func TestResponses_FoundTools(t *testing.T) {
	body := jsonx.Raw(respond(t, openai.OpenResponses, searching(), searched(), completed).body)
	tools := "[" + function("a") + `,{"type":"tool_search","execution":"client","description":"search","parameters":{"type":"object"}},` + function("old") + "]"
	if diff := cmp.Diff(tools, string(jsonx.Lookup(body, "tools"))); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	input := `[{"type":"tool_search_call","execution":"client","call_id":"c1","status":"completed","arguments":{"query":"x"}},` +
		`{"type":"tool_search_output","execution":"client","call_id":"c1","status":"completed","tools":[` + strings.TrimSuffix(function("x"), "}") + `,"defer_loading":true}]},` +
		`{"type":"function_call","call_id":"c2","name":"x","arguments":"{}"},` +
		`{"type":"tool_search_call","execution":"client","call_id":"c3","status":"completed","arguments":{}},` +
		`{"type":"function_call_output","call_id":"c2","output":"done"},` +
		`{"type":"tool_search_output","execution":"client","call_id":"c3","status":"completed","tools":[]}]`
	if diff := cmp.Diff(input, string(jsonx.Lookup(body, "input"))); diff != "" {
		t.Errorf("input (-want +got):\n%s", diff)
	}
	cfg := searching()
	cfg.Info.ToolSearch = false
	body = jsonx.Raw(respond(t, openai.OpenResponses, cfg, searched(), completed).body)
	tools = "[" + function("a") + "," + function("search") + "," + function("old") + "," + function("x") + "]"
	if diff := cmp.Diff(tools, string(jsonx.Lookup(body, "tools"))); diff != "" || strings.Contains(string(body), "tool_search") {
		t.Errorf("without the API's search (-want +got):\n%s", diff)
	}
}

// A search arrives as an item of its own, in any of several forms, and becomes a call of the caller's tool.
func TestResponses_SearchCall(t *testing.T) {
	const item = `{"type":"tool_search_call","id":"tsc_1","call_id":"call_9","execution":"client","status":"completed","arguments":{"query":"x","limit":3}}`
	started := strings.Replace(item, `{"query":"x","limit":3}`, `{}`, 1)
	event := func(kind, item string) string {
		return `{"type":"response.output_item.` + kind + `","output_index":0,"item":` + item + `}`
	}
	whole := strings.Replace(completed, `"output":[]`, `"output":[`+item+`]`, 1)
	for _, test := range []struct{ name, response, input string }{
		{"streamed", sse(event("added", started), event("done", item), completed), `{"query":"x","limit":3}`},
		{"and repeated", sse(event("added", started), event("done", item), whole), `{"query":"x","limit":3}`},
		{"at the end only", sse(whole), `{"query":"x","limit":3}`},
		{"as text", sse(event("done", strings.Replace(item, `{"query":"x","limit":3}`, `"{\"query\":\"x\"}"`, 1)), completed), `{"query":"x"}`},
		{"without input", sse(event("done", strings.Replace(item, `{"query":"x","limit":3}`, `null`, 1)), completed), "{}"},
	} {
		t.Run(test.name, func(t *testing.T) {
			msg := respond(t, openai.OpenResponses, searching(), searched(), test.response).message
			calls := msg.ToolCalls()
			if len(calls) != 1 || calls[0].ID != "call_9" || calls[0].Name != "search" || string(calls[0].Input) != test.input || msg.StopReason != providers.StopTools {
				t.Errorf("%+v, %s", calls, msg.StopReason)
			}
		})
	}
	server := strings.Replace(item, `"client"`, `"server"`, 1)
	if msg := respond(t, openai.OpenResponses, searching(), searched(), sse(event("done", server), completed)).message; len(msg.ToolCalls()) != 0 {
		t.Errorf("a search of the server is a call: %+v", msg)
	}
}

// A server that refuses the search gets the request without it, and no such request again.
func TestResponses_SearchRefused(t *testing.T) {
	server := providertest.NewServer(
		providertest.Step{providertest.Status(400, `{"error":{"type":"invalid_request_error","message":"Unknown tool type: tool_search"}}`, nil)},
		providertest.Step{providertest.Text("one")}, providertest.Step{providertest.Text("two")},
	)
	t.Cleanup(server.Close)
	cfg := searching()
	cfg.BaseURL = server.URL(providertest.OpenAIResponses())
	m, err := openai.OpenResponses(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, err := range m.Stream(t.Context(), searched()) {
			if err != nil {
				t.Error(err)
			}
		}
	}
	for i, native := range []bool{true, false, false} {
		if got := strings.Contains(string(server.Requests()[i].Body), "tool_search"); got != native {
			t.Errorf("request %d has the search: %t", i, got)
		}
	}
}
