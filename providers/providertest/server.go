package providertest

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// A wireAction is an action that only a [Server] can play.
type wireAction struct {
	raw    string
	status int
	header map[string]string
	drop   bool
	quit   bool
	bytes  bool
}

func (wireAction) isAction() {}

// Raw writes s to the response unchanged, in the middle of the stream or instead of it.
func Raw(s string) Action { return wireAction{raw: s} }

// Status answers with an HTTP status and body instead of a stream. Header may be nil.
func Status(code int, body string, header map[string]string) Action {
	return wireAction{status: code, raw: body, header: header}
}

// RawText streams text without changing its bytes, whether or not they are valid UTF-8. The text must not contain characters that
// JSON requires to be escaped.
func RawText(text string) Action { return wireAction{raw: text, bytes: true} }

// Quit ends the response cleanly in the middle of the answer.
func Quit() Action { return wireAction{quit: true} }

// Drop breaks the connection.
func Drop() Action { return wireAction{drop: true} }

// A Recorded is one request that a [Server] received.
type Recorded struct {
	Path   string
	Header http.Header
	Body   jsonx.Raw
}

// A Server plays steps over HTTP on a loopback port, with one path for each [Format]. [Fail] becomes an HTTP status if it is the
// first action, and otherwise an error event. The server is safe for concurrent use; requests take the steps in the order in which
// they arrive.
type Server struct {
	http         *httptest.Server
	disconnected chan struct{}

	mu       sync.Mutex // guards the fields below
	steps    []Step
	fallback func(Recorded) Step
	requests []Recorded
	conns    int
}

// NewServer starts a server. The caller must Close it.
func NewServer(steps ...Step) *Server {
	s := &Server{steps: steps, disconnected: make(chan struct{}, 1024)}
	mux := http.NewServeMux()
	for _, f := range formats() {
		mux.HandleFunc("POST "+f.pattern, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, f) })
	}
	s.http = httptest.NewUnstartedServer(mux)
	s.http.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.conns++
		}
	}
	s.http.Start()
	return s
}

// Close closes all connections and waits for outstanding requests. The test must open every gate first.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// URL returns the base URL of a format.
func (s *Server) URL(f Format) string { return s.http.URL + f.base }

// AnthropicURL returns the base URL of the Messages API.
func (s *Server) AnthropicURL() string { return s.URL(AnthropicMessages()) }

// OpenAIURL returns the base URL of Chat Completions.
func (s *Server) OpenAIURL() string { return s.URL(OpenAICompletions()) }

// Disconnected returns a channel with a value for each request whose client left before the step was over.
func (s *Server) Disconnected() <-chan struct{} { return s.disconnected }

// Add appends steps.
func (s *Server) Add(steps ...Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps = append(s.steps, steps...)
}

// Else answers the requests for which no step is left. fn may be called concurrently.
func (s *Server) Else(fn func(Recorded) Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fallback = fn
}

// Requests returns the requests so far, oldest first.
func (s *Server) Requests() []Recorded {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Connections returns the number of connections so far.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns
}

func (s *Server) next(r Recorded) (Step, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	if len(s.steps) > 0 {
		step := s.steps[0]
		s.steps = s.steps[1:]
		return step, true
	}
	if s.fallback != nil {
		return s.fallback(r), true
	}
	return nil, false
}

// Format is the wire format of one API.
type Format struct {
	// pattern is the path of requests, and base the prefix of it that is part of the base URL.
	pattern, base string
	// contentType is the content type of answers; if empty, text/event-stream.
	contentType string
	writer      func() eventWriter
	// frame converts the events of writer to another framing; nil for none.
	frame func(events []byte) []byte
}

// formats returns all formats of a server.
func formats() []Format {
	return []Format{
		AnthropicMessages(), OpenAICompletions(),
		Gemini(), GeminiVertex(), AnthropicBedrock(), AnthropicVertex(),
		OpenAIResponses(), AzureResponses(),
		OllamaChat(),
	}
}

// An eventWriter writes a step in the format of one API. Each method appends to the response. The usage is known from the
// start, for APIs that report it there.
type eventWriter interface {
	begin(b []byte, usage providers.Usage) []byte
	text(b []byte, text string) []byte
	rawText(b []byte, text string) []byte
	think(b []byte, text, signature string) []byte
	call(b []byte, id, name string) []byte
	input(b []byte, piece string) []byte
	// reportUsage reports the usage so far.
	reportUsage(b []byte, usage providers.Usage) []byte
	end(b []byte, stop providers.StopReason, usage providers.Usage) []byte
	fail(b []byte, message string, kind providers.ErrorKind) []byte
	failBody(message string, kind providers.ErrorKind) string
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, f Format) {
	ew := f.writer()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	step, ok := s.next(Recorded{Path: r.URL.Path, Header: r.Header.Clone(), Body: body})
	if !ok {
		http.Error(w, ew.failBody("the script has no step for this request", providers.KindInvalid), http.StatusBadRequest)
		return
	}
	p := &player{w: w, ctx: r.Context(), format: f, ew: ew, usage: providers.Usage{Input: 10, Output: 5}}
	p.play(step)
	if r.Context().Err() != nil {
		s.disconnected <- struct{}{}
	}
}

