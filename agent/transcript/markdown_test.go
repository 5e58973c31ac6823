package transcript_test

import (
	"html"
	"io"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/agent/transcript"
)

// rendered returns the HTML for a model's Markdown.
func rendered(t *testing.T, markdown string) string {
	t.Helper()
	b := new(branch)
	b.answer(1, text(markdown))
	page := written(t, &transcript.Session{Branch: b.entries}, transcript.HTML)
	_, rest, found := strings.Cut(page, `<div class="md">`)
	end := strings.LastIndex(rest, "</div>\n</div>\n<p class=\"usage\">")
	if !found || end < 0 {
		t.Fatalf("no text in\n%s", page)
	}
	return rest[:end]
}

// Rendering of CommonMark and GitHub tables. It differs where a reader would be misled: a star between digits, a single
// tilde and HTML are text, and a table row keeps all its cells and the pipes in its code.
func TestHTML_Markdown(t *testing.T) {
	for _, tt := range []struct{ markdown, want string }{
		// headings
		{"# a\n###### b\n####### c\n#d", "<h3>a</h3>\n<h6>b</h6>\n<p>####### c\n#d</p>"},
		{"## a ##\n## b \\##\n## c#\n#", "<h4>a</h4>\n<h4>b ##</h4>\n<h4>c#</h4>\n<h3></h3>"},
		{"a *b*\n===\nc\nd\n---", "<h3>a <em>b</em></h3>\n<h4>c\nd</h4>"},
		{"> a\n---", "<blockquote>\n<p>a</p>\n</blockquote>\n<hr>"},
		{"   # a\n    # b", "<h3>a</h3>\n<pre>\n# b</pre>"},
		// paragraphs
		{"a\n  b\n\n\nc", "<p>a\nb</p>\n<p>c</p>"},
		{"a  \nb\\\nc \nd  ", "<p>a<br>\nb<br>\nc\nd</p>"},
		{"a\n    b", "<p>a\nb</p>"},
		{"a\n***\nb\n- - -\n_ _ x", "<p>a</p>\n<hr>\n<p>b</p>\n<hr>\n<p>_ _ x</p>"},
		// code
		{"```go title=x\nif a < b {\n```", "<pre>\n<span class=\"k\">if</span> a &lt; b {</pre>"},
		{"~~~\n```\n~~~~\nx", "<pre>\n```</pre>\n<p>x</p>"},
		{"```\na\n\nb", "<pre>\na\n\nb</pre>"},
		{"```a`b\nc", "<p>```a`b\nc</p>"},
		{"    a\n\tb\n\n\n      c\n\nd", "<pre>\na\nb\n\n\n  c</pre>\n<p>d</p>"},
		{"a\n```\nb\n```\nc", "<p>a</p>\n<pre>\nb</pre>\n<p>c</p>"},
		{"  ```\n  a\n b\n   c\n  ```", "<pre>\na\nb\n c</pre>"},
		{"````md\n```\na\n```\n````", "<pre>\n```\na\n```</pre>"},
		// quotes
		{"> a\n> > b\nlazy\n\nc", "<blockquote>\n<p>a</p>\n<blockquote>\n<p>b\nlazy</p>\n</blockquote>\n</blockquote>\n<p>c</p>"},
		{">a\n>\n> b\n\n> c", "<blockquote>\n<p>a</p>\n<p>b</p>\n</blockquote>\n<blockquote>\n<p>c</p>\n</blockquote>"},
		{"> ```\n> a\nb", "<blockquote>\n<pre>\na</pre>\n</blockquote>\n<p>b</p>"},
		{"> - a\n>   - b\n> c\n\n> 1. d", "<blockquote>\n<ul>\n<li>a\n<ul>\n<li>b\nc\n</li>\n</ul>\n</li>\n</ul>\n</blockquote>\n<blockquote>\n<ol>\n<li>d\n</li>\n</ol>\n</blockquote>"},
		// lists
		{"- a\n- b\n* c\n+ d", "<ul>\n<li>a\n</li>\n<li>b\n</li>\n</ul>\n<ul>\n<li>c\n</li>\n</ul>\n<ul>\n<li>d\n</li>\n</ul>"},
		{"- a\n  - b\n    - c\n- d", "<ul>\n<li>a\n<ul>\n<li>b\n<ul>\n<li>c\n</li>\n</ul>\n</li>\n</ul>\n</li>\n<li>d\n</li>\n</ul>"},
		{"1. a\n   - b\n2. c\n   1. d", "<ol>\n<li>a\n<ul>\n<li>b\n</li>\n</ul>\n</li>\n<li>c\n<ol>\n<li>d\n</li>\n</ol>\n</li>\n</ol>"},
		{"3) a\n4) b\n5. c", "<ol start=\"3\">\n<li>a\n</li>\n<li>b\n</li>\n</ol>\n<ol start=\"5\">\n<li>c\n</li>\n</ol>"},
		{"- a\n\n- b", "<ul>\n<li><p>a</p>\n</li>\n<li><p>b</p>\n</li>\n</ul>"},
		{"- a\n  b\n\n  c\n- d", "<ul>\n<li><p>a\nb</p>\n<p>c</p>\n</li>\n<li><p>d</p>\n</li>\n</ul>"},
		{"a\n- b\n- c", "<p>a</p>\n<ul>\n<li>b\n</li>\n<li>c\n</li>\n</ul>"},
		{"a\n1. b\n2. c", "<p>a</p>\n<ol>\n<li>b\n</li>\n<li>c\n</li>\n</ol>"},
		{"a\n2. b", "<p>a\n2. b</p>"},
		{"- a\n\n      code\n\n  b", "<ul>\n<li><p>a</p>\n<pre>\ncode</pre>\n<p>b</p>\n</li>\n</ul>"},
		{"1. a\n\n   ```sh\n   x\n\n     y\n   ```\n\n2. b", "<ol>\n<li><p>a</p>\n<pre>\nx\n\n  y</pre>\n</li>\n<li><p>b</p>\n</li>\n</ol>"},
		{"- a\n  ```\n  x\n  ```\n- b", "<ul>\n<li>a\n<pre>\nx</pre>\n</li>\n<li>b\n</li>\n</ul>"},
		{"10. a\n    - b\n11. c", "<ol start=\"10\">\n<li>a\n<ul>\n<li>b\n</li>\n</ul>\n</li>\n<li>c\n</li>\n</ol>"},
		{"- a\n 1. b", "<ul>\n<li>a\n</li>\n</ul>\n<ol>\n<li>b\n</li>\n</ol>"},
		{"-\n  a\n-\n- b", "<ul>\n<li>a\n</li>\n<li></li>\n<li>b\n</li>\n</ul>"},
		{"- # a\n- > b\n- ---", "<ul>\n<li><h3>a</h3>\n</li>\n<li><blockquote>\n<p>b</p>\n</blockquote>\n</li>\n</ul>\n<hr>"},
		{"- a\n\n\n  b\n\nc", "<ul>\n<li><p>a</p>\n<p>b</p>\n</li>\n</ul>\n<p>c</p>"},
		{"-a\n1.b\n-1. c", "<p>-a\n1.b\n-1. c</p>"},
		{"1234567890. a", "<p>1234567890. a</p>"},
		{"- a\n\tb\n\n\tc", "<ul>\n<li><p>a\nb</p>\n<p>c</p>\n</li>\n</ul>"},
		{"* a\n\n  b\n* c\n\n\n* d", "<ul>\n<li><p>a</p>\n<p>b</p>\n</li>\n<li><p>c</p>\n</li>\n<li><p>d</p>\n</li>\n</ul>"},
		{"- a\n  - b\n\n  - c\n- d", "<ul>\n<li>a\n<ul>\n<li><p>b</p>\n</li>\n<li><p>c</p>\n</li>\n</ul>\n</li>\n<li>d\n</li>\n</ul>"},
		{"1. a\n  - b", "<ol>\n<li>a\n</li>\n</ol>\n<ul>\n<li>b\n</li>\n</ul>"},
		{"- a\nb\n- c", "<ul>\n<li>a\nb\n</li>\n<li>c\n</li>\n</ul>"},
		// tasks
		{"- [ ] a\n- [x] b\n- [X] *c*\n- [y] d\n- [x]e", "<ul>\n<li class=\"task\"><span class=\"box\">☐</span> a\n</li>\n<li class=\"task\"><span class=\"box done\">☑</span> b\n</li>\n<li class=\"task\"><span class=\"box done\">☑</span> <em>c</em>\n</li>\n<li>[y] d\n</li>\n<li>[x]e\n</li>\n</ul>"},
		{"- [x] a\n\n- b", "<ul>\n<li class=\"task\"><p><span class=\"box done\">☑</span> a</p>\n</li>\n<li><p>b</p>\n</li>\n</ul>"},
		{"1. [ ] a\n   - [x] b", "<ol>\n<li class=\"task\"><span class=\"box\">☐</span> a\n<ul>\n<li class=\"task\"><span class=\"box done\">☑</span> b\n</li>\n</ul>\n</li>\n</ol>"},
		// tables
		{"| a | b | c | d |\n|---|:--|:-:|--:|\n| 1 | 2 | 3 | 4 |", "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Table\"><table><thead><tr><th>a</th><th class=\"left\">b</th><th class=\"center\">c</th><th class=\"right\">d</th></tr></thead>\n<tbody>\n<tr><td>1</td><td class=\"left\">2</td><td class=\"center\">3</td><td class=\"right\">4</td></tr>\n</tbody></table></div>"},
		{"a|b\n-|-\n1|2\n3\n\n4", "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Table\"><table><thead><tr><th>a</th><th>b</th></tr></thead>\n<tbody>\n<tr><td>1</td><td>2</td></tr>\n<tr><td>3</td><td></td></tr>\n</tbody></table></div>\n<p>4</p>"},
		{"Here:\n| a | b |\n|---|---|\n| 1 |  |\n> x", "<p>Here:</p>\n<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Table\"><table><thead><tr><th>a</th><th>b</th></tr></thead>\n<tbody>\n<tr><td>1</td><td></td></tr>\n</tbody></table></div>\n<blockquote>\n<p>x</p>\n</blockquote>"},
		{"| a |\n|---|---|\n| b |", "<p>| a |\n|---|---|\n| b |</p>"},
		{"| a | b |\n|---|---|\n| `x\\|y` | z \\| w |", "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Table\"><table><thead><tr><th>a</th><th>b</th></tr></thead>\n<tbody>\n<tr><td><code>x|y</code></td><td>z | w</td></tr>\n</tbody></table></div>"},
		{"| a | b |\n|---|---|\n| `x || y` | z |\n| 1 | 2 | 3 |", "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Table\"><table><thead><tr><th>a</th><th>b</th></tr></thead>\n<tbody>\n<tr><td><code>x || y</code></td><td>z</td></tr>\n<tr><td>1</td><td>2</td><td>3</td></tr>\n</tbody></table></div>"},
		{"| a |\n|---|\n| **b** [c](https://d.e) |\n| ` |", "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Table\"><table><thead><tr><th>a</th></tr></thead>\n<tbody>\n<tr><td><strong>b</strong> <a href=\"https://d.e\">c</a></td></tr>\n<tr><td>`</td></tr>\n</tbody></table></div>"},
		{"- | a | b |\n  |---|---|\n  | 1 | 2 |", "<ul>\n<li><div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Table\"><table><thead><tr><th>a</th><th>b</th></tr></thead>\n<tbody>\n<tr><td>1</td><td>2</td></tr>\n</tbody></table></div>\n</li>\n</ul>"},
		// emphasis
		{"*a* **a** ***a*** _a_ __a__", "<p><em>a</em> <strong>a</strong> <em><strong>a</strong></em> <em>a</em> <strong>a</strong></p>"},
		{"snake_case_names and __init__.py", "<p>snake_case_names and <strong>init</strong>.py</p>"},
		{"2*3*4 and 2 * 3 * 4", "<p>2*3*4 and 2 * 3 * 4</p>"},
		{"**a *b* c** *a **b** c*", "<p><strong>a <em>b</em> c</strong> <em>a <strong>b</strong> c</em></p>"},
		{"*a **b*** ***a** b* ***a* b**", "<p><em>a <strong>b</strong></em> <em><strong>a</strong> b</em> <strong><em>a</em> b</strong></p>"},
		{"**a** **b* *c*", "<p><strong>a</strong> *<em>b</em> <em>c</em></p>"},
		{"a*b*c a_b_c", "<p>a<em>b</em>c a_b_c</p>"},
		{`*(a)* **"b"**, (*c*) a**"b"**c`, "<p><em>(a)</em> <strong>&#34;b&#34;</strong>, (<em>c</em>) a**&#34;b&#34;**c</p>"},
		{`**굵게**는 **"강조"**는 **注意：**下文`, "<p><strong>굵게</strong>는 <strong>&#34;강조&#34;</strong>는 <strong>注意：</strong>下文</p>"},
		{"** a** *a * _ a_", "<p>** a** *a * _ a_</p>"},
		{"*a\nb* *a\n\nb*", "<p><em>a\nb</em> *a</p>\n<p>b*</p>"},
		{"~~a~~ ~b~ 5~10 a~~b~~c ~~~d~~~", "<p><del>a</del> ~b~ 5~10 a<del>b</del>c ~~~d~~~</p>"},
		{"*a [b*](https://c.d)", `<p>*a <a href="https://c.d">b*</a></p>`},
		{"**a `**` b**", "<p><strong>a <code>**</code> b</strong></p>"},
		{"*a _b* c_", "<p><em>a _b</em> c_</p>"},
		{"****a**** **", "<p><strong><strong>a</strong></strong> **</p>"},
		{"foo***", "<p>foo***</p>"},
		{"`*a*` *`a`*", "<p><code>*a*</code> <em><code>a</code></em></p>"},
		// codespans
		{"`a` ``a`b`` ` a ` `  `", "<p><code>a</code> <code>a`b</code> <code>a</code> <code>  </code></p>"},
		{"`a\nb` `\\` `<b>&amp;`", `<p><code>a b</code> <code>\</code> <code>&lt;b&gt;&amp;amp;</code></p>`},
		{"`a ``b", "<p>`a ``b</p>"},
		{"``` a ` b", "<p>``` a ` b</p>"},
		// links
		{`[a](https://b.c/d_e_f(g) "t") [h](<https://b.c/d e> 'i')`, `<p><a href="https://b.c/d_e_f(g)">a</a> <a href="https://b.c/d%20e">h</a></p>`},
		{"[a](x.go) [b](javascript:alert(1)) [c](JAVASCRIPT:x) [d](data:text/html,x) [e](mailto:f@g.h)", `<p>a b c d <a href="mailto:f@g.h">e</a></p>`},
		{"[a][b] [B][] [b] [c] [a][c]\n\n[b]: https://d.e \"t\"\n[b]: https://f.g", `<p><a href="https://d.e">a</a> <a href="https://d.e">B</a> <a href="https://d.e">b</a> [c] [a][c]</p>`},
		{"[a [b](https://c.d)](https://e.f)", `<p>[a <a href="https://c.d">b</a>](<a href="https://e.f">https://e.f</a>)</p>`},
		{"[*a* `b`](https://c.d) [a\\]](https://c.d)", `<p><a href="https://c.d"><em>a</em> <code>b</code></a> <a href="https://c.d">a]</a></p>`},
		{"![a](https://b.c/d.png) [![e](https://f.g/h.svg)](https://i.j)", `<p><a href="https://b.c/d.png">[a]</a> <a href="https://i.j">[e]</a></p>`},
		{"<https://a.b/?c=d&e> <mailto:f@g.h> <f@g.h> <std::vector<int>> <a b>", `<p><a href="https://a.b/?c=d&amp;e">https://a.b/?c=d&amp;e</a> <a href="mailto:f@g.h">mailto:f@g.h</a> <a href="mailto:f@g.h">f@g.h</a> &lt;std::vector&lt;int&gt;&gt; &lt;a b&gt;</p>`},
		{"See https://a.b/c_d_e, (https://f.g/h_(i)) or **https://j.k**.", `<p>See <a href="https://a.b/c_d_e">https://a.b/c_d_e</a>, (<a href="https://f.g/h_(i)">https://f.g/h_(i)</a>) or <strong><a href="https://j.k">https://j.k</a></strong>.</p>`},
		{"看https://a.b/c。下一 xhttps://d.e https:// http://f.g/<h>", `<p>看<a href="https://a.b/c">https://a.b/c</a>。下一 xhttps://d.e https:// <a href="http://f.g/">http://f.g/</a>&lt;h&gt;</p>`},
		{"[a](https://b.c", `<p>[a](<a href="https://b.c">https://b.c</a></p>`},
		{"[a] (https://b.c) [a](https://b.c d)", `<p>[a] (<a href="https://b.c">https://b.c</a>) [a](<a href="https://b.c">https://b.c</a> d)</p>`},
		{"[a]: https://b.c\n\"t\n\n[a]", "<p>&#34;t</p>\n<p><a href=\"https://b.c\">a</a></p>"},
		{"[a]:\nhttps://b.c\n'd\ne'\nf [a]", `<p>f <a href="https://b.c">a</a></p>`},
		{"[https://a.b](https://c.d) [x https://a.b]", `<p><a href="https://c.d">https://a.b</a> [x <a href="https://a.b">https://a.b</a>]</p>`},
		{"[1]: https://a.b\n- c [1]", "<ul>\n<li>c <a href=\"https://a.b\">1</a>\n</li>\n</ul>"},
		{`[a](https://b.c?d="e"&f='g')`, `<p><a href="https://b.c?d=&#34;e&#34;&amp;f=&#39;g&#39;">a</a></p>`},
		{"[^1] text [x]", "<p>[^1] text [x]</p>"},
		// escapes
		{"\\*a\\* \\`b\\` \\a \\\\ \\<b>", "<p>*a* `b` \\a \\ &lt;b&gt;</p>"},
		{"&lt;b&gt; &amp;amp; &quot;c&#39;&nbsp;d &copy; &#42; &", "<p>&lt;b&gt; &amp;amp; &#34;c&#39;\u00a0d &amp;copy; &amp;#42; &amp;</p>"},
		{"<b>x</b> <!-- c --> <script>alert(1)</script>", "<p>&lt;b&gt;x&lt;/b&gt; &lt;!-- c --&gt; &lt;script&gt;alert(1)&lt;/script&gt;</p>"},
		{"<div>\n*a*\n</div>\n\n<details>\n<summary>b</summary>", "<p>&lt;div&gt;\n<em>a</em>\n&lt;/div&gt;</p>\n<p>&lt;details&gt;\n&lt;summary&gt;b&lt;/summary&gt;</p>"},
		{"a\r\nb\r\n\r\n- c\r\n", "<p>a\nb</p>\n<ul>\n<li>c\n</li>\n</ul>"},
		{"a\tb", "<p>a\tb</p>"},
	} {
		got := rendered(t, tt.markdown)
		checkTags(t, got)
		got = strings.TrimSuffix(strings.ReplaceAll(got, ` rel="noreferrer noopener"`, ""), "\n")
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.markdown, diff)
		}
	}
}

