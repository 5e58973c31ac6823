package openai_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/openai"
)

// FuzzAnswer reads arbitrary responses. An answer has one end, and can be sent back.
func FuzzAnswer(f *testing.F) {
	for _, body := range []string{
		sse(`{"type":"response.output_item.added","item":{"id":"f","type":"function_call","call_id":"c","name":"a"}}`, `{"type":"response.function_call_arguments.delta","item_id":"f","delta":"{"}`, completed),
		sse(`{"type":"response.reasoning_summary_text.delta","item_id":"r","delta":"x","summary_index":1}`, `{"type":"response.output_item.done","item":{"id":"r","type":"reasoning","summary":[],"encrypted_content":"x"}}`, completed),
		"data: {\"choices\":[{\"delta\":{\"content\":[{\"type\":\"thinking\",\"thinking\":\"x\"}],\"reasoning_details\":[{\"data\":\"x\"}]},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		for _, open := range []providers.Factory{openai.Open, openai.OpenResponses} {
			m, err := open(providers.Config{
				Info: providers.ModelInfo{Provider: "p", ID: "m"},
				HTTPClient: &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
					if sent, err := io.ReadAll(r.Body); err != nil || !jsonx.Valid(sent) {
						t.Errorf("the request is %s (%v)", sent, err)
					}
					return &http.Response{
						StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: r, Body: io.NopCloser(strings.NewReader(body)),
					}, nil
				})},
			})
			if err != nil {
				t.Fatal(err)
			}
			ends := 0
			req := hello()
			for ev, err := range m.Stream(t.Context(), req) {
				if ends > 0 {
					t.Fatal("the stream continues after its end")
				}
				done, ok := ev.(providers.Done)
				if ok || err != nil {
					ends++
				}
				if ok {
					req.Messages = append(req.Messages, done.Message)
				}
			}
			if ends != 1 {
				t.Fatalf("%d ends", ends)
			}
			for _, err := range m.Stream(t.Context(), req) {
				if e, ok := errors.AsType[*providers.Error](err); ok && strings.Contains(e.Message, "encoding the request") {
					t.Fatal(err)
				}
			}
		}
	})
}
