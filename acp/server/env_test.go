package server_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/acp/server"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/tools"
	"github.com/gajae-code/gjc/bridges"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/offline"
	"github.com/gajae-code/gjc/providers/providertest"
	"github.com/gajae-code/gjc/sessions"
)

// models is a registry of fixed models, by reference; the first is the default.
type models struct {
	list []providers.Model
	err  error
}

func (m *models) Load(context.Context) error { return m.err }

func (m *models) Refresh(context.Context) (bool, error) { return false, m.err }

func (m *models) ModelsIn(string) []providers.ModelInfo {
	var infos []providers.ModelInfo
	for _, model := range m.list {
		infos = append(infos, model.Info())
	}
	return infos
}

func (m *models) DefaultIn(string) (providers.ModelInfo, bool) { return m.list[0].Info(), true }

func (m *models) DisabledIn(string, string) bool { return false }

func (m *models) Lookup(ref string) (providers.ModelInfo, bool) {
	for _, model := range m.list {
		if info := model.Info(); info.Ref() == ref {
			return info, true
		}
	}
	return providers.ModelInfo{}, false
}

func (m *models) Find(ref string) (providers.ModelInfo, providers.ThinkingLevel, error) {
	for _, model := range m.list {
		info := model.Info()
		if info.Ref() == ref {
			return info, "", nil
		}
		if level, ok := strings.CutPrefix(ref, info.Ref()+":"); ok {
			return info, providers.ThinkingLevel(level), nil
		}
	}
	return providers.ModelInfo{}, "", &providers.Error{Kind: providers.KindModel, Provider: "test", Message: "no model " + ref}
}

func (m *models) Open(ctx context.Context, info providers.ModelInfo) (providers.Model, error) {
	for _, model := range m.list {
		if model.Info().Ref() == info.Ref() {
			return model, nil
		}
	}
	return nil, errors.New("no such model")
}

func (m *models) Reload(ctx context.Context) error { return m.Load(ctx) }

func (m *models) Accounts() []providers.Account { return nil }

func (m *models) Logout() error { return nil }

func (m *models) Providers() []providers.ProviderState { return nil }

func (m *models) SetProvider(string, string, string, map[string]string) error {
	return providers.ErrUnknownProvider
}

func (m *models) DisableProvider(string) error { return nil }

// env is an in-memory server with an editor.
type env struct {
	*acptest.Editor
	t    *testing.T
	dir  string // the workspace
	done chan error
	stop func() // disconnects the editor from the server

	mu      sync.Mutex
	cancels int // number of $/cancel_request notifications from the agent
}

// config is the configuration for start.
type config struct {
	server server.Options
	editor acptest.EditorOptions
	store  sessions.StoreOptions
	agent  string // the agent directory
}

// machine returns the options of a machine, as cmd/gjc builds them.
func machine(local bridges.Local) server.MachineOptions {
	return server.MachineOptions{Environ: local.Environ, Bridges: func(o server.BridgeOptions) server.Bridges {
		return serverBridges(bridges.New(bridges.Options{
			Client: o.Client, Capabilities: o.Capabilities, SessionID: o.SessionID, Workspace: o.Workspace,
			Children: o.Children, Local: local, Mark: o.Mark, Apart: o.Apart,
		}))
	}}
}

func serverBridges(set bridges.Set) server.Bridges {
	return server.Bridges{
		FS: set.FS, Terminal: set.Terminal, Programs: set.Programs, Approver: set.Approver, Elicitor: set.Elicitor, Close: set.Close,
		Child: func(id acp.SessionID) server.Bridges { return serverBridges(set.Child(id)) },
	}
}

// newConfig returns the configuration of a server with the offline model.
func newConfig(t *testing.T, change ...func(*config)) *config {
	t.Helper()
	c := &config{agent: t.TempDir()}
	c.server = server.Options{
		Version: "test", NewID: uuid.NewString, OS: "linux",
		Models:   server.ModelOptions{Models: &models{list: []providers.Model{offline.New()}}},
		Sessions: server.SessionOptions{Tools: func() []agent.Tool { return tools.All(new(tools.Settings)) }},
	}
	c.server.Machine = machine(bridges.Local{Shell: bridges.FindShell(""), Env: os.Environ(), Sandbox: findSandbox})
	c.editor = acptest.EditorOptions{Env: os.Environ()}
	for _, fn := range change {
		fn(c)
	}
	if c.server.Sessions.Store == nil {
		c.server.Sessions.Store = sessions.NewStore(filepath.Join(c.agent, "sessions"), &c.store)
	}
	return c
}

