package server_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// The user approves a plan, with or without more edits accepted, or revises it.
func TestPresentPlan(t *testing.T) {
	for _, tt := range []struct {
		name, before, choose string
		rename               bool
		offered              []string
		mode, title          string
		requests             int
	}{
		{"approve", "strict", "option_0", false, []string{"Approve, and go on in mode strict", "Approve, and accept edits (mode default)", "Revise: say what to change in the next message", "None of these"}, "strict", "Migrate mcp loader", 3},
		{"accept edits", "strict", "option_1", false, nil, "default", "Migrate mcp loader", 3},
		{"from the default", "default", "option_1", false, []string{"Approve, and go on in mode default", "Approve, and accept edits (mode auto)", "Revise: say what to change in the next message", "None of these"}, "auto", "Migrate mcp loader", 3},
		{"from auto", "auto", "option_0", false, []string{"Approve, and go on in mode auto", "Revise: say what to change in the next message", "None of these"}, "auto", "Migrate mcp loader", 3},
		{"named by the user", "strict", "option_0", true, nil, "strict", "Mine", 3},
		{"revise", "strict", "option_2", false, nil, "", "/plan make a plan", 1},
		{"none of these", "strict", "none", false, nil, "", "/plan make a plan", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var script *providertest.Script
			var offered []string
			e := start(t, func(c *config) {
				script = providertest.NewScript(providers.ModelInfo{Provider: "test", ID: "script", ContextWindow: 100_000},
					providertest.Step{providertest.Call("c1", "present_plan", `{"title":"migrate-mcp_loader","plan":"# Plan\n\n1. Write a.txt"}`)},
					providertest.Step{providertest.Call("c2", "read", `{"path":"local://plan.md"}`)}, providertest.Step{providertest.Text("done")})
				c.server.Models.Models = &models{list: []providers.Model{script}}
				c.editor.Permission = func(_ context.Context, p *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
					for _, o := range p.Options {
						offered = append(offered, o.Name)
					}
					if shown, ok := p.ToolCall.Content.Get(); !ok || len(shown) != 1 || !strings.Contains(shown[0].(*acp.Content).Content.(*acp.TextContent).Text, "1. Write a.txt") {
						t.Errorf("the question shows %v", shown)
					}
					return &acp.RequestPermissionResponse{Outcome: &acp.SelectedPermissionOutcome{OptionID: acp.PermissionOptionID(tt.choose)}}, nil
				}
			})
			id := e.session()
			if tt.rename {
				e.say(id, "/rename Mine", acp.StopReasonEndTurn)
			}
			e.say(id, "/mode "+tt.before, acp.StopReasonEndTurn)
			text, updates := e.after(id, "/plan make a plan")
			if tt.offered != nil && !cmp.Equal(tt.offered, offered) {
				t.Errorf("offered %q", offered)
			}
			var modes []string
			for _, u := range updates {
				if u, ok := u.(*acp.CurrentModeUpdate); ok {
					modes = append(modes, string(u.CurrentModeID))
				}
			}
			want := []string{"plan"}
			if tt.mode != "" {
				want = append(want, tt.mode)
			}
			if !cmp.Equal(want, modes) {
				t.Errorf("modes %q, want %q", modes, want)
			}
			requests := script.Requests()
			if len(requests) != tt.requests {
				t.Fatalf("%d requests, want %d", len(requests), tt.requests)
			}
			if tt.mode == "" {
				if !strings.Contains(text, "not approved yet") {
					t.Errorf("the user sees %q", text)
				}
			} else if got := results(script); !strings.Contains(got[0], "approved the plan. It is stored as local://plan.md. The mode is now "+tt.mode) || !strings.Contains(got[1], "1. Write a.txt") {
				t.Errorf("results %q", got)
			}
			// The tool is offered in plan mode alone.
			for i, r := range requests {
				there := slices.ContainsFunc(r.Tools, func(t providers.Tool) bool { return t.Name == "present_plan" })
				if there != (i == 0) {
					t.Errorf("request %d offers present_plan: %v", i+1, there)
				}
			}
			session, _ := e.after(id, "/session")
			if !strings.Contains(session, "Title: "+tt.title+"\n") {
				t.Errorf("the session is\n%s", session)
			}
			if _, err := os.Stat(filepath.Join(e.dir, "plan.md")); err == nil {
				t.Error("the plan is in the workspace")
			}
		})
	}
}

