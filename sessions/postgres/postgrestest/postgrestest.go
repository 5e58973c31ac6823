// Package postgrestest starts a PostgreSQL server for tests, from the programs that the system has installed. It listens on a Unix
// socket only, and ends with the test binary, however that ends.
package postgrestest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/gajae-code/gjc/internal/testenv"
)

// Cluster is a server with the databases of one test binary. The zero value is ready for use; TestMain calls Stop after the tests.
type Cluster struct {
	// Durable has the server sync its files, which costs time.
	Durable bool

	mu        sync.Mutex     // guards the fields below
	bin       string         // directory of the programs
	dir       string         // directory of the server; empty until it has been created
	guard     *exec.Cmd      // the running server's, or nil
	input     io.WriteCloser // a line or the end of it ends the guard
	databases int
	err       error // of the start
}

const startPatience = 60 * time.Second

// Database creates an empty database and returns its address. It starts the server if necessary. Without PostgreSQL it skips the test,
// or fails it in a strict run.
func (c *Cluster) Database(t testing.TB) string {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dir == "" && c.err == nil {
		if c.bin = programs(); c.bin == "" {
			testenv.Skip(t, "PostgreSQL is not installed: there is no initdb on PATH or in /usr/lib/postgresql")
		}
		c.err = c.create()
	}
	if c.err != nil {
		t.Fatal(c.err)
	}
	c.databases++
	name := "test" + strconv.Itoa(c.databases)
	if err := Exec(t.Context(), c.address("postgres"), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	return c.address(name)
}

// Program returns the path of a program of PostgreSQL, such as pg_dump. The server must have been started.
func (c *Cluster) Program(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return filepath.Join(c.bin, name)
}

// Kill kills the server with SIGKILL, as a failing machine does.
func (c *Cluster) Kill(t testing.TB) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	pid, err := c.pid()
	if err == nil {
		err = kill(pid)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.end()
}

// Restart starts the server after Kill.
func (c *Cluster) Restart(t testing.TB) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.start(); err != nil {
		t.Fatal(err)
	}
}

// Stop ends the server and removes its files. It is a no-op if the server has not been started.
func (c *Cluster) Stop() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dir == "" {
		return nil
	}
	c.end()
	return os.RemoveAll(c.dir)
}

// Exec runs statements in the database at an address, without parameters.
func Exec(ctx context.Context, address, statements string) error {
	conn, err := pgconn.Connect(ctx, address)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statements).ReadAll()
	return errors.Join(err, conn.Close(ctx))
}

// Rows returns the result of a statement, each row with its values separated by a bar.
func Rows(t testing.TB, address, statement string) []string {
	t.Helper()
	conn, err := pgconn.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	result := conn.ExecParams(t.Context(), statement, nil, nil, nil, nil).Read()
	if err := errors.Join(result.Err, conn.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	rows := []string{}
	for _, row := range result.Rows {
		rows = append(rows, string(bytes.Join(row, []byte{'|'})))
	}
	return rows
}

func (c *Cluster) address(database string) string {
	query := url.Values{"host": {c.dir}, "user": {"gjc"}}
	return "postgres:///" + database + "?" + query.Encode()
}

// programs returns the directory of PostgreSQL's programs, of the latest version, or "".
func programs() string {
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(path) // the other programs need not have links
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is valid
	if len(found) == 0 {
		return ""
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(strings.Split(path, "/")[4])
		return n
	}
	return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) }))
}

// maxSocketDir is the maximum length of a directory for sockets: a socket's path has at most 104 bytes on some systems.
const maxSocketDir = 80

// create creates the server's files and starts it.
func (c *Cluster) create() error {
	temp := os.TempDir()
	if len(temp) > maxSocketDir-20 {
		temp = "/tmp"
	}
	dir, err := os.MkdirTemp(temp, "gjcpg")
	if err != nil {
		return err
	}
	c.dir = dir
	if err := giveAway(dir); err != nil {
		return err
	}
	initdb := c.command(filepath.Join(c.bin, "initdb"), "-D", filepath.Join(dir, "data"), "-U", "gjc", "-A", "trust", "--no-sync", "--no-locale", "-E", "UTF8")
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	return c.start()
}

func (c *Cluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.Background(), name, args...) // it outlives the test that starts it
	cmd.Dir = c.dir
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "TZ=UTC", "HOME=" + c.dir}
	runAsOther(cmd)
	return cmd
}

// guardScript runs the server until it reads a line, or until its input ends with the test binary. It then removes the server's files. The
// server is waited for at once: until then its process ID would be that of a dead process.
const guardScript = `("$@" & echo $! >server.pid; wait $!) & keeper=$!
read -r word
server=$(cat server.pid)
(while kill -QUIT $server 2>/dev/null; do sleep 0.2; done) & # a shell has a new process ignore it at first
wait $keeper
[ "$word" = keep ] || rm -rf "$PWD"`

// start starts the server and waits until it can be used.
func (c *Cluster) start() error {
	log, err := os.OpenFile(filepath.Join(c.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the server has its own
	sync := "fsync=on"
	if !c.Durable {
		sync = "fsync=off"
	}
	deadline := time.Now().Add(startPatience)
	for {
		args := []string{
			"-c", guardScript, "guard", filepath.Join(c.bin, "postgres"), "-D", "data", "-k", c.dir,
			"-c", "listen_addresses=", "-c", sync, "-c", "max_connections=100", "-c", "shared_buffers=64MB",
		}
		guard := c.command("/bin/sh", args...)
		guard.Stdout, guard.Stderr = log, log
		_ = os.Remove(c.pidFile()) // of the last server
		if c.input, err = guard.StdinPipe(); err != nil {
			return err
		}
		if err := guard.Start(); err != nil {
			return err
		}
		c.guard = guard
		if err = c.ready(deadline); err == nil {
			return nil
		}
		// After a kill, the memory of the old server's processes is in use for a moment.
		c.end()
		if time.Now().After(deadline) {
			text, _ := os.ReadFile(filepath.Join(c.dir, "log"))
			return fmt.Errorf("PostgreSQL did not start: %w\n%s", err, text[max(0, len(text)-2000):])
		}
	}
}

// ready waits until the server accepts connections, or has ended.
func (c *Cluster) ready(deadline time.Time) error {
	for {
		ctx, cancel := context.WithDeadline(context.Background(), deadline)
		err := Exec(ctx, c.address("postgres"), "SELECT 1")
		cancel()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		if pid, failed := c.pid(); failed == nil && !alive(pid) {
			return err
		}
		time.Sleep(10 * time.Millisecond) // another process is starting
	}
}

// pid returns the process ID of the server that the guard has started.
func (c *Cluster) pid() (int, error) {
	text, err := os.ReadFile(c.pidFile())
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(bytes.TrimSpace(text)))
}

func (c *Cluster) pidFile() string { return filepath.Join(c.dir, "server.pid") }

// stopPatience is the time after which a server that does not stop is killed, for example because it is still starting.
const stopPatience = 5 * time.Second

// end ends the guard and with it the server.
func (c *Cluster) end() {
	if c.guard == nil {
		return
	}
	_, _ = io.WriteString(c.input, "keep\n") // the guard may have ended
	_ = c.input.Close()
	timer := time.AfterFunc(stopPatience, func() {
		if pid, err := c.pid(); err == nil {
			_ = kill(pid) // it may have ended
		}
	})
	_ = c.guard.Wait() // its status is that of the shell
	timer.Stop()
	c.guard = nil
}
