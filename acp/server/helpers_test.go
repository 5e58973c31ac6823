package server_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// helperSteps returns the steps of a helper that starts another one, which runs a command that needs permission.
func helperSteps() []providertest.Step {
	return []providertest.Step{
		{providertest.Call("c", "task", `{"tasks":[{"id":"a","description":"outer","assignment":"delegate"}]}`)},
		{providertest.Call("c", "task", `{"agent":"executor","tasks":[{"id":"b","description":"inner","assignment":"run it"}]}`)},
		{providertest.Call("c", "bash", `{"command":"true"}`)},
		{providertest.Text("below")},
		{providertest.Text("middle")},
		{providertest.Text("top")},
	}
}

// For a client without child sessions the calls of all helpers, at any depth, are calls of the session, each with a unique ID. A
// question names its helper.
func TestHelpers_Nested(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	e := start(t, scripted(helperSteps()...), func(c *config) {
		c.editor.Permission = func(_ context.Context, p *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
			mu.Lock()
			defer mu.Unlock()
			title, _ := p.ToolCall.Title.Get()
			asked = append(asked, string(p.SessionID)+" "+string(p.ToolCall.ToolCallID)+" "+title)
			return acptest.Choose("allow_once"), nil
		}
	})
	id := e.session()
	e.say(id, "delegate", acp.StopReasonEndTurn)
	var got []string
	for _, u := range e.Updates(id) {
		if u, ok := u.(*acp.ToolCall); ok {
			parent := ""
			if _, err := u.Meta.Get("gjc/parentToolCallId", &parent); err != nil {
				t.Error(err)
			}
			got = append(got, string(u.ToolCallID)+" in "+parent+": "+u.Title)
		}
	}
	want := []string{"c in : Task: outer", "c/a/c in c: outer: Task: inner", "c/a/c/b/c in c/a/c: outer: inner: true"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("calls (-want +got):\n%s", d)
	}
	mu.Lock()
	defer mu.Unlock()
	if d := cmp.Diff([]string{string(id) + " c/a/c/b/c outer: inner: true"}, asked); d != "" {
		t.Errorf("asked (-want +got):\n%s", d)
	}
}

// A client that supports child sessions sees each one in its parent, and can end each one separately.
func TestHelpers_Sessions(t *testing.T) {
	gate := providertest.NewGate()
	defer gate.Open()
	steps := helperSteps()
	steps[2] = providertest.Step{providertest.Text("works"), gate.Hold()}
	e := start(t, scripted(append(steps[:3:3], steps[4:]...)...), as(acptest.UnstableCapabilities()))
	id := e.session()
	stop := make(chan acp.StopReason, 1)
	go func() {
		resp, err := e.Prompt(t.Context(), id, "delegate")
		if err != nil {
			t.Error(err)
			resp = new(acp.PromptResponse)
		}
		stop <- resp.StopReason
	}()
	var child, grandchild acp.SessionID
	e.await(id, acptest.Update(func(u *acp.SubagentUpdate) bool { child = u.SessionID; return true }))
	e.await(child, acptest.Update(func(u *acp.SubagentUpdate) bool { grandchild = u.SessionID; return true }))
	e.await(grandchild, acptest.Update(func(*acp.AgentMessageChunk) bool { return true }))
	if err := e.Conn.Notify(t.Context(), "session/cancel", obj{"sessionId": grandchild}); err != nil {
		t.Fatal(err)
	}
	if got := <-stop; got != acp.StopReasonEndTurn {
		t.Errorf("the parent stopped with %s", got)
	}
	if !strings.Contains(e.Text(child), "middle") || !strings.Contains(e.Text(id), "top") {
		t.Errorf("the child said %q, the parent %q", e.Text(child), e.Text(id))
	}
	if !slices.ContainsFunc(e.Updates(grandchild), func(u acp.SessionUpdate) bool {
		m, ok := u.(*acp.SessionMessage)
		return ok && strings.Contains(string(m.MessageID), "c-task")
	}) {
		t.Error("the grandchild begins without its instruction")
	}
}

