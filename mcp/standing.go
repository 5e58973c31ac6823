package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// standingWait is how long a standing stream waits before it is opened again, and maxStandingWait the longest
	// that failures, or the server, can make of it.
	standingWait    = time.Second
	maxStandingWait = time.Minute
)

// standing answers the request for a stream on which a server speaks first: the optional one of Streamable HTTP, and the
// subscription of the stateless protocol, whose first answer is given. The answer is a body without an end, fed by one
// goroutine: it opens the stream again whenever it breaks, which the proxies in between do every minute, from the last
// event on where there are such. So neither a server that is slow to begin it, nor one that does not have it, nor one
// that closes it often is taken for broken.
func (h *httpClient) standing(req *http.Request, first *http.Response) *http.Response {
	ctx, cancel := context.WithCancelCause(req.Context())
	stop := context.AfterFunc(h.life, func() { cancel(context.Cause(h.life)) })
	r, w := io.Pipe()
	s := &standingStream{client: h, req: req, first: first, out: w, wait: standingWait}
	h.streams.Go(func() {
		defer stop()
		_ = w.CloseWithError(s.run(ctx))
	})
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"text/event-stream"}}, ContentLength: -1, Request: req,
		Body: &body{ReadCloser: r, done: func() { cancel(errEnded) }},
	}
}

type standingStream struct {
	client *httpClient
	req    *http.Request
	first  *http.Response // an answer that is there already
	out    io.Writer
	last   string        // the id of the last event
	wait   time.Duration // before the next opening, as the server wants it
	opened int
}

// run feeds the body until ctx ends.
func (s *standingStream) run(ctx context.Context) error {
	delay := s.wait
	for {
		opened, wanted := s.once(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !wanted:
			<-ctx.Done() // the server does not have such a stream
			return context.Cause(ctx)
		case opened:
			delay = s.wait
		default:
			delay = min(2*delay, maxStandingWait)
		}
		t := time.NewTimer(delay)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return context.Cause(ctx)
		}
	}
}

// once opens the stream and copies it until it breaks. wanted is false when it is of no use to try again.
func (s *standingStream) once(ctx context.Context) (opened, wanted bool) {
	resp, err := s.open(ctx)
	if err != nil {
		return false, true
	}
	// The body of a first answer does not know of ctx.
	stop := context.AfterFunc(ctx, func() { _ = resp.Body.Close() })
	defer stop()
	defer func() { _ = resp.Body.Close() }()
	switch {
	case passes(resp):
		return false, true
	case !isStream(resp):
		return false, false
	}
	if s.opened++; s.opened > 1 && s.client.reopened != nil {
		s.client.reopened()
	}
	return true, s.copy(resp.Body)
}

func (s *standingStream) open(ctx context.Context) (*http.Response, error) {
	if first := s.first; first != nil {
		s.first = nil
		return first, nil
	}
	req := s.req.Clone(ctx)
	if s.req.GetBody != nil {
		again, err := s.req.GetBody()
		if err != nil {
			return nil, err
		}
		req.Body = again
	}
	s.client.addHeaders(req)
	if s.last != "" {
		req.Header.Set("Last-Event-ID", s.last)
	}
	return s.client.base.RoundTrip(req)
}

// passes reports a failure that may be over soon.
func passes(resp *http.Response) bool {
	return resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests
}

func isStream(resp *http.Response) bool {
	return resp.StatusCode == http.StatusOK && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream")
}

// copy passes whole events on: one that the stream breaks in must not reach the reader, as its rest never comes.
// It reports false when nobody reads any more.
func (s *standingStream) copy(from io.Reader) bool {
	lines := bufio.NewReaderSize(from, 16<<10)
	var event []byte
	for {
		line, err := lines.ReadSlice('\n')
		event = append(event, line...)
		if int64(len(event)) > s.client.max {
			return true // begin anew
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return true
		}
		if !bytes.HasSuffix(event, []byte("\n\n")) && !bytes.HasSuffix(event, []byte("\n\r\n")) && len(bytes.TrimSpace(event)) > 0 {
			continue
		}
		s.note(event)
		if _, err := s.out.Write(event); err != nil {
			return false
		}
		event = event[:0]
	}
}

// note takes from an event what the next opening needs.
func (s *standingStream) note(event []byte) {
	for line := range bytes.Lines(event) {
		field, value, _ := strings.Cut(strings.TrimRight(string(line[:min(len(line), 1024)]), "\r\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "id":
			s.last = value
		case "retry":
			if ms, err := strconv.Atoi(value); err == nil && ms >= 0 {
				s.wait = min(time.Duration(ms)*time.Millisecond, maxStandingWait)
			}
		}
	}
}
