package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/contextwindow"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
	"github.com/gajae-code/gjc/sessions"
)

func overflow() *providers.Error {
	return &providers.Error{Kind: providers.KindContextOverflow, Provider: "test", Message: "too long"}
}

// long stores a history of about n tokens, which can be compacted, in the session's log.
func long(t *testing.T, o *agent.Options, n int) {
	t.Helper()
	for i := range 10 {
		remember(t, o, user(fmt.Sprintf("q%d ", i), n/20), agentSays(fmt.Sprintf("a%d ", i), n/20))
	}
}

// full reports that a request used n tokens of the window.
func full(n int) providertest.Action { return providertest.Use(providers.Usage{Input: n, Output: 5}) }

// After a turn, and before the next request within one, a conversation over the threshold is compacted; the turn
// continues its work.
func TestThreshold(t *testing.T) {
	settings := func(o *agent.Options) {
		window(o, 40_000)
		set(o).Compaction.ThresholdTokens, set(o).Compaction.KeepRecentTokens = 10_000, 2000
		long(t, o, 8000)
	}
	summary := providertest.Step{providertest.Text("SUM")}
	t.Run("after a turn", func(t *testing.T) {
		run(t, settings, func(w *world) {
			if r := w.prompt("go"); r.Stop != agent.StopEndTurn || r.Err != nil || r.Usage.Output != 10 {
				t.Errorf("%+v", r)
			}
			if got := ended(w); !slices.Equal(got, []string{"threshold completed"}) {
				t.Errorf("got %q", got)
			}
			w.usage = true
			story := slices.DeleteFunc(w.story(), func(line string) bool { return !strings.HasPrefix(line, "usage ") })
			if len(story) != 2 || story[0] != "usage 12005/40000" || story[1] == story[0] {
				t.Errorf("got %q", story)
			}
			use, err := w.session.ContextUse(w.t.Context())
			if err != nil || use.Used >= 10_000 || use.Used < 2000 || use.Next != use.Used {
				t.Errorf("%+v, %v", use, err)
			}
			if n := len(w.script.Requests()); n != 2 {
				t.Errorf("%d requests: nothing was to be gone on with", n)
			}
		}, providertest.Step{providertest.Text("ok"), full(12_000)}, summary)
	})
	t.Run("inside a turn", func(t *testing.T) {
		run(t, settings, func(w *world) {
			if r := w.prompt("go"); r.Stop != agent.StopEndTurn || r.Err != nil {
				t.Errorf("%+v", r)
			}
			reqs := w.script.Requests()
			if len(reqs) != 3 || !summaryRequested(reqs[1]) {
				t.Fatalf("%d requests", len(reqs))
			}
			got := heads(reqs[2].Messages)
			if got[0] != "Summary: SUM" || got[len(got)-1] != "one" || !slices.Contains(got, "go") || slices.Contains(got, "q0") {
				t.Errorf("the model goes on with %q", got)
			}
		}, providertest.Step{providertest.Call("c1", "echo", `{"say":"one"}`), full(12_000)}, summary, providertest.Step{providertest.Text("done")})
	})
	t.Run("before a turn", func(t *testing.T) {
		run(t, func(o *agent.Options) {
			settings(o)
			set(o).Compaction.KeepRecentTokens = 1500
			long(t, o, 8000)
		}, func(w *world) {
			w.prompt("go")
			reqs := w.script.Requests()
			if len(reqs) != 2 || !summaryRequested(reqs[0]) || reqs[1].Messages[len(reqs[1].Messages)-1].Text() != "go" {
				t.Fatalf("%d requests", len(reqs))
			}
		}, summary, providertest.Step{providertest.Text("done")})
	})
	t.Run("a long prompt is not summarised", func(t *testing.T) {
		run(t, settings, func(w *world) {
			long := chars("do ", 11_000)
			w.prompt(long)
			reqs := w.script.Requests()
			if last := reqs[len(reqs)-1]; len(reqs) != 2 || last.Messages[len(last.Messages)-1].Text() != long {
				t.Fatalf("%d requests", len(reqs))
			}
		}, summary, providertest.Step{providertest.Text("done")})
	})
	for name, change := range map[string]func(*contextwindow.CompactionSettings){
		"not enabled":    func(c *contextwindow.CompactionSettings) { c.Enabled = false },
		"strategy off":   func(c *contextwindow.CompactionSettings) { c.Strategy = contextwindow.StrategyOff },
		"a high percent": func(c *contextwindow.CompactionSettings) { c.ThresholdTokens, c.ThresholdPercent = -1, 90 },
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(o *agent.Options) { settings(o); change(&set(o).Compaction) }, func(w *world) {
				w.prompt("go")
				if n := len(w.script.Requests()); n != 1 || len(ended(w)) > 0 {
					t.Errorf("%d requests", n)
				}
			}, providertest.Step{providertest.Text("ok"), full(12_000)})
		})
	}
}

