package gitconfig

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/testenv"
)

// GlobalIgnore agrees with git about the configuration.
func TestGlobalIgnore_AgreesWithGit(t *testing.T) {
	git := testenv.NeedsTool(t, "git")
	for name, config := range map[string]string{
		"plain":             "[core]\n\texcludesFile = ~/ignored\n",
		"other case":        "[CORE]\nEXCLUDESFILE=~/ignored",
		"quoted":            "[core]\n\texcludesfile = \"~/with blank # x\"  ; a comment\n",
		"half quoted":       "[core]\nexcludesFile = ~/with\" \"blank   # no\n",
		"inner blanks":      "[core]\nexcludesFile = ~/with   blanks\t \n",
		"last wins":         "[core]\nexcludesFile = ~/first\n[core]\n\texcludesFile = ~/ignored\n",
		"other sections":    "[user]\n\tname = x\n\texcludesFile = ~/no\n[core \"sub\"]\n\texcludesFile = ~/no\n[core]\n\tbare\n\texcludesFile = ~/ignored\n[alias]\n\tst = status\n",
		"same line":         "[core] excludesFile = ~/ignored\n",
		"continued":         "[core]\nexcludesFile = ~/ig\\\nnored\n",
		"escapes":           "[core]\nexcludesFile = \"~/a\\\\b\\\"c\"\n",
		"windows":           "[core]\r\n\texcludesFile = ~/ignored\r\n",
		"comments":          "# [core]\n; x\n[core] # here\n# excludesFile = ~/no\n\texcludesFile = ~/ignored # there\n",
		"none":              "[core]\n\tbare = false\n",
		"a name that ends":  "[core]\nexcludesFile = ~/ignored\n[core]\nautocrlf",
		"absolute":          "[core]\nexcludesFile = /etc/ignored\n",
		"byte order mark":   "\ufeff[core]\nexcludesFile = ~/ignored\n",
		"empty":             "",
		"comment in a line": "[core]\nexcludesFile = ~/a;b\n",
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "config")
			if err := os.WriteFile(file, []byte(config), 0o666); err != nil {
				t.Fatal(err)
			}
			out, err := exec.CommandContext(t.Context(), git, "config", "--file", file, "-z", "core.excludesFile").Output()
			want, wantOK := strings.TrimSuffix(string(out), "\x00"), err == nil
			if got, ok := excludesFile(config); got != want || ok != wantOK {
				t.Errorf("excludesFile: %q, %t; git says %q, %t", got, ok, want, wantOK)
			}
		})
	}
}

func TestGlobalIgnore_Where(t *testing.T) {
	home := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(home, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	env := make(map[string]string)
	check := func(when, want string) {
		t.Helper()
		if got := GlobalIgnore(home, func(name string) string { return env[name] }); got != want {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	check("nothing is set", "")
	usual := put(".config/git/ignore", "*.swp\n")
	check("the usual place", usual)
	mine := put("mine", "*.log\n")
	put(".config/git/config", "[core]\nexcludesFile = ~/other\n")
	check("a file that is not there", "")
	put(".gitconfig", "[core]\nexcludesFile = ~/mine\n")
	check("the one in the home directory wins", mine)
	env["GIT_CONFIG_GLOBAL"] = put("only", "[user]\nname = x\n")
	check("another configuration, which says nothing", usual)
	env["XDG_CONFIG_HOME"] = filepath.Join(home, "xdg")
	check("another place for configurations", "")
	delete(env, "GIT_CONFIG_GLOBAL")
	put(".gitconfig", "[core]\nexcludesFile = relative\n")
	check("a path that is not absolute", "")
}

func FuzzExcludesFile(f *testing.F) {
	f.Add("[core]\nexcludesFile = \"a\\\nb\" # x\n[x]")
	f.Fuzz(func(_ *testing.T, config string) { excludesFile(config) })
}
