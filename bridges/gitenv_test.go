package bridges_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/testenv"
)

// A directory that looks like a bare repository makes git run no program. Repositories, linked worktrees and the settings of the
// user's environment work.
func TestTerminal_BareRepository(t *testing.T) {
	testenv.NeedsTool(t, "git")
	home := t.TempDir()
	for name, value := range map[string]string{
		"HOME": home, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_COUNT": "1",
		"GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "Ann", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_EMAIL": "a@b",
	} {
		t.Setenv(name, value)
	}
	implementations(t, func(t *testing.T, start func(*testing.T) *env) {
		lay := func(t *testing.T) *env {
			e := start(t)
			e.put("evil/HEAD", "ref: refs/heads/x\n")
			e.put("evil/objects/keep", "")
			e.put("evil/refs/keep", "")
			e.put("evil/config", "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = "+filepath.ToSlash(e.dir)+"\n\tfsmonitor = \"touch "+filepath.ToSlash(e.path("ran"))+"; false\"\n")
			return e
		}
		ran := func(e *env) bool {
			_, err := os.Stat(e.path("ran"))
			return err == nil
		}
		t.Run("runs nothing", func(t *testing.T) {
			e := lay(t)
			status, out := e.runCommand(agent.Command{Line: "git -C evil status"})
			if ran(e) || status.Code == 0 || !strings.Contains(out.Text, "safe.bareRepository") {
				t.Errorf("%+v, %s", status, out.Text)
			}
		})
		t.Run("as the user wants", func(t *testing.T) {
			for value, runs := range map[string]bool{"all": true, "explicit": false} {
				t.Setenv("GIT_CONFIG_KEY_0", "safe.barerepository")
				t.Setenv("GIT_CONFIG_VALUE_0", value)
				e := lay(t)
				if _, out := e.runCommand(agent.Command{Line: "git -C evil status"}); ran(e) != runs {
					t.Errorf("%s: %s", value, out.Text)
				}
			}
		})
		t.Run("a count that cannot be read", func(t *testing.T) {
			t.Setenv("GIT_CONFIG_COUNT", "many")
			e := start(t)
			if _, out := e.runCommand(agent.Command{Line: "echo $GIT_CONFIG_COUNT $GIT_CONFIG_KEY_1"}); out.Text != "many\n" {
				t.Errorf("%q", out.Text)
			}
		})
		t.Run("ordinary ones", func(t *testing.T) {
			e := start(t)
			status, out := e.runCommand(agent.Command{Line: "git init -q n && cd n && git commit -q --allow-empty -m x && git worktree add -q ../w && " +
				"git -C ../w log --format=%an && git init -q --bare ../b && git push -q ../b HEAD:x && git --git-dir ../b log --format=%an x"})
			if status.Code != 0 || out.Text != "Ann\nAnn\n" {
				t.Errorf("%+v, %s", status, out.Text)
			}
		})
	})
}
