package main

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/providers/providertest"
)

// overTLS serves a model server over TLS, with a certificate of an unknown authority, and returns the authority's PEM.
func overTLS(t *testing.T, model *providertest.Server) (address, authority string) {
	t.Helper()
	target, err := url.Parse(model.URL(providertest.Gemini()))
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewUnstartedServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, FlushInterval: -1,
	})
	front.EnableHTTP2 = true
	front.Config.ErrorLog = log.New(io.Discard, "", 0)
	front.StartTLS()
	t.Cleanup(front.Close)
	return front.URL, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw}))
}

// tunnels is a proxy that allows one host.
type tunnels struct {
	to      string
	asked   atomic.Int32
	allowed string
	wg      sync.WaitGroup
}

func (p *tunnels) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.asked.Add(1)
	if r.Header.Get("Proxy-Authorization") != p.allowed {
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	}
	if r.Method != http.MethodConnect || r.Host != "example.com:443" {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	out, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", p.to)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	in, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		_ = out.Close()
		return
	}
	_, _ = io.WriteString(in, "HTTP/1.1 200 OK\r\n\r\n")
	p.wg.Go(func() {
		_, _ = io.Copy(out, in)
		_ = out.Close()
	})
	p.wg.Go(func() {
		_, _ = io.Copy(in, out)
		_ = in.Close()
	})
}

// A mistake in config.yml that hides the proxy stops the models too: the conversation must not bypass it. A mistake
// elsewhere affects only its own setting.
func TestModels_BrokenConfigurationOfNetwork(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		config  string
		reached bool
	}{
		"network":           {"network: {proxy: 'http://127.0.0.1:1'}\nretry: {maxRetries: many}\n", true}, // proxies do not apply to this machine
		"a faulty proxy":    {"network: {proxy: 'gopher://127.0.0.1:1'}\n", false},
		"disabled provider": {"disabledProviders: [other]\nretry: {maxRetries: many}\n", true},
		"a faulty list":     {"disabledProviders: other\n", false},
		"a misspelled list": {"disabledProvider: [other]\n", false},
		"a misspelled name": {"network: {proxxy: 'http://127.0.0.1:1'}\n", false},
		"no YAML":           {"retry: {\n  network\n", false},
		"neither":           {"retry: {maxRetries: many}\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := providertest.NewServer()
			t.Cleanup(model.Close)
			model.Else(func(providertest.Recorded) providertest.Step { return providertest.Step{providertest.Text("reached")} })
			home := tempDir(t)
			writeFile(t, filepath.Join(agentDir(home), "models.yml"), fmt.Sprintf(
				"providers:\n  fake: {api: openai-completions, baseUrl: %s, auth: none, models: [{id: m}]}\n", model.URL(providertest.OpenAICompletions()),
			))
			writeFile(t, filepath.Join(agentDir(home), "config.yml"), tt.config)
			l := startLife(t, lifeOptions{home: home, env: []string{"GJC_NO_TITLE=1"}})
			id := l.begin()
			if tt.reached {
				if got := l.turn("go"); got != "reached" {
					t.Errorf("it says %q", got)
				}
				notices := 0
				for _, line := range l.since(0) {
					notices += strings.Count(string(line), "retry.maxRetries")
				}
				if notices != 1 {
					t.Errorf("the mistake received %d times", notices)
				}
				return
			}
			e := wantFails(l, acp.MethodSessionPrompt, &acp.PromptRequest{SessionID: id, Prompt: []acp.ContentBlock{textBlock("go")}})
			if !strings.Contains(e.Message, "config.yml:") || len(model.Requests()) > 0 {
				t.Errorf("it fails with %v, and the model got %d requests", e, len(model.Requests()))
			}
		})
	}
}

