package jsonrpc

import "sync"

// queue is an unbounded FIFO for one consumer. It is unbounded because a reader that blocks could not read the response that the consumer
// waits for.
type queue[T any] struct {
	mu     sync.Mutex // guards items, closed
	items  []T
	closed bool
	wake   chan struct{} // has a token if there may be items
}

func newQueue[T any]() *queue[T] {
	return &queue[T]{wake: make(chan struct{}, 1)}
}

// put appends an item. It returns false if the queue is closed.
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

// take waits for at least one item and returns all items in order. It returns false if the queue is closed and empty. The last slice is
// reused as the next buffer.
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

// close closes the queue. Its items can still be taken.
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
