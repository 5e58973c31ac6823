package providertest

import (
	"strconv"
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// OpenAIResponses is OpenAI's Responses API.
func OpenAIResponses() Format {
	return Format{pattern: "/v1/responses", base: "/v1", writer: func() eventWriter { return new(responsesWriter) }}
}

// AzureResponses is Azure's Responses API.
func AzureResponses() Format {
	return Format{pattern: "/openai/v1/responses", base: "/openai", writer: func() eventWriter { return new(responsesWriter) }}
}

// responsesWriter writes OpenAI's Responses API. Reasoning is a summary of one part.
type responsesWriter struct {
	sequence int
	done     []string // items that have ended
	kind     string   // of the open item; "" for none
	id       string
	said     []byte // content of the open item: text, summary or arguments
	called   string // the members of an open call except its arguments
	secret   string // the encrypted content of open reasoning
}

func (w *responsesWriter) event(b []byte, kind, members string) []byte {
	b = append(append(append(b, "event: "...), kind...), "\ndata: {\"type\":"...)
	b = append(jsonx.AppendString(b, kind), `,"sequence_number":`...)
	b = strconv.AppendInt(b, int64(w.sequence), 10)
	w.sequence++
	return append(append(append(b, ','), members...), "}\n\n"...)
}

func (w *responsesWriter) place() string {
	return `"output_index":` + strconv.Itoa(len(w.done)) + `,"item_id":` + quote(w.id)
}

func (w *responsesWriter) response(status, rest string) string {
	return `"response":{"id":"resp_test","object":"response","created_at":1,"status":` + quote(status) + `,"model":"test","store":false,` + rest + `}`
}

func (w *responsesWriter) begin(b []byte, _ providers.Usage) []byte {
	const empty = `"error":null,"incomplete_details":null,"output":[],"usage":null`
	b = w.event(b, "response.created", w.response("in_progress", empty))
	return w.event(b, "response.in_progress", w.response("in_progress", empty))
}

// item returns the open item, as it is sent at its beginning or at its end.
func (w *responsesWriter) item(status string) string {
	text := quote(string(w.said))
	switch w.kind {
	case "message":
		content := ""
		if status == "completed" {
			content = `{"type":"output_text","annotations":[],"logprobs":[],"text":` + text + `}`
		}
		return `{"id":` + quote(w.id) + `,"type":"message","status":` + quote(status) + `,"content":[` + content + `],"role":"assistant"}`
	case "reasoning":
		summary, secret := "", ""
		if status == "completed" {
			summary = `{"type":"summary_text","text":` + text + `}`
			secret = `,"encrypted_content":` + quote(w.secret)
		}
		return `{"id":` + quote(w.id) + `,"type":"reasoning","summary":[` + summary + `]` + secret + `}`
	}
	return `{"id":` + quote(w.id) + `,"type":"function_call","status":` + quote(status) + `,"arguments":` + text + `,` + w.called + `}`
}

// open begins an item, unless an open one of the kind continues.
func (w *responsesWriter) open(b []byte, kind, prefix string) []byte {
	if w.kind == kind && kind != "function_call" {
		return b
	}
	b = w.close(b)
	w.kind, w.id = kind, prefix+strconv.Itoa(len(w.done))
	b = w.event(b, "response.output_item.added", `"output_index":`+strconv.Itoa(len(w.done))+`,"item":`+w.item("in_progress"))
	switch kind {
	case "message":
		b = w.event(b, "response.content_part.added", w.place()+`,"content_index":0,"part":{"type":"output_text","annotations":[],"logprobs":[],"text":""}`)
	case "reasoning":
		b = w.event(b, "response.reasoning_summary_part.added", w.place()+`,"summary_index":0,"part":{"type":"summary_text","text":""}`)
	}
	return b
}

// close ends the open item.
func (w *responsesWriter) close(b []byte) []byte {
	if w.kind == "" {
		return b
	}
	text := quote(string(w.said))
	switch w.kind {
	case "message":
		b = w.event(b, "response.output_text.done", w.place()+`,"content_index":0,"text":`+text+`,"logprobs":[]`)
		b = w.event(b, "response.content_part.done", w.place()+`,"content_index":0,"part":{"type":"output_text","annotations":[],"logprobs":[],"text":`+text+`}`)
	case "reasoning":
		b = w.event(b, "response.reasoning_summary_text.done", w.place()+`,"summary_index":0,"text":`+text)
		b = w.event(b, "response.reasoning_summary_part.done", w.place()+`,"summary_index":0,"part":{"type":"summary_text","text":`+text+`}`)
	default:
		b = w.event(b, "response.function_call_arguments.done", w.place()+`,"arguments":`+text)
	}
	item := w.item("completed")
	b = w.event(b, "response.output_item.done", `"output_index":`+strconv.Itoa(len(w.done))+`,"item":`+item)
	w.done = append(w.done, item)
	w.kind, w.said, w.secret = "", w.said[:0], ""
	return b
}

func (w *responsesWriter) text(b []byte, text string) []byte { return w.say(b, text, quote(text)) }

func (w *responsesWriter) rawText(b []byte, text string) []byte { return w.say(b, text, `"`+text+`"`) }

func (w *responsesWriter) say(b []byte, text, quoted string) []byte {
	b = w.open(b, "message", "msg_")
	w.said = append(w.said, text...)
	return w.event(b, "response.output_text.delta", w.place()+`,"content_index":0,"delta":`+quoted+`,"logprobs":[]`)
}

func (w *responsesWriter) think(b []byte, text, signature string) []byte {
	b = w.open(b, "reasoning", "rs_")
	w.said = append(w.said, text...)
	w.secret += signature
	return w.event(b, "response.reasoning_summary_text.delta", w.place()+`,"summary_index":0,"delta":`+quote(text))
}

func (w *responsesWriter) call(b []byte, id, name string) []byte {
	b = w.close(b)
	w.called = `"call_id":` + quote(id) + `,"name":` + quote(name)
	return w.open(b, "function_call", "fc_")
}

func (w *responsesWriter) input(b []byte, piece string) []byte {
	w.said = append(w.said, piece...)
	return w.event(b, "response.function_call_arguments.delta", w.place()+`,"delta":`+quote(piece))
}

func (w *responsesWriter) end(b []byte, stop providers.StopReason, u providers.Usage) []byte {
	b = w.close(b)
	kind, status, details := "response.completed", "completed", "null"
	if reason := map[providers.StopReason]string{
		providers.StopLength: "max_output_tokens", providers.StopRefusal: "content_filter",
	}[stop]; reason != "" {
		kind, status, details = "response.incomplete", "incomplete", `{"reason":"`+reason+`"}`
	}
	return w.event(b, kind, w.response(status, `"error":null,"incomplete_details":`+details+`,"output":[`+strings.Join(w.done, ",")+
		`],`+responsesUsage(u)))
}

func (w *responsesWriter) reportUsage(b []byte, u providers.Usage) []byte {
	return w.event(b, "response.in_progress", w.response("in_progress", `"error":null,"incomplete_details":null,"output":[],`+responsesUsage(u)))
}

func responsesUsage(u providers.Usage) string {
	input := u.Input + u.CacheRead + u.CacheWrite
	return `"usage":{"input_tokens":` + strconv.Itoa(input) + `,"input_tokens_details":{"cached_tokens":` + strconv.Itoa(u.CacheRead) +
		`,"cache_write_tokens":` + strconv.Itoa(u.CacheWrite) + `},"output_tokens":` + strconv.Itoa(u.Output) +
		`,"output_tokens_details":{"reasoning_tokens":` + strconv.Itoa(u.Thinking) + `},"total_tokens":` + strconv.Itoa(input+u.Output) + `}`
}

func (w *responsesWriter) failBody(message string, kind providers.ErrorKind) string {
	return new(openAIWriter).failBody(message, kind)
}

func (w *responsesWriter) fail(b []byte, message string, kind providers.ErrorKind) []byte {
	code := openAICodes[kind]
	if kind == providers.KindOverloaded {
		code = "server_is_overloaded"
	}
	return w.event(b, "error", `"code":`+quote(code)+`,"message":`+quote(message)+`,"param":null`)
}
