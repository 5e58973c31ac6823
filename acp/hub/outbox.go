package hub

import (
	"context"
	"io"
	"sync"
)

// outbox holds the lines for one peer. It never blocks the one that adds a line: a peer that does not read must not delay the others.
// A sender that may wait calls wait after it.
type outbox struct {
	mu     sync.Mutex // guards the fields below
	lines  [][]byte
	size   int
	closed bool
	room   chan struct{} // closed when lines were written, or the outbox was closed

	more chan struct{} // holds a token after something was added
}

func newOutbox() *outbox { return &outbox{room: make(chan struct{}), more: make(chan struct{}, 1)} }

// put adds a line, which it keeps and which the caller must not change. It returns the number of bytes that wait.
func (o *outbox) put(line []byte) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return 0
	}
	o.lines = append(o.lines, line)
	o.size += len(line)
	select {
	case o.more <- struct{}{}:
	default:
	}
	return o.size
}

// waiting returns the number of bytes that wait, and a channel that is closed when it falls.
func (o *outbox) waiting() (int, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return 0, o.room
	}
	return o.size, o.room
}

// wait waits while more than limit bytes wait.
func (o *outbox) wait(ctx context.Context, limit int) error {
	for {
		size, room := o.waiting()
		if size <= limit {
			return context.Cause(ctx)
		}
		select {
		case <-room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// close refuses further lines. drain returns when it has written the others.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	o.closed = true
	close(o.room)
	select {
	case o.more <- struct{}{}:
	default:
	}
}

// maxWrite is the approximate size of a write: small lines share one.
const maxWrite = 64 << 10

// drain writes the lines until the outbox is closed and empty, or a write fails.
func (o *outbox) drain(w io.Writer) error {
	var buf []byte
	for {
		o.mu.Lock()
		lines, closed := o.lines, o.closed
		o.lines = nil
		o.mu.Unlock()
		if len(lines) == 0 {
			if closed {
				return nil
			}
			<-o.more
			continue
		}
		n := 0
		for i, line := range lines {
			buf = append(append(buf, line...), '\n')
			n += len(line)
			lines[i] = nil
			if len(buf) < maxWrite && i < len(lines)-1 {
				continue
			}
			if _, err := w.Write(buf); err != nil {
				return err
			}
			o.written(n)
			if n, buf = 0, buf[:0]; cap(buf) > 4*maxWrite {
				buf = nil
			}
		}
	}
}

// written makes room for n bytes.
func (o *outbox) written(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.size -= n
	if !o.closed {
		close(o.room)
		o.room = make(chan struct{})
	}
}
