package sandbox_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/internal/sandbox"
	"github.com/gajae-code/gjc/internal/testenv"
)

// confined returns Landlock, or skips the test.
func confined(t testing.TB) *sandbox.Sandbox {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s, err := sandbox.FindKind(sandbox.Landlock, &sandbox.Host{Self: self, Env: os.Environ(), LookPath: exec.LookPath})
	if err != nil {
		testenv.Skip(t, "%v", err)
	}
	return s
}

// What is hidden cannot be read or changed in any way; what is shown, and what is next to it, can be read.
func TestSandbox_Hidden(t *testing.T) {
	python := testenv.NeedsTool(t, "python3")
	kinds(t, func(t *testing.T, s *sandbox.Sandbox) {
		work, home := t.TempDir(), testenv.DirOutsideTemp(t)
		t.Setenv("W", work)
		t.Setenv("H", home)
		t.Setenv("OUT", strconv.Itoa(os.Getpid()))
		secrets := []string{home + "/.ssh/id", home + "/.ssh/deep/id", home + "/.netrc", work + "/.env", work + "/pkg/key.pem"}
		for _, path := range secrets {
			write(t, path, "hush-hush\n")
		}
		for _, path := range []string{home + "/.ssh/known_hosts", home + "/.bashrc", home + "/docs/a", work + "/main", work + "/src/a", work + "/pkg/a", work + "/pkg/deep/a"} {
			write(t, path, "plain\n")
		}
		for name, to := range map[string]string{work + "/pkg/way": home, work + "/pkg/to": work + "/.env"} {
			if err := os.Symlink(to, name); err != nil {
				t.Fatal(err)
			}
		}
		p := &sandbox.Policy{
			Write: []string{work}, Hide: []string{home + "/.ssh", home + "/.netrc", work + "/.env", work + "/pkg/key.pem"},
			Show: []string{home + "/.ssh/known_hosts"},
		}
		for _, line := range []string{
			"cat $H/.ssh/id", "cat $H/.ssh/deep/id", "cat $H/.netrc", "cat $W/.env", "cat $W/pkg/key.pem", "cat $W/pkg/to", "cat $W/pkg/way/.netrc",
			"cd $W/pkg && cat ../.env", "cp $W/.env $W/src/x && cat $W/src/x", "mv $W/.env $W/src/x && cat $W/src/x", "ln $W/.env $W/src/x && cat $W/src/x",
			"ln -s $W/.env $W/src/x && cat $W/src/x", "ln $H/.netrc $W/src/x && cat $W/src/x", "mv $W/pkg/key.pem $W/pkg/deep/x && cat $W/pkg/deep/x",
			"mv -f $W/.env $W/main && cat $W/main", "cat /proc/self/root$W/.env", "cat /proc/$OUT/root$W/.env", "cat /proc/self/cwd/../../../../../../..$W/.env",
			"unshare -Urm mount --bind $W $W/src && cat $W/src/.env", "unshare -Urm mount --bind $W/pkg/key.pem $W/src/a && cat $W/src/a", ". $W/.env", "sh $W/.env", "grep -r hush $H $W",
			python + ` -c 'import os; fd = os.open(os.environ["W"] + "/.env", os.O_PATH); print(open("/proc/self/fd/%d" % fd).read())'`,
			python + ` -c 'import os; fd = os.open(os.environ["W"], os.O_PATH); print(os.read(os.open(".env", os.O_RDONLY, dir_fd=fd), 10))'`,
			python + ` -c 'import mmap, os; print(mmap.mmap(os.open(os.environ["W"] + "/.env", os.O_RDWR), 0).read())'`,
			"mv $W/pkg $W/src/pkg && cat $W/src/pkg/key.pem", // the last, since it works in a box
		} {
			if out, _ := probe(t, s, p, line); strings.Contains(out, "hush-hush") {
				t.Errorf("%s read it: %s", line, out)
			}
		}
		for _, line := range []string{
			"echo x > $W/.env", "echo x > $W/pkg/to", "rm $W/.env", "rm -r $H/.ssh", "echo x > $H/.ssh/known_hosts", "touch $H/new", "touch $W/pkg/way/new", "echo x > $W/pkg/way/docs/a",
		} {
			if out, err := probe(t, s, p, line); err == nil {
				t.Errorf("%s worked: %s", line, out)
			}
		}
		for line, want := range map[string]string{
			"ls $W | grep -c main":                                            "1\n",
			"cat $H/.ssh/known_hosts $H/.bashrc $H/docs/a":                    "plain\nplain\nplain\n",
			"cat $W/main && echo x > $W/main && cat $W/main":                  "plain\nx\n",
			"echo x > $W/src/new && cat $W/src/new $W/src/a && rm $W/src/a":   "x\nplain\n",
			"head -c 0 /dev/urandom && echo x > /dev/null && test -x /bin/sh": "",
		} {
			if out, err := probe(t, s, p, line); err != nil || out != want {
				t.Errorf("%s: %q, %v", line, out, err)
			}
		}
		if s.Kind == sandbox.Bubblewrap {
			return // pkg has been moved
		}
		for line, want := range map[string]string{
			"cat $W/pkg/a $W/pkg/deep/a && echo x > $W/pkg/a && cat $W/pkg/a":                                "plain\nplain\nx\n",
			"echo x > $W/pkg/deep/new && mkdir $W/pkg/deep/d && mv $W/pkg/deep/new $W/src/d && cat $W/src/d": "x\n",
		} {
			if out, err := probe(t, s, p, line); err != nil || out != want {
				t.Errorf("%s: %q, %v", line, out, err)
			}
		}
		for _, path := range secrets {
			if data, err := os.ReadFile(path); err != nil || string(data) != "hush-hush\n" {
				t.Errorf("%s is %q, %v", path, data, err)
			}
		}
		// What other processes make in a split directory stays closed; elsewhere it can be read.
		write(t, work+"/src/later", "later")
		if out, err := probe(t, s, p, "cat $W/src/later"); err != nil || out != "later" {
			t.Errorf("a later file: %q, %v", out, err)
		}
		if out, err := probe(t, s, p, "touch $W/new"); err == nil {
			t.Errorf("a new file next to a hidden one was made: %s", out)
		}
	})
}

