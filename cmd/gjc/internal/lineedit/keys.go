package lineedit

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"
)

// Code says what a [Key] does.
type Code int

// The keys, by what they do. Char, Paste and Line have a text.
const (
	Unknown   Code = iota
	Char           // Text is one character
	Paste          // Text was pasted, and may have several lines
	Line           // Text is a whole line from an input that is not in raw mode
	Enter          // submits
	NewLine        // Alt-Enter, Ctrl-J
	Tab            // completes
	Escape         //
	Backspace      //
	Delete         //
	Left           //
	Right          //
	WordLeft       //
	WordRight      //
	Home           //
	End            //
	Up             //
	Down           //
	KillLine       // Ctrl-U: what is to the left
	KillRight      // Ctrl-K
	KillWord       // Ctrl-W, Alt-Backspace: the word to the left
	Yank           // Ctrl-Y: what was removed last
	Redraw         // Ctrl-L
	Search         // Ctrl-R: back in the history
	Interrupt      // Ctrl-C
	EndOfFile      // Ctrl-D
	Suspend        // Ctrl-Z
)

// Key is a key that was pressed.
type Key struct {
	Code Code
	Text string
}

// controls are the keys of one byte.
var controls = [128]Code{
	1: Home, 2: Left, 3: Interrupt, 4: EndOfFile, 5: End, 6: Right, 8: Backspace, '\t': Tab, '\n': NewLine, 11: KillRight, 12: Redraw, '\r': Enter,
	14: Down, 16: Up, 18: Search, 21: KillLine, 23: KillWord, 25: Yank, 26: Suspend, 127: Backspace,
}

// sequence returns the key of an escape sequence, without the escape character, of xterm and of the terminals that follow it.
func sequence(s string) Code {
	switch s {
	case "[A", "OA":
		return Up
	case "[B", "OB":
		return Down
	case "[C", "OC":
		return Right
	case "[D", "OD":
		return Left
	case "[H", "OH", "[1~", "[7~":
		return Home
	case "[F", "OF", "[4~", "[8~":
		return End
	case "[3~":
		return Delete
	case "[1;5C", "[1;3C", "f":
		return WordRight
	case "[1;5D", "[1;3D", "b":
		return WordLeft
	case "\r", "\n", "[13;2u", "[27;2;13~":
		return NewLine
	case "\x7f", "\x08":
		return KillWord
	default:
		return Unknown
	}
}

// The marks of bracketed paste.
const (
	pasteBegin = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// MaxPaste bounds a pasted text and a line, in bytes. The rest is dropped.
const MaxPaste = 1 << 20

// decoder finds keys in the bytes that a terminal sends. The zero value is ready.
type decoder struct {
	rest    []byte // the beginning of a key
	pasting bool
}

// feed returns the keys in more bytes. A terminal sends all bytes of a key at once, so an escape character at the end is the key Escape;
// longer beginnings wait for their end, as a slow line may divide them.
func (d *decoder) feed(more []byte) []Key {
	d.rest = append(d.rest, more...)
	var keys []Key
	for len(d.rest) > 0 {
		key, n := d.next()
		if n == 0 {
			break
		}
		d.rest = d.rest[n:]
		if key.Code != Unknown {
			keys = append(keys, key)
		}
	}
	return keys
}

// next returns the first key and its length; 0 if it is incomplete.
func (d *decoder) next() (Key, int) {
	if d.pasting {
		return d.pasted()
	}
	b := d.rest
	switch c := b[0]; {
	case c == 0x1b:
		return d.escape()
	case c < ' ' || c == 0x7f:
		return Key{Code: controls[c]}, 1
	case !utf8.FullRune(b):
		return Key{}, 0
	default:
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError {
			return Key{}, n
		}
		return Key{Char, string(b[:n])}, n
	}
}

// pasted returns the text up to the end mark. Of a longer text than [MaxPaste] it returns the beginning and skips the rest.
func (d *decoder) pasted() (Key, int) {
	text, _, whole := bytes.Cut(d.rest, []byte(pasteEnd))
	if !whole {
		if len(d.rest) > 2*MaxPaste { // the end mark may be divided
			d.rest = append(d.rest[:MaxPaste:MaxPaste], d.rest[len(d.rest)-len(pasteEnd):]...)
		}
		return Key{}, 0
	}
	d.pasting = false
	clean := strings.ToValidUTF8(string(text[:min(len(text), MaxPaste)]), "")
	return Key{Paste, strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(clean)}, len(text) + len(pasteEnd)
}

// maxSequence bounds an escape sequence, in bytes.
const maxSequence = 32

func (d *decoder) escape() (Key, int) {
	b := d.rest
	if len(b) == 1 {
		return Key{Code: Escape}, 1
	}
	if bytes.HasPrefix(b, []byte(pasteBegin)) {
		d.pasting = true
		return Key{}, len(pasteBegin)
	}
	n := sequenceLength(b)
	switch {
	case n == 0 && len(b) > maxSequence:
		return Key{}, len(b)
	case n == 0:
		return Key{}, 0
	}
	return Key{Code: sequence(string(b[1:n]))}, n
}

// sequenceLength returns the length of the escape sequence with which b begins; 0 if its end is missing.
func sequenceLength(b []byte) int {
	switch b[1] {
	case '[': // CSI: parameters and intermediates, then a final byte
		for i := 2; i < len(b); i++ {
			if b[i] >= 0x40 && b[i] <= 0x7e {
				return i + 1
			}
		}
		return 0
	case 'O': // SS3
		if len(b) < 3 {
			return 0
		}
		return 3
	default:
		if !utf8.FullRune(b[1:]) {
			return 0
		}
		_, n := utf8.DecodeRune(b[1:])
		return 1 + n
	}
}

// ReadKeys reads keys from a terminal in raw mode and gives them to press, until the input ends or done is closed. It returns the error of
// reading; nil at the end of the input.
func ReadKeys(r io.Reader, done <-chan struct{}, keys chan<- Key) error {
	var d decoder
	buf := make([]byte, 4096)
	for {
		n, err := r.Read(buf)
		for _, key := range d.feed(buf[:n]) {
			select {
			case keys <- key:
			case <-done:
				return nil
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
