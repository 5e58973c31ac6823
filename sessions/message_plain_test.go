package sessions_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/sessions"
)

// Every message that this program writes is decoded in one pass, with the same result as with its envelope first.
func TestPlainMessage_AcceptsWhatIsWritten(t *testing.T) {
	s := newStore(t)
	l := create(t, s)
	for _, m := range everyPart() {
		appendMessage(t, l, m)
	}
	for line := range strings.Lines(strings.SplitN(readFile(t, l.Path()), "\n", 2)[1]) {
		fast, lenient, ok := sessions.DecodeBothWays([]byte(strings.TrimSuffix(line, "\n")))
		if !ok {
			t.Errorf("not taken: %s", line)
		}
		if diff := cmp.Diff(lenient, fast); diff != "" {
			t.Errorf("%s(-lenient +fast):\n%s", line, diff)
		}
	}
}

func FuzzPlainMessage(f *testing.F) {
	for _, version := range []string{"v2", "v3"} {
		for line := range strings.Lines(readFile(f, "testdata/"+version+".jsonl")) {
			f.Add([]byte(strings.TrimSuffix(line, "\n")))
		}
	}
	for line := range strings.Lines(readFile(f, "testdata/written.golden.jsonl")) {
		f.Add([]byte(strings.TrimSuffix(line, "\n")))
	}
	for _, message := range []string{
		`{"role":"user","content":null,"timestamp":null}`, `{"role":"user","content":[],"timestamp":-1}`,
		`{"role":"toolResult","details":null,"isError":true}`, `{"role":"assistant","usage":{"input":1.5},"content":[{"type":"toolCall"}]}`,
		`{"role":"assistant","usage":null,"timestamp":1e300}`, `{"role":"user","content":"plain"}`, `{"role":"hookMessage","content":[]}`,
		`null`, `{"role":null}`, `{"role":"user","role":"user"}`,
	} {
		f.Add([]byte(`{"type":"message","id":"a","parentId":"b","timestamp":"2026-02-16T10:20:31.000Z","message":` + message + `}`))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		fast, lenient, ok := sessions.DecodeBothWays(line)
		if !ok {
			return
		}
		if diff := cmp.Diff(lenient, fast); diff != "" {
			t.Errorf("(-lenient +fast):\n%s", diff)
		}
	})
}
