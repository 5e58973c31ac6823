package server_test

import (
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/anthropic"
	"github.com/gajae-code/gjc/providers/google"
	"github.com/gajae-code/gjc/providers/openai"
	"github.com/gajae-code/gjc/providers/providertest"
)

// targets returns the measured APIs by name.
func targets() map[string]providertest.Target {
	return map[string]providertest.Target{
		"anthropic":   {Open: anthropic.Open, Format: providertest.AnthropicMessages()},
		"completions": {Open: openai.Open, Format: providertest.OpenAICompletions()},
		"responses":   {Open: openai.OpenResponses, Format: providertest.OpenAIResponses()},
		"google":      {Open: google.Open, Format: providertest.Gemini()},
	}
}

// BenchmarkPipeline5000Deltas measures 5000 deltas from the bytes of the response to the editor's handler. The target is 300,000
// deltas a second.
func BenchmarkPipeline5000Deltas(b *testing.B) {
	const n = 5000
	for name, target := range targets() {
		b.Run(name, func(b *testing.B) {
			model := target.Canned(b, providertest.Repeat(n, func(i int) providertest.Action { return providertest.Text("word" + strconv.Itoa(i) + " ") }))
			e := benchModel(b, model, nil)
			dir := b.TempDir()
			b.ReportAllocs()
			for b.Loop() {
				// Use a new session, because in a long conversation the requests would dominate.
				b.StopTimer()
				s, err := e.NewSession(b.Context(), dir)
				if err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				if _, err := e.Prompt(b.Context(), s.SessionID, "go"); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "deltas/s")
		})
	}
}

// BenchmarkFirstChunk measures the time from the first byte of a model's answer to the editor's handler. The target is a median of
// 200 µs.
func BenchmarkFirstChunk(b *testing.B) {
	for name, target := range targets() {
		b.Run(name, func(b *testing.B) {
			body := target.Format.Body(providertest.Step{providertest.Text("hello")})
			// The model stops after its first words.
			at := strings.Index(body, "hello")
			at += strings.Index(body[at:], "\n\n") + 2
			bodies := make(chan io.Reader, 1)
			arrived := make(chan struct{}, 1)
			e := benchModel(b, target.Piped(b, bodies), func(n *acp.SessionNotification) {
				if _, ok := n.Update.(*acp.AgentMessageChunk); ok {
					arrived <- struct{}{}
				}
			})
			s, err := e.NewSession(b.Context(), b.TempDir())
			if err != nil {
				b.Fatal(err)
			}
			var took []time.Duration
			for b.Loop() {
				r, w := io.Pipe()
				bodies <- r
				done := make(chan error, 1)
				go func() {
					_, err := e.Prompt(b.Context(), s.SessionID, "go")
					done <- err
				}()
				// The write returns when the client has read the byte. The clock starts then.
				_, _ = io.WriteString(w, body[:1])
				start := time.Now()
				_, _ = io.WriteString(w, body[1:at])
				<-arrived
				took = append(took, time.Since(start))
				_, _ = io.WriteString(w, body[at:])
				_ = w.Close()
				if err := <-done; err != nil {
					b.Fatal(err)
				}
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "µs/median")
		})
	}
}

func benchModel(b *testing.B, model providers.Model, updated func(*acp.SessionNotification)) *acptest.Editor {
	b.Helper()
	return benchServer(b, model, acptest.EditorOptions{Updated: updated})
}
