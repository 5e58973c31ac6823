package providertest

import (
	"strconv"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// OllamaChat is Ollama's own chat API.
func OllamaChat() Format {
	return Format{pattern: "/api/chat", contentType: "application/x-ndjson", writer: func() eventWriter { return new(ollamaWriter) }}
}

// ollamaWriter writes Ollama's chat API: one JSON value per line.
type ollamaWriter struct {
	// The current call, which is written as a whole before the next action.
	name, id string
	args     string
	calling  bool
}

func (w *ollamaWriter) line(b []byte, message, rest string) []byte {
	b = append(b, `{"model":"test","created_at":"2026-01-02T03:04:05.678901234Z","message":{"role":"assistant",`...)
	return append(append(append(append(b, message...), '}', ','), rest...), "}\n"...)
}

// pending writes the current call.
func (w *ollamaWriter) pending(b []byte) []byte {
	if !w.calling {
		return b
	}
	if !jsonx.Valid([]byte(w.args)) {
		w.args = "{}"
	}
	call := `{"id":` + quote(w.id) + `,"function":{"index":0,"name":` + quote(w.name) + `,"arguments":` + w.args + `}}`
	w.name, w.args, w.calling = "", "", false
	return w.line(b, `"content":"","tool_calls":[`+call+`]`, `"done":false`)
}

func (w *ollamaWriter) begin(b []byte, _ providers.Usage) []byte { return b }

func (w *ollamaWriter) text(b []byte, text string) []byte {
	return w.line(w.pending(b), `"content":`+quote(text), `"done":false`)
}

func (w *ollamaWriter) rawText(b []byte, text string) []byte {
	return w.line(w.pending(b), `"content":"`+text+`"`, `"done":false`)
}

func (w *ollamaWriter) think(b []byte, text, _ string) []byte {
	return w.line(w.pending(b), `"content":"","thinking":`+quote(text), `"done":false`)
}

func (w *ollamaWriter) call(b []byte, id, name string) []byte {
	b = w.pending(b)
	w.id, w.name, w.calling = id, name, true
	return b
}

func (w *ollamaWriter) input(b []byte, piece string) []byte {
	w.args += piece
	return b
}

func (w *ollamaWriter) reportUsage(b []byte, u providers.Usage) []byte {
	return w.line(w.pending(b), `"content":""`, `"done":false,"prompt_eval_count":`+strconv.Itoa(u.Input)+`,"eval_count":`+strconv.Itoa(u.Output))
}

func (w *ollamaWriter) end(b []byte, stop providers.StopReason, u providers.Usage) []byte {
	reason := "stop"
	if stop == providers.StopLength {
		reason = "length"
	}
	return w.line(w.pending(b), `"content":""`, `"done":true,"done_reason":"`+reason+`","total_duration":4883583458,"load_duration":1334875,`+
		`"prompt_eval_count":`+strconv.Itoa(u.Input)+`,"prompt_eval_duration":342546000,"eval_count":`+strconv.Itoa(u.Output)+`,"eval_duration":4535599000`)
}

func (w *ollamaWriter) failBody(message string, kind providers.ErrorKind) string {
	if kind == providers.KindOverloaded {
		message = "server busy, please try again: " + message
	}
	return `{"error":` + quote(message) + `}`
}

func (w *ollamaWriter) fail(b []byte, message string, kind providers.ErrorKind) []byte {
	return append(append(w.pending(b), w.failBody(message, kind)...), '\n')
}
