package transcript_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent/transcript"
	"github.com/gajae-code/gjc/internal/jsonx"
)

// large returns a session of about the given number of bytes, with a turn of three entries for each 12 KB.
func large(size int) *transcript.Session {
	b := new(branch)
	output := strings.Repeat("ok  \tgithub.com/acme/demo/lines\t0.12s\n", 200)
	for i := 0; size > 0; i++ {
		b.user(text(fmt.Sprintf("Step %d, please.", i)))
		b.answer(10000+i, text(reply), call(fmt.Sprint("c", i), "bash", `{"command":"go test ./..."}`))
		b.result(fmt.Sprint("c", i), "bash", output, fmt.Sprintf(
			`{"title":"go test","kind":"execute","content":[{"type":"text","text":%s},{"type":"diff","path":"/w/a.go","oldText":"a\nb\nc\n","newText":"a\nd\nc\n"}]}`, jsonx.AppendString(nil, output),
		), false)
		size -= 2*len(output) + len(reply)
	}
	return &transcript.Session{ID: "large", Branch: b.entries}
}

func BenchmarkWrite(b *testing.B) {
	const size = 50 << 20
	s := large(size)
	for _, f := range []transcript.Format{transcript.HTML, transcript.Markdown, transcript.JSON} {
		b.Run(string(f), func(b *testing.B) {
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				if err := transcript.Write(io.Discard, s, f); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
