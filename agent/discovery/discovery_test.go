package discovery_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent/discovery"
)

// manyServers are the tools of 20 servers with 100 tools each, with the words of real ones.
func manyServers() []discovery.Document {
	verbs := []string{"get", "list", "create", "update", "delete", "search", "export", "import", "archive", "restore"}
	things := []string{"issue", "pull_request", "branch", "comment", "label", "milestone", "release", "workflow", "user", "team"}
	var docs []discovery.Document
	for s := range 20 {
		server := fmt.Sprintf("service%02d", s)
		for i := range 100 {
			remote := verbs[i%10] + "_" + things[i/10]
			docs = append(docs, discovery.Document{
				Name: "mcp__" + server + "_" + remote, Origin: discovery.Origin{Server: server, Remote: remote, Title: strings.ToTitle(verbs[i%10]) + " " + things[i/10]},
				Summary: strings.Repeat("Works on the "+things[i/10]+" of a project and returns what has changed. ", 3),
				Members: []string{"owner", "repo", things[i/10] + "_id", "pageSize", "cursor"},
			})
		}
	}
	return docs
}

func found(t *testing.T, x *discovery.Index, query string, limit int) []string {
	t.Helper()
	best, _, err := x.Search(query, limit, nil)
	if err != nil {
		t.Fatalf("%q: %v", query, err)
	}
	var names []string
	for _, m := range best {
		names = append(names, x.Doc(m.Doc).Name)
	}
	return names
}

func TestTokens(t *testing.T) {
	for in, want := range map[string][]string{
		"getUserByID":        {"get", "user", "by", "id"},
		"HTTPServer v2API":   {"http", "server", "v2", "api"},
		"list_issues-2":      {"list", "issues", "2"},
		"Café À É e\u0301te": {"cafe", "a", "e", "ete"},
		"ﬁle ①":              {"file", "1"},
		"日本語 ツール":            {"日本語", "ツール"},
		"A":                  {"a"},
		"ABC":                {"abc"},
		"ÀÉa":                {"a", "ea"},
		" …\x00\xff ":        nil,
	} {
		if diff := cmp.Diff(want, discovery.Tokens(in)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", in, diff)
		}
	}
}

func FuzzTokens(f *testing.F) {
	for _, s := range []string{"getUserByID", "HTTPServer", "é e\u0301", "ﷺ", "\xff\xfe", "İstanbul", "ǅabc", "ΑΣ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		tokens := discovery.Tokens(s)
		for _, token := range tokens {
			if token == "" {
				t.Fatalf("%q has an empty word", s)
			}
			for _, c := range token {
				if !unicode.IsLetter(c) && !unicode.IsNumber(c) && !unicode.IsMark(c) {
					t.Fatalf("%q: the word %q has %U", s, token, c)
				}
			}
		}
		if again := discovery.Tokens(s + " " + s); !slices.Equal(again, append(slices.Clone(tokens), tokens...)) {
			t.Fatalf("%q twice is %q", s, again)
		}
		x := discovery.NewIndex([]discovery.Document{{Name: s}, {Name: "other"}})
		best, matches, err := x.Search(s, 5, nil)
		if len(tokens) == 0 {
			if !errors.Is(err, discovery.ErrNoWords) {
				t.Fatalf("%q: %v", s, err)
			}
		} else if err != nil || matches == 0 || best[0].Doc != 0 && !strings.EqualFold(strings.TrimSpace(s), "other") {
			t.Fatalf("%q finds %v, %v", s, best, err)
		}
	})
}

// Each of 2,000 tools is found by its name, and by its server's name for it together with the server.
func TestIndex_EveryTool(t *testing.T) {
	docs := manyServers()
	x := discovery.NewIndex(docs)
	for i := range docs {
		if got := found(t, x, docs[i].Name, 1); len(got) != 1 || got[0] != docs[i].Name {
			t.Fatalf("%s finds %v", docs[i].Name, got)
		}
		if got := found(t, x, docs[i].Remote+" in "+docs[i].Server, 1); len(got) != 1 || got[0] != docs[i].Name {
			t.Fatalf("%s in %s finds %v", docs[i].Remote, docs[i].Server, got)
		}
	}
}

