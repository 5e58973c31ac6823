package sandbox_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/sandbox"
	"github.com/gajae-code/gjc/internal/testenv"
)

// BenchmarkBox compares a program in a box that keeps twenty paths with the same program outside. The bound of the design is ten
// milliseconds more in the median.
func BenchmarkBox(b *testing.B) {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	s, err := sandbox.FindKind(sandbox.Bubblewrap, &sandbox.Host{Self: self, Env: os.Environ(), LookPath: exec.LookPath})
	if err != nil {
		testenv.Skip(b, "%v", err)
	}
	root := b.TempDir()
	p := &sandbox.Policy{Write: []string{root}}
	for i := range 20 {
		path := filepath.Join(root, fmt.Sprintf("kept%d", i))
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			b.Fatal(err)
		}
		p.Keep = append(p.Keep, path)
	}
	children := proc.NewGroup(nil)
	defer func() { _ = children.Close(b.Context()) }()
	box, err := s.Open(b.Context(), children, p)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = box.Close(b.Context()) }()
	program, args := box.Wrap("", "/bin/true", nil)
	for _, c := range []struct {
		name string
		args []string
	}{{"bare", []string{"/bin/true"}}, {"box", append([]string{program}, args...)}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if err := exec.CommandContext(b.Context(), c.args[0], c.args[1:]...).Run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			box, err := s.Open(b.Context(), children, p)
			if err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			_ = box.Close(b.Context())
			b.StartTimer()
		}
	})
	b.Run("close", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			box, err := s.Open(b.Context(), children, p)
			if err != nil {
				b.Fatal(err)
			}
			if err := exec.CommandContext(b.Context(), program, args...).Run(); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			_ = box.Close(b.Context())
		}
	})
}
