package cloud

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// EventStreamType is the content type of event streams.
const EventStreamType = "application/vnd.amazon.eventstream"

// maxFrame bounds a frame. AWS sends none larger than 24 MiB.
const maxFrame = 64 << 20

// ServerSentEvents returns a copy of client that converts event streams to server-sent events: each chunk becomes an event, and
// each exception an event "error" whose error type is the exception's name.
func ServerSentEvents(client *http.Client) *http.Client {
	next := client.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	translating := *client
	translating.Transport = translator{next}
	return &translating
}

type translator struct{ next http.RoundTripper }

func (t translator) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind == EventStreamType {
		res.Body = &translated{body: res.Body, read: bufio.NewReaderSize(res.Body, 16<<10)}
		res.Header.Set("Content-Type", "text/event-stream")
		res.Header.Del("Content-Length")
		res.ContentLength = -1
	}
	return res, nil
}

// translated is the body of an event stream, converted to server-sent events.
type translated struct {
	body    io.ReadCloser
	read    *bufio.Reader
	decoder eventstream.Decoder
	payload []byte // buffer of the current frame
	out     []byte
	sent    int // number of bytes of out that were read
	err     error
}

func (t *translated) Close() error { return t.body.Close() }

func (t *translated) Read(p []byte) (int, error) {
	for t.sent == len(t.out) {
		if t.err != nil {
			return 0, t.err
		}
		t.out, t.sent = t.out[:0], 0
		t.err = t.next()
	}
	n := copy(p, t.out[t.sent:])
	t.sent += n
	return n, nil
}

// next converts a frame. It ignores frames of unknown kinds.
func (t *translated) next() error {
	if _, err := t.read.Peek(1); err != nil {
		return err // between two frames, where a stream may end
	}
	if length, err := t.read.Peek(4); err == nil && binary.BigEndian.Uint32(length) > maxFrame {
		return badFrame(fmt.Errorf("it is longer than %d MiB", maxFrame>>20))
	}
	m, err := t.decoder.Decode(t.read, t.payload[:0])
	if err != nil {
		return frameError(err)
	}
	t.payload = m.Payload
	header := func(name string) string {
		if value := m.Headers.Get(name); value != nil {
			return value.String()
		}
		return ""
	}
	switch header(":message-type") {
	case "event":
		if header(":event-type") == "chunk" {
			return t.chunk(m.Payload)
		}
	case "exception":
		var detail struct {
			Message string `json:"message"`
		}
		_ = jsonx.Unmarshal(m.Payload, &detail) // without a message, the name is still useful
		t.fail(header(":exception-type"), detail.Message)
	case "error":
		t.fail(header(":error-code"), header(":error-message"))
	}
	return nil
}

func (t *translated) chunk(payload []byte) error {
	var chunk struct {
		Bytes []byte `json:"bytes"`
	}
	if err := jsonx.Unmarshal(payload, &chunk); err != nil {
		return badFrame(err)
	}
	// A line feed would end the event; between the tokens of JSON it has no meaning.
	for i, c := range chunk.Bytes {
		if c == '\n' || c == '\r' {
			chunk.Bytes[i] = ' '
		}
	}
	t.out = append(append(append(t.out, "data: "...), chunk.Bytes...), "\n\n"...)
	return nil
}

func (t *translated) fail(name, message string) {
	t.out = append(t.out, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":"...)
	t.out = append(jsonx.AppendString(t.out, name), `,"message":`...)
	t.out = append(jsonx.AppendString(t.out, message), "}}\n\n"...)
}

func badFrame(err error) error {
	return failed(providers.KindProtocol, "the event stream contains an invalid frame: %v", err)
}

// frameError distinguishes a malformed frame from a broken connection.
func frameError(err error) error {
	_, checksum := errors.AsType[eventstream.ChecksumError](err)
	if _, length := errors.AsType[eventstream.LengthError](err); checksum || length {
		return badFrame(err)
	}
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
