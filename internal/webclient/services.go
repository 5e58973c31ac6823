package webclient

import (
	"cmp"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/html"

	"github.com/gajae-code/gjc/internal/jsonx"
)

// service describes how to query a provider.
type service struct {
	name  SearchProvider
	label string
	// setting names the source of its key, for users.
	setting  string
	endpoint string
	call     func(*Searcher, *Query) request
	read     func(body []byte) (*Results, error)
}

// request is an HTTP request: a GET, or a POST with body.
type request struct {
	path  string
	query url.Values
	// header and value are the authentication header.
	header, value string
	body          any
}

// services are the providers in order of preference.
func services() []service {
	return []service{
		{SearchTavily, "Tavily", "TAVILY_API_KEY", "https://api.tavily.com", askTavily, readResults},
		{SearchPerplexity, "Perplexity", "PERPLEXITY_API_KEY", "https://api.perplexity.ai", askPerplexity, readPerplexity},
		{SearchBrave, "Brave", "BRAVE_API_KEY", "https://api.search.brave.com", askBrave, readBrave},
		{SearchExa, "Exa", "EXA_API_KEY", "https://api.exa.ai", askExa, readResults},
		{SearchSearXNG, "SearXNG", "SEARXNG_TOKEN, or searxng in config.yml", "", askSearXNG, readResults},
	}
}

type tavilyRequest struct {
	Query         string  `json:"query"`
	MaxResults    int     `json:"max_results"`
	TimeRange     Recency `json:"time_range,omitzero"`
	IncludeAnswer bool    `json:"include_answer"`
}

func askTavily(s *Searcher, q *Query) request {
	return request{
		path: "/search", header: "Authorization", value: "Bearer " + s.key,
		body: tavilyRequest{Query: q.Text, MaxResults: q.Limit, TimeRange: q.Recency, IncludeAnswer: true},
	}
}

// readResults reads the responses of Tavily, Exa and SearXNG.
func readResults(body []byte) (*Results, error) {
	var in struct {
		Answer  string      `json:"answer"`  // of Tavily
		Answers []jsonx.Raw `json:"answers"` // of SearXNG
		Results []struct {
			Title   string `json:"title"`
			URL     string `json:"url"`
			Content string `json:"content"`
			// Exa's names for the content.
			Summary string `json:"summary"`
			Text    string `json:"text"`
			// Tavily uses another name for the date.
			TavilyDate string `json:"published_date"`
			Date       string `json:"publishedDate"`
		} `json:"results"`
	}
	if err := decode(body, "results", &in); err != nil {
		return nil, err
	}
	res := &Results{Answer: in.Answer}
	for _, raw := range in.Answers {
		// Older instances return strings, newer ones objects.
		text, ok := jsonx.Text(raw)
		if !ok && len(raw) > 0 && raw[0] == '{' {
			text, _ = jsonx.Text(jsonx.Lookup(raw, "answer"))
		}
		res.Answer = strings.TrimSpace(res.Answer + "\n" + text)
	}
	for _, r := range in.Results {
		res.Sources = append(res.Sources, Source{r.Title, r.URL, cmp.Or(r.Content, r.Summary, r.Text), cmp.Or(r.TavilyDate, r.Date)})
	}
	return res, nil
}

type perplexityRequest struct {
	Model            string              `json:"model"`
	Messages         []perplexityMessage `json:"messages"`
	SearchMode       string              `json:"search_mode"`
	NumSearchResults int                 `json:"num_search_results"`
	RecencyFilter    Recency             `json:"search_recency_filter,omitzero"`
	MaxTokens        int                 `json:"max_tokens"`
	Temperature      float64             `json:"temperature"`
}

type perplexityMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

func askPerplexity(s *Searcher, q *Query) request {
	return request{
		path: "/chat/completions", header: "Authorization", value: "Bearer " + s.key,
		body: perplexityRequest{
			Model: "sonar-pro", Messages: []perplexityMessage{{"user", q.Text}}, SearchMode: "web", NumSearchResults: max(q.Limit, defaultResults),
			RecencyFilter: q.Recency, MaxTokens: 8192, Temperature: 0.2,
		},
	}
}

