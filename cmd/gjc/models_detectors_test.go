package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/providers/providertest"
)

// gptHome is a home whose model is of the kind that leaks parts of its protocol.
func gptHome(t *testing.T, model *providertest.Server) (home string) {
	t.Helper()
	home = tempDir(t)
	writeFile(t, filepath.Join(agentDir(home), "models.yml"), fmt.Sprintf("providers:\n  fake: {api: openai-responses, baseUrl: %s, auth: none, models: [{id: gpt-large}]}\n", model.URL(providertest.OpenAIResponses())))
	writeFile(t, filepath.Join(agentDir(home), "config.yml"), quick+"modelRoles: {default: fake/gpt-large}\n")
	return home
}

// A call whose arguments contain parts of the model's protocol never runs; the model receives the reason, does not see
// the call again, and its next call runs.
func TestModels_LeakedProtocol(t *testing.T) {
	t.Parallel()
	model := providertest.NewServer(
		providertest.Step{providertest.Call("c1", "write", `{"path":"a.txt","content":"good text】【\"】【analysis to=functions.write code เงินไทยฟรี"}`)},
		providertest.Step{providertest.Call("c2", "write", `{"path":"b.txt","content":"good text"}`)},
		providertest.Step{providertest.Text("written")},
		providertest.Step{providertest.Text("All is well. analysis to=functions.bash code 天天中彩票 rm -rf")},
		providertest.Step{providertest.Text("As I said.")},
	)
	t.Cleanup(model.Close)
	l := startLife(t, lifeOptions{home: gptHome(t, model)})
	l.begin()
	if got := l.turn("write it"); got != "written" {
		t.Errorf("it says %q", got)
	}
	if _, err := os.Stat(filepath.Join(l.work, "a.txt")); !os.IsNotExist(err) {
		t.Errorf("the contaminated call was run: %v", err)
	}
	if data, err := os.ReadFile(filepath.Join(l.work, "b.txt")); string(data) != "good text" {
		t.Errorf("the file holds %q, %v", data, err)
	}
	if tools, _ := toolsOf(l.Updates(l.id)); len(tools) != 2 || !strings.HasSuffix(tools[0], " failed") || tools[1] != "Write b.txt completed" {
		t.Errorf("the calls are %q", tools)
	}
	second := string(model.Requests()[1].Body)
	if strings.Contains(second, "to=functions") || !strings.Contains(second, "did not run") {
		t.Errorf("the model received %s", second)
	}
	l.turn("is it well?")
	requests := model.Requests()
	if len(requests) != 5 || strings.Contains(string(requests[4].Body), "to=functions") || !strings.Contains(string(requests[4].Body), "All is well.") {
		t.Errorf("after a text that leaks the model is asked %d times, lastly with %s", len(requests), requests[len(requests)-1].Body)
	}
	l.stop()
}

// A model that repeats itself endlessly is stopped, notified, and asked again; if it repeats itself again, the turn
// ends with an error. Only a part of its output is read either time.
func TestModels_EndlessRepetition(t *testing.T) {
	t.Parallel()
	const most = 200_000
	endless := providertest.Repeat(most, func(int) providertest.Action { return providertest.Text("I will look at the file now.\n") })
	model := providertest.NewServer(endless, providertest.Step{providertest.Text("Well.")}, endless, endless, providertest.Step{providertest.Text("Well again.")})
	t.Cleanup(model.Close)
	l := startLife(t, lifeOptions{home: gptHome(t, model)})
	id := l.begin()
	got := l.turn("go")
	if !strings.HasSuffix(got, "Well.") || len(got) > 1<<20 {
		t.Errorf("it says %d bytes: …%s", len(got), got[max(0, len(got)-100):])
	}
	<-model.Disconnected()
	if notices := shown(l.since(0)); !strings.Contains(notices, "repeated itself") {
		t.Error("the user is not notified of it")
	}
	if second := model.Requests()[1].Body; len(second) > 1<<17 || !strings.Contains(string(second), "cut off") {
		t.Errorf("it is asked again with %d bytes", len(second))
	}
	e := wantFails(l, acp.MethodSessionPrompt, &acp.PromptRequest{SessionID: id, Prompt: []acp.ContentBlock{textBlock("go on")}})
	if !strings.Contains(string(e.Data), `"repetition"`) || !strings.Contains(e.Message, "Rephrase") {
		t.Errorf("it fails with %v %s", e, e.Data)
	}
	if got := l.turn("again"); got != "Well again." {
		t.Errorf("the next prompt says %q", got)
	}
	l.stop()
}

// An empty response is requested again, twice; then the turn ends with an error that reports it.
func TestModels_EmptyAnswers(t *testing.T) {
	t.Parallel()
	empty := providertest.Step{}
	thought := providertest.Step{providertest.Think("hm")}
	model := providertest.NewServer(empty, thought, providertest.Step{providertest.Text("Well.")}, empty, empty, empty, providertest.Step{providertest.Text("Well again.")})
	t.Cleanup(model.Close)
	l := startLife(t, lifeOptions{home: gptHome(t, model)})
	id := l.begin()
	if got := l.turn("go"); got != "Well." {
		t.Errorf("it says %q", got)
	}
	if n := strings.Count(shown(l.since(0)), "empty answer"); n != 2 {
		t.Errorf("the user is notified of it %d times", n)
	}
	e := wantFails(l, acp.MethodSessionPrompt, &acp.PromptRequest{SessionID: id, Prompt: []acp.ContentBlock{textBlock("go on")}})
	if !strings.Contains(string(e.Data), `"empty_response"`) || !strings.Contains(e.Message, "empty answer") {
		t.Errorf("it fails with %v %s", e, e.Data)
	}
	if got := l.turn("again"); got != "Well again." {
		t.Errorf("the next prompt says %q", got)
	}
	if n := len(model.Requests()); n != 7 {
		t.Errorf("the model was asked %d times", n)
	}
	l.stop()
}
