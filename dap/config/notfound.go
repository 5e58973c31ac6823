package config

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/gajae-code/gjc/dap"
)

// A NotFoundError is the error of a search without a usable adapter. Its text is for the model and the user.
type NotFoundError struct {
	// Adapter is the requested name; empty for any adapter.
	Adapter string
	// Program is the program to debug.
	Program string
	// Unknown says that no adapter has that name; Hint is a similar name.
	Unknown bool
	Hint    string
	// Missing are the adapters that match but cannot be used.
	Missing []dap.Unused
	// Installed are the names of the adapters that can be used.
	Installed []string
}

func (e *NotFoundError) Error() string {
	var text string
	switch {
	case e.Unknown:
		text = `Unknown debugger adapter "` + e.Adapter + `".`
		if e.Hint != "" {
			text += ` Did you mean "` + e.Hint + `"?`
		}
	case e.Adapter != "":
		text = "The debugger adapter " + e.Adapter + " cannot be used."
	default:
		text = "No debugger adapter available."
	}
	text += " Installed adapters: " + cmp.Or(strings.Join(e.Installed, ", "), "none") + "."
	if len(e.Missing) == 0 {
		return text
	}
	if e.Adapter == "" && e.Program != "" {
		text += " For " + filepath.Base(e.Program) + ":"
	}
	var reasons []string
	for _, m := range e.Missing {
		reasons = append(reasons, m.Name+": "+m.Why)
	}
	return text + " " + strings.Join(reasons, "; ") + "."
}
