package registry_test

import (
	"strings"
	"testing"
)

// Unknown models in models.yml are reported with their line, and the rest of the file applies.
func TestRegistry_Warnings(t *testing.T) {
	w := newWorld(t)
	path := w.write("models.yml", `providers:
  own: {api: openai-completions, baseUrl: 'http://127.0.0.1:1', auth: none, models: [{id: m}], modelOverrides: {gone: {name: x}}}
  later: {api: openai-completions, baseUrl: 'http://127.0.0.1:1', auth: none, discovery: {type: openai}, modelOverrides: {not-yet: {name: x}}}
profiles:
  a:
    extends: nope
  b: {extends: claude-medium}
modelBindings:
  agentModelOverrides:
    reviewer: nope/zz
    writer: own/m:high
    later: later/one
fallbacks:
  - [own/m, later/one]
  - - own/m
    - nope/x
`, 0o600)
	r := w.registry()
	if err := r.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	warnings := r.Warnings()
	for i, want := range []string{
		":2: providers.own.modelOverrides.gone: own has no such model", `:6: profiles.a.extends: unknown profile "nope"`,
		`:10: modelBindings.agentModelOverrides.reviewer: unknown model "nope/zz"`, `:16: fallbacks[1][1]: unknown model "nope/x"`,
	} {
		if i >= len(warnings) || !strings.HasPrefix(warnings[i].Error(), path+want) {
			t.Errorf("want %s in %v", want, warnings)
		}
	}
	if len(warnings) != 4 {
		t.Errorf("%d warnings: %v", len(warnings), warnings)
	}
	if info, _, err := r.Find("own/m"); err != nil {
		t.Errorf("%+v, %v", info, err)
	}
	w.write("models.yml", "providers: [\n", 0o600)
	if err := r.Reload(t.Context()); err == nil || len(r.Warnings()) > 0 {
		t.Errorf("%v, and %v", err, r.Warnings())
	}
}

// Values that do not suit a model are reported, and suitable ones are not.
func TestRegistry_WarningsOfModels(t *testing.T) {
	const own = "providers: {own: {api: openai-completions, baseUrl: 'http://127.0.0.1:1', auth: none, models: [{id: m, %}, {id: a/b}]}}\n"
	const opus = "providers: {anthropic: {modelOverrides: {claude-opus-5-5: {%}}}}\n"
	for _, tt := range []struct{ file, says, want string }{
		{own, "contextPromotionTarget: gone", `own.models[0].contextPromotionTarget: unknown model "own/gone"`},
		{own, "contextPromotionTarget: nope/gone", `own.models[0].contextPromotionTarget: unknown model "nope/gone"`},
		{own, "contextPromotionTarget: a/b", ""},
		{own, "contextPromotionTarget: own/a/b", ""},
		{own, "contextPromotionTarget: ollama/later", ""},
		{own, "thinking: {levels: [low], defaultLevel: max}", "own.models[0].thinking.defaultLevel: the model does not support this level; low is used"},
		{own, "thinking: {minLevel: medium, maxLevel: high, defaultLevel: low}", "own.models[0].thinking.defaultLevel: the model does not support this level; medium is used"},
		{own, "thinking: {levels: [low, max], defaultLevel: max}", ""},
		{own, "thinking: {levels: [low], defaultLevel: off}", ""},
		{own, "maxTokens: 100", ""},
		{opus, "contextPromotionTarget: claude-opus-5-5", "anthropic.modelOverrides.claude-opus-5-5.contextPromotionTarget: must be a different model"},
		{opus, "contextPromotionTarget: anthropic/claude-opus-5.5", "anthropic.modelOverrides.claude-opus-5-5.contextPromotionTarget: must be a different model"},
		{opus, "contextPromotionTarget: no-such-model", `anthropic.modelOverrides.claude-opus-5-5.contextPromotionTarget: unknown model "anthropic/no-such-model"`},
		{opus, "contextPromotionTarget: claude-sonnet-5-5", ""},
		{opus, "maxTokens: 50000000", "anthropic.modelOverrides.claude-opus-5-5.maxTokens: exceeds the model's context window"},
		{opus, "contextWindow: 5000", ""},
	} {
		w := newWorld(t)
		path := w.write("models.yml", strings.Replace(tt.file, "%", tt.says, 1), 0o600)
		r := w.registry()
		if err := r.Load(t.Context()); err != nil {
			t.Errorf("%s: %v", tt.says, err)
		}
		got := r.Warnings()
		if tt.want == "" && len(got) > 0 || tt.want != "" && (len(got) != 1 || !strings.HasPrefix(got[0].Error(), path+":1: providers."+tt.want)) {
			t.Errorf("%s: %v, want %s", tt.says, got, tt.want)
		}
	}
}
