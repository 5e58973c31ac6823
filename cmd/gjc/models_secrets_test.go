package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/providers/providertest"
)

// Hidden values never reach a model, by any way: with the prompt, a file, a command's output, a title, a summary, the
// input of a call, or a session that another process has begun. The tools work with the real values.
func TestModels_SecretsKeptBack(t *testing.T) {
	t.Parallel()
	secrets := map[string]string{
		"the environment":      "deploy-7f3a9c-value-of-the-environment",
		"the user's file":      "hunter2-of-the-users-file",
		"the project's file":   "Tr0ub4dor-of-the-project",
		"a regular expression": "AKIAABCDEFGHIJKLMNOP",
		"what is replaced":     "correct-horse-battery",
	}
	placeholder := regexp.MustCompile(`#[A-Za-z0-9]{4,40}#`)
	model := providertest.NewServer()
	t.Cleanup(model.Close)
	token, turn := "", 0 // the placeholder that the model repeats, and the number of its requests
	model.Else(func(r providertest.Recorded) providertest.Step {
		body := string(r.Body)
		if isTitle(r) {
			return providertest.Step{providertest.Text("About " + placeholder.FindString(body))}
		}
		if isSummary(r) {
			return providertest.Step{providertest.Text("SUMMARY: the password is " + placeholder.FindString(body))}
		}
		turn++
		if turn == 1 {
			_, rest, _ := strings.Cut(body, "the password is ")
			token = placeholder.FindString(rest)
			return providertest.Step{
				providertest.Text("I use " + token + "."),
				providertest.Call("c1", "write", `{"path":"out.txt","content":"password = `+token+`\n"}`),
				providertest.Call("c2", "bash", `{"command":"cat all.txt; echo \"$DEPLOY_TOKEN\"; grep -c '`+token+`' out.txt"}`),
				providertest.Call("c3", "read", `{"path":"all.txt"}`),
			}
		}
		return providertest.Step{providertest.Text("Done with " + token + ".")}
	})
	home := scripted(t, model, 100_000, "secrets: {enabled: true}\nmodelRoles: {default: fake/large, smol: fake/small}\n")
	writeFile(t, filepath.Join(agentDir(home), "secrets.yml"), fmt.Sprintf("- {type: plain, content: %s}\n- {type: plain, content: %s, mode: replace, replacement: '********'}\n", secrets["the user's file"], secrets["what is replaced"]))
	work := tempDir(t)
	writeFile(t, filepath.Join(work, ".gjc", "secrets.yml"), fmt.Sprintf("- {type: plain, content: %s}\n- {type: regex, content: 'AKIA[0-9A-Z]{16}'}\n", secrets["the project's file"]))
	var all strings.Builder
	for name, value := range secrets {
		fmt.Fprintf(&all, "%s: %s\n", name, value)
	}
	writeFile(t, filepath.Join(work, "all.txt"), all.String())
	writeFile(t, filepath.Join(work, "AGENTS.md"), "Mind "+secrets["the project's file"]+" when you write.\n")
	env := []string{"DEPLOY_TOKEN=" + secrets["the environment"]}

	l := startLife(t, lifeOptions{home: home, work: work, env: env})
	id := l.begin()
	l.turn("the password is " + secrets["the user's file"] + ", and then " + secrets["what is replaced"])
	untilRequests(l.ctx, t, model, 3) // a turn of two requests, and its title
	if token == "" {
		t.Fatalf("there is no placeholder in %s", model.Requests()[0].Body)
	}
	data, err := os.ReadFile(filepath.Join(work, "out.txt"))
	if want := "password = " + secrets["the user's file"] + "\n"; string(data) != want {
		t.Errorf("the file holds %q, %v; want %q", data, err, want)
	}
	for _, line := range l.since(0) {
		u := updateIn(line)
		if u == nil || u.SessionUpdate != "tool_call" || u.ToolCallID != "c1" {
			continue
		}
		if _, input, _ := strings.Cut(string(u.raw), `"rawInput"`); !strings.Contains(input, token) || strings.Contains(input, secrets["the user's file"]) {
			t.Errorf("the input is shown as %s", u.raw)
		}
	}
	// The command found the value in the file that the earlier call had written, and printed two secrets.
	if result := string(model.Requests()[1].Body); !strings.Contains(result, `#\n1"`) {
		t.Errorf("the command did not get the value: %s", result)
	}
	l.turn("/compact")
	l.turn("once more " + secrets["a regular expression"])
	l.stop()

	again := startLife(t, lifeOptions{home: home, work: work, env: env})
	again.load(id)
	again.turn("and in another process: the password is " + secrets["the user's file"])
	again.stop()
	requests := model.Requests()
	summaries, titles := 0, 0
	for i, r := range requests {
		if isSummary(r) {
			summaries++
		}
		if isTitle(r) {
			titles++
		}
		wantNoSecret(t, secrets, fmt.Sprintf("request %d", i), string(r.Body))
	}
	if summaries == 0 || titles == 0 {
		t.Errorf("%d requests for a summary, %d for a title", summaries, titles)
	}
	if last := string(requests[len(requests)-1].Body); !strings.Contains(last, token) {
		t.Errorf("another process has other placeholders than %s: %s", token, last)
	}
}
