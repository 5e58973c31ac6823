package main

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// userAPI is a model as a user configures it: by models.yml alone, or by the environment alone.
type userAPI struct {
	name   string
	format providertest.Format
	// file is the provider p of models.yml, except for its address and its model; empty for a built-in one.
	file string
	// env is the environment, which may name the model server and files below a directory.
	env func(t *testing.T, url, dir string) []string
	// model is p/m if empty.
	model string
	// signs is set if thoughts go back with their signature; counts if cache reads are counted.
	signs, counts bool
}

func awsKeys(*testing.T, string, string) []string {
	return []string{"AWS_ACCESS_KEY_ID=AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY=aws-secret-aws-secret", "AWS_REGION=eu-west-1"}
}

// googleAccount is a service account whose tokens come from a server of the test.
func googleAccount(t *testing.T, _, dir string) []string {
	t.Helper()
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil || strings.Count(r.Form.Get("assertion"), ".") != 2 {
			w.WriteHeader(http.StatusBadRequest)
		}
		_, _ = io.WriteString(w, `{"access_token":"an-access-token","expires_in":3600,"token_type":"Bearer"}`)
	}))
	t.Cleanup(tokens.Close)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	account, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "bot@example.com", "private_key_id": "k1", "token_uri": tokens.URL,
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "account.json")
	writeFile(t, path, string(account))
	return []string{"GOOGLE_APPLICATION_CREDENTIALS=" + path, "GOOGLE_CLOUD_PROJECT=proj", "GOOGLE_CLOUD_LOCATION=eu-x1"}
}

func userAPIs() []userAPI {
	named := func(pairs ...string) func(*testing.T, string, string) []string {
		return func(_ *testing.T, url, _ string) []string {
			var env []string
			for _, p := range pairs {
				env = append(env, strings.ReplaceAll(p, "=URL", "="+url))
			}
			return env
		}
	}
	anthropic, completions, responses := providertest.AnthropicMessages(), providertest.OpenAICompletions(), providertest.OpenAIResponses()
	return []userAPI{
		{name: "messages in models.yml", format: anthropic, file: "api: anthropic-messages, apiKey: k-own", signs: true, counts: true},
		{name: "completions in models.yml", format: completions, file: "api: openai-completions, auth: none", counts: true},
		{name: "responses in models.yml", format: responses, file: "api: openai-responses, apiKey: k-own", signs: true, counts: true},
		{name: "Azure in models.yml", format: providertest.AzureResponses(), file: "api: azure-openai-responses, apiKey: k-own", signs: true, counts: true},
		{name: "Gemini in models.yml", format: providertest.Gemini(), file: "api: google-generative-ai, apiKey: k-own", signs: true, counts: true},
		{name: "Gemini at Vertex in models.yml", format: providertest.GeminiVertex(), file: "api: google-vertex", env: googleAccount, signs: true, counts: true},
		{name: "Claude at Vertex in models.yml", format: providertest.AnthropicVertex(), file: "api: anthropic-messages-vertex", env: googleAccount, signs: true, counts: true},
		{name: "Claude at Bedrock in models.yml", format: providertest.AnthropicBedrock(), file: "api: anthropic-messages-bedrock", env: awsKeys, signs: true, counts: true},
		{name: "Ollama in models.yml", format: providertest.OllamaChat(), file: "api: ollama-chat"},
		{name: "Anthropic in the environment", format: anthropic, env: named("ANTHROPIC_BASE_URL=URL", "ANTHROPIC_API_KEY=k-own"), model: "anthropic/claude-sonnet-5-5", signs: true, counts: true},
		{name: "OpenAI in the environment", format: responses, env: named("OPENAI_BASE_URL=URL", "OPENAI_API_KEY=k-own"), model: "openai/gpt-6-sol", signs: true, counts: true},
		{name: "Gemini in the environment", format: providertest.Gemini(), env: named("GOOGLE_GEMINI_BASE_URL=URL", "GEMINI_API_KEY=k-own"), model: "google/gemini-3.8-flash", signs: true, counts: true},
		{
			name: "Azure in the environment", format: providertest.AzureResponses(), model: "azure-openai/gpt-6-sol", signs: true, counts: true,
			env: named("AZURE_OPENAI_BASE_URL=URL", "AZURE_OPENAI_API_KEY=k-own", "AZURE_OPENAI_DEPLOYMENT_NAME_MAP=gpt-6-sol=ours"),
		},
		{
			name: "Vertex in the environment", format: providertest.GeminiVertex(), model: "google-vertex/gemini-3.8-flash", signs: true, counts: true,
			env: func(t *testing.T, url, dir string) []string {
				return append(googleAccount(t, url, dir), "GOOGLE_VERTEX_BASE_URL="+url)
			},
		},
	}
}

