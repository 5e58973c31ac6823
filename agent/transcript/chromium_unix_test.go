//go:build unix

package transcript_test

import (
	"bytes"
	"image/png"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent/transcript"
	"github.com/gajae-code/gjc/internal/testenv"
)

// fileURL saves a page and returns its URL.
func fileURL(t *testing.T, page string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

var policy = regexp.MustCompile(`<meta http-equiv="Content-Security-Policy"[^>]*>`)

// measure is a script that measures the layout, first as the page is opened, then with all its parts open.
const measure = `(() => {
  const wide = () => [...document.querySelectorAll("body *")].filter(e => {
    if (e.closest("svg")) return false;
    for (let p = e.parentElement; p && p !== document.body; p = p.parentElement) if (getComputedStyle(p).overflowX !== "visible") return false;
    return e.getBoundingClientRect().right > innerWidth + 0.5;
  }).map(e => e.tagName + "." + e.className);
  const page = document.scrollingElement, contents = document.querySelector(".contents"), main = document.querySelector("main");
  const folded = page.scrollHeight, wideFolded = wide();
  document.querySelectorAll("details").forEach(d => d.open = true);
  const rect = e => e.getBoundingClientRect(), bars = [...document.querySelectorAll(".chart svg")].map(svg => svg.querySelectorAll("rect").length);
  return {
    width: innerWidth, scrollWidth: page.scrollWidth, wide: wideFolded.concat(wide()), folded, open: page.scrollHeight,
    details: document.querySelectorAll("details").length, bars, chartWidth: rect(document.querySelector(".chart svg")).width,
    background: getComputedStyle(document.body).backgroundColor, codeBackground: getComputedStyle(document.querySelector(".assistant pre")).backgroundColor,
    column: rect(contents).right <= rect(main).left && rect(contents).top < innerHeight, block: rect(contents).bottom <= rect(main).top,
    lines: [...document.querySelectorAll(".diff pre span")].every(e => e.getClientRects().length > 0),
    ids: [...document.querySelectorAll("a[href^='#']")].filter(a => !document.getElementById(a.hash.slice(1))).map(a => a.hash),
  };
})()`

type measured struct {
	Width          float64  `json:"width"`
	ScrollWidth    float64  `json:"scrollWidth"`
	Wide           []string `json:"wide"`
	Folded         float64  `json:"folded"`
	Open           float64  `json:"open"`
	Details        int      `json:"details"`
	Bars           []int    `json:"bars"`
	ChartWidth     float64  `json:"chartWidth"`
	Background     string   `json:"background"`
	CodeBackground string   `json:"codeBackground"`
	Column         bool     `json:"column"`
	Block          bool     `json:"block"`
	Lines          bool     `json:"lines"`
	IDs            []string `json:"ids"`
}

// axe returns the findings of axe-core by the rules of WCAG 2.2, levels A and AA.
func (b *browser) axe(library string) []string {
	b.t.Helper()
	var got []string
	b.eval(library+`; axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]})
		.then(r => r.violations.flatMap(v => v.nodes.map(n => v.id + ": " + n.target.join(" ") + ": " + n.failureSummary)))`, &got)
	return got
}

func views() []view {
	var all []view
	for _, width := range []int{390, 1024, 1600} {
		all = append(all, view{width: width}, view{width: width, dark: true})
	}
	return all
}

// The layout and the accessibility of the page, at three widths and in both color schemes. go test -artifacts keeps the pictures.
func TestHTML_InABrowser(t *testing.T) {
	library, err := os.ReadFile(filepath.Join(testenv.NeedsInterop(t), "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		testenv.Skip(t, "no axe-core in testdata/interop; run npm ci there")
	}
	b := newBrowser(t)
	address := fileURL(t, written(t, conversation(), transcript.HTML))
	backgrounds := make(map[bool]string)
	for _, v := range views() {
		b.open(address, v)
		picture := b.shoot("page-" + v.String())
		if findings := b.axe(string(library)); len(findings) > 0 {
			t.Errorf("%s: axe finds\n%s", v, strings.Join(findings, "\n"))
		}
		var m measured
		b.eval(measure, &m)
		if m.Width != float64(v.width) || m.ScrollWidth > m.Width || len(m.Wide) > 0 {
			t.Errorf("%s: the page is %v wide, and %v are wider: %v", v, m.Width, m.ScrollWidth, m.Wide)
		}
		if m.Details < 10 || m.Open < m.Folded+500 || !m.Lines {
			t.Errorf("%s: %d parts make the page %v high folded and %v open; all lines of diffs can be seen: %v", v, m.Details, m.Folded, m.Open, m.Lines)
		}
		if diff := cmp.Diff([]int{6, 2, 2}, m.Bars); diff != "" || m.ChartWidth < 130 {
			t.Errorf("%s: the first chart is %v wide; bars (-want +got):\n%s", v, m.ChartWidth, diff)
		}
		if narrow := v.width == 390; m.Column == narrow || m.Block != narrow {
			t.Errorf("%s: the contents are a column: %v, a block above the text: %v", v, m.Column, m.Block)
		}
		if len(m.IDs) > 0 {
			t.Errorf("%s: links lead nowhere: %v", v, m.IDs)
		}
		if backgrounds[v.dark] = m.Background; m.CodeBackground == m.Background {
			t.Errorf("%s: the background is %s, also that of code: the styles do not hold", v, m.Background)
		}
		img, err := png.Decode(bytes.NewReader(picture))
		if err != nil {
			t.Fatal(err)
		}
		red, green, blue, _ := img.At(2, 2).RGBA()
		if light := red+green+blue > 3*0x8000; light == v.dark || img.Bounds().Dx() != v.width {
			t.Errorf("%s: the picture is light: %v, and %d wide", v, light, img.Bounds().Dx())
		}
		b.eval(`document.querySelectorAll("details").forEach(d => d.open = true)`, nil)
		if findings := b.axe(string(library)); len(findings) > 0 {
			t.Errorf("%s: with all parts open, axe finds\n%s", v, strings.Join(findings, "\n"))
		}
	}
	if backgrounds[false] != "rgb(255, 255, 255)" || backgrounds[true] == backgrounds[false] {
		t.Errorf("the backgrounds are %v", backgrounds)
	}
}

// Text of a model cannot break the layout, lead to a script, or change the direction of other text.
func TestHTML_HostileInABrowser(t *testing.T) {
	b := newBrowser(t)
	row := strings.Repeat("| a wide cell ", 60) + "|\n"
	hostile := row + strings.Repeat("|---", 60) + "|\n" + strings.Repeat(row, 5) + "\n" + strings.Repeat("> - ", 20) + "deep " + strings.Repeat("W", 500) + "\n\n" +
		"[a](javascript:alert(1)) <javascript:alert(1)> <b onclick=alert(1)>x</b> \u202eright to left\u2066\n\n```\n" + strings.Repeat("code", 300) + "\n```\n"
	b.open(fileURL(t, written(t, everywhere(hostile, strings.Repeat("n", 400), "image/png", nil), transcript.HTML)), view{width: 390})
	var got struct {
		ScrollWidth           float64
		Scripts, Links, Marks int
	}
	b.eval(`(() => {
		document.querySelectorAll("details").forEach(d => d.open = true);
		return {ScrollWidth: document.scrollingElement.scrollWidth, Scripts: document.querySelectorAll("script, [onclick]").length,
			Links: document.querySelectorAll("a[href^='javascript']").length, Marks: (document.body.textContent.match(/[\u202a-\u202e\u2066-\u2069]/g) || []).length};
	})()`, &got)
	if got.ScrollWidth > 390 || got.Scripts != 0 || got.Links != 0 || got.Marks != 0 {
		t.Errorf("%+v", got)
	}
}

// Links to a part and to a text open what is folded. The browser's find, which no protocol reaches, opens it the same way as links to a
// text. No script takes part.
func TestHTML_FoldedPartsAreFound(t *testing.T) {
	b := newBrowser(t)
	address := fileURL(t, written(t, folds(), transcript.HTML))
	type state struct {
		Diff, Read bool
		// Seen says that what was looked for is in the window.
		Seen bool
	}
	look := func(text string) (s state) {
		b.eval(`(() => {
			const walk = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
			let node; while (node = walk.nextNode()) if (node.data.includes("`+text+`")) break;
			const r = document.createRange(); r.selectNodeContents(node);
			const box = r.getBoundingClientRect();
			return {Diff: document.getElementById("diff-1").parentElement.open, Read: document.getElementById("call-2").parentElement.open, Seen: box.height > 0 && box.bottom > 0 && box.top < innerHeight};
		})()`, &s)
		return s
	}
	for _, tt := range []struct {
		fragment, text string
		want           state
	}{
		{"", "the needle", state{}},
		{"#diff-1", "line 0 of", state{true, false, true}},
		{"#:~:text=needle%20is", "the needle", state{true, false, true}},
		{"#:~:text=and%20a%20pin", "and a pin", state{false, true, true}},
		{"#prompt-2", "second", state{false, false, true}},
	} {
		b.open(address+tt.fragment, view{width: 1024})
		if got := look(tt.text); got != tt.want {
			t.Errorf("%q: %+v, want %+v", tt.fragment, got, tt.want)
		}
	}
}

// The printed page shows the text and the diffs, light and in the width of the paper, also to a reader who prefers dark.
func TestHTML_Printed(t *testing.T) {
	b := newBrowser(t)
	address := fileURL(t, written(t, folds(), transcript.HTML))
	b.open(address, view{width: 720, dark: true, print: true})
	b.shoot("print")
	var got struct {
		Background  string
		ScrollWidth float64
		Diff, Raw   float64
		Permalink   string
	}
	b.eval(`(() => {
		const height = s => document.querySelector(s).getBoundingClientRect().height;
		return {Background: getComputedStyle(document.body).backgroundColor, ScrollWidth: document.scrollingElement.scrollWidth, Diff: height("#diff-1"), Raw: height(".raw"),
			Permalink: getComputedStyle(document.querySelector(".permalink")).display};
	})()`, &got)
	if got.Background != "rgb(255, 255, 255)" || got.ScrollWidth > 720 || got.Diff < 900 || got.Raw != 0 || got.Permalink != "none" {
		t.Errorf("printed: %+v", got)
	}
	pdf := b.binary("Page.printToPDF", map[string]any{"printBackground": true})
	b.keep("page.pdf", pdf)
	if pages := bytes.Count(pdf, []byte("/Type /Page\n")); !bytes.HasPrefix(pdf, []byte("%PDF-")) || pages < 3 {
		t.Errorf("the document has %d bytes and %d pages", len(pdf), pages)
	}
}

// The page loads nothing and runs nothing, even with an injected tag.
func TestHTML_LoadsNothing(t *testing.T) {
	b := newBrowser(t)
	attack := `![x](http://leak.example/1.png) <img src="http://leak.example/2.png"> [a](http://leak.example/3)` + "\n\n<script src=\"http://leak.example/4.js\"></script>\n\n" +
		`<style>@import "http://leak.example/5.css"; body{background:url(http://leak.example/6.png)}</style>`
	page := written(t, everywhere(attack, attack, "image/png", []byte("no picture")), transcript.HTML)
	b.open(fileURL(t, page), view{width: 1024})
	if n := b.requests("leak.example"); n > 0 {
		t.Errorf("the page has asked for %d things", n)
	}
	smuggled := strings.Replace(page, "</main>", attack+`<script>document.body.id = "ran"</script><p id="x" onclick="1" style="color:red"></main>`, 1)
	var id string
	b.open(fileURL(t, smuggled), view{width: 1024})
	b.eval("document.body.id", &id)
	if n := b.requests("leak.example"); n > 0 || id != "" {
		t.Errorf("the policy lets %d requests out; the script has set %q", n, id)
	}
	// Check that the test detects requests.
	b.open(fileURL(t, policy.ReplaceAllString(smuggled, "")), view{width: 1024})
	b.eval("document.body.id", &id)
	if n := b.requests("leak.example"); n == 0 || id != "ran" {
		t.Errorf("without a policy %d requests went out", n)
	}
}
