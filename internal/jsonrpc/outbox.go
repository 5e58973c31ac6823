package jsonrpc

import (
	"context"
	"io"
	"sync"

	"github.com/gajae-code/gjc/internal/frame"
)

// Mergeable is the params of a notification that can absorb the next one while both wait for a slow peer, such as streamed text.
type Mergeable interface {
	// Merge merges next into the receiver if possible and reports whether it has. The connection does not use next afterwards.
	Merge(next Mergeable) bool
}

// outgoing is a queued message: framed bytes, or a notification that is encoded when it is written.
type outgoing struct {
	framed *[]byte
	method string
	params Mergeable
}

// outbox is the queue of all outgoing messages. One goroutine owns the writer and drains it. No lock is held during a Write, so that a peer
// that does not read blocks only the writer.
type outbox struct {
	framing frame.Framing
	limit   int

	mu     sync.Mutex // guards the fields below
	items  []outgoing
	bytes  int
	closed bool
	room   chan struct{} // closed when bytes falls below limit; nil if no call waits
	// taken is the number of items that were put, out the number that were written.
	taken, out uint64
	progress   chan struct{} // closed when out grows; nil if no call waits

	wake chan struct{}
}

func newOutbox(framing frame.Framing, limit int) *outbox {
	return &outbox{framing: framing, limit: limit, wake: make(chan struct{}, 1)}
}

// buffers recycles the memory of encoded messages.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// maxPooled is the largest buffer that is kept.
const maxPooled = 64 << 10

func recycle(b *[]byte) {
	if cap(*b) <= maxPooled {
		buffers.Put(b)
	}
}

// put queues an encoded message, which it copies. It returns false if the outbox is closed.
func (o *outbox) put(msg []byte) bool {
	buf := buffers.Get().(*[]byte)
	*buf = o.framing.Append((*buf)[:0], msg)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return false
	}
	o.items = append(o.items, outgoing{framed: buf})
	o.taken++
	o.bytes += len(*buf)
	o.signal()
	return true
}

// putMergeable queues a notification, or merges it into the one at the end of the queue.
func (o *outbox) putMergeable(method string, params Mergeable) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return false
	}
	if n := len(o.items); n > 0 {
		if last := &o.items[n-1]; last.params != nil && last.method == method && last.params.Merge(params) {
			return true
		}
	}
	o.items = append(o.items, outgoing{method: method, params: params})
	o.taken++
	o.signal()
	return true
}

// wait blocks while more than the limit is queued.
func (o *outbox) wait(ctx context.Context) error {
	for {
		o.mu.Lock()
		if o.bytes <= o.limit || o.closed {
			o.mu.Unlock()
			return nil
		}
		if o.room == nil {
			o.room = make(chan struct{})
		}
		room := o.room
		o.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// flush waits until everything that was put before is written.
func (o *outbox) flush(ctx context.Context) error {
	o.mu.Lock()
	target := o.taken
	o.mu.Unlock()
	for {
		o.mu.Lock()
		if o.out >= target || o.closed {
			o.mu.Unlock()
			return nil
		}
		if o.progress == nil {
			o.progress = make(chan struct{})
		}
		progress := o.progress
		o.mu.Unlock()
		select {
		case <-progress:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.advance(0)
	o.release()
	o.signal()
}

// advance records n more written items.
func (o *outbox) advance(n int) {
	o.out += uint64(n)
	if o.progress != nil {
		close(o.progress)
		o.progress = nil
	}
}

func (o *outbox) release() {
	if o.room != nil {
		close(o.room)
		o.room = nil
	}
}

func (o *outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// maxWrite is the approximate size of a Write: small messages share a system call.
const maxWrite = 64 << 10

// drain writes until the box is closed and empty, or until a write fails.
func (o *outbox) drain(w io.Writer, trace func(Direction, []byte), encodeFailed func(method string, err error)) error {
	var items []outgoing
	var buf, one []byte
	for {
		o.mu.Lock()
		next, closed := o.items, o.closed
		if len(next) > 0 {
			o.items = items[:0]
		}
		o.mu.Unlock()
		if len(next) == 0 {
			if closed {
				return nil
			}
			<-o.wake
			continue
		}
		items = next
		for i := range items {
			it := &items[i]
			start := len(buf)
			if it.params != nil {
				var err error
				if one, err = appendRequest(one[:0], ID{}, it.method, it.params); err != nil {
					encodeFailed(it.method, err)
					continue
				}
				buf = o.framing.Append(buf, one)
			} else {
				buf = append(buf, *it.framed...)
			}
			if trace != nil {
				trace(Sent, buf[start:])
			}
			if len(buf) >= maxWrite || i == len(items)-1 {
				if _, err := w.Write(buf); err != nil {
					return err
				}
				if cap(buf) > 4*maxWrite {
					buf = nil
				}
				if cap(one) > 4*maxWrite {
					one = nil
				}
				buf = buf[:0]
			}
		}
		if len(buf) > 0 { // the last item could not be encoded
			if _, err := w.Write(buf); err != nil {
				return err
			}
			buf = buf[:0]
		}
		o.written(items)
	}
}

// written recycles the buffers of items and frees their share of the limit.
func (o *outbox) written(items []outgoing) {
	n := 0
	for i := range items {
		if b := items[i].framed; b != nil {
			n += len(*b)
			recycle(b)
		}
		items[i] = outgoing{}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.bytes -= n
	o.advance(len(items))
	if o.bytes <= o.limit {
		o.release()
	}
}
