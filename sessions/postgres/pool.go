package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// checkAfter is the time after which an idle connection is checked before it is used again.
const checkAfter = time.Second

// pool owns the connections. pgxpool would take three megabytes of the binary, with its types and database/sql.
type pool struct {
	config *pgconn.Config
	rest   time.Duration // after which a connection that is not used is closed
	pause  time.Duration // of a transaction, after which the server ends it
	slots  chan struct{}
	broken sync.WaitGroup // connections that are being closed

	mu     sync.Mutex  // guards the fields below
	idle   []*conn     // the last used is the last
	reaper *time.Timer // runs while there are idle connections
}

func newPool(config *pgconn.Config, size int, rest, pause time.Duration) *pool {
	return &pool{config: config, rest: rest, pause: pause, slots: make(chan struct{}, size)}
}

// take returns a connection, which the caller gives back with put.
func (p *pool) take(ctx context.Context) (*conn, error) {
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	for {
		c := p.last()
		if c == nil {
			break
		}
		if time.Since(c.used) < checkAfter || c.pg.Ping(ctx) == nil {
			return c, nil
		}
		p.drop(c)
	}
	pg, err := pgconn.ConnectConfig(ctx, p.config)
	if err != nil {
		<-p.slots
		return nil, &queryError{err: err, safe: true}
	}
	return &conn{pg: pg, pause: p.pause, statements: make(map[string]*pgconn.StatementDescription)}, nil
}

func (p *pool) last() *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.idle)
	if n == 0 {
		return nil
	}
	c := p.idle[n-1]
	p.idle = p.idle[:n-1]
	return c
}

// put takes a connection back.
func (p *pool) put(c *conn) {
	if c.pg.IsClosed() || c.stale || c.pg.TxStatus() != 'I' {
		p.drop(c)
		// The others have probably broken too.
		for other := p.last(); other != nil; other = p.last() {
			p.drop(other)
		}
	} else {
		c.used = time.Now()
		p.mu.Lock()
		p.idle = append(p.idle, c)
		if p.reaper == nil {
			p.reaper = time.AfterFunc(p.rest, p.reap)
		}
		p.mu.Unlock()
	}
	<-p.slots
}

// reap closes the connections that have been idle for too long.
func (p *pool) reap() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.idle) > 0 && time.Since(p.idle[0].used) >= p.rest {
		p.drop(p.idle[0])
		p.idle = p.idle[1:]
	}
	p.reaper = nil
	if len(p.idle) > 0 {
		p.reaper = time.AfterFunc(p.rest-time.Since(p.idle[0].used), p.reap)
	}
}

// drop closes a connection without waiting for the server.
func (p *pool) drop(c *conn) {
	p.broken.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), checkAfter)
		defer cancel()
		_ = c.pg.Close(ctx) // it is of no more use
		<-c.pg.CleanupDone()
	})
}

// close waits for the connections in use and closes all. The pool has no connections afterwards.
func (p *pool) close() {
	for range cap(p.slots) {
		p.slots <- struct{}{}
	}
	for c := p.last(); c != nil; c = p.last() {
		p.drop(c)
	}
	p.mu.Lock() // a reaper that runs has ended then, and finds nothing later
	if p.reaper != nil {
		p.reaper.Stop()
	}
	p.mu.Unlock()
	p.broken.Wait()
}
