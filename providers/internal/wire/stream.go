// Package wire is what the HTTP APIs of model providers have in common: a stream of server-sent events that can not
// hang and does not leak, and errors put into the neutral kinds.
package wire

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gajae-code/gjc/providers"
)

// maxEvent bounds one event. Nothing that a model says comes near it.
const maxEvent = 64 << 20

// maxErrorBody bounds what is read of the body of a failed request.
const maxErrorBody = 64 << 10

// A Stream reads the events of one response. It starts no goroutine of its own: the caller reads, and a timer ends a
// read that takes too long. The caller must Close it.
type Stream struct {
	cfg    *providers.Config
	parent context.Context // of the caller; its cause is the error when it ends
	cancel context.CancelFunc
	body   io.ReadCloser
	read   *bufio.Reader
	stall  *stallReader
	whole  bool // the body is one JSON value, no stream
	ended  bool
	line   []byte // a line that did not fit the reader's buffer
	event  Event
	// RequestID is the provider's name for the call.
	RequestID string
}

// Event is one server-sent event. Data is valid until the next call of Next.
type Event struct {
	Name string
	Data []byte
}

// Open sends a request with post and returns the stream of its response. An error is ctx's cause or a
// [*providers.Error].
func Open(ctx context.Context, cfg *providers.Config, post func(ctx context.Context, res **http.Response) error) (*Stream, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	inner, cancel := context.WithCancel(ctx)
	var res *http.Response
	err := post(inner, &res)
	if ctx.Err() != nil {
		closeBody(res)
		cancel()
		return nil, context.Cause(ctx)
	}
	limit := cfg.StallTimeout
	if limit == 0 {
		limit = providers.DefaultStallTimeout
	}
	if res != nil && res.StatusCode >= 400 {
		// The body says more than an SDK's error, which needs it to be JSON. What came before it broke is enough.
		stall := newStallReader(res.Body, limit, cancel)
		data, _ := io.ReadAll(io.LimitReader(stall, maxErrorBody))
		stall.stop()
		closeBody(res)
		cancel()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, statusError(cfg, res, data)
	}
	if err != nil {
		closeBody(res)
		cancel()
		return nil, networkError(cfg, err)
	}
	s := &Stream{
		cfg: cfg, parent: ctx, cancel: cancel, body: res.Body,
		stall: newStallReader(res.Body, limit, cancel), RequestID: requestID(res.Header),
	}
	s.read = bufio.NewReaderSize(s.stall, 16<<10)
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind == "application/json" {
		s.whole = true
	}
	return s, nil
}

func closeBody(res *http.Response) {
	if res != nil && res.Body != nil {
		_ = res.Body.Close()
	}
}

// Close ends the stream and lets go of its connection. A stream that has come to its end gives the connection back
// for the next request.
func (s *Stream) Close() {
	if s.ended {
		// The end of the body stands right behind the last event; without it the connection is of no more use.
		stop := time.AfterFunc(drainTimeout, s.cancel)
		_, _ = io.CopyN(io.Discard, s.read, 4<<10)
		stop.Stop()
	}
	_ = s.body.Close()
	s.stall.stop()
	s.cancel()
}

// drainTimeout bounds the wait for the end of a body whose last event was read.
const drainTimeout = 100 * time.Millisecond

// End tells the stream that the last event was read.
func (s *Stream) End() { s.ended = true }

// Next returns the next event with data. At the end of the body the error is [io.EOF]; every other error is the cause
// of the caller's context or a [*providers.Error].
func (s *Stream) Next() (Event, error) {
	if s.parent.Err() != nil {
		return Event{}, context.Cause(s.parent) // and not what is still in the buffer
	}
	if s.whole {
		return s.nextWhole()
	}
	s.event.Name, s.event.Data = "", s.event.Data[:0]
	for {
		line, err := s.readLine()
		if err != nil && (len(line) == 0 || !errors.Is(err, io.EOF)) {
			if errors.Is(err, io.EOF) && len(s.event.Data) > 0 {
				return s.event, nil // the blank line behind the last event is missing
			}
			return Event{}, s.fail(err)
		}
		if len(line) == 0 {
			if len(s.event.Data) > 0 {
				return s.event, nil
			}
			s.event.Name = ""
			continue
		}
		if err := s.field(line); err != nil {
			return Event{}, err
		}
	}
}

