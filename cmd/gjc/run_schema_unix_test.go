//go:build unix

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/cmd/gjc/internal/headless"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers/providertest"
)

// A model with structured output does the task first and is held to the schema afterwards; other models, and those whose API refuses the
// schema, give their answer with the tool.
func TestRun_Schema(t *testing.T) {
	t.Parallel()
	say := func(text string) providertest.Step { return providertest.Step{providertest.Text(text)} }
	answer := func(input string) providertest.Step {
		return providertest.Step{providertest.Call("c1", "answer", input)}
	}
	refused := providertest.Step{providertest.Status(400, `{"error":{"message":"Invalid schema for response_format 'answer'","type":"invalid_request_error"}}`, nil)}
	const object = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`
	for _, tt := range []struct {
		name, schema string
		plain        bool // whether the model has no structured output
		claude       bool // whether it has Anthropic's API
		steps        []providertest.Step
		output       string // empty for none
		status       headless.Status
		warns        string // a part of the warning; empty for none
		// asks has a letter for each request: "s" with the schema, "t" with the tool, "-" with neither.
		asks string
	}{
		{name: "at once", schema: object, steps: []providertest.Step{say("done"), say(`{"n":7}`)}, output: `{"n":7}`, asks: "-s"},
		{name: "after a tool call", schema: object, steps: []providertest.Step{{providertest.Call("c1", "read", `{"path":"object.json"}`)}, say("done"), say(`{"n":7}`)}, output: `{"n":7}`, asks: "--s"},
		{name: "no object", schema: `{"type":"array","items":{"type":"integer"}}`, steps: []providertest.Step{say("done"), say(`{"answer":[1,2]}`)}, output: `[1,2]`, asks: "-s"},
		{name: "in a fence", schema: object, steps: []providertest.Step{say("done"), say("```json\n{\"n\":7}\n```")}, output: `{"n":7}`, asks: "-s"},
		{name: "corrected", schema: object, steps: []providertest.Step{say("done"), say(`{"n":"seven"}`), say(`It is 7.`), say(`{"n":7}`)}, output: `{"n":7}`, asks: "-sss"},
		{name: "never", schema: object, steps: []providertest.Step{say("done"), say(`{}`), say(`{"n":"a"}`), say(`x`), say(`{"n":1.5}`), say(`{"n":7}`)}, status: headless.Unfit, asks: "-ssss"},
		{name: "with the tool", schema: object, plain: true, steps: []providertest.Step{answer(`{"n":7}`), say("done")}, output: `{"n":7}`, asks: "tt"},
		{
			name: "refused by the API", schema: object, steps: []providertest.Step{say("done"), refused, answer(`{"n":7}`), say("given")}, output: `{"n":7}`,
			warns: "Invalid schema for response_format 'answer'", asks: "-stt",
		},
		{
			name: "refused after a correction", schema: object, steps: []providertest.Step{say("done"), say(`{}`), refused, answer(`{"n":"a"}`), answer(`{"n":"b"}`), answer(`{"n":"c"}`), answer(`{"n":7}`)},
			status: headless.Unfit, warns: "structuredOutput: false", asks: "-ssttt",
		},
		{
			name: "no form for the API", claude: true, steps: []providertest.Step{say("done"), answer(`{"all":[{}]}`), say("given")}, output: `{"all":[{}]}`, asks: "-tt",
			schema: `{"type":"object","properties":{"all":{"type":"array","items":{"$ref":"#"}}}}`,
		},
		{name: "Anthropic", claude: true, schema: object, steps: []providertest.Step{say("done"), say(`{"n":7}`)}, output: `{"n":7}`, asks: "-s"},
		{name: "another error", schema: object, steps: []providertest.Step{say("done"), {providertest.Status(401, `{"error":{"message":"no"}}`, nil)}}, status: headless.Failed, asks: "-s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			model := providertest.NewServer(tt.steps...)
			t.Cleanup(model.Close)
			home := tempDir(t)
			api, url, none := "openai-completions", model.OpenAIURL(), `"none"`
			if tt.claude {
				api, url, none = "anthropic-messages", model.AnthropicURL(), `{"type":"none"}`
			}
			writeFile(t, filepath.Join(agentDir(home), "models.yml"), fmt.Sprintf(
				"providers:\n  p: {baseUrl: %q, api: %s, auth: none, structuredOutput: %t, models: [{id: m, contextWindow: 100000}]}\n", url, api, !tt.plain,
			))
			writeFile(t, filepath.Join(agentDir(home), "config.yml"), quick)
			writeFile(t, filepath.Join(home, "object.json"), tt.schema)
			out, err := runCommand(t, home, "--model", "p/m", "--schema", "object.json", "--output", "json", "how many?").Output()
			code := status(t, err)
			r := resultOf(t, string(out))
			if code != int(tt.status) || r.Status != tt.status || string(r.Output) != tt.output {
				t.Errorf("status %d: %s", code, out)
			}
			if warnings := strings.Join(r.Warnings, "\n"); !strings.Contains(warnings, tt.warns) || (warnings == "") != (tt.warns == "") {
				t.Errorf("warnings %q, want %q", r.Warnings, tt.warns)
			}
			var asks strings.Builder
			for _, req := range model.Requests() {
				format, tools := jsonx.Lookup(req.Body, "response_format"), string(jsonx.Lookup(req.Body, "tools"))
				if tt.claude {
					format = jsonx.Lookup(jsonx.Lookup(req.Body, "output_config"), "format")
				}
				switch {
				case len(format) > 0 && string(jsonx.Lookup(req.Body, "tool_choice")) == none:
					asks.WriteString("s")
				case len(format) > 0:
					asks.WriteString("?")
				case strings.Contains(tools, `"name":"answer"`):
					asks.WriteString("t")
				default:
					asks.WriteString("-")
				}
			}
			// The cancellation after the last wrong call may arrive after the next request.
			if asks.String() != tt.asks && (asks.String() != tt.asks+"t" || tt.status != headless.Unfit) {
				t.Errorf("the requests are %q, want %q", asks.String(), tt.asks)
			}
		})
	}
}

