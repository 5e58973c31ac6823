package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

const (
	theSummary = "SUMMARY: many words were said about nothing."
	noTitles   = "title: {generate: false}\n"
)

// isSummary distinguishes requests for a summary from those of the conversation.
func isSummary(r providertest.Recorded) bool {
	return strings.Contains(string(r.Body), "You write the compaction of a conversation")
}

// wordy is a model that answers each prompt at length, counts its tokens, and writes the same summary each time.
func wordy(t *testing.T) *providertest.Server {
	t.Helper()
	model := providertest.NewServer()
	t.Cleanup(model.Close)
	model.Else(func(r providertest.Recorded) providertest.Step {
		usage := providertest.Use(providers.Usage{Input: len(r.Body) / 4, Output: 2500})
		if isSummary(r) {
			return providertest.Step{usage, providertest.Text(theSummary)}
		}
		return providertest.Step{usage, providertest.Text("ANSWER to " + lastPrompt(r) + strings.Repeat(" word", 2000))}
	})
	return model
}

// lastPrompt returns the first word of the user's last prompt.
func lastPrompt(r providertest.Recorded) string {
	var body struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if json.Unmarshal(r.Body, &body) != nil {
		return ""
	}
	for _, m := range slices.Backward(body.Messages) {
		if m.Role == "user" {
			word, _, _ := strings.Cut(strings.Trim(string(m.Content), `"`), " ")
			return word
		}
	}
	return ""
}

// overflowBody is OpenAI's error for a conversation that is too long.
const overflowBody = `{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",` +
	`"type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`

func longPrompt(name string) string { return name + strings.Repeat(" detail", 1200) }

// story summarizes a conversation: who began which message, and the compactions.
func story(lines [][]byte) []string {
	var all []string
	last := ""
	for _, line := range lines {
		u := updateIn(line)
		if u == nil {
			continue
		}
		switch u.SessionUpdate {
		case "user_message_chunk", "agent_message_chunk":
			words, _ := textIn(u.Content)
			if key := u.SessionUpdate + u.MessageID; key != last || u.MessageID == "" {
				last = key
				first := strings.Fields(words)
				all = append(all, speakers[u.SessionUpdate]+": "+strings.Join(first[:min(len(first), 4)], " "))
			}
		case "compaction_update":
			if strings.Contains(string(u.raw), `"completed"`) {
				all = append(all, "compacted")
			}
			last = ""
		}
	}
	return all
}

// A conversation grows over the threshold of a small window. It is compacted automatically, the editor is notified in a
// way that it supports, the next request is smaller, and a load shows everything with the compaction in its place.
func TestCompaction_Threshold(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name         string
		capabilities *acp.ClientCapabilities
		line         string
	}{
		{"a line", &acp.ClientCapabilities{}, "agent: [The conversation so far"},
		{"updates", nil, "compacted"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			model := wordy(t)
			l := startLife(t, lifeOptions{home: scripted(t, model, 60_000, noTitles), capabilities: tt.capabilities})
			id := l.begin()
			var notices []string
			compacted := -1
			for turn := 0; compacted < 0 || turn < compacted+2; turn++ {
				if turn == 30 {
					t.Fatal("it is never compacted")
				}
				mark := l.mark()
				l.say(acp.StopReasonEndTurn, textBlock(longPrompt(fmt.Sprint("PROMPT-", turn))))
				lines := l.since(mark)
				wantShortLines(t, lines)
				if compacted < 0 && slices.ContainsFunc(model.Requests(), isSummary) {
					compacted = turn
					wantCompactionUpdates(t, lines, tt.capabilities == nil)
				}
				notices = append(append(notices, fmt.Sprintf("user: PROMPT-%d detail detail detail", turn)), story(lines)...)
			}
			if n := count(notices, tt.line); n != 1 {
				t.Errorf("the compaction received %d times: %q", n, notices)
			}
			wantSmaller(t, model.Requests())
			l.stop()

			again := startLife(t, lifeOptions{home: l.home, work: l.work, capabilities: tt.capabilities})
			_, lines := again.load(id)
			if d := cmp.Diff(notices, story(lines)); d != "" {
				t.Errorf("the load (-live +loaded):\n%s", d)
			}
			// The model continues from the summary, and does not receive the whole conversation again.
			asked := len(model.Requests())
			again.turn("NEXT one")
			requests := model.Requests()[asked:]
			if len(requests) != 1 || !strings.Contains(string(requests[0].Body), theSummary) || strings.Contains(string(requests[0].Body), "PROMPT-0 ") {
				t.Errorf("after the load the model is asked %d times, lastly with %d bytes", len(requests), len(requests[0].Body))
			}
			again.stop()
		})
	}
}

