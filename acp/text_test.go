package acp_test

import (
	"bufio"
	"context"
	"net"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gajae-code/gjc/acp"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// oddTexts are texts that JSON encoders treat differently.
var oddTexts = []string{
	"", "plain", "<", ">", "&", "<b>&amp;</b>", `"`, `\`, "\b\f\n\r\t", "\x00", "\x1f", "\x7f", "é", "\u2028", "\u2029", "\ufffd", "😀",
	"\xff", "a\xffb", "\xe2\x82", "\xe2", "\xf0\x9f\x98", "\xed\xa0\x80", "\xc0\x80", "é\xffé",
}

// The size rule agrees with the connection's encoder.
func TestEncodedSize(t *testing.T) {
	for _, text := range oddTexts {
		if got, want := acp.EncodedSize(text), len(sentText(t, text)); got != want {
			t.Errorf("EncodedSize(%q) = %d; the connection writes %d bytes", text, got, want)
		}
	}
}

// sentText returns the JSON string, without its quotes, that a connection writes for a text.
func sentText(t *testing.T, text string) string {
	t.Helper()
	const before, after = `"content":{"type":"text","text":"`, `"},"messageId":"m"`
	_, rest, ok := strings.Cut(sentLine(t, text), before)
	got, _, ok2 := strings.Cut(rest, after)
	if !ok || !ok2 {
		t.Fatalf("the update has another form: %s", rest)
	}
	return got
}

// sentLine returns the line that a connection writes for an update with a text.
func sentLine(t *testing.T, text string) string {
	t.Helper()
	x, y := net.Pipe()
	conn := acp.NewAgentConn(context.Background(), y, y, &acp.ConnOptions{Closer: y}, func(*acp.AgentConn) acp.Agent { return nil })
	defer func() { _ = x.Close(); <-conn.Done() }()
	if err := conn.Update(t.Context(), piece("m", text)); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(x).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return line
}

// The pieces make up the text, break between characters, and each fit in a line that every client accepts.
func TestSplitText(t *testing.T) {
	const maxLine = 64 << 10
	for _, text := range oddTexts {
		text = strings.Repeat(text, 100_000/max(len(text), 1))
		pieces := acp.SplitText(text)
		if strings.Join(pieces, "") != text {
			t.Errorf("the pieces of %.10q do not make up the text", text)
		}
		for _, p := range pieces {
			if n := len(sentLine(t, p)); n > maxLine {
				t.Errorf("a piece of %.10q makes a line of %d bytes", text, n)
			}
			if utf8.ValidString(text) && !utf8.ValidString(p) {
				t.Errorf("a character of %.10q is split", text)
			}
		}
	}
	if got := len(acp.SplitText(strings.Repeat("<", 64<<10))); got != 2 {
		t.Errorf("64 KiB of < make %d pieces, want 2: < is not escaped", got)
	}
}

// FuzzEncodedSize compares the size rule with the encoder for any text.
func FuzzEncodedSize(f *testing.F) {
	for _, text := range oddTexts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		encoded, err := jsonx.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := acp.EncodedSize(text), len(encoded)-len(`""`); got != want {
			t.Errorf("EncodedSize(%q) = %d, want %d", text, got, want)
		}
	})
}
