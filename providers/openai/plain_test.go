package openai

import (
	"testing"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// The fast paths agree with the decoder, and leave everything else to it.
func TestPlainContent(t *testing.T) {
	const head, tail = `{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":`, `,"logprobs":null,"finish_reason":null}],"usage":null}`
	for body, want := range map[string]string{
		head + `{"content":"a\nb 🌍"}` + tail:                       "a\nb 🌍",
		head + `{"role":"assistant","content":"\"delta\""}` + tail: `"delta"`,
		head + `{"content":"","refusal":null}` + tail:              "",
		`{ "choices" : [ { "delta" : { "content" : "x" } } ] }`:    "x",
	} {
		if got, ok := plainContent([]byte(body)); !ok || got != want {
			t.Errorf("%s: %q, %t", body, got, ok)
		}
	}
	for _, body := range []string{
		head + `{"content":"a","reasoning_content":"b"}` + tail,
		head + `{"content":"a","tool_calls":[{}]}` + tail,
		head + `{"content":[{"type":"text","text":"a"}]}` + tail,
		head + `{"content":null}` + tail,
		head + `{}` + tail,
		head + `{"content":"a"},"logprobs":null,"finish_reason":"stop"}]}`,
		head + `{"content":"a"},"finish_reason":null},{"index":1,"delta":{"content":"b"}}]}`,
		head + `{"content":"a"},"finish_reason":null}],"usage":{"prompt_tokens":1}}`,
		head + `{"content":"a"},"finish_reason":null},{"index":0,"finish_reason":"stop"}]}`,
		`{"choices":[{"index":1,"delta":{"content":"a"}}]}`,
		`{"choices":[{"delta":{"content":"a"}}],"error":{"message":"x"}}`,
		`{"choices":[{"delta":{"content":"a"}}],"something":1}`,
		`{"choices":[{"message":{"content":"a"}}]}`,
		`{"choices":[]}`, `{"choices":null}`, `[]`, `null`, ``, `{"choices":[{"delta":{"content":"a`, `{"choices":[{"delta":{"content":"a"}}]} x`,
		"{\"choices\":[{\"delta\":{\"content\":\"a\xff\"}}]}",
	} {
		if got, ok := plainContent([]byte(body)); ok {
			t.Errorf("%s: %q", body, got)
		}
	}
}

func TestPlainDelta(t *testing.T) {
	body := `{"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_1","output_index":2,"content_index":0,"delta":"Hi\n","logprobs":[],"obfuscation":"x"}`
	if text, key, ok := plainDelta([]byte(body)); !ok || string(key) != "msg_1" || text != "Hi\n" {
		t.Errorf("%q, %q, %t", text, key, ok)
	}
	for _, body := range []string{
		`{"type":"response.refusal.delta","item_id":"m","delta":"a"}`, `{"item_id":"m","delta":"a"}`, `{"type":"response.output_text.delta","item_id":"m","delta":{"a":1}}`,
		`{"type":"response.output_text.delta","item_id":"m","delta":"a","error":{}}`, `{"type":"response.output_text.delta","item_id":"m","delta":"a"`,
		`{"type":"response.output_text.delta","delta":"a","output_index":1}`, `{"type":"response.output_text.delta","item_id":"","delta":"a"}`,
		`{"type":"response.output_text.delta","item_id":"a\\b","delta":"a"}`, `{"type":"response.output_text.delta","item_id":7,"delta":"a"}`,
	} {
		if text, _, ok := plainDelta([]byte(body)); ok {
			t.Errorf("%s: %q", body, text)
		}
	}
}

// FuzzPlain compares both fast paths with the decoder.
func FuzzPlain(f *testing.F) {
	f.Add([]byte(`{"choices":[{"index":0,"delta":{"content":"a"}}]}`))
	f.Add([]byte(`{"type":"response.output_text.delta","item_id":"m","output_index":1,"delta":"a"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if text, ok := plainContent(data); ok {
			var c chunk
			if err := jsonx.Unmarshal(data, &c); err == nil {
				got, _ := jsonx.Text(c.Choices[0].Delta.Content)
				if len(c.Choices) != 1 || got != text || c.Choices[0].FinishReason != "" || c.Usage.Known {
					t.Errorf("%s: %q, the decoder says %+v", data, text, c)
				}
			}
		}
		if text, key, ok := plainDelta(data); ok {
			var ev responsesEvent
			if err := jsonx.Unmarshal(data, &ev); err == nil && (ev.Type != "response.output_text.delta" || ev.Delta != text || string(ev.ItemID) != string(key)) {
				t.Errorf("%s: %q of %q, the decoder says %+v", data, text, key, ev)
			}
		}
	})
}
