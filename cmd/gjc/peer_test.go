package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gajae-code/gjc/internal/testenv"
)

// hang is the time for which a test waits for something that must happen. Only a hang takes that long.
const hang = 2 * time.Minute

// peer is an editor that writes and reads the lines itself, so that it can send what no client would. It validates
// every received line against the protocol's schema.
type peer struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.WriteCloser
	// in has the received messages; it is closed at the end of stdout.
	in chan message
	// stdout and stderr are the editor's ends of the pipes.
	stdout, stderr io.Closer
	// stderrText is the content of stderr.
	stderrText *buffer
	check      *wireCheck
	// ended is closed when the process has ended; err is set then.
	ended chan struct{}
	err   error
	// drained is closed when all output has been read.
	drained chan struct{}
	// deaf is held while the editor does not read.
	deaf sync.Mutex
	// wasDeaf is set if the editor stopped reading for good; gjc must end in time then, though its last line is cut.
	wasDeaf atomic.Bool
	next    int
	home    string
	// work is the workspace of sessions.
	work string
}

// message is a received line.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *wireError      `json:"error"`
	line   string
}

type wireError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

func (m message) isResponse() bool { return m.Method == "" }

// buffer is a bytes.Buffer for two goroutines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// peerOptions are the options of a peer. The zero value is "gjc acp" without a key.
type peerOptions struct {
	path string // of the program; if empty, the test binary
	// command is the command; nil for acp.
	command []string
	args    []string // after the command
	env     []string
	home    string
	attr    *syscall.SysProcAttr // of the process; nil for the default
}

// startPeer starts gjc. If the test does not end it, the cleanup does, and fails.
func startPeer(t *testing.T, opts peerOptions) *peer {
	t.Helper()
	if opts.home == "" {
		opts.home = tempDir(t)
	}
	if opts.path == "" {
		opts.path = self(t)
	}
	if opts.command == nil {
		opts.command = []string{"acp"}
	}
	opts.env = append(slices.Clone(opts.env), markOf(t))
	p := &peer{
		t: t, in: make(chan message, 1<<16), stderrText: new(buffer), ended: make(chan struct{}), drained: make(chan struct{}), home: opts.home,
		work: tempDir(t), check: newWireCheck(t),
	}
	// The process's own directory must not matter to sessions.
	p.cmd = &exec.Cmd{
		Path: opts.path, Args: slices.Concat([]string{"gjc"}, opts.command, opts.args), Env: environment(opts.home, opts.env...), Dir: t.TempDir(),
		SysProcAttr: opts.attr,
	}
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, w := pipe(t)
	stderr, werr := pipe(t)
	p.stdout, p.stderr = stdout, stderr
	p.cmd.Stdout, p.cmd.Stderr = w, werr
	err = p.cmd.Start()
	_, _ = w.Close(), werr.Close()
	if err != nil {
		t.Fatal(err)
	}
	var readers sync.WaitGroup
	readers.Go(func() { p.read(stdout) })
	readers.Go(func() { _, _ = io.Copy(p.stderrText, stderr) }) // ends with the pipe, or when the test closes it
	go func() {
		readers.Wait()
		close(p.drained)
	}()
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		select {
		case <-p.ended:
		default:
			if !t.Failed() {
				t.Error("the test left gjc running")
			}
			_ = p.cmd.Process.Kill()
			<-p.ended
		}
		_ = p.stdin.Close()
		// A process that was left running would hold the pipes open.
		limit := time.AfterFunc(hang, func() { _, _ = stdout.Close(), stderr.Close() })
		<-p.drained
		limit.Stop()
		_, _ = stdout.Close(), stderr.Close()
		for line := range strings.Lines(p.stderrText.String()) {
			var m struct {
				JSONRPC string `json:"jsonrpc"`
			}
			if json.Unmarshal([]byte(line), &m) == nil && m.JSONRPC != "" {
				t.Errorf("a protocol message on stderr: %s", line)
			}
		}
		if t.Failed() {
			t.Logf("stderr: %s", p.stderrText)
		}
	})
	return p
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}

func (p *peer) read(r io.Reader) {
	defer close(p.in)
	lines := bufio.NewReader(r)
	for {
		p.deaf.Lock()
		p.deaf.Unlock() //nolint:staticcheck // it is a gate
		line, err := lines.ReadBytes('\n')
		if err != nil {
			if len(line) > 0 && !errors.Is(err, os.ErrClosed) && !p.wasDeaf.Load() {
				p.t.Errorf("stdout ends inside a line: %.200s", line)
			}
			return
		}
		m := message{line: string(bytes.TrimSuffix(line, []byte("\n")))}
		if line[0] != '{' || json.Unmarshal(line, &m) != nil {
			p.t.Errorf("not a message on stdout: %.200q", line)
			continue
		}
		p.check.received(line)
		p.in <- m
	}
}

// send writes one line unchanged.
func (p *peer) send(line string) {
	p.t.Helper()
	p.check.sent([]byte(line))
	if _, err := io.WriteString(p.stdin, line+"\n"); err != nil {
		p.t.Fatalf("writing to gjc: %v", err)
	}
}

// request sends a request with a fresh ID, without waiting.
func (p *peer) request(method string, params any) (id string) {
	p.t.Helper()
	p.next++
	id = fmt.Sprintf(`"p%d"`, p.next)
	raw, err := json.Marshal(params)
	if err != nil {
		p.t.Fatal(err)
	}
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, raw))
	return id
}

