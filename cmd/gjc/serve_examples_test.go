package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/testenv"
)

// The servers of the examples are started with flags that exist.
func TestServe_Examples(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(testenv.ModuleRoot(t), "examples", "serve")
	for name, find := range map[string]*regexp.Regexp{
		"gjc.service":  regexp.MustCompile(`(?m)^ExecStart=\S+ serve (.*)$`),
		"compose.yaml": regexp.MustCompile(`(?s)- serve\n(.*?)\n    secrets:`),
	} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		m := find.FindSubmatch(text)
		if m == nil {
			t.Errorf("%s starts no server", name)
			continue
		}
		args := strings.Fields(strings.ReplaceAll(string(m[1]), "- --", "--"))
		serve, _, err := newRoot(&host{env: []string{"HOME=" + t.TempDir()}}, new(options)).Find([]string{"serve"})
		if err != nil {
			t.Fatal(err)
		}
		if err := serve.ParseFlags(args); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !serve.Flags().Changed("drain") || !serve.Flags().Changed("tls-cert") {
			t.Errorf("%s: %q", name, args)
		}
	}
}
