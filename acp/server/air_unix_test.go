//go:build unix

package server_test

import (
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/providers/providertest"
)

// tasks lists the updates about tasks.
func (e *env) tasks(id acp.SessionID) (all []string) {
	e.t.Helper()
	for _, u := range e.Updates(id) {
		switch u := u.(type) {
		case *acp.UnknownSessionUpdate:
			all = append(all, string(u.Raw))
		case *acp.ToolCallUpdate:
			if raw := airIn(e.t, u.Meta)["asyncTasks"]; raw != nil {
				all = append(all, string(u.ToolCallID)+string(raw))
			}
		}
	}
	return all
}

func taskState(id, state string) acptest.Expectation {
	return acptest.Update(func(u *acp.UnknownSessionUpdate) bool {
		return containsAll(string(u.Raw), `"async_task_state_update"`, `"asyncTaskId":"`+id+`"`, `"state":"`+state+`"`)
	})
}

// A command in the background is a task, which the client can stop. One that ends by itself has completed or failed.
func TestAir_AsyncTasks(t *testing.T) {
	e := start(t, asAir(allOfAir), scripted(
		providertest.Step{providertest.Call("c1", "bash", `{"command":"sleep 600","async":true}`)},
		providertest.Step{providertest.Call("c2", "bash", `{"command":"exit 3","async":true}`)},
		providertest.Step{providertest.Call("c3", "bash", `{"command":"true","async":true}`)},
		providertest.Step{providertest.Call("c4", "bash", `{"command":"true"}`)},
		providertest.Step{providertest.Text("It runs.")},
		providertest.Step{providertest.Text("It still runs.")},
	))
	id := e.session()
	if _, err := acp.MethodSessionSetMode.Call(t.Context(), e.Conn, &acp.SetSessionModeRequest{SessionID: id, ModeID: acp.SessionModeID(approval.ModeAuto)}); err != nil {
		t.Fatal(err)
	}
	e.say(id, "go", acp.StopReasonEndTurn)
	e.await(id, taskState("c2", "failed"))
	e.await(id, taskState("c3", "completed"))
	all := strings.Join(e.tasks(id), "\n")
	want := `c1{"backgrounded":true}` + "\n" +
		`{"sessionUpdate":"async_task_spawned","asyncTaskId":"c1","name":"sleep 600","taskType":"shell","showInTranscript":false,"canStop":true,"toolCallId":"c1"}` + "\n"
	if !strings.HasPrefix(all, want) || strings.Contains(all, `"c4"`) {
		t.Errorf("got\n%s\nwant\n%s", all, want)
	}
	// While a command runs, no list of changed files is complete.
	if _, err := airPrompt(t, e, id, `{"version":1,"requestId":"r"}`); err != nil {
		t.Fatal(err)
	}
	if all := airReports(t, e.Updates(id)); len(all) != 1 || all[0]["declaredComplete"] != false {
		t.Errorf("reports %v", all)
	}
	stop := func(task string) (bool, error) {
		r, err := tryCall[struct {
			Stopped bool `json:"stopped"`
		}](e, "_session/async_task/stop", obj{"sessionId": id, "asyncTaskId": task})
		return r.Stopped, err
	}
	if stopped, err := stop("c1"); !stopped || err != nil {
		t.Errorf("stopped %t, %v", stopped, err)
	}
	if all := e.tasks(id); all[len(all)-1] != `{"sessionUpdate":"async_task_state_update","asyncTaskId":"c1","state":"stopped"}` {
		t.Errorf("the state comes after the answer: %s", all)
	}
	for _, task := range []string{"c1", "c2", "c3"} {
		if stopped, err := stop(task); stopped || err != nil {
			t.Errorf("%s has ended: stopped %t, %v", task, stopped, err)
		}
	}
	for _, task := range []string{"c4", "job-1", ""} {
		_, err := stop(task)
		wantCode(t, err, acp.ErrorCodeInvalidParams, "no task")
	}
	_, err := tryCall[obj](e, "_session/async_task/stop", obj{"sessionId": "none", "asyncTaskId": "c1"})
	wantCode(t, err, acp.ErrorCodeResourceNotFound)
}

// Other clients receive no tasks, and have no method to stop one.
func TestAir_AsyncTasks_NotDeclared(t *testing.T) {
	e := start(t, asAir(`{"version":1,"capabilities":["sessionFailure"]}`), scripted(
		providertest.Step{providertest.Call("c1", "bash", `{"command":"true","async":true}`)}, providertest.Step{providertest.Text("It runs.")},
	))
	id := e.session()
	e.say(id, "go", acp.StopReasonEndTurn)
	if all := e.tasks(id); all != nil {
		t.Errorf("tasks %s", all)
	}
	_, err := tryCall[obj](e, "_session/async_task/stop", obj{"sessionId": id, "asyncTaskId": "c1"})
	wantCode(t, err, acp.ErrorCodeMethodNotFound)
}
