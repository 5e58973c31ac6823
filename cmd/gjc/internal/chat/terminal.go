package chat

import (
	"io"
	"os"
	"slices"
	"strings"
)

// Terminal is where the user is.
type Terminal struct {
	In  io.Reader
	Out io.Writer
	// Interactive says that In is a terminal, so that prompts are shown.
	Interactive bool
	// Raw makes the terminal send each key, and returns what undoes that. If it is nil, the chat reads whole lines and writes no escape
	// sequences, as a dumb terminal or a pipe needs it.
	Raw func() (restore func(), err error)
	// Size returns the size of the terminal. Required with Raw.
	Size func() (columns, rows int)
	// Resized receives something when the size has changed; nil for never.
	Resized <-chan os.Signal
	// Suspend stops the process until the shell continues it. Optional.
	Suspend func()
	// Colour allows colours, and Unicode characters outside ASCII for marks.
	Colour, Unicode bool
}

// style gives texts their attributes.
type style struct {
	attributes, colour, unicode bool
}

func (t *Terminal) style() style {
	return style{attributes: t.Raw != nil, colour: t.Raw != nil && t.Colour, unicode: t.Unicode}
}

// with gives a text an attribute, which it keeps until off, also where its parts have others.
func with(on bool, code, off, text string) string {
	if !on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[" + off + "m"
}

func (s style) bold(text string) string      { return with(s.attributes, "1", "22", text) }
func (s style) dim(text string) string       { return with(s.attributes, "2", "22", text) }
func (s style) italic(text string) string    { return with(s.attributes, "3", "23", text) }
func (s style) underline(text string) string { return with(s.attributes, "4", "24", text) }
func (s style) struck(text string) string    { return with(s.attributes, "9", "29", text) }
func (s style) red(text string) string       { return with(s.colour, "31", "39", text) }
func (s style) green(text string) string     { return with(s.colour, "32", "39", text) }
func (s style) yellow(text string) string    { return with(s.colour, "33", "39", text) }
func (s style) cyan(text string) string      { return with(s.colour, "36", "39", text) }

// join puts a dot between the texts that are not empty.
func (s style) join(texts ...string) string {
	texts = slices.DeleteFunc(texts, func(t string) bool { return t == "" })
	return strings.Join(texts, " "+s.mark("·", "-")+" ")
}

// note returns a line about the conversation.
func (s style) note(texts ...string) string { return s.dim(s.mark("·", "-") + " " + s.join(texts...)) }

// mark returns a mark, or its substitute on a terminal that has only ASCII.
func (s style) mark(mark, ascii string) string {
	if s.unicode {
		return mark
	}
	return ascii
}
