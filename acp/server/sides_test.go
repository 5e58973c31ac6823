package server_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/acp/server/sides"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// onTwoMachines makes the editor one of another machine, with the files below root, and the server one that lets sessions work in the workspaces.
func onTwoMachines(root, agent string, workspaces ...string) func(*config) {
	return func(c *config) {
		c.editor.Root = root
		c.server.Machine.Sides = &sides.Rules{Workspaces: workspaces, Dir: filepath.Join(agent, "elsewhere")}
	}
}

func putFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// realDir returns a new directory by a name without symbolic links.
func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// tree returns the texts of the files below a directory, by their names.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	if err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(rel)] = string(data)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return files
}

// Both machines have a directory of the same name. A session with the client's files does not touch the server's.
func TestSides_Client(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the other machine's files are below a directory")
	}
	root, agent, here := t.TempDir(), t.TempDir(), realDir(t)
	there := filepath.Join(root, here)
	putFile(t, filepath.Join(there, "main.txt"), "the client's\n")
	putFile(t, filepath.Join(there, "AGENTS.md"), "Speak like the client.\n")
	putFile(t, filepath.Join(here, "main.txt"), "the server's\n")
	putFile(t, filepath.Join(here, "AGENTS.md"), "Speak like the server.\n")
	putFile(t, filepath.Join(here, ".gjc", "config.yml"), "permissions: {deny: [bash]}\n")
	var first *providers.Request
	e := start(t, onTwoMachines(root, agent, realDir(t)), scripted(
		providertest.Step{providertest.Check(func(r *providers.Request) { first = r }), providertest.Call("1", "read", `{"path":"main.txt"}`)},
		providertest.Step{providertest.Call("2", "write", `{"path":"sub/new.txt","content":"new\n"}`)},
		providertest.Step{providertest.Call("3", "read", `{"path":"absent.txt"}`)},
		providertest.Step{providertest.Call("4", "read", `{"path":"."}`)},
		providertest.Step{providertest.Call("5", "bash", `{"command":"cp main.txt copied.txt"}`)},
		providertest.Step{providertest.Text("done")},
	))
	if err := os.MkdirAll(filepath.Join(there, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	resp := call[acp.NewSessionResponse](e, "session/new", obj{"cwd": here, "mcpServers": []any{obj{"name": "files", "command": "/bin/false", "args": []any{}, "env": []any{}}}})
	e.say(resp.SessionID, "go", acp.StopReasonEndTurn)
	var side string
	if ok, err := resp.Meta.Get("gjc/files", &side); !ok || err != nil || side != "client" {
		t.Errorf("the response says that the files are those of the %q", side)
	}
	var names []string
	for _, tool := range first.Tools {
		names = append(names, tool.Name)
	}
	for _, name := range []string{"search", "find", "lsp", "debug", "eval", "ast_grep", "merge_changes", "undo"} {
		if slices.Contains(names, name) {
			t.Errorf("the model is offered %s, which works on the server's disk", name)
		}
	}
	if !strings.Contains(first.System, "Speak like the client.") || strings.Contains(first.System, "Speak like the server.") {
		t.Error("the prompt does not have the instructions of the client's machine")
	}
	if got := e.toolText(resp.SessionID); !strings.Contains(got, "the client's") || strings.Contains(got, "the server's") || !strings.Contains(got, "use a command") {
		t.Errorf("results: %s", got)
	}
	if notices := e.notices(resp.SessionID); !containsAll(notices, "works with the files and terminals of your editor", "were not started", "files") {
		t.Errorf("notices: %s", notices)
	}
	want := map[string]string{"main.txt": "the client's\n", "sub/new.txt": "new\n", "copied.txt": "the client's\n", "AGENTS.md": "Speak like the client.\n"}
	if diff := cmp.Diff(want, tree(t, there)); diff != "" {
		t.Errorf("files of the client (-want +got):\n%s", diff)
	}
	want = map[string]string{"main.txt": "the server's\n", "AGENTS.md": "Speak like the server.\n", ".gjc/config.yml": "permissions: {deny: [bash]}\n"}
	if diff := cmp.Diff(want, tree(t, here)); diff != "" {
		t.Errorf("files of the server (-want +got):\n%s", diff)
	}
	_, err := tryCall[acp.NewSessionResponse](e, "session/new", obj{"cwd": here, "mcpServers": []any{}, "_meta": obj{"gjc/worktree": true}})
	wantCode(t, err, acp.ErrorCodeInvalidParams, "those of the client")
}

// Without terminals, commands are refused and not run on the server.
func TestSides_ClientWithoutTerminals(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the other machine's files are below a directory")
	}
	root, here := t.TempDir(), realDir(t)
	e := start(t, onTwoMachines(root, t.TempDir()), func(c *config) {
		c.editor.Capabilities = acptest.AllCapabilities()
		c.editor.Capabilities.Terminal = false
	}, scripted(
		providertest.Step{providertest.Call("1", "bash", `{"command":"touch ran"}`)},
		providertest.Step{providertest.Text("done")},
	))
	id, err := e.NewSession(t.Context(), here)
	if err != nil {
		t.Fatal(err)
	}
	e.say(id.SessionID, "go", acp.StopReasonEndTurn)
	e.say(id.SessionID, "/jobs", acp.StopReasonEndTurn)
	if got := tree(t, here); len(got) > 0 || len(tree(t, root)) > 0 {
		t.Errorf("a command ran: %v", got)
	}
	if notices := e.notices(id.SessionID); !strings.Contains(notices, "offers no terminals") {
		t.Errorf("notices: %s", notices)
	}
}

