package server_test

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/permissions"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/internal/worktree"
	"github.com/gajae-code/gjc/providers/providertest"
)

// worktreesIn lets sessions have worktrees in a directory.
func worktreesIn(t *testing.T, always bool) (dir string, change func(*config)) {
	t.Helper()
	testenv.NeedsTool(t, "git")
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(base, "session-worktrees"), func(c *config) {
		c.server.Machine.Worktrees = func(children *proc.Group) (*worktree.Maker, error) {
			return &worktree.Maker{Git: &worktree.Git{Children: children, Env: cleanGit(base)}, Dir: filepath.Join(base, "worktrees"), Sessions: filepath.Join(base, "session-worktrees"), Always: always}, nil
		}
	}
}

func cleanGit(home string) []string {
	return append(os.Environ(), "HOME="+home, "USERPROFILE="+home, "XDG_CONFIG_HOME="+home, "GIT_CONFIG_NOSYSTEM=1")
}

// smallRepository makes the workspace a repository with a file.
func (e *env) smallRepository() {
	e.t.Helper()
	e.write("a.txt", "a\n")
	e.repository()
}

// repository makes the workspace a repository with a commit.
func (e *env) repository() {
	e.t.Helper()
	e.git("init", "-q", "-b", "main")
	e.git("add", "-A")
	e.git("-c", "user.name=Test", "-c", "user.email=test@example.com", "commit", "-q", "-m", "first")
}

func (e *env) git(args ...string) string {
	e.t.Helper()
	cmd := exec.CommandContext(e.t.Context(), "git", args...)
	cmd.Dir, cmd.Env = e.dir, cleanGit(e.t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		e.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// filesIn returns the files in a directory by name, without the repository.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.Name() == ".git" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[entry.Name()] = string(data)
	}
	return all
}

func wantFiles(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, filesIn(t, dir)); diff != "" {
		t.Errorf("files in %s (-want +got):\n%s", dir, diff)
	}
}

// worktreeOf returns the directory that a response names.
func worktreeOf(t *testing.T, meta acp.Meta) string {
	t.Helper()
	var dir string
	if ok, err := meta.Get("gjc/worktree", &dir); !ok || err != nil || !filepath.IsAbs(dir) {
		t.Fatalf("_meta has no worktree: %s, %v", meta, err)
	}
	return dir
}

// TestWorktree has a session that works in a worktree from its beginning to its deletion. The user's files stay as they are.
func TestWorktree(t *testing.T) {
	dir, trees := worktreesIn(t, false)
	e := start(t, scripted(
		providertest.Step{providertest.Call("c1", "write", `{"path":"a.txt","content":"the agent's\n"}`)},
		providertest.Step{providertest.Text("Written.")},
		providertest.Step{providertest.Call("c2", "bash", `{"command":"cat a.txt > b.txt; pwd > pwd.txt"}`)},
		providertest.Step{providertest.Text("Ran.")},
	), trees)
	e.write("a.txt", "committed\n")
	e.repository()
	e.write("a.txt", "mine\n")
	e.write("new.txt", "mine\n")
	mine := map[string]string{"a.txt": "mine\n", "new.txt": "mine\n"}
	opened := call[acp.NewSessionResponse](e, "session/new", obj{"cwd": e.dir, "mcpServers": []any{}, "_meta": obj{"gjc/worktree": true}})
	id, tree := opened.SessionID, worktreeOf(t, opened.Meta)
	wantFiles(t, tree, mine)
	calls := len(e.Calls())
	e.say(id, "write", acp.StopReasonEndTurn)
	for _, method := range e.Calls()[calls:] {
		if strings.HasPrefix(method, "fs/") {
			t.Errorf("the editor was called for a file of the worktree: %s", method)
		}
	}
	e.say(id, "run", acp.StopReasonEndTurn)
	theirs := map[string]string{"a.txt": "the agent's\n", "b.txt": "the agent's\n", "new.txt": "mine\n", "pwd.txt": tree + "\n"}
	wantFiles(t, tree, theirs)
	wantFiles(t, e.dir, mine)
	if got, _ := e.after(id, "/worktree"); !containsAll(got, tree, "a worktree of "+e.dir, "modified a.txt", "added b.txt") {
		t.Errorf("/worktree: %s", got)
	}

	// The client closes and loads it with the directory that it knows. The list has it there, too.
	call[acp.CloseSessionResponse](e, "session/close", obj{"sessionId": id})
	listed := call[acp.ListSessionsResponse](e, "session/list", obj{"cwd": e.dir})
	if len(listed.Sessions) != 1 || listed.Sessions[0].Cwd != e.dir {
		t.Errorf("listed: %+v", listed.Sessions)
	}
	for range 2 { // the second time it is open
		loaded := call[acp.LoadSessionResponse](e, "session/load", obj{"sessionId": id, "cwd": e.dir, "mcpServers": []any{}})
		if got := worktreeOf(t, loaded.Meta); got != tree {
			t.Errorf("loaded in %s, was in %s", got, tree)
		}
	}
	if got, _ := e.after(id, "/worktree branch try"); !containsAll(got, "gjc/try", "3 changed files", "git -C") {
		t.Errorf("/worktree branch: %s", got)
	}
	if got := e.git("show", "gjc/try:b.txt"); got != "the agent's\n" {
		t.Errorf("b.txt in the branch: %q", got)
	}
	for _, bad := range []string{"branch try", "branch a..b", "branch a b", "apply now", "x"} {
		if got, _ := e.after(id, "/worktree "+bad); strings.Contains(got, "changed file") {
			t.Errorf("/worktree %s: %s", bad, got)
		}
	}
	wantFiles(t, e.dir, mine)

	// Deleted with the session, it leaves its changes in a branch.
	call[acp.DeleteSessionResponse](e, "session/delete", obj{"sessionId": id})
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if got := e.git("show", "gjc/"+string(id)+":a.txt"); got != "the agent's\n" {
		t.Errorf("a.txt in the branch: %q", got)
	}
	if got := strings.Count(e.git("worktree", "list"), "\n"); got != 1 {
		t.Errorf("%d worktrees", got)
	}
	wantFiles(t, e.dir, mine)
}

