package agent

import (
	"context"
	"strings"

	"github.com/gajae-code/gjc/internal/jsonx"
	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/sessions"
)

// Secrets hides values from the models; a [*secrets.Set] is one. A model sees placeholders instead, as does the user in
// the titles, inputs and texts of calls. A tool receives the values.
type Secrets interface {
	// Model returns a model whose requests contain placeholders.
	Model(m providers.Model) providers.Model
	// Hide replaces secrets in a text with placeholders. Existing placeholders stay.
	Hide(text string) string
	// Restore replaces placeholders with the values.
	Restore(text string) string
	// RestoreInput replaces placeholders in the strings of a JSON value.
	RestoreInput(input jsonx.Raw) jsonx.Raw
	// Explain describes the placeholders in a text, without the values; empty for none.
	Explain(text string) string
}

// learner is a [Secrets] whose placeholders depend on the texts that it has seen.
type learner interface {
	// Learns reports whether there is anything to learn.
	Learns() bool
	// Learn receives the texts that a model received earlier, in order, so that their placeholders keep their meaning.
	Learn(m *providers.Message)
}

// learn passes the earlier conversation to the session's secrets. It includes the messages that a summary replaces, because the
// summary and later calls contain their placeholders.
func (o *Options) learn() {
	l, ok := o.Secrets.(learner)
	if !ok || !l.Learns() {
		return
	}
	read := o.Log.Branch
	if all, ok := o.Log.(interface {
		Entries() ([]sessions.Entry, error)
	}); ok {
		read = all.Entries // the messages that a branch summary covers are in another branch
	}
	entries, err := read()
	if err != nil {
		return // the next prompt reports the error too
	}
	for _, e := range entries {
		if m, ok := sessions.MessageOf(e); ok {
			l.Learn(&m)
		}
	}
}

// noSecrets implements [Secrets] without any secrets.
type noSecrets struct{}

func (noSecrets) Model(m providers.Model) providers.Model { return m }
func (noSecrets) Hide(text string) string                 { return text }
func (noSecrets) Restore(text string) string              { return text }
func (noSecrets) RestoreInput(input jsonx.Raw) jsonx.Raw  { return input }
func (noSecrets) Explain(string) string                   { return "" }

// hidingModels wraps models so that every opened model hides secrets.
type hidingModels struct {
	models  Models
	secrets Secrets
}

// Find implements [Models].
func (h hidingModels) Find(ref string) (providers.ModelInfo, providers.ThinkingLevel, error) {
	return h.models.Find(ref)
}

// Lookup implements [Models].
func (h hidingModels) Lookup(ref string) (providers.ModelInfo, bool) { return h.models.Lookup(ref) }

// Open implements [Models].
func (h hidingModels) Open(ctx context.Context, info providers.ModelInfo) (providers.Model, error) {
	m, err := h.models.Open(ctx, info)
	if err != nil {
		return nil, err
	}
	return h.secrets.Model(m), nil
}

// Models implements [modelLister].
func (h hidingModels) Models() []providers.ModelInfo {
	if lister, ok := h.models.(modelLister); ok {
		return lister.Models()
	}
	return nil
}

// Fallback implements [fallbacks].
func (h hidingModels) Fallback(
	info providers.ModelInfo, err error, tried map[string]bool,
) (providers.ModelInfo, providers.ThinkingLevel, bool) {
	if f, ok := h.models.(fallbacks); ok {
		return f.Fallback(info, err, tried)
	}
	return providers.ModelInfo{}, "", false
}

// Quotas implements [quotaReporter].
func (h hidingModels) Quotas(provider string) []providers.Quota {
	if q, ok := h.models.(quotaReporter); ok {
		return q.Quotas(provider)
	}
	return nil
}

// QuotaWarnings implements [quotaReporter].
func (h hidingModels) QuotaWarnings(provider string) []providers.Quota {
	if q, ok := h.models.(quotaReporter); ok {
		return q.QuotaWarnings(provider)
	}
	return nil
}

// RefreshQuotas implements [quotaReporter].
func (h hidingModels) RefreshQuotas(ctx context.Context, provider string) error {
	if q, ok := h.models.(quotaReporter); ok {
		return q.RefreshQuotas(ctx, provider)
	}
	return nil
}

// hideSecrets sets the session's secrets. A child's models hide them already.
func (o *Options) hideSecrets() {
	if o.Secrets == nil {
		o.Secrets = noSecrets{}
		return
	}
	if _, done := o.Models.(hidingModels); !done && o.Secrets != Secrets(noSecrets{}) {
		o.Models = hidingModels{o.Models, o.Secrets}
	}
}

// hidden returns a call's content for display: its texts contain placeholders. A diff is unchanged, because the editor shows the
// file too.
func hidden(s Secrets, content []Content) []Content {
	var out []Content
	for i, c := range content {
		text, ok := c.(TextContent)
		if !ok {
			continue
		}
		if hid := s.Hide(text.Text); hid != text.Text {
			if out == nil {
				out = append([]Content{}, content...)
			}
			out[i] = TextContent{hid}
		}
	}
	if out == nil {
		return content
	}
	return out
}

// hiddenPlan returns a plan for display.
func hiddenPlan(s Secrets, entries []PlanEntry) []PlanEntry {
	if _, none := s.(noSecrets); none {
		return entries
	}
	out := append([]PlanEntry{}, entries...)
	for i := range out {
		out[i].Content, out[i].Phase = s.Hide(out[i].Content), s.Hide(out[i].Phase)
	}
	return out
}

// texts returns the joined texts of content.
func texts(content []Content) string {
	var all strings.Builder
	for _, c := range content {
		if text, ok := c.(TextContent); ok {
			all.WriteString(text.Text + "\n")
		}
	}
	return all.String()
}
