package agent_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/contextwindow"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
	"github.com/gajae-code/gjc/sessions"
)

// With the log on disk, a loaded session has the same conversation as the live one, and nearly the same estimate of its size.
func TestCompaction_Loaded(t *testing.T) {
	const windowSize = 24_000
	for _, strategy := range []contextwindow.Strategy{contextwindow.StrategyContextFull, contextwindow.StrategyHandoff} {
		synctest.Test(t, func(t *testing.T) {
			now := time.Now()
			clock := func() time.Time { now = now.Add(time.Second); return now }
			store := sessions.NewStore(t.TempDir(), &sessions.StoreOptions{Sync: sessions.SyncNever, Clock: clock})
			log, err := store.Create(t.Context(), sessions.Header{Cwd: "/w"})
			if err != nil {
				t.Fatal(err)
			}
			id := log.ID()
			model := &modelOf{t: t, window: windowSize, rand: rand.New(rand.NewPCG(3, 4))}
			info := providers.ModelInfo{Provider: "test", ID: "script", ContextWindow: windowSize}
			w := &world{t: t, script: providertest.NewScript(info)}
			w.script.Else(model.answer)
			settings := agent.DefaultSettings()
			settings.Compaction.Strategy = strategy
			ids := 0
			begin := func(log *sessions.Log, history []providers.Message) *agent.Session {
				return agent.New(agent.Options{
					ID:             id,
					Environment:    agent.Environment{Workspace: agent.Workspace{Cwd: "/w"}, FS: noFiles{}},
					Interaction:    agent.Interaction{Approver: w},
					ModelOptions:   agent.ModelOptions{Models: w, Model: info},
					Conversation:   agent.Conversation{Log: log, History: history},
					Mode:           approval.ModeDefault,
					Emit:           w.emit,
					OS:             "linux",
					Clock:          clock,
					ContextOptions: agent.ContextOptions{Settings: &settings},
					NewID:          func() string { ids++; return fmt.Sprint("m", ids) },
					Tools: agent.Tools{testTool("big", false, nil, func(context.Context, *input) (*agent.Result, error) {
						return &agent.Result{Text: chars("result ", model.rand.IntN(3000))}, nil
					})},
				})
			}
			session := begin(log, nil)
			for i := range 60 {
				text := chars("and then ", model.rand.IntN(400))
				if i == 0 {
					text = "GOAL-1: never stop."
				}
				if r := session.Prompt(agent.Prompt{Parts: words(text)}).Wait(t.Context()); r.Err != nil || r.Stop != agent.StopEndTurn {
					t.Fatalf("%s, turn %d: %+v", strategy, i, r)
				}
				if i%7 != 6 {
					continue
				}
				live, err := session.Context()
				if err != nil {
					t.Fatal(err)
				}
				use, err := session.ContextUse(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if err := session.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
				if log, err = store.Open(t.Context(), id); err != nil {
					t.Fatal(err)
				}
				history, err := log.Messages()
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(lines(live), lines(history)); d != "" {
					t.Fatalf("%s, turn %d: the loaded conversation is another (-live +loaded):\n%s", strategy, i, d)
				}
				session = begin(log, history)
				loaded, err := session.ContextUse(t.Context())
				if err != nil || loaded.Next < use.Next/2 || loaded.Next > use.Next*2 {
					t.Fatalf("%s, turn %d: live %+v, loaded %+v, %v", strategy, i, use, loaded, err)
				}
			}
			if err := session.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if model.overflowing > 0 || len(notices(w)) > 0 {
				t.Errorf("%s: %d requests did not fit; noticed %q", strategy, model.overflowing, notices(w))
			}
			done := 0
			for _, line := range ended(w) {
				if line == "threshold completed" {
					done++
				}
			}
			if done < 3 {
				t.Errorf("%s: %d compactions", strategy, done)
			}
		})
	}
}

// lines returns a conversation without the data that exists only on disk.
func lines(messages []providers.Message) []string {
	all := make([]string, len(messages))
	for i := range messages {
		all[i] = string(messages[i].Role) + ": " + messages[i].Text() + fmt.Sprint(len(messages[i].ToolCalls()))
	}
	return all
}
