package agent_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/contextwindow"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
	"github.com/gajae-code/gjc/sessions"
)

// requestTokens counts the tokens of a request like a model that uses one token for three bytes, which is more than the estimate.
func requestTokens(req *providers.Request) int {
	n := len(req.System)
	for i := range req.Tools {
		n += len(req.Tools[i].Name) + len(req.Tools[i].Description) + len(req.Tools[i].Schema)
	}
	for i := range req.Messages {
		n += len(req.Messages[i].Text())
		for _, c := range req.Messages[i].ToolCalls() {
			n += len(c.Input)
		}
	}
	return n / 3
}

var goalLine = regexp.MustCompile(`GOAL-[0-9]+`)

// modelOf is a model with a limited window. It never forgets a goal when it summarizes. It counts its requests.
type modelOf struct {
	t                    *testing.T
	window               int
	rand                 *rand.Rand
	requests, summaries  int
	largest, overflowing int
	calls                int
}

func (m *modelOf) answer(req *providers.Request) providertest.Step {
	n := requestTokens(req)
	if n > m.window {
		m.overflowing++
		return providertest.Step{providertest.Fail(overflow())}
	}
	use := providertest.Use(providers.Usage{Input: n / 2, CacheRead: n - n/2, Output: 20})
	if summaryRequested(req) {
		m.summaries++
		goals := goalLine.FindAllString(req.Messages[0].Text(), -1)
		slices.Sort(goals)
		return providertest.Step{providertest.Text("## Goal\n" + strings.Join(slices.Compact(goals), " ")), use}
	}
	if last := req.Messages[len(req.Messages)-1].Text(); strings.Contains(last, "handoff document") && !strings.HasPrefix(last, "<handoff") {
		var all strings.Builder
		for i := range req.Messages {
			all.WriteString(req.Messages[i].Text())
		}
		return providertest.Step{providertest.Text("## Goal\n" + goalLine.FindString(all.String())), use}
	}
	m.requests++
	m.largest = max(m.largest, n)
	var all strings.Builder
	results := make(map[string]bool)
	for i := range req.Messages {
		all.WriteString(req.Messages[i].Text())
		if req.Messages[i].Role == providers.RoleTool {
			results[req.Messages[i].ToolCallID] = true
		}
	}
	if !strings.Contains(all.String(), "GOAL-1") {
		m.t.Fatalf("request %d has lost the goal of the first prompt", m.requests)
	}
	for i := range req.Messages {
		for _, c := range req.Messages[i].ToolCalls() {
			if !results[c.ID] {
				m.t.Fatalf("request %d has a call without its result", m.requests)
			}
		}
	}
	if last := req.Messages[len(req.Messages)-1]; last.Role == providers.RoleTool && m.rand.IntN(3) > 0 || m.rand.IntN(2) > 0 {
		return providertest.Step{providertest.Text(chars("answer ", m.rand.IntN(300))), use}
	}
	m.calls++
	return providertest.Step{providertest.Text("look"), providertest.Call(fmt.Sprint("c", m.calls), "big", `{}`), use}
}

