// Package telemetry records spans of a turn, its model calls and its tool calls, and sends them to a collector of OpenTelemetry.
//
// A nil [Tracer] and a nil [Span] do nothing, and cost nothing, so callers record without asking whether traces are on. Spans have no content of
// conversations.
package telemetry

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"strings"
	"sync"
	"time"
)

// Kind is the kind of a span, with the numbers of OTLP.
type Kind byte

// The kinds.
const (
	Internal Kind = 1
	Client   Kind = 3
)

// The operations of the conventions for generative AI.
const (
	InvokeAgent = "invoke_agent"
	Chat        = "chat"
	ExecuteTool = "execute_tool"
)

// The keys of W3C trace context.
const (
	traceParent = "traceparent"
	traceState  = "tracestate"
)

// Tracer begins traces. It is safe for concurrent use.
type Tracer struct {
	sampler  sampler
	exporter *exporter
	now      func() time.Time
}

// Span is an operation that has begun. It is safe for concurrent use.
type Span struct {
	tracer  *Tracer
	trace   [16]byte
	id      [8]byte
	parent  [8]byte // zero for none
	state   string  // the tracestate of the client
	baggage string
	sampled bool
	name    string
	kind    Kind

	mu         sync.Mutex // guards the fields below
	start, end time.Time
	attributes []attribute
	failed     bool
}

// attribute has a value that is a string, int64, float64, bool or []string.
type attribute struct {
	key   string
	value any
}

// spanKey is the key of the span in a context.
type spanKey struct{}

// FromContext returns the span of a context; nil for none.
func FromContext(ctx context.Context) *Span {
	s, _ := ctx.Value(spanKey{}).(*Span)
	return s
}

// Begin begins the span of a turn, as part of the trace with these W3C values. If there is none, or it is malformed, the span begins a trace.
// Without a tracer, it returns ctx and nil.
func (t *Tracer) Begin(ctx context.Context, remote map[string]string, operation, target string) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	s := &Span{tracer: t, kind: Internal}
	sampled := false
	if s.trace, s.parent, sampled = parseParent(remote[traceParent]); s.parent != [8]byte{} {
		s.state, s.baggage = remote[traceState], remote["baggage"]
	} else {
		randomID(s.trace[:])
	}
	s.sampled = t.sampler.samples(s.trace, s.parent != [8]byte{}, sampled)
	return s.enter(ctx, operation, target)
}

// Start begins a span below that of ctx. Without one, it returns ctx and nil.
func Start(ctx context.Context, kind Kind, operation, target string) (context.Context, *Span) {
	above := FromContext(ctx)
	if above == nil {
		return ctx, nil
	}
	s := &Span{
		tracer: above.tracer, kind: kind, trace: above.trace, parent: above.id, state: above.state, baggage: above.baggage, sampled: above.sampled,
	}
	return s.enter(ctx, operation, target)
}

func (s *Span) enter(ctx context.Context, operation, target string) (context.Context, *Span) {
	randomID(s.id[:])
	s.name, s.start = operation, s.tracer.now()
	if target != "" {
		s.name += " " + target
	}
	s.Set("gen_ai.operation.name", operation)
	return context.WithValue(ctx, spanKey{}, s), s
}

// randomID fills an ID, which is not zero.
func randomID(id []byte) {
	_, _ = rand.Read(id) // it does not fail
	id[len(id)-1] |= 1
}

// Restart sets the start of the span to now: the work waited until then.
func (s *Span) Restart() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.start = s.tracer.now()
}

// maxAttributes bounds the attributes of a span, maxValue the length of one.
const (
	maxAttributes = 64
	maxValue      = 1 << 10
)

// Set adds an attribute: a string, an int64, a float64, a bool or a []string. Callers check for nil first if making the value has a cost.
func (s *Span) Set(key string, value any) {
	if s == nil || !s.sampled {
		return
	}
	if text, ok := value.(string); ok {
		if text == "" {
			return
		}
		value = strings.ToValidUTF8(text[:min(len(text), maxValue)], "")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.attributes) < maxAttributes {
		s.attributes = append(s.attributes, attribute{key, value})
	}
}

// Fail marks the span as failed, with an error of a kind.
func (s *Span) Fail(kind string) {
	if s == nil {
		return
	}
	s.Set("error.type", kind)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = true
}

// Usage sets the numbers of tokens of the requests to models. The input includes what was cached.
func (s *Span) Usage(input, output int) {
	if s == nil || input+output == 0 {
		return
	}
	s.Set("gen_ai.usage.input_tokens", int64(input))
	s.Set("gen_ai.usage.output_tokens", int64(output))
}

// End ends the span and hands it to the exporter, which never waits. A second call does nothing.
func (s *Span) End() {
	if s == nil {
		return
	}
	s.mu.Lock()
	again := !s.end.IsZero()
	if !again {
		s.end = s.tracer.now()
	}
	s.mu.Unlock()
	if !again && s.sampled {
		s.tracer.exporter.add(s)
	}
}

// Carry returns the W3C values by which another process continues the trace; nil for no span.
func (s *Span) Carry() map[string]string {
	if s == nil {
		return nil
	}
	flags := "00"
	if s.sampled {
		flags = "01"
	}
	all := map[string]string{traceParent: "00-" + hex.EncodeToString(s.trace[:]) + "-" + hex.EncodeToString(s.id[:]) + "-" + flags}
	if s.state != "" {
		all[traceState] = s.state
	}
	if s.baggage != "" {
		all["baggage"] = s.baggage
	}
	return all
}

// parseParent parses a traceparent. The parent is zero if it is malformed.
func parseParent(text string) (trace [16]byte, parent [8]byte, sampled bool) {
	// A later version may have more at its end.
	if len(text) < 55 || text[:2] == "ff" || text[2] != '-' || text[35] != '-' || text[52] != '-' ||
		len(text) > 55 && (text[:2] == "00" || text[55] != '-') || strings.ToLower(text[:55]) != text[:55] {
		return trace, parent, false
	}
	var version, flags [1]byte
	for _, part := range []struct {
		into []byte
		text string
	}{{version[:], text[:2]}, {trace[:], text[3:35]}, {parent[:], text[36:52]}, {flags[:], text[53:55]}} {
		if _, err := hex.Decode(part.into, []byte(part.text)); err != nil {
			return [16]byte{}, [8]byte{}, false
		}
	}
	if trace == [16]byte{} || parent == [8]byte{} {
		return [16]byte{}, [8]byte{}, false
	}
	return trace, parent, flags[0]&1 != 0
}

// Close sends what has ended, and ends the exporter. ctx bounds it.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.exporter.close(ctx)
}
