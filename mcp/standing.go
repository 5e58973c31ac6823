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

	"github.com/gajae-code/gjc/internal/jsonx"
)

const (
	// standingWait is the pause before a standing stream is opened again; maxStandingWait is the longest pause, after failures or
	// on the server's request.
	standingWait    = time.Second
	maxStandingWait = time.Minute
)

// standing returns the response to a request for a stream of messages from the server. The stream is the optional one of Streamable
// HTTP, or the subscription of the stateless protocol, whose first response is passed as first. The response's body does not end
// until ctx ends or it is closed. A goroutine feeds it and, when the stream breaks, reopens it after the last event; many proxies
// close such streams. So a server that opens the stream late, closes it often or does not support it is not reported as broken.
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
	first  *http.Response // the first response; nil for none
	out    io.Writer
	last   string        // the ID of the last event
	wait   time.Duration // the pause before reopening the stream, as the server requested
	opened int
	// idle is set if the server has agreed to send nothing in a subscription.
	idle bool
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
			<-ctx.Done() // the server does not support the stream
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

// once opens the stream and copies it until it breaks. wanted is false if it must not be opened again.
func (s *standingStream) once(ctx context.Context) (opened, wanted bool) {
	resp, err := s.open(ctx)
	if err != nil {
		return false, true
	}
	// The body of the first response does not depend on ctx.
	stop := context.AfterFunc(ctx, func() { _ = resp.Body.Close() })
	defer stop()
	defer func() { _ = resp.Body.Close() }()
	switch {
	case isTemporary(resp):
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
	return s.client.authorized(req)
}

// isTemporary reports whether a failure may be temporary.
func isTemporary(resp *http.Response) bool {
	return resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests
}

func isStream(resp *http.Response) bool {
	return resp.StatusCode == http.StatusOK && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream")
}

// copy forwards only whole events: the rest of an event in which the stream breaks never arrives. It returns false if the reader
// has closed the body. A server that ends a subscription, for a restart, responds to its request. That is not forwarded, as the
// reader would not subscribe again.
func (s *standingStream) copy(from io.Reader) bool {
	lines := bufio.NewReaderSize(from, 16<<10)
	var event []byte
	for {
		line, err := lines.ReadSlice('\n')
		event = append(event, line...)
		if int64(len(event)) > s.client.max {
			return true // open the stream again
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
		if s.req.Method == http.MethodPost && s.ended(event) {
			return true
		}
		if _, err := s.out.Write(event); err != nil {
			return false
		}
		event = event[:0]
	}
}

// maxControl bounds the events that ended examines; those that it looks for are short.
const maxControl = 64 << 10

// ended reports whether an event of a subscription ends one in which the server has something to send.
func (s *standingStream) ended(event []byte) bool {
	if len(event) > maxControl {
		return false
	}
	var data []byte
	for line := range bytes.Lines(event) {
		if text, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(data, text...)
		}
	}
	var message struct {
		Method string    `json:"method"`
		Result jsonx.Raw `json:"result"`
		Params struct {
			Notifications map[string]jsonx.Raw `json:"notifications"`
		} `json:"params"`
	}
	if jsonx.Unmarshal(data, &message) != nil {
		return false
	}
	if message.Method == "notifications/subscriptions/acknowledged" {
		s.idle = len(message.Params.Notifications) == 0
	}
	return message.Method == "" && message.Result != nil && !s.idle
}

// note records the ID and the retry time of an event for the next opening.
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
