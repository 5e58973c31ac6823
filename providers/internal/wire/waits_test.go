package wire

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// failed returns the error of a response with a status.
func failed(t *testing.T, status int, header http.Header, body io.Reader) *providers.Error {
	t.Helper()
	err := statusOf(t, status, header, body)
	e, ok := err.(*providers.Error) //nolint:errorlint // this is what makes it
	if !ok {
		t.Fatalf("err = %v", err)
	}
	return e
}

func statusOf(t *testing.T, status int, header http.Header, body io.Reader) error {
	t.Helper()
	data, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return statusError(&providers.Config{}, &http.Response{StatusCode: status, Header: header}, data)
}

// The texts of OpenAI's errors contain the wait, also in the stream.
func TestSaidWait(t *testing.T) {
	for words, want := range map[string]time.Duration{
		"Please try again in 1.2s. Visit":    1200 * time.Millisecond,
		"Please try again in 20ms.":          20 * time.Millisecond,
		"Please try again in 6m0s.":          6 * time.Minute,
		"try again in 1h2m3.5s":              time.Hour + 2*time.Minute + 3500*time.Millisecond,
		"Please retry after 20 seconds.":     20 * time.Second,
		"TRY AGAIN IN 1 Minute":              time.Minute,
		"try again in 500 milliseconds":      500 * time.Millisecond,
		"try again in 99999999h":             0,
		"try again in 3 shakes":              0,
		"try again in 3small":                0,
		"try again later, in 3s":             0,
		"try again in 99999999999999999999h": 0,
	} {
		body := `{"error":{"message":` + string(jsonx.AppendString(nil, words)) + `,"type":"tokens","code":"rate_limit_exceeded"}}`
		if e := failed(t, 429, nil, strings.NewReader(body)); e.RetryAfter != want || e.Kind != providers.KindRateLimit {
			t.Errorf("%s: %+v, want %s", words, e, want)
		}
		if e := failed(t, 429, http.Header{"Retry-After": {"7"}}, strings.NewReader(body)); e.RetryAfter != 7*time.Second {
			t.Errorf("%s with a header: %s", words, e.RetryAfter)
		}
		if e := failed(t, 400, nil, strings.NewReader(`{"error":"`+words+`"}`)); e.RetryAfter != 0 {
			t.Errorf("%s of no limit: %s", words, e.RetryAfter)
		}
	}
}

func TestLimitEnds(t *testing.T) {
	now := time.Now().Truncate(time.Second).UTC()
	in := func(d time.Duration) string { return now.Add(d).Format(time.RFC3339) }
	unix := func(d time.Duration) string { return strconv.FormatInt(now.Add(d).Unix(), 10) }
	const limit = "Anthropic-Ratelimit-"
	for _, test := range []struct {
		header map[string]string
		want   time.Duration // from now; zero for none
	}{
		{map[string]string{"Unified-Reset": unix(time.Hour), "Tokens-Reset": in(time.Minute)}, time.Hour},
		{map[string]string{"Unified-Reset": unix(time.Hour), "Tokens-Reset": in(time.Minute), "Tokens-Remaining": "0"}, time.Minute},
		{map[string]string{"Unified-Reset": "soon", "Input-Tokens-Reset": in(time.Minute), "Requests-Reset": in(2 * time.Minute)}, time.Minute},
		{map[string]string{"Unified-Reset": unix(-time.Hour), "Requests-Reset": in(-time.Hour)}, 0},
		{map[string]string{"Unified-Reset": "999999999999999999"}, 0},
		{map[string]string{"Requests-Reset": "x", "Requests-Limit": "5"}, 0},
	} {
		header := http.Header{}
		for name, value := range test.header {
			header.Set(limit+name, value)
		}
		want := now.Add(test.want)
		if e := failed(t, 429, header, strings.NewReader("")); e.ResetsAt.IsZero() != (test.want == 0) || test.want > 0 && !e.ResetsAt.Equal(want) {
			t.Errorf("%v: %s, want %s", test.header, e.ResetsAt, want)
		}
	}
	if e := failed(t, 500, http.Header{limit + "Unified-Reset": {unix(time.Hour)}}, strings.NewReader("")); !e.ResetsAt.IsZero() {
		t.Errorf("a failure has no limit: %s", e.ResetsAt)
	}
}

// An error whose body arrives slowly is returned with the part that has arrived.
func TestOpen_ErrorBodyThatTrickles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		done := make(chan struct{})
		defer func() { <-done }()
		go func() {
			defer close(done)
			_, err := io.WriteString(w, "busy")
			for err == nil {
				time.Sleep(time.Second)
				_, err = io.WriteString(w, ".")
			}
		}()
		start := time.Now()
		err := openFailed(t.Context(), r)
		if e, ok := err.(*providers.Error); !ok || e.Kind != providers.KindRateLimit || !strings.HasPrefix(e.Message, "busy..") || time.Since(start) != errorBodyTimeout { //nolint:errorlint // this is what makes it
			t.Errorf("err = %v after %v", err, time.Since(start))
		}
	})
}
