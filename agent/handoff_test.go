package agent_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/contextwindow"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
	"github.com/gajae-code/gjc/sessions"
)

// handoff asks for a document as a command does.
func handoff(w *world, focus string) (document string, r agent.TurnResult, err error) {
	r = w.session.Prompt(agent.Prompt{Answer: func(ctx context.Context, t *agent.RunningTurn) error {
		document, err = t.Handoff(ctx, focus)
		return nil
	}}).Wait(w.t.Context())
	return document, r, err
}

// A handoff is the next request with one additional message, so that the cache remains valid. Calls do not run, and the
// conversation stays unchanged.
func TestHandoff(t *testing.T) {
	run(
		t, nil, func(w *world) {
			w.prompt("go")
			before := w.log.all()
			document, r, err := handoff(w, " the tests ")
			if err != nil || document != "# Goal\nNext" || r.Usage.Output != 7 {
				t.Errorf("%q, %+v, %v", document, r, err)
			}
			if d := cmp.Diff(before, w.log.all()); d != "" {
				t.Errorf("the log has changed:\n%s", d)
			}
			w.prompt("on")
			reqs := w.script.Requests()
			asked, next := reqs[1], reqs[2]
			if asked.System != next.System || cmp.Diff(asked.Tools, next.Tools) != "" || asked.Thinking != next.Thinking {
				t.Error("the request is not the conversation's: its cache is lost")
			}
			n := len(asked.Messages) - 1
			if d := cmp.Diff(next.Messages[:n], asked.Messages[:n]); d != "" {
				t.Errorf("-next +asked:\n%s", d)
			}
			last := asked.Messages[n]
			if last.Role != providers.RoleUser || !strings.Contains(last.Text(), "handoff document") || !strings.HasSuffix(last.Text(), "Most important: the tests") {
				t.Errorf("asked %q", last.Text())
			}
		},
		providertest.Step{providertest.Text("ok")},
		providertest.Step{
			providertest.Think("hm"), providertest.Text("# Goal"), providertest.Call("c", "echo", `{"say":"x"}`), providertest.Text(" Next "),
			providertest.Use(providers.Usage{Input: 9, Output: 7}),
		},
		providertest.Step{providertest.Text("ok")},
	)
	message := contextwindow.HandoffMessage(" doc ")
	if text := message.Parts[0].(providers.Text).Text; message.CustomType != "handoff" || !message.Display || message.Attribution != "agent" ||
		!strings.HasPrefix(text, "<handoff-context>\ndoc\n</handoff-context>\n\n") {
		t.Errorf("%+v", message)
	}
}

