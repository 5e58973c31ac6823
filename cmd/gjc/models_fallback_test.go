package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/providers/providertest"
)

// twoProviders is a home with a model that has substitutes: a/m, then b/m, then c/m.
func twoProviders(t *testing.T, a, b *providertest.Server, settings string) (home string) {
	t.Helper()
	home = tempDir(t)
	writeFile(t, filepath.Join(agentDir(home), "models.yml"), fmt.Sprintf(`providers:
  a: {api: anthropic-messages, baseUrl: %s, apiKey: k1, models: [{id: m, reasoning: true, cost: {input: 1, output: 2}}]}
  b: {api: openai-responses, baseUrl: %s, apiKey: k2, models: [{id: m, cost: {input: 1, output: 2}}]}
  nokey: {api: openai-responses, baseUrl: "https://192.0.2.1", apiKeyEnv: NO_SUCH_KEY, models: [{id: m}]}
fallbacks:
  - [a/m, nokey/m, b/m]
`, a.AnthropicURL(), b.URL(providertest.OpenAIResponses())))
	writeFile(t, filepath.Join(agentDir(home), "config.yml"), noTitles+"modelRoles: {default: a/m}\n"+settings)
	return home
}

// A failing model is replaced by the next of its chain that has a key, within the turn: permanently, with a notice,
// shown in the options, and also after a restart. An error that another model would return too is reported.
func TestModels_Fallback(t *testing.T) {
	t.Parallel()
	overloaded := providertest.Step{providertest.Status(529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, nil)}
	for _, tt := range []struct {
		name  string
		steps []providertest.Step
		asked int
		kind  string // of the error; empty if b continues
	}{
		{"overloaded until the retries are used up", []providertest.Step{overloaded, overloaded, overloaded}, 3, ""},
		{"no credit", []providertest.Step{{providertest.Status(402, `{"type":"error","error":{"type":"billing_error","message":"no credit"}}`, nil)}}, 1, ""},
		{"broken in the middle of the answer", []providertest.Step{
			{providertest.Text("half"), providertest.Drop()}, {providertest.Text("half"), providertest.Drop()}, {providertest.Text("half"), providertest.Drop()},
		}, 3, ""},
		{"a wrong request", []providertest.Step{{providertest.Status(400, `{"type":"error","error":{"type":"invalid_request_error","message":"bad"}}`, nil)}}, 1, "invalid_request"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a, b := providertest.NewServer(tt.steps...), providertest.NewServer()
			t.Cleanup(a.Close)
			t.Cleanup(b.Close)
			b.Else(func(providertest.Recorded) providertest.Step {
				return providertest.Step{providertest.Text("b goes on")}
			})
			home := twoProviders(t, a, b, "retry: {maxRetries: 2, baseDelayMs: 1}\n")
			l := startLife(t, lifeOptions{home: home})
			id := l.begin()
			mark := l.mark()
			if tt.kind != "" {
				e := wantFails(l, acp.MethodSessionPrompt, &acp.PromptRequest{SessionID: id, Prompt: []acp.ContentBlock{textBlock("go")}})
				if !strings.Contains(string(e.Data), `"`+tt.kind+`"`) {
					t.Errorf("it fails with %v %s", e, e.Data)
				}
				if len(a.Requests()) != tt.asked || len(b.Requests()) != 0 {
					t.Errorf("a was asked %d times, b %d times", len(a.Requests()), len(b.Requests()))
				}
				l.stop()
				return
			}
			if got := l.turn("go"); !strings.HasSuffix(got, "b goes on") {
				t.Errorf("it says %q", got)
			}
			notices := shown(l.since(mark))
			if !strings.Contains(notices, "a/m is not available; continuing with b/m.") || !strings.Contains(notices, `"sessionUpdate":"notice"`) {
				t.Errorf("the user got\n%s", notices)
			}
			if options := lastOf(l.since(mark), "config_option_update"); !strings.Contains(options, `"currentValue":"b/m"`) {
				t.Errorf("the options are %s", options)
			}
			l.turn("again")
			if len(a.Requests()) != tt.asked || len(b.Requests()) != 2 {
				t.Errorf("a was asked %d times, b %d times", len(a.Requests()), len(b.Requests()))
			}
			l.stop()
			again := startLife(t, lifeOptions{home: home, work: l.work})
			resp, lines := again.load(id)
			if got := choice(resp.ConfigOptions, "model"); got != "b/m" {
				t.Errorf("after the load the model is %q", got)
			}
			if got := wordsIn(lines, "agent_message_chunk"); got != "b goes onb goes on" {
				t.Errorf("the load shows %q", got)
			}
			again.turn("once more")
			if len(a.Requests()) != tt.asked || len(b.Requests()) != 3 {
				t.Errorf("in the end a was asked %d times, b %d times", len(a.Requests()), len(b.Requests()))
			}
			again.stop()
		})
	}
}
