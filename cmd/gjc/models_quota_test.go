package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers/providertest"
)

// meteredServer is a model server whose responses also have the header that the test sets.
type meteredServer struct {
	model *providertest.Server
	url   string

	mu     sync.Mutex // guards header
	header map[string]string
}

func newMetered(t *testing.T, format providertest.Format, steps ...providertest.Step) *meteredServer {
	t.Helper()
	l := &meteredServer{model: providertest.NewServer(steps...)}
	t.Cleanup(l.model.Close)
	to, err := url.Parse(l.model.URL(format))
	if err != nil {
		t.Fatal(err)
	}
	path := to.Path
	to.Path = ""
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.FlushInterval = -1
	proxy.ModifyResponse = func(r *http.Response) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		for name, value := range l.header {
			r.Header.Set(name, value)
		}
		return nil
	}
	srv := httptest.NewServer(proxy)
	t.Cleanup(srv.Close)
	l.url = srv.URL + path
	return l
}

func (l *meteredServer) set(pairs ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.header = make(map[string]string)
	for i := 0; i < len(pairs); i += 2 {
		l.header[pairs[i]] = pairs[i+1]
	}
}

// What a provider says of the limits of an account is shown, sent to the client, and a reason to warn once for each level.
func TestModels_Quotas(t *testing.T) {
	t.Parallel()
	hour := strconv.FormatInt(time.Now().Add(time.Hour+30*time.Second).Unix(), 10)
	for _, test := range []struct {
		name, api string
		format    providertest.Format
		header    func(used float64) []string
		meta      string // of the limit at 85 %
		row       string
		warns     bool
	}{
		{
			"Anthropic subscription", "anthropic-messages", providertest.AnthropicMessages(), func(used float64) []string {
				return []string{"anthropic-ratelimit-unified-5h-utilization", fmt.Sprint(used), "anthropic-ratelimit-unified-5h-reset", hour}
			}, `{"name":"5h","used":0.85,"resetsAt":"`, "| 5h | 85 % |  | ", true,
		},
		{
			"OpenAI, per minute", "openai-completions", providertest.OpenAICompletions(), func(used float64) []string {
				return []string{"x-ratelimit-limit-tokens", "1000", "x-ratelimit-remaining-tokens", fmt.Sprintf("%.0f", 1000*(1-used)), "x-ratelimit-reset-tokens", "59s"}
			}, `{"name":"tokens","used":0.85,"limit":1000,"remaining":150,"resetsAt":"`, "| tokens | 85 % | 150 of 1000 | ", false,
		},
		{
			"OpenAI, per day", "openai-responses", providertest.OpenAIResponses(), func(used float64) []string {
				return []string{"x-ratelimit-limit-requests", "200", "x-ratelimit-remaining-requests", fmt.Sprintf("%.0f", 200*(1-used)), "x-ratelimit-reset-requests", "1h0m30s"}
			}, `{"name":"requests","used":0.85,"limit":200,"remaining":30,"resetsAt":"`, "| requests | 85 % | 30 of 200 | ", true,
		},
		{
			"Codex", "openai-responses", providertest.OpenAIResponses(), func(used float64) []string {
				return []string{"x-codex-primary-used-percent", fmt.Sprint(100 * used), "x-codex-primary-window-minutes", "300", "x-codex-primary-reset-at", hour}
			}, `{"name":"primary","used":0.85,"resetsAt":"`, "| primary (5h) | 85 % |  | ", true,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			hi := providertest.Step{providertest.Text("hi")}
			server := newMetered(t, test.format, hi, hi, hi, hi)
			home := tempDir(t)
			writeFile(t, filepath.Join(agentDir(home), "models.yml"), fmt.Sprintf("providers: {p: {apiKey: k, api: %s, baseUrl: %q, models: [{id: m, contextWindow: 100000}]}}\n", test.api, server.url))
			writeFile(t, filepath.Join(agentDir(home), "config.yml"), noTitles+"modelRoles: {default: p/m}\nsecrets: {enabled: true}\n")
			l := startLife(t, lifeOptions{home: home})
			l.begin()
			warnings := func(used float64) int {
				server.set(test.header(used)...)
				mark := l.mark()
				l.turn("hi")
				return strings.Count(shown(l.since(mark)), "The account at p has used")
			}
			warned := map[bool]int{true: 1}[test.warns]
			for _, step := range []struct {
				used float64
				want int
			}{{0.5, 0}, {0.85, warned}, {0.85, 0}} {
				if got := warnings(step.used); got != step.want {
					t.Errorf("at %v: %d warnings, want %d", step.used, got, step.want)
				}
			}
			update := lastOf(l.since(0), "usage_update")
			if meta := string(jsonx.Lookup(jsonx.Raw(update), "_meta")); !strings.Contains(update, `"_meta":{"gjc.quotas":[`+test.meta) {
				t.Errorf("the client gets %s (%s), want %s", update, meta, test.meta)
			}
			if got := l.turn("/usage"); !strings.Contains(got, "Limits of the account at p:") || !strings.Contains(got, test.row) || !strings.Contains(got, ", in ") {
				t.Errorf("/usage says %s", got)
			}
			if got := warnings(0.97); got != warned {
				t.Errorf("at 97 %%: %d warnings", got)
			}
			l.stop()
		})
	}
}

// A limit that is used up causes a warning although the request fails, and headers without meaning cause nothing.
func TestModels_QuotaOfFailure(t *testing.T) {
	t.Parallel()
	limit := providertest.Step{providertest.Status(429, `{"type":"error","error":{"type":"rate_limit_error","message":"limit reached"}}`, nil)}
	server := newMetered(t, providertest.AnthropicMessages(), providertest.Step{providertest.Text("hi")}, limit)
	home := tempDir(t)
	writeFile(t, filepath.Join(agentDir(home), "models.yml"), fmt.Sprintf("providers: {p: {apiKey: k, api: anthropic-messages, baseUrl: %q, models: [{id: m, contextWindow: 100000}]}}\n", server.url))
	writeFile(t, filepath.Join(agentDir(home), "config.yml"), noTitles+"modelRoles: {default: p/m}\nretry: {enabled: false}\n")
	l := startLife(t, lifeOptions{home: home})
	l.begin()
	server.set("anthropic-ratelimit-unified-5h-utilization", "NaN", "anthropic-ratelimit-unified-7d-utilization", "-1", "x-ratelimit-limit-tokens", strings.Repeat("9", 4000), "x-ratelimit-remaining-tokens", "1")
	if got := l.turn("hi"); got != "hi" {
		t.Errorf("it says %q", got)
	}
	if lines := shown(l.since(0)); strings.Contains(lines, "gjc.quotas") {
		t.Errorf("the client gets limits: %s", lines)
	}
	server.set("anthropic-ratelimit-unified-7d-utilization", "1", "anthropic-ratelimit-unified-7d-reset", strconv.FormatInt(time.Now().Add(50*time.Hour).Unix(), 10))
	mark := l.mark()
	wantFails(l, acp.MethodSessionPrompt, &acp.PromptRequest{SessionID: l.id, Prompt: []acp.ContentBlock{textBlock("again")}})
	if lines := shown(l.since(mark)); !strings.Contains(lines, `The account at p has used 100 % of its limit \"7d\"; it resets at `) {
		t.Errorf("the user is not warned: %s", lines)
	}
	l.stop()
}
