package server_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent/approval"
)

// A command that changes git's configuration asks once, for that file alone, and with "always" not again.
func TestBoundary_GitSettings(t *testing.T) {
	needsBoundary(t)
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &target{filepath.Join(base, "dir"), filepath.Join(base, "home"), filepath.Join(base, "out")}
	w.put(t, filepath.Join(w.dir, "a"), "a\n")
	w.put(t, filepath.Join(w.home, "x"), "x\n")
	environ := []string{"HOME=" + w.home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"add", "."},
		{"-c", "user.name=u", "-c", "user.email=u@example.com", "commit", "-qm", "x"},
		{"init", "-q", "--bare", "up"},
		{"remote", "add", "up", "./up"},
		{"push", "-q", "up", "main"},
		{"config", "branch.main.description", "x"},
	} {
		c := exec.CommandContext(t.Context(), "git", args...)
		c.Dir, c.Env = w.dir, environ
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	s := startLines(t, w.dir, environ, approval.Policy{Boundary: testBoundary(), Home: w.home}, approval.ModeAuto)
	for _, line := range []string{
		"git config user.name x", "git config branch.main.rebase true", "git branch --set-upstream-to up/main", "git push -q -u up main", "git remote add new https://git.example.com/x.git",
		"git branch -m other",
	} {
		out, asked := s.run(line, true)
		if len(asked) != 1 || !strings.Contains(asked[0], "It needs to write .git/config. Run it again") {
			t.Errorf("%s asks %d times: %s\n%s", line, len(asked), asked, out)
		}
		if out, asked := s.run(line, true); len(asked) > 0 || strings.Contains(out, ".git/config") {
			t.Errorf("%s again: %s\n%s", line, asked, out)
		}
	}
	data, err := os.ReadFile(filepath.Join(w.dir, ".git", "config"))
	for _, want := range []string{"name = x", "rebase = true", "merge = refs/heads/main", `[remote "new"]`} {
		if err != nil || !strings.Contains(string(data), want) {
			t.Errorf("there is no %q, %v:\n%s", want, err, data)
		}
	}
}
