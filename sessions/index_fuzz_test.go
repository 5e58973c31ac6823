package sessions_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/sessions"
)

func FuzzIndex(f *testing.F) {
	s := newStore(f, unsynced)
	for _, cwd := range []string{"/w/a", "/w/b"} {
		l := addSession(f, s, sessions.Header{Cwd: cwd, AdditionalDirectories: []string{"/x", "/y"}}, 1, user("hello"))
		l = open(f, s, l.ID())
		if err := l.SetTitle("named", "user"); err != nil {
			f.Fatal(err)
		}
		closeLog(f, l)
	}
	place(f, s, "bad", "no session")
	place(f, s, "x", header3+entryLine("a", "", "x"))
	list(f, s, sessions.ListOptions{})
	data, err := os.ReadFile(filepath.Join(s.Dir(), "index"))
	if err != nil {
		f.Fatal(err)
	}
	body := sessions.IndexBody(data)
	if read, same := sessions.IndexRoundTrip(body); !read || !same {
		f.Fatalf("a good index: read %t, same %t", read, same)
	}
	f.Add(body)
	f.Add([]byte{})
	f.Add([]byte{1, 1, 'a', 0, 0, 0xff, 0xff, 0xff, 0xff, 7})
	f.Fuzz(func(t *testing.T, body []byte) {
		if read, same := sessions.IndexRoundTrip(body); read && !same {
			t.Error("what was read is another when it is written and read again")
		}
	})
}

// scanSamples are valid and invalid session files.
var scanSamples = []string{
	"",
	"\n \n" + header3 + entryLine("a", "", "hello") + entryLine("b", "a", "more"),
	header3 + entryLine("a", "", "hello") + strings.TrimSuffix(entryLine("b", "a", "no newline"), "\n"),
	header3 + entryLine("a", "", "hello") + entryLine("b", "a", "torn")[:70],
	header3 + entryLine("a", "", "hello") + strings.Repeat("\x00", 300),
	header3 + `{"type":"custom","id":"a","parentId":null,"timestamp":"2026-02-16T10:20:31.000Z","customType":"gjc.title","data":{"title":"mine","source":"user"}}` + "\n" +
		`{"type":"custom","id":"b","parentId":"a","timestamp":"2026-02-16T10:20:32.000Z","customType":"gjc.title","data":{"title":"auto","source":"auto"}}` + "\n",
	header3 + `{ "timestamp": "2026-02-16T10:20:33Z", "type": "message", "message": {"content": "plain", "role": "user"} }` + "\r\n{}\n",
	header3 + `{"type":"compaction","id":"a","parentId":null,"timestamp":"2026-02-16T10:20:31.000Z","summary":"s","shortSummary":"short\nmore"}` + "\n",
	header3 + `{"type":"custom","id":"a\"","parentId":null,"timestamp":"x","customType":"gjc.directories","data":{"directories":["/a"]}}` + "\n{\n}\n",
	strings.Replace(header3, `"version":3`, `"version":9`, 1) + entryLine("a", "", "x"),
	"\x7fELF\x02\x01\x01\x00\n\x00\n",
	`{"type":"session","id":"old","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/w"}`,
}

// A scan in steps has the same result as a scan of the whole file, wherever the steps end.
func FuzzScan(f *testing.F) {
	for i, s := range scanSamples {
		f.Add([]byte(s), uint16(i*37), uint16(i*91))
	}
	f.Fuzz(func(t *testing.T, data []byte, first, second uint16) {
		checkSplit(t, data, int(first), int(second))
	})
}

func checkSplit(t *testing.T, data []byte, first, second int) {
	t.Helper()
	first = min(first, len(data))
	second = min(max(first, second), len(data))
	whole, err := sessions.ScanParts(data)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := sessions.ScanParts(data[:first], data[first:second], data[second:])
	if err != nil {
		t.Fatal(err)
	}
	if !whole.Same(&parts) {
		t.Errorf("split at %d and %d:\n%+v\nat once:\n%+v", first, second, parts, whole)
	}
}

func TestScan_AnySplit(t *testing.T) {
	for _, s := range scanSamples {
		for i := range len(s) {
			checkSplit(t, []byte(s), i, i+1)
			checkSplit(t, []byte(s), i/2, i)
		}
	}
}

func TestScan_LongLines(t *testing.T) {
	line := func(size int) string {
		short := entryLine("a", "", "x")
		return strings.Replace(short, `"text":"x"`, `"text":"`+strings.Repeat("x", size+1-len(short)+1)+`"`, 1)
	}
	if n := len(line(5000)); n != 5001 {
		t.Fatalf("a line has %d bytes", n)
	}
	for _, size := range []int{
		sessions.ScanBuffer - 1, sessions.ScanBuffer, sessions.ScanBuffer + 1, 300_000,
		sessions.MaxScanLine - 1, sessions.MaxScanLine, sessions.MaxScanLine + 1, 5 * sessions.MaxScanLine,
	} {
		long := line(size)
		data := []byte(header3 + long + entryLine("b", "a", "short") + long + entryLine("c", "b", "end"))
		got, err := sessions.ScanParts(data)
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Repeat("x", 79) + "…"
		if size >= sessions.MaxScanLine {
			want = "short" // such a line is counted and not decoded
		}
		if got.Messages != 4 || got.Title != want {
			t.Errorf("size %d: %d messages, title %q", size, got.Messages, got.Title)
		}
		for _, at := range []int{len(header3) + 10, len(header3) + size/2, len(header3) + len(long) - 1, len(header3) + len(long), len(data) - size} {
			checkSplit(t, data, at, at+1)
		}
		// The whole file is one line.
		if got, err := sessions.ScanParts(bytes.TrimSuffix([]byte(long), []byte{'\n'})); err != nil || got.Reason == "" {
			t.Errorf("size %d: a file without a header: %+v, %v", size, got, err)
		}
	}
}

func TestScan_ReadsAReplacedFile(t *testing.T) {
	known := header3 + entryLine("a", "", "first") +
		`{"type":"custom","id":"b","parentId":"a","timestamp":"2026-02-16T10:20:31.000Z","customType":"gjc.title","data":{"title":"second"}}` + "\n"
	for name, now := range map[string]string{
		"header":   strings.Replace(known, "/w/demo", "/w/DEMO", 1) + entryLine("c", "b", "third"),
		"entries":  strings.Replace(known, "second", "SECOND", 1) + entryLine("c", "b", "third"),
		"no line":  known[:len(known)-1] + " " + entryLine("c", "b", "third"),
		"shorter":  header3 + entryLine("a", "", "first"),
		"emptied":  "",
		"replaced": "binary \x00\x01",
	} {
		want, err := sessions.ScanParts([]byte(now))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := sessions.ScanReplaced([]byte(known), []byte(now)); err != nil || !got.Same(&want) {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, want)
		}
	}
}
