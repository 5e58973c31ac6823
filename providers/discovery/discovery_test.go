package discovery_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/discovery"
)

type (
	info  = providers.ModelInfo
	level = providers.ThinkingLevel
)

// answers holds a server's responses, by method, path and request body. A content type, ending in "|", may precede a response body.
type answers map[string]string

// fake is a server with answers.
type fake struct {
	*httptest.Server
	mu   sync.Mutex
	seen []*http.Request
}

func serve(t *testing.T, all answers) *fake {
	t.Helper()
	f := new(fake)
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		f.seen = append(f.seen, r)
		f.mu.Unlock()
		key := r.Method + " " + r.URL.Path
		if r.Method == http.MethodPost {
			body, _ := io.ReadAll(r.Body)
			key += " " + string(body)
		}
		body, ok := all[key]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if kind, rest, ok := strings.Cut(body, "|"); ok && strings.HasPrefix(kind, "text/") {
			w.Header().Set("Content-Type", kind)
			body = rest
		}
		io.WriteString(w, body)
	}))
	t.Cleanup(f.Close)
	return f
}

func source(base string, kind providers.DiscoveryType) providers.DiscoverySource {
	src := providers.DiscoverySource{Provider: "box", Type: kind, BaseURL: base, API: "openai-completions"}
	if kind == providers.DiscoverOllama {
		src.API = "ollama-chat"
	}
	return src
}

