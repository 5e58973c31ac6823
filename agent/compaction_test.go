package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/contextwindow"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
	"github.com/gajae-code/gjc/sessions"
)

// chars returns a text of about n tokens that begins with name.
func chars(name string, n int) string { return name + strings.Repeat("x", max(4*n-len(name), 0)) }

func user(name string, n int) providers.Message {
	return providers.Message{Role: providers.RoleUser, Parts: words(chars(name, n))}
}

func agentSays(name string, n int, calls ...providers.ToolCall) providers.Message {
	m := providers.Message{Role: providers.RoleAssistant, Parts: words(chars(name, n)), StopReason: providers.StopEnd}
	for _, c := range calls {
		m.Parts = append(m.Parts, c)
		m.StopReason = providers.StopTools
	}
	return m
}

func toolCall(id, name, in string) providers.ToolCall {
	return providers.ToolCall{ID: id, Name: name, Input: jsonx.Raw(in)}
}

func result(c providers.ToolCall, n int) providers.Message {
	return providers.Message{Role: providers.RoleTool, ToolCallID: c.ID, ToolName: c.Name, Parts: words(chars("result "+c.ID, n))}
}

// stored returns the compactions in a log.
func stored(t *testing.T, l agent.Log) []sessions.Compaction {
	t.Helper()
	var all []sessions.Compaction
	for _, e := range branchOf(t, l) {
		if c, ok := e.(sessions.Compaction); ok {
			all = append(all, c)
		}
	}
	return all
}

// heads returns the beginnings of messages.
func heads(messages []providers.Message) []string {
	var all []string
	for i := range messages {
		text := messages[i].Text()
		text, _, _ = strings.Cut(text, "x")
		all = append(all, strings.TrimSpace(text))
	}
	return all
}

// ended returns the events about compactions that have ended, one line each.
func ended(w *world) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []string
	for _, ev := range w.events {
		if c, ok := ev.(agent.CompactionChanged); ok && c.Status != agent.CompactionRunning {
			all = append(all, fmt.Sprint(c.Reason, " ", c.Status))
		}
	}
	return all
}

func notices(w *world) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []string
	for _, ev := range w.events {
		if n, ok := ev.(agent.Noticed); ok {
			all = append(all, n.Title)
		}
	}
	return all
}

// window gives a session a model with a window of that many tokens.
func window(o *agent.Options, n int) { o.Model.ContextWindow = n }

func summaryRequested(req *providers.Request) bool { return strings.Contains(req.System, "compaction") }

