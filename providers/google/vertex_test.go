package google_test

import (
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/google"
	"github.com/gajae-code/gjc/providers/providertest"
)

func env(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

var place = map[string]string{"GOOGLE_CLOUD_PROJECT": "p1", "GOOGLE_CLOUD_LOCATION": "global"}

func TestVertex_Address(t *testing.T) {
	const path = "/publishers/google/models/m:streamGenerateContent?alt=sse"
	for _, test := range []struct {
		base, key string
		env       map[string]string
		want      string // an address, or a part of the error
	}{
		{"", "k", map[string]string{"GCP_PROJECT": "p", "VERTEX_LOCATION": "us-east5"}, "https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5" + path},
		{"", "k", place, "https://aiplatform.googleapis.com/v1/projects/p1/locations/global" + path},
		{"", "k", map[string]string{"GCLOUD_PROJECT": "p", "GOOGLE_VERTEX_LOCATION": "eu"}, "https://aiplatform.eu.rep.googleapis.com/v1/projects/p/locations/eu" + path},
		{"", "k", nil, "https://aiplatform.googleapis.com/v1" + path},
		{"http://h/v1beta1", "k", place, "http://h/v1beta1/projects/p1/locations/global" + path},
		{"http://h/v1/projects/x/locations/y/", "", nil, "no Google Cloud credentials found"},
		{"http://h/v1/projects/x/locations/y/", "k", nil, "http://h/v1/projects/x/locations/y" + path},
		{"", "", nil, "GOOGLE_CLOUD_PROJECT"},
		{"", "", map[string]string{"GOOGLE_CLOUD_PROJECT": "p"}, "GOOGLE_CLOUD_LOCATION"},
		{"", "", map[string]string{"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "evil.com/"}, "not a location"},
		{"", "", map[string]string{"GOOGLE_CLOUD_PROJECT": "../p", "GOOGLE_CLOUD_LOCATION": "global"}, "not a project ID"},
		{"no url", "k", place, "not a URL"},
	} {
		r, _, err := sent(t, google.Vertex{Getenv: env(test.env)}.Open, providers.Config{
			BaseURL: test.base, APIKey: test.key, Info: providers.ModelInfo{Provider: "google-vertex", ID: "m"},
		})
		got := ""
		if err == nil {
			got = r.URL.String()
		} else if e, ok := errors.AsType[*providers.Error](err); ok && e.Provider == "google-vertex" && !e.Retryable() && strings.Contains(e.Message, test.want) {
			got = test.want
		}
		if got != test.want {
			t.Errorf("%+v: %q, err %v", test, got, err)
		}
	}
}

// An access token is fetched once and sent with every request.
func TestVertex_Credentials(t *testing.T) {
	fetched := 0
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fetched++
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"access_token":"ya29.` + r.FormValue("refresh_token") + `","expires_in":3600}`))
	}))
	defer tokens.Close()
	server := providertest.NewServer(providertest.Step{}, providertest.Step{providertest.Status(401, `{"error":{"message":"bad ya29.r1-secret-0123456789"}}`, nil)})
	defer server.Close()
	file, err := jsonx.Marshal(map[string]string{"type": "authorized_user", "refresh_token": "r1-secret-0123456789", "quota_project_id": "q", "token_uri": tokens.URL})
	if err != nil {
		t.Fatal(err)
	}
	v := google.Vertex{Getenv: env(place), Home: "/home/u", ReadFile: func(path string) ([]byte, error) {
		if !strings.Contains(path, "gcloud") {
			return nil, fs.ErrNotExist
		}
		return file, nil
	}}
	if got := v.Credentials(); got != "application default credentials" {
		t.Errorf("credentials: %q", got)
	}
	client := providers.NewHTTPClient()
	defer client.CloseIdleConnections()
	m, err := v.Open(providers.Config{BaseURL: server.URL(providertest.GeminiVertex()), HTTPClient: client, Info: providers.ModelInfo{ID: "m"}})
	if err != nil {
		t.Fatal(err)
	}
	run(t, m, hello())
	_, _, err = stream(t, m, hello())
	if e, ok := errors.AsType[*providers.Error](err); !ok || e.Kind != providers.KindAuth || strings.Contains(err.Error(), "secret") {
		t.Errorf("err = %v", err)
	}
	for _, r := range server.Requests() {
		if r.Header.Get("Authorization") != "Bearer ya29.r1-secret-0123456789" || r.Header.Get("X-Goog-User-Project") != "q" || r.Header.Get("X-Goog-Api-Key") != "" {
			t.Errorf("header %v", r.Header)
		}
	}
	if fetched != 1 {
		t.Errorf("%d tokens were fetched", fetched)
	}
}

// Redirected requests carry only the credentials of the redirect.
func TestVertex_NoAmbient(t *testing.T) {
	const base = "http://editor.test/v1/projects/p/locations/global"
	for _, ambient := range []google.Vertex{
		{Getenv: env(map[string]string{"GOOGLE_CLOUD_API_KEY": "ambient"})},
		{Home: "/home/u", ReadFile: func(path string) ([]byte, error) {
			t.Errorf("%s is read", path)
			return nil, fs.ErrNotExist
		}},
	} {
		for _, test := range []struct {
			cfg       providers.Config
			auth, key string
		}{
			{cfg: providers.Config{}},
			{providers.Config{APIKey: "given"}, "", "given"},
			{providers.Config{APIKey: "given", AuthHeader: true}, "Bearer given", ""},
			{providers.Config{Headers: map[string]string{"authorization": "Bearer theirs"}}, "Bearer theirs", ""},
		} {
			cfg := test.cfg
			cfg.BaseURL, cfg.NoAmbient, cfg.Info = base, true, providers.ModelInfo{ID: "m"}
			r, _, err := sent(t, ambient.Open, cfg)
			if err != nil {
				t.Errorf("%+v: %v", cfg, err)
				continue
			}
			if h := r.Header; r.URL.Host != "editor.test" || h.Get("Authorization") != test.auth || h.Get("X-Goog-Api-Key") != test.key {
				t.Errorf("%+v: %s %v", cfg, r.URL, h)
			}
		}
	}
}

// A header of the configuration with credentials replaces those of the account.
func TestVertex_GivenHeader(t *testing.T) {
	v := google.Vertex{Getenv: env(place), ReadFile: func(string) ([]byte, error) { return nil, fs.ErrPermission }, Home: "/home/u"}
	for name, value := range map[string]string{"Authorization": "Bearer mine", "X-Goog-Api-Key": "mine"} {
		r, _, err := sent(t, v.Open, providers.Config{Headers: map[string]string{name: value}, Info: providers.ModelInfo{ID: "m"}})
		if err != nil || r.Header.Get(name) != value {
			t.Errorf("%s: %v", name, err)
		}
	}
}