// A player plays one step to one response.
type player struct {
	w      http.ResponseWriter
	ctx    context.Context //nolint:containedctx // bounds the request that the step answers
	format Format
	ew     eventWriter
	buf    []byte
	begun  bool
	stop   providers.StopReason
	usage  providers.Usage
}

func (p *player) play(step Step) {
	// The first event carries the usage.
	for _, a := range step {
		if u, ok := a.(usageAction); ok {
			p.usage = u.usage
		}
	}
	for _, a := range step {
		if !p.action(a) {
			return
		}
	}
	p.begin()
	if p.stop == "" {
		p.stop = providers.StopEnd
	}
	p.buf = p.ew.end(p.buf, p.stop, p.usage)
	p.flush()
}

// action plays one action. It reports whether the step continues.
func (p *player) action(a Action) bool {
	switch a := a.(type) {
	case textAction:
		p.begin()
		p.buf = p.ew.text(p.buf, a.text)
	case thinkAction:
		p.begin()
		p.buf = p.ew.think(p.buf, a.text, a.signature)
	case callAction:
		p.begin()
		p.buf = p.ew.call(p.buf, a.id, a.name)
		for _, piece := range a.pieces {
			p.buf = p.ew.input(p.buf, piece)
		}
		if p.stop == "" {
			p.stop = providers.StopTools
		}
	case reportAction:
		p.begin()
		p.buf = p.ew.reportUsage(p.buf, a.usage)
	case stopAction:
		p.stop = a.reason
	case holdAction:
		if !a.silent {
			p.begin()
			p.flush()
		}
		return a.gate.Wait(p.ctx) == nil
	case errAction:
		p.fail(a.err)
		return false
	case wireAction:
		return p.wire(a)
	case usageAction, checkAction:
		return true
	}
	return p.flush()
}

func (p *player) wire(a wireAction) bool {
	switch {
	case a.drop:
		p.begin()
		p.flush()
		panic(http.ErrAbortHandler) // net/http's way to break a connection silently
	case a.quit:
		p.begin()
		p.flush()
		return false
	case a.bytes:
		p.begin()
		p.buf = p.ew.rawText(p.buf, a.raw)
		return p.flush()
	case a.status != 0:
		p.w.Header().Set("Content-Type", "application/json")
		if strings.HasPrefix(a.raw, "<") {
			p.w.Header().Set("Content-Type", "text/html; charset=utf-8")
		}
		for name, value := range a.header {
			p.w.Header().Set(name, value)
		}
		p.w.WriteHeader(a.status)
		_, _ = io.WriteString(p.w, a.raw)
		return false
	}
	p.header()
	p.begun = true
	p.buf = append(p.buf, a.raw...)
	return p.flush()
}

func (p *player) header() {
	if !p.begun {
		p.w.Header().Set("Content-Type", cmp.Or(p.format.contentType, "text/event-stream"))
		p.w.Header().Set("Request-Id", "req_test")
	}
}

func (p *player) begin() {
	if !p.begun {
		p.header()
		p.begun = true
		p.buf = p.ew.begin(p.buf, p.usage)
	}
}

func (p *player) flush() bool {
	if len(p.buf) > 0 {
		if p.format.frame != nil {
			p.buf = p.format.frame(p.buf)
		}
		if _, err := p.w.Write(p.buf); err != nil {
			return false
		}
		p.buf = p.buf[:0]
	}
	return http.NewResponseController(p.w).Flush() == nil
}

// statuses maps kinds to HTTP statuses.
var statuses = map[providers.ErrorKind]int{
	providers.KindAuth: 401, providers.KindRateLimit: 429, providers.KindQuota: 402, providers.KindOverloaded: 529,
	providers.KindServer: 500, providers.KindTimeout: 504, providers.KindContextOverflow: 400, providers.KindInvalid: 400,
	providers.KindModel: 404, providers.KindNetwork: 502, providers.KindProtocol: 500,
}

func (p *player) fail(err error) {
	e, ok := err.(*providers.Error) //nolint:errorlint // a script holds the error itself
	if !ok {
		e = &providers.Error{Kind: providers.KindServer, Message: err.Error()}
	}
	message := e.Message
	if e.Kind == providers.KindContextOverflow {
		message = "prompt is too long: " + message
	}
	if p.begun {
		p.buf = p.ew.fail(p.buf, message, e.Kind)
		p.flush()
		return
	}
	status := e.Status
	if status == 0 {
		status = statuses[e.Kind]
	}
	p.w.Header().Set("Content-Type", "application/json")
	if e.RetryAfter > 0 {
		p.w.Header().Set("Retry-After", strconv.FormatFloat(e.RetryAfter.Seconds(), 'f', -1, 64))
	}
	if !e.ResetsAt.IsZero() {
		p.w.Header().Set("Anthropic-Ratelimit-Requests-Remaining", "0")
		p.w.Header().Set("Anthropic-Ratelimit-Requests-Reset", e.ResetsAt.UTC().Format(time.RFC3339))
	}
	p.w.WriteHeader(status)
	fmt.Fprint(p.w, p.ew.failBody(message, e.Kind))
}