// A compaction before the plan is done does not end the work. One after a finished plan does, as does
// one with automatic continuation disabled.
func TestThreshold_AutoContinue(t *testing.T) {
	open := agent.PlanEntry{Content: "more", Status: agent.PlanPending}
	closed := agent.PlanEntry{Content: "more", Status: agent.PlanCompleted}
	for _, tt := range []struct {
		name string
		plan []agent.PlanEntry
		mode approval.Mode
		off  bool
		goes bool
	}{
		{"open", []agent.PlanEntry{closed, open}, approval.ModeDefault, false, true},
		{"done", []agent.PlanEntry{closed}, approval.ModeDefault, false, false},
		{"no plan", nil, approval.ModeDefault, false, false},
		{"a plan that waits for its user", []agent.PlanEntry{open}, approval.ModePlan, false, false},
		{"switched off", []agent.PlanEntry{open}, approval.ModeDefault, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run(t, func(o *agent.Options) {
				window(o, 40_000)
				o.Plan, o.Mode = tt.plan, tt.mode
				set(o).Compaction.ThresholdTokens, set(o).Compaction.KeepRecentTokens = 10_000, 2000
				set(o).Compaction.AutoContinue = !tt.off
				long(t, o, 8000)
			}, func(w *world) {
				w.prompt("go")
				reqs := w.script.Requests()
				if goes := len(reqs) == 3; goes != tt.goes {
					t.Fatalf("%d requests", len(reqs))
				}
				if !tt.goes {
					return
				}
				if last := reqs[2].Messages[len(reqs[2].Messages)-1]; last.Role != providers.RoleUser || !strings.Contains(last.Text(), "the plan has open items") {
					t.Errorf("asked to continue with %q", last.Text())
				}
				for _, e := range branchOf(t, w.log) {
					if c, ok := e.(sessions.CustomMessage); ok && (c.Display || c.Attribution != "agent" || c.CustomType != "auto-continue") {
						t.Errorf("stored %+v", c)
					}
				}
			}, providertest.Step{providertest.Text("ok"), full(12_000)}, providertest.Step{providertest.Text("SUM")}, providertest.Step{providertest.Text("done"), full(13_000)})
		})
	}
}

// A turn that a tool has ended stays ended, regardless of compactions.
func TestThreshold_AfterATurnThatWasEnded(t *testing.T) {
	run(t, func(o *agent.Options) {
		window(o, 40_000)
		o.Plan = []agent.PlanEntry{{Content: "more", Status: agent.PlanPending}}
		set(o).Compaction.ThresholdTokens = 10_000
		o.Tools = agent.Tools{testTool("end", false, nil, func(context.Context, *input) (*agent.Result, error) {
			return &agent.Result{Text: "over", EndTurn: true}, nil
		})}
		long(t, o, 8000)
	}, func(w *world) {
		if r := w.prompt("go"); r.Err != nil || r.Stop != agent.StopEndTurn || len(w.script.Requests()) != 1 {
			t.Errorf("%+v after %d requests", r, len(w.script.Requests()))
		}
	}, providertest.Step{providertest.Call("c", "end", `{}`), full(12_000)})
}

