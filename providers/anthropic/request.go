package anthropic

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// defaultMaxTokens is the cap of an answer where neither the request nor the model's description has one: the API
// wants one.
const defaultMaxTokens = 32_000

// encode writes the body of a request. What two requests have in common at their start is the same byte for byte,
// cache breakpoints aside, so that the provider's prompt cache holds.
func (m *Model) encode(req *providers.Request) ([]byte, error) {
	p := sdk.MessageNewParams{Model: m.cfg.Info.ID, MaxTokens: int64(m.maxTokens(req))}
	if req.System != "" {
		p.System = []sdk.TextBlockParam{{Text: req.System, CacheControl: sdk.NewCacheControlEphemeralParam()}}
	}
	for i := range req.Tools {
		p.Tools = append(p.Tools, tool(&req.Tools[i], i == len(req.Tools)-1))
	}
	p.Messages = m.messages(req.Messages)
	m.think(req, &p)
	body, err := p.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return append([]byte(`{"stream":true,`), bytes.TrimPrefix(body, []byte("{"))...), nil
}

func (m *Model) maxTokens(req *providers.Request) int {
	most := m.cfg.Info.MaxOutput
	switch {
	case req.MaxTokens > 0 && most > 0:
		return min(req.MaxTokens, most)
	case req.MaxTokens > 0:
		return req.MaxTokens
	case most > 0:
		return most
	}
	return defaultMaxTokens
}

func tool(t *providers.Tool, last bool) sdk.ToolUnionParam {
	schema := t.Schema
	if jsonx.IsNull(schema) {
		schema = jsonx.Raw(`{"type":"object"}`)
	}
	p := &sdk.ToolParam{
		Name: t.Name, InputSchema: param.Override[sdk.ToolInputSchemaParam](json.RawMessage(schema)),
	}
	if t.Description != "" {
		p.Description = sdk.String(t.Description)
	}
	if last {
		p.CacheControl = sdk.NewCacheControlEphemeralParam()
	}
	return sdk.ToolUnionParam{OfTool: p}
}

// budgets are the levels as numbers of tokens, for models that are told so.
var budgets = map[providers.ThinkingLevel]int64{
	providers.ThinkingMinimal: 1024, providers.ThinkingLow: 4096, providers.ThinkingMedium: 10_240,
	providers.ThinkingHigh: 24_576, providers.ThinkingXHigh: 40_960, providers.ThinkingMax: 57_344,
}

// think sets the reasoning of the request.
func (m *Model) think(req *providers.Request, p *sdk.MessageNewParams) {
	info := &m.cfg.Info
	if len(info.Thinking) == 0 {
		return
	}
	level := info.ClampThinking(req.Thinking)
	if info.ThinkingMode == providers.ThinkingBudget {
		m.budget(level, req, p)
		return
	}
	if level == providers.ThinkingOff {
		switch info.ThinkingMode {
		case providers.ThinkingEffortNone:
			p.Thinking = sdk.ThinkingConfigParamUnion{OfDisabled: new(sdk.NewThinkingConfigDisabledParam())}
			return
		case providers.ThinkingEffortBetween:
			p.Thinking = sdk.ThinkingConfigParamUnion{OfBetweenTools: new(sdk.NewThinkingConfigBetweenToolsParam())}
			return
		case providers.ThinkingEffortAlways:
			level = info.Thinking[0]
		default:
			return
		}
	}
	var adaptive sdk.ThinkingConfigAdaptiveParam
	if mode := info.ThinkingMode; mode != "" && mode != providers.ThinkingEffort {
		// These models keep their thoughts to themselves unless they are asked for them.
		adaptive.Display = sdk.ThinkingConfigAdaptiveDisplaySummarized
	}
	p.Thinking = sdk.ThinkingConfigParamUnion{OfAdaptive: &adaptive}
	if level == providers.ThinkingMinimal {
		level = providers.ThinkingLow
	}
	p.OutputConfig.Effort = sdk.OutputConfigEffort(level)
}

func (m *Model) budget(level providers.ThinkingLevel, req *providers.Request, p *sdk.MessageNewParams) {
	tokens, ok := budgets[level]
	// The answer needs room beside the thinking; the API's least budget is 1024.
	const room = 1024
	tokens = min(tokens, p.MaxTokens-room)
	if !ok || tokens < 1024 || !m.mayThink(req.Messages) {
		return
	}
	p.Thinking = sdk.ThinkingConfigParamOfEnabled(tokens)
}

// mayThink reports whether the API lets the next answer begin with thinking: in the middle of tool calls it does so
// only if the answer with the calls began with thinking too.
func (m *Model) mayThink(messages []providers.Message) bool {
	if len(messages) == 0 || messages[len(messages)-1].Role != providers.RoleTool {
		return true
	}
	for i := len(messages) - 1; i >= 0; i-- {
		if msg := &messages[i]; msg.Role == providers.RoleAssistant {
			if len(msg.Parts) == 0 {
				continue
			}
			t, ok := msg.Parts[0].(providers.Thinking)
			return ok && t.Signature != "" && m.own(msg)
		}
	}
	return true
}

// own reports whether this model wrote msg. Only then does the API take its signatures back.
func (m *Model) own(msg *providers.Message) bool {
	return msg.Provider == m.cfg.Info.Provider && msg.Model == m.cfg.Info.ID
}

