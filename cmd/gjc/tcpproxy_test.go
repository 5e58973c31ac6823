package main

import (
	"io"
	"net"
	"sync"
	"testing"
)

// tcpProxy is a TCP proxy whose connections the test cuts.
type tcpProxy struct {
	listener net.Listener
	all      sync.WaitGroup

	mu   sync.Mutex // guards the fields below
	to   string
	open []net.Conn
}

func newTCPProxy(t *testing.T, to string) *tcpProxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &tcpProxy{listener: listener, to: to}
	r.all.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			r.all.Go(func() { r.carry(c) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		r.cut("")
		r.all.Wait()
	})
	return r
}

// cut cuts all connections. The next ones go to another address.
func (r *tcpProxy) cut(to string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.open {
		_ = c.Close()
	}
	r.open, r.to = nil, to
}

func (r *tcpProxy) carry(c net.Conn) {
	defer func() { _ = c.Close() }()
	r.mu.Lock()
	s, err := net.Dial("tcp", r.to)
	if err == nil {
		r.open = append(r.open, c, s)
	}
	r.mu.Unlock()
	if err != nil {
		return
	}
	defer func() { _ = s.Close() }()
	r.all.Go(func() {
		_, _ = io.Copy(s, c)
		_ = s.Close()
	})
	_, _ = io.Copy(c, s)
}
