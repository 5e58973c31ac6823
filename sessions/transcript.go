package sessions

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// TranscriptOptions adjusts [Transcript] and [HTML]. Every field is optional; what is empty is not printed.
type TranscriptOptions struct {
	// Title is the heading. If empty, "Session".
	Title string
	// ID, Cwd and Model are told below the heading.
	ID    string
	Cwd   string
	Model string
	// HideThinking leaves the reasoning out.
	HideThinking bool
	// MaxResult is how many bytes of a tool's result are printed. If zero, all.
	MaxResult int
}

// Transcript returns a conversation as Markdown. Images are named, not shown.
func Transcript(messages []providers.Message, opts *TranscriptOptions) string {
	w := new(markdown)
	writeTranscript(w, messages, opts)
	return w.String()
}

// page is what a transcript is written to.
type page interface {
	begin(title string, facts [][2]string)
	speaker(name string, at time.Time, class string)
	text(s string)
	thinking(s string)
	call(name, input string)
	result(name, text string, failed bool)
	image(img providers.Image)
	failure(s string)
	end()
}

func writeTranscript(w page, messages []providers.Message, opts *TranscriptOptions) {
	if opts == nil {
		opts = new(TranscriptOptions)
	}
	title := opts.Title
	if title == "" {
		title = "Session"
	}
	var facts [][2]string
	for _, f := range [][2]string{{"Session", opts.ID}, {"Directory", opts.Cwd}, {"Model", opts.Model}} {
		if f[1] != "" {
			facts = append(facts, f)
		}
	}
	w.begin(title, facts)
	for i := range messages {
		writeMessage(w, &messages[i], opts)
	}
	w.end()
}

func writeMessage(w page, m *providers.Message, opts *TranscriptOptions) {
	switch m.Role {
	case providers.RoleTool:
		w.result(m.ToolName, capped(m.Text(), opts.MaxResult), m.IsError)
	case providers.RoleAssistant:
		name := "Assistant"
		if m.Model != "" {
			name += " (" + m.Provider + "/" + m.Model + ")"
		}
		w.speaker(name, m.Time, "assistant")
	default:
		w.speaker("User", m.Time, "user")
	}
	for _, p := range m.Parts {
		switch p := p.(type) {
		case providers.Text:
			if m.Role != providers.RoleTool && strings.TrimSpace(p.Text) != "" {
				w.text(p.Text)
			}
		case providers.Thinking:
			if !opts.HideThinking && strings.TrimSpace(p.Text) != "" {
				w.thinking(p.Text)
			}
		case providers.ToolCall:
			w.call(p.Name, readable(p.Input))
		case providers.Image:
			w.image(p)
		}
	}
	if m.Error != "" {
		w.failure(m.Error)
	}
}

// capped cuts s to most bytes, between letters.
func capped(s string, most int) string {
	if most <= 0 || len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + fmt.Sprintf("\n… (%d more bytes)", len(s)-cut)
}

// readable indents JSON and leaves alone what is none.
func readable(input jsonx.Raw) string {
	indented := append(jsonx.Raw(nil), input...)
	if !jsonx.Valid(indented) || indented.Indent() != nil {
		return string(input)
	}
	return string(indented)
}

func stamp(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format("2006-01-02 15:04:05 UTC")
}

func imageText(img providers.Image) string {
	return fmt.Sprintf("[image: %s, %d bytes]", img.MIMEType, len(img.Data))
}

// markdown is the [page] of [Transcript]. Every block ends with an empty line.
type markdown struct{ strings.Builder }

func (w *markdown) begin(title string, facts [][2]string) {
	w.line("# " + oneLine(title))
	for _, f := range facts {
		fmt.Fprintf(w, "- %s: %s\n", f[0], oneLine(f[1]))
	}
	if len(facts) > 0 {
		w.WriteByte('\n')
	}
}

func (w *markdown) speaker(name string, at time.Time, _ string) {
	head := "## " + oneLine(name)
	if s := stamp(at); s != "" {
		head += ", " + s
	}
	w.line(head)
}

func (w *markdown) text(s string) { w.line(strings.Trim(s, "\n")) }

func (w *markdown) thinking(s string) {
	w.WriteString("> *Thinking*\n>\n")
	for l := range strings.SplitSeq(strings.Trim(s, "\n"), "\n") {
		w.WriteString(strings.TrimRight("> "+l, " ") + "\n")
	}
	w.WriteByte('\n')
}

func (w *markdown) call(name, input string) {
	w.line("### Tool call: " + oneLine(name))
	w.fenced("json", input)
}

func (w *markdown) result(name, text string, failed bool) {
	head := "### Result of " + oneLine(name)
	if failed {
		head += " (failed)"
	}
	w.line(head)
	if text != "" {
		w.fenced("", text)
	}
}

func (w *markdown) image(img providers.Image) { w.line(oneLine(imageText(img))) }

func (w *markdown) failure(s string) { w.line("**Stopped:** " + oneLine(s)) }

func (w *markdown) end() {}

func (w *markdown) line(s string) { w.WriteString(s + "\n\n") }

// fenced writes a code block whose fence is longer than any in the code.
func (w *markdown) fenced(language, code string) {
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
	w.line(mark + language + "\n" + strings.TrimSuffix(code, "\n") + "\n" + mark)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
