package isolated

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/cmd/gjc/internal/headless"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/internal/worktree"
)

// newRepository makes a repository with a commit, and returns the options of a run and a function that runs git.
func newRepository(t *testing.T) (dir string, o *Options, git func(args ...string) string) {
	t.Helper()
	testenv.NeedsTool(t, "git")
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(base, "project")
	env := append(os.Environ(), "HOME="+base, "USERPROFILE="+base, "XDG_CONFIG_HOME="+base, "GIT_CONFIG_NOSYSTEM=1")
	git = func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	write(t, filepath.Join(dir, "a.txt"), "one\n")
	git("init", "-q", "-b", "main")
	git("add", "-A")
	git("-c", "user.name=Test", "-c", "user.email=test@example.com", "commit", "-q", "-m", "first")
	children := proc.NewGroup(nil)
	t.Cleanup(func() {
		if err := children.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return dir, &Options{
		Maker:  &worktree.Maker{Git: &worktree.Git{Children: children, Env: env}, Dir: filepath.Join(base, "worktrees")},
		Notice: func(text string) { t.Errorf("notice: %s", text) },
	}, git
}

func write(t *testing.T, path, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// The next run names the worktree that a killed one has left with changes, until the user removes it.
func TestBegin_Leftover(t *testing.T) {
	dir, o, git := newRepository(t)
	session := &headless.Session{Cwd: dir}
	killed, err := Begin(t.Context(), o, session)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(session.Cwd, "a.txt"), "work\n")
	killed.tree.Keep() // as the end of the process does
	var notices []string
	o.Notice = func(text string) { notices = append(notices, text) }
	next := func() {
		t.Helper()
		r, err := Begin(t.Context(), o, &headless.Session{Cwd: dir})
		if err != nil {
			t.Fatal(err)
		}
		result := &headless.Result{}
		r.Finish(t.Context(), nil, result)
		if len(result.Errors) > 0 || result.Worktree.Path != "" {
			t.Errorf("result: %+v", result)
		}
	}
	next()
	next()
	if len(notices) != 2 || !strings.Contains(notices[0], "1 changed file in the worktree "+session.Cwd) || notices[0] != notices[1] {
		t.Fatalf("notices: %q", notices)
	}
	_, command, _ := strings.Cut(notices[0], "remove it: git -C "+dir+" ")
	git(strings.Fields(command)...)
	notices = nil
	next()
	if len(notices) > 0 {
		t.Errorf("notices: %q", notices)
	}
}

// What cannot be committed stays where it is, and the run has failed.
func TestFinish_BranchExists(t *testing.T) {
	dir, o, git := newRepository(t)
	o.Branch = "try"
	session := &headless.Session{Cwd: dir}
	r, err := Begin(t.Context(), o, session)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(session.Cwd, "a.txt"), "work\n")
	git("branch", "gjc/try")
	result := &headless.Result{}
	r.Finish(t.Context(), nil, result)
	if result.Status != headless.Failed || result.Worktree.Path != session.Cwd || len(result.Errors) != 1 {
		t.Errorf("result: %+v", result)
	}
	if data, err := os.ReadFile(filepath.Join(session.Cwd, "a.txt")); err != nil || string(data) != "work\n" {
		t.Errorf("the work: %q, %v", data, err)
	}
}

// A run that was interrupted keeps its changes, too. Without a name in the configuration of git, gjc is the author.
func TestFinish_Interrupted(t *testing.T) {
	dir, o, git := newRepository(t)
	session := &headless.Session{Cwd: dir}
	ctx, cancel := context.WithCancel(t.Context())
	r, err := Begin(ctx, o, session)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(session.Cwd, "a.txt"), "work\n")
	cancel()
	result := &headless.Result{Status: headless.Interrupted}
	r.Finish(ctx, []acp.ContentBlock{&acp.TextContent{Text: "\n fix the\x1b[31m test\nand more"}}, result)
	if result.Status != headless.Interrupted || len(result.Errors) > 0 || len(result.Worktree.Branches) != 1 {
		t.Fatalf("result: %+v", result)
	}
	log := git("log", "-1", "--format=%an <%ae> %s", result.Worktree.Branches[0].Name)
	if !strings.HasPrefix(log, "gjc <gjc@localhost> fix the") || strings.Contains(log, "\x1b") || strings.Contains(log, "more") {
		t.Errorf("log: %q", log)
	}
}