// A model that needs a company's authority and proxy is reached with the configuration of both; without it, the error
// names what is missing. The proxy's password is never shown.
func TestModels_AuthorityAndProxy(t *testing.T) {
	t.Parallel()
	model := providertest.NewServer()
	t.Cleanup(model.Close)
	model.Else(func(providertest.Recorded) providertest.Step { return providertest.Step{providertest.Text("reached")} })
	address, authority := overTLS(t, model)
	through := &tunnels{to: strings.TrimPrefix(address, "https://"), allowed: "Basic dXNlcjpwcm94eS1wYXNzd29yZA=="}
	proxy := httptest.NewServer(through)
	t.Cleanup(func() {
		proxy.Close()
		through.wg.Wait()
	})
	host := strings.TrimPrefix(proxy.URL, "http://")
	caFile := filepath.Join(t.TempDir(), "company.pem")
	writeFile(t, caFile, authority)
	for _, tt := range []struct {
		name, baseURL, network string
		env                    []string
		part                   string // of the error; empty for none
	}{
		{name: "unknown authority", baseURL: address, part: "caFiles"},
		{name: "authority in the configuration", baseURL: address, network: "{caFiles: [company.pem]}"},
		{name: "authority in the environment", baseURL: address, env: []string{"NODE_EXTRA_CA_CERTS=" + caFile}},
		{name: "a lost authority in the environment", baseURL: address, network: "{caFiles: [company.pem]}", env: []string{"NODE_EXTRA_CA_CERTS=" + caFile + ".gone"}},
		{name: "no such file of authorities", baseURL: address, network: "{caFiles: [missing.pem]}", part: "missing.pem"},
		{name: "proxy", baseURL: "https://example.com", network: "{caFiles: [company.pem], proxy: 'http://user:proxy-password@" + host + "'}"},
		{name: "proxy of the environment", baseURL: "https://example.com", network: "{caFiles: [company.pem]}", env: []string{"HTTPS_PROXY=http://user:proxy-password@" + host}},
		{name: "proxy with a wrong password", baseURL: "https://example.com", network: "{caFiles: [company.pem], proxy: 'http://user:proxy-passw0rd@" + host + "'}", part: "proxy"},
		{name: "not through the proxy", baseURL: address, network: "{caFiles: [company.pem], proxy: 'http://user:proxy-password@127.0.0.1:1', noProxy: [127.0.0.1]}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			home := tempDir(t)
			writeFile(t, filepath.Join(agentDir(home), "company.pem"), authority)
			writeFile(t, filepath.Join(agentDir(home), "models.yml"), fmt.Sprintf("providers:\n  fake: {api: openai-completions, baseUrl: %s/v1, auth: none, models: [{id: m}]}\n", tt.baseURL))
			config := noTitles + "modelRoles: {default: fake/m}\n"
			if tt.name != "unknown authority" { // which is never retried
				config += "retry: {enabled: false}\n"
			}
			if tt.network != "" {
				config += "network: " + tt.network + "\n"
			}
			writeFile(t, filepath.Join(agentDir(home), "config.yml"), config)
			l := startLife(t, lifeOptions{home: home, env: tt.env})
			id := l.begin()
			if tt.part == "" {
				if got := l.turn("go"); got != "reached" {
					t.Errorf("it says %q", got)
				}
			} else {
				e := wantFails(l, acp.MethodSessionPrompt, &acp.PromptRequest{SessionID: id, Prompt: []acp.ContentBlock{textBlock("go")}})
				if !strings.Contains(e.Message, tt.part) {
					t.Errorf("it fails with %v %s", e, e.Data)
				}
			}
			notices := shown(l.since(0))
			l.stop()
			if strings.Contains(notices, "trying again") {
				t.Errorf("it tries again: %s", notices)
			}
			if strings.Contains(notices+l.Process.Stderr().String(), "proxy-pass") {
				t.Errorf("the password is shown: %s", notices)
			}
		})
	}
	t.Cleanup(func() {
		if n := through.asked.Load(); n < 3 {
			t.Errorf("the proxy was asked %d times", n)
		}
	})
}
