package transcript

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxMarkdown is the maximum size of a text that is rendered as Markdown, in bytes; a longer one is shown as plain
	// text.
	maxMarkdown = 256 << 10
	// maxMissing is the maximum number of cells that are added to a short table row.
	maxMissing = 16
)

// mdPage writes a Markdown document into a page.
type mdPage struct {
	*htmlPage
	links map[string]string
	// breaks says that a line break of the text is one of the page, as people expect it in what they type.
	breaks bool
}

// render writes Markdown as HTML. With breaks, its line breaks are kept.
func (p *htmlPage) render(text string, breaks bool) {
	if len(text) > maxMarkdown {
		p.plain(text)
		return
	}
	document, links := readMarkdown(strings.ToValidUTF8(text, "\ufffd"))
	p.write(`<div class="md">`)
	mdPage{p, links, breaks}.blocks(document.blocks, false)
	p.write("</div>\n")
}

// blocks writes blocks; tight ones belong to a list without paragraphs.
func (p mdPage) blocks(blocks []*mdBlock, tight bool) {
	for _, b := range blocks {
		switch b.kind {
		case mdParagraph:
			p.paragraph(string(b.text), tight)
		case mdHeading:
			// The page's own headings are above those of texts.
			tag := "h" + strconv.Itoa(min(b.number+2, 6))
			p.write("<", tag, ">")
			p.inlines(string(b.text))
			p.write("</", tag, ">\n")
		case mdFenced, mdIndented:
			language, _, _ := strings.Cut(b.info, " ")
			p.code(language, string(b.text))
		case mdQuote:
			p.write("<blockquote>\n")
			p.blocks(b.blocks, false)
			p.write("</blockquote>\n")
		case mdList:
			p.list(b)
		case mdTable:
			p.table(b)
		case mdRule:
			p.write("<hr>\n")
		default: // documents and items do not occur here
		}
	}
}

func (p mdPage) paragraph(text string, tight bool) {
	switch {
	case text == "": // only definitions
	case tight:
		p.inlines(text)
		p.write("\n")
	default:
		p.write("<p>")
		p.inlines(text)
		p.write("</p>\n")
	}
}

func (p mdPage) list(l *mdBlock) {
	tag := "ul"
	if l.mark == '.' || l.mark == ')' {
		tag = "ol"
	}
	p.write("<", tag)
	if tag == "ol" && l.number != 1 {
		p.write(` start="`, strconv.Itoa(l.number), `"`)
	}
	p.write(">\n")
	for _, item := range l.blocks {
		blocks := item.blocks
		if done, rest, ok := task(blocks); ok {
			p.write(`<li class="task">`)
			if l.loose {
				p.write("<p>")
			}
			p.mark(done)
			p.inlines(rest)
			if l.loose {
				p.write("</p>")
			}
			p.write("\n")
			blocks = blocks[1:]
		} else {
			p.write("<li>")
		}
		p.blocks(blocks, !l.loose)
		p.write("</li>\n")
	}
	p.write("</", tag, ">\n")
}

// task parses the check box before the text of an item.
func task(blocks []*mdBlock) (done bool, rest string, ok bool) {
	if len(blocks) == 0 || blocks[0].kind != mdParagraph {
		return false, "", false
	}
	s := string(blocks[0].text)
	if len(s) < 4 || s[0] != '[' || s[2] != ']' || s[3] != ' ' && s[3] != '\t' && s[3] != '\n' {
		return false, "", false
	}
	switch s[1] {
	case ' ':
		return false, s[4:], true
	case 'x', 'X':
		return true, s[4:], true
	default:
		return false, "", false
	}
}

func (p mdPage) table(t *mdBlock) {
	row := func(tag string, row []string) {
		p.write("<tr>")
		for i, text := range row {
			p.write("<", tag)
			if i < len(t.columns) && t.columns[i] != "" {
				p.write(` class="`, t.columns[i], `"`)
			}
			p.write(">")
			p.inlines(text)
			p.write("</", tag, ">")
		}
		p.write("</tr>")
	}
	header, rows, _ := strings.Cut(string(t.text), "\n")
	p.write(`<div class="wide" tabindex="0" role="region" aria-label="Table"><table><thead>`)
	row("th", cells(header, false))
	p.write("</thead>\n<tbody>\n")
	for line := range strings.SplitSeq(rows, "\n") {
		if line == "" {
			continue
		}
		all := cells(line, false)
		if len(all) > len(t.columns) {
			// Models often do not escape pipes in code.
			all = cells(line, true)
		}
		for missing := min(len(t.columns)-len(all), maxMissing); missing > 0; missing-- {
			all = append(all, "")
		}
		row("td", all)
		p.write("\n")
	}
	p.write("</tbody></table></div>\n")
}

// inlines writes the text of a block.
func (p mdPage) inlines(text string) {
	depth, linked := 0, 0 // the open links, and the one that is written
	for _, piece := range inlinePieces(strings.TrimSpace(text), p.links) {
		switch piece.kind {
		case mdText:
			if p.breaks && piece.text == "\n" {
				p.write("<br>")
			}
			p.write(escaped(piece.text))
		case mdCode:
			p.write("<code>", escaped(piece.text), "</code>")
		case mdBreak:
			p.write("<br>\n")
		case mdRuns:
			p.run(piece.run)
		case mdLink, mdImage:
			depth++
			if target, ok := href(piece.text); ok && linked == 0 {
				linked = depth
				p.write(target)
			}
			if piece.kind == mdImage {
				p.write("[") // the page loads nothing
			}
		case mdLinkEnd, mdImageEnd:
			if piece.kind == mdImageEnd {
				p.write("]")
			}
			if linked == depth {
				linked = 0
				p.write("</a>")
			}
			depth--
		}
	}
}

// run writes the tags of a run of delimiters, and the rest of it as text.
func (p mdPage) run(r *mdRun) {
	name := func(tag byte) string {
		switch tag {
		case 's':
			return "strong"
		case 'd':
			return "del"
		default:
			return "em"
		}
	}
	for _, tag := range r.ends {
		p.write("</", name(tag), ">")
	}
	p.write(strings.Repeat(string(rune(r.mark)), r.left))
	for _, tag := range slices.Backward(r.emphases) {
		p.write("<", name(tag), ">")
	}
}

// mark returns the check box of a task.
func (p *htmlPage) mark(done bool) {
	if done {
		p.write(`<span class="box done">☑</span> `)
		return
	}
	p.write(`<span class="box">☐</span> `)
}

// link writes a link with a safe target, and otherwise only the text: a path in a workspace leads nowhere.
func (p *htmlPage) link(target string, text func()) {
	tag, ok := href(target)
	if !ok {
		text()
		return
	}
	p.write(tag)
	text()
	p.write("</a>")
}

// href returns the tag of a link with a safe target.
func href(target string) (tag string, ok bool) {
	u, err := url.Parse(target)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "mailto" {
		return "", false
	}
	return `<a href="` + escaped(u.String()) + `" rel="noreferrer noopener">`, true
}
