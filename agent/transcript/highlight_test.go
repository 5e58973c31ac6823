package transcript_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent/transcript"
	"github.com/gajae-code/gjc/internal/jsonx"
)

var (
	firstPre = regexp.MustCompile(`(?s)<pre>\n(.*?)</pre>`)
	marked   = regexp.MustCompile(`(?s)<span class="([a-z]+)">(.*?)</span>`)
)

// highlighted returns the marked parts of a code block, with their classes.
func highlighted(t *testing.T, language, code string) []string {
	t.Helper()
	b := new(branch)
	b.answer(1, text("```"+language+"\n"+code+"\n```"))
	page := written(t, &transcript.Session{Branch: b.entries}, transcript.HTML)
	pre := firstPre.FindStringSubmatch(page)
	if pre == nil {
		t.Fatalf("no code in\n%s", page)
	}
	var all []string
	for _, m := range marked.FindAllStringSubmatch(pre[1], -1) {
		all = append(all, m[1]+" "+m[2])
	}
	return all
}

func TestHighlight(t *testing.T) {
	for _, tt := range []struct {
		language, code string
		want           []string
	}{
		{"go", "x := `a\nb` // c", []string{"s `a\nb`", "c // c"}},
		{"golang", `if s == "a\"b" { return 0x1f } /* d`, []string{"k if", "s &#34;a\\&#34;b&#34;", "k return", "n 0x1f", "c /* d"}},
		{"python", "def f(): # no\n  '''a\nb'''", []string{"k def", "c # no", "s &#39;&#39;&#39;a\nb&#39;&#39;&#39;"}},
		{"rust", "fn f<'a>(c: char) { 'x' }", []string{"k fn", "k char"}},
		{"bash", "if [ $# -gt 1 ]; then # two\n echo 'a\nb'", []string{"k if", "n 1", "k then", "c # two", "k echo", "s &#39;a\nb&#39;"}},
		{"SQL", "select 'it''s' FROM t -- all", []string{"k select", "s &#39;it&#39;", "s &#39;s&#39;", "k FROM", "c -- all"}},
		{"json", `{"a": true, "b": 1.5}`, []string{"s &#34;a&#34;", "k true", "s &#34;b&#34;", "n 1.5"}},
		{"html", `<a href="x">if</a><!-- if -->`, []string{"k a", "s &#34;x&#34;", "k a", "c &lt;!-- if --&gt;"}},
		{"diff", "@@ -1 +1 @@\n-a\n+b\n c", []string{"hunk @@ -1 +1 @@\n", "del -a\n", "add +b\n"}},
		{"", "if x { return 1 }", nil},
		{"brainfuck", "if x { return 1 }", nil},
		{"ts", "it's", nil},
		{"yaml", "a: yes # b\nc: x#y", []string{"k yes", "c # b"}},
	} {
		if diff := cmp.Diff(tt.want, highlighted(t, tt.language, tt.code)); diff != "" {
			t.Errorf("%s %q (-want +got):\n%s", tt.language, tt.code, diff)
		}
	}
}

// Each language has keywords or strings to mark.
func TestHighlight_Languages(t *testing.T) {
	for name := range strings.FieldsSeq("go js ts tsx python rust c cpp java kotlin csharp swift ruby php sh sql json yaml toml html xml css lua dockerfile makefile elixir zig diff") {
		code := map[string]string{"diff": "+a", "html": `<a b="c">`, "xml": `<a b="c">`}[name]
		if code == "" {
			code = `x = "a string"`
		}
		if len(highlighted(t, name, code)) == 0 {
			t.Errorf("%s: nothing is marked", name)
		}
	}
}

// Code designed to be slow is highlighted in time.
func TestHighlight_Bounded(t *testing.T) {
	for _, unit := range []string{`\'`, `'`, `"`, "/*", "`", "#", "a", "1", `"""`, `'\'`} {
		for _, language := range []string{"rust", "python", "sh", "sql", "php"} {
			b := new(branch)
			b.answer(1, text("```"+language+"\n"+strings.Repeat(unit, (40<<10)/len(unit))+"\n```"))
			written(t, &transcript.Session{Branch: b.entries}, transcript.HTML)
		}
	}
}

// Only the changed lines of a diff are shown, a long one is truncated, and a huge one is not shown.
func TestDiff_Bounded(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	lines := func(n int) string {
		var s strings.Builder
		for range n {
			fmt.Fprintf(&s, "%d\n", random.IntN(1e6))
		}
		return s.String()
	}
	for _, n := range []int{1_000, 100_000, 400_000} {
		b := new(branch)
		b.answer(1, call("c1", "edit", "{}"))
		b.result("c1", "edit", "ok", fmt.Sprintf(`{"title":"t","kind":"edit","content":[{"type":"diff","path":"/a","oldText":%s,"newText":%s}]}`,
			jsonx.AppendString(nil, lines(n)), jsonx.AppendString(nil, lines(n))), false)
		page := written(t, &transcript.Session{Branch: b.entries}, transcript.HTML)
		if got := strings.Count(page, "</span>"); got > 5000 || n == 400_000 != strings.Contains(page, "too long to be shown") || n == 100_000 != strings.Contains(page, "the rest is not shown") {
			t.Errorf("%d lines: %d are shown", n, got)
		}
	}
}
