package registry_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gajae-code/gjc/providers"
	"github.com/gajae-code/gjc/providers/providertest"
)

// A server may refuse a key only after the answer has begun. The next key is tried then, unless the answer has used tokens.
func TestRegistry_RotationAfterBegin(t *testing.T) {
	limited := providertest.Fail(&providers.Error{Kind: providers.KindRateLimit, Status: 429})
	for _, tt := range []struct {
		usage providers.Usage
		keys  []string
	}{
		{providers.Usage{}, []string{"a", "b"}},
		{providers.Usage{Input: 3}, []string{"a"}},
	} {
		r, used := rotationWorld(t, time.Now, map[string]func() providertest.Step{
			"a": func() providertest.Step { return providertest.Step{providertest.ReportUsage(tt.usage), limited} },
			"b": func() providertest.Step { return providertest.Step{providertest.Text("ok")} },
		})
		info, _, err := r.Find("anthropic/claude-opus-5-5")
		if err != nil {
			t.Fatal(err)
		}
		m, err := r.Open(t.Context(), info)
		if err != nil {
			t.Fatal(err)
		}
		answered := false
		for ev := range m.Stream(t.Context(), &providers.Request{}) {
			if _, ok := ev.(providers.Done); ok {
				answered = true
			}
		}
		if diff := cmp.Diff(tt.keys, *used); diff != "" || answered != (len(tt.keys) > 1) {
			t.Errorf("%+v: answered %t, keys (-want +got):\n%s", tt.usage, answered, diff)
		}
	}
}