// In plan mode a helper changes nothing, whatever its task. A file in the workspace defines a helper, and the user is warned of an
// invalid one.
func TestHelpers_PlanModeAndFiles(t *testing.T) {
	e := start(t, scripted(
		providertest.Step{providertest.Call("c1", "task", `{"agent":"mine","tasks":[{"id":"a","description":"change","assignment":"change it"}]}`)},
		providertest.Step{providertest.Call("c2", "write", `{"path":"new.txt","content":"x"}`)},
		providertest.Step{providertest.Text("could not")}, providertest.Step{providertest.Text("top")},
	))
	if err := os.MkdirAll(filepath.Join(e.dir, ".gjc", "agents"), 0o755); err != nil {
		t.Fatal(err)
	}
	e.write(".gjc/agents/mine.md", "---\nname: mine\ndescription: of the workspace\ntools: read, write\n---\nYou are mine.")
	e.write(".gjc/agents/bad.md", "---\nname: bad\n---\nNo description.")
	id := e.session()
	call[struct{}](e, "session/set_mode", obj{"sessionId": id, "modeId": "plan"})
	e.say(id, "go", acp.StopReasonEndTurn)
	if !slices.ContainsFunc(e.Updates(id), func(u acp.SessionUpdate) bool {
		n, ok := u.(*acp.Notice)
		return ok && strings.Contains(n.Description, "bad.md:1: description")
	}) {
		t.Error("the user was not warned of the file with a mistake")
	}
	failed := false
	for _, u := range e.Updates(id) {
		if u, ok := u.(*acp.ToolCallUpdate); ok && u.ToolCallID == "c1/a/c2" {
			status, _ := u.Status.Get()
			failed = failed || status == acp.ToolCallStatusFailed
		}
	}
	if !failed {
		t.Error("the helper's write did not fail")
	}
}

// Helpers in the background are tasks of their own for JetBrains Air, which can stop each one; the others work on.
func TestAir_AsyncTasks_Helpers(t *testing.T) {
	held := providertest.NewGate()
	defer held.Open()
	var script *providertest.Script
	e := start(t, asAir(allOfAir), func(c *config) {
		script = providertest.NewScript(providers.ModelInfo{Provider: "test", ID: "script", ContextWindow: 100_000})
		script.Else(func(req *providers.Request) providertest.Step {
			switch first := req.Messages[0].Text(); {
			case strings.Contains(first, "wait") && !strings.Contains(first, "go"):
				return providertest.Step{held.Hold(), providertest.Text("late")}
			case strings.Contains(first, "fine"):
				return providertest.Step{providertest.Text("the report")}
			case len(req.Messages) == 1:
				return providertest.Step{providertest.Call("c1", "task", `{"async":true,"tasks":[{"id":"a","description":"slow","assignment":"wait"},{"id":"b","description":"quick","assignment":"fine"}]}`)}
			default:
				return providertest.Step{providertest.Text("They work.")}
			}
		})
		c.server.Models.Models = &models{list: []providers.Model{script}}
	})
	id := e.session()
	e.say(id, "go", acp.StopReasonEndTurn)
	e.await(id, acptest.Update(func(u *acp.UnknownSessionUpdate) bool {
		return containsAll(string(u.Raw), `"async_task_state_update"`, `"asyncTaskId":"c1/job-2"`, `"state":"completed"`)
	}))
	var got []string
	for _, u := range e.Updates(id) {
		switch u := u.(type) {
		case *acp.UnknownSessionUpdate:
			got = append(got, string(u.Raw))
		case *acp.ToolCallUpdate:
			if raw := airIn(t, u.Meta)["asyncTasks"]; raw != nil {
				got = append(got, string(u.ToolCallID)+string(raw))
			}
		}
	}
	spawned := func(job, name string) string {
		return `{"sessionUpdate":"async_task_spawned","asyncTaskId":"c1/` + job + `","name":"` + name + `","taskType":"subagent","showInTranscript":false,"canStop":true,"toolCallId":"c1"}`
	}
	want := []string{
		`c1{"backgrounded":true}`, spawned("job-1", "helper a: slow"), `c1{"backgrounded":true}`, spawned("job-2", "helper b: quick"),
		`{"sessionUpdate":"async_task_state_update","asyncTaskId":"c1/job-2","state":"completed"}`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("updates (-want +got):\n%s", d)
	}
	stop := func(task string) (bool, error) {
		r, err := tryCall[struct {
			Stopped bool `json:"stopped"`
		}](e, "_session/async_task/stop", obj{"sessionId": id, "asyncTaskId": task})
		return r.Stopped, err
	}
	if stopped, err := stop("c1/job-1"); !stopped || err != nil {
		t.Errorf("stopped %t, %v", stopped, err)
	}
	e.await(id, acptest.Update(func(u *acp.UnknownSessionUpdate) bool {
		return containsAll(string(u.Raw), `"asyncTaskId":"c1/job-1"`, `"state":"stopped"`)
	}))
	if stopped, err := stop("c1/job-2"); stopped || err != nil {
		t.Errorf("the one that has ended: stopped %t, %v", stopped, err)
	}
	_, err := stop("c1")
	wantCode(t, err, acp.ErrorCodeInvalidParams, "no task")
}