func (p *peer) notify(method string, params any) {
	p.t.Helper()
	raw, err := json.Marshal(params)
	if err != nil {
		p.t.Fatal(err)
	}
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, raw))
}

// until returns the first message that ok accepts, and those before it.
func (p *peer) until(what string, ok func(message) bool) (found message, before []message) {
	p.t.Helper()
	limit := time.NewTimer(hang)
	defer limit.Stop()
	for {
		select {
		case m, open := <-p.in:
			if !open {
				p.t.Fatalf("gjc closed stdout before %s came; before: %v", what, lines(before))
			}
			if ok(m) {
				return m, before
			}
			before = append(before, m)
		case <-limit.C:
			p.stacks()
			p.t.Fatalf("%s does not come; before: %v", what, lines(before))
		}
	}
}

// answer returns the response to a request, and the messages before it.
func (p *peer) answer(id string) (response message, before []message) {
	p.t.Helper()
	return p.until("the response to "+id, func(m message) bool { return m.isResponse() && string(m.ID) == id })
}

// call sends a request and expects a result.
func (p *peer) call(method string, params any) json.RawMessage {
	p.t.Helper()
	m, _ := p.answer(p.request(method, params))
	if m.Error != nil {
		p.t.Fatalf("%s: %s", method, m.line)
	}
	return m.Result
}

// called returns gjc's next request for a method.
func (p *peer) called(method string) message {
	p.t.Helper()
	m, _ := p.until(method, func(m message) bool { return m.Method == method })
	return m
}

// reply answers a request of gjc's.
func (p *peer) reply(to message, result string) {
	p.t.Helper()
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, to.ID, result))
}

type object = map[string]any

// withTerminals are the capabilities of an editor with terminals.
var withTerminals = object{"terminal": true, "fs": object{"readTextFile": true, "writeTextFile": true}}

func (p *peer) initialize(capabilities object) {
	p.t.Helper()
	if capabilities == nil {
		capabilities = object{}
	}
	p.call("initialize", object{"protocolVersion": 1, "clientCapabilities": capabilities})
}

// session opens a session in p.work, in a mode.
func (p *peer) session(mode string) (id string) {
	p.t.Helper()
	var resp struct {
		SessionID string `json:"sessionId"`
	}
	if err := json.Unmarshal(p.call("session/new", object{"cwd": p.work, "mcpServers": []any{}}), &resp); err != nil {
		p.t.Fatal(err)
	}
	p.call("session/set_mode", object{"sessionId": resp.SessionID, "modeId": mode})
	return resp.SessionID
}

// prompt begins a turn.
func (p *peer) prompt(session, text string) (id string) {
	p.t.Helper()
	return p.request("session/prompt", object{"sessionId": session, "prompt": []any{object{"type": "text", "text": text}}})
}

// say runs a short turn and expects all of it.
func (p *peer) say(session, word string) (before []message) {
	p.t.Helper()
	m, before := p.answer(p.prompt(session, "!say "+word))
	if m.Error != nil || !strings.Contains(m.line, `"end_turn"`) {
		p.t.Errorf("the prompt got %s", m.line)
	}
	if text := strings.Join(lines(before), "\n"); !strings.Contains(text, word) {
		p.t.Errorf("the turn did not say %q:\n%s", word, text)
	}
	return before
}

// rest returns the messages that have come since, once the process has ended.
func (p *peer) rest() (all []message) {
	for m := range p.in {
		all = append(all, m)
	}
	<-p.drained
	return all
}

// stop closes stdin and expects gjc to end successfully.
func (p *peer) stop() {
	p.t.Helper()
	if err := p.stdin.Close(); err != nil {
		p.t.Error(err)
	}
	p.exits()
}

// exits waits for the process to end with code 0 within the time that an editor can expect.
func (p *peer) exits() {
	p.t.Helper()
	begin := time.Now()
	select {
	case <-p.ended:
	case <-time.After(hang):
		p.stacks()
		p.t.Fatal("gjc does not end")
	}
	if p.err != nil {
		p.t.Errorf("gjc ended with %v", p.err)
	}
	wantExitInTime(p.t, time.Since(begin))
}

// wantExitInTime compares the time that gjc took to end, with all its children, with what an editor can expect. On a
// machine where nothing else ends in time either, gjc gets more: ten times the time of a process that starts and ends
// at once.
func wantExitInTime(t *testing.T, took time.Duration) {
	t.Helper()
	limit := 2 * time.Second
	if testenv.Race {
		limit = 5 * time.Second
	}
	if took <= limit {
		return
	}
	cmd := exec.CommandContext(t.Context(), self(t), "--version")
	cmd.Env = environment(t.TempDir())
	begin := time.Now()
	if err := cmd.Run(); err != nil {
		t.Error(err)
	}
	if limit += 10 * time.Since(begin); took > limit {
		t.Errorf("gjc took %v to end, more than %v", took, limit)
	}
}

// stacks makes gjc print its goroutines, which the test's failure shows.
func (p *peer) stacks() {
	if err := p.cmd.Process.Signal(syscall.SIGQUIT); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Log(err)
	}
	select {
	case <-p.ended:
	case <-time.After(5 * time.Second):
	}
}

func lines(messages []message) []string {
	all := make([]string, 0, len(messages))
	for _, m := range messages {
		all = append(all, m.line)
	}
	return all
}
