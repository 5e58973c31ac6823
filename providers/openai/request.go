package openai

import (
	"encoding/base64"
	"slices"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// request is the body of a request. The members here and below stand in the order of the wire, and keep it: the same
// conversation must be the same bytes.
type request struct {
	Stream              bool          `json:"stream"`
	Messages            []message     `json:"messages"`
	Model               string        `json:"model"`
	MaxCompletionTokens int           `json:"max_completion_tokens,omitzero"`
	MaxTokens           int           `json:"max_tokens,omitzero"`
	PromptCacheKey      string        `json:"prompt_cache_key,omitzero"`
	ReasoningEffort     string        `json:"reasoning_effort,omitzero"`
	ServiceTier         string        `json:"service_tier,omitzero"`
	StreamOptions       streamOptions `json:"stream_options"`
	Tools               []tool        `json:"tools,omitzero"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// message is one message of any role.
type message struct {
	// Content is a string or a []part; nil for an answer that only calls tools.
	Content   any        `json:"content,omitzero"`
	ToolCalls []toolCall `json:"tool_calls,omitzero"`
	// ToolCallID is set in a result, where it is required even if the call had no name.
	ToolCallID *string `json:"tool_call_id,omitzero"`
	Role       string  `json:"role"`
	// Servers that send their reasoning in a member of its own want it back between tool calls.
	ReasoningContent string `json:"reasoning_content,omitzero"`
	Reasoning        string `json:"reasoning,omitzero"`
}

// part is a piece of a user's message: text or an image.
type part struct {
	Text     string    `json:"text,omitzero"`
	ImageURL *imageURL `json:"image_url,omitzero"`
	Type     string    `json:"type"`
}

type imageURL struct {
	URL string `json:"url"`
}

type toolCall struct {
	ID       string `json:"id"`
	Function called `json:"function"`
	Type     string `json:"type"`
}

type called struct {
	Arguments string `json:"arguments"` // JSON in a string
	Name      string `json:"name"`
}

type tool struct {
	Function function `json:"function"`
	Type     string   `json:"type"`
}

type function struct {
	Name        string    `json:"name"`
	Description string    `json:"description,omitzero"`
	Parameters  jsonx.Raw `json:"parameters"` // a JSON Schema
}

// encode writes the body of a request. What two requests have in common at their start is the same byte for byte, so
// that prompt caches hold, OpenAI's as well as the one in a local server's memory.
func (m *Model) encode(req *providers.Request) ([]byte, error) {
	r := request{
		Stream: true, Messages: m.messages(req), Model: m.cfg.Info.ID,
		ReasoningEffort: m.effort(req.Thinking), StreamOptions: streamOptions{IncludeUsage: true},
	}
	for i := range req.Tools {
		r.Tools = append(r.Tools, describe(&req.Tools[i]))
	}
	if most := req.MaxTokens; most > 0 {
		if m.cfg.Info.MaxOutput > 0 {
			most = min(most, m.cfg.Info.MaxOutput)
		}
		// OpenAI's reasoning models refuse the old name; the other servers know it best.
		if m.official {
			r.MaxCompletionTokens = most
		} else {
			r.MaxTokens = most
		}
	}
	if m.official {
		r.PromptCacheKey = req.SessionID
	}
	// A tier that the model does not have is an error there, and to other servers the member may be one.
	if slices.Contains(m.cfg.Info.ServiceTiers, req.ServiceTier) {
		r.ServiceTier = req.ServiceTier
	}
	return jsonx.Marshal(&r)
}

func (m *Model) effort(want providers.ThinkingLevel) string {
	info := &m.cfg.Info
	level := info.ClampThinking(want)
	if level != providers.ThinkingOff {
		return string(level)
	}
	switch {
	case info.ThinkingMode == providers.ThinkingEffortNone:
		return "none"
	case info.ThinkingMode == providers.ThinkingEffortAlways && len(info.Thinking) > 0:
		return string(info.Thinking[0])
	}
	return ""
}

func describe(t *providers.Tool) tool {
	f := function{Name: t.Name, Description: t.Description, Parameters: t.Schema}
	if jsonx.IsNull(f.Parameters) {
		f.Parameters = jsonx.Raw(`{"type":"object","properties":{}}`)
	}
	return tool{Function: f, Type: "function"}
}

// messages maps the conversation.
func (m *Model) messages(req *providers.Request) []message {
	out := make([]message, 0, len(req.Messages)+1)
	if req.System != "" {
		out = append(out, message{Content: req.System, Role: "system"})
	}
	// Images of tool results wait until all results of the answer are out: the results must follow it directly, and
	// they hold text alone.
	var images []part
	for i := range req.Messages {
		msg := &req.Messages[i]
		if msg.Role != providers.RoleTool && images != nil {
			out = append(out, message{Content: images, Role: "user"})
			images = nil
		}
		switch msg.Role {
		case providers.RoleUser:
			if said, ok := m.user(msg); ok {
				out = append(out, said)
			}
		case providers.RoleAssistant:
			if said, ok := m.assistant(msg); ok {
				out = append(out, said)
			}
		case providers.RoleTool:
			text, shown := m.result(msg)
			out = append(out, message{Content: text, ToolCallID: &msg.ToolCallID, Role: "tool"})
			if shown != nil {
				images = append(images, textPart("Images from the result of "+msg.ToolName+":"))
				images = append(images, shown...)
			}
		}
	}
	if images != nil {
		out = append(out, message{Content: images, Role: "user"})
	}
	return out
}

func (m *Model) user(msg *providers.Message) (said message, ok bool) {
	var parts []part
	pictures := false
	for _, p := range msg.Parts {
		switch p := p.(type) {
		case providers.Text:
			if p.Text != "" {
				parts = append(parts, textPart(p.Text))
			}
		case providers.Image:
			if m.cfg.Info.Images {
				parts = append(parts, imagePart(p))
				pictures = true
			} else {
				parts = append(parts, textPart(imageOmitted))
			}
		}
	}
	switch {
	case len(parts) == 0:
		return message{}, false
	case len(parts) == 1 && !pictures:
		// A plain string: some servers take nothing else.
		return message{Content: parts[0].Text, Role: "user"}, true
	}
	return message{Content: parts, Role: "user"}, true
}

const imageOmitted = "[an image was here; this model takes no images]"

func textPart(text string) part { return part{Text: text, Type: "text"} }

func imagePart(img providers.Image) part {
	return part{
		ImageURL: &imageURL{URL: "data:" + img.MIMEType + ";base64," + base64.StdEncoding.EncodeToString(img.Data)},
		Type:     "image_url",
	}
}

func (m *Model) result(msg *providers.Message) (text string, shown []part) {
	text = msg.Text()
	for _, p := range msg.Parts {
		if img, ok := p.(providers.Image); ok {
			if m.cfg.Info.Images {
				shown = append(shown, imagePart(img))
			} else {
				text += imageOmitted
			}
		}
	}
	switch {
	case text == "" && msg.IsError:
		text = "The tool failed without saying why."
	case text == "" && shown != nil:
		text = "The result is an image; it follows."
	case text == "":
		text = "(no output)"
	}
	return text, shown
}

func (m *Model) assistant(msg *providers.Message) (out message, ok bool) {
	var thought, member string
	for _, p := range msg.Parts {
		switch p := p.(type) {
		case providers.Thinking:
			if p.Signature == memberContent || p.Signature == memberReasoning {
				thought += p.Text
				member = p.Signature
			}
		case providers.ToolCall:
			out.ToolCalls = append(out.ToolCalls, toolCall{
				ID: p.ID, Function: called{Arguments: string(toolInput(p.Input)), Name: p.Name}, Type: "function",
			})
		}
	}
	text := msg.Text()
	if text == "" && len(out.ToolCalls) == 0 {
		return message{}, false
	}
	out.Role = "assistant"
	if text != "" {
		out.Content = text
	}
	if msg.Provider == m.cfg.Info.Provider && msg.Model == m.cfg.Info.ID {
		switch member {
		case memberContent:
			out.ReasoningContent = thought
		case memberReasoning:
			out.Reasoning = thought
		}
	}
	return out, true
}

// The members that hold reasoning. Their name is kept as the signature of the thinking.
const (
	memberContent   = "reasoning_content"
	memberReasoning = "reasoning"
)

// toolInput returns the input of a call as the object that servers parse. A model that broke off in the middle sees an
// empty one, and the error in the result behind it.
func toolInput(raw jsonx.Raw) jsonx.Raw {
	if jsonx.Valid(raw) && raw.Kind() == '{' {
		return raw
	}
	return jsonx.Raw("{}")
}
