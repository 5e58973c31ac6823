package dap

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/gajae-code/gjc/internal/frame"
	"github.com/gajae-code/gjc/internal/jsonx"
)

type nopCloser struct{}

func (nopCloser) Close() error { return nil }

// FuzzClient checks that no input makes the client panic, hang, or complete a request twice.
func FuzzClient(f *testing.F) {
	for _, text := range []string{
		`{"type":"response","request_seq":1,"success":true,"body":{}}`, `{"type":"response","request_seq":1,"success":false,"message":"x"}`,
		`{"type":"event","event":"stopped","body":{"threadId":1}}`, `{"type":"request","seq":4,"command":"runInTerminal","arguments":{}}`,
		`{"type":"request","command":"startDebugging"}`, `[]`, `{"type":1}`, `{"seq":1e400}`, "\xff", `{"type":"event","event":"x","event":"y"}`,
	} {
		f.Add([]byte(text), true)
		f.Add([]byte(text), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, framed bool) {
		if framed {
			data = frame.Headers.Append(nil, data)
		}
		// Send it twice: a second answer must not complete anything.
		in := append(bytes.Clone(data), data...)
		r, w := io.Pipe()
		c := newClient(clientOptions{
			reader: io.MultiReader(r, bytes.NewReader(in)), writer: io.Discard, closer: nopCloser{}, max: 1 << 16,
			event: func(string, jsonx.Raw) {}, dropped: func(error) {}, cancels: func() bool { return true },
			reverse: func(context.Context, string, jsonx.Raw) (any, error) { return nil, nil },
		})
		done := make(chan error, 1)
		go func() {
			var body jsonx.Raw
			done <- c.do(context.Background(), "threads", nil, &body)
		}()
		for {
			c.mu.Lock()
			sent := c.seq > 0
			c.mu.Unlock()
			if sent {
				break
			}
		}
		_ = w.Close() // lets the client read the input and the end of the connection
		<-done
		c.close()
	})
}

// FuzzEvent checks that no event makes a session panic, and that the session stays usable.
func FuzzEvent(f *testing.F) {
	for _, name := range []string{"stopped", "continued", "exited", "terminated", "thread", "process", "breakpoint", "capabilities", "invalidated", "output", "own"} {
		f.Add(name, []byte(`{"threadId":1,"reason":"step","exitCode":1,"restart":true,"breakpoint":{"id":1},"capabilities":{"supportsStepBack":true},"output":"x"}`))
		f.Add(name, []byte(`null`))
		f.Add(name, []byte(`{"body":[1,2`))
	}
	f.Fuzz(func(t *testing.T, name string, body []byte) {
		d := NewDebugger(Options{})
		g := newDebuggee(d, "debug-1", &Start{Request: "launch", Dir: "/"})
		s, a := g.session, newAdapter(g)
		a.client = newClient(clientOptions{
			reader: bytes.NewReader(nil), writer: io.Discard, closer: nopCloser{}, event: a.event, dropped: a.logDropped,
			cancels: func() bool { return false },
		})
		defer a.client.close()
		g.adapter, g.state = a, StateRunning
		defer func() {
			if a.exitTimer != nil {
				a.exitTimer.Stop()
			}
		}()
		for range 2 {
			a.event(name, body)
		}
		_ = s.Peek()
		_ = s.State()
		_, _ = s.Output(context.Background())
	})
}
