package code

import (
	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/lsp"
)

// FindSpot exports findSpot.
func FindSpot(text *lsp.Text, file string, line int, symbol string) (foundLine, offset int, note string, err error) {
	s, err := findSpot(text, file, line, symbol)
	if err != nil {
		return 0, 0, "", err
	}
	return s.line, s.offset, s.note, nil
}

// Markup exports markup.
func Markup(raw string) string { return markup(jsonx.Raw(raw)) }

// ParameterLabel exports parameterLabel.
func ParameterLabel(signature, raw string) string { return parameterLabel(signature, jsonx.Raw(raw)) }
