package openai

import (
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
)

// The members that contain reasoning. The member's name is stored as the field of the thinking.
const (
	memberContent   = "reasoning_content"
	memberReasoning = "reasoning"
	memberText      = "reasoning_text"
	// memberOfItem is the member with unencrypted reasoning in an item of the Responses API.
	memberOfItem = "content"
)

func (a *answer) think(s, member string) bool {
	if s == "" {
		return true
	}
	a.member = member
	return a.SendThinking(s)
}

// thought returns the reasoning in d and the member that contains it. Servers with several such members repeat the reasoning in
// each; the configured member takes precedence.
func (a *answer) thought(d *delta) (s, member string) {
	if d.ReasoningContent == "" && len(d.Reasoning) == 0 && d.ReasoningText == "" && len(d.ReasoningDetails) == 0 {
		return "", ""
	}
	said := func(name string) string {
		switch name {
		case memberContent:
			return d.ReasoningContent
		case memberText:
			return d.ReasoningText
		case memberReasoning:
			if len(d.Reasoning) > 0 && d.Reasoning.Kind() == '"' {
				return text(d.Reasoning)
			}
		}
		return ""
	}
	for _, name := range [...]string{a.rules.ReasoningContentField, memberContent, memberReasoning, memberText} {
		if s := said(name); s != "" {
			return s, name
		}
	}
	return detailed(d.ReasoningDetails), memberReasoning
}

// reasoningDetail is an entry of OpenRouter's reasoning_details: reasoning with the provider's proof. The array is the
// signature of the thinking, and goes back unchanged.
type reasoningDetail struct {
	Type      string    `json:"type"`
	Text      string    `json:"text,omitzero"`
	Summary   string    `json:"summary,omitzero"`
	Data      string    `json:"data,omitzero"`
	Signature string    `json:"signature,omitzero"`
	ID        jsonx.Raw `json:"id,omitzero"` // a string or null
	Format    string    `json:"format,omitzero"`
	Index     int       `json:"index"`
}

func readDetails(raw jsonx.Raw) (details []reasoningDetail) {
	if len(raw) == 0 || raw.Kind() != '[' || jsonx.Unmarshal(raw, &details) != nil {
		return nil
	}
	return details
}

// detailed returns the unencrypted text of details.
func detailed(raw jsonx.Raw) string {
	var b strings.Builder
	for _, d := range readDetails(raw) {
		b.WriteString(d.Text)
		b.WriteString(d.Summary)
	}
	return b.String()
}

// detail appends new details and extends the existing ones that raw continues.
func (a *answer) detail(raw jsonx.Raw) {
	if len(raw) == 0 {
		return // the frequent case; readDetails allocates
	}
	for _, d := range readDetails(raw) {
		if n := len(a.details); n > 0 && a.details[n-1].Type == d.Type && a.details[n-1].Index == d.Index && d.Data == "" {
			last := &a.details[n-1]
			last.Text += d.Text
			last.Summary += d.Summary
			last.Signature += d.Signature
			if last.Format == "" {
				last.Format = d.Format
			}
			continue
		}
		a.details = append(a.details, d)
	}
}

// sign sets what must be sent back with the thinking in m: its field, or the details that prove it.
func (a *answer) sign(m *providers.Message) {
	if proves(a.details) {
		if raw, err := jsonx.Marshal(a.details); err == nil {
			attach(m, string(raw))
			return
		}
	}
	for i, part := range m.Parts {
		if t, ok := part.(providers.Thinking); ok {
			t.Field = a.member
			m.Parts[i] = t
		}
	}
}

// attach sets the details, which belong to all thinking, on the first thinking in m.
func attach(m *providers.Message, details string) {
	for i, part := range m.Parts {
		if t, ok := part.(providers.Thinking); ok {
			t.Signature = details
			m.Parts[i] = t
			return
		}
	}
	m.Parts = append([]providers.Part{providers.Thinking{Signature: details}}, m.Parts...)
}

// proves reports whether details contain more than text.
func proves(details []reasoningDetail) bool {
	for i := range details {
		if details[i].Data != "" || details[i].Signature != "" {
			return true
		}
	}
	return false
}

// thinkingParts returns the reasoning in an array of parts, as Mistral sends it.
func thinkingParts(raw jsonx.Raw) string {
	var parts []struct {
		Type     string    `json:"type"`
		Thinking jsonx.Raw `json:"thinking"`
	}
	if jsonx.Unmarshal(raw, &parts) != nil {
		return ""
	}
	var b strings.Builder
	for _, p := range parts {
		if p.Type == "thinking" {
			b.WriteString(text(p.Thinking))
		}
	}
	return b.String()
}