func readPerplexity(body []byte) (*Results, error) {
	var in struct {
		Choices []struct {
			Message perplexityMessage `json:"message"`
		} `json:"choices"`
		SearchResults []struct {
			Title   string `json:"title"`
			URL     string `json:"url"`
			Date    string `json:"date"`
			Snippet string `json:"snippet"`
		} `json:"search_results"`
		Citations []string `json:"citations"`
	}
	if err := decode(body, "choices", &in); err != nil {
		return nil, err
	}
	res := new(Results)
	if len(in.Choices) > 0 {
		res.Answer = in.Choices[0].Message.Content
	}
	for _, r := range in.SearchResults {
		res.Sources = append(res.Sources, Source{r.Title, r.URL, r.Snippet, r.Date})
	}
	if len(res.Sources) == 0 {
		for _, at := range in.Citations {
			res.Sources = append(res.Sources, Source{URL: at})
		}
	}
	return res, nil
}

func askBrave(s *Searcher, q *Query) request {
	query := url.Values{"q": {q.Text}, "count": {strconv.Itoa(q.Limit)}, "extra_snippets": {"true"}}
	if q.Recency != "" {
		query.Set("freshness", "p"+string(q.Recency[:1]))
	}
	return request{path: "/res/v1/web/search", query: query, header: "X-Subscription-Token", value: s.key}
}

func readBrave(body []byte) (*Results, error) {
	var in struct {
		Web struct {
			Results []struct {
				Title       string   `json:"title"`
				URL         string   `json:"url"`
				Description string   `json:"description"`
				Age         string   `json:"age"`
				PageAge     string   `json:"page_age"`
				Extra       []string `json:"extra_snippets"`
			} `json:"results"`
		} `json:"web"`
	}
	// "web" is missing if nothing was found.
	if err := decode(body, "", &in); err != nil {
		return nil, err
	}
	res := new(Results)
	for _, r := range in.Web.Results {
		snippet := r.Description
		if snippet == "" && len(r.Extra) > 0 {
			snippet = r.Extra[0]
		}
		res.Sources = append(res.Sources, Source{withoutTags(r.Title), r.URL, withoutTags(snippet), cmp.Or(r.Age, r.PageAge)})
	}
	return res, nil
}

type exaRequest struct {
	Query      string      `json:"query"`
	NumResults int         `json:"numResults"`
	Start      string      `json:"startPublishedDate,omitzero"`
	Contents   exaContents `json:"contents"`
}

type exaContents struct {
	Text exaText `json:"text"`
}

type exaText struct {
	MaxCharacters int `json:"maxCharacters"`
}

func askExa(s *Searcher, q *Query) request {
	body := exaRequest{Query: q.Text, NumResults: q.Limit, Contents: exaContents{exaText{2 * maxSnippet}}}
	now := s.now().UTC()
	switch q.Recency {
	case RecencyDay:
		now = now.AddDate(0, 0, -1)
	case RecencyWeek:
		now = now.AddDate(0, 0, -7)
	case RecencyMonth:
		now = now.AddDate(0, -1, 0)
	case RecencyYear:
		now = now.AddDate(-1, 0, 0)
	}
	if q.Recency != "" {
		body.Start = now.Format(time.RFC3339)
	}
	return request{path: "/search", header: "x-api-key", value: s.key, body: body}
}

func askSearXNG(s *Searcher, q *Query) request {
	query := url.Values{"q": {q.Text}, "format": {"json"}}
	switch q.Recency {
	case "":
	case RecencyWeek: // which this provider does not support
		query.Set("time_range", string(RecencyMonth))
	default:
		query.Set("time_range", string(q.Recency))
	}
	out := request{path: "/search", query: query}
	if s.key != "" {
		out.header, out.value = "Authorization", "Bearer "+s.key
	}
	return out
}

var errOtherAnswer = errors.New("the response lacks a required member")

// decode decodes a response and requires one of its members.
func decode(body []byte, member string, into any) error {
	if err := jsonx.Unmarshal(body, into); err != nil {
		return err
	}
	if member != "" && jsonx.Lookup(body, member) == nil {
		return errOtherAnswer
	}
	return nil
}

// withoutTags returns the text of an HTML fragment: Brave highlights matched words.
func withoutTags(s string) string {
	if !strings.ContainsAny(s, "<&") {
		return s
	}
	for _, tag := range []string{"<strong>", "</strong>", "<b>", "</b>", "<em>", "</em>"} {
		s = strings.ReplaceAll(s, tag, "")
	}
	return html.UnescapeString(s)
}
