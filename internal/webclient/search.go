package webclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/permit"
)

// SearchProvider is a web search service, or a setting that selects or disables one.
type SearchProvider string

// The providers.
const (
	// SearchAuto uses the first provider with a key, in the order of [SearchProviders].
	SearchAuto SearchProvider = "auto"
	// SearchOff disables searching.
	SearchOff        SearchProvider = "off"
	SearchTavily     SearchProvider = "tavily"
	SearchPerplexity SearchProvider = "perplexity"
	SearchBrave      SearchProvider = "brave"
	SearchExa        SearchProvider = "exa"
	SearchSearXNG    SearchProvider = "searxng"
)

// SearchProviders lists all valid values.
func SearchProviders() []SearchProvider {
	return []SearchProvider{SearchAuto, SearchOff, SearchTavily, SearchPerplexity, SearchBrave, SearchExa, SearchSearXNG}
}

// SearchOptions configures searching. The zero value disables it, because there is no key.
type SearchOptions struct {
	// Provider is the only provider to use; [SearchAuto] if empty.
	Provider SearchProvider
	// Keys are the providers' keys. SearXNG's is an optional token.
	Keys map[SearchProvider]string
	// SearXNG is the address of an instance, which may be on this machine. User and Password are for basic
	// authentication, which replaces a token.
	SearXNG, User, Password string
	// Endpoints replace the addresses of services in tests.
	Endpoints map[SearchProvider]string
}

// Limits of a search.
const (
	// defaultResults is the default number of results, MaxResults the maximum.
	defaultResults = 10
	MaxResults     = 20
	maxSearchBody  = 4 << 20
	maxTitle       = 200
	maxSnippet     = 240
	maxAnswer      = 16 << 10
)

// Recency is the maximum age of results.
type Recency string

// The recencies. An empty Recency has no limit.
const (
	RecencyDay   Recency = "day"
	RecencyWeek  Recency = "week"
	RecencyMonth Recency = "month"
	RecencyYear  Recency = "year"
)

// Query is a search query.
type Query struct {
	Text string
	// Recency is empty for results of any age.
	Recency Recency
	// Limit is the maximum number of results, at most [MaxResults]; [defaultResults] if zero.
	Limit int
}

// Results is the result of a search. All strings except Answer are single lines without control characters.
type Results struct {
	// Answer is the provider's summary; often empty.
	Answer  string
	Sources []Source
}

// Source is a page that was found.
type Source struct{ Title, URL, Snippet, Date string }

// Searcher queries one provider. It is safe for concurrent use.
type Searcher struct {
	client   *Client
	service  service
	key      string
	base     *url.URL
	user, pw string
	now      func() time.Time
}

// Searchers returns the available providers in order of preference; none if there is no key.
func (c *Client) Searchers(opts *SearchOptions) []*Searcher {
	var all []*Searcher
	for _, p := range services() {
		if opts.Provider != "" && opts.Provider != SearchAuto && opts.Provider != p.name {
			continue
		}
		s := &Searcher{client: c, service: p, key: strings.TrimSpace(opts.Keys[p.name]), now: time.Now}
		address := p.endpoint
		switch {
		case p.name == SearchSearXNG:
			address = strings.TrimSpace(opts.SearXNG)
			s.user, s.pw = opts.User, opts.Password
		case s.key == "":
			continue
		}
		if other := opts.Endpoints[p.name]; other != "" {
			address = other
		}
		if address == "" {
			continue
		}
		if at, err := Parse(address); err == nil {
			s.base = at
		}
		all = append(all, s)
	}
	return all
}

// Provider returns the provider.
func (s *Searcher) Provider() SearchProvider { return s.service.name }

// Label returns the provider's display name.
func (s *Searcher) Label() string { return s.service.label }

// Host returns the host of the service; empty if its address is invalid.
func (s *Searcher) Host() string {
	if s.base == nil {
		return ""
	}
	return s.base.Hostname()
}

// A SearchError reports a failure of a provider. It never contains a key.
type SearchError struct {
	// Provider is the provider's label, Status its HTTP status; zero for none.
	Provider string
	Status   int
	Reason   string
}

func (e *SearchError) Error() string { return e.Provider + " " + e.Reason }

