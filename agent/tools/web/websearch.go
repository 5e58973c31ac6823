package web

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/agent/toolkit"
	"github.com/gajae-code/gjc/internal/webclient"
)

//go:embed websearch.md
var webSearchText string

// maxQuery bounds a query, in characters.
const maxQuery = 2000

type webSearchInput struct {
	Query   string `json:"query" jsonschema:"what to search for"`
	Recency string `json:"recency,omitzero" jsonschema:"how old results may be: day, week, month or year; any age if absent"`
	Limit   int    `json:"limit,omitzero" jsonschema:"how many results to show, 1 to 20; 10 if absent"`
}

// Search returns the tool for providers, in order of preference.
func Search(searchers []*webclient.Searcher) agent.Tool {
	return agent.NewTool(agent.ToolFuncs[webSearchInput]{
		Schemas: schemas,
		Name:    "web_search", Description: toolkit.Description(webSearchText), Kind: agent.KindFetch,
		Plan: func(_ context.Context, call *agent.Call, in *webSearchInput) (*agent.CallPlan, error) {
			q, err := in.query()
			if err != nil {
				return nil, err
			}
			s := turnOf(call).choose(searchers)
			call.Prepared = s // the user approves a search with exactly this provider
			title := "Search with " + s.Label() + ": " + toolkit.CutLine(q.Text, toolkit.MaxColumns)
			return &agent.CallPlan{
				Title: title, Effects: []approval.Effect{{Action: approval.ActionNetwork, Host: s.Host(), Title: title}},
			}, nil
		},
		Run: func(ctx context.Context, call *agent.Call, in *webSearchInput) (*agent.Result, error) {
			q, err := in.query()
			if err != nil {
				return nil, err
			}
			s, ok := call.Prepared.(*webclient.Searcher)
			if !ok {
				return nil, errors.New("nothing was planned")
			}
			res, err := s.Search(ctx, q)
			if err != nil {
				if ctx.Err() != nil {
					return nil, context.Cause(ctx)
				}
				if next := turnOf(call).failed(searchers, s, err); next != nil {
					return nil, fmt.Errorf("%w. The next search goes to %s: try again", err, next.Label())
				}
				return nil, err
			}
			return webResults(s, res), nil
		},
	})
}

func (in *webSearchInput) query() (webclient.Query, error) {
	q := webclient.Query{Text: strings.Join(strings.Fields(in.Query), " "), Recency: webclient.Recency(in.Recency), Limit: in.Limit}
	bad := func(format string, args ...any) (webclient.Query, error) {
		return q, fmt.Errorf("%w for web_search: "+format, append([]any{agent.ErrBadInput}, args...)...)
	}
	switch {
	case q.Text == "":
		return bad("query is empty")
	case len(q.Text) > maxQuery:
		return bad("query has more than %d characters", maxQuery)
	case !slices.Contains([]webclient.Recency{"", webclient.RecencyDay, webclient.RecencyWeek, webclient.RecencyMonth, webclient.RecencyYear}, q.Recency):
		return bad("recency is %q; it must be day, week, month or year", in.Recency)
	case in.Limit < 0 || in.Limit > webclient.MaxResults:
		return bad("limit is %d; it must be 1 to %d", in.Limit, webclient.MaxResults)
	}
	return q, nil
}

// searchTurn records which providers have failed in a session.
type searchTurn struct {
	mu   sync.Mutex // guards the fields below
	over map[webclient.SearchProvider]bool
}

func turnOf(call *agent.Call) *searchTurn {
	return agent.Value(call.Values.Root(), func() *searchTurn { return &searchTurn{over: make(map[webclient.SearchProvider]bool)} })
}

// choose returns the provider to ask: the first one that has not failed, else the first one.
func (t *searchTurn) choose(searchers []*webclient.Searcher) *webclient.Searcher {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range searchers {
		if !t.over[s.Provider()] {
			return s
		}
	}
	clear(t.over)
	return searchers[0]
}

// failed makes later searches skip a provider, and returns the next one, or nil if there is no other.
func (t *searchTurn) failed(searchers []*webclient.Searcher, s *webclient.Searcher, err error) *webclient.Searcher {
	if e, ok := errors.AsType[*webclient.SearchError](err); ok && e.Status == http.StatusBadRequest {
		return nil // the query is at fault
	}
	t.mu.Lock()
	t.over[s.Provider()] = true
	t.mu.Unlock()
	if next := t.choose(searchers); next != s {
		return next
	}
	return nil
}

// webResults formats the results for a model, marked as data.
func webResults(s *webclient.Searcher, res *webclient.Results) *agent.Result {
	if res.Answer == "" && len(res.Sources) == 0 {
		return &agent.Result{Text: s.Label() + " found nothing. Try other words or a longer time range."}
	}
	var b strings.Builder
	if res.Answer != "" {
		b.WriteString(res.Answer + "\n\n")
	}
	if len(res.Sources) > 0 {
		fmt.Fprintf(&b, "## Sources (%d)\n", len(res.Sources))
	}
	var content []agent.Content
	for i, src := range res.Sources {
		title := cmp.Or(src.Title, src.URL)
		content = append(content, agent.LinkContent{URI: src.URL, Name: title})
		fmt.Fprintf(&b, "[%d] %s", i+1, title)
		if src.Date != "" {
			b.WriteString(" (" + src.Date + ")")
		}
		b.WriteString("\n    " + src.URL + "\n")
		if src.Snippet != "" {
			b.WriteString("    " + src.Snippet + "\n")
		}
	}
	text := toolkit.Marked("search:"+string(s.Provider()), b.String())
	return &agent.Result{Text: text, Content: append([]agent.Content{agent.TextContent{Text: strings.TrimSpace(b.String())}}, content...)}
}
