// Package toolkit holds what several tools need: text encodings, windows of a file's lines, commands' output within bounds, pictures,
// web pages, and the wording of results.
//
// A tool reaches the world only through its [agent.Call]. [github.com/gajae-code/gjc/agent/toolkit/walk] is the exception: it reads ignore
// files and searched files from the disk.
package toolkit

import (
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gajae-code/gjc/agent"
	"github.com/gajae-code/gjc/internal/text"
)

// Limits that several tools share.
const (
	// MaxText bounds the text that a tool returns to the model, in bytes.
	MaxText = 50 << 10
	// MaxLines bounds it in lines.
	MaxLines = 3000
	// MaxColumns bounds one line, in characters.
	MaxColumns = 768
)

// Description returns an embedded description without leading and trailing white space.
func Description(text string) string { return strings.TrimSpace(text) }

// Display returns a path for people and the model: relative if it is inside the working directory, with forward slashes.
func Display(ws *agent.Workspace, path string) string {
	return filepath.ToSlash(ws.Display(path))
}

// CutLine shortens a line to most characters and appends the number of missing ones.
func CutLine(line string, most int) string {
	if len(line) <= most {
		return line
	}
	runes := 0
	for i := range line {
		if runes == most {
			return line[:i] + "… [" + text.Count(utf8.RuneCountInString(line[i:]), "more character") + "]"
		}
		runes++
	}
	return line
}

// CutBytes shortens s to at most most bytes, at a character boundary.
func CutBytes(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && s[most]&0xC0 == 0x80 {
		most--
	}
	return s[:most]
}

// ShownName returns a name unchanged, or quoted if it contains characters that are not visible.
func ShownName(name string) string {
	for _, r := range name {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return strconv.Quote(name)
		}
	}
	return name
}
