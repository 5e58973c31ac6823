//go:build unix

package shell

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent"
)

// parseState returns each variable in the output of "export -p" with its exact value, and the directory that follows.
func TestParseState(t *testing.T) {
	values := map[string]string{
		"GJC_EMPTY": "", "GJC_PLAIN": "value", "GJC_LINES": "one\ntwo\n", "GJC_QUOTES": `it's "quoted" \ and $HOME and ` + "`id`",
		"GJC_CONTROL": "a\x01b\tc\x1b[31m\r", "GJC_UNICODE": "日本 \U0001f600", "GJC_BYTES": "caf\xe9", "GJC_DASH": "-x", "GJC_SPACE": "  two  ",
		"GJC_TILDE": "~/x", "GJC_GLOB": "*.go", "GJC_BRACES": "{a,b}", "GJC_BANG": "!!", "GJC_END": agent.StateEnd + "\n", "GJC_EQUALS": "a=b",
		"GJC_CRLF": "one\r\ntwo\r\n",
	}
	found := false
	for _, name := range []string{"bash", "dash", "sh", "zsh", "ksh", "mksh", "busybox"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		found = true
		args := []string{"-c", "export -p && echo '" + agent.StateEnd + "' && printf '%s\\n' '/a\nb'"}
		if name == "busybox" {
			args = append([]string{"sh"}, args...)
		}
		cmd := exec.CommandContext(t.Context(), path, args...)
		for n, v := range values {
			cmd.Env = append(cmd.Env, n+"="+v)
		}
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, dir := parseState(out)
		if dir != "/a\nb" {
			t.Errorf("%s: the directory is %q", name, dir)
		}
		for n := range got {
			if !strings.HasPrefix(n, "GJC_") {
				delete(got, n) // set by the shell itself
			}
		}
		if diff := cmp.Diff(values, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s\nin %q", name, diff, out)
		}
		whole := len(out) - len("/a\nb\n")
		for n := range out {
			vars, dir := parseState(out[:n])
			if vars != nil && n < whole || dir != "" && dir != "/a" {
				t.Fatalf("%s: the first %d bytes count as whole, with the directory %q", name, n, dir)
			}
		}
	}
	if !found {
		t.Skip("this machine has no shell")
	}
}

func FuzzParseState(f *testing.F) {
	f.Add([]byte("declare -x A=\"b\"\n" + agent.StateEnd + "\n"))
	f.Add([]byte("export A='b'\"'\"'c' B=$'\\x01'\n" + agent.StateEnd + "\n"))
	f.Add([]byte("declare -ax A=([0]=\"$(id)\")\n" + agent.StateEnd + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		vars, _ := parseState(text)
		for name := range vars { // it must not panic, or run anything
			if name == "" {
				t.Error("a variable without a name")
			}
		}
	})
}
