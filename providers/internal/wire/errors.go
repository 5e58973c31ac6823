package wire

import (
	"cmp"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/lazyregexp"
	"github.com/gajae-code/gjc/providers"
)

// Errorf returns an error of the model of cfg. It removes keys and unprintable characters from the text and bounds its length.
func Errorf(cfg *providers.Config, kind providers.ErrorKind, format string, args ...any) *providers.Error {
	return &providers.Error{
		Kind: kind, Provider: cfg.Info.Provider, Model: cfg.Info.ID,
		Message: clean(cfg, fmt.Sprintf(format, args...)),
	}
}

// keyLike matches text that looks like an API key, and credentials the credentials of a header: a proxy may quote its own.
var (
	keyLike     = lazyregexp.New(`\b((?:sk|pk|rk|key|xai|gsk)[-_]|AIza|ya29\.)[A-Za-z0-9_\-]{12,}`)
	credentials = lazyregexp.New(`(?i)\b(basic|bearer)\s+[A-Za-z0-9_\-.~+/]{20,}=*`)
)

// redact removes all secrets of the configuration from s, and everything that looks like a key.
func redact(cfg *providers.Config, s string) string {
	return keyLike().ReplaceAllString(credentials().ReplaceAllString(withoutSecrets(cfg, s), "$1 …"), "$1…")
}

// withoutSecrets removes the model's key, the values of its extra headers and their words, and the password and query of its
// address from s.
func withoutSecrets(cfg *providers.Config, s string) string {
	s = redactOne(s, cfg.APIKey)
	header := func(value string) {
		s = redactOne(s, value)
		for _, word := range strings.FieldsFunc(value, func(c rune) bool { return strings.ContainsRune(" ,;=", c) }) {
			if len(word) >= 16 { // shorter words are names, such as "Bearer"
				s = redactOne(s, word)
			}
		}
	}
	for _, value := range cfg.Headers {
		header(value)
	}
	for _, value := range cfg.Transform.SetHeaders {
		if value != nil {
			header(*value)
		}
	}
	u, err := url.Parse(cfg.BaseURL)
	if err != nil {
		return s
	}
	if password, ok := u.User.Password(); ok {
		s = redactOne(s, base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password)))
		s = redactOne(redactOne(s, password), url.QueryEscape(password))
	}
	for name, values := range u.Query() {
		for _, value := range values {
			if len(value) >= 20 || secretName().MatchString(name) { // other values are versions or locations
				s = redactOne(redactOne(s, value), url.QueryEscape(value))
			}
		}
	}
	return s
}

var secretName = lazyregexp.New(`(?i)key|token|secret|auth|sig|pass|code`)

func redactOne(s, secret string) string {
	// Shorter values are words like "true" and not secrets.
	if len(secret) < 8 {
		return s
	}
	return strings.ReplaceAll(s, secret, "…")
}

// networkError classifies a request that got no response.
func networkError(cfg *providers.Config, err error) error {
	if e, ok := errors.AsType[*providers.Error](err); ok {
		known := *e // a signer's error
		known.Provider, known.Model, known.Message = cfg.Info.Provider, cfg.Info.ID, clean(cfg, e.Message)
		return &known
	}
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
		if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
			text += "; if your own authority issued the certificate, add the authority's certificate file to caFiles, under network in config.yml"
		}
	}
	e := Errorf(cfg, kind, "%s", text)
	e.Err = err
	return e
}

// body is the union of the error bodies of all providers.
type body struct {
	Error   jsonx.Raw `json:"error"`
	Message string    `json:"message"`
	Detail  jsonx.Raw `json:"detail"`
	// Cerebras has the members of the error at the top.
	Type jsonx.Raw `json:"type"`
	Code jsonx.Raw `json:"code"`
}

type detail struct {
	Type    string    `json:"type"`
	Code    jsonx.Raw `json:"code"`
	Message string    `json:"message"`
	// Google adds the name of the error, and details of various types.
	Status  jsonx.Raw `json:"status"`
	Details jsonx.Raw `json:"details"`
	// foreign reports that the body does not have the form of an API's error.
	foreign bool
}

