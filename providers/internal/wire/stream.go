// Package wire is what the HTTP APIs of model providers have in common: a stream of server-sent events that can not
// hang and does not leak, and errors put into the neutral kinds.
package wire

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// maxEvent bounds one event, and maxStream all of a stream. Nothing that a model says comes near them.
const (
	maxEvent  = 64 << 20
	maxStream = 256 << 20
)

// maxErrorBody bounds what is read of the body of a failed request, and errorBodyTimeout how long.
const (
	maxErrorBody     = 64 << 10
	errorBodyTimeout = 5 * time.Second
)

// A Stream reads the events of one response. It starts no goroutine of its own: the caller reads, and a timer ends a
// read that takes too long. The caller must Close it.
type Stream struct {
	cfg    *providers.Config
	parent context.Context // of the caller; its cause is the error when it ends
	cancel context.CancelFunc
	body   io.ReadCloser
	read   *bufio.Reader
	stall  *stallReader
	opened bool // the first bytes were looked at
	begun  bool // it is known what the body is
	whole  bool // one JSON value, no stream
	ended  bool
	spoken bool // there was an event
	torn   bool // the body ended inside an event
	// partial says that the line that is being read has no end: the body ended with it.
	partial bool
	odd     string // the first line that a stream of events cannot have
	cr      bool   // the last line ended with a carriage return: a line feed after it is part of the same line end
	line    []byte // a line that did not fit the reader's buffer
	event   Event
	total   int       // of the lines that were read, in bytes
	lively  time.Time // since when the caller waits for something that is more than a sign of life
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
	limit := cmp.Or(cfg.StallTimeout, providers.DefaultStallTimeout)
	first := cmp.Or(cfg.FirstByteTimeout, providers.DefaultFirstByteTimeout)
	inner, cancel := context.WithCancel(ctx)
	var late atomic.Bool
	timer := time.AfterFunc(first, func() {
		late.Store(true)
		cancel()
	})
	var res *http.Response
	err := post(inner, &res)
	timer.Stop()
	if ctx.Err() != nil {
		closeBody(res)
		cancel()
		return nil, context.Cause(ctx)
	}
	if late.Load() {
		closeBody(res)
		cancel()
		return nil, Errorf(cfg, providers.KindTimeout, "the model did not begin to answer within %s", first)
	}
	if res != nil && res.StatusCode >= 400 {
		// The body says more than an SDK's error, which needs it to be JSON. What came before it broke is enough.
		stop := time.AfterFunc(min(errorBodyTimeout, limit), cancel)
		data, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
		stop.Stop()
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
	s.stall.first = first
	s.read = bufio.NewReaderSize(s.stall, 16<<10)
	if err := s.head(res); err != nil {
		s.Close()
		return nil, err
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

// Hasten says that the answer is whole: what may still come behind it is waited for no longer than for seconds.
func (s *Stream) Hasten() { s.stall.limit = min(s.stall.limit, behindAnswer) }

// behindAnswer is what the numbers behind an answer get, which servers send at once.
const behindAnswer = 10 * time.Second

// Cancelled reports whether the caller's context has ended.
func (s *Stream) Cancelled() bool { return s.parent.Err() != nil }

// End tells the stream that the last event was read.
func (s *Stream) End() { s.ended = true }

// Next returns the next event with data, in which surrogates without their other half are marks
// ([jsonx.MarkSurrogates]). At the end of the body the error is [io.EOF], also where that is inside an event; every other
// error is the cause of the caller's context or a [*providers.Error].
func (s *Stream) Next() (Event, error) {
	if s.parent.Err() != nil {
		return Event{}, context.Cause(s.parent) // and not what is still in the buffer
	}
	s.event.Name, s.event.Data = "", s.event.Data[:0]
	s.lively = time.Now()
	for {
		if !s.begun {
			if err := s.begin(); err != nil {
				return Event{}, err
			}
		}
		if s.whole {
			return s.nextWhole()
		}
		line, err := s.readLine()
		if err != nil && (len(line) == 0 || !errors.Is(err, io.EOF)) {
			if errors.Is(err, io.EOF) && len(s.event.Data) > 0 && !s.broken(s.event.Data) {
				return s.deliver(), nil // the blank line after the last event is missing
			}
			return Event{}, s.fail(err)
		}
		s.partial = err != nil
		if s.total += len(line) + 1; s.total > maxStream {
			return Event{}, s.endless()
		}
		if len(line) == 0 {
			if len(s.event.Data) > 0 && s.event.Name != "ping" {
				return s.deliver(), nil
			}
			s.event.Name, s.event.Data = "", s.event.Data[:0]
			if err := s.alive(); err != nil {
				return Event{}, err
			}
			continue
		}
		if err := s.field(line); err != nil {
			return Event{}, err
		}
	}
}

func (s *Stream) endless() error {
	return Errorf(s.cfg, providers.KindProtocol, "the answer is larger than %d MiB and does not end", maxStream>>20)
}

// alive bounds how long a stream may say nothing but that it is alive.
func (s *Stream) alive() error {
	limit := cmp.Or(s.cfg.FirstByteTimeout, providers.DefaultFirstByteTimeout)
	if time.Since(s.lively) < limit {
		return nil
	}
	e := Errorf(s.cfg, providers.KindTimeout, "nothing but signs of life came from the model for %s", limit)
	e.RequestID = s.RequestID
	return e
}

func (s *Stream) nextWhole() (Event, error) {
	if s.ended {
		return Event{}, io.EOF
	}
	data, err := s.All()
	if err != nil {
		return Event{}, err
	}
	if s.broken(data) {
		return Event{}, s.fail(io.EOF)
	}
	s.spoken = true
	return Event{Data: jsonx.MarkSurrogates(data)}, nil
}

// deliver returns the event that has been read.
func (s *Stream) deliver() Event {
	s.spoken = true
	return Event{Name: s.event.Name, Data: jsonx.MarkSurrogates(s.event.Data)}
}

// broken reports whether data, which the body ended with, is the beginning of an event and not all of it.
func (s *Stream) broken(data []byte) bool {
	data = bytes.TrimSpace(data)
	if !jsonx.Truncated(data) && (len(data) == len(endMark) || !strings.HasPrefix(endMark, string(data))) {
		return false
	}
	s.torn = true
	return true
}

// endMark is the data of the last event of APIs like OpenAI's.
const endMark = "[DONE]"

// field takes in one line of an event.
func (s *Stream) field(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte(":"))
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	switch string(name) {
	case "":
		return s.alive() // a comment
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
	case "id", "retry":
	default:
		if s.odd == "" && !(s.partial && beginsField(string(line))) {
			s.odd = shorten(string(line), 80)
		}
	}
	return nil
}

// beginsField reports whether a line may be cut off in the name of a field.
func beginsField(line string) bool {
	for _, name := range []string{"data", "event", "id", "retry"} {
		if strings.HasPrefix(name, line) {
			return true
		}
	}
	return false
}

// eventName avoids an allocation for the names that come thousands of times.
func eventName(b []byte) string {
	switch string(b) {
	case "content_block_delta":
		return "content_block_delta"
	case "response.output_text.delta":
		return "response.output_text.delta"
	case "response.function_call_arguments.delta":
		return "response.function_call_arguments.delta"
	case "message":
		return "message"
	}
	return string(b)
}

// fail turns the error of a read into what the caller of the model gets.
func (s *Stream) fail(err error) error {
	switch {
	case s.parent.Err() != nil:
		return context.Cause(s.parent)
	case s.stall.fired.Load():
		e := Errorf(s.cfg, providers.KindTimeout, "nothing came from the model for %s", s.stall.waited())
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

// BadEvent is the error of an event that is not what the API allows.
func (s *Stream) BadEvent(err error) error {
	e := Errorf(s.cfg, providers.KindProtocol, "an event of the stream makes no sense: %v", err)
	e.Err, e.RequestID = err, s.RequestID
	return e
}

// stallReader ends a body in which a read takes longer than limit; until the first byte first is the limit if it is longer.
// The time between reads does not count: a slow reader is not the provider's fault.
type stallReader struct {
	body   io.Reader
	limit  time.Duration
	first  time.Duration // zero behind the first byte
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
	r.timer.Reset(r.waited())
	n, err := r.body.Read(p)
	r.timer.Stop()
	if n > 0 {
		r.first = 0
	}
	return n, err
}

// waited is how long a read may take now.
func (r *stallReader) waited() time.Duration { return max(r.limit, r.first) }

func (r *stallReader) stop() { r.timer.Stop() }
