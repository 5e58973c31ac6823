package providertest

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// AnthropicMessages returns the format of Anthropic's Messages API.
func AnthropicMessages() Format {
	return Format{pattern: "/v1/messages", writer: func() eventWriter { return new(anthropicWriter) }}
}

// AnthropicVertex is the Messages API at Vertex AI.
func AnthropicVertex() Format {
	return Format{
		pattern: "/v1/projects/{project}/locations/{location}/publishers/anthropic/models/{call}",
		writer:  func() eventWriter { return new(anthropicWriter) },
	}
}

// AnthropicBedrock is the Messages API at Amazon Bedrock: events are frames of an event stream, and errors are exceptions.
func AnthropicBedrock() Format {
	return Format{
		pattern: "/model/{model}/invoke-with-response-stream", contentType: "application/vnd.amazon.eventstream",
		writer: func() eventWriter { return new(anthropicWriter) }, frame: bedrockFrames,
	}
}

// bedrockExceptions maps Anthropic's errors to Bedrock's names.
var bedrockExceptions = map[string]string{
	"overloaded_error": "serviceUnavailableException", "rate_limit_error": "throttlingException", "timeout_error": "modelTimeoutException",
	"api_error": "internalServerException", "authentication_error": "accessDeniedException", "not_found_error": "resourceNotFoundException",
}

// bedrockFrames converts whole server-sent events to frames.
func bedrockFrames(events []byte) []byte {
	var out bytes.Buffer
	for event := range bytes.SplitSeq(bytes.TrimSuffix(events, []byte("\n\n")), []byte("\n\n")) {
		_, data, _ := bytes.Cut(event, []byte("data: "))
		var m eventstream.Message
		if bytes.HasPrefix(event, []byte("event: error\n")) {
			failed := jsonx.Lookup(data, "error")
			name := cmp.Or(bedrockExceptions[strings.Trim(string(jsonx.Lookup(failed, "type")), `"`)], "validationException")
			m.Headers.Set(":message-type", eventstream.StringValue("exception"))
			m.Headers.Set(":exception-type", eventstream.StringValue(name))
			m.Payload = append(append([]byte(`{"message":`), jsonx.Lookup(failed, "message")...), '}')
		} else {
			m.Headers.Set(":message-type", eventstream.StringValue("event"))
			m.Headers.Set(":event-type", eventstream.StringValue("chunk"))
			m.Headers.Set(":content-type", eventstream.StringValue("application/json"))
			m.Payload = []byte(`{"bytes":"` + base64.StdEncoding.EncodeToString(data) + `","p":"abcdefg"}`)
		}
		if err := eventstream.NewEncoder().Encode(&out, m); err != nil {
			panic(err)
		}
	}
	return out.Bytes()
}

// anthropicWriter writes Anthropic's Messages API.
type anthropicWriter struct {
	index int
	open  string // the kind of the current block
}

func (w *anthropicWriter) event(b []byte, name, data string) []byte {
	b = append(append(b, "event: "...), name...)
	return append(append(append(b, "\ndata: "...), data...), "\n\n"...)
}

func (w *anthropicWriter) begin(b []byte, u providers.Usage) []byte {
	b = w.event(b, "message_start", `{"type":"message_start","message":{"id":"msg_test","type":"message","role":"assistant","content":[],`+
		`"model":"test","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":`+strconv.Itoa(u.Input)+
		`,"cache_creation_input_tokens":`+strconv.Itoa(u.CacheWrite)+`,"cache_read_input_tokens":`+strconv.Itoa(u.CacheRead)+
		`,"output_tokens":1}}}`)
	return w.event(b, "ping", `{"type":"ping"}`)
}

// block opens a block of the kind unless one is open. A tool call always opens one.
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
	b = w.messageDelta(b, `"`+reason+`"`, `"output_tokens":`+strconv.Itoa(usage.Output), usage)
	return w.event(b, "message_stop", `{"type":"message_stop"}`)
}

func (w *anthropicWriter) messageDelta(b []byte, reason, counts string, u providers.Usage) []byte {
	return w.event(b, "message_delta", `{"type":"message_delta","delta":{"stop_reason":`+reason+`,"stop_sequence":null},"usage":{`+counts+
		`,"output_tokens_details":{"thinking_tokens":`+strconv.Itoa(u.Thinking)+`}}}`)
}

func (w *anthropicWriter) reportUsage(b []byte, u providers.Usage) []byte {
	return w.messageDelta(b, "null", `"input_tokens":`+strconv.Itoa(u.Input)+`,"cache_creation_input_tokens":`+strconv.Itoa(u.CacheWrite)+
		`,"cache_read_input_tokens":`+strconv.Itoa(u.CacheRead)+`,"output_tokens":`+strconv.Itoa(u.Output), u)
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