// start starts a server with the offline model and an editor that has initialized.
func start(t *testing.T, change ...func(*config)) *env {
	t.Helper()
	testenv.NoLeaks(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	e := &env{t: t, dir: dir, done: make(chan error, 1)}
	c := newConfig(t, change...)
	a, b := net.Pipe()
	e.stop = func() { _ = a.Close() }
	go func() { e.done <- server.Serve(context.Background(), b, b, b, c.server) }()
	trace := c.editor.Trace
	c.editor.Trace = func(sent bool, line []byte) {
		if !sent && isCancel(line) {
			e.mu.Lock()
			e.cancels++
			e.mu.Unlock()
		}
		if trace != nil {
			trace(sent, line)
		}
	}
	e.Editor = acptest.NewEditor(t.Context(), a, a, a, c.editor)
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("closing the editor: %v", err)
		}
		e.wantServed()
	})
	if _, err := e.Initialize(t.Context()); err != nil {
		t.Fatal(err)
	}
	return e
}

func isCancel(line []byte) bool {
	return string(line) != "" && containsAll(string(line), `"method":"$/cancel_request"`)
}

// wantServed waits for the end of the server.
func (e *env) wantServed() {
	e.t.Helper()
	select {
	case err := <-e.done:
		if err != nil {
			e.t.Errorf("Serve: %v", err)
		}
		e.done <- nil
	case <-time.After(time.Minute):
		e.t.Fatal("the server does not end though its editor is gone")
	}
}

// session opens a session in the workspace.
func (e *env) session() acp.SessionID {
	e.t.Helper()
	resp, err := e.NewSession(e.t.Context(), e.dir)
	if err != nil {
		e.t.Fatal(err)
	}
	return resp.SessionID
}

// say prompts and expects the turn to end with stop.
func (e *env) say(id acp.SessionID, text string, stop acp.StopReason) {
	e.t.Helper()
	resp, err := e.Prompt(e.t.Context(), id, text)
	if err != nil {
		e.t.Fatalf("prompt %q: %v", text, err)
	}
	if resp.StopReason != stop {
		e.t.Errorf("prompt %q stopped with %s, want %s", text, resp.StopReason, stop)
	}
}

// await waits for an expectation. Only a hang reaches its deadline.
func (e *env) await(id acp.SessionID, want acptest.Expectation) {
	e.t.Helper()
	ctx, cancel := context.WithTimeoutCause(e.t.Context(), time.Minute, errors.New("nothing came for a minute"))
	defer cancel()
	if err := e.Await(ctx, id, want); err != nil {
		e.t.Fatal(err)
	}
}

func (e *env) write(name, text string) string {
	e.t.Helper()
	path := filepath.Join(e.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		e.t.Fatal(err)
	}
	return path
}

// wantCode checks the code of an error response.
func wantCode(t *testing.T, err error, code acp.ErrorCode, parts ...string) {
	t.Helper()
	e, ok := errors.AsType[*acp.Error](err)
	if !ok {
		t.Errorf("got %v, want an error with code %d", err, code)
		return
	}
	if e.Code != code || !containsAll(e.Message, parts...) {
		t.Errorf("got %d %q, want %d with %q", e.Code, e.Message, code, parts)
	}
}

func scripted(steps ...providertest.Step) func(*config) {
	return func(c *config) {
		info := providers.ModelInfo{Provider: "test", ID: "script", ContextWindow: 100_000, Thinking: []providers.ThinkingLevel{"low", "high"}}
		c.server.Models.Models = &models{list: []providers.Model{providertest.NewScript(info, steps...), providertest.NewScript(providers.ModelInfo{Provider: "test", ID: "plain"})}}
	}
}
