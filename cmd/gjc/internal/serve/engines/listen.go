package engines

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// errServerGone is the cause that ends an engine.
var errServerGone = errors.New("the server is gone")

// Listen is the engine's side of a [Pool]: it serves the connections to a socket until stdin ends, and returns when they have ended. It
// writes one line to stdout when it accepts connections. serve serves a connection over r and w, and has released what the connection used
// when it returns: only then does the server see the connection end. closer frees a blocked read of r; an error is serve's to log, since no
// caller is there for it.
func Listen(ctx context.Context, socket string, stdin io.Reader, stdout io.Writer, serve func(ctx context.Context, r io.Reader, w io.Writer, closer io.Closer)) error {
	l, err := new(net.ListenConfig).Listen(ctx, "unix", socket)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(stdout, "ready"); err != nil {
		return errors.Join(err, l.Close())
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { // ends with stdin, or with the process
		_, _ = io.Copy(io.Discard, stdin)
		cancel(errServerGone)
	}()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	var all sync.WaitGroup
	defer all.Wait()
	for {
		conn, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			cancel(err)
			return err
		}
		all.Go(func() {
			defer func() { _ = conn.Close() }()
			serve(ctx, conn, conn, endRead{conn})
		})
	}
}

// endRead ends the reading from a connection. The server takes the end of the connection itself for the release of its sessions, so that one
// that closed it would let the next client open a session that is still locked.
type endRead struct{ conn net.Conn }

func (e endRead) Close() error { return e.conn.SetReadDeadline(time.Unix(1, 0)) }
