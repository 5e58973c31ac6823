package webclient

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/internal/testenv"
)

const searchKey = "key-SECRET-0123"

// searcher returns a provider whose service is a test server.
func searcher(t *testing.T, p SearchProvider, h http.HandlerFunc) *Searcher {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	opts := &SearchOptions{Provider: p, Keys: map[SearchProvider]string{p: searchKey}, Endpoints: map[SearchProvider]string{p: s.URL}}
	all := client(Options{}).Searchers(opts)
	if len(all) != 1 || all[0].Provider() != p || all[0].Host() != "127.0.0.1" {
		t.Fatalf("%+v", all)
	}
	all[0].now = func() time.Time { return time.Date(2026, 3, 9, 12, 0, 0, 0, time.UTC) }
	return all[0]
}

func TestSearchers(t *testing.T) {
	keys := map[SearchProvider]string{SearchBrave: "b", SearchExa: " ", SearchTavily: "t"}
	for _, c := range []struct {
		opts SearchOptions
		want []SearchProvider
	}{
		{SearchOptions{}, nil},
		{SearchOptions{Keys: keys}, []SearchProvider{SearchTavily, SearchBrave}},
		{SearchOptions{Provider: SearchAuto, Keys: keys, SearXNG: "http://localhost:8888"}, []SearchProvider{SearchTavily, SearchBrave, SearchSearXNG}},
		{SearchOptions{Provider: SearchBrave, Keys: keys}, []SearchProvider{SearchBrave}},
		{SearchOptions{Provider: SearchExa, Keys: keys}, nil},
		{SearchOptions{Provider: SearchOff, Keys: keys}, nil},
	} {
		var got []SearchProvider
		for _, s := range New(Options{}).Searchers(&c.opts) {
			got = append(got, s.Provider())
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%+v: -want +got:\n%s", c.opts, d)
		}
	}
}

