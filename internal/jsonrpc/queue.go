package jsonrpc

import "sync"

// queue is an unbounded FIFO for one consumer. It is unbounded because a reader that blocked on it could never
// reach the response which the consumer is waiting for; what bounds it is the size of one message and the
// peer's patience.
type queue[T any] struct {
	mu     sync.Mutex // guards items, closed
	items  []T
	closed bool
	wake   chan struct{} // holds one token while items may be there
}

func newQueue[T any]() *queue[T] {
	return &queue[T]{wake: make(chan struct{}, 1)}
}

// put appends item and reports whether the queue still took it.
func (q *queue[T]) put(item T) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.items = append(q.items, item)
	q.signal()
	return true
}

// take returns everything queued, in order, waiting for at least one item. It returns false when the queue is
// closed and empty. The slice that it got last is reused as the next buffer.
func (q *queue[T]) take(last []T) ([]T, bool) {
	clear(last)
	for {
		q.mu.Lock()
		if len(q.items) > 0 {
			items := q.items
			q.items = last[:0]
			q.mu.Unlock()
			return items, true
		}
		closed := q.closed
		q.mu.Unlock()
		if closed {
			return nil, false
		}
		<-q.wake
	}
}

// close ends the queue: what is in it can still be taken.
func (q *queue[T]) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.signal()
}

func (q *queue[T]) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}
