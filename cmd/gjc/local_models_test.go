package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/providers/providertest"
)

// machine is a server of models on the user's machine: it lists its models once its gate is open, and answers as one of
// them.
type machine struct {
	*httptest.Server
	model *providertest.Server
	tells *providertest.Gate
}

// startMachine starts a server that answers with the contents of lists, by path, and lets a model answer the rest.
func startMachine(t *testing.T, lists map[string]string) *machine {
	t.Helper()
	m := &machine{model: providertest.NewServer(), tells: providertest.NewGate()}
	t.Cleanup(m.model.Close)
	model, err := url.Parse(strings.TrimSuffix(m.model.OpenAIURL(), "/v1"))
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(model) }, FlushInterval: -1, ErrorHandler: func(http.ResponseWriter, *http.Request, error) {}}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		list, ok := lists[r.URL.Path]
		if !ok {
			proxy.ServeHTTP(w, r)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body) // so that the server notices that the client disconnects
		if m.tells.Wait(r.Context()) == nil {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, list)
		}
	}))
	t.Cleanup(func() {
		m.CloseClientConnections()
		m.Close()
	})
	return m
}

// offered returns an expectation that an update of the options meets if it lists the model.
func offered(model string) acptest.Expectation {
	return acptest.Update(func(u *acp.ConfigOptionUpdate) bool { return listsModel(u.ConfigOptions, model) })
}

func listsModel(options []acp.SessionConfigOption, model string) bool {
	return slices.ContainsFunc(options, func(o acp.SessionConfigOption) bool {
		sel, ok := o.Kind.(*acp.SessionConfigSelect)
		if !ok || o.ID != "model" {
			return false
		}
		list, ok := sel.Options.(acp.SessionConfigUngroupedOptions)
		return ok && slices.ContainsFunc(list, func(v acp.SessionConfigSelectOption) bool { return string(v.Value) == model })
	})
}

// option sets an option of the session.
func (l *life) option(id, value string) {
	l.t.Helper()
	must(l.scenario, acp.MethodSessionSetConfigOption, &acp.SetSessionConfigOptionRequest{
		SessionID: l.id, ConfigID: acp.SessionConfigID(id), Value: acp.SessionConfigValueID(value),
	})
}

// localModels are the model servers that users run themselves, each described by models.yml alone.
var localModels = []struct {
	name string
	// file is models.yml, without the address.
	file  string
	lists map[string]string
	ref   string
	// discovered is set if gjc must ask for the model.
	discovered bool
	// level is the model's level of thinking.
	level string
	// wants is contained in every request of a turn.
	wants []string
}{
	{
		name: "Ollama",
		file: "providers:\n  workshop:\n    api: ollama-chat\n    baseUrl: %s\n    auth: none\n    discovery: {type: ollama}\n",
		lists: map[string]string{
			"/api/tags": `{"models":[{"name":"qwen3-coder:30b","model":"qwen3-coder:30b","size":18556700761,"details":{"family":"qwen3moe"}}]}`,
			"/api/show": `{"parameters":"temperature 0.7\nnum_ctx 40960","model_info":{"general.architecture":"qwen3moe","qwen3moe.context_length":262144},"capabilities":["completion","vision","tools","thinking"]}`,
		},
		ref: "workshop/qwen3-coder:30b", discovered: true, level: "medium",
		wants: []string{`"model":"qwen3-coder:30b"`, `"num_ctx":40960`, `"think":true`, `"truncate":false`},
	},
	{
		name: "a list as OpenAI has it",
		file: "providers:\n  workshop:\n    api: openai-completions\n    baseUrl: %s/v1\n    auth: none\n    discovery: {type: openai}\n" +
			"    modelOverrides: {coder: {reasoning: true, input: [text, image]}}\n",
		lists: map[string]string{"/v1/models": `{"object":"list","data":[{"id":"coder","object":"model","owned_by":"vllm","max_model_len":65536},{"id":"bge-embedding"}]}`},
		ref:   "workshop/coder", discovered: true, level: "high",
		wants: []string{`"model":"coder"`, `"reasoning_effort":"high"`},
	},
	{
		name: "a listed model",
		file: "providers:\n  workshop:\n    api: openai-completions\n    baseUrl: %s/v1\n    auth: none\n" +
			"    models: [{id: coder, contextWindow: 65536, maxTokens: 4096, reasoning: true, input: [text, image]}]\n",
		ref: "workshop/coder", level: "low",
		wants: []string{`"model":"coder"`, `"reasoning_effort":"low"`},
	},
}

