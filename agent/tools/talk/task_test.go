package talk_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
)

func someTasks(n int) []toolstest.Input {
	var all []toolstest.Input
	for i := range n {
		all = append(all, toolstest.Input{"id": fmt.Sprintf("t%d", i+1), "description": "look", "assignment": "look"})
	}
	return all
}

// Invalid input is refused before any helper starts.
func TestTask_BadInput(t *testing.T) {
	one := func(id, assignment string) []toolstest.Input {
		return []toolstest.Input{{"id": id, "description": "d", "assignment": assignment}}
	}
	plan := toolstest.Input{"whyParallel": "a", "whyNotLocal": "b", "independence": "c"}
	for _, tt := range []struct {
		name string
		in   toolstest.Input
		want string
	}{
		{"nothing", toolstest.Input{}, "tasks missing"},
		{"null", toolstest.Input{"tasks": nil}, "tasks missing"},
		{"no task", toolstest.Input{"tasks": []toolstest.Input{}}, "tasks is empty"},
		{"wrong type", toolstest.Input{"tasks": "look"}, "/tasks"},
		{"the call of before", toolstest.Input{"description": "d", "prompt": "p"}, "it takes agent, context, tasks, output, async, attempts, spawnPlan"},
		{"extra", toolstest.Input{"tasks": one("a", "x"), "schema": toolstest.Input{}}, "/schema"},
		{"extra in a task", toolstest.Input{"tasks": []toolstest.Input{{"id": "a", "description": "d", "assignment": "x", "isolated": true}}}, "/tasks/0/isolated"},
		{"no id", toolstest.Input{"tasks": append(one("", "x"), one("", "y")...)}, ""},
		{"id with a path", toolstest.Input{"tasks": one("../a", "x")}, "the id of task 1"},
		{"id with a line", toolstest.Input{"tasks": one("a\nb", "x")}, "the id of task 1"},
		{"long id", toolstest.Input{"tasks": one(strings.Repeat("a", 49), "x")}, "up to 48"},
		{"id twice", toolstest.Input{"tasks": append(one("a", "x"), one("A", "y")...)}, `duplicate id "A"`},
		{"no assignment", toolstest.Input{"tasks": one("a", " \n")}, "the assignment of task a is empty"},
		{"unknown helper", toolstest.Input{"agent": "nobody", "tasks": one("a", "x")}, `no helper agent "nobody"; the helper agents are executor, critic`},
		{"five without a plan", toolstest.Input{"tasks": someTasks(5)}, "5 tasks need a spawnPlan"},
		{"a plan without a reason", toolstest.Input{"tasks": someTasks(5), "spawnPlan": toolstest.Input{"whyParallel": "a", "whyNotLocal": "b", "independence": " "}}, "independence of the spawnPlan is empty"},
		{"too many", toolstest.Input{"tasks": someTasks(21), "spawnPlan": plan}, "21 tasks are too many"},
		{"no schema", toolstest.Input{"tasks": one("a", "x"), "output": `{"type": 1}`}, "output is no valid JSON Schema"},
		{"a schema in words", toolstest.Input{"tasks": one("a", "x"), "output": "a list"}, "output must be a JSON Schema"},
		{"an id and to", toolstest.Input{"tasks": []toolstest.Input{{"id": "a", "to": "b", "description": "d", "assignment": "x"}}}, "task 1 has an id and to"},
		{"to", toolstest.Input{"tasks": []toolstest.Input{{"to": "Scout.Reader", "description": "d", "assignment": "x"}}}, ""},
		{"one attempt", toolstest.Input{"tasks": someTasks(1), "attempts": toolstest.Input{"count": 1}}, "attempts.count is 2 to 10"},
		{"too many attempts", toolstest.Input{"tasks": someTasks(1), "attempts": toolstest.Input{"count": 11}}, "attempts.count is 2 to 10"},
		{"attempts at several tasks", toolstest.Input{"tasks": someTasks(2), "attempts": toolstest.Input{"count": 2}}, "attempts are for one task"},
		{"too many models", toolstest.Input{"tasks": someTasks(1), "attempts": toolstest.Input{"count": 2, "models": []string{"a", "b", "c"}}}, "3 models are more than 2 attempts"},
		{"attempts in the background", toolstest.Input{"tasks": someTasks(1), "async": true, "attempts": toolstest.Input{"count": 2}}, "leave out async"},
		{"attempts that keep", toolstest.Input{"tasks": []toolstest.Input{{"keep": "branch", "isolation": "worktree", "description": "d", "assignment": "x"}}, "attempts": toolstest.Input{"count": 2}}, "neither to nor keep"},
		{"attempts", toolstest.Input{"tasks": someTasks(1), "attempts": toolstest.Input{"count": 2, "models": []string{"a"}, "check": "make test"}}, ""},
		{"enough", toolstest.Input{"tasks": someTasks(20), "spawnPlan": plan}, ""},
		{"four", toolstest.Input{"agent": "critic", "tasks": someTasks(4)}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			call := toolstest.NewWorld(t, nil).Call(t, "task", tt.in)
			call.Helpers = func(context.Context) []agent.Helper { return []agent.Helper{{Name: "executor"}, {Name: "critic"}} }
			_, err := toolstest.Plan(t.Context(), toolstest.Tool(t, "task"), call)
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// Several tasks run concurrently, each with its own prompt. If one fails, the others keep their reports, in order.
func TestTask_Several(t *testing.T) {
	call := toolstest.NewWorld(t, nil).Call(t, "task", toolstest.Input{
		"agent": "critic", "context": "all about it",
		"tasks": []toolstest.Input{
			{"id": "a", "description": "first", "assignment": "look at a"},
			{"id": "b", "description": "second", "assignment": "look at b"},
			{"id": "c", "description": "third", "assignment": "look at c"},
			{"id": "d", "description": "", "assignment": "look at d"},
		},
	})
	var mu sync.Mutex
	given := make(map[string]agent.Task)
	var together sync.WaitGroup
	together.Add(4)
	call.Task = func(_ context.Context, task agent.Task) (agent.TaskResult, error) {
		together.Done()
		together.Wait() // forever, if the tasks run one after the other
		mu.Lock()
		given[task.Name] = task
		mu.Unlock()
		switch task.Name {
		case "b":
			return agent.TaskResult{}, agent.ErrTaskCancelled
		case "c":
			return agent.TaskResult{}, errors.New("the task failed: boom")
		case "d":
			return agent.TaskResult{Text: "partly", Stop: agent.StopMaxTokens, OverBudget: true}, nil
		default:
			return agent.TaskResult{Text: "report of " + task.Name, Stop: agent.StopEndTurn}, nil
		}
	}
	plan, res, err := toolstest.Do(t.Context(), toolstest.Tool(t, "task"), call)
	if err != nil || res.IsError {
		t.Fatal(err, res)
	}
	if plan.Title != "4 tasks for critic: first, second, third, d" {
		t.Errorf("title %q", plan.Title)
	}
	want := `## a

report of a

## b

[Failed: the user cancelled this task; do not start it again without asking]

## c

[Failed: the task failed: boom]

## d

partly

[The helper was stopped: it had used its budget, and kept working after it was told to finish. Its work is not complete.]`
	if d := cmp.Diff(want, res.Text); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if d := cmp.Diff(agent.Task{Name: "a", Helper: "critic", Title: "first", Prompt: "# Context\n\nall about it\n\n# Your task\n\nlook at a"}, given["a"]); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if given["d"].Title != "d" {
		t.Errorf("a task without description is called %q", given["d"].Title)
	}
}

// The model gets the beginning of a long report, and the address of all of it.
func TestTask_LongReports(t *testing.T) {
	for _, tt := range []struct {
		name, report string
		tasks, most  int // bytes that the model gets
		inline       int
		note         string
	}{
		{"short", "report", 1, 70, 0, "report\n\n[Report: agent://t1-2, conversation: history://t1-2]"},
		{"long", strings.Repeat("é", 10_000), 1, 12_200, 0, "it has 20000 bytes.]\n\n[Report: agent://t1-2,"},
		{"of many", strings.Repeat("x", 20_000), 20, 51_200, 0, "it has 20000 bytes.]\n\n[Report: agent://t20-2,"},
		{"as asked for", strings.Repeat("x", 20_000), 1, 600, 100, "it has 20000 bytes."},
		{"none", "", 1, 100, 0, "(the helper said nothing)\n\n[Conversation: history://t1-2]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := toolstest.Input{"tasks": someTasks(tt.tasks)}
			if tt.tasks > 4 || tt.inline > 0 {
				in["spawnPlan"] = toolstest.Input{"whyParallel": "a", "whyNotLocal": "b", "independence": "c", "maxInlineTokens": tt.inline}
			}
			call := toolstest.NewWorld(t, nil).Call(t, "task", in)
			call.Task = func(_ context.Context, task agent.Task) (agent.TaskResult, error) {
				return agent.TaskResult{Name: task.Name + "-2", Text: tt.report, Stop: agent.StopEndTurn}, nil
			}
			_, res, err := toolstest.Do(t.Context(), toolstest.Tool(t, "task"), call)
			if err != nil {
				t.Fatal(err)
			}
			if len(res.Text) > tt.most || !strings.Contains(res.Text, tt.note) {
				t.Errorf("%d bytes for the model, the end %q", len(res.Text), res.Text[max(0, len(res.Text)-150):])
			}
		})
	}
}

// A helper that has failed has a conversation to read.
func TestTask_FailedHelper(t *testing.T) {
	call := toolstest.NewWorld(t, nil).Call(t, "task", toolstest.Input{"tasks": someTasks(1)})
	call.Task = func(context.Context, agent.Task) (agent.TaskResult, error) {
		return agent.TaskResult{Name: "t1"}, errors.New("the task failed: boom")
	}
	_, _, err := toolstest.Do(t.Context(), toolstest.Tool(t, "task"), call)
	if err == nil || err.Error() != "the task failed: boom\n\n[Conversation: history://t1]" {
		t.Errorf("got %v", err)
	}
}

// The end of the call ends all helpers. A session without helpers reports that.
func TestTask_Ends(t *testing.T) {
	cause := errors.New("over")
	ctx, cancel := context.WithCancelCause(t.Context())
	call := toolstest.NewWorld(t, nil).Call(t, "task", toolstest.Input{"tasks": someTasks(2)})
	call.Task = func(ctx context.Context, task agent.Task) (agent.TaskResult, error) {
		if task.Name == "t2" {
			cancel(cause)
		}
		<-ctx.Done()
		return agent.TaskResult{}, context.Cause(ctx)
	}
	if _, _, err := toolstest.Do(ctx, toolstest.Tool(t, "task"), call); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
	call = toolstest.NewWorld(t, nil).Call(t, "task", toolstest.Input{"tasks": someTasks(1)})
	if _, _, err := toolstest.Do(t.Context(), toolstest.Tool(t, "task"), call); err == nil || !strings.Contains(err.Error(), "do the work yourself") {
		t.Errorf("got %v", err)
	}
}

// Each helper gets the schema of the output. A report that does not match it is a failure with the text of the report.
func TestTask_Output(t *testing.T) {
	for n, want := range map[int]string{
		1: "[Failed: the report does not match the schema of the output: no n]\n\nraw",
		2: "## t1\n\n[Failed: the report does not match the schema of the output: no n]\n\nraw\n\n## t2\n\n{}",
	} {
		call := toolstest.NewWorld(t, nil).Call(t, "task", toolstest.Input{"tasks": someTasks(n), "output": `{"type":"object","required":["n"]}`})
		call.Task = func(_ context.Context, task agent.Task) (agent.TaskResult, error) {
			if string(task.Output) != `{"type":"object","required":["n"]}` {
				t.Errorf("the schema is %s", task.Output)
			}
			if task.Name == "t2" {
				return agent.TaskResult{Text: "{}", Stop: agent.StopEndTurn}, nil
			}
			return agent.TaskResult{Text: "raw", Invalid: "no n", Stop: agent.StopEndTurn}, nil
		}
		_, res, err := toolstest.Do(t.Context(), toolstest.Tool(t, "task"), call)
		if err != nil {
			t.Fatal(err)
		}
		if res.Text != want || res.IsError != (n == 1) {
			t.Errorf("got %q, an error: %v", res.Text, res.IsError)
		}
	}
}

// Helpers in the background are jobs: the call returns their names, the job tool waits for one and ends another, and the report on a job
// has the helper's.
func TestTask_Async(t *testing.T) {
	w := toolstest.NewWorld(t, nil)
	in := toolstest.Input{"async": true, "tasks": append(someTasks(3), toolstest.Input{"description": "look more", "assignment": "look"})}
	call := w.Call(t, "task", in)
	finish := make(chan struct{})
	call.Task = func(ctx context.Context, task agent.Task) (agent.TaskResult, error) {
		if !task.Background {
			t.Error("a helper does not work in the background")
		}
		switch task.Name {
		case "t1":
			return agent.TaskResult{}, errors.New("no room")
		case "t2":
			task.Started("t2-2")
			<-finish
			return agent.TaskResult{Name: "t2-2", Text: "the report" + strings.Repeat(" more", 1000), Stop: agent.StopEndTurn}, nil
		default:
			task.Started(task.Name + "x")
			<-ctx.Done()
			return agent.TaskResult{Name: task.Name + "x"}, context.Cause(ctx)
		}
	}
	_, res, err := toolstest.Do(t.Context(), toolstest.Tool(t, "task"), call)
	if err != nil || res.IsError {
		t.Fatal(err, res)
	}
	want := `- job-1: [Failed: no room]
- job-2: the helper t2-2 works on: look
- job-3: the helper t3x works on: look
- job-4: the helper x works on: look more

You will be notified when each ends. Use the job tool to wait for one or to end it, and task with ` + "`to`" + ` to send it a message.`
	if d := cmp.Diff(want, res.Text); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if text := toolstest.Run(t, w, "job", toolstest.Input{"list": true, "cancel": []string{"job-3"}}).Text; !strings.Contains(text, "job-3 has failed") || !strings.Contains(text, "[Conversation: history://t3x]") || !strings.Contains(text, "job-2 runs for 0s: helper t2: look\n") || !strings.Contains(text, "job-4 runs for 0s: helper: look more") {
		t.Errorf("got %q", text)
	}
	close(finish)
	toolstest.Run(t, w, "job", toolstest.Input{"poll": []string{"job-2"}, "wait": 300})
	call = w.Call(t, "task", toolstest.Input{"async": true, "tasks": someTasks(1)})
	call.Child, call.Task = true, func(context.Context, agent.Task) (agent.TaskResult, error) { panic("it was started") }
	if _, _, err := toolstest.Do(t.Context(), toolstest.Tool(t, "task"), call); err == nil || !strings.Contains(err.Error(), "leave out async") {
		t.Errorf("a helper starts helpers in the background: %v", err)
	}
}

// A task for a helper that works in the background is a message to it.
func TestTask_Message(t *testing.T) {
	call := toolstest.NewWorld(t, nil).Call(t, "task", toolstest.Input{"tasks": []toolstest.Input{{"to": "Scout", "description": "tell", "assignment": "hurry"}}})
	call.Task = func(_ context.Context, task agent.Task) (agent.TaskResult, error) {
		if task.To != "Scout" || task.Prompt != "hurry" {
			t.Errorf("%+v", task)
		}
		return agent.TaskResult{Name: "Scout", Delivered: true}, nil
	}
	_, res, err := toolstest.Do(t.Context(), toolstest.Tool(t, "task"), call)
	if err != nil || res.Text != "The helper Scout is still working. It has got the message." {
		t.Errorf("%+v, %v", res, err)
	}
}
