package boundary

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/gajae-code/gjc/internal/places"
)

// BenchmarkAccess scans a project of 10,000 files, which happens before and after each command inside.
func BenchmarkAccess(b *testing.B) {
	root := b.TempDir()
	for i := range 10_000 {
		path := filepath.Join(root, fmt.Sprint("pkg", i%500), fmt.Sprint("file", i, ".go"))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	paths := &places.Paths{Roots: []string{root}, RealRoots: []string{root}, Real: realPath}
	for b.Loop() {
		if a := new(Settings).Access(b.Context(), paths, nil); len(a.Write) != 1 {
			b.Fatal(a.Write)
		}
	}
}