// Each provider receives its own request format, and its response is decoded.
func TestSearch_Providers(t *testing.T) {
	testenv.NoLeaks(t)
	for _, c := range []struct {
		provider               SearchProvider
		recency                Recency
		request, body          string
		header, value, answers string
		want                   *Results
	}{
		{
			SearchTavily, RecencyWeek, "POST /search", `{"query":"go & acp","max_results":3,"time_range":"week","include_answer":true}`,
			"Authorization", "Bearer " + searchKey,
			`{"answer":"An answer.","results":[{"title":"A","url":"https://a.example/1#x","content":"some\nwords","score":0.9,"published_date":"2026-01-02"}],"response_time":1.5}`,
			&Results{Answer: "An answer.", Sources: []Source{{"A", "https://a.example/1", "some words", "2026-01-02"}}},
		},
		{
			SearchPerplexity, RecencyDay, "POST /chat/completions",
			`{"model":"sonar-pro","messages":[{"role":"user","content":"go & acp"}],"search_mode":"web","num_search_results":10,"search_recency_filter":"day","max_tokens":8192,"temperature":0.2}`,
			"Authorization", "Bearer " + searchKey,
			`{"choices":[{"message":{"role":"assistant","content":"Text [1]"}}],"search_results":[{"title":"A","url":"https://a.example/","date":null,"snippet":"s"}],"citations":["https://z.example/"]}`,
			&Results{Answer: "Text [1]", Sources: []Source{{"A", "https://a.example/", "s", ""}}},
		},
		{
			SearchPerplexity, "", "POST /chat/completions",
			`{"model":"sonar-pro","messages":[{"role":"user","content":"go & acp"}],"search_mode":"web","num_search_results":10,"max_tokens":8192,"temperature":0.2}`,
			"Authorization", "Bearer " + searchKey, `{"choices":[{"message":{"content":"T"}}],"citations":["https://z.example/"]}`,
			&Results{Answer: "T", Sources: []Source{{"", "https://z.example/", "", ""}}},
		},
		{
			SearchBrave, RecencyMonth, "GET /res/v1/web/search?count=3&extra_snippets=true&freshness=pm&q=go+%26+acp", "", "X-Subscription-Token", searchKey,
			`{"type":"search","web":{"results":[{"title":"<strong>A</strong> &amp; B","url":"https://a.example/","description":"","age":"2 days ago","extra_snippets":["more","x"]}]}}`,
			&Results{Sources: []Source{{"A & B", "https://a.example/", "more", "2 days ago"}}},
		},
		{SearchBrave, "", "GET /res/v1/web/search?count=3&extra_snippets=true&q=go+%26+acp", "", "X-Subscription-Token", searchKey, `{"type":"search"}`, &Results{}},
		{
			SearchExa, RecencyYear, "POST /search", `{"query":"go & acp","numResults":3,"startPublishedDate":"2025-03-09T12:00:00Z","contents":{"text":{"maxCharacters":480}}}`,
			"X-Api-Key", searchKey, `{"requestId":"1","results":[{"id":"x","title":null,"url":"https://a.example/","publishedDate":"2026-01-01T00:00:00.000Z","text":"words"}]}`,
			&Results{Sources: []Source{{"", "https://a.example/", "words", "2026-01-01T00:00:00.000Z"}}},
		},
		{
			SearchSearXNG, RecencyWeek, "GET /search?format=json&q=go+%26+acp&time_range=month", "", "Authorization", "Bearer " + searchKey,
			`{"query":"q","answers":["one",{"answer":"two","engine":"x"}],"results":[{"title":"A","url":"https://a.example/","content":"c","publishedDate":null},{"title":"no page","url":"javascript:x"},{"title":"again","url":"https://a.example/"}]}`,
			&Results{Answer: "one\ntwo", Sources: []Source{{"A", "https://a.example/", "c", ""}}},
		},
	} {
		s := searcher(t, c.provider, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body) // missing parts are detected below
			if got := r.Method + " " + r.URL.String(); got != c.request {
				t.Errorf("%s: %s", c.provider, got)
			}
			if string(body) != c.body {
				t.Errorf("%s: body %s", c.provider, body)
			}
			if r.Header.Get(c.header) != c.value {
				t.Errorf("%s: %v", c.provider, r.Header)
			}
			_, _ = io.WriteString(w, c.answers) // the test checks the response
		})
		got, err := s.Search(own(t), Query{Text: "go & acp", Recency: c.recency, Limit: 3})
		if err != nil {
			t.Errorf("%s: %v", c.provider, err)
			continue
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: -want +got:\n%s", c.provider, d)
		}
	}
}

// Failures are explained, and never contain the key.
func TestSearch_Fails(t *testing.T) {
	testenv.NoLeaks(t)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("the other host was asked: %v", r.Header) }))
	defer other.Close()
	for _, c := range []struct {
		provider      SearchProvider
		status        int
		header, body  string
		want, wantNot string
	}{
		{SearchBrave, 401, "", `{"error":{"detail":"bad token ` + searchKey + `"}}`, "rejected the key (status 401); the user must set a valid one in BRAVE_API_KEY: bad token ***", ""},
		{SearchTavily, 403, "", `{"detail":{"error":"no"}}`, "rejected the key (status 403)", ""},
		{SearchTavily, 402, "", ``, "has no credit left", ""},
		{SearchTavily, 429, "7", `slow down`, "too many searches; try again after 7", "slow down"},
		{SearchExa, 503, "", `<html>oops`, "failed (status 503)", "oops"},
		{SearchExa, 400, "", `{"message":"odd\nquery` + strings.Repeat("x", 1000) + `"}`, "status 400: odd query", strings.Repeat("x", 300)},
		{SearchExa, 302, other.URL, ``, "to which the key is not sent", ""},
		{SearchSearXNG, 403, "", `<html>`, "search.formats", ""},
		{SearchTavily, 200, "", ` <!doctype html><p>log in`, "answered with a web page", ""},
		{SearchTavily, 200, "", `{"results": 7}`, "something other than a list of results", ""},
		{SearchTavily, 200, "", `{"hello": 7}`, "something other than a list of results", ""},
		{SearchTavily, 200, "", `[]`, "something other than a list of results", ""},
		{SearchTavily, 200, "", "\x00\x01", "something other than a list of results", ""},
		{SearchTavily, 200, "", ``, "something other than a list of results", ""},
		{SearchPerplexity, 200, "", `{"error":{"message":"x"}}`, "something other than a list of results", ""},
		{SearchTavily, 200, "", `{"results":[{"title":"` + strings.Repeat("x", 5<<20) + `"}]}`, "more than 4 MB", ""},
	} {
		s := searcher(t, c.provider, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", c.header)
			w.Header().Set("Location", c.header)
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body) // the client may have stopped reading
		})
		_, err := s.Search(own(t), Query{Text: "q"})
		e, ok := errors.AsType[*SearchError](err)
		if !ok || e.Status != c.status || !strings.HasPrefix(err.Error(), s.Label()+" ") || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), searchKey) ||
			c.wantNot != "" && strings.Contains(err.Error(), c.wantNot) {
			t.Errorf("%s %d: %v", c.provider, c.status, err)
		}
	}
}

