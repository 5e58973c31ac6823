package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/providers/providertest"
)

// manyProviders are providers of all kinds of APIs, on one server.
const manyProviders = `providers:
  claude: {api: anthropic-messages, baseUrl: %[1]s, apiKey: k1, models: [{id: m, contextWindow: 500000, reasoning: true, input: [text, image], cost: {input: 1, output: 2}}]}
  openai2: {api: openai-responses, baseUrl: %[1]s/v1, apiKey: k2, models: [{id: m, contextWindow: 500000, reasoning: true, input: [text, image], cost: {input: 10, output: 20}}]}
  gemini: {api: google-generative-ai, baseUrl: %[1]s, apiKey: k3, models: [{id: gemini-3-x, contextWindow: 500000, reasoning: true, input: [text, image]}]}
  mistral2: {api: openai-completions, baseUrl: %[1]s/v1, apiKey: k4, compat: {requiresMistralToolIds: true}, models: [{id: m, reasoning: true}]}
  local: {api: ollama-chat, baseUrl: %[1]s, models: [{id: m, reasoning: true}]}
`

func manyModels(t *testing.T, model *providertest.Server, settings string) (home string) {
	t.Helper()
	home = tempDir(t)
	writeFile(t, filepath.Join(agentDir(home), "models.yml"), fmt.Sprintf(manyProviders, model.URL(providertest.Gemini())))
	writeFile(t, filepath.Join(agentDir(home), "config.yml"), noTitles+settings)
	return home
}

// choose sets the model of a session as an editor's menu does.
func (l *life) choose(ref string) {
	l.t.Helper()
	resp := must(l.scenario, acp.MethodSessionSetConfigOption, &acp.SetSessionConfigOptionRequest{
		SessionID: l.id, ConfigID: "model", Value: acp.SessionConfigValueID(ref),
	})
	if got := choice(resp.ConfigOptions, "model"); string(got) != ref {
		l.t.Errorf("the model is %q, want %q", got, ref)
	}
}

// aTurn returns the models' output in turn n: signed thoughts, two calls, and an end. The IDs are like those of such
// models: long ones, ones with characters that others refuse, and the same ones in each turn.
func aTurn(n int) []providertest.Step {
	ids := [][2]string{
		{"toolu_01AbCdEfGhIjKlMnOpQrStUv", "toolu_02"},
		{"call_" + strings.Repeat("x", 59), "call_2"},
		{"call_0", "call_1"},
		{"a1b2c3d4e", "call|odd/id:1"},
		{"call_0", "call_1"},
		{"toolu_01AbCdEfGhIjKlMnOpQrStUv", "toolu_09"},
		{"call_7", "call_8"},
		{"toolu_11", "toolu_12"},
	}[n]
	return []providertest.Step{
		{
			providertest.SignedThink(fmt.Sprintf("thought %d", n), signatureOf(n)), providertest.Text(fmt.Sprintf("Words %d.", n)),
			providertest.Call(ids[0], "read", `{"path":"a.txt"}`), providertest.Call(ids[1], "read", `{"path":"missing.txt"}`),
		},
		{providertest.Text(fmt.Sprintf("Done %d.", n))},
	}
}

func signatureOf(n int) string {
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "signature of the turn %d", n))
}

