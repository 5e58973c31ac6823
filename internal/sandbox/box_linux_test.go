package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/sandbox"
	"github.com/gajae-code/gjc/internal/testenv"
)

// boxes returns bubblewrap, or skips the test.
func boxes(t testing.TB) *sandbox.Sandbox {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s, err := sandbox.FindKind(sandbox.Bubblewrap, &sandbox.Host{Self: self, Env: os.Environ(), LookPath: exec.LookPath})
	if err != nil {
		testenv.Skip(t, "%v", err)
	}
	return s
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The programs of a box share their processes, servers and temporary files, which end with the box.
func TestBox_Shared(t *testing.T) {
	testenv.NoLeaks(t)
	python := testenv.NeedsTool(t, "python3")
	root, temp := t.TempDir(), t.TempDir()
	box := open(t, boxes(t), &sandbox.Policy{Write: []string{root}, Temp: temp})
	run := func(line string) string {
		out, err := inside(t, box, line)
		if err != nil {
			t.Errorf("%s: %v: %s", line, err, out)
		}
		return strings.TrimSpace(out)
	}
	run("echo shared > /tmp/x; echo x > /var/tmp/x; echo x > /dev/shm/x")
	if got := run("cat /tmp/x " + temp + "/x"); got != "shared\nshared" {
		t.Errorf("/tmp is %q", got)
	}
	if data, err := os.ReadFile(filepath.Join(temp, "x")); err != nil || string(data) != "shared\n" {
		t.Errorf("outside: %q, %v", data, err)
	}
	port := run(python + ` -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'`)
	pid := run("setsid " + python + " -m http.server --bind 127.0.0.1 -d " + root + " " + port + " >/dev/null 2>&1 & echo $!")
	write(t, filepath.Join(root, "page"), "hello")
	get := python + ` -c 'import time, urllib.request
for i in range(500):
    try:
        print(urllib.request.urlopen("http://127.0.0.1:` + port + `/page").read().decode())
        break
    except OSError:
        time.sleep(0.01)'`
	if got := run(get); got != "hello" {
		t.Errorf("a later program got %q from the server", got)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, address string) (net.Conn, error) { return box.Dial(ctx, address) }}}
	resp, err := client.Get("http://127.0.0.1:" + port + "/page")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if data, err := io.ReadAll(resp.Body); err != nil || string(data) != "hello" {
		t.Errorf("from outside: %q, %v", data, err)
	}
	if _, err := new(net.Dialer).DialContext(t.Context(), "tcp", "127.0.0.1:"+port); err == nil {
		t.Error("the machine's network has the server")
	}
	if out, err := inside(t, box, "kill -0 "+pid); err != nil {
		t.Errorf("a later program does not see the server's process: %v: %s", err, out)
	}
	if got := run("ls /proc | grep -c '^[0-9]'"); len(got) > 1 {
		t.Errorf("%s processes are visible", got)
	}
}

