package toolkit

import (
	"strconv"
	"strings"
	"time"
)

// Limits of the bash tool.
const (
	BashTimeout    = 300.0 // seconds
	MinBashTimeout = 1.0
	MaxBashTimeout = 3600.0
	// MaxCommandTitle bounds the title, in characters.
	MaxCommandTitle = 80
	// AfterTimeout bounds how long a terminal may take to answer after its command was killed.
	AfterTimeout = 3 * time.Second
)

// Seconds formats a number of seconds without trailing zeros and without a unit.
func Seconds(s float64) string { return strconv.FormatFloat(s, 'f', -1, 64) }

// VariableName reports whether s can be the name of an environment variable.
func VariableName(s string) bool {
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

// CommandTitle returns the first line of a command, shortened to MaxCommandTitle.
func CommandTitle(command string) string {
	line, rest, _ := strings.Cut(strings.TrimSpace(command), "\n")
	line = strings.TrimSpace(line)
	if runes := []rune(line); len(runes) > MaxCommandTitle || rest != "" {
		line = string(runes[:min(len(runes), MaxCommandTitle-1)]) + "…"
	}
	return line
}