// Without changes nothing stays of a worktree.
func TestWorktree_Unchanged(t *testing.T) {
	dir, trees := worktreesIn(t, true)
	e := start(t, scripted(providertest.Step{providertest.Text("Hello.")}), trees)
	e.write("a.txt", "committed\n")
	e.repository()
	opened := call[acp.NewSessionResponse](e, "session/new", obj{"cwd": e.dir, "mcpServers": []any{}})
	worktreeOf(t, opened.Meta)
	plain := call[acp.NewSessionResponse](e, "session/new", obj{"cwd": e.dir, "mcpServers": []any{}, "_meta": obj{"gjc/worktree": false}})
	if plain.Meta != nil {
		t.Errorf("a session that wants no worktree has %s", plain.Meta)
	}
	if got, _ := e.after(plain.SessionID, "/worktree"); !strings.Contains(got, "not in a worktree") {
		t.Errorf("/worktree: %s", got)
	}
	e.say(opened.SessionID, "hello", acp.StopReasonEndTurn)
	if got, _ := e.after(opened.SessionID, "/worktree branch"); !strings.Contains(got, "there is no branch") {
		t.Errorf("/worktree branch: %s", got)
	}
	call[acp.DeleteSessionResponse](e, "session/delete", obj{"sessionId": opened.SessionID})
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if got := e.git("branch", "--list", "gjc/*"); got != "" {
		t.Errorf("branches: %s", got)
	}
}

// Where there can be no worktree, a client that wants one gets an error and no session. A user who has set it is warned.
func TestWorktree_NotPossible(t *testing.T) {
	t.Run("wanted", func(t *testing.T) {
		_, trees := worktreesIn(t, false)
		e := start(t, trees)
		for name, meta := range map[string]any{"not in a git repository": true, "must be true or false": "yes"} {
			if _, err := tryCall[acp.NewSessionResponse](e, "session/new", obj{"cwd": e.dir, "mcpServers": []any{}, "_meta": obj{"gjc/worktree": meta}}); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%v: %v", meta, err)
			}
		}
		e.smallRepository()
		outside := t.TempDir()
		if _, err := tryCall[acp.NewSessionResponse](e, "session/new", obj{"cwd": e.dir, "additionalDirectories": []string{outside}, "mcpServers": []any{}, "_meta": obj{"gjc/worktree": true}}); err == nil || !strings.Contains(err.Error(), "one repository") {
			t.Errorf("a directory outside: %v", err)
		}
		if got := strings.Count(e.git("worktree", "list"), "\n"); got != 1 {
			t.Errorf("%d worktrees", got)
		}
	})
	t.Run("by setting", func(t *testing.T) {
		_, trees := worktreesIn(t, true)
		e := start(t, trees)
		opened := call[acp.NewSessionResponse](e, "session/new", obj{"cwd": e.dir, "mcpServers": []any{}})
		e.say(opened.SessionID, "hello", acp.StopReasonEndTurn)
		if got := e.notices(opened.SessionID); opened.Meta != nil || !strings.Contains(got, "it has no worktree, because") {
			t.Errorf("%s; %s", opened.Meta, got)
		}
	})
	t.Run("none here", func(t *testing.T) {
		e := start(t)
		if _, err := tryCall[acp.NewSessionResponse](e, "session/new", obj{"cwd": e.dir, "mcpServers": []any{}, "_meta": obj{"gjc/worktree": true}}); err == nil || !strings.Contains(err.Error(), "not available") {
			t.Errorf("%v", err)
		}
	})
}

