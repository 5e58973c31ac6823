//go:build unix

package proc_test

import (
	"io"
	"os/exec"
	"testing"

	"github.com/gajae-code/gjc/internal/proc"
)

// BenchmarkStart runs /bin/true, here and with os/exec alone.
func BenchmarkStart(b *testing.B) {
	path, err := exec.LookPath("true")
	if err != nil {
		b.Skip(err)
	}
	b.Run("proc", func(b *testing.B) {
		for b.Loop() {
			p, err := proc.Start(b.Context(), &proc.Options{Path: path, Stdout: io.Discard})
			if err != nil {
				b.Fatal(err)
			}
			<-p.Done()
		}
	})
	b.Run("exec", func(b *testing.B) {
		for b.Loop() {
			cmd := exec.Command(path)
			cmd.Stdout, cmd.Stderr = io.Discard, nil
			if err := cmd.Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkSweep searches for a mark that no process on the machine has.
func BenchmarkSweep(b *testing.B) {
	for b.Loop() {
		proc.Sweep("none")
	}
}