// The newest part of a conversation is kept, and the earlier part becomes a summary that lists the files used.
func TestCompact_KeepsTheNewest(t *testing.T) {
	read, edit := toolCall("r", "read", `{"path":"a.go:1-20"}`), toolCall("e", "edit", `{"path":"b.go"}`)
	both, failed := toolCall("w", "write", `{"path":"a.go"}`), toolCall("f", "write", `{"path":"no.go"}`)
	more := toolCall("m", "read", `{"path":"c.go"}`)
	bad := result(failed, 10)
	bad.IsError = true
	run(t, func(o *agent.Options) {
		window(o, 100_000)
		set(o).Compaction.KeepRecentTokens = 1000
		remember(t, o, user("one", 3000), agentSays("a", 10, read, edit, both, failed, more),
			result(read, 10), result(edit, 10), result(both, 10), bad, result(more, 10), agentSays("b", 10),
			user("two", 600), agentSays("c", 600), user("three", 100))
	}, func(w *world) {
		done, _, err := compact(w)
		if err != nil {
			t.Fatal(err)
		}
		c := stored(t, w.log)[0]
		want := "THE SUMMARY\n\n<files>\na.go (RW)\nb.go (Write)\nc.go (Read)\n</files>"
		if c.Summary != want || done.Summary != want || c.ShortSummary != "THE SUMMARY" || c.FirstKeptEntryID != "9" {
			t.Errorf("stored %+v", c)
		}
		if c.TokensBefore < 4000 || c.TokensBefore != done.Before || done.After >= done.Before || done.After < 1000 {
			t.Errorf("from %d (%d stored) to %d", done.Before, c.TokensBefore, done.After)
		}
		got := string(c.Details)
		if !strings.HasPrefix(got, `{"readFiles":["c.go"],"modifiedFiles":["a.go","b.go"],"reason":"manual","tokensAfter":`) {
			t.Errorf("details %s", got)
		}
		ev := agent.CompactionEvent("id", &c)
		if ev.Reason != contextwindow.ReasonManual || ev.Before != done.Before || ev.After != done.After || ev.Summary != want || ev.ShortSummary == "" {
			t.Errorf("replayed as %+v", ev)
		}
		w.script.Add(providertest.Step{providertest.Text("ok")})
		w.prompt("four")
		reqs := w.script.Requests()
		if d := cmp.Diff([]string{"Summary: THE SUMMARY\n\n<files>\na.go (RW)\nb.go (Write)\nc.go (Read)\n</files>", "two", "c", "three", "four"}, heads(reqs[1].Messages)); d != "" {
			t.Errorf("the model sees (-want +got):\n%s", d)
		}
		ask := reqs[0].Messages[0].Text()
		if len(reqs[0].Tools) > 0 || !summaryRequested(reqs[0]) || len(reqs[0].Messages) != 1 {
			t.Errorf("asked with %d tools and %d messages", len(reqs[0].Tools), len(reqs[0].Messages))
		}
		for _, want := range []string{"<conversation>\n[User]: one", `[Call of read]: {"path":"a.go:1-20"}`, "[Result of read]: result r", "[Error of write]:", "[Agent]: b", "\n</conversation>"} {
			if !strings.Contains(ask, want) {
				t.Errorf("the request has no %q", want)
			}
		}
		if strings.Contains(ask, "two") || strings.Contains(ask, "<previous-summary>") {
			t.Errorf("the request has what it should not: %.200s", ask)
		}
	}, providertest.Step{providertest.Text("THE SUMMARY")})
}

// The files in a summary are listed as a tree in which files of one directory share a heading. If there are many, modified files
// are listed first.
func TestCompact_FileTree(t *testing.T) {
	many := make([]string, 0, 25)
	for i := range 25 {
		many = append(many, fmt.Sprintf("read:d/%02d.go", i))
	}
	for _, tt := range []struct {
		name  string
		calls []string
		want  string
	}{
		{
			"folded",
			[]string{"read:packages/agent/src/x/compaction.ts", "read:packages/agent/src/x/utils.ts", "edit:packages/agent/src/x/utils.ts", "write:packages/agent/src/x/prompts/ops.md"},
			"# packages/agent/src/x/\ncompaction.ts (Read)\nutils.ts (RW)\n## prompts/\nops.md (Write)\n",
		},
		{
			"several tops",
			[]string{"read:top.go", "write:b/c/d.go", "read:/w/a.go", "read:b/e.go", "write:/etc/x", "read:odd//y.go", "read:dir/"},
			"dir/ (Read)\ntop.go (Read)\n# /\n## etc/\nx (Write)\n## w/\na.go (Read)\n# b/\ne.go (Read)\n## c/\nd.go (Write)\n# odd//\ny.go (Read)\n",
		},
		{
			"many", append(slices.Clone(many), "edit:z/last.go"),
			"# d/\n" + strings.ReplaceAll(strings.Join(many[:19], " (Read)\n"), "read:d/", "") + " (Read)\n# z/\nlast.go (Write)\n… (6 more files omitted)\n",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var calls []providers.ToolCall
			messages := []providers.Message{user("one", 100)}
			for i, call := range tt.calls {
				name, path, _ := strings.Cut(call, ":")
				calls = append(calls, toolCall(fmt.Sprint("c", i), name, fmt.Sprintf(`{"path":%q}`, path)))
			}
			messages = append(messages, agentSays("a", 10, calls...))
			for _, c := range calls {
				messages = append(messages, result(c, 10))
			}
			run(t, func(o *agent.Options) {
				window(o, 100_000)
				set(o).Compaction.KeepRecentTokens = 500
				remember(t, o, append(messages, agentSays("b", 10), user("two", 600))...)
			}, func(w *world) {
				if _, _, err := compact(w); err != nil {
					t.Fatal(err)
				}
				c := stored(t, w.log)[0]
				if diff := cmp.Diff("SUM\n\n<files>\n"+tt.want+"</files>", c.Summary); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
				if tt.name == "many" && strings.Count(string(c.Details), ".go") != 26 {
					t.Errorf("details %s", c.Details)
				}
			}, providertest.Step{providertest.Text("SUM")})
		})
	}
}

