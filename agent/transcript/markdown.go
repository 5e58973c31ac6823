package transcript

import (
	"bufio"
	"strings"

	"github.com/gajae-code/gjc/internal/text"
)

// markdownPage writes Markdown. It names images without including them. Every block ends with an empty line.
type markdownPage struct{ writer *bufio.Writer }

func (p *markdownPage) write(parts ...string) {
	for _, s := range parts {
		_, _ = p.writer.WriteString(clean(s))
	}
}

func (p *markdownPage) line(s string) { p.write(s, "\n\n") }

func (p *markdownPage) begin(d *document) {
	p.line("# " + text.OneLine(d.title()))
	for _, f := range d.facts() {
		p.write("- ", f.name, ": ", f.value, "\n")
	}
	p.write("\n")
	if len(d.plan) > 0 {
		p.line("**Plan**")
		p.plan(planBlock(d.plan).Entries)
	}
}

func (p *markdownPage) item(d *document, it *item) {
	if change := it.changeText(); change != "" {
		p.line("*" + text.OneLine(change) + "*")
		return
	}
	switch it.Type {
	case itemNotice:
		p.line("**" + text.OneLine(it.text()) + "**")
		return
	case itemCompaction:
		p.line("---")
		p.line("*" + it.compactionText() + ":*")
		p.quoted(it.text())
		return
	case itemBranchSummary:
		p.line("---")
		p.line("*Another branch was left here:*")
		p.quoted(it.text())
		return
	}
	head := "## " + text.OneLine(it.speaker())
	if at := stamp(it.Time); at != "" {
		head += ", " + at
	}
	if it.Label != "" {
		head += " [" + text.OneLine(it.Label) + "]"
	}
	p.line(head)
	for i := range it.Content {
		p.block(d, &it.Content[i])
	}
	if it.Error != "" {
		p.line("**Stopped:** " + text.OneLine(it.Error))
	}
	if used := usageText(it); used != "" {
		p.line("*Tokens: " + used + "*")
	}
}

func (p *markdownPage) block(d *document, b *block) {
	switch b.Type {
	case blockText:
		p.line(strings.Trim(b.Text, "\n"))
	case blockThought:
		p.write("> *Thinking*\n>\n")
		p.quoted(b.Text)
	case blockImage:
		p.line(imageText(b))
	case blockPlan:
		p.line("**Plan**")
		p.plan(b.Entries)
	case blockCall:
		p.call(d, b)
	default:
		p.content(d, b)
	}
}

func (p *markdownPage) call(d *document, b *block) {
	p.line("### Tool call: " + text.OneLine(b.Title))
	p.line("Tool " + text.OneLine(b.Name) + ", " + b.Kind + ", " + b.Status)
	if input := b.callInput(); input != "" {
		p.fenced("json", input)
	}
	for i := range b.Content {
		p.content(d, &b.Content[i])
	}
}

// content writes a part of a call's content.
func (p *markdownPage) content(d *document, b *block) {
	switch b.Type {
	case blockDiff:
		p.line("Changed: " + text.OneLine(d.display(b.Path)))
		var s strings.Builder
		for _, l := range diffLines(b) {
			s.WriteByte(l.op)
			s.WriteString(l.text + "\n")
		}
		p.fenced("diff", s.String())
	case blockLink:
		p.line("Link: " + text.OneLine(b.Name+" "+b.URI))
	case blockImage:
		p.line(imageText(b))
	default:
		p.fenced("", b.Text)
	}
}

func (p *markdownPage) plan(entries []planEntry) {
	for _, e := range entries {
		mark, note := "- [ ] ", ""
		switch e.Status {
		case "completed":
			mark = "- [x] "
		case "in_progress":
			note = " (in progress)"
		case "abandoned":
			mark, note = "- [x] ", " (abandoned)"
		}
		p.write(mark, text.OneLine(e.text()), note, "\n")
	}
	p.write("\n")
}

func (p *markdownPage) quoted(s string) {
	for l := range strings.SplitSeq(strings.Trim(s, "\n"), "\n") {
		p.write(strings.TrimRight("> "+l, " "), "\n")
	}
	p.write("\n")
}

// fenced writes a code block with a fence longer than any in the code.
func (p *markdownPage) fenced(language, code string) {
	fence, run := 3, 0
	for i := range len(code) {
		if code[i] != '`' {
			run = 0
			continue
		}
		run++
		fence = max(fence, run+1)
	}
	mark := strings.Repeat("`", fence)
	p.line(mark + language + "\n" + strings.TrimSuffix(code, "\n") + "\n" + mark)
}

func (p *markdownPage) end(*document) {}
