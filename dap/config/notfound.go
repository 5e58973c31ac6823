package config

import (
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
	var b strings.Builder
	switch {
	case e.Unknown:
		b.WriteString("Unknown debugger adapter " + `"` + e.Adapter + `"` + ".")
		if e.Hint != "" {
			b.WriteString(` Did you mean "` + e.Hint + `"?`)
		}
	case e.Adapter != "":
		b.WriteString("The debugger adapter " + e.Adapter + " cannot be used.")
	default:
		b.WriteString("No debugger adapter available.")
	}
	installed := "none"
	if len(e.Installed) > 0 {
		installed = strings.Join(e.Installed, ", ")
	}
	b.WriteString(" Installed adapters: " + installed + ".")
	if len(e.Missing) > 0 && e.Adapter == "" && e.Program != "" {
		b.WriteString(" For " + filepath.Base(e.Program) + ":")
	}
	for i, m := range e.Missing {
		if i > 0 {
			b.WriteString(";")
		}
		b.WriteString(" " + m.Name + ": " + m.Why)
	}
	if len(e.Missing) > 0 {
		b.WriteString(".")
	}
	return b.String()
}
