package transcript_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent/transcript"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/testenv"
	"github.com/gajae-code/gjc/providers"
)

func written(t testing.TB, s *transcript.Session, f transcript.Format) string {
	t.Helper()
	var b strings.Builder
	if err := transcript.Write(&b, s, f); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestWrite_Golden(t *testing.T) {
	for _, f := range []transcript.Format{transcript.HTML, transcript.Markdown, transcript.JSON} {
		path := filepath.Join("testdata", "conversation.golden."+string(f))
		got := written(t, conversation(), f)
		if testenv.Update() {
			if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got), rewrite it with -update:\n%s", path, diff)
		}
	}
}

// The content of each format.
func TestWrite_TellsEverything(t *testing.T) {
	for f, want := range map[transcript.Format][]string{
		transcript.HTML: {
			"<h1>Fix &lt;the&gt; test</h1>", "/w/lib", `<span class="add" data-b="3">+// count is &lt;right&gt;.`, `<span class="del" data-a="4">-	return n - 1`,
			"<table>", `<td class="right">0</td>`, `<li class="task"><span class="box done">☑</span> reproduce`, "<del>not</del>",
			`<a href="https://example.com/a?b=1&amp;c=2"`, `<span class="k">func</span>`, `<span class="c"># the same</span>`,
			"The call was interrupted.", "The turn was interrupted.", "Background job 1", "Mode: plan", "Thinking: low",
			`<span class="label">the fix</span>`, "compacted, at 48\u202f000 tokens, to about 8\u202f000", "<strong>lines.go</strong>", "Stopped: the connection &lt;broke&gt;",
			`src="data:image/png;base64,`, "[image: image/svg+xml, 21 bytes]", `class="cutline"`, "Dashed line: the model&#39;s window, 100k.", "$0.0",
			// A user's text is Markdown too, with its line breaks.
			"Please &lt;b&gt;fix&lt;/b&gt; the test &amp; tell me", "<pre>\ngo test ./... # it fails</pre>", "<pre>\ngo test ./lines</pre>",
			// A command has its status and duration.
			`<code class="title">go test ./...</code> <span class="state bad">✗ exit 1</span> <span class="size">1.23 s</span>`,
			// The root is named once; the file links to its diff.
			"<code>/w/demo</code>", `<a href="#diff-1"><code>lines.go</code></a></th><td class="right plus">+2</td><td class="right minus">−1</td>`, `<pre id="diff-1">`,
			`<li><a href="#prompt-2">Do it.</a></li>`, `<section class="turn" id="prompt-2">`, `<a class="permalink" href="#prompt-2"`,
		},
		transcript.Markdown: {
			"# Fix <the> test", "Changed: lines.go", "- Additional directory: /w/lib", "### Tool call: Edit lines.go", "```diff\n", "+// count is <right>.", "- [ ] Fix <it> (in progress)",
			"> *Thinking*\n>\n> First I *look*.", "*Mode: plan*", "[the fix]", "**Stopped:** the connection <broke>", "**The turn was interrupted.", "*Tokens: ",
		},
		transcript.JSON: {
			`"toolCallId":"c2"`, `"oldText":"package lines`, `"status":"failed"`, `"type":"compaction"`, `"tokensBefore":48000,"tokensAfter":8000`, `"costUsd":`, `"label":"the fix"`,
		},
	} {
		got := written(t, conversation(), f)
		for _, s := range want {
			if !strings.Contains(got, s) {
				t.Errorf("%s lacks %q", f, s)
			}
		}
		for _, s := range []string{"hidden words", "href=\"javascript", "<script"} {
			if strings.Contains(strings.ToLower(got), s) && (f == transcript.HTML || s == "hidden words") {
				t.Errorf("%s has %q", f, s)
			}
		}
	}
}