// The next compaction continues from the previous summary and its files. The part that the first one kept is not lost,
// and an extension's data is ignored.
func TestCompact_Iterates(t *testing.T) {
	for _, extension := range []bool{false, true} {
		change := toolCall("e", "edit", `{"path":"new.go"}`)
		run(t, func(o *agent.Options) {
			window(o, 100_000)
			set(o).Compaction.KeepRecentTokens = 500
			remember(t, o, user("gone", 100), user("kept", 100))
			if _, err := o.Log.Append(sessions.Compaction{
				Summary: "## Goal\nOLD GOAL\n\n<read-files>\nnew.go\nold.go\n</read-files>", FirstKeptEntryID: "2", FromExtension: extension,
				Details: jsonx.Raw(`{"readFiles":["new.go","old.go"],"modifiedFiles":["x.go"]}`),
			}); err != nil {
				t.Fatal(err)
			}
			remember(t, o, user("new", 900), agentSays("a", 10, change), result(change, 10), user("last", 450), agentSays("end", 60))
			o.History, _ = o.Log.Messages()
		}, func(w *world) {
			if _, _, err := compact(w); err != nil {
				t.Fatal(err)
			}
			ask := w.script.Requests()[0].Messages[0].Text()
			for _, want := range []string{"<previous-summary>\n## Goal\nOLD GOAL\n</previous-summary>", "[User]: kept", "[User]: new", "summary of both"} {
				if !strings.Contains(ask, want) {
					t.Errorf("the request has no %q:\n%s", want, ask)
				}
			}
			for _, not := range []string{"gone", "[User]: last", "old.go"} {
				if strings.Contains(ask, not) {
					t.Errorf("the request has %q", not)
				}
			}
			want := "NEW\n\n<files>\nnew.go (RW)\nold.go (Read)\nx.go (Write)\n</files>"
			if extension {
				want = "NEW\n\n<files>\nnew.go (Write)\n</files>"
			}
			if c := stored(t, w.log)[1]; c.Summary != want {
				t.Errorf("extension %v: %q", extension, c.Summary)
			}
			// A second compaction is refused because there is nothing new.
			if _, _, err := compact(w); !errors.Is(err, contextwindow.ErrNothingToCompact) {
				t.Errorf("again: %v", err)
			}
			if n := len(w.script.Requests()); n != 1 {
				t.Errorf("%d requests", n)
			}
		}, providertest.Step{providertest.Text("NEW\n<files>\n# made up\n</files>")})
	}
}