// A session changes from one API to the next and back, and continues in another process: every call has its result in
// each API's format, with IDs that it accepts, and signed thoughts go only to the model that signed them.
func TestModels_ChangeInTheMiddle(t *testing.T) {
	t.Parallel()
	model := providertest.NewServer()
	t.Cleanup(model.Close)
	home := manyModels(t, model, "modelRoles: {default: claude/m:high}\n")
	l := startLife(t, lifeOptions{home: home})
	writeFile(t, filepath.Join(l.work, "a.txt"), "some words\n")
	id := l.begin()
	order := []string{"claude/m", "openai2/m", "gemini/gemini-3-x", "mistral2/m", "local/m", "claude/m", "openai2/m", "claude/m"}
	takes := map[string]string{
		"claude/m": `^[A-Za-z0-9_-]{1,64}$`, "openai2/m": `^[A-Za-z0-9_-]{1,64}$`, "mistral2/m": `^[A-Za-z0-9]{9}$`,
		"local/m": `.`, "gemini/gemini-3-x": `^[A-Za-z0-9_.:-]{1,64}$`,
	}
	signs := map[string]bool{"claude/m": true, "openai2/m": true, "gemini/gemini-3-x": true}
	for n, ref := range order {
		if n == 6 { // the session continues in another process
			l.stop()
			l = startLife(t, lifeOptions{home: home, work: l.work})
			resp, _ := l.load(id)
			if got := choice(resp.ConfigOptions, "model"); string(got) != order[n-1] {
				t.Errorf("after the load the model is %q", got)
			}
		}
		l.choose(ref)
		must(l.scenario, acp.MethodSessionSetConfigOption, &acp.SetSessionConfigOptionRequest{SessionID: id, ConfigID: "thinking", Value: acp.SessionConfigValueID("high")})
		model.Add(aTurn(n)...)
		if got, want := l.turn(fmt.Sprintf("turn %d", n)), fmt.Sprintf("Words %d.Done %d.", n, n); got != want {
			t.Errorf("turn %d says %q", n, got)
		}
		requests := model.Requests()
		if len(requests) != 2*(n+1) {
			t.Fatalf("after turn %d the model was asked %d times", n, len(requests))
		}
		for i, r := range requests[2*n:] {
			if got, want := wantPaired(t, r), 2*(n+i); got != want {
				t.Errorf("turn %d (%s): %d calls in the request, want %d", n, ref, got, want)
			}
			wantIDs(t, r, takes[ref])
			for earlier := range n + i {
				own := order[earlier] == ref && signs[ref]
				if has := strings.Contains(string(r.Body), signatureOf(earlier)); has != own {
					t.Errorf("turn %d (%s) has the signature of turn %d (%s): %v", n, ref, earlier, order[earlier], has)
				}
				if !strings.Contains(string(r.Body), fmt.Sprintf("Words %d.", earlier)) {
					t.Errorf("turn %d (%s) lacks the words of turn %d", n, ref, earlier)
				}
			}
		}
		wantPrefix(t, requests[2*n:])
	}
	l.stop()
}

// wantIDs expects every ID of a call to match a pattern.
func wantIDs(t *testing.T, r providertest.Recorded, pattern string) {
	t.Helper()
	re := regexp.MustCompile(pattern)
	_, messages := conversationOf(t, r)
	for _, m := range messages {
		var v any
		if err := json.Unmarshal(m, &v); err != nil {
			t.Fatal(err)
		}
		members(v, func(o map[string]any) {
			for _, member := range []string{"tool_use_id", "tool_call_id", "call_id"} {
				if id, ok := o[member].(string); ok && !re.MatchString(id) {
					t.Errorf("%s: the id %q is refused there", r.Path, id)
				}
			}
		})
	}
}

// A model without vision gets words in place of pictures: the user's and a tool's, also those that another model has
// seen. The next model with vision gets the pictures again.
func TestModels_ImagesLeftOut(t *testing.T) {
	t.Parallel()
	for _, blind := range []string{"mistral2/m", "local/m"} {
		t.Run(strings.TrimSuffix(blind, "/m"), func(t *testing.T) {
			t.Parallel()
			model := providertest.NewServer(
				providertest.Step{providertest.Text("A picture.")},
				providertest.Step{providertest.Call("c1", "read", `{"path":"b.png"}`)}, providertest.Step{providertest.Text("Another one.")},
				providertest.Step{providertest.Text("Now I see.")},
			)
			t.Cleanup(model.Close)
			l := startLife(t, lifeOptions{home: manyModels(t, model, "modelRoles: {default: claude/m}\n")})
			image := picture()
			data, err := base64.StdEncoding.DecodeString(image.Data)
			if err != nil {
				t.Fatal(err)
			}
			writeFile(t, filepath.Join(l.work, "b.png"), string(data))
			l.begin()
			l.say(acp.StopReasonEndTurn, textBlock("look"), image)
			l.choose(blind)
			if got := l.turn("and the file"); got != "Another one." {
				t.Errorf("it says %q", got)
			}
			l.choose("claude/m")
			l.turn("and now?")
			l.stop()
			requests := model.Requests()
			if len(requests) != 4 {
				t.Fatalf("the model was asked %d times", len(requests))
			}
			for i, want := range []struct{ pictures, notes int }{{1, 0}, {0, 1}, {0, 2}, {2, 0}} {
				body := string(requests[i].Body)
				pictures, notes := strings.Count(body, image.Data), strings.Count(body, "[An image was here. This model cannot see images.]")
				if pictures != want.pictures || notes != want.notes {
					t.Errorf("request %d has %d pictures and %d notes, want %+v", i, pictures, notes, want)
				}
			}
		})
	}
}