// The failure of an automatic compaction is reported once, and the turn continues without it.
func TestThreshold_Failure(t *testing.T) {
	// The text to summarize does not fit either. That is reported once.
	run(t, func(o *agent.Options) {
		window(o, 100_000)
		set(o).Compaction.KeepRecentTokens = 17_000
		long(t, o, 60_000)
	}, func(w *world) {
		w.script.Else(func(*providers.Request) providertest.Step { return providertest.Step{providertest.Fail(overflow())} })
		r := w.prompt("go")
		if text := fmt.Sprint(r.Err); !errors.Is(r.Err, agent.ErrNoRoom) || strings.Count(text, overflow().Error()) != 1 {
			t.Errorf("err %s", text)
		}
	})
	broken := &providers.Error{Kind: providers.KindInvalid, Provider: "test", Message: "no"}
	run(t, func(o *agent.Options) {
		window(o, 40_000)
		set(o).Compaction.ThresholdTokens, set(o).Compaction.KeepRecentTokens = 10_000, 2000
		long(t, o, 8000)
	}, func(w *world) {
		if r := w.prompt("go"); r.Stop != agent.StopEndTurn || r.Err != nil {
			t.Errorf("%+v", r)
		}
		if got := notices(w); !slices.Equal(got, []string{"Auto-compaction failed: test: no"}) {
			t.Errorf("noticed %q", got)
		}
	},
		providertest.Step{providertest.Call("c1", "echo", `{}`), full(12_000)}, providertest.Step{providertest.Fail(broken)},
		providertest.Step{providertest.Call("c2", "echo", `{}`), full(12_100)}, providertest.Step{providertest.Text("done"), full(12_200)})
}

// A request that does not fit is sent again after a compaction. The text of the failed answer is not part of the conversation.
func TestOverflow(t *testing.T) {
	run(t, func(o *agent.Options) {
		window(o, 100_000)
		set(o).Compaction.KeepRecentTokens = 17_000
		long(t, o, 60_000)
	}, func(w *world) {
		if r := w.prompt("go"); r.Stop != agent.StopEndTurn || r.Err != nil {
			t.Errorf("%+v", r)
		}
		if got := ended(w); !slices.Equal(got, []string{"overflow completed"}) {
			t.Errorf("got %q", got)
		}
		reqs := w.script.Requests()
		got := heads(reqs[2].Messages)
		if len(reqs) != 3 || got[0] != "Summary: SUM" || got[len(got)-1] != "go" {
			t.Errorf("sent again: %q", got)
		}
	}, providertest.Step{providertest.Text("half an"), providertest.Fail(overflow())}, providertest.Step{providertest.Text("SUM")}, providertest.Step{providertest.Text("ok")})
}

// A conversation that is no longer than the kept part but still too long is compacted further.
func TestOverflow_OfAnUnknownWindow(t *testing.T) {
	run(t, func(o *agent.Options) {
		window(o, 0)
		long(t, o, 16_000)
	}, func(w *world) {
		w.script.Else(func(*providers.Request) providertest.Step { return providertest.Step{providertest.Text("SUM")} })
		w.script.Add(providertest.Step{providertest.Fail(overflow())})
		if r := w.prompt("go"); r.Err != nil {
			t.Errorf("%+v", r)
		}
		if c := stored(t, w.log); len(c) != 1 || c[0].FirstKeptEntryID == "" {
			t.Errorf("stored %+v", c)
		}
		if n := len(w.script.Requests()[len(w.script.Requests())-1].Messages); n < 5 || n > 12 {
			t.Errorf("sent again with %d messages", n)
		}
	})
}

// Compacting a conversation that is shorter than what a compaction keeps leaves the unanswered prompt in place.
func TestOverflow_OfAShortConversation(t *testing.T) {
	run(t, func(o *agent.Options) { window(o, 200_000) }, func(w *world) {
		w.prompt("one")
		if r := w.prompt("two"); r.Err != nil || r.Stop != agent.StopEndTurn {
			t.Errorf("%+v", r)
		}
		requests := w.script.Requests()
		if got := heads(requests[len(requests)-1].Messages); !slices.Equal(got, []string{"Summary: SUM", "two"}) {
			t.Errorf("the model sees %q", got)
		}
	}, providertest.Step{providertest.Text("fine")}, providertest.Step{providertest.Fail(overflow())},
		providertest.Step{providertest.Text("SUM")}, providertest.Step{providertest.Text("done")})
}

