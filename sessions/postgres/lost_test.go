package postgres_test

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gajae-code/gjc/sessions/postgres"
	"github.com/gajae-code/gjc/sessions/postgres/postgrestest"
)

// proxy forwards connections to a server, and loses one answer or one request.
type proxy struct {
	server string // the server's socket
	mode   atomic.Int32
	skip   atomic.Int32 // the number of messages to forward before
	wg     sync.WaitGroup
}

const (
	forward     int32 = iota
	loseRequest       // the next request does not arrive, and its connection ends
	loseAnswer        // the next request is executed, but its answer does not arrive
)

// newProxy returns the address of a proxy of the server at an address.
func newProxy(t *testing.T, address string) (*proxy, string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	p := &proxy{server: filepath.Join(query.Get("host"), ".s.PGSQL.5432")}
	dir := t.TempDir()
	if len(dir) > 80 {
		t.Skip("the directory's path is too long for a socket")
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", filepath.Join(dir, ".s.PGSQL.5432"))
	if err != nil {
		t.Fatal(err)
	}
	p.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.serve(t, c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.wg.Wait()
	})
	query.Set("host", dir)
	u.RawQuery = query.Encode()
	return p, u.String()
}

func (p *proxy) serve(t *testing.T, client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := (&net.Dialer{}).DialContext(t.Context(), "unix", p.server)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	var lost atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		defer func() { _ = client.Close() }()
		buf := make([]byte, 1<<16)
		for {
			n, err := server.Read(buf)
			if err != nil || lost.Load() { // after the answer to the lost request
				return
			}
			if _, err := client.Write(buf[:n]); err != nil {
				return
			}
		}
	})
	buf := make([]byte, 1<<16)
	for {
		n, err := client.Read(buf)
		if err != nil {
			break
		}
		if p.mode.Load() != forward && p.skip.Add(-1) < 0 {
			if p.mode.CompareAndSwap(loseRequest, forward) {
				break
			}
			lost.Store(p.mode.CompareAndSwap(loseAnswer, forward))
		}
		if _, err := server.Write(buf[:n]); err != nil {
			break
		}
	}
	if !lost.Load() {
		_ = server.Close()
	}
	wg.Wait()
}

// Whichever message of an operation is lost, with its connection, the operation succeeds and is done once.
func TestLostConnection(t *testing.T) {
	direct := cluster.Database(t)
	p, address := newProxy(t, direct)
	s := store(t, address, postgres.Options{Conns: 1, Patience: 30 * time.Second})
	l := create(t, s)
	want := []string{"first"}
	add(t, l, "first")
	fsys := open(t, address, postgres.Options{Conns: 1}).FileSystem("me")
	for _, mode := range []int32{loseRequest, loseAnswer} {
		for skip := range int32(12) { // one message after the other
			check := func(what string, err error) {
				t.Helper()
				p.mode.Store(forward)
				if err != nil {
					t.Errorf("%s, mode %d, after %d messages: %v", what, mode, skip, err)
				}
			}
			arm := func() { p.skip.Store(skip); p.mode.Store(mode) }
			text := fmt.Sprint("message ", mode, skip)
			arm()
			_, err := l.AppendMessage(message(text))
			check("append", err)
			want = append(want, text)
			arm()
			f, err := fsys.OpenFile("/sessions/new", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0)
			check("create", err)
			arm()
			_, err = f.Write([]byte("content"))
			check("write", err)
			arm()
			check("rename", fsys.Rename("/sessions/new", "/sessions/old"))
			arm()
			check("remove", fsys.Remove("/sessions/old"))
			arm()
			unlock, err := fsys.Lock("/sessions/x.jsonl")
			check("lock", err)
			arm()
			unlock()
			check("unlock", nil)
			if rows := postgrestest.Rows(t, direct, "SELECT count(*) FROM gjc_leases WHERE name = 'x.jsonl'"); rows[0] != "0" {
				t.Errorf("mode %d, after %d messages: the lease is left", mode, skip)
			}
		}
	}
	if got := texts(t, s, l.ID()); !slices.Equal(got, want) {
		t.Errorf("the session has %q, want %q", got, want)
	}
}