// A worktree that the user has removed does not keep the session from opening.
func TestWorktree_Gone(t *testing.T) {
	_, trees := worktreesIn(t, false)
	e := start(t, scripted(providertest.Step{providertest.Text("Hello.")}), trees)
	e.smallRepository()
	opened := call[acp.NewSessionResponse](e, "session/new", obj{"cwd": e.dir, "mcpServers": []any{}, "_meta": obj{"gjc/worktree": true}})
	id := opened.SessionID
	e.say(id, "hello", acp.StopReasonEndTurn)
	call[acp.CloseSessionResponse](e, "session/close", obj{"sessionId": id})
	e.git("worktree", "remove", "--force", worktreeOf(t, opened.Meta))
	loaded := call[acp.LoadSessionResponse](e, "session/load", obj{"sessionId": id, "cwd": e.dir, "mcpServers": []any{}})
	got, _ := e.after(id, "/worktree")
	if text := e.notices(id); loaded.Meta != nil || !strings.Contains(text, "not in its worktree") || !strings.Contains(text, "are gone") || !strings.Contains(got, "not in a worktree") {
		t.Errorf("%s; %s; %s", loaded.Meta, text, got)
	}
}

// A fork can begin in a worktree with the files of the time of a message, whether the session is open or not.
func TestWorktree_Fork(t *testing.T) {
	_, trees := worktreesIn(t, false)
	e := start(t, scripted(
		providertest.Step{providertest.Call("c1", "write", `{"path":"a.txt","content":"one\n"}`)},
		providertest.Step{providertest.Text("First.")},
		providertest.Step{providertest.Call("c2", "bash", `{"command":"echo two > a.txt; echo b > b.txt; rm keep.txt"}`)},
		providertest.Step{providertest.Text("Second.")},
		providertest.Step{providertest.Call("c3", "write", `{"path":"c.txt","content":"fork\n"}`)},
		providertest.Step{providertest.Text("Third.")},
	), trees, recording(t))
	e.write("keep.txt", "kept\n")
	e.repository()
	id := e.session()
	e.say(id, "one", acp.StopReasonEndTurn)
	e.say(id, "two", acp.StopReasonEndTurn)
	now := map[string]string{"a.txt": "two\n", "b.txt": "b\n"}
	wantFiles(t, e.dir, now)
	e.replayed(id) // the replay reveals the IDs of the user's messages
	messages := map[string]string{}
	for _, u := range e.Updates(id) {
		switch u := u.(type) {
		case *acp.UserMessageChunk:
			messages[u.Content.(*acp.TextContent).Text] = string(u.MessageID)
		case *acp.AgentMessageChunk:
			messages[u.Content.(*acp.TextContent).Text] = string(u.MessageID)
		default:
		}
	}
	fork := func(at string) (acp.SessionID, string) {
		t.Helper()
		meta := obj{"gjc/worktree": true}
		if at != "" {
			meta["messageId"] = messages[at]
		}
		resp := call[acp.ForkSessionResponse](e, "session/fork", obj{"sessionId": id, "cwd": e.dir, "mcpServers": []any{}, "_meta": meta})
		return resp.SessionID, worktreeOf(t, resp.Meta)
	}
	check := func() {
		t.Helper()
		for at, want := range map[string]map[string]string{
			"one": {"keep.txt": "kept\n"}, "First.": {"keep.txt": "kept\n", "a.txt": "one\n"}, "two": {"keep.txt": "kept\n", "a.txt": "one\n"}, "Second.": now, "": now,
		} {
			fork, tree := fork(at)
			wantFiles(t, tree, want)
			if got, _ := e.after(fork, "/worktree"); !strings.Contains(got, "Nothing was changed") {
				t.Errorf("fork at %q: %s", at, got)
			}
		}
		wantFiles(t, e.dir, now)
	}
	check()
	call[acp.CloseSessionResponse](e, "session/close", obj{"sessionId": id})
	check()
	third, tree := fork("First.")
	e.say(third, "three", acp.StopReasonEndTurn)
	wantFiles(t, tree, map[string]string{"keep.txt": "kept\n", "a.txt": "one\n", "c.txt": "fork\n"})
	if got, _ := e.after(third, "/worktree"); !strings.Contains(got, "added c.txt") || strings.Contains(got, "a.txt") {
		t.Errorf("/worktree: %s", got)
	}
	// A fork of the fork has its files.
	resp := call[acp.ForkSessionResponse](e, "session/fork", obj{"sessionId": third, "cwd": e.dir, "mcpServers": []any{}, "_meta": obj{"gjc/worktree": true}})
	wantFiles(t, worktreeOf(t, resp.Meta), map[string]string{"keep.txt": "kept\n", "a.txt": "one\n", "c.txt": "fork\n"})
	if messages["First."] == "" || slices.Contains([]string{messages["one"], messages["two"]}, "") {
		t.Errorf("the messages are %v", messages)
	}
}

