package providertest

import (
	"io"
	"testing"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/anthropic"
	"github.com/gajae-code/gjc/providers/google"
	"github.com/gajae-code/gjc/providers/ollama"
	"github.com/gajae-code/gjc/providers/openai"
)

// An implementation is a [Target] with the properties of its API that tests depend on.
type implementation struct {
	Target

	name string
	// signature is the signature of thinking for which the server sent the signature "sig".
	signature string
	// field is the field of all thinking.
	field string
	// textSignature is the signature of the text that follows, for an API that requires one back.
	textSignature string
	// wholeCalls reports that the API sends the input of a call as one object, which cannot arrive in pieces or break off.
	wholeCalls bool
	// noCacheWrite reports that the API does not count tokens written to a cache.
	noCacheWrite bool
	// plainUsage reports that the API counts input and output, without breaking either down.
	plainUsage bool
	// bareImages reports that the API takes images without their types.
	bareImages bool
	// noRefusals reports that the API cannot express a refusal.
	noRefusals bool
	// allocations is the maximum number of allocations for one text delta.
	allocations float64
}

// place returns the environment variables of a Google Cloud account.
func place(name string) string {
	return map[string]string{"GOOGLE_CLOUD_PROJECT": "p1", "GOOGLE_CLOUD_LOCATION": "us-east5"}[name]
}

// implementations returns all implementations of [providers.Model] over HTTP.
func implementations() []implementation {
	const reasoning = `{"id":"rs_0","type":"reasoning","summary":[{"type":"summary_text","text":"let me see"}],"encrypted_content":"sig"}`
	return []implementation{
		{name: "Anthropic", Target: Target{anthropic.Open, AnthropicMessages()}, signature: "sig", allocations: 2.2},
		{name: "AnthropicBedrock", Target: Target{anthropic.Bedrock{}.Open, AnthropicBedrock()}, signature: "sig", allocations: 45},
		{name: "AnthropicVertex", Target: Target{anthropic.Vertex{Getenv: place}.Open, AnthropicVertex()}, signature: "sig", allocations: 2.2},
		{name: "Gemini", Target: Target{google.Open, Gemini()}, signature: "sig", wholeCalls: true, noCacheWrite: true, allocations: 2.2},
		{name: "GeminiVertex", Target: Target{google.Vertex{Getenv: place}.Open, GeminiVertex()}, signature: "sig", wholeCalls: true, noCacheWrite: true, allocations: 2.2},
		{name: "Ollama", Target: Target{ollama.Open, OllamaChat()}, wholeCalls: true, plainUsage: true, bareImages: true, noRefusals: true, allocations: 2.2},
		{name: "OpenAI", Target: Target{openai.Open, OpenAICompletions()}, field: "reasoning_content", allocations: 5.2},
		{name: "OpenAIResponses", Target: Target{openai.OpenResponses, OpenAIResponses()}, textSignature: "msg_1", signature: reasoning, allocations: 2.2},
		{name: "Azure", Target: Target{openai.OpenAzure, AzureResponses()}, textSignature: "msg_1", signature: reasoning, allocations: 2.2},
	}
}

func TestImplementations(t *testing.T) {
	for _, target := range implementations() {
		t.Run(target.name, func(t *testing.T) { suite(t, target) })
	}
}

// canned returns a model that answers every request with step, from memory, in the pieces that split returns.
func (target implementation) canned(t testing.TB, step Step, split func(string) io.Reader) providers.Model {
	if split == nil {
		return target.Canned(t, step)
	}
	body := target.Format.Body(step)
	return target.open(t, func() io.Reader { return split(body) })
}
