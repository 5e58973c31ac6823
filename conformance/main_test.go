package conformance

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"testing"

	"github.com/gajae-code/gjc/internal/proc"
	"github.com/gajae-code/gjc/internal/testenv"
)

// Environment variables that make the test binary a fake agent, or its long-running command.
const (
	fakeVariable    = "CONFORMANCE_FAKE"
	sleeperVariable = "CONFORMANCE_SLEEPER"
)

func TestMain(m *testing.M) {
	if os.Getenv(sleeperVariable) != "" {
		wait := make(chan os.Signal, 1)
		signal.Notify(wait, syscall.SIGTERM)
		<-wait
		os.Exit(0)
	}
	if name, ok := os.LookupEnv(fakeVariable); ok {
		os.Exit(fakeMain(name))
	}
	os.Exit(testenv.Run(m))
}

// fakeMain is the fake agent as a process.
func fakeMain(name string) int {
	f := newFake(findDefect(name), os.Stdout, os.Stderr, os.Environ())
	f.command = func(ctx context.Context) error {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), sleeperVariable+"=1")
		if err := cmd.Start(); err != nil {
			return err
		}
		done := context.AfterFunc(ctx, func() {
			if !f.is("leaves-command") {
				_ = cmd.Process.Kill()
			}
		})
		defer done()
		if f.is("leaves-command") {
			<-ctx.Done()
			return nil
		}
		return cmd.Wait()
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	go func() { // runs until the process exits
		<-signals
		switch {
		case f.is("ignores-signals"):
		case f.is("signal-code"):
			os.Exit(143)
		default:
			os.Exit(f.stop())
		}
	}()
	return f.serve(os.Stdin)
}

// fakeProcess starts the test binary as a fake agent with a defect.
func fakeProcess(t testing.TB, defect string) startFunc {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	start := processStarter([]string{self})
	return func(ctx context.Context, dir string, env []string) (child, error) {
		// By default the race detector waits a second at the end of a process.
		return start(ctx, dir, append(env, fakeVariable+"="+defect, "GORACE=atexit_sleep_ms=20"))
	}
}

// fakeInside runs fake agents in this process, which is much faster than [fakeProcess].
func fakeInside(defect *defect) startFunc {
	return func(_ context.Context, _ string, env []string) (child, error) {
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		c := &insider{in: inW, out: outR, done: make(chan struct{}), gone: make(chan struct{})}
		f := newFake(defect, outW, &c.stderr, env)
		f.command = func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		c.f = f
		go func() { // returns when End is called, at the latest
			defer close(c.gone)
			code := f.serve(inR)
			_ = inR.CloseWithError(io.ErrClosedPipe)
			c.code = code
			_ = outW.Close()
			close(c.done)
		}()
		return c, nil
	}
}

// insider is a fake agent that is not a process.
type insider struct {
	f          *fake
	in         *io.PipeWriter
	out        *io.PipeReader
	stderr     tailWriter
	done, gone chan struct{}
	code       int
}

func (c *insider) Write(b []byte) (int, error) { return c.in.Write(b) }
func (c *insider) CloseStdin() error           { return c.in.Close() }
func (c *insider) Stdout() io.ReadCloser       { return c.out }
func (c *insider) Stderr() string              { return c.stderr.String() }
func (c *insider) PID() int                    { return 0 }
func (c *insider) Done() <-chan struct{}       { return c.done }
func (c *insider) State() proc.ExitState       { return proc.ExitState{Code: c.code} }
func (c *insider) Terminate() error            { return errors.ErrUnsupported }

func (c *insider) End() {
	c.f.end(errDied)
	_ = c.in.Close()
	_ = c.out.Close()
	<-c.gone
}

// tailWriter keeps what is written.
type tailWriter struct {
	mu   sync.Mutex
	text []byte
}

func (w *tailWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, b...)
	return len(b), nil
}

func (w *tailWriter) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.text)
}
