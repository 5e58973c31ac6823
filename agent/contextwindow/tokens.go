package contextwindow

import "github.com/gajae-code/gjc/providers"

// imageTokens is the estimated size of an image. Providers scale large images down to about this size.
const imageTokens = 1200

// Tokens estimates the number of tokens in a text of the given number of bytes. It assumes four bytes for each token.
func Tokens(bytes int) int { return (bytes + 3) / 4 }

// Estimate estimates the number of tokens that a model counts for messages.
func Estimate(model *providers.ModelInfo, messages []providers.Message) int {
	n := 0
	for i := range messages {
		n += messageTokens(&messages[i])
		if !model.Images {
			n -= images(&messages[i]) * imageTokens // the model is sent a note instead
		}
	}
	return n
}

// RequestOverhead estimates the number of tokens in a request without its messages.
func RequestOverhead(req *providers.Request) int {
	n := len(req.System)
	for i := range req.Tools {
		tool := &req.Tools[i]
		n += len(tool.Name) + len(tool.Description) + len(tool.Schema)
	}
	return Tokens(n)
}

func messageTokens(m *providers.Message) int {
	bytes := 0
	for _, p := range m.Parts {
		switch p := p.(type) {
		case providers.Text:
			bytes += len(p.Text)
		case providers.Thinking:
			bytes += len(p.Text)
		case providers.ToolCall:
			bytes += len(p.Name) + len(p.Input)
		default:
		}
	}
	return Tokens(bytes) + images(m)*imageTokens
}

func images(m *providers.Message) int {
	n := 0
	for _, p := range m.Parts {
		if _, is := p.(providers.Image); is {
			n++
		}
	}
	return n
}
