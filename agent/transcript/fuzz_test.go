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
		`/?(html|head|title|style|body|header|main|nav|h1|h2|h3|h4|h5|h6|dl|div|dt|dd|section|ul|ol|li|details|summary|pre|p|span|code|strong|em|del|table|thead|tbody|tr|th|td|blockquote|figure|figcaption)` +
		`|/(a|svg|time|rect)|br|hr|!DOCTYPE html|html lang="en"` +
		`|meta charset="utf-8"|meta name="(referrer|viewport|color-scheme)" content="[a-z0-9=., -]*"` +
		`|meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'sha256-[A-Za-z0-9+/=]*'; base-uri 'none'; form-action 'none'"` +
		`|(section|details|div|dl|p|span|code|li|ul|ol|figure|table|td|th|nav|h2|pre)( scope="(col|row)")?( class="[a-z_ ]*")?( (id|aria-labelledby)="[a-z]+(-[0-9]+)?")?( aria-hidden="true")?( data-a="[0-9]+")?( data-b="[0-9]+")?( colspan="2")?( open)?` +
		`|div class="wide" tabindex="0" role="region" aria-label="[A-Za-z ]*"|ol start="[0-9]+"` +
		`|time datetime="[0-9TZ:-]*"|a href="(https?:|mailto:)[^"<>]*" rel="noreferrer noopener"` +
		`|a( class="permalink")? href="#[a-z]+(-[0-9]+)?"( aria-label="(Link to )?[A-Za-z]+ [0-9]+")?` +
		`|img alt="Image [0-9]+ of the session \(image/(png|jpeg|gif|webp), [0-9.]+ (bytes?|KB|MB)\)" src="data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]*"` +
		`|svg viewBox="0 0 [0-9 ]*" preserveAspectRatio="none" role="img" aria-label="[^"<>]*"` +
		`|line class="[a-z]*"( (x1|y1|x2|y2)="-?[0-9.]*")*/|rect class="[a-z]*"( (x|y|width|height)="-?[0-9.]*")*` +
		`)>$`)
	// plainText has nothing that means something in Markdown.
	plainText = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 ,;?]*$`)
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

var (
	// misleading are the characters that control a terminal or the writing direction.
	misleading = regexp.MustCompile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u202a-\u202e\u2066-\u2069]")
	idOf       = regexp.MustCompile(` id="([^"]*)"`)
	fragment   = regexp.MustCompile(` href="#([^"]*)"`)
)

// checkAnchors fails the test for an ID that occurs twice, and for a link into the page that leads nowhere.
func checkAnchors(t *testing.T, page string) {
	t.Helper()
	ids := make(map[string]bool)
	for _, id := range idOf.FindAllStringSubmatch(page, -1) {
		if ids[id[1]] {
			t.Fatalf("the ID %q occurs twice in\n%s", id[1], page)
		}
		ids[id[1]] = true
	}
	for _, link := range fragment.FindAllStringSubmatch(page, -1) {
		if !ids[link[1]] {
			t.Fatalf("the link to %q leads nowhere in\n%s", link[1], page)
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
	f.Add("a\u202eb\u2066c\u2069 \x1b[31mred\x7f id=\"prompt-1\" href=\"#x\"", "/w/\u202egnp.exe", "image/png", []byte{0})
	f.Add("line one, plain\n", "#diff-1", "image/png", []byte{0})
	f.Fuzz(func(t *testing.T, text, name, mime string, data []byte) {
		if len(text)+len(name) > 16<<10 {
			t.Skip("long")
		}
		s := everywhere(text, name, mime, data)
		page := written(t, s, transcript.HTML)
		checkTags(t, page)
		if misleading.MatchString(page) {
			t.Fatalf("a character that misleads is in\n%q", page)
		}
		if plainText.MatchString(text) {
			plain := html.UnescapeString(tagged.ReplaceAllString(page, ""))
			if want := strings.TrimSpace(text); !strings.Contains(plain, want) {
				t.Fatalf("%q is not in\n%s", want, plain)
			}
		}
		checkAnchors(t, page)
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
