package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// exporter sends spans in batches, from one goroutine, which begins with the first span and ends with close.
type exporter struct {
	settings
	client   *http.Client
	version  string
	resource []attribute
	warn     func(string)

	mu      sync.Mutex // guards the fields below
	queue   []*Span
	dropped int
	failing bool // the last batch was lost
	started bool
	closed  bool

	wake   chan struct{} // has an element if a batch is full
	end    chan struct{} // closed by close
	done   chan struct{} // closed when the goroutine has ended
	cancel context.CancelFunc
}

// settings are the parts of the exporter that variables set.
type settings struct {
	address       string
	header        http.Header
	compress      bool
	requestTime   time.Duration
	exportTime    time.Duration
	delay         time.Duration
	batch, queued int
}

// The bounds of what a collector may do.
const (
	maxAnswer = 64 << 10
	firstWait = 500 * time.Millisecond
	maxWait   = 5 * time.Second
)

func newExporter(s *settings, client *http.Client, resource []attribute, version string, warn func(string)) *exporter {
	return &exporter{
		settings: *s, client: client, resource: resource, version: version, warn: warn,
		wake: make(chan struct{}, 1), end: make(chan struct{}), done: make(chan struct{}),
	}
}

// add queues a span. If the queue is full, the span is lost.
func (e *exporter) add(s *Span) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || len(e.queue) >= e.queued {
		e.dropped++
		return
	}
	e.queue = append(e.queue, s)
	if !e.started {
		e.started = true
		ctx, cancel := context.WithCancel(context.Background())
		e.cancel = cancel
		go e.run(ctx) // ends with close
	}
	if len(e.queue) >= e.batch {
		select {
		case e.wake <- struct{}{}:
		default:
		}
	}
}

// run sends batches until the exporter is closed, and then what is left.
func (e *exporter) run(ctx context.Context) {
	defer close(e.done)
	tick := time.NewTicker(e.delay)
	defer tick.Stop()
	for {
		closing := false
		select {
		case <-e.wake:
		case <-tick.C:
		case <-e.end:
			closing = true
		}
		for e.sendBatch(ctx) && closing {
		}
		if closing {
			return
		}
	}
}

// sendBatch sends one batch. It reports whether more spans are left.
func (e *exporter) sendBatch(ctx context.Context) (more bool) {
	e.mu.Lock()
	n := min(len(e.queue), e.batch)
	spans := append([]*Span(nil), e.queue[:n]...)
	e.queue = append(e.queue[:0:0], e.queue[n:]...)
	left, dropped := len(e.queue), e.dropped
	e.dropped = 0
	e.mu.Unlock()
	if n == 0 {
		return false
	}
	err := e.export(ctx, request(e.resource, e.version, spans))
	e.mu.Lock()
	first := err != nil && !e.failing
	e.failing = err != nil
	e.mu.Unlock()
	if first {
		e.warn(fmt.Sprintf("traces are lost: the collector of OTEL_EXPORTER_OTLP_ENDPOINT does not take them: %v", err))
	}
	if dropped > 0 && err == nil {
		e.warn(fmt.Sprintf("%d spans of traces were lost while the queue was full", dropped))
	}
	return left > 0 && ctx.Err() == nil
}

// export sends one request, and tries again after errors that may pass.
func (e *exporter) export(ctx context.Context, body []byte) error {
	ctx, cancel := context.WithTimeoutCause(ctx, e.exportTime, fmt.Errorf("no success within %s", e.exportTime))
	defer cancel()
	if e.compress {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, err := w.Write(body)
		if err = errors.Join(err, w.Close()); err != nil {
			return err
		}
		body = packed.Bytes()
	}
	for wait := firstWait; ; wait = min(2*wait, maxWait) {
		again, after, err := e.post(ctx, body)
		if err == nil || !again {
			return err
		}
		timer := time.NewTimer(min(max(wait, after), e.exportTime))
		select {
		case <-timer.C:
		case <-e.end: // there is no time to wait
			timer.Stop()
			return err
		case <-ctx.Done():
			timer.Stop()
			return errors.Join(err, context.Cause(ctx))
		}
	}
}

// post sends one request. It reports whether another one may succeed, and after which time the collector wants it.
func (e *exporter) post(ctx context.Context, body []byte) (again bool, after time.Duration, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, e.requestTime, fmt.Errorf("no answer within %s", e.requestTime))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.address, bytes.NewReader(body))
	if err != nil {
		return false, 0, errors.New("its address is not valid")
	}
	req.Header = e.header.Clone()
	req.Header.Set("Content-Type", "application/x-protobuf")
	req.Header.Set("User-Agent", "gjc/"+e.version)
	if e.compress {
		req.Header.Set("Content-Encoding", "gzip")
	}
	res, err := e.client.Do(req)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return true, 0, cause
		}
		if bare := errors.Unwrap(err); bare != nil { // the outermost has the address, perhaps with a password
			err = bare
		}
		return true, 0, err
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.CopyN(io.Discard, res.Body, maxAnswer) // so that the connection can be used again
	if res.StatusCode >= 200 && res.StatusCode < 300 {
		return false, 0, nil
	}
	switch res.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		again = true
	}
	if seconds, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && seconds > 0 {
		after = time.Duration(min(seconds, 3600)) * time.Second
	}
	return again, after, fmt.Errorf("HTTP %d", res.StatusCode)
}

// close sends what is left and ends the goroutine. When ctx ends, the rest is lost.
func (e *exporter) close(ctx context.Context) error {
	e.mu.Lock()
	again := e.closed
	e.closed = true
	started := e.started
	e.mu.Unlock()
	if again || !started {
		return nil
	}
	close(e.end)
	defer e.client.CloseIdleConnections()
	select {
	case <-e.done:
		e.cancel()
		return nil
	case <-ctx.Done():
		e.cancel()
		<-e.done
		return context.Cause(ctx)
	}
}
