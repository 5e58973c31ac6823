package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/testenv"
)

// networkToken is the token of the servers of the tests.
const networkToken = "0123456789abcdef0123456789abcdef"

// transports are the ways to an agent: the command itself, and "gjc serve" over the network.
var transports = []string{"stdio", "ws", "http"} //nolint:gochecknoglobals // read only

// agentOver returns the last arguments of a program of the interop directory, and its environment, for gjc over a transport. args are
// those of "gjc acp".
func agentOver(t *testing.T, transport, home string, args ...string) (agent, env []string) {
	t.Helper()
	if transport == "stdio" {
		return append([]string{self(t), "acp"}, args...), environment(home)
	}
	address := listening(t, home, args...)
	return []string{transport + strings.TrimPrefix(address, "http")}, environment(home, "GJC_TOKEN="+networkToken)
}

// listening starts "gjc serve" on a port of its own, and returns its address.
func listening(t *testing.T, home string, args ...string) (address string) {
	t.Helper()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte(networkToken+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	line := startServer(t, environment(home), self(t), append([]string{"serve", "--listen", "127.0.0.1:0", "--token-file", token}, args...)...).first
	var said struct{ Listening string }
	if err := json.Unmarshal([]byte(line), &said); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return said.Listening
}

// serverProcess is a server that ends with its test.
type serverProcess struct {
	first string // line of its output
	stdin io.Writer
}

// startServer starts a server, and waits until it has said where it is.
func startServer(t *testing.T, env []string, program string, args ...string) *serverProcess {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = env
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		if cmd.Process.Signal(syscall.SIGTERM) != nil { // not on Windows
			_ = cmd.Process.Kill()
		}
		_ = cmd.Wait() // the signal may be its end
		if t.Failed() {
			t.Logf("%s: %s", filepath.Base(program), stderr.String())
		}
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	return &serverProcess{strings.TrimSpace(line), stdin}
}

// connected is an editor that has started "gjc connect".
type connected struct {
	t     *testing.T
	stdin io.WriteCloser
	lines *bufio.Scanner
	cmd   *exec.Cmd
	err   *strings.Builder // stderr
}

func startConnect(t *testing.T, address string) *connected {
	t.Helper()
	c := &connected{t: t, err: new(strings.Builder)}
	c.cmd = exec.CommandContext(t.Context(), self(t), "connect", address)
	c.cmd.Env, c.cmd.Stderr = environment(tempDir(t), "GJC_TOKEN="+networkToken), c.err
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.stdin = stdin
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.lines = bufio.NewScanner(stdout)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *connected) send(format string, args ...any) {
	c.t.Helper()
	if _, err := fmt.Fprintf(c.stdin, format+"\n", args...); err != nil {
		c.t.Fatal(err)
	}
}

// next returns the next message.
func (c *connected) next() (m message) {
	c.t.Helper()
	if !c.lines.Scan() {
		c.t.Fatalf("the end: %v", c.lines.Err())
	}
	if err := json.Unmarshal(c.lines.Bytes(), &m); err != nil {
		c.t.Fatalf("%s: %v", c.lines.Text(), err)
	}
	m.line = c.lines.Text()
	return m
}

// answer returns the next message, which answers a request.
func (c *connected) answer(id string) message {
	c.t.Helper()
	m := c.next()
	if string(m.ID) != id || !m.isResponse() {
		c.t.Fatalf("the answer to %s is %s", id, m.line)
	}
	return m
}

// end ends the editor, and returns stderr.
func (c *connected) end() string {
	c.t.Helper()
	if err := c.stdin.Close(); err != nil {
		c.t.Error(err)
	}
	for c.lines.Scan() {
		c.t.Errorf("after the end: %s", c.lines.Text())
	}
	if err := c.cmd.Wait(); err != nil {
		c.t.Errorf("gjc connect: %v\n%s", err, c.err)
	}
	return c.err.String()
}

// turn runs a turn of sdk-server.mjs with a question, and returns its last words.
func (c *connected) turn(id int) (words string) {
	c.t.Helper()
	c.send(`{"jsonrpc":"2.0","id":%d,"method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":"go"}]}}`, id)
	text := func(m message) string {
		var params struct {
			Update struct{ Content struct{ Text string } }
		}
		if err := json.Unmarshal(m.Params, &params); err != nil || m.Method != "session/update" {
			c.t.Fatalf("%s: %v", m.line, err)
		}
		return params.Update.Content.Text
	}
	for i := range 100 {
		if got := text(c.next()); got != fmt.Sprint(i) {
			c.t.Fatalf("update %d is %q", i, got)
		}
	}
	ask := c.next()
	if ask.Method != "session/request_permission" {
		c.t.Fatalf("%s", ask.line)
	}
	c.send(`{"jsonrpc":"2.0","id":%s,"result":{"outcome":{"outcome":"selected","optionId":"yes"}}}`, ask.ID)
	words = text(c.next())
	if got := c.answer(fmt.Sprint(id)); string(got.Result) != `{"stopReason":"end_turn"}` {
		c.t.Errorf("%s", got.line)
	}
	return words
}

// The server of the official TypeScript SDK, which does not know gjc's extension, serves an editor that has started "gjc connect": through a
// turn with a question, a cancelled one, and a break after which the session is loaded again.
func TestInterop_TypeScriptSDK_Server(t *testing.T) {
	t.Parallel()
	server := startServer(t, os.Environ(), testenv.NeedsTool(t, "node"), filepath.Join(testenv.NeedsInterop(t), "sdk-server.mjs"))
	c := startConnect(t, server.first)
	c.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}`)
	if got := c.answer("0"); !strings.Contains(got.line, `"protocolVersion":1`) {
		t.Errorf("%s", got.line)
	}
	c.send(`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}`)
	if got := c.answer("1"); string(got.Result) != `{"sessionId":"s1"}` {
		t.Errorf("%s", got.line)
	}
	if got := c.turn(2); got != "yes, loaded false" {
		t.Errorf("the last words are %q", got)
	}
	wait := func(id int) {
		t.Helper()
		c.send(`{"jsonrpc":"2.0","id":%d,"method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":"wait"}]}}`, id)
		if got := c.next(); !strings.Contains(got.line, "waiting") {
			t.Fatalf("%s", got.line)
		}
	}
	wait(3)
	c.send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}`)
	if got := c.answer("3"); string(got.Result) != `{"stopReason":"cancelled"}` {
		t.Errorf("%s", got.line)
	}
	wait(4)
	if _, err := io.WriteString(server.stdin, "cut\n"); err != nil {
		t.Fatal(err)
	}
	if got := c.answer("4"); got.Error == nil || !strings.Contains(got.Error.Message, "the agent's answer will not come. Load the session again") {
		t.Errorf("%s", got.line)
	}
	c.send(`{"jsonrpc":"2.0","id":5,"method":"session/load","params":{"sessionId":"s1","cwd":"/","mcpServers":[]}}`)
	if got := c.answer("5"); got.Error != nil {
		t.Errorf("%s", got.line)
	}
	if got := c.turn(6); got != "yes, loaded true" {
		t.Errorf("the last words are %q", got)
	}
	log := c.end()
	for _, want := range []string{"is lost", "connected to "} {
		if !strings.Contains(log, want) {
			t.Errorf("stderr has no %q:\n%s", want, log)
		}
	}
}

