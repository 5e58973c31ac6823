package talk_test

import (
	"context"
	"io/fs"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
)

// If the user cannot be asked, the question ends the turn. A child session reports that the question goes to its parent.
func TestAsk_AsText(t *testing.T) {
	for child, want := range map[bool]string{false: "put to the user as text", true: "the question is your report"} {
		call := toolstest.NewWorld(t, nil).Call(t, "ask", toolstest.Input{"questions": []toolstest.Input{{"question": "Which port?"}}})
		call.Child = child
		_, res, err := toolstest.Do(t.Context(), toolstest.Tool(t, "ask"), call)
		if err != nil {
			t.Fatal(err)
		}
		if !res.EndTurn || res.Say != "Which port?" || !strings.Contains(res.Text, want) {
			t.Errorf("child %v: %+v", child, res)
		}
	}
}

// optionTaker is an editor without forms, whose user takes the option with an index.
type optionTaker struct {
	agent.Elicitor
	index  int
	action agent.ElicitAction
	asked  *agent.Choice
}

func (optionTaker) Forms() bool { return false }

func (c optionTaker) Choose(_ context.Context, choice agent.Choice) (int, agent.ElicitAction, error) {
	*c.asked = choice
	return c.index, c.action, nil
}

// Without forms, a single question is a choice, and an answer that is not one of the options is the next message. A question that
// cannot be a choice is asked as text.
func TestAsk_Choice(t *testing.T) {
	do := func(child bool, index int, action agent.ElicitAction, questions ...toolstest.Input) (*agent.Result, agent.Choice, error) {
		t.Helper()
		var asked agent.Choice
		call := toolstest.NewWorld(t, nil).Call(t, "ask", toolstest.Input{"questions": questions})
		call.Elicitor, call.Child = optionTaker{index: index, action: action, asked: &asked}, child
		_, res, err := toolstest.Do(t.Context(), toolstest.Tool(t, "ask"), call)
		return res, asked, err
	}
	options := []toolstest.Input{{"label": "80"}, {"label": "8080"}}
	one := toolstest.Input{"question": "Which port?", "options": options, "recommended": 1}
	res, asked, err := do(false, 1, agent.ElicitAccept, one)
	if err != nil || res.Text != "The user answered: 8080" || res.EndTurn {
		t.Errorf("%+v, %v", res, err)
	}
	toolstest.Same(t, "choice", asked, agent.Choice{ToolCallID: "call", Title: "Which port?", Options: []string{"80", "8080 (recommended)", "Something else (type it as your next message)"}})
	res, _, err = do(false, 2, agent.ElicitAccept, one)
	if err != nil || !res.EndTurn || res.Say != "Which port?\n\nType your answer as the next message." || !strings.Contains(res.Text, "The answer is the next message.") {
		t.Errorf("something else: %+v, %v", res, err)
	}
	res, _, err = do(true, 2, agent.ElicitAccept, one)
	if err != nil || !res.EndTurn || !strings.HasPrefix(res.Say, "Which port?\n- 80") || !strings.Contains(res.Text, "your report") {
		t.Errorf("something else, of a child's: %+v, %v", res, err)
	}
	if _, _, err := do(false, 0, agent.ElicitDecline, one); err == nil || !strings.Contains(err.Error(), "declined to answer") {
		t.Errorf("none: %v", err)
	}
	for want, questions := range map[string][]toolstest.Input{
		"Which ports? (several can be chosen)\n- 80\n- 8080": {{"question": "Which ports?", "options": options, "multi": true}},
		"Which name?": {{"question": "Which name?"}},
		"1. Which port?\n- 80\n- 8080 (recommended)\n2. Which name?": {one, {"question": "Which name?"}},
	} {
		res, asked, err := do(false, 0, agent.ElicitAccept, questions...)
		if err != nil || !res.EndTurn || res.Say != want || asked.Title != "" {
			t.Errorf("%q: %+v, %v, asked %+v", want, res, err, asked)
		}
	}
}

// The question with which a helper ends comes first in the text that its parent receives.
func TestTask_Question(t *testing.T) {
	call := toolstest.NewWorld(t, nil).Call(t, "task", toolstest.Input{"tasks": []toolstest.Input{{"id": "look", "description": "look", "assignment": "look"}}})
	call.Task = func(context.Context, agent.Task) (agent.TaskResult, error) {
		return agent.TaskResult{Text: strings.Repeat("long ", 50_000), Question: "Which port?", Stop: agent.StopEndTurn}, nil
	}
	_, res, err := toolstest.Do(t.Context(), toolstest.Tool(t, "task"), call)
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

// A long answer is shortened for the model, and stored if the session can.
func TestAsk_LongAnswer(t *testing.T) {
	long := strings.Repeat("é", 20<<10)
	for _, kept := range []bool{false, true} {
		w := toolstest.NewWorld(t, nil)
		call := w.Call(t, "ask", toolstest.Input{"questions": []toolstest.Input{{"question": "Which text?"}}})
		call.Elicitor = answerer{content: `{"value":"` + long + `"}`}
		var whole keptArtifact
		if kept {
			call.Artifacts = &whole
		}
		_, res, err := toolstest.Do(t.Context(), toolstest.Tool(t, "ask"), call)
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

// The tool never asks for a secret, whether in a form, as a choice, or as text.
func TestAsk_Secrets(t *testing.T) {
	for question, refused := range map[string]bool{
		"What is your AWS secret access key?": true, "Please type your database password.": true,
		"Which password policy?": false, "What is the token limit?": false,
	} {
		for name, options := range map[string][]toolstest.Input{"free": nil, "options": {{"label": "a"}, {"label": "b"}}} {
			_, err := toolstest.Tool(t, "ask").Plan(t.Context(), toolstest.NewWorld(t, nil).Call(t, "ask", toolstest.Input{"questions": []toolstest.Input{
				{"question": "Which port?"}, {"question": question, "options": options},
			}}))
			if (err != nil) != refused || refused && !strings.Contains(err.Error(), "gjc login") {
				t.Errorf("%s, %s: %v", question, name, err)
			}
		}
	}
}
