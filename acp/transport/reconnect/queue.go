package reconnect

import (
	"bufio"
	"context"
	"io"
	"sync"
)

// queue holds the lines of an editor until a connection takes them.
type queue struct {
	limit int
	ended chan struct{} // closed when the editor has ended

	mu      sync.Mutex // guards the fields below
	changed chan struct{}
	lines   [][]byte
	size    int
	over    bool
}

func newQueue(limit int) *queue {
	return &queue{limit: limit, ended: make(chan struct{}), changed: make(chan struct{})}
}

// fill reads the editor's lines until the editor or ctx ends. It waits while there are too many.
func (q *queue) fill(ctx context.Context, editor io.Reader) {
	r := bufio.NewReaderSize(editor, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 && !q.push(ctx, line) {
			return
		}
		if err != nil {
			break
		}
	}
	q.mu.Lock()
	q.over = true
	q.wake()
	q.mu.Unlock()
	close(q.ended)
}

// wake wakes those who wait for a change. The caller holds q.mu.
func (q *queue) wake() {
	close(q.changed)
	q.changed = make(chan struct{})
}

func (q *queue) push(ctx context.Context, line []byte) bool {
	for {
		q.mu.Lock()
		if len(q.lines) == 0 || q.size+len(line) <= q.limit {
			q.lines = append(q.lines, line)
			q.size += len(line)
			q.wake()
			q.mu.Unlock()
			return true
		}
		changed := q.changed
		q.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// next returns the next line. The error is [io.EOF] after the last one.
func (q *queue) next(ctx context.Context) ([]byte, error) {
	for {
		if ctx.Err() != nil { // a line must not be taken for a connection that has ended
			return nil, context.Cause(ctx)
		}
		q.mu.Lock()
		if len(q.lines) > 0 {
			line := q.lines[0]
			q.lines[0] = nil
			q.lines = q.lines[1:]
			q.size -= len(line)
			q.wake()
			q.mu.Unlock()
			return line, nil
		}
		over, changed := q.over, q.changed
		q.mu.Unlock()
		if over {
			return nil, io.EOF
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}
