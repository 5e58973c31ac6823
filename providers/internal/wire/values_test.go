package wire

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

func values(s *Stream) (list []string, err error) {
	for {
		ev, err := s.NextValue()
		if err != nil {
			return list, err
		}
		list = append(list, string(ev.Data))
	}
}

func TestStream_Values(t *testing.T) {
	long := strings.Repeat("x", 50_000)
	for body, want := range map[string][]string{
		"":                                  nil,
		"a\nb\r\n":                          {"a", "b"},
		"\n \r\na":                          {"a"},
		"\"" + long + "\"\n{\"b\": 1}":      {"\"" + long + "\"", `{"b": 1}`},
		`{"a":1}{"b":"}{\"["}[1] {"c":{}}`:  {`{"a":1}`, `{"b":"}{\"["}`, `[1] {"c":{}}`},
		"\uFEFF{\n \"a\": [1,\r\n2]\n}\n":   {"{\n \"a\": [1,\r\n2]\n}"},
		"{\"a\":\"" + long + "\"}{\"b\":1}": {"{\"a\":\"" + long + "\"}", `{"b":1}`},
		"event: x\nid: 1\ndata: {\"a\":1}\n\n: hm\n\ndata:{\"b\":1}\r\n\r\ndata: [DONE]\n\n": {`{"a":1}`, `{"b":1}`},
		"data: {\"a\":1}\rdata: {\"b\":1}\r":                                                 {`{"a":1}`, `{"b":1}`},
		`{"a":1}{"b"`:                                                                        {`{"a":1}`}, // the end of the stream
		"dada\n{}":                                                                           {"dada", "{}"},
	} {
		for _, r := range []io.Reader{strings.NewReader(body), iotest.OneByteReader(strings.NewReader(body))} {
			s := open(t, t.Context(), r, "application/x-ndjson")
			got, err := values(s)
			if diff := cmp.Diff(want, got); diff != "" || !errors.Is(err, io.EOF) {
				t.Errorf("%.40q: err %v (-want +got):\n%s", body, err, diff)
			}
			s.Close()
		}
	}
}

// An object is returned as soon as it has ended, and so are a line and an event, whatever ends them.
func TestStream_AtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for text, next := range map[string]func(*Stream) (Event, error){
			`{"a":1}`: (*Stream).NextValue, "data: {\"a\":1}\r\r": (*Stream).Next, "\uFEFFdata: {\"a\":1}\n\n": (*Stream).Next,
		} {
			s, w := piped(t, &providers.Config{})
			go func() { _, _ = io.WriteString(w, text) }()
			if ev, err := next(s); err != nil || string(ev.Data) != `{"a":1}` {
				t.Errorf("%q: %q, %v", text, ev.Data, err)
			}
			s.Close()
		}
	})
}

func FuzzValues(f *testing.F) {
	f.Add(`{"a":"}"}{"b":[{}]}`)
	f.Add("data: {\"a\":1}\n\n: x\nevent: y\r")
	f.Fuzz(func(t *testing.T, body string) {
		read := func(r io.Reader) []string {
			s := open(t, t.Context(), r, "")
			defer s.Close()
			list, err := values(s)
			if _, refused := errors.AsType[*providers.Error](err); !refused && !errors.Is(err, io.EOF) {
				t.Errorf("err = %v", err)
			}
			return list
		}
		list := read(strings.NewReader(body))
		if diff := cmp.Diff(list, read(iotest.OneByteReader(strings.NewReader(body)))); diff != "" {
			t.Errorf("byte for byte (-whole +bytes):\n%s", diff)
		}
		if body = strings.TrimSpace(body); jsonx.Valid([]byte(body)) && body[0] == '{' && (len(list) != 1 || list[0] != body) {
			t.Errorf("one object is %q", list)
		}
	})
}
