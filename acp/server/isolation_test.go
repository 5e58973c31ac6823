package server_test

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/acp/server"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/permissions"
	"github.com/gajae-code/gjc/internal/checkpoint"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/internal/worktree"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// apart is a server whose workspace is a git repository with the file f, the lines 1 to 5, and an uncommitted file dirty.
type apart struct {
	*env
	trees string // the directory of all worktrees
	gitEnv
}

// gitEnv is the environment of git in tests.
type gitEnv []string

func (g gitEnv) run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir, cmd.Env = dir, g
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// startApart starts a server with worktrees.
func startApart(t *testing.T, change ...func(*config)) *apart {
	t.Helper()
	testenv.NeedsTool(t, "git")
	home := t.TempDir()
	a := &apart{trees: filepath.Join(home, "state", "worktrees")}
	a.gitEnv = append(os.Environ(), "HOME="+home, "USERPROFILE="+home, "XDG_CONFIG_HOME="+home, "GIT_CONFIG_NOSYSTEM=1")
	a.env = start(t, append(change, func(c *config) {
		c.server.Machine.Worktrees = func(children *proc.Group) (*worktree.Maker, error) {
			return &worktree.Maker{Git: &worktree.Git{Children: children, Env: a.gitEnv}, Dir: a.trees}, nil
		}
	})...)
	a.git("init", "-q", "-b", "main")
	a.git("config", "user.name", "Test")
	a.git("config", "user.email", "test@example.com")
	a.write("f", "1\n2\n3\n4\n5\n")
	a.write("old", "old\n")
	a.git("add", "-A")
	a.git("commit", "-q", "-m", "first")
	a.write("dirty", "dirty\n")
	return a
}

func (a *apart) git(args ...string) string { a.t.Helper(); return a.run(a.t, a.dir, args...) }

// files returns the files of the workspace.
func (a *apart) files() map[string]string {
	a.t.Helper()
	all := make(map[string]string)
	entries, err := os.ReadDir(a.dir)
	if err != nil {
		a.t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		data, err := os.ReadFile(filepath.Join(a.dir, e.Name()))
		if err != nil {
			a.t.Fatal(err)
		}
		all[e.Name()] = string(data)
	}
	return all
}

// left returns the worktrees on the disk.
func (a *apart) left() []string {
	a.t.Helper()
	all, err := filepath.Glob(filepath.Join(a.trees, "*"))
	if err != nil {
		a.t.Fatal(err)
	}
	return all
}

// cast plays the model: each conversation has its steps, chosen by the first user message that contains the name.
type cast struct {
	mu    sync.Mutex
	steps map[string][]providertest.Step
	// seen are the last messages that a conversation has received.
	seen map[string][]string
}

func (c *cast) play(cfg *config) {
	script := providertest.NewScript(providers.ModelInfo{Provider: "test", ID: "script", ContextWindow: 100_000})
	script.Else(func(req *providers.Request) providertest.Step {
		c.mu.Lock()
		defer c.mu.Unlock()
		for name, steps := range c.steps {
			if !strings.Contains(req.Messages[0].Text(), name) || len(steps) == 0 {
				continue
			}
			if c.seen == nil {
				c.seen = make(map[string][]string)
			}
			c.seen[name] = append(c.seen[name], req.Messages[len(req.Messages)-1].Text())
			c.steps[name] = steps[1:]
			return steps[0]
		}
		return providertest.Step{providertest.Text("nothing to do")}
	})
	cfg.server.Models.Models = &models{list: []providers.Model{script}}
}

// last returns the last message that a conversation has received.
func (c *cast) last(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.seen[name]) == 0 {
		return ""
	}
	return c.seen[name][len(c.seen[name])-1]
}

func write(path, text string) providertest.Step {
	return providertest.Step{providertest.Call("w-"+path, "write", string(must(jsonx.Marshal(map[string]string{"path": path, "content": text}))))}
}

func must(raw jsonx.Raw, err error) jsonx.Raw {
	if err != nil {
		panic(err)
	}
	return raw
}

func says(text string) providertest.Step { return providertest.Step{providertest.Text(text)} }

func task(input string) providertest.Step {
	return providertest.Step{providertest.Call("task", "task", input)}
}

