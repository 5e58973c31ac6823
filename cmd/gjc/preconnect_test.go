package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/gajae-code/gjc/acp"
)

// A connection to the model's server is opened as soon as a session has begun, and when the session gets another model,
// unless the settings disable it. No request is sent over it.
func TestPreconnect(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{true, false} {
		t.Run(fmt.Sprint(on), func(t *testing.T) {
			t.Parallel()
			reached := make(chan string, 100)
			proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				reached <- r.Method + " " + r.Host
				http.Error(w, "closed today", http.StatusBadGateway)
			}))
			t.Cleanup(proxy.Close)
			home := tempDir(t)
			writeFile(t, filepath.Join(agentDir(home), "models.yml"), `providers:
  far: {api: openai-completions, baseUrl: "https://far.example/v1", auth: none, models: [{id: m}]}
  farther: {api: openai-completions, baseUrl: "https://farther.example/v1", auth: none, models: [{id: m}]}
`)
			writeFile(t, filepath.Join(agentDir(home), "config.yml"), fmt.Sprintf("network: {proxy: %q, preconnect: %t}\nmodelRoles: {default: far/m}\n", proxy.URL, on))
			l := startLife(t, lifeOptions{home: home})
			want := func(host string) {
				t.Helper()
				if !on {
					return
				}
				select {
				case got := <-reached:
					if got != "CONNECT "+host+":443" {
						t.Errorf("the proxy is asked for %s, want %s", got, host)
					}
				case <-l.ctx.Done():
					t.Fatalf("no connection to %s is made", host)
				}
			}
			must(l.scenario, acp.MethodSessionList, &acp.ListSessionsRequest{})
			if len(reached) > 0 {
				t.Error("a connection is made before there is a session")
			}
			l.begin()
			want("far.example")
			l.option("model", "farther/m")
			want("farther.example")
			l.stop()
			if len(reached) > 0 {
				t.Errorf("the proxy is asked for %s too", <-reached)
			}
		})
	}
}
