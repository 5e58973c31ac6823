package wire

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/providers"
)

// open returns a stream of body.
func open(t testing.TB, ctx context.Context, body io.Reader, kind string) *Stream {
	t.Helper()
	cfg := &providers.Config{Info: providers.ModelInfo{Provider: "p", ID: "m"}}
	s, err := Open(ctx, cfg, func(_ context.Context, res **http.Response) error {
		*res = &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(body)}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func events(s *Stream) (list []string, err error) {
	for {
		ev, err := s.Next()
		if err != nil {
			return list, err
		}
		list = append(list, ev.Name+"|"+string(ev.Data))
	}
}

func TestStream_Events(t *testing.T) {
	long := strings.Repeat("x", 50_000)
	for _, test := range []struct {
		body string
		want []string
	}{
		{"", nil},
		{"data: a\n\n", []string{"|a"}},
		{"data:a\r\n\r\ndata:  b\r\n\r\n", []string{"|a", "| b"}},
		{"event: x\ndata: a\ndata: b\n\n", []string{"x|a\nb"}},
		{": comment\n\nevent: ping\n\ndata: a\nid: 7\nretry: 1\n\n", []string{"|a"}},
		{"data: a", []string{"|a"}},
		{"data: a\n", []string{"|a"}},
		{"data\n\ndata:\n\ndata: b\n\n", []string{"|b"}},
		{"\uFEFFdata: a\n\ndata: \uFEFFb\n\n", []string{"|a", "|\uFEFFb"}},
		{"\uFEFFevent: x\r\n\r\n\uFEFFdata: a\n\n", nil}, // a byte order mark counts only at the start of the body
		{"event: x\rdata: a\rdata: b\r\rdata: c\r\n\rdata: d\n\r\ndata: e\r", []string{"x|a\nb", "|c", "|d", "|e"}},
		{"\r\r\rdata: " + long + "\r\rdata: b\r\r", []string{"|" + long, "|b"}},
		{"\n\n\ndata: " + long + "\n\ndata: b\n\n", []string{"|" + long, "|b"}},
	} {
		s := open(t, t.Context(), strings.NewReader(test.body), "text/event-stream; charset=utf-8")
		got, err := events(s)
		if diff := cmp.Diff(test.want, got); diff != "" || !errors.Is(err, io.EOF) {
			t.Errorf("%.40q: err %v (-want +got):\n%s", test.body, err, diff)
		}
		s.Close()
		s = open(t, t.Context(), iotest.OneByteReader(strings.NewReader(test.body)), "")
		if got, err := events(s); !cmp.Equal(got, test.want) || !errors.Is(err, io.EOF) {
			t.Errorf("%.40q byte for byte: %v, err %v", test.body, got, err)
		}
		s.Close()
	}
	s := open(t, t.Context(), strings.NewReader(`{"a":1}`), "application/json")
	defer s.Close()
	if got, err := events(s); !cmp.Equal(got, []string{`|{"a":1}`}) || !errors.Is(err, io.EOF) {
		t.Errorf("one JSON value: %v, %v", got, err)
	}
}

// endless is an event that never ends.
type endless struct{ begun bool }

func (e *endless) Read(p []byte) (int, error) {
	n := 0
	if !e.begun {
		e.begun = true
		n = copy(p, "data: ")
	}
	for i := n; i < len(p); i++ {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestStream_BoundsAnEvent(t *testing.T) {
	s := open(t, t.Context(), &endless{}, "text/event-stream")
	defer s.Close()
	_, err := s.Next()
	if e, ok := errors.AsType[*providers.Error](err); !ok || e.Kind != providers.KindProtocol {
		t.Errorf("err = %v", err)
	}
}

func TestStream_StallsAfterTheDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := &providers.Config{Info: providers.ModelInfo{Provider: "p", ID: "m"}}
		r, w := io.Pipe()
		s, err := Open(t.Context(), cfg, func(ctx context.Context, res **http.Response) error {
			context.AfterFunc(ctx, func() { _ = r.CloseWithError(ctx.Err()) }) // as a body of net/http does
			*res = &http.Response{StatusCode: 200, Body: r}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		go func() {
			for range 3 {
				time.Sleep(providers.DefaultStallTimeout - time.Second) // slow, and no stall
				_, _ = io.WriteString(w, ": still here\n")
			}
			_, _ = io.WriteString(w, "data: a\n\n")
		}()
		if ev, err := s.Next(); err != nil || string(ev.Data) != "a" {
			t.Fatalf("%q, %v", ev.Data, err)
		}
		time.Sleep(10 * providers.DefaultStallTimeout) // a slow reader is no stall either
		start := time.Now()
		_, err = s.Next()
		if e, ok := errors.AsType[*providers.Error](err); !ok || e.Kind != providers.KindTimeout || time.Since(start) != providers.DefaultStallTimeout {
			t.Errorf("err = %v after %v", err, time.Since(start))
		}
	})
}

func TestKindOf(t *testing.T) {
	for _, test := range []struct {
		status int
		body   string
		want   providers.ErrorKind
	}{
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, providers.KindContextOverflow},
		{400, `{"error":{"message":"This model's maximum context length is 8192 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}`, providers.KindContextOverflow},
		{400, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`, providers.KindContextOverflow},
		{413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, providers.KindContextOverflow},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}`, providers.KindQuota},
		{429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, providers.KindQuota},
		{429, `{"error":{"message":"Rate limit reached","type":"tokens","code":"rate_limit_exceeded"}}`, providers.KindRateLimit},
		{429, `slow down`, providers.KindRateLimit},
		{403, `{"type":"error","error":{"type":"permission_error","message":"no"}}`, providers.KindAuth},
		{404, `{"error":"model 'x' not found, try pulling it first"}`, providers.KindModel},
		{0, `{"error":"Unexpected endpoint or method. (POST /chat/completions)"}`, providers.KindInvalid},
		{422, `{"detail":[{"loc":["body"],"msg":"field required"}]}`, providers.KindInvalid},
		{400, `{"object":"error","message":"bad thing"}`, providers.KindInvalid},
		{500, ``, providers.KindServer},
		{504, `{}`, providers.KindTimeout},
		// Error texts of OpenAI-compatible providers.
		{429, `{"error":{"message":"Rate limit reached on tokens per minute (TPM). Please try again in 4.77s. Need more tokens? Upgrade at https://console.example/settings/billing","type":"tokens","code":"rate_limit_exceeded"}}`, providers.KindRateLimit},
		{429, `{"error":{"message":"Rate limit reached. Visit https://platform.example/account/billing to add a payment method","type":"requests"}}`, providers.KindRateLimit},
		{400, `{"error":{"message":"Invalid schema for function 'billing_lookup'","type":"invalid_request_error"}}`, providers.KindInvalid},
		{403, `{"error":{"code":403,"message":"This API method requires billing to be enabled","status":"PERMISSION_DENIED"}}`, providers.KindQuota},
		{429, `{"error":{"code":"1113","message":"Insufficient balance or no resource package. Please recharge."}}`, providers.KindQuota},
		{500, `{"error":{"message":"insufficient balance (1008)","type":"api_error"}}`, providers.KindQuota},
		{400, `{"code":"Client specified an invalid argument","error":"Incorrect API key provided: ab***yz."}`, providers.KindAuth},
		{400, `{"error":"This model's maximum prompt length is 131072 but the request contains 200000 tokens."}`, providers.KindContextOverflow},
		{400, `{"error":{"message":"Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)","type":"invalid_request_error"}}`, providers.KindContextOverflow},
		{400, `{"error":{"message":"invalid params, context window exceeds limit (2013)"}}`, providers.KindContextOverflow},
		{400, `{"error":{"code":"1261","message":"Prompt exceeds max length"}}`, providers.KindContextOverflow},
		{400, `{"message":"Current length is 9051 while limit is 8192","type":"invalid_request_error","code":"context_length_exceeded"}`, providers.KindContextOverflow},
		{400, `{"error":{"message":"The prompt (9000 tokens) is longer than the maximum model length of 8192."}}`, providers.KindContextOverflow},
		{400, `{"message":null,"type":null,"code":null}`, providers.KindInvalid},
		{529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, providers.KindOverloaded},
	} {
		e := classify(&providers.Config{}, test.status, parseBody([]byte(test.body)))
		if e.Kind != test.want || e.Message == "" {
			t.Errorf("%d %s: %s %q, want %s", test.status, test.body, e.Kind, e.Message, test.want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, test := range []struct {
		header http.Header
		want   time.Duration
	}{
		{http.Header{}, 0},
		{http.Header{"Retry-After": {"7"}}, 7 * time.Second},
		{http.Header{"Retry-After": {"0.5"}}, 500 * time.Millisecond},
		{http.Header{"Retry-After": {"7"}, "Retry-After-Ms": {"250"}}, 250 * time.Millisecond},
		{http.Header{"Retry-After": {now.Add(time.Minute).Format(http.TimeFormat)}}, time.Minute},
		{http.Header{"Retry-After": {now.Add(-time.Minute).Format(http.TimeFormat)}}, 0},
		{http.Header{"Retry-After": {"soon"}}, 0},
		{http.Header{"Retry-After": {"-3"}}, 0},
	} {
		if got, _ := retryAfter(test.header, now); got != test.want {
			t.Errorf("%v: %v, want %v", test.header, got, test.want)
		}
	}
}

func FuzzStream(f *testing.F) {
	f.Add("event: x\r\ndata: {\"a\":1}\r\n\r\n: c\ndata:b")
	f.Add("data: a\ndata: b\n\n\n")
	f.Fuzz(func(t *testing.T, body string) {
		s := open(t, t.Context(), strings.NewReader(body), "text/event-stream")
		defer s.Close()
		list, err := events(s)
		if e, refused := errors.AsType[*providers.Error](err); !errors.Is(err, io.EOF) && (!refused || e.Kind != providers.KindInvalid) {
			t.Errorf("err = %v", err)
		}
		n := 0
		for _, ev := range list {
			n += len(ev)
		}
		if n > 2*len(body)+len(list) {
			t.Errorf("%d bytes came out of %d", n, len(body))
		}
	})
}

func FuzzErrorBody(f *testing.F) {
	f.Add(400, []byte(`{"error":{"message":"x","type":"y","code":1}}`))
	f.Add(500, []byte(`<html>`))
	f.Add(429, []byte(`{"error":["x"],"message":3}`))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		if e := classify(&providers.Config{}, status, parseBody(body)); e.Kind == "" || e.Message == "" {
			t.Errorf("%+v", e)
		}
	})
}