// The JSON is one object with a stable format.
func TestWrite_JSONShape(t *testing.T) {
	var got struct {
		Session struct {
			ID      string `json:"id"`
			Title   string `json:"title"`
			Cwd     string `json:"cwd"`
			Model   string `json:"model"`
			Created string `json:"created"`
			Updated string `json:"updated"`
			Usage   struct {
				Input  int `json:"input"`
				Output int `json:"output"`
			} `json:"usage"`
			MessageCount int `json:"messageCount"`
			Plan         []struct {
				Content string `json:"content"`
				Status  string `json:"status"`
			} `json:"plan"`
		} `json:"session"`
		Messages []struct {
			ID        string `json:"id"`
			MessageID string `json:"messageId"`
			Type      string `json:"type"`
			Content   []struct {
				Type  string    `json:"type"`
				Text  string    `json:"text"`
				Input jsonx.Raw `json:"input"`
				Data  []byte    `json:"data"`
			} `json:"content"`
		} `json:"messages"`
	}
	if err := jsonx.Unmarshal([]byte(written(t, conversation(), transcript.JSON)), &got); err != nil {
		t.Fatal(err)
	}
	s := got.Session
	if s.ID == "" || s.Title != "Fix <the>\ntest" || s.Cwd != "/w/demo" || s.Model != "acme/m1" || s.Created == "" || s.Updated <= s.Created {
		t.Errorf("session %+v", s)
	}
	if s.Usage.Input != 11500 || s.Usage.Output != 500 || s.MessageCount != 8 || len(s.Plan) != 4 || s.Plan[0].Status != "completed" {
		t.Errorf("session %+v", s)
	}
	var types []string
	for _, m := range got.Messages {
		types = append(types, m.Type)
		if m.Type == "assistant" && m.MessageID != m.ID {
			t.Errorf("message %s is called %q", m.ID, m.MessageID)
		}
	}
	want := []string{
		"model_change", "thinking_level_change", "user", "assistant", "assistant", "user", "assistant", "assistant", "compaction", "branch_summary",
		"custom", "mode_change", "assistant", "assistant", "notice",
	}
	if diff := cmp.Diff(want, types); diff != "" {
		t.Errorf("types (-want +got):\n%s", diff)
	}
	ask := got.Messages[2].Content
	if len(ask) != 3 || ask[0].Type != "text" || !bytes.Equal(ask[1].Data, picture().Data) {
		t.Errorf("the prompt has %d blocks", len(ask))
	}
	answer := got.Messages[3].Content
	if len(answer) != 5 || answer[0].Text != "First I *look*.\n\nThen I think." || answer[1].Text != "I will look." || answer[3].Type != "plan" || string(answer[4].Input) != `{"path":"lines.go"}` {
		t.Errorf("the answer is %+v", answer)
	}
}

func TestWrite_Nothing(t *testing.T) {
	for _, f := range []transcript.Format{transcript.HTML, transcript.Markdown, transcript.JSON} {
		if got := written(t, new(transcript.Session), f); got == "" || strings.Contains(got, "0001-01-01") || strings.Contains(got, "<svg") {
			t.Errorf("%s: %s", f, got)
		}
	}
	if err := transcript.Write(new(bytes.Buffer), conversation(), "pdf"); err == nil {
		t.Error("an unknown format is written")
	}
}

