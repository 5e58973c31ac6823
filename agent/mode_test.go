package agent_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/providers/providertest"
)

// A mode change while a question is open takes effect whatever the answer, both in the session and in its child.
func TestMode_ChangesWhileAQuestionIsOpen(t *testing.T) {
	command := []approval.Effect{{Action: approval.ActionMCP, Title: "touch"}}
	two := []approval.Effect{{Action: approval.ActionMCP, Title: "touch"}, {Action: approval.ActionRead, Path: "/etc/hosts"}}
	edit := []approval.Effect{{Action: approval.ActionEdit, Path: "/w/a"}, {Action: approval.ActionRead, Path: "/etc/hosts"}}
	for _, tt := range []struct {
		name     string
		from, to approval.Mode
		effects  []approval.Effect
		child    bool
		at       int // the question during which the mode changes
		ran      bool
		asked    int
	}{
		{"allowed in plan mode", approval.ModeDefault, approval.ModePlan, command, false, 1, false, 1},
		{"allowed in a child's plan mode", approval.ModeDefault, approval.ModePlan, command, true, 1, false, 1},
		{"allowed before plan mode", approval.ModeDefault, approval.ModePlan, two, false, 1, false, 1},
		{"not asked before strict mode", approval.ModeDefault, approval.ModeStrict, edit, false, 1, true, 2},
		{"asked once", approval.ModeDefault, approval.ModeStrict, two, false, 1, true, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ran := false
			run(t, func(o *agent.Options) {
				o.Mode = tt.from
				o.Tools = agent.Tools{taskTool(), testTool("touch", true, tt.effects, func(context.Context, *input) (*agent.Result, error) {
					ran = true
					return &agent.Result{Text: "touched"}, nil
				})}
			}, func(w *world) {
				if tt.child {
					w.script.Add(providertest.Step{providertest.Call("c0", "task", `{"say":"it"}`)})
				}
				w.script.Add(providertest.Step{providertest.Call("c1", "touch", `{}`)}, providertest.Step{providertest.Text("a")}, providertest.Step{providertest.Text("b")})
				answer := make(chan struct{})
				n := 0
				w.answer = func(context.Context, agent.Question) (agent.Decision, error) {
					if n++; n == tt.at {
						<-answer
					}
					return agent.AllowOnce, nil
				}
				turn := w.session.Prompt(agent.Prompt{Parts: words("go")})
				synctest.Wait()
				if err := w.session.SetMode(tt.to)(); err != nil {
					t.Fatal(err)
				}
				close(answer)
				if r := turn.Wait(w.t.Context()); r.Stop != agent.StopEndTurn || r.Err != nil {
					t.Errorf("result %+v", r)
				}
				story := strings.Join(w.story(), "\n")
				if ran != tt.ran || n != tt.asked || strings.Contains(story, "run c1") != tt.ran {
					t.Errorf("ran %v after %d questions, want %v after %d\n%s", ran, n, tt.ran, tt.asked, story)
				}
			})
		})
	}
}

// Grants can be forgotten by tool name; others stay. An answer to a question asked earlier counts only once.
func TestGrants_Forget(t *testing.T) {
	tool := func(name string) agent.Tool {
		effects := []approval.Effect{{Action: approval.ActionMCP, Title: name}}
		return testTool(name, true, effects, func(context.Context, *input) (*agent.Result, error) { return &agent.Result{Text: "ok"}, nil })
	}
	run(t, func(o *agent.Options) { o.Tools = agent.Tools{tool("mcp__a"), tool("mcp__b")} }, func(w *world) {
		both := func() {
			w.script.Add(providertest.Step{providertest.Call("1", "mcp__a", `{}`), providertest.Call("2", "mcp__b", `{}`)}, providertest.Step{providertest.Text("ok")})
			w.prompt("go")
		}
		forget := func() { w.session.Grants().Forget(func(tool string) bool { return tool == "mcp__a" }) }
		w.answer = func(context.Context, agent.Question) (agent.Decision, error) { return agent.AllowAlways, nil }
		both()
		both()
		if len(w.asked) != 2 {
			t.Errorf("asked %d times before", len(w.asked))
		}
		forget()
		w.answer = func(context.Context, agent.Question) (agent.Decision, error) {
			forget() // while the question is open
			return agent.AllowAlways, nil
		}
		both()
		if len(w.asked) != 3 || w.asked[2].Title != "mcp__a" {
			t.Errorf("asked %d times, last about %s", len(w.asked), w.asked[len(w.asked)-1].Title)
		}
		both()
		if len(w.asked) != 4 {
			t.Errorf("asked %d times in all: the answer from before is remembered", len(w.asked))
		}
	})
}
