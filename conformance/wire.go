package conformance

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/gajae-code/gjc/internal/proc"
)

// A wire is the connection to one agent. It is lenient, can send any bytes, and keeps every line of both directions.
//
// Its goroutines end with finish: the reader with the agent's stdout, the writer with finished.
type wire struct {
	child child
	begun time.Time
	// received is called for each line of the agent.
	received func(*message)

	running  sync.WaitGroup
	out      chan []byte // writes; nil closes stdin
	finished chan struct{}
	reading  sync.Mutex // held while reading is paused
	paused   bool       // used by the trial's goroutine only

	mu      sync.Mutex // guards the fields below
	log     []*message
	changed chan struct{} // closed and replaced at each change
	ended   bool          // the agent's stdout has ended
}

// maxWrites exceeds the number of writes of any check whose agent does not read.
const maxWrites = 10_000

func newWire(c child) *wire {
	return &wire{
		child: c, begun: time.Now(), out: make(chan []byte, maxWrites), finished: make(chan struct{}), changed: make(chan struct{}),
	}
}

func (w *wire) run() {
	w.running.Go(w.readLines)
	w.running.Go(w.write)
}

// finish ends the agent and the goroutines.
func (w *wire) finish() {
	w.resume()
	w.child.End()
	close(w.finished)
	_ = w.child.Stdout().Close()
	w.running.Wait()
}

func (w *wire) readLines() {
	lines := bufio.NewReaderSize(w, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			text, whole := bytes.CutSuffix(line, []byte("\n"))
			m := readMessage(text)
			if !whole && m.fault == "" {
				m.fault = "stdout ends without a newline"
			}
			w.mu.Lock()
			w.enter(m)
			w.mu.Unlock()
			w.received(m)
		}
		if err != nil {
			w.mu.Lock()
			w.ended = true
			w.wake()
			w.mu.Unlock()
			return
		}
	}
}

// Read reads the agent's stdout, except while reading is paused.
func (w *wire) Read(b []byte) (int, error) {
	w.reading.Lock()
	w.reading.Unlock() //nolint:staticcheck // waits for resume
	return w.child.Stdout().Read(b)
}

// pause stops reading until resume.
func (w *wire) pause() {
	w.reading.Lock()
	w.paused = true
}

func (w *wire) resume() {
	if w.paused {
		w.paused = false
		w.reading.Unlock()
	}
}

// enter adds to the transcript. The caller holds mu.
func (w *wire) enter(m *message) {
	m.index, m.since = len(w.log), time.Since(w.begun)
	w.log = append(w.log, m)
	w.wake()
}

// wake notifies all waiting goroutines. The caller holds mu.
func (w *wire) wake() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// write writes the queued data. It reports no error: the check notices that the agent does not answer.
func (w *wire) write() {
	for {
		select {
		case b := <-w.out:
			if b == nil {
				_ = w.child.CloseStdin()
			} else {
				_, _ = w.child.Write(b)
			}
		case <-w.finished:
			return
		}
	}
}

// sendPieces queues writes of any bytes. The lines in them are added to the transcript.
func (w *wire) sendPieces(pieces ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []byte
	for _, piece := range pieces {
		all = append(all, piece...)
	}
	for line := range bytes.SplitSeq(bytes.TrimSuffix(all, []byte("\n")), []byte("\n")) {
		m := readMessage(line)
		m.sent = true
		w.enter(m)
	}
	for _, piece := range pieces {
		w.out <- []byte(piece)
	}
}

// send queues lines, each as one write.
func (w *wire) send(lines ...string) {
	for _, line := range lines {
		w.sendPieces(line + "\n")
	}
}

func (w *wire) reply(to *message, result any) {
	w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, to.id, encode(result)))
}

func (w *wire) replyError(to *message, code int, text string) {
	w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":%s}`, to.id, encode(object{"code": code, "message": text})))
}

// breakdown answers a request with an error.
func (w *wire) breakdown(m *message) { w.replyError(m, -32603, "the editor has a problem") }

func (w *wire) notify(method string, params any) {
	w.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":%s,"params":%s}`, encode(method), encode(params)))
}

// cancelRequest sends $/cancel_request.
func (w *wire) cancelRequest(c call) {
	w.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":` + c.id + `}}`)
}

// closeStdin closes the agent's input after what was sent.
func (w *wire) closeStdin() { w.out <- nil }

// now returns the index that the next message will have.
func (w *wire) now() int { return len(w.messages(0)) }

// messages returns the transcript from an index on.
func (w *wire) messages(from int) []*message {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.log[min(from, len(w.log)):])
}

// fromAgent returns the agent's messages from an index on.
func (w *wire) fromAgent(from int) []*message {
	return slices.DeleteFunc(w.messages(from), func(m *message) bool { return m.sent })
}

// find returns the agent's first message from an index on for which ok is true, or nil.
func (w *wire) find(from int, ok func(*message) bool) *message {
	for _, m := range w.fromAgent(from) {
		if ok(m) {
			return m
		}
	}
	return nil
}

// A child is a running agent. The suite's own tests use one that is not a process.
type child interface {
	io.Writer // writes to its stdin
	CloseStdin() error
	Stdout() io.ReadCloser
	Stderr() string        // the end of its stderr
	PID() int              // 0 for none
	Done() <-chan struct{} // closed when it has ended
	State() proc.ExitState // how it ended; set when Done is closed
	Terminate() error      // ends it gracefully
	// End kills the remaining processes and returns when none is left.
	End()
}

// startFunc starts an agent in dir with an environment.
type startFunc func(ctx context.Context, dir string, env []string) (child, error)

// processStarter starts a command as the leader of a process group.
func processStarter(command []string) startFunc {
	return func(ctx context.Context, dir string, env []string) (child, error) {
		p, err := proc.Start(ctx, &proc.Options{
			Path: command[0], Args: command[1:], Dir: dir, Env: env, Stdin: true, StderrTail: 32 << 10,
			// The suite looks for processes that outlive the agent, so they must not be ended here.
			KeepBackground: true,
			DrainQuiet:     50 * time.Millisecond,
		})
		if err != nil {
			return nil, err
		}
		return &process{p}, nil
	}
}

type process struct{ p *proc.Process }

func (c *process) Write(b []byte) (int, error) { return c.p.Stdin().Write(b) }
func (c *process) CloseStdin() error           { return c.p.Stdin().Close() }
func (c *process) Stdout() io.ReadCloser       { return c.p.Stdout() }
func (c *process) Stderr() string              { return c.p.Stderr().String() }
func (c *process) PID() int                    { return c.p.PID() }
func (c *process) Done() <-chan struct{}       { return c.p.Done() }

func (c *process) State() proc.ExitState {
	state, err := c.p.Wait(context.Background())
	if err != nil {
		panic(fmt.Sprintf("waiting without an end: %v", err))
	}
	return state
}

// Terminate signals the leader only, as an editor does. KeepBackground keeps its PID from being reused until End.
func (c *process) Terminate() error {
	leader, err := os.FindProcess(c.p.PID())
	if err != nil {
		return err
	}
	return leader.Signal(syscall.SIGTERM)
}

func (c *process) End() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // kill at once
	_ = c.p.Shutdown(ctx, nil)
}