func (s *Stream) nextWhole() (Event, error) {
	if s.ended {
		return Event{}, io.EOF
	}
	s.ended = true
	data, err := io.ReadAll(io.LimitReader(s.read, maxEvent))
	if err != nil {
		return Event{}, s.fail(err)
	}
	return Event{Data: data}, nil
}

// field takes in one line of an event.
func (s *Stream) field(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte(":"))
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	switch string(name) {
	case "data":
		if len(s.event.Data)+len(value) > maxEvent {
			return Errorf(s.cfg, providers.KindProtocol, "one event of the stream is larger than %d MiB", maxEvent>>20)
		}
		if len(s.event.Data) > 0 {
			s.event.Data = append(s.event.Data, '\n')
		}
		s.event.Data = append(s.event.Data, value...)
	case "event":
		s.event.Name = eventName(value)
	}
	return nil
}

// eventName avoids an allocation for the names that come thousands of times.
func eventName(b []byte) string {
	switch string(b) {
	case "content_block_delta":
		return "content_block_delta"
	case "message":
		return "message"
	}
	return string(b)
}

// readLine returns a line without its end. The last line of a body may come together with [io.EOF].
func (s *Stream) readLine() ([]byte, error) {
	line, err := s.read.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		s.line = append(s.line[:0], line...)
		for errors.Is(err, bufio.ErrBufferFull) {
			if len(s.line) > maxEvent {
				return nil, errLineTooLong
			}
			line, err = s.read.ReadSlice('\n')
			s.line = append(s.line, line...)
		}
		line = s.line
	}
	line = bytes.TrimSuffix(line, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r")), err
}

var errLineTooLong = errors.New("a line of the stream is too long")

// fail turns the error of a read into what the caller of the model gets.
func (s *Stream) fail(err error) error {
	switch {
	case s.parent.Err() != nil:
		return context.Cause(s.parent)
	case s.stall.fired.Load():
		e := Errorf(s.cfg, providers.KindTimeout, "nothing came from the model for %s", s.stall.limit)
		e.RequestID = s.RequestID
		return e
	case errors.Is(err, io.EOF):
		return io.EOF
	case errors.Is(err, errLineTooLong):
		return Errorf(s.cfg, providers.KindProtocol, "one event of the stream is larger than %d MiB", maxEvent>>20)
	}
	e := Errorf(s.cfg, providers.KindNetwork, "the connection broke while the model was speaking: %v", err)
	e.Err, e.RequestID = err, s.RequestID
	return e
}

// CutOff is the error of a stream that ended before the answer did.
func (s *Stream) CutOff() error {
	if s.parent.Err() != nil {
		return context.Cause(s.parent)
	}
	e := Errorf(s.cfg, providers.KindNetwork, "the stream ended in the middle of the answer")
	e.Err, e.RequestID = io.ErrUnexpectedEOF, s.RequestID
	return e
}

// BadEvent is the error of an event that is not what the API allows.
func (s *Stream) BadEvent(err error) error {
	e := Errorf(s.cfg, providers.KindProtocol, "an event of the stream makes no sense: %v", err)
	e.Err, e.RequestID = err, s.RequestID
	return e
}

// stallReader ends a body in which a read takes longer than limit. The time between reads does not count: a slow
// reader is not the provider's fault.
type stallReader struct {
	body   io.Reader
	limit  time.Duration
	cancel context.CancelFunc
	timer  *time.Timer
	fired  atomic.Bool
}

func newStallReader(body io.Reader, limit time.Duration, cancel context.CancelFunc) *stallReader {
	r := &stallReader{body: body, limit: limit, cancel: cancel}
	r.timer = time.AfterFunc(limit, func() {
		r.fired.Store(true)
		cancel()
	})
	r.timer.Stop()
	return r
}

func (r *stallReader) Read(p []byte) (int, error) {
	r.timer.Reset(r.limit)
	n, err := r.body.Read(p)
	r.timer.Stop()
	return n, err
}

func (r *stallReader) stop() { r.timer.Stop() }
