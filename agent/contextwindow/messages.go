package contextwindow

import "github.com/gajae-code/gjc/providers"

// Messages prepares a conversation for a request. It drops messages without parts and results without a call, replaces images
// unless the model accepts them, and gives every tool call one result in the order of the calls. A call whose process ended before
// it recorded a result gets a result that says so.
func Messages(history []providers.Message, images bool) []providers.Message {
	msgs := make([]providers.Message, 0, len(history))
	add := func(m providers.Message) {
		if !images {
			m.Parts = withoutImages(m.Parts)
		}
		msgs = append(msgs, m)
	}
	var calls []providers.ToolCall
	var results []*providers.Message // the results of the calls; nil for a result that has not been found yet
	flush := func() {
		for i, m := range results {
			if m == nil {
				m = new(ToolMessage(calls[i], "The call was interrupted; it is not known whether it took effect.", true))
			}
			add(*m)
		}
		calls, results = nil, nil
	}
	for _, m := range history {
		if m.Role == providers.RoleTool {
			for i := range calls {
				if calls[i].ID == m.ToolCallID && results[i] == nil {
					results[i] = &m
					break
				}
			}
			continue
		}
		flush()
		if len(m.Parts) == 0 {
			continue
		}
		add(m)
		if m.Role == providers.RoleAssistant {
			calls = m.ToolCalls()
			results = make([]*providers.Message, len(calls))
		}
	}
	flush()
	return msgs
}

func withoutImages(parts []providers.Part) []providers.Part {
	out := parts[:0:0]
	for _, p := range parts {
		if _, isImage := p.(providers.Image); isImage {
			p = providers.Text{Text: "[An image was here. This model cannot see images.]"}
		}
		out = append(out, p)
	}
	return out
}

// ToolMessage returns the result of a tool call as a message.
func ToolMessage(c providers.ToolCall, text string, isError bool) providers.Message {
	return providers.Message{
		Role: providers.RoleTool, ToolCallID: c.ID, ToolName: c.Name, IsError: isError,
		Parts: []providers.Part{providers.Text{Text: text}},
	}
}

// UserMessage returns a text of the user as a message.
func UserMessage(text string) providers.Message {
	return providers.Message{Role: providers.RoleUser, Parts: []providers.Part{providers.Text{Text: text}}}
}