// Whatever the API, the model's text and thoughts are shown, parallel calls are answered, pictures are sent, usage is
// reported, and each request repeats the one before it byte for byte.
func TestModels_EveryAPI(t *testing.T) {
	t.Parallel()
	for _, api := range userAPIs() {
		t.Run(api.name, func(t *testing.T) {
			t.Parallel()
			model := providertest.NewServer(
				providertest.Step{
					providertest.SignedThink("two files it is", "c2lnbmF0dXJlLW9uZQ=="), providertest.Text("I look."),
					providertest.Call("c1", "read", `{"path":`, `"a.txt"}`), providertest.Call("c2", "read", `{"path":"b.txt"}`),
					providertest.Use(providers.Usage{Input: 1000, Output: 100}),
				},
				providertest.Step{providertest.Text("Both are read."), providertest.Use(api.usage(providers.Usage{Input: 2000, Output: 200, CacheRead: 4000}))},
				providertest.Step{providertest.Text("You are welcome."), providertest.Use(providers.Usage{Input: 10, Output: 1})},
			)
			t.Cleanup(model.Close)
			home := tempDir(t)
			env := []string{"GJC_NO_TITLE=1"}
			if api.env != nil {
				env = append(env, api.env(t, model.URL(api.format), home)...)
			}
			if api.model == "" {
				api.model = "p/m"
				writeFile(t, filepath.Join(agentDir(home), "models.yml"), fmt.Sprintf("providers:\n  p: {baseUrl: %q, %s, models: [%s]}\n", model.URL(api.format), api.file,
					"{id: m, contextWindow: 100000, maxTokens: 4000, reasoning: true, input: [text, image], cost: {input: 1, output: 10, cacheRead: 0.1, cacheWrite: 2}}"))
			}
			writeFile(t, filepath.Join(agentDir(home), "config.yml"), "modelRoles: {default: "+api.model+":high}\n")
			l := startLife(t, lifeOptions{home: home, env: env})
			writeFile(t, filepath.Join(l.work, "a.txt"), "what stands in a\n")
			writeFile(t, filepath.Join(l.work, "b.txt"), "what stands in b\n")
			id := l.begin()
			image := picture()
			first := must(l.scenario, acp.MethodSessionPrompt, &acp.PromptRequest{SessionID: id, Prompt: []acp.ContentBlock{textBlock("look at both, and at this"), image}})
			lines := l.since(0)
			if thought := wordsIn(lines, "agent_thought_chunk"); thought != "two files it is" {
				t.Errorf("it thinks %q", thought)
			}
			if said := wordsIn(lines, "agent_message_chunk"); said != "I look.Both are read." {
				t.Errorf("it says %q", said)
			}
			tools, _ := toolsOf(l.Updates(id))
			if want := []string{"Read a.txt completed", "Read b.txt completed"}; !slices.Equal(tools, want) {
				t.Errorf("the calls are %q\n%s", tools, shown(lines))
			}
			cached := api.usage(providers.Usage{CacheRead: 4000}).CacheRead
			if u := first.Usage; u == nil || u.InputTokens != 3000 || u.OutputTokens != 300 || u.TotalTokens != int64(3300+cached) {
				t.Errorf("the turn used %+v", u)
			} else if read := u.CachedReadTokens; cached > 0 && (read == nil || *read != int64(cached)) {
				t.Errorf("read from the cache: %v", read)
			}
			if api.model == "p/m" {
				want := fmt.Sprint((3000*1.0 + 300*10 + float64(cached)*0.1) / 1e6)
				if got := lastOf(lines, "usage_update"); !strings.Contains(got, `"cost":{"amount":`+want) || !strings.Contains(got, `"size":100000`) {
					t.Errorf("the usage is reported as %s, want a cost of %s", got, want)
				}
			}
			if got := l.turn("thanks"); got != "You are welcome." {
				t.Errorf("it says %q", got)
			}
			l.stop()

			requests := model.Requests()
			if len(requests) != 3 {
				t.Fatalf("the model was asked %d times", len(requests))
			}
			if !strings.Contains(string(requests[0].Body), image.Data) {
				t.Errorf("the picture is not in %.3000s", requests[0].Body)
			}
			for _, want := range []string{"what stands in a", "what stands in b"} {
				if strings.Contains(string(requests[0].Body), want) || !strings.Contains(string(requests[1].Body), want) {
					t.Errorf("%q is not where it belongs", want)
				}
			}
			if back := strings.Contains(string(requests[1].Body), "c2lnbmF0dXJlLW9uZQ=="); back != api.signs {
				t.Errorf("the signature goes back: %v, want %v", back, api.signs)
			}
			wantPaired(t, requests[2])
			wantPrefix(t, requests)
		})
	}
}

