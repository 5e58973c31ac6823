package openai_test

import (
	"testing"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/openai"
	"github.com/gajae-code/gjc/providers/providertest"
)

// The schema is strict if its strict form has the same answers and the server is strict; the tools stay, for the cache.
func TestModel_Output(t *testing.T) {
	const (
		closed = `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`
		strict = `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`
		loose  = `{"type":"object","properties":{"a":{"type":"string"}}}` // strictly, a could be null
	)
	yes, no := new(true), new(false)
	for _, test := range []struct {
		name, schema string
		compat       providers.Compat
		want         string
		choice       string
	}{
		{"strict", closed, providers.Compat{SupportsStrictMode: yes}, `{"name":"answer","schema":` + strict + `,"strict":true}`, `"none"`},
		{"optional properties", loose, providers.Compat{SupportsStrictMode: yes}, `{"name":"answer","schema":` + loose + `,"strict":false}`, `"none"`},
		{"without strict mode", closed, providers.Compat{}, `{"name":"answer","schema":` + closed + `,"strict":false}`, `"none"`},
		{"without a choice of tools", closed, providers.Compat{SupportsToolChoice: no}, `{"name":"answer","schema":` + closed + `,"strict":false}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			req := hello()
			req.Tools = []providers.Tool{providertest.Tool("t")}
			req.Output = &providers.OutputFormat{Name: "answer", Schema: jsonx.Raw(test.schema)}
			got := members(t, providers.Config{Compat: test.compat, BaseURL: "http://model.test/v1"}, req)
			if want := `{"type":"json_schema","json_schema":` + test.want + `}`; got["response_format"] != want {
				t.Errorf("response_format = %s, want %s", got["response_format"], want)
			}
			if got["tool_choice"] != test.choice || (got["tools"] == "") != (test.choice == "") {
				t.Errorf("tool_choice = %s, tools = %s", got["tool_choice"], got["tools"])
			}
			answer := respond(t, openai.OpenResponses, providers.Config{Compat: test.compat, BaseURL: "http://model.test/v1"}, req, completed)
			body := jsonx.Raw(answer.body)
			if got, want := string(jsonx.Lookup(body, "text")), `{"format":{"type":"json_schema",`+test.want[1:]+`}`; got != want {
				t.Errorf("text = %s, want %s", got, want)
			}
			choice, tools := string(jsonx.Lookup(body, "tool_choice")), string(jsonx.Lookup(body, "tools"))
			if choice != test.choice || (tools == "") != (test.choice == "") {
				t.Errorf("Responses: tool_choice = %s, tools = %s", choice, tools)
			}
		})
	}
	req := hello()
	req.Output = &providers.OutputFormat{Name: "answer", Schema: jsonx.Raw(closed)}
	if got := members(t, providers.Config{}, req); got["tool_choice"] != "" {
		t.Errorf("without tools: tool_choice = %s", got["tool_choice"])
	}
}
