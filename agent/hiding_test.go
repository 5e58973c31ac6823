package agent_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/secrets"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
	"github.com/gajae-code/gjc/sessions"
)

const hush = "the-secret-value"

// withSecret gives a session a secret, and returns its placeholder.
func withSecret(t *testing.T, o *agent.Options) string {
	t.Helper()
	set, err := secrets.New([]secrets.Entry{{Content: hush, Source: "the environment variable HUSH_KEY"}}, []byte("key"))
	if err != nil {
		t.Fatal(err)
	}
	o.Secrets = set
	return set.Hide(hush)
}

// The model never sees the value, the tool receives it, and the user sees the placeholder and its explanation.
func TestSecrets(t *testing.T) {
	var token string
	var ran, remote []string
	outside := []approval.Effect{{Action: approval.ActionCommand, Command: "use " + hush, Title: "Run use " + hush}}
	run(t, func(o *agent.Options) {
		token = withSecret(t, o)
		o.SystemPrompt.Text = "never say " + hush
		o.Tools = agent.Tools{
			testTool("use", true, outside, func(_ context.Context, in *input) (*agent.Result, error) {
				ran = append(ran, in.Say)
				return &agent.Result{Text: "used " + in.Say + ", " + token + " is text"}, nil
			}),
			agent.NewTool(agent.ToolFuncs[input]{Name: "helper", Run: func(ctx context.Context, call *agent.Call, in *input) (*agent.Result, error) {
				done, err := call.Task(ctx, agent.Task{Title: in.Say, Prompt: in.Say})
				ran = append(ran, done.Text)
				return &agent.Result{Text: done.Text}, err
			}}),
		}
		o.TitleModel = func(m providers.ModelInfo) (providers.ModelInfo, bool) { return m, true }
		o.HTTP = through{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			remote = append(remote, string(body))
			w.WriteHeader(http.StatusInternalServerError)
		})}
		set(o).Compaction.RemoteEndpoint = "http://sums.test"
	}, func(w *world) {
		w.speak(
			providertest.Step{
				providertest.Text("I use " + token), providertest.Call("c1", "use", `{"say":"x `+token+`"}`),
				providertest.Call("c2", "helper", `{"say":"`+token+`"}`),
			},
			providertest.Step{providertest.Text("the helper says " + token)},
			providertest.Step{providertest.Text("done")},
			providertest.Step{providertest.Text("A title")},
			providertest.Step{providertest.Text("# Handoff")},
			providertest.Step{providertest.Text("BRANCH")},
			providertest.Step{providertest.Text("SUM")},
		)
		if r := w.prompt("my key is " + hush); r.Err != nil {
			w.t.Error(r.Err)
		}
		synctest.Wait() // wait for the title
		branch := branchOf(t, w.log)
		w.session.Prompt(agent.Prompt{Answer: func(ctx context.Context, turn *agent.RunningTurn) error {
			_, err := turn.Handoff(ctx, "mind "+hush)
			if err == nil {
				_, err = turn.SummarizeBranch(ctx, branch, "")
			}
			return err
		}}).Wait(w.t.Context())
		if _, _, err := compact(w); err != nil {
			w.t.Error(err)
		}
		reqs := w.script.Requests()
		if w.script.Left() > 0 || len(remote) != 2 {
			w.t.Errorf("%d requests, %d steps left, %d remote", len(reqs), w.script.Left(), len(remote))
		}
		for i, req := range reqs {
			if text := fmt.Sprintf("%+v", *req); strings.Contains(text, hush) {
				t.Errorf("request %d has the secret: %s", i, text)
			}
		}
		if strings.Contains(strings.Join(remote, ""), hush) || !strings.Contains(remote[0], token) {
			t.Errorf("sent to the endpoint: %q", remote)
		}
		result := reqs[2].Messages[2].Text()
		if !strings.HasPrefix(result, "used x "+token+", #") || strings.Count(result, token) != 1 {
			t.Errorf("the model got %q", result) // the model's own placeholder, and another one in the text
		}
		if got := reqs[2].Messages[3].Text(); got != "the helper says "+token {
			t.Errorf("the model learned of its helper %q", got)
		}
		if len(ran) != 2 || ran[0] != "x "+hush || ran[1] != "the helper says "+hush {
			t.Errorf("the tools got %q", ran)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, ev := range w.events {
			if strings.Contains(fmt.Sprintf("%+v", ev), hush) {
				if info, ok := ev.(agent.InfoChanged); ok && strings.HasPrefix(info.Title, "my key") {
					continue // the user's own words
				}
				t.Errorf("the editor got %+v", ev)
			}
		}
		q := fmt.Sprintf("%+v %s", w.asked[0], w.asked[0].Input)
		if strings.Contains(q, hush) || w.asked[0].Title != "Run use "+token || !strings.Contains(q, token+" stands for the environment variable HUSH_KEY.") {
			t.Errorf("asked %s", q)
		}
	})
}

