package config_test

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/gajae-code/gjc/dap"
	"github.com/gajae-code/gjc/dap/config"
	"github.com/gajae-code/gjc/internal/testenv"
)

// The machine's own programs are found, and what is found can be run.
func TestCatalog_Machine(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil {
		testenv.Skip(t, "no home directory: %v", err)
	}
	c := config.New(config.Options{Roots: []string{t.TempDir()}, Home: home, Env: func(context.Context) []string { return os.Environ() }})
	list, err := c.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Adapters)+len(list.Unused) < 14 {
		t.Errorf("%d adapters and %d others", len(list.Adapters), len(list.Unused))
	}
	for _, s := range list.Adapters {
		t.Logf("%s: %s %q %q", s.Name, s.Path, s.Args, s.Notes)
		if info, err := os.Stat(s.Path); err != nil || !info.Mode().IsRegular() {
			t.Errorf("%s: %v", s.Path, err)
		}
	}
	if spec, err := c.Find(t.Context(), dap.Wanted{Adapter: "debugpy"}); err != nil {
		t.Logf("debugpy: %v", err)
	} else if out, err := exec.CommandContext(t.Context(), spec.Path, "-c", "import debugpy.adapter").CombinedOutput(); err != nil {
		t.Errorf("%s: %v %s", spec.Path, err, out)
	}
}
