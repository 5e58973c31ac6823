package main

import (
	"net"
	"testing"
)

// TestStore_ConnectsOnFirstUse checks that gjc acp connects to its database when the first session is needed, and not before.
func TestStore_ConnectsOnFirstUse(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	connected := make(chan struct{}, 1)
	go func() { // ends with the listener
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
			select {
			case connected <- struct{}{}:
			default:
			}
		}
	}()
	defer func() { _ = l.Close() }()
	p := startPeer(t, peerOptions{args: []string{"--store", "postgres://me@" + l.Addr().String() + "/sessions?sslmode=disable"}})
	p.initialize(object{})
	p.call("auth/status", object{})
	select {
	case <-connected:
		t.Error("it connects before a session is needed")
	default:
	}
	p.request("session/list", object{})
	<-connected
	p.stop()
}
