package transcript

import (
	"strconv"
	"strings"
	"time"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
)

const (
	// maxOpenDiff is the maximum number of lines of a diff, and maxOpenOutput that of a command's output, which are not folded.
	maxOpenDiff   = 40
	maxOpenOutput = 12
)

// callBlock writes a call: its diffs, or else a line that folds the rest.
func (p *htmlPage) callBlock(d *document, b *block) {
	p.call++
	diffs := 0
	for i := range b.Content {
		if b.Content[i].Type == blockDiff {
			diffs++
		}
	}
	if diffs == 0 {
		p.plainCall(d, b)
		return
	}
	p.write(`<div class="edits" id="call-`, strconv.Itoa(p.call), `">`, "\n")
	if b.Status != "completed" {
		p.write(`<p class="refused">`, escaped(text.OneLine(b.Title)), ` <span class="state bad">`, escaped(stateOf(b, nil)), ", not applied</span></p>\n")
	}
	for i := range b.Content {
		if c := &b.Content[i]; c.Type == blockDiff {
			p.change(d, b, c)
		}
	}
	p.write("<div class=\"body\">\n")
	p.callContent(b)
	p.write("</div>\n</div>\n")
}

// commandResult holds the parts of a command's structured output.
type commandResult struct {
	ExitCode   *int   `json:"exitCode"`
	Signal     string `json:"signal"`
	TimedOut   bool   `json:"timedOut"`
	Cancelled  bool   `json:"cancelled"`
	Job        string `json:"job"`
	DurationMS int64  `json:"durationMs"`
}

// stateOf describes how a call ended, in words and not only with a color.
func stateOf(b *block, r *commandResult) string {
	if r != nil {
		switch {
		case r.Signal != "":
			return "killed by " + text.OneLine(r.Signal)
		case r.TimedOut:
			return "timed out"
		case r.Cancelled:
			return "cancelled"
		case r.ExitCode != nil:
			return "exit " + strconv.Itoa(*r.ExitCode)
		case r.Job != "":
			return "goes on as " + text.OneLine(r.Job)
		}
	}
	switch b.Status {
	case "completed":
		return "done"
	case "failed":
		return "failed"
	default:
		return "not finished"
	}
}

// plainCall writes a call without diffs.
func (p *htmlPage) plainCall(d *document, b *block) {
	command := b.Kind == "execute"
	var result *commandResult
	if command && len(b.Output) > 0 {
		result = new(commandResult)
		if jsonx.Unmarshal(b.Output, result) != nil {
			result = nil // of another program
		}
	}
	class, state := "call", "state good"
	if command {
		class += " command"
	}
	switch b.Status {
	case "completed":
	case "failed":
		class, state = class+" failed", "state bad"
	default:
		state = "state"
	}
	p.write(`<details class="`, class, `"`)
	if command && outputLines(b) <= maxOpenOutput {
		p.write(" open")
	}
	p.write(`><summary>`)
	if command {
		p.write(`<span class="sign">$</span> <code class="title">`, escaped(text.OneLine(b.Title)), "</code>")
	} else {
		p.write(`<span class="title">`, escaped(text.OneLine(b.Title)), "</span>")
	}
	p.write(` <span class="`, state, `">`, statusMark(b.Status), " ", escaped(stateOf(b, result)), "</span>")
	if result != nil && result.DurationMS > 0 {
		p.write(` <span class="size">`, took(time.Duration(result.DurationMS)*time.Millisecond), "</span>")
	}
	p.write("</summary>\n", `<div class="body" id="call-`, strconv.Itoa(p.call), `">`, "\n")
	if !command {
		p.places(d, b)
	}
	p.callContent(b)
	p.write("</div>\n</details>\n")
}

// outputLines returns the number of lines in a call's content.
func outputLines(b *block) int {
	n := 0
	for i := range b.Content {
		n += lineCount(b.Content[i].Text)
	}
	return n
}

// statusMark precedes the state of a call.
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

// places writes what a call has read, searched or removed.
func (p *htmlPage) places(d *document, b *block) {
	if len(b.Locations) == 0 {
		return
	}
	p.write(`<p class="places">`)
	for i, l := range b.Locations {
		if i > 0 {
			p.write(", ")
		}
		l.Path = d.display(l.Path)
		p.write("<code>", escaped(l.String()), "</code>")
	}
	p.write("</p>\n")
}

// callContent writes what a call has shown, without its diffs and what its first line says, and its data.
func (p *htmlPage) callContent(b *block) {
	for i := range b.Content {
		switch c := &b.Content[i]; {
		case c.Type == blockDiff, c.Type == blockText && i == 0 && c.Text == "$ "+b.Title:
		case c.Type == blockText && i == len(b.Content)-1 && b.Kind == "execute" && strings.HasPrefix(c.Text, "Command exited with code "):
		default:
			p.content(c)
		}
	}
	input := b.callInput()
	if input == "" && len(b.Output) == 0 {
		return
	}
	p.write(`<details class="raw"><summary>`, escaped(text.OneLine("Data of the call: "+b.Name)), "</summary>\n")
	if input != "" {
		p.code("json", input)
	}
	if len(b.Output) > 0 {
		p.code("json", readable(b.Output))
	}
	p.write("</details>\n")
}

// content writes a part of a call's content.
func (p *htmlPage) content(b *block) {
	switch b.Type {
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
			p.render(b.Text, false)
			return
		}
		p.code("", b.Text)
	}
}

// change writes a diff, open if it is short.
func (p *htmlPage) change(d *document, call, b *block) {
	p.diff++
	n := strconv.Itoa(p.diff)
	lines := diffLines(b)
	p.write(`<div class="change"><details class="diff"`)
	if len(lines) <= maxOpenDiff {
		p.write(" open")
	}
	p.write(`><summary><code class="title">`, escaped(text.OneLine(d.display(b.Path))), "</code>")
	if b.OldText == nil {
		p.write(` <span class="size">new file</span>`)
	}
	p.counts(p.outline.size(p.diff))
	if call.Status == "completed" {
		p.write(` <span class="state good">✓ done</span>`)
	} else {
		p.write(` <span class="state bad">not applied</span>`)
	}
	// A link to what is in a folded part opens it.
	p.write("</summary>\n", `<pre id="diff-`, n, `">`)
	for i := range lines {
		p.diffLine(&lines[i])
	}
	p.write("</pre>\n</details>\n", `<a class="permalink" href="#diff-`, n, `" aria-label="Link to diff `, n, `">#</a></div>`, "\n")
}

// counts writes the numbers of added and removed lines.
func (p *htmlPage) counts(s diffSize) {
	if s.unknown {
		p.write(` <span class="size">too long to compare</span>`)
		return
	}
	p.write(` <span class="counts"><span class="plus">+`, strconv.Itoa(s.added), `</span> <span class="minus">−`, strconv.Itoa(s.removed), "</span></span>")
}

// diffLine writes a line with its numbers, which a style shows, so that they are neither copied nor found.
func (p *htmlPage) diffLine(l *diffLine) {
	switch l.op {
	case '+':
		p.write(`<span class="add"`)
	case '-':
		p.write(`<span class="del"`)
	case '@':
		p.write(`<span class="hunk"`)
	default:
		p.write("<span")
	}
	if l.before > 0 {
		p.write(` data-a="`, strconv.Itoa(l.before), `"`)
	}
	if l.after > 0 {
		p.write(` data-b="`, strconv.Itoa(l.after), `"`)
	}
	p.write(">", escaped(string(rune(l.op))+l.text), "\n</span>")
}
