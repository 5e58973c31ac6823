package live_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/providers/providertest"
)

// obliging answers as a well-behaved model does, in any format.
func obliging(key string) func(providertest.Recorded) providertest.Step {
	return func(r providertest.Recorded) providertest.Step {
		body := string(r.Body)
		switch {
		case !strings.Contains(r.Header.Get("X-Api-Key")+r.Header.Get("Authorization"), key):
			return providertest.Step{providertest.Status(http.StatusUnauthorized, `{"error":{"type":"authentication_error","message":"invalid key"}}`, nil)}
		case strings.Contains(body, "json_schema"):
			return providertest.Step{providertest.Text(`{"number":7,"content":"a jar of marmalade"}`)}
		case strings.Contains(body, "goodbye"):
			return providertest.Step{providertest.Text("Goodbye.")}
		case strings.Contains(body, "marmalade"):
			return providertest.Step{providertest.Text("A jar of marmalade.")}
		case strings.Contains(body, "open_box"):
			return providertest.Step{providertest.SignedThink("box 7", "signed"), providertest.Call("c1", "open_box", `{"number":7}`)}
		case strings.Contains(body, "picture"):
			return providertest.Step{providertest.Text("Red.")}
		}
		return providertest.Step{providertest.Text("Pong")}
	}
}

// The test of the live servers passes with a well-behaved model, so that its failures are the servers'.
func TestSubject(t *testing.T) {
	testenv.NoLeaks(t)
	model := providertest.NewServer()
	defer model.Close()
	const key = "the-key-of-the-test"
	model.Else(obliging(key))
	t.Setenv("ANTHROPIC_API_KEY", key)
	t.Setenv("ANTHROPIC_BASE_URL", model.AnthropicURL())
	t.Setenv("OPENAI_API_KEY", key)
	t.Setenv("OPENAI_BASE_URL", model.OpenAIURL())
	for _, s := range subjects[:3] {
		if s.file == "" {
			s.file = "providers: {" + s.provider + ": {structuredOutput: true}}"
		}
		t.Run(s.name, s.test)
	}
}