// statusError classifies a response with an error status.
func statusError(cfg *providers.Config, res *http.Response, data []byte) error {
	// Redact before shortening: a truncated key would not be recognized.
	d := parseBody([]byte(withoutSecrets(cfg, string(unpacked(res, data)))))
	if d.Type == "" {
		d.Type = exceptionOf(res.Header)
	}
	e := classify(cfg, res.StatusCode, d)
	if (e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed) && !d.names(cfg) {
		e = wrongAddress(cfg, res, e)
	}
	e.RequestID = requestID(res.Header)
	wait, resets := retryAfter(res.Header, time.Now())
	if limit := limitEnds(res.Header, time.Now()); e.Status == http.StatusTooManyRequests && resets.IsZero() {
		resets = limit
	}
	e.RetryAfter, e.ResetsAt = cmp.Or(wait, e.RetryAfter), resets
	return e
}

// EventError classifies an error that arrived as an event of the stream. raw is the value of its "error" member, an object or a
// string.
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
	var all []jsonx.Raw
	if err := jsonx.Unmarshal(data, &all); err == nil && len(all) > 0 {
		data = all[0] // Google returns a list of answers if events were not requested
	}
	if err := jsonx.Unmarshal(data, &b); err != nil {
		// An error page of a proxy.
		return detail{Message: plainText(string(data)), foreign: true}
	}
	if !jsonx.IsNull(b.Error) {
		return parseDetail(b.Error)
	}
	d := detail{Message: b.Message, Type: textOf(b.Type), Code: b.Code}
	if d.Message == "" && !jsonx.IsNull(b.Detail) {
		d.Message = unquote(b.Detail)
	}
	d.foreign = d.Message == ""
	return d
}

func parseDetail(raw jsonx.Raw) detail {
	var d detail
	if err := jsonx.Unmarshal(raw, &d); err != nil {
		d = detail{Message: unquote(raw)}
	}
	return d
}

// textOf returns the value of a JSON string; "" for anything else.
func textOf(raw jsonx.Raw) string {
	text, _ := jsonx.Text(raw)
	return text
}

func unquote(raw jsonx.Raw) string {
	var s string
	if err := jsonx.Unmarshal(raw, &s); err != nil {
		return plainText(string(raw))
	}
	return s
}

func (d *detail) code() string { return unquote(d.Code) }

var tags = lazyregexp.New(`(?s)<(script|style|head).*?</(script|style|head)>|<[^>]*>`)

// plainText shortens a text that is not JSON to one line.
func plainText(s string) string {
	return shorten(strings.Join(strings.Fields(tags().ReplaceAllString(s, " ")), " "), 300)
}

// maxMessage bounds the text of an error, in characters.
const maxMessage = 2000

// clean returns s as the text of an error. It redacts before it truncates: a truncated key would not be recognized.
func clean(cfg *providers.Config, s string) string {
	return shorten(redact(cfg, s[:min(len(s), maxErrorBody)]), maxMessage)
}

var escapes = lazyregexp.New(`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])`)

// shorten removes unprintable characters and terminal escapes from s, and truncates it to most characters.
func shorten(s string, most int) string {
	if len(s) > 16*most {
		s = s[:16*most] // more than enough, even with escapes in between
	}
	if strings.ContainsFunc(s, unprintable) {
		s = strings.Map(func(c rune) rune {
			if unprintable(c) {
				return -1
			}
			return c
		}, escapes().ReplaceAllString(s, ""))
	}
	s = strings.ToValidUTF8(s, "")
	n := 0
	for i := range s {
		if n++; n > most {
			return s[:i] + "…"
		}
	}
	return s
}

// unprintable reports whether c is a control character or a bidirectional formatting character.
func unprintable(c rune) bool {
	switch c {
	case '\n', '\t':
		return false
	case '\u202a', '\u202b', '\u202c', '\u202d', '\u202e', '\u2066', '\u2067', '\u2068', '\u2069':
		return true
	}
	return unicode.IsControl(c)
}

// names reports whether the error is an API's error about an unknown model.
func (d *detail) names(cfg *providers.Config) bool {
	message := strings.ToLower(d.Message)
	return !d.foreign && (contains(message, "model", "deployment", "endpoints found") || d.code() == "model_not_found" ||
		cfg.Info.ID != "" && strings.Contains(message, strings.ToLower(cfg.Info.ID)))
}

