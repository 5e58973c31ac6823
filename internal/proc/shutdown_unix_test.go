//go:build unix

package proc_test

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gajae-code/gjc/internal/proc"
)

func TestShutdown_EachRungEndsWhatTheOnesBeforeDoNot(t *testing.T) {
	const never = time.Hour // the grace of a step that must not time out
	const short = 20 * time.Millisecond
	sayBye := func(p *proc.Process) func(context.Context) error {
		return func(context.Context) error {
			_, err := io.WriteString(p.Stdin(), "bye\n")
			return err
		}
	}
	for _, test := range []struct {
		name    string
		fake    string
		grace   time.Duration
		stdin   bool
		goodbye func(*proc.Process) func(context.Context) error
		want    proc.ExitState
	}{
		{"goodbye", "quit", never, true, sayBye, proc.ExitState{Code: 7}},
		{"closed stdin", "echo", never, true, nil, proc.ExitState{}},
		{"closed stdin after a goodbye that failed", "echo", never, true, func(*proc.Process) func(context.Context) error {
			return func(context.Context) error { return errors.New("no connection") }
		}, proc.ExitState{}},
		{"closed stdin after a goodbye that hangs", "echo", 2 * time.Second, true, func(*proc.Process) func(context.Context) error {
			return func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }
		}, proc.ExitState{}},
		{"TERM at once without stdin", "deaf", never, false, nil, proc.ExitState{Code: -1, Signal: "SIGTERM"}},
		{"TERM", "deaf", short, true, sayBye, proc.ExitState{Code: -1, Signal: "SIGTERM"}},
		{"KILL", "stubborn", short, true, sayBye, proc.ExitState{Code: -1, Signal: "SIGKILL"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			noLeaks(t)
			o := proc.Options{Stdin: test.stdin, Grace: test.grace}
			p := start(t, test.fake, o)
			if test.fake == "echo" { // echo reports that it is ready only when it receives a line
				if _, err := io.WriteString(p.Stdin(), "ready\n"); err != nil {
					t.Fatal(err)
				}
			}
			readLine(t, p.Stdout())
			var goodbye func(context.Context) error
			if test.goodbye != nil {
				goodbye = test.goodbye(p)
			}
			if err := p.Shutdown(t.Context(), goodbye); err != nil {
				t.Fatal(err)
			}
			if state := wait(t, p); state != test.want {
				t.Errorf("state = %v, want %v", state, test.want)
			}
		})
	}
}

func TestShutdown_EndedContextGoesStraightToKill(t *testing.T) {
	noLeaks(t)
	p := start(t, "deaf", proc.Options{Stdin: true, Grace: time.Hour})
	readLine(t, p.Stdout())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Shutdown(ctx, nil); err != nil && p.Err() == nil {
		t.Fatal(err)
	}
	if state := wait(t, p); state.Signal != "SIGKILL" {
		t.Errorf("state = %v", state)
	}
}

func TestShutdown_StoppedProcessGetsItsTERM(t *testing.T) {
	noLeaks(t)
	p := start(t, "deaf", proc.Options{Grace: time.Hour})
	readLine(t, p.Stdout())
	if err := unix.Kill(p.PID(), unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := p.Shutdown(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if state := wait(t, p); state.Signal != "SIGTERM" {
		t.Errorf("state = %v", state)
	}
}

func TestShutdown_FreesAWriteThatBlocks(t *testing.T) {
	noLeaks(t)
	p := start(t, "deaf", proc.Options{Stdin: true, Grace: 20 * time.Millisecond})
	readLine(t, p.Stdout())
	written := make(chan error, 1)
	go func() {
		_, err := p.Stdin().Write(make([]byte, 1<<20)) // more than any pipe takes
		written <- err
	}()
	if err := p.Shutdown(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-written:
		if !errors.Is(err, os.ErrClosed) && !errors.Is(err, unix.EPIPE) {
			t.Errorf("err = %v", err)
		}
	case <-time.After(patience):
		t.Error("the write still blocks")
	}
}

func TestShutdown_ManyAtOnce(t *testing.T) {
	noLeaks(t)
	for range 10 {
		p := start(t, "stubborn", proc.Options{Stdin: true, Grace: time.Millisecond})
		var said atomic.Int32
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				if i%4 == 3 {
					p.Kill()
					return
				}
				if err := p.Shutdown(t.Context(), func(context.Context) error { said.Add(1); return nil }); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := said.Load(); n > 1 {
			t.Errorf("the goodbye was said %d times", n)
		}
		wait(t, p)
	}
}

// A process ID can be reused as soon as the leader is reaped.
func TestKill_SendsNothingOnceTheLeaderIsReaped(t *testing.T) {
	noLeaks(t)
	p := start(t, "echo", proc.Options{Stdin: true})
	var reaped, late atomic.Bool
	var sent atomic.Int32
	proc.WatchSignals(p, func() {
		sent.Add(1)
		late.Store(late.Load() || reaped.Load())
	})
	p.Kill()
	wait(t, p)
	reaped.Store(true)
	if sent.Load() == 0 {
		t.Fatal("no signal was seen; the test shows nothing")
	}
	p.Kill()
	if err := p.Shutdown(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if late.Load() {
		t.Error("a signal was sent to a group that is not ours any more")
	}
}