// A turn that is cut in the middle has a separate summary, which follows the summary of the earlier part.
func TestCompact_SplitTurn(t *testing.T) {
	const heading = "\n\n---\n\n**Turn Context (split turn):**\n\n"
	c1, c2 := toolCall("c1", "read", `{"path":"first.go"}`), toolCall("c2", "bash", `{}`)
	turn := []providers.Message{user("long turn", 50), agentSays("a", 10, c1), result(c1, 2000), agentSays("b", 10, c2), result(c2, 900)}
	for _, tt := range []struct {
		name   string
		before []providers.Message
		steps  []string
		want   string
		short  string
	}{
		{"after others", []providers.Message{user("before", 100), agentSays("ok", 10)}, []string{"HISTORY", "TURN"}, "HISTORY" + heading + "TURN", "HISTORY"},
		{"first of all", nil, []string{"TURN"}, "There was nothing before this turn." + heading + "TURN", "TURN"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var steps []providertest.Step
			for _, text := range tt.steps {
				steps = append(steps, providertest.Step{providertest.Text(text)})
			}
			run(t, func(o *agent.Options) {
				window(o, 100_000)
				set(o).Compaction.KeepRecentTokens = 905
				remember(t, o, append(tt.before, turn...)...)
			}, func(w *world) {
				if _, _, err := compact(w); err != nil {
					t.Fatal(err)
				}
				c := stored(t, w.log)[0]
				want := tt.want + "\n\n<files>\nfirst.go (Read)\n</files>"
				if c.Summary != want || c.ShortSummary != tt.short {
					t.Errorf("summary %q (%s)", c.Summary, c.ShortSummary)
				}
				messages, _ := w.log.Messages()
				if got := heads(messages[1:]); !slices.Equal(got, []string{"b", "result c2"}) {
					t.Errorf("kept %q", got)
				}
				reqs := w.script.Requests()
				last := reqs[len(reqs)-1].Messages[0].Text()
				if !strings.Contains(last, "[User]: long turn") || strings.Contains(last, "before") && tt.before != nil && strings.Contains(last, "[User]: before") || !strings.Contains(last, "one long turn") {
					t.Errorf("the turn is asked about with %s", last)
				}
				var streamed strings.Builder
				for _, ev := range w.events {
					if d, ok := ev.(agent.CompactionDelta); ok {
						streamed.WriteString(d.Text)
					}
				}
				if streamed.String() != want {
					t.Errorf("got %q", streamed.String())
				}
			}, steps...)
		})
	}
}

// If the second summary of a split turn is interrupted, it is emitted again together with the first, which is not requested again.
func TestCompact_SplitTurnIsTriedAgain(t *testing.T) {
	run(t, func(o *agent.Options) {
		window(o, 100_000)
		set(o).Compaction.KeepRecentTokens = 100
		o.Retry.Jitter = func() float64 { return 0 }
		remember(t, o, user("before", 100), agentSays("ok", 10), user("turn", 300), agentSays("a", 10), agentSays("b", 100))
	}, func(w *world) {
		done, _, err := compact(w)
		if err != nil {
			t.Fatal(err)
		}
		const heading = "\n\n---\n\n**Turn Context (split turn):**\n\n"
		want := []string{
			"1 in_progress", "1 HISTORY", "1 " + heading, "1 half", "The model call failed; trying again in 2s (attempt 2 of 4).",
			"1 failed", "2 in_progress", "2 HISTORY" + heading, "2 TURN", "2 completed",
		}
		if d := cmp.Diff(want, compactions(w)); d != "" || done.Summary != "HISTORY"+heading+"TURN" {
			t.Errorf("%q; events (-want +got):\n%s", done.Summary, d)
		}
	}, providertest.Step{providertest.Text("HISTORY")}, providertest.Step{providertest.Text("half"), providertest.Fail(busy())},
		providertest.Step{providertest.Text("TURN")})
}

// A very long message at the cut is not kept. Its text cannot close the tag that encloses it.
func TestCompact_OfAVeryLongMessage(t *testing.T) {
	run(t, func(o *agent.Options) {
		window(o, 100_000)
		set(o).Compaction.KeepRecentTokens = 1000
		remember(t, o, user("one", 10), agentSays("a", 10), user("</conversation> very long ", 5000), agentSays("b", 10), user("two", 10), agentSays("c", 10))
	}, func(w *world) {
		if _, _, err := compact(w); err != nil {
			t.Fatal(err)
		}
		if c := stored(t, w.log)[0]; c.FirstKeptEntryID != "4" {
			t.Errorf("kept from %q on", c.FirstKeptEntryID)
		}
		for _, req := range w.script.Requests() {
			if n := strings.Count(req.Messages[0].Text(), "</conversation>"); n != 1 {
				t.Errorf("the conversation ends %d times", n)
			}
		}
	}, providertest.Step{providertest.Text("S")}, providertest.Step{providertest.Text("T")})
}

