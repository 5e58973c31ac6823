package jsonrpc_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/frame"
	"github.com/gajae-code/gjc/internal/jsonrpc"
)

type chunk struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

func (c *chunk) Merge(next jsonrpc.Mergeable) bool {
	n, ok := next.(*chunk)
	if !ok || n.ID != c.ID {
		return false
	}
	c.Text += n.Text
	return true
}

// Chunks are sent at once while the peer keeps up. Otherwise chunks with the same ID are merged, in order.
func TestConn_MergesWhileThePeerIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := net.Pipe()
		conn := jsonrpc.NewConn(t.Context(), b, b, options(frame.Lines, nil, b))
		say := func(id, text string) {
			if err := conn.NotifyMergeable(t.Context(), "say", &chunk{id, text}); err != nil {
				t.Error(err)
			}
		}
		say("a", "1")
		synctest.Wait() // the writer holds the first chunk; it is not read yet
		say("a", "2")
		say("a", "3")
		say("b", "4")
		if err := conn.Notify(t.Context(), "stop", nil); err != nil {
			t.Error(err)
		}
		say("b", "5")
		say("b", "6")
		var got []string
		lines := bufio.NewScanner(a)
		for range 5 {
			lines.Scan()
			got = append(got, lines.Text())
		}
		synctest.Wait()
		say("b", "7")
		lines.Scan()
		got = append(got, lines.Text())
		want := []string{
			`{"jsonrpc":"2.0","method":"say","params":{"id":"a","text":"1"}}`,
			`{"jsonrpc":"2.0","method":"say","params":{"id":"a","text":"23"}}`,
			`{"jsonrpc":"2.0","method":"say","params":{"id":"b","text":"4"}}`,
			`{"jsonrpc":"2.0","method":"stop"}`,
			`{"jsonrpc":"2.0","method":"say","params":{"id":"b","text":"56"}}`,
			`{"jsonrpc":"2.0","method":"say","params":{"id":"b","text":"7"}}`,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		_ = a.Close()
		_ = conn.Close()
	})
}

// A sender waits if the peer is too far behind, but not beyond its context, and continues when the peer catches up.
func TestConn_Backpressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := net.Pipe()
		opts := options(frame.Lines, nil, b)
		opts.HighWater = 1000
		conn := jsonrpc.NewConn(t.Context(), b, b, opts)
		text := strings.Repeat("x", 600)
		for range 2 {
			if err := conn.Notify(t.Context(), "say", text); err != nil {
				t.Fatal(err)
			}
		}
		gaveUp := errors.New("gave up")
		ctx, cancel := context.WithCancelCause(t.Context())
		stuck := make(chan error, 1)
		go func() { stuck <- conn.Notify(ctx, "say", text) }()
		synctest.Wait()
		select {
		case err := <-stuck:
			t.Fatalf("Notify did not wait: %v", err)
		default:
		}
		// A response is never delayed: the reader and the dispatcher depend on it.
		cancel(gaveUp)
		if err := <-stuck; !errors.Is(err, gaveUp) {
			t.Errorf("err = %v", err)
		}
		go func() { stuck <- conn.Notify(t.Context(), "last", nil) }()
		synctest.Wait()
		lines := bufio.NewScanner(a)
		var n int
		for lines.Scan() {
			n++
			if strings.Contains(lines.Text(), `"last"`) {
				break
			}
		}
		if err := <-stuck; err != nil || n != 3 {
			t.Errorf("err = %v after %d lines", err, n)
		}
		_ = a.Close()
		_ = conn.Close()
	})
}

// With HandleFirst, a response waits for the notifications that arrived before it.
func TestConn_HandleFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var mu sync.Mutex // guards handled
		var handled []string
		all := func() string {
			mu.Lock()
			defer mu.Unlock()
			return strings.Join(handled, " ")
		}
		h := jsonrpc.HandlerFunc(func(_ context.Context, req *jsonrpc.Request) (jsonrpc.Reply, error) {
			<-release
			mu.Lock()
			defer mu.Unlock()
			handled = append(handled, req.Method)
			return nil, nil
		})
		p := startRaw(t, h, func(o *jsonrpc.Options) { o.HandleFirst = true })
		call := p.conn.Go("ask", nil)
		p.want(`{"jsonrpc":"2.0","id":1,"method":"ask"}`)
		for i := range 3 {
			p.send(`{"jsonrpc":"2.0","method":"update%d"}`, i)
		}
		p.send(`{"jsonrpc":"2.0","id":1,"result":{}}`)
		p.send(`{"jsonrpc":"2.0","method":"late"}`)
		_ = p.end.Close() // the peer may close its side at once
		done := make(chan error, 1)
		go func() { done <- call.Await(t.Context(), nil) }()
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("the response overtook notifications: %v", err)
		default:
		}
		close(release)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if got := all(); !strings.HasPrefix(got, "update0 update1 update2") {
			t.Errorf("handled %q before the response", got)
		}
		synctest.Wait()
		if got, want := all(), "update0 update1 update2 late"; got != want {
			t.Errorf("handled %q, want %q", got, want)
		}
	})
}

// Many goroutines use both sides, which are closed in the middle: nothing is lost before the end, and nothing hangs after it.
func TestConn_CloseRace(t *testing.T) {
	for _, f := range framings {
		for n := range 20 {
			a, b := net.Pipe()
			m := &machine{locks: make(map[string]chan struct{})}
			server := jsonrpc.NewConn(t.Context(), b, b, options(f, m, b))
			m.conn = server
			client := jsonrpc.NewConn(t.Context(), a, a, options(f, &machine{locks: map[string]chan struct{}{}}, a))
			errs := make(chan error, 100)
			for i := range 100 {
				go func() {
					if i == n*5 {
						_ = client.Close()
					}
					var got string
					err := client.Call(t.Context(), "back", arg{Name: fmt.Sprint(i)}, &got)
					if err == nil && got != fmt.Sprint(i) {
						err = fmt.Errorf("got %q, want %d", got, i)
					}
					errs <- err
				}()
			}
			for range 100 {
				if err := <-errs; err != nil && !jsonrpc.IsGone(err) && jsonrpc.WireError(err).Code == 0 {
					t.Error(err)
				}
			}
			_ = server.Close()
		}
	}
}
