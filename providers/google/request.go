package google

import (
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/internal/dialect"
	"github.com/gajae-code/gjc/providers/internal/wire"
)

// request is the body of a request. The order of the members is the order on the wire and must stay the same, so that equal
// conversations have equal bytes: Gemini caches common beginnings.
type request struct {
	SystemInstruction *content         `json:"systemInstruction,omitzero"`
	Tools             []tools          `json:"tools,omitzero"`
	ToolConfig        *toolConfig      `json:"toolConfig,omitzero"`
	GenerationConfig  generationConfig `json:"generationConfig,omitzero"`
}

// content is one message. Role is "user" or "model".
type content struct {
	Role  string `json:"role,omitzero"`
	Parts []part `json:"parts"`
}

// part is a piece of a message: one of text, data, call and response.
type part struct {
	Text             *string           `json:"text,omitzero"`
	InlineData       *blob             `json:"inlineData,omitzero"`
	FunctionCall     *functionCall     `json:"functionCall,omitzero"`
	FunctionResponse *functionResponse `json:"functionResponse,omitzero"`
	Thought          bool              `json:"thought,omitzero"`
	ThoughtSignature string            `json:"thoughtSignature,omitzero"`
}

type blob struct {
	MIMEType string `json:"mimeType"`
	Data     []byte `json:"data"`
}

type functionCall struct {
	ID   dialect.ID `json:"id,omitzero"`
	Name string     `json:"name"`
	Args jsonx.Raw  `json:"args,omitzero"`
}

type functionResponse struct {
	ID       string `json:"id,omitzero"`
	Name     string `json:"name"`
	Response result `json:"response"`
	Parts    []part `json:"parts,omitzero"`
}

// result is the response object of a function. Google's own clients use these two members.
type result struct {
	Output *string `json:"output,omitzero"`
	Error  *string `json:"error,omitzero"`
}

type tools struct {
	FunctionDeclarations []functionDeclaration `json:"functionDeclarations"`
}

type functionDeclaration struct {
	Name        string    `json:"name"`
	Description string    `json:"description,omitzero"`
	Parameters  jsonx.Raw `json:"parameters,omitzero"`
}

type toolConfig struct {
	FunctionCallingConfig functionCallingConfig `json:"functionCallingConfig"`
}

type functionCallingConfig struct {
	Mode                 string   `json:"mode"`
	AllowedFunctionNames []string `json:"allowedFunctionNames"`
}

type generationConfig struct {
	MaxOutputTokens    int             `json:"maxOutputTokens,omitzero"`
	ThinkingConfig     *thinkingConfig `json:"thinkingConfig,omitzero"`
	ResponseMIMEType   string          `json:"responseMimeType,omitzero"`
	ResponseJSONSchema jsonx.Raw       `json:"responseJsonSchema,omitzero"`
}

type thinkingConfig struct {
	IncludeThoughts bool   `json:"includeThoughts,omitzero"`
	ThinkingLevel   string `json:"thinkingLevel,omitzero"`
	ThinkingBudget  *int   `json:"thinkingBudget,omitzero"`
}

// encode returns the body of a request. Requests with a common beginning have the same bytes there.
func (m *model) encode(req *providers.Request) ([]byte, error) {
	var r request
	if req.System != "" {
		r.SystemInstruction = &content{Parts: []part{textPart(req.System)}}
	}
	if out := req.Output; out != nil {
		r.GenerationConfig.ResponseMIMEType, r.GenerationConfig.ResponseJSONSchema = "application/json", out.Schema
	}
	if len(req.Tools) > 0 && req.Output == nil { // the API rejects both together
		var t tools
		for i := range req.Tools {
			t.FunctionDeclarations = append(t.FunctionDeclarations, m.declare(&req.Tools[i]))
		}
		r.Tools = []tools{t}
	}
	if can := m.cfg.Compat.SupportsToolChoice; req.ForceTool != "" && req.Output == nil && (can == nil || *can) {
		r.ToolConfig = &toolConfig{functionCallingConfig{Mode: "ANY", AllowedFunctionNames: []string{req.ForceTool}}}
	}
	if most := req.MaxTokens; most > 0 {
		if m.cfg.Info.MaxOutput > 0 {
			most = min(most, m.cfg.Info.MaxOutput)
		}
		r.GenerationConfig.MaxOutputTokens = most
	}
	r.GenerationConfig.ThinkingConfig = m.think(req.Thinking)
	head, err := jsonx.Marshal(&r)
	if err != nil {
		return nil, err
	}
	contents := m.contents(req.Messages)
	body := append(make([]byte, 0, len(head)+dialect.SizeOf(req.Messages)), head[:len(head)-1]...)
	if len(body) > 1 {
		body = append(body, ',')
	}
	body = appendContents(append(body, `"contents":`...), contents)
	return wire.ExtraBody(&m.cfg, append(body, '}')), nil
}

// declare describes a tool. One without parameters must not describe any.
func (m *model) declare(t *providers.Tool) functionDeclaration {
	f := functionDeclaration{Name: t.Name, Description: t.Description}
	if schema := m.schemas.Of(t.Schema); jsonx.Lookup(schema, "properties") != nil {
		f.Parameters = schema
	}
	return f
}

// think returns the reasoning of the request.
func (m *model) think(want providers.ThinkingLevel) *thinkingConfig {
	info := &m.cfg.Info
	if len(info.Thinking) == 0 {
		return nil
	}
	level := info.ClampThinking(want)
	if info.ThinkingMode == providers.ThinkingBudget {
		tokens := m.budget(level)
		return &thinkingConfig{IncludeThoughts: level != providers.ThinkingOff, ThinkingBudget: &tokens}
	}
	if level == providers.ThinkingOff {
		if info.ThinkingMode == "" || info.ThinkingMode == providers.ThinkingEffort {
			return nil
		}
		// The API cannot switch reasoning off; the lowest level comes closest, and thoughts are not requested.
		return &thinkingConfig{ThinkingLevel: word(info.Thinking[0])}
	}
	return &thinkingConfig{IncludeThoughts: true, ThinkingLevel: word(level)}
}

// word returns the API's name for a level. Its highest is high.
func word(level providers.ThinkingLevel) string {
	if level == providers.ThinkingXHigh || level == providers.ThinkingMax {
		level = providers.ThinkingHigh
	}
	return string(level)
}

// budgets maps levels to numbers of tokens.
var budgets = map[providers.ThinkingLevel]int{
	providers.ThinkingMinimal: 1024, providers.ThinkingLow: 4096, providers.ThinkingMedium: 10_240,
	providers.ThinkingHigh: 24_576, providers.ThinkingXHigh: 32_768, providers.ThinkingMax: 32_768,
}

// budget converts a level to a number of tokens, within the limits of Gemini 2.5: Pro always thinks and allows more. Without a
// number, the models choose.
func (m *model) budget(level providers.ThinkingLevel) int {
	if strings.Contains(m.cfg.Info.ID, "-pro") {
		return max(128, budgets[level])
	}
	return min(24_576, budgets[level])
}