// Without a way to ask, the turn ends with the plan stored and unapproved. Outside of plan mode the call fails.
func TestPresentPlan_CannotAsk(t *testing.T) {
	e := start(t, scripted(
		providertest.Step{providertest.Call("c1", "present_plan", `{"title":"t","plan":"p"}`)},
		providertest.Step{providertest.Text("cannot")},
		providertest.Step{providertest.Call("c2", "present_plan", `{"title":"t","plan":"p"}`)},
	), func(c *config) {
		c.editor.Permission = func(context.Context, *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
			return nil, &acp.Error{Code: acp.ErrorCodeMethodNotFound, Message: "no"}
		}
	})
	id := e.session()
	if text, _ := e.after(id, "go"); text != "cannot" {
		t.Errorf("outside of plan mode: %q", text)
	}
	if text, _ := e.after(id, "/plan go"); !strings.Contains(text, "not approved yet. It is stored as local://plan.md") {
		t.Errorf("in plan mode: %q", text)
	}
}

// A compaction and a handoff leave the model with the address of the plan that the user has approved and with the open steps, once,
// whatever the summary says. A second compaction names only what is open by then.
func TestPresentPlan_AfterCompaction(t *testing.T) {
	present := providertest.Step{providertest.Call("c1", "present_plan", `{"title":"t","plan":"1. Write a.txt"}`)}
	todo := func(id, status string) providertest.Step {
		return providertest.Step{providertest.Call(id, "todo_write", `{"todos":[{"content":"write a.txt","status":"completed"},{"content":"write b.txt","status":"`+status+`"}]}`)}
	}
	say := func(text string) providertest.Step { return providertest.Step{providertest.Text(text)} }
	const named = "stored as local://plan.md"
	for _, tt := range []struct {
		name, choose string
		approved     bool
	}{{"approved", "option_0", true}, {"not approved", "option_2", false}} {
		t.Run(tt.name, func(t *testing.T) {
			script := providertest.NewScript(providers.ModelInfo{Provider: "test", ID: "script", ContextWindow: 100_000}, present)
			if tt.approved {
				script.Add(say("begun?"))
			}
			script.Add(todo("c2", "in_progress"), say("b.txt next?"), say("FIRST SUMMARY"), say("on it?"), say("THE DOCUMENT"), todo("c3", "completed"), say("ready"), providertest.Step{providertest.Check(func(req *providers.Request) {
				if got := req.Messages[0].Text(); strings.Contains(got, "<open-work>") || !strings.Contains(got, "FIRST SUMMARY") {
					t.Errorf("the second summary is made of\n%s", got)
				}
			}), providertest.Text("SECOND SUMMARY")}, say("done"),
				providertest.Step{providertest.Call("c4", "read", `{"path":"local://plan.md"}`)}, say("read it?"))
			e := start(t, func(c *config) {
				c.server.Models.Models = &models{list: []providers.Model{script}}
				c.editor.Permission = func(context.Context, *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
					return &acp.RequestPermissionResponse{Outcome: &acp.SelectedPermissionOutcome{OptionID: acp.PermissionOptionID(tt.choose)}}, nil
				}
			})
			last := func() string {
				requests := script.Requests()
				var all strings.Builder
				for _, m := range requests[len(requests)-1].Messages {
					all.WriteString(m.Text() + "\n")
				}
				return all.String()
			}
			check := func(when string, open bool, want ...string) {
				t.Helper()
				got := last()
				if n := strings.Count(got, named); n != 1 || strings.Contains(got, "has approved the plan") != tt.approved || strings.Contains(got, "has not approved it") == tt.approved {
					t.Errorf("%s: the plan is named %d times in\n%s", when, n, got)
				}
				if n := strings.Count(got, "- write b.txt (in_progress)"); (n == 1) != open || n > 1 || strings.Contains(got, "- write a.txt") && when != "handoff" {
					t.Errorf("%s: the open step is named %d times in\n%s", when, n, got)
				}
				if !containsAll(got, want...) {
					t.Errorf("%s: not all of %q are in\n%s", when, want, got)
				}
			}
			id := e.session()
			e.say(id, "/plan make one", acp.StopReasonEndTurn)
			e.say(id, "begin", acp.StopReasonEndTurn)
			e.say(id, "/compact", acp.StopReasonEndTurn)
			e.say(id, "go on", acp.StopReasonEndTurn)
			check("first", true, "FIRST SUMMARY", "go on")
			text, _ := e.after(id, "/handoff")
			next := acp.SessionID(strings.Fields(text)[1])
			e.say(id, "finish", acp.StopReasonEndTurn)
			e.say(id, "/compact", acp.StopReasonEndTurn)
			e.say(id, "more", acp.StopReasonEndTurn)
			check("second", false, "SECOND SUMMARY", "more")
			// The new session has the plan and the local files.
			from := len(e.Updates(next))
			call[struct{}](e, "session/load", obj{"sessionId": next, "cwd": e.dir, "mcpServers": []any{}})
			if got := lastPlan(e.Updates(next)[from:]); got != "write a.txt completed; write b.txt in_progress" {
				t.Errorf("the new session has the plan %q", got)
			}
			e.say(next, "go on", acp.StopReasonEndTurn)
			check("handoff", true, "THE DOCUMENT")
			if got := results(script); !strings.Contains(got[len(got)-1], "1. Write a.txt") {
				t.Errorf("read %q", got)
			}
		})
	}
}