// Connections to a port that is opened inside arrive outside; the port ends with its listener, and others with the box.
func TestBox_Listen(t *testing.T) {
	testenv.NoLeaks(t)
	python := testenv.NeedsTool(t, "python3")
	box := open(t, boxes(t), new(sandbox.Policy))
	second, err := box.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dial := func(l net.Listener) (string, error) {
		host, port, err := net.SplitHostPort(l.Addr().String())
		if err != nil || host != "127.0.0.1" {
			t.Fatalf("%v: %v", l.Addr(), err)
		}
		return inside(t, box, python+` -c 'import socket
c = socket.create_connection(("127.0.0.1", `+port+`), 10)
c.sendall(b"ping")
print(c.recv(100).decode())'`)
	}
	for _, l := range []net.Listener{box.Proxy(), second} {
		served := make(chan error, 1)
		go func() {
			c, err := l.Accept()
			if err == nil {
				got := make([]byte, 4)
				_, err = io.ReadFull(c, got)
				_, _ = fmt.Fprintf(c, "%s at %s", got, l.Addr())
				_ = c.Close()
			}
			served <- err
		}()
		if out, err := dial(l); err != nil || strings.TrimSpace(out) != "ping at "+l.Addr().String() {
			t.Errorf("%q, %v", out, err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
	accepting := make(chan error, 1)
	go func() { _, err := second.Accept(); accepting <- err }()
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	if err := <-accepting; !errors.Is(err, net.ErrClosed) {
		t.Errorf("accepting on a closed listener: %v", err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; { // the keeper closes the port on its own
		if out, err := dial(second); err != nil && strings.Contains(out, "ConnectionRefusedError") {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("a port without its listener is open: %q, %v", out, err)
		}
	}
	last, err := box.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = last.Close() }()
	if err := box.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if c, err := last.Accept(); err == nil {
		t.Error("accepted a connection from a box that has ended")
		_ = c.Close()
	}
	if l, err := box.Listen(t.Context()); err == nil {
		t.Errorf("a box that has ended listens on %v", l.Addr())
	}
}

// A box reports its programs and their ports, and nothing else on the machine.
func TestBox_Look(t *testing.T) {
	testenv.NoLeaks(t)
	python := testenv.NeedsTool(t, "python3")
	temp := t.TempDir()
	box := open(t, boxes(t), &sandbox.Policy{Temp: temp})
	if box.Busy(t.Context()) {
		t.Error("a new box is busy")
	}
	out, err := inside(t, box, "setsid "+python+` -c '
import os, socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen()
with open("/tmp/ready.new", "w") as f: f.write(f"{os.getpid()} {s.getsockname()[1]}")
os.rename("/tmp/ready.new", "/tmp/ready")
os.read(os.open("/tmp/end", os.O_RDONLY), 1)
' >/dev/null 2>&1 & mkfifo /tmp/end; until [ -e /tmp/ready ]; do sleep 0.01; done; cat /tmp/ready`)
	var pid, port int
	if _, scanErr := fmt.Sscan(out, &pid, &port); err != nil || scanErr != nil {
		t.Fatalf("%s: %v, %v", out, err, scanErr)
	}
	path, command, ok := box.Process(t.Context(), pid)
	if !ok || !strings.Contains(command, "import os, socket") || !strings.Contains(path, "python") {
		t.Errorf("process %d: %v, %q, %q", pid, ok, path, command)
	}
	for _, other := range []int{1, os.Getpid() + 1_000_000, 1 << 22} {
		if _, command, ok := box.Process(t.Context(), other); ok {
			t.Errorf("process %d: %q", other, command)
		}
	}
	outside, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = outside.Close() }()
	if !box.Listens(t.Context(), port) || box.Listens(t.Context(), outside.Addr().(*net.TCPAddr).Port) {
		t.Error("the box does not tell its ports from those of the machine")
	}
	if !box.Busy(t.Context()) {
		t.Error("a box with a program is not busy")
	}
	if out, err := inside(t, box, "echo > /tmp/end; while kill -0 "+fmt.Sprint(pid)+" 2>/dev/null; do sleep 0.01; done"); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	for begin := time.Now(); box.Busy(t.Context()); { // the shell, too
		if time.Since(begin) > 10*time.Second {
			t.Fatal("an empty box is busy")
		}
	}
}

// The end of a box ends all its programs before it returns, also those that have left their group and ignore signals.
func TestBox_Close(t *testing.T) {
	testenv.NoLeaks(t)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	box := open(t, boxes(t), new(sandbox.Policy))
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	program, args := box.Wrap("", "/bin/sh", []string{"-c", "setsid sh -c 'trap \"\" TERM HUP INT; echo up; while :; do sleep 1000; done' & wait"})
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Stdout = "/", w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	if _, err := io.ReadFull(r, make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	var closing sync.WaitGroup
	for range 2 {
		closing.Go(func() {
			if err := box.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	closing.Wait()
	_ = cmd.Wait() // the starter, which has the pipe
	state := []unix.PollFd{{Fd: int32(r.Fd())}}
	if _, err := unix.Poll(state, 0); err != nil || state[0].Revents&unix.POLLHUP == 0 {
		t.Errorf("a program of the box holds its output open: %+v, %v", state, err)
	}
	if left, _ := os.ReadDir(temp); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// What is hidden cannot be read, what is kept cannot be changed or moved away, and what is shown can be read.
func TestBox_Policy(t *testing.T) {
	testenv.NoLeaks(t)
	root := t.TempDir()
	for _, name := range []string{"kept/file", "keptfile", "hidden/file", "hidden/shown", "hiddenfile", "sub/file"} {
		write(t, filepath.Join(root, name), name)
	}
	at := func(name string) string { return filepath.Join(root, name) }
	t.Setenv("R", root)
	box := open(t, boxes(t), &sandbox.Policy{
		Write: []string{root}, Keep: []string{at("kept"), at("keptfile")}, Hide: []string{at("hidden"), at("hiddenfile")}, Show: []string{at("hidden/shown")},
	})
	for _, line := range []string{
		"echo x > $R/keptfile", "rm $R/keptfile", "mv $R/keptfile $R/y", "mv $R/sub/file $R/keptfile", "ln -f $R/sub/file $R/keptfile", "echo x > $R/kept/file", "rm -r $R/kept", "mv $R/kept $R/y",
		"touch $R/kept/new", "chmod 600 $R/keptfile", "touch $R/keptfile", "truncate -s 0 $R/keptfile", "umount $R/keptfile", "mount -o remount,rw $R/keptfile", "unshare -Urm umount $R/keptfile",
		"unshare -Urm mount -o remount,bind,rw $R/keptfile", "cat $R/hiddenfile", "chmod 600 $R/hiddenfile", "cat $R/hidden/file", "ls $R/hidden", "echo x > $R/hidden/shown", "umount $R/hidden", "unshare -Urm umount $R/hidden",
		"cat /proc/1/root$R/hiddenfile", "grep -q '^Cap.*: *0*[1-9a-f]' /proc/self/status",
	} {
		if out, err := inside(t, box, line); err == nil {
			t.Errorf("%s worked: %s", line, out)
		}
	}
	for line, want := range map[string]string{
		"cat $R/keptfile $R/kept/file": "keptfilekept/file", "cat $R/hidden/shown": "hidden/shown", "mv $R/sub $R/sub2 && cat $R/sub2/file": "sub/file",
	} {
		if out, err := inside(t, box, line); err != nil || out != want {
			t.Errorf("%s: %q, %v", line, out, err)
		}
	}
}

// Paths that are replaced from outside, or that are new, are protected again, also from programs that run already.
func TestBox_Protect(t *testing.T) {
	testenv.NoLeaks(t)
	root := t.TempDir()
	kept, fresh, secret := filepath.Join(root, "kept"), filepath.Join(root, "dir"), filepath.Join(root, "secret")
	write(t, kept, "old")
	t.Setenv("R", root)
	box := open(t, boxes(t), &sandbox.Policy{Write: []string{root}, Keep: []string{kept}})
	program, args := box.Wrap("", "/bin/sh", []string{"-c", "while read line; do eval \"$line\"; echo \"=$?\"; done 2>&1"})
	early := exec.Command(program, args...)
	early.Dir = "/"
	in, err := early.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := early.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := early.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close(); _ = early.Wait() }()
	do := func(line string) string {
		if _, err := fmt.Fprintln(in, line); err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		for b := make([]byte, 1); !strings.Contains(text.String(), "=") || !strings.HasSuffix(text.String(), "\n"); {
			if _, err := out.Read(b); err != nil {
				t.Fatal(err)
			}
			text.Write(b)
		}
		return text.String()
	}
	if got := do("(echo evil > $R/kept)"); strings.HasSuffix(got, "=0\n") {
		t.Errorf("before it is replaced: %s", got)
	}
	write(t, filepath.Join(root, "new"), "new")
	if err := os.Rename(filepath.Join(root, "new"), kept); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(fresh, "file"), "mine")
	write(t, secret, "secret")
	write(t, filepath.Join(root, "fixed", "file"), "mine")
	p := &sandbox.Policy{Keep: []string{kept, fresh, filepath.Join(root, "absent")}, Fixed: []string{filepath.Join(root, "fixed")}, Hide: []string{secret}}
	for range 2 {
		if err := box.Protect(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range []string{"(echo evil > $R/kept)", "rm -f $R/kept", "(echo evil > $R/dir/file)", "touch $R/dir/y", "mv $R/dir $R/dir2", "cat $R/secret", "umount $R/kept", "mv $R/fixed $R/x"} {
		if got := do(line); strings.HasSuffix(got, "=0\n") {
			t.Errorf("%s worked: %s", line, got)
		}
	}
	if got := do("touch $R/fixed/y && rm $R/fixed/file"); got != "=0\n" {
		t.Errorf("changing files in a fixed directory: %q", got)
	}
	if got := do("cat $R/kept"); got != "new=0\n" {
		t.Errorf("reading: %q", got)
	}
}

// A program's status, signals and terminal are as outside, and its process group ends with its starter.
func TestBox_Starter(t *testing.T) {
	testenv.NoLeaks(t)
	box := open(t, boxes(t), new(sandbox.Policy))
	if _, err := inside(t, box, "kill -TERM $$"); err == nil || err.Error() != "signal: terminated" {
		t.Errorf("killed by a signal: %v", err)
	}
	if _, err := inside(t, box, "kill -SEGV $$"); err == nil || err.Error() != "signal: segmentation fault" {
		t.Errorf("a crash: %v", err)
	}
	program, args := box.Wrap("", "/no/such/program", nil)
	if out, err := exec.Command(program, args...).CombinedOutput(); err == nil || !strings.Contains(string(out), "/no/such/program: no such file") {
		t.Errorf("no program: %q, %v", out, err)
	}
	program, args = box.Wrap("/no/such/dir", "/bin/true", nil)
	if out, err := exec.Command(program, args...).CombinedOutput(); err == nil || !strings.Contains(string(out), "no such file") {
		t.Errorf("no directory: %q, %v", out, err)
	}
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		mark := fmt.Sprintf("%d", 1000+int(signal))
		program, args := box.Wrap("", "/bin/sh", []string{"-c", "echo up; sleep " + mark + " & wait"})
		cmd := exec.Command(program, args...)
		cmd.Dir = "/"
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(out, make([]byte, 3)); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		for deadline := time.Now().Add(10 * time.Second); ; {
			if out, _ := inside(t, box, "grep -l '^sleep."+mark+"' /proc/[0-9]*/cmdline -a 2>/dev/null"); strings.TrimSpace(out) == "" {
				break
			} else if time.Now().After(deadline) {
				t.Fatalf("after %v, processes are left: %s", signal, out)
			}
		}
	}
}

// A terminal inside is one of the box's own, with the size of the one outside.
func TestBox_Terminal(t *testing.T) {
	testenv.NoLeaks(t)
	box := open(t, boxes(t), new(sandbox.Policy))
	children := proc.NewGroup(nil)
	defer func() { _ = children.Close(context.Background()) }()
	program, args := box.Wrap("", "/bin/sh", []string{"-c", "test -t 0 && test -t 1 && stty size < /dev/tty && read x && echo got $x; exit 7"})
	var out strings.Builder
	p, err := children.Start(t.Context(), &proc.Options{Path: program, Args: args, Dir: "/", Env: os.Environ(), PTY: true, Stdin: true, Cols: 91, Rows: 17, Stdout: &out})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(p.Stdin(), "typed\n"); err != nil {
		t.Fatal(err)
	}
	state, err := p.Wait(t.Context())
	if err != nil || state.Code != 7 || !strings.Contains(out.String(), "17 91") || !strings.Contains(out.String(), "got typed") {
		t.Errorf("%+v, %v: %q", state, err, out.String())
	}
}

// A box that cannot begin says why, and leaves nothing.
func TestBox_Fails(t *testing.T) {
	testenv.NoLeaks(t)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	children := proc.NewGroup(nil)
	if box, err := boxes(t).Open(t.Context(), children, &sandbox.Policy{Temp: "/no/such/directory"}); err == nil || !strings.Contains(err.Error(), "/no/such/directory") {
		t.Errorf("%v, %v", box, err)
	}
	if err := children.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(temp); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
