//go:build unix

package shell_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/tools"
	"github.com/gajae-code/gjc/agent/tools/shell"
	"github.com/gajae-code/gjc/agent/tools/toolstest"
	"github.com/gajae-code/gjc/internal/testenv"
)

// Environment variables that turn the fake ssh into the real one, with the test's configuration. The real ssh reads its own
// configuration from the user's home directory, regardless of HOME.
const (
	realSSHVariable   = "GJC_TEST_SSH"
	sshConfigVariable = "GJC_TEST_SSH_CONFIG"
)

func init() {
	becomeSSH = func(args []string) {
		if path := os.Getenv(realSSHVariable); path != "" {
			fmt.Fprintln(os.Stderr, syscall.Exec(path, append([]string{"ssh", "-F", os.Getenv(sshConfigVariable)}, args...), os.Environ()))
			os.Exit(255)
		}
	}
}

// sshServer is a real sshd that runs as this user.
type sshServer struct {
	port     int
	key      string
	env      []string
	accepted atomic.Int32
}

func startSSHServer(t *testing.T) *sshServer {
	t.Helper()
	ssh, keygen := testenv.NeedsTool(t, "ssh"), testenv.NeedsTool(t, "ssh-keygen")
	sshd, err := exec.LookPath("sshd")
	if err != nil {
		sshd = "/usr/sbin/sshd" // it is not on the PATH of most users
		if _, err := os.Stat(sshd); err != nil {
			testenv.Skip(t, "sshd is not installed")
		}
	}
	dir := t.TempDir()
	s := &sshServer{port: testenv.FreePort(t), key: filepath.Join(dir, "key")}
	for _, key := range []string{s.key, filepath.Join(dir, "host")} {
		if out, err := exec.CommandContext(t.Context(), keygen, "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	get := func(name string) string {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	known := put("known", fmt.Sprintf("[127.0.0.1]:%d %s", s.port, get("host.pub")))
	authorized := put("authorized", get("key.pub"))
	config := put("sshd_config", fmt.Sprintf("ListenAddress 127.0.0.1\nPort %d\nHostKey %s\nAuthorizedKeysFile %s\nPidFile none\nStrictModes no\nUsePAM no\n"+
		"PasswordAuthentication no\nKbdInteractiveAuthentication no\nLogLevel INFO\n", s.port, filepath.Join(dir, "host"), authorized))
	client := put("ssh_config", fmt.Sprintf("UserKnownHostsFile %s\nGlobalKnownHostsFile none\nStrictHostKeyChecking yes\nIdentitiesOnly yes\nIdentityAgent none\n", known))
	if out, err := exec.CommandContext(t.Context(), sshd, "-t", "-f", config).CombinedOutput(); err != nil {
		testenv.Skip(t, "sshd cannot run here: %s", bytes.TrimSpace(out))
	}
	s.env = []string{realSSHVariable + "=" + ssh, sshConfigVariable + "=" + client}
	s.run(t, exec.CommandContext(t.Context(), sshd, "-D", "-e", "-f", config))
	// System accounts are locked, or have a shell that runs nothing.
	login := exec.CommandContext(t.Context(), ssh, "-F", client, "-p", strconv.Itoa(s.port), "-i", s.key, "-o", "BatchMode=yes", "127.0.0.1", "true")
	if out, err := login.CombinedOutput(); err != nil {
		testenv.Skip(t, "this user cannot log in through sshd (%v): %s", err, bytes.TrimSpace(out))
	}
	s.accepted.Store(0)
	return s
}

// run runs the server until the test ends, and returns when it listens.
func (s *sshServer) run(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	logged, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	listens, over := make(chan struct{}), make(chan struct{})
	var log strings.Builder // read after the goroutine has ended
	go func() {
		defer close(over)
		once := sync.OnceFunc(func() { close(listens) })
		for lines := bufio.NewScanner(logged); lines.Scan(); {
			log.WriteString(lines.Text() + "\n")
			if strings.Contains(lines.Text(), "Accepted publickey") {
				s.accepted.Add(1)
			}
			if strings.Contains(lines.Text(), "listening") {
				once()
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = logged.Close() // children of a failed test may hold the other end
		<-over
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("sshd says:\n%s", log.String())
		}
	})
	select {
	case <-listens:
	case <-over:
		t.Fatalf("sshd has ended:\n%s", log.String())
	}
}

// gone waits until a process has ended. A zombie counts as ended.
func gone(t *testing.T, pid int) {
	t.Helper()
	for begin := time.Now(); syscall.Kill(pid, 0) == nil; runtime.Gosched() {
		if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil && len(line) == 0 {
			return
		}
		if time.Since(begin) > 30*time.Second {
			t.Errorf("process %d is still there", pid)
			return
		}
	}
}

// A real server: the output and the end of commands, failures, and one connection for all of them that ends with the session.
func TestSSH_Server(t *testing.T) {
	temp, err := os.MkdirTemp("/tmp", "gjc-") //nolint:usetesting // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(temp) })
	t.Setenv("TMPDIR", temp)
	server := startSSHServer(t)
	w := sshWorld(t, server.env...)
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	host := shell.SSHHost{Name: "here", Address: "127.0.0.1", User: me.Username, Port: server.port, Key: server.key}
	nobody, stranger, locked := host, host, host
	nobody.Name, nobody.Port = "nobody", testenv.FreePort(t)
	stranger.Name, stranger.Address = "stranger", "localhost"
	locked.Name, locked.Key = "locked", filepath.Join(temp, "none")
	var ssh agent.Tool
	for _, tool := range tools.All(&tools.Settings{SSH: []shell.SSHHost{host, nobody, stranger, locked}}) {
		if tool.Spec().Name == "ssh" {
			ssh = tool
		}
	}
	do := func(in toolstest.Input) *agent.Result {
		t.Helper()
		_, res, err := toolstest.Do(t.Context(), ssh, w.Call(t, "ssh", in))
		if err != nil {
			t.Fatal(err)
		}
		return res
	}

	if res := do(toolstest.Input{"host": "here", "command": "echo out; pwd", "cwd": temp}); res.IsError || res.Text != "out\n"+temp {
		t.Errorf("%q", res.Text)
	}
	if res := do(toolstest.Input{"host": "here", "command": "echo err >&2"}); res.IsError || res.Text != "err" {
		t.Errorf("%q", res.Text)
	}
	if res := do(toolstest.Input{"host": "here", "command": "echo last; exit 7"}); !res.IsError || !strings.HasSuffix(res.Text, "last\n\nCommand exited with code 7") {
		t.Errorf("%q", res.Text)
	}
	for name, want := range map[string]string{"nobody": "Connection refused", "stranger": "Host key verification failed", "locked": "Permission denied"} {
		if res := do(toolstest.Input{"host": name, "command": "echo"}); !res.IsError || !strings.Contains(res.Text, want) || !strings.Contains(res.Text, "Exit code 255 is from ssh itself: it could not reach "+name) {
			t.Errorf("%s: %q", name, res.Text)
		}
	}

	// The remote command ends when its output is no longer read.
	const endless = "echo pid $$; while echo; do sleep 0.1; done"
	pid := regexp.MustCompile(`pid (\d+)`)
	ended := func(text string) {
		t.Helper()
		m := pid.FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("%q", text)
		}
		n, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		gone(t, n)
	}
	res := do(toolstest.Input{"host": "here", "command": endless, "timeout": 2})
	if !res.IsError || !strings.HasSuffix(res.Text, "Command timed out after 2 seconds") {
		t.Errorf("%q", res.Text)
	}
	ended(res.Text)
	ctx, cancel := context.WithCancelCause(t.Context())
	call := w.Call(t, "ssh", toolstest.Input{"host": "here", "command": endless})
	call.Update = func(p agent.Progress) {
		if strings.Contains(p.Text, "pid ") {
			cancel(errors.New("the user"))
		}
	}
	_, res, err = toolstest.Do(ctx, ssh, call)
	if err != nil || !strings.HasSuffix(res.Text, "Command cancelled") {
		t.Fatalf("%v %+v", err, res)
	}
	ended(res.Text)

	// A child session uses the connection, and its end does not end it.
	child := w.Call(t, "ssh", toolstest.Input{"host": "here", "command": "echo child"})
	child.Values = agent.NewValues(w.Values)
	if _, res, err := toolstest.Do(t.Context(), ssh, child); err != nil || res.Text != "child" {
		t.Errorf("%v %+v", err, res)
	}
	child.Values.Close(t.Context())
	if res := do(toolstest.Input{"host": "here", "command": "echo still"}); res.IsError || res.Text != "still" {
		t.Errorf("%q", res.Text)
	}
	if n := server.accepted.Load(); n != 1 {
		t.Errorf("%d connections were made", n)
	}

	sockets, err := filepath.Glob(filepath.Join(temp, "gjc-ssh-*", "*"))
	if err != nil || len(sockets) != 1 {
		t.Fatalf("the sockets are %q, %v", sockets, err)
	}
	if info, err := os.Stat(filepath.Dir(sockets[0])); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("their directory: %v, %v", info.Mode(), err)
	}
	out, err := exec.CommandContext(t.Context(), "ssh", "-O", "check", "-S", sockets[0], "x").CombinedOutput()
	m := regexp.MustCompile(`pid=(\d+)`).FindSubmatch(out)
	if err != nil || m == nil {
		t.Fatalf("%s: %v", out, err)
	}
	master, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	w.Values.Close(t.Context())
	gone(t, master)
	if left, err := filepath.Glob(filepath.Join(temp, "gjc-ssh-*")); err != nil || len(left) > 0 {
		t.Errorf("left are %q, %v", left, err)
	}
	var d net.Dialer
	if conn, err := d.DialContext(t.Context(), "unix", sockets[0]); err == nil {
		_ = conn.Close()
		t.Error("the socket is still there")
	}
}