func TestIndex_Rank(t *testing.T) {
	doc := func(name string, o discovery.Origin, summary string, members ...string) discovery.Document {
		return discovery.Document{Name: name, Origin: o, Summary: summary, Members: members}
	}
	x := discovery.NewIndex([]discovery.Document{
		doc("member", discovery.Origin{Server: "s"}, "", "weather"),
		doc("summary", discovery.Origin{Server: "s"}, "weather"),
		doc("server", discovery.Origin{Server: "weather"}, ""),
		doc("title", discovery.Origin{Server: "s", Title: "weather"}, ""),
		doc("weather", discovery.Origin{Server: "s"}, ""),
		doc("b", discovery.Origin{Server: "s"}, "same words"),
		doc("a", discovery.Origin{Server: "s"}, "same words"),
		doc("long", discovery.Origin{Server: "s"}, "same words "+strings.Repeat("and others ", 10)),
		doc("mcp__x_lookup", discovery.Origin{Server: "x", Remote: "lookup"}, ""),
		doc("mcp__x_lookup_lookup", discovery.Origin{Server: "x", Remote: "lookup_lookup"}, "lookup lookup"),
	})
	for query, want := range map[string][]string{
		"the WEATHER":   {"weather", "title", "server", "summary", "member"},
		"same":          {"a", "b", "long"}, // equal scores in the order of the names; shorter texts first
		" Lookup ":      {"mcp__x_lookup", "mcp__x_lookup_lookup"},
		"mcp__x_lookup": {"mcp__x_lookup", "mcp__x_lookup_lookup"},
		"none":          nil,
	} {
		if diff := cmp.Diff(want, found(t, x, query, 100)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", query, diff)
		}
	}
	best, matches, err := x.Search("weather", 2, func(doc int) bool { return doc == 4 })
	if err != nil || matches != 4 || len(best) != 2 || x.Doc(best[0].Doc).Name != "title" {
		t.Errorf("without the best: %v, %d, %v", best, matches, err)
	}
	if _, _, err := x.Search("?! ", 1, nil); !errors.Is(err, discovery.ErrNoWords) {
		t.Errorf("err = %v", err)
	}
	if got := found(t, discovery.NewIndex(nil), "x", 1); got != nil {
		t.Errorf("an empty index finds %v", got)
	}
	if got := found(t, x, strings.Repeat("zzz ", 1<<20)+"weather", 1); got != nil { // only the beginning counts
		t.Errorf("a huge query finds %v", got)
	}
}

func TestSummary(t *testing.T) {
	for _, s := range []string{"one\n\n two", strings.Repeat("ü", 1000), strings.Repeat(" ", 1<<20), "\xff"} {
		got := discovery.Summary(s)
		if n := len([]rune(got)); n > 200 || strings.ContainsAny(got, "\n\t") {
			t.Errorf("%.20q: %q", s, got)
		}
	}
}

// items returns n tools of gjc's own, and those of servers, each with a definition of size bytes.
func items(own, size int, servers ...int) []discovery.Item {
	var all []discovery.Item
	for i := range own {
		all = append(all, discovery.Item{Name: fmt.Sprintf("own%d", i), Size: 100, Essential: i == 0})
	}
	for s, n := range servers {
		for i := range n {
			all = append(all, discovery.Item{
				Name: fmt.Sprintf("s%d_%d", s, i), Size: size,
				Origin: discovery.Origin{Server: fmt.Sprintf("s%d", s), Remote: fmt.Sprintf("tool%d", i)},
			})
		}
	}
	return all
}

func TestMode_Holds(t *testing.T) {
	room := discovery.Room{Bytes: 1 << 20}
	for _, tt := range []struct {
		mode  discovery.Mode
		items []discovery.Item
		room  discovery.Room
		held  int
	}{
		{discovery.Auto, items(20, 100, 20), room, 0},
		{discovery.Auto, items(20, 100, 21), room, 21},
		{"", items(20, 100, 10, 11), room, 21},
		{discovery.Auto, items(50, 100), room, 0}, // no tool is foreign
		{discovery.Auto, items(2, 20<<10, 7), room, 7},
		{discovery.Auto, items(2, 20<<10, 6), room, 0},
		{discovery.Auto, items(2, 20<<10, 3), discovery.Room{Bytes: 40 << 10}, 3},
		{discovery.MCP, items(2, 100, 1), room, 1},
		{discovery.MCP, items(2, 100), room, 0},
		{discovery.All, items(5, 100, 1), room, 5},
		{discovery.Off, items(20, 100, 1000), room, 0},
	} {
		held := tt.mode.Holds(tt.items, tt.room)
		n := 0
		for _, h := range held {
			if h {
				n++
			}
		}
		if n != tt.held || (n == 0) != (held == nil) {
			t.Errorf("%q holds %d of %d back, want %d", tt.mode, n, len(tt.items), tt.held)
		}
	}
}