// A helper in the background asks its questions while no turn runs. The answer counts; the user's cancellation at a question ends only
// that helper.
func TestHelpers_BackgroundQuestions(t *testing.T) {
	for _, cancel := range []bool{false, true} {
		t.Run(fmt.Sprintf("cancel=%t", cancel), func(t *testing.T) {
			begin, other := providertest.NewGate(), providertest.NewGate()
			defer begin.Open()
			defer other.Open()
			asked := make(chan string, 1)
			answer := make(chan struct{})
			var script *providertest.Script
			e := start(t, asAir(allOfAir), func(c *config) {
				script = providertest.NewScript(providers.ModelInfo{Provider: "test", ID: "script", ContextWindow: 100_000})
				script.Else(func(req *providers.Request) providertest.Step {
					first := req.Messages[0].Text()
					last := &req.Messages[len(req.Messages)-1]
					switch {
					case strings.Contains(first, "run it") && last.Role == providers.RoleUser:
						return providertest.Step{begin.Hold(), providertest.Call("b1", "bash", `{"command":"echo ran > ran.txt"}`)}
					case strings.Contains(first, "run it"):
						return providertest.Step{providertest.Text("the command has run")}
					case strings.Contains(first, "wait"):
						return providertest.Step{other.Hold(), providertest.Text("the other report")}
					case len(req.Messages) == 1:
						return providertest.Step{providertest.Call("c1", "task", `{"async":true,"tasks":[{"id":"a","description":"asks","assignment":"run it"},{"id":"b","description":"works on","assignment":"wait"}]}`)}
					default:
						return providertest.Step{providertest.Text("said")}
					}
				})
				c.server.Models.Models = &models{list: []providers.Model{script}}
				c.editor.Permission = func(_ context.Context, p *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
					title, _ := p.ToolCall.Title.Get()
					asked <- string(p.SessionID) + " " + title
					<-answer
					if cancel {
						return &acp.RequestPermissionResponse{Outcome: &acp.CancelledPermissionOutcome{}}, nil
					}
					return acptest.Choose("allow_once"), nil
				}
			})
			id := e.session()
			e.say(id, "go", acp.StopReasonEndTurn)
			begin.Open()
			if got, want := <-asked, string(id)+" asks: echo ran > ran.txt"; got != want {
				t.Errorf("asked %q, want %q", got, want)
			}
			// The session itself is free for a prompt while the question is open.
			e.say(id, "meanwhile", acp.StopReasonEndTurn)
			close(answer)
			state := map[bool]string{false: "completed", true: "failed"}[cancel]
			ended := func(job, state string) {
				t.Helper()
				e.await(id, acptest.Update(func(u *acp.UnknownSessionUpdate) bool {
					return containsAll(string(u.Raw), `"async_task_state_update"`, `"asyncTaskId":"c1/`+job+`"`, `"state":"`+state+`"`)
				}))
			}
			ended("job-1", state)
			_, err := os.Stat(filepath.Join(e.dir, "ran.txt"))
			if ran := err == nil; ran == cancel {
				t.Errorf("the command has run: %t", ran)
			}
			other.Open()
			ended("job-2", "completed")
			e.say(id, "and now?", acp.StopReasonEndTurn)
			requests := script.Requests()
			var all []string
			for _, m := range requests[len(requests)-1].Messages {
				all = append(all, m.Text())
			}
			text := strings.Join(all, "\n")
			if !containsAll(text, "the other report") || strings.Contains(text, "the command has run") == cancel || strings.Contains(text, "cancelled") != cancel {
				t.Errorf("the model sees\n%s", text)
			}
		})
	}
}
