package hub_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/gajae-code/gjc/acp/hub"
	"github.com/gajae-code/gjc/internal/jsonx"
)

const delta = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"0197f2c1-0000-7000-8000-000000000001","update":{"sessionUpdate":"agent_message_chunk","messageId":"0197f2c1-0000-7000-8000-000000000002","content":{"type":"text","text":"word "}}}}` + "\n"

// flood opens a session for session/new, and sends n deltas for each prompt.
func flood(n int) func(context.Context, io.Reader, io.Writer) error {
	return func(_ context.Context, r io.Reader, w io.Writer) error {
		lines := bufio.NewScanner(r)
		for lines.Scan() {
			var m wire
			if err := jsonx.Unmarshal(lines.Bytes(), &m); err != nil {
				return err
			}
			if m.Method == "session/prompt" {
				for range n {
					if _, err := io.WriteString(w, delta); err != nil {
						return nil
					}
				}
			}
			if _, err := fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"sessionId":"0197f2c1-0000-7000-8000-000000000001"}}`+"\n", m.ID); err != nil {
				return nil
			}
		}
		return nil
	}
}

// BenchmarkDelta passes deltas from an engine to a client: through the hub, and directly.
func BenchmarkDelta(b *testing.B) {
	const deltas = 1000
	h := hub.New(hub.Options{Dial: inProcess(flood(deltas))})
	b.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	for _, run := range []struct {
		name  string
		serve func(ctx context.Context, r io.Reader, w io.Writer) error
	}{
		{"direct", flood(deltas)},
		{"hub", func(ctx context.Context, r io.Reader, w io.Writer) error {
			return h.Serve(ctx, r, w, hub.Client{Scopes: all})
		}},
	} {
		b.Run(run.name, func(b *testing.B) {
			x, y := net.Pipe()
			done := make(chan error, 1)
			go func() {
				done <- run.serve(context.Background(), y, y)
				_ = y.Close()
			}()
			r := bufio.NewReader(x)
			call := func(method string, lines int) {
				if _, err := fmt.Fprintf(x, `{"jsonrpc":"2.0","id":1,"method":"%s","params":{"sessionId":"0197f2c1-0000-7000-8000-000000000001","prompt":[]}}`+"\n", method); err != nil {
					b.Fatal(err)
				}
				for range lines {
					if _, err := r.ReadSlice('\n'); err != nil {
						b.Fatal(err)
					}
				}
			}
			call("session/new", 1)
			b.ReportAllocs()
			for b.Loop() {
				call("session/prompt", deltas+1)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*deltas), "ns/delta")
			_ = x.Close()
			if err := <-done; err != nil {
				b.Error(err)
			}
		})
	}
}
