package hub_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/acp/hub"
	"github.com/gajae-code/gjc/acp/server"
	"github.com/gajae-code/gjc/acp/server/relay"
	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/tools"
	"github.com/gajae-code/gjc/bridges"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
	"github.com/gajae-code/gjc/sessions"
)

// oneModel is a registry with one model.
type oneModel struct{ model providers.Model }

func (m oneModel) Load(context.Context) error            { return nil }
func (m oneModel) Refresh(context.Context) (bool, error) { return false, nil }
func (m oneModel) Reload(context.Context) error          { return nil }
func (m oneModel) ModelsIn(string) []providers.ModelInfo {
	return []providers.ModelInfo{m.model.Info()}
}
func (m oneModel) DefaultIn(string) (providers.ModelInfo, bool) { return m.model.Info(), true }
func (m oneModel) DisabledIn(string, string) bool               { return false }
func (m oneModel) Lookup(string) (providers.ModelInfo, bool)    { return m.model.Info(), true }
func (m oneModel) Find(string) (providers.ModelInfo, providers.ThinkingLevel, error) {
	return m.model.Info(), "", nil
}

func (m oneModel) Open(context.Context, providers.ModelInfo) (providers.Model, error) {
	return m.model, nil
}
func (m oneModel) Accounts() []providers.Account                               { return nil }
func (m oneModel) Logout() error                                               { return nil }
func (m oneModel) Providers() []providers.ProviderState                        { return nil }
func (m oneModel) SetProvider(string, string, string, map[string]string) error { return nil }
func (m oneModel) DisableProvider(string) error                                { return nil }

// team is a hub with gjc's own engines on one store.
type team struct {
	t   *testing.T
	hub *hub.Hub
	dir string
}

func startTeam(t *testing.T, model providers.Model) *team {
	t.Helper()
	testenv.NoLeaks(t)
	return newTeam(t, model)
}

// newTeam is startTeam for a test that starts several.
func newTeam(t *testing.T, model providers.Model) *team {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return newServer(t, model, dir, filepath.Join(t.TempDir(), "sessions"))
}

// newServer starts one of several servers with one store.
func newServer(t *testing.T, model providers.Model, dir, store string) *team {
	t.Helper()
	local := bridges.Local{Shell: bridges.FindShell(""), Env: os.Environ()}
	stored := sessions.NewStore(store, nil)
	guests := relay.NewHost(stored, zerolog.Nop())
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { guests.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	h := hub.New(hub.Options{Dial: inProcess(func(ctx context.Context, r io.Reader, w io.Writer) error {
		return server.Serve(ctx, r, w, nil, server.Options{
			Version: "test", NewID: uuid.NewString, OS: "linux",
			Models: server.ModelOptions{Models: oneModel{model}},
			Sessions: server.SessionOptions{
				Store: stored, Guests: guests, Tools: func() []agent.Tool { return tools.All(new(tools.Settings)) },
			},
			Machine: server.MachineOptions{Environ: local.Environ, Bridges: func(o server.BridgeOptions) server.Bridges {
				set := bridges.New(bridges.Options{
					Client: o.Client, Capabilities: o.Capabilities, SessionID: o.SessionID, Workspace: o.Workspace, Children: o.Children, Local: local, Mark: o.Mark,
				})
				return server.Bridges{FS: set.FS, Terminal: set.Terminal, Programs: set.Programs, Approver: set.Approver, Elicitor: set.Elicitor, Close: set.Close}
			}},
		})
	})})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := h.Close(ctx); err != nil {
			t.Errorf("closing the hub: %v", err)
		}
	})
	return &team{t: t, hub: h, dir: dir}
}

// editor is a client of a team.
type editor struct {
	*acptest.Editor
	t    *testing.T
	stop func() // cuts the connection off, and waits until the hub knows
}

// editor connects an editor that knows the extension.
func (w *team) editor(name string, opts acptest.EditorOptions) *editor {
	w.t.Helper()
	x, y := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = w.hub.Serve(context.Background(), y, y, hub.Client{Name: name, Scopes: all})
		_ = y.Close()
	}()
	if opts.Capabilities == nil {
		opts.Capabilities = acptest.AllCapabilities()
	}
	if err := opts.Capabilities.Meta.Set("gjc/attach", true); err != nil {
		w.t.Fatal(err)
	}
	e := &editor{Editor: acptest.NewEditor(context.Background(), x, x, x, opts), t: w.t}
	e.stop = sync.OnceFunc(func() {
		_ = x.Close()
		<-done
		_ = e.Close()
	})
	w.t.Cleanup(e.stop)
	if _, err := e.Initialize(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	return e
}

