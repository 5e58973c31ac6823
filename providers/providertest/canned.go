package providertest

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/providers"
)

// A Target is an implementation of [providers.Model] over HTTP.
type Target struct {
	// Open is the implementation's factory.
	Open providers.Factory
	// Format is the format of the API.
	Format Format
}

// testKey is the API key of a target's models; no error may show it.
const testKey = "opaque.0123456789abcdef" // does not look like a key

// Canned returns a model that answers every request with step, from memory. No action of step may need a connection.
func (target Target) Canned(t testing.TB, step Step) providers.Model {
	t.Helper()
	body := target.Format.Body(step)
	return target.open(t, func() io.Reader { return strings.NewReader(body) })
}

// Piped returns a model whose responses the test writes: each request takes the next reader from bodies, which returns data in the
// form of [Format.Body].
func (target Target) Piped(t testing.TB, bodies <-chan io.Reader) providers.Model {
	t.Helper()
	return target.open(t, func() io.Reader { return <-bodies })
}

// open returns a model that answers every request with the next body.
func (target Target) open(t testing.TB, next func() io.Reader) providers.Model {
	t.Helper()
	model, err := target.Open(providers.Config{
		Info: providers.ModelInfo{Provider: "test", ID: "m1"}, BaseURL: "http://model.test" + target.Format.base, APIKey: testKey,
		HTTPClient: &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			return &http.Response{
				StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {cmp.Or(target.Format.contentType, "text/event-stream")}},
				Body: io.NopCloser(next()), Request: r,
			}, nil
		})},
	})
	if err != nil {
		t.Fatal(err)
	}
	return model
}

type roundTripper func(*http.Request) (*http.Response, error)

func (fn roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return fn(r) }

// Answer returns the events of a recorded response, without the reports of usage so far.
func (target Target) Answer(t testing.TB, req *providers.Request, body string) (m providers.Message, events []providers.Event, err error) {
	t.Helper()
	model := target.open(t, func() io.Reader { return strings.NewReader(body) })
	for ev, err := range model.Stream(t.Context(), req) {
		if err != nil {
			return m, events, err
		}
		switch ev := ev.(type) {
		case providers.Done:
			m = ev.Message
		case providers.UsageSoFar:
		default:
			events = append(events, ev)
		}
	}
	return m, events, nil
}

// Body returns the body of the response that a server would send for a step. No action may need a connection.
func (f Format) Body(step Step) string {
	w := httptest.NewRecorder()
	p := player{w: w, ctx: context.Background(), format: f, ew: f.writer(), usage: providers.Usage{Input: 10, Output: 5}}
	p.play(step)
	return w.Body.String()
}
