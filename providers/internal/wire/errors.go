package wire

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// Errorf makes an error of the model that cfg opens. Keys are taken out of its text.
func Errorf(cfg *providers.Config, kind providers.ErrorKind, format string, args ...any) *providers.Error {
	return &providers.Error{
		Kind: kind, Provider: cfg.Info.Provider, Model: cfg.Info.ID,
		Message: Redact(cfg, fmt.Sprintf(format, args...)),
	}
}

// keyLike finds what looks like an API key, should one come back that is not ours.
var keyLike = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(sk|pk|rk|key|xai|gsk|AIza)[-_][A-Za-z0-9_\-]{12,}`)
})

// Redact takes the model's key, the values of its extra headers and everything that looks like a key out of s.
func Redact(cfg *providers.Config, s string) string {
	s = redactOne(s, cfg.APIKey)
	for _, value := range cfg.Headers {
		s = redactOne(s, value)
	}
	return keyLike().ReplaceAllString(s, "$1-…")
}

func redactOne(s, secret string) string {
	// Shorter values are words like "true", and no secrets.
	if len(secret) < 8 {
		return s
	}
	return strings.ReplaceAll(s, secret, "…")
}

// networkError classifies a request that got no response.
func networkError(cfg *providers.Config, err error) error {
	if r, ok := errors.AsType[*redirectError](err); ok {
		return Errorf(cfg, providers.KindInvalid, "%s", r.Error())
	}
	kind, text := providers.KindNetwork, err.Error()
	if u, ok := errors.AsType[*url.Error](err); ok {
		if u.Timeout() {
			kind = providers.KindTimeout
		}
		err = u.Err
		text = err.Error()
		if at, perr := url.Parse(u.URL); perr == nil {
			text = "no answer from " + at.Scheme + "://" + at.Host + ": " + text
		}
	}
	e := Errorf(cfg, kind, "%s", text)
	e.Err = err
	return e
}

// body is the union of the error bodies that providers send.
type body struct {
	Error   jsonx.Raw `json:"error"`
	Message string    `json:"message"`
	Detail  jsonx.Raw `json:"detail"`
}

type detail struct {
	Type    string    `json:"type"`
	Code    jsonx.Raw `json:"code"`
	Message string    `json:"message"`
}

// statusError classifies a response with an error status.
func statusError(cfg *providers.Config, res *http.Response, data []byte) error {
	d := parseBody(data)
	e := classify(cfg, res.StatusCode, d)
	e.RequestID = requestID(res.Header)
	e.RetryAfter, e.ResetsAt = retryAfter(res.Header, time.Now())
	return e
}

// EventError classifies an error that came as an event of the stream: the value of its "error" member, an object or
// a string.
func (s *Stream) EventError(raw jsonx.Raw) error {
	d := parseDetail(raw)
	status, _ := strconv.Atoi(d.code())
	if status < 400 || status > 599 {
		status = 0
	}
	e := classify(s.cfg, status, d)
	e.RequestID = s.RequestID
	return e
}

func parseBody(data []byte) detail {
	var b body
	if err := jsonx.Unmarshal(data, &b); err != nil {
		// Some page of some proxy.
		return detail{Message: plainText(string(data))}
	}
	if !jsonx.IsNull(b.Error) {
		return parseDetail(b.Error)
	}
	d := detail{Message: b.Message}
	if d.Message == "" && !jsonx.IsNull(b.Detail) {
		d.Message = unquote(b.Detail)
	}
	return d
}

func parseDetail(raw jsonx.Raw) detail {
	var d detail
	if err := jsonx.Unmarshal(raw, &d); err != nil {
		d = detail{Message: unquote(raw)}
	}
	return d
}

func unquote(raw jsonx.Raw) string {
	var s string
	if err := jsonx.Unmarshal(raw, &s); err != nil {
		return plainText(string(raw))
	}
	return s
}

func (d *detail) code() string { return unquote(d.Code) }

var tags = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)<(script|style|head).*?</(script|style|head)>|<[^>]*>`)
})

// plainText shortens what is not JSON to a line.
func plainText(s string) string {
	s = strings.Join(strings.Fields(tags().ReplaceAllString(s, " ")), " ")
	const most = 300
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return s
}

