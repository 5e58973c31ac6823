package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/contextwindow"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// set returns the settings of o, which it creates if necessary.
func set(o *agent.Options) *agent.Settings {
	if o.Settings == nil {
		o.Settings = new(agent.DefaultSettings())
	}
	return o.Settings
}

// remember stores messages in a session's log.
func remember(t *testing.T, o *agent.Options, messages ...providers.Message) {
	t.Helper()
	for i := range messages {
		if _, err := o.Log.AppendMessage(&messages[i]); err != nil {
			t.Fatal(err)
		}
		o.History = append(o.History, messages[i])
	}
}

// compact runs a compaction as a command does.
func compact(w *world) (contextwindow.Compaction, agent.TurnResult, error) {
	var done contextwindow.Compaction
	var err error
	r := w.session.Prompt(agent.Prompt{Answer: func(ctx context.Context, t *agent.RunningTurn) error {
		done, err = t.Compact(ctx, "")
		return nil
	}}).Wait(w.t.Context())
	return done, r, err
}

// compactions returns the compaction events, one line each.
func compactions(w *world) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	names := make(map[string]int)
	name := func(id string) int {
		if names[id] == 0 {
			names[id] = len(names) + 1
		}
		return names[id]
	}
	var lines []string
	for _, ev := range w.events {
		switch ev := ev.(type) {
		case agent.CompactionChanged:
			lines = append(lines, fmt.Sprint(name(ev.ID), " ", ev.Status))
		case agent.CompactionDelta:
			lines = append(lines, fmt.Sprint(name(ev.ID), " ", ev.Text))
		case agent.Noticed:
			lines = append(lines, ev.Title)
		}
	}
	return lines
}

