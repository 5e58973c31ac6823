package tools

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
	// maxText bounds in bytes what a tool gives the model.
	maxText = 50 << 10
	// maxLines bounds it in lines.
	maxLines = 3000
	// maxColumns bounds one line, in characters.
	maxColumns = 768
)

// markdown prepares an embedded description.
func markdown(text string) string { return strings.TrimSpace(text) }

// display is a path as people and the model should see it: relative to the working directory where it lies inside,
// with forward slashes.
func display(ws *agent.Workspace, path string) string {
	return filepath.ToSlash(ws.Display(path))
}

// cutLine shortens a line to most characters and says how many are missing.
func cutLine(line string, most int) string {
	if len(line) <= most {
		return line
	}
	runes := 0
	for i := range line {
		if runes == most {
			return line[:i] + "… [" + count(utf8.RuneCountInString(line[i:]), "more character") + "]"
		}
		runes++
	}
	return line
}

// cutBytes shortens s to at most most bytes, at a character's boundary.
func cutBytes(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && s[most]&0xC0 == 0x80 {
		most--
	}
	return s[:most]
}

// shownName is a name as it is, unless there is something in it that would not show.
func shownName(name string) string {
	for _, r := range name {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return strconv.Quote(name)
		}
	}
	return name
}