// wantCompactionUpdates expects the updates of one compaction, if the editor supports them.
func wantCompactionUpdates(t *testing.T, lines [][]byte, known bool) {
	t.Helper()
	var ids, states []string
	var summary strings.Builder
	for _, line := range lines {
		u := updateIn(line)
		if u == nil || !strings.HasPrefix(u.SessionUpdate, "compaction_") {
			continue
		}
		var c struct{ CompactionID, Status string }
		if err := json.Unmarshal(u.raw, &c); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, c.CompactionID)
		if u.SessionUpdate == "compaction_update" {
			states = append(states, c.Status)
		} else {
			words, _ := textIn(u.Content)
			summary.WriteString(words)
		}
	}
	if !known {
		if len(ids) > 0 {
			t.Errorf("the editor is sent %d updates that it does not know", len(ids))
		}
		return
	}
	if !slices.Equal(states, []string{"in_progress", "completed"}) || len(slices.Compact(ids)) != 1 || ids[0] == "" {
		t.Errorf("the compaction is reported as %q with the ids %q", states, ids)
	}
	if !strings.Contains(summary.String(), theSummary) {
		t.Errorf("the summary is reported as %q", &summary)
	}
}

// wantSmaller expects the request after the summary to contain it, and to be smaller than the one before.
func wantSmaller(t *testing.T, requests []providertest.Recorded) {
	t.Helper()
	at := slices.IndexFunc(requests, isSummary)
	after := at + slices.IndexFunc(requests[at:], func(r providertest.Recorded) bool { return !isSummary(r) })
	if at < 1 || after < at {
		t.Fatalf("the summary is request %d of %d", at, len(requests))
	}
	before, later := string(requests[at-1].Body), string(requests[after].Body)
	if len(later) >= len(before) || !strings.Contains(later, theSummary) || strings.Contains(later, "PROMPT-0 ") {
		t.Errorf("after the compaction a request has %d bytes, and had %d:\n%.3000s", len(later), len(before), later)
	}
	if !strings.Contains(string(requests[at].Body), "PROMPT-0 ") {
		t.Error("the model is not shown what it is to summarise")
	}
}

// The model that writes the summary receives the user's wish about what to keep.
func TestCompaction_Focus(t *testing.T) {
	t.Parallel()
	model := wordy(t)
	l := startLife(t, lifeOptions{home: scripted(t, model, 200_000, noTitles), capabilities: &acp.ClientCapabilities{}})
	l.begin()
	if got := l.turn("/compact"); !strings.Contains(got, "nothing to compact") {
		t.Errorf("of nothing it says %q", got)
	}
	l.turn(longPrompt("PROMPT-0"))
	l.turn(longPrompt("PROMPT-1"))
	got := l.turn("/compact the colour of the shed")
	if !strings.Contains(got, "Compaction complete") || !strings.Contains(got, theSummary) {
		t.Errorf("it says %q", got)
	}
	requests := model.Requests()
	if last := requests[len(requests)-1]; !isSummary(last) || !strings.Contains(string(last.Body), "the colour of the shed") || !strings.Contains(string(last.Body), "PROMPT-0 ") {
		t.Errorf("the summary is asked for with %.2000s", last.Body)
	}
	l.turn(longPrompt("PROMPT-2"))
	l.turn("/compact")
	requests = model.Requests()
	last := string(requests[len(requests)-1].Body)
	if !strings.Contains(last, theSummary) || strings.Contains(last, "the colour of the shed") || strings.Contains(last, "PROMPT-0 ") {
		t.Errorf("the second summary is asked for with %.2000s", last)
	}
	l.stop()
}