// Temporary failures are retried visibly, and all usage counts in the turn and in the session's cost. The text of an interrupted
// summary is not part of the next one.
func TestCompact_IsTriedAgain(t *testing.T) {
	busy := &providers.Error{Kind: providers.KindOverloaded, Provider: "test", Message: "busy"}
	run(
		t, func(o *agent.Options) {
			o.Retry.Jitter = func() float64 { return 0 }
			o.Model.Cost.Output = 1e6
		}, func(w *world) {
			w.prompt("go")
			done, r, err := compact(w)
			if err != nil || done.Summary != "all of it" {
				t.Fatalf("%+v, %v", done, err)
			}
			if r.Usage.Input != 3+30 || r.Usage.Output != 1+7 {
				t.Errorf("the turn used %+v", r.Usage)
			}
			if snap, err := w.session.Snapshot(); err != nil || snap.CostUSD != 5+1+7 {
				t.Errorf("the session cost %v, %v", snap.CostUSD, err)
			}
			want := []string{
				"1 in_progress",
				"The model call failed; trying again in 2s (attempt 2 of 4).",
				"1 half",
				"The model call failed; trying again in 4s (attempt 3 of 4).",
				"1 failed", "2 in_progress", "2 all of it", "2 completed",
			}
			if diff := cmp.Diff(want, compactions(w)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		},
		providertest.Step{providertest.Text("answer")},
		providertest.Step{providertest.Fail(busy)},
		providertest.Step{providertest.Text("half"), providertest.ReportUsage(providers.Usage{Input: 3, Output: 1}), providertest.Fail(busy)},
		providertest.Step{providertest.Text("all of it"), providertest.Use(providers.Usage{Input: 30, Output: 7})},
	)
	// Usage without a result counts too.
	run(
		t, nil, func(w *world) {
			w.prompt("go")
			if _, r, err := compact(w); err == nil || r.Usage.Output != 9 {
				t.Errorf("used %+v, %v", r.Usage, err)
			}
		},
		providertest.Step{providertest.Text("answer")},
		providertest.Step{providertest.Text("cut o"), providertest.Stop(providers.StopLength), providertest.Use(providers.Usage{Output: 9})},
	)
}

// A conversation that no longer fits into the window is cut for the summary: first long texts, then the oldest messages except the
// first.
func TestCompact_OfTooMuch(t *testing.T) {
	size := func(req *providers.Request) (n int) {
		for i := range req.Messages {
			n += len(req.Messages[i].Text())
		}
		return n + len(req.System)
	}
	for _, tt := range []struct {
		name     string
		window   int
		messages []int // sizes, oldest first
		most     int   // maximum size of the request, in bytes
		left     string
	}{
		{"one long text", 1_000_000, []int{10, 500_000, 10}, 40_000, ""},
		{"many messages", 10_000, []int{2_000, 20_000, 20_000, 10_000, 4_000}, 30_000, "[2 older messages are omitted"},
		{"the last does not fit", 10_000, []int{100, 100, 30_000}, 30_000, "[1 older messages are omitted"},
		{"the first is the last that fits", 10_000, []int{30_000, 30_000}, 30_000, ""},
		{"no window is known", 0, []int{10, 32_000, 32_000, 32_000, 32_000, 10}, 80_000, "[2 older messages are omitted"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run(t, func(o *agent.Options) {
				set(o).Compaction.KeepRecentTokens = 0
				o.Model.ContextWindow = tt.window
				for i, n := range tt.messages {
					m := providers.Message{Role: providers.RoleUser, Parts: words(fmt.Sprintf("<%d>%s</%d>", i, strings.Repeat("x", n), i))}
					if i%2 == 1 {
						m.Role = providers.RoleAssistant
					}
					remember(t, o, m)
				}
			}, func(w *world) {
				info := w.script.Info()
				info.ContextWindow = tt.window
				w.script = providertest.NewScript(info, providertest.Step{providertest.Text("SUM")})
				if done, _, err := compact(w); err != nil || done.Summary != "SUM" {
					t.Fatalf("%+v, %v", done, err)
				}
				req := w.script.Requests()[0]
				var all strings.Builder
				for i := range req.Messages {
					all.WriteString(req.Messages[i].Text())
				}
				last := len(tt.messages) - 1
				for _, want := range []string{"<0>", "</0>", fmt.Sprintf("<%d>", last), fmt.Sprintf("</%d>", last), "Summarise", tt.left} {
					if !strings.Contains(all.String(), want) {
						t.Errorf("the request has no %q", want)
					}
				}
				if n := size(req); n > tt.most {
					t.Errorf("the request has %d bytes in %d messages", n, len(req.Messages))
				}
				if tt.left == "" && strings.Contains(all.String(), "are left out here") {
					t.Error("messages are left out")
				}
			})
		})
	}
}

// If a provider accepts less than expected, the request is retried with less, and finally given up.
func TestCompact_Overflow(t *testing.T) {
	full := &providers.Error{Kind: providers.KindContextOverflow, Provider: "test", Message: "too long"}
	run(t, func(o *agent.Options) {
		o.Model.ContextWindow = 100_000
		for range 40 {
			remember(t, o, providers.Message{Role: providers.RoleUser, Parts: words(strings.Repeat("x", 1000))})
		}
	}, func(w *world) {
		info := w.script.Info()
		info.ContextWindow = 100_000
		w.script = providertest.NewScript(info, providertest.Step{providertest.Fail(full)}, providertest.Step{providertest.Fail(full)},
			providertest.Step{providertest.Fail(full)}, providertest.Step{providertest.Fail(full)}, providertest.Step{providertest.Text("SUM")})
		if done, _, err := compact(w); err != nil || done.Summary != "SUM" {
			t.Errorf("%+v, %v", done, err)
		}
		w.script.Else(func(*providers.Request) providertest.Step { return providertest.Step{providertest.Fail(full)} })
		w.script.Add(providertest.Step{providertest.Text("more")})
		w.prompt("go on")
		before := len(w.script.Requests())
		if _, _, err := compact(w); !errors.Is(err, full) {
			t.Errorf("the error is %v", err)
		}
		if n := len(w.script.Requests()) - before; n > 10 {
			t.Errorf("asked %d times", n)
		}
	})
}
