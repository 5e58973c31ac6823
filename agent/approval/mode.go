package approval

import (
	"errors"
	"fmt"
	"strings"
)

// Mode says how much an agent may do without asking.
type Mode string

// The modes.
const (
	ModeDefault Mode = "default"
	ModeStrict  Mode = "strict"
	ModePlan    Mode = "plan"
	ModeAuto    Mode = "auto"
)

// ModeInfo describes a mode for people.
type ModeInfo struct {
	ID          Mode
	Name        string
	Description string
}

// Modes lists the modes in the order to offer them.
func Modes() []ModeInfo {
	return []ModeInfo{
		{ModeDefault, "Default", "Edits inside the workspace run and show as diffs; commands and anything else ask."},
		{ModeStrict, "Strict", "Every edit and every command asks."},
		{ModePlan, "Plan", "Nothing is changed: the agent reads, thinks and plans."},
		{ModeAuto, "Auto", "Nothing inside the workspace asks."},
	}
}

// ErrUnknownMode is wrapped by the error for a mode that does not exist.
var ErrUnknownMode = errors.New("unknown mode")

// ParseMode returns the mode called s.
func ParseMode(s string) (Mode, error) {
	var names []string
	for _, m := range Modes() {
		if string(m.ID) == s {
			return m.ID, nil
		}
		names = append(names, string(m.ID))
	}
	return "", fmt.Errorf("%w %q; there are %s", ErrUnknownMode, s, strings.Join(names, ", "))
}