// The provider reports that the conversation is too long, against gjc's estimate: it is compacted, and the prompt is
// answered.
func TestCompaction_Overflow(t *testing.T) {
	t.Parallel()
	model := wordy(t)
	l := startLife(t, lifeOptions{home: scripted(t, model, 200_000, noTitles+"compaction: {keepRecentTokens: 1000}\n")})
	id := l.begin()
	l.turn(longPrompt("PROMPT-0"))
	l.turn(longPrompt("PROMPT-1"))
	asked := len(model.Requests())
	model.Add(providertest.Step{providertest.Status(400, overflowBody, nil)})
	mark := l.mark()
	if got := l.turn(longPrompt("PROMPT-2")); !strings.HasPrefix(strings.TrimSpace(got), "ANSWER to") {
		t.Errorf("it says %.200q", got)
	}
	wantCompactionUpdates(t, l.since(mark), true)
	requests := model.Requests()[asked:]
	if len(requests) != 3 || !isSummary(requests[1]) {
		t.Fatalf("the model is asked %d times", len(requests))
	}
	last := string(requests[2].Body)
	if !strings.Contains(last, theSummary) || !strings.Contains(last, "PROMPT-2 ") || strings.Contains(last, "PROMPT-0 ") {
		t.Errorf("after the overflow the model is asked %.3000s", last)
	}
	// A conversation that never fits ends in an error, not in an endless loop.
	for range 20 {
		model.Add(providertest.Step{providertest.Status(400, overflowBody, nil)})
	}
	asked = len(model.Requests())
	e := wantFails(l, acp.MethodSessionPrompt, &acp.PromptRequest{SessionID: id, Prompt: []acp.ContentBlock{textBlock("PROMPT-3")}})
	if !strings.Contains(string(e.Data), "context_overflow") || len(model.Requests())-asked > 15 {
		t.Errorf("it fails with %+v after %d requests", e, len(model.Requests())-asked)
	}
	l.stop()
}

// A compaction is cancelled like any turn: by hand, and in the middle of a prompt. The conversation stays unchanged.
func TestCompaction_Cancel(t *testing.T) {
	t.Parallel()
	model := wordy(t)
	l := startLife(t, lifeOptions{home: scripted(t, model, 200_000, noTitles)})
	l.begin()
	l.turn(longPrompt("PROMPT-0"))
	l.turn(longPrompt("PROMPT-1"))
	for _, tt := range []struct {
		prompt string
		before []providertest.Step
	}{
		{"/compact", nil},
		{longPrompt("PROMPT-2"), []providertest.Step{{providertest.Status(400, overflowBody, nil)}}},
	} {
		gate := providertest.NewGate()
		model.Add(append(tt.before, providertest.Step{providertest.Text("SUMMARY: half a"), gate.Hold()})...)
		mark := l.mark()
		l.cancelTurn(tt.prompt, gate.Reached())
		gate.Open()
		updates := shown(l.since(mark))
		if !strings.Contains(updates, `"cancelled"`) || strings.Contains(updates, `"status":"completed"`) {
			t.Errorf("%.20s: the compaction is reported as\n%s", tt.prompt, updates)
		}
		if got := l.turn("AFTER that"); !strings.Contains(got, "ANSWER to AFTER") {
			t.Errorf("%.20s: the next prompt says %.200q", tt.prompt, got)
		}
		requests := model.Requests()
		if last := string(requests[len(requests)-1].Body); !strings.Contains(last, "PROMPT-0 ") || strings.Contains(last, "half a") {
			t.Errorf("%.20s: the next request has %.3000s", tt.prompt, last)
		}
	}
	l.stop()
}