// usage returns the part of a usage that the API can report.
func (api *userAPI) usage(u providers.Usage) providers.Usage {
	if !api.counts {
		u.CacheRead = 0
	}
	return u
}

// conversationOf returns the messages of a request, one value each.
func conversationOf(t *testing.T, r providertest.Recorded) (body map[string]jsonx.Raw, messages []jsonx.Raw) {
	t.Helper()
	if err := jsonx.Unmarshal(r.Body, &body); err != nil {
		t.Fatalf("%s: %v in %.300s", r.Path, err, r.Body)
	}
	for _, member := range []string{"messages", "input", "contents"} {
		if list, ok := body[member]; ok {
			if err := jsonx.Unmarshal(list, &messages); err != nil {
				t.Fatalf("%s: %v", r.Path, err)
			}
			return body, messages
		}
	}
	t.Fatalf("no conversation in a request to %s: %.300s", r.Path, r.Body)
	return nil, nil
}

// cacheMarks matches the members that mark how much of a conversation is cached. They move as it grows.
var cacheMarks = regexp.MustCompile(`"cache_control":\{[^}]*\},|,"cache_control":\{[^}]*\}`)

// wantPrefix expects each request to repeat the one before it byte for byte, because caches depend on it.
func wantPrefix(t *testing.T, requests []providertest.Recorded) {
	t.Helper()
	var last map[string]jsonx.Raw
	var before []string
	for i, r := range requests {
		body, messages := conversationOf(t, r)
		var now []string
		for _, m := range messages {
			now = append(now, cacheMarks.ReplaceAllString(string(m), ""))
		}
		if i > 0 {
			for _, member := range []string{"tools", "system", "model", "instructions", "systemInstruction", "generationConfig", "prompt_cache_key", "options"} {
				if string(body[member]) != string(last[member]) {
					t.Errorf("request %d: %s changed\nfrom %s\nto   %s", i, member, last[member], body[member])
				}
			}
			if len(now) <= len(before) {
				t.Fatalf("request %d has %d messages after %d", i, len(now), len(before))
			}
			if d := cmp.Diff(before, now[:len(before)]); d != "" {
				t.Errorf("request %d changes what was sent before (-before +now):\n%s", i, d)
			}
		}
		last, before = body, now
	}
}

// members calls fn for each object in a JSON value, the outer ones first.
func members(v any, fn func(map[string]any)) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			members(item, fn)
		}
	case map[string]any:
		fn(v)
		for _, item := range v {
			members(item, fn)
		}
	}
}

// wantPaired expects one result with its ID for each call of a request, and no result without a call, in any API's
// format. It returns their number.
func wantPaired(t *testing.T, r providertest.Recorded) int {
	t.Helper()
	_, messages := conversationOf(t, r)
	var calls, results []string
	add := func(to *[]string, id any) {
		if s, ok := id.(string); ok && s != "" {
			*to = append(*to, s)
		} else {
			t.Errorf("%s: an id is %v", r.Path, id)
		}
	}
	for _, m := range messages {
		var v any
		if err := json.Unmarshal(m, &v); err != nil {
			t.Fatal(err)
		}
		members(v, func(o map[string]any) {
			kind, _ := o["type"].(string)
			if call, ok := o["functionCall"].(map[string]any); ok {
				add(&calls, call["id"])
			}
			if result, ok := o["functionResponse"].(map[string]any); ok {
				add(&results, result["id"])
			}
			list, _ := o["tool_calls"].([]any)
			for _, call := range list {
				add(&calls, call.(map[string]any)["id"])
			}
			switch {
			case kind == "tool_use":
				add(&calls, o["id"])
			case kind == "tool_result":
				add(&results, o["tool_use_id"])
			case kind == "function_call":
				add(&calls, o["call_id"])
			case kind == "function_call_output":
				add(&results, o["call_id"])
			case o["role"] == "tool":
				add(&results, o["tool_call_id"])
			}
		})
	}
	if d := cmp.Diff(calls, results); d != "" || len(slices.Compact(slices.Sorted(slices.Values(calls)))) != len(calls) {
		t.Errorf("%s: the ids of calls and results do not pair up: %q (-calls +results):\n%s", r.Path, calls, d)
	}
	return len(calls)
}
