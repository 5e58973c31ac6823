package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/sandbox"
	"github.com/gajae-code/gjc/internal/testenv"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == sandbox.Command {
		code, err := sandbox.Main(&sandbox.Invocation{Args: os.Args[2:], Env: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		syscall.Exit(code) // [os.Exit] waits a second with the race detector
	}
	if len(os.Args) > 1 && os.Args[1] == makeTemporary {
		if err := temporary(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) > 2 && os.Args[1] == refuseNamespaces {
		fmt.Fprintln(os.Stderr, refusing(os.Args[2:]))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// kinds are the sandboxes that this machine supports.
func kinds(t *testing.T, suite func(t *testing.T, s *sandbox.Sandbox)) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	found, _ := sandbox.Find(&sandbox.Host{Self: self, Env: os.Environ(), LookPath: exec.LookPath}) // if there is none, FindKind reports why for each kind
	for _, kind := range []sandbox.Kind{sandbox.Landlock, sandbox.Bubblewrap} {
		t.Run(string(kind), func(t *testing.T) {
			s, err := sandbox.FindKind(kind, &sandbox.Host{Self: self, Env: os.Environ(), LookPath: exec.LookPath})
			if err == nil {
				_, err = probe(t, s, new(sandbox.Policy), "true")
			}
			if err != nil && found != nil && found.Kind != kind {
				t.Skipf("%v; this machine has %s", err, found.Kind)
			}
			if err != nil {
				testenv.Skip(t, "%v", err)
			}
			suite(t, s)
		})
	}
}

// probe runs a shell command in a sandbox.
func probe(t *testing.T, s *sandbox.Sandbox, p *sandbox.Policy, line string) (string, error) {
	t.Helper()
	if s.Kind == sandbox.Bubblewrap {
		return inside(t, open(t, s, p), line)
	}
	program, args := s.Confine(p, "/bin/sh", []string{"-c", line})
	out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
	return string(out), err
}

// open starts a box that ends with the test.
func open(t *testing.T, s *sandbox.Sandbox, p *sandbox.Policy) *sandbox.Box {
	t.Helper()
	children := proc.NewGroup(nil)
	t.Cleanup(func() {
		if err := children.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	box, err := s.Open(t.Context(), children, p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return box
}

// inside runs a shell command in a box.
func inside(t *testing.T, box *sandbox.Box, line string) (string, error) {
	t.Helper()
	program, args := box.Wrap("", "/bin/sh", []string{"-c", line})
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = "/"
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Every way to change a file outside of the writable directories fails; inside, it works.
func TestSandbox_Files(t *testing.T) {
	kinds(t, func(t *testing.T, s *sandbox.Sandbox) {
		work, home := t.TempDir(), testenv.DirOutsideTemp(t)
		file := filepath.Join(home, "file")
		if err := os.WriteFile(file, []byte("mine"), 0o644); err != nil {
			t.Fatal(err)
		}
		p := &sandbox.Policy{Write: []string{work, filepath.Join(work, "not there")}}
		t.Setenv("H", home)
		t.Setenv("W", work)
		t.Setenv("OUT", strconv.Itoa(os.Getpid()))
		python := testenv.NeedsTool(t, "python3")
		for _, line := range []string{
			"echo x > $H/file", "echo x >> $H/file", ": > $H/file", "rm $H/file", "touch $H/new", "mkdir $H/new", "ln -s a $H/new", "mkfifo $H/new",
			"mv $H/file $W/file", "cp /etc/passwd $H/new", "ln -s $H/file $W/link && echo x > $W/link", "cd $W && echo x > ../../../../../../../../$H/file",
			"sh -c 'echo x > $H/file'", "ln $H/file $W/hard && echo x > $W/hard", "truncate -s 0 $H/file", "rmdir $H", "echo x > /etc/gjc-sandbox-test",
			"echo x > /proc/$OUT/root$H/new", "echo x > /proc/$OUT/cwd/gjc-sandbox-test",
			// No file of the user can get a bit that gives others the user's rights.
			"chmod 4777 $H/file", "chmod g+s $H/file", python + ` -c 'import os; os.open(os.environ["W"] + "/new", os.O_CREAT | os.O_WRONLY, 0o4755)'`,
			python + ` -c 'import os, stat; os.mknod(os.environ["W"] + "/new", stat.S_IFREG | 0o2755)'`, python + ` -c 'import os; os.fchmod(os.open(os.environ["H"] + "/file", os.O_RDONLY), 0o4777)'`,
		} {
			if out, err := probe(t, s, p, line); err == nil {
				t.Errorf("%s worked: %s", line, out)
			}
		}
		if data, err := os.ReadFile(file); err != nil || string(data) != "mine" {
			t.Errorf("the file is %q, %v", data, err)
		}
		if info, err := os.Stat(file); err != nil || info.Mode() != 0o644 {
			t.Errorf("the file's mode is %v, %v", info.Mode(), err)
		}
		if out, err := probe(t, s, p, "echo a > $W/a && mkdir $W/d && mv $W/a $W/d/b && chmod 755 $W/d/b && install -m 700 $W/d/b $W/d/c && test -x $W/d/c && cat $W/d/b $H/file && rm -r $W/d && echo x > /dev/null"); err != nil || out != "a\nmine" {
			t.Errorf("what is allowed failed: %q, %v", out, err)
		}
	})
}

// A program can open a socket only if the network is allowed.
func TestSandbox_Network(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		testenv.Skip(t, "python3 is not installed")
	}
	kinds(t, func(t *testing.T, s *sandbox.Sandbox) {
		try := python + ` -c 'import socket
s = socket.socket(socket.AF_INET, socket.SOCK_%s)
s.bind(("127.0.0.1", 0))
r = socket.socket(socket.AF_INET, socket.SOCK_%s)
r.connect(s.getsockname()) if "%s" == "DGRAM" else (s.listen(), r.connect(s.getsockname()))
r.send(b"x")'`
		for _, kind := range []string{"STREAM", "DGRAM"} {
			line := fmt.Sprintf(try, kind, kind, kind)
			if out, err := probe(t, s, &sandbox.Policy{Network: true}, line); err != nil {
				t.Errorf("%s with the network: %v: %s", kind, err, out)
			}
			out, err := probe(t, s, new(sandbox.Policy), line)
			if has := s.Kind == sandbox.Bubblewrap; has && err != nil || !has && (err == nil || !strings.Contains(out, "Permission")) { // a box has a network of its own
				t.Errorf("%s without the network: %v: %s", kind, err, out)
			}
		}
		// A listener outside of the sandbox cannot be reached through the path of its socket.
		dir := t.TempDir()
		path := filepath.Join(dir, "s")
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		line := python + ` -c 'import socket; socket.socket(socket.AF_UNIX).connect("` + path + `")'`
		if out, err := probe(t, s, &sandbox.Policy{Write: []string{dir}}, line); err == nil || !strings.Contains(out, "Permission") {
			t.Errorf("a path without the network: %v: %s", err, out)
		}
		out, err := probe(t, s, new(sandbox.Policy), python+` -c 'import socket
a, b = socket.socketpair()
a.send(b"x")
print(b.recv(1))'`)
		if err != nil {
			t.Errorf("a pair of sockets: %v: %s", err, out)
		}
		for _, kind := range []string{"DGRAM", "SEQPACKET"} { // a socket of these types can be connected to another address
			line := python + ` -c 'import socket; socket.socketpair(socket.AF_UNIX, socket.SOCK_` + kind + ` | socket.SOCK_CLOEXEC)'`
			if out, err := probe(t, s, new(sandbox.Policy), line); err == nil && s.Kind == sandbox.Landlock {
				t.Errorf("a pair of %s sockets worked: %s", kind, out)
			}
			if out, err := probe(t, s, &sandbox.Policy{Network: true}, line); err != nil {
				t.Errorf("a pair of %s sockets with the network: %v: %s", kind, err, out)
			}
		}
		// Python's multiprocessing needs a lock between processes.
		if out, err := probe(t, s, new(sandbox.Policy), python+` -c 'import multiprocessing; multiprocessing.Lock()'`); err != nil {
			t.Errorf("a lock between processes: %v: %s", err, out)
		}
	})
}

// Output and exit status are the same as without a sandbox.
func TestSandbox_Transparent(t *testing.T) {
	kinds(t, func(t *testing.T, s *sandbox.Sandbox) {
		out, err := probe(t, s, new(sandbox.Policy), `echo "a  b"; echo $0; exit 3`)
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok || exit.ExitCode() != 3 || out != "a  b\n/bin/sh\n" {
			t.Errorf("%q, %v", out, err)
		}
	})
}

func TestMain_WrongCall(t *testing.T) {
	for _, args := range [][]string{nil, {"x"}, {"keep", "x"}, {"run"}, {"run", "/s"}, {"confine"}, {"confine", "--"}, {"confine", "-w"}, {"confine", "-h"}, {"confine", "-x"}} {
		if code, err := sandbox.Main(&sandbox.Invocation{Args: args}); err == nil || code != sandbox.Failed {
			t.Errorf("Main(%q) = %d, %v", args, code, err)
		}
	}
}