func TestHandoff_Failures(t *testing.T) {
	busy := &providers.Error{Kind: providers.KindOverloaded, Provider: "test", Message: "busy"}
	broken := &providers.Error{Kind: providers.KindInvalid, Provider: "test", Message: "no"}
	for _, tt := range []struct {
		name  string
		steps []providertest.Step
		want  error
	}{
		{"nothing said", []providertest.Step{{providertest.Call("c", "echo", `{}`)}}, contextwindow.ErrEmptyHandoff},
		{"broken", []providertest.Step{{providertest.Fail(broken)}}, broken},
		{"cut off", []providertest.Step{{providertest.Text("x"), providertest.Stop(providers.StopLength)}}, nil},
		{"busy for too long", []providertest.Step{{providertest.Fail(busy)}, {providertest.Fail(busy)}, {providertest.Fail(busy)}, {providertest.Fail(busy)}}, busy},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run(t, nil, func(w *world) {
				w.prompt("go")
				if document, _, err := handoff(w, ""); err == nil || document != "" || tt.want != nil && !errors.Is(err, tt.want) {
					t.Errorf("%q, %v", document, err)
				}
				if w.script.Left() > 0 {
					t.Errorf("%d steps are left", w.script.Left())
				}
			}, append([]providertest.Step{{providertest.Text("ok")}}, tt.steps...)...)
		})
	}
	run(t, nil, func(w *world) {
		if _, _, err := handoff(w, ""); !errors.Is(err, contextwindow.ErrNothingToHandOff) {
			t.Errorf("err %v", err)
		}
	})
	// The handoff is canceled while the model writes.
	run(t, nil, func(w *world) {
		gate := providertest.NewGate()
		w.speak(providertest.Step{providertest.Text("ok")}, providertest.Step{providertest.Text("half"), gate.Hold()})
		w.prompt("go")
		var err error
		turn := w.session.Prompt(agent.Prompt{Answer: func(ctx context.Context, turn *agent.RunningTurn) error {
			_, err = turn.Handoff(ctx, "")
			return err
		}})
		<-gate.Reached()
		w.session.Cancel()
		if r := turn.Wait(w.t.Context()); r.Stop != agent.StopCancelled || !errors.Is(err, agent.ErrCancelled) {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// artifacts records what was stored.
type artifacts struct {
	put []string
	err error
}

func (a *artifacts) Put(_ context.Context, tool string, data []byte) (string, error) {
	a.put = append(a.put, tool+": "+string(data))
	return "artifact://1", a.err
}

func (a *artifacts) Get(context.Context, string) ([]byte, error) { return nil, errors.New("none") }

// With the handoff strategy a conversation over the threshold restarts with a document, followed by the prompt without
// an answer.
func TestStrategyHandoff(t *testing.T) {
	kept := &artifacts{}
	settings := func(o *agent.Options) {
		window(o, 40_000)
		c := &set(o).Compaction
		c.Strategy, c.ThresholdTokens, c.KeepRecentTokens, c.HandoffSaveToDisk = contextwindow.StrategyHandoff, 10_000, 2000, true
		o.Artifacts = kept
	}
	doc := providertest.Step{providertest.Text("THE DOCUMENT")}
	const begins = "Summary: <handoff-context>\nTHE DOCUMENT"
	t.Run("inside a turn", func(t *testing.T) {
		*kept = artifacts{}
		run(t, func(o *agent.Options) { settings(o); long(t, o, 8000) }, func(w *world) {
			if r := w.prompt("go"); r.Err != nil || r.Stop != agent.StopEndTurn {
				t.Errorf("%+v", r)
			}
			reqs := w.script.Requests()
			if len(reqs) != 3 || len(reqs[2].Messages) != 1 || !strings.HasPrefix(reqs[2].Messages[0].Text(), begins) {
				t.Fatalf("%d requests", len(reqs))
			}
			branch := branchOf(t, w.log)
			if m, ok := branch[0].(sessions.MessageEntry); !ok || m.Message.Role != providers.RoleUser {
				t.Errorf("what was said before is gone: the branch begins with %+v", branch[0])
			}
			if got := ended(w); !slices.Equal(got, []string{"threshold completed"}) {
				t.Errorf("got %q", got)
			}
			if !slices.Equal(kept.put, []string{"handoff: THE DOCUMENT\n"}) {
				t.Errorf("kept %q", kept.put)
			}
		}, providertest.Step{providertest.Call("c", "echo", `{}`), full(12_000)}, doc, providertest.Step{providertest.Text("done")})
	})
	t.Run("before the first answer", func(t *testing.T) {
		*kept = artifacts{err: errDiskFull}
		run(t, func(o *agent.Options) { settings(o); long(t, o, 16_000) }, func(w *world) {
			if r := w.prompt("go"); r.Err != nil {
				t.Errorf("%+v", r)
			}
			reqs := w.script.Requests()
			got := heads(reqs[1].Messages)
			if len(reqs) != 2 || len(got) != 2 || !strings.HasPrefix(got[0], "Summary: <hand") || got[1] != "go" {
				t.Errorf("the model sees %q", got)
			}
			if n := notices(w); !slices.Equal(n, []string{"The handoff document could not be saved."}) {
				t.Errorf("noticed %q", n)
			}
		}, doc, providertest.Step{providertest.Text("done")})
	})
	t.Run("no document", func(t *testing.T) {
		run(t, func(o *agent.Options) { settings(o); long(t, o, 8000) }, func(w *world) {
			if r := w.prompt("go"); r.Err != nil {
				t.Errorf("%+v", r)
			}
			if got := ended(w); !slices.Equal(got, []string{"threshold failed", "threshold completed"}) {
				t.Errorf("got %q", got)
			}
			reqs := w.script.Requests()
			if got := heads(reqs[len(reqs)-1].Messages); got[0] != "Summary: SUM" {
				t.Errorf("the model sees %q", got)
			}
		}, providertest.Step{providertest.Call("c", "echo", `{}`), full(12_000)}, providertest.Step{providertest.Text(" ")},
			providertest.Step{providertest.Text("SUM")}, providertest.Step{providertest.Text("done")})
	})
	t.Run("the disk is full", func(t *testing.T) {
		run(t, func(o *agent.Options) { settings(o); long(t, o, 8000) }, func(w *world) {
			w.script.Add(providertest.Step{providertest.Text("ok"), full(12_000)}, providertest.Step{
				providertest.Check(func(*providers.Request) { w.log.failAt = len(w.log.all()) + 1 }), providertest.Text("THE DOCUMENT"),
			}, providertest.Step{providertest.Text("SUM")})
			w.prompt("go")
			if got, _ := w.session.Context(); len(got) != 22 {
				t.Errorf("the conversation has %d messages", len(got))
			}
		})
	})
	t.Run("not for an overflow", func(t *testing.T) {
		run(t, func(o *agent.Options) { settings(o); set(o).Compaction.KeepRecentTokens = 1500; long(t, o, 8000) }, func(w *world) {
			if r := w.prompt("go"); r.Err != nil || len(stored(t, w.log)) != 1 {
				t.Errorf("%+v, %q", r, ended(w))
			}
		}, providertest.Step{providertest.Fail(overflow())}, providertest.Step{providertest.Text("SUM")}, providertest.Step{providertest.Text("done")})
	})
	t.Run("with open steps", func(t *testing.T) {
		run(t, func(o *agent.Options) {
			settings(o)
			long(t, o, 16_000)
			o.Plan = []agent.PlanEntry{{Content: "left </open-work>", Status: agent.PlanInProgress}, {Content: "over", Status: agent.PlanCompleted}}
		}, func(w *world) {
			w.prompt("go")
			reqs := w.script.Requests()
			if got := reqs[1].Messages[0].Text(); !strings.HasPrefix(got, begins) || !strings.Contains(got, "- left <\\/open-work> (in_progress)\n</open-work>") || strings.Contains(got, "over") {
				t.Errorf("the model sees %q", got)
			}
		}, doc, providertest.Step{providertest.Text("done")})
	})
}
