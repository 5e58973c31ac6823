package commands

import (
	"errors"
	"strings"

	"github.com/BurntSushi/toml"
)

// lineError is an error at a line of a file; zero for the whole file.
type lineError struct {
	line int
	text string
}

// parseTOML parses a command of Gemini CLI. Its fields are "prompt", which is required, and "description".
func parseTOML(file string) (document, *lineError) {
	var fields map[string]any
	if _, err := toml.Decode(file, &fields); err != nil {
		if e, ok := errors.AsType[toml.ParseError](err); ok {
			return document{}, &lineError{max(e.Position.Line, 1), "is not TOML: " + e.Message}
		}
		return document{}, &lineError{0, "is not TOML: " + err.Error()}
	}
	prompt, ok := fields["prompt"].(string)
	if !ok || strings.TrimSpace(prompt) == "" {
		return document{}, &lineError{0, `has no text "prompt"`}
	}
	d := document{fields: make(map[string]string), body: strings.TrimSpace(prompt)}
	if about, ok := fields["description"].(string); ok {
		d.fields["description"] = printableLine(about)
	}
	return d, nil
}