func TestFormat(t *testing.T) {
	for path, want := range map[string]transcript.Format{
		"a.html": transcript.HTML, "a.HTM": transcript.HTML, "b.md": transcript.Markdown, "c.json": transcript.JSON, "d.txt": "?", "e": "?",
	} {
		if got := transcript.FormatOf(path, "?"); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if _, err := transcript.ParseFormat("pdf"); err == nil || !strings.Contains(err.Error(), "html, md and json") {
		t.Errorf("pdf: %v", err)
	}
}

var errFull = errors.New("no space left on device")

// failing is a writer that fails after a number of bytes.
type failing struct {
	left  int
	calls int
}

func (w *failing) Write(p []byte) (int, error) {
	w.calls++
	if w.left -= len(p); w.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// A writer's error is returned, and nothing more is written to it.
func TestWrite_Fails(t *testing.T) {
	s := conversation()
	for range 200 {
		s.Branch = append(s.Branch, conversation().Branch...)
	}
	for _, f := range []transcript.Format{transcript.HTML, transcript.Markdown, transcript.JSON} {
		w := &failing{left: 100_000}
		if err := transcript.Write(w, s, f); !errors.Is(err, errFull) {
			t.Errorf("%s: %v", f, err)
		}
		if w.calls > 3 {
			t.Errorf("%s: %d writes after the failure", f, w.calls)
		}
	}
}

// Unknown prices are not invented.
func TestWrite_UnknownPrices(t *testing.T) {
	s := conversation()
	s.Models = nil
	if got := written(t, s, transcript.HTML); strings.Contains(got, "$0.") || !strings.Contains(got, "Context after each turn") {
		t.Error("there is a price without a price list, or no chart without a window")
	}
	s.Models = func(string) (providers.ModelInfo, bool) { return providers.ModelInfo{ContextWindow: 100}, true }
	if got := written(t, s, transcript.HTML); strings.Contains(got, "<dt>Cost") || strings.Contains(got, "$0.") {
		t.Error("there is a price without a price list")
	}
}

// The root is named only where the page names it, and in data that others wrote.
func TestHTML_NamesTheRootOnce(t *testing.T) {
	s := conversation()
	page := written(t, s, transcript.HTML)
	if n := strings.Count(page, "/w/demo"); n != 1 {
		t.Errorf("the page names its root %d times", n)
	}
	if page := written(t, folds(), transcript.HTML); !strings.Contains(page, `<code class="title">long.txt</code>`) {
		t.Error("the path is not relative")
	}
}

// A short diff is open, a long one is folded, and a call that failed changes no file.
func TestHTML_Diffs(t *testing.T) {
	diff := func(lines int, failed bool) string {
		b := new(branch)
		b.answer(1, call("c", "write", "{}"))
		b.result("c", "write", "ok", `{"title":"Write f","kind":"edit","content":[{"type":"diff","path":"/w/f","oldText":"","newText":"`+strings.Repeat("x\\n", lines)+`"}]}`, failed)
		return written(t, &transcript.Session{Cwd: "/w", Branch: b.entries}, transcript.HTML)
	}
	for _, tt := range []struct {
		lines       int
		failed      bool
		has, hasNot string
	}{
		{30, false, `<details class="diff" open>`, "not applied"},
		{60, false, `<details class="diff"><summary>`, "not applied"},
		{9000, false, `<span class="plus">+9000</span>`, strings.Repeat("x", 10)},
		{3, true, "not applied", "Files changed"},
		{3, false, `<td class="right plus">+3</td>`, "not applied"},
	} {
		page := diff(tt.lines, tt.failed)
		if !strings.Contains(page, tt.has) || strings.Contains(page, tt.hasNot) {
			t.Errorf("%d lines, failed %v: has %q: %v, has %q: %v", tt.lines, tt.failed, tt.has, strings.Contains(page, tt.has), tt.hasNot, strings.Contains(page, tt.hasNot))
		}
	}
	if page := diff(9000, false); strings.Count(page, `class="add"`) > 4000 || !strings.Contains(page, "the rest is not shown") {
		t.Error("a very long diff is not cut")
	}
}

// A command's line shows how it ended.
func TestHTML_CommandStates(t *testing.T) {
	for raw, want := range map[string]string{
		`{"exitCode":0,"durationMs":61000}`:   "✓ exit 0</span> <span class=\"size\">1 min 01 s<",
		`{"exitCode":143,"signal":"SIGTERM"}`: "killed by SIGTERM", `{"timedOut":true}`: "timed out", `{"cancelled":true}`: "cancelled", `{"job":"job1"}`: "goes on as job1",
		`{"exitCode":"odd"}`: "✓ done", `[]`: "✓ done",
	} {
		b := new(branch)
		b.answer(1, call("c", "bash", "{}"))
		b.result("c", "bash", "out", `{"title":"make","kind":"execute","content":[{"type":"text","text":"$ make"}],"raw":`+raw+`}`, false)
		if page := written(t, &transcript.Session{Branch: b.entries}, transcript.HTML); !strings.Contains(page, want) {
			t.Errorf("%s: no %q in\n%s", raw, want, page)
		}
	}
}

// The page has images up to a size, and says where one is left out.
func TestHTML_LimitsImages(t *testing.T) {
	b := new(branch)
	large := providers.Image{MIMEType: "image/png", Data: make([]byte, 5<<20)}
	b.user(large, picture())
	for range 9 {
		b.user(providers.Image{MIMEType: "image/jpeg", Data: make([]byte, 3<<20)})
	}
	page := written(t, &transcript.Session{Branch: b.entries}, transcript.HTML)
	if n, left := strings.Count(page, "<img "), strings.Count(page, "An image is left out"); n != 8 || left != 3 || len(page) > 40<<20 {
		t.Errorf("%d images, %d left out, %d bytes", n, left, len(page))
	}
}

// The scale of a chart is linear from zero: bars are as high as their values, whatever the rest is.
func TestHTML_ChartIsTrue(t *testing.T) {
	b := new(branch)
	for _, used := range []int{300, 600, 1200} {
		b.user(text("go on"))
		b.message(providers.Message{Role: providers.RoleAssistant, Provider: "acme", Model: "m1", Parts: []providers.Part{text("yes")}, Usage: providers.Usage{Input: used}})
	}
	page := written(t, &transcript.Session{Branch: b.entries}, transcript.HTML)
	var heights []string
	for _, bar := range regexp.MustCompile(`<rect class="one"[^>]* height="([0-9.]*)"`).FindAllStringSubmatch(page, 3) {
		heights = append(heights, bar[1])
	}
	if diff := cmp.Diff([]string{"25.000", "50.000", "100.000"}, heights); diff != "" {
		t.Errorf("heights (-want +got):\n%s", diff)
	}
	for _, want := range []string{
		"<li>1.2k</li><li>900</li><li>600</li><li>300</li><li>0</li>", "on a linear scale from 0 to 1.2k", "Highest in turn 3: 1.2k.",
		`<a href="#prompt-3">3</a></th><td class="right">1</td><td class="right">1` + "\u202f" + `200</td>`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q", want)
		}
	}
	for range 1000 {
		b.user(text("more"))
		b.answer(5000, text("done"))
	}
	page = written(t, &transcript.Session{Branch: b.entries}, transcript.HTML)
	if bars := strings.Count(page, "<rect "); bars > 3*3*200 || !strings.Contains(page, "Each bar is the highest of 6 turns.") {
		t.Errorf("%d bars", bars)
	}
}
