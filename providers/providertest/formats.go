package providertest

import (
	"strconv"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// anthropicWriter speaks Anthropic's messages API.
type anthropicWriter struct {
	usage providers.Usage
	index int
	open  string // the kind of the block under way
}

func (w *anthropicWriter) event(b []byte, name, data string) []byte {
	b = append(append(b, "event: "...), name...)
	return append(append(append(b, "\ndata: "...), data...), "\n\n"...)
}

func (w *anthropicWriter) begin(b []byte) []byte {
	u := w.usage
	b = w.event(b, "message_start", `{"type":"message_start","message":{"id":"msg_test","type":"message","role":"assistant","content":[],`+
		`"model":"test","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":`+strconv.Itoa(u.Input)+
		`,"cache_creation_input_tokens":`+strconv.Itoa(u.CacheWrite)+`,"cache_read_input_tokens":`+strconv.Itoa(u.CacheRead)+
		`,"output_tokens":1}}}`)
	return w.event(b, "ping", `{"type":"ping"}`)
}

// block makes sure that a block of this kind is open. A tool call always opens one.
func (w *anthropicWriter) block(b []byte, kind, start string) []byte {
	if w.open == kind && kind != "tool_use" {
		return b
	}
	b = w.close(b)
	w.open = kind
	return w.event(b, "content_block_start",
		`{"type":"content_block_start","index":`+strconv.Itoa(w.index)+`,"content_block":`+start+`}`)
}

func (w *anthropicWriter) close(b []byte) []byte {
	if w.open == "" {
		return b
	}
	b = w.event(b, "content_block_stop", `{"type":"content_block_stop","index":`+strconv.Itoa(w.index)+`}`)
	w.index++
	w.open = ""
	return b
}

func (w *anthropicWriter) delta(b []byte, kind, member, value string) []byte {
	b = append(b, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":"...)
	b = strconv.AppendInt(b, int64(w.index), 10)
	b = append(append(append(b, `,"delta":{"type":"`...), kind...), `","`...)
	b = append(append(b, member...), `":`...)
	b = jsonx.AppendString(b, value)
	return append(b, "}}\n\n"...)
}

func (w *anthropicWriter) text(b []byte, text string) []byte {
	b = w.block(b, "text", `{"type":"text","text":""}`)
	return w.delta(b, "text_delta", "text", text)
}

func (w *anthropicWriter) rawText(b []byte, text string) []byte {
	b = w.block(b, "text", `{"type":"text","text":""}`)
	b = append(b, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":"...)
	b = strconv.AppendInt(b, int64(w.index), 10)
	return append(append(append(b, `,"delta":{"type":"text_delta","text":"`...), text...), "\"}}\n\n"...)
}

func (w *anthropicWriter) think(b []byte, text, signature string) []byte {
	b = w.block(b, "thinking", `{"type":"thinking","thinking":"","signature":""}`)
	b = w.delta(b, "thinking_delta", "thinking", text)
	if signature != "" {
		b = w.close(w.delta(b, "signature_delta", "signature", signature))
	}
	return b
}

func (w *anthropicWriter) call(b []byte, id, name string) []byte {
	return w.block(b, "tool_use", `{"type":"tool_use","id":`+quote(id)+`,"name":`+quote(name)+`,"input":{}}`)
}

func (w *anthropicWriter) input(b []byte, piece string) []byte {
	return w.delta(b, "input_json_delta", "partial_json", piece)
}

func (w *anthropicWriter) end(b []byte, stop providers.StopReason, usage providers.Usage) []byte {
	b = w.close(b)
	reason := map[providers.StopReason]string{
		providers.StopEnd: "end_turn", providers.StopTools: "tool_use", providers.StopLength: "max_tokens",
		providers.StopRefusal: "refusal",
	}[stop]
	b = w.event(b, "message_delta", `{"type":"message_delta","delta":{"stop_reason":"`+reason+`","stop_sequence":null},`+
		`"usage":{"output_tokens":`+strconv.Itoa(usage.Output)+`,"output_tokens_details":{"thinking_tokens":`+
		strconv.Itoa(usage.Thinking)+`}}}`)
	return w.event(b, "message_stop", `{"type":"message_stop"}`)
}

var anthropicTypes = map[providers.ErrorKind]string{
	providers.KindAuth: "authentication_error", providers.KindRateLimit: "rate_limit_error",
	providers.KindQuota: "billing_error", providers.KindOverloaded: "overloaded_error", providers.KindServer: "api_error",
	providers.KindTimeout: "timeout_error", providers.KindModel: "not_found_error",
}

func (w *anthropicWriter) failBody(message string, kind providers.ErrorKind) string {
	name := anthropicTypes[kind]
	if name == "" {
		name = "invalid_request_error"
	}
	return `{"type":"error","error":{"type":"` + name + `","message":` + quote(message) + `},"request_id":"req_test"}`
}

func (w *anthropicWriter) fail(b []byte, message string, kind providers.ErrorKind) []byte {
	return w.event(b, "error", w.failBody(message, kind))
}

// openAIWriter speaks OpenAI's chat completions API.
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

func (w *openAIWriter) begin(b []byte) []byte {
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
	prompt := u.Input + u.CacheRead + u.CacheWrite
	b = append(b, `data: {"id":"chatcmpl-test","object":"chat.completion.chunk","created":1,"model":"test","choices":[],`+
		`"usage":{"prompt_tokens":`+strconv.Itoa(prompt)+`,"completion_tokens":`+strconv.Itoa(u.Output)+
		`,"total_tokens":`+strconv.Itoa(prompt+u.Output)+`,"prompt_tokens_details":{"cached_tokens":`+strconv.Itoa(u.CacheRead)+
		`,"cache_write_tokens":`+strconv.Itoa(u.CacheWrite)+`},"completion_tokens_details":{"reasoning_tokens":`+
		strconv.Itoa(u.Thinking)+`}}}`+"\n\n"...)
	return append(b, "data: [DONE]\n\n"...)
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
