package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/agent/extensions"
	"github.com/gajae-code/gjc/extension"
	"github.com/gajae-code/gjc/internal/trust"
	"github.com/gajae-code/gjc/providers/providertest"
)

// extensionVariable makes the test binary an extension.
const extensionVariable = "GJC_TEST_EXTENSION"

// serveExtension is the extension. It keeps its process ID as an entry of each session.
func serveExtension() {
	e := &extension.Extension{
		Tools: []extension.Tool{{Name: "whoami", Description: "Returns the process.", Run: func(context.Context, extension.ToolCall) (extension.ToolResult, error) {
			return extension.ToolResult{Text: "the extension runs"}, nil
		}}},
		Commands: []extension.Command{{Name: "pid", Description: "Show the process", Run: func(context.Context, string) (extension.Reply, error) {
			pid, err := json.Marshal(os.Getpid())
			return extension.Reply{Text: "process " + string(pid)}, err
		}}, {Name: "asks", Description: "Ask the model", Run: func(_ context.Context, args string) (extension.Reply, error) {
			return extension.Reply{Prompt: "please " + args}, nil
		}}},
	}
	if path := os.Getenv(hearsVariable); path != "" {
		e.Events = hears(path)
	}
	_ = e.Serve(context.Background(), os.Stdin, os.Stdout)
}

// hearsVariable names the file to which the extension adds a line for each event of a session.
const hearsVariable = "GJC_TEST_HEARS"

func hears(path string) map[string]func(context.Context, extension.Event) (extension.Answer, error) {
	all := make(map[string]func(context.Context, extension.Event) (extension.Answer, error))
	for _, name := range []string{"session_start", "session_end", "before_fork", "fork", "before_tree", "tree"} {
		all[name] = func(_ context.Context, ev extension.Event) (extension.Answer, error) {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
			if err != nil {
				return extension.Answer{}, err
			}
			_, err = fmt.Fprintln(f, ev.SessionID, name, ev.Reason, ev.From, ev.Target)
			return extension.Answer{Block: name == "before_fork" && os.Getenv("GJC_TEST_NO_FORK") != ""}, errors.Join(err, f.Close())
		}
	}
	return all
}

// withExtension configures a server whose user has the extension.
func withExtension(t *testing.T, env ...string) func(*config) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return func(c *config) {
		dir := filepath.Join(c.agent, "extensions")
		command, _ := json.Marshal([]string{self})
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "mine.yml"), []byte("command: "+string(command)+"\nenv: {"+extensionVariable+": \"1\""+strings.Join(env, "")+"}\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		c.server.Sessions.Extensions = func(roots []string) func(context.Context) *extensions.Set {
			answers := trust.NewSession(trust.Open(filepath.Join(c.agent, "trust.json")))
			return func(ctx context.Context) *extensions.Set {
				return extensions.Load(ctx, extensions.LoadOptions{UserDir: c.agent, Roots: roots, Trust: answers})
			}
		}
	}
}

// The commands of an extension are offered once it runs, and answer the user or prompt the model. Its tool is judged. Each session has a
// process of its own.
func TestExtensionPrograms(t *testing.T) {
	e := start(t, scripted(
		providertest.Step{providertest.Text("one")}, providertest.Step{providertest.Call("c", "whoami", `{}`)}, providertest.Step{providertest.Text("two")},
	), withExtension(t), func(c *config) {
		c.editor.Permission = func(context.Context, *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
			return acptest.Choose("allow_once"), nil
		}
	})
	id, other := e.session(), e.session()
	pid := func(id acp.SessionID) string {
		e.say(id, "/pid", acp.StopReasonEndTurn)
		_, text, _ := strings.Cut(e.Text(id), "process ")
		return strings.TrimSpace(text)
	}
	if a, b := pid(id), pid(other); a == b || a == "" || b == "" {
		t.Errorf("the sessions have the processes %q and %q", a, b)
	}
	e.await(id, acptest.Update(func(u *acp.AvailableCommandsUpdate) bool {
		return slices.ContainsFunc(u.AvailableCommands, func(c acp.AvailableCommand) bool { return c.Name == "pid" && c.Description == "Show the process" })
	}))
	e.say(id, "/asks do it", acp.StopReasonEndTurn)
	e.say(id, "go", acp.StopReasonEndTurn)
	if !strings.Contains(e.toolText(id), "the extension runs") {
		t.Errorf("the tool returned %q", e.toolText(id))
	}
}

