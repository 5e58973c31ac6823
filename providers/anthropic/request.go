package anthropic

import (
	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/internal/dialect"
	"github.com/gajae-code/gjc/providers/internal/wire"
)

// defaultMaxTokens limits an answer if neither the request nor the model's description does: the API requires a limit.
const defaultMaxTokens = 32_000

// encode returns the body of a request. Requests with a common beginning have the same bytes there, except for cache breakpoints,
// so that the provider's prompt cache applies. found, if not nil, are the tools that the conversation adds.
func (m *model) encode(req *providers.Request, found *dialect.Found) ([]byte, error) {
	p := sdk.MessageNewParams{Model: m.cfg.Model(), MaxTokens: int64(m.maxTokens(req))}
	if req.System != "" {
		p.System = []sdk.TextBlockParam{{Text: req.System}}
		m.mark(&p.System[0].CacheControl)
	}
	m.force(req, &p)
	if err := m.output(req, &p); err != nil {
		return nil, err
	}
	head, err := p.MarshalJSON()
	if err != nil {
		return nil, err
	}
	tools, err := m.tools(req.Tools, found)
	if err != nil {
		return nil, err
	}
	return wire.ExtraBody(&m.cfg, m.body(head, tools, req.Messages, found)), nil
}

// body writes the tools and the conversation by hand, after the head, which the SDK encodes. The SDK's types take ten times as long
// for these parts.
func (m *model) body(head, tools []byte, messages []providers.Message, found *dialect.Found) []byte {
	start := `{"stream":true`
	if m.version != "" {
		start = `{"anthropic_version":"` + m.version + `"`
		if m.streams {
			start += `,"stream":true`
		}
	}
	out := append(make([]byte, 0, len(head)+len(tools)+dialect.SizeOf(messages)), start...)
	for name, value := range jsonx.Members(head) {
		if name == "messages" || name == "model" && m.version != "" {
			continue
		}
		out = append(append(jsonx.AppendString(append(out, ','), name), ':'), value...)
	}
	if len(tools) > 0 {
		out = append(append(out, `,"tools":`...), tools...)
	}
	out = append(out, `,"messages":`...)
	return append(m.appendMessages(out, messages, found), '}')
}

// mark returns a cache breakpoint.
func (m *model) mark(cc *sdk.CacheControlEphemeralParam) {
	if m.cfg.CacheRetention != providers.CacheNone {
		*cc = sdk.NewCacheControlEphemeralParam()
		cc.TTL = m.ttl
	}
}

// force sets the reasoning and the tool that the answer must call. The API rejects the combination: reasoning is omitted if the
// model allows that; otherwise the model chooses the tool.
func (m *model) force(req *providers.Request, p *sdk.MessageNewParams) {
	if can := m.cfg.Compat.SupportsToolChoice; req.ForceTool == "" || can != nil && !*can {
		m.think(req, p)
		return
	}
	calm := *req
	calm.Thinking = providers.ThinkingOff
	m.think(&calm, p)
	if p.Thinking.OfAdaptive == nil && p.Thinking.OfBetweenTools == nil && p.Thinking.OfEnabled == nil {
		p.ToolChoice = sdk.ToolChoiceParamOfTool(req.ForceTool)
		return
	}
	p.Thinking, p.OutputConfig = sdk.ThinkingConfigParamUnion{}, sdk.OutputConfigParam{}
	m.think(req, p)
}

// output sets the format of the answer. The tools stay in the request, for the cache.
func (m *model) output(req *providers.Request, p *sdk.MessageNewParams) error {
	if req.Output == nil {
		return nil
	}
	schema, ok := dialect.ClaudeSchema(req.Output.Schema)
	if !ok {
		return wire.Errorf(&m.cfg, providers.KindOutput, "the API cannot express this JSON Schema: it is recursive, has open objects, or has keywords that the API lacks")
	}
	p.OutputConfig.Format.Schema = make(map[string]any)
	for name, value := range jsonx.Members(schema) {
		p.OutputConfig.Format.Schema[name] = value // keeps the order of the properties
	}
	if len(req.Tools) > 0 {
		p.ToolChoice = sdk.ToolChoiceUnionParam{OfNone: new(sdk.NewToolChoiceNoneParam())}
	}
	return nil
}