// If one compaction is not enough, the next keeps less, down to nothing. The final error lists what was tried and wraps the
// provider's error.
func TestOverflow_IsBounded(t *testing.T) {
	run(t, func(o *agent.Options) {
		window(o, 100_000)
		set(o).Compaction.KeepRecentTokens = 17_000
		long(t, o, 60_000)
	}, func(w *world) {
		summaries, sent := 0, []int(nil)
		w.script.Else(func(req *providers.Request) providertest.Step {
			if summaryRequested(req) {
				summaries++
				return providertest.Step{providertest.Text(fmt.Sprintf("SUM%d", summaries))}
			}
			sent = append(sent, len(req.Messages))
			return providertest.Step{providertest.Fail(overflow())}
		})
		r := w.prompt("go")
		e, ok := errors.AsType[*providers.Error](r.Err)
		if !ok || e.Kind != providers.KindContextOverflow || !strings.HasPrefix(r.Err.Error(), "Context overflow recovery failed: ") {
			t.Errorf("err %v", r.Err)
		}
		if len(sent) != 5 || !slices.IsSortedFunc(sent, func(a, b int) int { return b - a }) || sent[3] != 2 || sent[4] != 1 {
			t.Errorf("sent requests of %d messages", sent)
		}
		if got := ended(w); !slices.Equal(got, []string{"overflow completed", "overflow completed", "overflow completed", "overflow completed"}) {
			t.Errorf("got %q", got)
		}
	})
	broken := &providers.Error{Kind: providers.KindInvalid, Provider: "test", Message: "no"}
	run(t, func(o *agent.Options) {
		window(o, 100_000)
		set(o).Compaction.KeepRecentTokens = 17_000
		long(t, o, 60_000)
	}, func(w *world) {
		r := w.prompt("go")
		if e, ok := errors.AsType[*providers.Error](r.Err); !ok || e.Kind != providers.KindContextOverflow || !errors.Is(r.Err, broken) || !errors.Is(r.Err, agent.ErrNoRoom) ||
			!strings.HasPrefix(r.Err.Error(), "Context overflow recovery failed: test: no") {
			t.Errorf("err %v", r.Err)
		}
		if len(stored(t, w.log)) > 0 {
			t.Error("something was compacted")
		}
	}, providertest.Step{providertest.Fail(overflow())}, providertest.Step{providertest.Fail(broken)})
	run(t, func(o *agent.Options) {
		long(t, o, 60_000)
		set(o).Compaction.Enabled = false
	}, func(w *world) {
		if r := w.prompt("go"); !strings.HasPrefix(fmt.Sprint(r.Err), "test: too long") || errors.Is(r.Err, agent.ErrNoRoom) {
			t.Errorf("err %v", r.Err)
		}
	}, providertest.Step{providertest.Fail(overflow())})
}

// A single prompt that does not fit is an error immediately, without a summary.
func TestOverflow_OfThePrompt(t *testing.T) {
	run(t, func(o *agent.Options) { window(o, 100_000) }, func(w *world) {
		if r := w.prompt("go"); !strings.HasPrefix(fmt.Sprint(r.Err), "Context overflow recovery failed") {
			t.Errorf("err %v", r.Err)
		}
	}, providertest.Step{providertest.Fail(overflow())}, providertest.Step{providertest.Text("S")}, providertest.Step{providertest.Fail(overflow())})
}

// An answer cut off by the window is requested once more, after a compaction. An answer cut off at the model's maximum output
// length is not.
func TestIncomplete(t *testing.T) {
	cut := func(input, output int) providertest.Step {
		return providertest.Step{
			providertest.Text("half an"), providertest.Call("c", "echo", `{"say":`), providertest.Stop(providers.StopLength),
			providertest.Use(providers.Usage{Input: input, Output: output}),
		}
	}
	settings := func(o *agent.Options) {
		window(o, 40_000)
		o.Model.MaxOutput = 8000
		o.Model.Cost.Input = 1
		set(o).Compaction.ThresholdTokens, set(o).Compaction.KeepRecentTokens = 38_000, 2000
		long(t, o, 30_000)
	}
	for _, tt := range []struct {
		name string
		step providertest.Step
		want bool
	}{
		{"the window is full", cut(38_000, 2000), true},
		{"there was no room for an answer", cut(33_000, 5000), true},
		{"the answer is as long as can be", cut(31_000, 8000), false},
		{"there was room", cut(20_000, 3000), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run(t, settings, func(w *world) {
				r := w.prompt("go")
				if !tt.want {
					if r.Stop != agent.StopMaxTokens || len(ended(w)) > 0 {
						t.Errorf("%+v, %q", r, ended(w))
					}
					return
				}
				if snap, err := w.session.Snapshot(); err != nil || snap.CostUSD < 0.033 {
					t.Errorf("the answer that was dropped cost nothing: %v, %v", snap.CostUSD, err)
				}
				if r.Stop != agent.StopEndTurn || r.Usage.Input < 33_000 || !slices.Equal(ended(w), []string{"incomplete completed"}) {
					t.Errorf("%+v, %q", r, ended(w))
				}
				for _, line := range w.log.all() {
					if strings.Contains(line, "half an") {
						t.Errorf("the log has %q", line)
					}
				}
			}, tt.step, providertest.Step{providertest.Text("SUM")}, providertest.Step{providertest.Text("whole")})
		})
	}
	t.Run("once", func(t *testing.T) {
		run(t, settings, func(w *world) {
			if r := w.prompt("go"); r.Stop != agent.StopMaxTokens {
				t.Errorf("%+v", r)
			}
		}, cut(38_000, 2000), providertest.Step{providertest.Text("SUM")}, cut(38_000, 2000))
	})
	t.Run("failed", func(t *testing.T) {
		run(t, settings, func(w *world) {
			if r := w.prompt("go"); r.Stop != agent.StopMaxTokens {
				t.Errorf("%+v", r)
			}
			if got := notices(w); len(got) != 1 || !strings.HasPrefix(got[0], "Incomplete response recovery failed: ") {
				t.Errorf("noticed %q", got)
			}
			if !strings.Contains(strings.Join(w.log.all(), "|"), "assistant:half an") {
				t.Error("what the user has seen is lost")
			}
		}, cut(38_000, 2000), providertest.Step{providertest.Text("")})
	})
}

