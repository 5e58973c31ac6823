package toolkit

import (
	"strings"

	"github.com/gajae-code/gjc/agent/approval"
	"github.com/gajae-code/gjc/internal/text"
)

// ServerEffect returns the effect of a request to a server. Because its consequences are unknown, it is judged as a command. The
// line begins with exec, so that "always" permits only this request.
func ServerEffect(title string, words ...string) approval.Effect {
	var line strings.Builder
	line.WriteString("exec")
	for _, w := range words {
		line.WriteString(" " + text.ShellQuote(w))
	}
	return approval.Effect{Action: approval.ActionCommand, Command: line.String(), Title: title}
}
