package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/providers/providertest"
)

// The cause of a failed turn is stored: a session that is loaded in another process shows it, an export does, and
// neither reports that the turn was interrupted. The model sees the prompts, and nothing of the failure.
func TestSessions_FailedTurn(t *testing.T) {
	t.Parallel()
	const reason = "Incorrect API key provided"
	refused := providertest.Step{providertest.Status(401, `{"error":{"message":"`+reason+`","code":"invalid_api_key"}}`, nil)}
	model := providertest.NewServer(
		refused,
		providertest.Step{providertest.Text("half"), providertest.Raw(`data: {"error":{"message":"` + reason + `","code":"invalid_api_key"}}` + "\n\n")},
		providertest.Step{providertest.Text("well again")},
		refused,
	)
	t.Cleanup(model.Close)
	l := startLife(t, lifeOptions{home: scripted(t, model, 100_000, quick)})
	id := l.begin()
	for _, prompt := range []string{"one", "two"} {
		e := wantFails(l, acp.MethodSessionPrompt, &acp.PromptRequest{SessionID: id, Prompt: []acp.ContentBlock{textBlock(prompt)}})
		if !strings.Contains(e.Message, reason) {
			t.Errorf("prompt %s fails with %s", prompt, e.Message)
		}
		l.kill()
		again := startLife(t, lifeOptions{home: l.home, work: l.work})
		_, lines := again.load(id)
		all := bytes.Join(lines, []byte("\n"))
		if !bytes.Contains(all, []byte("The turn failed.")) || !bytes.Contains(all, []byte(reason)) || bytes.Contains(all, []byte("interrupted")) {
			t.Errorf("after prompt %s the load is\n%s", prompt, shown(lines))
		}
		l = again
	}
	if got := l.turn("three"); got != "well again" {
		t.Errorf("it says %q", got)
	}
	requests := model.Requests()
	if body := string(requests[2].Body); strings.Contains(body, reason) || strings.Contains(body, "turn failed") {
		t.Errorf("the model learns of the failure: %s", body)
	}
	if body := string(requests[2].Body); !strings.Contains(body, "one") || !strings.Contains(body, "two") || !strings.Contains(body, "half") || !strings.Contains(body, "three") {
		t.Errorf("the model does not learn all: %s", body)
	}
	wantFails(l, acp.MethodSessionPrompt, &acp.PromptRequest{SessionID: id, Prompt: []acp.ContentBlock{textBlock("four")}})
	l.stop()
	for _, format := range []string{"html", "md", "json"} {
		out, errs, err := sessionsCommand(t, l.home, "export", string(id), "--format", format, "-o", "-")
		if err != nil || strings.Count(out, "The turn failed.") != 3 || !strings.Contains(out, reason) || strings.Contains(out, "interrupted") {
			t.Errorf("the export as %s (%v, %s):\n%s", format, err, errs, out)
		}
		if first, answer := strings.Index(out, "The turn failed."), strings.Index(out, "well again"); first > answer {
			t.Errorf("as %s the first failure follows the last answer", format)
		}
	}
}