// Refusing a prompt reverts the compaction that was made for it.
func TestRefusal_RevertsACompaction(t *testing.T) {
	run(t, func(o *agent.Options) {
		window(o, 100_000)
		set(o).Compaction.KeepRecentTokens = 17_000
		long(t, o, 60_000)
	}, func(w *world) {
		before, _ := w.session.Context()
		if r := w.prompt("go"); r.Stop != agent.StopRefusal {
			t.Errorf("%+v", r)
		}
		after, _ := w.session.Context()
		if len(stored(t, w.log)) > 0 || len(before) != len(after) {
			t.Errorf("%d messages became %d", len(before), len(after))
		}
	}, providertest.Step{providertest.Fail(overflow())}, providertest.Step{providertest.Text("SUM")},
		providertest.Step{providertest.Text("no"), providertest.Stop(providers.StopRefusal)})
}

// Cancelling a turn that is compacting cancels it.
func TestRecovery_Cancelled(t *testing.T) {
	for _, first := range []providertest.Step{
		{providertest.Fail(overflow())},
		{providertest.Call("c", "echo", `{}`), full(90_000)},
		{providertest.Text("x"), providertest.Stop(providers.StopLength), full(99_000)},
	} {
		run(t, func(o *agent.Options) {
			window(o, 100_000)
			long(t, o, 60_000)
		}, func(w *world) {
			gate := providertest.NewGate()
			w.speak(first, providertest.Step{providertest.Text("S"), gate.Hold()})
			turn := w.session.Prompt(agent.Prompt{Parts: words("go")})
			synctest.Wait()
			w.session.Cancel()
			if r := turn.Wait(w.t.Context()); r.Stop != agent.StopCancelled || r.Err != nil {
				t.Errorf("%+v", r)
			}
			if got := ended(w); len(got) != 1 || !strings.HasSuffix(got[0], "cancelled") || len(stored(t, w.log)) > 0 {
				t.Errorf("got %q", got)
			}
			if n := notices(w); len(n) > 0 {
				t.Errorf("noticed %q", n)
			}
		})
	}
}

// If the user has switched models when the first one's window overflows, the new model answers, and nothing is compacted.
func TestOverflow_OfAModelThatWasLeft(t *testing.T) {
	other := providertest.NewScript(providers.ModelInfo{Provider: "other", ID: "big", ContextWindow: 1_000_000}, providertest.Step{providertest.Text("from big")})
	run(t, func(o *agent.Options) {
		window(o, 100_000)
		o.Models = &fleet{o.Models, []*providertest.Script{other}}
		long(t, o, 60_000)
	}, func(w *world) {
		gate := providertest.NewGate()
		w.speak(providertest.Step{gate.Hold(), providertest.Fail(overflow())})
		turn := w.session.Prompt(agent.Prompt{Parts: words("go")})
		<-gate.Reached()
		if err := w.session.SetModel(other.Info(), "")(); err != nil {
			t.Fatal(err)
		}
		gate.Open()
		if r := turn.Wait(w.t.Context()); r.Err != nil || len(ended(w)) > 0 || other.Left() > 0 {
			t.Errorf("%+v, %q", r, ended(w))
		}
	})
}

