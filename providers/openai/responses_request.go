package openai

import (
	"bytes"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/internal/dialect"
	"github.com/gajae-code/gjc/providers/internal/wire"
)

// responsesRequest is the body of a request, with its members in wire order.
type responsesRequest struct {
	Stream               bool            `json:"stream"`
	Model                string          `json:"model"`
	Instructions         string          `json:"instructions,omitzero"`
	Input                jsonx.Raw       `json:"input"`
	Tools                []responsesTool `json:"tools,omitzero"`
	ToolChoice           any             `json:"tool_choice,omitzero"` // "none" or a namedTool
	Text                 *textConfig     `json:"text,omitzero"`
	Store                *bool           `json:"store,omitzero"`
	Include              []string        `json:"include,omitzero"`
	Reasoning            *reasoning      `json:"reasoning,omitzero"`
	MaxOutputTokens      int             `json:"max_output_tokens,omitzero"`
	PromptCacheKey       string          `json:"prompt_cache_key,omitzero"`
	PromptCacheRetention string          `json:"prompt_cache_retention,omitzero"`
	ServiceTier          string          `json:"service_tier,omitzero"`
}

type reasoning struct {
	Effort  string `json:"effort"`
	Summary string `json:"summary,omitzero"`
}

type textConfig struct {
	Format textFormat `json:"format"`
}

type textFormat struct {
	Type string `json:"type"`
	outputSchema
}

type responsesTool struct {
	Type        string    `json:"type"`
	Name        string    `json:"name"`
	Description string    `json:"description,omitzero"`
	Parameters  jsonx.Raw `json:"parameters"`
	// Strict is always sent: the default is true.
	Strict bool `json:"strict"`
}

type namedTool struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

// leastOutput is the lowest token limit of an answer that OpenAI accepts.
const leastOutput = 16

func (m *responsesModel) encode(req *providers.Request) ([]byte, error) {
	info := &m.cfg.Info
	r := responsesRequest{
		Stream: true, Model: m.cfg.Model(), Instructions: req.System, Input: jsonx.Raw("[]"),
		ServiceTier: serviceTier(info, req),
	}
	schemas, strict := m.strict.of(req.Tools, m.rules.strict)
	for i := range req.Tools {
		r.Tools = append(r.Tools, responsesTool{
			Type: "function", Name: req.Tools[i].Name, Description: req.Tools[i].Description, Parameters: schemas[i], Strict: strict[i],
		})
	}
	if s := m.cfg.Compat.SupportsStore; s == nil || *s {
		r.Store = new(false)
	}
	forced := is(m.rules.SupportsToolChoice, true) && offered(req)
	if forced {
		r.ToolChoice = &namedTool{Type: "function", Name: req.ForceTool}
	}
	if reasons(info) {
		// OpenAI rejects it for models that do not reason.
		r.Include = []string{"reasoning.encrypted_content"}
		if is(m.rules.SupportsReasoningEffort, true) && !(forced && *m.rules.DisableReasoningOnForcedToolChoice) {
			r.Reasoning = m.reasoning(req.Thinking)
		}
	}
	if req.Output != nil {
		r.Text = &textConfig{textFormat{formatJSONSchema, m.strict.output(req.Output, m.rules.strict)}}
		if r.ToolChoice = noTools(req); !is(m.rules.SupportsToolChoice, true) {
			r.Tools, r.ToolChoice = nil, nil
		}
	}
	if most := mostTokens(info, req); most > 0 {
		r.MaxOutputTokens = max(most, leastOutput)
	}
	if m.rules.cacheKey {
		r.PromptCacheKey = req.SessionID
		if m.rules.official {
			r.PromptCacheRetention = cacheRetention(&m.cfg)
		}
	}
	body, err := jsonx.Marshal(&r)
	if err != nil {
		return nil, err
	}
	// The input is most of the body and encoded by hand, so it is inserted after encoding. No string can contain its placeholder,
	// because the placeholder's quotes would be escaped.
	head, tail, _ := bytes.Cut(body, []byte(`"input":[]`))
	out := append(make([]byte, 0, dialect.SizeOf(req.Messages)+len(body)), head...)
	out = m.appendInput(append(out, `"input":`...), req)
	return wire.ExtraBody(&m.cfg, append(out, tail...)), nil
}

func (m *responsesModel) reasoning(want providers.ThinkingLevel) *reasoning {
	word := effortWord(&m.cfg.Info, want, m.rules.ReasoningEffortMap)
	switch word {
	case "":
		return nil
	case "none":
		return &reasoning{Effort: word}
	}
	return &reasoning{Effort: word, Summary: "auto"}
}
