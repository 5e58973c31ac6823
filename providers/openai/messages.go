package openai

import (
	"encoding/base64"
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/internal/dialect"
)

// message is a message of any role.
type message struct {
	// Content is a string or a []part; nil for an answer with calls only.
	Content   any        `json:"content,omitzero"`
	ToolCalls []toolCall `json:"tool_calls,omitzero"`
	// ToolCallID is set in a result.
	ToolCallID *string `json:"tool_call_id,omitzero"`
	// Name is the name of the tool, in a result.
	Name string `json:"name,omitzero"`
	Role string `json:"role"`
	// Servers with a separate member for reasoning require the reasoning back between tool calls.
	ReasoningContent string `json:"reasoning_content,omitzero"`
	Reasoning        string `json:"reasoning,omitzero"`
	ReasoningText    string `json:"reasoning_text,omitzero"`
	// ReasoningDetails is OpenRouter's member.
	ReasoningDetails jsonx.Raw `json:"reasoning_details,omitzero"`
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
	Arguments string `json:"arguments"` // JSON as a string
	Name      string `json:"name"`
}

// A conversation maps one conversation.
type conversation struct {
	model *model
	out   []message
	ids   callIDs
	// Images of tool results wait until after the last result: the results must directly follow the answer and contain only text.
	images []part
}

// messages maps the conversation.
func (m *model) messages(req *providers.Request) []message {
	c := &conversation{model: m, out: make([]message, 0, len(req.Messages)+1), ids: callIDs{mistral: is(m.rules.RequiresMistralToolIDs, false), most: 40}}
	if req.System != "" {
		role := "system"
		if is(m.rules.SupportsDeveloperRole, false) && reasons(&m.cfg.Info) {
			role = "developer"
		}
		c.out = append(c.out, message{Content: req.System, Role: role})
	}
	for i := range req.Messages {
		msg := &req.Messages[i]
		if msg.Role != providers.RoleTool {
			c.showImages()
		}
		switch msg.Role {
		case providers.RoleUser:
			if said, ok := m.user(msg); ok {
				c.ask(said)
			}
		case providers.RoleAssistant:
			if said, ok := c.assistant(msg); ok {
				c.out = append(c.out, said)
			}
		case providers.RoleTool:
			c.result(msg)
		}
	}
	c.showImages()
	return c.out
}

// reasons reports whether the model is known to reason.
func reasons(info *providers.ModelInfo) bool {
	return len(info.Thinking) > 0 || info.ThinkingMode != ""
}

// ask adds a message of the user.
func (c *conversation) ask(said message) {
	if n := len(c.out); is(c.model.rules.RequiresAssistantAfterToolResult, false) && n > 0 && c.out[n-1].Role == "tool" {
		c.out = append(c.out, message{Content: "I have read the results.", Role: "assistant"})
	}
	c.out = append(c.out, said)
}

func (c *conversation) showImages() {
	if c.images != nil {
		c.ask(message{Content: c.images, Role: "user"})
		c.images = nil
	}
}

func (m *model) user(msg *providers.Message) (said message, ok bool) {
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
				parts = append(parts, textPart(dialect.ImageOmitted))
			}
		}
	}
	switch {
	case len(parts) == 0:
		return message{}, false
	case len(parts) == 1 && !pictures:
		// A plain string: some servers accept nothing else.
		return message{Content: parts[0].Text, Role: "user"}, true
	}
	return message{Content: parts, Role: "user"}, true
}

func textPart(text string) part { return part{Text: text, Type: "text"} }

func imagePart(img providers.Image) part {
	return part{ImageURL: &imageURL{dataURL(img)}, Type: "image_url"}
}

func dataURL(img providers.Image) string {
	return "data:" + img.MIMEType + ";base64," + base64.StdEncoding.EncodeToString(img.Data)
}

func (c *conversation) result(msg *providers.Message) {
	text, shown := resultText(msg, c.model.cfg.Info.Images)
	out := message{Content: text, ToolCallID: new(c.ids.result(msg.ToolCallID)), Role: "tool"}
	if is(c.model.rules.RequiresToolResultName, false) {
		out.Name = dialect.ToolName(msg.ToolName)
	}
	c.out = append(c.out, out)
	if shown != nil {
		c.images = append(c.images, textPart("Images from the result of "+msg.ToolName+":"))
		for _, img := range shown {
			c.images = append(c.images, imagePart(img))
		}
	}
}

// resultText returns the text of a result, which is never empty, and its images if the model accepts any.
func resultText(msg *providers.Message, images bool) (text string, shown []providers.Image) {
	text = msg.Text()
	for _, p := range msg.Parts {
		if img, ok := p.(providers.Image); ok {
			if images {
				shown = append(shown, img)
			} else {
				text += dialect.ImageOmitted
			}
		}
	}
	switch {
	case text == "" && msg.IsError:
		text = dialect.FailedSilently
	case text == "" && shown != nil:
		text = dialect.ImageFollows
	case text == "":
		text = dialect.NoOutput
	}
	return text, shown
}

// filler is the text for servers that require text where the model wrote none.
const filler = "."

func (c *conversation) assistant(msg *providers.Message) (out message, ok bool) {
	own := dialect.Own(&c.model.cfg.Info, msg)
	var thought strings.Builder
	member := ""
	for _, p := range msg.Parts {
		switch p := p.(type) {
		case providers.Thinking:
			switch {
			case !own || p.Redacted:
			case p.Field != "":
				thought.WriteString(p.Text)
				member = p.Field
			case readDetails(jsonx.Raw(p.Signature)) != nil:
				out.ReasoningDetails = jsonx.Raw(p.Signature)
			}
		case providers.ToolCall:
			out.ToolCalls = append(out.ToolCalls, toolCall{
				ID: c.ids.call(p.ID, own), Type: "function",
				Function: called{Arguments: string(dialect.ToolInput(p.Input)), Name: dialect.ToolName(p.Name)},
			})
		}
	}
	text := msg.Text()
	if text == "" && len(out.ToolCalls) == 0 {
		return message{}, false
	}
	out.Role = "assistant"
	rules := &c.model.rules
	if is(rules.RequiresThinkingAsText, false) && thought.Len() > 0 {
		text = "<thinking>\n" + thought.String() + "\n</thinking>\n" + text
		thought.Reset()
	}
	if text == "" && is(rules.RequiresAssistantContentForToolCalls, false) {
		text = filler
	}
	if text != "" {
		out.Content = text
	}
	if thought.Len() == 0 && out.ReasoningDetails == nil && len(out.ToolCalls) > 0 && is(rules.RequiresReasoningContentForToolCalls, false) && reasons(&c.model.cfg.Info) {
		thought.WriteString(filler)
	}
	if thought.Len() > 0 {
		if rules.ReasoningContentField != "" {
			member = rules.ReasoningContentField
		}
		switch member {
		case memberReasoning:
			out.Reasoning = thought.String()
		case memberText:
			out.ReasoningText = thought.String()
		default:
			out.ReasoningContent = thought.String()
		}
	}
	return out, true
}