// An extension hears that its session is forked, opened again and moved in, each process of its own session alone.
func TestExtensionPrograms_Sessions(t *testing.T) {
	heard := filepath.Join(t.TempDir(), "heard")
	e := start(t, scripted(slices.Repeat([]providertest.Step{{providertest.Text("ok")}}, 9)...), withExtension(t, ", "+hearsVariable+": '"+heard+"'"))
	lines := func() []string {
		t.Helper()
		raw, err := os.ReadFile(heard)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(heard); err != nil {
			t.Fatal(err)
		}
		var all []string
		for line := range strings.Lines(string(raw)) {
			all = append(all, strings.Join(strings.Fields(line), " "))
		}
		return all
	}
	same := func(what string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, lines()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	id := e.session()
	a := string(id)
	e.say(id, "one", acp.StopReasonEndTurn)
	same("new", a+" session_start new")
	copied := call[acp.ForkSessionResponse](e, "session/fork", obj{"sessionId": id, "cwd": e.dir}).SessionID
	same("fork", a+" before_fork", a+" fork "+string(copied))
	e.say(copied, "two", acp.StopReasonEndTurn)
	same("the first prompt of the fork", string(copied)+" session_start fork "+a)
	e.say(id, "/fork", acp.StopReasonEndTurn)
	if got := lines(); len(got) != 2 || got[0] != a+" before_fork" || !strings.HasPrefix(got[1], a+" fork ") {
		t.Errorf("/fork: %q", got)
	}
	call[struct{}](e, "session/close", obj{"sessionId": copied})
	same("close", string(copied)+" session_end")
	for _, method := range []string{"session/load", "session/resume"} {
		call[map[string]any](e, method, obj{"sessionId": copied, "cwd": e.dir, "mcpServers": []any{}})
		e.say(copied, "three", acp.StopReasonEndTurn)
		same(method, string(copied)+" session_start open")
		call[struct{}](e, "session/close", obj{"sessionId": copied})
		same("close", string(copied)+" session_end")
	}
	e.say(id, "four", acp.StopReasonEndTurn)
	tree, _ := e.after(id, "/tree")
	two := idOf(t, tree, "user: four")
	before := idOf(t, tree, "agent: ok")
	e.after(id, "/tree go "+two)
	same("tree", a+" before_tree "+two, a+" tree "+before)
	e.say(id, "/clear", acp.StopReasonEndTurn)
	e.say(id, "five", acp.StopReasonEndTurn)
	same("clear", a+" session_start clear")
}

// An extension can cancel a fork.
func TestExtensionPrograms_NoFork(t *testing.T) {
	e := start(t, scripted(providertest.Step{providertest.Text("ok")}), withExtension(t, ", "+hearsVariable+": '"+filepath.Join(t.TempDir(), "heard")+"', GJC_TEST_NO_FORK: '1'"))
	id := e.session()
	e.say(id, "one", acp.StopReasonEndTurn)
	_, err := tryCall[acp.ForkSessionResponse](e, "session/fork", obj{"sessionId": id, "cwd": e.dir})
	wantCode(t, err, acp.ErrorCodeInternalError, "a hook cancels the fork: mine")
	e.say(id, "/fork", acp.StopReasonEndTurn)
	if got := e.Text(id); !strings.Contains(got, "a hook cancels the fork: mine") {
		t.Errorf("/fork: %q", got)
	}
}