// mergeCall returns the ID of the call that merges the changes of a helper, and the paths of its last diffs.
func (a *apart) mergeCall(id acp.SessionID) (call acp.ToolCallID, status acp.ToolCallStatus, diffs []string) {
	a.t.Helper()
	for _, u := range a.Updates(id) {
		switch u := u.(type) {
		case *acp.ToolCall:
			if strings.HasPrefix(u.Title, "Merge the changes of") {
				call = u.ToolCallID
			}
		case *acp.ToolCallUpdate:
			if u.ToolCallID != call || call == "" {
				continue
			}
			if s, ok := u.Status.Get(); ok {
				status = s
			}
			if content, ok := u.Content.Get(); ok {
				diffs = nil
				for _, c := range content {
					if d, ok := c.(*acp.Diff); ok {
						rel, _ := filepath.Rel(a.dir, d.Path)
						diffs = append(diffs, rel)
					}
				}
			}
		}
	}
	return call, status, diffs
}

// A helper with a worktree edits there, and its changes come to the workspace when it has ended, as diffs of a call of their own. Until then
// the workspace stays as it is.
func TestIsolation_Merge(t *testing.T) {
	gate := providertest.NewGate()
	defer gate.Open()
	c := &cast{steps: map[string][]providertest.Step{
		"begin": {task(`{"tasks":[{"id":"scout","description":"change it","assignment":"do the work","isolation":"worktree"}]}`), says("top")},
		"do the work": {
			write("f", "ONE\n2\n3\n4\n5\n"), write("sub/new", "new\n"),
			{providertest.Call("d", "apply_patch", `{"input":"*** Begin Patch\n*** Delete File: old\n*** End Patch"}`)},
			{providertest.Call("b", "bash", `{"command":"cat dirty > copy; rm old; pwd"}`)},
			{gate.Hold(), providertest.Text("done")},
		},
	}}
	a := startApart(t, c.play)
	id := a.session()
	before := a.files()
	over := make(chan struct{})
	go func() {
		defer close(over)
		a.say(id, "begin", acp.StopReasonEndTurn)
	}()
	<-gate.Reached()
	if diff := cmp.Diff(before, a.files()); diff != "" {
		t.Errorf("the helper has changed the workspace (-before +now):\n%s", diff)
	}
	if got := a.left(); len(got) != 1 {
		t.Errorf("worktrees: %q", got)
	}
	if !strings.Contains(c.last("do the work"), a.trees) {
		t.Errorf("the helper's command ran in %q", c.last("do the work"))
	}
	gate.Open()
	<-over
	want := map[string]string{"f": "ONE\n2\n3\n4\n5\n", "dirty": "dirty\n", "copy": "dirty\n"}
	if diff := cmp.Diff(want, a.files()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	call, status, diffs := a.mergeCall(id)
	slices.Sort(diffs)
	if diff := cmp.Diff([]string{"copy", "f", "old", filepath.Join("sub", "new")}, diffs); diff != "" || status != acp.ToolCallStatusCompleted {
		t.Errorf("the call %s is %s; diffs (-want +got):\n%s", call, status, diff)
	}
	report := c.last("begin")
	if !strings.Contains(report, "Merged the changes of scout") || !strings.Contains(report, "modified f") || !strings.Contains(report, "deleted old") {
		t.Errorf("the report: %s", report)
	}
	if got := a.left(); len(got) > 0 {
		t.Errorf("left worktrees: %q", got)
	}
	if got := a.git("worktree", "list"); strings.Count(got, "\n") != 1 {
		t.Errorf("git knows: %s", got)
	}
}

// reject rejects the questions whose title begins with prefix, and allows the others once.
func reject(prefix string) func(*config) {
	return func(c *config) {
		c.editor.Permission = func(_ context.Context, p *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
			if title, _ := p.ToolCall.Title.Get(); strings.HasPrefix(title, prefix) {
				return acptest.Choose("reject_once"), nil
			}
			return acptest.Choose("allow_once"), nil
		}
	}
}

// Two helpers change the same file at the same time: lines that do not meet are merged, others become a conflict whose address write
// resolves. The user's unsaved text counts.
func TestIsolation_SideBySide(t *testing.T) {
	gate := providertest.NewGate()
	defer gate.Open()
	const both = `{"tasks":[
		{"id":"one","description":"first","assignment":"first work","isolation":"worktree"},
		{"id":"two","description":"second","assignment":"second work","isolation":"worktree"}]}`
	c := &cast{steps: map[string][]providertest.Step{
		"begin":       {task(both), {providertest.Call("r", "write", `{"path":"conflict://1","content":"@theirs"}`)}, says("top")},
		"first work":  {write("f", "ONE\n2\n3\n4\n5\n"), {gate.Hold(), providertest.Text("done")}},
		"second work": {write("f", "1\n2\n3\nTWO\n5\n"), {gate.Hold(), providertest.Text("done")}},
	}}
	a := startApart(t, c.play)
	id := a.session()
	a.Open(filepath.Join(a.dir, "f"), "USER\n2\n3\n4\n5\n")
	over := make(chan struct{})
	go func() {
		defer close(over)
		a.say(id, "begin", acp.StopReasonEndTurn)
	}()
	<-gate.Reached()
	gate.Open()
	<-over
	text, _ := a.Buffer(filepath.Join(a.dir, "f"))
	if text != "ONE\n2\n3\nTWO\n5\n" {
		t.Errorf("the file: %q", text)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	report := c.seen["begin"][1]
	if !strings.Contains(report, "Merged the changes of two:\n  modified f") || !strings.Contains(report, "Merged the changes of one:\n  modified f, with conflicts conflict://1") {
		t.Errorf("the report: %s", report)
	}
	if got := a.left(); len(got) > 0 {
		t.Errorf("left worktrees: %q", got)
	}
}

// If the user rejects the merge, the workspace stays as it is, and the changes are on a branch.
func TestIsolation_Rejected(t *testing.T) {
	c := &cast{steps: map[string][]providertest.Step{
		"begin":       {task(`{"tasks":[{"id":"scout","description":"change it","assignment":"do the work","isolation":"worktree"}]}`), says("top")},
		"do the work": {write("f", "ONE\n2\n3\n4\n5\n"), says("done")},
	}}
	a := startApart(t, c.play, reject("Merge"))
	id := a.session()
	call[struct{}](a.env, "session/set_mode", obj{"sessionId": id, "modeId": "strict"})
	a.git("branch", "gjc/scout") // the name is in use
	before := a.files()
	a.say(id, "begin", acp.StopReasonEndTurn)
	if diff := cmp.Diff(before, a.files()); diff != "" {
		t.Errorf("the workspace has changed (-before +now):\n%s", diff)
	}
	if got := a.git("diff", "--name-only", "gjc/scout-2^", "gjc/scout-2"); got != "f\n" {
		t.Errorf("the branch has %q", got)
	}
	if got := a.git("log", "-1", "--format=%s", "gjc/scout-2"); got != "change it\n" {
		t.Errorf("the subject is %q", got)
	}
	report := c.last("begin")
	if !strings.Contains(report, "not merged: rejected by the user") || !strings.Contains(report, "on the branch gjc/scout-2: f.") || !strings.Contains(report, "apply") {
		t.Errorf("the report: %s", report)
	}
	if _, status, _ := a.mergeCall(id); status != acp.ToolCallStatusFailed {
		t.Errorf("the call is %s", status)
	}
	if got := a.left(); len(got) > 0 {
		t.Errorf("left worktrees: %q", got)
	}
}

// With keep the changes go to a branch without a question.
func TestIsolation_Branch(t *testing.T) {
	c := &cast{steps: map[string][]providertest.Step{
		"begin":       {task(`{"tasks":[{"id":"scout","description":"change it","assignment":"do the work","isolation":"worktree","keep":"branch"}]}`), says("top")},
		"do the work": {write("f", "ONE\n"), says("done")},
	}}
	a := startApart(t, c.play)
	id := a.session()
	before := a.files()
	a.say(id, "begin", acp.StopReasonEndTurn)
	if diff := cmp.Diff(before, a.files()); diff != "" {
		t.Errorf("the workspace has changed (-before +now):\n%s", diff)
	}
	if got := a.git("show", "gjc/scout:f"); got != "ONE\n" {
		t.Errorf("the branch has %q", got)
	}
	if call, _, _ := a.mergeCall(id); call != "" {
		t.Error("the changes were to be merged")
	}
}

// The changes of a helper in the background wait: merge_changes merges them, and at the end of the session they go to a branch.
func TestIsolation_Background(t *testing.T) {
	c := &cast{steps: map[string][]providertest.Step{
		"begin": {
			task(`{"async":true,"tasks":[
				{"id":"one","description":"first","assignment":"first work","isolation":"worktree"},
				{"id":"two","description":"second","assignment":"second work","isolation":"worktree"}]}`),
			{providertest.Call("j1", "job", `{"poll":["job-1"],"wait":60}`)},
			{providertest.Call("j2", "job", `{"poll":["job-2"],"wait":60}`)},
			{providertest.Call("m", "merge_changes", `{"name":"one"}`)},
			{providertest.Call("m2", "merge_changes", `{"name":"one"}`)},
			says("top"),
		},
		"first work":  {write("f", "ONE\n"), says("done")},
		"second work": {write("f", "TWO\n"), says("done")},
	}}
	a := startApart(t, c.play)
	id := a.session()
	a.say(id, "begin", acp.StopReasonEndTurn)
	if got := a.files()["f"]; got != "ONE\n" {
		t.Errorf("the file: %q", got)
	}
	c.mu.Lock()
	seen := slices.Clone(c.seen["begin"])
	c.mu.Unlock()
	all := strings.Join(seen, "\n---\n")
	for _, want := range []string{"which are not merged: f.", "Merged the changes of one:\n  modified f", "no changes of the helper \"one\" are to be merged; these have a worktree: two"} {
		if !strings.Contains(all, want) {
			t.Errorf("the model was not given %q:\n%s", want, all)
		}
	}
	call[struct{}](a.env, "session/close", obj{"sessionId": id})
	if got := a.git("show", "gjc/two:f"); got != "TWO\n" {
		t.Errorf("the branch has %q", got)
	}
	if got := a.left(); len(got) > 0 {
		t.Errorf("left worktrees: %q", got)
	}
}

// A helper that has a question keeps its worktree, and goes on there with the answer.
func TestIsolation_Resumed(t *testing.T) {
	c := &cast{steps: map[string][]providertest.Step{
		"begin": {
			task(`{"tasks":[{"id":"scout","description":"change it","assignment":"do the work","isolation":"worktree"}]}`),
			{providertest.Call("t2", "task", `{"tasks":[{"to":"scout","description":"go on","assignment":"the answer"}]}`)},
			{providertest.Call("t3", "task", `{"tasks":[{"to":"scout","description":"again","assignment":"more"}]}`)},
			says("top"),
		},
		"do the work": {
			write("f", "ONE\n"),
			{providertest.Call("a", "ask", `{"questions":[{"question":"which?"}]}`)},
			{providertest.Call("b", "bash", `{"command":"cat f >> g"}`)},
			says("done"),
			{providertest.Call("b2", "bash", `{"command":"echo more >> g"}`)},
			says("again"),
		},
	}}
	a := startApart(t, c.play, func(c *config) {
		c.editor.Capabilities = acptest.AllCapabilities()
		c.editor.Capabilities.Elicitation = nil
	})
	id := a.session()
	a.say(id, "begin", acp.StopReasonEndTurn)
	if got := a.files(); got["g"] != "ONE\nmore\n" || got["f"] != "ONE\n" {
		t.Errorf("the files: %q", got)
	}
	c.mu.Lock()
	seen := slices.Clone(c.seen["begin"])
	work := slices.Clone(c.seen["do the work"])
	c.mu.Unlock()
	if !strings.Contains(seen[1], "not merged: f.") || !strings.Contains(seen[2], "Merged the changes of scout:\n  modified f\n  added g") {
		t.Errorf("the reports: %q", seen)
	}
	if !strings.Contains(work[4], "Your earlier directory is gone") {
		t.Errorf("the later task: %q", work)
	}
	if got := a.left(); len(got) > 0 {
		t.Errorf("left worktrees: %q", got)
	}
}

// Commands of the helper run inside a boundary around its own directory: they may not change the workspace.
func TestIsolation_Boundary(t *testing.T) {
	needsBoundary(t)
	c := &cast{steps: map[string][]providertest.Step{
		"begin": {task(`{"tasks":[{"id":"scout","description":"change it","assignment":"do the work","isolation":"worktree"}]}`), says("top")},
	}}
	store := permissions.Open(filepath.Join(t.TempDir(), "permissions.json"))
	a := startApart(t, c.play, func(c *config) {
		c.server.Sessions.Policy = func(cwd string) approval.Policy {
			return approval.Policy{Boundary: testBoundary(), Home: t.TempDir(), Keeper: store.Keeper(cwd)}
		}
		c.editor.Permission = func(_ context.Context, p *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
			title, _ := p.ToolCall.Title.Get()
			t.Errorf("asked about %s: %s", title, contentText(p.ToolCall.Content.Or(nil)))
			return acptest.Choose("reject_once"), nil
		}
	})
	line := "echo ONE > f; git status --porcelain; echo evil > '" + filepath.Join(a.dir, "f") + "'; echo evil > '" + filepath.Join(a.dir, "evil") + "'; echo end"
	c.steps["do the work"] = []providertest.Step{{providertest.Call("b", "bash", command(line))}, says("done")}
	id := a.session()
	call[struct{}](a.env, "session/set_mode", obj{"sessionId": id, "modeId": "auto"})
	a.say(id, "begin", acp.StopReasonEndTurn)
	if output := c.last("do the work"); !strings.Contains(output, " M f\n?? dirty\n") || !strings.Contains(output, "end") {
		t.Errorf("the command: %s", output)
	}
	if diff := cmp.Diff(map[string]string{"f": "ONE\n", "old": "old\n", "dirty": "dirty\n"}, a.files()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// An answer for the workspace is kept for the workspace and not for the worktree, and one for the workspace holds in the worktree.
func TestIsolation_Answers(t *testing.T) {
	c := &cast{steps: map[string][]providertest.Step{
		"begin": {
			task(`{"tasks":[{"id":"scout","description":"change it","assignment":"do the work","isolation":"worktree"}]}`),
			{providertest.Call("b2", "bash", `{"command":"touch here"}`)},
			{providertest.Call("t2", "task", `{"tasks":[{"id":"more","description":"change more","assignment":"other work","isolation":"worktree"}]}`)},
			says("top"),
		},
		"do the work": {{providertest.Call("b", "bash", `{"command":"touch here"}`)}, says("done")},
		"other work":  {{providertest.Call("b", "bash", `{"command":"touch here"}`)}, says("done")},
	}}
	answers := t.TempDir()
	store := permissions.Open(answers)
	var asked []string
	a := startApart(t, c.play, func(c *config) {
		c.server.Sessions.Policy = func(cwd string) approval.Policy {
			return approval.Policy{Home: t.TempDir(), Keeper: store.Keeper(cwd)}
		}
		c.editor.Permission = func(_ context.Context, p *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
			title, _ := p.ToolCall.Title.Get()
			asked = append(asked, title)
			return acptest.Choose("allow_workspace"), nil
		}
	})
	a.say(a.session(), "begin", acp.StopReasonEndTurn)
	if diff := cmp.Diff([]string{"change it: touch here"}, asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	if kept := contents(t, answers); !strings.Contains(kept, a.dir) || strings.Contains(kept, a.trees) {
		t.Errorf("the answers: %s", kept)
	}
	if got := a.files(); len(got) != 4 {
		t.Errorf("the files: %q", got)
	}
}

// Without a repository the task fails with the reason, and the other tasks of the call go on.
func TestIsolation_NoRepository(t *testing.T) {
	c := &cast{steps: map[string][]providertest.Step{
		"begin": {
			task(`{"tasks":[
				{"id":"one","description":"first","assignment":"first work","isolation":"worktree"},
				{"id":"two","description":"second","assignment":"second work"}]}`),
			says("top"),
		},
		"first work":  {write("f", "ONE\n"), says("done one")},
		"second work": {write("g", "TWO\n"), says("done two")},
	}}
	a := startApart(t, c.play)
	if err := os.RemoveAll(filepath.Join(a.dir, ".git")); err != nil {
		t.Fatal(err)
	}
	a.say(a.session(), "begin", acp.StopReasonEndTurn)
	report := c.last("begin")
	if !strings.Contains(report, "not in a git repository") || !strings.Contains(report, "done two") || strings.Contains(report, "done one") {
		t.Errorf("the report: %s", report)
	}
	if got := a.files(); got["f"] != "1\n2\n3\n4\n5\n" || got["g"] != "TWO\n" {
		t.Errorf("the files: %q", got)
	}
	if got := a.left(); len(got) > 0 {
		t.Errorf("left worktrees: %q", got)
	}
}

// A helper in a worktree starts another one: its changes go to the worktree of the first, and from there to the workspace. The client has
// sessions for both.
func TestIsolation_Nested(t *testing.T) {
	c := &cast{steps: map[string][]providertest.Step{
		"begin": {task(`{"tasks":[{"id":"outer","description":"change it","assignment":"outer work","isolation":"worktree"}]}`), says("top")},
		"outer work": {
			write("f", "1\n2\n3\n4\nOUTER\n"),
			{providertest.Call("t2", "task", `{"tasks":[{"id":"inner","description":"deeper","assignment":"inner work","isolation":"worktree"}]}`)},
			{providertest.Call("b", "bash", `{"command":"cp f seen"}`)},
			says("done"),
		},
		"inner work": {{providertest.Call("r", "bash", `{"command":"sed -i s/1/INNER/ f; pwd"}`)}, says("done")},
	}}
	a := startApart(t, c.play, as(acptest.UnstableCapabilities()))
	id := a.session()
	a.say(id, "begin", acp.StopReasonEndTurn)
	const want = "INNER\n2\n3\n4\nOUTER\n"
	if got := a.files(); got["f"] != want || got["seen"] != want {
		t.Errorf("the files: %q", got)
	}
	if got := a.left(); len(got) > 0 {
		t.Errorf("left worktrees: %q", got)
	}
	children := 0
	for _, u := range a.Updates(id) {
		if _, ok := u.(*acp.SubagentUpdate); ok {
			children++
		}
	}
	if children != 2 { // its beginning and its end
		t.Errorf("%d updates about the helper", children)
	}
}

// The state of the files is recorded for the merge and not for the work in the worktree. A helper's file can say that it works in one, and a
// directory outside the repository is not part of it. The language servers are those of the worktree.
func TestIsolation_Surroundings(t *testing.T) {
	c := &cast{steps: map[string][]providertest.Step{
		"begin":       {task(`{"agent":"mine","tasks":[{"id":"scout","description":"change it","assignment":"do the work"}]}`), says("top")},
		"do the work": {write("f", "ONE\n"), says("done")},
	}}
	records := t.TempDir()
	var mu sync.Mutex
	var roots []string
	a := startApart(t, c.play, func(c *config) {
		c.server.Sessions.Checkpoints = func(string) *checkpoint.Options { return &checkpoint.Options{Dir: records} }
		c.server.Machine.Languages = func(of []string) (server.Languages, error) {
			mu.Lock()
			defer mu.Unlock()
			roots = append(roots, strings.Join(of, " "))
			return server.Languages{Catalog: noServers{}, Subagents: true}, nil
		}
	})
	if err := os.MkdirAll(filepath.Join(a.dir, ".gjc", "agents"), 0o755); err != nil {
		t.Fatal(err)
	}
	a.write(".gjc/agents/mine.md", "---\nname: mine\ndescription: of the workspace\nisolation: worktree\n---\nYou are mine.")
	other, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	session := call[acp.NewSessionResponse](a.env, "session/new", obj{"cwd": a.dir, "additionalDirectories": []string{other}, "mcpServers": []any{}})
	a.say(session.SessionID, "begin", acp.StopReasonEndTurn)
	if got := a.files()["f"]; got != "ONE\n" {
		t.Errorf("the file: %q", got)
	}
	c.mu.Lock()
	instructions := c.seen["do the work"][0]
	c.mu.Unlock()
	if !strings.Contains(instructions, "stands for "+a.dir) || !strings.Contains(instructions, "not in the repository: "+other) {
		t.Errorf("the instructions: %s", instructions)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(roots) != 2 || roots[0] != a.dir+" "+other || !strings.HasPrefix(roots[1], a.trees) || strings.Contains(roots[1], " ") {
		t.Errorf("language servers for %q", roots)
	}
	found := 0
	err = filepath.WalkDir(records, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		found++
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), a.trees) {
			t.Errorf("%s names a worktree", path)
		}
		return err
	})
	if err != nil || found == 0 {
		t.Errorf("%d records, %v", found, err)
	}
}

// A session removes what a killed process has left without changes, and names the rest.
func TestIsolation_Leftovers(t *testing.T) {
	c := &cast{}
	a := startApart(t, c.play)
	children := proc.NewGroup(nil)
	defer func() { _ = children.Close(context.Background()) }()
	git := &worktree.Git{Children: children, Env: a.gitEnv}
	var tops []string
	for range 2 {
		tree, err := git.New(t.Context(), &worktree.Options{Dir: a.trees, Root: a.dir})
		if err != nil {
			t.Fatal(err)
		}
		tops = append(tops, tree.Top())
		defer tree.Keep()
		tree.Keep() // as the end of the process does
	}
	if err := os.WriteFile(filepath.Join(tops[1], "f"), []byte("work\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	id := a.session()
	a.await(id, acptest.Update(func(n *acp.Notice) bool {
		return strings.Contains(n.Title+n.Description, "1 changed file in the worktree "+tops[1])
	}))
	if _, err := os.Stat(tops[0]); err == nil {
		t.Error("the worktree without changes is there")
	}
	if data, err := os.ReadFile(filepath.Join(tops[1], "f")); err != nil || string(data) != "work\n" {
		t.Errorf("the work: %q, %v", data, err)
	}
}

// A merge makes files executable, and takes that back.
func TestIsolation_Modes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no modes")
	}
	c := &cast{steps: map[string][]providertest.Step{
		"begin":       {task(`{"tasks":[{"id":"scout","description":"change it","assignment":"do the work","isolation":"worktree"}]}`), says("top")},
		"do the work": {{providertest.Call("b", "bash", `{"command":"chmod +x f; chmod -x old; echo new > run; chmod +x run; echo more >> dirty"}`)}, says("done")},
	}}
	a := startApart(t, c.play)
	if err := os.Chmod(filepath.Join(a.dir, "old"), 0o755); err != nil {
		t.Fatal(err)
	}
	a.say(a.session(), "begin", acp.StopReasonEndTurn)
	for name, want := range map[string]bool{"f": true, "old": false, "run": true, "dirty": false} {
		if info, err := os.Stat(filepath.Join(a.dir, name)); err != nil || info.Mode()&0o100 != 0 != want {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if got := a.files()["dirty"]; got != "dirty\nmore\n" {
		t.Errorf("dirty: %q", got)
	}
}

// If the user stops the turn, the changes of the helper wait, and the next turn can merge them.
func TestIsolation_Stopped(t *testing.T) {
	gate := providertest.NewGate()
	defer gate.Open()
	c := &cast{steps: map[string][]providertest.Step{
		"begin":       {task(`{"tasks":[{"id":"scout","description":"change it","assignment":"do the work","isolation":"worktree"}]}`), {providertest.Call("m", "merge_changes", `{"name":"scout"}`)}, says("top")},
		"do the work": {write("f", "ONE\n"), {gate.Hold(), providertest.Text("done")}},
	}}
	a := startApart(t, c.play)
	id := a.session()
	over := make(chan struct{})
	go func() {
		defer close(over)
		a.say(id, "begin", acp.StopReasonCancelled)
	}()
	<-gate.Reached()
	if err := a.Conn.Notify(t.Context(), "session/cancel", obj{"sessionId": id}); err != nil {
		t.Fatal(err)
	}
	<-over
	a.await(id, acptest.Update(func(n *acp.Notice) bool {
		return strings.Contains(n.Title+n.Description, "changes of the helper scout are not merged")
	}))
	if got := a.files()["f"]; got != "1\n2\n3\n4\n5\n" {
		t.Errorf("the file: %q", got)
	}
	a.say(id, "go on", acp.StopReasonEndTurn)
	if got := a.files()["f"]; got != "ONE\n" {
		t.Errorf("the file: %q", got)
	}
	if got := a.left(); len(got) > 0 {
		t.Errorf("left worktrees: %q", got)
	}
}
