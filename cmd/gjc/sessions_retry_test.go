package main

import (
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/providers/providertest"
)

// limited is a rate limit response. after is the header Retry-After; empty for none.
func limited(after string) providertest.Step {
	header := map[string]string{"Retry-After": after}
	if after == "" {
		header = nil
	}
	return providertest.Step{providertest.Status(429, `{"error":{"message":"Rate limit reached for requests","type":"requests","param":null,"code":"rate_limit_exceeded"}}`, header)}
}

func unavailable() providertest.Step {
	return providertest.Step{providertest.Status(503, `{"error":{"message":"The server is overloaded","type":"server_error"}}`, nil)}
}

// quick are settings without waits.
const quick = noTitles + "retry: {baseDelayMs: 1}\n"

// gjc waits for temporary failures to pass, visibly, and the prompt is answered as if there had been none.
func TestRetry(t *testing.T) {
	t.Parallel()
	for name, capabilities := range map[string]*acp.ClientCapabilities{"notices": nil, "words": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := providertest.NewServer(limited("0"), limited("1"), unavailable(), providertest.Step{providertest.Text("answered at last")})
			t.Cleanup(model.Close)
			l := startLife(t, lifeOptions{home: scripted(t, model, 100_000, quick), capabilities: capabilities})
			id := l.begin()
			mark := l.mark()
			if got := l.turn("hello"); !strings.Contains(got, "answered at last") {
				t.Errorf("it says %q", got)
			}
			lines := l.since(mark)
			notices := 0
			for _, line := range lines {
				if u := updateIn(line); u != nil && strings.Contains(string(u.raw), "trying again") {
					notices++
					if want := map[bool]string{true: "notice", false: "agent_message_chunk"}[capabilities == nil]; u.SessionUpdate != want {
						t.Errorf("a retry is reported as %s, want %s", u.SessionUpdate, want)
					}
				}
			}
			if n := len(model.Requests()); notices != 3 || n != 4 {
				t.Errorf("%d retries are reported, %d requests were made:\n%s", notices, n, shown(lines))
			}
			l.stop()
			// Failures are not part of the conversation.
			again := startLife(t, lifeOptions{home: l.home, work: l.work, capabilities: capabilities})
			_, lines = again.load(id)
			if got := wordsIn(lines, "agent_message_chunk"); got != "answered at last" || wordsIn(lines, "user_message_chunk") != "hello" {
				t.Errorf("the load is\n%s", shown(lines))
			}
			again.stop()
		})
	}
}

// A failure in the middle of a response is retried too, and leaves no text.
func TestRetry_BrokenAnswer(t *testing.T) {
	t.Parallel()
	model := providertest.NewServer(providertest.Step{providertest.Text("half an ans"), providertest.Drop()}, providertest.Step{providertest.Text("a whole one")})
	t.Cleanup(model.Close)
	l := startLife(t, lifeOptions{home: scripted(t, model, 100_000, quick)})
	id := l.begin()
	if got := l.turn("hello"); !strings.HasSuffix(strings.TrimSpace(got), "a whole one") {
		t.Errorf("it says %q", got)
	}
	l.stop()
	again := startLife(t, lifeOptions{home: l.home, work: l.work})
	if _, lines := again.load(id); wordsIn(lines, "agent_message_chunk") != "a whole one" {
		t.Errorf("the load is\n%s", shown(lines))
	}
	again.stop()
}

// A long wait ends when the user cancels it, and the next prompt is sent at once.
func TestRetry_CancelledWait(t *testing.T) {
	t.Parallel()
	model := providertest.NewServer(limited("280"), providertest.Step{providertest.Text("now it works")})
	t.Cleanup(model.Close)
	l := startLife(t, lifeOptions{home: scripted(t, model, 100_000, quick)})
	l.begin()
	l.cancelTurn("hello", l.holds(acptest.Update(func(u *acp.Notice) bool { return true })))
	if n := len(model.Requests()); n != 1 {
		t.Errorf("%d requests were made", n)
	}
	if got := l.turn("again"); !strings.Contains(got, "now it works") {
		t.Errorf("it says %q", got)
	}
	l.stop()
}

// Failures that cannot pass, pass too late, or do not pass are errors with their reason.
func TestRetry_GivesUp(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, settings string
		steps          []providertest.Step
		requests       int
		kind, part     string
	}{
		{"switched off", noTitles + "retry: {enabled: false}\n", []providertest.Step{limited("0")}, 1, "rate_limit", "Rate limit reached"},
		{"too often", noTitles + "retry: {baseDelayMs: 1, maxRetries: 2}\n", []providertest.Step{unavailable(), unavailable(), unavailable()}, 3, "overloaded", "tried 3 times"},
		{"too long", quick, []providertest.Step{limited("4000")}, 1, "rate_limit", "can be tried again"},
		{"wrong key", quick, []providertest.Step{{providertest.Status(401, `{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","code":"invalid_api_key"}}`, nil)}}, 1, "auth", "Incorrect API key"},
		{"no credit", quick, []providertest.Step{{providertest.Status(429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, nil)}}, 1, "quota", "quota"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			model := providertest.NewServer(append(tt.steps, providertest.Step{providertest.Text("back again")})...)
			t.Cleanup(model.Close)
			l := startLife(t, lifeOptions{home: scripted(t, model, 100_000, tt.settings)})
			id := l.begin()
			e := wantFails(l, acp.MethodSessionPrompt, &acp.PromptRequest{SessionID: id, Prompt: []acp.ContentBlock{textBlock("hello")}})
			if !strings.Contains(string(e.Data), `"`+tt.kind+`"`) || !strings.Contains(e.Message, tt.part) {
				t.Errorf("it fails with %v, %s", e, e.Data)
			}
			if n := len(model.Requests()); n != tt.requests {
				t.Errorf("%d requests were made, want %d", n, tt.requests)
			}
			if got := l.turn("hello again"); !strings.Contains(got, "back again") {
				t.Errorf("the next prompt says %q", got)
			}
			l.stop()
		})
	}
}
