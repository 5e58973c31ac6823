// Package wire holds what the HTTP APIs of model providers have in common: streams of server-sent events that neither hang nor
// leak, and the classification of errors.
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

// maxEvent bounds one event and maxStream a whole stream. Real answers are far smaller.
const (
	maxEvent  = 64 << 20
	maxStream = 256 << 20
)

// maxErrorBody bounds the number of bytes that are read from the body of a failed request, and errorBodyTimeout the time to read
// them.
const (
	maxErrorBody     = 64 << 10
	errorBodyTimeout = 5 * time.Second
)

// A Stream reads the events of one response. It starts no goroutine: the caller reads, and a timer ends a read that takes too
// long. The caller must call Close.
type Stream struct {
	cfg    *providers.Config
	parent context.Context //nolint:containedctx // the caller's; its cause is the error when it ends the stream
	cancel context.CancelFunc
	body   io.ReadCloser
	read   *bufio.Reader
	stall  *stallReader
	opened bool // the first bytes were inspected
	begun  bool // begin has determined the kind of the body
	whole  bool // one JSON value, not a stream
	ended  bool
	spoken bool // an event has arrived
	torn   bool // the body ended inside an event
	// partial reports whether the current line has no line ending because the body ended in it.
	partial bool
	odd     string // the first line that is not valid in a stream of events
	cr      bool   // the last line ended with a carriage return: a line feed after it is part of the same line end
	line    []byte // a line that exceeds the reader's buffer
	event   Event
	total   int       // bytes of the lines read so far
	lively  time.Time // since when only signs of life have arrived
	// RequestID is the provider's id of the call.
	RequestID string
}

// Event is one server-sent event. Data is valid until the next call of Next.
type Event struct {
	Name string
	Data []byte
}

