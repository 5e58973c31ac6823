package server_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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
	_ = e.Serve(context.Background(), os.Stdin, os.Stdout)
}

// withExtension configures a server whose user has the extension.
func withExtension(t *testing.T) func(*config) {
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
		if err := os.WriteFile(filepath.Join(dir, "mine.yml"), []byte("command: "+string(command)+"\nenv: {"+extensionVariable+": \"1\"}\n"), 0o666); err != nil {
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
