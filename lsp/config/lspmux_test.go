package config_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/internal/workspace"
	"github.com/gajae-code/gjc/lsp/config"
)

// asLspmux is the environment variable that makes the test binary act as lspmux; its value selects the behavior.
const asLspmux = "GJC_TEST_LSPMUX"

func TestMain(m *testing.M) {
	if does := os.Getenv(asLspmux); does != "" {
		if log := os.Getenv("GJC_TEST_LOG"); log != "" {
			f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			if err != nil {
				os.Exit(9)
			}
			fmt.Fprintln(f, os.Args[1:])
			f.Close()
		}
		switch does {
		case "hangs":
			select {}
		case "fails":
			fmt.Fprintln(os.Stderr, "connection refused")
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(testenv.Run(m))
}

func TestLspmux(t *testing.T) {
	testenv.NoLeaks(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, does  string
		missing     string // "program" or "config"
		env         string
		runs, there bool
		says        string
	}{
		{name: "runs", does: "runs", runs: true, there: true, says: "lspmux is running"},
		{name: "does not run", does: "fails", there: true, says: "connection refused"},
		{name: "hangs", does: "hangs", there: true, says: "did not answer"},
		{name: "not on PATH", does: "runs", missing: "program", says: "not on PATH"},
		{name: "no configuration", does: "runs", missing: "config", says: "no configuration"},
		{name: "turned off", does: "runs", env: "GJC_DISABLE_LSPMUX=1", says: "GJC_DISABLE_LSPMUX=1 turns it off"},
		{name: "turned off by the old name", does: "runs", env: "PI_DISABLE_LSPMUX=1", says: "PI_DISABLE_LSPMUX=1 turns it off"},
	} {
		try := func(t *testing.T) {
			m, c, log, children := muxMachine(t, tt.missing, func() []string { return []string{asLspmux + "=" + tt.does, tt.env} })
			ra := spec(t, c, m.path("x.rs"), "rust-analyzer")
			if tt.runs {
				if ra.Path != self || !slices.Equal(ra.Args, []string{"client", "--server-path", usr("rust-analyzer")}) {
					t.Errorf("%s %q", ra.Path, ra.Args)
				}
			} else if ra.Path != usr("rust-analyzer") || len(ra.Args) > 0 {
				t.Errorf("%s %q", ra.Path, ra.Args)
			}
			if again := spec(t, c, m.path("x.rs"), "rust-analyzer"); again != ra {
				t.Error("one server has two specs")
			}
			status, err := c.Lspmux(t.Context())
			if err != nil || status.Running != tt.runs || (status.Path != "") != tt.there || !strings.Contains(status.String(), tt.says) {
				t.Errorf("%+v (%s), %v", status, status, err)
			}
			// It is probed once.
			text, _ := os.ReadFile(log)
			n := strings.Count(string(text), "[status]")
			early := tt.does == "hangs" && n == 0 // it was killed before it could write the log
			if n != strings.Count(string(text), "\n") || (n == 1) != tt.there && !early {
				t.Errorf("lspmux was run with %q", text)
			}
			if children.Len() > 0 {
				t.Error("the probe lives on")
			}
		}
		t.Run(tt.name, func(t *testing.T) {
			if tt.does == "hangs" {
				try(t)
				return
			}
			// In a synctest bubble, the timeout of the probe does not pass while a process starts.
			synctest.Test(t, try)
		})
	}
}

// muxMachine returns a machine with rust-analyzer and lspmux, which is the test binary and writes its arguments to log.
func muxMachine(t *testing.T, missing string, env func() []string) (m *machine, c *config.Catalog, log string, children *proc.Group) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m = newMachine(t, "rust-analyzer")
	m.write("Cargo.toml", "")
	dir := filepath.Join(m.home, "config")
	file := filepath.Join(dir, "lspmux", "config.toml")
	switch runtime.GOOS {
	case "darwin":
		file = filepath.Join(m.home, "Library", "Application Support", "lspmux", "config.toml")
	case "windows":
		file = filepath.Join(dir, "lspmux", "config", "config.toml")
	}
	if missing != "config" {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	log = filepath.Join(m.home, "log")
	children = proc.NewGroup(nil)
	t.Cleanup(func() { children.Close(context.Background()) })
	base := []string{"GJC_TEST_LOG=" + log, "XDG_CONFIG_HOME=" + dir, "APPDATA=" + dir, "GORACE=atexit_sleep_ms=0", "SystemRoot=" + os.Getenv("SystemRoot")}
	c = config.New(config.Options{
		Roots: []string{m.root}, Home: m.home, Children: children,
		Env: func(context.Context) []string { return append(base[:len(base):len(base)], env()...) },
		LookPath: func(command string, _ []string) (string, error) {
			switch {
			case command == "lspmux" && missing != "program":
				return self, nil
			case command == "rust-analyzer":
				return usr("rust-analyzer"), nil
			}
			return "", fs.ErrNotExist
		},
	})
	return m, c, log, children
}

// TestLspmux_StartsAndStops checks that an lspmux that starts later does not start a second rust-analyzer, and that one that has ended
// is not used again.
func TestLspmux_StartsAndStops(t *testing.T) {
	does := "fails"
	synctest.Test(t, func(t *testing.T) {
		m, c, _, _ := muxMachine(t, "", func() []string { return []string{asLspmux + "=" + does} })
		check := func(what string, shared bool) {
			t.Helper()
			if got := spec(t, c, m.path("x.rs"), "rust-analyzer"); (len(got.Args) > 0) != shared {
				t.Errorf("%s: %s %q", what, got.Path, got.Args)
			}
		}
		check("not there", false)
		does = "runs"
		time.Sleep(6 * time.Minute)
		check("there too late", false)
		c.Changed(nil)
		check("there after a restart", true)
		does = "fails"
		check("gone just now", true)
		time.Sleep(6 * time.Minute)
		check("gone", false)
	})
}

// TestCatalog_MaxAge checks that a server that is installed later is found after MaxAge.
func TestCatalog_MaxAge(t *testing.T) {
	m := newMachine(t)
	m.write("go.mod", "")
	synctest.Test(t, func(t *testing.T) {
		m.t = t
		var onPath []string
		c := config.New(config.Options{Roots: []string{m.root}, LookPath: func(command string, _ []string) (string, error) {
			if slices.Contains(onPath, command) {
				return usr(command), nil
			}
			return "", fs.ErrNotExist
		}})
		if got := m.forFile(c, "x.go"); got != "" {
			t.Errorf("got %q", got)
		}
		onPath = []string{"gopls"}
		time.Sleep(workspace.MaxAge - 1)
		if got := m.forFile(c, "x.go"); got != "" {
			t.Errorf("got %q: read anew too early", got)
		}
		time.Sleep(time.Nanosecond)
		if got := m.forFile(c, "x.go"); got != "gopls" {
			t.Errorf("got %q", got)
		}
	})
}