// want asks a server and compares the models. Provider and API of the wanted models are those of the source.
func want(t *testing.T, src providers.DiscoverySource, models ...info) {
	t.Helper()
	got, err := discovery.Discover(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	for i := range models {
		models[i].Provider, models[i].API = src.Provider, src.API
	}
	if diff := cmp.Diff(models, got); diff != "" {
		t.Errorf("models (-want +got):\n%s", diff)
	}
}

func TestDiscover_Ollama(t *testing.T) {
	testenv.NoLeaks(t)
	const large = `{"parameters":"stop \"<|end|>\"\ntemperature 0.7\n","model_info":{"general.architecture":"qwen3","clip.context_length":77,"qwen3.context_length":262144},"capabilities":["completion","tools","thinking"]}`
	all := answers{
		"GET /api/tags": `{"models":[{"name":"large:30b","model":"large:30b"},{"name":"set:8b"},{"model":"eyes:7b"},{"model":"gpt-oss:20b"},
			{"model":"nomic-embed-text:latest"},{"model":"talks-only"},{"model":"old"},{"model":"cloudy:480b-cloud","remote_host":"https://ollama.com"},
			{"model":"gone"},{"model":"large:30b"},{"model":"odd\u001b[31m"},{"model":7},5]}`,
		`POST /api/show {"model":"large:30b"}`:               large,
		`POST /api/show {"model":"set:8b"}`:                  `{"parameters":"num_ctx                        65536\nnum_predict 5","model_info":{"llama.context_length":131072},"capabilities":["completion","tools"]}`,
		`POST /api/show {"model":"eyes:7b"}`:                 `{"model_info":{"general.architecture":"gemma","gemma.context_length":8192},"capabilities":["vision","completion","tools"]}`,
		`POST /api/show {"model":"gpt-oss:20b"}`:             `{"model_info":{"gptoss.context_length":131072},"capabilities":["completion","tools","thinking"]}`,
		`POST /api/show {"model":"nomic-embed-text:latest"}`: `{"capabilities":["embedding"]}`,
		`POST /api/show {"model":"talks-only"}`:              `{"capabilities":["completion"]}`,
		`POST /api/show {"model":"old"}`:                     `{"model_info":{"llama.context_length":1e30}}`,
		`POST /api/show {"model":"cloudy:480b-cloud"}`:       large,
	}
	f := serve(t, all)
	always := providers.ThinkingEffortAlways
	models := []info{
		{ID: "large:30b", ContextWindow: 32768, Thinking: []level{"medium"}},
		{ID: "set:8b", ContextWindow: 65536},
		{ID: "eyes:7b", ContextWindow: 8192, Images: true},
		{ID: "gpt-oss:20b", ContextWindow: 32768, Thinking: []level{"low", "medium", "high"}, ThinkingMode: always},
		{ID: "old", ContextWindow: 32768},
		{ID: "cloudy:480b-cloud", ContextWindow: 262144, Thinking: []level{"medium"}},
	}
	for _, base := range []string{"", "/", "/v1", "/v1/", "/api"} {
		want(t, source(f.URL+base, providers.DiscoverOllama), models...)
	}
	// Another API cannot set the window, so it is unknown.
	other := source(f.URL, providers.DiscoverOllama)
	other.API = "openai-completions"
	for _, i := range []int{0, 2, 3, 4} {
		models[i].ContextWindow = 0
	}
	want(t, other, models...)

	// A proxy's path prefix is kept, and an empty list is not an error.
	proxied := serve(t, answers{"GET /proxy/api/tags": `{"models":null}`})
	want(t, source(proxied.URL+"/proxy/v1", providers.DiscoverOllama))
	// It is an error if no model can be shown.
	broken := serve(t, answers{"GET /api/tags": `{"models":[{"model":"a"},{"model":"b"}]}`})
	wantError(t, source(broken.URL, providers.DiscoverOllama), providers.KindInvalid, "models.yml")
}

func TestDiscover_LMStudio(t *testing.T) {
	testenv.NoLeaks(t)
	f := serve(t, answers{"GET /api/v0/models": `{"object":"list","data":[
		{"id":"qwen3","object":"model","type":"llm","state":"loaded","max_context_length":131072,"loaded_context_length":16384,"capabilities":["tool_use"]},
		{"id":"pixtral","type":"vlm","state":"not-loaded","max_context_length":32768},
		{"id":"text-embedding-nomic","type":"embeddings","state":"not-loaded","max_context_length":2048}]}`})
	for _, base := range []string{"/v1", "", "/api/v0/"} {
		want(t, source(f.URL+base, providers.DiscoverLMStudio),
			info{ID: "qwen3", ContextWindow: 16384}, info{ID: "pixtral", ContextWindow: 32768, Images: true})
	}
	// A server without its own API lists only IDs. It answers unknown paths with 200.
	const ids = `{"data":[{"id":"qwen3","object":"model"},{"id":"text-embedding-nomic","object":"model"}]}`
	for _, all := range []answers{{"GET /v1/models": ids}, {"GET /v1/models": ids, "GET /api/v0/models": `{"error":"Unexpected endpoint or method. (GET /api/v0/models)"}`}} {
		want(t, source(serve(t, all).URL+"/v1", providers.DiscoverLMStudio), info{ID: "qwen3"})
	}
}

func TestDiscover_LlamaCPP(t *testing.T) {
	testenv.NoLeaks(t)
	all := answers{
		"GET /v1/models": `{"models":[{"name":"x","capabilities":["completion"]}],"object":"list","data":[{"id":"/srv/my models/Qwen3-8B.Q4_K_M.gguf","object":"model","meta":{"n_ctx_train":40960,"n_params":8190735360}}]}`,
		"GET /props":     `{"default_generation_settings":{"n_ctx":16384},"modalities":{"vision":true,"audio":false},"chat_template":"<|im_start|>"}`,
	}
	one := info{ID: "/srv/my models/Qwen3-8B.Q4_K_M.gguf", Name: "Qwen3-8B.Q4_K_M", ContextWindow: 16384, Images: true}
	f := serve(t, all)
	for _, base := range []string{"/v1", "", "/"} {
		want(t, source(f.URL+base, providers.DiscoverLlamaCPP), one)
	}
	// The properties may be disabled.
	delete(all, "GET /props")
	one.ContextWindow, one.Images = 40960, false
	want(t, source(f.URL+"/v1", providers.DiscoverLlamaCPP), one)
	// With several models, the properties describe at most one of them.
	all["GET /props"] = `{"default_generation_settings":{"n_ctx":512}}`
	all["GET /v1/models"] = `{"data":[{"id":"a"},{"id":"b","meta":{"n_ctx":8192,"n_ctx_train":9}},{"id":"nomic-embed-text"}]}`
	want(t, source(f.URL+"/v1", providers.DiscoverLlamaCPP), info{ID: "a"}, info{ID: "b", ContextWindow: 8192})
}

func TestDiscover_OpenAI(t *testing.T) {
	testenv.NoLeaks(t)
	for _, test := range []struct {
		name, body string
		want       []info
	}{
		{"ids", `{"object":"list","data":[{"id":"grok-5","object":"model","owned_by":"xai"},{"id":"text-embedding-3"},{"id":"whisper-large-v3"},{"id":"x-tts"}]}`, []info{{ID: "grok-5"}}},
		{"OpenRouter", `{"data":[{"id":"a/b","name":"B","context_length":200000,"architecture":{"input_modalities":["text","image"],"output_modalities":["text"]},
			"top_provider":{"context_length":131072,"max_completion_tokens":32000},"supported_parameters":["tools","reasoning","max_tokens"]},
			{"id":"c/no-tools","supported_parameters":["max_tokens"]},
			{"id":"c/paints","architecture":{"output_modalities":["image"]},"supported_parameters":["tools"]},
			{"id":"d/whole","context_length":1000,"top_provider":{"context_length":null,"max_completion_tokens":1000},"supported_parameters":["tools"]}]}`, []info{
			{ID: "a/b", Name: "B", ContextWindow: 131072, MaxOutput: 32000, Images: true, Thinking: []level{"low", "medium", "high"}},
			{ID: "d/whole", ContextWindow: 1000},
		}},
		{"vLLM", `{"object":"list","data":[{"id":"/models/qwen","object":"model","root":"/models/qwen","max_model_len":40960}]}`, []info{{ID: "/models/qwen", ContextWindow: 40960}}},
		{"Together, an array alone", `[{"id":"meta/llama","type":"chat","display_name":"Llama","context_length":131072},{"id":"x/flux","type":"image"},{"id":"x/rank","type":"rerank"}]`, []info{{ID: "meta/llama", Name: "Llama", ContextWindow: 131072}}},
		{"Groq", `{"data":[{"id":"llama","active":true,"context_window":131072,"max_completion_tokens":8192},{"id":"off","active":false}]}`, []info{{ID: "llama", ContextWindow: 131072, MaxOutput: 8192}}},
		{"Mistral", `{"data":[{"id":"devstral","name":"devstral","type":"base","max_context_length":262144,"capabilities":{"completion_chat":true,"function_calling":true,"vision":true}},
			{"id":"mistral-embed","type":"base","capabilities":{"completion_chat":false,"function_calling":false,"vision":false}},{"id":"old","archived":true}]}`, []info{{ID: "devstral", ContextWindow: 262144, Images: true}}},
		{"Vercel", `{"data":[{"id":"o/gpt","name":"GPT","type":"language","context_window":400000,"max_tokens":128000,"tags":["vision","tool-use"]},{"id":"o/emb","type":"embedding"}]}`, []info{{ID: "o/gpt", Name: "GPT", ContextWindow: 400000, MaxOutput: 128000, Images: true}}},
		{"Fireworks", `{"data":[{"id":"f/a","supports_chat":true,"supports_tools":true,"supports_image_input":true,"context_length":9000},{"id":"f/b","supports_chat":true,"supports_tools":false}]}`, []info{{ID: "f/a", ContextWindow: 9000, Images: true}}},
		{"Hugging Face", `{"data":[{"id":"h/a","providers":[{"status":"live","context_length":8000,"supports_tools":true},{"status":"live","context_length":4000}]},
			{"id":"h/b","providers":[{"status":"live","supports_tools":false}]},{"id":"h/c","providers":[{"status":"error"}]},{"id":"h/d","providers":[]}]}`, []info{{ID: "h/a", ContextWindow: 4000}, {ID: "h/d"}}},
		{"prices", `{"data":[{"id":"a","pricing":{"prompt":"0.0000007","completion":"0.0000021","input_cache_read":"0.00000014","input_cache_write":"0","image":"0"}},
			{"id":"b","pricing":{"input":"0.000003","output":"0.000015"}},{"id":"c","pricing":{"prompt":"-1","completion":"-1"}},
			{"id":"d","pricing":{"prompt":"0","completion":"0"}},{"id":"e","pricing":{"input":2,"output":8}},{"id":"f","pricing":{"prompt":"9","completion":"9"}}]}`, []info{
			{ID: "a", Cost: providers.Cost{Input: 0.7, Output: 2.1, CacheRead: 0.14}},
			{ID: "b", Cost: providers.Cost{Input: 3, Output: 15, CacheRead: 3, CacheWrite: 3}},
			{ID: "c"},
			{ID: "d"},
			{ID: "e"},
			{ID: "f"},
		}},
		{"nonsense", `{"data":[{"id":""},{"id":7},null,[],"x",{"id":"a","context_length":-5,"max_tokens":"12"},{"id":"a","context_length":5},{"id":"b","context_length":1e300,"max_model_len":12.5},
			{"id":"line\nbreak"},{"id":" space"},{"id":"bidi\u202e"},{"id":"bad\ud800"},{"id":"ok","name":"two\nlines"}]}`, []info{{ID: "a"}, {ID: "b"}, {ID: "ok"}}},
		{"no models", `{"data":[]}`, nil},
		{"another type", `text/plain|{"data":[{"id":"a"}]}`, []info{{ID: "a"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := serve(t, answers{"GET /v1/models": test.body})
			want(t, source(f.URL+"/v1/", providers.DiscoverOpenAI), test.want...)
		})
	}
}

func TestDiscover_Request(t *testing.T) {
	testenv.NoLeaks(t)
	f := serve(t, answers{"GET /v1/models": `{"data":[]}`})
	src := source(f.URL+"/v1?version=2", providers.DiscoverOpenAI)
	src.APIKey, src.Headers = "secret-key", map[string]string{"X-Team": "a", "X-Old": "b"}
	src.Transform = providers.RequestTransform{StripHeaders: []string{"x-old"}, SetHeaders: map[string]*string{"X-Gate": new("open")}}
	want(t, src)
	src.BaseURL, src.API = f.URL, "anthropic-messages"
	want(t, src)
	if r := f.seen[0]; r.URL.RawQuery != "version=2" || r.Header.Get("Authorization") != "Bearer secret-key" || r.Header.Get("X-Team") != "a" || r.Header.Get("X-Api-Key") != "" ||
		r.Header.Get("X-Gate") != "open" || r.Header.Get("X-Old") != "" {
		t.Errorf("asked for %s with %v", r.URL, r.Header)
	}
	if r := f.seen[1]; r.Header.Get("X-Api-Key") != "secret-key" || r.Header.Get("Anthropic-Version") == "" {
		t.Errorf("asked with %v", r.Header)
	}
}

// wantError checks that an error has a kind and a text, and contains no key.
func wantError(t *testing.T, src providers.DiscoverySource, kind providers.ErrorKind, says string) {
	t.Helper()
	src.APIKey, src.Headers = "the-secret-key", map[string]string{"X-Other": "another-secret"}
	models, err := discovery.Discover(t.Context(), src)
	e, ok := errors.AsType[*providers.Error](err)
	if !ok || e.Kind != kind || e.Provider != "box" || !strings.Contains(err.Error(), says) || models != nil {
		t.Errorf("%v, %v; want kind %s and %q", models, err, kind, says)
	}
	if err != nil && strings.Contains(err.Error(), "secret") {
		t.Errorf("the error contains a key: %v", err)
	}
}

func TestDiscover_Errors(t *testing.T) {
	testenv.NoLeaks(t)
	kinds := []providers.DiscoveryType{providers.DiscoverOllama, providers.DiscoverLMStudio, providers.DiscoverLlamaCPP, providers.DiscoverOpenAI}
	elsewhere := serve(t, answers{"GET /v1/models": `{"data":[{"id":"a"}]}`})
	for _, test := range []struct {
		name    string
		handler http.HandlerFunc
		kind    providers.ErrorKind
		says    string
	}{
		{"a web page", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<!doctype html><html>hi</html>") }, providers.KindInvalid, "web page"},
		{"a web page that is called JSON", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, "\n<html>")
		}, providers.KindInvalid, "web page"},
		{"nothing there", http.NotFound, providers.KindInvalid, "check the base URL"},
		{"a wrong key", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"error":{"message":"bad key the-secret-key"}}`, http.StatusUnauthorized)
		}, providers.KindAuth, "bad key …"},
		{"no JSON", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"data":[`) }, providers.KindProtocol, "not JSON"},
		{"empty", func(http.ResponseWriter, *http.Request) {}, providers.KindProtocol, "not JSON"},
		{"no list", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"ok":true}`) }, providers.KindProtocol, "check the base URL"},
		{"endless", func(w http.ResponseWriter, r *http.Request) {
			line := strings.Repeat(" ", 1<<16)
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, line); err != nil {
					return
				}
			}
		}, providers.KindProtocol, "8 MiB"},
		{"broken off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "500")
			io.WriteString(w, `{"data":[`)
		}, providers.KindNetwork, "broke"},
		{"another host", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+"/v1/models", http.StatusFound)
		}, providers.KindInvalid, "does not follow"},
		{"busy", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "", http.StatusServiceUnavailable) }, providers.KindOverloaded, "Service Unavailable"},
	} {
		for _, kind := range kinds {
			t.Run(fmt.Sprintf("%s/%s", test.name, kind), func(t *testing.T) {
				s := httptest.NewServer(test.handler)
				defer s.Close()
				wantError(t, source(s.URL+"/v1", kind), test.kind, test.says)
			})
		}
	}
	if len(elsewhere.seen) > 0 {
		t.Error("a redirect to another origin was followed")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	for _, kind := range kinds {
		wantError(t, source("http://"+l.Addr().String(), kind), providers.KindNetwork, "no answer from")
	}
	wantError(t, source("http://me:secret@"+l.Addr().String(), providers.DiscoverOpenAI), providers.KindNetwork, "no answer from")
	src := source("ftp://x", providers.DiscoverOpenAI)
	wantError(t, src, providers.KindInvalid, "URL")
	src = source(elsewhere.URL, "other")
	wantError(t, src, providers.KindInvalid, "other")
}

// If the context ends, its cause is the error and pending requests are cancelled.
func TestDiscover_Ends(t *testing.T) {
	testenv.NoLeaks(t)
	late := errors.New("too late")
	for _, held := range []string{"/api/tags", "/api/show"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body) // so that the server detects the closed connection
			if r.URL.Path == held {
				cancel(late)
				<-r.Context().Done()
				return
			}
			io.WriteString(w, `{"models":[{"model":"a"},{"model":"b"},{"model":"c"}]}`)
		}))
		models, err := discovery.Discover(ctx, source(s.URL, providers.DiscoverOllama))
		if !errors.Is(err, late) || models != nil {
			t.Errorf("%s: %v, %v", held, models, err)
		}
		s.Close()
	}
}

// An endless list is cut off.
func TestDiscover_ManyModels(t *testing.T) {
	testenv.NoLeaks(t)
	var b strings.Builder
	b.WriteString(`{"data":[{"id":"m"}`)
	for i := range 5000 {
		fmt.Fprintf(&b, `,{"id":"m%d"}`, i)
	}
	f := serve(t, answers{"GET /v1/models": b.String() + `]}`})
	models, err := discovery.Discover(t.Context(), source(f.URL+"/v1", providers.DiscoverOpenAI))
	if err != nil || len(models) != 2000 {
		t.Errorf("%d models, %v", len(models), err)
	}
	tags := strings.ReplaceAll(strings.Replace(b.String(), "data", "models", 1), `"id"`, `"model"`) + `]}`
	all := answers{"GET /api/tags": tags, `POST /api/show {"model":"m"}`: `{}`}
	f = serve(t, all)
	models, err = discovery.Discover(t.Context(), source(f.URL, providers.DiscoverOllama))
	if err != nil || len(models) != 1 || len(f.seen) > 400 {
		t.Errorf("%d models with %d requests, %v", len(models), len(f.seen), err)
	}
}

// twoBodies answers every request with one of two bodies.
type twoBodies struct{ list, about string }

func (a twoBodies) RoundTrip(r *http.Request) (*http.Response, error) {
	body := a.list
	if strings.HasSuffix(r.URL.Path, "/show") || strings.HasSuffix(r.URL.Path, "/props") {
		body = a.about
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// FuzzDiscover checks that any response gives an error with a text, or models that can be shown.
func FuzzDiscover(f *testing.F) {
	f.Add(`{"models":[{"model":"a"}]}`, `{"parameters":"num_ctx 5","model_info":{"general.architecture":"x","x.context_length":9},"capabilities":["completion","tools","vision","thinking"]}`)
	f.Add(`{"data":[{"id":"a","type":"vlm","context_length":1e9,"max_tokens":3,"architecture":{"input_modalities":["image"]},"providers":[{"context_length":5}]}]}`, `{"default_generation_settings":{"n_ctx":5},"modalities":{"vision":true}}`)
	f.Add(`[{"id":"a","supported_parameters":["tools","reasoning"]},{"id":"a"}]`, `[`)
	f.Add(`{"error":{"message":"x"}}`, `{"capabilities":[7]}`)
	f.Fuzz(func(t *testing.T, list, about string) {
		client := &http.Client{Transport: twoBodies{list, about}}
		for _, kind := range []providers.DiscoveryType{providers.DiscoverOllama, providers.DiscoverLMStudio, providers.DiscoverLlamaCPP, providers.DiscoverOpenAI} {
			src := source("http://x", kind)
			src.Client = client
			models, err := discovery.Discover(t.Context(), src)
			if e, ok := errors.AsType[*providers.Error](err); err != nil && (!ok || e.Message == "" || models != nil) {
				t.Errorf("%s: %v with error %v", kind, models, err)
			}
			seen := map[string]bool{}
			for _, m := range models {
				if seen[m.ID] || m.ID == "" || len(m.ID) > 256 || strings.ContainsAny(m.ID+m.Name, "\n\r\x1b\x00") || m.Provider != "box" || m.API == "" ||
					m.ContextWindow < 0 || m.ContextWindow > 1e8 || m.MaxOutput < 0 || m.MaxOutput > 1e8 {
					t.Errorf("%s: %+v", kind, m)
				}
				seen[m.ID] = true
			}
		}
	})
}
