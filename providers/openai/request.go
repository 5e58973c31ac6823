package openai

import (
	"bytes"
	"encoding/base64"
	"encoding/json"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// encode writes the body of a request. What two requests have in common at their start is the same byte for byte, so
// that prompt caches hold, OpenAI's as well as the one in a local server's memory.
func (m *Model) encode(req *providers.Request) ([]byte, error) {
	p := sdk.ChatCompletionNewParams{
		Model:         m.cfg.Info.ID,
		Messages:      m.messages(req),
		StreamOptions: sdk.ChatCompletionStreamOptionsParam{IncludeUsage: sdk.Bool(true)},
	}
	for i := range req.Tools {
		t, err := tool(&req.Tools[i])
		if err != nil {
			return nil, err
		}
		p.Tools = append(p.Tools, t)
	}
	if most := req.MaxTokens; most > 0 {
		if m.cfg.Info.MaxOutput > 0 {
			most = min(most, m.cfg.Info.MaxOutput)
		}
		// OpenAI's reasoning models refuse the old name; the other servers know it best.
		if m.official {
			p.MaxCompletionTokens = sdk.Int(int64(most))
		} else {
			p.MaxTokens = sdk.Int(int64(most))
		}
	}
	if m.official && req.SessionID != "" {
		p.PromptCacheKey = sdk.String(req.SessionID)
	}
	p.ReasoningEffort = m.effort(req.Thinking)
	body, err := p.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return append([]byte(`{"stream":true,`), bytes.TrimPrefix(body, []byte("{"))...), nil
}

func (m *Model) effort(want providers.ThinkingLevel) shared.ReasoningEffort {
	info := &m.cfg.Info
	level := info.ClampThinking(want)
	if level != providers.ThinkingOff {
		return shared.ReasoningEffort(level)
	}
	switch {
	case info.ThinkingMode == providers.ThinkingEffortNone:
		return shared.ReasoningEffortNone
	case info.ThinkingMode == providers.ThinkingEffortAlways && len(info.Thinking) > 0:
		return shared.ReasoningEffort(info.Thinking[0])
	}
	return ""
}

// function is a tool on the wire. The SDK's type would sort the schema's members.
type function struct {
	Name        string    `json:"name"`
	Description string    `json:"description,omitzero"`
	Parameters  jsonx.Raw `json:"parameters"`
}

func tool(t *providers.Tool) (sdk.ChatCompletionToolUnionParam, error) {
	f := function{Name: t.Name, Description: t.Description, Parameters: t.Schema}
	if jsonx.IsNull(f.Parameters) {
		f.Parameters = jsonx.Raw(`{"type":"object","properties":{}}`)
	}
	raw, err := jsonx.Marshal(f)
	if err != nil {
		return sdk.ChatCompletionToolUnionParam{}, err
	}
	return sdk.ChatCompletionFunctionTool(param.Override[shared.FunctionDefinitionParam](json.RawMessage(raw))), nil
}

// messages maps the conversation.
func (m *Model) messages(req *providers.Request) []sdk.ChatCompletionMessageParamUnion {
	var out []sdk.ChatCompletionMessageParamUnion
	if req.System != "" {
		out = append(out, sdk.SystemMessage(req.System))
	}
	// Images of tool results wait until all results of the answer are out: the results must follow it directly, and
	// they hold text alone.
	var images []sdk.ChatCompletionContentPartUnionParam
	for i := range req.Messages {
		msg := &req.Messages[i]
		if msg.Role != providers.RoleTool && images != nil {
			out = append(out, sdk.UserMessage(images))
			images = nil
		}
		switch msg.Role {
		case providers.RoleUser:
			out = append(out, m.user(msg)...)
		case providers.RoleAssistant:
			out = append(out, m.assistant(msg)...)
		case providers.RoleTool:
			text, shown := m.result(msg)
			out = append(out, sdk.ToolMessage(text, msg.ToolCallID))
			if shown != nil {
				images = append(images, sdk.TextContentPart("Images from the result of "+msg.ToolName+":"))
				images = append(images, shown...)
			}
		}
	}
	if images != nil {
		out = append(out, sdk.UserMessage(images))
	}
	return out
}

func (m *Model) user(msg *providers.Message) []sdk.ChatCompletionMessageParamUnion {
	var parts []sdk.ChatCompletionContentPartUnionParam
	pictures := false
	for _, part := range msg.Parts {
		switch part := part.(type) {
		case providers.Text:
			if part.Text != "" {
				parts = append(parts, sdk.TextContentPart(part.Text))
			}
		case providers.Image:
			if m.cfg.Info.Images {
				parts = append(parts, image(part))
				pictures = true
			} else {
				parts = append(parts, sdk.TextContentPart(imageOmitted))
			}
		}
	}
	switch {
	case len(parts) == 0:
		return nil
	case len(parts) == 1 && !pictures:
		// A plain string: some servers take nothing else.
		return []sdk.ChatCompletionMessageParamUnion{sdk.UserMessage(parts[0].OfText.Text)}
	}
	return []sdk.ChatCompletionMessageParamUnion{sdk.UserMessage(parts)}
}

const imageOmitted = "[an image was here; this model takes no images]"

func image(img providers.Image) sdk.ChatCompletionContentPartUnionParam {
	return sdk.ImageContentPart(sdk.ChatCompletionContentPartImageImageURLParam{
		URL: "data:" + img.MIMEType + ";base64," + base64.StdEncoding.EncodeToString(img.Data),
	})
}

func (m *Model) result(msg *providers.Message) (text string, shown []sdk.ChatCompletionContentPartUnionParam) {
	text = msg.Text()
	for _, part := range msg.Parts {
		if img, ok := part.(providers.Image); ok {
			if m.cfg.Info.Images {
				shown = append(shown, image(img))
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

func (m *Model) assistant(msg *providers.Message) []sdk.ChatCompletionMessageParamUnion {
	var p sdk.ChatCompletionAssistantMessageParam
	var thought, member string
	for _, part := range msg.Parts {
		switch part := part.(type) {
		case providers.Thinking:
			if part.Signature == memberContent || part.Signature == memberReasoning {
				thought += part.Text
				member = part.Signature
			}
		case providers.ToolCall:
			p.ToolCalls = append(p.ToolCalls, sdk.ChatCompletionMessageToolCallUnionParam{
				OfFunction: &sdk.ChatCompletionMessageFunctionToolCallParam{
					ID: part.ID,
					Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{
						Name: part.Name, Arguments: string(toolInput(part.Input)),
					},
				},
			})
		}
	}
	text := msg.Text()
	if text == "" && len(p.ToolCalls) == 0 {
		return nil
	}
	if text != "" {
		p.Content.OfString = sdk.String(text)
	}
	// Servers that send their reasoning in a member of its own want it back between tool calls.
	if thought != "" && msg.Provider == m.cfg.Info.Provider && msg.Model == m.cfg.Info.ID {
		p.SetExtraFields(map[string]any{member: thought})
	}
	return []sdk.ChatCompletionMessageParamUnion{{OfAssistant: &p}}
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
