package agent_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers/providertest"
)

// through serves requests without a network.
type through struct{ http.Handler }

func (h through) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

// A remote endpoint writes the summaries if the settings say so. If it fails in any way, the model writes them.
func TestCompact_Remote(t *testing.T) {
	say := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	for _, tt := range []struct {
		name     string
		off      bool
		endpoint http.HandlerFunc
		want     string
		asked    int
	}{
		{"fine", false, say(200, `{"summary":"REMOTE","more":1}`), "REMOTE", 1},
		{"switched off", true, say(200, `{"summary":"REMOTE"}`), "LOCAL", 0},
		{"down", false, say(503, `{"summary":"REMOTE"}`), "LOCAL", 1},
		{"elsewhere", false, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/other", http.StatusTemporaryRedirect)
		}, "LOCAL", 1},
		{"not JSON", false, say(200, `SUMMARY`), "LOCAL", 1},
		{"empty", false, say(200, `{"summary":"  "}`), "LOCAL", 1},
		{"too much", false, say(200, `{"summary":"`+strings.Repeat("x", 2<<20)+`"}`), "LOCAL", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			asked := 0
			run(t, func(o *agent.Options) {
				set(o).Compaction.RemoteEndpoint = "http://sums.example.com/compact"
				set(o).Compaction.RemoteEnabled = !tt.off
				o.HTTP = through{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					asked++
					body, _ := io.ReadAll(r.Body)
					var sent struct {
						SystemPrompt string `json:"systemPrompt"`
						Prompt       string `json:"prompt"`
					}
					if err := jsonx.Unmarshal(body, &sent); err != nil || r.Method != http.MethodPost ||
						!strings.Contains(sent.SystemPrompt, "compaction") || !strings.Contains(sent.Prompt, "[User]: one") {
						t.Errorf("%s %s: %v", r.Method, body, err)
					}
					tt.endpoint(w, r)
				})}
				remember(t, o, user("one", 10), agentSays("a", 10))
			}, func(w *world) {
				done, _, err := compact(w)
				if err != nil || done.Summary != tt.want || asked != tt.asked {
					t.Errorf("%+v, %v, asked %d times", done, err, asked)
				}
				var want []string
				if tt.want == "LOCAL" && !tt.off {
					want = []string{"The remote summary failed; the model is writing it instead."}
				}
				if got := notices(w); !slices.Equal(got, want) {
					t.Errorf("noticed %q", got)
				}
			}, providertest.Step{providertest.Text("LOCAL")})
		})
	}
}

// The wait for an endpoint that does not answer is bounded, and ends at once when the turn is cancelled.
func TestCompact_RemoteHangs(t *testing.T) {
	hang := through{http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })}
	run(t, func(o *agent.Options) {
		set(o).Compaction.RemoteEndpoint = "http://sums.example.com/compact"
		o.HTTP = hang
		remember(t, o, user("one", 10), agentSays("a", 10))
	}, func(w *world) {
		if done, _, err := compact(w); err != nil || done.Summary != "LOCAL" {
			t.Errorf("%+v, %v", done, err)
		}
	}, providertest.Step{providertest.Text("LOCAL")})
}
