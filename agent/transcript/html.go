package transcript

import (
	"bufio"
	"crypto/sha256"
	_ "embed" // the style sheet
	"encoding/base64"
	"html"
	"slices"
	"strings"
	"time"

	"github.com/gajae-code/gjc/internal/text"
)

//go:embed page.css
var pageCSS string

// htmlPage writes a self-contained page with inline styles and images. It runs no script and loads nothing, which a
// policy enforces. External text goes through [escaped].
type htmlPage struct{ writer *bufio.Writer }

func escaped(s string) string {
	return html.EscapeString(clean(s))
}

func (p *htmlPage) write(parts ...string) {
	for _, s := range parts {
		_, _ = p.writer.WriteString(s)
	}
}

func (p *htmlPage) begin(d *document) {
	title := escaped(text.OneLine(d.title()))
	hash := sha256.Sum256([]byte(pageCSS))
	p.write("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
		`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'sha256-`,
		base64.StdEncoding.EncodeToString(hash[:]), `'; base-uri 'none'; form-action 'none'">`,
		"\n<meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
		"<meta name=\"color-scheme\" content=\"light dark\">\n<title>", title, "</title>\n<style>", pageCSS, "</style>\n</head>\n<body>\n",
		"<header>\n<h1>", title, "</h1>\n<dl>\n")
	for _, f := range d.facts() {
		p.write("<div><dt>", escaped(f.name), "</dt><dd>", escaped(f.value), "</dd></div>\n")
	}
	p.write("</dl>\n")
	if len(d.plan) > 0 {
		p.write("<section class=\"plan\">\n<h2>Plan</h2>\n")
		p.plan(planBlock(d.plan).Entries)
		p.write("</section>\n")
	}
	p.chart(d)
	p.write("</header>\n<main>\n")
}

func (p *htmlPage) end(*document) { p.write("</main>\n</body>\n</html>\n") }

func (p *htmlPage) item(_ *document, it *item) {
	if change := it.changeText(); change != "" {
		p.write(`<p class="change">`, escaped(text.OneLine(change)), "</p>\n")
		return
	}
	switch it.Type {
	case itemNotice:
		p.write(`<p class="notice">`, escaped(it.text()), "</p>\n")
		return
	case itemCompaction:
		p.line(it, it.compactionText(), "Summary")
		return
	case itemBranchSummary:
		p.line(it, "Another branch was left here", "What happened in it")
		return
	}
	p.write(`<article class="`, it.Type, `">`, "\n<h2>", escaped(text.OneLine(it.speaker())))
	p.time(it.Time)
	if it.Label != "" {
		p.write(` <span class="label">`, escaped(text.OneLine(it.Label)), "</span>")
	}
	p.write("</h2>\n")
	for i := range it.Content {
		p.block(it, &it.Content[i])
	}
	if it.Error != "" {
		p.write(`<p class="notice">Stopped: `, escaped(it.Error), "</p>\n")
	}
	if used := usageText(it); used != "" {
		p.write(`<p class="usage">`, escaped(used), "</p>\n")
	}
	p.write("</article>\n")
}

func (p *htmlPage) time(at time.Time) {
	if at.IsZero() {
		return
	}
	p.write(` <time datetime="`, at.UTC().Format(time.RFC3339), `">`, stamp(at), "</time>")
}

// line writes the position of a compaction with its summary, which replaces what the model no longer receives.
func (p *htmlPage) line(it *item, text, summary string) {
	p.write(`<section class="cut">`, "\n<p>", escaped(text))
	p.time(it.Time)
	p.write("</p>\n<details><summary>", escaped(summary), "</summary>\n")
	p.render(it.text())
	p.write("</details>\n</section>\n")
}

func (p *htmlPage) block(it *item, b *block) {
	switch b.Type {
	case blockText:
		// Users rarely write Markdown, except for code.
		if it.Type == itemUser && !strings.Contains(b.Text, "```") {
			p.plain(b.Text)
			return
		}
		p.render(b.Text)
	case blockThought:
		p.write(`<details class="thought"><summary>Thinking</summary>`, "\n")
		p.render(b.Text)
		p.write("</details>\n")
	case blockCall:
		p.call(b)
	case blockPlan:
		p.write(`<details class="thought"><summary>Plan</summary>`, "\n")
		p.plan(b.Entries)
		p.write("</details>\n")
	case blockImage:
		p.image(b)
	}
}