// A write root, or something shown, in a hidden directory is open, and a kept file in it stays hidden.
func TestConfine_Nested(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"own/secret", "own/tree/a", "own/tree/.env", "own/tree/kept", "own/kept", "own/shown/a", "own/shown/key"} {
		write(t, filepath.Join(root, name), name)
	}
	at := func(name string) string { return filepath.Join(root, name) }
	t.Setenv("R", root)
	p := &sandbox.Policy{
		Write: []string{at("own/tree")}, Keep: []string{at("own/kept"), at("own/tree/kept")}, Hide: []string{at("own"), at("own/tree/.env"), at("own/shown/key")}, Show: []string{at("own/shown")},
	}
	s := confined(t)
	for _, line := range []string{"cat $R/own/secret", "cat $R/own/kept", "cat $R/own/tree/.env", "cat $R/own/shown/key", "echo x > $R/own/tree/kept", "echo x > $R/own/shown/a"} {
		if out, err := probe(t, s, p, line); err == nil {
			t.Errorf("%s worked: %s", line, out)
		}
	}
	if out, err := probe(t, s, p, "cat $R/own/tree/a $R/own/tree/kept $R/own/shown/a && echo x > $R/own/tree/a"); err != nil || out != "own/tree/aown/tree/keptown/shown/a" {
		t.Errorf("what is allowed: %q, %v", out, err)
	}
}

// A symbolic link next to a kept file leads no rule to another place.
func TestConfine_SymbolicLink(t *testing.T) {
	work, home := t.TempDir(), testenv.DirOutsideTemp(t)
	write(t, work+"/kept", "")
	if err := os.Symlink(home, work+"/link"); err != nil {
		t.Fatal(err)
	}
	t.Setenv("W", work)
	p := &sandbox.Policy{Write: []string{work}, Keep: []string{work + "/kept"}}
	if out, err := probe(t, confined(t), p, "echo x > $W/link/new"); err == nil {
		t.Errorf("a file was made through the link: %s", out)
	}
}

// The environment, memory, files and directories of processes outside are closed, whatever Hide says; those of a program's own
// are open.
func TestConfine_Processes(t *testing.T) {
	python := testenv.NeedsTool(t, "python3")
	s := confined(t)
	outside := exec.CommandContext(t.Context(), "sleep", "1000")
	outside.Env = []string{"TOKEN=hush"}
	if err := outside.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = outside.Process.Kill(); _ = outside.Wait() }()
	for _, pid := range []int{outside.Process.Pid, os.Getpid()} {
		t.Setenv("OUT", strconv.Itoa(pid))
		for _, p := range []*sandbox.Policy{{}, {Network: true}, {Hide: []string{"/no/such/file"}}} {
			for _, line := range []string{
				"cat /proc/$OUT/environ", "cat /proc/$OUT/maps", "cat /proc/$OUT/auxv", "readlink /proc/$OUT/fd/1", "ls -L /proc/$OUT/root", "ls -L /proc/$OUT/cwd",
				python + ` -c 'import os; open("/proc/%s/mem" % os.environ["OUT"], "rb")'`,
				python + ` -c 'import ctypes, os, sys; sys.exit(ctypes.CDLL(None).ptrace(16, int(os.environ["OUT"]), 0, 0) == -1)'`,
				python + ` -c 'import os; os.pidfd_open(int(os.environ["OUT"])); import ctypes, sys; sys.exit(ctypes.CDLL(None).syscall(438, os.pidfd_open(int(os.environ["OUT"])), 0, 0) == -1)'`, // pidfd_getfd
			} {
				if out, err := probe(t, s, p, line); err == nil {
					t.Errorf("%s worked: %s", line, out)
				}
			}
		}
	}
	if out, err := probe(t, s, new(sandbox.Policy), "cat /proc/self/environ /proc/$$/environ | tr '\\0' '\\n' | grep -c ^OUT="); err != nil || strings.TrimSpace(out) != "2" {
		t.Errorf("of its own: %q, %v", out, err)
	}
}

