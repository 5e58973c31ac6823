package gjc

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/testenv"
)

// stress runs tools/stress.sh in a small module with caches of its own, because a condition copies both. It must leave no file.
func stress(t *testing.T, args ...string) (out string, err error) {
	t.Helper()
	module, temp := t.TempDir(), t.TempDir()
	if err := os.Chmod(filepath.Dir(temp), 0o755); err != nil { // for other users
		t.Fatal(err)
	}
	for _, dir := range []string{"modcache", "gocache"} {
		if err := os.Mkdir(filepath.Join(module, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const test = "package m\n\nimport \"testing\"\n\nfunc Test(t *testing.T) {}\n"
	for name, text := range map[string]string{"go.mod": "module m\n", "m_test.go": test} {
		if err := os.WriteFile(filepath.Join(module, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(testenv.NeedsTool(t, "bash"), append([]string{filepath.Join(testenv.ModuleRoot(t), "tools", "stress.sh"), "-load", "1"}, args...)...)
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "TMPDIR="+temp, "GOCACHE="+filepath.Join(module, "gocache"), "GOMODCACHE="+filepath.Join(module, "modcache"))
	data, err := cmd.CombinedOutput()
	if left, err := filepath.Glob(filepath.Join(temp, "*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if files, err := filepath.Glob(filepath.Join(module, "*")); err != nil || len(files) != 4 {
		t.Errorf("the module has %v, %v", files, err)
	}
	return string(data), err
}

func TestStress(t *testing.T) {
	if testing.Short() {
		t.Skip("runs go test, with links to all programs on PATH")
	}
	out, err := stress(t, "-n", "2", "-seed", "7", "-condition", "umask")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"seed 7, condition umask, hidden: ", "seed 8, condition umask, hidden: ", ": passed in ", "ok  \tm\t"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
}

func TestStress_Mistakes(t *testing.T) {
	for _, args := range [][]string{{"-condition", "rain"}, {"./..."}, {"-n", "x"}, {"-seed"}} {
		if out, err := stress(t, args...); err == nil || !strings.Contains(out, "stress: ") {
			t.Errorf("%q: %v, %s", args, err, out)
		}
	}
	if out, err := stress(t, "-n", "1", "-condition", "plain", "--", "false"); err == nil || !strings.Contains(out, ": FAILED in ") {
		t.Errorf("a run that fails: %v, %s", err, out)
	}
}

// The same seed hides the same tools, in all versions, and nothing else.
func TestStress_HiddenTools(t *testing.T) {
	programs := t.TempDir()
	for _, name := range []string{"lldb-dap", "lldb-dap-19", "python3", "python3.11", "python", "python-config", "rg", "rgb"} {
		if err := os.WriteFile(filepath.Join(programs, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", programs+":"+t.TempDir()+":"+os.Getenv("PATH")) // one directory is empty
	names := map[string]string{"lldb-dap-19": "lldb-dap", "python3.11": "python3", "python": "python3", "rg": "rg", "rgb": "", "python-config": ""}
	show := regexp.MustCompile(`(?m)^seed \d+, condition plain, hidden: ([a-z0-9 -]*)$`)
	for _, seed := range []string{"1", "2", "3"} {
		args := []string{"-n", "1", "-seed", seed, "-condition", "plain", "--", "sh", "-c", `for i in ` + programs + `/*; do n=${i##*/}; [ ! -e "$PATH/$n" ] || echo "has $n"; done`}
		out, err := stress(t, args...)
		again, err2 := stress(t, args...)
		first, second := show.FindStringSubmatch(out), show.FindStringSubmatch(again)
		if err != nil || err2 != nil || first == nil || second == nil || first[1] != second[1] {
			t.Fatalf("seed %s hides %q, then %q: %v, %v\n%s", seed, first, second, err, err2, out)
		}
		for name, tool := range names {
			hidden := tool != "" && strings.Contains(" "+first[1]+" ", " "+tool+" ")
			if has := strings.Contains(out, "has "+name+"\n"); has == hidden {
				t.Errorf("seed %s hides %s, and %s exists: %v", seed, first[1], name, has)
			}
		}
	}
}

// A process that a run leaves is named and killed.
func TestStress_LeftProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("waits some seconds for the process to end by itself")
	}
	out, err := stress(t, "-n", "1", "-condition", "plain", "--", "sh", "-c", "setsid sleep 1001 & exit 0")
	if err == nil || !strings.Contains(out, "sleep 1001") || !strings.Contains(out, "FAILED (processes left)") {
		t.Errorf("%v\n%s", err, out)
	}
}

// The conditions that need root apply to the command that runs under them.
func TestStress_AsRoot(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root; CI runs it as root too")
	}
	testenv.NeedsTool(t, "unshare")
	testenv.NeedsTool(t, "ip")
	for name, command := range map[string]string{
		"noipv6":   `! grep -q . /proc/net/if_inet6`,
		"modcache": `! touch "$GOMODCACHE/x" && echo x > "$TMPDIR/x" && rm "$TMPDIR/x"`,
		"user":     `test "$(id -un)" = nobody && test -w . && test -w "$HOME" && test -w "$GOMODCACHE" && test -f go.mod`,
	} {
		if out, err := stress(t, "-n", "1", "-condition", name, "--", "sh", "-c", command); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	if left, err := filepath.Glob("/home/gjc-stress-*"); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