// If a model without structured output takes over before the answer, it gets the tool.
func TestRun_SchemaFallback(t *testing.T) {
	t.Parallel()
	a := providertest.NewServer(providertest.Step{providertest.Text("done")}, unavailable())
	b := providertest.NewServer(providertest.Step{providertest.Call("c1", "answer", `{"n":7}`)}, providertest.Step{providertest.Text("given")})
	t.Cleanup(a.Close)
	t.Cleanup(b.Close)
	home := tempDir(t)
	writeFile(t, filepath.Join(agentDir(home), "models.yml"), fmt.Sprintf(`providers:
  a: {baseUrl: %q, api: openai-completions, auth: none, structuredOutput: true, models: [{id: m, contextWindow: 100000}]}
  b: {baseUrl: %q, api: openai-completions, auth: none, models: [{id: m, contextWindow: 100000}]}
fallbacks: [[a/m, b/m]]
`, a.OpenAIURL(), b.OpenAIURL()))
	writeFile(t, filepath.Join(agentDir(home), "config.yml"), noTitles+"retry: {enabled: false}\n")
	writeFile(t, filepath.Join(home, "object.json"), `{"type":"object","properties":{"n":{"type":"integer"}}}`)
	out, err := runCommand(t, home, "--model", "a/m", "--schema", "object.json", "--output", "json", "how many?").Output()
	if r := resultOf(t, string(out)); status(t, err) != 0 || string(r.Output) != `{"n":7}` {
		t.Errorf("%v: %s", err, out)
	}
	if n := len(b.Requests()); n == 0 || !strings.Contains(string(b.Requests()[0].Body), `"name":"answer"`) {
		t.Errorf("the other model had %d requests", n)
	}
}
