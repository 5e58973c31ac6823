package server_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// A schema in the _meta of a prompt reaches the model, for that turn only.
func TestPrompt_OutputSchema(t *testing.T) {
	script := providertest.NewScript(
		providers.ModelInfo{Provider: "test", ID: "script", StructuredOutput: true},
		providertest.Step{providertest.Text(`{"n":1}`)}, providertest.Step{providertest.Text("bye")},
	)
	e := start(t, func(c *config) {
		c.server.Models.Models = &models{list: []providers.Model{script, providertest.NewScript(providers.ModelInfo{Provider: "test", ID: "plain"})}}
	})
	id := e.session()
	prompt := func(text string, schema any) error {
		_, err := tryCall[acp.PromptResponse](e, "session/prompt", obj{
			"sessionId": id, "prompt": []any{obj{"type": "text", "text": text}}, "_meta": obj{"gjc.outputSchema": schema},
		})
		return err
	}
	if err := prompt("answer", obj{"type": "object", "properties": obj{"n": obj{"type": "integer"}}}); err != nil {
		t.Fatal(err)
	}
	e.say(id, "thanks", acp.StopReasonEndTurn)
	if got := e.Text(id); !strings.HasPrefix(got, `{"n":1}`) {
		t.Errorf("the agent says %q", got)
	}
	requests := script.Requests()
	if len(requests) != 2 || requests[1].Output != nil {
		t.Fatalf("the requests are %+v", requests)
	}
	if out := requests[0].Output; out == nil || string(out.Schema) != `{"properties":{"n":{"type":"integer"}},"type":"object"}` || out.Name == "" {
		t.Errorf("the first request asks for %+v", out)
	}

	wantCode(t, prompt("answer", "object"), -32602, "gjc.outputSchema", "no JSON Schema")
	wantCode(t, prompt("answer", obj{"type": 7}), -32602, "gjc.outputSchema", "no JSON Schema")
	wantCode(t, prompt("answer", obj{"type": "string"}), -32602, "gjc.outputSchema", `the type "object"`)
	wantCode(t, prompt("answer", obj{"type": "object", "$ref": "#/none"}), -32602, "gjc.outputSchema", "that can be checked")
	wantCode(t, prompt("/usage", obj{"type": "object"}), -32602, "slash command", "gjc.outputSchema")

	call[struct{}](e, "session/set_config_option", obj{"sessionId": id, "configId": "model", "value": "test/plain"})
	err := prompt("answer", obj{"type": "object"})
	wantCode(t, err, -32603, "test/plain", "structuredOutput: true", "Ask for the answer without a schema")
	if !strings.Contains(dataOf(err), `"kind":"output_schema","retryable":false`) {
		t.Errorf("data %s", dataOf(err))
	}
}

func dataOf(err error) string {
	e, _ := errors.AsType[*acp.Error](err)
	return string(e.Data)
}
