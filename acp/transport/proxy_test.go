package transport_test

import (
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// proxy is a TCP proxy on the loopback interface that mistreats its connections.
type proxy struct {
	listener net.Listener
	to       string
	// budget returns the number of bytes that a connection carries in each direction before it is mistreated; negative for none.
	budget func() int
	// mistreat mistreats a connection, whose ends are c and s, and reports whether it is over.
	mistreat func(c, s *net.TCPConn) (over bool)
	cuts     atomic.Int64
	all      sync.WaitGroup

	mu   sync.Mutex // guards open
	open map[net.Conn]bool
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: listener, to: to, open: make(map[net.Conn]bool), budget: func() int { return -1 }, mistreat: cut}
	t.Cleanup(p.close)
	return p
}

// start accepts connections, until the test ends.
func (p *proxy) start() {
	p.all.Go(func() {
		for {
			c, err := p.listener.Accept()
			if err != nil {
				return
			}
			p.all.Go(func() { p.carry(c) })
		}
	})
}

func (p *proxy) url() string { return "ws://" + p.listener.Addr().String() + "/acp" }

// close ends the proxy and all connections.
func (p *proxy) close() {
	_ = p.listener.Close()
	p.cutAll()
	p.all.Wait()
}

// cutAll cuts the connections that are open.
func (p *proxy) cutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		_ = c.Close()
	}
}

func (p *proxy) keep(c net.Conn) (done func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open[c] = true
	return func() {
		_ = c.Close()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.open, c)
	}
}

func (p *proxy) carry(c net.Conn) {
	defer p.keep(c)()
	s, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer p.keep(s)()
	var both sync.WaitGroup
	both.Go(func() { p.copy(s.(*net.TCPConn), c.(*net.TCPConn), c.(*net.TCPConn), s.(*net.TCPConn)) })
	both.Go(func() { p.copy(c.(*net.TCPConn), s.(*net.TCPConn), c.(*net.TCPConn), s.(*net.TCPConn)) })
	both.Wait()
}

// copy copies one direction of the connection between c and s.
func (p *proxy) copy(to, from, c, s *net.TCPConn) {
	buffer, left := make([]byte, 512), p.budget()
	for {
		n, err := from.Read(buffer)
		if err != nil {
			_ = to.CloseWrite()
			return
		}
		cut := left >= 0 && n > left
		if cut {
			n = left
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
		if left >= 0 {
			left -= n
		}
		if cut {
			p.cuts.Add(1)
			if p.mistreat(c, s) {
				return
			}
			left = p.budget()
		}
	}
}

// cut ends a connection at both ends, by a reset or as it should be.
func cut(c, s *net.TCPConn) bool {
	if rand.N(2) == 0 {
		_, _ = c.SetLinger(0), s.SetLinger(0)
	}
	_, _ = c.Close(), s.Close()
	return true
}

// halfClose ends one direction, or one end.
func halfClose(c, s *net.TCPConn) bool {
	switch rand.N(4) {
	case 0:
		_ = c.CloseWrite()
	case 1:
		_ = s.CloseWrite()
	case 2:
		_ = c.Close()
	default:
		_ = s.Close()
	}
	return true
}

// stall leaves a connection open that carries nothing more in one direction.
func stall(_, _ *net.TCPConn) bool { return true }