func (w *team) load(e *editor, id acp.SessionID) {
	w.t.Helper()
	err := e.Conn.Call(w.t.Context(), "session/load", obj{"sessionId": id, "cwd": w.dir, "mcpServers": []obj{}}, nil)
	if err != nil {
		w.t.Fatalf("session/load: %v", err)
	}
}

// await waits until the editor shows a text.
func (e *editor) await(id acp.SessionID, text string) {
	e.t.Helper()
	ctx, cancel := context.WithTimeoutCause(e.t.Context(), time.Minute, fmt.Errorf("no %q for a minute; it shows %q", text, told(e.Updates(id))))
	defer cancel()
	if err := e.Await(ctx, id, func(all []acp.SessionUpdate, _ []string) bool { return strings.Contains(told(all), text) }); err != nil {
		e.t.Fatal(err)
	}
}

// told returns the conversation in a list of updates: messages, and tool calls with their last state.
func told(all []acp.SessionUpdate) string {
	var parts []string
	last := ""
	calls := make(map[acp.ToolCallID]int)
	say := func(who string, c acp.ContentChunk) {
		text, ok := c.Content.(*acp.TextContent)
		if !ok {
			return
		}
		if who != last {
			parts = append(parts, "\n"+who+": ")
			last = who
		}
		parts[len(parts)-1] += text.Text
	}
	for _, u := range all {
		switch u := u.(type) {
		case *acp.UserMessageChunk:
			say("user", acp.ContentChunk(*u))
		case *acp.AgentMessageChunk:
			say("agent", acp.ContentChunk(*u))
		case *acp.ToolCall:
			last = ""
			calls[u.ToolCallID] = len(parts)
			parts = append(parts, fmt.Sprintf("\ncall %s: %s", u.ToolCallID, u.Status))
		case *acp.ToolCallUpdate:
			if status, ok := u.Status.Get(); ok {
				parts[calls[u.ToolCallID]] = fmt.Sprintf("\ncall %s: %s", u.ToolCallID, status)
			}
		}
	}
	return strings.Join(parts, "")
}

var scriptInfo = providers.ModelInfo{Provider: "test", ID: "script", ContextWindow: 100_000}

// Two editors share a session of gjc's own engine: files are those of the first, the second answers the question and prompts, and takes
// over when the first is gone in the middle of a turn. What each shows is the stored conversation.
func TestServer_Share(t *testing.T) {
	gate := providertest.NewGate()
	defer gate.Open()
	w := startTeam(t, providertest.NewScript(
		scriptInfo,
		providertest.Step{providertest.Text("Writing."), providertest.Call("c1", "write", `{"path":"new.txt","content":"hello"}`)},
		providertest.Step{providertest.Text("Written.")},
		providertest.Step{providertest.Text("It was "), gate.Hold(), providertest.Text("a greeting.")},
		providertest.Step{providertest.Text("Bye.")},
	))
	asked := make(chan struct{})
	a := w.editor("ann", acptest.EditorOptions{Permission: func(ctx context.Context, _ *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
		close(asked)
		<-ctx.Done() // the other one answers
		return nil, context.Cause(ctx)
	}})
	created, err := a.NewSession(t.Context(), w.dir)
	if err != nil {
		t.Fatal(err)
	}
	id := created.SessionID
	b := w.editor("bob", acptest.EditorOptions{Permission: func(context.Context, *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
		<-asked
		return acptest.Choose("allow_once"), nil
	}})
	w.load(b, id)
	if _, err := a.Prompt(t.Context(), id, "write it"); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(w.dir, "new.txt")); err != nil || string(text) != "hello" {
		t.Errorf("the file: %q, %v", text, err)
	}
	const first = "\nuser: write it\nagent: Writing.\ncall c1: completed\nagent: Written."
	b.await(id, first)
	for _, call := range b.Calls() {
		if strings.HasPrefix(call, "fs/") {
			t.Errorf("the second editor was called: %s", call)
		}
	}
	go func() { _, _ = a.Prompt(context.Background(), id, "what was it?") }() // its editor is cut off
	<-gate.Reached()
	b.await(id, "It was ")
	a.stop()
	gate.Open()
	b.await(id, "a greeting.")
	if _, err := b.Prompt(t.Context(), id, "bye"); err != nil {
		t.Fatal(err)
	}
	c := w.editor("cleo", acptest.EditorOptions{})
	w.load(c, id)
	want := first + "\nuser: what was it?\nagent: It was a greeting.\nuser: bye\nagent: Bye."
	if got := told(c.Updates(id)); got != want {
		t.Errorf("one that comes late sees %q, want %q", got, want)
	}
	// Stored, it is the same.
	b.stop()
	c.stop()
	d := w.editor("dora", acptest.EditorOptions{})
	w.load(d, id)
	if got := told(d.Updates(id)); got != want {
		t.Errorf("the stored conversation is %q, want %q", got, want)
	}
}

