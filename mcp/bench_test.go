package mcp_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/gajae-code/gjc/mcp"
)

// BenchmarkStart measures how much the servers delay the response to a new session ("start"), and how long they take to start and
// stop.
func BenchmarkStart(b *testing.B) {
	for _, n := range []int{0, 1, 5} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var servers []mcp.Server
			for i := range n {
				s := fake(b, "kit-stateless")
				s.Name = fmt.Sprint("kit-", i)
				servers = append(servers, s)
			}
			opts := mcp.Options{Cwd: b.TempDir(), Env: os.Environ()}
			var total time.Duration
			for b.Loop() {
				began := time.Now()
				set := mcp.NewSet(opts, servers)
				set.Start()
				total += time.Since(began)
				if err := set.Close(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(total.Nanoseconds())/float64(b.N)/1e3, "start-µs/op")
		})
	}
}

// BenchmarkCall measures the round trip of a call to a stdio server.
func BenchmarkCall(b *testing.B) {
	set := start(b, mcp.Options{}, fake(b, "kit-stateless")).connected()
	tool := set.tool("kit-stateless", "echo")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := set.Call(b.Context(), tool, []byte(`{"text":"hello"}`), nil); err != nil {
			b.Fatal(err)
		}
	}
}
