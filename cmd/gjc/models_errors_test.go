package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/providers/providertest"
)

// promptError is the error of a failed prompt as the editor receives it.
type promptError struct {
	Kind      string    `json:"kind"`
	Retryable bool      `json:"retryable"`
	ResetsAt  time.Time `json:"resetsAt"`
}

// Whatever goes wrong with a model, the editor gets a code, a kind, whether a retry may succeed, when a limit ends, and
// a message that says what happened and what to do. The session continues.
func TestModels_ErrorsToTheEditor(t *testing.T) {
	t.Parallel()
	status := func(code int, body string, header ...string) []providertest.Step {
		h := map[string]string{}
		for i := 0; i+1 < len(header); i += 2 {
			h[header[i]] = header[i+1]
		}
		return []providertest.Step{{providertest.Status(code, body, h)}}
	}
	failed := func(message, code string) string {
		return fmt.Sprintf(`{"error":{"message":%q,"type":"invalid_request_error","param":null,"code":%q}}`, message, code)
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	stray := providertest.NewServer()
	t.Cleanup(stray.Close)
	for _, tt := range []struct {
		name  string
		steps []providertest.Step
		// url is another base URL; settings has more of config.yml, or other settings of retry.
		url, settings string
		want          promptError
		parts         []string
	}{
		{name: "wrong key", steps: status(401, failed("Incorrect API key provided", "invalid_api_key")), want: promptError{Kind: "auth"}, parts: []string{"Incorrect API key", "gjc login"}},
		{name: "no credit", steps: status(402, failed("Insufficient balance", "insufficient_quota")), want: promptError{Kind: "quota"}, parts: []string{"Insufficient balance", "credit"}},
		{name: "no such model", steps: status(404, failed("The model `large` does not exist", "model_not_found")), want: promptError{Kind: "model"}, parts: []string{"does not exist", "gjc models"}},
		{name: "refused", steps: status(400, failed("Unknown parameter: 'x'", "unknown_parameter")), want: promptError{Kind: "invalid_request"}, parts: []string{"Unknown parameter", "/model"}},
		{name: "too long", steps: status(400, overflowBody), settings: "compaction: {enabled: false}\n", want: promptError{Kind: "context_overflow"}, parts: []string{"maximum context length", "/compact"}},
		{name: "too large", steps: status(413, failed("Request too large", "request_too_large")), settings: "compaction: {enabled: false}\n", want: promptError{Kind: "context_overflow"}, parts: []string{"too large", "/compact"}},
		{name: "limited", steps: status(429, failed("Rate limit reached", "rate_limit_exceeded"), "Retry-After", "7200"), want: promptError{Kind: "rate_limit", Retryable: true, ResetsAt: time.Now().Add(2 * time.Hour)}, parts: []string{"Rate limit reached", "again at", "Wait"}},
		{name: "overloaded", steps: status(529, failed("Overloaded", "")), want: promptError{Kind: "overloaded", Retryable: true}, parts: []string{"Overloaded", "Try again"}},
		{name: "broken", steps: status(500, failed("The server had an error", "server_error")), want: promptError{Kind: "server", Retryable: true}, parts: []string{"had an error", "Try again"}},
		{name: "nobody there", url: gone.URL, want: promptError{Kind: "network", Retryable: true}, parts: []string{"no answer", "network"}},
		{name: "connection dropped", steps: []providertest.Step{{providertest.Text("half"), providertest.Drop()}}, want: promptError{Kind: "network", Retryable: true}, parts: []string{"connection", "network"}},
		{name: "answer cut off", steps: []providertest.Step{{providertest.Text("half"), providertest.Quit()}}, want: promptError{Kind: "network", Retryable: true}, parts: []string{"network"}},
		{name: "silent", steps: []providertest.Step{{providertest.Text("half"), providertest.NewGate().Hold()}}, settings: "network: {idleTimeoutSeconds: 1}\n", want: promptError{Kind: "timeout", Retryable: true}, parts: []string{"1s", "Try again"}},
		{name: "silent from the start", steps: []providertest.Step{{providertest.NewGate().HoldAll()}}, settings: "network: {firstByteTimeoutSeconds: 1}\n", want: promptError{Kind: "timeout", Retryable: true}, parts: []string{"1s", "Try again"}},
		{name: "no JSON", steps: []providertest.Step{{providertest.Raw("data: {oops\n\n")}}, want: promptError{Kind: "protocol", Retryable: true}, parts: []string{"models.yml"}},
		{name: "a web page", steps: status(200, "<!doctype html><title>Log in</title>"), want: promptError{Kind: "invalid_request"}, parts: []string{"web page", "base URL"}},
		{name: "a web page with an error", steps: status(502, "<html><h1>Bad Gateway</h1></html>"), want: promptError{Kind: "server", Retryable: true}, parts: []string{"502"}},
		{name: "sent to another host", steps: status(307, "", "Location", stray.OpenAIURL()+"/chat/completions"), want: promptError{Kind: "invalid_request"}, parts: []string{"base URL"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			model := providertest.NewServer(append(tt.steps, providertest.Step{providertest.Text("well again")})...)
			t.Cleanup(model.Close)
			home := scripted(t, model, 100_000, noTitles+"retry: {enabled: false}\n"+tt.settings)
			if tt.url != "" {
				writeFile(t, filepath.Join(agentDir(home), "models.yml"), "providers:\n  fake: {api: openai-completions, baseUrl: \""+tt.url+"\", auth: none, models: [{id: large}]}\n")
			}
			l := startLife(t, lifeOptions{home: home})
			id := l.begin()
			e := wantFails(l, acp.MethodSessionPrompt, &acp.PromptRequest{SessionID: id, Prompt: []acp.ContentBlock{textBlock("go")}})
			var got promptError
			if err := json.Unmarshal(e.Data, &got); err != nil {
				t.Fatalf("%v in %s", err, e.Data)
			}
			code := acp.ErrorCodeInternalError
			if tt.want.Kind == "auth" {
				code = acp.ErrorCodeAuthenticationRequired
			}
			if e.Code != code || got.Kind != tt.want.Kind || got.Retryable != tt.want.Retryable {
				t.Errorf("it fails with %d %q, %s", e.Code, e.Message, e.Data)
			}
			if d := got.ResetsAt.Sub(tt.want.ResetsAt); got.ResetsAt.IsZero() != tt.want.ResetsAt.IsZero() || d.Abs() > 10*time.Minute {
				t.Errorf("the limit ends at %v, want %v", got.ResetsAt, tt.want.ResetsAt)
			}
			for _, part := range append(tt.parts, "fake/large: ") {
				if !strings.Contains(e.Message, part) {
					t.Errorf("the message lacks %q: %s", part, e.Message)
				}
			}
			if tt.url == "" {
				if got := l.turn("again"); got != "well again" {
					t.Errorf("the next prompt says %q", got)
				}
				if n := len(model.Requests()); n != len(tt.steps)+1 {
					t.Errorf("the model was asked %d times", n)
				}
			}
			l.stop()
		})
	}
	t.Cleanup(func() {
		if n := len(stray.Requests()); n > 0 {
			t.Errorf("%d requests went to another host", n)
		}
	})
}

// Without a key nothing is sent, and the editor may offer its login.
func TestModels_KeyMissing(t *testing.T) {
	t.Parallel()
	home := tempDir(t)
	writeFile(t, filepath.Join(agentDir(home), "models.yml"), "providers:\n  fake: {api: openai-completions, baseUrl: 'http://192.0.2.1', apiKeyEnv: NO_SUCH_KEY, models: [{id: m}]}\n")
	p := startPeer(t, peerOptions{home: home, args: []string{"--model", "fake/m"}})
	p.initialize(nil)
	m, _ := p.answer(p.prompt(p.session("auto"), "go"))
	if m.Error == nil || m.Error.Code != -32000 || !strings.Contains(string(m.Error.Data), `"kind":"auth"`) || !strings.Contains(m.Error.Message, "NO_SUCH_KEY") {
		t.Errorf("the prompt got %s", m.line)
	}
	p.stop()
}
