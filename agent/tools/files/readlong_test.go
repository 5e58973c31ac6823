package files_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent/tools/toolstest"
)

// makeLong writes a file of at least n bytes with numbered lines and returns their number.
func makeLong(t testing.TB, path string, n int64, end string) (lines int) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}()
	var b bytes.Buffer
	for written := int64(0); written < n; {
		b.Reset()
		for b.Len() < 1<<20 {
			lines++
			fmt.Fprintf(&b, "%09d some words of a log that has grown too long, as logs do%s", lines, end)
		}
		if _, err := f.Write(b.Bytes()); err != nil {
			t.Fatal(err)
		}
		written += int64(b.Len())
	}
	return lines
}

// A file that is too long to be read whole shows the same windows, and is never read whole.
func TestReadLong(t *testing.T) {
	w := toolstest.NewWorld(t, nil)
	total := makeLong(t, w.Path("big.log"), 65<<20, "\r\n")
	line := func(n int) string {
		return fmt.Sprintf("%5d|%09d some words of a log that has grown too long, as logs do", n, n)
	}
	for path, want := range map[string]string{
		"big.log:10-11":   line(9) + "\n" + line(10) + "\n" + line(11) + "\n" + line(12) + "\n" + line(13) + "\n" + line(14),
		"big.log:3,900+1": line(2) + "\n...",
		"big.log:700000-": line(699999) + "\n...",
		"big.log:" + strconv.Itoa(total) + "-" + strconv.Itoa(total+9) + "," + strconv.Itoa(total+100): line(total-1) + "\n" + line(total) +
			"\n\n[Line " + strconv.Itoa(total+100) + " is beyond the end: big.log has " + strconv.Itoa(total) + " lines.]",
		"big.log:" + strconv.Itoa(total+1): "[Line " + strconv.Itoa(total+1) + " is beyond the end: big.log has " + strconv.Itoa(total) + " lines.]",
		"big.log:5-5:raw":                  line(5)[6:],
	} {
		got := toolstest.Run(t, w, "read", toolstest.Input{"path": path}).Text
		head, more := strings.CutSuffix(want, "...")
		if more && !strings.HasPrefix(got, head) || !more && got != want {
			t.Errorf("%s: %.300q, want %q", path, got, want)
		}
	}
	text := toolstest.Run(t, w, "read", toolstest.Input{"path": "big.log"}).Text
	if !strings.HasPrefix(text, line(1)+"\n") || !strings.HasSuffix(text, line(300)+"\n\n[big.log has 65 MiB; continue with big.log:301]") {
		t.Errorf("%q", text[len(text)-200:])
	}
	if len(w.FS.Reads) > 0 {
		t.Errorf("it was read whole: %v", w.FS.Reads)
	}
	if err := toolstest.Fails(t, w, "read", toolstest.Input{"path": "big.log:conflicts"}); !strings.Contains(err.Error(), "too much to read at once") {
		t.Errorf("%v", err)
	}
	stop := errors.New("the turn is over")
	ctx, cancel := context.WithCancelCause(t.Context())
	w.FS.Fail = func(op, _ string) error {
		if op == "open" {
			cancel(stop)
		}
		return nil
	}
	if _, _, err := toolstest.Do(ctx, toolstest.Tool(t, "read"), w.Call(t, "read", toolstest.Input{"path": "big.log:900000"})); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
}

// A long file may have any content.
func TestReadLong_OddFiles(t *testing.T) {
	w := toolstest.NewWorld(t, map[string]string{
		"line":  strings.Repeat("0123456789abcdef", 65<<16) + "\nsecond\n",
		"bad":   "first\nc\xE9\n" + strings.Repeat("word ", 14<<20),
		"later": "first\n\x00\n" + strings.Repeat("word ", 14<<20),
		"utf16": toolstest.UTF16LE(strings.Repeat("grüße\n", 6<<20)),
	})
	toolstest.Same(t, "one line", toolstest.Run(t, w, "read", toolstest.Input{"path": "line"}).Text,
		"    1|"+strings.Repeat("0123456789abcdef", 48)+"… [64 MiB more]\n    2|second")
	if got := toolstest.Run(t, w, "read", toolstest.Input{"path": "line:raw"}).Text; len(got) > 51<<10 || !strings.Contains(got, "Line 1 has 65 MiB; its first 50 KiB are shown.") {
		t.Errorf("%d bytes", len(got))
	}
	if got := toolstest.Run(t, w, "read", toolstest.Input{"path": "bad:1-2"}).Text; !strings.HasPrefix(got, "    1|first\n    2|c\uFFFD\n") || !strings.Contains(got, "is not UTF-8") {
		t.Errorf("%.100q", got)
	}
	for _, name := range []string{"later"} {
		if err := toolstest.Fails(t, w, "read", toolstest.Input{"path": name}); !strings.Contains(err.Error(), "the file is binary") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := toolstest.Run(t, w, "read", toolstest.Input{"path": "utf16:2-3"}).Text; !strings.HasPrefix(got, "    1|grüße\n    2|grüße\n") || !strings.HasSuffix(got, "[The file is UTF-16 (little endian).]") {
		t.Errorf("%.200q", got)
	}
	if runtime.GOOS == "windows" {
		return
	}
	// Reading a sparse file of ten gigabytes takes almost no time.
	if err := os.WriteFile(w.Path("sparse"), []byte("text\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(w.Path("sparse"), 10<<30); err != nil {
		t.Skipf("no sparse files here: %v", err)
	}
	if err := toolstest.Fails(t, w, "read", toolstest.Input{"path": "sparse:100"}); !strings.Contains(err.Error(), "(10240 MiB)") {
		t.Errorf("%v", err)
	}
}

// BenchmarkRead1GB reads windows of a 1 GB file. The budget of one near the start is 5 ms.
func BenchmarkRead1GB(b *testing.B) {
	w := toolstest.NewWorld(b, nil)
	total := makeLong(b, w.Path("big.log"), 1<<30, "\n")
	for name, at := range map[string]int{"start": 1, "line100000": 100_000, "end": total - 100} {
		b.Run(name, func(b *testing.B) {
			toolstest.Bench(b, w, "read", toolstest.Input{"path": fmt.Sprintf("big.log:%d-%d", at, at+100)})
		})
	}
}
