package anthropic_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/anthropic"
	"github.com/gajae-code/gjc/providers/providertest"
)

type transport func(*http.Request) (*http.Response, error)

func (fn transport) RoundTrip(r *http.Request) (*http.Response, error) { return fn(r) }

// sent returns the request that a model makes for req, and its body. The response has the given status.
func sent(t *testing.T, open providers.Factory, cfg providers.Config, req *providers.Request) (r *http.Request, body string, err error) {
	t.Helper()
	cfg.HTTPClient = &http.Client{Transport: transport(func(request *http.Request) (*http.Response, error) {
		data, err := io.ReadAll(request.Body)
		if err != nil {
			return nil, err
		}
		r, body = request, string(data)
		return &http.Response{StatusCode: 403, Header: http.Header{}, Request: request, Body: io.NopCloser(strings.NewReader(
			`{"message":"The request signature we calculated does not match.\n\nThe Canonical String for this request should have been\nx-amz-security-token:st-secret"}`,
		))}, nil
	})}
	m, err := open(cfg)
	if err != nil {
		return nil, "", err
	}
	for _, e := range m.Stream(t.Context(), req) {
		err = e
	}
	return r, body, err
}

var awsKeys = []string{"AWS_ACCESS_KEY_ID", "AKID", "AWS_SECRET_ACCESS_KEY", "s", "AWS_SESSION_TOKEN", "st-secret"}

func TestBedrock_Request(t *testing.T) {
	const rest = "/model/us.anthropic.claude-x-v2%3A0/invoke-with-response-stream"
	for _, test := range []struct {
		name, base string
		env        []string
		key        string
		address    string
		auth       string
	}{
		{"keys", "", append([]string{"AWS_REGION", "eu-west-1"}, awsKeys...), "", "https://bedrock-runtime.eu-west-1.amazonaws.com" + rest, "/eu-west-1/bedrock/aws4_request"},
		{"default region", "", awsKeys, "", "https://bedrock-runtime.us-east-1.amazonaws.com" + rest, "/us-east-1/bedrock/aws4_request"},
		{"a region in the base URL", "https://bedrock-runtime.us-west-2.amazonaws.com/", awsKeys, "", "https://bedrock-runtime.us-west-2.amazonaws.com" + rest, "/us-west-2/bedrock/aws4_request"},
		{"FIPS", "https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com", awsKeys, "", "https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com" + rest, "/us-gov-west-1/bedrock/aws4_request"},
		{"a private endpoint", "https://vpce-0a-xy.bedrock-runtime.eu-west-1.vpce.amazonaws.com", awsKeys, "", "https://vpce-0a-xy.bedrock-runtime.eu-west-1.vpce.amazonaws.com" + rest, "/eu-west-1/bedrock/aws4_request"},
		{"IPv6 too", "https://bedrock-runtime.eu-west-1.api.aws", awsKeys, "", "https://bedrock-runtime.eu-west-1.api.aws" + rest, "/eu-west-1/bedrock/aws4_request"},
		{"China", "https://bedrock-runtime.cn-north-1.amazonaws.com.cn", awsKeys, "", "https://bedrock-runtime.cn-north-1.amazonaws.com.cn" + rest, "/cn-north-1/bedrock/aws4_request"},
		{"not Amazon's", "https://bedrock-runtime.eu-west-1.gw.example", awsKeys, "", "https://bedrock-runtime.eu-west-1.gw.example" + rest, "/us-east-1/bedrock/aws4_request"},
		{"no region", "https://bedrock-runtime.amazonaws.com", awsKeys, "", "https://bedrock-runtime.amazonaws.com" + rest, "/us-east-1/bedrock/aws4_request"},
		{"a token", "http://gateway/x", append([]string{"AWS_BEARER_TOKEN_BEDROCK", "tok"}, awsKeys...), "", "http://gateway/x" + rest, "Bearer tok"},
		{"a configured key", "", []string{"AWS_BEARER_TOKEN_BEDROCK", "tok"}, "mine", "https://bedrock-runtime.us-east-1.amazonaws.com" + rest, "Bearer mine"},
	} {
		r, body, err := sent(t, anthropic.Bedrock{Getenv: env(test.env...)}.Open, providers.Config{
			BaseURL: test.base, APIKey: test.key, WireModel: "us.anthropic.claude-x-v2:0", Info: providers.ModelInfo{Provider: "amazon-bedrock", ID: "claude"},
		}, hello())
		if r == nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		if r.URL.String() != test.address || !strings.Contains(r.Header.Get("Authorization"), test.auth) || r.Header.Get("Accept") != "application/vnd.amazon.eventstream" {
			t.Errorf("%s: %s %v", test.name, r.URL, r.Header)
		}
		if strings.Contains(test.auth, "aws4") && (r.Header.Get("X-Amz-Security-Token") != "st-secret" || !strings.Contains(r.Header.Get("Authorization"), "host;x-amz-date;x-amz-security-token")) {
			t.Errorf("%s: %v", test.name, r.Header)
		}
		want := `{"anthropic_version":"bedrock-2023-05-31","max_tokens":32000,"system":[{"text":"sys","cache_control":{"type":"ephemeral"},"type":"text"}],` +
			`"messages":[{"role":"user","content":[{"type":"text","cache_control":{"type":"ephemeral"},"text":"hi"}]}]}`
		if body != want {
			t.Errorf("%s: body %s", test.name, body)
		}
		e, ok := errors.AsType[*providers.Error](err)
		if !ok || e.Kind != providers.KindAuth || e.Message != "The request signature we calculated does not match." || e.Provider != "amazon-bedrock" {
			t.Errorf("%s: err = %v", test.name, err)
		}
	}
	for _, base := range []string{"no url", "http://%zz"} {
		if _, err := (anthropic.Bedrock{}).Open(providers.Config{BaseURL: base}); err == nil {
			t.Errorf("the base URL %s is taken", base)
		}
	}
	_, _, err := sent(t, anthropic.Bedrock{}.Open, providers.Config{Info: providers.ModelInfo{Provider: "amazon-bedrock", ID: "m"}}, hello())
	if e, ok := errors.AsType[*providers.Error](err); !ok || e.Kind != providers.KindAuth || e.Model != "m" || !strings.Contains(e.Message, "AWS_PROFILE") {
		t.Errorf("without credentials: %v", err)
	}
}