// wrongAddress returns the error for a server that serves nothing at the URL of a request.
func wrongAddress(cfg *providers.Config, res *http.Response, said *providers.Error) *providers.Error {
	at := cfg.BaseURL
	if res.Request != nil && res.Request.URL != nil {
		at = res.Request.URL.String()
	}
	if u, err := url.Parse(at); err == nil && u.Host != "" {
		at = " at " + (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).Redacted()
	} else {
		at = ""
	}
	e := Errorf(cfg, providers.KindInvalid, "the server does not have this API%s; check the base URL; it says: %s", at, said.Message)
	e.Status = said.Status
	return e
}

func classify(cfg *providers.Config, status int, d detail) *providers.Error {
	message := d.Message
	if message == "" {
		message = http.StatusText(status)
	}
	if message == "" {
		message = "the provider failed without saying why"
	}
	message = clean(cfg, message)
	if strings.HasPrefix(message, "Unexpected endpoint or method") { // LM Studio says this with status 200
		e := Errorf(cfg, providers.KindInvalid, "%s; check the base URL", strings.TrimRight(message, ". "))
		e.Status = status
		return e
	}
	reasons, limit, wait := googleDetails(d.Details)
	kind := limit
	if kind == "" && wait > 0 && status == http.StatusTooManyRequests {
		kind = providers.KindRateLimit // a used-up quota does not reset in seconds
	}
	if kind == "" {
		kind = kindOf(status, strings.ToLower(message), append(reasons, d.code(), unquote(d.Status), d.Type)...)
	}
	e := Errorf(cfg, kind, "%s", message)
	e.Status = status
	if kind == providers.KindRateLimit && wait == 0 {
		wait = saidWait(message)
	}
	if kind != providers.KindQuota {
		e.RetryAfter = wait
	}
	return e
}

// kindOf returns the kind of an error by its status, its lower-case message, and its names, the most specific first.
func kindOf(status int, message string, names ...string) providers.ErrorKind {
	if overflow(message, names) {
		return providers.KindContextOverflow
	}
	// The names of limits take precedence over words: "need more? see your billing page".
	limited := slices.Contains(names, "rate_limit_exceeded") || slices.Contains(names, "rate_limit_error")
	if !limited && outOfMoney(status, message) {
		return providers.KindQuota
	}
	known := statusKind(status)
	for _, name := range names {
		if k, ok := kinds[name]; ok && known.allows(k) {
			return k
		}
	}
	switch {
	case known.kind != "":
		return known.kind
	case status < 500 && contains(message, "incorrect api key", "invalid api key"):
		return providers.KindAuth
	case contains(message, "server busy"):
		return providers.KindOverloaded
	case status >= 500 || status == 0:
		return providers.KindServer
	}
	return providers.KindInvalid
}

// statusMeaning maps a status to the kind of its error. The status decides; a name in the body may make the kind more specific.
type statusMeaning struct {
	// kind is empty for a status that errors of several kinds have.
	kind providers.ErrorKind
	// exact lists the kinds that a name may select. If kind is empty, it lists those that a name must not select.
	exact []providers.ErrorKind
}

func (m statusMeaning) allows(k providers.ErrorKind) bool {
	return slices.Contains(m.exact, k) == (m.kind != "")
}

func statusKind(status int) statusMeaning {
	one := func(kind providers.ErrorKind, exact ...providers.ErrorKind) statusMeaning {
		return statusMeaning{kind, append(exact, kind)}
	}
	switch status {
	case 401:
		return one(providers.KindAuth)
	case 403:
		return one(providers.KindAuth, providers.KindQuota, providers.KindModel, providers.KindInvalid)
	case 402:
		return one(providers.KindQuota)
	case 404:
		return one(providers.KindModel)
	case 408, 504, 524:
		return one(providers.KindTimeout)
	case 413:
		return one(providers.KindContextOverflow)
	case 429:
		return one(providers.KindRateLimit, providers.KindQuota, providers.KindOverloaded)
	case 503, 529:
		return one(providers.KindOverloaded, providers.KindRateLimit)
	}
	if status >= 400 && status < 500 && status != http.StatusFailedDependency { // AWS uses it for a model's own errors
		return statusMeaning{exact: []providers.ErrorKind{providers.KindServer}}
	}
	return statusMeaning{}
}