// A conversation over the threshold from which nothing can be removed is left alone, and the log is not read each time.
func TestThreshold_NothingToTake(t *testing.T) {
	var counted *countingLog
	run(t, func(o *agent.Options) {
		window(o, 40_000)
		set(o).Compaction.ThresholdTokens = 10_000
		counted = &countingLog{Log: o.Log}
		o.Log = counted
	}, func(w *world) {
		n := 0
		w.script.Else(func(*providers.Request) providertest.Step {
			if n++; n < 50 {
				return providertest.Step{providertest.Call(fmt.Sprint("c", n), "echo", `{}`), full(12_000 + n)}
			}
			return providertest.Step{providertest.Text("done"), full(12_100)}
		})
		if r := w.prompt("go"); r.Err != nil || n != 50 || len(ended(w)) > 0 {
			t.Errorf("%+v after %d requests, %q", r, n, ended(w))
		}
		if counted.branches > 4 {
			t.Errorf("the log was read %d times", counted.branches)
		}
	})
}

// countingLog counts how often the whole log is read.
type countingLog struct {
	agent.Log
	branches int
}

func (l *countingLog) Branch() ([]sessions.Entry, error) {
	l.branches++
	return l.Log.Branch()
}

// A message steered in during a compaction is answered.
func TestThreshold_Steered(t *testing.T) {
	run(t, func(o *agent.Options) {
		window(o, 40_000)
		set(o).Compaction.ThresholdTokens, set(o).Compaction.KeepRecentTokens = 10_000, 2000
		long(t, o, 8000)
	}, func(w *world) {
		gate := providertest.NewGate()
		w.speak(providertest.Step{providertest.Text("ok"), full(12_000)}, providertest.Step{providertest.Text("SUM"), gate.Hold()},
			providertest.Step{providertest.Text("yes")})
		turn := w.session.Prompt(agent.Prompt{Parts: words("go")})
		synctest.Wait()
		if ok, err := w.session.Steer(words("also")); !ok || err != nil {
			t.Errorf("%v, %v", ok, err)
		}
		gate.Open()
		turn.Wait(w.t.Context())
		reqs := w.script.Requests()
		if last := reqs[len(reqs)-1].Messages; len(reqs) != 3 || last[len(last)-1].Text() != "also" {
			t.Errorf("%d requests", len(reqs))
		}
	})
}

// A child session compacts its own conversation.
func TestThreshold_OfAChild(t *testing.T) {
	task := agent.NewTool(agent.ToolFuncs[input]{
		Name: agent.TaskTool, Kind: agent.KindOther,
		Run: func(ctx context.Context, call *agent.Call, in *input) (*agent.Result, error) {
			r, err := call.Task(ctx, agent.Task{Title: "sub", Prompt: "GOAL of the child"})
			if err != nil {
				return nil, err
			}
			return &agent.Result{Text: r.Text}, nil
		},
	})
	big := testTool("big", false, nil, func(context.Context, *input) (*agent.Result, error) {
		return &agent.Result{Text: chars("big ", 6000)}, nil
	})
	run(t, func(o *agent.Options) {
		window(o, 40_000)
		set(o).Compaction.ThresholdTokens, set(o).Compaction.KeepRecentTokens = 10_000, 2000
		o.Tools = agent.Tools{task, big}
	}, func(w *world) {
		w.speak(providertest.Step{providertest.Call("t", agent.TaskTool, `{}`)})
		calls, summaries := 0, 0
		w.script.Else(func(req *providers.Request) providertest.Step {
			n := requestTokens(req)
			switch {
			case summaryRequested(req):
				summaries++
				if !strings.Contains(req.Messages[0].Text(), "GOAL") {
					t.Error("the goal is lost")
				}
				return providertest.Step{providertest.Text("The GOAL is there.")}
			case n > 20_000:
				t.Errorf("a request of %d tokens", n)
			case calls < 6 && len(req.Tools) == 1:
				calls++
				return providertest.Step{providertest.Call(fmt.Sprint("b", calls), "big", `{}`), full(n)}
			}
			return providertest.Step{providertest.Text("done"), full(n)}
		})
		if r := w.prompt("go"); r.Err != nil || r.Stop != agent.StopEndTurn {
			t.Errorf("%+v", r)
		}
		if calls != 6 || summaries < 2 {
			t.Errorf("%d calls, %d summaries", calls, summaries)
		}
	})
}
