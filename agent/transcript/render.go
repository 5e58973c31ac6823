package transcript

import (
	"net/url"
	"strconv"
	"strings"

	"rsc.io/markdown"
)

// maxMarkdown bounds a text that is rendered as Markdown, in bytes; a longer one is shown as it is.
const maxMarkdown = 256 << 10

// markdownParser is for text that a model has written. HTML in it is text.
func markdownParser() *markdown.Parser {
	return &markdown.Parser{Strikethrough: true, TaskList: true, AutoLinkText: true, Table: true}
}

// render writes Markdown as HTML.
func (p *htmlPage) render(text string) {
	if len(text) > maxMarkdown {
		p.plain(text)
		return
	}
	// What browsers cannot show is replaced before it is parsed: afterwards it could come out of an entity.
	p.write(`<div class="md">`)
	p.blocks(markdownParser().Parse(strings.ToValidUTF8(text, "\ufffd")).Blocks, false)
	p.write("</div>\n")
}

// blocks writes blocks; tight ones are of a list without paragraphs.
func (p *htmlPage) blocks(blocks []markdown.Block, tight bool) {
	for _, b := range blocks {
		switch b := b.(type) {
		case *markdown.Paragraph:
			p.write("<p>")
			p.inlines(b.Text.Inline)
			p.write("</p>\n")
		case *markdown.Text:
			p.inlines(b.Inline)
			if tight {
				p.write("\n")
			}
		case *markdown.Heading:
			// The page's own headings are above those of a text.
			tag := "h" + strconv.Itoa(min(max(b.Level, 1)+2, 6))
			p.write("<", tag, ">")
			p.inlines(b.Text.Inline)
			p.write("</", tag, ">\n")
		case *markdown.CodeBlock:
			language, _, _ := strings.Cut(strings.TrimSpace(b.Info), " ")
			p.code(language, strings.Join(b.Text, "\n"))
		case *markdown.Quote:
			p.write("<blockquote>\n")
			p.blocks(b.Blocks, false)
			p.write("</blockquote>\n")
		case *markdown.List:
			p.list(b)
		case *markdown.Table:
			p.table(b)
		case *markdown.HTMLBlock:
			p.write("<p>", escaped(strings.Join(b.Text, "\n")), "</p>\n")
		case *markdown.ThematicBreak:
			p.write("<hr>\n")
		case *markdown.Item:
			p.blocks(b.Blocks, tight)
		default:
		}
	}
}

func (p *htmlPage) list(l *markdown.List) {
	tag := "ul"
	if l.Ordered() {
		tag = "ol"
	}
	p.write("<", tag)
	if l.Ordered() && l.Start != 1 {
		p.write(` start="`, strconv.Itoa(l.Start), `"`)
	}
	p.write(">\n")
	for _, it := range l.Items {
		item, ok := it.(*markdown.Item)
		if !ok {
			continue
		}
		p.write("<li")
		if isTask(item) {
			p.write(` class="task"`)
		}
		p.write(">")
		p.blocks(item.Blocks, !l.Loose)
		p.write("</li>\n")
	}
	p.write("</", tag, ">\n")
}

func isTask(item *markdown.Item) bool {
	if len(item.Blocks) == 0 {
		return false
	}
	var inline markdown.Inlines
	switch b := item.Blocks[0].(type) {
	case *markdown.Text:
		inline = b.Inline
	case *markdown.Paragraph:
		inline = b.Text.Inline
	}
	if len(inline) == 0 {
		return false
	}
	_, ok := inline[0].(*markdown.Task)
	return ok
}

func (p *htmlPage) table(t *markdown.Table) {
	cell := func(tag string, i int, text *markdown.Text) {
		p.write("<", tag)
		if i < len(t.Align) {
			switch a := t.Align[i]; a {
			case "left", "center", "right":
				p.write(` class="`, a, `"`)
			}
		}
		p.write(">")
		if text != nil {
			p.inlines(text.Inline)
		}
		p.write("</", tag, ">")
	}
	p.write(`<div class="wide"><table><thead><tr>`)
	for i, text := range t.Header {
		cell("th", i, text)
	}
	p.write("</tr></thead>\n<tbody>\n")
	for _, row := range t.Rows {
		p.write("<tr>")
		for i, text := range row {
			cell("td", i, text)
		}
		p.write("</tr>\n")
	}
	p.write("</tbody></table></div>\n")
}

func (p *htmlPage) inlines(inlines markdown.Inlines) {
	for _, in := range inlines {
		switch in := in.(type) {
		case *markdown.Plain:
			p.write(escaped(in.Text))
		case *markdown.Escaped:
			p.write(escaped(in.Text))
		case *markdown.Code:
			p.write("<code>", escaped(in.Text), "</code>")
		case *markdown.Strong:
			p.wrapped("strong", in.Inner)
		case *markdown.Emph:
			p.wrapped("em", in.Inner)
		case *markdown.Del:
			p.wrapped("del", in.Inner)
		case *markdown.Link:
			p.link(in.URL, func() { p.inlines(in.Inner) })
		case *markdown.AutoLink:
			p.link(in.URL, func() { p.write(escaped(in.Text)) })
		case *markdown.Image:
			// The page loads nothing.
			p.link(in.URL, func() { p.write("["); p.inlines(in.Inner); p.write("]") })
		case *markdown.SoftBreak:
			p.write("\n")
		case *markdown.HardBreak:
			p.write("<br>\n")
		case *markdown.HTMLTag:
			p.write(escaped(in.Text))
		case *markdown.Task:
			p.mark(in.Checked)
		case *markdown.Emoji:
			p.write(escaped(in.Text))
		case markdown.Inlines:
			p.inlines(in)
		default:
		}
	}
}

func (p *htmlPage) wrapped(tag string, inner markdown.Inlines) {
	p.write("<", tag, ">")
	p.inlines(inner)
	p.write("</", tag, ">")
}

// mark is the box before a task.
func (p *htmlPage) mark(done bool) {
	if done {
		p.write(`<span class="box done">☑</span> `)
		return
	}
	p.write(`<span class="box">☐</span> `)
}

// link writes a link to where it is safe to go, and the text alone otherwise: a path in a workspace leads nowhere.
func (p *htmlPage) link(target string, text func()) {
	u, err := url.Parse(target)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "mailto" {
		text()
		return
	}
	p.write(`<a href="`, escaped(u.String()), `" rel="noreferrer noopener">`)
	text()
	p.write("</a>")
}
