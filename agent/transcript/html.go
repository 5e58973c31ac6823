package transcript

import (
	"bufio"
	"crypto/sha256"
	_ "embed" // the style sheet
	"encoding/base64"
	"fmt"
	"html"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/gajae-code/gjc/internal/text"
)

//go:embed page.css
var pageCSS string

// htmlPage writes a self-contained page with inline styles and images. It runs no script and loads nothing, which a
// policy enforces. External text goes through [escaped], and all IDs are numbers of the page's own.
//
// What is folded is in details elements: the browser's find, links to a part and links to a text open them, as they do
// hidden="until-found", and without a script a reader can open them too.
type htmlPage struct {
	writer  *bufio.Writer
	outline *outline
	// turn is the number of the open turn, call and diff are those of the last call and diff, images counts the images.
	turn, call, diff, images int
	// open says that the section of the turn is open.
	open bool
	// model is the one that answered last.
	model string
	// imageBytes is the size of the images so far.
	imageBytes int
}

// escaped returns text for HTML. Characters that hide others or change the writing direction become visible.
func escaped(s string) string {
	s = clean(s)
	if strings.ContainsFunc(s, misleads) {
		var b strings.Builder
		for _, r := range s {
			if misleads(r) {
				fmt.Fprintf(&b, `\u%04x`, r)
			} else {
				b.WriteRune(r)
			}
		}
		s = b.String()
	}
	return html.EscapeString(s)
}

// misleads reports whether a character controls a terminal or the writing direction. Others that are invisible are parts of emoji and
// of words in some scripts.
func misleads(r rune) bool {
	switch {
	case r == '\n' || r == '\t' || r == '\r':
		return false
	case r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069':
		return true
	default:
		return unicode.IsControl(r)
	}
}

func (p *htmlPage) write(parts ...string) {
	for _, s := range parts {
		_, _ = p.writer.WriteString(s)
	}
}

func (p *htmlPage) begin(d *document) {
	p.outline = d.outline()
	title := escaped(text.OneLine(d.title()))
	hash := sha256.Sum256([]byte(pageCSS))
	p.write("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
		`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'sha256-`,
		base64.StdEncoding.EncodeToString(hash[:]), `'; base-uri 'none'; form-action 'none'">`,
		"\n<meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
		"<meta name=\"color-scheme\" content=\"light dark\">\n<title>", title, "</title>\n<style>", pageCSS, "</style>\n</head>\n<body>\n",
		"<header>\n<h1>", title, "</h1>\n")
	p.facts(d)
	p.write("</header>\n<div class=\"page\">\n")
	p.contents(d)
	p.write("<main>\n")
	p.overview(d)
}

func (p *htmlPage) end(d *document) {
	p.endTurn(d)
	p.write("</main>\n</div>\n</body>\n</html>\n")
}

func (p *htmlPage) item(d *document, it *item) {
	if it.Type == itemUser {
		p.endTurn(d)
		p.turn++
		p.prompt(d, it)
		return
	}
	if !p.open {
		p.write("<section class=\"turn before\">\n")
		p.open = true
	}
	if change := it.changeText(); change != "" {
		p.write(`<p class="setting">`, escaped(text.OneLine(change)), "</p>\n")
		return
	}
	switch it.Type {
	case itemNotice:
		p.write(`<p class="notice">`, escaped(it.text()), "</p>\n")
	case itemCompaction:
		p.cut(it, it.compactionText(), "Summary")
	case itemBranchSummary:
		p.cut(it, "Another branch was left here", "What happened in it")
	default:
		p.answer(d, it)
	}
}

// prompt begins a turn.
func (p *htmlPage) prompt(d *document, it *item) {
	p.open = true
	n := strconv.Itoa(p.turn)
	p.write(`<section class="turn" id="prompt-`, n, `">`, "\n<div class=\"prompt\">\n<h2>Prompt ", n)
	p.time(it.Time)
	p.label(it)
	p.write(`<a class="permalink" href="#prompt-`, n, `" aria-label="Link to prompt `, n, `">#</a></h2>`, "\n")
	for i := range it.Content {
		p.block(d, it, &it.Content[i])
	}
	p.write("</div>\n")
}

// endTurn ends the open turn with what it has used.
func (p *htmlPage) endTurn(d *document) {
	if !p.open {
		return
	}
	p.open = false
	if t := p.outline.at(p.turn); t.answers > 0 {
		words := []string{text.Count(t.answers, "answer")}
		if all := t.usage.Input + t.usage.Output + t.usage.CacheRead + t.usage.CacheWrite; all > 0 {
			words = append(words, tokensText(&t.usage))
		}
		if t.cost > 0 {
			words = append(words, costText(t.cost))
		}
		if took := t.took(); took != "" {
			words = append(words, took)
		}
		p.write(`<p class="usage">`, escaped(strings.Join(words, " · ")), "</p>\n")
	}
	p.write("</section>\n")
}

