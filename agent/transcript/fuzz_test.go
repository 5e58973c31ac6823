package transcript_test

import (
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/gajae-code/gjc/agent/transcript"
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

var (
	tagged = regexp.MustCompile(`<[^>]*>?`)
	// known maps the tags that a page may have to their attributes.
	known = regexp.MustCompile(`^<(` +
		`/?(html|head|title|style|body|header|main|h1|h2|h3|h4|h5|h6|dl|div|dt|dd|section|article|ul|ol|li|details|summary|pre|p|span|code|strong|em|del|table|thead|tbody|tr|th|td|blockquote|figure|figcaption)` +
		`|/(a|svg|time)|br|hr|!DOCTYPE html|html lang="en"` +
		`|meta charset="utf-8"|meta name="(referrer|viewport|color-scheme)" content="[a-z0-9=., -]*"` +
		`|meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'sha256-[A-Za-z0-9+/=]*'; base-uri 'none'; form-action 'none'"` +
		`|(article|section|details|div|p|span|li|ul|figure|td|th) class="[a-z_ ]*"|ol start="[0-9]+"` +
		`|time datetime="[0-9TZ:-]*"|a href="(https?:|mailto:)[^"<>]*" rel="noreferrer noopener"` +
		`|img alt="" src="data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]*"` +
		`|svg viewBox="0 0 [0-9 ]*" preserveAspectRatio="none" role="img" aria-label="[^"<>]*"` +
		`|(line|rect) class="[a-z]*"( (x|y|x1|y1|x2|y2|width|height)="-?[0-9.]*")*/` +
		`)>$`)
)

// checkTags fails the test for other tags.
func checkTags(t *testing.T, page string) {
	t.Helper()
	for _, tag := range tagged.FindAllString(page, -1) {
		if !known.MatchString(tag) {
			t.Fatalf("tag %q in\n%s", tag, page)
		}
	}
}

// everywhere returns a session in which every external text is the given one.
func everywhere(text, name, mime string, data []byte) *transcript.Session {
	b := new(branch)
	b.entries = append(b.entries, sessions.ModelChange{Base: b.base(), Model: text}, sessions.ModeChange{Base: b.base(), Mode: text})
	img := providers.Image{MIMEType: mime, Data: data}
	b.user(providers.Text{Text: text}, img, providers.Text{Text: name})
	b.entries = append(b.entries, sessions.Label{Base: b.base(), TargetID: "00000003", Label: text})
	quoted := string(jsonx.AppendString(nil, text))
	b.message(providers.Message{
		Role: providers.RoleAssistant, Provider: text, Model: name, Error: text, StopReason: providers.StopReason(text), Usage: providers.Usage{Input: 5},
		Parts: []providers.Part{
			providers.Thinking{Text: text},
			providers.Text{Text: text},
			call(text, name, text), call("c1", name, `{"path":`+quoted+`}`),
			call("c2", "todo_write", `{"todos":[{"content":`+quoted+`}]}`), call("c3", name, text),
		},
	})
	b.result("c1", name, text, `{"title":`+quoted+`,"kind":`+quoted+`,"content":[{"type":"text","text":`+quoted+`},{"type":"diff","path":`+quoted+`,"oldText":"a\n","newText":`+quoted+`},`+
		`{"type":"diff","path":"p","newText":`+quoted+`},{"type":"link","uri":`+quoted+`,"name":`+quoted+`},{"type":"link","uri":`+quoted+`},{"type":"image","mimeType":`+quoted+`,"data":"AA=="}],"locations":[{"path":`+quoted+`}],"raw":{"x":`+quoted+`}}`, false)
	b.result("c3", name, text, text, true)
	b.entries = append(b.entries, sessions.Compaction{Base: b.base(), Summary: text}, sessions.BranchSummary{Base: b.base(), Summary: text},
		sessions.CustomMessage{Base: b.base(), CustomType: text, Display: true, Parts: []providers.Part{providers.Text{Text: text}, img}})
	return &transcript.Session{ID: name, Title: text, Cwd: text, Directories: []string{name}, Parent: text, Model: text, Branch: b.entries}
}

// No text becomes a tag or an attribute, and a user's words are readable.
func FuzzHTML(f *testing.F) {
	f.Add("<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "image/png", []byte{1})
	f.Add("</pre></details>\x00", "\xff\xfe", `image/png"onload="x`, []byte{})
	f.Add("[a](javascript:alert(1)) <javascript:alert(1)> ![x](http://e.com/x.png) [b]: javascript:x\n[b]", "[a](https://e.com/\"onclick=\"x)", "image/svg+xml", []byte("<svg>"))
	f.Add("```go\"><script>\nfunc `</script>` // <b>\n```\n\n<div onclick=x>\n\n<!-- --><p>&lt;script&gt; &#60;b&#x3e;", "```html\n<a href=\"</pre>\">\n```", "image/gif", []byte{})
	f.Add("| <a> | b |\n|:-:|--:|\n| `<i>` | [x](//evil) |\n\n2. x\n- [ ] <y>\n\n# h {#id}\n\n> ~~<u>~~ **<s>** <http://e.com/<b>>", "```diff\n+<b>\n-<i>\n@@ <u>\n```", "image/webp", []byte{0})
	f.Add("http://a.b/?x=\"'><i> www.e.com/'\"<b>", "mailto:\"<x>\"@e.com", "image/jpeg", []byte{})
	f.Fuzz(func(t *testing.T, text, name, mime string, data []byte) {
		if len(text)+len(name) > 16<<10 {
			t.Skip("long")
		}
		s := everywhere(text, name, mime, data)
		page := written(t, s, transcript.HTML)
		checkTags(t, page)
		if !strings.Contains(text, "```") && strings.TrimSpace(text) != "" {
			plain := html.UnescapeString(tagged.ReplaceAllString(page, ""))
			want := strings.ReplaceAll(strings.Trim(strings.ToValidUTF8(text, "\ufffd"), "\n"), "\x00", "\ufffd")
			if !strings.Contains(plain, want) {
				t.Fatalf("%q is not in\n%s", want, plain)
			}
		}
		var doc struct{ Session, Messages jsonx.Raw }
		if err := jsonx.Unmarshal([]byte(written(t, s, transcript.JSON)), &doc); err != nil {
			t.Fatalf("the JSON is none: %v", err)
		}
		written(t, s, transcript.Markdown)
	})
}

// A model's text cannot break an export, however deeply it is nested.
func TestHTML_Nested(t *testing.T) {
	for _, unit := range []string{"> ", "- ", "[", "![", "*a **b ", "`a``", "\n> - ", "|a", "<!--", "1. a\n   ", "~~", "[a](", "&#", "<a ", "a_", "a|b\n-|-\n"} {
		b := new(branch)
		b.answer(1, text(strings.Repeat(unit, (32<<10)/len(unit))))
		written(t, &transcript.Session{Branch: b.entries}, transcript.HTML)
	}
	var deep strings.Builder
	for i := range 200 {
		deep.WriteString(strings.Repeat("  ", i) + "- x\n")
	}
	b := new(branch)
	b.answer(1, text(deep.String()), text(strings.Repeat("> <b>", 300<<10/5)))
	checkTags(t, written(t, &transcript.Session{Branch: b.entries}, transcript.HTML))
}
