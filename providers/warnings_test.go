package providers_test

import (
	"strings"
	"testing"
)

// What models.yml says of models that there are not is told with its place, and the rest of the file holds.
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
		":2: providers.own.modelOverrides.gone: there is no such model of own", `:6: profiles.a.extends: there is no profile "nope"`,
		`:10: modelBindings.agentModelOverrides.reviewer: there is no model "nope/zz"`, `:16: fallbacks[1][1]: there is no model "nope/x"`,
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
