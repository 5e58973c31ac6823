package configfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"
)

func utf16le(s string) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = append(b, byte(u), byte(u>>8))
	}
	return b
}

// The byte order mark that some editors put before UTF-8 is not part of the first name. Invalid UTF-8 is reported as such.
func TestParse_Encodings(t *testing.T) {
	for name, parse := range map[string]func([]byte) (*Node, error){"YAML": ParseYAML, "JSON": ParseJSON} {
		const text = `{"secrets": {"enabled": true}}`
		for _, mark := range []string{"", "\ufeff", "\ufeff\ufeff"} {
			n, err := parse([]byte(mark + text))
			if err != nil || !n.Member("secrets").Member("enabled").True() {
				t.Errorf("%s with the mark %q: %+v, %v", name, mark, n, err)
			}
		}
		for what, data := range map[string][]byte{
			"UTF-16":                utf16le("\ufeff" + text),
			"UTF-16 without a mark": utf16le(text),
			"Latin 1":               []byte("{\"a\":\n\"caf\xe9\"}"),
		} {
			n, err := parse(data)
			e, ok := errors.AsType[*LineError](err)
			if !ok || !e.Plain || !strings.Contains(e.Text, "not UTF-8") || n != nil || IsText(data) {
				t.Errorf("%s in %s: %v, %v", name, what, n, err)
			}
			if what == "Latin 1" && e.Line != 2 {
				t.Errorf("it is said to be in line %d", e.Line)
			}
		}
	}
	if n, err := ParseYAML([]byte("\ufeff\n")); n != nil || err != nil {
		t.Errorf("a mark alone: %v, %v", n, err)
	}
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name string, data []byte) {
		t.Helper()
		if err := os.WriteFile(at(name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("most", make([]byte, maxBytes))
	write("more", make([]byte, maxBytes+1))
	if data, err := ReadFile(at("most")); err != nil || len(data) != maxBytes {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	if _, err := ReadFile(at("more")); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("too much: %v", err)
	}
	if _, err := ReadFile(at("none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing: %v", err)
	}
	if _, err := ReadFile(dir); !errors.Is(err, ErrNotFile) || !strings.Contains(err.Error(), dir) {
		t.Errorf("a directory: %v", err)
	}
	if data, err := ReadFile(os.DevNull); err != nil || len(data) > 0 {
		t.Errorf("the null device: %q, %v", data, err)
	}
	if err := os.Symlink(at("gone"), at("link")); err != nil {
		t.Skip("no links here")
	}
	if _, err := ReadFile(at("link")); !errors.Is(err, ErrNotFile) || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "a broken link") {
		t.Errorf("a link to nothing: %v", err)
	}
}
