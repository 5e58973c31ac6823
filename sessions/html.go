package sessions

import (
	"encoding/base64"
	"html"
	"slices"
	"strings"
	"time"

	"github.com/gajae-code/gjc/providers"
)

// HTML returns a conversation as one page that needs nothing else: styles and images are in it, and it runs no script
// and loads nothing, which it also tells the browser.
func HTML(messages []providers.Message, opts *TranscriptOptions) string {
	w := new(htmlPage)
	writeTranscript(w, messages, opts)
	return w.String()
}

const htmlStyle = `body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}` +
	`h1{font-size:1.5rem}h2{font-size:1rem;margin:2rem 0 .5rem;border-top:1px solid #ccc;padding-top:.5rem}` +
	`h2 time{font-weight:normal;color:#777}.user{color:#064}.assistant{color:#036}` +
	`pre,div.text{white-space:pre-wrap;overflow-wrap:anywhere}pre{background:#f4f4f4;padding:.5rem;margin:0;font-size:13px}` +
	`details{margin:.5rem 0}summary{color:#555;cursor:pointer}.failed{color:#a00}img{max-width:100%}` +
	`@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}pre{background:#242424}.user{color:#6c9}.assistant{color:#7bf}` +
	`summary,h2 time{color:#999}h2{border-color:#444}}`

// htmlPage is the [page] of [HTML]. Whatever comes from outside goes through [escaped].
type htmlPage struct{ strings.Builder }

func escaped(s string) string {
	return html.EscapeString(strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd"))
}

func (w *htmlPage) write(parts ...string) {
	for _, p := range parts {
		w.WriteString(p)
	}
}

func (w *htmlPage) begin(title string, facts [][2]string) {
	w.write("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
		`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">`,
		"\n<meta name=\"viewport\" content=\"width=device-width\">\n<title>", escaped(oneLine(title)), "</title>\n<style>", htmlStyle,
		"</style>\n</head>\n<body>\n<h1>", escaped(oneLine(title)), "</h1>\n")
	if len(facts) == 0 {
		return
	}
	w.write("<ul>\n")
	for _, f := range facts {
		w.write("<li>", escaped(f[0]), ": ", escaped(f[1]), "</li>\n")
	}
	w.write("</ul>\n")
}

func (w *htmlPage) speaker(name string, at time.Time, class string) {
	w.write(`<h2 class="`, class, `">`, escaped(name))
	if s := stamp(at); s != "" {
		w.write(" <time>", s, "</time>")
	}
	w.write("</h2>\n")
}

func (w *htmlPage) text(s string) {
	w.write(`<div class="text">`, escaped(strings.Trim(s, "\n")), "</div>\n")
}

func (w *htmlPage) thinking(s string) { w.folded("", "Thinking", strings.Trim(s, "\n")) }

func (w *htmlPage) call(name, input string) { w.folded("", "Tool call: "+name, input) }

func (w *htmlPage) result(name, text string, failed bool) {
	if failed {
		w.folded("failed", "Result of "+name+" (failed)", text)
		return
	}
	w.folded("", "Result of "+name, text)
}

func (w *htmlPage) folded(class, summary, text string) {
	w.write("<details><summary")
	if class != "" {
		w.write(` class="`, class, `"`)
	}
	// The newline right behind <pre> is no part of its text.
	w.write(">", escaped(oneLine(summary)), "</summary><pre>\n", escaped(text), "</pre></details>\n")
}

// imageTypes are those that a browser shows and that can hold no script.
var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

func (w *htmlPage) image(img providers.Image) {
	if !slices.Contains(imageTypes, img.MIMEType) {
		w.text(imageText(img))
		return
	}
	w.write(`<p><img alt="" src="data:`, img.MIMEType, `;base64,`, base64.StdEncoding.EncodeToString(img.Data), "\"></p>\n")
}

func (w *htmlPage) failure(s string) { w.write(`<p class="failed">Stopped: `, escaped(s), "</p>\n") }

func (w *htmlPage) end() { w.write("</body>\n</html>\n") }
