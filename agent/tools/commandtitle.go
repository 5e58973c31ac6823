package tools

import (
	"strconv"
	"strings"
	"time"
)

// Limits of the bash tool.
const (
	bashTimeout    = 300.0 // seconds
	minBashTimeout = 1.0
	maxBashTimeout = 3600.0
	// maxCommandTitle bounds the title, in characters.
	maxCommandTitle = 80
	// afterTimeout bounds what is still asked of a terminal once the command was killed.
	afterTimeout = 3 * time.Second
)

func seconds(s float64) string { return strconv.FormatFloat(s, 'f', -1, 64) }

func variableName(s string) bool {
	for i, r := range s {
		switch {
		case r == '_', 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z':
		case i > 0 && '0' <= r && r <= '9':
		default:
			return false
		}
	}
	return s != ""
}

// commandTitle is the command's first line, cut.
func commandTitle(command string) string {
	line, rest, _ := strings.Cut(strings.TrimSpace(command), "\n")
	line = strings.TrimSpace(line)
	if runes := []rune(line); len(runes) > maxCommandTitle || rest != "" {
		line = string(runes[:min(len(runes), maxCommandTitle-1)]) + "…"
	}
	return line
}