func (p *htmlPage) plain(s string) {
	p.write(`<div class="text">`, escaped(strings.Trim(s, "\n")), "</div>\n")
}

// statusMarks precede calls.
func statusMark(status string) string {
	switch status {
	case "completed":
		return "✓"
	case "failed":
		return "✗"
	default:
		return "…"
	}
}

func (p *htmlPage) call(b *block) {
	class := "call"
	if b.Status == "failed" {
		class = "call failed"
	}
	p.write(`<details class="`, class, `"><summary><span class="status">`, statusMark(b.Status), `</span> <span class="kind">`, escaped(b.Kind),
		`</span> <span class="title">`, escaped(text.OneLine(b.Title)), `</span> <span class="state">`, escaped(b.Status), "</span></summary>\n")
	if len(b.Locations) > 0 {
		p.write(`<p class="places">`)
		for i, l := range b.Locations {
			if i > 0 {
				p.write(", ")
			}
			p.write("<code>", escaped(l.String()), "</code>")
		}
		p.write("</p>\n")
	}
	for i := range b.Content {
		p.content(&b.Content[i])
	}
	p.folded("Input of "+b.Name, b.callInput())
	if len(b.Output) > 0 {
		p.folded("Output", readable(b.Output))
	}
	p.write("</details>\n")
}

// folded writes JSON in an element that is initially collapsed.
func (p *htmlPage) folded(summary, data string) {
	if data == "" {
		return
	}
	p.write("<details><summary>", escaped(text.OneLine(summary)), "</summary>\n")
	p.code("json", data)
	p.write("</details>\n")
}

// content writes a part of a call's content.
func (p *htmlPage) content(b *block) {
	switch b.Type {
	case blockDiff:
		p.diff(b)
	case blockLink:
		p.write("<p>")
		name := b.Name
		if name == "" {
			name = b.URI
		}
		p.link(b.URI, func() { p.write(escaped(name)) })
		p.write("</p>\n")
	case blockImage:
		p.image(b)
	default:
		if strings.HasPrefix(b.Text, "```") {
			p.render(b.Text)
			return
		}
		p.code("", b.Text)
	}
}

func (p *htmlPage) diff(b *block) {
	p.write(`<div class="diff"><p>`, escaped(b.Path))
	if b.OldText == nil {
		p.write(" (new)")
	}
	p.write("</p><pre>")
	for _, l := range diffLines(b) {
		switch l.op {
		case '+':
			p.write(`<span class="add">`)
		case '-':
			p.write(`<span class="del">`)
		case '@':
			p.write(`<span class="hunk">`)
		default:
			p.write("<span>")
		}
		p.write(escaped(string(rune(l.op))+l.text), "\n</span>")
	}
	p.write("</pre></div>\n")
}

// code writes a code block.
func (p *htmlPage) code(language, text string) {
	// HTML ignores a newline directly after <pre>.
	p.write("<pre>\n")
	p.highlight(language, strings.TrimSuffix(text, "\n"))
	p.write("</pre>\n")
}

func (p *htmlPage) plan(entries []planEntry) {
	p.write(`<ul class="steps">`, "\n")
	for _, e := range entries {
		switch e.Status {
		case "completed":
			p.write(`<li class="task completed">`)
			p.mark(true)
		case "in_progress":
			p.write(`<li class="task current"><span class="box">▶</span> `)
		default:
			p.write(`<li class="task">`)
			p.mark(false)
		}
		p.write(escaped(e.Content), "</li>\n")
	}
	p.write("</ul>\n")
}

// imageTypes are the types that browsers show and that cannot contain scripts.
func imageTypes() []string { return []string{"image/png", "image/jpeg", "image/gif", "image/webp"} }

func (p *htmlPage) image(b *block) {
	if !slices.Contains(imageTypes(), b.MIMEType) {
		p.plain(imageText(b))
		return
	}
	p.write(`<p><img alt="" src="data:`, b.MIMEType, `;base64,`)
	w := base64.NewEncoder(base64.StdEncoding, p.writer)
	_, _ = w.Write(b.Data)
	_ = w.Close() // the writer keeps its error
	p.write("\"></p>\n")
}
