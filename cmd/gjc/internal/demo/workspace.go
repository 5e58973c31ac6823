package demo

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/gajae-code/gjc/internal/proc"
)

// files is a Go module with a bug and a test that finds it.
var files = map[string]string{
	"go.mod": "module example.com/calc\n\ngo 1.21\n",
	"calc.go": `// Package calc adds.
package calc

// Add returns the sum of a and b.
func Add(a, b int) int {
	return a - b
}
`,
	"calc_test.go": `package calc

import "testing"

func TestAdd(t *testing.T) {
	if got := Add(2, 3); got != 5 {
		t.Errorf("Add(2, 3) = %d, want 5", got)
	}
}
`,
	"AGENTS.md": "Run go test ./... after each change.\n",
}

// makeWorkspace writes the files and commits them.
func (d *demo) makeWorkspace(ctx context.Context) error {
	if err := os.MkdirAll(d.work, 0o755); err != nil {
		return err
	}
	written := time.Now()
	for name, text := range files {
		path := filepath.Join(d.work, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
		// All files get the same modification time, so that listings by age always have the same order.
		if err := os.Chtimes(path, written, written); err != nil {
			return err
		}
	}
	for _, args := range [][]string{
		{"git", "init", "--quiet"},
		{"git", "add", "."},
		{"git", "-c", "user.name=demo", "-c", "user.email=demo@example.com", "commit", "--quiet", "-m", "calc: add"},
	} {
		path, err := exec.LookPath(args[0])
		if err != nil {
			return fmt.Errorf("the demo needs git and Go on PATH: %w", err)
		}
		p, err := proc.Start(ctx, &proc.Options{Path: path, Args: args[1:], Dir: d.work, Env: d.env})
		if err != nil {
			return err
		}
		if _, err := p.Wait(ctx); err != nil {
			p.Kill()
			return err
		}
		if err := p.Err(); err != nil {
			return fmt.Errorf("%s %s: %w", args[0], args[1], err)
		}
	}
	if _, err := exec.LookPath("go"); err != nil {
		return fmt.Errorf("the demo needs git and Go on PATH: %w", err)
	}
	return nil
}