// Open calls post to send a request, and returns the stream of its response. The error is ctx's cause or a [*providers.Error].
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
	fail := func(err error) (*Stream, error) {
		if res != nil && res.Body != nil {
			_ = res.Body.Close()
		}
		cancel()
		return nil, err
	}
	if ctx.Err() != nil {
		return fail(context.Cause(ctx))
	}
	if late.Load() {
		return fail(Errorf(cfg, providers.KindTimeout, "the model did not begin to answer within %s", first))
	}
	if res != nil && cfg.Received != nil {
		cfg.Received(res.StatusCode, res.Header)
	}
	if res != nil && res.StatusCode >= 400 {
		// The body says more than an SDK's error, which requires JSON. A partial body is enough.
		stop := time.AfterFunc(min(errorBodyTimeout, limit), cancel)
		data, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
		stop.Stop()
		if ctx.Err() != nil {
			return fail(context.Cause(ctx))
		}
		return fail(statusError(cfg, res, data))
	}
	if err != nil {
		return fail(networkError(cfg, err))
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

// Close ends the stream and releases its connection. If the stream has ended, the connection is reused.
func (s *Stream) Close() {
	if s.ended {
		// The end of the body directly follows the last event; a connection on which it does not is not worth keeping.
		stop := time.AfterFunc(drainTimeout, s.cancel)
		_, _ = io.CopyN(io.Discard, s.read, 4<<10)
		stop.Stop()
	}
	_ = s.body.Close()
	s.stall.stop()
	s.cancel()
}

// drainTimeout bounds the wait for the end of a body after its last event.
const drainTimeout = 100 * time.Millisecond

// Hasten reports that the answer is complete: from now on, the stream waits only seconds for the rest of the body.
func (s *Stream) Hasten() { s.stall.limit = min(s.stall.limit, afterAnswer) }

// afterAnswer bounds the wait for the numbers after an answer, which servers send at once.
const afterAnswer = 10 * time.Second

// cancelled reports whether the caller's context has ended.
func (s *Stream) cancelled() bool { return s.parent.Err() != nil }

// Each passes the events that next returns to event, until event returns false or an error, and yields the error. If the stream
// breaks off and complete is not nil, Each calls complete, which reports whether the answer was complete and has been yielded.
func (s *Stream) Each(
	next func() (Event, error), yield func(providers.Event, error) bool, event func(Event) (more bool, err error), complete func() bool,
) {
	for more := true; more; {
		ev, err := next()
		if err != nil {
			if complete != nil && !s.cancelled() && complete() {
				return
			}
			if errors.Is(err, io.EOF) {
				err = s.CutOff()
			}
		} else {
			more, err = event(ev)
		}
		if err != nil {
			yield(nil, err)
			return
		}
	}
}

// End records that the last event was read.
func (s *Stream) End() { s.ended = true }

// Next returns the next event with data. Unpaired surrogates in it are marked ([jsonx.MarkSurrogates]). At the end of the body,
// even inside an event, the error is [io.EOF]; every other error is the cause of the caller's context or a [*providers.Error].
func (s *Stream) Next() (Event, error) {
	if s.parent.Err() != nil {
		return Event{}, context.Cause(s.parent) // not what is left in the buffer
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

// alive returns an error if the stream has sent only signs of life for too long.
func (s *Stream) alive() error {
	limit := cmp.Or(s.cfg.FirstByteTimeout, providers.DefaultFirstByteTimeout)
	if time.Since(s.lively) < limit {
		return nil
	}
	e := Errorf(s.cfg, providers.KindTimeout, "the model sent only keep-alive messages for %s", limit)
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

// deliver returns the current event.
func (s *Stream) deliver() Event {
	s.spoken = true
	return Event{Name: s.event.Name, Data: jsonx.MarkSurrogates(s.event.Data)}
}

// broken reports whether data, with which the body ended, is an incomplete event.
func (s *Stream) broken(data []byte) bool {
	data = bytes.TrimSpace(data)
	if !jsonx.Truncated(data) && (len(data) == len(endMark) || !strings.HasPrefix(endMark, string(data))) {
		return false
	}
	s.torn = true
	return true
}

// endMark is the data of the last event of OpenAI's API and similar ones.
const endMark = "[DONE]"

// field processes one line of an event.
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

// beginsField reports whether a line may be the truncated name of a field.
func beginsField(line string) bool {
	for _, name := range []string{"data", "event", "id", "retry"} {
		if strings.HasPrefix(name, line) {
			return true
		}
	}
	return false
}

// eventName returns the name as a string, without an allocation for frequent names.
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

// fail converts the error of a read for the caller of the model.
func (s *Stream) fail(err error) error {
	switch {
	case s.parent.Err() != nil:
		return context.Cause(s.parent)
	case s.stall.fired.Load():
		e := Errorf(s.cfg, providers.KindTimeout, "the model sent nothing for %s", s.stall.waited())
		e.RequestID = s.RequestID
		return e
	case errors.Is(err, io.EOF):
		return io.EOF
	case errors.Is(err, errLineTooLong):
		return Errorf(s.cfg, providers.KindProtocol, "one event of the stream is larger than %d MiB", maxEvent>>20)
	}
	if e, ok := errors.AsType[*providers.Error](err); ok { // from a body that is converted from another format
		return s.BadEvent(errors.New(e.Message))
	}
	e := Errorf(s.cfg, providers.KindNetwork, "the connection broke during the answer: %v", err)
	e.Err, e.RequestID = err, s.RequestID
	return e
}

// BadEvent returns the error of an event that violates the API.
func (s *Stream) BadEvent(err error) error {
	e := Errorf(s.cfg, providers.KindProtocol, "the stream contains an invalid event: %v", err)
	e.Err, e.RequestID = err, s.RequestID
	return e
}

// stallReader ends a body if one read takes longer than limit; the read of the first byte may take as long as first, if that is
// longer. The time between reads does not count, because a slow reader is not the provider's fault.
type stallReader struct {
	body   io.Reader
	limit  time.Duration
	first  time.Duration // zero after the first byte
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

// waited returns how long a read may take now.
func (r *stallReader) waited() time.Duration { return max(r.limit, r.first) }

func (r *stallReader) stop() { r.timer.Stop() }