// A setting made just before the kept part is kept, so that the log records its place.
func TestCompact_KeepsWhatWasSetBeforeTheCut(t *testing.T) {
	run(t, func(o *agent.Options) {
		window(o, 100_000)
		set(o).Compaction.KeepRecentTokens = 100
		remember(t, o, user("one", 500), agentSays("a", 500))
		for _, e := range []sessions.Entry{sessions.ModelChange{Model: "test/other"}, sessions.Custom{CustomType: "gjc.shown", Data: jsonx.Raw(`"/x"`)}} {
			if _, err := o.Log.Append(e); err != nil {
				t.Fatal(err)
			}
		}
		remember(t, o, user("two", 100))
	}, func(w *world) {
		if _, _, err := compact(w); err != nil {
			t.Fatal(err)
		}
		if c := stored(t, w.log)[0]; c.FirstKeptEntryID != "3" {
			t.Errorf("the first that is kept is %s", c.FirstKeptEntryID)
		}
	}, providertest.Step{providertest.Text("S")})
}

// Any failure of a summary leaves everything unchanged, including a failure of the log.
func TestCompact_FailureChangesNothing(t *testing.T) {
	broken := &providers.Error{Kind: providers.KindInvalid, Provider: "test", Message: "no"}
	for _, tt := range []struct {
		name string
		step providertest.Step
		full bool
		want error
	}{
		{"the model", providertest.Step{providertest.Fail(broken)}, false, broken},
		{"nothing said", providertest.Step{providertest.Text(" ")}, false, nil},
		{"cut off", providertest.Step{providertest.Text("x"), providertest.Stop(providers.StopLength)}, false, nil},
		{"the disk", providertest.Step{providertest.Text("fine")}, true, errDiskFull},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run(t, func(o *agent.Options) { remember(t, o, user("one", 10), agentSays("a", 10)) }, func(w *world) {
				if tt.full {
					w.log.failAt = 3
				}
				before, _ := w.session.Context()
				_, _, err := compact(w)
				if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
					t.Errorf("err %v", err)
				}
				after, _ := w.session.Context()
				if d := cmp.Diff(before, after); d != "" || len(stored(t, w.log)) > 0 {
					t.Errorf("the conversation has changed:\n%s", d)
				}
				if got := ended(w); !slices.Equal(got, []string{"manual failed"}) {
					t.Errorf("got %q", got)
				}
			}, tt.step)
		})
	}
}

