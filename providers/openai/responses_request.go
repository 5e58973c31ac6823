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

// responsesTool is a function, or the search for functions.
type responsesTool struct {
	Type        string    `json:"type"`
	Name        string    `json:"name,omitzero"`
	Execution   string    `json:"execution,omitzero"`
	Description string    `json:"description,omitzero"`
	Parameters  jsonx.Raw `json:"parameters"`
	// Strict is always sent with a function: the default is true.
	Strict *bool `json:"strict,omitzero"`
	// DeferLoading is set for a function that the conversation adds.
	DeferLoading bool `json:"defer_loading,omitzero"`
}

type namedTool struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

// leastOutput is the lowest token limit of an answer that OpenAI accepts.
const leastOutput = 16

// encode returns the body of a request. found, if not nil, are the tools that the conversation adds.
func (m *responsesModel) encode(req *providers.Request, found *dialect.Found) ([]byte, error) {
	info := &m.cfg.Info
	r := responsesRequest{
		Stream: true, Model: m.cfg.Model(), Instructions: req.System, Input: jsonx.Raw("[]"),
		ServiceTier: serviceTier(info, req),
	}
	tools, added := m.tools(req.Tools, found)
	r.Tools = tools
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
	if out, err = m.appendInput(append(out, `"input":`...), req, found, added); err != nil {
		return nil, err
	}
	return wire.ExtraBody(&m.cfg, append(out, tail...)), nil
}

// tools returns the tools of a request, and those that the conversation adds by name.
func (m *responsesModel) tools(tools []providers.Tool, found *dialect.Found) (listed []responsesTool, added map[string]responsesTool) {
	schemas, strict := m.strict.of(tools, m.rules.strict)
	for i := range tools {
		t := &tools[i]
		tool := responsesTool{Type: "function", Name: t.Name, Description: t.Description, Parameters: schemas[i], Strict: &strict[i]}
		switch {
		case found != nil && t.Name == found.Search:
			listed = append(listed, responsesTool{Type: "tool_search", Execution: "client", Description: t.Description, Parameters: t.Schema})
		case found.Deferred(t.Name):
			if added == nil {
				added = make(map[string]responsesTool)
			}
			tool.DeferLoading = true
			added[t.Name] = tool
		default:
			listed = append(listed, tool)
		}
	}
	return listed, added
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
