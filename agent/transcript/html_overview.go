package transcript

import (
	"strconv"

	"github.com/gajae-code/gjc/internal/text"
)

const (
	// maxFiles is the maximum number of rows in the table of files, and maxLinks that of links in a row.
	maxFiles = 1000
	maxLinks = 24
	// maxTurns is the maximum number of rows in the table of turns.
	maxTurns = 1000
)

// at returns a turn by its number.
func (o *outline) at(n int) *turn { return &o.turns[min(n, len(o.turns)-1)] }

// size returns the size of a diff by its number.
func (o *outline) size(n int) diffSize {
	if n > len(o.diffs) {
		return diffSize{unknown: true}
	}
	return o.diffs[n-1]
}

// used returns the turns with answers.
func (o *outline) used() []turn {
	var all []turn
	for _, t := range o.turns {
		if t.answers > 0 {
			all = append(all, t)
		}
	}
	return all
}

// changes returns the lines that the session has changed.
func (o *outline) changes() diffSize {
	var all diffSize
	for _, f := range o.files {
		all.add(f.diffSize)
	}
	return all
}

// took returns the time from a turn's prompt to its last entry; empty if it is unknown.
func (t *turn) took() string {
	if t.begin.IsZero() || !t.end.After(t.begin) {
		return ""
	}
	return took(t.end.Sub(t.begin))
}

// facts writes what is known of the session. It names the directory to which all paths of the page are relative.
func (p *htmlPage) facts(d *document) {
	p.write("<dl class=\"facts\">\n")
	for _, f := range d.facts() {
		p.write("<div><dt>", escaped(f.name), "</dt><dd>")
		switch f.name {
		case "Session", "Forked from", "Additional directory":
			p.write("<code>", escaped(f.value), "</code>")
		case "Directory":
			p.write("<code>", escaped(f.value), `</code> <span class="size">Paths on this page are relative to it.</span>`)
		default:
			p.write(escaped(f.value))
		}
		p.write("</dd></div>\n")
	}
	p.write("</dl>\n")
}

// contents writes the column of prompts.
func (p *htmlPage) contents(d *document) {
	p.write("<nav class=\"contents\" aria-labelledby=\"contents\">\n<h2 id=\"contents\">Contents</h2>\n<ul>\n")
	if len(d.plan) > 0 {
		p.write("<li><a href=\"#plan\">Plan</a></li>\n")
	}
	if n := len(p.outline.files); n > 0 {
		p.write(`<li><a href="#files">Files changed</a> `, "<span class=\"size\">", strconv.Itoa(n), "</span></li>\n")
	}
	if p.outline.charted() {
		p.write("<li><a href=\"#usage\">Tokens and cost</a></li>\n")
	}
	p.write("</ul>\n<ol>\n")
	for i := range p.outline.turns {
		if t := &p.outline.turns[i]; t.number > 0 {
			p.write(`<li><a href="#prompt-`, strconv.Itoa(t.number), `">`, escaped(t.title), "</a></li>\n")
		}
	}
	p.write("</ol>\n</nav>\n")
}

// overview writes what concerns the session as a whole.
func (p *htmlPage) overview(d *document) {
	if len(d.plan) > 0 {
		entries := planBlock(d.plan).Entries
		p.write(`<section class="overview" id="plan">`, "\n<h2>Plan <span class=\"size\">", escaped(planProgress(entries)), "</span></h2>\n")
		p.plan(entries)
		p.write("</section>\n")
	}
	p.files(d)
	p.usage(d)
}

// files writes the table of changed files with links to their diffs.
func (p *htmlPage) files(d *document) {
	files := p.outline.files
	if len(files) == 0 {
		return
	}
	p.write(`<section class="overview" id="files">`, "\n<h2>Files changed")
	p.counts(p.outline.changes())
	p.write("</h2>\n<table class=\"files\">\n<thead><tr><th scope=\"col\">File</th><th scope=\"col\" class=\"right\">Added</th><th scope=\"col\" class=\"right\">Removed</th><th scope=\"col\">Diffs</th></tr></thead>\n<tbody>\n")
	for _, f := range files[:min(len(files), maxFiles)] {
		first := strconv.Itoa(f.diffs[0])
		p.write(`<tr><th scope="row"><a href="#diff-`, first, `"><code>`, escaped(text.OneLine(d.display(f.path))), "</code></a>")
		if f.created {
			p.write(` <span class="size">new</span>`)
		}
		p.write("</th>")
		if f.unknown && f.lines() == 0 {
			p.write(`<td class="right" colspan="2">too long to compare</td>`)
		} else {
			p.write(`<td class="right plus">+`, strconv.Itoa(f.added), `</td><td class="right minus">−`, strconv.Itoa(f.removed), "</td>")
		}
		p.write("<td>")
		for i, n := range f.diffs[:min(len(f.diffs), maxLinks)] {
			if i > 0 {
				p.write(" ")
			}
			number := strconv.Itoa(n)
			p.write(`<a href="#diff-`, number, `" aria-label="Diff `, number, `">`, number, "</a>")
		}
		if more := len(f.diffs) - maxLinks; more > 0 {
			p.write(" and ", strconv.Itoa(more), " more")
		}
		p.write("</td></tr>\n")
	}
	p.write("</tbody>\n</table>\n")
	if more := len(files) - maxFiles; more > 0 {
		p.write(`<p class="notice">`, strconv.Itoa(more), " more files are not listed.</p>\n")
	}
	p.write("</section>\n")
}

// usage writes the charts of the turns, and their figures as a table.
func (p *htmlPage) usage(d *document) {
	if !p.outline.charted() {
		return
	}
	p.write(`<section class="overview" id="usage">`, "\n<h2>Tokens and cost</h2>\n")
	p.charts(d)
	turns := p.outline.used()
	p.write("<details class=\"raw\"><summary>The figures as a table</summary>\n",
		`<div class="wide" tabindex="0" role="region" aria-label="Tokens and cost of each turn">`, "<table>\n<thead><tr>")
	for _, name := range []string{"Prompt", "Answers", "Input", "From cache", "To cache", "Output", "Context", "Cost", "Time"} {
		p.write(`<th scope="col" class="right">`, name, "</th>")
	}
	p.write("</tr></thead>\n<tbody>\n")
	for i := range turns[:min(len(turns), maxTurns)] {
		t := &turns[i]
		n := strconv.Itoa(t.number)
		if p.write("<tr>"); t.number > 0 {
			p.write(`<th scope="row" class="right"><a href="#prompt-`, n, `">`, n, "</a></th>")
		} else {
			p.write(`<th scope="row" class="right">–</th>`)
		}
		u := &t.usage
		cell := func(text string) { p.write(`<td class="right">`, escaped(text), "</td>") }
		for _, value := range []int{t.answers, u.Input, u.CacheRead, u.CacheWrite, u.Output, t.context} {
			cell(grouped(value))
		}
		if t.cost > 0 {
			cell(costText(t.cost))
		} else {
			cell("–")
		}
		spent := t.took()
		if spent == "" {
			spent = "–"
		}
		cell(spent)
		p.write("</tr>\n")
	}
	p.write("</tbody>\n</table></div>\n")
	if more := len(turns) - maxTurns; more > 0 {
		p.write(`<p class="notice">`, strconv.Itoa(more), " more turns are not listed.</p>\n")
	}
	p.write("</details>\n</section>\n")
}