// A conversation of 300 turns always stays within the window of a small model, and never loses the goal of its first prompt.
func TestLongConversation(t *testing.T) {
	const windowSize = 24_000
	for _, strategy := range []contextwindow.Strategy{contextwindow.StrategyContextFull, contextwindow.StrategyHandoff} {
		model := &modelOf{t: t, window: windowSize, rand: rand.New(rand.NewPCG(1, 2))}
		run(t, func(o *agent.Options) {
			window(o, windowSize)
			set(o).Compaction.Strategy = strategy
			o.Tools = agent.Tools{testTool("big", false, nil, func(context.Context, *input) (*agent.Result, error) {
				return &agent.Result{Text: chars("result ", model.rand.IntN(3000))}, nil
			})}
		}, func(w *world) {
			w.speak()
			w.script.Else(model.answer)
			for i := range 300 {
				text := chars("and then ", model.rand.IntN(400))
				if i == 0 {
					text = "GOAL-1: never stop."
				}
				if r := w.prompt(text); r.Err != nil || r.Stop != agent.StopEndTurn {
					t.Fatalf("turn %d: %+v", i, r)
				}
			}
			if model.overflowing > 0 || len(ended(w)) < 10 || len(notices(w)) > 0 {
				t.Errorf("%s: %d requests, %d summaries, the largest of %d tokens, %d did not fit; noticed %q", strategy, model.requests, model.summaries, model.largest, model.overflowing, notices(w))
			}
			if strategy == contextwindow.StrategyHandoff {
				return // a handoff starts a new conversation
			}
			// The transcript shows everything.
			transcript, err := w.session.Transcript()
			users := 0
			for i := range transcript {
				if transcript[i].Role == providers.RoleUser {
					users++
				}
			}
			if err != nil || users != 300 {
				t.Errorf("the transcript has %d prompts, %v", users, err)
			}
		})
	}
}

// For any conversation and any settings, the kept part never begins with a tool's result, contains the call of each result in it,
// is the end of the conversation, and does not exceed its maximum length.
func TestCompact_Property(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 7))
		keep := r.IntN(4000) + 1
		var messages []providers.Message
		calls, longest := 0, 0
		size := func() int {
			n := r.IntN(200) + 2
			if r.IntN(20) == 0 {
				n *= 20
			}
			longest = max(longest, n)
			return n
		}
		for range r.IntN(30) + 2 {
			messages = append(messages, user("user ", size()))
			for range r.IntN(6) {
				var made []providers.ToolCall
				for range r.IntN(3) {
					calls++
					made = append(made, toolCall(fmt.Sprint("c", calls), "bash", `{}`))
				}
				messages = append(messages, agentSays("agent ", size(), made...))
				for _, c := range made {
					messages = append(messages, result(c, size()))
				}
			}
		}
		run(t, func(o *agent.Options) {
			window(o, 1_000_000)
			set(o).Compaction.KeepRecentTokens = keep
			for _, m := range messages {
				if r.IntN(10) == 0 {
					if _, err := o.Log.Append(sessions.ModelChange{Model: "test/m"}); err != nil {
						t.Fatal(err)
					}
				}
				remember(t, o, m)
			}
		}, func(w *world) {
			w.script.Else(func(*providers.Request) providertest.Step { return providertest.Step{providertest.Text("SUM")} })
			all, _ := w.log.Messages()
			for round := range 3 {
				_, _, err := compact(w)
				if err != nil {
					if round == 0 && len(all) > 1 {
						t.Fatalf("seed %d: %v", seed, err)
					}
					break
				}
				c := stored(t, w.log)
				if first := c[len(c)-1].FirstKeptEntryID; first != "" {
					kept := 0
					called := make(map[string]bool)
					messages, _ := w.log.Messages()
					messages = messages[1:]
					if messages[0].Role == providers.RoleTool {
						t.Fatalf("seed %d: kept from a result on", seed)
					}
					for i := range messages {
						m := &messages[i]
						kept += (len(m.Text()) + 3) / 4
						for _, call := range m.ToolCalls() {
							called[call.ID] = true
						}
						if m.Role == providers.RoleTool && !called[m.ToolCallID] {
							t.Fatalf("seed %d: a result without its call", seed)
						}
					}
					// A result is kept together with its answer and the answer's other results.
					if most := 2*keep + 4*longest; kept > most {
						t.Fatalf("seed %d: keep %d, kept %d", seed, keep, kept)
					}
					before, _ := w.session.Transcript()
					tail := before[len(before)-len(messages):]
					for i := range tail {
						if tail[i].Text() != messages[i].Text() {
							t.Fatalf("seed %d: message %d differs", seed, i)
						}
					}
				}
				w.prompt(chars("next ", r.IntN(300)+1))
			}
		})
	}
}