func classify(cfg *providers.Config, status int, d detail) *providers.Error {
	message := d.Message
	if message == "" {
		message = http.StatusText(status)
	}
	if message == "" {
		message = "the provider failed without saying why"
	}
	e := Errorf(cfg, kindOf(status, d.Type, d.code(), strings.ToLower(message)), "%s", message)
	e.Status = status
	return e
}

func kindOf(status int, kind, code, message string) providers.ErrorKind {
	if overflow(kind, code, message) {
		return providers.KindContextOverflow
	}
	if contains(message, "credit balance is too low", "insufficient credits", "exceeded your current quota", "billing") {
		return providers.KindQuota
	}
	for _, name := range []string{code, kind} {
		if k, ok := kinds[name]; ok {
			return k
		}
	}
	switch {
	case status == 401 || status == 403:
		return providers.KindAuth
	case status == 402:
		return providers.KindQuota
	case status == 404:
		return providers.KindModel
	case status == 408 || status == 504 || status == 524:
		return providers.KindTimeout
	case status == 413:
		return providers.KindContextOverflow
	case status == 429:
		return providers.KindRateLimit
	case status == 503 || status == 529:
		return providers.KindOverloaded
	case status >= 500 || status == 0:
		return providers.KindServer
	}
	return providers.KindInvalid
}

// kinds are the names that Anthropic (type), OpenAI (code, type) and servers like theirs give to errors. Those that
// say less than the status ("invalid_request_error") are left out.
var kinds = map[string]providers.ErrorKind{
	"authentication_error":       providers.KindAuth,
	"permission_error":           providers.KindAuth,
	"invalid_api_key":            providers.KindAuth,
	"billing_error":              providers.KindQuota,
	"insufficient_quota":         providers.KindQuota,
	"billing_hard_limit_reached": providers.KindQuota,
	"rate_limit_error":           providers.KindRateLimit,
	"rate_limit_exceeded":        providers.KindRateLimit,
	"overloaded_error":           providers.KindOverloaded,
	"timeout_error":              providers.KindTimeout,
	"request_too_large":          providers.KindContextOverflow,
	"not_found_error":            providers.KindModel,
	"model_not_found":            providers.KindModel,
	"api_error":                  providers.KindServer,
	"server_error":               providers.KindServer,
	"internal_server_error":      providers.KindServer,
}

// overflow recognises the many words for a conversation that is too long.
func overflow(kind, code, message string) bool {
	if code == "context_length_exceeded" || kind == "exceed_context_size_error" {
		return true
	}
	return contains(
		message,
		"prompt is too long", "prompt too long", "maximum context length", "context length exceeded", "context_length_exceeded",
		"exceeds the context window", "exceed context limit", "exceeds the available context size",
		"greater than the context length", "input is too long", "input length and `max_tokens` exceed",
		"larger than the maximum context", "exceeds the maximum number of tokens", "exceeds the model's context",
	)
}

func contains(s string, any ...string) bool {
	for _, part := range any {
		if strings.Contains(s, part) {
			return true
		}
	}
	return false
}

func requestID(h http.Header) string {
	for _, name := range []string{"Request-Id", "X-Request-Id"} {
		if id := h.Get(name); id != "" {
			return id
		}
	}
	return ""
}

// retryAfter reads how long to wait and when a limit ends.
func retryAfter(h http.Header, now time.Time) (wait time.Duration, resets time.Time) {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		wait = time.Duration(ms * float64(time.Millisecond))
	} else if s := h.Get("Retry-After"); s != "" {
		if seconds, err := strconv.ParseFloat(s, 64); err == nil && seconds > 0 {
			wait = time.Duration(seconds * float64(time.Second))
		} else if at, err := http.ParseTime(s); err == nil && at.After(now) {
			wait = at.Sub(now)
		}
	}
	for _, limit := range []string{"requests", "tokens", "input-tokens", "output-tokens"} {
		if h.Get("Anthropic-Ratelimit-"+limit+"-Remaining") != "0" {
			continue
		}
		if at, err := time.Parse(time.RFC3339, h.Get("Anthropic-Ratelimit-"+limit+"-Reset")); err == nil && at.After(resets) {
			resets = at
		}
	}
	return wait, resets
}