// A session that was resumed has no beginning in the hub; the engine replays it for the one that attaches, and for no other.
func TestServer_Resumed(t *testing.T) {
	w := startTeam(t, providertest.NewScript(
		scriptInfo,
		providertest.Step{providertest.Text("one")}, providertest.Step{providertest.Text("two")}, providertest.Step{providertest.Text("three")},
	))
	a := w.editor("ann", acptest.EditorOptions{})
	created, err := a.NewSession(t.Context(), w.dir)
	if err != nil {
		t.Fatal(err)
	}
	id := created.SessionID
	if _, err := a.Prompt(t.Context(), id, "1"); err != nil {
		t.Fatal(err)
	}
	a.stop()
	b := w.editor("bob", acptest.EditorOptions{})
	if err := b.Conn.Call(t.Context(), "session/resume", obj{"sessionId": id, "cwd": w.dir, "mcpServers": []obj{}}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Prompt(t.Context(), id, "2"); err != nil {
		t.Fatal(err)
	}
	c := w.editor("cleo", acptest.EditorOptions{})
	w.load(c, id)
	if got, want := told(c.Updates(id)), "\nuser: 1\nagent: one\nuser: 2\nagent: two"; got != want {
		t.Errorf("the one that attaches sees %q, want %q", got, want)
	}
	if _, err := c.Prompt(t.Context(), id, "3"); err != nil {
		t.Fatal(err)
	}
	b.await(id, "three")
	if got, want := told(b.Updates(id)), "\nagent: two\nuser: 3\nagent: three"; got != want {
		t.Errorf("the one that has resumed sees %q, want %q", got, want)
	}
}

// Editors are cut off at random moments of turns of gjc's own engine: the conversation goes on, and is whole.
func TestServer_Killed(t *testing.T) {
	testenv.NoLeaks(t)
	const kills = 25
	for range 8 {
		killEditors(t, kills)
	}
}

func killEditors(t *testing.T, kills int) {
	t.Helper()
	script := providertest.NewScript(scriptInfo)
	var mu sync.Mutex
	turns := 0
	script.Else(func(*providers.Request) providertest.Step {
		mu.Lock()
		defer mu.Unlock()
		turns++
		n := turns
		return providertest.Repeat(40, func(i int) providertest.Action { return providertest.Text(fmt.Sprintf("t%d.%d ", n, i)) })
	})
	w := newTeam(t, script)
	raw := &world{house: newHouse(t), hub: w.hub}
	load := func(c *client, id string) {
		t.Helper()
		wantResult(t, c.load(id, obj{"cwd": w.dir}))
	}
	c := raw.connect("0", attaches())
	id := text(c.call("session/new", obj{"cwd": w.dir, "mcpServers": []obj{}}).Result, "sessionId")
	for i := range kills {
		c.begin("session/prompt", promptParams(id, fmt.Sprintf("prompt %d;", i)))
		c.call("session/list", nil)
		time.Sleep(time.Duration(rand.IntN(4000)) * time.Microsecond) // a random moment, not a synchronisation
		_ = c.conn.Close()
		if i%2 == 0 {
			c.close() // else, the next one comes before the hub knows
		}
		c = raw.connect(fmt.Sprint(i+1), attaches())
		load(c, id)
	}
	last := raw.connect("last", attaches())
	load(last, id)
	wantResult(t, last.prompt(id, "end;"))
	c.awaitText(id, fmt.Sprintf("t%d.39", kills+1))
	live := shown(c.received(), id)
	for i := range kills {
		for _, part := range []string{fmt.Sprintf("prompt %d;", i), fmt.Sprintf("t%d.39 ", i+1)} {
			if n := strings.Count(live, part); n != 1 {
				t.Errorf("%q is shown %d times", part, n)
			}
		}
	}
	c.close()
	last.close()
	stored := raw.connect("stored", attaches())
	load(stored, id)
	if got := shown(stored.received(), id); got != live {
		at := differ(got, live)
		t.Errorf("stored %d bytes, live %d; they differ at %d: %.100q %.100q", len(got), len(live), at, got[max(at-30, 0):], live[max(at-30, 0):])
	}
}
