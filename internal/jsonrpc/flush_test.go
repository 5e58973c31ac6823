package jsonrpc

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"

	"github.com/gajae-code/gjc/internal/frame"
)

func TestOutbox_Flush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		o := newOutbox(frame.Lines, 1<<20)
		drained := make(chan error, 1)
		go func() { drained <- o.drain(w, nil, nil) }()
		if err := o.flush(t.Context()); err != nil {
			t.Errorf("nothing to write: %v", err)
		}
		o.put([]byte(`{"a":1}`))
		flushed := make(chan error, 1)
		go func() { flushed <- o.flush(t.Context()) }()
		synctest.Wait()
		select {
		case <-flushed:
			t.Fatal("flushed before the peer has read")
		default:
		}
		cause := errors.New("no time")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		if err := o.flush(ctx); !errors.Is(err, cause) {
			t.Errorf("with an ended context: %v", err)
		}
		if _, err := r.Read(make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
		if err := <-flushed; err != nil {
			t.Errorf("after the read: %v", err)
		}
		// A message that is queued later does not delay a flush of the earlier ones.
		o.put([]byte(`{"b":1}`))
		go func() { flushed <- o.flush(t.Context()) }()
		synctest.Wait()
		o.close()
		if err := <-flushed; err != nil {
			t.Errorf("at the end: %v", err)
		}
		_ = r.Close()
		<-drained
	})
}
