package google_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// recorded has the chunks from the documentation of the Gemini API, including unused members: a thought, streamed text, a call
// with its signature, safety ratings, and details of the usage.
const recorded = `data: {"candidates": [{"content": {"parts": [{"text": "**Weather**\n\nI look.","thought": true}],"role": "model"},"index": 0}],"usageMetadata": {"promptTokenCount": 40,"totalTokenCount": 58,"promptTokensDetails": [{"modality": "TEXT","tokenCount": 40}],"thoughtsTokenCount": 18},"modelVersion": "gemini-x","responseId": "r1"}

data: {"candidates": [{"content": {"parts": [{"text": "One "}],"role": "model"},"index": 0,"safetyRatings": [{"category": "HARM_CATEGORY_HARASSMENT","probability": "NEGLIGIBLE"}]}],"modelVersion": "gemini-x","responseId": "r1"}

data: {"candidates": [{"content": {"parts": [{"text": "moment."}],"role": "model"},"index": 0}],"modelVersion": "gemini-x","responseId": "r1"}

data: {"candidates": [{"content": {"parts": [{"functionCall": {"name": "get_weather","args": {"location": "Gent"},"id": "fc1"},"thoughtSignature": "CtwFAVSo"}],"role": "model"},"finishReason": "STOP","index": 0,"finishMessage": "Model generated function call(s)."}],"usageMetadata": {"promptTokenCount": 40,"candidatesTokenCount": 12,"totalTokenCount": 70,"cachedContentTokenCount": 30,"thoughtsTokenCount": 18},"modelVersion": "gemini-x","responseId": "r1"}

`

func TestModel_Recorded(t *testing.T) {
	m, _, err := target.Answer(t, &providers.Request{Messages: []providers.Message{providertest.User("hi")}}, recorded)
	if err != nil {
		t.Fatal(err)
	}
	want := providers.Message{
		Role: providers.RoleAssistant, API: m.API, Provider: "test", Model: "m1", StopReason: providers.StopTools,
		Usage: providers.Usage{Input: 10, Output: 30, CacheRead: 30, Thinking: 18},
		Parts: []providers.Part{
			providers.Thinking{Text: "**Weather**\n\nI look."},
			providers.Text{Text: "One moment."},
			providers.ToolCall{ID: "fc1", Name: "get_weather", Input: jsonx.Raw(`{"location": "Gent"}`), Signature: "CtwFAVSo"},
		},
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
}
