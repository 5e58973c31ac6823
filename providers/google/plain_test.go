package google

import (
	"testing"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// plainText agrees with the decoder, and rejects everything else.
func TestPlainText(t *testing.T) {
	const head, tail = `{"candidates":[{"content":{"parts":[`, `],"role":"model"},"index":0}],"modelVersion":"m","responseId":"r"`
	for body, want := range map[string]string{
		head + `{"text":"a\nb 🌍"}` + tail + `}`:                                     "a\nb 🌍",
		head + `{"text":""}` + tail + `,"usageMetadata":{"promptTokenCount":7}}`:    "",
		`{ "candidates" : [ { "content" : { "parts" : [ { "text" : "x" } ] } } ] }`: "x",
	} {
		if got, _, ok := plainText([]byte(body)); !ok || got != want {
			t.Errorf("%s: %q, %t", body, got, ok)
		}
	}
	if _, used, _ := plainText([]byte(head + `{"text":"a"}` + tail + `,"usageMetadata":{"promptTokenCount":7}}`)); string(used) != `{"promptTokenCount":7}` {
		t.Errorf("used %s", used)
	}
	for _, body := range []string{
		head + `{"text":"a","thought":true}` + tail + `}`,
		head + `{"text":"a","thoughtSignature":"s"}` + tail + `}`,
		head + `{"text":"a"},{"text":"b"}` + tail + `}`,
		head + `{"text":"a"},{"functionCall":{"name":"f"}}` + tail + `}`,
		head + `{"functionCall":{"name":"f"}}` + tail + `}`,
		head + `{"text":1}` + tail + `}`,
		head + `{}` + tail + `}`,
		head + tail + `}`,
		head + `{"text":"a"}` + tail + `,"error":{"code":1}}`,
		head + `{"text":"a"}` + tail + `,"promptFeedback":{"blockReason":"SAFETY"}}`,
		head + `{"text":"a"}` + tail + `,"usageMetadata":null}`,
		head + `{"text":"a"}],"role":"model"},"finishReason":"STOP","index":0}]}`,
		head + `{"text":"a"}],"role":"model"},"index":1}]}`,
		head + `{"text":"a"}],"role":"model"},"index":0},{"content":{},"index":0}]}`,
		head + `{"text":"a"}],"role":"model"},"index":0},{"finishReason":"STOP"}]}`,
		`{"candidates":[]}`, `{"candidates":null}`, `{"usageMetadata":{}}`, `[]`, `null`, ``, head + `{"text":"a`, head + `{"text":"a"}` + tail + `} x`,
		head + "{\"text\":\"a\xff\"}" + tail + "}",
	} {
		if got, _, ok := plainText([]byte(body)); ok {
			t.Errorf("%s: %q", body, got)
		}
	}
}

// FuzzPlainText compares plainText with the decoder.
func FuzzPlainText(f *testing.F) {
	f.Add([]byte(`{"candidates":[{"content":{"parts":[{"text":"a"}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":7}}`))
	f.Add([]byte(`{"candidates":[{"content":{"parts":[{"text":"a","thought":true}]},"index":0}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		text, used, ok := plainText(data)
		if !ok {
			return
		}
		var c chunk
		if err := jsonx.Unmarshal(data, &c); err != nil {
			return // a member that plainText ignores has the wrong type
		}
		if len(c.Candidates) != 1 || len(c.Candidates[0].Content.Parts) != 1 || c.Candidates[0].FinishReason != "" || (used != nil) != c.Usage.Known ||
			c.Candidates[0].Content.Parts[0] != (answerPart{Text: text}) || c.Feedback.BlockReason != "" || c.Error != nil {
			t.Errorf("%s: %q, the decoder says %+v", data, text, c)
		}
	})
}
