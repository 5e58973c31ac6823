package providertest

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/providers"
)

// testChunks reads an answer with all kinds of events in two pieces, split at every byte, and byte by byte.
func testChunks(t *testing.T, target implementation) {
	step := Step{
		Think("hm 🤔"), Text("Grüße\n"), Text("🌍"), Call("c1", "read", `{"path":`, `"ä.go"}`), Call("c2", "list", `{}`),
		Use(providers.Usage{Input: 3, Output: 4, CacheRead: 5}),
	}
	answer := func(split func(string) io.Reader) ([]providers.Event, error) {
		var events []providers.Event
		for ev, err := range target.canned(t, step, split).Stream(t.Context(), hello()) {
			if err != nil {
				return events, err
			}
			events = append(events, ev)
		}
		return events, nil
	}
	want, err := answer(nil)
	if err != nil {
		t.Fatal(err)
	}
	check := func(at int, split func(string) io.Reader) {
		got, err := answer(split)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Fatalf("split at %d: err %v, events (-want +got):\n%s", at, err, diff)
		}
	}
	body := target.Format.Body(step)
	for at := range len(body) {
		if testenv.Race && at%7 != 0 {
			continue
		}
		check(at, func(s string) io.Reader {
			return io.MultiReader(strings.NewReader(s[:at]), strings.NewReader(s[at:]))
		})
	}
	check(1, func(s string) io.Reader { return iotest.OneByteReader(strings.NewReader(s)) })
	if target.Format.contentType == "" {
		// Server-sent events may have other line ends.
		check(-1, func(s string) io.Reader { return strings.NewReader(strings.ReplaceAll(s, "\n", "\r\n")) })
		check(-3, func(s string) io.Reader { return strings.NewReader(strings.ReplaceAll(s, "\n", "\r")) })
		check(-4, func(s string) io.Reader {
			return iotest.OneByteReader(strings.NewReader("\uFEFF" + strings.ReplaceAll(s, "\n", "\r\n")))
		})
		check(-2, func(s string) io.Reader {
			return strings.NewReader(": a comment\n\n" + strings.ReplaceAll(s, "data: ", "data:"))
		})
	}
}

func testUnreachable(t *testing.T, target implementation) {
	f := target.start(t, nil)
	f.server.Close()
	if e := f.mustFail(hello()); e.Kind != providers.KindNetwork || !e.Retryable() || e.Err == nil {
		t.Errorf("error = %+v", e)
	}
}

func testSilence(t *testing.T, target implementation) {
	gate := NewGate()
	f := target.start(t, func(cfg *providers.Config) { cfg.FirstByteTimeout = time.Second }, Step{gate.HoldAll()})
	defer gate.Open()
	if e := f.mustFail(hello()); e.Kind != providers.KindTimeout || !e.Retryable() {
		t.Errorf("error = %+v, want a timeout", e)
	}
	<-f.server.Disconnected()
}

func testEmptyAnswer(t *testing.T, target implementation) {
	f := target.start(t, nil, Step{})
	m, events := f.must(hello())
	if len(events) != 0 || m.Text() != "" || len(m.ToolCalls()) != 0 || m.StopReason != providers.StopEnd {
		t.Errorf("events %v, message %+v", events, m)
	}
}

// testForeignHistory continues a conversation of other models.
func testForeignHistory(t *testing.T, target implementation) {
	ids := []string{"call_1|fc_2", "toolu_ü", strings.Repeat("long", 40), strings.Repeat("long", 41), "0"}
	answer := providers.Message{
		Role: providers.RoleAssistant, API: "another", Provider: "other", Model: "m9",
		Parts: []providers.Part{
			providers.Thinking{Text: "secret thought", Signature: "foreign-signature"},
			providers.Thinking{Signature: "foreign-payload", Redacted: true},
			providers.Text{Text: "I look.", Signature: "foreign-text-signature"},
		},
	}
	var results []providers.Message
	for _, id := range ids {
		call := providers.ToolCall{ID: id, Name: "read", Input: jsonx.Raw(`{"n":1}`)}
		answer.Parts = append(answer.Parts, call)
		results = append(results, ResultOf(call, "result"))
	}
	req := &providers.Request{
		Tools:    []providers.Tool{Tool("read")},
		Messages: append([]providers.Message{User("go"), answer}, results...),
	}
	f := target.start(t, nil, Step{Text("ok")})
	f.must(req)
	body := string(f.server.Requests()[0].Body)
	for _, not := range []string{"foreign-signature", "foreign-payload", "foreign-text-signature"} {
		if strings.Contains(body, not) {
			t.Errorf("the request has %q: %s", not, body)
		}
	}
	if !jsonx.Valid([]byte(body)) || !strings.Contains(body, "I look.") || strings.Count(body, "result") < len(ids) {
		t.Errorf("the request is %s", body)
	}
}

