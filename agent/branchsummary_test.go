package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/contextwindow"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
	"github.com/gajae-code/gjc/sessions"
)

func summarizeBranch(w *world, entries []sessions.Entry, instructions string) (s sessions.BranchSummary, err error) {
	w.session.Prompt(agent.Prompt{Answer: func(ctx context.Context, t *agent.RunningTurn) error {
		s, err = t.SummarizeBranch(ctx, entries, instructions)
		return nil
	}}).Wait(w.t.Context())
	return s, err
}

func entriesOf(messages ...providers.Message) []sessions.Entry {
	var all []sessions.Entry
	for _, m := range messages {
		all = append(all, sessions.MessageEntry{Message: m})
	}
	return all
}

// A branch is summarized from its newest end, as far as the window permits. The files of the whole branch are listed.
func TestSummarizeBranch(t *testing.T) {
	edit := toolCall("e", "edit", `{"path":"old.go"}`)
	entries := entriesOf(user("first", 9000), agentSays("a", 100, edit), result(edit, 100), user("second", 5000), agentSays("b", 2000))
	entries = append(
		entries,
		sessions.BranchSummary{Summary: "an earlier one", Details: jsonx.Raw(`{"readFiles":["seen.go"],"modifiedFiles":[]}`)},
		sessions.Compaction{Summary: "what was compacted", Details: jsonx.Raw(`{"readFiles":["other.go"],"modifiedFiles":[]}`), FromExtension: true},
		sessions.ModelChange{Model: "test/m"},
	)
	entries = append(entries, entriesOf(user("last", 10))...)
	run(t, func(o *agent.Options) {
		window(o, 20_000)
		set(o).BranchSummary.ReserveTokens = 10_000
	}, func(w *world) {
		before := len(w.events)
		s, err := summarizeBranch(w, entries, "")
		if err != nil {
			t.Fatal(err)
		}
		const tags = "\n\n<files>\nold.go (Write)\nseen.go (Read)\n</files>"
		if !strings.HasPrefix(s.Summary, "The user tried another branch") || !strings.HasSuffix(s.Summary, "\n\nWHAT HAPPENED"+tags) {
			t.Errorf("summary %q", s.Summary)
		}
		if string(s.Details) != `{"readFiles":["seen.go"],"modifiedFiles":["old.go"]}` {
			t.Errorf("details %s", s.Details)
		}
		ask := w.script.Requests()[0].Messages[0].Text()
		for _, want := range []string{"second", "[Agent]: b", "an earlier one", "what was compacted", "last", "a branch that the user has left"} {
			if !strings.Contains(ask, want) {
				t.Errorf("the request has no %q", want)
			}
		}
		if strings.Contains(ask, "first") {
			t.Error("the request has what does not fit")
		}
		if len(stored(t, w.log)) > 0 || len(w.log.all()) > 0 {
			t.Errorf("the log has %q", w.log.all())
		}
		for _, ev := range w.events[before:] {
			if _, ok := ev.(agent.CompactionChanged); ok {
				t.Error("a compaction was reported")
			}
		}
		if _, err := summarizeBranch(w, entries, "Only the tests."); err != nil {
			t.Fatal(err)
		}
		if ask := w.script.Requests()[1].Messages[0].Text(); !strings.HasSuffix(ask, "Only the tests.") || strings.Contains(ask, "a branch that the user has left") {
			t.Errorf("asked %.100s", ask)
		}
		if _, err := summarizeBranch(w, []sessions.Entry{sessions.ModelChange{Model: "x/y"}}, ""); !errors.Is(err, contextwindow.ErrNothingToSummarize) {
			t.Errorf("of nothing: %v", err)
		}
		if _, err := summarizeBranch(w, entries, ""); err == nil {
			t.Error("a failure is no error")
		}
	}, providertest.Step{providertest.Text("WHAT HAPPENED")}, providertest.Step{providertest.Text("TESTS")}, providertest.Step{providertest.Text("")})
}

// A summary at the limit of the budget is accepted and shortened, because it covers many messages.
func TestSummarizeBranch_SummaryAtTheEdge(t *testing.T) {
	entries := []sessions.Entry{sessions.BranchSummary{Summary: chars("SUMMARY OF MUCH", 9000)}}
	entries = append(entries, entriesOf(user("last", 5000))...)
	run(t, func(o *agent.Options) {
		window(o, 20_000)
		set(o).BranchSummary.ReserveTokens = 10_000
	}, func(w *world) {
		if _, err := summarizeBranch(w, entries, ""); err != nil {
			t.Fatal(err)
		}
		if ask := w.script.Requests()[0].Messages[0].Text(); !strings.Contains(ask, "SUMMARY OF MUCH") || len(ask) > 45_000 {
			t.Errorf("asked with %d bytes", len(ask))
		}
	}, providertest.Step{providertest.Text("S")})
}
