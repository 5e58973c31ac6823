package ollama

import (
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/internal/dialect"
	"github.com/gajae-code/gjc/providers/internal/wire"
)

// request is the body of a request, with its members in wire order.
type request struct {
	Model    string    `json:"model"`
	Messages []message `json:"messages"`
	Tools    []tool    `json:"tools,omitzero"`
	Format   jsonx.Raw `json:"format,omitzero"` // a JSON Schema
	Stream   bool      `json:"stream"`
	Think    any       `json:"think,omitzero"` // a bool or a string
	// Truncate and Shift are false: a conversation that does not fit into the context is an error, and a long answer is cut off. If
	// true, the server would drop the beginning of either.
	Truncate bool    `json:"truncate"`
	Shift    bool    `json:"shift"`
	Options  options `json:"options,omitzero"`
}

type options struct {
	NumCtx     int `json:"num_ctx,omitzero"`
	NumPredict int `json:"num_predict,omitzero"`
}

type message struct {
	Role       string   `json:"role"`
	Content    string   `json:"content"`
	Thinking   string   `json:"thinking,omitzero"`
	Images     [][]byte `json:"images,omitzero"` // base64, without a type
	ToolCalls  []call   `json:"tool_calls,omitzero"`
	ToolName   string   `json:"tool_name,omitzero"`
	ToolCallID string   `json:"tool_call_id,omitzero"` // some versions do not support it
}

type call struct {
	ID       string   `json:"id,omitzero"` // some versions do not support it
	Function function `json:"function"`
}

type function struct {
	Name      string    `json:"name"`
	Arguments jsonx.Raw `json:"arguments"` // an object
}

type tool struct {
	Type     string   `json:"type"`
	Function declared `json:"function"`
}

type declared struct {
	Name        string    `json:"name"`
	Description string    `json:"description,omitzero"`
	Parameters  jsonx.Raw `json:"parameters"` // a JSON Schema
}

// encode writes the body of a request. Conversations with the same beginning are encoded with the same prefix, so that the server
// need not process it again.
func (m *model) encode(req *providers.Request) ([]byte, error) {
	info := &m.cfg.Info
	r := request{
		Model: m.cfg.Model(), Messages: m.messages(req), Stream: true, Think: m.think(req.Thinking),
		Options: options{NumCtx: info.ContextWindow, NumPredict: max(0, req.MaxTokens)},
	}
	if info.MaxOutput > 0 {
		r.Options.NumPredict = min(r.Options.NumPredict, info.MaxOutput)
	}
	tools := req.Tools
	if req.Output != nil {
		r.Format, tools = req.Output.Schema, nil // the server would not look for calls in the answer
	}
	for i := range tools {
		t := declared{Name: tools[i].Name, Description: tools[i].Description, Parameters: tools[i].Schema}
		if jsonx.IsNull(t.Parameters) {
			t.Parameters = jsonx.Raw(`{"type":"object","properties":{}}`)
		}
		r.Tools = append(r.Tools, tool{Type: "function", Function: t})
	}
	body, err := jsonx.Marshal(&r)
	if err != nil {
		return nil, err
	}
	return wire.ExtraBody(&m.cfg, body), nil
}

// think returns the request's think member: whether to reason, or a level for the family of models that always reasons.
func (m *model) think(want providers.ThinkingLevel) any {
	info := &m.cfg.Info
	if len(info.Thinking) == 0 {
		return nil
	}
	level := info.ClampThinking(want)
	if word, ok := m.cfg.Compat.ReasoningEffortMap[level]; ok {
		return word
	}
	if strings.Contains(strings.ToLower(m.cfg.Model()), "gpt-oss") {
		switch level {
		case providers.ThinkingMedium:
			return "medium"
		case providers.ThinkingHigh, providers.ThinkingXHigh, providers.ThinkingMax:
			return "high"
		default:
			return "low"
		}
	}
	return level != providers.ThinkingOff || info.ThinkingMode == providers.ThinkingEffortAlways
}

func (m *model) messages(req *providers.Request) []message {
	out := make([]message, 0, len(req.Messages)+1)
	if req.System != "" {
		out = append(out, message{Role: "system", Content: req.System})
	}
	// Models accept images only from the user. Images of tool results therefore follow the last result.
	shown := message{Role: "user"}
	show := func() {
		if shown.Images != nil {
			out = append(out, shown)
			shown = message{Role: "user"}
		}
	}
	for i := range req.Messages {
		msg := &req.Messages[i]
		if msg.Role != providers.RoleTool {
			show()
		}
		switch msg.Role {
		case providers.RoleUser:
			text, images := m.said(msg)
			if text != "" || images != nil {
				out = append(out, message{Role: "user", Content: text, Images: images})
			}
		case providers.RoleAssistant:
			if said, ok := m.assistant(msg); ok {
				out = append(out, said)
			}
		case providers.RoleTool:
			text, images := m.said(msg)
			switch {
			case text == "" && msg.IsError:
				text = dialect.FailedSilently
			case text == "" && images != nil:
				text = dialect.ImageFollows
			case text == "":
				text = dialect.NoOutput
			}
			out = append(out, message{Role: "tool", Content: text, ToolName: dialect.ToolName(msg.ToolName), ToolCallID: dialect.OptionalToolID(msg.ToolCallID)})
			if images != nil {
				if shown.Content != "" {
					shown.Content += "\n"
				}
				shown.Content += "Images from the result of " + msg.ToolName + "."
				shown.Images = append(shown.Images, images...)
			}
		}
	}
	show()
	return out
}

// said returns the text and the images of a message.
func (m *model) said(msg *providers.Message) (text string, images [][]byte) {
	var b strings.Builder
	for _, p := range msg.Parts {
		switch p := p.(type) {
		case providers.Text:
			if b.Len() > 0 && p.Text != "" {
				b.WriteString("\n")
			}
			b.WriteString(p.Text)
		case providers.Image:
			if m.cfg.Info.Images {
				images = append(images, p.Data)
			} else {
				b.WriteString(dialect.ImageOmitted)
			}
		}
	}
	return b.String(), images
}

func (m *model) assistant(msg *providers.Message) (out message, ok bool) {
	own := dialect.Own(&m.cfg.Info, msg)
	out = message{Role: "assistant", Content: msg.Text()}
	for _, p := range msg.Parts {
		switch p := p.(type) {
		case providers.Thinking:
			if own && !p.Redacted {
				out.Thinking += p.Text
			}
		case providers.ToolCall:
			out.ToolCalls = append(out.ToolCalls, call{ID: dialect.OptionalToolID(p.ID), Function: function{dialect.ToolName(p.Name), dialect.ToolInput(p.Input)}})
		}
	}
	return out, out.Content != "" || len(out.ToolCalls) > 0
}
