package hub_test

import (
	"context"
	"io"
)

// inProcessStream is the hub's end of the connection to an engine in this process.
type inProcessStream struct {
	*io.PipeReader
	in   *io.PipeWriter
	done chan struct{}
}

func (s *inProcessStream) Write(p []byte) (int, error) { return s.in.Write(p) }

// Close ends the engine's input and waits for the engine. The reader of the stream gets what the engine sends meanwhile.
func (s *inProcessStream) Close() error {
	err := s.in.Close()
	<-s.done
	return err
}

// inProcess returns a Dial that starts engines in this process.
func inProcess(serve func(ctx context.Context, r io.Reader, w io.Writer) error) func(context.Context) (io.ReadWriteCloser, error) {
	return func(ctx context.Context) (io.ReadWriteCloser, error) {
		in, toEngine := io.Pipe()
		fromEngine, out := io.Pipe()
		s := &inProcessStream{PipeReader: fromEngine, in: toEngine, done: make(chan struct{})}
		go func() { // ends with its input
			defer close(s.done)
			err := serve(ctx, in, out)
			_ = in.CloseWithError(io.ErrClosedPipe)
			_ = out.CloseWithError(err) // nil is the end of the stream
		}()
		return s, nil
	}
}
