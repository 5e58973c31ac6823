package google_test

import (
	"testing"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// The API takes the schema as it is, but rejects tools next to it.
func TestModel_Output(t *testing.T) {
	server, m := fake(t, providers.ModelInfo{}, providertest.Step{})
	const schema = `{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"integer"}}}`
	req := hello()
	req.Tools, req.ForceTool, req.MaxTokens = []providers.Tool{providertest.Tool("a")}, "a", 9
	req.Output = &providers.OutputFormat{Name: "answer", Schema: jsonx.Raw(schema)}
	run(t, m, req)
	got := body(t, server, 0)
	want := `{"maxOutputTokens":9,"responseMimeType":"application/json","responseJsonSchema":` + schema + `}`
	if string(got["generationConfig"]) != want || got["tools"] != nil || got["toolConfig"] != nil {
		t.Errorf("generationConfig %s, tools %s, toolConfig %s", got["generationConfig"], got["tools"], got["toolConfig"])
	}
}
