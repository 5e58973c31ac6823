package ollama_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// recorded has the lines from Ollama's documentation: thinking, text, a call, and a last line with counts and times.
const recorded = `{"model":"qwen3","created_at":"2026-07-07T20:22:19.184789Z","message":{"role":"assistant","content":"","thinking":"Let me "},"done":false}
{"model":"qwen3","created_at":"2026-07-07T20:22:19.284789Z","message":{"role":"assistant","content":"","thinking":"see."},"done":false}
{"model":"qwen3","created_at":"2026-07-07T20:22:19.384789Z","message":{"role":"assistant","content":"I look."},"done":false}
{"model":"qwen3","created_at":"2026-07-07T20:22:19.484789Z","message":{"role":"assistant","content":"","tool_calls":[{"id":"call_x","function":{"index":0,"name":"get_weather","arguments":{"location":"Gent"}}}]},"done":false}
{"model":"qwen3","created_at":"2026-07-07T20:22:19.584789Z","message":{"role":"assistant","content":""},"done_reason":"stop","done":true,"total_duration":182242375,"load_duration":41295167,"prompt_eval_count":169,"prompt_eval_duration":24573166,"eval_count":15,"eval_duration":115959084}
`

func TestModel_Recorded(t *testing.T) {
	m, _, err := target.Answer(t, &providers.Request{Messages: []providers.Message{providertest.User("hi")}}, recorded)
	if err != nil {
		t.Fatal(err)
	}
	want := providers.Message{
		Role: providers.RoleAssistant, API: m.API, Provider: "test", Model: "m1", StopReason: providers.StopTools,
		Usage: providers.Usage{Input: 169, Output: 15},
		Parts: []providers.Part{
			providers.Thinking{Text: "Let me see."},
			providers.Text{Text: "I look."},
			providers.ToolCall{ID: "call_x", Name: "get_weather", Input: jsonx.Raw(`{"location":"Gent"}`)},
		},
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
}
