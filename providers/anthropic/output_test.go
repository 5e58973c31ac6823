package anthropic_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// The schema goes next to the effort, closed; the tools and the level stay, for the cache.
func TestModel_Output(t *testing.T) {
	server, m := fake(t, providers.ModelInfo{Thinking: []providers.ThinkingLevel{"low", "high"}}, providertest.Step{}, providertest.Step{})
	req := hello()
	req.Tools, req.Thinking = []providers.Tool{providertest.Tool("a")}, providers.ThinkingHigh
	req.Output = &providers.OutputFormat{Name: "answer", Schema: jsonx.Raw(`{"type":"object","properties":{"z":{"type":"integer","minimum":1},"a":{"type":"string"}},"required":["z"]}`)}
	run(t, m, req)
	req.Tools = nil
	run(t, m, req)
	got := body(t, server, 0)
	var config struct {
		Effort string `json:"effort"`
		Format struct {
			Type   string               `json:"type"`
			Schema map[string]jsonx.Raw `json:"schema"`
		} `json:"format"`
	}
	if err := jsonx.Unmarshal(got["output_config"], &config); err != nil {
		t.Fatal(err)
	}
	want := map[string]jsonx.Raw{
		"type": jsonx.Raw(`"object"`), "properties": jsonx.Raw(`{"z":{"type":"integer"},"a":{"type":"string"}}`),
		"required": jsonx.Raw(`["z"]`), "additionalProperties": jsonx.Raw("false"),
	}
	if diff := cmp.Diff(want, config.Format.Schema); diff != "" || config.Format.Type != "json_schema" || config.Effort != "high" {
		t.Errorf("%s\nschema (-want +got):\n%s", got["output_config"], diff)
	}
	if string(got["tool_choice"]) != `{"type":"none"}` || got["tools"] == nil || got["thinking"] == nil {
		t.Errorf("tool_choice %s, tools %s, thinking %s", got["tool_choice"], got["tools"], got["thinking"])
	}
	if got := body(t, server, 1); got["tool_choice"] != nil {
		t.Errorf("without tools: tool_choice %s", got["tool_choice"])
	}
}

// A schema that the API lacks is an error before the request.
func TestModel_OutputWithoutForm(t *testing.T) {
	server, m := fake(t, providers.ModelInfo{})
	req := hello()
	req.Output = &providers.OutputFormat{Name: "answer", Schema: jsonx.Raw(`{"type":"object","properties":{"all":{"type":"array","items":{"$ref":"#"}}}}`)}
	for _, err := range m.Stream(t.Context(), req) {
		if e, ok := errors.AsType[*providers.Error](err); !ok || e.Kind != providers.KindOutput || e.Retryable() {
			t.Errorf("error = %v", err)
		}
	}
	if n := len(server.Requests()); n > 0 {
		t.Errorf("%d requests were sent", n)
	}
}
