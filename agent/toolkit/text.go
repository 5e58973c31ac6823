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
)

// Limits that several tools share.
const (
	// MaxText bounds in bytes what a tool gives the model.
	MaxText = 50 << 10
	// MaxLines bounds it in lines.
	MaxLines = 3000
	// MaxColumns bounds one line, in characters.
	MaxColumns = 768
)

// Description prepares an embedded description.
func Description(text string) string { return strings.TrimSpace(text) }

// Display is a path as people and the model should see it: relative to the working directory where it lies inside,
// with forward slashes.
func Display(ws *agent.Workspace, path string) string {
	return filepath.ToSlash(ws.Display(path))
}

// CutLine shortens a line to most characters and says how many are missing.
func CutLine(line string, most int) string {
	if len(line) <= most {
		return line
	}
	runes := 0
	for i := range line {
		if runes == most {
			return line[:i] + "… [" + Count(utf8.RuneCountInString(line[i:]), "more character") + "]"
		}
		runes++
	}
	return line
}

// CutBytes shortens s to at most most bytes, at a character's boundary.
func CutBytes(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && s[most]&0xC0 == 0x80 {
		most--
	}
	return s[:most]
}

// ShownName is a name as it is, unless there is something in it that would not show.
func ShownName(name string) string {
	for _, r := range name {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return strconv.Quote(name)
		}
	}
	return name
}
