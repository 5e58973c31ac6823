package dap_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/gajae-code/gjc/dap"
	"github.com/gajae-code/gjc/dap/daptest"
	"github.com/gajae-code/gjc/internal/proc"
)

// benchSession returns a stopped session whose adapter answers at once.
func benchSession(b *testing.B) (*dap.Session, *daptest.Program) {
	b.Helper()
	children := proc.NewGroup(nil)
	d := dap.NewDebugger(dap.Options{Children: children})
	a, address := daptest.Listen(b)
	path := filepath.Join(b.TempDir(), "main.x")
	if err := os.WriteFile(path, []byte("1\n2\n3\n4\n5\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	p := daptest.NewProgram(a, path, daptest.All())
	s, err := d.Start(own(b), &dap.Start{Request: "launch", Address: address, Dir: filepath.Dir(path)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = d.Close(context.Background()) })
	if err := s.Wait(own(b)); err != nil {
		b.Fatal(err)
	}
	return s, p
}

// BenchmarkRequest measures the overhead of a request.
func BenchmarkRequest(b *testing.B) {
	s, _ := benchSession(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Threads(own(b)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStep measures a step with its snapshot: four requests.
func BenchmarkStep(b *testing.B) {
	s, p := benchSession(b)
	before := len(p.Seen())
	n := 0
	for b.Loop() {
		if err := s.Resume(own(b), dap.Resume{Command: "next"}); err != nil {
			b.Fatal(err)
		}
		if err := s.Wait(own(b)); err != nil {
			b.Fatal(err)
		}
		if _, err := s.Snapshot(own(b)); err != nil {
			b.Fatal(err)
		}
		n++
	}
	b.ReportMetric(float64(len(p.Seen())-before)/float64(n), "requests/op")
}

// BenchmarkOutput measures 100,000 output events.
func BenchmarkOutput(b *testing.B) {
	s, p := benchSession(b)
	var storm []byte
	const events = 100_000
	for i := range events {
		storm = append(storm, frame(fmt.Sprintf(`{"seq":%d,"type":"event","event":"output","body":{"category":"stdout","output":"line %d of the storm\n"}}`, i, i))...)
	}
	done := make(chan struct{}, 1)
	count := 0
	defer s.Observe(dap.Observer{Output: func(string, string) {
		if count++; count == events {
			count = 0
			done <- struct{}{}
		}
	}})()
	b.SetBytes(int64(len(storm)))
	b.ReportAllocs()
	for b.Loop() {
		p.Raw(storm)
		<-done
	}
}