// answer writes an answer, or something else that is in a turn.
func (p *htmlPage) answer(d *document, it *item) {
	p.write(`<div class="`, it.Type, `">`, "\n")
	speaker := text.OneLine(it.speaker())
	if it.Type != itemAssistant || it.Model != p.model || it.Label != "" {
		p.write(`<p class="speaker">`, escaped(speaker))
		p.label(it)
		p.write("</p>\n")
	}
	if it.Type == itemAssistant {
		p.model = it.Model
	}
	for i := 0; i < len(it.Content); i++ {
		b := &it.Content[i]
		if i+1 < len(it.Content) && b.Type == blockCall && b.Kind == "think" && it.Content[i+1].Type == blockPlan {
			i++
			p.call++
			p.planFold(it.Content[i].Entries, b)
			continue
		}
		p.block(d, it, b)
	}
	if it.Error != "" {
		p.write(`<p class="notice bad">Stopped: `, escaped(it.Error), "</p>\n")
	}
	p.write("</div>\n")
}

func (p *htmlPage) label(it *item) {
	if it.Label != "" {
		p.write(` <span class="label">`, escaped(text.OneLine(it.Label)), "</span>")
	}
}

func (p *htmlPage) time(at time.Time) {
	if at.IsZero() {
		return
	}
	p.write(` <time datetime="`, at.UTC().Format(time.RFC3339), `">`, stamp(at), "</time>")
}

// cut writes the position of a compaction with its summary, which replaces what the model no longer receives.
func (p *htmlPage) cut(it *item, text, summary string) {
	p.write(`<div class="cut">`, "\n<p>", escaped(text))
	p.time(it.Time)
	p.write("</p>\n<details><summary>", escaped(summary), "</summary>\n")
	p.render(it.text(), false)
	p.write("</details>\n</div>\n")
}

func (p *htmlPage) block(d *document, it *item, b *block) {
	switch b.Type {
	case blockText:
		p.render(b.Text, it.Type == itemUser)
	case blockThought:
		p.write(`<details class="thought"><summary>Thinking <span class="size">`, text.Count(len(strings.Fields(b.Text)), "word"), "</span></summary>\n")
		p.render(b.Text, false)
		p.write("</details>\n")
	case blockCall:
		p.callBlock(d, b)
	case blockPlan:
		p.planFold(b.Entries, nil)
	case blockImage:
		p.image(b)
	}
}

func (p *htmlPage) plain(s string) {
	p.write(`<div class="text">`, escaped(strings.Trim(s, "\n")), "</div>\n")
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
		case "abandoned":
			p.write(`<li class="task abandoned"><span class="box">☒</span> `)
		default:
			p.write(`<li class="task">`)
			p.mark(false)
		}
		p.write(escaped(e.text()), "</li>\n")
	}
	p.write("</ul>\n")
}

// planFold writes a plan as it was then, and the call that has set it, if it is known.
func (p *htmlPage) planFold(entries []planEntry, call *block) {
	p.write(`<details class="call"><summary><span class="title">Plan</span> <span class="size">`, escaped(planProgress(entries)), "</span></summary>\n", `<div class="body"`)
	if call != nil {
		p.write(` id="call-`, strconv.Itoa(p.call), `"`)
	}
	p.write(">\n")
	p.plan(entries)
	if call != nil {
		p.callContent(call)
	}
	p.write("</div>\n</details>\n")
}

func planProgress(entries []planEntry) string {
	done, abandoned := 0, 0
	for _, e := range entries {
		switch e.Status {
		case "completed":
			done++
		case "abandoned":
			abandoned++
		}
	}
	progress := fmt.Sprintf("%d of %s", done, text.Count(len(entries), "step"))
	if abandoned > 0 {
		progress += fmt.Sprintf(", %d abandoned", abandoned)
	}
	return progress
}

const (
	// maxImage and maxImages limit the size of an image and that of all images of a page, in bytes.
	maxImage  = 4 << 20
	maxImages = 24 << 20
)

// imageTypes are the types that browsers show and that cannot contain scripts.
func imageTypes() []string { return []string{"image/png", "image/jpeg", "image/gif", "image/webp"} }

func (p *htmlPage) image(b *block) {
	if !slices.Contains(imageTypes(), b.MIMEType) {
		p.plain(imageText(b))
		return
	}
	size := text.OneLine(fmt.Sprintf("%s, %s", b.MIMEType, readableSize(len(b.Data))))
	if len(b.Data) > maxImage || p.imageBytes+len(b.Data) > maxImages {
		p.write(`<p class="notice">An image is left out (`, escaped(size), "): a page has images of at most ", readableSize(maxImage), ", and ", readableSize(maxImages),
			" in all. The JSON format has it.</p>\n")
		return
	}
	p.images++
	p.imageBytes += len(b.Data)
	p.write(`<p><img alt="Image `, strconv.Itoa(p.images), ` of the session (`, size, `)" src="data:`, b.MIMEType, `;base64,`)
	w := base64.NewEncoder(base64.StdEncoding, p.writer)
	_, _ = w.Write(b.Data)
	_ = w.Close() // the writer keeps its error
	p.write("\"></p>\n")
}
