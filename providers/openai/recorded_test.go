package openai_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// recorded has the chunks from OpenAI's documentation of Chat Completions, as its servers send them: two calls at once,
// obfuscation, fingerprints, and a last chunk with only the usage.
const recorded = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1741570283,"model":"gpt-x","service_tier":"default","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"role":"assistant","content":null,"refusal":null},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"a1"}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1741570283,"model":"gpt-x","service_tier":"default","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_A","type":"function","function":{"name":"get_weather","arguments":""}}]},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"b2"}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1741570283,"model":"gpt-x","service_tier":"default","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"location\": "}}]},"logprobs":null,"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1741570283,"model":"gpt-x","service_tier":"default","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"Gent\"}"}}]},"logprobs":null,"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1741570283,"model":"gpt-x","service_tier":"default","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_B","type":"function","function":{"name":"get_time","arguments":"{}"}}]},"logprobs":null,"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1741570283,"model":"gpt-x","service_tier":"default","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"tool_calls"}],"usage":null}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1741570283,"model":"gpt-x","service_tier":"default","system_fingerprint":"fp_1","choices":[],"usage":{"prompt_tokens":120,"completion_tokens":46,"total_tokens":166,"prompt_tokens_details":{"cached_tokens":100,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":12,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}}

data: [DONE]

`

func TestModel_Recorded(t *testing.T) {
	m, _, err := target.Answer(t, &providers.Request{Messages: []providers.Message{providertest.User("hi")}}, recorded)
	if err != nil {
		t.Fatal(err)
	}
	want := providers.Message{
		Role: providers.RoleAssistant, API: m.API, Provider: "test", Model: "m1", StopReason: providers.StopTools,
		Usage: providers.Usage{Input: 20, Output: 46, CacheRead: 100, Thinking: 12},
		Parts: []providers.Part{
			providers.ToolCall{ID: "call_A", Name: "get_weather", Input: jsonx.Raw(`{"location": "Gent"}`)},
			providers.ToolCall{ID: "call_B", Name: "get_time", Input: jsonx.Raw(`{}`)},
		},
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
}
