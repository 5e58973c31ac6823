package cloud

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"github.com/gajae-code/gjc/providers"
)

// frame returns a frame with headers given as alternating names and values.
func frame(t testing.TB, payload string, headers ...string) []byte {
	t.Helper()
	m := eventstream.Message{Payload: []byte(payload)}
	for i := 0; i < len(headers); i += 2 {
		m.Headers.Set(headers[i], eventstream.StringValue(headers[i+1]))
	}
	var b bytes.Buffer
	if err := eventstream.NewEncoder().Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func chunkFrame(t testing.TB, data string) []byte {
	return frame(t, `{"bytes":"`+base64.StdEncoding.EncodeToString([]byte(data))+`"}`, ":message-type", "event", ":event-type", "chunk")
}

// translate returns the server-sent events of an event stream.
func translate(t testing.TB, stream io.Reader) (string, error) {
	t.Helper()
	client := ServerSentEvents(&http.Client{Transport: transport(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {EventStreamType}}, Body: io.NopCloser(stream)}, nil
	})})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://h/", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if got := res.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("content type %q", got)
	}
	out, err := io.ReadAll(res.Body)
	return string(out), err
}

func TestServerSentEvents(t *testing.T) {
	var stream []byte
	stream = append(stream, chunkFrame(t, `{"type":"a"}`)...)
	stream = append(stream, frame(t, `{}`, ":message-type", "event", ":event-type", "something-new")...)
	stream = append(stream, frame(t, ``)...)
	stream = append(stream, chunkFrame(t, "{\"type\":\n\"b\"}")...)
	stream = append(stream, frame(t, `{"message":"Too \"many\" tokens"}`, ":message-type", "exception", ":exception-type", "throttlingException")...)
	stream = append(stream, frame(t, `oops`, ":message-type", "exception", ":exception-type", "modelStreamErrorException")...)
	stream = append(stream, frame(t, ``, ":message-type", "error", ":error-code", "500", ":error-message", "internal")...)
	const want = `data: {"type":"a"}` + "\n\n" + `data: {"type": "b"}` + "\n\n" +
		"event: error\n" + `data: {"type":"error","error":{"type":"throttlingException","message":"Too \"many\" tokens"}}` + "\n\n" +
		"event: error\n" + `data: {"type":"error","error":{"type":"modelStreamErrorException","message":""}}` + "\n\n" +
		"event: error\n" + `data: {"type":"error","error":{"type":"500","message":"internal"}}` + "\n\n"
	for _, r := range []io.Reader{bytes.NewReader(stream), iotest.OneByteReader(bytes.NewReader(stream)), iotest.DataErrReader(bytes.NewReader(stream))} {
		if got, err := translate(t, r); got != want || err != nil {
			t.Errorf("err %v\ngot  %q\nwant %q", err, got, want)
		}
	}
}

func TestServerSentEvents_Broken(t *testing.T) {
	good, second := chunkFrame(t, `{"n":1}`), chunkFrame(t, `{"n":2}`)
	for at := range second {
		flipped := bytes.Clone(second)
		flipped[at] ^= 0x10
		got, err := translate(t, bytes.NewReader(append(bytes.Clone(good), flipped...)))
		if got != "data: {\"n\":1}\n\n" || err == nil {
			t.Fatalf("byte %d changed: %q, %v", at, got, err)
		}
	}
	for at := 1; at < len(second); at++ {
		got, err := translate(t, bytes.NewReader(append(bytes.Clone(good), second[:at]...)))
		if got != "data: {\"n\":1}\n\n" || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("cut at %d: %q, %v", at, got, err)
		}
	}
	huge := binary.BigEndian.AppendUint32(nil, 1<<31)
	if _, err := translate(t, io.MultiReader(bytes.NewReader(huge), strings.NewReader("rest of it"))); !isFrameError(err) {
		t.Errorf("a huge frame: %v", err)
	}
	if _, err := translate(t, bytes.NewReader(frame(t, `{"bytes":"*"}`, ":message-type", "event", ":event-type", "chunk"))); !isFrameError(err) {
		t.Errorf("a chunk that is not base64: %v", err)
	}
	changed := bytes.Clone(good)
	changed[len(changed)-6] ^= 1
	if _, err := translate(t, bytes.NewReader(changed)); !isFrameError(err) {
		t.Errorf("a checksum that is wrong: %v", err)
	}
}

func isFrameError(err error) bool {
	e, ok := errors.AsType[*providers.Error](err)
	return ok && e.Kind == providers.KindProtocol
}

func TestServerSentEvents_LeavesOthersAlone(t *testing.T) {
	base := &http.Client{Transport: transport(func(*http.Request) (*http.Response, error) { return respond(400, `{"message":"no"}`) })}
	client := ServerSentEvents(base)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://h/", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if out, err := io.ReadAll(res.Body); err != nil || string(out) != `{"message":"no"}` {
		t.Errorf("%q, %v", out, err)
	}
	if _, changed := base.Transport.(translator); changed {
		t.Error("the client that was given is changed")
	}
}

func FuzzServerSentEvents(f *testing.F) {
	f.Add(append(chunkFrame(f, `{"type":"a"}`), frame(f, `{"message":"m"}`, ":message-type", "exception", ":exception-type", "e")...))
	f.Fuzz(func(t *testing.T, stream []byte) {
		out, err := translate(t, bytes.NewReader(stream))
		if err == nil && len(out) > 0 && !strings.HasSuffix(out, "\n\n") {
			t.Errorf("%q", out)
		}
		if len(out) > 8*len(stream)+1000 {
			t.Errorf("%d bytes of %d", len(out), len(stream))
		}
	})
}
