package tools

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/gajae-code/gjc/agent"
)

//go:embed task.md
var taskText string

type taskInput struct {
	Description string `json:"description" jsonschema:"the work in a few words, for the user"`
	Prompt      string `json:"prompt" jsonschema:"complete instructions for the helper, with what its report has to contain"`
}

func task() agent.Tool {
	return agent.NewTool(agent.ToolFuncs[taskInput]{
		Name: agent.TaskTool, Description: markdown(taskText), Kind: agent.KindOther,
		Plan: func(_ context.Context, _ *agent.Call, in *taskInput) (*agent.CallPlan, error) {
			if strings.TrimSpace(in.Prompt) == "" {
				return nil, fmt.Errorf("%w for task: the prompt is empty", agent.ErrBadInput)
			}
			return &agent.CallPlan{
				Title:   "Task: " + commandTitle(in.Description),
				Content: []agent.Content{agent.TextContent{Text: in.Prompt}},
			}, nil
		},
		Run: runTask,
	})
}

func runTask(ctx context.Context, call *agent.Call, in *taskInput) (*agent.Result, error) {
	if call.Task == nil {
		return nil, errors.New("there are no helpers here; do the work yourself")
	}
	done, err := call.Task(ctx, agent.Task{Title: commandTitle(in.Description), Prompt: in.Prompt})
	if err != nil {
		return nil, err
	}
	text := strings.TrimSpace(done.Text)
	switch {
	case done.Question != "":
		// First, so that a long report does not cut it off.
		text = strings.TrimSpace("The helper needs an answer: " + done.Question +
			"\n\n[It has ended, and nobody has seen the question. Ask the user, or answer it yourself where you can; then give the work to a new helper, with the answer.]\n\n" + text)
	case done.Stop != agent.StopEndTurn:
		text = strings.TrimSpace(text + fmt.Sprintf("\n\n[The helper stopped early: %s.]", done.Stop))
	case text == "":
		text = "(the helper said nothing)"
	}
	if len(text) > maxText {
		text = cutBytes(text, maxText) + "\n[The rest of the report was cut off.]"
	}
	return &agent.Result{Text: text}, nil
}