func TestVertex_Request(t *testing.T) {
	v := anthropic.Vertex{Getenv: env("GOOGLE_CLOUD_PROJECT", "p1", "GOOGLE_CLOUD_LOCATION", "global")}
	cfg := providers.Config{APIKey: "at", WireModel: "claude-x@20260101", Info: providers.ModelInfo{ID: "claude"}}
	r, body, _ := sent(t, v.Open, cfg, hello())
	if want := "https://aiplatform.googleapis.com/v1/projects/p1/locations/global/publishers/anthropic/models/claude-x@20260101:streamRawPredict"; r.URL.String() != want {
		t.Errorf("%s, want %s", r.URL, want)
	}
	if r.Header.Get("Authorization") != "Bearer at" || !strings.HasPrefix(body, `{"anthropic_version":"vertex-2023-10-16","stream":true,"max_tokens":`) || strings.Contains(body, `"model"`) {
		t.Errorf("%v %s", r.Header, body)
	}
	if _, err := (anthropic.Vertex{}).Open(cfg); err == nil || !strings.Contains(err.Error(), "GOOGLE_CLOUD_PROJECT") {
		t.Errorf("err = %v", err)
	}
}

func TestVertex_AccessToken(t *testing.T) {
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"access_token":"fresh","expires_in":3600}`))
	}))
	defer tokens.Close()
	server := providertest.NewServer(providertest.Step{providertest.Text("x")})
	defer server.Close()
	file, err := jsonx.Marshal(map[string]string{"type": "authorized_user", "token_uri": tokens.URL})
	if err != nil {
		t.Fatal(err)
	}
	v := anthropic.Vertex{
		Getenv:   env("GOOGLE_CLOUD_PROJECT", "p1", "GOOGLE_CLOUD_LOCATION", "global", "GOOGLE_APPLICATION_CREDENTIALS", "f"),
		ReadFile: func(string) ([]byte, error) { return file, nil },
	}
	client := providers.NewHTTPClient()
	defer client.CloseIdleConnections()
	m, err := v.Open(providers.Config{BaseURL: server.URL(providertest.AnthropicVertex()), HTTPClient: client, Info: providers.ModelInfo{ID: "m"}})
	if err != nil {
		t.Fatal(err)
	}
	if msg, _ := run(t, m, hello()); msg.Text() != "x" || msg.API != anthropic.APIVertex || server.Requests()[0].Header.Get("Authorization") != "Bearer fresh" {
		t.Errorf("%+v, %v", msg, server.Requests()[0].Header)
	}
	if got := v.Credentials(); got != "application default credentials" {
		t.Errorf("credentials %q", got)
	}
}

func TestBedrock_BrokenFrames(t *testing.T) {
	for body, want := range map[string]providers.ErrorKind{
		"\x00\x00\x00\x10\x00\x00\x00\x00abcdefgh": providers.KindProtocol, // wrong checksums
		"\x00\x00": providers.KindNetwork,
		"":         providers.KindNetwork,
	} {
		m, err := anthropic.Bedrock{}.Open(providers.Config{APIKey: "k", HTTPClient: &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			return &http.Response{
				StatusCode: 200, Header: http.Header{"Content-Type": {"application/vnd.amazon.eventstream"}}, Request: r, Body: io.NopCloser(strings.NewReader(body)),
			}, nil
		})}})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range m.Stream(t.Context(), hello()) {
			err = e
		}
		if e, ok := errors.AsType[*providers.Error](err); !ok || e.Kind != want || !e.Retryable() {
			t.Errorf("%q: err = %v, want %s", body, err, want)
		}
	}
}

// Redirected requests carry only the credentials of the redirect.
func TestClouds_NoAmbient(t *testing.T) {
	read := func(path string) ([]byte, error) {
		t.Errorf("%s is read", path)
		return nil, fs.ErrNotExist
	}
	run := func(_ context.Context, line string) ([]byte, error) {
		t.Errorf("%s is run", line)
		return nil, fs.ErrNotExist
	}
	for name, open := range map[string]providers.Factory{
		"AWS keys":     anthropic.Bedrock{Getenv: env(awsKeys...)}.Open,
		"AWS token":    anthropic.Bedrock{Getenv: env("AWS_BEARER_TOKEN_BEDROCK", "ambient")}.Open,
		"AWS profile":  anthropic.Bedrock{Home: "/home/u", ReadFile: read, Run: run}.Open,
		"Google files": anthropic.Vertex{Home: "/home/u", ReadFile: read}.Open,
	} {
		for _, test := range []struct {
			cfg  providers.Config
			auth string
		}{
			{providers.Config{}, ""},
			{providers.Config{APIKey: "given"}, "Bearer given"},
			{providers.Config{Headers: map[string]string{"authorization": "Bearer theirs"}}, "Bearer theirs"},
			{providers.Config{APIKey: "given", Headers: map[string]string{"authorization": "Bearer theirs"}}, "Bearer theirs"},
		} {
			cfg := test.cfg
			cfg.BaseURL, cfg.NoAmbient, cfg.Info = "http://editor.test/v1/projects/p/locations/global", true, providers.ModelInfo{ID: "m"}
			r, _, err := sent(t, open, cfg, hello())
			if r == nil {
				t.Errorf("%s: %+v: %v", name, cfg, err)
				continue
			}
			if h := r.Header; r.URL.Host != "editor.test" || h.Get("Authorization") != test.auth || h.Get("X-Amz-Security-Token") != "" {
				t.Errorf("%s: %+v: %s %v", name, cfg, r.URL, h)
			}
		}
	}
}