// outOfMoney reports whether a message says that the account has no credit left.
func outOfMoney(status int, message string) bool {
	if contains(message, "credit balance is too low", "insufficient credits", "insufficient balance", "exceeded your current quota") {
		return true
	}
	return (status == 402 || status == 403 || status == 429) && strings.Contains(message, "billing") && !strings.Contains(message, "rate limit")
}

// kinds maps the names that Anthropic (type), OpenAI (code, type), Google (status, reason), AWS (exception) and similar servers
// give to errors. It omits names that are less specific than the status ("invalid_request_error").
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
	"server_is_overloaded":       providers.KindOverloaded,
	"slow_down":                  providers.KindOverloaded,
	// Of OpenAI's Responses API, whose stream errors have no status.
	"invalid_prompt":                 providers.KindInvalid,
	"invalid_image":                  providers.KindInvalid,
	"invalid_image_format":           providers.KindInvalid,
	"invalid_base64_image":           providers.KindInvalid,
	"image_too_large":                providers.KindInvalid,
	"image_too_small":                providers.KindInvalid,
	"image_parse_error":              providers.KindInvalid,
	"image_file_too_large":           providers.KindInvalid,
	"image_content_policy_violation": providers.KindInvalid,
	"unsupported_image_media_type":   providers.KindInvalid,
	"empty_image_file":               providers.KindInvalid,
	"bio_policy":                     providers.KindInvalid,
	"misalignment_policy_violation":  providers.KindInvalid,
	"timeout_error":                  providers.KindTimeout,
	"request_too_large":              providers.KindContextOverflow,
	"not_found_error":                providers.KindModel,
	"model_not_found":                providers.KindModel,
	"api_error":                      providers.KindServer,
	"server_error":                   providers.KindServer,
	"internal_server_error":          providers.KindServer,
	"UNAUTHENTICATED":                providers.KindAuth,
	"PERMISSION_DENIED":              providers.KindAuth,
	"API_KEY_INVALID":                providers.KindAuth,
	"RESOURCE_EXHAUSTED":             providers.KindRateLimit,
	"UNAVAILABLE":                    providers.KindOverloaded,
	"DEADLINE_EXCEEDED":              providers.KindTimeout,
	"NOT_FOUND":                      providers.KindModel,
	"INTERNAL":                       providers.KindServer,
	"throttlingException":            providers.KindRateLimit,
	"serviceUnavailableException":    providers.KindOverloaded,
	"modelNotReadyException":         providers.KindOverloaded,
	"modelTimeoutException":          providers.KindTimeout,
	"modelStreamErrorException":      providers.KindServer,
	"modelErrorException":            providers.KindServer,
	"internalServerException":        providers.KindServer,
	"accessDeniedException":          providers.KindAuth,
	"validationException":            providers.KindInvalid,
	"resourceNotFoundException":      providers.KindModel,
	"serviceQuotaExceededException":  providers.KindQuota,
}

// overflow recognizes the many texts for a conversation that exceeds the context window.
func overflow(message string, names []string) bool {
	if slices.Contains(names, "context_length_exceeded") || slices.Contains(names, "exceed_context_size_error") {
		return true
	}
	return contains(
		message,
		"prompt is too long", "prompt too long", "maximum context length", "context length exceeded", "context_length_exceeded",
		"exceeds the context window", "exceed context limit", "exceeds the available context size",
		"greater than the context length", "exceeds the context length", "exceeded max context length", "input is too long", "input length and `max_tokens` exceed",
		"larger than the maximum context", "exceeds the maximum number of tokens", "exceeds the model's context",
		"maximum prompt length is", "exceeded model token limit", "context window exceeds limit", "prompt exceeds max length",
		"reduce the length of the messages", "inputs tokens + max_new_tokens must be", "longer than the maximum model length",
		"longer than the model's context length",
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

// exceptionOf returns AWS's name for an error, spelled as in its streams: "ThrottlingException:http://…" becomes
// throttlingException.
func exceptionOf(h http.Header) string {
	name, _, _ := strings.Cut(h.Get("X-Amzn-Errortype"), ":")
	if name == "" {
		return ""
	}
	return strings.ToLower(name[:1]) + name[1:]
}

func requestID(h http.Header) string {
	for _, name := range []string{"Request-Id", "X-Request-Id"} {
		if id := h.Get(name); id != "" {
			return shorten(id, 200)
		}
	}
	return ""
}