func TestActive(t *testing.T) {
	all := items(3, 100, 100, 100)
	held := discovery.MCP.Holds(all, discovery.Room{Bytes: 1 << 20})
	active := func(room int, names ...string) (got []string) {
		for _, i := range discovery.Active(all, held, names, discovery.Room{Bytes: room}) {
			got = append(got, all[i].Name)
		}
		return got
	}
	if diff := cmp.Diff([]string{"s1_7", "s0_3"}, active(1<<20, "s1_7", "gone", "s0_3", "s1_7", "own1")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"s0_2", "s0_3"}, active(250, "s0_1", "s0_2", "s0_3")); diff != "" {
		t.Errorf("with little room (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"s0_3"}, active(1, "s0_2", "s0_3")); diff != "" {
		t.Errorf("without room (-want +got):\n%s", diff)
	}
	var many []string
	for i := range 65 {
		many = append(many, fmt.Sprintf("s0_%d", i))
	}
	if got := active(1<<20, many...); len(got) != 49 || got[0] != "s0_16" || got[48] != "s0_64" {
		t.Errorf("of 65 there are %d: %v", len(got), got)
	}
	if got := active(1<<20, many[:64]...); len(got) != 64 {
		t.Errorf("of 64 there are %d", len(got))
	}
}

func TestFit(t *testing.T) {
	all := items(3, 100, 5, 0, 2)
	for _, tt := range []struct {
		room discovery.Room
		want []string
		cuts []discovery.Cut
	}{
		{discovery.Room{Tools: 128, Bytes: 1 << 20}, []string{"s0_0", "s0_1", "s0_2", "s0_3", "s0_4", "s2_0", "s2_1"}, nil},
		{discovery.Room{Tools: 7, Bytes: 1 << 20}, []string{"s0_0", "s0_1", "s2_0", "s2_1"}, []discovery.Cut{{Server: "s0", Tools: 3}}},
		{discovery.Room{Bytes: 350}, []string{"s0_0", "s0_1", "s2_0"}, []discovery.Cut{{Server: "s0", Tools: 3}, {Server: "s2", Tools: 1}}},
		{discovery.Room{Tools: 1, Bytes: 350}, nil, []discovery.Cut{{Server: "s0", Tools: 5}, {Server: "s2", Tools: 2}}},
	} {
		keep, cuts := discovery.Fit(all, tt.room)
		want := append([]string{"own0", "own1", "own2"}, tt.want...)
		var got []string
		for i, k := range keep {
			if k {
				got = append(got, all[i].Name)
			}
		}
		if diff := cmp.Diff(want, got) + cmp.Diff(tt.cuts, cuts); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", tt.room, diff)
		}
	}
}

func TestCatalogue(t *testing.T) {
	all := items(3, 100, 2, 1)
	want := "\n- s0: 2 tools (tool0, tool1)\n- s1: 1 tool (tool0)"
	if got := discovery.Catalogue(all, discovery.MCP.Holds(all, discovery.Room{})); got != want {
		t.Errorf("%q", got)
	}
	if got := discovery.Catalogue(all, discovery.All.Holds(all, discovery.Room{})); got != "\n- gjc: 2 tools (own1, own2)"+want {
		t.Errorf("%q", got)
	}
	many := items(0, 100, slices.Repeat([]int{100}, 200)...)
	got := discovery.Catalogue(many, discovery.MCP.Holds(many, discovery.Room{}))
	if len(got) > 4<<10+100 || !strings.Contains(got, "more with ") || !strings.Contains(got, ", …)\n") {
		t.Errorf("%d bytes: …%s", len(got), got[len(got)-200:])
	}
	hostile := []discovery.Item{{Name: "x", Origin: discovery.Origin{Server: strings.Repeat("s\n", 5000), Remote: strings.Repeat("r", 5000)}}}
	if got := discovery.Catalogue(hostile, []bool{true}); strings.Count(got, "\n") != 1 || len(got) > 200 {
		t.Errorf("%q", got)
	}
}

func BenchmarkSearch(b *testing.B) {
	x := discovery.NewIndex(manyServers())
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := x.Search("create a comment on a pull request of service07", 8, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNewIndex(b *testing.B) {
	docs := manyServers()
	b.ReportAllocs()
	for b.Loop() {
		discovery.NewIndex(docs)
	}
}

// TestSearch_Allocations bounds the allocations of a search: they must not grow with the number of tools.
func TestSearch_Allocations(t *testing.T) {
	x := discovery.NewIndex(manyServers())
	if n := testing.AllocsPerRun(10, func() { _, _, _ = x.Search("create a comment on a pull request of service07", 8, nil) }); n > 10 {
		t.Errorf("%v allocations", n)
	}
}
