package shell

import (
	"bytes"
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/jsonx"
)

//go:embed evalrunner.py
var runnerSource string

const (
	// interruptGrace is the time for which a cell may take to end after an interrupt.
	interruptGrace = 2 * time.Second
	// maxStray bounds the output between cells that is kept.
	maxStray = 4 << 10
)

// kernels holds the Python interpreter of a session. The session owns and closes it.
type kernels struct {
	running sync.Mutex // held while a cell runs: calls run their cells one at a time

	mu     sync.Mutex // guards the fields below
	now    *kernel
	closed bool
	// cells counts the cells that were run, for their names in tracebacks.
	cells int
}

func kernelsOf(call *agent.Call) *kernels {
	return agent.Value(call.Values, func() *kernels { return new(kernels) })
}

var _ agent.ValueCloser = (*kernels)(nil)

// Close implements [agent.ValueCloser].
func (k *kernels) Close(ctx context.Context) {
	k.mu.Lock()
	now := k.now
	k.now, k.closed = nil, true
	k.mu.Unlock()
	if now != nil {
		now.stop(ctx)
	}
}

// errKernelEnded reports a kernel that ended with its session.
var errKernelEnded = errors.New("the session has ended")

// get returns the running kernel, or starts one. fresh reports whether it was started.
func (k *kernels) get(ctx context.Context, call *agent.Call, set *BashSettings) (now *kernel, fresh bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.closed:
		return nil, false, errKernelEnded
	case k.now != nil && !k.now.ended():
		return k.now, false, nil
	}
	k.now, err = startKernel(ctx, call, set)
	return k.now, true, err
}

// drop ends the kernel.
func (k *kernels) drop(ctx context.Context) {
	k.mu.Lock()
	now := k.now
	k.now = nil
	k.mu.Unlock()
	if now != nil {
		now.stop(ctx)
	}
}

// name returns the name of the next cell.
func (k *kernels) name() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cells++
	return fmt.Sprintf("<cell %d>", k.cells)
}

// kernel is a running interpreter. The goroutines that serve its pipes end with the program.
type kernel struct {
	program agent.RunningProgram

	mu sync.Mutex // guards the fields below
	// sink receives the output of the running cell; nil between cells.
	sink func([]byte)
	// mark ends the output of that cell. The cell's status and a NUL byte follow it.
	mark []byte
	// held is the end of the output that may be the start of the mark.
	held  []byte
	over  chan string
	stray []byte
}

func startKernel(ctx context.Context, call *agent.Call, set *BashSettings) (*kernel, error) {
	starter, ok := call.Programs.(agent.ProgramStarter)
	if !ok {
		return nil, agent.ErrNotStarted
	}
	path, err := call.Programs.LookPath("python3")
	if err != nil {
		return nil, fmt.Errorf("cannot find python3: %w", err)
	}
	k := new(kernel)
	k.program, err = starter.StartProgram(ctx, agent.LongProgram{
		Path: path, Args: []string{"-c", runnerSource}, Dir: call.Workspace.Cwd, Env: []string{"MPLBACKEND=Agg", "PYTHONUNBUFFERED="},
		TempDir: call.Workspace.TempDir(), OnOutput: k.take,
	})
	if err != nil {
		return nil, err
	}
	return k, nil
}

func (k *kernel) ended() bool {
	select {
	case <-k.program.Done():
		return true
	default:
		return false
	}
}

// stop ends the program and its children.
func (k *kernel) stop(ctx context.Context) {
	_ = k.program.Terminate(ctx) // the end of the server reports what cannot be killed
}

// take processes output of the program.
func (k *kernel) take(b []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.sink == nil {
		k.stray = append(k.stray, b[:min(len(b), maxStray-len(k.stray))]...)
		return
	}
	data := append(k.held, b...)
	k.held = nil
	i := bytes.Index(data, k.mark)
	if i < 0 {
		keep := beginning(data, k.mark)
		k.pass(data[:len(data)-keep])
		k.held = bytes.Clone(data[len(data)-keep:])
		return
	}
	status, rest, whole := bytes.Cut(data[i+len(k.mark):], []byte{0})
	if !whole {
		k.pass(data[:i])
		k.held = bytes.Clone(data[i:])
		return
	}
	k.pass(data[:i])
	k.stray = append(k.stray, rest[:min(len(rest), maxStray)]...)
	k.sink = nil
	k.over <- string(status)
}

