package server

import (
	"context"
	"errors"
	"sync"
)

// errClosing is the cause that ends background work.
var errClosing = errors.New("the server is closing")

// background runs the work that no request waits for.
type background struct {
	// ctx ends when the server begins to close. It is for work that does not belong to a session.
	ctx context.Context //nolint:containedctx // bounds the work of no session until the server closes
	end context.CancelCauseFunc

	tasks   sync.WaitGroup
	mu      sync.Mutex // guards closing
	closing bool
}

func newBackground(ctx context.Context) *background {
	b := new(background)
	b.ctx, b.end = context.WithCancelCause(ctx)
	return b
}

// run calls fn in a goroutine that the server waits for when it ends. fn must return on its own. Once the server is closing, run
// does nothing and returns false.
func (b *background) run(fn func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closing {
		return false
	}
	b.tasks.Go(fn)
	return true
}

// close makes run refuse new work.
func (b *background) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closing = true
}

// wait waits until all work is done, or ctx ends.
func (b *background) wait(ctx context.Context) {
	done := make(chan struct{})
	go func() { // exits when all tasks are done; each task is bounded
		defer close(done)
		b.tasks.Wait()
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}
