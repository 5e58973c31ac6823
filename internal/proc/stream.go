package proc

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// maxRest is how much is read from a pipe that something outside the process group still holds when the process is
// over. It is more than any pipe buffers, so nothing of the process's own output is lost.
const maxRest = 1 << 20

// stream reads a child's output. It turns the ways in which a pipe or a pseudo-terminal ends into [io.EOF], and
// it ends for sure once the process is over, whoever else still holds the other side.
type stream struct {
	f     *os.File
	quiet time.Duration
	over  atomic.Bool
	rest  atomic.Int64
	asked atomic.Pointer[chan struct{}] // by empty
}

func newStream(f *os.File, quiet time.Duration) *stream {
	s := &stream{f: f, quiet: quiet}
	s.rest.Store(maxRest)
	return s
}

func (s *stream) Read(p []byte) (int, error) {
	for {
		over := s.over.Load()
		if over {
			if s.rest.Load() <= 0 {
				return 0, s.eof()
			}
			_ = s.f.SetReadDeadline(time.Now().Add(s.quiet))
		}
		var n int
		var err error
		asked := s.asked.Load()
		if asked == nil {
			n, err = s.f.Read(p)
		}
		if asked != nil || errors.Is(err, os.ErrDeadlineExceeded) {
			// That the time is over does not say that nothing has come: on a busy machine nobody may have looked.
			n, err = readNow(s.f, p)
			if n == 0 && errors.Is(err, os.ErrDeadlineExceeded) {
				if asked != nil {
					s.asked.Store(nil)
					close(*asked)
				}
				if !over {
					continue
				}
			}
		}
		if over {
			s.rest.Add(-int64(n))
		}
		switch {
		case err == nil || n > 0:
			return n, nil
		case errors.Is(err, io.EOF), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, os.ErrClosed),
			errors.Is(err, syscall.EIO): // what Linux says when a terminal has lost its last user
			return 0, s.eof()
		default:
			return 0, err
		}
	}
}

// empty returns a channel that is closed when the reader has asked for more with nothing there, so that all that came
// before this call has been dealt with. It is nil where the system has no deadlines (Windows). It is called once.
func (s *stream) empty() <-chan struct{} {
	asked := make(chan struct{})
	s.asked.Store(&asked)
	if err := s.f.SetReadDeadline(time.Unix(1, 0)); err != nil { // a Read that waits looks again
		return nil
	}
	return asked
}

func (s *stream) eof() error {
	_ = s.f.Close()
	return io.EOF
}

// Close makes the reader see end of file; a child that writes on gets a broken pipe.
func (s *stream) Close() error {
	if err := s.f.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// end is called when the process and its group are gone: from now on no Read waits longer than quiet.
func (s *stream) end() {
	s.over.Store(true)
	if err := s.f.SetReadDeadline(time.Now().Add(s.quiet)); err != nil {
		// No deadlines here (Windows). Nothing of the job is left that could write, so nothing is lost.
		_ = s.f.Close()
	}
}

// pump carries a stream to a writer. It owns one goroutine, which ends with the stream.
type pump struct {
	stream *stream
	active chan<- struct{} // gets a token, or has one, after each read
	failed func(error)     // told once when the writer refuses
	ended  chan struct{}

	mu sync.Mutex // guards to; held while to is written, so that mute returns behind the last write
	to io.Writer
}

func newPump(s *stream, to io.Writer, active chan<- struct{}, failed func(error)) *pump {
	return &pump{stream: s, to: to, active: active, failed: failed, ended: make(chan struct{})}
}

func (u *pump) run() {
	defer close(u.ended)
	buf := make([]byte, 32<<10)
	for {
		n, err := u.stream.Read(buf)
		if n > 0 {
			u.write(buf[:n])
			select {
			case u.active <- struct{}{}:
			default:
			}
		}
		if err != nil {
			_ = u.stream.Close()
			return
		}
	}
}

func (u *pump) write(b []byte) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.to == nil {
		return
	}
	if _, err := u.to.Write(b); err != nil {
		u.to = nil
		u.failed(err)
	}
}

// mute makes the pump throw away what comes. When mute returns, the writer is not called any more.
func (u *pump) mute() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.to = nil
}
