package google

import (
	"slices"
	"strings"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/internal/dialect"
)

// noSignature is the signature that Google's documentation gives for a call without one, because another model made it.
const noSignature = "skip_thought_signature_validator"

// contents converts the conversation. All user messages and tool results between two answers become one message, with all responses
// first.
func (m *model) contents(list []providers.Message) []content {
	out := make([]content, 0, len(list))
	var responses, shown, said []part
	flush := func() {
		if parts := slices.Concat(responses, shown, said); len(parts) > 0 {
			out = append(out, content{Role: "user", Parts: parts})
		}
		responses, shown, said = nil, nil, nil
	}
	for i := range list {
		switch msg := &list[i]; msg.Role {
		case providers.RoleUser:
			said = append(said, m.user(msg)...)
		case providers.RoleTool:
			response, images := m.response(msg)
			responses, shown = append(responses, response), append(shown, images...)
		case providers.RoleAssistant:
			parts := m.assistant(msg)
			if len(parts) == 0 {
				continue
			}
			flush()
			if n := len(out); n > 0 && out[n-1].Role == "model" {
				out[n-1].Parts = append(out[n-1].Parts, parts...)
			} else {
				out = append(out, content{Role: "model", Parts: parts})
			}
		}
	}
	flush()
	return out
}

func (m *model) user(msg *providers.Message) []part {
	var parts []part
	for _, p := range msg.Parts {
		switch p := p.(type) {
		case providers.Text:
			if p.Text != "" {
				parts = append(parts, textPart(p.Text))
			}
		case providers.Image:
			parts = append(parts, m.image(p))
		}
	}
	return parts
}

func textPart(text string) part { return part{Text: &text} }

// takes reports whether the model accepts an image. Gemini rejects a request with an unsupported one, such as a GIF.
func (m *model) takes(img providers.Image) bool {
	switch img.MIMEType {
	case "image/png", "image/jpeg", "image/webp", "image/heic", "image/heif":
		return m.cfg.Info.Images && len(img.Data) > 0
	}
	return false
}

func (m *model) image(img providers.Image) part {
	if !m.takes(img) {
		return textPart(dialect.ImageOmitted)
	}
	return part{InlineData: &blob{img.MIMEType, img.Data}}
}

// response converts the result of a tool. For newer models it contains the images; for older ones they follow all responses.
func (m *model) response(msg *providers.Message) (response part, images []part) {
	text := msg.Text()
	for _, p := range msg.Parts {
		if img, ok := p.(providers.Image); ok {
			if m.takes(img) {
				images = append(images, m.image(img))
			} else {
				text += dialect.ImageOmitted
			}
		}
	}
	switch {
	case text == "" && msg.IsError:
		text = dialect.FailedSilently
	case text == "" && images != nil && !m.signs:
		text = dialect.ImageFollows
	case text == "" && images == nil:
		text = dialect.NoOutput
	}
	r := &functionResponse{ID: dialect.OptionalToolID(msg.ToolCallID), Name: dialect.ToolName(msg.ToolName)}
	if msg.IsError {
		r.Response.Error = &text
	} else {
		r.Response.Output = &text
	}
	if m.signs {
		r.Parts, images = images, nil
	}
	return part{FunctionResponse: r}, images
}

func (m *model) assistant(msg *providers.Message) []part {
	own := dialect.Own(&m.cfg.Info, msg)
	signature := func(s string) string {
		if own {
			return s
		}
		return ""
	}
	var parts []part
	speaks, called := false, false
	for _, p := range msg.Parts {
		switch p := p.(type) {
		case providers.Text:
			said := part{Text: &p.Text, ThoughtSignature: signature(p.Signature)}
			if strings.TrimSpace(p.Text) == "" && said.ThoughtSignature == "" {
				continue
			}
			parts = append(parts, said)
			speaks = true
		case providers.Thinking:
			// Without a signature it is a summary for people and useless to the model.
			if s := signature(p.Signature); s != "" && !p.Redacted {
				parts = append(parts, part{Text: &p.Text, Thought: true, ThoughtSignature: s})
			}
		case providers.ToolCall:
			call := part{
				FunctionCall:     &functionCall{ID: dialect.ID(dialect.OptionalToolID(p.ID)), Name: dialect.ToolName(p.Name), Args: dialect.ToolInput(p.Input)},
				ThoughtSignature: signature(p.Signature),
			}
			// Only the first call of an answer carries a signature, which covers all calls.
			if m.signs && !called && call.ThoughtSignature == "" {
				call.ThoughtSignature = noSignature
			}
			parts = append(parts, call)
			speaks, called = true, true
		}
	}
	if !speaks {
		return nil // thinking alone is not a message
	}
	return parts
}
