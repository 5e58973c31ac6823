package bench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/acp/acptest"
	"github.com/gajae-code/gjc/acp/transport"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/providers/providertest"
)

// served is a running "gjc serve".
type served struct {
	b       *testing.B
	process *proc.Process
	group   *proc.Group
	url     string
	work    string
	editors []*acptest.Editor
}

const serveToken = "0123456789abcdef0123456789abcdef"

// serve starts a server with its files in a directory. The caller ends it.
func serve(b *testing.B, env []string, args ...string) *served {
	b.Helper()
	dir := b.TempDir()
	s := &served{b: b, group: proc.NewGroup(nil), work: filepath.Join(dir, "work")}
	check(b, os.MkdirAll(s.work, 0o755))
	token := filepath.Join(dir, "token")
	check(b, os.WriteFile(token, []byte(serveToken+"\n"), 0o600))
	path, err := binary()
	check(b, err)
	first := newLine()
	s.process, err = s.group.Start(b.Context(), &proc.Options{
		Path: path, Args: append([]string{"serve", "--listen", "127.0.0.1:0", "--token-file", token}, args...), Dir: s.work, Stdin: true, Stdout: first,
		Env: proc.Environ(os.Environ(), append(env, "HOME="+dir, "GJC_CODING_AGENT_DIR="+filepath.Join(dir, "agent"))...),
	})
	check(b, err)
	select {
	case line := <-first.line:
		var listening struct {
			Listening string `json:"listening"`
		}
		check(b, jsonx.Unmarshal(line, &listening))
		s.url = "ws" + strings.TrimPrefix(listening.Listening, "http")
	case <-s.process.Done():
		b.Fatalf("gjc serve has ended: %s", s.process.StderrTail())
	}
	return s
}

// line is an output of which only the first line matters.
type line struct {
	rest []byte
	line chan []byte
}

func newLine() *line { return &line{line: make(chan []byte, 1)} }

// Write implements [io.Writer].
func (l *line) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	if text, _, ok := bytes.Cut(l.rest, []byte("\n")); ok {
		select {
		case l.line <- text:
		default:
		}
	}
	return len(p), nil
}

// end ends the clients and the server.
func (s *served) end() {
	for _, e := range s.editors {
		_ = e.Close() // the measurement is over
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	_ = s.group.Close(ctx)
}

// connect connects an editor and initializes it.
func (s *served) connect(ctx context.Context, opts acptest.EditorOptions) (*acptest.Editor, error) {
	conn, err := transport.Dial(ctx, s.url, transport.DialOptions{Header: http.Header{"Authorization": {"Bearer " + serveToken}}})
	if err != nil {
		return nil, err
	}
	e := acptest.NewEditor(ctx, conn, conn, conn, opts)
	_, err = e.Initialize(ctx)
	return e, err
}

// fleet connects editors, several at a time, and opens sessions in each.
func (s *served) fleet(editors, each int) (ids [][]acp.SessionID) {
	s.b.Helper()
	all := make([]*acptest.Editor, editors)
	ids = make([][]acp.SessionID, editors)
	errs := make([]error, editors)
	var work sync.WaitGroup
	next := make(chan int)
	for range 16 {
		work.Go(func() {
			for i := range next {
				e, err := s.connect(s.b.Context(), acptest.EditorOptions{})
				for n := 0; err == nil && n < each; n++ {
					var resp *acp.NewSessionResponse
					if resp, err = e.NewSession(s.b.Context(), s.work); err == nil {
						ids[i] = append(ids[i], resp.SessionID)
					}
				}
				all[i], errs[i] = e, err
			}
		})
	}
	for i := range editors {
		next <- i
	}
	close(next)
	work.Wait()
	for i, err := range errs {
		if err != nil {
			s.b.Fatalf("editor %d: %v\n%s", i, err, s.process.StderrTail())
		}
	}
	s.editors = append(s.editors, all...)
	return ids
}

// memory returns the memory in use of the server and of its engine.
func (s *served) memory() (server, engine memoryUse) {
	server = memory(s.process.PID())
	for _, pid := range childrenOf(s.process.PID()) {
		m := memory(pid)
		engine.pss += m.pss
		engine.anonymous += m.anonymous
	}
	return server, engine
}

func childrenOf(pid int) []int {
	var all []int
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid)) // only Linux has it
	scanner := bufio.NewScanner(bytes.NewReader(text))
	scanner.Split(bufio.ScanWords)
	for scanner.Scan() {
		if child, err := strconv.Atoi(scanner.Text()); err == nil {
			all = append(all, child)
		}
	}
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, task := range tasks {
		if task.Name() == strconv.Itoa(pid) {
			continue
		}
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name()))
		for word := range strings.FieldsSeq(string(text)) {
			if child, err := strconv.Atoi(word); err == nil {
				all = append(all, child)
			}
		}
	}
	return all
}

// The scale that one server must have.
const (
	idleSessions    = 2000
	idleConnections = 200
	// mostIdleMemory is the budget of an idle session, in KB.
	mostIdleMemory = 60
	runningTurns   = 200
	// settle is the time after which idle processes have returned memory.
	settle = 70 * time.Second
	// mostDelay is the budget of what the network adds to a delta, at the median.
	mostDelay = time.Millisecond
)

