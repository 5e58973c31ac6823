package dap

import (
	"strings"

	godap "github.com/google/go-dap"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/internal/text"
)

// maxErrorText bounds the text of a [RequestError], in bytes.
const maxErrorText = 4 << 10

// requestError makes an error of a failed response. The structured message is the better one where there is one: it is
// meant for people, the short one for programs.
func requestError(command string, m *envelope) *RequestError {
	e := &RequestError{Command: command, Text: m.Message}
	var body struct {
		Error *godap.ErrorMessage `json:"error"`
	}
	if jsonx.Unmarshal(m.Body, &body) == nil && body.Error != nil {
		e.ID = body.Error.Id
		if text := fill(body.Error.Format, body.Error.Variables); text != "" {
			e.Text = text
		}
	}
	e.Text = strings.TrimSpace(strings.ToValidUTF8(e.Text, "\uFFFD"))
	e.Text = text.TruncateBytes(e.Text, maxErrorText)
	return e
}

// fill puts the values of variables into a format: {name}.
func fill(format string, variables map[string]string) string {
	if len(variables) == 0 || !strings.Contains(format, "{") {
		return format
	}
	var pairs []string
	for name, value := range variables {
		pairs = append(pairs, "{"+name+"}", value)
	}
	return strings.NewReplacer(pairs...).Replace(format)
}
