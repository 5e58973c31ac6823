package wire

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// babble repeats the same bytes forever.
type babble struct {
	text string
	at   int
}

func (b *babble) Read(p []byte) (int, error) {
	n := copy(p, b.text[b.at:])
	b.at = (b.at + n) % len(b.text)
	return n, nil
}

// An endless answer is cut off.
func TestStream_Endless(t *testing.T) {
	line := strings.Repeat("x", 1<<20)
	for name, text := range map[string]string{
		"events":   "data: " + line + "\n\n",
		"comments": ": " + line + "\n",
	} {
		s := open(t, t.Context(), &babble{text: text}, "text/event-stream")
		var err error
		for err == nil {
			_, err = s.Next()
		}
		s.Close()
		if e, ok := errors.AsType[*providers.Error](err); !ok || e.Kind != providers.KindProtocol || !strings.Contains(e.Message, "does not end") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range map[string]string{
		"objects": `{"a":"` + line + `"}`, "an object": `{"a":"` + line, "space": strings.Repeat(" ", 1<<20), "fields": ": " + line + "\n",
	} {
		s := open(t, t.Context(), &babble{text: text}, "application/x-ndjson")
		var err error
		for err == nil {
			_, err = s.NextValue()
		}
		s.Close()
		if e, ok := errors.AsType[*providers.Error](err); !ok || e.Kind != providers.KindProtocol {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// piped returns a stream whose body the test writes, in a synctest bubble.
func piped(t *testing.T, cfg *providers.Config) (*Stream, *io.PipeWriter) {
	t.Helper()
	r, w := io.Pipe()
	s, err := Open(t.Context(), cfg, func(ctx context.Context, res **http.Response) error {
		context.AfterFunc(ctx, func() { _ = r.CloseWithError(ctx.Err()) }) // as a body of net/http does
		*res = &http.Response{StatusCode: 200, Body: r}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, w
}

// A gateway that sends only keep-alive messages does not block a turn forever.
func TestStream_SignsOfLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := piped(t, &providers.Config{FirstByteTimeout: 5 * time.Minute})
		done := make(chan struct{})
		defer func() {
			s.Close()
			<-done
		}()
		go func() {
			defer close(done)
			_, err := io.WriteString(w, "data: first\n\n")
			for i := 0; err == nil; i++ {
				time.Sleep(30 * time.Second)
				_, err = io.WriteString(w, []string{": PROCESSING\n\n", "event: ping\ndata: {}\n\n", "\n"}[i%3])
			}
		}()
		if ev, err := s.Next(); err != nil || string(ev.Data) != "first" {
			t.Fatalf("%q, %v", ev.Data, err)
		}
		time.Sleep(time.Hour) // a slow reader is not the gateway's fault
		start := time.Now()
		_, err := s.Next()
		took := time.Since(start)
		if e, ok := errors.AsType[*providers.Error](err); !ok || e.Kind != providers.KindTimeout || took < 5*time.Minute || took > 6*time.Minute {
			t.Errorf("err = %v after %v", err, took)
		}
	})
}

func TestOpen_FirstByte(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// No header of a response.
		cfg := &providers.Config{FirstByteTimeout: 3 * time.Minute, StallTimeout: time.Second}
		start := time.Now()
		_, err := Open(t.Context(), cfg, func(ctx context.Context, _ **http.Response) error {
			<-ctx.Done()
			return ctx.Err()
		})
		if e, ok := errors.AsType[*providers.Error](err); !ok || e.Kind != providers.KindTimeout || time.Since(start) != 3*time.Minute {
			t.Errorf("err = %v after %v", err, time.Since(start))
		}
		// A header but no body: a local model reads its prompt. After the first byte the shorter limit applies.
		s, w := piped(t, cfg)
		defer s.Close()
		go func() {
			time.Sleep(2 * time.Minute)
			_, _ = io.WriteString(w, "data: a\n\n")
		}()
		if ev, err := s.Next(); err != nil || string(ev.Data) != "a" {
			t.Fatalf("%q, %v", ev.Data, err)
		}
		start = time.Now()
		if _, err := s.Next(); err == nil || time.Since(start) != time.Second {
			t.Errorf("err = %v after %v", err, time.Since(start))
		}
	})
}

func TestTransformHeader(t *testing.T) {
	header := http.Header{
		"X-Stainless-Os": {"a"}, "X-Stainless-Lang": {"b"}, "X-Stain": {"c"}, "Openai-Beta": {"d"}, "User-Agent": {"gjc"}, "X-Keep": {"e"}, "X-Drop": {"f"},
	}
	TransformHeader(&providers.Config{Transform: providers.RequestTransform{
		StripHeaders: []string{"x-stainless-*", "OpenAI-Beta"}, SetHeaders: map[string]*string{"user-agent": new("curl"), "X-Drop": nil, "X-New": new("g")},
	}}, header)
	var got []string
	for _, name := range []string{"X-Stainless-Os", "X-Stainless-Lang", "X-Stain", "Openai-Beta", "User-Agent", "X-Keep", "X-Drop", "X-New"} {
		got = append(got, header.Get(name))
	}
	if s := strings.Join(got, ","); s != ",,c,,curl,e,,g" {
		t.Errorf("headers %q", s)
	}
}

func TestExtraBody(t *testing.T) {
	cfg := &providers.Config{
		Compat:    providers.Compat{ExtraBody: map[string]jsonx.Raw{"b": jsonx.Raw(`1`), "model": jsonx.Raw(`"evil"`), "c": jsonx.Raw(`{"d":[]}`)}},
		Transform: providers.RequestTransform{ExtraBody: map[string]jsonx.Raw{"b": jsonx.Raw(`2`), "stream": jsonx.Raw(`false`), "a": jsonx.Raw(`null`)}},
	}
	for body, want := range map[string]string{
		`{"model":"m","b":0,"messages":[{"b":9}],"stream":true}`: `{"model":"m","b":2,"messages":[{"b":9}],"stream":true,"a":null,"c":{"d":[]}}`,
		`{}`: `{"a":null,"b":2,"c":{"d":[]}}`,
	} {
		if got := string(ExtraBody(cfg, []byte(body))); got != want {
			t.Errorf("%s becomes %s, want %s", body, got, want)
		}
	}
	if got := string(ExtraBody(&providers.Config{}, []byte(`{"a": 1}`))); got != `{"a": 1}` {
		t.Errorf("nothing extra: %s", got)
	}
}

// A wait that overflows a time.Duration becomes a long wait, not none.
func TestRetryAfter_Huge(t *testing.T) {
	for _, header := range []http.Header{{"Retry-After": {"99999999999"}}, {"Retry-After": {"Inf"}}, {"Retry-After-Ms": {"1e30"}}} {
		if wait, _ := retryAfter(header, time.Now()); wait < 24*time.Hour {
			t.Errorf("%v is a wait of %s", header, wait)
		}
	}
}
