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

// maxRest bounds the bytes that are read, after the end of the process, from a pipe that another process still holds. It is more than a
// pipe buffers, so that no output of the process is lost.
const maxRest = 1 << 20

// stream reads a child's output. It returns [io.EOF] for any end of a pipe or a pseudo-terminal. After the end of the process it
// ends even if another process holds the other side.
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
			// After the deadline there may still be output: on a busy machine this read may be late.
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
			errors.Is(err, syscall.EIO): // the error on Linux when no process has the terminal open
			return 0, s.eof()
		default:
			return 0, err
		}
	}
}

// empty returns a channel that is closed when a read finds nothing: all output before this call has been handled then. It returns nil if
// the system has no deadlines (Windows). It must be called at most once.
func (s *stream) empty() <-chan struct{} {
	asked := make(chan struct{})
	s.asked.Store(&asked)
	if err := s.f.SetReadDeadline(time.Unix(1, 0)); err != nil { // wakes a waiting Read
		return nil
	}
	return asked
}

func (s *stream) eof() error {
	_ = s.f.Close()
	return io.EOF
}

// Close makes Read return end of file. A child that continues to write receives a broken pipe.
func (s *stream) Close() error {
	if err := s.f.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// end is called after the end of the process and its group: from then on no Read waits longer than quiet.
func (s *stream) end() {
	s.over.Store(true)
	if err := s.f.SetReadDeadline(time.Now().Add(s.quiet)); err != nil {
		// No deadlines (Windows). No process of the job is left, so that no output is lost.
		_ = s.f.Close()
	}
}

// pump copies a stream to a writer. It has one goroutine, which ends with the stream.
type pump struct {
	stream *stream
	active chan<- struct{} // has a token after each read
	failed func(error)     // called at most once, with the writer's error
	ended  chan struct{}

	mu sync.Mutex // guards to; held during writes, so that mute returns after the last write
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

// mute makes the pump discard further output. The writer is not called after mute has returned.
func (u *pump) mute() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.to = nil
}
