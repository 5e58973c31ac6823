package acptest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"sync"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// Fault is a kind of wrong answer to a request.
type Fault string

// The faults of a [Liar].
const (
	// FaultNeither is an answer with neither a result nor an error, as JavaScript sends for an undefined result.
	FaultNeither Fault = "neither"
	// FaultBoth is an answer with a result and an error.
	FaultBoth Fault = "both"
	// FaultTwice is the correct answer, sent twice.
	FaultTwice Fault = "twice"
	// FaultLate is the correct answer, sent when the test calls [Liar.Deliver].
	FaultLate Fault = "late"
	// FaultWrongType is an answer whose result is a number.
	FaultWrongType Fault = "wrong type"
	// FaultLong is an answer of [Liar.Long] bytes.
	FaultLong Fault = "long"
	// FaultNever sends no answer.
	FaultNever Fault = "never"
)

// Faults returns all faults.
func Faults() []Fault {
	return []Fault{FaultNeither, FaultBoth, FaultTwice, FaultLate, FaultWrongType, FaultLong, FaultNever}
}

// Liar sits between a client and its connection. It falsifies the client's answers to one method, and records the agent's responses
// that match no open request.
type Liar struct {
	// Long is the size of the answers of [FaultLong] in bytes.
	Long int

	mu     sync.Mutex // guards the fields below
	method string
	fault  Fault
	spoilt int
	asked  map[string]string // methods of the agent's open requests by id
	open   map[string]int    // the number of the client's unanswered requests, by ID
	held   [][]byte
	strays []string

	writing sync.Mutex // guards out
	out     io.Writer
}

// Lie makes l falsify the client's answers to method from now on. Without a method it falsifies none.
func (l *Liar) Lie(method string, fault Fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.method, l.fault, l.spoilt = method, fault, 0
}

// Spoilt returns how many answers l has falsified since [Liar.Lie].
func (l *Liar) Spoilt() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.spoilt
}

// Deliver sends the answers that [FaultLate] holds back.
func (l *Liar) Deliver() error {
	l.mu.Lock()
	held := l.held
	l.held = nil
	l.mu.Unlock()
	for _, line := range held {
		if err := l.write(line); err != nil {
			return err
		}
	}
	return nil
}

// Strays returns the agent's responses that match no open request of the client.
func (l *Liar) Strays() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.strays...)
}

// Wrap returns the streams that the client uses instead of r and w. It must be called once.
func (l *Liar) Wrap(r io.Reader, w io.Writer) (io.Reader, io.Writer) {
	l.asked, l.open, l.out = make(map[string]string), make(map[string]int), w
	return &liarReader{liar: l, in: bufio.NewReader(r)}, &liarWriter{liar: l}
}

// envelope holds the parts of a message that a Liar reads.
type envelope struct {
	ID     jsonx.Raw `json:"id"`
	Method string    `json:"method"`
}

func (l *Liar) write(line []byte) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	_, err := l.out.Write(line)
	return err
}

// received records a line of the agent.
func (l *Liar) received(line []byte) {
	var m envelope
	if jsonx.Unmarshal(line, &m) != nil || m.ID == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	id := string(m.ID)
	switch {
	case m.Method != "":
		l.asked[id] = m.Method
	case l.open[id] == 0:
		l.strays = append(l.strays, string(line))
	default:
		l.open[id]--
	}
}

// sent writes a line of the client, or its replacement.
func (l *Liar) sent(line []byte) error {
	var m envelope
	if err := jsonx.Unmarshal(line, &m); err != nil {
		return fmt.Errorf("the client's own line: %w", err)
	}
	id := string(m.ID)
	l.mu.Lock()
	if m.Method != "" {
		if m.ID != nil {
			l.open[id]++
		}
		l.mu.Unlock()
		return l.write(line)
	}
	method := l.asked[id]
	delete(l.asked, id)
	if method == "" || method != l.method {
		l.mu.Unlock()
		return l.write(line)
	}
	l.spoilt++
	fault := l.fault
	if fault == FaultLate {
		l.held = append(l.held, bytes.Clone(line))
	}
	l.mu.Unlock()
	switch fault {
	case FaultNeither:
		return l.write(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s}`+"\n", id))
	case FaultBoth:
		return l.write(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{},"error":{"code":-32000,"message":"both"}}`+"\n", id))
	case FaultTwice:
		return l.write(append(bytes.Clone(line), line...))
	case FaultWrongType:
		return l.write(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":7}`+"\n", id))
	case FaultLong:
		return l.writeLong(id)
	default: // FaultLate and FaultNever
		return nil
	}
}

// writeLong writes an answer whose content is a long text.
func (l *Liar) writeLong(id string) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	if _, err := fmt.Fprintf(l.out, `{"jsonrpc":"2.0","id":%s,"result":{"content":"`, id); err != nil {
		return err
	}
	part := bytes.Repeat([]byte("x"), min(1<<20, l.Long))
	for left := l.Long; left > 0; left -= len(part) {
		if _, err := l.out.Write(part[:min(left, len(part))]); err != nil {
			return err
		}
	}
	_, err := io.WriteString(l.out, `"}}`+"\n")
	return err
}

// liarReader reads the agent's lines.
type liarReader struct {
	liar *Liar
	in   *bufio.Reader
	rest []byte
}

func (r *liarReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		line, err := r.in.ReadBytes('\n')
		if len(line) == 0 {
			return 0, err
		}
		r.liar.received(line)
		r.rest = line
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// liarWriter writes the client's lines.
type liarWriter struct {
	liar *Liar
	part []byte // the start of an incomplete line
}

func (w *liarWriter) Write(p []byte) (int, error) {
	w.part = append(w.part, p...)
	for {
		end := bytes.IndexByte(w.part, '\n')
		if end < 0 {
			return len(p), nil
		}
		if err := w.liar.sent(w.part[:end+1]); err != nil {
			return 0, err
		}
		w.part = w.part[end+1:]
	}
}