// A model on the user's machine is described by models.yml alone and does everything: it thinks, calls tools, sees
// images and can be cancelled. A model that gjc must ask for is offered as soon as its server has listed it, and
// immediately in the next process.
func TestLocalModels(t *testing.T) {
	t.Parallel()
	for _, tt := range localModels {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := startMachine(t, tt.lists)
			home := tempDir(t)
			writeFile(t, filepath.Join(agentDir(home), "models.yml"), fmt.Sprintf(tt.file, m.URL))
			writeFile(t, filepath.Join(agentDir(home), "config.yml"), noTitles)
			l := startLife(t, lifeOptions{home: home})
			first := must(l.scenario, acp.MethodSessionNew, &acp.NewSessionRequest{Cwd: l.work})
			l.id = first.SessionID
			if listsModel(first.ConfigOptions, tt.ref) == tt.discovered {
				t.Errorf("%s is offered at first: %t", tt.ref, !tt.discovered)
			}
			m.tells.Open()
			if tt.discovered {
				if err := l.Await(l.ctx, l.id, offered(tt.ref)); err != nil {
					t.Fatal(err)
				}
			}
			l.option("mode", "auto")
			l.option("model", tt.ref)
			l.option("thinking", tt.level)
			l.works(m, tt.wants)
			l.stop()

			again := startLife(t, lifeOptions{home: home, work: l.work})
			next := must(again.scenario, acp.MethodSessionNew, &acp.NewSessionRequest{Cwd: again.work})
			if !listsModel(next.ConfigOptions, tt.ref) {
				t.Errorf("%s is not offered in the next life", tt.ref)
			}
			again.id = next.SessionID
			again.stop()
			out, errs, err := modelsCommand(t, home)
			if err != nil || errs != "" || !strings.Contains(out, tt.ref) || strings.Contains(out, "embedding") {
				t.Errorf("gjc models: %v %s\n%s", err, errs, out)
			}
		})
	}
}

// modelsCommand runs gjc models.
func modelsCommand(t *testing.T, home string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs strings.Builder
	cmd := exec.CommandContext(t.Context(), self(t), "models")
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = environment(home), home, &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// works runs a turn with thinking, an image and a tool, one that is cancelled, and one after that.
func (l *life) works(m *machine, wants []string) {
	l.t.Helper()
	t := l.t
	writeFile(t, filepath.Join(l.work, "a.txt"), "the words of the file\n")
	m.model.Add(
		providertest.Step{providertest.Think("What is in the file?"), providertest.Call("c1", "read", `{"path":"a.txt"}`)},
		providertest.Step{providertest.Text("It has words.")},
	)
	mark := l.mark()
	l.say(acp.StopReasonEndTurn, textBlock("look at this, and at a.txt"), picture())
	lines := l.since(mark)
	if got := wordsIn(lines, "agent_thought_chunk"); got != "What is in the file?" {
		t.Errorf("the thoughts are %q", got)
	}
	if got := wordsIn(lines, "agent_message_chunk"); got != "It has words." {
		t.Errorf("the answer is %q", got)
	}
	if updates := shown(lines); !strings.Contains(updates, `"status":"completed"`) || strings.Contains(updates, `"status":"failed"`) {
		t.Errorf("the tool did not work:\n%s", updates)
	}
	requests := m.model.Requests()
	if len(requests) != 2 {
		t.Fatalf("the model was asked %d times", len(requests))
	}
	for i, r := range requests {
		for _, want := range append([]string{picture().Data}, wants...) {
			if !strings.Contains(string(r.Body), want) {
				t.Errorf("request %d has no %.80s:\n%.3000s", i, want, r.Body)
			}
		}
		if got := strings.Contains(string(r.Body), "the words of the file"); got != (i == 1) {
			t.Errorf("request %d has the tool's result: %t", i, got)
		}
	}

	gate := providertest.NewGate()
	defer gate.Open()
	m.model.Add(providertest.Step{providertest.Text("I begin"), gate.Hold()})
	l.cancelTurn("go on", gate.Reached())
	select {
	case <-m.model.Disconnected():
	case <-l.ctx.Done():
		t.Fatal("the request of a cancelled turn goes on")
	}
	m.model.Add(providertest.Step{providertest.Text("Here again.")})
	if got := l.turn("and now?"); got != "Here again." {
		t.Errorf("after a cancelled turn the answer is %q", got)
	}
}

// A server that is off, or that hangs, costs only a line in the log: no error in the session, no wait at its end.
func TestLocalModels_ServerIsOff(t *testing.T) {
	t.Parallel()
	const file = "providers:\n  workshop:\n    api: openai-completions\n    baseUrl: %s/v1\n    auth: none\n    discovery: {type: %s}\n"
	off := fmt.Sprintf("http://127.0.0.1:%d", testenv.FreePort(t))
	silent := startMachine(t, map[string]string{"/v1/models": "", "/api/tags": ""})
	for _, tt := range []struct {
		name, file string
		logged     int
	}{
		{"nothing configured", "", 0},
		{"off", fmt.Sprintf(file, off, "openai"), 1},
		{"it hangs", fmt.Sprintf(file, silent.URL, "ollama"), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			home := tempDir(t)
			if tt.file != "" {
				writeFile(t, filepath.Join(agentDir(home), "models.yml"), tt.file)
			}
			l := startLife(t, lifeOptions{home: home})
			id := l.begin()
			l.turn("!say nobody waits")
			other := l.begin()
			l.turn("!say nobody waits here")
			for _, id := range []acp.SessionID{id, other} {
				for _, u := range l.Updates(id) {
					if updates := fmt.Sprintf("%+v", u); strings.Contains(updates, "workshop") || strings.Contains(updates, "refused") {
						t.Errorf("the session got %s", updates)
					}
				}
			}
			stderr := func() string { return fmt.Sprint(l.Process.Stderr()) }
			const line = "asking workshop for its models"
			for tick := time.NewTicker(5 * time.Millisecond); tt.logged > 0 && !strings.Contains(stderr(), line); {
				select {
				case <-tick.C:
				case <-l.ctx.Done():
					t.Fatal("the log does not have the server that is off")
				}
			}
			l.stop()
			if got := stderr(); strings.Count(got, line) != tt.logged || strings.Contains(got, "lm-studio") {
				t.Errorf("the log has %s; want %d lines about the server", got, tt.logged)
			}
		})
	}
}