// Without the network, no socket can be opened to connect to one in the file system. With it, Landlock does not cover them.
func TestConfine_HiddenSocket(t *testing.T) {
	python := testenv.NeedsTool(t, "python3")
	path := filepath.Join(t.TempDir(), "s")
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	line := python + ` -c 'import socket; socket.socket(socket.AF_UNIX).connect("` + path + `")'`
	if out, err := probe(t, confined(t), &sandbox.Policy{Hide: []string{path}}, line); err == nil || !strings.Contains(out, "Permission") {
		t.Errorf("%q, %v", out, err)
	}
}

// Programs make their temporary files in TMPDIR, if the policy lets them write there.
func TestConfine_Temporary(t *testing.T) {
	s := confined(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	temp, secret := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	write(t, secret, "hush")
	t.Setenv("TMPDIR", temp)
	t.Setenv("SELF", self)
	p := &sandbox.Policy{Write: []string{temp}, Hide: []string{secret}}
	lines := []string{
		"f=$(mktemp) && echo x > $f && cat $f && rm $f", "d=$(mktemp -d) && echo x > $d/f && cat $d/f && rm -r $d", "$SELF " + makeTemporary,
		"cat <<END\nx\nEND", // shells write it to a temporary file
	}
	if python, err := exec.LookPath("python3"); err == nil {
		lines = append(lines, python+` -c 'import tempfile
with tempfile.TemporaryFile("w+") as f: f.write("a"); f.seek(0); assert f.read() == "a"
with tempfile.NamedTemporaryFile("w+") as f: f.write("a"); f.flush(); assert open(f.name).read() == "a"
with tempfile.TemporaryDirectory() as d: open(d + "/f", "w").write("x"); print(open(d + "/f").read())'`)
	} else {
		t.Log("python3 is not installed")
	}
	for _, line := range lines {
		if out, err := probe(t, s, p, line); err != nil || strings.TrimSpace(out) != "x" {
			t.Errorf("%s: %q, %v", line, out, err)
		}
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if out, err := probe(t, s, p, "mktemp -p "+filepath.Dir(temp)); err == nil {
		t.Errorf("outside of TMPDIR: %s", out)
	}
}

// makeTemporary makes this test binary use a temporary directory.
const makeTemporary = "maketemporary"

func temporary() error {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("x"), 0o600); err != nil {
		return err
	}
	data, err := os.ReadFile(filepath.Join(dir, "f"))
	if err != nil {
		return err
	}
	fmt.Println(string(data))
	return os.RemoveAll(dir)
}

// BenchmarkConfine compares a program below Landlock with the same program outside. The bound is five milliseconds more for
// fifty hidden paths.
func BenchmarkConfine(b *testing.B) {
	s := confined(b)
	work := b.TempDir()
	home := testenv.DirOutsideTemp(b)
	p := &sandbox.Policy{Write: []string{work}}
	hiding := &sandbox.Policy{Write: []string{work}}
	for i := range 50 {
		dir := filepath.Join(home, fmt.Sprintf("dir%d", i%10))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			b.Fatal(err)
		}
		for j := range 4 {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("plain%d.%d", i, j)), nil, 0o600); err != nil {
				b.Fatal(err)
			}
		}
		path := filepath.Join(dir, fmt.Sprintf("secret%d", i))
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			b.Fatal(err)
		}
		hiding.Hide = append(hiding.Hide, path)
	}
	for _, c := range []struct {
		name string
		p    *sandbox.Policy
	}{{"bare", nil}, {"write", p}, {"hide50", hiding}} {
		program, args := "/bin/true", []string(nil)
		if c.p != nil {
			program, args = s.Confine(c.p, "/bin/true", nil)
		}
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if err := exec.CommandContext(context.Background(), program, args...).Run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
