package providertest

import (
	"strconv"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// Gemini is Google's API for Gemini models.
func Gemini() Format {
	return Format{pattern: "/v1beta/models/{call}", writer: func() eventWriter { return new(geminiWriter) }}
}

// GeminiVertex is Google's API for Gemini models at Vertex AI, in any project and location.
func GeminiVertex() Format {
	return Format{
		pattern: "/v1/projects/{project}/locations/{location}/publishers/google/models/{call}",
		writer:  func() eventWriter { return new(geminiWriter) },
	}
}

// geminiWriter writes Google's API.
type geminiWriter struct {
	// The current call, which is written as a whole before the next action.
	name, id string
	args     string
	calling  bool
}

func (w *geminiWriter) event(b []byte, data string) []byte {
	return append(append(append(b, "data: "...), data...), "\n\n"...)
}

func (w *geminiWriter) part(b []byte, part string) []byte {
	return w.event(b, `{"candidates":[{"content":{"parts":[`+part+`],"role":"model"},"index":0}],"modelVersion":"test","responseId":"resp_test"}`)
}

// pending writes the current call.
func (w *geminiWriter) pending(b []byte) []byte {
	if !w.calling {
		return b
	}
	call := `{"functionCall":{"id":` + quote(w.id) + `,"name":` + quote(w.name)
	if jsonx.Valid([]byte(w.args)) {
		call += `,"args":` + w.args
	}
	w.name, w.args, w.calling = "", "", false
	return w.part(b, call+`}}`)
}

func (w *geminiWriter) begin(b []byte, _ providers.Usage) []byte { return b }

func (w *geminiWriter) text(b []byte, text string) []byte {
	return w.part(w.pending(b), `{"text":`+quote(text)+`}`)
}

func (w *geminiWriter) rawText(b []byte, text string) []byte {
	return w.part(w.pending(b), `{"text":"`+text+`"}`)
}

func (w *geminiWriter) think(b []byte, text, signature string) []byte {
	part := `{"text":` + quote(text) + `,"thought":true`
	if signature != "" {
		part += `,"thoughtSignature":` + quote(signature)
	}
	return w.part(w.pending(b), part+`}`)
}

func (w *geminiWriter) call(b []byte, id, name string) []byte {
	b = w.pending(b)
	w.id, w.name, w.calling = id, name, true
	return b
}

func (w *geminiWriter) input(b []byte, piece string) []byte {
	w.args += piece
	return b
}

func (w *geminiWriter) end(b []byte, stop providers.StopReason, u providers.Usage) []byte {
	reason := map[providers.StopReason]string{
		providers.StopEnd: "STOP", providers.StopTools: "STOP", providers.StopLength: "MAX_TOKENS", providers.StopRefusal: "SAFETY",
	}[stop]
	return w.event(w.pending(b), `{"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"`+reason+`","index":0}],`+
		geminiUsage(u)+`,"modelVersion":"test","responseId":"resp_test"}`)
}

func (w *geminiWriter) reportUsage(b []byte, u providers.Usage) []byte {
	return w.event(w.pending(b), `{`+geminiUsage(u)+`,"modelVersion":"test","responseId":"resp_test"}`)
}

func geminiUsage(u providers.Usage) string {
	return `"usageMetadata":{"promptTokenCount":` + strconv.Itoa(u.Input+u.CacheRead) + `,"cachedContentTokenCount":` + strconv.Itoa(u.CacheRead) +
		`,"candidatesTokenCount":` + strconv.Itoa(u.Output-u.Thinking) + `,"thoughtsTokenCount":` + strconv.Itoa(u.Thinking) + `}`
}

// geminiErrors maps the kinds to Google's names.
var geminiErrors = map[providers.ErrorKind]struct {
	code   int
	status string
}{
	providers.KindAuth: {401, "UNAUTHENTICATED"}, providers.KindRateLimit: {429, "RESOURCE_EXHAUSTED"},
	providers.KindQuota: {429, "RESOURCE_EXHAUSTED"}, providers.KindOverloaded: {503, "UNAVAILABLE"},
	providers.KindServer: {500, "INTERNAL"}, providers.KindTimeout: {504, "DEADLINE_EXCEEDED"},
	providers.KindModel: {404, "NOT_FOUND"},
}

func (w *geminiWriter) failBody(message string, kind providers.ErrorKind) string {
	e, ok := geminiErrors[kind]
	if !ok {
		e.code, e.status = 400, "INVALID_ARGUMENT"
	}
	details := ""
	if kind == providers.KindQuota {
		details = `,"details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[` +
			`{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}]`
	}
	return `{"error":{"code":` + strconv.Itoa(e.code) + `,"message":` + quote(message) + `,"status":"` + e.status + `"` + details + `}}`
}

func (w *geminiWriter) fail(b []byte, message string, kind providers.ErrorKind) []byte {
	return w.event(w.pending(b), w.failBody(message, kind))
}
