package tools_test

import (
	"context"
	"io/fs"
	"strings"
	"testing"
	"unicode/utf8"

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
	call := toolstest.NewWorld(t, nil).Call(t, "task", input{"tasks": []input{{"id": "look", "description": "look", "assignment": "look"}}})
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

// answerer is an editor that answers every form with content.
type answerer struct {
	agent.Elicitor
	content string
}

func (answerer) Forms() bool { return true }

func (a answerer) Form(context.Context, agent.Form) (agent.FormAnswer, error) {
	return agent.FormAnswer{Action: agent.ElicitAccept, Content: []byte(a.content)}, nil
}

// A long answer is cut for the model, and kept where there is a place for it.
func TestAsk_LongAnswer(t *testing.T) {
	long := strings.Repeat("é", 20<<10)
	for _, kept := range []bool{false, true} {
		w := toolstest.NewWorld(t, nil)
		call := w.Call(t, "ask", input{"questions": []input{{"question": "Which text?"}}})
		call.Elicitor = answerer{content: `{"value":"` + long + `"}`}
		var whole keptArtifact
		if kept {
			call.Artifacts = &whole
		}
		_, res, err := toolstest.Do(t.Context(), tool(t, "ask"), call)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(res.Text); n > 17<<10 || n < 15<<10 || !strings.Contains(res.Text, "it has 40960 bytes") || !utf8.ValidString(res.Text) {
			t.Errorf("kept %v: %d bytes, the end %q", kept, n, res.Text[n-100:])
		}
		if strings.Contains(res.Text, "artifact://7") != kept || (whole.data == long) != kept {
			t.Errorf("kept %v: the end %q, kept are %d bytes", kept, res.Text[len(res.Text)-100:], len(whole.data))
		}
	}
}

type keptArtifact struct{ data string }

func (k *keptArtifact) Put(_ context.Context, _ string, data []byte) (string, error) {
	k.data = string(data)
	return "artifact://7", nil
}

func (k *keptArtifact) Get(context.Context, string) ([]byte, error) { return nil, fs.ErrNotExist }

// A secret is not asked for, in a form, as a choice, or in words.
func TestAsk_Secrets(t *testing.T) {
	for question, refused := range map[string]bool{
		"What is your AWS secret access key?": true, "Please type your database password.": true,
		"Which password policy?": false, "What is the token limit?": false,
	} {
		for name, options := range map[string][]input{"free": nil, "options": {{"label": "a"}, {"label": "b"}}} {
			_, err := tool(t, "ask").Plan(t.Context(), toolstest.NewWorld(t, nil).Call(t, "ask", input{"questions": []input{
				{"question": "Which port?"}, {"question": question, "options": options},
			}}))
			if (err != nil) != refused || refused && !strings.Contains(err.Error(), "gjc login") {
				t.Errorf("%s, %s: %v", question, name, err)
			}
		}
	}
}