// A compaction that is canceled at any point leaves everything unchanged, and the next prompt works.
func TestCompact_CancelledAnywhere(t *testing.T) {
	busy := &providers.Error{Kind: providers.KindOverloaded, Provider: "test", Message: "busy"}
	for _, at := range []string{"first summary", "second summary", "a wait", "the end"} {
		t.Run(at, func(t *testing.T) {
			c := toolCall("c", "read", `{"path":"f.go"}`)
			run(t, func(o *agent.Options) {
				window(o, 100_000)
				set(o).Compaction.KeepRecentTokens = 100
				remember(t, o, user("before", 100), agentSays("ok", 10), user("turn", 300), agentSays("a", 10, c), result(c, 10), agentSays("b", 100))
			}, func(w *world) {
				gate := providertest.NewGate()
				hold := providertest.Step{providertest.Text("half"), gate.Hold()}
				switch at {
				case "first summary":
					w.script.Add(hold)
				case "second summary":
					w.script.Add(providertest.Step{providertest.Text("HISTORY")}, hold)
				case "a wait":
					w.script.Add(providertest.Step{providertest.Fail(busy)})
				default:
					w.script.Add(providertest.Step{providertest.Text("HISTORY")}, providertest.Step{providertest.Text("TURN")})
				}
				before, _ := w.session.Context()
				turn := w.session.Prompt(agent.Prompt{Answer: func(ctx context.Context, turn *agent.RunningTurn) error {
					if at == "the end" {
						var cancel context.CancelCauseFunc
						ctx, cancel = context.WithCancelCause(ctx)
						// The cancellation follows the last summary, before anything is stored.
						w.onEvent = func(ev agent.Event) {
							if d, ok := ev.(agent.CompactionDelta); ok && strings.Contains(d.Text, "<files>") {
								cancel(agent.ErrCancelled)
							}
						}
					}
					_, err := turn.Compact(ctx, "")
					if !errors.Is(err, agent.ErrCancelled) {
						t.Errorf("err %v", err)
					}
					return err
				}})
				switch at {
				case "first summary", "second summary":
					<-gate.Reached()
					w.session.Cancel()
				case "a wait":
					synctest.Wait()
					w.session.Cancel()
				}
				turn.Wait(w.t.Context())
				after, _ := w.session.Context()
				if d := cmp.Diff(before, after); d != "" || len(stored(t, w.log)) > 0 {
					t.Errorf("the conversation has changed:\n%s", d)
				}
				if got := ended(w); len(got) == 0 || got[len(got)-1] != "manual cancelled" {
					t.Errorf("got %q", got)
				}
				gate.Open()
				w.speak(providertest.Step{providertest.Text("fine")})
				if r := w.prompt("next"); r.Stop != agent.StopEndTurn {
					t.Errorf("the next turn: %+v", r)
				}
			})
		})
	}
}

// If the session's model returns no summary, another model is asked, without a wait if the wait would be long.
func TestCompact_AsksOthers(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  *providers.Error
	}{
		{"refused", &providers.Error{Kind: providers.KindQuota, Provider: "test", Message: "no money"}},
		{"a long wait", &providers.Error{Kind: providers.KindRateLimit, Provider: "test", Message: "slow down", RetryAfter: 90_000_000_000}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			small := providertest.NewScript(providers.ModelInfo{Provider: "other", ID: "small", ContextWindow: 100_000}, providertest.Step{providertest.Text("SMALL")})
			run(t, func(o *agent.Options) {
				set(o).SummaryModels = []string{"no/such", "test/script", "other/small"}
				o.Models = &fleet{o.Models, []*providertest.Script{small}}
				remember(t, o, user("one", 10), agentSays("a", 10))
			}, func(w *world) {
				if done, _, err := compact(w); err != nil || done.Summary != "SMALL" {
					t.Errorf("%+v, %v", done, err)
				}
				if got := notices(w); !slices.Equal(got, []string{"The model gave no summary; asking other/small."}) {
					t.Errorf("noticed %q", got)
				}
			}, providertest.Step{providertest.Fail(tt.err)})
		})
	}
}

// fleet is the [agent.Models] of a world, extended by more models.
type fleet struct {
	agent.Models
	more []*providertest.Script
}

func (f *fleet) Find(ref string) (providers.ModelInfo, providers.ThinkingLevel, error) {
	for _, s := range f.more {
		if info := s.Info(); info.Ref() == ref {
			return info, "", nil
		}
	}
	return f.Models.Find(ref)
}

func (f *fleet) Lookup(ref string) (providers.ModelInfo, bool) {
	info, _, err := f.Find(ref)
	return info, err == nil
}

func (f *fleet) Open(ctx context.Context, info providers.ModelInfo) (providers.Model, error) {
	for _, s := range f.more {
		if i := s.Info(); i.Ref() == info.Ref() {
			return s, nil
		}
	}
	return f.Models.Open(ctx, info)
}
