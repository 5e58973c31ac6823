package telemetry

import (
	"encoding/binary"
	"math"
	"time"
)

// The functions here write the messages of OTLP (opentelemetry/proto/collector/trace/v1) as protobuf: for one kind of message, the library of
// protobuf costs more than the rest of gjc's telemetry. The test decodes them with the generated types.

// The wire types of protobuf.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
)

func putTag(b []byte, field, wire int) []byte {
	return binary.AppendUvarint(b, uint64(field)<<3|uint64(wire)) //nolint:gosec // constants
}

func putVarint(b []byte, field int, v uint64) []byte {
	if v == 0 {
		return b
	}
	return binary.AppendUvarint(putTag(b, field, wireVarint), v)
}

func putFixed64(b []byte, field int, v uint64) []byte {
	return binary.LittleEndian.AppendUint64(putTag(b, field, wireFixed64), v)
}

func putBytes[T string | []byte](b []byte, field int, v T) []byte {
	return append(binary.AppendUvarint(putTag(b, field, wireBytes), uint64(len(v))), v...)
}

// request returns an ExportTraceServiceRequest.
func request(resource []attribute, version string, spans []*Span) []byte {
	var of, scope, in, all []byte
	for i := range resource {
		of = putBytes(of, 1, keyValue(&resource[i]))
	}
	scope = putBytes(scope, 1, "github.com/gajae-code/gjc")
	scope = putBytes(scope, 2, version)
	in = putBytes(in, 1, scope)
	for _, s := range spans {
		in = putBytes(in, 2, s.encode())
	}
	all = putBytes(all, 1, of)
	all = putBytes(all, 2, in)
	return putBytes(nil, 1, all)
}

// encode returns a Span.
func (s *Span) encode() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b []byte
	b = putBytes(b, 1, s.trace[:])
	b = putBytes(b, 2, s.id[:])
	if s.state != "" {
		b = putBytes(b, 3, s.state)
	}
	if s.parent != [8]byte{} {
		b = putBytes(b, 4, s.parent[:])
	}
	b = putBytes(b, 5, s.name)
	b = putVarint(b, 6, uint64(s.kind))
	b = putFixed64(b, 7, nanoseconds(s.start))
	b = putFixed64(b, 8, nanoseconds(s.end))
	for i := range s.attributes {
		b = putBytes(b, 9, keyValue(&s.attributes[i]))
	}
	if s.failed {
		b = putBytes(b, 15, putVarint(nil, 3, 2)) // STATUS_CODE_ERROR
	}
	return b
}

func nanoseconds(t time.Time) uint64 { return uint64(max(t.UnixNano(), 0)) } //nolint:gosec // not negative

// keyValue returns a KeyValue.
func keyValue(a *attribute) []byte {
	return putBytes(putBytes(nil, 1, a.key), 2, anyValue(a.value))
}

// anyValue returns an AnyValue. Zero values are written, too: they are in a oneof.
func anyValue(v any) []byte {
	switch v := v.(type) {
	case string:
		return putBytes(nil, 1, v)
	case bool:
		n := uint64(0)
		if v {
			n = 1
		}
		return binary.AppendUvarint(putTag(nil, 2, wireVarint), n)
	case int64:
		return binary.AppendUvarint(putTag(nil, 3, wireVarint), uint64(v)) //nolint:gosec // two's complement, as protobuf has it
	case float64:
		return putFixed64(nil, 4, math.Float64bits(v))
	case []string:
		var list []byte
		for _, s := range v {
			list = putBytes(list, 1, anyValue(s))
		}
		return putBytes(nil, 5, list)
	}
	return nil
}
