package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// A turn with a schema sends it with the same tools as before, and runs none of them.
func TestPrompt_Output(t *testing.T) {
	ran := false
	tool := testTool("echo", false, nil, func(context.Context, *input) (*agent.Result, error) {
		ran = true
		return &agent.Result{Text: "ran"}, nil
	})
	output, err := agent.NewOutput(jsonx.Raw(`{"type":"object"}`))
	if err != nil {
		t.Fatal(err)
	}
	run(t, func(o *agent.Options) { o.Tools = agent.Tools{tool} }, func(w *world) {
		info := w.script.Info()
		info.StructuredOutput = true
		w.script = providertest.NewScript(
			info,
			providertest.Step{providertest.Text("hello")},
			providertest.Step{providertest.Call("c1", "echo", `{"say":"x"}`)},
			providertest.Step{providertest.Text(`{"a":1}`)},
			providertest.Step{providertest.Text("bye")},
		)
		w.prompt("hi")
		r := w.session.Prompt(agent.Prompt{Parts: words("answer"), Output: output}).Wait(w.t.Context())
		w.prompt("thanks")
		if r.Stop != agent.StopEndTurn || r.Err != nil || ran {
			t.Errorf("result %+v, ran %t", r, ran)
		}
		w.wantStory("info hi", "agent: hello", "info hi", "start c1 echo", "fail c1: No tool can be called now. Give the answer as JSON.",
			`agent: {"a":1}`, "info hi", "agent: bye", "info hi")
		for i, req := range w.script.Requests() {
			if want := i == 1 || i == 2; (req.Output != nil) != want || want && string(req.Output.Schema) != `{"type":"object"}` || len(req.Tools) != 1 {
				t.Errorf("request %d: output %+v, %d tools", i, req.Output, len(req.Tools))
			}
		}
	})
}

// A model without structured output receives nothing.
func TestPrompt_OutputOfAnotherModel(t *testing.T) {
	run(t, nil, func(w *world) {
		r := w.session.Prompt(agent.Prompt{Parts: words("answer"), Output: &providers.OutputFormat{Schema: jsonx.Raw(`{}`)}}).Wait(w.t.Context())
		if e, ok := errors.AsType[*providers.Error](r.Err); !ok || e.Kind != providers.KindOutput || !strings.Contains(e.Error(), "structuredOutput") {
			t.Errorf("result %+v", r)
		}
		if n := len(w.script.Requests()); n > 0 {
			t.Errorf("%d requests", n)
		}
	})
}

func TestNewOutput(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":true}}`: "",
		`{"type":"array"}`:                     "must have the type",
		`true`:                                 "must have the type",
		`null`:                                 "must have the type",
		`"object"`:                             "no JSON Schema",
		`{"type":7}`:                           "no JSON Schema",
		`{"type":"object","$ref":"#/$defs/a"}`: "that can be checked",
		`{"type":"object","title":"` + strings.Repeat("x", 2<<20) + `"}`: "more than 2 MiB",
	} {
		switch output, err := agent.NewOutput(jsonx.Raw(schema)); {
		case want == "" && (err != nil || string(output.Schema) != schema):
			t.Errorf("%s: %+v, %v", schema, output, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%.60s: %v, want %q", schema, err, want)
		}
	}
}
