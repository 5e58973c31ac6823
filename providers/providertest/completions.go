package providertest

import (
	"strconv"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// OpenAICompletions is OpenAI's Chat Completions API.
func OpenAICompletions() Format {
	return Format{pattern: "/v1/chat/completions", base: "/v1", writer: func() eventWriter { return new(openAIWriter) }}
}

// openAIWriter writes OpenAI's Chat Completions API.
type openAIWriter struct{ calls int }

const chunkStart = `data: {"id":"chatcmpl-test","object":"chat.completion.chunk","created":1,"model":"test","choices":[{"index":0,"delta":{`

func (w *openAIWriter) chunk(b []byte, delta string) []byte {
	b = append(append(b, chunkStart...), delta...)
	return append(b, "},\"logprobs\":null,\"finish_reason\":null}]}\n\n"...)
}

func (w *openAIWriter) stringChunk(b []byte, member, value string) []byte {
	b = append(append(append(append(b, chunkStart...), '"'), member...), `":`...)
	b = jsonx.AppendString(b, value)
	return append(b, "},\"logprobs\":null,\"finish_reason\":null}]}\n\n"...)
}

func (w *openAIWriter) begin(b []byte, _ providers.Usage) []byte {
	return w.chunk(b, `"role":"assistant","content":""`)
}

func (w *openAIWriter) text(b []byte, text string) []byte { return w.stringChunk(b, "content", text) }

func (w *openAIWriter) rawText(b []byte, text string) []byte {
	return w.chunk(b, `"content":"`+text+`"`)
}

func (w *openAIWriter) think(b []byte, text, _ string) []byte {
	return w.stringChunk(b, "reasoning_content", text)
}

func (w *openAIWriter) call(b []byte, id, name string) []byte {
	w.calls++
	return w.chunk(b, `"tool_calls":[{"index":`+strconv.Itoa(w.calls-1)+`,"id":`+quote(id)+
		`,"type":"function","function":{"name":`+quote(name)+`,"arguments":""}}]`)
}

func (w *openAIWriter) input(b []byte, piece string) []byte {
	return w.chunk(b, `"tool_calls":[{"index":`+strconv.Itoa(w.calls-1)+`,"function":{"arguments":`+quote(piece)+`}}]`)
}

func (w *openAIWriter) end(b []byte, stop providers.StopReason, u providers.Usage) []byte {
	reason := map[providers.StopReason]string{
		providers.StopEnd: "stop", providers.StopTools: "tool_calls", providers.StopLength: "length",
		providers.StopRefusal: "content_filter",
	}[stop]
	b = append(b, `data: {"id":"chatcmpl-test","object":"chat.completion.chunk","created":1,"model":"test",`+
		`"choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"`+reason+`"}]}`+"\n\n"...)
	b = w.reportUsage(b, u)
	return append(b, "data: [DONE]\n\n"...)
}

func (w *openAIWriter) reportUsage(b []byte, u providers.Usage) []byte {
	prompt := u.Input + u.CacheRead + u.CacheWrite
	return append(b, `data: {"id":"chatcmpl-test","object":"chat.completion.chunk","created":1,"model":"test","choices":[],`+
		`"usage":{"prompt_tokens":`+strconv.Itoa(prompt)+`,"completion_tokens":`+strconv.Itoa(u.Output)+
		`,"total_tokens":`+strconv.Itoa(prompt+u.Output)+`,"prompt_tokens_details":{"cached_tokens":`+strconv.Itoa(u.CacheRead)+
		`,"cache_write_tokens":`+strconv.Itoa(u.CacheWrite)+`},"completion_tokens_details":{"reasoning_tokens":`+
		strconv.Itoa(u.Thinking)+`}}}`+"\n\n"...)
}

var openAICodes = map[providers.ErrorKind]string{
	providers.KindAuth: "invalid_api_key", providers.KindRateLimit: "rate_limit_exceeded",
	providers.KindQuota: "insufficient_quota", providers.KindServer: "server_error",
	providers.KindModel: "model_not_found", providers.KindContextOverflow: "context_length_exceeded",
}

func (w *openAIWriter) failBody(message string, kind providers.ErrorKind) string {
	code := "null"
	if name := openAICodes[kind]; name != "" {
		code = quote(name)
	} else if status := statuses[kind]; status >= 500 {
		code = strconv.Itoa(status) // as OpenRouter does
	}
	return `{"error":{"message":` + quote(message) + `,"type":"invalid_request_error","param":null,"code":` + code + `}}`
}

func (w *openAIWriter) fail(b []byte, message string, kind providers.ErrorKind) []byte {
	return append(append(append(b, "data: "...), w.failBody(message, kind)...), "\n\n"...)
}

func quote(s string) string { return string(jsonx.AppendString(nil, s)) }
