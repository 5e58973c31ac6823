package engines_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/cmd/gjc/internal/serve/engines"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/testenv"
)

// TestMain makes the test binary an engine whose clients run commands of the shell, one in each line.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || os.Args[1] != "engine" {
		os.Exit(testenv.Run(m))
	}
	socket := ""
	for i, arg := range os.Args {
		if arg == "--socket" {
			socket = os.Args[i+1]
		}
	}
	if os.Getenv("GJC_TEST_FAILS") != "" {
		fmt.Fprintln(os.Stderr, "the engine cannot start")
		os.Exit(1)
	}
	err := engines.Listen(context.Background(), socket, os.Stdin, os.Stdout, func(_ context.Context, r io.Reader, w io.Writer, _ io.Closer) {
		lines := bufio.NewScanner(r)
		for lines.Scan() {
			out, err := exec.Command("/bin/sh", "-c", lines.Text()).CombinedOutput() //nolint:gosec // the test's own
			answer := strings.ReplaceAll(strings.TrimSpace(string(out)), "\n", "|")
			if err != nil {
				answer += " (" + err.Error() + ")"
			}
			fmt.Fprintln(w, answer)
		}
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// pool starts a pool with a boundary.
func pool(t *testing.T, edit func(*engines.Options, *engines.FindOptions)) (p *engines.Pool, dir string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the engine of the test runs commands of a Unix shell")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// Users of their own pass through all directories above theirs.
	dir = t.TempDir()
	for at := dir; at != os.TempDir() && at != "/"; at = filepath.Dir(at) {
		_ = os.Chmod(at, 0o755)
	}
	// Nor does everyone reach the directory of the test binary.
	data, err := os.ReadFile(program)
	if err == nil {
		program = filepath.Join(dir, "engine")
		err = os.WriteFile(program, data, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	children := proc.NewGroup(nil)
	t.Cleanup(func() {
		if err := children.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	o := engines.Options{Program: program, Args: []string{"engine"}, Dir: dir, Env: os.Environ(), Children: children, Stderr: os.Stderr}
	f := engines.FindOptions{File: filepath.Join(dir, "uids.json"), Env: o.Env, Children: children, Hidden: []string{filepath.Join(dir, "key")}}
	if edit != nil {
		edit(&o, &f)
	}
	if f.File != "" {
		b, why, err := engines.FindBoundary(t.Context(), &f)
		if err != nil {
			t.Fatal(err)
		}
		if b.None() {
			t.Log(why)
		}
		o.Boundary = b
	}
	if p, err = engines.New(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := p.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return p, dir
}

// hangUp closes a connection as its reader does.
func hangUp(conn io.ReadWriteCloser) {
	go func() { _, _ = io.Copy(io.Discard, conn) }() // ends with the connection
	_ = conn.Close()
}

// none leaves users together.
func none(_ *engines.Options, f *engines.FindOptions) { f.File = "" }

// shell runs a command in the engine of a user.
func shell(t *testing.T, p *engines.Pool, user, command string) string {
	t.Helper()
	conn, err := p.Connect(t.Context(), user)
	if err != nil {
		t.Fatal(err)
	}
	defer hangUp(conn)
	return run(t, conn, command)
}

func run(t *testing.T, conn io.ReadWriter, command string) string {
	t.Helper()
	if _, err := fmt.Fprintln(conn, command); err != nil {
		t.Fatal(err)
	}
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return strings.TrimSpace(answer)
}

func TestPool(t *testing.T) {
	p, _ := pool(t, func(o *engines.Options, f *engines.FindOptions) {
		none(o, f)
		o.Idle = 50 * time.Millisecond
	})
	first, err := p.Connect(t.Context(), "ann")
	if err != nil {
		t.Fatal(err)
	}
	pid := run(t, first, "echo $PPID")
	if again := shell(t, p, "ann", "echo $PPID"); again != pid {
		t.Errorf("two connections of one user have the engines %s and %s", pid, again)
	}
	if n := p.Running(); n != 1 {
		t.Errorf("%d engines run", n)
	}
	if _, err := p.Connect(t.Context(), "bob"); !errors.Is(err, engines.ErrAnotherUser) || !strings.Contains(err.Error(), "bubblewrap") {
		t.Errorf("a second user: %v", err)
	}

	// After the last connection the engine ends, and another user may come.
	hangUp(first)
	until(t, func() bool { return p.Running() == 0 })
	if other := shell(t, p, "bob", "echo $PPID"); other == pid {
		t.Error("the engine of ann serves bob")
	}

	// An engine that was killed is started again.
	conn, err := p.Connect(t.Context(), "bob")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintln(conn, "kill -9 $PPID"); err != nil {
		t.Error(err)
	}
	if rest, _ := io.ReadAll(conn); len(rest) > 0 {
		t.Errorf("the killed engine says %q", rest)
	}
	hangUp(conn)
	until(t, func() bool { return p.Running() == 0 })
	if got := shell(t, p, "bob", "echo again"); got != "again" {
		t.Error(got)
	}
}

// until waits for another process.
func until(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not happen")
		}
	}
}

// TestPool_Environment checks what an engine gets besides what programs need, and that what was opened for it ends with it.
func TestPool_Environment(t *testing.T) {
	ended := make(chan string, 2)
	p, _ := pool(t, func(o *engines.Options, f *engines.FindOptions) {
		none(o, f)
		o.Idle = 50 * time.Millisecond
		o.Env = append(o.Env, "OTEL_SERVICE_NAME=agents", "OTEL_EXPORTER_OTLP_HEADERS=key=secret", "OTEL_EXPORTER_OTLP_TRACES_HEADERS=key=secret", "OTHER=secret")
		o.Open = func(user, dir string) ([]string, func(), error) {
			if user == "bob" {
				return nil, nil, errors.New("nothing can be opened")
			}
			if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("%s: %v, %v", dir, info, err)
			}
			return []string{"OPENED_FOR=" + user}, func() { ended <- user }, nil
		}
	})
	got := "|" + shell(t, p, "ann", "env") + "|"
	if !strings.Contains(got, "|OTEL_SERVICE_NAME=agents|") || !strings.Contains(got, "|OPENED_FOR=ann|") || strings.Contains(got, "secret") {
		t.Errorf("the environment: %s", got)
	}
	if user := <-ended; user != "ann" {
		t.Errorf("what was opened for %s has ended", user)
	}
	until(t, func() bool { return p.Running() == 0 })
	if _, err := p.Connect(t.Context(), "bob"); err == nil || !strings.Contains(err.Error(), "nothing can be opened") {
		t.Errorf("bob: %v", err)
	}
}

func TestPool_FailsToStart(t *testing.T) {
	p, _ := pool(t, func(o *engines.Options, f *engines.FindOptions) {
		none(o, f)
		o.Env = append(o.Env, "GJC_TEST_FAILS=1")
	})
	for range 2 { // it is tried again with each connection
		if _, err := p.Connect(t.Context(), engines.Operator); err == nil || !strings.Contains(err.Error(), "the engine cannot start") {
			t.Errorf("the error is %v", err)
		}
	}
}

// apart checks that two users cannot reach each other.
func apart(t *testing.T, p *engines.Pool, dir string) {
	t.Helper()
	secret := filepath.Join(dir, "key")
	if err := os.WriteFile(secret, []byte("a key of TLS"), 0o600); err != nil {
		t.Fatal(err)
	}
	ann, bob := filepath.Join(dir, "users", "ann"), filepath.Join(dir, "users", "bob")
	if got := shell(t, p, "ann", "pwd; echo $HOME; echo private > note; cat note; ls -A"); got != ann+"|"+ann+"|private|note" {
		t.Errorf("ann's own directory: %s", got)
	}
	// A process of ann's that bob would see, and could end.
	conn, err := p.Connect(t.Context(), "ann")
	if err != nil {
		t.Fatal(err)
	}
	defer hangUp(conn)
	if got := run(t, conn, "echo ready; (exec sleep 654.321 >/dev/null 2>&1 &)"); got != "ready" {
		t.Error(got)
	}
	for command, allowed := range map[string]string{
		"cat " + ann + "/note": "private",
		"ls " + ann:            "note",
		"echo x >> " + ann + "/note && echo done": "done",
		"cat " + secret:                             "TLS",
		"ls " + filepath.Join(dir, "users"):         "ann",
		"env | grep -i gjc_test_secret":             "GJC_TEST_SECRET",
		"kill $(pgrep -fx 'sleep 654.321') && echo": "done",
		"cat /proc/" + fmt.Sprint(os.Getpid()) + "/environ | tr '\\0' '\\n' | grep GJC_TEST_SECRET": "GJC_TEST_SECRET",
	} {
		if got := shell(t, p, "bob", command); strings.Contains(got, allowed) && !strings.Contains(got, "cannot") && !strings.Contains(got, "No such") && !strings.Contains(got, "denied") {
			t.Errorf("bob: %s: %s", command, got)
		}
	}
	if got := shell(t, p, "bob", "pwd; echo $USER"); got != bob+"|bob" {
		t.Errorf("bob's own directory: %s", got)
	}
	if got := shell(t, p, "ann", "cat note; pgrep -fx 'sleep 654.321' | wc -l"); got != "private|1" {
		t.Errorf("afterwards ann has: %s", got)
	}
}

func TestPool_Bubblewrap(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root gives each user one of the operating system; TestPool_UsersAsRoot")
	}
	testenv.NeedsTool(t, "bwrap")
	t.Setenv("GJC_TEST_SECRET", "1")
	p, dir := pool(t, nil)
	apart(t, p, dir)
	if got := shell(t, p, "bob", "touch /usr/x 2>/dev/null || echo refused; test -e "+os.Args[0]+" || echo hidden"); got != "refused|hidden" {
		t.Errorf("the system: %s", got)
	}
}

func TestPool_Share(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("as root, the rights of users decide")
	}
	testenv.NeedsTool(t, "bwrap")
	shared, seen := t.TempDir(), t.TempDir()
	p, _ := pool(t, func(_ *engines.Options, f *engines.FindOptions) {
		f.Share = []engines.Share{{Path: shared, Writable: true}, {Path: seen}}
		f.Hidden = append(f.Hidden, filepath.Join(shared, "key"))
		if err := os.WriteFile(filepath.Join(shared, "key"), []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	command := fmt.Sprintf("cd %s && echo x > f && cat f key 2>/dev/null; (echo y > %s/f) 2>/dev/null || echo refused", shared, seen)
	if got := shell(t, p, "ann", command); got != "x|refused" {
		t.Error(got)
	}
}

// TestPool_UsersAsRoot runs in CI's step as root.
func TestPool_UsersAsRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can run engines as other users")
	}
	t.Setenv("GJC_TEST_SECRET", "1")
	p, dir := pool(t, func(_ *engines.Options, f *engines.FindOptions) { f.UIDs = "271000-271001" })
	apart(t, p, dir)
	if got := shell(t, p, "ann", "id -u; id -G"); got != "271000|271000" && got != "271001|271001" {
		t.Errorf("ann runs as %s", got)
	}
	if _, err := p.Connect(t.Context(), "eve"); err == nil || !strings.Contains(err.Error(), "larger --uids") {
		t.Errorf("a third user of two: %v", err)
	}
	if _, err := p.Connect(t.Context(), "root"); err == nil || !strings.Contains(err.Error(), "all rights") {
		t.Errorf("the user root: %v", err)
	}
}

func TestFindBoundary_Refuses(t *testing.T) {
	for _, uids := range []string{"1", "0-10", "5000-4000", "a-b", "200000-99999999999"} {
		if b, _, err := engines.FindBoundary(t.Context(), &engines.FindOptions{UIDs: uids, File: "x"}); err == nil {
			t.Errorf("--uids %s gives the boundary %s", uids, &b)
		}
	}
}