func (k *kernel) pass(b []byte) {
	if len(b) > 0 {
		k.sink(b)
	}
}

// beginning returns the length of the longest suffix of data that is a proper prefix of mark.
func beginning(data, mark []byte) int {
	for n := min(len(data), len(mark)-1); n > 0; n-- {
		if bytes.Equal(data[len(data)-n:], mark[:n]) {
			return n
		}
	}
	return 0
}

// cellRequest is a line that the runner reads.
type cellRequest struct {
	Name string `json:"name"`
	Code string `json:"code"`
	Mark string `json:"mark"`
}

// cellEnd is the way in which a cell ended.
type cellEnd int

const (
	cellOK cellEnd = iota
	// cellError means that the cell raised an error, cellExit that it called sys.exit.
	cellError
	cellExit
	// cellInterrupted means that the cell was interrupted and its state was kept, cellKilled that it did not stop and its state was
	// lost.
	cellInterrupted
	cellKilled
	// cellDied means that the kernel ended by itself.
	cellDied
)

// run runs a cell. sink receives its output. When ctx ends, run interrupts the cell, and kills it if that is not enough.
func (k *kernel) run(ctx context.Context, name, code string, sink func([]byte)) (cellEnd, error) {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	mark := hex.EncodeToString(id[:])
	line, err := jsonx.Marshal(cellRequest{Name: name, Code: code, Mark: mark})
	if err != nil {
		return cellError, err
	}
	over := make(chan string, 1)
	k.mu.Lock()
	stray := k.stray
	k.stray, k.held, k.mark, k.over, k.sink = nil, nil, []byte("\x00"+mark+":"), over, sink
	if len(stray) > 0 {
		k.pass(append(bytes.TrimRight(stray, "\n"), '\n'))
	}
	k.mu.Unlock()
	// Writing a long cell blocks until the program reads it. Both goroutines end with the program.
	go func() { _, _ = k.program.Write(append(line, '\n')) }() // the end of the program reports the failure
	select {
	case status := <-over:
		return cellStatus(status), nil
	case <-k.program.Done():
		return k.died(over), nil
	case <-ctx.Done():
	}
	go func() { _, _ = k.program.Write([]byte(`{"interrupt":"` + mark + "\"}\n")) }()
	grace := time.NewTimer(interruptGrace)
	defer grace.Stop()
	select {
	case status := <-over:
		return max(cellStatus(status), cellInterrupted), nil
	case <-k.program.Done():
	case <-grace.C:
		k.program.Kill()
		<-k.program.Done()
	}
	k.died(over)
	return cellKilled, nil
}

// died returns how a cell ended whose kernel has ended. It passes on the held output.
func (k *kernel) died(over chan string) cellEnd {
	k.mu.Lock()
	defer k.mu.Unlock()
	select {
	case status := <-over: // the cell ended before the kernel did
		return cellStatus(status)
	default:
	}
	if k.sink != nil {
		k.pass(k.held)
	}
	k.sink, k.held = nil, nil
	return cellDied
}

func cellStatus(s string) cellEnd {
	switch s {
	case "ok":
		return cellOK
	case "exit":
		return cellExit
	case "interrupted":
		return cellInterrupted
	default:
		return cellError
	}
}

// how describes how a program ended.
func how(s agent.ExitStatus) string {
	if s.Signal != "" {
		return "it was killed by " + s.Signal
	}
	return fmt.Sprintf("it exited with code %d", s.Code)
}

// codeBlock formats Python code as Markdown.
func codeBlock(code string) string {
	fence := "```"
	for strings.Contains(code, fence) {
		fence += "`"
	}
	return fence + "python\n" + strings.TrimRight(code, "\n") + "\n" + fence
}