// testRepeatedIDs reads answers of a server that counts its calls from zero: every call of a conversation must get an id of its
// own, or the next request is rejected.
func testRepeatedIDs(t *testing.T, target implementation) {
	step := Step{Call("c1", "read", `{"path":"a"}`), Call("c1", "read", `{"path":"b"}`)}
	f := target.start(t, nil, step, step, Step{Text("done")})
	req := hello()
	req.Tools = []providers.Tool{Tool("read")}
	seen := map[string]bool{}
	for range 2 {
		m, _ := f.must(req)
		req.Messages = append(req.Messages, m)
		for i, c := range m.ToolCalls() {
			if want := []string{`{"path":"a"}`, `{"path":"b"}`}[i]; string(c.Input) != want || c.ID == "" || seen[c.ID] {
				t.Errorf("call %+v after the ids %v, want the input %s", c, seen, want)
			}
			seen[c.ID] = true
			req.Messages = append(req.Messages, ResultOf(c, "ok"))
		}
	}
	if len(seen) != 4 {
		t.Errorf("%d calls of four", len(seen))
	}
	f.must(req)
	body := string(f.server.Requests()[2].Body)
	for id := range seen {
		if n := strings.Count(body, `"`+id+`"`); n != 2 {
			t.Errorf("the id %s is %d times in %s", id, n, body)
		}
	}
}

// testRedirect checks that the key and the conversation go only where the configuration says.
func testRedirect(t *testing.T, target implementation) {
	strayed := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strayed++ }))
	defer other.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	f := target.start(t, func(cfg *providers.Config) { cfg.BaseURL = server.URL + target.Format.base })
	e := f.mustFail(hello())
	if e.Kind != providers.KindInvalid || e.Retryable() || !strings.Contains(e.Message, "base URL") || strayed != 0 {
		t.Errorf("error = %+v, %d requests went astray", e, strayed)
	}
}

// testOtherServers asks servers that do not implement the API. The errors must not be retryable.
func testOtherServers(t *testing.T, target implementation) {
	const page = "<!doctype html><title>Log in</title>"
	for name, test := range map[string]struct {
		answer Action
		says   string
		body   bool // the reader must see the body
	}{
		"web page":                     {Status(200, page, nil), "web page", false},
		"web page without a type":      {Status(200, "\n"+page, map[string]string{"Content-Type": ""}), "web page", true},
		"web page as events":           {Status(200, page, map[string]string{"Content-Type": "text/event-stream"}), "web page", true},
		"compressed":                   {Status(200, "\x1f\x8b\x08", map[string]string{"Content-Encoding": "gzip", "Content-Type": "text/event-stream"}), "gzip", false},
		"compressed, and does not say": {Status(200, "\x1f\x8b\x08", map[string]string{"Content-Type": "text/event-stream"}), "gzip", true},
		"no content":                   {Status(204, "", nil), "204", false},
		"an empty body":                {Status(200, "", nil), "nothing", true},
	} {
		if test.body && target.Format.frame != nil {
			continue // frames with checksums
		}
		f := target.start(t, nil, Step{test.answer})
		e := f.mustFail(hello())
		if e.Kind != providers.KindInvalid || e.Retryable() || !strings.Contains(e.Message, test.says) || !strings.Contains(e.Message, "base URL") {
			t.Errorf("%s: error = %+v", name, e)
		}
	}
}

// testWrongPath sends requests to a server that implements another API, or this one at another path.
func testWrongPath(t *testing.T, target implementation) {
	for _, body := range []string{"404 page not found\n", "<html><body>No model here</body></html>", `{"detail":"Not Found"}`, `{"error":{"message":"Invalid URL (POST /x)"}}`, "", `{}`} {
		f := target.start(t, func(cfg *providers.Config) {
			cfg.BaseURL = strings.Replace(cfg.BaseURL, "http://", "http://user:pw-of-mine@", 1)
		}, Step{Status(404, body, nil)})
		e := f.mustFail(hello())
		if e.Kind != providers.KindInvalid || e.Status != 404 || !strings.Contains(e.Message, "base URL") || !strings.Contains(e.Message, "http://127.0.0.1") ||
			strings.Contains(e.Message, "pw-of-mine") || strings.Contains(e.Message, "?") {
			t.Errorf("%s: error = %+v", body, e)
		}
	}
	for _, body := range []string{`{"error":{"message":"The model x does not exist"}}`, `{"error":"model 'x' not found"}`, `{"error":{"code":"model_not_found","message":"no"}}`, `{"error":{"message":"no m1"}}`} {
		if e := target.start(t, nil, Step{Status(404, body, nil)}).mustFail(hello()); e.Kind != providers.KindModel {
			t.Errorf("%s: error = %+v", body, e)
		}
	}
}

