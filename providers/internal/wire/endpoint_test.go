package wire

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/providers"
)

// post sends a body to address as a model would.
func post(t *testing.T, cfg *providers.Config, address string) error {
	t.Helper()
	header := http.Header{"X-Gateway": {"a-secret"}}
	s, err := NewEndpoint(cfg, address, header).Post(t.Context(), []byte(`{"a":1}`))
	if err == nil {
		s.Close()
	}
	return err
}

func TestEndpoint_Redirects(t *testing.T) {
	testenv.NoLeaks(t)
	var strayed int
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strayed++ }))
	defer other.Close()

	var arrived []string
	mux := http.NewServeMux()
	mux.HandleFunc("/arrive", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		arrived = append(arrived, r.Method+" "+string(body)+" "+r.Header.Get("X-Gateway"))
		_, _ = io.WriteString(w, "data: x\n\n")
	})
	for path, to := range map[string]string{"/here": "/arrive", "/away": other.URL + "/arrive", "/loop": "/loop"} {
		mux.Handle(path, http.RedirectHandler(to, http.StatusTemporaryRedirect))
	}
	mux.Handle("/found", http.RedirectHandler("/arrive", http.StatusFound))
	server := httptest.NewServer(mux)
	defer server.Close()

	cfg := &providers.Config{HTTPClient: server.Client()}
	if err := post(t, cfg, server.URL+"/here"); err != nil || len(arrived) != 1 || arrived[0] != `POST {"a":1} a-secret` {
		t.Errorf("to the same server: err %v, got %q", err, arrived)
	}
	for _, path := range []string{"/away", "/loop", "/found"} {
		err := post(t, cfg, server.URL+path)
		e, ok := errors.AsType[*providers.Error](err)
		if !ok || e.Kind != providers.KindInvalid || !strings.Contains(e.Message, "base URL") {
			t.Errorf("%s: err = %v, want one that is not tried again", path, err)
		}
	}
	if strayed != 0 || len(arrived) != 1 {
		t.Errorf("%d requests went to another server, %d arrived", strayed, len(arrived))
	}

	// The given client's own redirect policy still applies, and the client is unchanged.
	strict := *server.Client()
	strict.CheckRedirect = func(*http.Request, []*http.Request) error { return errors.New("not with me") }
	if err := post(t, &providers.Config{HTTPClient: &strict}, server.URL+"/here"); err == nil || !strings.Contains(err.Error(), "not with me") {
		t.Errorf("err = %v, want the client's own", err)
	}
	if server.Client().CheckRedirect != nil {
		t.Error("the client of the config was changed")
	}
}

func TestSameOrigin(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"https://h/a", "https://H:443/b?c", true},
		{"http://h", "http://h:80", true},
		{"http://h", "https://h", false},
		{"https://h", "https://h:8443", false},
		{"https://h", "https://h.evil", false},
	} {
		a, b := httptest.NewRequest("GET", test.a, nil).URL, httptest.NewRequest("GET", test.b, nil).URL
		if got := providers.SameOrigin(a, b); got != test.want {
			t.Errorf("%s and %s: %t", test.a, test.b, got)
		}
	}
}

// openFailed opens a stream whose response is an error with the given body.
func openFailed(ctx context.Context, body *io.PipeReader) error {
	_, err := Open(ctx, &providers.Config{}, func(ctx context.Context, res **http.Response) error {
		context.AfterFunc(ctx, func() { _ = body.CloseWithError(ctx.Err()) }) // as a body of net/http does
		*res = &http.Response{StatusCode: http.StatusTooManyRequests, Body: body}
		return nil
	})
	return err
}

func TestOpen_ErrorBodyThatNeverEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		go func() { _, _ = io.WriteString(w, "slow down") }()
		start := time.Now()
		err := openFailed(t.Context(), r)
		e, ok := errors.AsType[*providers.Error](err)
		if !ok || e.Kind != providers.KindRateLimit || e.Message != "slow down" || time.Since(start) != errorBodyTimeout {
			t.Errorf("err = %v after %v", err, time.Since(start))
		}
	})
}

func TestOpen_CancelledInAnErrorBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("the user cancelled")
		ctx, cancel := context.WithCancelCause(t.Context())
		r, _ := io.Pipe()
		go func() {
			synctest.Wait()
			cancel(cause)
		}()
		if err := openFailed(ctx, r); !errors.Is(err, cause) {
			t.Errorf("err = %v, want the cause", err)
		}
	})
}