// Search queries the provider. Its errors are [*SearchError], except those of ctx.
func (s *Searcher) Search(ctx context.Context, q Query) (*Results, error) {
	if s.client.opts.Unknown != "" {
		return nil, s.failed(0, "cannot be used: the network settings cannot be read: "+s.client.opts.Unknown)
	}
	if s.base == nil {
		return nil, s.failed(0, "cannot be used: its configured address must be a URL with http:// or https://, without a password in it")
	}
	if q.Limit <= 0 {
		q.Limit = defaultResults
	}
	q.Limit = min(q.Limit, MaxResults)
	limit := min(max(s.client.opts.Timeout, DefaultTimeout), maxTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, s.failed(0, fmt.Sprintf("took longer than %v; try again, or use other words", limit)))
	defer cancel()
	res, err := s.ask(ctx, q)
	if err == nil {
		return res, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if e, ok := errors.AsType[*SearchError](err); ok {
		return nil, e
	}
	return nil, s.failed(0, "cannot be reached: "+err.Error())
}

func (s *Searcher) ask(ctx context.Context, q Query) (*Results, error) {
	req, err := s.request(ctx, q)
	if err != nil {
		return nil, err
	}
	t, err := s.client.begin()
	if err != nil {
		return nil, err
	}
	through := t.open
	switch proxy, err := s.client.proxy(req.URL); {
	case err != nil:
		return nil, fmt.Errorf("the proxy: %w", err)
	case proxy != nil:
		through = t.proxied
	}
	resp, err := through.RoundTrip(req) // without redirects: the key is for this host only
	if err != nil {
		return nil, plainError(err)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxSearchBody+1))
	if cerr := resp.Body.Close(); err == nil {
		err = cerr
	}
	switch {
	case err != nil:
		return nil, err
	case resp.StatusCode != http.StatusOK:
		return nil, s.refused(resp, body)
	case len(body) > maxSearchBody:
		return nil, s.failed(resp.StatusCode, fmt.Sprintf("sent more than %d MB", maxSearchBody>>20))
	}
	res, err := s.service.read(body)
	if err != nil {
		if strings.HasPrefix(strings.TrimSpace(string(body[:min(len(body), 512)])), "<") {
			return nil, s.failed(resp.StatusCode, "answered with a web page instead of results: its address may be wrong, or a login page or proxy intercepts requests")
		}
		return nil, s.failed(resp.StatusCode, "answered with something other than a list of results")
	}
	return tidy(res, q.Limit), nil
}

func (s *Searcher) request(ctx context.Context, q Query) (*http.Request, error) {
	at := *s.base
	call := s.service.call(s, &q)
	at.Path = strings.TrimSuffix(at.Path, "/") + call.path
	at.RawQuery = call.query.Encode()
	method, body := http.MethodGet, ""
	if call.body != nil {
		raw, err := jsonx.Marshal(call.body)
		if err != nil {
			return nil, err
		}
		method, body = http.MethodPost, string(raw)
	}
	if err := permit.Check(ctx, permit.Effect{Action: permit.Reach, Host: at.Hostname()}); err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, at.String(), strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "gjc")
	req.Header.Set("Accept", "application/json")
	if call.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if call.header != "" {
		req.Header.Set(call.header, call.value)
	}
	if s.user != "" && s.service.name == SearchSearXNG {
		req.SetBasicAuth(s.user, s.pw)
	}
	return req, nil
}

func (s *Searcher) failed(status int, reason string) *SearchError {
	for _, secret := range []string{s.key, s.pw} {
		if len(secret) >= 4 {
			reason = strings.ReplaceAll(reason, secret, "***")
		}
	}
	return &SearchError{s.service.label, status, reason}
}

// refused describes a response with a status other than 200.
func (s *Searcher) refused(resp *http.Response, body []byte) *SearchError {
	status := resp.StatusCode
	reason := fmt.Sprintf("answered with status %d", status)
	switch {
	case status/100 == 3:
		reason = fmt.Sprintf("redirects to another address (status %d), to which the key is not sent; set the new address", status)
	case status == http.StatusForbidden && s.service.name == SearchSearXNG:
		reason = "answered with status 403: the instance may not allow JSON; add json to search.formats in its settings"
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		reason = fmt.Sprintf("rejected the key (status %d); the user must set a valid one in %s", status, s.service.setting)
	case status == http.StatusPaymentRequired:
		reason = "answered with status 402: the account has no credit left"
	case status == http.StatusTooManyRequests:
		reason = "answered with status 429: too many searches"
		if after := resp.Header.Get("Retry-After"); after != "" {
			reason += "; try again after " + oneLine(after, 40)
		}
	case status/100 == 5:
		reason = fmt.Sprintf("failed (status %d); try again later", status)
	}
	if text := complaint(body); text != "" {
		reason += ": " + text
	}
	return s.failed(status, reason)
}

// complaint returns the message in the JSON of an error response, in one line; "" for none.
func complaint(body []byte) string {
	raw := jsonx.Raw(body)
	if !jsonx.Valid(raw) {
		return ""
	}
	for range 3 {
		if text, ok := jsonx.Text(raw); ok {
			return oneLine(text, maxSnippet)
		}
		var next jsonx.Raw
		for _, name := range []string{"error", "detail", "message"} {
			if next == nil {
				next = jsonx.Lookup(raw, name)
			}
		}
		if next == nil {
			return ""
		}
		raw = next
	}
	return ""
}

// tidy limits results and removes those that are not web pages.
func tidy(res *Results, limit int) *Results {
	answer := strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, res.Answer)
	if len(answer) > maxAnswer {
		answer = strings.ToValidUTF8(answer[:maxAnswer], "") + "…"
	}
	out := &Results{Answer: strings.TrimSpace(answer)}
	var seen []string
	for _, s := range res.Sources {
		at, err := Parse(strings.TrimSpace(s.URL))
		if err != nil || slices.Contains(seen, at.String()) || len(out.Sources) == limit {
			continue
		}
		seen = append(seen, at.String())
		out.Sources = append(out.Sources, Source{oneLine(s.Title, maxTitle), at.String(), oneLine(s.Snippet, maxSnippet), oneLine(s.Date, 40)})
	}
	return out
}

// oneLine returns a text without newlines and control characters, of at most most characters.
func oneLine(text string, most int) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	n := 0
	for i := range text {
		if n++; n > most {
			return text[:i] + "…"
		}
	}
	return text
}
