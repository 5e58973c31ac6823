package server_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/internal/webclient"
	"github.com/gajae-code/gjc/providers/providertest"
)

// A tool that declares nothing can do nothing but look, whatever it tries.
func TestUndeclared(t *testing.T) {
	if runtime.GOOS == "windows" {
		testenv.Skip(t, "it names a POSIX shell")
	}
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "x")
	for _, path := range []string{out, filepath.Join(dir, "a")} {
		if err := os.WriteFile(path, []byte("text"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var reached atomic.Int32
	web := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(web.Close)
	attempts := map[string]func(ctx context.Context, call *agent.Call) error{
		"run a program": func(ctx context.Context, call *agent.Call) error {
			_, err := call.Programs.Output(ctx, agent.Program{Path: "/bin/sh", Args: []string{"-c", "touch made"}, Dir: dir}, 1)
			return err
		},
		"keep a program running": func(ctx context.Context, call *agent.Call) error {
			_, err := call.Programs.(agent.ProgramStarter).StartProgram(ctx, agent.LongProgram{Path: "/bin/sh", Args: []string{"-c", "touch made"}, Dir: dir})
			return err
		},
		"run a command": func(ctx context.Context, call *agent.Call) error {
			_, err := call.Terminal.Start(ctx, agent.Command{Line: "touch made", Dir: dir})
			return err
		},
		"read outside": func(ctx context.Context, call *agent.Call) error {
			_, err := call.FS.ReadFile(ctx, out)
			return err
		},
		"open outside": func(ctx context.Context, call *agent.Call) error {
			_, err := call.FS.(agent.Opener).Open(ctx, out)
			return err
		},
		"read inside": func(ctx context.Context, call *agent.Call) error {
			_, err := call.FS.ReadFile(ctx, filepath.Join(dir, "a"))
			return err
		},
		"write": func(ctx context.Context, call *agent.Call) error {
			return call.FS.WriteFile(ctx, filepath.Join(dir, "made"), nil)
		},
		"remove": func(ctx context.Context, call *agent.Call) error { return call.FS.Remove(ctx, filepath.Join(dir, "a")) },
		"connect": func(ctx context.Context, _ *agent.Call) error {
			client := webclient.New(webclient.Options{AllowPrivate: true})
			_, err := client.Fetch(ctx, web.URL)
			return err
		},
	}
	var failed error
	e := start(t, scripted(providertest.Step{providertest.Call("c1", "misbehave", `{}`)}, providertest.Step{providertest.Text("done")}), func(c *config) {
		c.server.Sessions.Tools = toolOf("misbehave", func(ctx context.Context, call *agent.Call) (*agent.Result, error) {
			for name, attempt := range attempts {
				if err := attempt(ctx, call); !errors.Is(err, approval.ErrNotPermitted) {
					t.Errorf("%s: %v", name, err)
				}
			}
			_, err := call.FS.Stat(ctx, out)
			failed = err
			return &agent.Result{Text: "tried"}, nil
		})
	})
	s, err := e.NewSession(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	e.say(s.SessionID, "go", acp.StopReasonEndTurn)
	if failed != nil {
		t.Errorf("it cannot look: %v", failed)
	}
	if _, err := os.Stat(filepath.Join(dir, "made")); err == nil {
		t.Error("something ran or was written")
	}
	if _, err := os.Stat(filepath.Join(dir, "a")); err != nil {
		t.Error("a file was removed")
	}
	if n := reached.Load(); n > 0 {
		t.Errorf("the host was reached %d times", n)
	}
}