// In a workspace of the server, nothing of the client's files and terminals is used.
func TestSides_Server(t *testing.T) {
	workspace := realDir(t)
	here := filepath.Join(workspace, "app")
	putFile(t, filepath.Join(here, "main.txt"), "the server's\n")
	e := start(t, onTwoMachines(t.TempDir(), t.TempDir(), workspace), scripted(
		providertest.Step{providertest.Call("1", "read", `{"path":"main.txt"}`)},
		providertest.Step{providertest.Call("2", "bash", `{"command":"echo out > made.txt"}`)},
		providertest.Step{providertest.Text("done")},
	))
	e.Open(filepath.Join(here, "main.txt"), "the client's\n")
	resp, err := e.NewSession(t.Context(), here)
	if err != nil {
		t.Fatal(err)
	}
	e.say(resp.SessionID, "go", acp.StopReasonEndTurn)
	if got := e.toolText(resp.SessionID); !strings.Contains(got, "the server's") {
		t.Errorf("results: %s", got)
	}
	for _, method := range e.Calls() {
		if strings.HasPrefix(method, "fs/") || strings.HasPrefix(method, "terminal/") {
			t.Errorf("the client received %s", method)
		}
	}
	if _, err := os.Stat(filepath.Join(here, "made.txt")); err != nil {
		t.Error(err)
	}
	if notices := e.notices(resp.SessionID); !strings.Contains(notices, "on the server") {
		t.Errorf("notices: %s", notices)
	}
}

func TestSides_Refused(t *testing.T) {
	workspace, elsewhere := realDir(t), realDir(t)
	if err := os.Symlink(elsewhere, filepath.Join(workspace, "out")); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink(filepath.Join(elsewhere, "later"), filepath.Join(workspace, "dangling")); err != nil {
		t.Fatal(err)
	}
	with := start(t, onTwoMachines(t.TempDir(), t.TempDir(), workspace))
	without := start(t, onTwoMachines(t.TempDir(), t.TempDir(), workspace), func(c *config) {
		c.editor.Capabilities = acptest.AllCapabilities()
		c.editor.Capabilities.FS = acp.FileSystemCapabilities{ReadTextFile: true}
	})
	opened, err := without.NewSession(t.Context(), workspace)
	if err != nil {
		t.Fatal(err)
	}
	stored := opened.SessionID
	for _, test := range []struct {
		name   string
		e      *env
		cwd    string
		more   []any
		reason string
	}{
		{"a link out of the workspace", with, filepath.Join(workspace, "out"), nil, "lets no session work"},
		{"below such a link", with, filepath.Join(workspace, "out", "deeper"), nil, "lets no session work"},
		{"a link to nothing", with, filepath.Join(workspace, "dangling"), nil, "leads nowhere"},
		{"both machines", with, workspace, []any{elsewhere}, "on one machine"},
		{"no files of the client", without, elsewhere, nil, "does not offer its own files"},
		{"out by its name", without, workspace + "/../" + filepath.Base(elsewhere), nil, "does not offer its own files"},
		{"a name that begins like a workspace", without, workspace + "x", nil, "does not offer its own files"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := tryCall[obj](test.e, "session/new", obj{"cwd": test.cwd, "mcpServers": []any{}, "additionalDirectories": test.more})
			wantCode(t, err, acp.ErrorCodeInvalidParams, test.reason)
			for _, method := range []string{"session/load", "session/resume", "session/fork"} {
				_, err = tryCall[obj](test.e, method, obj{"sessionId": stored, "cwd": test.cwd, "mcpServers": []any{}, "additionalDirectories": test.more})
				wantCode(t, err, acp.ErrorCodeInvalidParams, test.reason)
			}
		})
	}
}
