package bridges_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/bridges"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/testenv"
)

// env is a workspace, an editor, and the bridges between them.
type env struct {
	bridges.Set
	t      *testing.T
	dir    string
	editor *acptest.Editor
	conn   *acp.AgentConn
}

// shell runs the commands.
var shell = "/bin/sh"

func local() bridges.Local {
	return bridges.Local{
		Shell: bridges.FindShell(shell), Env: append(os.Environ(), "ANTHROPIC_API_KEY=secret"),
	}
}

// noAgent is an agent that is never called.
type noAgent struct{ acp.Agent }

// start returns the bridges of an editor with the given capabilities. Without capabilities they are local.
func start(t *testing.T, caps *acp.ClientCapabilities, change ...func(*acptest.EditorOptions)) *env {
	t.Helper()
	testenv.NoLeaks(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	e := &env{t: t, dir: filepath.Join(dir, "work")}
	if err := os.Mkdir(e.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	opts := acptest.EditorOptions{Capabilities: caps, Env: os.Environ()}
	for _, fn := range change {
		fn(&opts)
	}
	a, b := net.Pipe()
	e.conn = acp.NewAgentConn(context.Background(), b, b, &acp.ConnOptions{Closer: b}, func(*acp.AgentConn) acp.Agent { return noAgent{} })
	e.editor = acptest.NewEditor(context.Background(), a, a, a, opts)
	children := proc.NewGroup(nil)
	e.Set = bridges.New(bridges.Options{
		Client: e.conn, Capabilities: *caps, SessionID: "s", Workspace: agent.Workspace{Cwd: e.dir}, Children: children,
		Local: local(),
	})
	t.Cleanup(func() {
		if n := e.editor.OpenTerminals(); n > 0 {
			t.Errorf("%d terminals of the editor were not released", n)
		}
		if n := children.Len(); n > 0 {
			t.Errorf("%d local children are left", n)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := children.Close(ctx); err != nil {
			t.Error(err)
		}
		_ = e.editor.Close()
		_ = e.conn.Close()
	})
	return e
}

// implementations runs a suite with the bridges of an editor and with the local ones.
func implementations(t *testing.T, suite func(t *testing.T, start func(t *testing.T) *env)) {
	for name, caps := range map[string]*acp.ClientCapabilities{"editor": acptest.AllCapabilities(), "local": {}} {
		t.Run(name, func(t *testing.T) {
			suite(t, func(t *testing.T) *env { return start(t, caps) })
		})
	}
}

func (e *env) path(name string) string { return filepath.Join(e.dir, name) }

func (e *env) put(name, text string) string {
	e.t.Helper()
	if err := os.MkdirAll(filepath.Dir(e.path(name)), 0o777); err != nil {
		e.t.Fatal(err)
	}
	if err := os.WriteFile(e.path(name), []byte(text), 0o644); err != nil {
		e.t.Fatal(err)
	}
	return e.path(name)
}