func TestSearch_Unreachable(t *testing.T) {
	testenv.NoLeaks(t)
	s := searcher(t, SearchBrave, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	if _, err := s.Search(own(t), Query{Text: "q"}); err == nil || !strings.Contains(err.Error(), "cannot be reached") || strings.Contains(err.Error(), searchKey) {
		t.Errorf("%v", err)
	}
	why := errors.New("the user has had enough")
	ctx, cancel := context.WithCancelCause(own(t))
	gone := make(chan struct{})
	s = searcher(t, SearchBrave, func(_ http.ResponseWriter, r *http.Request) {
		cancel(why)
		<-r.Context().Done()
		close(gone)
	})
	if _, err := s.Search(ctx, Query{Text: "q"}); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	<-gone
	for _, at := range []string{"ftp://x", "http://user:pw@127.0.0.1", "nothing"} {
		s := client(Options{}).Searchers(&SearchOptions{SearXNG: at})[0]
		if _, err := s.Search(own(t), Query{Text: "q"}); err == nil || !strings.Contains(err.Error(), "must be a URL") || strings.Contains(err.Error(), "pw@") || s.Host() != "" {
			t.Errorf("%s: %v", at, err)
		}
	}
	s = New(Options{Unknown: "broken"}).Searchers(&SearchOptions{SearXNG: "http://127.0.0.1:1"})[0]
	if _, err := s.Search(own(t), Query{Text: "q"}); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("%v", err)
	}
}

// Untrusted texts are reduced to single lines of limited length.
func TestSearch_Tidy(t *testing.T) {
	got := tidy(&Results{
		Answer:  "a\x1b[31m\u202eb\nc" + strings.Repeat("é", maxAnswer),
		Sources: []Source{{"t\n## x\x00", "http://a.example/", strings.Repeat("é", 300), "d\r\n"}, {"", "file:///etc/passwd", "", ""}, {"", "http://b.example/", "", ""}, {"", "http://c.example/", "", ""}},
	}, 2)
	if !strings.HasPrefix(got.Answer, "a[31mb\nc") || len(got.Answer) > maxAnswer+len("…") {
		t.Errorf("%.40q %d", got.Answer, len(got.Answer))
	}
	want := []Source{{"t ## x", "http://a.example/", strings.Repeat("é", maxSnippet) + "…", "d"}, {"", "http://b.example/", "", ""}}
	if d := cmp.Diff(want, got.Sources); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestSearch_Login(t *testing.T) {
	testenv.NoLeaks(t)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, pw, _ := r.BasicAuth(); user != "me" || pw != "pass" || r.URL.Path != "/sub/search" {
			t.Errorf("%s %v", r.URL, r.Header)
		}
		_, _ = io.WriteString(w, `{"results":[]}`) // the test checks the response
	}))
	defer s.Close()
	all := client(Options{}).Searchers(&SearchOptions{SearXNG: s.URL + "/sub/", User: "me", Password: "pass", Keys: map[SearchProvider]string{SearchSearXNG: "t"}})
	if _, err := all[0].Search(own(t), Query{Text: "q"}); err != nil {
		t.Error(err)
	}
}