// messages maps the conversation. What the user and the tools say between two answers is one message; the results
// come first in it.
func (m *Model) messages(list []providers.Message) []sdk.MessageParam {
	var out []sdk.MessageParam
	var results, said []sdk.ContentBlockParamUnion
	flush := func() {
		if blocks := append(results, said...); len(blocks) > 0 {
			out = append(out, sdk.NewUserMessage(blocks...))
		}
		results, said = nil, nil
	}
	for i := range list {
		switch msg := &list[i]; msg.Role {
		case providers.RoleUser:
			said = append(said, m.userBlocks(msg)...)
		case providers.RoleTool:
			results = append(results, m.result(msg))
		case providers.RoleAssistant:
			blocks := m.assistantBlocks(msg)
			if len(blocks) == 0 {
				continue
			}
			flush()
			out = append(out, sdk.NewAssistantMessage(blocks...))
		}
	}
	flush()
	mark(out)
	return out
}

// mark sets the cache breakpoints of the conversation: at the end of the last two messages of the user, so that the
// next request finds what this one has written. With the tools and the system prompt these are the four that the
// API allows.
func mark(messages []sdk.MessageParam) {
	left := 2
	for i := len(messages) - 1; i >= 0 && left > 0; i-- {
		if messages[i].Role != sdk.MessageParamRoleUser {
			continue
		}
		blocks := messages[i].Content
		if cc := blocks[len(blocks)-1].GetCacheControl(); cc != nil {
			*cc = sdk.NewCacheControlEphemeralParam()
			left--
		}
	}
}

func (m *Model) userBlocks(msg *providers.Message) []sdk.ContentBlockParamUnion {
	var blocks []sdk.ContentBlockParamUnion
	for _, part := range msg.Parts {
		switch part := part.(type) {
		case providers.Text:
			if !blank(part.Text) {
				blocks = append(blocks, sdk.NewTextBlock(part.Text))
			}
		case providers.Image:
			if source, ok := m.image(part); ok {
				blocks = append(blocks, sdk.NewImageBlock(source))
			} else {
				blocks = append(blocks, sdk.NewTextBlock(imageOmitted))
			}
		}
	}
	return blocks
}

const imageOmitted = "[an image was here; this model takes no images of its kind]"

func (m *Model) image(img providers.Image) (sdk.Base64ImageSourceParam, bool) {
	kind := sdk.Base64ImageSourceMediaType(img.MIMEType)
	switch kind {
	case sdk.Base64ImageSourceMediaTypeImagePNG, sdk.Base64ImageSourceMediaTypeImageJPEG,
		sdk.Base64ImageSourceMediaTypeImageGIF, sdk.Base64ImageSourceMediaTypeImageWebP:
	default:
		return sdk.Base64ImageSourceParam{}, false
	}
	data := base64.StdEncoding.EncodeToString(img.Data)
	return sdk.Base64ImageSourceParam{MediaType: kind, Data: data}, m.cfg.Info.Images && len(img.Data) > 0
}

func (m *Model) result(msg *providers.Message) sdk.ContentBlockParamUnion {
	r := sdk.ToolResultBlockParam{ToolUseID: toolID(msg.ToolCallID)}
	if msg.IsError {
		r.IsError = sdk.Bool(true)
	}
	for _, part := range msg.Parts {
		switch part := part.(type) {
		case providers.Text:
			if !blank(part.Text) {
				r.Content = append(r.Content, resultText(part.Text))
			}
		case providers.Image:
			if source, ok := m.image(part); ok {
				r.Content = append(r.Content, sdk.ToolResultBlockParamContentUnion{
					OfImage: &sdk.ImageBlockParam{Source: sdk.ImageBlockParamSourceUnion{OfBase64: &source}},
				})
			} else {
				r.Content = append(r.Content, resultText(imageOmitted))
			}
		}
	}
	if msg.IsError && len(r.Content) == 0 {
		r.Content = append(r.Content, resultText("The tool failed without saying why.")) // the API wants some text
	}
	return sdk.ContentBlockParamUnion{OfToolResult: &r}
}

func resultText(s string) sdk.ToolResultBlockParamContentUnion {
	return sdk.ToolResultBlockParamContentUnion{OfText: &sdk.TextBlockParam{Text: s}}
}

func (m *Model) assistantBlocks(msg *providers.Message) []sdk.ContentBlockParamUnion {
	var blocks []sdk.ContentBlockParamUnion
	speaks := false
	for _, part := range msg.Parts {
		switch part := part.(type) {
		case providers.Text:
			if !blank(part.Text) {
				blocks = append(blocks, sdk.NewTextBlock(part.Text))
				speaks = true
			}
		case providers.Thinking:
			switch {
			case part.Signature == "" || !m.own(msg):
				// Cut short, or another model's: the API refuses it.
			case part.Redacted:
				blocks = append(blocks, sdk.NewRedactedThinkingBlock(part.Signature))
			default:
				blocks = append(blocks, sdk.NewThinkingBlock(part.Signature, part.Text))
			}
		case providers.ToolCall:
			blocks = append(blocks, sdk.NewToolUseBlock(toolID(part.ID), json.RawMessage(toolInput(part.Input)), part.Name))
			speaks = true
		}
	}
	if !speaks {
		return nil // thinking alone is no message
	}
	return blocks
}

// toolInput returns the input of a call as the object that the API wants. A model that broke off in the middle sees
// an empty one, and the error in the result behind it.
func toolInput(raw jsonx.Raw) jsonx.Raw {
	if jsonx.Valid(raw) && raw.Kind() == '{' {
		return raw
	}
	return jsonx.Raw("{}")
}

// toolID puts an id that another API made into the letters that this one takes.
func toolID(id string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, id)
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }
