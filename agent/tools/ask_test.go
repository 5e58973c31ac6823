package tools_test

import (
	"context"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
)

// Where nobody can be asked the question ends the turn. A child says that it goes to its parent.
func TestAsk_AsText(t *testing.T) {
	for child, want := range map[bool]string{false: "put to the user as text", true: "the question is your report"} {
		call := toolstest.NewWorld(t, nil).Call(t, "ask", input{"questions": []input{{"question": "Which port?"}}})
		call.Child = child
		_, res, err := toolstest.Do(t.Context(), tool(t, "ask"), call)
		if err != nil {
			t.Fatal(err)
		}
		if !res.EndTurn || res.Say != "Which port?" || !strings.Contains(res.Text, want) {
			t.Errorf("child %v: %+v", child, res)
		}
	}
}

// The question that a helper has ended with stands first in what its parent gets.
func TestTask_Question(t *testing.T) {
	call := toolstest.NewWorld(t, nil).Call(t, "task", input{"description": "look", "prompt": "look"})
	call.Task = func(context.Context, agent.Task) (agent.TaskResult, error) {
		return agent.TaskResult{Text: strings.Repeat("long ", 50_000), Question: "Which port?", Stop: agent.StopEndTurn}, nil
	}
	_, res, err := toolstest.Do(t.Context(), tool(t, "task"), call)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(res.Text, "The helper needs an answer: Which port?\n") || strings.Contains(res.Text, "said nothing") {
		t.Errorf("the parent gets %.200q", res.Text)
	}
}