// BenchmarkServe_Idle measures the memory of idle sessions, by comparing a server with one session for each connection and one with many.
func BenchmarkServe_Idle(b *testing.B) {
	m := newMetrics(b)
	for b.Loop() {
		none := idle(b, 1, 1)
		one, many := idle(b, idleConnections, 1), idle(b, idleConnections, idleSessions/idleConnections)
		session := (many - one) * 1024 / (idleSessions - idleConnections)
		m.add("idle-session-KB", session)
		m.add("idle-connection-with-a-session-KB", (one-none)*1024/(idleConnections-1))
		m.add("2000-idle-sessions-MB", many)
		if session > mostIdleMemory {
			b.Errorf("an idle session takes %.1f KB, at most %d", session, mostIdleMemory)
		}
	}
}

// idle returns the memory of a server and its engine with idle sessions, in MB.
func idle(b *testing.B, connections, each int) float64 {
	s := serve(b, nil, "--model", "offline/demo", "--max-connections", strconv.Itoa(idleConnections+16))
	defer s.end()
	s.fleet(connections, each)
	time.Sleep(settle)
	server, engine := s.memory()
	b.Logf("%d connections with %d sessions each: %.1f MB in the server, %.1f MB in the engine", connections, each, server.anonymous, engine.anonymous)
	return server.anonymous + engine.anonymous
}

// BenchmarkServe_Turns measures turns that run at the same time.
func BenchmarkServe_Turns(b *testing.B) {
	m := newMetrics(b)
	for b.Loop() {
		turns(b, m)
	}
}

func turns(b *testing.B, m *metrics) {
	var gates []*providertest.Gate
	var steps []providertest.Step
	for range runningTurns {
		gate := providertest.NewGate()
		gates = append(gates, gate)
		steps = append(steps, providertest.Step{providertest.Text("I begin."), gate.Hold(), providertest.Text("I end.")})
	}
	model := providertest.NewServer(steps...)
	defer model.Close()
	s := serve(b, []string{"GJC_NO_TITLE=1", "ANTHROPIC_API_KEY=sk-ant-bench", "ANTHROPIC_BASE_URL=" + model.AnthropicURL()}, "--model", benchModel)
	defer s.end()
	ids := s.fleet(20, runningTurns/20)
	front, engine := s.memory()
	var all sync.WaitGroup
	errs := make(chan error, runningTurns)
	begin := time.Now()
	for i, e := range s.editors {
		for _, id := range ids[i] {
			all.Go(func() {
				_, err := e.Prompt(b.Context(), id, "work")
				errs <- err
			})
		}
	}
	for _, g := range gates {
		select {
		case <-g.Reached():
		case err := <-errs:
			b.Fatalf("a turn has ended early: %v\n%s", err, s.process.StderrTail())
		}
	}
	m.took("200-turns-begin", time.Since(begin))
	front2, engine2 := s.memory()
	m.add("running-turn-KB", (front2.anonymous+engine2.anonymous-front.anonymous-engine.anonymous)*1024/runningTurns)
	begin = time.Now()
	for _, g := range gates {
		g.Open()
	}
	all.Wait()
	m.took("200-turns-end", time.Since(begin))
	for range runningTurns {
		check(b, <-errs)
	}
}

// BenchmarkServe_Delta measures the time of a delta from the model's server to the editor, on stdio and over WebSocket, in turns.
func BenchmarkServe_Delta(b *testing.B) {
	m := newMetrics(b)
	for b.Loop() {
		local, remote := delay(b, false), delay(b, true)
		m.add("delta-stdio-ms", local.Seconds()*1000)
		m.add("delta-websocket-ms", remote.Seconds()*1000)
		if remote-local > mostDelay {
			b.Errorf("the network adds %v to a delta, at most %v", remote-local, mostDelay)
		}
	}
}

// delay returns the median.
func delay(b *testing.B, network bool) time.Duration {
	const n = 400
	var step providertest.Step
	var gates []*providertest.Gate
	for i := range n {
		g := providertest.NewGate()
		gates = append(gates, g)
		step = append(step, g.Hold(), providertest.Text("word"+strconv.Itoa(i)+" "))
	}
	model := providertest.NewServer(step)
	defer model.Close()
	env := []string{"GJC_NO_TITLE=1", "ANTHROPIC_API_KEY=sk-ant-bench", "ANTHROPIC_BASE_URL=" + model.AnthropicURL()}
	arrived := make(chan time.Time, n)
	opts := acptest.EditorOptions{Updated: func(u *acp.SessionNotification) {
		if _, ok := u.Update.(*acp.AgentMessageChunk); ok {
			arrived <- time.Now()
		}
	}}
	var e *acptest.Editor
	work := ""
	if network {
		s := serve(b, env, "--model", benchModel)
		defer s.end()
		var err error
		e, err = s.connect(b.Context(), opts)
		check(b, err)
		s.editors, work = append(s.editors, e), s.work
	} else {
		a := start(b, b.TempDir(), options{EditorOptions: opts, model: benchModel, env: env})
		defer a.end()
		e, work = a.Editor, a.work
	}
	session, err := e.NewSession(b.Context(), work)
	check(b, err)
	done := make(chan error, 1)
	go func() {
		_, err := e.Prompt(b.Context(), session.SessionID, "go on")
		done <- err
	}()
	var all []time.Duration
	for _, g := range gates {
		<-g.Reached()
		begin := time.Now()
		g.Open()
		select {
		case at := <-arrived:
			all = append(all, at.Sub(begin))
		case err := <-done:
			b.Fatalf("the turn has ended: %v", err)
		}
	}
	check(b, <-done)
	slices.Sort(all)
	return all[len(all)/2]
}
