package extensions

import (
	"errors"
	"io"
	"sync"
)

// maxBacklog bounds the output of a program that has not been read yet, in bytes.
const maxBacklog = 2 * maxLine

// errBacklog is the error of a pipe with too much in it.
var errBacklog = errors.New("it writes faster than gjc reads")

// pipe passes on what a program writes. Its Write never blocks.
type pipe struct {
	mu   sync.Mutex // guards the fields below
	more sync.Cond  // there is something to read
	buf  []byte
	err  error // ends the pipe once buf is read
}

func newPipe() *pipe {
	p := new(pipe)
	p.more.L = &p.mu
	return p
}

// write adds output. It fails if too much waits.
func (p *pipe) write(b []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return nil
	}
	if len(p.buf)+len(b) > maxBacklog {
		return errBacklog
	}
	p.buf = append(p.buf, b...)
	p.more.Broadcast()
	return nil
}

// end ends the pipe after what is in it.
func (p *pipe) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = io.EOF
	}
	p.more.Broadcast()
}

// abort ends the pipe without what is in it.
func (p *pipe) abort() {
	p.mu.Lock()
	p.buf = nil
	p.mu.Unlock()
	p.end()
}

// Read implements [io.Reader].
func (p *pipe) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.buf) == 0 {
		if p.err != nil {
			return 0, p.err
		}
		p.more.Wait()
	}
	n := copy(b, p.buf)
	if p.buf = p.buf[n:]; len(p.buf) == 0 {
		p.buf = nil
	}
	return n, nil
}
