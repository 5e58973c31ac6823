package secrets_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent/secrets"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

const hush = "the-secret-value"

func asked(t testing.TB, s *secrets.Set, req *providers.Request) *providers.Request {
	t.Helper()
	script := providertest.NewScript(providers.ModelInfo{}, providertest.Step{providertest.Text("ok")})
	for _, err := range s.Model(script).Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
	}
	return script.Requests()[0]
}

func everywhere() *providers.Request {
	return &providers.Request{
		System: "system " + hush, SessionID: "s",
		Output: &providers.OutputFormat{Name: "n", Schema: jsonx.Raw(`{"const":"` + hush + `"}`)},
		Tools:  []providers.Tool{{Name: "t", Description: "tool " + hush, Schema: jsonx.Raw(`{"description":"` + hush + `"}`)}},
		Messages: []providers.Message{
			{Role: providers.RoleUser, Parts: []providers.Part{providers.Text{Text: "user " + hush}, providers.Image{MIMEType: "image/png", Data: []byte("x")}}},
			{Role: providers.RoleAssistant, Parts: []providers.Part{
				providers.Thinking{Text: "hm " + hush},
				providers.Thinking{Text: "signed", Signature: "sig"},
				providers.Thinking{Text: "plain " + hush, Field: "reasoning_content"},
				providers.Text{Text: "agent " + hush},
				providers.ToolCall{ID: "1", Name: "t", Input: jsonx.Raw(`{"a":["` + hush + `"]}`)},
				providers.ToolCall{ID: "2", Name: "t", Input: jsonx.Raw(`{"a":"` + hush)},
			}},
			{Role: providers.RoleTool, ToolCallID: "1", Parts: []providers.Part{providers.Text{Text: "result " + hush}}},
			{Role: providers.RoleTool, ToolCallID: "2", Parts: []providers.Part{providers.Text{Text: "nothing"}}},
		},
	}
}

// No part of a request contains the secret, the caller's request is unchanged, and the next request starts with the same bytes.
func TestModel(t *testing.T) {
	s := newSet(t, plain(hush)...)
	req := everywhere()
	first := asked(t, s, req)
	if d := cmp.Diff(everywhere(), req); d != "" {
		t.Errorf("the caller's request has changed:\n%s", d)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s %s %s %v", first.System, first.Output.Schema, first.Tools[0].Description, first.Tools[0].Schema, first.Messages)
	for i := range first.Messages {
		for _, p := range first.Messages[i].Parts {
			if c, ok := p.(providers.ToolCall); ok {
				text.WriteString(string(c.Input))
			}
		}
	}
	if n := strings.Count(text.String(), s.Hide(hush)); strings.Contains(text.String(), hush) || n < 9 {
		t.Errorf("%d placeholders in %s", n, text.String())
	}
	if got := string(first.Messages[1].Parts[5].(providers.ToolCall).Input); got != `{"a":"`+s.Hide(hush) {
		t.Errorf("a call that was cut off: %s", got)
	}
	req.Messages = append(req.Messages, providertest.User("more "+hush))
	second := asked(t, s, req)
	if d := cmp.Diff(first.Messages, second.Messages[:4]); d != "" || second.System != first.System {
		t.Errorf("the prefix has changed:\n%s", d)
	}
	// Another conversation under the same name reuses nothing of the first one.
	req = everywhere()
	req.System, req.Messages = "other", []providers.Message{
		providertest.User("other"), {Role: providers.RoleUser, Parts: []providers.Part{providers.Image{MIMEType: "image/png", Data: []byte("y")}}},
	}
	if third := asked(t, s, req); cmp.Diff(req.Messages, third.Messages) != "" || third.System != "other" {
		t.Errorf("got %+v", third)
	}
}

// An API refuses modified signed thinking. The name of the field that thinking came in is not a signature.
func TestModel_SignedThinking(t *testing.T) {
	s := newSet(t, plain(hush)...)
	signed := providers.Thinking{Text: "I saw " + hush, Signature: "sig"}
	got := asked(t, s, &providers.Request{Messages: []providers.Message{{Role: providers.RoleAssistant, Parts: []providers.Part{signed}}}})
	if got.Messages[0].Parts[0] != providers.Part(signed) {
		t.Errorf("got %+v", got.Messages[0].Parts[0])
	}
	plain := providers.Thinking{Text: "I saw " + hush, Field: "reasoning_content"}
	got = asked(t, s, &providers.Request{Messages: []providers.Message{{Role: providers.RoleAssistant, Parts: []providers.Part{plain}}}})
	plain.Text = s.Hide(plain.Text)
	if got.Messages[0].Parts[0] != providers.Part(plain) || strings.Contains(plain.Text, hush) {
		t.Errorf("got %+v", got.Messages[0].Parts[0])
	}
}

// A context of 20,000 messages and 40 MB with 50 secrets and an expression: the first request, and each later one.
func BenchmarkModel(b *testing.B) {
	var values []string
	for i := range 50 {
		values = append(values, fmt.Sprintf("%c%c-secret-value-%d", 'a'+i%26, 'a'+i%7, i))
	}
	entries := append(plain(values...), secrets.Entry{Regexp: regexp.MustCompile(`AKIA[0-9A-Z]{16}`), Source: "a"})
	req := &providers.Request{SessionID: "s"}
	line := "func main() { fmt.Println(\"hello, world\") } // a line of code, as there are many\n"
	for i := range 20_000 {
		text := strings.Repeat(line, 25)
		if i%100 == 0 {
			text += values[i/100%50]
		}
		req.Messages = append(req.Messages, providers.Message{Role: providers.RoleUser, Parts: []providers.Part{providers.Text{Text: text}}})
	}
	stream := func(s *secrets.Set) {
		script := providertest.NewScript(providers.ModelInfo{}, providertest.Step{providertest.Text("ok")})
		for _, err := range s.Model(script).Stream(b.Context(), req) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			stream(newSet(b, entries...))
		}
	})
	b.Run("next", func(b *testing.B) {
		s := newSet(b, entries...)
		stream(s)
		b.ReportAllocs()
		for b.Loop() {
			stream(s)
		}
	})
}