// The stored conversation contains the values. A session that continues it hides them again, with the same placeholders.
func TestSecrets_Loaded(t *testing.T) {
	var token string
	run(t, func(o *agent.Options) {
		token = withSecret(t, o)
		remember(t, o, providers.Message{Role: providers.RoleUser, Parts: words("it is " + hush)}, agentSays("ok ", 1, toolCall("c", "echo", `{"say":"`+hush+`"}`)))
	}, func(w *world) {
		w.prompt("go")
		req := w.script.Requests()[0]
		text := fmt.Sprintf("%+v", *req)
		if strings.Contains(text, hush) || !strings.Contains(text, `{"say":"`+token) || req.Messages[0].Text() != "it is "+token {
			t.Errorf("%s", text)
		}
		for _, e := range branchOf(t, w.log) {
			if m, ok := e.(sessions.MessageEntry); ok && strings.Contains(m.Message.Text(), token) {
				t.Errorf("stored %q", m.Message.Text())
			}
		}
	}, providertest.Step{providertest.Text("ok")})
}

// The placeholder of a value that an expression found has the same meaning in the next process, even if a summary has replaced the
// message that contained the value.
func TestSecrets_LoadedWithSummary(t *testing.T) {
	token, ran := "", ""
	keys := func() *secrets.Set {
		set, err := secrets.New([]secrets.Entry{{Regexp: regexp.MustCompile(`sk-[a-z]{12}`)}}, []byte("key"))
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	const key = "sk-abcdefghijkl"
	token = keys().Hide(key)
	run(t, func(o *agent.Options) {
		o.Secrets = keys()
		o.Tools = agent.Tools{testTool("use", true, nil, func(_ context.Context, in *input) (*agent.Result, error) {
			ran = in.Say
			return &agent.Result{Text: "ok"}, nil
		})}
		remember(t, o, providers.Message{Role: providers.RoleUser, Parts: words("it is " + key)}, agentSays("ok", 1))
		id, err := o.Log.Append(sessions.CustomMessage{CustomType: "x", Parts: words("kept")})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := o.Log.Append(sessions.Compaction{Summary: "the key is " + token, FirstKeptEntryID: id}); err != nil {
			t.Fatal(err)
		}
		if o.History, err = o.Log.Messages(); err != nil {
			t.Fatal(err)
		}
	}, func(w *world) {
		w.prompt("go")
		if text := fmt.Sprintf("%+v", *w.script.Requests()[0]); strings.Contains(text, "it is") || !strings.Contains(text, token) {
			t.Errorf("sent %s", text)
		}
		if ran != key {
			t.Errorf("the tool got %q", ran)
		}
	}, providertest.Step{providertest.Call("c", "use", `{"say":"`+token+`"}`)}, providertest.Step{providertest.Text("ok")})
}

// A text that is shortened for a summary or a title does not end with half of a secret.
func TestSecrets_Cut(t *testing.T) {
	var remote strings.Builder
	run(
		t, func(o *agent.Options) {
			withSecret(t, o)
			o.Model.ContextWindow = 200_000
			o.TitleModel = func(m providers.ModelInfo) (providers.ModelInfo, bool) { return m, true }
			o.HTTP = through{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(&remote, r.Body)
				w.WriteHeader(http.StatusInternalServerError)
			})}
			set(o).Compaction.RemoteEndpoint = "http://sums.test"
			o.Tools = agent.Tools{testTool("use", true, nil, func(context.Context, *input) (*agent.Result, error) {
				return &agent.Result{Text: strings.Repeat("y", 2<<10-8) + hush + strings.Repeat("y", 8<<10)}, nil
			})}
		}, func(w *world) {
			w.prompt(strings.Repeat("x", 2<<10-8) + hush + strings.Repeat("x", 8<<10))
			synctest.Wait() // wait for the title
			if _, _, err := compact(w); err != nil {
				t.Error(err)
			}
			for i, req := range w.script.Requests() {
				if text := fmt.Sprintf("%+v", *req); strings.Contains(text, hush[:8]) {
					t.Errorf("request %d has a part of the secret", i)
				}
			}
			if w.script.Left() > 0 || remote.Len() == 0 || strings.Contains(remote.String(), hush[:8]) {
				t.Errorf("%d steps left; the endpoint was sent %d bytes, with a part of the secret", w.script.Left(), remote.Len())
			}
		},
		providertest.Step{providertest.Call("c", "use", `{"say":"x"}`)}, providertest.Step{providertest.Text("ok")},
		providertest.Step{providertest.Text("A title")}, providertest.Step{providertest.Text("SUM")},
	)
}
