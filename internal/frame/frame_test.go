package frame_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/frame"
)

// readAll returns every message of r's stream, and every error as a string; the last is the one that ended it.
func readAll(r frame.Reader) []string {
	var got []string
	for range 1000 {
		msg, err := r.Read()
		if err == nil {
			got = append(got, string(msg))
			continue
		}
		got = append(got, "! "+err.Error())
		if !frame.Recoverable(err) {
			return got
		}
	}
	return append(got, "! endless")
}

func TestReader(t *testing.T) {
	long := strings.Repeat("x", 100)
	huge := strings.Repeat("y", 200<<10)
	tests := []struct {
		name    string
		framing frame.Framing
		max     int
		in      string
		want    []string
	}{
		{"lines", frame.Lines, 0, "a\nb\r\n\n  \n c \n", []string{"a", "b", "c", "! EOF"}},
		{"empty", frame.Lines, 0, "", []string{"! EOF"}},
		{"torn", frame.Lines, 0, "a\nb", []string{"a", "! unexpected EOF"}},
		{"blank tail", frame.Lines, 0, "a\n  ", []string{"a", "! EOF"}},
		{"at the limit", frame.Lines, 100, long + "\n", []string{long, "! EOF"}},
		{"over the limit", frame.Lines, 99, "a\n" + long + "\nb\n", []string{"a", "! message of 100 bytes is over the limit of 99", "b", "! EOF"}},
		{"past the buffer", frame.Lines, 0, huge + "\nb\n", []string{huge, "b", "! EOF"}},
		{"far over", frame.Lines, 1000, huge + "\nb\n", []string{"! message of 204800 bytes is over the limit of 1000", "b", "! EOF"}},
		{"torn and over", frame.Lines, 1000, huge, []string{"! unexpected EOF"}},

		{"headers", frame.Headers, 0, "Content-Length: 1\r\n\r\naContent-Length: 2\r\n\r\nbc", []string{"a", "bc", "! EOF"}},
		{"no message", frame.Headers, 0, "", []string{"! EOF"}},
		{"bare newlines", frame.Headers, 0, "Content-Length: 1\n\na", []string{"a", "! EOF"}},
		{"more headers", frame.Headers, 0, "Content-Type: x\r\ncontent-length:3\r\nX-Y: z\r\n\r\nabc", []string{"abc", "! EOF"}},
		{"zero", frame.Headers, 0, "Content-Length: 0\r\n\r\nContent-Length: 1\r\n\r\na", []string{"", "a", "! EOF"}},
		{"garbage first", frame.Headers, 0, "Starting server…\nwarning: foo\n\nContent-Length: 1\r\n\r\na", []string{"a", "! EOF"}},
		{"garbage before a header", frame.Headers, 0, "Loading… Content-Length: 1\r\n\r\na", []string{"a", "! EOF"}},
		{"no length", frame.Headers, 0, "Content-Type: x\r\n\r\nContent-Length: 1\r\n\r\na", []string{"! message header: no Content-Length", "a", "! EOF"}},
		{"negative", frame.Headers, 0, "Content-Length: -5\r\n\r\nContent-Length: 1\r\n\r\na", []string{`! message header: Content-Length is "-5"`, "a", "! EOF"}},
		{"not a number", frame.Headers, 0, "Content-Length: 0x5\r\n\r\nContent-Length: 1\r\n\r\na", []string{`! message header: Content-Length is "0x5"`, "a", "! EOF"}},
		{"too large a number", frame.Headers, 0, "Content-Length: 99999999999999999999\r\n\r\n", []string{`! message header: Content-Length is "99999999999999999999"`, "! EOF"}},
		{"two lengths", frame.Headers, 0, "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", []string{"! message header: two different Content-Length headers", "! EOF"}},
		{"one length twice", frame.Headers, 0, "Content-Length: 1\r\nContent-Length: 1\r\n\r\na", []string{"a", "! EOF"}},
		{"over", frame.Headers, 10, "Content-Length: 100\r\n\r\n" + long + "Content-Length: 1\r\n\r\na", []string{"! message of 100 bytes is over the limit of 10", "a", "! EOF"}},
		{"torn body", frame.Headers, 0, "Content-Length: 5\r\n\r\nab", []string{"! unexpected EOF"}},
		{"torn header", frame.Headers, 0, "Content-Length: 5\r\n", []string{"! unexpected EOF"}},
		{"torn line", frame.Headers, 0, "Content-Le", []string{"! unexpected EOF"}},
		{"long garbage line", frame.Headers, 0, huge + "\nContent-Length: 1\r\n\r\na", []string{"a", "! EOF"}},
	}
	for _, tt := range tests {
		t.Run(tt.framing.String()+"/"+tt.name, func(t *testing.T) {
			for _, slow := range []bool{false, true} {
				var in io.Reader = strings.NewReader(tt.in)
				if slow {
					in = iotest.OneByteReader(in)
				}
				if diff := cmp.Diff(tt.want, readAll(tt.framing.NewReader(in, tt.max))); diff != "" {
					t.Errorf("one byte at a time %v (-want +got):\n%s", slow, diff)
				}
			}
		})
	}
}