func (m *model) maxTokens(req *providers.Request) int {
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

// tools encodes the tools; it returns nothing if there are none. The API does not put a deferred tool into the prompt, so that the cache
// ends before those.
func (m *model) tools(tools []providers.Tool, found *dialect.Found) ([]byte, error) {
	if len(tools) == 0 {
		return nil, nil
	}
	var mark sdk.CacheControlEphemeralParam
	m.mark(&mark)
	control, err := mark.MarshalJSON()
	if err != nil {
		return nil, err
	}
	size := len(control) + 64
	for i := range tools {
		size += len(tools[i].Name) + len(tools[i].Description)*9/8 + len(tools[i].Schema) + 64
	}
	out, last := make([]byte, 0, size), found.Last(tools)
	for i := range tools {
		t := &tools[i]
		out = append(out, `,{"input_schema":`...)
		if jsonx.IsNull(t.Schema) {
			out = append(out, `{"type":"object"}`...)
		} else {
			out = append(out, t.Schema...)
		}
		out = jsonx.AppendString(append(out, `,"name":`...), t.Name)
		if t.Description != "" {
			out = jsonx.AppendString(append(out, `,"description":`...), t.Description)
		}
		if found.Deferred(t.Name) {
			out = append(out, `,"defer_loading":true`...)
		}
		if i == last && m.cfg.CacheRetention != providers.CacheNone {
			out = append(append(out, `,"cache_control":`...), control...)
		}
		out = append(out, '}')
	}
	out[0] = '['
	return append(out, ']'), nil
}

// budgets maps levels to numbers of tokens.
var budgets = map[providers.ThinkingLevel]int64{
	providers.ThinkingMinimal: 1024, providers.ThinkingLow: 4096, providers.ThinkingMedium: 10_240,
	providers.ThinkingHigh: 24_576, providers.ThinkingXHigh: 40_960, providers.ThinkingMax: 57_344,
}

// think sets the reasoning of the request.
func (m *model) think(req *providers.Request, p *sdk.MessageNewParams) {
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
		// These models return their thoughts only on request.
		adaptive.Display = sdk.ThinkingConfigAdaptiveDisplaySummarized
	}
	p.Thinking = sdk.ThinkingConfigParamUnion{OfAdaptive: &adaptive}
	if level == providers.ThinkingMinimal {
		level = providers.ThinkingLow
	}
	p.OutputConfig.Effort = sdk.OutputConfigEffort(level)
}

func (m *model) budget(level providers.ThinkingLevel, req *providers.Request, p *sdk.MessageNewParams) {
	tokens, ok := budgets[level]
	// The answer needs room after the thinking; the API's smallest budget is 1024.
	const room = 1024
	tokens = min(tokens, p.MaxTokens-room)
	if !ok || tokens < 1024 || !m.mayThink(req.Messages) {
		return
	}
	p.Thinking = sdk.ThinkingConfigParamOfEnabled(tokens)
}

// mayThink reports whether the API allows the next answer to begin with thinking. Between tool calls, it does so only if the answer
// with the calls began with thinking too.
func (m *model) mayThink(messages []providers.Message) bool {
	if len(messages) == 0 || messages[len(messages)-1].Role != providers.RoleTool {
		return true
	}
	for i := len(messages) - 1; i >= 0; i-- {
		if msg := &messages[i]; msg.Role == providers.RoleAssistant {
			if len(msg.Parts) == 0 {
				continue
			}
			t, ok := msg.Parts[0].(providers.Thinking)
			return ok && t.Signature != "" && dialect.Own(&m.cfg.Info, msg)
		}
	}
	return true
}