// JetBrains Air sees a plan while the model writes it: the beginning, then what to append. A plan that breaks off is withdrawn. Clients
// that do not declare both capabilities see the plan only in the call.
func TestAir_PlanContentDelta(t *testing.T) {
	plans := func(updates []acp.SessionUpdate) (all []string) {
		for _, u := range updates {
			switch u := u.(type) {
			case *acp.PlanRemoved:
				all = append(all, "removed "+string(u.PlanID))
			case *acp.PlanUpdate:
				if plan, ok := u.Plan.(*acp.PlanMarkdown); ok {
					line := string(plan.PlanID) + " " + strconv.Quote(plan.Content)
					if more := airIn(t, u.Meta)["contentDelta"]; more != nil {
						line += " + " + string(more)
					}
					all = append(all, line)
				}
			}
		}
		return all
	}
	busy := &providers.Error{Kind: providers.KindOverloaded, Provider: "test", Message: "busy", RetryAfter: time.Millisecond}
	steps := []providertest.Step{
		{providertest.Call("c1", "present_plan", `{"title":"t","plan":"# Broken`), providertest.Fail(busy)},
		{providertest.Call("c2", "present_plan", `{"title":"t","pl`, `an":"# Plan\n`, `\n1. \u00`, `e9`, `t`, `e"}`)},
		{providertest.Call("c3", "present_plan", `{"title":"t","plan":"again"}`), providertest.Text("not offered")},
		{providertest.Text("done")},
	}
	for _, tt := range []struct {
		name       string
		plan       bool
		declared   string
		live, load []string
	}{
		{
			"both", true, allOfAir,
			[]string{`c1 "# Broken"`, "removed c1", `c2 "# Plan\n"`, `c2 "" + "\n1. "`, `c2 "" + "é"`, `c2 "" + "t"`, `c2 "" + "e"`, `c3 "again"`},
			[]string{`c2 "# Plan\n\n1. éte"`, `c3 "again"`},
		},
		{"no plans", false, allOfAir, nil, nil},
		{"no deltas", true, `{"version":1,"capabilities":["diffPatch"]}`, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := start(t, scripted(steps...), func(c *config) {
				caps := &acp.ClientCapabilities{Meta: acp.Meta{"jetbrains": jsonx.Raw(`{"air":` + tt.declared + `}`)}}
				if tt.plan {
					caps.Plan = &acp.PlanCapabilities{}
				}
				as(caps)(c)
				c.editor.Permission = func(context.Context, *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
					return acptest.Choose("option_0"), nil
				}
			})
			id := e.session()
			e.say(id, "/plan go", acp.StopReasonEndTurn)
			if diff := cmp.Diff(tt.live, plans(e.Updates(id))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			call[struct{}](e, "session/close", obj{"sessionId": id})
			from := len(e.Updates(id))
			call[struct{}](e, "session/load", obj{"sessionId": id, "cwd": e.dir, "mcpServers": []any{}})
			if diff := cmp.Diff(tt.load, plans(e.Updates(id)[from:])); diff != "" {
				t.Errorf("replayed (-want +got):\n%s", diff)
			}
		})
	}
}