// The error for a message over the limit keeps its first and last bytes.
func TestReader_KeepsTheEndsOfLongMessages(t *testing.T) {
	for _, size := range []int{11, 100, 4 << 10, 5 << 10, 9 << 10, 200 << 10} {
		msg := make([]byte, size)
		for i := range msg {
			msg[i] = 'a' + byte(i%23)
		}
		for _, limit := range []int{10, 4 << 10, size - 1} {
			for _, f := range []frame.Framing{frame.Lines, frame.Headers} {
				_, err := f.NewReader(bytes.NewReader(f.Append(nil, msg)), limit).Read()
				long, ok := errors.AsType[*frame.TooLongError](err)
				if size <= limit {
					continue
				}
				kept := min(size, 4<<10)
				if !ok || long.Size != int64(size) || !bytes.Equal(long.Head, msg[:kept]) || !bytes.HasSuffix(msg, long.Tail) || len(long.Tail) < kept-1 {
					t.Errorf("%v: %d bytes with a limit of %d: %v, %d bytes of head, %d of tail", f, size, limit, err, len(long.Head), len(long.Tail))
				}
			}
		}
	}
}

func TestReader_PassesReadErrorsOn(t *testing.T) {
	broken := errors.New("cable cut")
	for _, f := range []frame.Framing{frame.Lines, frame.Headers} {
		r := f.NewReader(io.MultiReader(strings.NewReader("Content-Length: 9\r\n\r\n"), iotest.ErrReader(broken)), 0)
		var err error
		for err == nil || frame.Recoverable(err) {
			_, err = r.Read()
		}
		if !errors.Is(err, broken) {
			t.Errorf("%v: err = %v", f, err)
		}
	}
}

// FuzzReader checks that no input makes a reader panic, hang or return more than the limit, and that a reader returns the messages
// that its framing has written.
func FuzzReader(f *testing.F) {
	f.Add([]byte("a\nb\n"))
	f.Add([]byte("Content-Length: 3\r\n\r\nabc"))
	f.Add([]byte("Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc"))
	f.Add([]byte("\xff\x00\r\n\r\n\r\nContent-Length: 18446744073709551616\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		const limit = 64
		for _, fr := range []frame.Framing{frame.Lines, frame.Headers} {
			r := fr.NewReader(bytes.NewReader(data), limit)
			for reads := 0; ; reads++ {
				msg, err := r.Read()
				if err != nil && !frame.Recoverable(err) {
					break
				}
				if len(msg) > limit {
					t.Fatalf("%v: %d bytes over the cap", fr, len(msg))
				}
				if reads > len(data)+1 {
					t.Fatalf("%v: more reads than bytes", fr)
				}
			}
			msg := bytes.TrimSpace(bytes.ReplaceAll(data, []byte("\n"), nil))
			if len(msg) == 0 || len(msg) > limit {
				continue
			}
			stream := fr.Append(fr.Append(nil, msg), msg)
			want := []string{string(msg), string(msg), "! EOF"}
			if diff := cmp.Diff(want, readAll(fr.NewReader(bytes.NewReader(stream), limit))); diff != "" {
				t.Fatalf("%v: round trip (-want +got):\n%s", fr, diff)
			}
		}
	})
}

func BenchmarkReader(b *testing.B) {
	for _, f := range []frame.Framing{frame.Lines, frame.Headers} {
		msg := bytes.Repeat([]byte("z"), 200)
		var stream []byte
		for range 1000 {
			stream = f.Append(stream, msg)
		}
		b.Run(fmt.Sprint(f), func(b *testing.B) {
			b.SetBytes(int64(len(stream)))
			b.ReportAllocs()
			for b.Loop() {
				r := f.NewReader(bytes.NewReader(stream), 0)
				for {
					if _, err := r.Read(); err != nil {
						break
					}
				}
			}
		})
	}
}