// Without checkpoints the files of the time of a message are not known.
func TestWorktree_ForkWithoutCheckpoints(t *testing.T) {
	_, trees := worktreesIn(t, false)
	e := start(t, scripted(providertest.Step{providertest.Text("First.")}, providertest.Step{providertest.Text("Second.")}), trees)
	e.smallRepository()
	id := e.session()
	e.say(id, "one", acp.StopReasonEndTurn)
	e.replayed(id)
	var first string
	for _, u := range e.Updates(id) {
		if m, ok := u.(*acp.UserMessageChunk); ok {
			first = string(m.MessageID)
		}
	}
	e.say(id, "two", acp.StopReasonEndTurn)
	_, err := tryCall[acp.ForkSessionResponse](e, "session/fork", obj{"sessionId": id, "cwd": e.dir, "mcpServers": []any{}, "_meta": obj{"gjc/worktree": true, "messageId": first}})
	if err == nil || !strings.Contains(err.Error(), "checkpoints are off") {
		t.Errorf("the error is %v", err)
	}
	if got := strings.Count(e.git("worktree", "list"), "\n"); got != 1 {
		t.Errorf("%d worktrees", got)
	}
	if listed := call[acp.ListSessionsResponse](e, "session/list", obj{}); len(listed.Sessions) != 1 {
		t.Errorf("%d sessions", len(listed.Sessions))
	}
}

// contents returns the contents of all files in a directory.
func contents(t *testing.T, dir string) string {
	t.Helper()
	all := ""
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		all += string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// An answer for the workspace holds in all worktrees of it and in the workspace itself, and names none of them.
func TestWorktree_Answers(t *testing.T) {
	dir, trees := worktreesIn(t, false)
	answers := t.TempDir()
	store := permissions.Open(answers)
	asked := 0
	touch := providertest.Step{providertest.Call("c", "bash", `{"command":"touch here"}`)}
	done := providertest.Step{providertest.Text("Done.")}
	e := start(t, scripted(touch, done, touch, done, touch, done), trees, func(c *config) {
		c.server.Sessions.Policy = func(cwd string) approval.Policy { return approval.Policy{Home: t.TempDir(), Keeper: store.Keeper(cwd)} }
		c.editor.Permission = func(context.Context, *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
			asked++
			return acptest.Choose("allow_workspace"), nil
		}
	})
	e.smallRepository()
	for _, worktree := range []bool{true, true, false} {
		opened := call[acp.NewSessionResponse](e, "session/new", obj{"cwd": e.dir, "mcpServers": []any{}, "_meta": obj{"gjc/worktree": worktree}})
		e.say(opened.SessionID, "touch", acp.StopReasonEndTurn)
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	if kept := contents(t, answers); !strings.Contains(kept, e.dir) || strings.Contains(kept, dir) {
		t.Errorf("the answers: %s", kept)
	}
}