// "gjc serve" is restarted during a turn, without its sessions: the editor gets an error in words, and goes on with the next server.
func TestConnect_Restart(t *testing.T) {
	t.Parallel()
	home, work := tempDir(t), tempDir(t)
	host := func(address string) string { return strings.TrimPrefix(strings.TrimSuffix(address, "/acp"), "http://") }
	first := host(listening(t, home, "--model", "offline/demo"))
	p := newTCPProxy(t, first)
	c := startConnect(t, "http://"+p.listener.Addr().String())
	c.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}`)
	c.answer("0")
	c.send(`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`, work)
	var session struct{ SessionID string }
	if err := json.Unmarshal(c.until("1").Result, &session); err != nil {
		t.Fatal(err)
	}
	c.send(`{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"!say one"}]}}`, session.SessionID)
	c.until("2")
	// A break of the network during a turn goes unnoticed.
	c.send(`{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"!say before\n!wait"}]}}`, session.SessionID)
	for !strings.Contains(c.next().line, "before") {
	}
	p.cut(first)
	c.send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`, session.SessionID)
	if got := c.until("3"); string(got.Result) == "" || !strings.Contains(got.line, "cancelled") {
		t.Errorf("%s", got.line)
	}
	// Another server does not have the connection.
	c.send(`{"jsonrpc":"2.0","id":4,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"!say again\n!wait"}]}}`, session.SessionID)
	for !strings.Contains(c.next().line, "again") {
	}
	p.cut(host(listening(t, tempDir(t), "--model", "offline/demo")))
	if got := c.until("4"); got.Error == nil || !strings.Contains(got.Error.Message, "will not come") {
		t.Errorf("%s", got.line)
	}
	c.send(`{"jsonrpc":"2.0","id":5,"method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`, work)
	if got := c.until("5"); got.Error != nil {
		t.Errorf("%s", got.line)
	}
	if err := c.stdin.Close(); err != nil {
		t.Error(err)
	}
	for c.lines.Scan() {
	}
	if err := c.cmd.Wait(); err != nil {
		t.Errorf("gjc connect: %v\n%s", err, c.err)
	}
	if diff := cmp.Diff([]int{2, 1, 1, 1}, []int{
		strings.Count(c.err.String(), "is interrupted"), strings.Count(c.err.String(), "nothing is lost"), strings.Count(c.err.String(), "connected to "),
		strings.Count(c.err.String(), "session "+session.SessionID+" could not be opened again"),
	}); diff != "" {
		t.Errorf("lines of the log (-want +got):\n%s\n%s", diff, c.err)
	}
}

// until returns the answer to a request, after messages of other kinds.
func (c *connected) until(id string) message {
	c.t.Helper()
	for {
		if m := c.next(); m.isResponse() && string(m.ID) == id {
			return m
		}
	}
}

// rpcLog returns the arguments that log the messages, which are only for one client.
func rpcLog(transport, path string) []string {
	if transport != "stdio" {
		return nil
	}
	return []string{"--rpc-log", path}
}