// hostile returns texts of a size in bytes that take quadratic time in a naive parser.
func hostile(size int) map[string]string {
	all := map[string]string{}
	for _, unit := range []string{
		"[", "![", "]", "[[]", "*", "_", "~~", "*_", "`", "|", "|a", "<", "<a ", "<!--", "&#", "\\", "(", "http://", "http://a)", "> ", "- ", "1. a\n   ", "\n> - ", "* * * x",
		"*a **b ", "a**b*c_d_", "*a_ _b* ", "***a** ", "`a``", "[a](", "[a](b", "[a](<b", "[a](b \"", "[a][", "![[a](b)", "[a](http://b.c)", "[a]: b\n", "[a]: b '\n",
		"[a]: b\n===\n", "[a]\n", "a\n===\n", "a|b\n-|-\n", "a|b\n", "-|\n", "- a\n", "```\n", "~~~a\n", "\n", "\t", " ", "#",
	} {
		all[unit] = strings.Repeat(unit, size/len(unit))
	}
	var ticks, deep strings.Builder
	for i := 1; ticks.Len() < size; i++ {
		ticks.WriteString(strings.Repeat("`", i%200+1) + "a")
		deep.WriteString(strings.Repeat("  ", i%100) + "- x\n")
	}
	all["runs of backticks"] = ticks.String()
	all["nested lists"] = deep.String()[:min(size, deep.Len())]
	all["blank lines in lists"] = strings.Repeat("- ", 30) + "a\n" + strings.Repeat("\n", size)
	all["nested quotes"] = strings.Repeat(strings.Repeat("> ", 70)+"a\n", size/142)
	all["short rows"] = strings.Repeat("|a", size/8) + "\n" + strings.Repeat("|-", size/8) + "\n" + strings.Repeat("|a\n", size/6)
	all["row with code"] = "|a|\n|-|\n" + strings.Repeat("|`a``|b```c", size/11)
	all["stars on both sides"] = strings.Repeat("*", size/2) + "a" + strings.Repeat("*", size/2)
	all["brackets on both sides"] = strings.Repeat("[", size/2) + strings.Repeat("]", size/2) + "\n\n[a]: b"
	all["images in images"] = strings.Repeat("![", size/15) + strings.Repeat("](http://a.b)", size/15)
	all["long labels"] = "[a]: b\n\n" + strings.Repeat("["+strings.Repeat("x", 900)+"]", size/902)
	all["no emphasis"] = strings.Repeat("*a_b~~c", size/14) + strings.Repeat("a_b*c~~", size/14)
	return all
}

