package chat

import (
	"io"
	"strings"

	"github.com/gajae-code/gjc/cmd/gjc/internal/lineedit"
	"github.com/gajae-code/gjc/internal/text"
)

// screen writes the conversation. Below it, on a terminal in raw mode, it shows either the line that the user edits or what the agent does
// at the moment; both give way to what is written.
type screen struct {
	style
	out  io.Writer
	raw  bool
	size func() (columns, rows int)
	err  error // the first one of out

	within bool // the conversation ends within a line
	editor *lineedit.Editor
	prompt string
	status string
	shown  bool // the status is on the screen
}

// write writes to the terminal.
func (s *screen) write(text string) {
	if s.err != nil || text == "" {
		return
	}
	if s.raw { // nothing else turns a line feed into the begin of the next line
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
	}
	_, s.err = io.WriteString(s.out, text)
}

// print adds to the conversation. The text is safe and may have attributes.
func (s *screen) print(text string) {
	if text == "" {
		return
	}
	s.hide()
	s.write(text)
	s.within = !strings.HasSuffix(text, "\n")
	s.show()
}

// line adds a line to the conversation.
func (s *screen) line(text string) { s.print(s.fresh() + text + "\n") }

// fresh returns what begins a new line.
func (s *screen) fresh() string {
	if s.within {
		return "\n"
	}
	return ""
}

// hide removes what is below the conversation.
func (s *screen) hide() {
	if s.editor != nil {
		s.write(s.editor.Erase())
	}
	if s.shown {
		s.write("\r\x1b[K")
		s.shown = false
	}
}

// show shows what is below the conversation.
func (s *screen) show() {
	switch {
	case !s.raw:
	case s.editor != nil:
		if s.within {
			s.write("\n")
			s.within = false
		}
		columns, rows := s.size()
		s.write(s.editor.Paint(columns, rows, s.prompt))
	case s.status != "" && !s.within:
		columns, _ := s.size()
		s.write(s.dim(clip(s.status, columns-1)))
		s.shown = true
	}
}

// edit shows a line to edit, with a prompt; nil for none.
func (s *screen) edit(e *lineedit.Editor, prompt string) {
	s.hide()
	s.editor, s.prompt = e, prompt
	s.show()
}

// leave makes the line that was edited a part of the conversation.
func (s *screen) leave() {
	if s.editor == nil {
		return
	}
	columns, rows := s.size()
	s.write(s.editor.Leave(columns, rows, s.prompt))
	s.editor, s.within = nil, false
}

// doing sets what the agent does at the moment; "" for nothing.
func (s *screen) doing(status string) {
	if status == s.status {
		return
	}
	s.hide()
	s.status = status
	s.show()
}

// clear clears the screen.
func (s *screen) clear() {
	s.hide()
	s.write("\x1b[H\x1b[2J")
	s.within = false
	s.show()
}

// clip shortens a line to a width in columns.
func clip(line string, columns int) string {
	if lineedit.Width(line) <= columns {
		return line
	}
	width := 0
	for i, r := range line {
		if width += lineedit.Width(string(r)); width > columns {
			return line[:i]
		}
	}
	return line
}

// clean returns a text from elsewhere that cannot control the terminal. What joins or varies characters in harmless texts, such as emojis,
// is removed, as it would be shown as an escape.
func clean(s string) string {
	if strings.ContainsFunc(s, text.Forges) {
		s = strings.NewReplacer("\u00ad", "", "\u200d", "", "\ufe0e", "", "\ufe0f", "", "\r\n", "\n").Replace(s)
	}
	return text.Visible(s)
}

// cleanLine is like [clean], but returns a single line.
func cleanLine(s string) string { return text.VisibleLine(clean(s)) }