// testHugeMessage reads errors that are long and contain terminal escapes.
func testHugeMessage(t *testing.T, target implementation) {
	message := "\x1b[31mred\x1b[0m\x00\u009b \x1b]0;title\x07" + strings.Repeat("ä b ", 1<<20)
	for _, before := range []Step{nil, {Text("x")}} {
		e := target.start(t, nil, append(before, Fail(&providers.Error{Kind: providers.KindServer, Message: message}))).mustFail(hello())
		if len(e.Message) > 8000 || strings.ContainsAny(e.Message, "\x1b\x00\x07\u009b") {
			t.Errorf("after %v: %d bytes, %.80q", before, len(e.Message), e.Message)
		}
		if before != nil && !strings.HasPrefix(e.Message, "red ä b") {
			t.Errorf("%.80q", e.Message)
		}
	}
}

func testNoKeyInErrors(t *testing.T, target implementation) {
	const secret = "a-gateway-secret"
	f := target.start(t, func(cfg *providers.Config) { cfg.Headers = map[string]string{"X-Gateway": secret} },
		Step{Fail(&providers.Error{Kind: providers.KindAuth, Message: "bad key " + testKey + " and " + secret + " and sk-other_1234567890abcd"})},
		Step{Text("x"), Fail(&providers.Error{Kind: providers.KindServer, Message: "bad key " + testKey})},
		Step{Status(500, "oops: "+testKey, nil)})
	for range 3 {
		e := f.mustFail(hello())
		for err := error(e); err != nil; err = errors.Unwrap(err) {
			for _, s := range []string{testKey, secret, "1234567890abcd"} {
				if strings.Contains(err.Error(), s) {
					t.Errorf("the error shows a secret: %v", err)
				}
			}
		}
	}
	if got := f.server.Requests()[0].Header; got.Get("X-Gateway") != secret || !strings.Contains(got.Get("X-Api-Key")+got.Get("X-Goog-Api-Key")+got.Get("Api-Key")+got.Get("Authorization"), testKey) {
		t.Errorf("headers = %v", got)
	}
}

// testTricklingError reads an error whose endless body arrives a byte at a time: the error must be returned soon.
func testTricklingError(t *testing.T, target implementation) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusTooManyRequests)
		_, err := io.WriteString(w, "slow down")
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for err == nil && r.Context().Err() == nil {
			_ = http.NewResponseController(w).Flush()
			<-tick.C
			_, err = io.WriteString(w, ".")
		}
	}))
	defer server.Close()
	f := target.start(t, func(cfg *providers.Config) {
		cfg.BaseURL, cfg.StallTimeout = server.URL+target.Format.base, 100*time.Millisecond
	})
	if e := f.mustFail(hello()); e.Kind != providers.KindRateLimit || !strings.HasPrefix(e.Message, "slow down.") {
		t.Errorf("error = %+v", e)
	}
}

// testOutput requests an answer that fits a schema: the request has the properties in their order and forces no tool. A conversation with
// calls stays valid, also where the request has no tools.
func testOutput(t *testing.T, target implementation) {
	f := target.start(t, nil, Step{Text(`{"z":1}`)}, Step{Status(http.StatusBadRequest, `{"error":{"message":"bad schema"}}`, nil)})
	call := providers.ToolCall{ID: "c1", Name: "read", Input: jsonx.Raw(`{}`)}
	req := hello()
	req.Messages = append(req.Messages, providers.Message{Role: providers.RoleAssistant, Parts: []providers.Part{call}}, ResultOf(call, "seen"), User("answer"))
	req.Tools = []providers.Tool{Tool("read")}
	req.Output = &providers.OutputFormat{Name: "answer", Schema: jsonx.Raw(`{"type":"object","properties":{"z":{"type":"integer"},"a":{"type":"string"}},"required":["z","a"]}`)}
	if m, _ := f.must(req); m.Text() != `{"z":1}` {
		t.Errorf("the answer is %q", m.Text())
	}
	body := string(f.server.Requests()[0].Body)
	z, a := strings.Index(body, `"z":{"type":"integer"}`), strings.Index(body, `"a":{"type":"string"}`)
	if z < 0 || a < z || !jsonx.Valid(jsonx.Raw(body)) || !strings.Contains(body, "seen") {
		t.Errorf("the request is %s", body)
	}
	if offered := strings.Contains(body, `"tools":`); offered != strings.Contains(body, `"none"`) {
		t.Errorf("the tools can be called: %s", body)
	}
	if e := f.mustFail(req); e.Kind != providers.KindInvalid || e.Retryable() {
		t.Errorf("error = %+v", e)
	}
}