// A page's size is near that of its text, and its nesting is limited.
func TestHTML_HostileMarkdown(t *testing.T) {
	for name, markdown := range hostile(16 << 10) {
		got := rendered(t, markdown)
		if len(got) > 32*len(markdown) {
			t.Errorf("%q: %d bytes for %d", name, len(got), len(markdown))
		}
		depth, deepest := 0, 0
		for _, tag := range tagged.FindAllString(got, -1) {
			switch tag {
			case "<ul>", "<ol>", "<blockquote>", "<li>":
				depth++
			case "</ul>", "</ol>", "</blockquote>", "</li>":
				depth--
			}
			deepest = max(deepest, depth)
		}
		if deepest > 60 || depth != 0 {
			t.Errorf("%q: nested %d deep, %d left open", name, deepest, depth)
		}
	}
}

// The time per byte must be the same for both sizes.
func BenchmarkHTML_HostileMarkdown(b *testing.B) {
	for _, size := range []struct {
		name  string
		bytes int
	}{{"64K", 64 << 10}, {"256K", 256<<10 - 256}} {
		for name, markdown := range hostile(size.bytes) {
			br := new(branch)
			br.answer(1, text(markdown))
			b.Run(size.name+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(len(markdown)))
				for b.Loop() {
					if err := transcript.Write(io.Discard, &transcript.Session{Branch: br.entries}, transcript.HTML); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// Tags are known and balanced, and no word is lost that is not an address, a label or the language of code.
func FuzzMarkdown(f *testing.F) {
	f.Add(reply)
	for _, s := range []string{
		"> - a\n>   1. b\n\n\tc", "*a **b* c** `d", "[a](b \"c\") ![d][e]\n\n[e]: <f>", "| a | `b|c` |\n|-|:-:|\n| d", "- [x] a\n\n  ```go\n  b\n", "a  \nb\\\n===\n***", "<a@b.c> http://d.e/f_(g)~~h~~",
		"[![a](http://b.c)](http://d.e) &amp;&lt;", "**「a」**b ~~c *d~~ e*",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, markdown string) {
		if len(markdown) > 16<<10 {
			t.Skip("long")
		}
		if strings.TrimSpace(markdown) == "" {
			t.Skip("nothing to show")
		}
		got := rendered(t, markdown)
		checkTags(t, got)
		var open []string
		for _, tag := range tagged.FindAllString(got, -1) {
			name, _, _ := strings.Cut(strings.Trim(tag, "</>"), " ")
			switch {
			case name == "br" || name == "hr":
			case !strings.HasPrefix(tag, "</"):
				open = append(open, name)
			case len(open) == 0 || open[len(open)-1] != name:
				t.Fatalf("%s ends %v in\n%s", tag, open, got)
			default:
				open = open[:len(open)-1]
			}
		}
		if len(open) > 0 {
			t.Fatalf("%v are open in\n%s", open, got)
		}
		for _, s := range []string{"](", "]:", "][", "```", "~~~", "&"} {
			if strings.Contains(markdown, s) {
				return
			}
		}
		plain := html.UnescapeString(tagged.ReplaceAllString(got, ""))
		for word := range strings.FieldsFuncSeq(strings.ToValidUTF8(markdown, " "), func(c rune) bool { return !unicode.IsLetter(c) }) {
			// An x may be the marker of a task.
			if len(word) > 1 && !strings.Contains(plain, word) {
				t.Fatalf("%q is not in\n%s", word, got)
			}
		}
	})
}
