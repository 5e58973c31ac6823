package lineedit

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestKeys(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     []Key
	}{
		{"characters", "aé한", []Key{{Char, "a"}, {Char, "é"}, {Char, "한"}}},
		{"controls", "\x01\x03\x04\r\n\t\x7f\x08", []Key{{Code: Home}, {Code: Interrupt}, {Code: EndOfFile}, {Code: Enter}, {Code: NewLine}, {Code: Tab}, {Code: Backspace}, {Code: Backspace}}},
		{"arrows", "\x1b[A\x1bOB\x1b[1;5C\x1bb", []Key{{Code: Up}, {Code: Down}, {Code: WordRight}, {Code: WordLeft}}},
		{"new line", "\x1b\r\x1b[13;2u", []Key{{Code: NewLine}, {Code: NewLine}}},
		{"unknown sequences", "\x1b[15~\x1b[200;1Ha", []Key{{Char, "a"}}},
		{"paste", "\x1b[200~one\r\ntwo\rthree\x03\x1b[201~x", []Key{{Paste, "one\ntwo\nthree\x03"}, {Char, "x"}}},
		{"invalid UTF-8", "\xffa\xc3(", []Key{{Char, "a"}, {Char, "("}}},
		{"Escape", "\x1b", []Key{{Code: Escape}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var d decoder
			if diff := cmp.Diff(tt.want, d.feed([]byte(tt.in))); diff != "" {
				t.Errorf("at once (-want +got):\n%s", diff)
			}
			if tt.in == "\x1b" {
				return
			}
			// A slow line may divide everything but the escape character from what follows it.
			var slow decoder
			var got []Key
			for _, part := range divide(tt.in) {
				got = append(got, slow.feed([]byte(part))...)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("byte by byte (-want +got):\n%s", diff)
			}
		})
	}
}

// divide returns the bytes of s, but each escape character with the byte after it.
func divide(s string) []string {
	var parts []string
	for i := 0; i < len(s); i++ {
		n := 1
		if s[i] == 0x1b && i+1 < len(s) {
			n = 2
		}
		parts = append(parts, s[i:i+n])
		i += n - 1
	}
	return parts
}

// A pasted text that never ends must not fill the memory, and a long one loses its end only.
func TestKeys_longPaste(t *testing.T) {
	var d decoder
	d.feed([]byte(pasteBegin + "begin"))
	for range 5 {
		if keys := d.feed([]byte(strings.Repeat("x", MaxPaste))); keys != nil {
			t.Fatalf("%d keys before the end", len(keys))
		}
	}
	if len(d.rest) > 2*MaxPaste {
		t.Errorf("%d bytes are kept", len(d.rest))
	}
	keys := d.feed([]byte(pasteEnd + "y"))
	if len(keys) != 2 || keys[0].Code != Paste || len(keys[0].Text) != MaxPaste || !strings.HasPrefix(keys[0].Text, "beginxxx") || keys[1] != (Key{Char, "y"}) {
		t.Errorf("%d keys", len(keys))
	}
}

func TestReadKeys(t *testing.T) {
	keys := make(chan Key, 10)
	if err := ReadKeys(iotest.OneByteReader(strings.NewReader("a한")), nil, keys); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Key{{Char, "a"}, {Char, "한"}}, []Key{<-keys, <-keys}); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	broken := errors.New("broken")
	if err := ReadKeys(iotest.ErrReader(broken), nil, keys); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	done := make(chan struct{})
	close(done)
	r, w := io.Pipe()
	go func() { _, _ = w.Write([]byte("abc")) }() // ends with the reader
	if err := ReadKeys(r, done, make(chan Key)); err != nil {
		t.Error(err)
	}
	_ = r.Close()
}

// No input makes the decoder lose its place: what comes after the end of a sequence is found again.
func FuzzKeys(f *testing.F) {
	f.Add([]byte("a\x1b[A"), []byte("\x1b[200~x\x1b[201~"))
	f.Add([]byte("\x1b[1;"), []byte("5C한"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		var d decoder
		for _, key := range append(d.feed(a), d.feed(b)...) {
			if (key.Code == Char || key.Code == Paste) != (key.Text != "" || key.Code == Paste) || !utf8.ValidString(key.Text) {
				t.Errorf("key %+v", key)
			}
			if key.Code == Char && utf8.RuneCountInString(key.Text) != 1 {
				t.Errorf("key %+v", key)
			}
		}
		d.feed([]byte(strings.Repeat("~", maxSequence+2))) // the end of any sequence
		if d.pasting {
			d.feed([]byte(pasteEnd))
		}
		keys := d.feed([]byte("xyz"))
		if n := len(keys); n < 3 || keys[n-1] != (Key{Char, "z"}) {
			t.Errorf("after %q and %q, the keys are %v", a, b, keys)
		}
	})
}
